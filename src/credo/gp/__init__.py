"""Gaussian processes: distributions over functions, conditioned on data.

    y = Hb + f(x) + ε,    f ~ GP(0, k),    ε ~ N(0, σ²)

`GPRegressor` is exact: one Cholesky factorisation for each pattern of missing targets. Hyperparameters maximise the
evidence or are sampled from their posterior. The noise variance is learned, known, or a second process
(`NoiseProcess`). It draws from prior and posterior, as functions that can be evaluated anywhere (`Paths`), has
closed-form leave-one-out, updates by extending the factor, and suggests where to measure next. `Minimizer` minimises a
costly function by `expected_improvement`. `GPClassifier` is for labels: a latent process, by EP, Laplace, variational
inference or MCMC.

`NoiseProcess`, `SiteLaw`, `SoftmaxLaw` and `DrawnLaw` are what model files hold. Kernels live in `kernels`,
conditioning in `inference`, optimisation and sampling in `learning`.
"""

from credo.gp._class_laws import DrawnLaw as DrawnLaw
from credo.gp._class_laws import SiteLaw as SiteLaw
from credo.gp._class_laws import SoftmaxLaw as SoftmaxLaw
from credo.gp._noise_process import NoiseProcess as NoiseProcess
from credo.gp.acquisition import expected_improvement, log_expected_improvement
from credo.gp.classifier import GPClassifier
from credo.gp.minimizer import Minimizer
from credo.gp.paths import Paths
from credo.gp.regressor import GPRegressor

__all__ = [
    "GPClassifier",
    "GPRegressor",
    "Minimizer",
    "Paths",
    "expected_improvement",
    "log_expected_improvement",
]
