"""
Bagging and where it hurts
==========================

Bagging averages a model over bootstrap samples. It helps where the errors of the members are large and differ, as for
deep trees. It does nothing for a stable model, and hurts where a bootstrap sample determines the model much worse than
the rows do, as for a polynomial of high degree.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import credo

rng = np.random.default_rng(0)
learners = {
    "deep tree": DecisionTreeRegressor(random_state=0),
    "straight line": credo.LinearRegression(),
    "polynomial of degree 7": make_pipeline(credo.Polynomial(7), credo.LinearRegression()),
}


def draw(n):
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, np.sin(3 * x[:, 0]) + 0.3 * rng.normal(size=n)


new_x, new_y = draw(500)
errors = {name: [] for name in learners}
for _ in range(5):
    x, y = draw(25)
    for name, learner in learners.items():
        bagged = credo.BaggingRegressor(learner, n_estimators=25, random_state=0).fit(x, y)
        single = learner.fit(x, y).predict(new_x)
        errors[name].append([credo.rmse(new_y, single), credo.rmse(new_y, bagged.predict(new_x))])
errors = {name: np.median(pairs, axis=0) for name, pairs in errors.items()}
for name, (single, bagged) in errors.items():
    print(f"{name}: RMSE on new rows {single:.3f} alone, {bagged:.3f} bagged")
assert errors["deep tree"][1] < errors["deep tree"][0]
assert errors["polynomial of degree 7"][1] > errors["polynomial of degree 7"][0]

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4), sharey=True, layout="constrained")
grid = np.linspace(-1, 1, 300)[:, None]
for ax, (name, learner) in zip(axes, learners.items(), strict=True):
    bagged = credo.BaggingRegressor(learner, n_estimators=25, random_state=0).fit(x, y)
    members = np.array([member.predict(grid) for member in bagged.estimators_])
    credo.plots.band(grid, bagged.predict_dist(grid), draws=members, data=(x, y), ax=ax)
    ax.set(title="{}: {:.2f} alone, {:.2f} bagged".format(name, *errors[name]), ylim=(-2.5, 2.5))

# %%
# **What to see.** Trees differ from one bootstrap sample to the next, and their average is better than a single one.
# Straight lines hardly differ, and the error stays the same. Some of the polynomials leave the data at the ends, where
# a bootstrap sample has few rows, and take the average with them. Titles: median RMSE on new rows over five data
# sets.
