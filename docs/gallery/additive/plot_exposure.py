"""
Counts with exposure
====================

Bicycle accidents on the days of a year, simulated: their rate depends on the temperature and on the street, and each
count is for a different number of hours. Counts have a log link, so the hours enter as a factor: ``exposure``.
``family="auto"`` chooses between Poisson and negative binomial by evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import credo
from credo.additive import AdditiveRegressor, random, smooth

rng = np.random.default_rng(2)
street = rng.choice([f"street {k}" for k in range(12)], size=400)
effect = dict(zip(sorted(set(street)), 0.5 * rng.normal(size=12), strict=True))
table = pd.DataFrame({"temperature": rng.uniform(-5, 35, size=400), "street": street})
rate = 0.5 * np.exp(-(((table["temperature"] - 22) / 14) ** 2)) * np.exp(table["street"].map(effect))
hours = rng.choice([2.0, 8.0, 24.0], size=400)
counts = rng.negative_binomial(5, 5 / (5 + rate * hours))

model = AdditiveRegressor([smooth("temperature"), random("street")]).fit(table, counts, exposure=hours)
print(model.summary())
assert model.family_ == "negative_binomial"
credo.plots.terms(model, name="accidents")

# %%
# Effects on the logarithm of the rate multiply it. The rates themselves, and new counts:

figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.4), layout="constrained")
grid = np.linspace(-5, 35, 200)
rows = pd.DataFrame({"temperature": grid, "street": "a new street"})
an_hour = model.predict_dist(rows, latent=True, exposure=1.0)
left.fill_between(grid, *an_hour.interval(0.95), alpha=0.2, label="a new street, 95 % interval")
for k, name in enumerate(["street 3", "street 8"]):
    own = model.predict_dist(rows.assign(street=name), latent=True, exposure=1.0)
    left.fill_between(grid, *own.interval(0.95), color=f"C{k + 1}", alpha=0.3, label=name)
    left.plot(grid, 0.5 * np.exp(-(((grid - 22) / 14) ** 2) + effect[name]), ":", color=f"C{k + 1}")
left.plot([], [], ":k", label="truth")
left.set(xlabel="temperature (°C)", ylabel="accidents per hour", ylim=(0, None))
left.legend(loc="upper left")
busiest = table["street"].value_counts().index[0]
for width, color in zip((24.0, 8.0, 2.0), ("C0", "C1", "C2"), strict=True):
    mine = (hours == width) & (table["street"] == busiest)
    dist = model.predict_dist(rows.assign(street=busiest), exposure=width)
    right.fill_between(grid, *dist.interval(0.9), color=color, alpha=0.25, step="mid")
    right.plot(table["temperature"][mine], counts[mine], "o", color=color, label=f"in {width:.0f} hours")
right.set(title=f"{busiest}, with 90 % intervals", xlabel="temperature (°C)", ylabel="accidents")
right.legend(loc="upper left")

# %%
# **What to see.** Left: the rate of an hour for two streets. For a new street only the distribution of streets is
# known, so its interval is far wider; none reaches below zero. Right: counts of 2, 8 and 24 hours come from the same
# rate, and their intervals end at whole numbers. The negative binomial distribution was chosen, because the counts
# vary more than Poisson counts would.
