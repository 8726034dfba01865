"""
Least-squares surfaces: a plane and a quadratic
===============================================

Two inputs and one target are points in space, and a regression is a surface through them. The temperature in a room is
measured at 40 places; ``Polynomial(2)`` adds the squares and the product of the two coordinates to the plane's
features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

import credo

rng = np.random.default_rng(0)
X = rng.uniform(0, [30, 40], size=(40, 2))
middle = (X - [18, 20]) / [15, 20]
y = 19 + 2.0 * middle[:, 0] - 3.5 * (middle**2).sum(axis=1) + 0.7 * rng.normal(size=40)

models = {name: make_pipeline(credo.Polynomial(d), credo.LinearRegression()).fit(X, y)
          for name, d in (("plane", 1), ("quadratic", 2))}  # fmt: skip
noise = {name: model[-1].noise_std_ for name, model in models.items()}
print(
    "standard deviation of what is left over:", {name: round(float(s), 2) for name, s in noise.items()}, "(truth 0.7)"
)
assert noise["quadratic"] < 1.0 < noise["plane"]

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 5), subplot_kw={"projection": "3d"}, layout="constrained")
across, along = np.meshgrid(np.linspace(0, 30, 25), np.linspace(0, 40, 25))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    surface = model.predict(np.column_stack([across.ravel(), along.ravel()])).reshape(across.shape)
    ax.plot_surface(across, along, surface, cmap="viridis", alpha=0.5)
    for place, value, fitted in zip(X, y, model.predict(X), strict=True):
        ax.plot(*[[c, c] for c in place], [fitted, value], color="0.5", linewidth=0.8)
    ax.scatter(*X.T, y, color="k", s=12)
    ax.set(title=f"{name}: {noise[name]:.1f} °C left over", xlabel="x₁ (m)", ylabel="x₂ (m)", zlabel="temperature (°C)")
    ax.view_init(20, -60)

# %%
# **What to see.** Least squares makes the sum of the squared gray lines as small as it can be. The plane is too high at
# the borders and too low in the middle; the quadratic leaves only the noise. Both are linear in their coefficients.
