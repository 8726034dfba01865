r"""
p(t₂ | t₁): prediction is a slice of the joint density
======================================================

Two targets of a Gaussian process with noise are jointly normal, with covariance :math:`C = K + \sigma^2 I`. Once t₁ is
observed, the prediction of t₂ is the slice of the joint density at this value (Bishop, figure 6.7).
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

kernel, noise, seen = RBF(1.0), 0.05, 0.9
level = np.linspace(-2.5, 2.5, 200)
plane = np.stack(np.meshgrid(level, level), axis=-1)
figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
spread = []
for (top, bottom), distance in zip(axes.T, (0.3, 1.0, 2.5), strict=True):
    x = np.array([[0.0], [distance]])
    joint = credo.MultivariateNormal(np.zeros(2), kernel.gram(x) + noise * np.eye(2))
    slice_ = joint.condition([0], [seen])
    settings = {"mean": "zero", "noise": noise, "standardize": False, "hyperparameters": "fixed"}
    predicted = credo.GPRegressor(kernel, **settings).fit(x[:1], [seen]).predict_dist(x[1:])
    assert np.allclose([slice_.mean[0], slice_.std[0]], [predicted.mean[0], predicted.std[0]])
    spread.append(float(slice_.std[0]))
    print(f"distance {distance}: t₂ given t₁ = {seen} has mean {slice_.mean[0]:.2f}, std {spread[-1]:.2f}")
    density = np.exp(joint.log_prob(plane.reshape(-1, 2))).reshape(200, 200)
    top.contour(level, level, density, levels=6, cmap="viridis")
    top.axvline(seen, color="C3")
    top.set(title=f"x₂ − x₁ = {distance}", xlabel="t₁", ylabel="t₂", aspect="equal")
    bottom.plot(level, np.exp(slice_.log_prob(level[:, None])), color="C3", label=f"p(t₂ | t₁ = {seen})")
    bottom.plot(level, np.exp(joint.marginal([1]).log_prob(level[:, None])), "--", color="0.5", label="p(t₂)")
    bottom.set(xlabel="t₂", ylim=(0, 1.5))
axes[1, 0].set(ylabel="density")
axes[1, 0].legend()
assert spread == sorted(spread)

# %%
# **What to see.** Top: the closer the inputs, the narrower the joint density. Bottom: the red slice is the prediction,
# and `GPRegressor` computes the same numbers. At a large distance the first value says next to nothing about the
# second, and the prediction is the prior (dashed).
