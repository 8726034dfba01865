"""
Model averaging as rows grow
============================

Bayesian model averaging weights models by their evidence. It assumes that one of them made all rows, so with many rows
all weight goes to one model, even if none is true. Stacking weights by held-out predictions and keeps a combination.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

import credo

rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, size=(800, 1))
y = x[:, 0] + 0.5 * np.abs(x[:, 0]) + 0.5 * rng.normal(size=800)  # neither a line nor a step
regression = credo.BayesianLinearRegression(prior_precision=1.0, noise_precision=4.0)
models = [
    ("line", make_pipeline(credo.Polynomial(1), regression)),
    ("step", make_pipeline(credo.features.Step([-1.0, 0.0, 1.0]), regression)),
]
sizes = [10, 20, 40, 80, 160, 400, 800]
figure, axes = plt.subplots(1, 2, figsize=(12, 4), sharey=True, layout="constrained")
last = {}
for ax, kind in zip(axes, ("evidence", "stacking"), strict=True):
    weights = [credo.ModelAverage(models, weights=kind, random_state=0).fit(x[:n], y[:n]).weights_ for n in sizes]
    weights = np.array(weights)
    last[kind] = weights[-1]
    print(kind, weights.round(2).tolist())
    ax.plot(sizes, weights, marker="o", label=[name for name, _ in models])
    ax.set(title=f"weights by {kind}", xscale="log", xlabel="rows", ylabel="weight")
    ax.legend(frameon=False)
assert last["evidence"].max() > 0.999 and last["stacking"].max() < 0.95

# %%
# **What to see.** Neither model is true. By evidence the weights settle on one of them as rows are added. By stacking
# they tend to the combination that predicts held-out rows best, and both models keep a part.
