r"""
Separable data and ‖w‖ → ∞
==========================

If a boundary separates the classes, the likelihood of logistic regression has no maximum: doubling the weights always
increases it. Credo says so in a warning. A prior keeps the weights finite.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(1)
X = np.vstack([rng.normal([-1.5, 0], 0.6, size=(15, 2)), rng.normal([1.5, 0.5], 0.6, size=(15, 2))])
y = np.repeat(["a", "b"], 15)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    credo.LogisticRegression().fit(X, y)
print(caught[0].message)
assert caught

# %%
# Steepest ascent of the log likelihood never stops; nor do the weights stop growing as the prior becomes wider:

phi, sign, w = np.column_stack([X, np.ones(30)]), np.where(y == "b", 1, -1), np.zeros(3)
norm = np.empty(10_000)
for step in range(len(norm)):
    w += 0.1 * (sign / (1 + np.exp(sign * (phi @ w)))) @ phi
    norm[step] = np.linalg.norm(w[:2])
priors = np.logspace(1, -6, 15)
shrunk = [np.linalg.norm(credo.LogisticRegression(alpha=a).fit(X, y).coef_) for a in priors]
print(f"‖w‖ after 100, 1000 and 10 000 steps: {norm[99]:.1f}, {norm[999]:.1f}, {norm[9999]:.1f}")
print(f"‖w‖ with priors of precision 10 and 10⁻⁶: {shrunk[0]:.1f}, {shrunk[-1]:.1f}")
assert np.all(np.diff(norm) > 0) and np.all(np.diff(shrunk) > 0)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.semilogx(np.arange(1, len(norm)), norm[1:], label="steps of steepest ascent")
left.set(xlabel="step", ylabel="‖w‖")
twin = left.twiny()
twin.semilogx(1 / priors, shrunk, "o-", color="C1", markersize=4)
twin.set_xlabel("1/α, variance of the prior", color="C1")
credo.plots.decision_regions(credo.LogisticRegression(alpha=1.0).fit(X, y), X, y, ax=right)
right.set(title="with the prior N(0, 1)")

# %%
# **What to see.** Left: without a prior ‖w‖ grows with every step (blue, about like its logarithm), and as the prior
# widens (orange) without bound. Right: with a prior the probabilities change gradually between the classes, though no
# training row is misclassified.
