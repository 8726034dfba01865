r"""
ARD surfaces: η = (1, 1) and (1, 0.01)
======================================

With a weight for each input, :math:`k(x, z) = \exp(-\frac12\sum_d \eta_d (x_d - z_d)^2)`, a process can depend on some
inputs and hardly on others (Bishop, figure 6.9). The weight is one over the squared length scale.
"""

import matplotlib.pyplot as plt
import numpy as np

from credo.kernels import RBF

side = np.linspace(-3, 3, 30)
first, second = np.meshgrid(side, side)
plane = np.column_stack([first.ravel(), second.ravel()])
figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), subplot_kw={"projection": "3d"}, layout="constrained")
for ax, eta in zip(axes, ((1, 1), (1, 0.01)), strict=True):
    kernel = RBF(1 / np.sqrt(eta))
    corner = kernel.cross([[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])[0]
    assert np.allclose(corner, np.exp(-0.5 * np.array(eta)))
    draws = kernel.sample(plane, 200, random_state=4).reshape(200, 30, 30)
    changes = [float(np.sqrt(np.mean((draws.take(-1, axis) - draws.take(0, axis)) ** 2))) for axis in (2, 1)]
    print(f"η = {eta}: typical change from one end to the other along x₁ {changes[0]:.2f}, along x₂ {changes[1]:.2f}")
    ax.plot_surface(first, second, draws[0], cmap="viridis", linewidth=0.2, edgecolor="k", alpha=0.9)
    ax.set(title=f"η = ({eta[0]}, {eta[1]:g})", xlabel="x₁", ylabel="x₂", zlim=(-3, 3))
    ax.view_init(35, -60)
assert changes[1] < 0.5 * changes[0]

# %%
# **What to see.** Left: the surface varies alike along both inputs. Right: along x₂ it is nearly constant. If the
# evidence makes a weight small, the input doesn't matter: automatic relevance determination.
