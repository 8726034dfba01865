r"""
Laplace's method in one dimension
=================================

Laplace's method puts a normal distribution at the mode of a density, with the variance that the curvature there
implies: :math:`s^{-2} = -\frac{d^2}{dz^2}\ln p(z)` at the mode. Here p(z) is proportional to :math:`e^{-z^2/2}\,
\sigma(20z + 4)` with the logistic sigmoid σ (Bishop, figure 4.14).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm


def unnormalized(z):
    return np.exp(-(z**2) / 2) * expit(20 * z + 4)


def slope(z):
    """The derivative of its logarithm."""
    return -z + 20 * expit(-20 * z - 4)


mode = brentq(slope, -1, 1)
p = expit(20 * mode + 4)
std = (1 + 400 * p * (1 - p)) ** -0.5
area = quad(unnormalized, -10, 10, points=[mode])[0]
laplace_area = unnormalized(mode) * np.sqrt(2 * np.pi) * std  # Bishop 4.135
mean = quad(lambda z: z * unnormalized(z) / area, -10, 10, points=[mode])[0]
spread = quad(lambda z: (z - mean) ** 2 * unnormalized(z) / area, -10, 10, points=[mode])[0] ** 0.5
print(f"mode {mode:.3f}, exact mean {mean:.3f}; standard deviation {std:.3f}, exact {spread:.3f}")
print(f"area: exact {area:.3f}, by Laplace's method {laplace_area:.3f}")
difference = (slope(mode + 1e-5) - slope(mode - 1e-5)) / 2e-5
assert np.isclose(std**-2, -difference, rtol=1e-4) and mode < mean - 0.5 * spread
assert laplace_area > area

# %%
z = np.linspace(-2, 4, 500)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.fill_between(z, unnormalized(z) / area, color="C1", alpha=0.4, label="p(z)")
left.plot(z, norm.pdf(z, mode, std), color="C3", label="Laplace: N(mode, s²)")
left.axvline(mean, color="0.5", linestyle=":", label="mean of p(z)")
left.set(xlabel="z", ylabel="density")
left.legend()
top = np.log(unnormalized(mode))
right.plot(z, -np.log(unnormalized(z)), color="C1", label="−ln p(z) + constant")
right.plot(z, (z - mode) ** 2 / (2 * std**2) - top, color="C3", label="parabola with the same curvature")
right.set(xlabel="z", ylim=(0, 10))
right.legend(loc="upper right")

# %%
# **What to see.** Right: in logarithms the method replaces a function by the parabola that touches it at its minimum.
# Left: p(z) leans to the right, which the curvature at one point can't show. So the center of the normal distribution
# lies far left of the mean, and it gives probability to values that p(z) rules out. Its area, which approximates the
# evidence, is too large here.
