"""Models made of other models.

    transformed target    g(y) = f(x) + ε,   p(y | x) = p(g(y) | x) g'(y)
    mixture of experts    p(y | x) = Σ_j g_j(x) p_j(y | x)

Contract: an estimator of this package takes estimators, pipelines included, and fits clones of them. It predicts
distributions of y itself, so that its held-out scores are comparable with those of any model.

Members: `TransformedTarget`, a regressor of the log or another transformation of y, and `choose_transform`, which
selects the transformation by held-out log scores; `MixtureOfExpertsRegressor` and `MixtureOfExpertsClassifier`.

Not here: the transformations and the distributions that they lead to (`credo.distributions`), comparing models
(`credo.selection`).
"""

from credo.ensemble._adaboost import AdaBoostClassifier
from credo.ensemble._choice import choose_transform
from credo.ensemble._experts import LinearExperts
from credo.ensemble._gate import Gate
from credo.ensemble._target import TransformedTarget
from credo.ensemble.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor

__all__ = [
    "Gate",
    "LinearExperts",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
    "TransformedTarget",
    "choose_transform",
]
