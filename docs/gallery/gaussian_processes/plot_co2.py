"""
CO₂ by a searched kernel
========================

``search_kernel`` builds a kernel from sums and products, by evidence, and says in words what it found. Here it sees 45
of the months from 1990 to 2004 (CO₂ at Mauna Loa, NOAA); 45 others are held out.
"""

import csv

import numpy as np

import credo

with open("co2.csv", encoding="utf-8") as file:
    year, co2 = np.array([(float(row["year"]), float(row["co2"])) for row in csv.DictReader(file)]).T
known = np.zeros(90, dtype=bool)
known[np.random.default_rng(0).permutation(90)[:45]] = True
found = credo.search_kernel(year[known, None], co2[known], budget=300, random_state=0)
print(found.description)
dist = found.model.predict_dist(year[~known, None])
lower, upper = dist.interval(0.95)
inside = np.mean((lower <= co2[~known]) & (co2[~known] <= upper))
error = credo.rmse(co2[~known], dist.mean)
print(f"held-out months: RMSE {error:.2f} ppm; {100 * inside:.0f} % are inside their 95 % intervals")
assert "yearly cycle" in found.description and error < 1 and inside < 0.9

# %%
panels = credo.plots.components(found, ahead=0.2, name="CO₂ (ppm)")
panels[0].plot(year[~known], co2[~known], "x", color="C1", markersize=4)

# %%
# **What to see.** Top: data, prediction, and the held-out months (crosses). Below: the terms of the kernel that was
# found, each with its 95 % interval: the rise, the yearly cycle, and what is left. From so few rows the intervals are
# too narrow: they don't contain the uncertainty of the search, and fewer than nine in ten of the held-out months are
# inside.
