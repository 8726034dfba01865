r"""
Step by step: the perceptron's mistakes and steepest ascent
===========================================================

Both rules move the weights along the features of a row. The perceptron takes one row that it gets wrong, :math:`w
\leftarrow w + t_n\phi_n`. Steepest ascent of the log likelihood of logistic regression takes all rows, each times its
error: :math:`w \leftarrow w + \eta\sum_n (t_n - y_n)\phi_n` (Bishop 4.55 and 4.91).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import credo

rng = np.random.default_rng(5)
X = np.vstack([rng.normal([-1, -0.4], 0.7, size=(20, 2)), rng.normal([1, 0.6], 0.7, size=(20, 2))])
sign, phi = np.repeat([-1, 1], 20), np.column_stack([X, np.ones(40)])

w, mistakes = np.array([1.0, -1.0, 0.5]), []
while (wrong := np.flatnonzero(sign * (phi @ w) <= 0)).size and len(mistakes) < 200:
    row = rng.choice(wrong)
    mistakes.append((w, row, w + sign[row] * phi[row]))
    w = mistakes[-1][2]
print(f"perceptron: {len(mistakes)} mistakes, then {np.mean(sign * (phi @ w) > 0):.0%} of the rows are right")

path = [np.array([1.0, -1.0, 0.5])]
for _ in range(3000):
    path.append(path[-1] + 0.05 * ((sign > 0) - expit(phi @ path[-1])) @ phi - 0.05 * 0.1 * path[-1] * [1, 1, 0])
best = credo.LogisticRegression(alpha=0.1).fit(X, sign)
print(f"steepest ascent with a weak prior ends at {path[-1].round(3)}; maximum {best.coef_[0].round(3)}")
assert np.allclose(path[-1], [*best.coef_[0], best.intercept_[0]], atol=1e-4)

# %%
figure, axes = plt.subplots(2, 4, figsize=(14, 6.6), sharex=True, sharey=True, layout="constrained")
line = np.linspace(-3.5, 3.5, 2)


def boundary(ax, w, **style):
    """The line wᵀφ = 0."""
    foot, along = -w[2] * w[:2] / (w[:2] @ w[:2]), np.array([-w[1], w[0]]) / np.linalg.norm(w[:2])
    ax.plot(*(foot[:, None] + 6 * along[:, None] * [-1, 1]), **style)


for k, ax in enumerate(axes[0]):
    before, row, after = mistakes[min(k, len(mistakes) - 1)]
    if k < 3:
        boundary(ax, before, color="0.6", linestyle="--")
        ax.plot(*X[row], "o", markersize=14, markerfacecolor="none", color="C3")
    boundary(ax, after if k < 3 else w, color="k")
    ax.set(title=f"perceptron, mistake {k + 1}" if k < 3 else f"perceptron, after {len(mistakes)}")
for ax, step in zip(axes[1], (0, 1, 10, 3000), strict=True):
    boundary(ax, path[step], color="k")
    for level in (0.1, 0.9):
        boundary(ax, path[step] - [0, 0, np.log(level / (1 - level))], color="0.6", linewidth=0.8)
    ax.set(title=f"steepest ascent, step {step}", xlabel="x₁")
for ax in axes.flat:
    ax.scatter(*X.T, c=np.where(sign > 0, "tab:red", "tab:blue"), s=16)
    ax.set(xlim=(-3, 3), ylim=(-2.6, 2.6))
assert np.all(sign * (phi @ w) > 0)

# %%
# **What to see.** Top: the circled row was on the wrong side of the dashed line; adding it to the weights moves the
# line, sometimes past other rows, until none is wrong. Bottom: all rows pull at once. The outer lines have probability
# 0.1 and 0.9; they move together as the weights grow, and stop where the prior balances the rows.
