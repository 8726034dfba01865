"""Columns that say the same: copies, columns that are combinations of others, and what becomes of their probabilities.

A set of centred columns of unit length is dependent where less than a `least` share of one of them is left beside the
others. With R the triangle of the set, what is left of column i is one over the length of row i of R⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Array = NDArray[np.float64]

# The share of a column's length that must be left beside others for it to tell something of its own. Numbers of a table
# are known to 1e-16 of their size; centring and orthogonal transformations of up to some thousand columns keep that to
# 1e-14; and a combination of columns with weights up to 1e5 times the length of what they make loses five more digits.
# Of what is 1e-9 long, seven digits are then still true in an ordinary table, and two in the worst.
DEPENDENT = 1e-9
# Columns of at least this correlation are nearly copies.
_NEAR = 0.999
# A weight of a combination that is smaller beside the largest is rounding.
_WEIGHTLESS = 1e-6
# Columns that are compared at once, in single precision: a block of 16 MB.
_BLOCK = 2048
# Groups that are written out, and names of each.
_GROUPS, _NAMED = 3, 5
_ADVICE = "inclusion_of(columns) gives the probability that at least one of the group is in the model"


@dataclass(frozen=True)
class Dependence:
    """What is said about columns by their places: groups of copies, of near copies, and of combinations.

    Attributes
    ----------
    copies : groups of columns that are one column, but for offset and scale
    near : groups of columns that have a correlation of ±0.999 or more with the first of the group
    combinations : sets of three columns or more, any one of which is a combination of the others
    crowded : bool
        There are at least as many columns as dimensions, so that every column is a combination of others; these aren't
        listed.
    """

    copies: tuple[tuple[int, ...], ...]
    near: tuple[tuple[int, ...], ...]
    combinations: tuple[tuple[int, ...], ...]
    crowded: bool

    def words(self, names: Sequence[str], *, proper: bool) -> list[str]:
        """What a reader should know, a sentence for each kind.

        Parameters
        ----------
        names : names of the columns, by their places
        proper : bool
            Whether each coefficient has a proper prior of its own, as in `slab="normal"` and for classes. Else subsets
            of dependent columns have no evidence, and probability zero.
        """
        said = []
        if self.copies:
            fate = (
                "a model can contain several of them, each with a part of the coefficient, and the inclusion "
                "probability of each is lower than that of the group"
                if proper
                else "a model contains at most one of them, and they share the inclusion probability equally"
            )
            said.append(f"{_listed(self.copies, names)} are identical up to offset and scale: {fate}; {_ADVICE}")
        if self.near:
            said.append(
                f"{_listed(self.near, names)} are nearly identical (correlations beyond ±{_NEAR}): if y can't "
                f"distinguish them, they share the inclusion probability; {_ADVICE}"
            )
        if self.combinations:
            fate = (
                "leaving out any one of them gives the same fit, so only the prior decides, and they share it"
                if proper
                else "no model contains all of them, and leaving out any one gives the same fit, so they share the "
                "inclusion probability"
            )
            said.append(f"{_listed(self.combinations, names)} are linearly dependent: {fate}; {_ADVICE}")
        return said


def dependence_of(X: Array, *, least: Array | float = DEPENDENT) -> Dependence:
    """What is to be said about centred columns.

    Parameters
    ----------
    X : array of shape (m, d)
        Centred columns, none of them zero, in any units and in any orthonormal coordinates.
    least : array of shape (d,) or float
        The share of a column's length that must be left beside others.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(20, 4))
    >>> X -= X.mean(axis=0)
    >>> found = dependence_of(np.column_stack([X, -2 * X[:, 1], X[:, 0] + X[:, 2]]))
    >>> found.copies, found.combinations
    (((1, 4),), ((0, 2, 5),))
    """
    d = X.shape[1]
    U, least = unit_columns(X), np.broadcast_to(np.asarray(least, dtype=np.float64), (d,))
    copies, near = _alike(U, least)
    crowded = d >= len(X)
    combinations = () if crowded else _combinations(U, least, {j for group in copies for j in group[1:]})
    return Dependence(copies, near, combinations, crowded)


def unit_columns(X: Array) -> Array:
    """Columns of length one; those of zeros stay."""
    length = lengths(X)
    return np.asarray(X / np.where(length > 0, length, 1.0))


def lengths(X: Array) -> Array:
    """Lengths of columns whose squares may be too large or too small for a number."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    finest = np.where(largest > 0, largest, 1.0)
    return np.asarray(finest * np.linalg.norm(X / finest, axis=0))


def what_is_left(R: Array) -> Array:
    """The length of each column of a regular triangle that its others leave of it."""
    if not len(R):
        return np.empty(0)
    inverse = solve_triangular(R, np.eye(len(R)), check_finite=False)
    return np.asarray(1.0 / np.linalg.norm(inverse, axis=1))


