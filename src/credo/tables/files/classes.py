"""Which classes a model file may name, and how a name becomes a class.

A name is `credo.<package>.<Class>`, looked up in the namespace of that package, or one of the scikit-learn classes
listed below. Nothing else is ever imported because of a file. Names don't contain the modules inside a package, so
that these may move while old files stay readable.

Checks of what a file holds, when it is saved and loaded: types by annotations, the rest by `_check_state`.

Compiled code doesn't check bounds, so a file must not give an object a state that `fit` never produces. A class
that relies on shapes and ranges has a method `_check_state`, which raises a ValueError; it is called once all of the
object is there.
"""

from __future__ import annotations

import re
import sys
import types
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import (
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import numpy as np
from sklearn.base import BaseEstimator

from credo.tables.errors import ModelFileError

# Packages that hold values and estimators; those that act when imported or called (app, study) are left out.
_PACKAGES = frozenset(
    ("core.estimator", "core.frames", "core.inference", "core.learning", "core.linalg", "core.params", "core.parts",
     "distributions", "ensemble", "features", "gp", "kernel_machines", "kernels", "likelihoods", "linear", "metrics",
     "mixtures", "selection", "sparse", "tables", "trees")
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

# Where scikit-learn keeps what the user set with `set_output`.
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
            raise ModelFileError(
                f"files name a class by its package, and {kind.__module__}.{kind.__qualname__} can't be imported as "
                f"{name}; import it in the package's __init__"
            )
        return name
    for name in _SKLEARN:
        if name.rpartition(".")[2] == kind.__name__ and _sklearn_class(name) is kind:
            return name
    raise ModelFileError(
        f"model files can't hold {kind.__module__}.{kind.__qualname__}: they hold Credo's classes "
        f"and these of scikit-learn: {', '.join(sorted(name.rpartition('.')[2] for name in _SKLEARN))}"
    )


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
    """The attributes that a model file holds beside the constructor's parameters."""
    private = private_state(type(model))
    return {
        name: value
        for name, value in vars(model).items()
        if name not in parameters and (is_state_name(name) or name in private)
    }


def is_state_name(name: str) -> bool:
    """Whether an attribute of that name is fitted state: it ends in an underscore and starts with none."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def private_state(kind: type) -> tuple[str, ...]:
    """The private attributes that are saved too."""
    return (_OUTPUT_CONFIG, *_SKLEARN.get(f"{'.'.join(kind.__module__.split('.')[:2])}.{kind.__name__}", ()))


def _sklearn_class(name: str) -> type:
    module, _, member = name.rpartition(".")
    kind: type = getattr(import_module(module), member)
    return kind


def _is_allowed(name: str) -> bool:
    match = _NAME.fullmatch(name)
    return match is not None and match[1] in _PACKAGES


def _is_serializable(kind: type) -> bool:
    """Whether Credo defines the class: an estimator, a frozen dataclass, or one with `to_fields`."""
    if not kind.__module__.startswith("credo."):
        return False
    if is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, BaseEstimator | Serializable)


# What a number of a type may be in a file.
_NUMBERS: dict[type, tuple[type, ...]] = {float: (float, int, np.floating, np.integer), int: (int, np.integer)}


def check(value: Any) -> None:
    """Raise an error unless the attributes of an object of Credo's have the types and sizes that its class needs."""
    kind: Any = type(value)
    if not kind.__module__.startswith("credo."):
        return
    held = vars(value)
    parameters = parameter_types(kind)
    for name, hint in (field_types(kind) | parameters).items():
        if name not in held or is_a(held[name], hint):
            continue
        # Where a parameter is a number, users may give true or false.
        if not (name in parameters and isinstance(held[name], bool) and is_a(int(held[name]), hint)):
            found = f"{held[name]!r:.40}".replace("\n", " ")
            raise ModelFileError(f"its {kind.__name__} has {found} for {name}, which is of another type than it needs")
    if hasattr(value, "_check_state"):
        value._check_state()


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """The types of what a file holds of a class: all fields, or of an estimator its fitted attributes."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}
    if issubclass(kind, BaseEstimator):
        return {name: hint for name, hint in hints.items() if is_state_name(name)}
    return hints


@cache
def parameter_types(kind: Any) -> dict[str, Any]:
    """The types of an estimator's constructor; nothing of other classes, whose fields are their parameters."""
    if not issubclass(kind, BaseEstimator):
        return {}
    hints = get_type_hints(kind.__init__)
    return {name: hints[name] for name in kind._get_param_names() if name in hints}


def is_a(value: Any, hint: Any) -> bool:
    """Whether a value has an annotated type; true for types that can't be checked."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if hint is None or hint is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(is_a(value, part) for part in inner)
    if origin is Literal:
        return value in inner
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_kind(value.dtype, get_args(inner[1])[0] if inner[1:] else Any)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    if hint is bool:
        return isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))
    if origin in (list, set, frozenset):
        return isinstance(value, origin) and all(is_a(item, inner[0]) for item in value)
    if origin is tuple:
        return isinstance(value, tuple) and _are(value, inner)
    if origin is dict:
        return isinstance(value, dict) and all(
            is_a(key, inner[0]) and is_a(item, inner[1]) for key, item in value.items()
        )
    return not isinstance(hint, type) or getattr(hint, "_is_protocol", False) or isinstance(value, hint)


def _are(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(is_a(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(is_a, values, hints))


def _has_kind(dtype: np.dtype[Any], scalar: Any) -> bool:
    if not isinstance(scalar, type) or not issubclass(scalar, np.generic):
        return True
    kinds = (
        "iu" if issubclass(scalar, np.integer) else np.dtype(scalar).kind if scalar is not np.generic else dtype.kind
    )
    return dtype.kind in kinds
