"""The penalty of cost-complexity pruning by held-out log score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.estimator import even_folds
from credo.trees._grow import Sample
from credo.trees._tree import Array, Index, Tree

N_FOLDS = 5
# Penalties relative to the risk of the root: from less than that of one row to more than any split gains.
_N_ALPHAS = 24
_LEAST = 0.02
# Of more rows, as many are held out to choose the penalty.
_MOST_HELD_OUT = 20_000


def alphas(n_observations: float) -> Array:
    """Candidates for the penalty, in units of the root's risk; the first prunes nothing that improves the fit."""
    return np.append(0.0, np.geomspace(_LEAST / n_observations, 1.0, _N_ALPHAS))


def held_out_nodes(
    sample: Sample, strata: NDArray[np.generic], grow: Callable[[Index], Tree], penalties: Array
) -> tuple[Index, list[Array]]:
    """Rows that were held out, and for each penalty the weight and value of the leaf in which each of them falls.

    A fold's tree is grown once and pruned for every penalty. The columns of the second are weight and `Tree.value`.
    """
    held: list[Index] = []
    found: list[list[Array]] = [[] for _ in penalties]
    for test, tree in _fold_trees(sample, strata, grow):
        held.append(test)
        for parts, penalty in zip(found, penalties, strict=True):
            leaves = tree.pruned(penalty * tree.risk[0]).find_leaves(sample.rows[test])
            parts.append(np.column_stack([tree.weight[leaves], tree.value[leaves]]))
    return np.concatenate(held), [np.concatenate(parts) for parts in found]


def last_highest(scores: Sequence[float]) -> int:
    """The place of the highest score; of equal ones the last, which has the largest penalty."""
    values = np.array(scores)
    return int(np.flatnonzero(values >= values.max() - 1e-9 * np.abs(values).max())[-1])


def _fold_trees(
    sample: Sample, strata: NDArray[np.generic], grow: Callable[[Index], Tree]
) -> Iterator[tuple[Index, Tree]]:
    n_folds = min(N_FOLDS, len(sample.rows))
    fold = even_folds(strata, n_folds, key=sample.key)
    for k in range(n_folds):
        check()
        test = np.flatnonzero(fold == k)
        if len(test) and len(test) < len(fold):
            yield test[: _MOST_HELD_OUT // n_folds], grow(np.flatnonzero(fold != k))
