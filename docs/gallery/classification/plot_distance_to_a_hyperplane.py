r"""
Distance to a hyperplane
========================

A linear discriminant :math:`f(x) = w^\top x + b` is zero on a hyperplane with normal vector w. The distance of a point
to it, with a sign for the side, is :math:`f(x)/\|w\|`; the origin has the distance :math:`b/\|w\|` (Bishop 4.5–4.7).
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(3)
X = np.vstack([rng.normal([0.5, 0.5], 0.6, size=(25, 2)), rng.normal([2.5, 2.0], 0.6, size=(25, 2))])
model = credo.LogisticRegression(alpha=0.1).fit(X, np.repeat([0, 1], 25))
w, b = model.coef_[0], model.intercept_[0]
unit = w / np.linalg.norm(w)
point = np.array([3.2, 0.9])
distance = model.decision_function(point[None])[0] / np.linalg.norm(w)
foot, base = point - distance * unit, -b / np.linalg.norm(w) * unit

# The foot of the perpendicular is on the boundary, and no other point of the boundary is closer:
along = np.linspace(-4, 4, 801)[:, None] * np.array([-unit[1], unit[0]]) + base
nearest = np.linalg.norm(along - point, axis=1).min()
print(f"distance {distance:.3f}; to the nearest of 801 points of the boundary {nearest:.3f}")
assert np.isclose(model.decision_function(foot[None])[0], 0) and np.isclose(nearest, distance, atol=1e-3)

# %%
figure, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
ax.plot(*X[:25].T, ".", color="C0", alpha=0.5)
ax.plot(*X[25:].T, ".", color="C1", alpha=0.5)
ax.plot(*along.T, color="k")
for start, end, text in ((base, base + unit, "w / ‖w‖"), (foot, point, "f(x) / ‖w‖"), ([0, 0], base, "−b / ‖w‖")):
    arrow = {"arrowstyle": "->", "color": "C3", "linewidth": 1.6}
    ax.annotate("", end, start, arrowprops=arrow)
    ax.annotate(text, (np.array(start) + end) / 2, xytext=(6, -14), textcoords="offset points", color="C3")
ax.plot(*point, "o", color="k")
ax.annotate("x", point, xytext=(8, 4), textcoords="offset points")
ax.annotate("f(x) = 0", (-0.05, 3.4))
ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
ax.set(xlabel="x₁", ylabel="x₂", xlim=(-1, 4.5), ylim=(-1, 4), aspect="equal")

# %%
# **What to see.** w is perpendicular to the boundary, so b moves the boundary along w and the direction of w turns it.
# Multiplying w and b by a number leaves the boundary and all distances as they are; it changes only how fast the
# probability rises across the boundary.
