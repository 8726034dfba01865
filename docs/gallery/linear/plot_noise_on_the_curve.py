"""
The hidden truth, and p(t | x) standing on the curve
====================================================

Data are a hidden function plus noise. A regression model therefore predicts more than a number: for each x a density
of t, whose mean is the curve.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import trapezoid
from sklearn.pipeline import make_pipeline

import credo

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 40))[:, None]
t = np.sin(2 * np.pi * x[:, 0]) + 0.25 * rng.normal(size=40)
model = make_pipeline(credo.Polynomial(5), credo.LinearRegression()).fit(x, t)

grid = np.linspace(0, 1, 200)[:, None]
level = np.linspace(-2.2, 2.2, 300)
places = np.array([[0.15], [0.5], [0.8]])
densities = [np.exp(credo.metrics.predictive(model, place[None]).log_prob(level[:, None])[:, 0]) for place in places]
print("areas below the three densities:", np.round([trapezoid(density, level) for density in densities], 3))
print(f"estimated noise {model[-1].noise_std_:.2f} (truth 0.25)")
assert np.allclose([trapezoid(density, level) for density in densities], 1, atol=0.01)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), sharex=True, sharey=True, layout="constrained")
left.plot(grid, np.sin(2 * np.pi * grid), color="C2", label="hidden truth sin 2πx")
left.plot(x, t, "o", color="k", markersize=4, label="data")
left.set(title="what made the data", xlabel="x", ylabel="t")
left.legend()
right.plot(grid, model.predict(grid), color="C3", label="y(x), fitted")
right.plot(x, t, ".", color="0.6", zorder=0)
for place, density in zip(places[:, 0], densities, strict=True):
    right.axvline(place, color="0.7", linewidth=0.8)
    right.fill_betweenx(level, place, place + 0.08 * density, color="C0", alpha=0.4)
    right.plot(place, model.predict([[place]]), "o", color="C3")
right.fill_betweenx([], [], color="C0", alpha=0.4, label="p(t | x) at three places")
right.set(title="what the model predicts", xlabel="x", ylim=(-2, 2))
right.legend()

# %%
# **What to see.** Left: nobody sees the green curve, only the points. Right: at each x the model has a bell of
# densities (blue, drawn sideways) with its middle on the fitted curve, as wide as the noise that it estimated and a
# little more, because the curve itself is uncertain.
