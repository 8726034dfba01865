r"""
ARD against iteration: x₁, its noisy copy, and noise
====================================================

With a length scale for each input (automatic relevance determination), maximizing the evidence makes the length scales
of irrelevant inputs large. All inputs are normal: the target is a sine of x₁, x₂ is a noisy copy of x₁, and x₃ is noise
(Bishop, figure 6.10). The relevance of an input is its standard deviation divided by its length scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

rng = np.random.default_rng(0)
x1 = rng.normal(scale=0.5, size=100)
X = np.column_stack([x1, x1 + 0.3 * rng.normal(size=100), rng.normal(size=100)])
y = np.sin(2 * np.pi * x1) + 0.1 * rng.normal(size=100)
model = credo.GPRegressor(
    RBF(np.ones(3)), hyperparameters="optimize", hyperpriors=False, n_restarts=0, random_state=0
).fit(X, y)  # fmt: skip
found = dict(zip(("x₁", "x₂", "x₃"), model.relevance_.round(3).tolist(), strict=True))
print("relevance (standard deviation / length scale):", found)
assert model.relevance_[0] > 10 * model.relevance_[1:].max()
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
names = ("x₁: the target is its sine", "x₂: x₁ plus noise", "x₃: noise")
ax.semilogy(model.relevance_trace_, label=names)
ax.set(xlabel="step of the search", ylabel="standard deviation / length scale", title="relevance")
ax.legend()

# %%
# **What to see.** All length scales start equal. The relevance of x₁ rises, and those of its noisy copy x₂ and of the
# noise x₃ fall to less than a tenth of it: given x₁, the copy says nothing more about the target.
