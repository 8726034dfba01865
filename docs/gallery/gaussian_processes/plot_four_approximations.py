"""
Classification with the true boundary: four approximations side by side
=======================================================================

The posterior of a Gaussian process for labels is not Gaussian. Laplace's method, expectation propagation (EP),
variational inference (VI) and MCMC approximate it, here with the same kernel, so that only the approximation differs.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(90, 2))


def f(X):
    return 4 * (X[:, 1] - np.sin(2 * X[:, 0]))


y = rng.random(90) < 1 / (1 + np.exp(-f(X)))
side = np.linspace(-2, 2, 50)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
new = rng.uniform(-2, 2, size=(2000, 2))
labels = rng.random(2000) < 1 / (1 + np.exp(-f(new)))
figure, axes = plt.subplots(1, 4, figsize=(15, 4), sharey=True, layout="constrained")
scores, surfaces = {}, {}
for ax, inference in zip(axes, ("laplace", "ep", "vi", "mcmc"), strict=True):
    model = credo.GPClassifier(
        RBF(1.0, variance=25.0), inference=inference, hyperparameters="fixed", n_draws=200, random_state=0
    ).fit(X, y)  # fmt: skip
    p = model.predict_proba(plane)[:, 1]
    surfaces[inference] = p
    scores[inference] = credo.log_score(labels, model.predict_dist(new))
    ax.contourf(side, side, p.reshape(50, 50), levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.7)
    ax.contour(side, side, p.reshape(50, 50), levels=[0.5], colors="k")
    ax.contour(side, side, f(plane).reshape(50, 50), levels=[0], colors="k", linestyles="dotted")
    ax.scatter(*X.T, c=np.where(y, "tab:red", "tab:blue"), s=14, edgecolor="w", linewidth=0.4)
    ax.set(title=f"{inference}: log score {scores[inference]:.3f}", xlabel="x₁")
gap = {name: float(np.abs(p - surfaces["mcmc"]).mean()) for name, p in surfaces.items()}
print("mean distance of the probabilities from MCMC:", {name: round(g, 3) for name, g in gap.items()})
assert max(gap["ep"], gap["vi"]) < 0.3 * gap["laplace"] and scores["laplace"] < min(scores["ep"], scores["vi"])

# %%
# **What to see.** All four find the true boundary (dotted) where there are data. EP and VI are close to MCMC, which
# has no error but that of sampling; Laplace's probabilities are too close to 1/2, seen in its paler colors and its
# lower log score on new rows.
