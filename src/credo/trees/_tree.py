"""The nodes of fitted trees: finding leaves, pruning, rules as text.

The posterior in the leaves of a tree, and its prior by evidence or by held-out log score.

A leaf has a conjugate prior that all leaves share. Its evidence is closed-form, and the predictive density of a new row
is the evidence with that row divided by the evidence without it; so the same function, and its gradient, serve both
ways to choose the prior.

Growing trees with scikit-learn's builder, on the ranks of the columns.

The builder converts columns to float32 and ignores differences below 1e-7. Ranks are exact in float32, whatever the
unit of a column, so that a tree depends only on the order of the values. Thresholds are converted back to values.

The penalty of cost-complexity pruning by held-out log score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from credo.core.deadlines import check
from credo.core.fields import Axes, Finite, Indices, NonNegative, Positive
from credo.core.folds import divided_rows, even_folds
from credo.core.learning.ascent import maximize, refined_maximum
from credo.distributions import StudentT
from credo.trees._jit import find_leaves, pruned

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Nodes:
    """The nodes of binary trees; children come after their parents.

    Parameters
    ----------
    left, right : indices of the children, −1 in leaves
    feature, threshold : a row goes left where X[:, feature] ≤ threshold
    missing_left : where rows go whose value is missing
    """

    left: Annotated[Index, Axes("n")]
    right: Annotated[Index, Axes("n")]
    feature: Annotated[Index, Axes("n"), Indices(2**31)]
    threshold: Annotated[Array, Axes("n")]
    missing_left: Annotated[NDArray[np.bool_], Axes("n")]

    def _check_state(self) -> None:
        split = self.left >= 0
        parents = np.flatnonzero(split)
        children = np.concatenate([self.left[split], self.right[split]])
        # Rows move to larger indices, and so arrive at a leaf.
        if (children <= np.concatenate([parents, parents])).any() or (children >= len(self.left)).any():
            raise ValueError("left and right must contain nodes after their parents")
        if not ((self.right >= 0) == split).all() or len(np.unique(children)) != len(children):
            raise ValueError("left and right must contain each node once at most, and leaves have no children")

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return self.left < 0

    @property
    def splits(self) -> tuple[Index, Index, Index, Array, NDArray[np.bool_]]:
        """The arrays by which rows find their leaves."""
        return self.left, self.right, self.feature, self.threshold, self.missing_left


@dataclass(frozen=True)
class Tree(Nodes):
    """One tree, whose first node is the root.

    Parameters
    ----------
    left, right, feature, threshold, missing_left : as in `Nodes`
    weight : total weight of the training rows in each node
    value : shape (n_nodes, k): the weight of each class, or the mean and the sum of squares around it
    risk : impurity of a node times its share of the rows
    """

    weight: Annotated[Array, Axes("n"), NonNegative]
    value: Annotated[Array, Axes("n k")]
    risk: Annotated[Array, Axes("n")]

    @property
    def depth(self) -> int:
        """The longest path from the root to a leaf."""
        level = np.zeros(len(self.left), dtype=np.intp)
        for node in np.flatnonzero(~self.is_leaf):
            level[[self.left[node], self.right[node]]] = level[node] + 1
        return int(level.max())

    def find_leaves(self, X: Array) -> Index:
        """The leaf of each row."""
        return find_leaves(*self.splits, X)

    def pruned(self, alpha: float) -> Tree:
        """The subtree with the smallest total risk plus alpha for each leaf (cost-complexity pruning)."""
        return replace(self, left=pruned(self.left, self.right, self.risk, alpha))

    def compact(self) -> Tree:
        """Without the nodes that can't be reached."""
        reached = np.zeros(len(self.left), dtype=bool)
        reached[0] = True
        for node in np.flatnonzero(self.left >= 0):
            if reached[node]:
                reached[[self.left[node], self.right[node]]] = True
        place = np.where(reached, np.cumsum(reached) - 1, -1)
        split = reached & (self.left >= 0)
        left, right = (np.where(split, place[child], -1)[reached] for child in (self.left, self.right))
        return Tree(
            left,
            right,
            np.where(split, self.feature, 0)[reached],
            np.where(split, self.threshold, 0.0)[reached],
            (split & self.missing_left)[reached],
            self.weight[reached],
            self.value[reached],
            self.risk[reached],
        )

    def importances(self, n_features: int) -> Array:
        """The share of each column in the decrease of the risk."""
        split = ~self.is_leaf
        gain = self.risk[split] - self.risk[self.left[split]] - self.risk[self.right[split]]
        return shares(self.feature[split], np.maximum(gain, 0.0), n_features)

    def rules(self, names: Sequence[str], had_missing: NDArray[np.bool_], describe: Callable[[int], str]) -> str:
        """The tree as indented text, with the description of each leaf; missing values only where there were some."""
        return "\n".join(self._lines(0, "", names, had_missing, describe))

    def _lines(
        self, node: int, indent: str, names: Sequence[str], had_missing: NDArray[np.bool_],
        describe: Callable[[int], str],
    ) -> Iterator[str]:  # fmt: skip
        if self.left[node] < 0:
            yield f"{indent}{describe(node)}"
            return
        j, cut, to_left = self.feature[node], f"{self.threshold[node]:.6g}", self.missing_left[node]
        for child, sign, goes in ((self.left[node], "≤", to_left), (self.right[node], ">", not to_left)):
            yield f"{indent}{names[j]} {sign} {cut}{' or missing' if goes and had_missing[j] else ''}"
            yield from self._lines(int(child), indent + "│  ", names, had_missing, describe)


