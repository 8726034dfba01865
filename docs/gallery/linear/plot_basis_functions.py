r"""
Basis functions: φ(x) = (x, cos x) and (x₁², x₁x₂, x₂²)
=======================================================

A model that is linear in its coefficients can be curved in x. ``Custom`` takes any function of the columns, and
``Polynomial`` the powers and products.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

import credo

rng = np.random.default_rng(0)
x = rng.uniform(-8, 8, size=(60, 1))
y = 0.5 * x[:, 0] + 2 * np.cos(x[:, 0]) + 0.5 * rng.normal(size=60)

line_and_wave = credo.features.Custom(lambda X: np.column_stack([X[:, 0], np.cos(X[:, 0])]), names=["x", "cos x"])
curve = make_pipeline(line_and_wave, credo.LinearRegression()).fit(x, y)
print(curve[-1].summary())
assert np.allclose(curve[-1].coef_, [0.5, 2], atol=0.3)

# %%
# In two dimensions the quadratic form wᵀφ with φ = (x₁², x₁x₂, x₂²) has ellipses as level lines. Two classes inside
# and outside of an ellipse are not separable by a line in x, but by a plane in φ.

Z = rng.normal(size=(300, 2))
inside = (Z[:, 0] ** 2 + Z[:, 0] * Z[:, 1] + Z[:, 1] ** 2 + 0.15 * rng.normal(size=300)) < 1
squares = credo.features.Custom(lambda X: np.column_stack([X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] ** 2]))
classes = make_pipeline(squares, credo.LogisticRegression()).fit(Z, inside)
flat = credo.LogisticRegression().fit(Z, inside)
print(f"training accuracy: {flat.score(Z, inside):.2f} in x, {classes.score(Z, inside):.2f} in φ(x)")
assert classes.score(Z, inside) > 0.9 > flat.score(Z, inside)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
grid = np.linspace(-10, 10, 400)[:, None]
credo.plots.band(grid, credo.metrics.predictive(curve, grid), data=(x, y), ax=left)
side = np.linspace(-3, 3, 200)
plane = np.stack(np.meshgrid(side, side), axis=-1)
p = classes.predict_proba(plane.reshape(-1, 2))[:, 1].reshape(200, 200)
right.contourf(side, side, p, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
right.contour(side, side, p, levels=[0.5], colors="k")
right.scatter(*Z.T, c=np.where(inside, "tab:red", "tab:blue"), s=16, edgecolor="w", linewidth=0.4)
right.set(xlabel="x₁", ylabel="x₂", aspect="equal", xlim=(-3, 3), ylim=(-3, 3))

# %%
# **What to see.** Left: a straight line plus a cosine, fitted by linear regression in φ(x) = (x, cos x). Right: the
# boundary where a logistic regression in (x₁², x₁x₂, x₂²) has probability 1/2 is an ellipse.

# %%
# The same two models in the space of their features, where both are flat:

figure, axes = plt.subplots(1, 2, figsize=(11, 5), subplot_kw={"projection": "3d"}, layout="constrained")
left, right = axes
corners = np.stack(np.meshgrid([-8.0, 8.0], [-1.0, 1.0]), axis=-1)
heights = curve[-1].predict(corners.reshape(-1, 2)).reshape(2, 2)
left.plot_surface(corners[..., 0], corners[..., 1], heights, alpha=0.3, color="C0")
path = line_and_wave.transform(grid[40:-40])
left.plot(*path.T, curve[-1].predict(path), color="C0")
left.scatter(*line_and_wave.transform(x).T, y, color="k", s=8)
left.set(xlabel="x", ylabel="cos x", yticks=[-1, 0, 1], zlabel="y", title="the curve lies in a plane")
left.view_init(20, -65)
w, b = classes[-1].coef_[0], classes[-1].intercept_[0]
lifted = squares.transform(Z)
shown = np.all(np.abs(lifted) < 2.5, axis=1)
right.scatter(*lifted[shown].T, c=np.where(inside[shown], "tab:red", "tab:blue"), s=10)
first, product = np.meshgrid(np.linspace(0, 2.5, 60), np.linspace(-2, 2, 60))
cut = -(b + w[0] * first + w[1] * product) / w[2]
right.plot_surface(first, product, np.where((cut >= 0) & (cut <= 2.5), cut, np.nan), alpha=0.3, color="k")
right.set(xlabel="x₁²", ylabel="x₁x₂", yticks=[-2, 0, 2], zlabel="x₂²", title="a plane separates the classes")
right.view_init(12, -52)

# %%
# **What to see.** Left: over the features x and cos x the fitted curve lies in a plane. Right: the feature (x₁², x₁x₂,
# x₂²) lifts the points of the plane onto a cone, where a plane (gray) cuts off the inner class. Seen from the inputs,
# the cut is the ellipse above.
