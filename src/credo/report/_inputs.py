"""Which columns of the table a model listens to: by changing their values, and by a process's length scales."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.preparation.scale import is_sparse
from credo.metrics import final_step

Vector = NDArray[np.float64]

# More columns than this are not tried one by one, and rows of more numbers than this not held at once.
MAX_COLUMNS = 100
_MAX_CELLS = 10**7
_ROWS = 500
# A measured column goes together with others when they tell it up to this share of its variance, or when changing it
# alone moves the prediction by more than this many standard deviations of the target, which no row does.
_TOLD = 0.99
_TOO_MUCH = 2.0


@dataclass(frozen=True)
class Influence:
    """How much the prediction changes with each column of the table, by root mean square over the rows.

    Of a column that is `measured`: over one standard deviation, half of it to either side of each row. Of levels: when
    rows exchange theirs, divided by √2, which for a linear model is the same. `alone` is False for columns that go
    together with others, so that no row tells what one of them does.
    """

    model: str
    names: list[str]
    values: Vector
    measured: list[bool]
    alone: NDArray[np.bool_]

    @property
    def order(self) -> NDArray[np.intp]:
        """The columns that can be told apart, the most influential first."""
        known = np.flatnonzero(self.alone)
        return known[np.argsort(-self.values[known], kind="stable")]

    @property
    def together(self) -> list[str]:
        """The columns that can't be told apart."""
        return [name for name, alone in zip(self.names, self.alone, strict=True) if not alone]


@dataclass(frozen=True)
class Process:
    """What a Gaussian process learned: its noise, how smooth it is, and how far it bends along each column.

    `relevance` is the standard deviation of a column over its length scale. The prepared columns of one column of the
    table (its levels, its mark for missing values) count together: their squares add, as they do in the distance
    between two rows. None where all columns share a length scale.
    """

    model: str
    kernel: str
    noise: float
    names: list[str]
    relevance: Vector | None


def influence(name: str, model: Any, frame: Any, *, spread: float) -> Influence | None:
    """How much each column moves the model's predictions; None where the table is too large to try.

    Values are moved not far from where they are, since columns that go together, as the parts of a mixture do, have no
    rows where one of them alone is changed by much. `spread` is the standard deviation of the target, and infinite for
    classes, whose probabilities can't move too far.
    """
    columns = sources(model)
    if columns is None or len(set(columns)) > MAX_COLUMNS or len(frame) < 2:
        return None
    picked = np.random.default_rng(0).permutation(len(frame))[:_ROWS]
    predict = getattr(model.estimator_, "predict_proba", model.estimator_.predict)
    with warnings.catch_warnings():
        # What the rows hold was seen in the fit, and they come in the order of the prepared columns.
        warnings.simplefilter("ignore")
        X = model.preparation_.transform(frame)
        if X.shape[0] * X.shape[1] > _MAX_CELLS:
            return None
        X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
        names = list(dict.fromkeys(columns))
        blocks = [[i for i, column in enumerate(columns) if column == name] for name in names]
        # The first prepared column of a measured one is its value; levels have two values each.
        measured = [len(np.unique(X[:, block[0]])) > 2 for block in blocks]
        values = np.array(
            [
                _moved(predict, X, picked, block[0]) if is_measured
                else _exchanged(predict, X, picked, block)
                for block, is_measured in zip(blocks, measured, strict=True)
            ]
        )  # fmt: skip
    if not np.isfinite(values).all():
        return None
    alone = np.array(
        [not is_measured or not _told(X, block) for block, is_measured in zip(blocks, measured, strict=True)]
    )
    alone &= values <= _TOO_MUCH * spread
    return Influence(name, [str(column) for column in names], values, measured, alone)


def _told(X: Vector, block: list[int]) -> bool:
    """Whether a linear function of the other columns tells a column almost exactly."""
    others = np.delete(X, block, axis=1)
    if len(X) <= 2 * others.shape[1]:
        return False
    column, others = X[:, block[0]] - X[:, block[0]].mean(), others - others.mean(axis=0)
    left = column - others @ np.linalg.lstsq(others, column, rcond=None)[0]
    return bool(left @ left < (1 - _TOLD) * (column @ column))


def _moved(predict: Callable[[Any], Any], X: Vector, picked: NDArray[np.intp], column: int) -> float:
    """The root mean square change over one standard deviation of a column, inside its range."""
    half = 0.5 * X[:, column].std()
    low, high = X[picked].copy(), X[picked].copy()
    low[:, column] = np.maximum(low[:, column] - half, X[:, column].min())
    high[:, column] = np.minimum(high[:, column] + half, X[:, column].max())
    return float(np.sqrt(np.mean(_change(predict(high), predict(low)) ** 2)))


def _exchanged(predict: Callable[[Any], Any], X: Vector, picked: NDArray[np.intp], block: list[int]) -> float:
    """The root mean square change when rows exchange the columns of a block, over √2."""
    changed = X[picked].copy()
    changed[:, block] = X[np.roll(picked, 1)][:, block]
    return float(np.sqrt(np.mean(_change(predict(changed), predict(X[picked])) ** 2) / 2))


def _change(new: Any, old: Any) -> Vector:
    """The change of each row's prediction; of class probabilities the part of them that moves to other classes."""
    difference = np.asarray(new) - np.asarray(old)
    return np.abs(difference).sum(axis=1) / 2 if difference.ndim == 2 else difference


def process(name: str, model: Any) -> Process | None:
    """What a Gaussian process learned, or None where the model isn't one."""
    estimator = final_step(model.estimator_)
    noise = getattr(estimator, "noise_variance_", None)
    if noise is None or not hasattr(estimator, "kernel_"):
        return None
    columns = sources(model) or [str(feature) for feature in model.preparation_.get_feature_names_out()]
    names = list(dict.fromkeys(columns))
    each = np.asarray(getattr(estimator, "relevance_", np.empty(0)), dtype=np.float64)
    relevance = None
    if len(each) == len(columns):
        place = [names.index(column) for column in columns]
        relevance = np.sqrt(np.bincount(place, each**2, minlength=len(names)))
    level = float(np.sqrt(np.mean(np.asarray(noise, dtype=np.float64))))
    return Process(name, type(estimator.kernel_).__name__, level, [str(column) for column in names], relevance)


def sources(model: Any) -> list[Any] | None:
    """For each prepared column, the column of the table that it was made of; None where that isn't known."""
    encoders = getattr(model.preparation_, "encoders_", None)
    return None if encoders is None else [encoder.name for encoder in encoders for _ in encoder.names()]
