"""
The sigmoid
===========

Logistic regression turns a linear function into a probability by the sigmoid σ(a) = 1/(1 + exp(−a)). Its slope at the
boundary is a quarter of the weight.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
x = rng.normal(scale=2, size=80)
passed = np.where(rng.random(80) < 1 / (1 + np.exp(-(1.5 * x - 1))), "passed", "failed")
model = credo.LogisticRegression().fit(x[:, None], passed)
w, b = model.coef_[0, 0], model.intercept_[0]
print(f"weight {w:.2f} ± {model.coef_std_error_[0, 0]:.2f} (truth 1.5), boundary at x = {-b / w:.2f} (truth 0.67)")
assert abs(w - 1.5) < 2 * model.coef_std_error_[0, 0]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
a = np.linspace(-6, 6, 200)
for slope in (0.5, 1, 2, 10):
    left.plot(a, 1 / (1 + np.exp(-slope * a)), label=f"σ({slope:g} x)")
left.plot(a, np.clip(0.5 + a / 4, 0, 1), "--", color="0.6", label="tangent of σ(x), slope 1/4")
left.set(xlabel="x", ylabel="probability")
left.legend()
credo.plots.sigmoid(credo.BayesianLogisticRegression(prior_precision=0.1).fit(x[:, None], passed), x, passed, ax=right)

# %%
# **What to see.** Left: the larger the weight, the steeper the sigmoid; a weight of 10 is nearly a step. Right: the
# probability of passing with its 95 % interval. The observations are drawn at the bottom and at the top, and the
# boundary is where the probability is 1/2.
