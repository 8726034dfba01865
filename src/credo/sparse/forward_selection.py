"""Forward selection of columns by the BIC or EBIC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import chi2

from credo.core.estimator import FitWarning, choice, positive_integer, training_rows
from credo.core.frames import Table
from credo.core.notices import warn
from credo.sparse._chain import own_rows, replicas, shared_columns, slab_problem
from credo.sparse._chain_jit import neighbours
from credo.sparse._design import Design
from credo.sparse._factors_jit import build, insert, remove, replica
from credo.sparse._models import Model, in_table
from credo.sparse._slabs import Slab, bic, bic_slab
from credo.sparse._slabs_jit import FLOOR
from credo.sparse.spike_slab import subset_name, target_messages

Array = NDArray[np.float64]


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
        For the subsets of the first 0, 1, 2, … columns of `order`.
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

        BIC = −2 ln p(y | best fit) + (k+2) ln n,    EBIC = BIC + 2 ln C(d, k)        (Chen & Chen 2008, with γ = 1)

    EBIC is −2 ln p(γ)p(y | γ) up to a constant, with equal prior probabilities of all sizes (`"beta-binomial"`). A step
    costs O(dk). `polish` then adds, drops and swaps single columns as long as the criterion decreases, which
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
    d, slab = len(design.kept), replace(bic_slab(design.n, design.yy), n_rows=design.n_rows)
    sizes = np.arange(d + 1)
    # −2 ln p(γ) of a subset, up to a constant (Chen & Chen 2008, with γ = 1).
    choices = 2.0 * (gammaln(d + 1) - gammaln(sizes + 1) - gammaln(d - sizes + 1))
    most = (slab.n - 1) / 2
    if criterion == "ebic":
        most = min(most, slab.n / math.log(max(d, 2)))
    most = max(int(most), 1) if max_size is None else positive_integer("max_size", max_size)
    most = int(min(most, slab.max_size, d))
    for message in [*target_messages(design), *([] if criterion == "ebic" else _chance_messages(slab.n, d))]:
        warn(message, FitWarning, stacklevel=2)
    penalty = choices if criterion == "ebic" else np.zeros(d + 1)
    search = _Search(design, slab, -0.5 * penalty[: most + 1])
    order, rests = search.forward()
    plain = bic(slab.n, slab.yy, sizes[: len(rests)], rests)
    search.move_to(order[: int(np.argmin(plain + penalty[: len(rests)]))])
    if polish:
        search.polish()
    return Selection(
        selected=in_table(tuple(sorted(search.model)), design.kept),
        order=in_table(tuple(order), design.kept),
        bic=plain,
        ebic=plain + choices[: len(rests)],
        r2=1.0 - np.array(rests),
        names=tuple(names),
        criterion=criterion,
    )


def _chance_messages(n: float, d: int) -> list[str]:
    """A warning if the BIC is likely to select columns of pure noise."""
    if d <= n:
        return []
    return [
        f"the BIC penalizes a column by ln n = {math.log(n):.3g}, however many there are to choose from: out "
        f"of {d} columns of pure noise, about {d * float(chi2.sf(math.log(n), 1)):.0f} would be selected. Use "
        'criterion="ebic", which accounts for the number of columns'
    ]


class _Search:
    """A model that is changed by one column at a time; `log_joint` is ln p(γ)p(y | γ) of all its neighbors."""

    def __init__(self, design: Design, slab: Slab, log_prior: Array) -> None:
        self.most = len(log_prior) - 1
        columns = shared_columns(design.X, design.y, ridge=0.0, yy=design.yy, least=design.least)
        self.problem = slab_problem(own_rows(columns), slab, log_prior)(self.most)
        self.replica = replica(replicas(self.problem, 1, len(design.kept), max(self.most, 1)), 0)
        self.move_to([])

    @property
    def model(self) -> list[int]:
        """The columns of the model."""
        return self.replica.members[: self.replica.size[0]].tolist()

    def move_to(self, model: Sequence[int]) -> None:
        """Start from a model."""
        self.replica.size[0], self.replica.members[: len(model)] = len(model), model
        build(self.problem.columns, self.replica)
        neighbours(self.problem.columns, self.problem.target, self.replica)

    def flip(self, column: int) -> None:
        """Add or drop a column."""
        (remove if self.replica.inside[column] else insert)(self.problem.columns, self.replica, column)
        neighbours(self.problem.columns, self.problem.target, self.replica)

    def best(self, *, entering: bool) -> tuple[float, tuple[int, ...]]:
        """The best neighbor, or the best with one column more: its ln p(γ)p(y | γ) and the column that changes."""
        values = np.where(self.replica.inside & entering, -np.inf, self.replica.log_joint)
        column = int(np.argmax(values)) if len(values) else 0
        return (float(values[column]), (column,)) if len(values) else (-np.inf, ())

    def forward(self) -> tuple[list[int], list[float]]:
        """Columns in the order of greatest gain, and 1 − R² after each."""
        order: list[int] = []
        rests = [1.0]
        # After a perfect fit, rounding errors would choose the next column.
        while len(order) < self.most and rests[-1] > FLOOR:
            value, flips = self.best(entering=True)
            if value == -np.inf:
                break
            self.flip(flips[0])
            order.append(flips[0])
            rests.append(max(float(self.replica.here[2]), FLOOR))
        return order, rests

    def polish(self) -> None:
        """Add, drop or swap one column at a time, always the best such step, as long as the criterion decreases."""
        for _ in range(10 * (1 + len(self.replica.inside))):
            value, steps = float(self.replica.here[0]), [self.best(entering=False)]
            for out in self.model:
                self.flip(out)
                gain, flips = self.best(entering=True)
                steps.append((gain, (out, *flips)))
                self.flip(out)
            best, flips = max(steps, key=lambda step: step[0])
            # Smaller gains are rounding errors; NaN is never higher.
            if not best > value + 1e-9:
                break
            self.move_to([j for j in self.model if j not in flips] + [j for j in flips if j not in self.model])
