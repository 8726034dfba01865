"""
CO₂ by a searched kernel
========================

``search_kernel`` builds a kernel from sums and products, by evidence, and says in words what it found. The series is
simulated after the one from Mauna Loa (a rise that steepens, a yearly cycle of two harmonics, noise), so that the truth
is known. The search sees 60 months of 15 years; 60 others are held out.
"""

import numpy as np

import credo

rng = np.random.default_rng(0)
year = np.sort(1990 + rng.choice(180, size=120, replace=False) / 12)
past, turn = year - 1990, 2 * np.pi * year
truth = 354 + 1.5 * past + 0.02 * past**2 + 2.8 * np.sin(turn) - 0.8 * np.cos(2 * turn)
co2 = truth + 0.3 * rng.normal(size=120)
known = np.zeros(120, dtype=bool)
known[rng.permutation(120)[:60]] = True

found = credo.search_kernel(year[known, None], co2[known], budget=300, random_state=0)
print(found.description)
dist = found.model.predict_dist(year[~known, None])
lower, upper = dist.interval(0.95)
inside = np.mean((lower <= co2[~known]) & (co2[~known] <= upper))
error = credo.rmse(co2[~known], dist.mean)
print(f"held-out months: RMSE {error:.2f} ppm; {100 * inside:.0f} % are inside their 95 % intervals")
assert "yearly cycle" in found.description and error < 1

# %%
panels = credo.plots.components(found, ahead=0.2, name="CO₂ (ppm)")
panels[0].plot(year[~known], co2[~known], "x", color="C1", markersize=4)

# %%
# **What to see.** Top: data, prediction, and the held-out months (crosses). Below: the terms of the kernel that was
# found, each with its 95 % interval: the rise and the yearly cycle. The noise is estimated a little below the true 0.3,
# and the intervals don't contain the uncertainty of the search: somewhat less than 95 % of the months are inside.
