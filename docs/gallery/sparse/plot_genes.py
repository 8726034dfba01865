"""
Genes, n ≪ d
============

Expression arrays have thousands of genes and a few dozen patients. Here 5 of 600 simulated genes, in groups that are
correlated, determine the response of 80 patients.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
n, d, true = 80, 600, [10, 130, 250, 370, 490]
groups = np.repeat(rng.normal(size=(n, d // 20)), 20, axis=1)
X = np.sqrt(0.5) * groups + np.sqrt(0.5) * rng.normal(size=(n, d))
y = X[:, true] @ [1.5, -1.5, 1.2, -1.2, 1.0] + 0.5 * rng.normal(size=n)

lasso = credo.LassoCV().fit(X, y)
subsets = credo.SpikeSlabRegressor(slab="g", prior_inclusion=(1, 100), n_draws=500, random_state=0).fit(X, y)
chosen = np.flatnonzero(lasso.coef_)
print(f"lasso: {len(chosen)} genes, of the true ones {len(set(chosen) & set(true))}")
print("spike and slab, median model:", subsets.median_model_)
assert set(true) <= set(chosen) and len(chosen) > 10 and set(subsets.median_model_) == set(true)

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(11, 5.4), sharex=True, layout="constrained")
top.vlines(np.arange(d), 0, np.abs(lasso.coef_), color="0.6")
top.vlines(true, 0, np.abs(lasso.coef_[true]), color="C3", linewidth=2.5)
top.set(ylabel="weight of the lasso")
bottom.vlines(np.arange(d), 0, subsets.inclusion_probabilities_, color="0.6")
bottom.vlines(true, 0, subsets.inclusion_probabilities_[true], color="C3", linewidth=2.5)
bottom.set(xlabel="gene", ylabel="inclusion probability")

# %%
# **What to see.** The lasso, tuned for prediction, finds the five genes (red) and adds others with small weights. The
# posterior over subsets, sampled by MCMC, gives the five a high inclusion probability and nearly all others one close
# to zero.
