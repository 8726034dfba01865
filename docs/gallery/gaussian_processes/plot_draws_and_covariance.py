r"""
A draw beside its covariance matrix; first f, then t
====================================================

A Gaussian process has a normal distribution with covariance K at any set of inputs. To draw data, draw the function
values :math:`f = Lz`, with :math:`LL^\top = K` and standard normal z, and then add noise: :math:`t = f + \varepsilon`.
"""

import matplotlib.pyplot as plt
import numpy as np

from credo import MultivariateNormal
from credo.kernels import RBF, Exponential, Periodic

x = np.linspace(0, 1, 60)[:, None]
kernels = {
    "long scale": RBF(0.4),
    "short scale": RBF(0.08),
    "exponential": Exponential(0.4),
    "periodic": Periodic(period=0.4),
}
figure, axes = plt.subplots(2, 4, figsize=(13, 6), layout="constrained")
for (top, bottom), (name, kernel) in zip(axes.T, kernels.items(), strict=True):
    K = kernel.gram(x)
    draws = MultivariateNormal(np.zeros(60), K).sample(20_000, random_state=2)
    error = np.abs(np.cov(draws.T) - K).max()
    print(f"{name}: covariance of 20,000 draws is that of the kernel to {error:.3f}")
    assert error < 0.06
    top.plot(x, draws[:3].T)
    top.set(title=name, ylim=(-3, 3))
    image = bottom.imshow(K, extent=(0, 1, 1, 0), vmin=-1, vmax=1, cmap="RdBu_r")
    bottom.set(xlabel="x", ylabel="z" if name == "long scale" else "")
figure.colorbar(image, ax=axes[1], label="k(x, z)")

# %%
# **What to see.** Top: three draws from each kernel. Bottom: the covariance of their values. A wide band about the
# diagonal means that distant values are alike, so the draws are slow; a periodic kernel has a stripe for every period.

# %%
# Data are drawn in two steps:

rng = np.random.default_rng(0)
f = RBF(0.15).sample(x, 1, random_state=3)[0]
t = f + 0.3 * rng.normal(size=60)
figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), sharey=True, layout="constrained")
for k, (ax, title) in enumerate(zip(axes, ("1. draw f", "2. add noise", "3. what is observed"), strict=True)):
    if k < 2:
        ax.plot(x, f, color="C2")
    if k == 1:
        ax.vlines(x[:, 0], f, t, color="0.6", linewidth=0.8)
    if k > 0:
        ax.plot(x, t, "o", color="k", markersize=3)
    ax.set(title=title, xlabel="x")
print(f"standard deviation of t − f: {np.std(t - f):.2f} (noise 0.3)")
assert abs(np.std(t - f) - 0.3) < 0.09

# %%
# **What to see.** Regression goes the other way: from the points on the right back to the curve on the left.