def is_dependent(R: Array, least: Array) -> bool:
    """Whether one of the columns of a triangle (or of what a wide table leaves of one), all of unit length, is a
    combination of the others: whether no more is left of it than the largest of their `least`.
    """
    if R.shape[0] < R.shape[1]:
        return True
    floor = float(least.max(initial=0.0))
    return not ((np.abs(np.diag(R)) > floor).all() and (what_is_left(R) > floor).all())


def _alike(U: Array, least: Array) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Groups of copies, and groups of columns that are nearly copies of the first of them."""
    copies, near = [], []
    for group in _near(U):
        kinds = _kinds(U[:, group], least[group])
        copies += [tuple(group[i] for i in kind) for kind in kinds if len(kind) > 1]
        if len(kinds) > 1:
            near.append(tuple(group))
    return tuple(sorted(copies)), tuple(sorted(near))


def _kinds(U: Array, least: Array) -> list[list[int]]:
    """Columns sorted into kinds, each of one column and its copies."""
    # |aᵀb| = 1 − ‖a ∓ b‖²/2 tells which columns may be copies; the distance itself, which are.
    level = 1.0 - float(least.max()) ** 2 - 1e-14
    kinds: dict[int, list[int]] = {}
    for j in range(U.shape[1]):
        heads = np.array(list(kinds), dtype=np.intp)
        shadow = U[:, j] @ U[:, heads]
        at = np.flatnonzero(np.abs(shadow) >= level)
        apart = np.linalg.norm(U[:, heads[at]] * np.sign(shadow[at]) - U[:, [j]], axis=0)
        same = heads[at][apart <= np.maximum(least[heads[at]], least[j])]
        kinds.setdefault(int(same[0]) if len(same) else j, []).append(j)
    return list(kinds.values())


def _near(U: Array) -> list[list[int]]:
    """Groups of two columns or more: each column joins the first of those before that it is like, unless that has."""
    # Single precision knows correlations to 1e-6, and is twice as fast.
    single, level = np.ascontiguousarray(U, dtype=np.float32), np.float32(_NEAR)
    leaders: list[int] = []
    groups: dict[int, list[int]] = {}
    for start in range(0, U.shape[1], _BLOCK):
        block = single[:, start : start + _BLOCK]
        taken = np.full(block.shape[1], -1)
        for first in range(0, len(leaders), _BLOCK):
            part = leaders[first : first + _BLOCK]
            like = np.abs(single[:, part].T @ block) >= level
            at = np.flatnonzero(like.any(axis=0) & (taken < 0))
            taken[at] = np.array(part)[like[:, at].argmax(axis=0)]
        like = np.triu(np.abs(block.T @ block) >= level, 1)
        for j in np.flatnonzero(like.any(axis=0) & (taken < 0)).tolist():
            heads = np.flatnonzero(like[:, j] & (taken < 0))
            if len(heads):
                taken[j] = start + heads[0]
        for j, head in enumerate(taken.tolist()):
            if head >= 0:
                groups.setdefault(head, [head]).append(start + j)
        leaders += (start + np.flatnonzero(taken < 0)).tolist()
    return [groups[head] for head in sorted(groups)]


def _combinations(U: Array, least: Array, copies: set[int]) -> tuple[tuple[int, ...], ...]:
    """Circuits of the columns: each that depends on those before it, with those of them that it takes; without copies.

    Columns that don't depend on those before are a basis, in which every other has one way to be written; a set that
    is named so depends, and none of its parts does.
    """
    triangular = not np.tril(U, -1).any()
    depends = np.abs(np.diag(U if triangular else np.linalg.qr(U, mode="r"))) <= least
    rest = [j for j in np.flatnonzero(depends).tolist() if j not in copies]
    if not rest:
        return ()
    basis = np.flatnonzero(~depends)
    Q, R = np.linalg.qr(U[:, basis])
    weights = solve_triangular(R, Q.T @ U[:, rest], check_finite=False)
    heavy = np.abs(weights) > _WEIGHTLESS * np.maximum(np.abs(weights).max(axis=0, initial=0.0), 1.0)
    return tuple(sorted(tuple(sorted([*basis[heavy[:, i]].tolist(), j])) for i, j in enumerate(rest)))


def _listed(groups: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    shown = "; ".join(named(group, names) for group in groups[:_GROUPS])
    more = f" (and {len(groups) - _GROUPS} more such groups)" if len(groups) > _GROUPS else ""
    return shown + more


def named(columns: Sequence[int], names: Sequence[str]) -> str:
    """Columns by their names, the first few."""
    shown = ", ".join(names[j] for j in columns[:_NAMED])
    more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
    return f"column{'s' if len(columns) > 1 else ''} {shown}{more}"
