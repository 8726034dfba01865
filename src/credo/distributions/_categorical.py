"""The categorical distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import _steps
from credo.distributions import _validation as valid
from credo.distributions._distribution import Array, Distribution
from credo.frames import frame


class Categorical(Distribution):
    """One of k classes for each row.

    Classes may be labels of any kind. If they are numbers, there are moments, cdf and quantiles as well, and the CRPS
    is the ranked probability score; if not, these raise a TypeError.

    Parameters
    ----------
    probs : array of shape (n_rows, k), or (k,) for a single row
        Each row must sum to one, up to 1e-6; it is normalized.
    classes : array of shape (k,), optional
        The labels in the order of the columns; 0, …, k−1 by default.

    Examples
    --------
    >>> from credo.distributions import Categorical
    >>> dist = Categorical([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], classes=["low", "middle", "high"])
    >>> dist.mode.tolist()
    ['low', 'high']
    >>> dist.log_prob(["low", "high"]).round(3)
    array([-0.693, -0.223])
    >>> float(Categorical([0.5, 0.3, 0.2]).crps(1).round(2))
    0.29
    """

    _shown = ("probs", "classes")
    _discrete = True
    _probs: Array
    classes: NDArray[Any]

    def __init__(self, probs: ArrayLike, classes: ArrayLike | None = None) -> None:
        table = np.atleast_2d(valid.numbers("probs", probs))
        if table.ndim != 2 or table.shape[1] == 0:
            raise ValueError(f"probs must have the shape (n_rows, n_classes); got {np.shape(probs)}")
        labels = np.arange(table.shape[1]) if classes is None else np.asarray(classes)
        if labels.shape != (table.shape[1],):
            raise ValueError(f"probs has {table.shape[1]} columns, but classes has the shape {labels.shape}")
        _refuse_unusable(labels)
        vars(self).update(
            _probs=valid.probabilities("probs", table), classes=valid.frozen(labels), _scalar=np.ndim(probs) == 1
        )

    @property
    def probs(self) -> Array:
        """The probabilities of the classes: of shape (n_rows, k), or (k,) of a scalar distribution."""
        return self._unless_scalar(self._probs)

    @property
    def mode(self) -> NDArray[Any]:
        """The most probable class of each row; the first if several are equal."""
        return self.classes[self.probs.argmax(axis=-1)]

    @property
    def _mean(self) -> Array:
        return self._probs @ self._values("mean")

    @property
    def _std(self) -> Array:
        deviations = self._values("standard deviation") - self._mean[:, None]
        return np.sqrt((self._probs * deviations**2).sum(axis=1))

    def __len__(self) -> int:
        return len(self._probs)

    def log_prob(self, y: ArrayLike) -> Array:
        """The log probability of the labels y, one for each row or one for all."""
        labels = np.asarray(y)
        index = {label: column for column, label in enumerate(self.classes.tolist())}
        columns = np.empty(labels.size, dtype=np.intp)
        for place, label in enumerate(labels.ravel().tolist()):
            if label not in index:
                known = ", ".join(map(repr, self.classes.tolist()[:10]))
                raise ValueError(f"y has {label!r} at index {place}, which is not among the classes {known}")
            columns[place] = index[label]
        table = np.broadcast_to(columns.reshape(labels.shape), self._shape(labels.shape))
        with np.errstate(divide="ignore"):
            return self._shaped_as(labels, np.log(self._probs)[np.arange(len(self)), table])

    def to_frame(self, level: float = 0.95, *, backend: str | None = None) -> Any:
        """As for any distribution; if the classes aren't numbers, the mode and the probability of each class."""
        if self._numeric():
            return super().to_frame(level, backend=backend)
        columns = {str(label): self._probs[:, column] for column, label in enumerate(self.classes.tolist())}
        return frame({"mode": np.atleast_1d(self.mode), **columns}, backend=backend)

    def _log_prob(self, y: Array) -> Array:
        return self.log_prob(y)

    def _cdf(self, y: Array) -> Array:
        return _steps.cdf(*self._steps("cdf"), y)

    def _crps(self, y: Array) -> Array:
        return _steps.crps(*self._steps("CRPS"), y)

    def _quantile(self, q: Array) -> Array:
        return _steps.quantile(*self._steps("quantile"), q)

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self.classes[_steps.choices(self._probs, n, rng)]

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self._probs[rows], self.classes)

    def _knots(self) -> Array:
        return self._steps("CRPS")[0]

    def _steps(self, what: str) -> tuple[Array, Array]:
        """The classes in order and the distribution function at them, for each row."""
        values = self._values(what)
        order = np.argsort(values)
        heights = np.cumsum(self._probs.T[order], axis=0)
        return np.broadcast_to(values[order][:, None], heights.shape), heights / heights[-1]

    def _values(self, what: str) -> Array:
        if not self._numeric():
            raise TypeError(
                f"labels such as {self.classes.tolist()[0]!r} have no {what}; use mode, probs and log_prob, "
                "or classes that are numbers"
            )
        return self.classes.astype(np.float64)

    def _numeric(self) -> bool:
        return self.classes.dtype.kind in "biuf"


def _refuse_unusable(labels: NDArray[Any]) -> None:
    """Classes must be distinct, and numbers among them finite."""
    if labels.dtype.kind == "f":
        valid.refuse(~np.isfinite(labels), labels, "classes must be finite")
    seen: set[Any] = set()
    for label in labels.tolist():
        if label in seen:
            raise ValueError(f"classes must be distinct; got {label!r} twice")
        seen.add(label)
