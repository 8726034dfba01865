"""Gaussian processes: distributions over functions, conditioned on data.

    y = Hb + f(x) + ε,    f ~ GP(0, k),    ε ~ N(0, σ²)

`GPRegressor` is exact: one Cholesky factorization for each pattern of missing targets. Its hyperparameters are
integrated over points around the maximum of their posterior, or maximized, or sampled. `noise=` is a value that defines
the objective of a fit and the distribution of new observations: `Gaussian`, learned or known; `StudentT`;
`Heteroscedastic`, by a second process; `Poisson`, for counts whose log rate is the process.
Leave-one-out residuals tell whether the tails of Gaussian noise are heavier than normal (`Tails`). It draws from prior
and posterior, as functions that can be evaluated anywhere (`Paths`), has closed-form leave-one-out, updates by
extending the factor, and suggests where to measure next. `Minimizer` minimizes a costly function by
`expected_improvement`. `GPClassifier` is for labels: a latent process, by EP, Laplace, variational inference or MCMC.
If no kernel is given, one is selected by the evidence.

Both estimators maximize an objective (`EvidenceObjective`: the evidence as a function of the hyperparameters), and
keep a posterior, a frozen value that predicts: `Posterior`, `CountPosterior`, `SitePosterior`, `DrawsPosterior`
or `SoftmaxPosterior`, with the `TrainingData`. These and their fields are exported because model files contain
them. What does not belong here: kernels (`kernels`), conditioning (`inference`), optimization and sampling
(`learning`).
"""

from credo.core.inference import Paths
from credo.gp._classes import DrawsPosterior as DrawsPosterior
from credo.gp._classes import SitePosterior as SitePosterior
from credo.gp._classes import SoftmaxPosterior as SoftmaxPosterior
from credo.gp._counts import CountPosterior as CountPosterior
from credo.gp._counts import FittedCounts as FittedCounts
from credo.gp._counts import Poisson as Poisson
from credo.gp._heteroscedastic import FittedHeteroscedastic as FittedHeteroscedastic
from credo.gp._heteroscedastic import Heteroscedastic as Heteroscedastic
from credo.gp._noise import Gaussian as Gaussian
from credo.gp._observations import TrainingData as TrainingData
from credo.gp._posterior import FittedNoise as FittedNoise
from credo.gp._posterior import Posterior as Posterior
from credo.gp._posterior import RowSums as RowSums
from credo.gp._posterior import Tails as Tails
from credo.gp._student import FittedStudentT as FittedStudentT
from credo.gp._student import StudentT as StudentT
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
