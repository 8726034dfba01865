"""Whether new rows, as a whole, are like the training rows, and which columns differ.

Each column divides the rows in a few ways: values above a quantile of the training rows, the rows of one level, those
with one word, those with a missing cell. If the N training rows and n new rows are exchangeable, the number D of new
rows on one side of a division, given that both tables together have e there, is hypergeometric:

    P(D = d) = C(n, d) C(N, e − d) / C(N + n, e)

This holds for any distribution and any number of rows. The p-values of all divisions are corrected by Holm's method, so
the probability that any column is named by chance is at most 1 %, however the columns are correlated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.core.fields import Axes, Increasing, NonNegative, Where
from credo.core.wording import first_few, p_value, percent, plural
from credo.metrics.calibration import ALARM
from credo.tables.encoders import Days, Encoder, Levels, Numbers, Texts

Array = NDArray[np.float64]

# Numbers are divided at these quantiles, and above the smallest and the largest value: the former finds a change in
# the share of zeros, say.
_QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
# Of larger tables, this many rows are drawn at random with a fixed seed. Between two of them a mean that differs by
# 0.15 standard deviations is found; smaller differences matter little, but with enough rows any would be found.
MAX_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Counts:
    """How many training rows each division of a column contains.

    Numbers and dates are divided above each of `edges`, and by missing cells; categories by their codes, among them
    those of missing and unknown levels; texts by their words.
    """

    rows: Annotated[int, Where(lambda n: n > 0, "positive")]
    counts: Annotated[NDArray[np.intp], Axes("K"), NonNegative]
    edges: Annotated[Array, Axes("E"), Increasing]

    def _check_state(self) -> None:
        if (self.counts > self.rows).any() or len(self.edges) not in (0, len(self.counts) - 1):
            raise ValueError("counts must be those of divisions of the rows")

    @classmethod
    def of(cls, encoder: Encoder, table: Any) -> Counts:
        """Those of the training rows."""
        edges = np.empty(0)
        if isinstance(encoder, Numbers | Days):
            values = encoder.values(table[encoder.name])
            known = values[np.isfinite(values)]
            if len(known):
                levels = (0.0, *_QUANTILES, 1.0)
                edges = np.unique(np.quantile(known, levels, method="inverted_cdf"))
        return cls(len(table), divided(encoder, table, edges), edges)

    def names(self, encoder: Encoder) -> list[str]:
        """A phrase for each division."""
        missing = f"{encoder.name} missing"
        if isinstance(encoder, Texts):
            return [f"{encoder.name} with {word!r}" for word in encoder.words.vocabulary_]
        if isinstance(encoder, Levels):
            levels = [*encoder.levels, *([] if encoder.reference is None else [encoder.reference])]
            known = [f"{encoder.name} = {level}" for level in [*levels, "other"][: encoder.n_known]]
            return [*known, missing, f"{encoder.name} {'new' if encoder.had_missing else 'new or missing'}"]
        return [*(f"{encoder.name} above {encoder.text(edge)}" for edge in self.edges), missing]


def sampled(table: Any) -> Any:
    """The rows, or as many as are counted, drawn at random."""
    if len(table) <= MAX_ROWS:
        return table
    return table.iloc[np.sort(np.random.default_rng(0).choice(len(table), MAX_ROWS, replace=False))]


def divided(encoder: Encoder, table: Any, edges: Array) -> NDArray[np.intp]:
    """How many rows of a table are in each division of a column."""
    column = table[encoder.name]
    if isinstance(encoder, Texts):
        return np.asarray(encoder.matrix(column).sum(axis=0)).ravel().astype(np.intp)
    if isinstance(encoder, Levels):
        return np.bincount(encoder.codes(column), minlength=encoder.unknown + 1).astype(np.intp)
    values = encoder.values(column)
    values = values[np.isfinite(values)]
    above = len(values) - np.searchsorted(np.sort(values), edges, side="right")
    return np.append(above, len(column) - len(values)).astype(np.intp)


def chance(new: NDArray[np.intp], n_new: int, trained: NDArray[np.intp], n_trained: int) -> Array:
    """The two-sided p-value of each division: twice the smaller tail of the hypergeometric distribution.

    >>> chance(np.array([3, 2]), 4, np.array([1, 2]), 4).round(4)
    array([0.4857, 1.    ])
    """
    both, total = new + trained, n_new + n_trained
    k = np.arange(n_new + 1)
    log = gammaln(np.arange(total + 2) + 1.0)
    rest = both[:, None] - k
    possible = (rest >= 0) & (rest <= n_trained)
    rest = np.where(possible, rest, 0)
    ways = log[n_new] - log[k] - log[n_new - k] + log[n_trained] - log[rest] - log[np.abs(n_trained - rest)]
    probability = np.where(possible, np.exp(ways - (log[total] - log[both] - log[total - both])[:, None]), 0.0)
    lower = np.where(k <= new[:, None], probability, 0.0).sum(axis=1)
    upper = np.where(k >= new[:, None], probability, 0.0).sum(axis=1)
    return np.minimum(1.0, 2.0 * np.minimum(lower, upper))


@dataclass(frozen=True)
class Difference:
    """One division of the rows that the new rows differ in: its shares, and the corrected p-value."""

    column: str
    words: str
    share: float
    trained: float
    p: float

    def __str__(self) -> str:
        return f"{self.words}: {percent(self.share)}, training {percent(self.trained)}"


@dataclass(frozen=True, eq=False)
class Shift:
    """How new rows differ from the training rows as a whole.

    Attributes
    ----------
    n_rows, n_columns : int
        The rows and columns that were compared.
    p : float
        The corrected p-value of the clearest difference.
    differences : tuple of Difference
        The clearest difference of each column that has one, the clearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import Preparation
    >>> seen = Preparation().fit({"dose": np.arange(100.0), "age": np.arange(100.0)[::-1] % 50})
    >>> found = seen.shift({"dose": np.arange(60.0, 100.0), "age": np.arange(40.0)})
    >>> [str(one) for one in found.differences]
    ['dose above 49: 100 %, training 50 %']
    """

    n_rows: int
    n_columns: int
    p: float
    differences: tuple[Difference, ...]

    def note(self) -> str | None:
        """A sentence about the differences, or None if chance explains them."""
        if not self.differences:
            return None
        named = first_few([str(one) for one in self.differences], most=3)
        return f"As a whole, the {plural(self.n_rows, 'row')} differ from the training rows ({named}; {p_value(self.differences[0].p)})."


def shift(encoders: Sequence[Encoder], known: Mapping[str, Counts], table: Any, *, units: int | None = None) -> Shift:
    """The difference between new rows and the counted ones; with `units`, those count as so many rows."""
    table = sampled(table)
    names, columns, parts = [], [], []
    for encoder in encoders:
        if encoder.name not in known or not len(table):
            continue
        seen = known[encoder.name]
        n = seen.rows if units is None else min(seen.rows, units)
        trained = np.rint(seen.counts * (n / seen.rows)).astype(np.intp)
        new = divided(encoder, table, seen.edges)
        names += seen.names(encoder)
        columns += [str(encoder.name)] * len(new)
        parts.append(np.column_stack([chance(new, len(table), trained, n), new / len(table), seen.counts / seen.rows]))
    if not parts:
        return Shift(len(table), 0, 1.0, ())
    p, share, before = np.concatenate(parts).T
    order = np.argsort(p, kind="stable")
    corrected = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    found: dict[str, Difference] = {}
    for i, value in zip(order.tolist(), corrected.tolist(), strict=True):
        if value < ALARM:
            found.setdefault(columns[i], Difference(columns[i], names[i], float(share[i]), float(before[i]), value))
    return Shift(len(table), len(parts), float(corrected[0]), tuple(found.values()))