def shares(feature: Index, gain: Array, n_features: int) -> Array:
    """The share of each column in the sum of the gains; all zero if there are none."""
    total = np.bincount(feature, gain, minlength=n_features).astype(np.float64)
    return total / total.sum() if total.sum() > 0 else total


# Of ln κ₀, ln(ν₀ − 2) and ln s₀² around their centers: weak, and finite where leaves say nothing.
_PRIOR_SD = np.array([2.0, 1.0, 2.0])
_PRIOR_CENTER = np.array([0.0, 1.0])
# Candidates for the strength of a Dirichlet prior.
_STRENGTHS = np.geomspace(1e-2, 1e3, 31)


@dataclass(frozen=True)
class NormalPrior:
    """μ | σ² ~ N(mean, σ²/strength) and σ² ~ inverse gamma(dof/2, dof·variance/2) in each leaf.

    The prior weighs as much as `strength` rows for the mean of a leaf, and `dof` rows for its variance.
    """

    mean: Annotated[float, Finite]
    strength: Annotated[float, Finite, Positive]
    dof: Annotated[float, Finite, Positive]
    variance: Annotated[float, Finite, NonNegative]

    @classmethod
    def fitted(
        cls, leaves: Array, without: Array | None = None, weight: Array | None = None, *, strength: float | None = None
    ) -> Self:
        """The prior that maximizes the evidence of leaves, or the log score of held-out rows, in standardized units.

        `leaves` has columns weight, mean and sum of squares. For held-out rows, `without` has the leaf of each,
        `leaves` the same with the row added, and the objective is Σ weight (ln p(leaf with row) − ln p(leaf)).
        """
        weight = np.ones(len(leaves)) if weight is None else weight
        more = leaves if without is None else leaves - without
        inside = float(weight @ np.maximum(more[:, 2], 0.0) / (weight @ more[:, 0]))
        center = np.array([*_PRIOR_CENTER, np.log(np.clip(inside, 1e-10, 1.0))])
        if strength is not None:
            center[0] = np.log(strength)

        def objective(theta: Array) -> tuple[float, Array]:
            theta = np.clip(theta, center - 12.0, center + 12.0)
            value, slope = _log_evidence(leaves, theta)
            if without is not None:
                less, down = _log_evidence(without, theta)
                value, slope = value - less, slope - down
            gap = (theta - center) / _PRIOR_SD
            total = weight @ slope - gap / _PRIOR_SD
            if strength is not None:
                total[0] = 0.0
            return float(weight @ value - 0.5 * gap @ gap), total

        found = np.clip(
            maximize(objective, center, tolerance=1e-6, max_evaluations=60).vector, center - 12.0, center + 12.0
        )
        return cls(0.0, float(np.exp(found[0])), 2.0 + float(np.exp(found[1])), float(np.exp(found[2])))

    def in_units(self, mean: float, scale: float) -> NormalPrior:
        """The prior of mean + scale·y."""
        return NormalPrior(mean + scale * self.mean, self.strength, self.dof, scale**2 * self.variance)

    def predictive(self, leaves: Array, *, latent: bool = False) -> StudentT:
        """The distribution of a new observation in each leaf, or of the leaf's mean."""
        n, mean, squares = leaves.T
        strength, dof = self.strength + n, self.dof + n
        gap = mean - self.mean
        spread = self.dof * self.variance + squares + self.strength * n / strength * gap**2
        more = 1.0 / strength if latent else 1.0 + 1.0 / strength
        return StudentT(dof, self.mean + n / strength * gap, np.sqrt(spread / dof * more))


