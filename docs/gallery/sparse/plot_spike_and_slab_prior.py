r"""
The spike-and-slab prior
========================

A coefficient is exactly zero with probability :math:`1 - \pi` (the spike), and else normal with variance v (the slab).
With orthonormal columns and known noise, the posterior given the least-squares coefficient a is again a spike and a
slab: its mean shrinks small coefficients to nearly zero and leaves large ones alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import credo

prior, slab, noise = 0.3, 9.0, 1.0


def posterior(a):
    """The probability of the slab, and the mean of the coefficient."""
    wide, narrow = norm.pdf(a, 0, np.sqrt(slab + noise)), norm.pdf(a, 0, np.sqrt(noise))
    inclusion = prior * wide / (prior * wide + (1 - prior) * narrow)
    return inclusion, inclusion * slab / (slab + noise) * a


# The model finds the same for orthonormal columns (which here sum to zero, because it has an intercept):
Q = np.linalg.qr(np.column_stack([np.ones(40), np.random.default_rng(0).normal(size=(40, 5))]))[0][:, 1:]
a = np.array([4.0, 2.5, 1.5, 0.5, -0.2])
model = credo.SpikeSlabRegressor(
    prior_inclusion=prior, slab="normal", slab_variance=slab, noise_variance=noise
).fit(Q, Q @ a)  # fmt: skip
print("least squares:", a, " inclusion:", model.inclusion_probabilities_.round(2), " mean:", model.coef_.round(2))
assert np.allclose(model.inclusion_probabilities_, posterior(a)[0], atol=1e-6)
assert np.allclose(model.coef_, posterior(a)[1], atol=1e-6)

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
w = np.linspace(-8, 8, 401)
left.plot(w, prior * norm.pdf(w, 0, np.sqrt(slab)), color="C0", label="slab")
left.annotate("", (0, 0.12), (0, 0), arrowprops={"arrowstyle": "->", "color": "C3", "linewidth": 2.5})
left.plot([], [], color="C3", linewidth=2.5, label=f"spike: probability {1 - prior:.1f}")
left.set(title="prior of a coefficient", xlabel="w", ylabel="density", ylim=(0, 0.14))
left.legend(loc="upper right")
grid = np.linspace(-6, 6, 401)
inclusion, mean = posterior(grid)
middle.plot(grid, inclusion)
middle.axhline(prior, color="0.6", linestyle=":")
middle.set(title="probability of the slab", xlabel="least-squares coefficient a")
right.plot(grid, grid, ":", color="0.5", label="least squares")
right.plot(grid, mean, label="posterior mean")
right.plot(grid, credo.soft_threshold(grid, 1.5), "--", color="C2", label="lasso (threshold 1.5)")
right.set(title="estimate", xlabel="least-squares coefficient a")
right.legend()
low, high = (np.abs(grid - place).argmin() for place in (0.5, 5.5))
print(
    f"share of the coefficient that is kept: {mean[low] / grid[low]:.2f} at 0.5, {mean[high] / grid[high]:.2f} at 5.5"
)
assert posterior(4.0)[0] > 0.98 and mean[low] < 0.15 * grid[low] and mean[high] > 0.85 * grid[high]

# %%
# **What to see.** Left: the slab is a density over many values; the spike (arrow) is a probability of the single value
# zero. Middle: at four noise standard deviations a coefficient is almost surely in the slab. Right: the posterior mean
# is a smooth threshold, and unlike the lasso it takes only a tenth from large coefficients.
