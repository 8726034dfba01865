"""
Active learning
===============

Where should the next measurements be made? A Gaussian process suggests the points where it is least sure, given those
that it has already suggested.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

rng = np.random.default_rng(0)


def measure(x):
    return np.sin(3 * x[:, 0]) * np.exp(-0.2 * x[:, 0]) + 0.05 * rng.normal(size=len(x))


pool = np.linspace(0, 6, 121)[:, None]
truth = np.sin(3 * pool[:, 0]) * np.exp(-0.2 * pool[:, 0])
first = pool[[5, 10, 15, 90]]


def start():
    model = credo.GPRegressor(RBF(0.6, variance=0.5), noise=0.05**2, hyperparameters="fixed", standardize=False)
    return model.fit(first, measure(first))


active, passive = start(), start()
errors = {"suggested": [], "random": []}
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
credo.plots.next_points(active, pool, n=3, ax=left)
for _ in range(14):
    errors["suggested"].append(credo.rmse(truth, active.predict(pool)))
    errors["random"].append(credo.rmse(truth, passive.predict(pool)))
    place = pool[active.suggest(pool, 1)]
    active.update(place, measure(place))
    place = rng.choice(pool, size=1)
    passive.update(place, measure(place))
print({name: round(float(values[-1]), 3) for name, values in errors.items()}, "after 13 further measurements")
assert errors["suggested"][-1] < 0.5 * errors["random"][-1]
for name, values in errors.items():
    right.semilogy(4 + np.arange(14), values, "o-", label=name)
right.set(xlabel="measurements", ylabel="RMSE over the range")
right.legend()

# %%
# **What to see.** Left: suggested are the places where the standard deviation of f (below) is largest; each suggestion
# takes those before it into account. Right: after 13 further measurements the error with suggested points is less than
# half of that with random ones.
