"""Cosines and sines of each column."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.estimator import check_positive, choice, positive_integer
from credo.features._basis import Basis, checked_width, shifted, shortest_decimal


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

    periods_: NDArray[np.float64]
    origins_: NDArray[np.float64]
    sine_: bool

    _SHAPES: ClassVar[dict[str, str]] = {"periods_": "d", "origins_": "d"}

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

    def _check_state(self) -> None:
        super()._check_state()
        check_positive(self, "periods_")

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
