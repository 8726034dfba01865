"""Columns that carry the same information: copies, near copies and linear combinations.

A set of centred columns of unit length is dependent if the residual of one of them given the others is no longer than
`least`. With R the triangular factor of the set, the length of that residual is one over the length of row i of R⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from credo.core.linalg import column_norms
from credo.sparse._models import Model, ModelPosterior

Array = NDArray[np.float64]
Groups = tuple[tuple[int, ...], ...]

# The share of a column's length that must be left given others. Numbers of a table are known to 1e-16; centring and
# orthogonal transformations of some thousand columns keep that to 1e-14; and a combination with weights up to 1e5 loses
# five more digits. A residual of length 1e-9 then has seven correct digits in an ordinary table, two in the worst.
DEPENDENT = 1e-9
# Columns of at least this correlation are near copies.
_NEAR_CORRELATION = 0.999
# Columns that are compared with all others at once, in single precision.
_BLOCK_COLUMNS = 512
# Groups that messages list, and names in each.
_MAX_GROUPS, _MAX_NAMES = 3, 5
# Decimals in which inclusion probabilities are compared, so that rounding errors don't decide.
_COMPARED_DIGITS = 9
_ADVICE = "inclusion_of(columns) gives the probability that at least one of the group is in the model"


@dataclass(frozen=True)
class Dependence:
    """Groups of columns, by their places.

    `copies` are identical up to offset and scale; `near` have a correlation of at least ±0.999 with the first of the
    group; each column of one of the `combinations` is a linear combination of the others in it. With at least as many
    columns as dimensions (`underdetermined`) every column is a combination of others, and these aren't listed.
    """

    copies: Groups
    near: Groups
    combinations: Groups
    underdetermined: bool

    def messages(self, names: Sequence[str], *, proper: bool) -> list[str]:
        """A sentence for each kind of group.

        `proper`: each coefficient has a proper prior of its own, as for `slab="normal"` and for classes. Otherwise
        subsets of dependent columns have no evidence.
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
                f"{_listed(self.near, names)} are nearly identical (correlations beyond ±{_NEAR_CORRELATION}): if y "
                f"can't distinguish them, they share the inclusion probability; {_ADVICE}"
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
    """Groups of dependent columns; X is centred, in any units and orthonormal coordinates, and no column is zero."""
    d = X.shape[1]
    U, least = unit_columns(X), np.broadcast_to(np.asarray(least, dtype=np.float64), (d,))
    copies, near = [], []
    for group in _near(U):
        kinds = _kinds(U[:, group], least[group])
        copies += [tuple(group[i] for i in kind) for kind in kinds if len(kind) > 1]
        near += [tuple(group)] if len(kinds) > 1 else []
    underdetermined = d >= len(X)
    combinations = () if underdetermined else _combinations(U, least, {j for group in copies for j in group[1:]})
    return Dependence(tuple(sorted(copies)), tuple(sorted(near)), combinations, underdetermined)


def median_model(
    found: ModelPosterior, dependence: Dependence, X: Array, *, least: Array | float, proper: bool
) -> Model:  # fmt: skip
    """The columns with an inclusion probability of at least one half (Barbieri & Berger 2004).

    The most probable of a group of copies represents it, with the probability that any of them is in. Unless every
    subset has an evidence (a `proper` prior), columns that depend on more probable ones stay out.
    """
    chance = found.inclusion.copy()
    for group in map(list, dependence.copies):
        first = group[int(np.argmax(found.inclusion[group].round(_COMPARED_DIGITS)))]
        chance[group], chance[first] = 0.0, found.any_of(group)
    chance = chance.round(_COMPARED_DIGITS)
    likely = np.flatnonzero(chance >= 0.5)
    order = likely[np.argsort(-chance[likely], kind="stable")].tolist()
    limit = np.broadcast_to(least, chance.shape)

    def dependent(columns: Sequence[int]) -> bool:
        return is_dependent(np.asarray(np.linalg.qr(unit_columns(X[:, columns]), mode="r")), limit[columns])

    if proper or not dependent(order):
        return tuple(sorted(order))
    inside: list[int] = []
    for column in order:
        inside += [] if dependent([*inside, column]) else [column]
    return tuple(sorted(inside))


