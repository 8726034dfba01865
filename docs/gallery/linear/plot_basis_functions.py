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
