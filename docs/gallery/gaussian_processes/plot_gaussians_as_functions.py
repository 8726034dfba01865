r"""
2-, 6- and 25-dimensional Gaussians as functions; conditioning on one point
===========================================================================

A draw from a d-dimensional Gaussian is d numbers. Plotted against their index they look like a function, if neighbors
are correlated. A Gaussian process is this for every finite set of points.
"""

import matplotlib.pyplot as plt
import numpy as np

from credo import MultivariateNormal
from credo.kernels import RBF

figure, axes = plt.subplots(2, 3, figsize=(12, 6.4), sharey=True, layout="constrained")
for column, d, step in zip(axes.T, (2, 6, 25), (0.2, 0.2, 0.04), strict=True):
    place = step * np.arange(d)
    cov = RBF(0.3).gram(place[:, None])
    gaussian = MultivariateNormal(np.zeros(d), cov)
    conditional = gaussian.condition([0], [1.5])
    after = np.column_stack([np.full(6, 1.5), conditional.sample(6, random_state=0)])
    print(f"d = {d}: correlation of neighbors {cov[0, 1]:.2f}; std of x₂ given x₁ {conditional.std[0]:.2f}")
    assert np.isclose(conditional.mean[0], 1.5 * cov[0, 1])
    for ax, draws in zip(column, (gaussian.sample(6, random_state=0), after), strict=True):
        ax.plot(np.arange(1, d + 1), draws.T, "o-", markersize=3, linewidth=0.9)
        ax.set(xlabel="index", xticks=np.arange(1, d + 1, 1 if d < 10 else 4))
    column[0].set(title=f"{d} dimensions", ylabel="value" if d == 2 else "")
    column[1].fill_between(
        np.arange(2, d + 1), *(conditional.mean + s * conditional.std for s in (-2, 2)), color="0.85", zorder=0
    )
    column[1].set(title="given that the first is 1.5")

# %%
# **What to see.** Top: six draws from each Gaussian; in 25 dimensions they already look like smooth functions. Bottom:
# the same Gaussians conditioned on one point. Neighbors of the known value are nearly determined by it, distant ones
# keep their prior spread (gray, two standard deviations).
