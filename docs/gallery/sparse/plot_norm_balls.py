r"""
Norm balls, and why the corner of the lasso selects
===================================================

The penalty :math:`\sum_j |w_j|^q` keeps coefficients inside a ball of the q-norm. For :math:`q \le 1` the ball has
corners on the axes, and a solution at a corner has coefficients that are exactly zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

import credo

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 2)) @ [[1.0, 0.3], [0.0, 0.95]]
y = X @ [0.35, 1.2] + 0.3 * rng.normal(size=100)
least = np.linalg.lstsq(X, y, rcond=None)[0]
lasso = credo.Lasso(alpha=0.55, fit_intercept=False, tol=1e-12).fit(X, y).coef_
ridge = Ridge(alpha=100.0, fit_intercept=False).fit(X, y).coef_
print(f"least squares {least.round(2)}, lasso {lasso.round(2)}, ridge {ridge.round(2)}")
assert lasso[0] == 0 and lasso[1] > 0 and (np.abs(ridge) > 0.01).all()

side = np.linspace(-1.5, 1.8, 300)
plane = np.stack(np.meshgrid(side, side), axis=-1)
loss = ((y - plane.reshape(-1, 2) @ X.T) ** 2).mean(axis=1).reshape(300, 300)

figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), sharey=True, layout="constrained")
for ax, q, found in zip(axes, (0.5, 1, 2, 4), (None, lasso, ridge, None), strict=True):
    # The solutions are on the boundary of a ball; the others have one of the size of the lasso's.
    size = (np.abs(plane) ** q).sum(axis=-1) ** (1 / q)
    radius = 0.65 if found is None else float((np.abs(found) ** q).sum() ** (1 / q))
    ax.contourf(side, side, size, levels=[0, radius], colors=["C0"], alpha=0.3)
    ax.contour(side, side, size, levels=[radius], colors=["C0"])
    inside = np.where(size <= radius, loss, np.inf)
    ax.contour(side, side, loss, levels=inside.min() * np.array([0.25, 0.5, 1.0, 1.6]), colors="0.5", linewidths=0.8)
    best = plane[np.unravel_index(inside.argmin(), inside.shape)]
    ax.plot(*(best if found is None else found), "o", color="C3")
    assert found is None or np.allclose(best, found, atol=0.03)
    ax.plot(*least, "k+", markersize=10)
    ax.axhline(0, color="0.8", linewidth=0.7, zorder=0)
    ax.axvline(0, color="0.8", linewidth=0.7, zorder=0)
    ax.set(title=f"q = {q}" + {1: ": lasso", 2: ": ridge"}.get(q, ""), xlabel="w₁", aspect="equal")
axes[0].set_ylabel("w₂")

# %%
# **What to see.** The solution (red) is the point of the ball with the smallest squared error (gray ellipses around
# the least-squares estimate, +). For q = 2 and more the ball is round and the solution is beside the axis; for q = 1
# and less it is the corner, where w₁ is zero. Only for q ≥ 1 is the ball convex, so that descent finds the minimum.

# %%
# At zero, \|x\| has no derivative but many lines that stay below it: every slope between −1 and 1 is a subgradient. A
# coefficient stays at zero as long as the slope of the error is one of them.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
line = np.linspace(-2, 2, 201)
left.plot(line, np.abs(line), color="k", label="|x|")
for slope in (-1, -0.5, 0, 0.5, 1):
    assert (slope * line <= np.abs(line)).all()
    left.plot(line, slope * line, "--", color="C0", linewidth=0.9)
left.set(title="subgradients at zero", xlabel="x", ylim=(-1, 2))
w = np.linspace(-1.5, 2.5, 401)
for a, color in ((0.6, "C0"), (1.6, "C3")):
    value = 0.5 * (w - a) ** 2 + np.abs(w)
    right.plot(w, value, color=color, label=f"½(w − {a})² + |w|")
    right.plot(w[value.argmin()], value.min(), "o", color=color)
    assert np.isclose(w[value.argmin()], credo.soft_threshold(a, 1.0), atol=0.011)
right.set(title="the minimum is the soft threshold", xlabel="w", ylim=(0, 3.5))
right.legend()

# %%
# **What to see.** Right: the slope of ½(w − a)² at zero is −a. If a is between −1 and 1, some subgradient of \|w\|
# cancels it, and zero is the minimum (blue). For a = 1.6 none does, and the minimum is at a − 1 (red).
