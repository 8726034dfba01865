"""
ARD against iteration: x₁, its noisy copy, and noise
====================================================

With a length scale for each input (automatic relevance determination), maximizing the evidence makes the length scales
of irrelevant inputs large. The target depends on x₁; x₂ is a noisy copy of x₁, x₃ is noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

rng = np.random.default_rng(0)
x1 = rng.uniform(-1, 1, size=100)
X = np.column_stack([x1, x1 + 0.3 * rng.normal(size=100), rng.uniform(-1, 1, size=100)])
y = np.sin(2 * np.pi * x1) + 0.1 * rng.normal(size=100)
model = credo.GPRegressor(
    RBF(np.ones(3)), hyperparameters="optimize", hyperpriors=False, n_restarts=0, random_state=0
).fit(X, y)  # fmt: skip
print("relevance (standard deviation / length scale):", model.relevance_.round(3))
assert model.relevance_[0] > 10 * model.relevance_[1:].max()
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.semilogy(model.relevance_trace_, label=["x0", "x1", "x2"])
ax.set(xlabel="step of the search", ylabel="relevance (standard deviation / length scale)")
ax.legend(frameon=False)

# %%
# **What to see.** All three start equal. The relevance of x₁ (x0 in the figure) rises, and those of its noisy copy and
# of the noise fall to less than a tenth of it: given x₁, the copy says nothing more about the target.
