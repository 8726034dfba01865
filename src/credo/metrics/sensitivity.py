"""How much each input changes a model's predictions, and trends of residuals along the predictions.

Strongly correlated inputs are changed together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Vector = NDArray[np.float64]
Predict = Callable[[Any], Any]


@dataclass(frozen=True)
class Influence:
    """How much the prediction changes with each input, root mean square over the rows.

    `members` has a list for each entry: one input, or several that vary together so strongly that their effects can't
    be separated. For an input that is `measured` it is the change over one standard deviation, half of it to either
    side of each row. For categorical inputs and inputs that vary together it is the change when rows exchange their
    values, divided by √2, which is the same for a linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.metrics import influence
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = influence(lambda rows: 2.0 * rows[:, 0] + rows[:, 1], X, ["dose", "age"])
    >>> [found.members[i] for i in found.order], found.values.round(1)
    ([['dose'], ['age']], array([1.9, 1. ]))
    """

    members: list[list[str]]
    values: Vector
    measured: list[bool]

    @property
    def order(self) -> NDArray[np.intp]:
        """The entries, the most influential first."""
        return np.argsort(-self.values, kind="stable")

    @property
    def together(self) -> list[list[str]]:
        """The groups of inputs whose effects can't be separated."""
        return [members for members in self.members if len(members) > 1]


def influence(
    predict: Predict, X: NDArray[np.float64], columns: Sequence[Any], *, spread: float = np.inf
) -> Influence | None:
    """How much each input changes the predictions; None if these are not finite.

    Changes are small, because far from the rows the model extrapolates. Inputs that determine each other,
    such as the parts of a mixture, are changed together.

    Parameters
    ----------
    predict : callable(rows)
        Returns a number for each row, or a table of class probabilities; then the change is the probability that moves
        to other classes.
    X : array of shape (n_samples, n_features), n_samples at least 2
    columns : sequence of n_features labels
        The input that each feature belongs to: the levels of a category are one input.
    spread : float, default ∞
        The standard deviation of the target; not needed for class probabilities, which are bounded.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.metrics import influence
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 2] = X[:, 1] + 1e-3 * X[:, 2]
    >>> found = influence(lambda rows: 2 * rows[:, 0] + rows[:, 1] - rows[:, 2], X, ["a", "b", "twin"])
    >>> found.members
    [['a'], ['b', 'twin']]
    """
    names = list(dict.fromkeys(columns))
    blocks = [[i for i, column in enumerate(columns) if column == name] for name in names]
    picked = np.random.default_rng(0).permutation(len(X))[:500]
    # The first feature of a measured input is its value; levels have two values each.
    measured = [len(np.unique(X[:, block[0]])) > 2 for block in blocks]
    each = np.array(
        [
            _moved(predict, X, picked, block[0]) if is_measured else _exchanged(predict, X, picked, block)
            for block, is_measured in zip(blocks, measured, strict=True)
        ]
    )
    # A change of the prediction by two standard deviations of the target is far from the data.
    groups = _groups(X, blocks, each > 2.0 * spread)
    values = np.array(
        [
            each[group[0]]
            if len(group) == 1
            else _exchanged(predict, X, picked, [column for i in group for column in blocks[i]])
            for group in groups
        ]
    )
    if not np.isfinite(values).all():
        return None
    members = [[str(names[i]) for i in group] for group in groups]
    return Influence(members, values, [len(group) == 1 and measured[group[0]] for group in groups])


def _groups(X: Vector, blocks: list[list[int]], too_much: NDArray[np.bool_]) -> list[list[int]]:
    """The inputs in their order, as lists of those that vary together."""
    n = len(blocks)
    explaining = [_explaining(X, blocks, i) for i in range(n)]
    dependent = too_much | np.array([weight is not None for weight in explaining])
    label = np.arange(n)

    def join(i: int, j: int) -> None:
        label[label == label[i]] = label[j]

    correlation = _correlations(X[:, [block[0] for block in blocks]])
    for i in np.flatnonzero(dependent).tolist():
        # A dependent input joins those that it is correlated with, and those that have large weights in predicting it.
        for j in np.flatnonzero(correlation[i] >= 0.95).tolist():
            join(i, j)
        weight = explaining[i]
        if weight is not None:
            weight = np.where(dependent, weight, 0.0)
            for j in np.flatnonzero((weight > 0) & (weight >= 0.5 * weight.max())).tolist():
                join(i, j)
    for i in np.flatnonzero(dependent).tolist():
        if n > 1 and np.sum(label == label[i]) == 1:
            join(i, int(np.argmax(np.where(np.arange(n) == i, -1.0, correlation[i]))))
    return [np.flatnonzero(label == group).tolist() for group in dict.fromkeys(label.tolist())]


