"""The columns and the target of a table, centered and weighted, and columns that carry the same information.

A set of centered columns of unit length is dependent if the residual of one of them given the others is no longer than
`least`. With R the triangular factor of the set, the length of that residual is one over the length of row i of R⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import ArrayLike, NDArray

from credo.core.fields import Axes, Finite, Increasing, Indices, Positive, Size
from credo.core.linalg import column_norms
from credo.core.parts import RowSummary, row_summary
from credo.sparse._models import Model, ModelPosterior

Array = NDArray[np.float64]
Groups = tuple[tuple[int, ...], ...]

_EPS = float(np.finfo(np.float64).eps)
# Columns with a smaller 1 − R² reproduce the target.
EXACT_FIT = 1e-20
# The share of a column's length that must be left given others. Numbers of a table are known to 1e-16; centering and
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


@dataclass(frozen=True)
class Design:
    """Centered columns in their own units, and the centered target.

    Parameters
    ----------
    X, y : arrays of shape (m, d) and (m,)
        The columns that vary, in coordinates that keep the inner products of the weighted rows.
    kept : array of shape (d,)
        Their places in the table.
    unit, x_mean : arrays of shape (d,)
        The divisor of each column, and its mean.
    least : array of shape (d,)
        The share of each column's length that must be left given others: `DEPENDENT`, or the rounding errors of
        columns with a large offset.
    yy, y_mean, n : the target's squared length and mean, and the total weight
    n_features : int
        The number of columns of the table.
    n_rows : float
        The number of distinct rows if the columns can reproduce the target; otherwise infinite.
    """

    X: Annotated[Array, Axes("m R")]
    y: Annotated[Array, Axes("m")]
    kept: Annotated[NDArray[np.intp], Axes("R"), Indices("d"), Increasing]
    unit: Annotated[Array, Axes("R"), Positive]
    x_mean: Annotated[Array, Axes("R")]
    least: Annotated[Array, Axes("R")]
    yy: Annotated[float, Finite, Positive]
    y_mean: Annotated[float, Finite]
    n: Annotated[float, Finite, Positive]
    n_features: Annotated[int, Size("d")]
    n_rows: Annotated[float, Positive]

    @classmethod
    def of(cls, X: Array, y: Array, weight: Array | None = None, *, unit: str = "length") -> Design:
        """From rows, targets and positive weights; columns of unit "length", unit "variance", or "as given"."""
        design = cls.of_summary(row_summary(X, y, weight), unit=unit)
        if np.isinf(design.n_rows):
            return design
        return replace(design, n_rows=float(len(np.unique(X[:, design.kept], axis=0))))

    @classmethod
    def of_summary(cls, summary: RowSummary, *, unit: str = "length") -> Design:
        """The same from a summary of the rows, whose factor has their inner products."""
        summary = summary.for_intercept(True)
        total, mean = summary.weight, summary.mean
        if not total > 1:
            raise ValueError(
                f"n_samples={summary.n_rows} with a total weight of {total:g} is too few: a mean and its noise need "
                "more than one observation"
            )
        rows, target = summary.factor[:, :-1], summary.factor[:, -1].copy()
        scale, rounding = column_norms(rows), 8 * _EPS * np.sqrt(total)
        # The size of the numbers in each column.
        size = np.abs(mean) + column_norms(summary.factor) / np.sqrt(total)
        # Columns that vary no more than the rounding error of their mean are constant.
        kept = np.flatnonzero(scale > rounding * np.abs(mean[:-1]))
        length, least = scale[kept], np.clip(rounding * size[kept] / scale[kept], DEPENDENT, 1.0)
        scale = {"length": length, "variance": length / np.sqrt(total), "as given": np.ones(len(kept))}[unit]
        rows = rows[:, kept] / scale
        if len(rows) > len(kept) + 1:
            # The triangular factor has the inner products of the rows.
            R = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
            rows, target = np.ascontiguousarray(R[:, :-1]), R[:, -1].copy()
        # At least the squared length of the target's rounding errors, and positive, so that its logarithm exists.
        yy = max(float(target @ target), total * (256 * _EPS * size[-1]) ** 2, 1e-300)
        n_rows = float(summary.n_rows) if _one_minus_r2(rows, target, yy) < EXACT_FIT else np.inf
        return cls(rows, target, kept, scale, mean[kept], least, yy, float(mean[-1]), total, summary.n_features, n_rows)

    @property
    def sizes(self) -> dict[str, Any]:
        """The numbers of the data that a slab depends on."""
        return {"n": self.n, "yy": self.yy, "d": len(self.kept), "n_rows": self.n_rows}

    @property
    def flat(self) -> list[int]:
        """Constant columns of the table."""
        return sorted(set(range(self.n_features)) - set(self.kept.tolist()))

    @property
    def constant(self) -> bool:
        """Whether the target is constant up to rounding."""
        return float(self.y @ self.y) < self.yy

    def restrict(self, columns: NDArray[np.intp]) -> Design:
        """The same with these columns of the table alone."""
        places = self.places(columns)
        parts = {name: getattr(self, name)[places] for name in ("kept", "unit", "x_mean", "least")}
        return replace(self, X=np.ascontiguousarray(self.X[:, places]), **parts)

    def places(self, columns: ArrayLike) -> NDArray[np.intp]:
        """Indices in X of columns of the table."""
        return np.searchsorted(self.kept, np.asarray(columns, dtype=np.intp))

    def one_minus_r2(self, places: ArrayLike) -> float:
        """1 − R² of columns, given by their indices in X; they may be dependent."""
        return _one_minus_r2(self.X[:, np.asarray(places, dtype=np.intp)], self.y, self.yy)


def _one_minus_r2(X: Array, y: Array, yy: float) -> float:
    """1 − R² of columns, which may be dependent; zero if it may be rounding error.

    A column is known to about ε. If p of its length is left given the others, its direction may err by ε/p, and the
    residual of y by uε/p, with u the component of y in that direction.
    """
    Q, R, _ = sla.qr(unit_columns(X), mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(R))
    known = pivots > max(X.shape) * _EPS * pivots.max(initial=0.0)
    Q, pivots = Q[:, : len(pivots)][:, known], pivots[known]
    share = Q.T @ y
    residual = y - Q @ share
    residual -= Q @ (Q.T @ residual)
    if np.linalg.norm(residual) <= 8 * _EPS * float(np.sum(np.abs(share) / pivots)):
        residual = np.zeros_like(y)
    return (float(residual @ residual) + max(yy - float(y @ y), 0.0)) / yy


@dataclass(frozen=True)
class Dependence:
    """Groups of columns, by their places.

    `copies` are identical up to offset and scale; `near` have a correlation of at least ±0.999 with the first of the
    group; each column of one of the `combinations` is a linear combination of the others in it. With at least as many
    columns as dimensions every column is a combination of others, and these aren't listed.
    """

    copies: Groups
    near: Groups
    combinations: Groups

    def messages(self, names: Sequence[str]) -> list[str]:
        """A sentence for each kind of group."""
        return [
            f"{_listed(groups, names)} are {what} they share the inclusion probability; inclusion_of(columns) "
            "gives the probability that at least one of the group is in the model"
            for groups, what in (
                (self.copies, "identical up to offset and scale, so"),
                (
                    self.near,
                    f"nearly identical (correlations beyond ±{_NEAR_CORRELATION}): unless y distinguishes them,",
                ),
                (self.combinations, "linearly dependent: leaving out any one of them gives the same fit, so"),
            )
            if groups
        ]


def dependence_of(X: Array, *, least: Array | float = DEPENDENT) -> Dependence:
    """Groups of dependent columns; X is centered, in any units and orthonormal coordinates, and no column is zero."""
    d = X.shape[1]
    U, least = unit_columns(X), np.broadcast_to(np.asarray(least, dtype=np.float64), (d,))
    copies, near = [], []
    for group in _near(U):
        kinds = _kinds(U[:, group], least[group])
        copies += [tuple(group[i] for i in kind) for kind in kinds if len(kind) > 1]
        near += [tuple(group)] if len(kinds) > 1 else []
    combinations = () if d >= len(X) else _combinations(U, least, {j for group in copies for j in group[1:]})
    return Dependence(tuple(sorted(copies)), tuple(sorted(near)), combinations)


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


def lengths(X: Array) -> Array:
    """The length of each column; one for columns of zeros."""
    found = column_norms(X)
    return np.where(found > 0, found, 1.0)


def unit_columns(X: Array) -> Array:
    """Columns of length one; those of zeros stay."""
    return np.asarray(X / lengths(X))


def residual_norms(R: Array) -> Array:
    """The length of each column's residual given the others; R is triangular and regular."""
    inverse = sla.solve_triangular(R, np.eye(len(R)), check_finite=False) if len(R) else R
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
    weights = sla.solve_triangular(R, Q.T @ U[:, dependent], check_finite=False)
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
