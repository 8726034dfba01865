"""
All 1024 models: MAP, median model and inclusion probabilities
==============================================================

With ten columns there are 2¹⁰ = 1024 subsets. Spike and slab gives each a posterior probability. The most probable one
is the MAP model; the columns whose inclusion probability, summed over all subsets, is at least one half form the
median model.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(3)
X = rng.normal(size=(120, 10))
X[:, 5] = X[:, 1] + 0.4 * rng.normal(size=120)  # a noisy copy of column 1
y = 1.0 + 0.9 * X[:, 0] + 0.6 * X[:, 1] - 0.35 * X[:, 2] + rng.normal(size=120)
model = credo.SpikeSlabRegressor(slab="g").fit(X, y)
print(model.models_)
print("MAP model:", model.map_model_, " median model:", model.median_model_)
print("inclusion probabilities:", model.inclusion_probabilities_.round(2))
print(f"probability that column 1 or its copy 5 matters: {model.inclusion_of([1, 5]):.3f}")
assert tuple(model.map_model_) == tuple(model.median_model_) == (0, 1, 2) and model.inclusion_of([1, 5]) > 0.99

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
credo.plots.model_scores(model, ax=left)
credo.plots.inclusions(model, ax=right)

# %%
# **What to see.** Left: the log posterior of all 1024 models, best first, with the best of each size marked; the
# shaded ones share nine tenths of the probability. Right: inclusion probabilities, with the prior of one half; the
# filled bars are the median model, here the same as the MAP model and the truth. The noisy copy x5 takes over in the
# models without x1: that at least one of the two matters is almost certain.
