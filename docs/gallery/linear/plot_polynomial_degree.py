"""
Polynomial fit and over-fitting by degree
=========================================

A polynomial is linear in its coefficients, so least squares fits it. With every degree the training error falls; the
error on new rows falls first and rises again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

import credo

rng = np.random.default_rng(1)


def draw(n):
    x = rng.uniform(0, 1, size=(n, 1))
    return x, np.sin(2 * np.pi * x[:, 0]) + 0.3 * rng.normal(size=n)


(X, y), (X_new, y_new) = draw(15), draw(1000)
degrees = range(1, 10)
models = {d: make_pipeline(credo.Polynomial(d), credo.LinearRegression()).fit(X, y) for d in degrees}
train = [credo.rmse(y, model.predict(X)) for model in models.values()]
test = [credo.rmse(y_new, model.predict(X_new)) for model in models.values()]
best = degrees[int(np.argmin(test))]
print(f"smallest error on new rows: {min(test):.2f} at degree {best}; at degree 9: {test[-1]:.2f}")
assert np.all(np.diff(train) < 1e-9) and 2 < best < 7 and test[-1] > 1.5 * min(test)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
grid = np.linspace(X.min(), X.max(), 300)[:, None]
for degree, color in ((1, "C2"), (best, "C0"), (9, "C3")):
    left.plot(grid, models[degree].predict(grid), color=color, label=f"degree {degree}")
left.plot(grid, np.sin(2 * np.pi * grid), "--", color="0.5", label="truth")
left.plot(X, y, "o", color="k", markersize=4)
left.set(ylim=(-2, 2), xlabel="x", ylabel="y")
left.legend()
right.plot(degrees, train, "o-", label="training rows")
right.plot(degrees, test, "s-", label="new rows")
right.axhline(0.3, color="0.5", linewidth=0.8, label="noise")
right.set(xlabel="degree", ylabel="RMSE", yscale="log")
right.legend()

# %%
# **What to see.** Degree 1 misses the shape, degree 9 follows the noise of the 15 points. The training error always
# falls with the degree and can't choose it; the error on 1000 new rows is smallest in between.
