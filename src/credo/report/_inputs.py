"""What moves a model's predictions, by the columns of the table, and along which of them a process bends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.io.preparation.scale import is_sparse
from credo.metrics import Influence, final_step
from credo.metrics import influence as influence_of

Vector = NDArray[np.float64]

# More columns than this are not tried one by one, rows of more numbers than this not held at once, and inputs compared
# with each other on so many rows.
MAX_COLUMNS = 100
MAX_CELLS = 10**7
_MAX_ROWS = 5000


@dataclass(frozen=True)
class Process:
    """What a Gaussian process learned: its noise, how smooth it is, and how much it bends along each column.

    `bends` is the standard deviation of a column over its length scale: how often the function may change its course
    along it, and not how far it moves. The prepared columns of one column of the table (its levels, its mark for
    missing values) count together: their squares add, as they do in the distance between two rows. None where all
    columns share a length scale.
    """

    model: str
    kernel: str
    noise: float
    names: list[str]
    bends: Vector | None


def influence(model: Any, frame: Any, *, spread: float) -> Influence | None:
    """How much each column moves the model's predictions; None where the table is too large to try.

    `spread` is the standard deviation of the target, and infinite for classes.
    """
    columns = sources(model)
    if columns is None or len(set(columns)) > MAX_COLUMNS or len(frame) < 2:
        return None
    estimator = model.estimator_
    predict = getattr(estimator, "predict_proba", estimator.predict)
    rows = frame if len(frame) <= _MAX_ROWS else frame.iloc[_some(len(frame))]
    X = model.preparation_.transform(rows)
    if X.shape[0] * X.shape[1] > MAX_CELLS:
        return None
    X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
    return influence_of(lambda rows: predict(with_names(estimator, rows)), X, columns, spread=spread)


def named_rows(model: Any, frame: Any) -> Any:
    """Prepared rows as the model's estimator was given them: with the names of their columns."""
    rows = model.preparation_.transform(frame)
    if is_sparse(rows) and not final_step(model.estimator_).__sklearn_tags__().input_tags.sparse:
        rows = rows.toarray()
    return rows if is_sparse(rows) else with_names(model.estimator_, np.asarray(rows, dtype=np.float64))


def with_names(estimator: Any, rows: Any) -> Any:
    """Rows of numbers with the names that an estimator was fitted to, so that it can check them."""
    names = getattr(estimator, "feature_names_in_", None)
    return rows if names is None else pandas().DataFrame(rows, columns=list(names))


def _some(n: int) -> NDArray[np.intp]:
    return np.sort(np.random.default_rng(0).permutation(n)[:_MAX_ROWS])


def process(name: str, model: Any) -> Process | None:
    """What a Gaussian process learned, or None where the model isn't one."""
    estimator = final_step(model.estimator_)
    noise = getattr(estimator, "noise_variance_", None)
    if noise is None or not hasattr(estimator, "kernel_"):
        return None
    columns = sources(model) or [str(feature) for feature in model.preparation_.get_feature_names_out()]
    names = list(dict.fromkeys(columns))
    each = np.asarray(getattr(estimator, "relevance_", np.empty(0)), dtype=np.float64)
    bends = None
    if len(each) == len(columns):
        place = [names.index(column) for column in columns]
        bends = np.sqrt(np.bincount(place, each**2, minlength=len(names)))
    level = float(np.sqrt(np.mean(np.asarray(noise, dtype=np.float64))))
    return Process(name, type(estimator.kernel_).__name__, level, [str(column) for column in names], bends)


def sources(model: Any) -> list[str] | None:
    """For each prepared column, the column of the table that it was made of; None where that isn't known."""
    known = getattr(model.preparation_, "sources", None)
    return None if known is None else known()


def origins(model: Any) -> list[str]:
    """For each prepared column the input that it is a part of: a column of the table, or a word of its text."""
    preparation = model.preparation_
    known = getattr(preparation, "inputs", None)
    return [str(name) for name in preparation.get_feature_names_out()] if known is None else known()
