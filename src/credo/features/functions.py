"""Radial, sigmoid, Fourier and step functions of the columns, and features computed by a user's function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import frexp, ldexp
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist
from scipy.special import expit

from credo.core.estimator import FitWarning, choice, positive, positive_integer
from credo.core.fields import Axes, Finite, Indices, Positive
from credo.core.notices import warn
from credo.features._basis import (
    MAX_COLUMNS,
    Basis,
    checked_width,
    given_points,
    is_count,
    quantile_points,
    shifted,
    shortest_decimal,
)


class Radial(Basis):
    """Gaussian basis functions around centers (Bishop 3.4, 6.37).

        φⱼ(x) = exp(−‖x − cⱼ‖² / (2 width²))

    Distances combine all columns, so standardize columns of different units first (`StandardScaler`).

    Parameters
    ----------
    centers : "data", int or array of shape (n_centers, n_features), default 20
        "data" uses every training row. An int k selects k well-spread training rows: first the one nearest
        to the mean, then repeatedly the one farthest from all those selected
        (Gonzalez 1985), so that no row is farther from a center than twice the least possible; fewer when
        fewer rows are distinct. The selection is deterministic and doesn't depend on the order of the rows. An array
        gives the centers; with a single column it may be a list.
    width : "median" or float, default "median"
        "median" is the median distance between different centers.

    Attributes
    ----------
    centers_ : array of shape (n_centers, n_features)
    width_ : float
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Radial
    >>> basis = Radial([[0.0], [2.0]], width=1.0).fit([[0.0], [1.0]])
    >>> basis.transform([[0.0], [1.0]]).round(4)
    array([[1.    , 0.1353],
           [0.6065, 0.6065]])
    >>> basis.get_feature_names_out().tolist()
    ['radial(x0=0)', 'radial(x0=2)']
    """

    centers_: Annotated[NDArray[np.float64], Axes("k d")]
    width_: Annotated[float, Finite, Positive]

    def __init__(
        self, centers: Literal["data"] | int | ArrayLike = 20, *, width: float | Literal["median"] = "median"
    ) -> None:
        self.centers = centers
        self.width = width

    def _learn(self, X: NDArray[np.float64]) -> None:
        self.centers_ = self._select_centers(X)
        if isinstance(self.width, str) and self.width == "median":
            self.width_ = _median_distance(self.centers_, X)
        else:
            self.width_ = positive("width", self.width, words=["median"])

    def _select_centers(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(self.centers, str) and self.centers == "data":
            checked_width(len(X), what="Radial with centers='data'", remedy="set centers to a smaller number")
            return X.copy()
        if is_count(self.centers):
            k = checked_width(positive_integer("centers", self.centers), what="Radial", remedy="ask for fewer centers")
            return _farthest_points(X, k)
        return _given_centers(self.centers, X.shape[1])

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        # Differences, not ‖x‖² − 2xᵀc + ‖c‖², so that a row at a center is at distance zero exactly.
        unit = _binary_unit(self.centers_)
        ratio = min(unit / self.width_, np.finfo(np.float64).max)
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(-0.5 * (cdist(X / unit, self.centers_ / unit) * ratio) ** 2)

    def _names(self, columns: list[str]) -> list[str]:
        if len(columns) > 3:
            return [f"radial{j}" for j in range(len(self.centers_))]
        return [
            f"radial({', '.join(f'{name}={value:.6g}' for name, value in zip(columns, center, strict=True))})"
            for center in self.centers_
        ]


def _given_centers(value: Any, n_features: int) -> NDArray[np.float64]:
    try:
        centers = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        centers = np.empty(0)
    if centers.ndim == 1 and n_features == 1:
        centers = centers[:, None]
    if centers.ndim != 2 or centers.size == 0 or len(centers) > MAX_COLUMNS:
        raise ValueError(
            "centers must be 'data', a number of centers (int), or an array of shape (n_centers, n_features) "
            f"with up to {MAX_COLUMNS:,} rows; got {value!r}"
        )
    if centers.shape[1] != n_features:
        raise ValueError(f"centers have {centers.shape[1]} columns, but X has {n_features}")
    if not np.isfinite(centers).all():
        raise ValueError(f"centers must be finite; got {value!r}")
    return centers


def _farthest_points(X: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Farthest-point traversal of the distinct rows, sorted so that ties don't depend on the order of the rows."""
    rows = np.unique(X, axis=0)
    scaled = rows / _binary_unit(rows)
    chosen = [int(np.argmin(cdist(scaled, scaled.mean(axis=0)[None, :])))]
    distance = cdist(scaled, scaled[chosen[:1]])[:, 0]
    while len(chosen) < min(k, len(rows)):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, cdist(scaled, scaled[chosen[-1:]])[:, 0])
    return rows[chosen]


