"""Predictions for rows whose levels are unknown: averages over the levels of the training data.

    p(y | x) = Σ_k w_k p(y | x with level k)

For one unknown column, w are the training frequencies of its levels. Where several columns of a row are unknown,
their levels are replaced together by combinations that occur in the training data. There are at most 30 terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Bernoulli, Categorical, Distribution, Mixture
from credo.io.preparation.levels import Levels
from credo.notices import collected

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

MAX_TERMS = 30
# Terms are predicted together up to so many rows: a call of an ensemble for few rows is mostly overhead.
_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The rows with unknown levels, and each as it would be in term k of the average.

    `weights` has shape (n_unknown_rows, n_terms); `matrices` makes the prepared rows of one term after another, of
    several terms in each matrix.
    """

    rows: Codes
    weights: Array
    matrices: Callable[[], Iterator[Any]]

    def parts(self, predict: Callable[[Any], Any]) -> Iterator[Any]:
        """The predictions of each term, without warnings: these were given for the rows as they came."""
        for matrix in self.matrices():
            with collected():
                found = predict(matrix)
            n_rows = len(self.rows)
            yield from (found[start : start + n_rows] for start in range(0, matrix.shape[0], n_rows))

    def average(self, base: NDArray[Any], parts: Iterable[NDArray[Any]]) -> Array:
        """Predicted numbers, those of rows with unknown levels averaged over the terms."""
        result = np.array(base, dtype=np.float64)
        total = np.zeros_like(result[self.rows])
        for weight, part in zip(self.weights.T, parts, strict=True):
            total += weight.reshape(-1, *[1] * (total.ndim - 1)) * part
        result[self.rows] = total
        return result

    def vote(self, base: NDArray[Any], classes: NDArray[Any], parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """Predicted labels, those of rows with unknown levels by a weighted vote of the terms."""
        every = np.zeros((len(base), len(classes)))
        votes = self.average(every, (np.asarray(labels)[:, None] == classes for labels in parts))
        result = np.array(base)
        result[self.rows] = classes[votes[self.rows].argmax(axis=1)]
        return result

    def mixture(self, base: Distribution, parts: Iterable[Distribution]) -> Distribution:
        """The predictive distribution of all rows, a mixture in rows with unknown levels."""
        components = list(parts)
        if isinstance(base, Bernoulli):
            return Bernoulli(self.average(base.probs, (part.probs for part in components)))  # type: ignore[attr-defined]
        if isinstance(base, Categorical):
            probs = self.average(base.probs, (part.probs for part in components))  # type: ignore[attr-defined]
            return Categorical(probs, base.classes)
        place = np.zeros(len(base), dtype=np.intp)
        place[self.rows] = np.arange(len(self.rows))
        weights = np.zeros((len(base), 1 + len(components)))
        weights[:, 0] = 1.0
        weights[self.rows] = np.column_stack([np.zeros(len(self.rows)), self.weights])
        return Mixture([base, *(part[place] for part in components)], weights)


def representatives(codes: list[Codes], weight: Array) -> tuple[Codes, Array]:
    """At most 30 combinations of codes that represent all rows, a column for each variable, and their weights.

    Up to 30 distinct combinations come with their exact frequencies. Of more, an even sample of the rows sorted by
    their codes is taken, so that every code nearly keeps its frequency.

    >>> rows, weights = representatives([np.array([0, 1, 1]), np.array([2, 0, 0])], np.ones(3))
    >>> rows.tolist(), weights.round(2).tolist()
    ([[0, 2], [1, 0]], [0.33, 0.67])
    """
    key = np.zeros(len(weight), dtype=np.intp)
    for column in codes:
        # Compressed after every column, so that the keys of many columns don't overflow.
        _, key = np.unique(key * (column.max() + 1) + column, return_inverse=True)
    _, first = np.unique(key, return_index=True)
    share = np.bincount(key, weights=weight) / weight.sum()
    if len(share) > MAX_TERMS:
        levels = (np.arange(MAX_TERMS) + 0.5) / MAX_TERMS
        taken = np.minimum(np.searchsorted(np.cumsum(share), levels), len(share) - 1)
        picked, counts = np.unique(taken, return_counts=True)
        first, share = first[picked], counts / MAX_TERMS
    return np.column_stack([column[first] for column in codes]), np.asarray(share)


def term_blocks(n_rows: int, n_terms: int) -> list[range]:
    """The terms that are predicted in one call each.

    >>> term_blocks(900, 5)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    each = max(1, _ROWS // n_rows)
    return [range(start, min(start + each, n_terms)) for start in range(0, n_terms, each)]


def terms(encoders: list[Levels], codes: list[Codes], joint: Codes, joint_weights: Array) -> tuple[list[Codes], Array]:
    """What replaces the unknown codes of rows that have at least one, and the weights, each (n_rows, n_terms).

    `codes` and the first result have an array for every encoder; `joint` holds the combinations of the training data,
    a column for every encoder.
    """
    unknown = np.column_stack([column == e.unknown for column, e in zip(codes, encoders, strict=True)])
    alone = [representatives([np.arange(e.n_known)], e.frequencies()) for e in encoders]
    several = unknown.sum(axis=1) > 1
    # The largest number of alternatives that any row may have.
    n_terms = max([len(joint), *(len(shares) for _, shares in alone)])
    weights = np.zeros((len(unknown), n_terms))
    weights[several, : len(joint)] = joint_weights
    replaced = []
    for j, (column, (levels, shares)) in enumerate(zip(codes, alone, strict=True)):
        table = np.repeat(column[:, None], n_terms, axis=1)
        both, only = np.flatnonzero(unknown[:, j] & several), np.flatnonzero(unknown[:, j] & ~several)
        # A row with fewer terms is padded with its first, with weight zero.
        for rows, choice in ((both, joint[:, j]), (only, levels[:, 0])):
            table[rows] = np.concatenate([choice, np.repeat(choice[:1], n_terms - len(choice))])
        weights[only, : len(shares)] = shares
        replaced.append(table)
    return replaced, weights
