"""What regression and classification over subsets have in common, and the posterior of one coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Mixture
from credo.estimator import Estimator, check_shapes, interval_level
from credo.frames import Table
from credo.subsets._models import Model, ModelPosterior
from credo.subsets._tables import models_table

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coefficient:
    """The posterior of a coefficient: P(β = 0) = spike, otherwise the distribution `slab`.

    Attributes
    ----------
    name : str
        The column's name.
    spike : float
        The probability that the column isn't in the model.
    slab : Mixture or None
        The distribution given that it is in, of one row; None where no stored model contains it.
    """

    name: str
    spike: float
    slab: Mixture | None

    def density(self, values: ArrayLike) -> Array:
        """The density of the slab times 1 − spike, to which it integrates."""
        grid = np.asarray(values, dtype=np.float64)
        if self.slab is None:
            return np.zeros_like(grid)
        return (1.0 - self.spike) * np.exp(self.slab.log_prob(grid.ravel())).reshape(grid.shape)

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles of spike and slab together."""
        levels = np.asarray(q, dtype=np.float64)
        if self.slab is None:
            return np.zeros_like(levels)
        return quantiles(np.array([self.spike]), self.slab, levels.ravel())[0].reshape(levels.shape)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The central interval of spike and slab together."""
        tail = (1.0 - interval_level(level)) / 2
        lower, upper = self.quantile([tail, 1.0 - tail])
        return float(lower), float(upper)


def quantiles(spike: Array, slabs: Mixture, q: Array) -> Array:
    """Quantiles of spike and slab together, a row for each coefficient and a column for each level."""
    share = np.maximum(1.0 - spike, 1e-300)[:, None]
    below = share * slabs.cdf(np.zeros(len(spike)))[:, None]
    inside = np.clip(np.where(q < below, q, q - spike[:, None]) / share, 0.0, 1.0)
    # A mixture computes the same levels for all rows: all of them, of which each row needs its own.
    rows, columns = np.indices(inside.shape)
    values = slabs.quantile(inside.ravel())[rows, columns + len(q) * rows]
    return np.where((q >= below) & (q <= below + spike[:, None]), 0.0, values)


class SubsetEstimator(Estimator):
    """Beside an estimator's base class: the posterior over models, and what is read off it."""

    posterior_: ModelPosterior
    inclusion_probabilities_: Array
    map_model_: tuple[int, ...]
    median_model_: tuple[int, ...]
    best_subsets_: tuple[tuple[int, ...], ...]
    copies_: tuple[tuple[int, ...], ...]
    search_: Literal["enumerate", "gibbs"]
    log_evidence_: float
    evidence_method_: str
    evidence_base_: str
    log_evidence_error_: float

    def _check_state(self) -> None:
        super()._check_state()
        d = self.n_features_in_
        check_shapes(self, {"d": d}, inclusion_probabilities_="d")
        if len(self.posterior_.inclusion) != d:
            raise ValueError("posterior_ belongs to another table")
        subsets = (self.map_model_, self.median_model_, *self.best_subsets_, *self.copies_)
        if not all(0 <= j < d for subset in subsets for j in subset):
            raise ValueError("a subset names columns that aren't there")

    @property
    def models_(self) -> Table:
        check_is_fitted(self)
        return models_table(self.posterior_, self._feature_names())

    def sample_functions(self, X: ArrayLike, n: int = 1, *, random_state: Any = None) -> Array:
        """Draws of f (of log odds, for classes) at the rows, shape (n, n_samples); each is linear, of one subset."""
        rows = self._predict_rows(X)
        coefs, intercepts = self.sample_coefficients(n, random_state=random_state)
        return np.asarray(coefs @ rows.T) + intercepts[:, None]

    def _place(self, column: Any) -> int:
        """The index of a column given by its name or number; negative numbers count from the end."""
        check_is_fitted(self)
        names = self._feature_names()
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"there is no column {column!r}; the columns are {', '.join(names[:20])}")
            return int(names.index(column))
        if not isinstance(column, Integral) or isinstance(column, bool):
            raise ValueError(f"a column must be given by its name or number; got {column!r}")
        place = int(column)
        if not -len(names) <= place < len(names):
            raise ValueError(f"there is no column {place}: the table has {len(names)}")
        return place % len(names)

    def _places(self, columns: Any) -> list[int]:
        """The indices of columns, each once and in order; a single one may be given by itself."""
        given = [columns] if isinstance(columns, str | Integral) else columns
        return sorted({self._place(column) for column in given})

    def _store(
        self, found: ModelPosterior, *, median: Model, copies: Sequence[Model], method: str, base: str
    ) -> None:  # fmt: skip
        """Set the fitted attributes that follow from the posterior, in terms of the table's columns."""
        self.posterior_ = found
        self.inclusion_probabilities_ = found.inclusion
        self.map_model_, self.median_model_, self.best_subsets_ = found.map_model, median, found.best_by_size
        self.copies_ = tuple(copies)
        self.log_evidence_, self.evidence_method_, self.evidence_base_ = found.log_mass, method, base
        self.log_evidence_error_ = float(found.diagnostics.get("log_mass_error", 0.0))