def _median_distance(centers: NDArray[np.float64], X: NDArray[np.float64]) -> float:
    """Median distance between different centers; if there is only one, of the rows from it; otherwise 1."""
    unit = _binary_unit(centers)
    some = centers[:: -(-len(centers) // 2000)] / unit
    for distances in (pdist(some), cdist(X / unit, some[:1]).ravel()):
        apart = distances[distances > 0]
        if len(apart):
            return min(float(np.median(apart)) * unit, np.finfo(np.float64).max)
    return 1.0


def _binary_unit(centers: NDArray[np.float64]) -> float:
    """A power of two near the largest entry: dividing by it is exact and keeps squares from overflowing."""
    return ldexp(1.0, min(frexp(float(np.abs(centers).max()) or 1.0)[1], 1023))


class Sigmoid(Basis):
    """Logistic functions of each column at several centers (Bishop 3.5).

        φ(x) = σ(slope · (x − center)),   σ(a) = 1/(1 + e⁻ᵃ)

    Each column of X has its own centers and slope, so many columns give an additive model; products of
    columns come from `Polynomial`.

    Parameters
    ----------
    centers : int or array, default 5
        An int k asks for the quantiles 1/(k+1), …, k/(k+1) of each column. A list applies to every
        column; an array of shape (n_centers, n_features) gives each column its own.
    slope : "auto" or float, default "auto"
        The steepness of the steps. "auto" is one over the mean gap between a column's centers, so that
        neighboring steps overlap; with a single center, one over the rows' mean distance from it.

    Attributes
    ----------
    centers_, slopes_, columns_ : arrays of shape (n_features_out,)
        Center and slope of each feature, and the column of X that it uses.
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Sigmoid
    >>> basis = Sigmoid([0.0, 1.0], slope=2.0).fit([[0.0], [1.0]])
    >>> basis.transform([[0.0], [0.5]]).round(3)
    array([[0.5  , 0.119],
           [0.731, 0.269]])
    >>> basis.get_feature_names_out().tolist()
    ['sigmoid(x0-0)', 'sigmoid(x0-1)']
    """

    centers_: Annotated[NDArray[np.float64], Axes("k")]
    slopes_: Annotated[NDArray[np.float64], Axes("k")]
    columns_: Annotated[NDArray[np.intp], Axes("k"), Indices("d")]

    def __init__(self, centers: int | ArrayLike = 5, *, slope: float | Literal["auto"] = "auto") -> None:
        self.centers = centers
        self.slope = slope

    def _learn(self, X: NDArray[np.float64]) -> None:
        points: Any = quantile_points if is_count(self.centers) else given_points
        self.centers_, self.columns_ = points("centers", self.centers, X)
        checked_width(len(self.centers_), what="Sigmoid", remedy="ask for fewer centers")
        if isinstance(self.slope, str) and self.slope == "auto":
            slopes = [self._default_slope(j, X[:, j]) for j in range(X.shape[1])]
            self.slopes_ = np.asarray(slopes)[self.columns_]
        else:
            self.slopes_ = np.full(len(self.centers_), positive("slope", self.slope, words=["auto"]))

    def _default_slope(self, j: int, column: NDArray[np.float64]) -> float:
        centers = self.centers_[self.columns_ == j]
        with np.errstate(divide="ignore", over="ignore"):
            gap = np.diff(centers).mean() if len(centers) > 1 else np.abs(column - centers).mean()
            slope = np.divide(1.0, gap)
        return float(slope) if 0 < slope < np.inf else 1.0

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            return np.asarray(expit(self.slopes_ * (X[:, self.columns_] - self.centers_)))

    def _names(self, columns: list[str]) -> list[str]:
        pairs = zip(self.columns_, self.centers_, strict=True)
        return [f"sigmoid({columns[j]}{-center:+.6g})" for j, center in pairs]


class Fourier(Basis):
    """Cosines and sines of integer multiples of one frequency for each column.

        φ(x) = cos(2π k (x − origin)/period)  and, with sines,  sin(2π k (x − origin)/period)

    for k = 1, …, n_frequencies.

    Parameters
    ----------
    n_frequencies : int, default 5
    period : "auto", float or array of shape (n_features,), default "auto"
        A number is a known period, such as 12 for months, with origin 0. "auto" takes the period from the
        training rows, with their smallest value as origin: twice the range without sines (the
        half-range cosine series cos(π k u), u from 0 to 1, which represents any smooth function on the range
        and doesn't force its two ends to be equal), or the range itself with sines (a function that repeats).
    sine : {"auto", True, False}, default "auto"
        Whether to include sines. "auto" includes them when the period is given, because the phase is then unknown.

    Attributes
    ----------
    periods_, origins_ : arrays of shape (n_features,)
    sine_ : bool
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Fourier
    >>> month = Fourier(1, period=12).fit([[1.0], [7.0]])
    >>> month.get_feature_names_out(["month"]).tolist()
    ['cos(2pi*month/12)', 'sin(2pi*month/12)']
    >>> month.transform([[3.0], [6.0]]).round(12) + 0.0
    array([[ 0.,  1.],
           [-1.,  0.]])
    """

    periods_: Annotated[NDArray[np.float64], Axes("d"), Positive]
    origins_: Annotated[NDArray[np.float64], Axes("d")]
    sine_: bool

    def __init__(
        self,
        n_frequencies: int = 5,
        *,
        period: float | ArrayLike | Literal["auto"] = "auto",
        sine: bool | Literal["auto"] = "auto",
    ) -> None:
        self.n_frequencies = n_frequencies
        self.period = period
        self.sine = sine

    def _width(self) -> int:
        return positive_integer("n_frequencies", self.n_frequencies) * self.n_features_in_ * (1 + self.sine_)

    def _learn(self, X: NDArray[np.float64]) -> None:
        n_features = X.shape[1]
        choice("sine", self.sine, ("auto", True, False))
        learned = isinstance(self.period, str) and self.period == "auto"
        self.sine_ = not learned if self.sine == "auto" else bool(self.sine)
        checked_width(self._width(), what=f"Fourier on {n_features} columns", remedy="lower n_frequencies")
        if learned:
            self.origins_ = X.min(axis=0)
            half_ranges = X.max(axis=0) / 2 - self.origins_ / 2
            with np.errstate(over="ignore"):
                periods = np.minimum((2.0 if self.sine_ else 4.0) * half_ranges, np.finfo(np.float64).max)
            self.periods_ = np.where(half_ranges > 0, periods, 1.0)
        else:
            self.origins_ = np.zeros(n_features)
            self.periods_ = _given_periods(self.period, n_features)

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        # `mod` is exact, so that the phase of a time stamp (1.7e9 s, period one day) keeps its digits. Halves are
        # subtracted without overflow.
        half_periods = self.periods_ / 2
        turns = np.mod(X / 2 - self.origins_ / 2, half_periods) / half_periods
        k = np.arange(1, self.n_frequencies + 1)
        angles = (2 * np.pi) * turns[:, :, None] * k
        waves = [np.cos(angles), np.sin(angles)] if self.sine_ else [np.cos(angles)]
        # Column by column of X, frequency by frequency, cosine before sine.
        return np.stack(waves, axis=3).reshape(len(X), -1)

    def _names(self, columns: list[str]) -> list[str]:
        waves = ("cos", "sin") if self.sine_ else ("cos",)
        axes = [
            f"{shifted(name, origin)}/{shortest_decimal(period)}"
            for name, origin, period in zip(columns, self.origins_, self.periods_, strict=True)
        ]
        multiples = ["2pi" if k == 1 else f"2pi*{k}" for k in range(1, self.n_frequencies + 1)]
        return [f"{wave}({multiple}*{axis})" for axis in axes for multiple in multiples for wave in waves]


def _given_periods(period: Any, n_features: int) -> NDArray[np.float64]:
    try:
        periods = np.asarray(period, dtype=np.float64)
    except (TypeError, ValueError):
        periods = np.empty(0)
    if periods.ndim > 1 or periods.size == 0 or not (np.isfinite(periods) & (periods > 0)).all():
        raise ValueError(f"period must be 'auto', a positive number, or one for each column; got {period!r}")
    if periods.ndim == 1 and len(periods) != n_features:
        raise ValueError(f"period has {len(periods)} numbers, but X has {n_features} columns")
    return np.broadcast_to(periods, (n_features,)).copy()


class Step(Basis):
    """Step functions of each column.

        φ(x) = 1{x < a}  for each threshold a

    Linear regression on them is a piecewise constant function with jumps at the thresholds.

    Parameters
    ----------
    thresholds : int or array, default 5
        An int k asks for up to k thresholds in each column: those between neighboring training values that
        split the rows most nearly at the quantiles 1/(k+1), …, k/(k+1). Every one of them splits the training
        rows, so a column with m distinct values has at most m−1. A list applies to every column; an
        array of shape (n_thresholds, n_features) gives each column its own.

    Attributes
    ----------
    thresholds_, columns_ : arrays of shape (n_features_out,)
        The threshold of each feature, and the column of X that it uses.
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Step
    >>> basis = Step([2.5]).fit([[1.0], [3.0]])
    >>> basis.transform([[1.0], [2.5], [3.0]]).ravel()
    array([1., 0., 0.])
    >>> basis.get_feature_names_out().tolist()
    ['x0<2.5']
    """

    thresholds_: Annotated[NDArray[np.float64], Axes("k")]
    columns_: Annotated[NDArray[np.intp], Axes("k"), Indices("d")]

    def __init__(self, thresholds: int | ArrayLike = 5) -> None:
        self.thresholds = thresholds

    def _learn(self, X: NDArray[np.float64]) -> None:
        if not is_count(self.thresholds):
            self.thresholds_, self.columns_ = given_points("thresholds", self.thresholds, X)
        else:
            count = positive_integer("thresholds", self.thresholds)
            axes = [_splits(column, count) for column in X.T]
            if not any(axes):
                raise ValueError(
                    f"no threshold splits the rows: every column is constant (n_samples = {len(X)}); give "
                    "the thresholds as a list"
                )
            self.thresholds_ = np.concatenate(axes)
            self.columns_ = np.repeat(np.arange(X.shape[1]), [len(axis) for axis in axes])
        checked_width(len(self.thresholds_), what="Step", remedy="ask for fewer thresholds")

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return (X[:, self.columns_] < self.thresholds_).astype(np.float64)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{columns[j]}<{shortest_decimal(a)}" for j, a in zip(self.columns_, self.thresholds_, strict=True)]


def _splits(column: NDArray[np.float64], count: int) -> list[float]:
    """Thresholds between neighboring distinct values, whose shares of rows below are nearest to k/(count+1)."""
    values, repeats = np.unique(column, return_counts=True)
    below = np.cumsum(repeats)[:-1] / len(column)
    if len(below) <= count:
        chosen = np.arange(len(below))
    else:
        wanted = np.arange(1, count + 1) / (count + 1)
        chosen = np.unique(np.abs(below[None, :] - wanted[:, None]).argmin(axis=1))
    return [_between(values[i], values[i + 1]) for i in chosen]


def _between(low: float, high: float) -> float:
    """The shortest decimal near the middle of two values; above `low` and not above `high`."""
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        # Rounded by at most half of the distance to either value.
        if low < short <= high and abs(short - middle) <= (high / 2 - low / 2) / 2:
            return short
    return float(high)


class Custom(Basis):
    """The columns that a function computes from X.

        Φ = function(X)

    Parameters
    ----------
    function : callable
        Takes a float64 array of shape (n_samples, n_features), a copy that it may change, and returns numbers of
        shape (n_samples,) or (n_samples, n_columns). Row i of the result must depend only on row i of X;
        `fit` checks this for the first row and warns otherwise.
    names : sequence of str, optional
        One name for each column of the result; by default the function's name with a number.

    Attributes
    ----------
    n_columns_ : int
        How many columns the function returned for the training rows.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from credo.features import Custom
    >>> area = Custom(lambda X: X[:, 0] * X[:, 1], names=["area"])
    >>> area.fit_transform(np.array([[2.0, 3.0], [4.0, 5.0]])).ravel()
    array([ 6., 20.])
    >>> area.get_feature_names_out().tolist()
    ['area']
    """

    n_columns_: int

    def __init__(self, function: Callable[..., Any], *, names: Sequence[str] | None = None) -> None:
        self.function = function
        self.names = names

    def _learn(self, X: NDArray[np.float64]) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable, as in Custom(numpy.sin); got {self.function!r}")
        Phi = self._call(X)
        self._check_names(Phi.shape[1])
        self.n_columns_ = Phi.shape[1]
        if len(X) > 1 and not self._keeps_rows_apart(X, Phi):
            warn(
                f"{self._title()} gives different values for the first row alone and together with other rows, so "
                "predictions would depend on which rows are predicted together; compute statistics of the training "
                "rows beforehand",
                FitWarning,
                stacklevel=3,
            )

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        Phi = self._call(X)
        if Phi.shape[1] != self.n_columns_:
            raise ValueError(
                f"{self._title()} returned {Phi.shape[1]} columns for these rows and {self.n_columns_} in fit; it "
                "must always return the same columns"
            )
        return Phi

    def _names(self, columns: list[str]) -> list[str]:
        if self.names is not None:
            return [str(name) for name in self.names]
        title = getattr(self.function, "__name__", "custom")
        title = title if title.isidentifier() else "custom"
        return [title] if self.n_columns_ == 1 else [f"{title}{i}" for i in range(self.n_columns_)]

    def _call(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The function's columns, checked for shape and finite values."""
        try:
            made = self.function(X.copy())
        except Exception as error:
            raise ValueError(
                f"{self._title()} failed on an array of shape {X.shape}: {type(error).__name__}: {error}"
            ) from error
        try:
            Phi = np.array(made, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._title()} must return an array of numbers; got {type(made).__name__}") from error
        if Phi.ndim not in (1, 2) or len(Phi) != len(X) or Phi.size == 0:
            raise ValueError(
                f"{self._title()} must return one row for each row of X, of shape ({len(X)},) or "
                f"({len(X)}, n_columns); got shape {Phi.shape}"
            )
        Phi = Phi.reshape(len(X), -1)
        bad = np.argwhere(~np.isfinite(Phi))
        if len(bad):
            row, column = bad[0]
            raise ValueError(f"{self._title()} returned {Phi[row, column]} at row {row}, column {column}")
        return Phi

    def _keeps_rows_apart(self, X: NDArray[np.float64], Phi: NDArray[np.float64]) -> bool:
        try:
            alone = self._call(X[:1])
        except ValueError:
            return False
        return alone.shape == Phi[:1].shape and np.allclose(alone, Phi[:1], rtol=1e-9, atol=0.0)

    def _check_names(self, n_columns: int) -> None:
        if self.names is None:
            return
        if isinstance(self.names, str) or not all(isinstance(name, str) for name in self.names):
            raise ValueError(f"names must be a list of strings, as in ['area']; got {self.names!r}")
        if len(self.names) != n_columns:
            raise ValueError(f"names has {len(self.names)} entries, but {self._title()} returns {n_columns} columns")

    def _title(self) -> str:
        return f"function {getattr(self.function, '__name__', repr(self.function))}"
