r"""
Kernel ridge = ridge on features
================================

The kernel k(x, z) = (1 + xz)³ is the inner product of the features (1, √3 x, √3 x², x³). Ridge regression on these
features and kernel ridge regression are the same function, computed from a 4×4 and from an n×n matrix.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF, Polynomial

rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, size=(40, 1))
y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=40)
grid = np.linspace(-2.3, 2.3, 200)[:, None]


def phi(x):
    return np.column_stack([np.ones(len(x)), np.sqrt(3) * x, np.sqrt(3) * x**2, x**3])


kernel = Polynomial(3, offset=1.0)
assert np.allclose(kernel.cross(x, grid), phi(x) @ phi(grid).T)
primal = credo.Ridge(alpha=0.5, fit_intercept=False).fit(phi(x), y)
dual = credo.KernelRidge(kernel, alpha=0.5).fit(x, y)
difference = np.abs(primal.predict(phi(grid)) - dual.predict(grid)).max()
print(f"largest difference of the predictions: {difference:.1e}")
assert difference < 1e-8

# %%
# The features of the RBF kernel are infinitely many, so only the dual form is left:

smooth = credo.KernelRidge(RBF(0.7), alpha="loo").fit(x, y)
print(f"penalty {smooth.alpha_:.3g} by leave-one-out, {smooth.effective_parameters_:.1f} effective parameters")
assert smooth.effective_parameters_ > 4

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
left.plot(grid, primal.predict(phi(grid)), linewidth=4, alpha=0.4, label="ridge on 4 features")
left.plot(grid, dual.predict(grid), "k--", linewidth=1, label="kernel ridge")
left.plot(x, y, "o", color="C1", markersize=4)
left.set(xlabel="x", ylabel="y", title="k(x, z) = (1 + xz)³")
left.legend()
credo.plots.band(grid, smooth.predict_dist(grid), data=(x, y), ax=right)
right.set(title="RBF kernel, penalty by leave-one-out", xlabel="x")

# %%
# **What to see.** Left: both ways give the same cubic. Right: the RBF kernel uses more effective parameters and
# follows the sinusoid that the cubic can't.
