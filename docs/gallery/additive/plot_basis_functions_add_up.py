"""
Basis functions add up to a curve
=================================

A smooth term is a straight line and a weighted sum of splines. The splines' weights share one normal prior, whose
variance is learned by the evidence. ``posterior_.design(rows)`` has the functions, ``posterior_.mean`` their weights.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.additive import AdditiveRegressor, smooth

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, size=120)
y = np.sin(x) + 0.3 * x + 0.3 * rng.normal(size=120)

model = AdditiveRegressor([smooth(0)], family="gaussian").fit(x[:, None], y)
print(model.summary())
grid = np.linspace(0, 10, 400)
parts = model.posterior_.design(grid[:, None]) * model.posterior_.mean  # constant, line, and each spline
curve = parts.sum(axis=1)
truth = np.sin(grid) + 0.3 * grid
print(f"RMSE of the curve: {credo.rmse(truth, curve):.3f} (noise 0.3)")
assert np.allclose(curve, model.predict(grid[:, None])) and credo.rmse(truth, curve) < 0.12

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(grid, parts[:, 2:], color="C0", alpha=0.5, linewidth=1)
left.plot(grid, parts[:, 1], "--", color="k", label="line")
left.plot([], [], color="C0", label="weighted splines")
left.set(title="the parts", xlabel="x")
left.legend()
lower, upper = model.predict_dist(grid[:, None], latent=True).interval(0.95)
right.fill_between(grid, lower, upper, alpha=0.3, label="95 % band for f")
right.plot(grid, curve, label="constant + line + splines")
right.plot(grid, truth, ":", color="k", label="truth")
right.plot(x, y, ".", color="k", alpha=0.4)
right.set(title="their sum", xlabel="x")
right.legend()

# %%
# **What to see.** Left: the straight line and 20 splines times their weights. The functions are scaled such that one
# prior for all weights is a penalty on curvature: a few slow ones do most of the work, and fast ones are nearly zero.
# Right: their sum follows the truth, and nobody chose how smooth it is.
