"""
Lasso path by coordinate descent
================================

Coordinate descent minimizes the lasso's objective over one coefficient at a time, each by soft thresholding.
``lasso_path`` does so for a sequence of penalties, each started from the solution before; its duality gaps bound the
distance from the minimum.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import credo

X, y = load_diabetes(return_X_y=True, as_frame=True)
X = (X - X.mean()) / X.std()
path = credo.lasso_path(X, y, tol=1e-9)
print(f"{len(path.alphas)} penalties; largest duality gap {path.dual_gaps.max():.1e} of {np.var(y) / 2:.0f}")

# %%
# The same by the plainest loop, at one of the penalties:

Z, target, alpha = X.to_numpy() - X.to_numpy().mean(axis=0), (y - y.mean()).to_numpy(), path.alphas[50]
w, n, history = np.zeros(Z.shape[1]), len(Z), []
for _ in range(200):
    for j in range(len(w)):
        rest = target - Z @ w + Z[:, j] * w[j]
        w[j] = credo.soft_threshold(Z[:, j] @ rest / n, alpha) / (Z[:, j] @ Z[:, j] / n)
    history.append(np.abs(w - path.coefs[:, 50]).max())
print(f"distance from lasso_path after 1, 10 and 200 rounds: {history[0]:.1e}, {history[9]:.1e}, {history[-1]:.1e}")
assert history[-1] < 1e-4

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
credo.plots.coefficient_path(path, names=list(X.columns), model=credo.LassoCV().fit(X, y), ax=left)
right.semilogy(np.arange(1, 201), history)
right.set(xlabel="rounds of coordinate descent", ylabel="largest distance from lasso_path")

# %%
# **What to see.** Left: from left to right the penalty falls and one column after another enters; the vertical lines
# are the penalties by cross-validation. Right: each round of the plain loop reduces the distance from the solution.