def _log_evidence(leaves: Array, theta: Array) -> tuple[Array, Array]:
    """ln p(y in the leaf) for a prior of mean 0, and its gradient by ln κ₀, ln(ν₀ − 2) and ln s₀² (Murphy 2007)."""
    n, mean, squares = leaves.T
    kappa, nu, s = np.exp(theta[0]), 2.0 + np.exp(theta[1]), np.exp(theta[2])
    kappa_n, nu_n, start = kappa + n, nu + n, nu * s
    spread = start + squares + kappa * n / kappa_n * mean**2
    value = (
        gammaln(nu_n / 2) - gammaln(nu / 2) + 0.5 * np.log(kappa / kappa_n)
        + nu / 2 * np.log(start) - nu_n / 2 * np.log(spread) - n / 2 * np.log(np.pi)
    )  # fmt: skip
    pull = nu_n / spread
    by_kappa = 0.5 * kappa * (1 / kappa - 1 / kappa_n - pull * (n / kappa_n * mean) ** 2)
    by_nu = 0.5 * (nu - 2.0) * (digamma(nu_n / 2) - digamma(nu / 2) + np.log(start / spread) + 1.0 - pull * s)
    return value, np.column_stack([by_kappa, by_nu, 0.5 * nu * (1.0 - pull * s)])


def with_row(leaves: Array, y: Array) -> Array:
    """The statistics of leaves (weight, mean, sum of squares) with one more row in each."""
    n, mean, squares = leaves.T
    gap = y - mean
    return np.column_stack([n + 1.0, mean + gap / (n + 1.0), squares + n / (n + 1.0) * gap**2])


@dataclass(frozen=True)
class DirichletPrior:
    """Class probabilities of each leaf ~ Dirichlet(strength · frequencies)."""

    frequencies: Annotated[Array, Axes("k"), Positive]
    strength: Annotated[float, Finite, Positive]

    @classmethod
    def by_evidence(cls, frequencies: Array, counts: Array, strength: float | None) -> Self:
        """The strength that maximizes Σ ln p(labels in the leaf); `counts` has the classes of each leaf."""
        a = _STRENGTHS[:, None, None]
        prior = a * frequencies
        inside = (gammaln(prior + counts) - gammaln(prior)).sum(axis=2)
        whole = gammaln(a[:, :, 0]) - gammaln(a[:, :, 0] + counts.sum(axis=1))
        return cls(frequencies, _highest((inside + whole).sum(axis=1)) if strength is None else strength)

    @classmethod
    def by_held_out(
        cls, frequencies: Array, counts: Array, codes: Index, weight: Array, strength: float | None
    ) -> tuple[Self, float]:
        """The strength with the highest log score of held-out rows whose leaves have these counts, and that score."""
        own, total = counts[np.arange(len(codes)), codes], counts.sum(axis=1)
        a = _STRENGTHS[:, None] if strength is None else np.array([[strength]])
        scores = np.log((own + a * frequencies[codes]) / (total + a)) @ weight
        return cls(frequencies, _highest(scores) if strength is None else strength), float(scores.max())

    def predictive(self, counts: Array) -> Array:
        """The posterior mean of the class probabilities of each leaf."""
        table = counts + self.strength * self.frequencies
        return table / table.sum(axis=1, keepdims=True)


