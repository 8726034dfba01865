"""Forward selection of columns by the BIC or EBIC."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import chi2

from credo.estimator import FitWarning, choice, positive_integer, training_rows
from credo.frames import Table
from credo.notices import warn
from credo.subsets._design import Design
from credo.subsets._fit import solve
from credo.subsets._model_posterior import Model
from credo.subsets._report import short_words, target_words
from credo.subsets._slabs import Bic
from credo.subsets._slabs_jit import FLOOR

Array = NDArray[np.float64]

# Gains of a criterion below this are rounding.
_GAIN = 1e-9
# The most steps of that search, for each column; it ends by itself, since every step lowers the criterion.
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
            notes=(f"smallest {self.criterion.upper()}: {short_words(self.selected, self.names)}",),
        )


@dataclass(frozen=True)
class Criterion:
    """What a subset of k of d columns costs that leaves a share `rest` of the target; small is good.

    BIC = −2 ln p(y | best fit) + (k+2) ln n,    EBIC = BIC + 2 ln C(d, k)        (Chen & Chen 2008, with γ = 1)

    EBIC is −2 ln p(γ)p(y | γ), but for a constant, where each size is as probable as the next (`"beta-binomial"`).
    """

    bic: Bic
    d: int
    name: str

    def __call__(self, k: int, rest: float) -> float:
        return float(self.bic.criterion(k, rest)) + (self.choices(k) if self.name == "ebic" else 0.0)

    def choices(self, k: int) -> float:
        """2 ln C(d, k)."""
        return 2.0 * float(gammaln(self.d + 1) - gammaln(k + 1) - gammaln(self.d - k + 1))

    @property
    def most(self) -> int:
        """The largest size to go to."""
        half = (self.bic.n - 1) / 2
        return max(int(min(half, self.bic.n / math.log(max(self.d, 2))) if self.name == "ebic" else half), 1)

    def words(self) -> list[str]:
        """Where there are so many columns to choose from that some of pure noise will pass."""
        n, by_chance = self.bic.n, self.d * float(chi2.sf(math.log(self.bic.n), 1))
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
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 200))
    >>> y = 2.0 * X[:, 17] - X[:, 90] + 0.5 * rng.normal(size=80)
    >>> forward_selection(X, y, criterion="ebic").selected
    (17, 90)
    """
    choice("criterion", criterion, ("bic", "ebic"))
    rows, target, weight, names = training_rows("forward_selection", X, y, sample_weight)
    design = Design.of(rows, target, weight, names=names)
    bic = Bic(design.n, design.yy, n_rows=design.n_rows)
    cost = Criterion(bic, len(design.kept), criterion)
    most = cost.most if max_size is None else positive_integer("max_size", max_size)
    most = int(min(most, bic.max_size, len(design.kept)))
    for word in [*target_words(design), *cost.words()]:
        warn(word, FitWarning, stacklevel=2)
    order, rests = _forward(design, most)
    costs = [cost(k, rest) for k, rest in enumerate(rests)]
    chosen = set(order[: int(np.argmin(costs))])
    if polish:
        chosen = _polish(design, chosen, most, cost)
    plain = bic.criterion(np.arange(len(rests)), rests)
    return Selection(
        selected=tuple(sorted(int(design.kept[j]) for j in chosen)),
        order=tuple(int(design.kept[j]) for j in order),
        bic=plain,
        ebic=plain + np.array([cost.choices(k) for k in range(len(rests))]),
        r2=1.0 - np.array(rests),
        names=tuple(names),
        criterion=criterion,
    )


def _gains(X: Array, y: Array, least: Array, taken: list[int]) -> Array:
    """What each column takes of y's square, X and y being without what is taken; −1 where nothing is left of it."""
    square = np.einsum("ij,ij->j", X, X)
    free = square > np.square(least)
    free[taken] = False
    return np.where(free, (y @ X) ** 2 / np.where(free, square, 1.0), -1.0)


def _forward(design: Design, most: int) -> tuple[list[int], list[float]]:
    """Columns in the order of greatest gain, and the share of the target that is left after each."""
    X, y = design.X.copy(), design.y.copy()
    order: list[int] = []
    rests = [1.0]
    # Where nothing is left of y, a further column would be chosen by rounding errors.
    while len(order) < most and rests[-1] > FLOOR:
        gain = _gains(X, y, design.least, order)
        best = int(np.argmax(gain))
        if gain[best] < 0:
            break
        direction = X[:, best] / np.linalg.norm(X[:, best])
        X -= np.outer(direction, direction @ X)
        y -= direction * (direction @ y)
        order.append(best)
        rests.append(solve(design, _placed(design, order))[2])
    return order, rests


def _polish(design: Design, chosen: set[int], most: int, cost: Criterion) -> set[int]:
    """Add, drop or swap one column at a time, always the best such step, until none lowers the criterion."""
    value = cost(len(chosen), solve(design, _placed(design, chosen))[2])
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
        value = cost(len(bigger), solve(design, _placed(design, bigger))[2])
        best = min(best, (value, bigger), key=lambda pair: pair[0])
    return best


def _placed(design: Design, columns: set[int] | list[int]) -> Model:
    return tuple(int(design.kept[j]) for j in sorted(columns))
