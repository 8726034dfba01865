"""Models made of other models.

    transformed target    g(y) = f(x) + ε,   p(y | x) = p(g(y) | x) g'(y)
    average               p(y | x) = Σ_k w_k p_k(y | x)

Contract: an estimator of this package takes estimators, pipelines included, and fits clones of them. It predicts
distributions of y itself, so that its held-out scores are comparable with those of any model.

Members: `TransformedTarget`, a regressor of the log or another transformation of y, and `choose_transform`, which
selects the transformation by held-out log scores; `ModelAverage`, different models weighted by evidence or by held-out
log scores; `Committee`, different models with equal weights; `BaggingRegressor` and `BaggingClassifier`, one model
fitted to bootstrap samples; `Diagnosis`, the errors of members and of their average.

Not here: the transformations and the distributions that they lead to (`credo.distributions`), comparing models
(`credo.selection`).
"""

from credo.ensemble._average import Committee, ModelAverage
from credo.ensemble._bagging_classifier import BaggingClassifier
from credo.ensemble._bagging_regressor import BaggingRegressor
from credo.ensemble._choice import choose_transform
from credo.ensemble._diagnosis import Diagnosis
from credo.ensemble._target import TransformedTarget

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "Committee",
    "Diagnosis",
    "ModelAverage",
    "TransformedTarget",
    "choose_transform",
]
