"""
Calibrated, overconfident and underconfident
============================================

A forecast is calibrated if its probabilities are frequencies: 95 % of the outcomes are inside the 95 % intervals, and
the distribution function at the outcome (PIT) is uniform. Here three forecasts with the same mean and different
widths.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
mean = rng.normal(size=2000)
y = mean + rng.normal(size=2000)
forecasts = {name: credo.Normal(mean, np.full(2000, std)) for name, std in
             (("overconfident", 0.6), ("calibrated", 1.0), ("underconfident", 1.8))}  # fmt: skip
figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
scores = {}
for ax, (name, dist) in zip(axes, forecasts.items(), strict=True):
    inside = credo.coverage(y, dist, level=0.95)
    scores[name] = credo.log_score(y, dist)
    print(f"{name}: RMSE {credo.rmse(y, dist.mean):.2f}, 95 % coverage {inside:.3f}, log score {scores[name]:.2f}")
    credo.plots.calibration(credo.pit(y, dist), ax=ax)
    ax.set(title=f"{name}: coverage {100 * inside:.0f} %, log score {scores[name]:.2f}")
assert max(scores, key=scores.get) == "calibrated"

# %%
# **What to see.** Too narrow intervals make a U: outcomes fall into the tails too often. Too wide ones make a hump.
# Flat bars are calibrated. The RMSE of all three is the same; the log score tells them apart and is best for the
# calibrated one.
