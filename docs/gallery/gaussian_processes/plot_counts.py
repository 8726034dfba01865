"""
Counts over time
================

Events of each year, such as accidents or storms, are whole numbers that can't be negative. With ``noise="poisson"`` the
logarithm of their rate is a Gaussian process, and predictions are distributions over counts. These yearly counts are
simulated; halfway the rate drops within a decade.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(3)
year = np.arange(1850, 1961)
rate = 0.8 + 2.6 / (1 + np.exp((year - 1892) / 3))
counts = rng.poisson(rate)

x, grid = year[:, None], np.linspace(1850, 1975, 400)
plain = credo.GPRegressor("matern52", random_state=0).fit(x, counts)
model = credo.GPRegressor("matern52", noise="poisson", random_state=0).fit(x, counts)
error = [np.abs(each.predict(x) - rate).mean() for each in (plain, model)]
print(f"mean error of the rate: {error[0]:.2f} as plain numbers, {error[1]:.2f} as counts")
lowest = [each.predict_dist(x).interval(0.9)[0].min() for each in (plain, model)]
print(f"lowest end of a 90 % interval: {lowest[0]:.2f} as plain numbers, {lowest[1]:.0f} as counts")
scores = [credo.log_score(counts, each.loo()) for each in (plain, model)]
print(f"log score of left-out years: {scores[0]:.2f} as plain numbers, {scores[1]:.2f} as counts")
assert lowest[0] < 0 <= lowest[1] and scores[1] > scores[0]

# %%
figure, axes = plt.subplots(1, 2, figsize=(12, 4), sharey=True, layout="constrained")
for ax, each, name in ((axes[0], plain, "plain numbers"), (axes[1], model, 'noise="poisson"')):
    dist, latent = each.predict_dist(grid[:, None]), each.predict_dist(grid[:, None], latent=True)
    ax.fill_between(grid, *dist.interval(0.9), alpha=0.2, label="90 % of counts", step="mid")
    ax.fill_between(grid, *latent.interval(0.9), alpha=0.4, color="C0", label="90 % interval of the rate")
    ax.plot(grid, dist.mean, color="C0")
    ax.plot(year, rate, "--", color="k", label="true rate")
    ax.plot(year, counts, ".", color="k", alpha=0.6)
    ax.axhline(0, color="k", linewidth=0.5)
    ax.set(title=name, xlabel="year")
axes[0].set_ylabel("events")
axes[1].legend()

# %%
# **What to see.** As plain numbers, the interval of new counts has one width throughout and reaches below zero. As
# counts, it ends at whole numbers, is wide where there are many events and narrow where there are few, and beyond the
# last year the interval of the rate stays above zero.
