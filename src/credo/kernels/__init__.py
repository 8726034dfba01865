"""Covariance functions k(x, x′): how similar a function's values at two points are.

    gram(X)  cross(X, Z)  diagonal(X)  pullback(X, W) = Σ W∘∂K/∂θ

A kernel never forms an n×n×p tensor of derivatives. It receives the weights W = ½(ααᵀ − K⁻¹) and sums over the pairs of
rows itself, in compiled loops over one triangle. A sum of kernels passes W to its terms, a product passes W∘K of the
other factors, exp passes W∘K.

Members: the stationary `RBF`, `Exponential`, `Matern32`, `Matern52`, `RationalQuadratic`; `Periodic`,
`ZeroMeanPeriodic`, `Cosine`, and the damped oscillator `Harmonic`; `Linear` and
`Polynomial`; `Constant`, `White`, `Categorical`; the compositions `Sum`, `Product`, `Exp`, `Columns` that `+`, `*`,
`.exp()` and `.on()` make; `from_function` and `check_kernel` for your own. Kernels are immutable, print in natural
units, and keep their parameters in a `ParameterTree`. `spectra` turns those that have random features into functions
that can be evaluated anywhere.

What does not belong here: noise models (likelihoods), fitting (learning), Gaussian processes (gp).
"""

from credo.kernels._kernel import Columns, Constant, Exp, Kernel, Product, Sum
from credo.kernels.dot import Categorical, Linear, Polynomial, White
from credo.kernels.function import Function, KernelCheck, check_kernel, from_function
from credo.kernels.function import require_kernel as require_kernel
from credo.kernels.oscillators import Cosine, Harmonic
from credo.kernels.periodic import Periodic, ZeroMeanPeriodic
from credo.kernels.stationary import RBF, Exponential, Matern32, Matern52, RationalQuadratic

__all__ = [
    "RBF", "Categorical", "Columns", "Constant", "Cosine", "Exp", "Exponential", "Function", "Harmonic", "Kernel",
    "KernelCheck", "Linear", "Matern32", "Matern52", "Periodic", "Polynomial", "Product", "RationalQuadratic", "Sum",
    "White", "ZeroMeanPeriodic", "check_kernel", "from_function",
]  # fmt: skip
