r"""
Covariance of predictions
=========================

Predictions at different inputs share the coefficients, so they are correlated: :math:`\mathrm{cov}(f(x), f(z)) =
\phi(x)^\top S_N \phi(z)`. A band of standard deviations doesn't show this; draws of whole functions do.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(1)
x = np.concatenate([rng.uniform(-1, -0.3, 8), rng.uniform(0.3, 1, 8)])[:, None]
y = 0.5 + x[:, 0] + 0.3 * rng.normal(size=16)
features = credo.Polynomial(3).fit(x)
model = credo.BayesianLinearRegression(prior_precision=1.0, noise_precision=1 / 0.3**2).fit(features.transform(x), y)

grid = np.linspace(-1.2, 1.2, 121)[:, None]
Phi = features.transform(grid)
draws = model.sample_functions(Phi, 20_000, random_state=0)
std = model.predict_dist(Phi, latent=True).std
correlation = np.corrcoef(draws.T)
ends, close = correlation[10, 110], correlation[10, 15]
print(f"correlation of f(−1) with f(−0.9): {close:.2f}, with f(1): {ends:.2f}")
print(f"standard deviation of f at −1: {std[10]:.3f}, of the draws {draws[:, 10].std():.3f}")
assert close > 0.85 and np.allclose(draws.std(axis=0), std, rtol=0.03)

# The difference of two predictions is more certain than independent errors would allow:
step = draws[:, 15] - draws[:, 10]
independent = np.hypot(std[10], std[15])
print(f"standard deviation of f(−0.9) − f(−1): {step.std():.3f}; if they were independent {independent:.3f}")
assert step.std() < 0.6 * independent

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
credo.plots.band(grid, model.predict_dist(Phi, latent=True), data=(x, y), ax=left)
left.set(title="the band")
middle.plot(grid, draws[:12].T, color="C0", linewidth=0.8)
middle.plot(x, y, "o", color="k", markersize=3)
middle.set(title="draws", xlabel="x")
image = right.imshow(correlation, extent=(-1.2, 1.2, 1.2, -1.2), vmin=-1, vmax=1, cmap="RdBu_r")
right.set(title="correlation of f(x) and f(z)", xlabel="x", ylabel="z")
figure.colorbar(image, ax=right)

# %%
# **What to see.** Left: the band says how far f may be off at each x. Middle: curves inside it are smooth, because
# errors at neighboring inputs go together (red along the diagonal of the right panel). So differences, such as a slope
# or a change over time, are more certain than the band suggests.
