"""Log scores of several models for rows that they weren't fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, indexable

from credo.ensemble._base import class_probabilities
from credo.ensemble._members import Attempt, Pairs, attempt
from credo.estimator import FitWarning, even_folds, is_sparse, numeric
from credo.metrics import predictive
from credo.notices import warn
from credo.selection._folds import Split, splits

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# With more equal rows than this on average, a table of few levels, rows of equal inputs needn't share a fold.
_MOST_COPIES = 5


def leave_one_out(models: Sequence[Any], X: Any, y: Array, weight: Array | None) -> Array | None:
    """The log score of each row given all others, in closed form, (n_rows, n_models); None if a model has none.

    The hyperparameters are those that were learned from all rows.
    """
    if not all(hasattr(model, "_left_out") for model in models):
        return None
    found = [model._left_out(X, y, weight) for model in models]
    return None if any(dist is None for dist in found) else np.column_stack([dist.log_prob(y) for dist in found])


def by_folds(
    pairs: Pairs,
    X: Any,
    y: NDArray[Any],
    weight: Array | None,
    *,
    cv: Any,
    rng: np.random.Generator,
    classes: NDArray[Any] | None,
) -> tuple[Array, NDArray[np.intp], list[Attempt], int]:
    """The log scores of all held-out rows, those rows, the first failure of each model that failed, and the folds.

    A model that fails in a fold has no column.
    """
    if len(y) < 2:
        raise ValueError("stacking needs at least two rows, to predict some from the others; got n_samples = 1")
    (X,) = indexable(X)
    folds = _folds(X, y, cv, rng, classes)
    scores: dict[str, list[Array]] = {name: [] for name, _ in pairs}
    failed: dict[str, Attempt] = {}
    for train, test in folds:
        rows, part = _safe_indexing(X, train), _safe_indexing(X, test)
        for name, estimator in pairs:
            if name in failed:
                continue
            done = attempt(name, estimator, rows, y[train], None if weight is None else weight[train])
            if done.error is None:
                try:
                    scores[name].append(_log_scores(done.model, part, y[test], classes))
                    continue
                # A model that can't predict is of no more use than one that can't be fitted.
                except Exception as error:
                    done = Attempt(name, error=error)
            failed[name] = done
    kept = [np.concatenate(values) for name, values in scores.items() if name not in failed]
    tested = np.concatenate([test for _, test in folds])
    table = np.column_stack(kept) if kept else np.empty((len(tested), 0))
    return table, tested, list(failed.values()), len(folds)


def held_out_points(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    weight: Array | None,
    classes: NDArray[Any] | None,
    folds: list[Split] | None = None,
) -> Array:
    """The means of a regressor or the probabilities of a classifier for each row, from the other folds; of five."""
    (X,) = indexable(X)
    found = np.full(len(y) if classes is None else (len(y), len(classes)), np.nan)
    for train, test in folds or _folds(X, y, 5, np.random.default_rng(0), classes):
        done = attempt("", estimator, _safe_indexing(X, train), y[train], None if weight is None else weight[train])
        if done.error is not None:
            raise done.error
        part = _safe_indexing(X, test)
        found[test] = done.model.predict(part) if classes is None else class_probabilities(done.model, part, classes)
    return found


def _folds(X: Any, y: NDArray[Any], cv: Any, rng: np.random.Generator, classes: NDArray[Any] | None) -> list[Split]:
    """Folds in which neither the order of the rows nor copies matter, each class spread over them evenly.

    Rows of equal inputs share a fold, unless distinct rows are few.
    """
    codes = np.zeros(len(y), dtype=np.intp) if classes is None else np.searchsorted(classes, y)
    groups = equal_rows(X, len(y))
    is_number = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    if not is_number or cv < 2 or groups.max() + 1 < 2 * cv:
        found, notes = splits(X, y, cv, rng, classes=classes is not None and int(np.bincount(codes).min()) > 1)
        for note in notes:
            warn(note, FitWarning, stacklevel=5)
        return found
    return pairs_of_folds(group_folds(groups, codes, int(cv), rng))


def equal_rows(X: Any, n_rows: int) -> Index:
    """The number of the group of rows with equal inputs to which each row belongs.

    Each row is a group of its own where columns aren't finite numbers, and where few inputs differ: of a table of a few
    categories, whole groups held out would be predicted from other categories only.
    """
    places = row_places(X)
    if places is None or not np.isfinite(places).all():
        return np.arange(n_rows)
    groups = np.unique(places, return_inverse=True)[1].ravel()
    few_copies = n_rows <= _MOST_COPIES * (int(groups.max()) + 1)
    return groups if groups.any() and few_copies else np.arange(n_rows)


def row_places(X: Any) -> Array | None:
    """A number for each row, equal for equal rows and otherwise different; None where columns aren't numbers.

    It is a fixed linear function of the row, so that an order by it doesn't depend on that of the table.
    """
    try:
        rows = numeric(X)
        if np.iscomplexobj(rows):
            return None
        rows = rows if is_sparse(rows) else np.asarray(rows, dtype=np.float64)
        direction = np.random.default_rng(0).normal(size=rows.shape[1])
        with np.errstate(all="ignore"):
            # Not by BLAS, whose sums may differ in the last digit between equal rows.
            places = rows @ direction if is_sparse(rows) else np.einsum("ij,j->i", rows, direction)
    except (ValueError, TypeError, IndexError):
        return None
    return np.asarray(places).ravel()


def group_folds(groups: Index, codes: Index, n_folds: int, seed: Any) -> Index:
    """A fold for each row: those of a group share it, and each class is spread evenly over the folds."""
    # The smallest class of a group, so that the order of its rows doesn't matter.
    kind = np.full(int(groups.max()) + 1, codes.max())
    np.minimum.at(kind, groups, codes)
    return even_folds(kind, n_folds, seed)[groups]


def pairs_of_folds(fold: Index) -> list[Split]:
    """The training and held-out rows of each fold, from the fold of each row; without folds that have no rows."""
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)]


def _log_scores(model: Any, X: Any, y: NDArray[Any], classes: NDArray[Any] | None) -> Array:
    if classes is None:
        found = predictive(model, X).log_prob(y)
    else:
        with np.errstate(divide="ignore"):
            table = np.log(class_probabilities(model, X, classes))
        found = table[np.arange(len(y)), np.searchsorted(classes, y)]
    if np.isnan(found).any():
        raise ValueError("its predictions of held-out rows are not numbers (NaN)")
    return found
