"""The contract that every Credo estimator keeps, in one place.

    fit(X, y) -> predict(X), predict_dist(X), result_, summary(), and log_evidence_ where there is one

An estimator is a scikit-learn estimator first: constructors only store, `fit` writes attributes that end in
an underscore, and those attributes (with the constructor's) are all that a model file holds. What starts
with an underscore is scratch: it may be dropped and built again.

Members: `Estimator` (rows, weights, names), `Regressor` (numeric targets, `predict`, `predict_dist`), `Classifier`
(labels, `predict_proba`), `LinearClassifier` (linear scores), `Result` (how a fit ended), `FitWarning` and
`ConvergenceWarning`, `Absent` (an inherited method that a model doesn't have), `numeric` (validation of numeric
tables), `require_squares` (their units), `observed` and `with_gaps` (numeric targets without and with missing values),
`named` (column names for arrays), `evidence_base` (what an evidence conditions on), `training_rows` (a regressor's
validation, for functions), and checks of arguments. What does not belong here: any particular model.
"""

from credo.estimator._absent import Absent
from credo.estimator._arguments import choice, interval_level, nonnegative, positive, positive_integer
from credo.estimator._classifier import Classifier
from credo.estimator._equal_rows import merge_equal_rows
from credo.estimator._estimator import Estimator
from credo.estimator._evidence_base import FLAT, JEFFREYS, MAXIMISED, SCALED, evidence_base
from credo.estimator._labels import labels_of
from credo.estimator._linear_classifier import LinearClassifier
from credo.estimator._names import named, named_by, names_for
from credo.estimator._numeric import numeric, observed, require_squares, unmasked, with_gaps
from credo.estimator._regressor import Regressor, training_rows
from credo.estimator._result import ConvergenceWarning, FitWarning, Result
from credo.estimator._state import check_places, check_positive, check_shapes

__all__ = [
    "FLAT",
    "JEFFREYS",
    "MAXIMISED",
    "SCALED",
    "Absent",
    "Classifier",
    "ConvergenceWarning",
    "Estimator",
    "FitWarning",
    "LinearClassifier",
    "Regressor",
    "Result",
    "check_places",
    "check_positive",
    "check_shapes",
    "choice",
    "evidence_base",
    "interval_level",
    "labels_of",
    "merge_equal_rows",
    "named",
    "named_by",
    "names_for",
    "nonnegative",
    "numeric",
    "observed",
    "positive",
    "positive_integer",
    "require_squares",
    "training_rows",
    "unmasked",
    "with_gaps",
]
