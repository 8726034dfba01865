"""Gaussian processes: distributions over functions, conditioned on data.

    y = Hb + f(x) + ε,    f ~ GP(0, k),    ε ~ N(0, σ²)

`GPRegressor` is exact: one Cholesky factorisation for each pattern of missing targets. Its hyperparameters are
integrated over points around the maximum of their posterior, or maximised, or sampled. The noise variance is learned,
known, or a second process (`NoiseProcess`); leave-one-out residuals tell whether its tails are heavier than normal
(`Tails`). Targets may also be counts, whose log rate is the process. It draws from prior and posterior, as functions
that can be evaluated anywhere (`Paths`), has closed-form leave-one-out, updates by extending the factor, and suggests
where to measure next. `Minimizer` minimises a costly function by `expected_improvement`. `GPClassifier` is for labels:
a latent process, by EP, Laplace, variational inference or MCMC. Where no kernel is given, the evidence chooses one.

Both estimators compose an objective (`EvidenceObjective`: the evidence as a function of the hyperparameters) and a
predictor. `NoiseProcess`, `Tails`, `SitePredictor`, `SiteMixturePredictor`, `SoftmaxPredictor`, `DrawsPredictor`,
`SumsPredictor` and `RowSums` are exported because model files contain them. What does not belong here: kernels
(`kernels`), conditioning (`inference`), optimisation and sampling (`learning`).
"""

from credo.core.inference import Paths
from credo.gp._class_predictors import DrawsPredictor as DrawsPredictor
from credo.gp._class_predictors import SiteMixturePredictor as SiteMixturePredictor
from credo.gp._class_predictors import SitePredictor as SitePredictor
from credo.gp._class_predictors import SoftmaxPredictor as SoftmaxPredictor
from credo.gp._class_predictors import SumsPredictor as SumsPredictor
from credo.gp._heteroscedastic import NoiseProcess as NoiseProcess
from credo.gp._row_sums import RowSums as RowSums
from credo.gp._tails import Tails as Tails
from credo.gp.acquisition import expected_improvement, log_expected_improvement
from credo.gp.classifier import GPClassifier
from credo.gp.minimizer import Minimizer
from credo.gp.regressor import GPRegressor

__all__ = [
    "GPClassifier",
    "GPRegressor",
    "Minimizer",
    "Paths",
    "expected_improvement",
    "log_expected_improvement",
]
