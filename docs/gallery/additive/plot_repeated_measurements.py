"""
Repeated measurements: subjects that shrink
===========================================

Reaction times of 18 subjects on ten days without enough sleep, simulated: each subject has its own intercept
and slope. ``random`` makes them draws from normal distributions with learned variances, as ``lmer`` of R's lme4 does:
what a subject's own few rows say is pulled to the mean of all. Four subjects left the study after three days.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from credo.additive import AdditiveRegressor, linear, random

rng = np.random.default_rng(5)
start, slope = rng.normal(250, 25, size=18), rng.normal(10, 6, size=18)
table = pd.DataFrame({"subject": np.repeat([f"s{i:02}" for i in range(18)], 10), "day": np.tile(np.arange(10.0), 18)})
y = np.repeat(start, 10) + np.repeat(slope, 10) * table["day"] + rng.normal(0, 25, size=180)
left_early = (table["subject"] >= "s14") & (table["day"] > 2)
table, y = table[~left_early], y[~left_early]

terms = [linear("day"), random("subject"), random("subject", by="day")]
model = AdditiveRegressor(terms, family="gaussian").fit(table, y)
print(model.summary())

# %%
# The line of each subject, by least squares on its own rows and by the model:

names = sorted(table["subject"].unique())
alone = {name: np.polyfit(table["day"][table["subject"] == name], y[table["subject"] == name], 1) for name in names}
ends = pd.DataFrame({"subject": np.repeat(names, 2), "day": np.tile([0.0, 1.0], 18)})
levels = model.predict(ends).reshape(18, 2)
shrunk = np.column_stack([levels[:, 1] - levels[:, 0], levels[:, 0]])
true = np.column_stack([slope, start])
error = [np.sqrt(np.mean((each - true)[:, 0] ** 2)) for each in (np.array(list(alone.values())), shrunk)]
print(f"error of the slopes: {error[0]:.1f} by least squares, {error[1]:.1f} by the model")
assert error[1] < error[0]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.6), layout="constrained")
for k, name in enumerate(["s13", "s16"]):
    mine, grid = table["subject"] == name, np.linspace(0, 9, 50)
    rows = pd.DataFrame({"subject": name, "day": grid})
    left.plot(table["day"][mine], y[mine], "o", color=f"C{k}", label=name)
    left.plot(grid, np.polyval(alone[name], grid), ":", color=f"C{k}")
    left.fill_between(grid, *model.predict_dist(rows, latent=True).interval(0.95), color=f"C{k}", alpha=0.2)
    left.plot(grid, model.predict(rows), color=f"C{k}")
left.plot([], [], ":k", label="least squares")
left.plot([], [], "k", label="model, with 95 % band")
left.set(xlabel="day", ylabel="reaction time (ms)", ylim=(140, 470))
left.legend(loc="upper left", ncols=2)
for name, own, pulled in zip(names, alone.values(), shrunk, strict=True):
    few = name >= "s14"
    right.annotate("", pulled, own, arrowprops={"arrowstyle": "->", "color": "C1" if few else "C0"})
    right.plot(*own, "o", mfc="w", color="C1" if few else "C0")
right.plot([], [], "o", mfc="w", color="C0", label="ten days")
right.plot([], [], "o", mfc="w", color="C1", label="three days")
right.plot(*shrunk.mean(axis=0), "+k", markersize=14, label="mean of all")
right.set(xlabel="slope (ms per day)", ylabel="intercept (ms)")
right.legend()

# %%
# **What to see.** Right: circles are the lines of least squares, arrows lead to those of the model. Subjects with ten
# days move little; those with three days, whose own lines are mostly noise, move far. Left: a line through three days
# would predict nonsense for the ninth; the model's is a compromise, with a band that says how unsure it is.
