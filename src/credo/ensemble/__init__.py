"""Models made of other models.

    average               p(y | x) = Σ_m w_m p_m(y | x),   w_m = p(m | data), held-out weights, or 1/M
    bagging               the same with w_m = 1/M, member m fitted to a bootstrap sample
    AdaBoost              F_k(x) = Σ α_m 1[G_m(x) = k],   p(k | x) = softmax(a F(x) + b)
    mixture of experts    p(y | x) = Σ_j g_j(x) p_j(y | x)
    conformal             y = μ_k(x) + r_i,   r_i a residual of a row held out in fold k
    transformed target    g(y) = f(x) + ε,   p(y | x) = p(g(y) | x) g'(y)

Contract: an estimator of this package takes estimators, pipelines included, and fits clones of them. It predicts
distributions of y itself, so that its held-out scores are comparable with those of any model. A member that fails is
left out with a warning that names it.

Members: `ModelAverage`, different models weighted by evidence or by held-out log scores; `Committee`, different models
with equal weights; `BaggingRegressor` and `BaggingClassifier`, one model fitted to bootstrap samples; `Diagnosis`, the
errors of members and of their average; `AdaBoostClassifier`, which boosts any classifier that takes weights;
`MixtureOfExpertsRegressor` and `MixtureOfExpertsClassifier`; `Conformal`, which gives any regressor a predictive
distribution and any classifier calibrated probabilities; `TransformedTarget`, a regressor of the log or another
transformation of y, and `choose_transform`, which selects the transformation by held-out log scores. `BetaMap`,
`Boosted`, `Calibration`, `Gate`, `LinearExperts`, `Residuals` and `ScoreScaling` are attributes of fitted models: their
names are part of the file format.

Not here: trees and boosted trees (`credo.trees`), densities of X (`credo.mixtures`), the transformations and
the distributions that they lead to (`credo.distributions`), comparing models (`credo.selection`).
"""

from typing import TYPE_CHECKING

from credo.core.lazy import lazy
from credo.ensemble._diagnosis import Diagnosis
from credo.ensemble.average import Committee, ModelAverage
from credo.ensemble.calibration import BetaMap as BetaMap
from credo.ensemble.calibration import Calibration as Calibration
from credo.ensemble.calibration import ScoreScaling as ScoreScaling
from credo.ensemble.exposure import ExposureRegressor as ExposureRegressor
from credo.ensemble.target import TransformedTarget, choose_transform

if TYPE_CHECKING:
    from credo.ensemble._experts import Gate as Gate
    from credo.ensemble._experts import LinearExperts as LinearExperts
    from credo.ensemble.adaboost import AdaBoostClassifier
    from credo.ensemble.adaboost import Boosted as Boosted
    from credo.ensemble.bagging import BaggingClassifier, BaggingRegressor
    from credo.ensemble.conformal import Conformal
    from credo.ensemble.conformal import Residuals as Residuals
    from credo.ensemble.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor

__all__ = [
    "AdaBoostClassifier", "BaggingClassifier", "BaggingRegressor", "Committee", "Conformal", "Diagnosis",
    "MixtureOfExpertsClassifier", "MixtureOfExpertsRegressor", "ModelAverage", "TransformedTarget", "choose_transform",
]  # fmt: skip

# Averages need no trees, experts or conformal intervals.
__getattr__ = lazy(
    __name__,
    {
        "_experts": ("Gate", "LinearExperts"),
        "adaboost": ("AdaBoostClassifier", "Boosted"),
        "bagging": ("BaggingClassifier", "BaggingRegressor"),
        "conformal": ("Conformal", "Residuals"),
        "mixture_of_experts": ("MixtureOfExpertsClassifier", "MixtureOfExpertsRegressor"),
    },
)
