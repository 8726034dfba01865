"""Powers and products of columns, scaled if double precision requires it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement
from math import ceil, comb, floor, inf, log10
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import FitWarning, choice, positive_integer
from credo.core.fields import Axes, Positive
from credo.core.notices import warn
from credo.features._basis import MAX_COLUMNS, Basis, checked_width, shifted, shortest_decimal

# With a larger condition number, least squares keeps fewer than four digits of the coefficients.
_CONDITION_LIMIT = 1e12

Term = tuple[int, ...]


class Polynomial(Basis):
    """All monomials of the columns up to a degree.

        φ(x) = x₁^e₁ x₂^e₂ ⋯  for  min_degree ≤ e₁ + e₂ + ⋯ ≤ degree

    Columns and their order are those of scikit-learn's `PolynomialFeatures(degree, include_bias=False)`, except for
    columns that are scaled first (see `scale`) and, with `extrapolation="linear"`, for values beyond the bounds.

    Parameters
    ----------
    degree : int, default 2
    interactions : bool, default True
        Whether to include products of different columns; False gives pure powers x₁, x₂, x₁², x₂², …
    min_degree : int, default 1
        The lowest degree to include: `Polynomial(2, min_degree=2)` is the quadratic map (x₁², x₁x₂, x₂²).
    include_constant : bool, default False
        Whether to include a first column of ones. Credo's models have their own intercept.
    scale : {"auto", True, False}, default "auto"
        Powers of values far from zero are numerically collinear: on years 1900 to 2000, the monomials up to
        degree 10 have condition number 5e16, and least squares can't distinguish them. "auto" maps such a
        column to t = (x − center)/half-range first and leaves the others unchanged; True maps every column,
        False none. Center and half-range are rounded to three digits of the half-range,
        and the names show them in full, so that the names are exact.
    extrapolation : {"continue", "linear"}, default "continue"
        What the terms are beyond the bounds `low_`, `high_` of the training rows, where a power of a single unusual
        value makes a prediction absurd. "continue" evaluates them as they are. "linear" leaves the columns
        themselves (degree 1) as they are and continues every term along its tangent at the bound, and with it any
        polynomial of these terms: predictions continue without a jump or a bend, and grow at most linearly.
    binary_powers : bool, default True
        Whether columns that have two values in `fit` have powers, which are the columns themselves up to a constant
        and a factor.

    Attributes
    ----------
    low_, high_ : arrays of shape (n_features,)
        The bounds of each column: the range of the training rows. A value counts as an outlier, and the bound lies
        below it, when it is further from the range of the other rows than that range is wide (0.5 % of the rows at
        either end, at least one, may be such outliers; from 20 rows on).
    binary_ : bool array of shape (n_features,)
        The columns without powers.
    centers_, half_ranges_ : arrays of shape (n_features,)
        The map of each column; 0 and 1 if the column is unchanged.
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Polynomial
    >>> Polynomial(2).fit([[1.0, 2.0], [3.0, 5.0]]).get_feature_names_out().tolist()
    ['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> Polynomial(2, min_degree=2).fit_transform([[1.0, 2.0], [3.0, 5.0]])
    array([[ 1.,  2.,  4.],
           [ 9., 15., 25.]])
    >>> safe = Polynomial(2, extrapolation="linear").fit([[0.0], [10.0]])
    >>> safe.transform([[5.0], [10.0], [12.0]])
    array([[  5.,  25.],
           [ 10., 100.],
           [ 12., 140.]])
    >>> import numpy as np
    >>> years = np.linspace(1900, 2000, 11).reshape(-1, 1)
    >>> Polynomial(10).fit(years).get_feature_names_out(["year"])[2]
    '((year-1950)/50)^3'
    """

    centers_: Annotated[NDArray[np.float64], Axes("d")]
    half_ranges_: Annotated[NDArray[np.float64], Axes("d"), Positive]
    low_: Annotated[NDArray[np.float64], Axes("d")]
    high_: Annotated[NDArray[np.float64], Axes("d")]
    binary_: Annotated[NDArray[np.bool_], Axes("d")]

    def __init__(
        self,
        degree: int = 2,
        *,
        interactions: bool = True,
        min_degree: int = 1,
        include_constant: bool = False,
        scale: bool | Literal["auto"] = "auto",
        extrapolation: Literal["continue", "linear"] = "continue",
        binary_powers: bool = True,
    ) -> None:
        self.degree = degree
        self.interactions = interactions
        self.min_degree = min_degree
        self.include_constant = include_constant
        self.scale = scale
        self.extrapolation = extrapolation
        self.binary_powers = binary_powers

    def _width(self) -> int:
        degree, lowest = positive_integer("degree", self.degree), positive_integer("min_degree", self.min_degree)
        if lowest > degree:
            raise ValueError(f"min_degree must not be above degree, {degree}; got {lowest}")
        if max(degree, self.n_features_in_) > MAX_COLUMNS:
            return max(degree, self.n_features_in_)
        n = self.n_features_in_
        return comb(n + degree, degree) - comb(n + lowest - 1, n) if self.interactions else n * (degree - lowest + 1)

    def _learn(self, X: NDArray[np.float64]) -> None:
        for name in ("interactions", "include_constant", "binary_powers"):
            choice(name, getattr(self, name), (True, False))
        choice("scale", self.scale, ("auto", True, False))
        choice("extrapolation", self.extrapolation, ("continue", "linear"))
        degree = self.degree
        checked_width(
            self._width(),
            what=f"Polynomial of degree {degree} on {X.shape[1]} columns",
            remedy="lower the degree" + (" or set interactions=False" if self.interactions else ""),
        )
        self.centers_, self.half_ranges_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        self.low_, self.high_ = _bounds(X)
        two = ((X.min(axis=0) == X) | (X.max(axis=0) == X)).all(axis=0)
        self.binary_ = two & (not self.binary_powers)
        for j, (low, high) in enumerate(zip(X.min(axis=0), X.max(axis=0), strict=True)):
            if self.scale is True or (self.scale == "auto" and _needs_map(low, high, degree)):
                self.centers_[j], self.half_ranges_[j] = _rounded_map(low, high)
        if self.scale is not False and degree > 1 and _condition(-1.0, 1.0, degree) > _CONDITION_LIMIT:
            warn(
                f"monomials of degree {degree} are numerically collinear even on [-1, 1], so their coefficients "
                "can't be determined; lower the degree, or use Radial or Fourier features",
                FitWarning,
                stacklevel=3,
            )

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        T = (X - self.centers_) / self.half_ranges_
        if self.extrapolation == "continue":
            Phi = self._monomials(T)
        else:
            inside = (np.clip(X, self.low_, self.high_) - self.centers_) / self.half_ranges_
            Phi = self._monomials(inside)
            beyond = (inside != T).any(axis=1)
            if beyond.any():
                Phi[beyond] += self._slopes(inside[beyond], T[beyond] - inside[beyond])
        self._reject_overflow(X, Phi)
        return Phi

    def _monomials(self, T: NDArray[np.float64]) -> NDArray[np.float64]:
        terms, start = self._terms(T.shape[1]), int(self.include_constant)
        Phi = np.ones((len(T), start + len(terms)), order="F")
        # `pow` rounds once, a product of k factors k − 1 times.
        power = cache(lambda j, k: T[:, j] ** k)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for i, term in enumerate(terms, start=start):
                first, *others = Counter(term).items()
                Phi[:, i] = power(*first)
                for other in others:
                    Phi[:, i] *= power(*other)
        return Phi

    def _slopes(self, T: NDArray[np.float64], step: NDArray[np.float64]) -> NDArray[np.float64]:
        """The change of each monomial Π tⱼ^kⱼ with a step along its tangent.

        It is Σⱼ kⱼ tⱼ^(kⱼ−1) stepⱼ Π tᵢ^kᵢ, the product over i ≠ j.
        """
        terms, start = self._terms(T.shape[1]), int(self.include_constant)
        change = np.zeros((len(T), start + len(terms)))
        with np.errstate(over="ignore", invalid="ignore"):
            for i, term in enumerate(terms, start=start):
                powers = Counter(term)
                for j, k in powers.items():
                    others = [T[:, m] ** power for m, power in powers.items() if m != j]
                    change[:, i] += k * T[:, j] ** (k - 1) * step[:, j] * np.prod(others, axis=0)
        return change

    def _reject_overflow(self, X: NDArray[np.float64], Phi: NDArray[np.float64]) -> None:
        finite = np.isfinite(Phi).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            j = int(np.argmax(np.abs(X[row])))
            name, value = self._column_name(j), X[row, j]
            remedy = (
                "scale='auto' maps the axis first"
                if self.scale is False
                else "it is far outside the training range; extrapolation='linear' bounds the powers"
            )
            raise ValueError(f"row {row} overflows at degree {self.degree}: column {name} is {value:g} there; {remedy}")

    def _terms(self, n_features: int) -> list[Term]:
        """The monomials by degree, each as the sorted indices of its factors."""
        degrees = range(self.min_degree, self.degree + 1)
        if self.interactions:
            terms = [term for d in degrees for term in combinations_with_replacement(range(n_features), d)]
        else:
            terms = [(j,) * d for d in degrees for j in range(n_features)]
        if not self.binary_.any():
            return terms
        return [term for term in terms if not any(self.binary_[j] and k > 1 for j, k in Counter(term).items())]

    def _names(self, columns: list[str]) -> list[str]:
        bases = [
            name if h == 1 and c == 0 else f"({shifted(name, c)}/{shortest_decimal(h)})"
            for name, c, h in zip(columns, self.centers_, self.half_ranges_, strict=True)
        ]
        terms = [
            " ".join(bases[j] if k == 1 else f"{bases[j]}^{k}" for j, k in Counter(term).items())
            for term in self._terms(len(columns))
        ]
        return ["1", *terms] if self.include_constant else terms


def _bounds(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The range of each column without outliers: values farther from the others than the range of those is wide."""
    low, high, n = X.min(axis=0), X.max(axis=0), len(X)
    if n < 20:
        return low, high
    k = max(1, int(0.005 * n))
    ordered = np.partition(X, (k, n - 1 - k), axis=0)
    inner_low, inner_high = ordered[k], ordered[n - 1 - k]
    width = inner_high - inner_low
    # Width zero: a rare level of a 0/1 column is no outlier.
    lower = np.where(width == 0, low, np.maximum(low, inner_low - width))
    return lower, np.where(width == 0, high, np.minimum(high, inner_high + width))


def _needs_map(low: float, high: float, degree: int) -> bool:
    """Whether double precision can't represent the powers of this column up to the degree."""
    largest, center, half = max(abs(low), abs(high)), low / 2 + high / 2, high / 2 - low / 2
    # Beyond 1e±100, powers overflow when they are squared and summed.
    if largest > 0 and abs(log10(largest)) * degree > log10(1e100):
        return True
    # No map distinguishes a constant column from the intercept, and a centered column gains nothing.
    return half > 0 and abs(center) > 0.01 * half and _condition(low, high, degree) > _CONDITION_LIMIT


def _condition(low: float, high: float, degree: int) -> float:
    """Condition number of 1, x, …, x^degree on [low, high], each column scaled to unit length.

    Computed at Chebyshev nodes instead of the data, so that the feature names depend only on the range of the column.
    """
    # On [-1, 1], the best range, the limit is reached at degree 32.
    if degree > 40:
        return inf
    n = 4 * (degree + 1)
    nodes = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    x = (low / 2 + high / 2) + (high / 2 - low / 2) * nodes
    # The scale of the axis doesn't matter, as columns are scaled to unit length.
    V = (x / max(abs(low), abs(high)))[:, None] ** np.arange(degree + 1)
    return float(np.linalg.cond(V / np.linalg.norm(V, axis=0)))


def _rounded_map(low: float, high: float) -> tuple[float, float]:
    """Center and half-range of [low, high], rounded to three digits of the half-range, which is rounded up."""
    half = high / 2 - low / 2
    if half == 0:
        return float(low), 1.0
    unit = floor(log10(half)) - 2
    center = low / 2 + high / 2
    if not -300 < unit < 300:
        return center, half
    rounded_half = float(f"{ceil(round(half / 10.0**unit, 9))}e{unit}")
    return float(f"{round(center / 10.0**unit)}e{unit}"), rounded_half
