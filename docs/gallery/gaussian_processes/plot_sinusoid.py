"""
The sinusoid; posterior draws
=============================

Gaussian-process regression of a noisy sinusoid. Kernel, noise and length scale are learned by evidence.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(0, 3.5, 18), rng.uniform(5, 6.5, 7)])[:, None]
y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=25)
model = credo.GPRegressor("rbf", random_state=0).fit(x, y)
print(model.summary())
grid = np.linspace(-1, 8, 300)
latent = model.predict_dist(grid[:, None], latent=True)
truth = np.sin(2 * grid)
lower, upper = latent.interval(0.95)
near = (grid > 0) & (grid < 6.5)
inside = np.mean((lower <= truth) & (truth <= upper))
print(f"noise standard deviation {np.sqrt(model.noise_variance_):.2f} (truth 0.2)")
print(f"the true function is inside its 95 % band at {100 * inside:.0f} % of the points")
assert inside > 0.85 and latent.std[~near].mean() > 2 * latent.std[near].mean()

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), sharey=True, layout="constrained")
credo.plots.band(grid, model, ax=left)
left.plot(grid, truth, "--", color="k", linewidth=0.8)
right.plot(grid, model.sample(grid[:, None], 8, random_state=0).T, linewidth=0.9)
right.plot(x, y, "o", color="k", markersize=4)
right.set(title="draws from the posterior", xlabel="x")

# %%
# **What to see.** Left: prediction with 95 % bands of y (light) and of f (dark); the dashed line is the truth. In the
# gap and beyond the data the bands widen to the prior. Right: functions from the posterior agree where there are data
# and differ where there are none.