def unit_columns(X: Array) -> Array:
    """Columns of length one; those of zeros stay."""
    length = column_norms(X)
    return np.asarray(X / np.where(length > 0, length, 1.0))


def residual_norms(R: Array) -> Array:
    """The length of each column's residual given the others; R is triangular and regular."""
    inverse = solve_triangular(R, np.eye(len(R)), check_finite=False) if len(R) else R
    return np.asarray(1.0 / np.linalg.norm(inverse, axis=1))


def is_dependent(R: Array, least: Array) -> bool:
    """Whether a column of a triangular factor, all of unit length, is a combination of the others: no more is left of
    it than the largest `least`.
    """
    if R.shape[0] < R.shape[1]:
        return True
    floor = float(least.max(initial=0.0))
    return not ((np.abs(np.diag(R)) > floor).all() and (residual_norms(R) > floor).all())


def _kinds(U: Array, least: Array) -> list[list[int]]:
    """Columns grouped with their copies."""
    # |aᵀb| = 1 − ‖a ∓ b‖²/2 tells which columns may be copies; the distance itself, which are.
    level = 1.0 - float(least.max()) ** 2 - 1e-14
    kinds: dict[int, list[int]] = {}
    for j in range(U.shape[1]):
        heads = np.array(list(kinds), dtype=np.intp)
        product = U[:, j] @ U[:, heads]
        at = np.flatnonzero(np.abs(product) >= level)
        apart = np.linalg.norm(U[:, heads[at]] * np.sign(product[at]) - U[:, [j]], axis=0)
        same = heads[at][apart <= np.maximum(least[heads[at]], least[j])]
        kinds.setdefault(int(same[0]) if len(same) else j, []).append(j)
    return list(kinds.values())


def _near(U: Array) -> list[list[int]]:
    """Groups of near copies: each column joins the first earlier column that it is close to and that leads a group."""
    # Single precision gives correlations to 1e-6, and is twice as fast.
    single, groups, followers = np.ascontiguousarray(U, dtype=np.float32), dict[int, list[int]](), set[int]()
    for start in range(0, U.shape[1], _BLOCK_COLUMNS):
        block = single[:, start : start + _BLOCK_COLUMNS]
        like = np.abs(single[:, : start + _BLOCK_COLUMNS].T @ block) >= np.float32(_NEAR_CORRELATION)
        like = np.triu(like, 1 - start)
        for j in np.flatnonzero(like.any(axis=0)).tolist():
            leaders = [i for i in np.flatnonzero(like[:, j]).tolist() if i not in followers]
            if leaders:
                groups.setdefault(leaders[0], leaders[:1]).append(start + j)
                followers.add(start + j)
    return [groups[leader] for leader in sorted(groups)]


def _combinations(U: Array, least: Array, copies: set[int]) -> Groups:
    """Circuits: each column that depends on earlier ones, with those in its combination; without copies.

    Columns that don't depend on earlier ones are a basis, in which every other has unique weights.
    """
    triangular = not np.tril(U, -1).any()
    depends = np.abs(np.diag(U if triangular else np.linalg.qr(U, mode="r"))) <= least
    dependent = [j for j in np.flatnonzero(depends).tolist() if j not in copies]
    if not dependent:
        return ()
    basis = np.flatnonzero(~depends)
    Q, R = np.linalg.qr(U[:, basis])
    weights = solve_triangular(R, Q.T @ U[:, dependent], check_finite=False)
    # Smaller weights are rounding errors.
    heavy = np.abs(weights) > 1e-6 * np.maximum(np.abs(weights).max(axis=0, initial=0.0), 1.0)
    return tuple(sorted(tuple(sorted([*basis[heavy[:, i]].tolist(), j])) for i, j in enumerate(dependent)))


def _listed(groups: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    more = f" (and {len(groups) - _MAX_GROUPS} more such groups)" if len(groups) > _MAX_GROUPS else ""
    return "; ".join(named(group, names) for group in groups[:_MAX_GROUPS]) + more


def named(columns: Sequence[int], names: Sequence[str]) -> str:
    """Columns by name, the first few."""
    more = f" and {len(columns) - _MAX_NAMES} more" if len(columns) > _MAX_NAMES else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(names[j] for j in columns[:_MAX_NAMES])}{more}"
