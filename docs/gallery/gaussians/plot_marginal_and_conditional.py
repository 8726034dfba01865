r"""
Marginal and conditional of a 2-D Gaussian
==========================================

If two numbers are jointly Gaussian, each by itself is Gaussian (marginal), and so is one given the other (conditional).
The marginal drops the other number's row and column of the covariance; the conditional has the mean :math:`\mu_a +
\Sigma_{ab}\Sigma_{bb}^{-1}(x_b - \mu_b)`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from credo import MultivariateNormal

joint = MultivariateNormal([0.5, 0.5], [[0.04, 0.036], [0.036, 0.05]])
seen = 0.7
marginal, conditional = joint.marginal([0]), joint.condition([1], [seen])
print(f"marginal: mean {marginal.mean[0]:.2f}, std {marginal.std[0]:.3f}")
print(f"given x_b = {seen}: mean {conditional.mean[0]:.2f}, std {conditional.std[0]:.3f}")

grid = np.linspace(0, 1, 200)
plane = np.stack(np.meshgrid(grid, grid), axis=-1)
density = np.exp(joint.log_prob(plane.reshape(-1, 2))).reshape(200, 200)
row = density[np.abs(grid - seen).argmin()]  # the joint density along x_b = 0.7, normalized
alone = norm.pdf(grid, conditional.mean[0], conditional.std[0])
assert np.abs(row / (row.sum() * (grid[1] - grid[0])) - alone).max() < 0.15 and conditional.std[0] < marginal.std[0]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.contour(grid, grid, density, levels=6, cmap="viridis")
left.axhline(seen, color="C3")
left.annotate(f"x_b = {seen}", (0.03, seen + 0.02), color="C3")
left.set(title="p(x_a, x_b)", xlabel="x_a", ylabel="x_b", aspect="equal")
right.plot(grid, norm.pdf(grid, marginal.mean[0], marginal.std[0]), label="marginal p(x_a)")
right.plot(grid, alone, color="C3", label=f"conditional p(x_a | x_b = {seen})")
right.set(title="x_a alone", xlabel="x_a", ylabel="density", ylim=(0, None))
right.legend(loc="upper left")

# %%
# **What to see.** The conditional is the joint density along the red line, scaled to area one. Its mean moves to where
# the line crosses the ellipses, and it is narrower than the marginal: x_b tells something about x_a. Its width would be
# the same for any other value of x_b.
