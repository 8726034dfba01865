"""
Mixture of experts
==================

Different linear models hold in different regions. The gate, a softmax of x, gives the probability of each expert at x;
EM fits experts and gate together, and BIC chooses their number.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, size=(200, 1))
y = np.where(x[:, 0] < 0, 1.0 + 1.5 * x[:, 0], 2.0 - 1.0 * x[:, 0]) + 0.25 * rng.normal(size=200)
model = credo.MixtureOfExpertsRegressor(2, random_state=0).fit(x, y)
line = credo.LinearRegression().fit(x, y)
scores = {n: credo.bic(credo.MixtureOfExpertsRegressor(n, random_state=0).fit(x, y)) for n in (1, 2, 3)}
print("BIC by number of experts:", {n: round(b, 1) for n, b in scores.items()})
print("probability of each expert at x = −2 and 2:", model.gate_proba([[-2.0], [2.0]]).round(2).tolist())
assert min(scores, key=scores.get) == 2

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), sharey=True, layout="constrained")
credo.plots.expert_regions(model, x, y, ax=left)
grid = np.linspace(-3.5, 3.5, 300)[:, None]
credo.plots.band(grid, model.predict_dist(grid), data=(x, y), ax=right)

# %%
# **What to see.** Left: two lines, each drawn strongly where the gate chooses it, and the rows in the color of the
# expert that is responsible for them. Right: the predictive distribution is the mixture of both; around x = 0, where
# the gate is unsure which line holds, its interval is wider.
