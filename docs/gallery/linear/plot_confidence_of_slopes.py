r"""
Confidence limits of slopes and the 1/√n rate
=============================================

The standard error of a slope falls like :math:`1/\sqrt n`: four times the rows halve the width of its confidence
limits. ``confint`` gives limits from Student's t distribution, exact for normal noise at any number of rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
slope, sizes = 0.5, np.array([5, 10, 20, 40, 80, 160, 320, 640])


def simulate(n):
    x = rng.uniform(-1, 1, size=(n, 1))
    model = credo.LinearRegression().fit(x, 1.0 + slope * x[:, 0] + rng.normal(size=n))
    return *model.confint(0.95)["x0"], model.coef_std_error_[0]


runs = np.array([[simulate(n) for _ in range(200)] for n in sizes])
lower, upper, errors = np.moveaxis(runs, 2, 0)
covered = np.mean((lower <= slope) & (slope <= upper), axis=1)
rate = np.polyfit(np.log(sizes), np.log(np.median(errors, axis=1)), 1)[0]
print("share of limits that contain the slope:", dict(zip(sizes.tolist(), covered.tolist(), strict=True)))
print(f"standard error ∝ n^{rate:.2f}")
assert abs(rate + 0.5) < 0.1 and covered.min() > 0.9

# %%
figure, (line, left, right) = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
x = rng.uniform(-1, 1, size=(20, 1))
y = 1.0 + slope * x[:, 0] + rng.normal(size=20)
model, grid = credo.LinearRegression().fit(x, y), np.linspace(-1, 1, 100)[:, None]
line.fill_between(grid[:, 0], *model.predict_dist(grid, latent=True).interval(0.95), alpha=0.2, label="95 % band of f")
for limit in model.confint(0.95)["x0"]:
    line.plot(grid, y.mean() + limit * (grid - x.mean()), "--", color="C3")
line.plot([], [], "--", color="C3", label="95 % limits of the slope")
line.plot(grid, model.predict(grid), color="C0", label="least squares")
line.plot(x, y, "o", color="k", markersize=3)
line.set(xlabel="x", ylabel="y", title="one data set of 20 rows", ylim=(-3, 5))
line.legend(fontsize="small", loc="upper left")
first = np.arange(40)
wrong = (lower[2, :40] > slope) | (upper[2, :40] < slope)
left.vlines(first, lower[2, :40], upper[2, :40], color=np.where(wrong, "C3", "C0"))
left.axhline(slope, color="0.3", linewidth=0.8)
left.set(xlabel="data set", ylabel="95 % limits of the slope", title="40 data sets of 20 rows")
right.loglog(sizes, np.median(errors, axis=1), "o-", label="standard error")
right.loglog(sizes, 2 / np.sqrt(sizes), "--", color="0.5", label="proportional to 1/√n")
right.set(xlabel="rows n", ylabel="standard error of the slope")
right.legend()
print(f"limits that miss the slope, of 40: {wrong.sum()}")

# %%
# **What to see.** Left: lines with the lowest and the highest slope that the data allow (dashed) cross where the means
# of x and y are; the band of f contains the uncertainty of the level as well. Middle: limits differ from one data set
# to the next, and about one in twenty misses the true slope (red). Right: on logarithmic axes the standard error is a
# straight line of slope −1/2.
