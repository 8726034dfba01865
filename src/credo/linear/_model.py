"""What the linear models with known uncertainty share: weights, their intervals, and the table of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from credo.distributions import t_variance
from credo.estimator import Regressor, interval_level
from credo.frames import Table

Array = NDArray[np.float64]


class LinearModel(Regressor):
    """A linear model whose weights have Student-t (or, with infinite degrees of freedom, normal) laws.

    A subclass says the scales of weights and intercept (`_scales`) and their degrees of freedom (`_df`), the summary's
    `_title` and its `_notes`.
    """

    coef_: Array
    intercept_: float
    fit_intercept: bool

    _title: str

    def confint(self, level: float = 0.95) -> Array:
        """Central interval of each weight, shape (n_features, 2); infinite where the data don't determine it."""
        check_is_fitted(self)
        self._require_noise()
        scale, _ = self._scales()
        return _ends(self.coef_, scale, self._df(), interval_level(level))

    def summary(self, *, level: float = 0.95) -> Table:
        """Estimate, standard deviation and interval of every weight, and how the fit went."""
        check_is_fitted(self)
        level = interval_level(level)
        (scale, intercept_scale), df = self._scales(), self._df()
        names, estimate = self._feature_names(), self.coef_
        if self.fit_intercept:
            names, estimate = ["intercept", *names], np.append(self.intercept_, estimate)
            scale = np.append(intercept_scale, scale)
        ends = _ends(estimate, scale, df, level)
        columns: dict[str, Any] = {"parameter": names, "estimate": list(estimate), **self._spread(estimate, scale)}
        return Table(
            self._title,
            {**columns, "lower": list(ends[:, 0]), "upper": list(ends[:, 1])},
            notes=(f"intervals at {100 * level:g} %", *self._notes()),
        )

    def _spread(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """The columns between estimate and interval."""
        return {"sd": list(scale * np.sqrt(t_variance(self._df())))}

    def _scales(self) -> tuple[Array, float]:
        raise NotImplementedError

    def _df(self) -> float:
        raise NotImplementedError

    def _notes(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _require_noise(self) -> None:
        """Refuse, in words, to speak of intervals where the noise isn't known."""


def _ends(estimate: Array, scale: Array, df: float, level: float) -> Array:
    # A tail's own probability keeps its digits where 1 − tail would not; no degrees of freedom, no interval.
    half = stats.t.isf((1 - level) / 2, df if df > 0 else np.nan) * scale
    return np.column_stack([estimate - half, estimate + half])
