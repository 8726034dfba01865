"""
Heteroscedastic motorcycle
==========================

In Silverman's motorcycle data (1985) the acceleration of a helmet is first steady, then swings and scatters. These
points are simulated after it. Constant noise is too wide at the start and too narrow in the middle;
``noise="heteroscedastic"`` learns the noise as a function of time.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
t = np.sort(rng.uniform(2, 57, 100))
swing = -130 * np.exp(-(((t - 21) / 5) ** 2)) + 60 * np.exp(-(((t - 32) / 5) ** 2))
noise = 2 + 24 / (1 + np.exp(-(t - 15) / 1.2)) * np.exp(-np.clip(t - 35, 0, None) / 25)
y = swing + noise * rng.normal(size=100)

constant = credo.GPRegressor("matern52", random_state=0).fit(t[:, None], y)
varying = credo.GPRegressor("matern52", noise="heteroscedastic", n_restarts=1, random_state=0).fit(t[:, None], y)
found = varying.noise_std(t[:, None])
print(f"noise at t = 5: {varying.noise_std([[5.0]])[0]:.1f}, at t = 30: {varying.noise_std([[30.0]])[0]:.1f};"
      f" constant: {np.sqrt(constant.noise_variance_):.1f}")  # fmt: skip
log_scores = [credo.log_score(y, model.predict_dist(t[:, None])) for model in (constant, varying)]
print(f"log score of these rows: {log_scores[0]:.2f} with constant noise, {log_scores[1]:.2f} with varying noise")
assert log_scores[1] > log_scores[0] and found[t < 10].max() < 0.5 * found[(t > 20) & (t < 40)].min()

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
grid = np.linspace(0, 60, 300)
for ax, model, name in ((axes[0], constant, "constant noise"), (axes[1], varying, "heteroscedastic noise")):
    credo.plots.band(grid, model, name="acceleration", ax=ax)
    ax.set(title=name, xlabel="time (ms)", ylim=(-180, 120))
axes[2].plot(t, noise, "--", color="k", label="truth")
axes[2].plot(t, found, label="learned")
axes[2].axhline(np.sqrt(constant.noise_variance_), color="C1", label="constant")
axes[2].set(xlabel="time (ms)", ylabel="noise standard deviation")
axes[2].legend()

# %%
# **What to see.** With constant noise the band before 15 ms is far wider than the scatter of the points. The learned
# noise is small there, rises when the swing begins, and follows the true one.
