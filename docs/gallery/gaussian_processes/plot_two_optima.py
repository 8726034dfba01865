"""
Evidence surface with two optima
================================

Few points can be explained in two ways: a short length scale with little noise, or a long one with much noise. The
evidence then has two local maxima (after Rasmussen & Williams 2006, figure 5.5). The search starts from several points
for that reason.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

rng = np.random.default_rng(201)
x = np.sort(rng.uniform(-4, 4, 7))[:, None]
y = np.sin(1.6 * x[:, 0]) + 0.25 * rng.normal(size=7)
settings = {"mean": "zero", "standardize": False, "hyperpriors": False, "random_state": 0}
model = credo.GPRegressor(RBF(1.0).fix("variance"), hyperparameters="optimize", **settings).fit(x, y)
print(f"global: length scale {model.kernel_.params['lengthscale']:.2f}, noise {np.sqrt(model.noise_variance_):.2f},"
      f" log evidence {model.log_evidence_:.2f}")  # fmt: skip

# %%
# The other optimum, by a search on a grid of the same surface:

lengths, noises = np.geomspace(0.1, 30, 40), np.geomspace(0.01, 1.5, 40)
surface = np.array([
    [
        credo.MultivariateNormal(np.zeros(7), RBF(length).gram(x) + noise**2 * np.eye(7)).log_prob(y)
        for length in lengths
    ]
    for noise in noises
])  # fmt: skip
inner = surface[1:-1, 1:-1]
neighbours = [surface[1 + i : 39 + i, 1 + j : 39 + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
peaks = np.argwhere(np.all([inner > other for other in neighbours], axis=0)) + 1
peaks = sorted(peaks.tolist(), key=lambda p: -surface[p[0], p[1]])[:2]
for i, j in peaks:
    print(f"local maximum: length scale {lengths[j]:.2f}, noise {noises[i]:.2f}, log evidence {surface[i, j]:.2f}")
assert len(peaks) == 2 and noises[peaks[1][0]] > 2 * noises[peaks[0][0]]
assert np.isclose(surface.max(), model.log_evidence_, atol=0.05)

# %%
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
axes[0].contour(lengths, noises, surface, levels=surface.max() - np.array([8, 5, 3, 2, 1.5, 1, 0.7, 0.4, 0.2, 0.05]))
axes[0].set(xscale="log", yscale="log", xlabel="length scale", ylabel="noise standard deviation", title="log evidence")
grid = np.linspace(-5, 5, 200)[:, None]
for ax, (i, j), name in zip(axes[1:], peaks, ("the higher", "the lower"), strict=True):
    axes[0].plot(lengths[j], noises[i], "k+", markersize=12)
    fixed = credo.GPRegressor(RBF(lengths[j]), noise=noises[i] ** 2, hyperparameters="fixed", **settings)
    credo.plots.band(grid, fixed.fit(x, y), ax=ax)
    ax.set(title=f"{name} maximum", ylim=(-3, 3))

# %%
# **What to see.** Left: the surface has two maxima (crosses). Middle and right: what each of them says about the same
# points: a function that varies quickly with little noise, or a nearly straight one with about three times the noise.
