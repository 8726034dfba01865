"""
Dask
====

A table in partitions, on one machine or many, is summarized partition by partition, and the summaries are merged. The
result is the ordinary fitted model. This page has 200 000 rows in eight partitions; ``fit(chunks)`` does the same for
tables that don't fit into memory.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 5))
y = X @ [1.0, -2.0, 0.0, 0.5, 0.1] + rng.normal(size=200_000)
parts_X, parts_y = da.from_array(X, chunks=(25_000, 5)), da.from_array(y, chunks=25_000)

lazy = credo.BayesianLinearRegression().fit(parts_X, parts_y)
whole = credo.BayesianLinearRegression().fit(X, y)
print(f"largest difference of coefficients: {np.abs(lazy.coef_ - whole.coef_).max():.1e}")
print(f"log evidence: {lazy.log_evidence_:.4f} in parts, {whole.log_evidence_:.4f} at once")
assert np.allclose(lazy.coef_, whole.coef_) and np.isclose(lazy.log_evidence_, whole.log_evidence_)

# %%
# Predictions of a Dask array are a Dask array, computed when asked for:

predictions = lazy.predict(parts_X)
print(type(predictions), predictions.numblocks)

# %%
# Summaries can also be merged by hand. The coefficients after each partition:

summary, history = None, []
for i in range(0, 200_000, 25_000):
    part = credo.summarize(X[i : i + 25_000], y[i : i + 25_000])
    summary = part if summary is None else summary.merge(part)
    model = credo.LinearRegression().fit_summary(summary)
    history.append([model.coef_[4], model.coef_std_error_[4]])
mean, error = np.array(history).T
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.errorbar(np.arange(1, 9), mean, 2 * error, fmt="o", capsize=3)
ax.axhline(0.1, color="0.5", linestyle="--", label="truth")
ax.set(xlabel="partitions merged", ylabel="smallest coefficient, ± 2 standard errors")
ax.legend()
assert np.isclose(mean[-1], credo.LinearRegression().fit(X, y).coef_[4])

# %%
# **What to see.** With every partition merged, the coefficient's interval becomes narrower; after all eight it is that
# of one fit to all rows.
