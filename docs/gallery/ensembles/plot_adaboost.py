"""
AdaBoost's rounds and the four losses
=====================================

In each round AdaBoost fits a stump to the rows weighted by how badly the votes so far classify them. It minimizes the
exponential loss of the margin y f(x).
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)


def draw(n):
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4, "outer", "inner")


(X, y), (X_new, y_new) = draw(200), draw(1000)
errors = []
for rounds in (1, 3, 10, 40):
    model = credo.AdaBoostClassifier(n_rounds=rounds, calibrate=False).fit(X, y)
    errors.append(1 - model.score(X_new, y_new))
    print(f"{rounds} rounds: error on new rows {errors[-1]:.3f}")
assert errors[-1] < 0.5 * errors[0]

credo.plots.adaboost_rounds(model, X, y, rounds=[1, 2, 3, 10, 20, 40])

# %%
# **What to see.** The area of a dot is its weight at the start of the round: rows that the votes classify wrongly
# become heavy. Dashed is the stump of the round, shaded the vote of all stumps so far. Although every stump is a
# single axis-parallel cut, after 40 rounds the votes enclose the inner class.

# %%
# The four losses --------------- Where the sign of the margin is all that counts (0–1 loss), the minimum can't be
# found by descent. The other three are convex bounds of it.

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
margin = np.linspace(-2, 2, 401)
losses = {
    "exponential": np.exp(-margin),
    "cross-entropy": np.logaddexp(0.0, -margin) / np.log(2.0),
    "hinge": np.maximum(0.0, 1.0 - margin),
    "0–1": np.where(margin < 0, 1.0, 0.0),
}
for name, loss in losses.items():
    ax.plot(margin, loss, label=name)
ax.set(xlabel="margin y f(x)", ylabel="loss", ylim=(0, 3.2))
ax.legend(frameon=False)
values = {"exponential": np.exp(2), "cross-entropy": np.log2(1 + np.exp(2)), "hinge": 1 + 2}
print("at margin −2:", {name: round(float(value), 1) for name, value in values.items()})
assert values["exponential"] > 2 * max(values["cross-entropy"], values["hinge"])

# %%
# **What to see.** For a row that is wrong by a margin of −2 the exponential loss is more than twice that of the
# others, so wrong labels disturb AdaBoost most. Cross-entropy (logistic regression) and hinge loss grow only linearly.
