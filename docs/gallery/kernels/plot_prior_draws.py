r"""
Draws from priors with θ₀…θ₃ varied one at a time
=================================================

A widely used kernel is :math:`k(x, z) = \theta_0 \exp(-\frac{\theta_1}{2}\|x - z\|^2) + \theta_2 + \theta_3 x^\top z`.
Each panel draws functions from the prior with one parameter changed.
"""

import matplotlib.pyplot as plt
import numpy as np

from credo.kernels import RBF, Constant, Exponential, Linear

x = np.linspace(-1, 1, 200)[:, None]


def kernel(theta):
    parts = [RBF(1 / np.sqrt(theta[1]), variance=theta[0])] if theta[0] else []
    parts += [Constant(theta[2])] if theta[2] else []
    parts += [Linear(theta[3])] if theta[3] else []
    return sum(parts[1:], parts[0])


settings = [(1, 4, 0, 0), (9, 4, 0, 0), (1, 64, 0, 0), (1, 0.25, 0, 0)]
settings += [(0, 0, 10, 0), (1, 4, 10, 0), (0, 0, 0, 5), (1, 4, 0, 5)]
figure, axes = plt.subplots(2, 4, figsize=(14, 6), sharex=True, sharey=True, layout="constrained")
for ax, theta in zip(axes.flat, settings, strict=True):
    k = kernel(theta)
    draws = k.sample(x, 5, random_state=0)
    ax.plot(x, draws.T)
    std = np.sqrt(k.diagonal(x))
    ax.fill_between(x[:, 0], -2 * std, 2 * std, color="0.9", zorder=0)
    ax.set(title="θ = ({:g}, {:g}, {:g}, {:g})".format(*theta), ylim=(-9, 9))
flat, straight = (np.diff(kernel(theta).sample(x, 5, random_state=0), axis=1) for theta in settings[4::2])
print(f"largest step of a draw: offset only {abs(flat).max():.1e}; change of its slope, linear only:"
      f" {abs(np.diff(straight, axis=1)).max():.1e}")  # fmt: skip
assert np.allclose(flat, 0, atol=1e-4) and np.allclose(np.diff(straight, axis=1), 0, atol=1e-4)
assert np.allclose(kernel((1, 4, 0, 5)).diagonal([[0.0], [1.0]]), [1, 6])

# %%
# **What to see.** Top: θ₀ scales the functions; θ₁ is one over the squared length scale, so that large values make them
# wiggly and small ones nearly straight. Bottom: θ₂ alone draws constants, and added to the first kernel it moves the
# functions up and down; θ₃ alone draws lines through zero, whose band (gray, two standard deviations) grows away from
# it, and added to the first kernel it tilts the functions.

# %%
# Squared exponential against exponential --------------------------------------- Both kernels below have the same
# variance and length scale. They differ in how they start: k(x, z) falls quadratically or linearly with a small
# distance.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
r = np.linspace(0, 1.5, 100)[:, None]
steps = {}
for ax, k, name in zip(axes[1:], (RBF(0.3), Exponential(0.3)), ("squared exponential", "exponential"), strict=True):
    axes[0].plot(r, k.cross(r, [[0.0]]), label=name)
    draws = k.sample(x, 4, random_state=1)
    ax.plot(x, draws.T, linewidth=0.9)
    ax.set(title=name, xlabel="x", ylim=(-3, 3))
    steps[name] = np.sqrt(np.mean(np.diff(draws, axis=1) ** 2)) / np.diff(x[:, 0])[0]
axes[0].set(xlabel="distance", ylabel="k")
axes[0].legend()
print("typical slope between neighboring points:", {name: round(float(s), 1) for name, s in steps.items()})
assert steps["exponential"] > 4 * steps["squared exponential"]

# %%
# **What to see.** Draws of the squared exponential are smooth. Draws of the exponential kernel (an Ornstein–Uhlenbeck
# process) are continuous but nowhere differentiable: the finer the grid, the steeper their steps.
