r"""
A Gaussian process is Bayesian linear regression with infinitely many features
==============================================================================

Take m Gaussian features :math:`\phi_j(x) = \exp(-(x - c_j)^2/\ell^2)` with centers c on a grid of spacing h, and
weights with variance :math:`h\sqrt{2/\pi}/\ell`. As m grows, the covariance of the function values tends to
:math:`\exp(-(x - z)^2/(2\ell^2))`: the RBF kernel. The model tends to a Gaussian process with it.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 15))[:, None]
y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=15)
grid = np.linspace(-4, 4, 200)[:, None]
length, noise = 0.8, 0.2**2
gp = credo.GPRegressor(RBF(length), mean="zero", noise=noise, hyperparameters="fixed", standardize=False).fit(x, y)

figure, axes = plt.subplots(1, 4, figsize=(15, 3.8), sharey=True, layout="constrained")
gaps = []
for ax, m in zip(axes, (6, 12, 40, None), strict=True):
    if m is None:
        dist, title = gp.predict_dist(grid, latent=True), f"Gaussian process: {gp.log_evidence_:.3f}"
    else:
        centers, h = np.linspace(-8, 8, m, retstep=True)
        # Radial has exp(−(x − c)²/(2 width²)).
        phi = credo.Radial(centers=centers[:, None], width=length / np.sqrt(2)).fit(x)
        precision = length / (h * np.sqrt(2 / np.pi))
        model = credo.BayesianLinearRegression(
            prior_precision=precision, noise_precision=1 / noise, fit_intercept=False
        ).fit(phi.transform(x), y)  # fmt: skip
        dist, title = model.predict_dist(phi.transform(grid), latent=True), f"{m} features: {model.log_evidence_:.3f}"
        gaps.append(abs(model.log_evidence_ - gp.log_evidence_))
    credo.plots.band(grid, dist, data=(x, y), ax=ax)
    ax.set(title=title, ylim=(-2.5, 2.5))
    ax.get_legend().remove()
print("difference of the log evidences:", [f"{gap:.1e}" for gap in gaps])
assert gaps[0] > 0.5 and gaps[-1] < 1e-6

# %%
# **What to see.** With 6 features the band shrinks between the centers, where no feature is active. With 40 it can't
# be told from the Gaussian process, and the log evidence (in the titles) is the same.