def _explaining(X: Vector, blocks: list[list[int]], i: int) -> Vector | None:
    """The weight of each other input in predicting this one, if a linear function of them predicts it almost exactly.

    For a categorical input this is tested on its first level.
    """
    block = blocks[i]
    kept = np.setdiff1d(np.arange(X.shape[1]), block)
    if len(X) <= 2 * len(kept):
        return None
    column, others = X[:, block[0]] - X[:, block[0]].mean(), X[:, kept] - X[:, kept].mean(axis=0)
    weights = np.linalg.lstsq(others, column, rcond=None)[0]
    left = column - others @ weights
    # Less than 99 % of the variance is explained.
    if not left @ left < 0.01 * (column @ column):
        return None
    feature = np.zeros(X.shape[1])
    feature[kept] = np.abs(weights) * others.std(axis=0)
    return np.array([feature[block].sum() for block in blocks])


def _correlations(values: Vector) -> Vector:
    """Absolute correlations; zero for a constant column."""
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.abs(scaled.T @ scaled) / len(values)


def _moved(predict: Predict, X: Vector, picked: NDArray[np.intp], column: int) -> float:
    """The root mean square change over one standard deviation of a column, inside its range."""
    half = 0.5 * X[:, column].std()
    low, high = X[picked].copy(), X[picked].copy()
    low[:, column] = np.maximum(low[:, column] - half, X[:, column].min())
    high[:, column] = np.minimum(high[:, column] + half, X[:, column].max())
    return float(np.sqrt(np.mean(_change(predict(high), predict(low)) ** 2)))


def _exchanged(predict: Predict, X: Vector, picked: NDArray[np.intp], block: list[int]) -> float:
    """The root mean square change when rows exchange the columns of a block, over √2."""
    changed = X[picked].copy()
    changed[:, block] = X[np.roll(picked, 1)][:, block]
    return float(np.sqrt(np.mean(_change(predict(changed), predict(X[picked])) ** 2) / 2))


def _change(new: Any, old: Any) -> Vector:
    """The change of each row's prediction; for class probabilities, the probability that moves to other classes."""
    difference = np.asarray(new) - np.asarray(old)
    return np.abs(difference).sum(axis=1) / 2 if difference.ndim == 2 else difference


# Fewer rows show no trend.
MIN_TREND_ROWS = 60
_MIN_GROUP_ROWS = 20


class ResidualTrend(NamedTuple):
    """Groups of rows, from the lowest predictions to the highest.

    For each group: its median prediction, and of its residuals the mean with its standard error, and the 10 % and 90 %
    quantiles.
    """

    prediction: Vector
    mean: Vector
    error: Vector
    low: Vector
    high: Vector

    @property
    def p(self) -> Vector:
        """For each group the p-value of the t-test that its mean residual is zero."""
        return np.array([_p_value(mean, error) for mean, error in zip(self.mean, self.error, strict=True)])

    @property
    def slope(self) -> tuple[float, float]:
        """The slope of the means along the predictions, and its p-value."""
        x = self.prediction - self.prediction.mean()
        slope, error = x @ self.mean / (x @ x), np.sqrt((x * self.error) @ (x * self.error)) / (x @ x)
        return float(slope), _p_value(slope, error)


def _p_value(value: float, error: float) -> float:
    # A group has at least 20 rows, so the standard error has at least 19 degrees of freedom.
    return 0.0 if value and not error else float(2 * student.sf(abs(value) / (error or 1.0), _MIN_GROUP_ROWS - 1))


def residual_trend(prediction: Vector, residual: Vector) -> ResidualTrend | None:
    """The trend of the residuals; None with too few rows or too few distinct predictions."""
    n = len(prediction)
    if n < MIN_TREND_ROWS:
        return None
    groups = np.array_split(np.argsort(prediction, kind="stable"), min(12, n // _MIN_GROUP_ROWS))
    middle = np.array([np.median(prediction[group]) for group in groups])
    if len(np.unique(middle)) < len(middle):
        return None
    parts = [residual[group] for group in groups]
    error = np.array([part.std(ddof=1) / np.sqrt(len(part)) for part in parts])
    low, high = np.array([np.quantile(part, (0.1, 0.9)) for part in parts]).T
    return ResidualTrend(middle, np.array([part.mean() for part in parts]), error, low, high)
