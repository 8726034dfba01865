"""The base of all estimators: validation of rows and weights, feature names, how a fit ended, and evidences."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, NoReturn, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import exceptions
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array, check_X_y
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from credo.core.estimator.checks import FittedState
from credo.core.estimator.dask import is_dask
from credo.core.estimator.description import (
    Curve,
    Description,
    Effect,
    data_of,
    effects_of,
    evidence_of,
    settings_of,
    words_of,
)
from credo.core.estimator.names import column_names, names_of
from credo.core.estimator.rows import is_sparse, missing_to_nan, numeric
from credo.core.fields import Axes, Size, Sometimes
from credo.core.frames import Table


class FitWarning(UserWarning):
    """The fit succeeded, but with something that the user should know about.

    Examples
    --------
    >>> import warnings
    >>> from credo import LogisticRegression
    >>> from credo.core.estimator import FitWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> issubclass(caught[0].category, FitWarning), "perfectly separated" in str(caught[0].message)
    (True, True)
    """


class ConvergenceWarning(FitWarning, exceptions.ConvergenceWarning):
    """The fit did not converge. A subclass of scikit-learn's warning of that name, so filters for either apply.

    Examples
    --------
    >>> import warnings
    >>> from credo import LogisticRegression
    >>> from credo.core.estimator import ConvergenceWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LogisticRegression(alpha=0.1, max_iter=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> [warning.category.__name__ for warning in caught], model.result_.converged
    (['ConvergenceWarning'], False)
    """


@dataclass(frozen=True)
class Result:
    """Outcome of a fit: whether it converged, the number of iterations, and a message.

    If the fit did not converge, the message says what to try next.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0]).result_
    Result(converged=True, n_iter=1, message='solved directly')
    """

    converged: bool
    n_iter: int
    message: str


class Estimator(FittedState, BaseEstimator):
    """Base of all estimators: a scikit-learn estimator with `result_` and `summary()`.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import Estimator
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> isinstance(model, Estimator), model.result_.converged
    (True, True)
    """

    result_: Result
    n_features_in_: Annotated[int, Size("d")]
    feature_names_in_: Annotated[NDArray[Any], Axes("d"), Sometimes]
    # Whether the names came with an array (see `named`); arrays without names are then accepted too.
    names_carried_: bool

    # Whether X may be a scipy sparse matrix or array, whether it may have missing values (NaN), and whether `fit` takes
    # a table in parts (`credo.core.parts`).
    _accepts_sparse = False
    _accepts_nan = False
    _accepts_parts = False
    # The model's form in plain characters.
    _equation = ""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_nan
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments; with `deep`, also those of nested estimators and of a kernel.

        The parameter "a.b" of a kernel is ``kernel__a__b``, which `set_params` and a grid search change.
        """
        found = super().get_params(deep=deep)
        kernel: Any = found.get("kernel")
        if deep and hasattr(kernel, "with_params"):
            found |= {f"kernel__{path.replace('.', '__')}": value for path, value in kernel.params.items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set arguments, or those of nested estimators and of a kernel, such as ``kernel__lengthscale``."""
        inner = {name.removeprefix("kernel__"): params.pop(name) for name in list(params) if name[:8] == "kernel__"}
        super().set_params(**params)
        if inner:
            kernel: Any = getattr(self, "kernel", None)
            if not hasattr(kernel, "with_params"):
                raise ValueError(
                    f"kernel__{next(iter(inner))} needs a kernel object with this parameter; got {kernel!r}"
                )
            # Kernels are immutable, so that clones can share them.
            self.kernel = kernel.with_params(**inner)
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """A table of the fitted parameters with intervals of the given level."""
        raise NotImplementedError

    def describe(self, *, level: float = 0.95) -> Description:
        """What the fitted model is, in words and numbers: see `Description`.

        Parameters
        ----------
        level : float, default 0.95
            Level of the intervals.
        """
        check_is_fitted(self)
        inputs, measure = self._importances()
        noise = np.asarray(getattr(self, "noise_std_", None), dtype=np.float64)
        return Description(
            self._words(),
            self._equation,
            settings_of(self),
            tuple(self._feature_names()),
            self._effects(level),
            inputs=tuple(zip(self._feature_names(), map(float, inputs), strict=False)),
            measure=measure,
            noise=float(noise) if noise.ndim == 0 and np.isfinite(noise) else None,
            curve=Curve(self) if hasattr(self, "predict_dist") else None,
            classes=tuple(np.asarray(getattr(self, "classes_", ())).tolist()),
            evidence=evidence_of(self),
            outcome=self.result_.message,
            data=data_of(self),
        )

    def _words(self) -> str:
        """What the model is, as a short phrase."""
        return str(getattr(self, "_title", "")) or words_of(type(self).__name__)

    def _effects(self, level: float) -> tuple[Effect, ...]:
        """The fitted numbers; those of the summary unless it leaves some out."""
        return effects_of(self.summary(level=level), self._feature_names() if hasattr(self, "coef_") else ())

    def _importances(self) -> tuple[Any, str]:
        """How much each column matters, and by which measure; nothing if the model has no measure of its own."""
        found = getattr(self, "feature_importances_", ())
        return found, "share of the improvement" if len(found) else ""

    def _reset(self) -> None:
        """Remove the attributes of an earlier fit."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _predict_rows(self, X: ArrayLike) -> Any:
        """X as a finite float64 array with the columns that were fitted."""
        check_is_fitted(self)
        if is_dask(X):
            raise TypeError(
                "X is a Dask collection, whose rows may not fit into memory: use predict or predict_proba, which give "
                "Dask arrays, credo.core.parts.predict(model, X), which returns a frame with intervals, or X.compute()"
            )
        return self._validated(numeric(X), reset=False)

    def _validated(self, X: Any, *, reset: bool = True, **y: Any) -> Any:
        """X, and y if given, as scikit-learn validates them; takes over feature names stored for an array."""
        if is_sparse(X) and not self._sparse_format():
            size = 8e-6 * X.shape[0] * X.shape[1]
            raise TypeError(
                f"Sparse data was passed for X, but {type(self).__name__} needs a dense array: pass X.toarray(), which "
                f"takes {size:.3g} MB, or use an estimator that accepts sparse X, such as LinearRegression, Ridge, "
                "Lasso, LogisticRegression or SparseLogisticRegression (docs/sparse-input.md lists them)"
            )
        finite = "allow-nan" if self._accepts_nan else True
        options = {"dtype": np.float64, "accept_sparse": self._sparse_format(), "ensure_all_finite": finite} | y
        if not reset and getattr(self, "names_carried_", False) and not nw.dependencies.is_into_dataframe(X):
            # An array without names, such as a slice, would make scikit-learn warn.
            if "y" not in y:
                options["input_name"] = "X"
            checked: Any = (check_X_y if "y" in y else check_array)(X, estimator=self, **options)
            _check_n_features(self, checked[0] if "y" in y else checked, reset=False)
            return checked
        checked = validate_data(self, X, reset=reset, **options)
        if reset:
            self._take_names(X)
        return checked

    def _take_names(self, X: Any) -> None:
        """Take over names stored for an array; scikit-learn's validation sets those of a frame."""
        names = names_of(X)
        if names is not None:
            self.feature_names_in_, self.names_carried_ = names, True
        elif hasattr(self, "names_carried_"):
            del self.names_carried_

    def _sparse_format(self) -> str | bool:
        return "csr" if self._accepts_sparse else False

    def _weights(self, sample_weight: ArrayLike, rows: Any) -> NDArray[np.float64]:
        """The weights as floats: finite, not negative, not all zero, and of a plausible size."""
        given = missing_to_nan(sample_weight, name="sample_weight")
        # scikit-learn would not check a single number.
        given = np.full(_num_samples(rows), given) if isinstance(given, Real) else given
        weight = _check_sample_weight(given, rows, dtype=np.float64, ensure_non_negative=True)
        if not (weight > 0).any():
            raise ValueError("all sample weights are zero: at least one row needs a positive weight")
        if not 1e-15 < weight.max() <= 1e15:
            raise ValueError(
                f"the largest sample_weight is {weight.max():.3g}, but a weight of k means k copies of a row: rescale "
                "the weights so that they sum to the number of observations"
            )
        return weight

    def _feature_names(self) -> list[str]:
        """The feature names of the fit, or x0, x1, … if X had none."""
        return column_names(self)


class UnavailableMethod:
    """Replaces an inherited method that a class doesn't have: `hasattr` is False, and the error says why.

    Examples
    --------
    >>> from credo.core.estimator import UnavailableMethod
    >>> class Silent:
    ...     speak = UnavailableMethod("it has nothing to say")
    >>> hasattr(Silent(), "speak")
    False
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __get__(self, instance: Any, owner: type | None = None) -> NoReturn:
        raise AttributeError(self._reason)


FLAT = "flat prior"
JEFFREYS = "prior 1/σ²"
MAXIMISED = "maximized"
INTEGRATED = "integrated"
SCALED = "scaled by the variance of y"


def evidence_base(
    *,
    intercept: str = "",
    slopes: str = "",
    noise: str = "",
    noise_prior: str = "",
    kernel: str = "",
    hyperparameters: str = "",
    class_weight: Any = None,
) -> str:
    """How a log evidence differs from the log density of y under proper priors, in one line.

    An improper prior has an arbitrary constant, a maximum is larger than an average, and a prior that is scaled by the
    variance of y depends on y. Differences of log evidences are log Bayes factors only between models of the same base.
    A flat prior on an intercept has density one, and the prior 1/σ² is integrated over dσ²/σ², in all of Credo.

    Parameters
    ----------
    intercept, slopes, noise, noise_prior, kernel, hyperparameters : str
        How each was treated; empty if it was given, has a proper prior, or doesn't exist.
    class_weight : as passed to a classifier; weighted labels are different data.

    Examples
    --------
    >>> from credo.core.estimator import FLAT, MAXIMISED, evidence_base
    >>> evidence_base(intercept=FLAT, noise=MAXIMISED)
    'intercept: flat prior; noise variance: maximized'
    >>> evidence_base()
    'proper priors'
    """
    weights = "" if class_weight is None else class_weight if isinstance(class_weight, str) else f"{class_weight!r}"
    parts = {
        "intercept": intercept,
        "slopes": slopes,
        "noise variance": noise,
        "noise prior": noise_prior,
        "kernel": kernel,
        "hyperparameters": hyperparameters,
        "class weights": weights,
    }
    return "; ".join(f"{name}: {how}" for name, how in parts.items() if how) or "proper priors"