def _highest(values: Array) -> float:
    """The strength at the maximum."""
    return float(np.exp(refined_maximum(np.log(_STRENGTHS), values)))


@dataclass(frozen=True)
class Sample:
    """Training rows, merged, in an order that doesn't depend on that of the table, and their weights.

    `ranks` has the rank of each entry among the `values` of its column, and NaN where it is missing; `key` is the
    order for folds.
    """

    rows: Array
    target: Array
    weight: Array
    ranks: NDArray[np.float32]
    values: tuple[Array, ...]
    key: Index

    @classmethod
    def of(cls, rows: Array, target: Array, weight: Array | None, *, n_parts: int = 1) -> Sample:
        """Merge equal rows, divide them for so many folds (see `divided_rows`), and rank the columns."""
        first, total, key = divided_rows(rows, target, np.ones(len(rows)) if weight is None else weight, n_parts)
        rows = np.ascontiguousarray(rows[first])
        ranks, values = np.empty(rows.shape, dtype=np.float32), []
        for j, column in enumerate(rows.T):
            known, code = np.unique(column, return_inverse=True)
            # Integers up to 2²⁴ are exact in float32.
            step = -(-len(known) // 2**24)
            ranks[:, j] = np.where(np.isnan(column), np.nan, code // step)
            values.append(known[::step])
        return cls(rows, target[first], total, ranks, tuple(values), key)

    def grow(
        self, builder: Any, used: Index | slice = slice(None), *, min_leaf: float, n_classes: int | None = None
    ) -> Tree:
        """A tree of the rows `used`, whose leaves have at least the weight `min_leaf`.

        The builder is a classifier if the number of classes is given; some may be absent from these rows.
        """
        ranks, target, weight = self.ranks[used], self.target[used], self.weight[used]
        total = weight.sum()
        # Rounding must not exclude a leaf of exactly min_leaf.
        builder.set_params(min_weight_fraction_leaf=min(0.5, min_leaf * (1.0 - 1e-9) / total))
        missing = bool(np.isnan(ranks).any())
        found = builder.fit(ranks, target, sample_weight=weight, check_input=missing).tree_
        split = found.children_left >= 0
        value = found.value[:, 0, :] * found.weighted_n_node_samples[:, None]
        if n_classes is None:
            squares = found.impurity * found.weighted_n_node_samples
            value = np.column_stack([found.value[:, 0, 0], np.maximum(squares, 0.0)])
        elif value.shape[1] < n_classes:
            every = np.zeros((len(value), n_classes))
            every[:, builder.classes_.astype(np.intp)] = value
            value = every
        return Tree(
            found.children_left.astype(np.intp),
            found.children_right.astype(np.intp),
            np.where(split, found.feature, 0).astype(np.intp),
            self._cuts(found.feature, found.threshold, split),
            found.missing_go_to_left.astype(bool) & split,
            found.weighted_n_node_samples.copy(),
            value,
            np.maximum(found.impurity, 0.0) * found.weighted_n_node_samples / total,
        )

    def _cuts(self, feature: Index, rank: Array, split: NDArray[np.bool_]) -> Array:
        """Thresholds on the scale of the columns: half way between the values next to a rank."""
        values = np.concatenate(self.values)
        start = np.cumsum([0, *map(len, self.values)])[np.where(split, feature, 0)]
        place = np.where(split & np.isfinite(rank), rank, 0.0)
        low, high = (values[start + side(place).astype(np.intp)] for side in (np.floor, np.ceil))
        middle = 0.5 * low + 0.5 * high
        # An infinite rank sends all rows with a value to the left, and those without one to the right.
        cuts = np.where(np.isfinite(rank), np.where(middle >= high, low, middle), np.finfo(np.float64).max)
        return np.where(split, cuts, 0.0)


N_FOLDS = 5


def alphas(n_observations: float) -> Array:
    """Candidates for the penalty, in units of the root's risk; the first prunes nothing that improves the fit."""
    # From less than the risk of one row to more than any split gains.
    return np.append(0.0, np.geomspace(0.02 / n_observations, 1.0, 24))


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
            yield test[: 20_000 // n_folds], grow(np.flatnonzero(fold != k))
