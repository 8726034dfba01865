r"""
Wrong 0.6 of the time alone, always wrong together
==================================================

If independent classifiers are each wrong with probability :math:`\varepsilon`, the majority of M is wrong with the
probability that more than half are. It goes to zero for :math:`\varepsilon < 1/2`, and to one for :math:`\varepsilon >
1/2`: bagging makes a good classifier better and a bad one worse (Breiman 1996).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom
from sklearn.dummy import DummyClassifier

import credo

# Members that guess: they say "a" with probability 0.4, and every new row is "a".
y = np.repeat(["a", "b"], [200, 300])
rows, new = np.zeros((500, 1)), np.zeros((1000, 1))
member = DummyClassifier(strategy="stratified")
sizes = [1, 5, 25, 101, 401]
vote = credo.BaggingClassifier(member, n_estimators=sizes[-1], voting="hard", calibrate=None, random_state=0).fit(
    rows, y
)
said = np.array([one.predict(new) == "a" for one in vote.estimators_])
errors = [float(np.mean(said[:m].mean(axis=0) <= 0.5)) for m in sizes]
print("error by number of voters:", dict(zip(sizes, errors, strict=True)))
assert abs((~said).mean() - 0.6) < 0.02 and errors[-1] > 0.995
assert np.mean(vote.predict(new) == "b") > 0.995

# %%
figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
count = np.arange(1, 402, 2)
for k, epsilon in enumerate((0.4, 0.45, 0.5, 0.55, 0.6)):
    wrong = binom.sf(count // 2, count, epsilon)
    ax.semilogx(count, wrong, color=f"C{k}", label=f"each wrong with probability {epsilon:g}")
ax.semilogx(sizes, errors, "o", color="C4", label="BaggingClassifier of guessing members")
ax.set(xlabel="number of voters", ylabel="error of the majority", ylim=(-0.03, 1.03))
ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
assert np.isclose(binom.sf(200, 401, 0.6), 1, atol=1e-3) and np.isclose(binom.sf(200, 401, 0.4), 0, atol=1e-3)

# %%
# **What to see.** Voters that are wrong 6 times of 10 are wrong together nearly always once there are a hundred of
# them; voters that are wrong 4 times of 10 are right together. Both need independent errors: members that all make the
# same mistake gain nothing.
