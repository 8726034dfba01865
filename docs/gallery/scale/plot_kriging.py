"""
Kriging of 200 000
==================

Interpolation of measurements on a map (kriging) is a Gaussian process of two columns. Vecchia's approximation
conditions each row on 30 neighbors, so time grows in proportion to the rows. This page maps 1500 rows; 200 000 took
180 s on two cores.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)


def height(X):
    return np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.5 * np.sin(9 * X[:, 0] + 5 * X[:, 1])


X = rng.uniform(0, 2, size=(1500, 2))
X = X[np.linalg.norm(X - [1.4, 0.7], axis=1) > 0.25]  # a lake, where nothing was measured
y = height(X) + 0.2 * rng.normal(size=len(X))
model = credo.GPRegressor("matern52", method="vecchia", hyperparameters="optimize", n_restarts=0, random_state=0).fit(
    X, y
)
side = np.linspace(0, 2, 45)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
dist = model.predict_dist(plane, latent=True)
lower, upper = dist.interval(0.95)
truth = height(plane)
print(f"{len(X)} rows, noise {np.sqrt(model.noise_variance_):.2f} (truth 0.2)")
print(f"RMSE of the map: {credo.rmse(truth, dist.mean):.3f}")
print(f"the truth is inside the 95 % interval at {100 * np.mean((lower <= truth) & (truth <= upper)):.0f} % of the map")
lake = np.linalg.norm(plane - [1.4, 0.7], axis=1) < 0.2
assert dist.std[lake].mean() > 1.5 * np.median(dist.std)

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), sharey=True, layout="constrained")
for ax, values, title in zip(axes, (truth, dist.mean, dist.std), ("truth", "map", "standard deviation"), strict=True):
    shown = ax.pcolormesh(
        side, side, values.reshape(45, 45), cmap="viridis" if title != "standard deviation" else "magma"
    )
    figure.colorbar(shown, ax=ax)
    ax.set(title=title, aspect="equal")
axes[2].plot(*X.T, ".", color="w", markersize=1)

# %%
# **What to see.** The map agrees with the truth where there are measurements (white dots). In the lake without any,
# and at the border, the standard deviation is larger.
