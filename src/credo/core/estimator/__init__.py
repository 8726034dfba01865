"""The contract of every Credo estimator.

    fit(X, y) → predict(X), predict_dist(X), summary(), result_, and log_evidence_ for models that have one

Every estimator is a scikit-learn estimator: constructors only store their arguments, and `fit` sets attributes that end
in an underscore. These and the arguments are what a model file contains. Attributes that start with an underscore are
temporary and are rebuilt when needed.

Members: `Estimator`, `Regressor`, `Classifier` and `LinearClassifier`, the base classes; `Description`, what
`describe()` says about a fitted model, with `Effect` and `Curve`; `describe`, `in_words`, `evidence_of`,
`class_scores`, `has_column_names`, `column_names` and `rows_for`, for any model; `effects_of` and `linear_effects`,
which make effects of kind `COEFFICIENT`, `INTERCEPT`, …; `FittedState`, which declares what `fit` sets and checks it
in a loaded model; `Result`, how a fit ended; `FitWarning` and `ConvergenceWarning`; `UnavailableMethod`, for an
inherited method that a model doesn't have; `numeric`, `is_sparse`, `unmasked` and `check_magnitude`, validation of
tables; `require_no_missing`, `missing_to_nan`, `truth_values`, `check_labels` and `encode_labels`, validation of
targets;
`merge_equal_rows`, `has_weight` and `center_and_scale`, for rows with weights; `training_rows` and `labelled_rows`,
validation for functions; `named`, `named_by` and `names_for`, feature names for arrays; `evidence_base`, what an
evidence conditions on; `is_dask`, `row_partitions`, `example_rows` and `dask_module`, for Dask collections;
`predictive`, `point`, `class_probabilities`, `is_predictor`, `has_distribution`, `final_step` and `ending_of`, what a
model of any library predicts and how its fit ended, with `NoDistribution` and `take_columns`; and checks of arguments
and of fitted state.

What does not belong here: any particular model.
"""

from credo.core.estimator.base import (
    FLAT,
    INTEGRATED,
    JEFFREYS,
    MAXIMISED,
    SCALED,
    ConvergenceWarning,
    Estimator,
    FitWarning,
    Result,
    UnavailableMethod,
    evidence_base,
)
from credo.core.estimator.checks import (
    FittedState,
    choice,
    interval_level,
    nonnegative,
    nonnegative_integer,
    positive,
    positive_integer,
)
from credo.core.estimator.classifier import Classifier, LinearClassifier, check_labels, encode_labels, labelled_rows
from credo.core.estimator.dask import dask_module, example_rows, is_dask, row_partitions
from credo.core.estimator.description import (
    COEFFICIENT,
    INTERCEPT,
    Curve,
    Description,
    Effect,
    Evidence,
    class_scores,
    describe,
    effects_of,
    evidence_of,
    final_step,
    in_words,
    linear_effects,
)
from credo.core.estimator.names import column_names, has_column_names, named, named_by, names_for, rows_for
from credo.core.estimator.predictions import (
    NoDistribution,
    class_probabilities,
    ending_of,
    has_distribution,
    is_predictor,
    point,
    predictive,
    take_columns,
)
from credo.core.estimator.regressor import Regressor, training_rows
from credo.core.estimator.rows import (
    center_and_scale,
    check_magnitude,
    has_weight,
    is_sparse,
    merge_equal_rows,
    missing_to_nan,
    numeric,
    require_no_missing,
    truth_values,
    unmasked,
)

__all__ = [
    "COEFFICIENT",
    "FLAT",
    "INTEGRATED",
    "INTERCEPT",
    "JEFFREYS",
    "MAXIMISED",
    "SCALED",
    "Classifier",
    "ConvergenceWarning",
    "Curve",
    "Description",
    "Effect",
    "Estimator",
    "Evidence",
    "FitWarning",
    "FittedState",
    "LinearClassifier",
    "NoDistribution",
    "Regressor",
    "Result",
    "UnavailableMethod",
    "center_and_scale",
    "check_labels",
    "check_magnitude",
    "choice",
    "class_probabilities",
    "class_scores",
    "column_names",
    "dask_module",
    "describe",
    "effects_of",
    "encode_labels",
    "ending_of",
    "evidence_base",
    "evidence_of",
    "example_rows",
    "final_step",
    "has_column_names",
    "has_distribution",
    "has_weight",
    "in_words",
    "interval_level",
    "is_dask",
    "is_predictor",
    "is_sparse",
    "labelled_rows",
    "linear_effects",
    "merge_equal_rows",
    "missing_to_nan",
    "named",
    "named_by",
    "names_for",
    "nonnegative",
    "nonnegative_integer",
    "numeric",
    "point",
    "positive",
    "positive_integer",
    "predictive",
    "require_no_missing",
    "row_partitions",
    "rows_for",
    "take_columns",
    "training_rows",
    "truth_values",
    "unmasked",
]
