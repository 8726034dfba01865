"""Gaussian processes: distributions over functions, conditioned on data.

    y = Hb + f(x) + ε,    f ~ GP(0, k),    ε ~ N(0, σ²)

`GPRegressor` is exact: one Cholesky factorisation, hyperparameters at the maximum of the evidence by its analytic
gradient, draws from prior and posterior, closed-form leave-one-out, updates by extending the factor, and the choice of
where to measure next. Kernels live in `kernels`, conditioning in `inference`, the climbing in `learning`.
"""

from credo.gp.regressor import GPRegressor

__all__ = ["GPRegressor"]
