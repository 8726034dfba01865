"""Which classes a model file may name, and how a name becomes a class.

A name is `credo.<package>.<Class>`, looked up in the namespace of that package, or one of the scikit-learn classes
listed below. Nothing else is ever imported because of a file. Names don't contain modules inside a package, so that
these may move while old files stay readable.
"""

from __future__ import annotations

import re
import sys
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol, Self, runtime_checkable

from sklearn.base import BaseEstimator

from credo.tables.errors import ModelFileError

# Packages of values and estimators; those with side effects (app, study) are left out.
_PACKAGES = frozenset(
    ("core.estimator", "core.frames", "core.inference", "core.learning", "core.linalg", "core.params", "core.parts",
     "additive", "distributions", "ensemble", "features", "gp", "kernel_machines", "kernels", "likelihoods", "linear",
     "metrics", "mixtures", "selection", "sparse", "tables", "trees")
)  # fmt: skip
_NAME = re.compile(r"credo\.((?:core\.)?[a-z][a-z0-9_]*)\.[A-Za-z][A-Za-z0-9_]*")

# scikit-learn's classes by their public home, with the private attributes that hold fitted state.
_SKLEARN: dict[str, tuple[str, ...]] = {
    "sklearn.compose.ColumnTransformer": (
        "_columns", "_n_features", "_name_to_fitted_passthrough", "_remainder",
        "_transformer_to_input_indices",
    ),
    "sklearn.compose.TransformedTargetRegressor": ("_training_dim",),
    "sklearn.decomposition.PCA": ("_fit_svd_solver",),
    "sklearn.feature_selection.VarianceThreshold": (),
    "sklearn.impute.SimpleImputer": ("_fill_dtype", "_fit_dtype"),
    "sklearn.impute.MissingIndicator": ("_n_features", "_precomputed"),
    "sklearn.pipeline.FeatureUnion": (),
    "sklearn.pipeline.Pipeline": (),
    "sklearn.preprocessing.FunctionTransformer": (),
    "sklearn.preprocessing.MaxAbsScaler": (),
    "sklearn.preprocessing.MinMaxScaler": (),
    "sklearn.preprocessing.Normalizer": (),
    "sklearn.preprocessing.OneHotEncoder": (
        "_default_to_infrequent_mappings", "_drop_idx_after_grouping", "_infrequent_enabled",
        "_infrequent_indices", "_n_features_outs",
    ),
    "sklearn.preprocessing.OrdinalEncoder": (
        "_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings", "_missing_indices",
    ),
    "sklearn.preprocessing.PolynomialFeatures": ("_max_degree", "_min_degree", "_n_out_full"),
    "sklearn.preprocessing.PowerTransformer": ("_scaler",),
    "sklearn.preprocessing.RobustScaler": (),
    "sklearn.preprocessing.StandardScaler": (),
}  # fmt: skip

# Where scikit-learn keeps the setting of `set_output`.
_OUTPUT_CONFIG = "_sklearn_output_config"


@runtime_checkable
class Serializable(Protocol):
    """A value that is neither an estimator nor a dataclass, but can be saved in a model file.

    `from_fields(value.to_fields())` must be the same value, bit for bit. Names of fields are part of the file
    format; their values are saved like any other.
    """

    def to_fields(self) -> dict[str, Any]:
        """The fields of the value, by name."""
        ...

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """The value with these fields."""
        ...


def class_name(kind: type) -> str:
    """The name of this class in a model file: that of its package, whichever module defines it."""
    if _is_serializable(kind):
        parts = kind.__module__.split(".")
        home = ".".join(parts[: 3 if parts[1] == "core" else 2])
        name = f"{home}.{kind.__name__}"
        if not _is_allowed(name) or getattr(sys.modules.get(home), kind.__name__, None) is not kind:
            place = f"{kind.__module__}.{kind.__qualname__}"
            raise ModelFileError(f"{place} can't be imported as {name}; import it in the package's __init__")
        return name
    for name in _SKLEARN:
        if name.rpartition(".")[2] == kind.__name__ and _sklearn_class(name) is kind:
            return name
    allowed = f"Credo's classes and these of scikit-learn: {', '.join(name.rpartition('.')[2] for name in _SKLEARN)}"
    raise ModelFileError(f"model files can't hold {kind.__module__}.{kind.__qualname__}; they hold {allowed}")


@cache
def class_named(name: str) -> type:
    """The class of that name, if a model file may name it."""
    if name in _SKLEARN:
        return _sklearn_class(name)
    if not _is_allowed(name):
        raise ModelFileError(f"the file names the class {name!r}, which is not one that a model file may hold")
    module, _, member = name.rpartition(".")
    try:
        kind = getattr(import_module(module), member)
    except (ImportError, AttributeError):
        raise ModelFileError(f"the file names the class {name!r}, which this version of Credo doesn't have") from None
    if not (isinstance(kind, type) and _is_serializable(kind)):
        raise ModelFileError(f"the file names {name!r}, which is neither an estimator nor a value of Credo's")
    return kind


def fitted_state(model: BaseEstimator, *, parameters: dict[str, Any]) -> dict[str, Any]:
    """The attributes that a model file holds besides the constructor's parameters."""
    private = private_state(type(model))
    held = vars(model).items()
    return {k: v for k, v in held if k not in parameters and (is_state_name(k) or k in private)}


def is_state_name(name: str) -> bool:
    """Whether an attribute of that name is fitted state: it ends, but doesn't start, with an underscore."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def private_state(kind: type) -> tuple[str, ...]:
    """The private attributes that are saved too."""
    return (_OUTPUT_CONFIG, *_SKLEARN.get(f"{'.'.join(kind.__module__.split('.')[:2])}.{kind.__name__}", ()))


def _sklearn_class(name: str) -> Any:
    module, _, member = name.rpartition(".")
    return getattr(import_module(module), member)


def _is_allowed(name: str) -> bool:
    return (match := _NAME.fullmatch(name)) is not None and match[1] in _PACKAGES


def _is_serializable(kind: type) -> bool:
    """Whether Credo defines the class: an estimator, a frozen dataclass, or one with `to_fields`."""
    if not kind.__module__.startswith("credo."):
        return False
    if is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, BaseEstimator | Serializable)
