"""Forward selection of columns by the BIC or EBIC."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import chi2

from credo.core.estimator import FitWarning, choice, positive_integer, training_rows
from credo.core.frames import Table
from credo.core.notices import warn
from credo.sparse._average import solve
from credo.sparse._design import Design
from credo.sparse._models import Model, in_table
from credo.sparse._slabs import Slab, bic, bic_slab
from credo.sparse._slabs_jit import FLOOR
from credo.sparse.spike_slab import subset_name, target_messages

Array = NDArray[np.float64]

# Smaller gains of a criterion are rounding errors.
_GAIN = 1e-9
# The most steps of polishing, for each column; every step lowers the criterion.
_STEPS = 10


@dataclass(frozen=True)
class Selection:
    """Result of forward selection.

    Attributes
    ----------
    selected : tuple of column indices
        The subset with the smallest criterion.
    order : tuple of column indices
        Columns in the order in which they were added.
    bic, ebic, r2 : arrays of shape (len(order) + 1,)
        Of the subsets of the first 0, 1, 2, … columns of the order.
    names : tuple of str
    criterion : {"bic", "ebic"}
        The criterion that was minimized.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import forward_selection
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> found = forward_selection(X, 2.0 * X[:, 1] - X[:, 3] + 0.1 * X[:, 0] ** 2)
    >>> found.selected, found.order[:2], found.r2[:3].round(2)
    ((1, 3), (1, 3), array([0.  , 0.69, 1.  ]))
    """

    selected: Model
    order: Model
    bic: Array
    ebic: Array
    r2: Array
    names: tuple[str, ...]
    criterion: str

    def table(self) -> Table:
        """The steps of forward selection."""
        return Table(
            "Forward selection",
            {
                "size": list(range(len(self.bic))),
                "column": [None, *(self.names[j] for j in self.order)],
                "R2": self.r2.tolist(),
                "BIC": self.bic.tolist(),
                "EBIC": self.ebic.tolist(),
            },
            notes=(f"smallest {self.criterion.upper()}: {subset_name(self.selected, self.names)}",),
        )


@dataclass(frozen=True)
class Criterion:
    """The criterion of a subset of k of d columns with rest = 1 − R²; small is good.

    BIC = −2 ln p(y | best fit) + (k+2) ln n,    EBIC = BIC + 2 ln C(d, k)        (Chen & Chen 2008, with γ = 1)

    EBIC is −2 ln p(γ)p(y | γ) up to a constant, with equal prior probabilities of all sizes (`"beta-binomial"`).
    """

    slab: Slab
    d: int
    name: str

    def __call__(self, k: int, rest: float) -> float:
        return float(bic(self.slab, k, rest)) + (self.choices(k) if self.name == "ebic" else 0.0)

    def choices(self, k: int) -> float:
        """2 ln C(d, k)."""
        return 2.0 * float(gammaln(self.d + 1) - gammaln(k + 1) - gammaln(self.d - k + 1))

    @property
    def most(self) -> int:
        """The largest size by default."""
        half = (self.slab.n - 1) / 2
        return max(int(min(half, self.slab.n / math.log(max(self.d, 2))) if self.name == "ebic" else half), 1)

    def messages(self) -> list[str]:
        """A warning if columns of pure noise are likely to be selected."""
        n, by_chance = self.slab.n, self.d * float(chi2.sf(math.log(self.slab.n), 1))
        if self.name == "ebic" or self.d <= n:
            return []
        return [
            f"the BIC penalizes a column by ln n = {math.log(n):.3g}, however many there are to choose from: of "
            f"{self.d} columns of pure noise about {by_chance:.0f} would be selected. Use "
            'criterion="ebic", which accounts for the number of columns'
        ]


def forward_selection(
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    criterion: str = "bic",
    max_size: int | None = None,
    polish: bool = True,
) -> Selection:
    """Forward selection: add the column that explains most of the residuals, up to the smallest BIC.

    A step costs O(nd). `polish` then adds, drops and swaps single columns as long as the criterion decreases, which
    gives a local maximum of p(γ)p(y | γ). For tables with more columns than `SpikeSlabRegressor` can enumerate.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
        A weight of k is equivalent to k copies of the row.
    criterion : {"bic", "ebic"}, default "bic"
        "bic" corresponds to equal prior probabilities of all subsets; "ebic" adds 2 ln C(d, k), which corresponds to
        equal prior probabilities of all sizes (Chen & Chen 2008) and suits tables with many columns and few rows, where
        the BIC selects columns of pure noise (with a warning).
    max_size : int, optional
        Maximum number of columns. By default half the number of rows; with "ebic" at most n/ln d as well.
    polish : bool, default True

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse import forward_selection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 200))
    >>> y = 2.0 * X[:, 17] - X[:, 90] + 0.5 * rng.normal(size=80)
    >>> forward_selection(X, y, criterion="ebic").selected
    (17, 90)
    """
    choice("criterion", criterion, ("bic", "ebic"))
    rows, target, weight, names = training_rows("forward_selection", X, y, sample_weight)
    design = Design.of(rows, target, weight)
    slab = replace(bic_slab(design.n, design.yy), n_rows=design.n_rows)
    cost = Criterion(slab, len(design.kept), criterion)
    most = cost.most if max_size is None else positive_integer("max_size", max_size)
    most = int(min(most, slab.max_size, len(design.kept)))
    for message in [*target_messages(design), *cost.messages()]:
        warn(message, FitWarning, stacklevel=2)
    order, rests = _forward(design, most)
    costs = [cost(k, rest) for k, rest in enumerate(rests)]
    chosen = set(order[: int(np.argmin(costs))])
    if polish:
        chosen = _polish(design, chosen, most, cost)
    plain = bic(slab, np.arange(len(rests)), rests)
    return Selection(
        selected=in_table(tuple(sorted(chosen)), design.kept),
        order=in_table(tuple(order), design.kept),
        bic=plain,
        ebic=plain + np.array([cost.choices(k) for k in range(len(rests))]),
        r2=1.0 - np.array(rests),
        names=tuple(names),
        criterion=criterion,
    )


def _gains(X: Array, y: Array, least: Array, taken: list[int]) -> Array:
    """The decrease of yᵀy by each column, X and y being residuals; −1 for a dependent column."""
    square = np.einsum("ij,ij->j", X, X)
    free = square > np.square(least)
    free[taken] = False
    return np.where(free, (y @ X) ** 2 / np.where(free, square, 1.0), -1.0)


def _forward(design: Design, most: int) -> tuple[list[int], list[float]]:
    """Columns in the order of greatest gain, and 1 − R² after each."""
    X, y = design.X.copy(), design.y.copy()
    order: list[int] = []
    rests = [1.0]
    # After a perfect fit, rounding errors would choose the next column.
    while len(order) < most and rests[-1] > FLOOR:
        gain = _gains(X, y, design.least, order)
        best = int(np.argmax(gain))
        if gain[best] < 0:
            break
        direction = X[:, best] / np.linalg.norm(X[:, best])
        X -= np.outer(direction, direction @ X)
        y -= direction * (direction @ y)
        order.append(best)
        rests.append(solve(design, in_table(tuple(sorted(order)), design.kept))[2])
    return order, rests


def _polish(design: Design, chosen: set[int], most: int, cost: Criterion) -> set[int]:
    """Add, drop or swap one column at a time, always the best such step, until none lowers the criterion."""
    value = cost(len(chosen), solve(design, in_table(tuple(sorted(chosen)), design.kept))[2])
    for _ in range(_STEPS * (1 + design.X.shape[1])):
        steps = (_neighbour(design, chosen, out, most, cost) for out in [None, *sorted(chosen)])
        best = min(steps, key=lambda pair: pair[0])
        # NaN is never lower.
        if not best[0] < value - _GAIN:
            break
        value, chosen = best
    return chosen


def _neighbour(
    design: Design, chosen: set[int], out: int | None, most: int, cost: Criterion
) -> tuple[float, set[int]]:  # fmt: skip
    """The best subset that has one column less (or none less) and one column more (or none more)."""
    kept = chosen - {out}
    base = sorted(kept)
    Q = np.linalg.qr(design.X[:, base])[0] if base else np.empty((len(design.y), 0))
    X, y = design.X - Q @ (Q.T @ design.X), design.y - Q @ (Q.T @ design.y)
    offset = max(design.yy - float(design.y @ design.y), 0.0)
    rest = (float(y @ y) + offset) / design.yy
    best = (cost(len(base), rest), kept)
    if len(base) >= most:
        return best
    gain = _gains(X, y, design.least, base)
    more = int(np.argmax(gain)) if len(gain) else 0
    if len(gain) and gain[more] > 0:
        bigger = kept | {more}
        value = cost(len(bigger), solve(design, in_table(tuple(sorted(bigger)), design.kept))[2])
        best = min(best, (value, bigger), key=lambda pair: pair[0])
    return best
