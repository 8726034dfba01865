"""The contract that every Credo estimator keeps, in one place.

    fit(X, y) -> predict(X), predict_dist(X), result_, summary(), and log_evidence_ where there is one

An estimator is a scikit-learn estimator first: constructors only store, `fit` writes attributes that end in
an underscore, and those attributes (with the constructor's) are all that a model file holds. What starts
with an underscore is scratch: it may be dropped and built again.

Members: `Estimator` (rows, weights, names), `Regressor` (numeric targets, `predict`, `predict_dist`), `Classifier`
(labels, `predict_proba`), `LinearClassifier` (by linear scores, wherever they come from), `Result` (how a fit ended),
`Absent` (a method of the base that a model doesn't have), `numeric` (tables of numbers and nothing else), `named`
(names for the columns of arrays), `evidence_base` (what an evidence conditions on), `training_rows` (the door of a
regressor for functions), and the checks of arguments.
Nothing here knows a model.
"""

from credo.estimator._absent import Absent
from credo.estimator._arguments import choice, interval_level, nonnegative, positive, positive_integer
from credo.estimator._classifier import Classifier
from credo.estimator._estimator import Estimator
from credo.estimator._evidence_base import FLAT, JEFFREYS, MAXIMISED, SCALED, evidence_base
from credo.estimator._labels import labels_of
from credo.estimator._linear_classifier import LinearClassifier
from credo.estimator._names import named, named_by, names_for
from credo.estimator._numeric import numeric, unmasked
from credo.estimator._regressor import Regressor, training_rows
from credo.estimator._result import FitWarning, Result

__all__ = [
    "FLAT",
    "JEFFREYS",
    "MAXIMISED",
    "SCALED",
    "Absent",
    "Classifier",
    "Estimator",
    "FitWarning",
    "LinearClassifier",
    "Regressor",
    "Result",
    "choice",
    "evidence_base",
    "interval_level",
    "labels_of",
    "named",
    "named_by",
    "names_for",
    "nonnegative",
    "numeric",
    "positive",
    "positive_integer",
    "training_rows",
    "unmasked",
]
