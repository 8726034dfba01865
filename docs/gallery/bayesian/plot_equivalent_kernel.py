"""
Equivalent kernel
=================

The predictive mean of a linear model is a weighted sum of the training targets. The weight of each target, as a
function of where it was measured, is the equivalent kernel; it does not depend on the targets.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

x = np.linspace(-1, 1, 200)[:, None]
y = np.random.default_rng(0).normal(size=200)
bases = {
    "polynomials of degree 8": credo.Polynomial(8),
    "Gaussians": credo.Radial(centers=np.linspace(-1, 1, 12)[:, None], width=0.15),
    "sigmoids": credo.Sigmoid(centers=np.linspace(-1, 1, 12)[:, None], slope=10.0),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, (name, features) in zip(axes, bases.items(), strict=True):
    Phi = features.fit_transform(x)
    model = credo.BayesianLinearRegression(prior_precision=0.01, noise_precision=1.0).fit(Phi, y)
    weights = model.equivalent_kernel(Phi)
    assert np.allclose(weights @ y, model.predict(Phi)) and np.allclose(weights.sum(axis=1), 1)
    for place, color in ((20, "C2"), (100, "C0"), (180, "C1")):
        ax.plot(x, weights[place], color=color)
        ax.axvline(x[place], color=color, linewidth=0.6, linestyle=":")
    print(f"{name}: weight at x = 0 of a target at distance 0: {weights[100, 100]:.3f}, 0.5: {weights[100, 150]:.3f}")
    assert weights[100, 100] > 5 * abs(weights[100, 150])
    ax.axhline(0, color="0.5", linewidth=0.6)
    ax.set(title=name, xlabel="where the target was measured")
axes[0].set(ylabel="weight in the prediction")

# %%
# **What to see.** Predictions at three places (dotted lines) are weighted sums of targets, and those nearby have the
# largest weights, although polynomials and sigmoids are not local. Weights can be negative, and those of one
# prediction sum to one.
