"""
A curve that the evidence keeps straight
========================================

Every column gets a line and a deviation from it, each with a learned variance. A variance of zero takes the part out:
a curve that isn't needed becomes a line, and a line that isn't needed becomes nothing. Here one column acts by a
curve, one by a line, and one not at all.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from credo.additive import AdditiveRegressor

rng = np.random.default_rng(1)
table = pd.DataFrame(rng.uniform(0, 1, size=(200, 3)), columns=["bent", "straight", "unrelated"])
truth = {"bent": lambda x: np.sin(6 * x), "straight": lambda x: 1.5 * x, "unrelated": lambda x: 0 * x}
y = sum(f(table[name]) for name, f in truth.items()) + 0.4 * rng.normal(size=200)

model = AdditiveRegressor(family="gaussian").fit(table, y)
print(model.terms_)
bent, straight, unrelated = model.terms_.columns["log_bayes_factor"]
assert min(bent, straight) > 10 and unrelated < 0

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, name, dof in zip(axes, table, model.terms_.columns["dof"], strict=True):
    curve = model.curve(name)
    grid = curve.points[name]
    ax.fill_between(grid, *curve.band(0.95), alpha=0.2, label="95 % band of the whole curve")
    ax.fill_between(grid, *curve.interval(0.95), color="C0", alpha=0.3, label="95 % interval at each point")
    ax.plot(grid, curve.mean, color="C0")
    ax.plot(grid, truth[name](grid) - truth[name](table[name]).mean(), ":", color="k", label="truth")
    ax.set(ylim=(-1.6, 1.6), title=f"{name}: {dof:.1f} degrees of freedom", xlabel=name)
axes[0].set_ylabel("change of the mean of y")
axes[2].legend()

# %%
# **What to see.** The first column keeps its curve, with about seven effective degrees of freedom. The second is almost
# a straight line, although it could bend: the prior standard deviation of its deviation from a line is a seventh of the
# line's. The third is flat, and its log Bayes factor is below zero: the data are more probable without it. No penalty
# was chosen by hand.
