"""Whether new rows, as a whole, are like the training rows, and which columns differ.

Each column divides the rows in a few ways: values above a quantile of the training rows, the rows of one level, those
with one word, those with a missing cell. If the N training rows and n new rows are exchangeable, the number D of new
rows on one side of a division, given that both tables together have e there, is hypergeometric:

    P(D = d) = C(n, d) C(N, e − d) / C(N + n, e)

This holds for any distribution and any number of rows. The p-values of all divisions are corrected by Holm's method, so
the probability that any column is named by chance is at most 1 %, however the columns are correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.core.fields import Axes, Indices, NonNegative, Size
from credo.core.seeds import generator
from credo.core.wording import first_few, p_value, percent, plural
from credo.metrics.calibration import ALARM
from credo.tables.encoders import Encoder, Levels, Texts

Array = NDArray[np.float64]

# Numbers are divided at these quantiles, and above the smallest and the largest value: the former finds a change in
# the share of zeros, say.
_QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
# Of larger tables, this many rows are drawn at random with a fixed seed. Between two of them a mean that differs by
# 0.15 standard deviations is found; smaller differences matter little, but with enough rows any would be found.
MAX_ROWS = 2000
# With many columns, fewer new rows are compared: so many probabilities take about a second.
_MAX_PROBABILITIES, _MIN_ROWS = 10**7, 20


@dataclass(frozen=True, eq=False)
class Counts:
    """How many training rows are in each division of the columns.

    Numbers and dates are divided above each of their `edges`, and by missing cells, whose edge is NaN; categories by
    their codes, among them those of missing and unknown levels; texts by their words. `widths` are the divisions of
    each column.
    """

    rows: Annotated[int, Size("n")]
    widths: Annotated[NDArray[np.intp], Axes("c"), NonNegative]
    counts: Annotated[NDArray[np.intp], Axes("K"), Indices("n+1")]
    edges: Annotated[Array, Axes("K", finite=False)]

    def _sizes(self) -> dict[str, int]:
        return {"K": int(self.widths.sum())}

    @classmethod
    def of(cls, encoders: Sequence[Encoder], table: Any) -> Counts:
        """Those of the training rows, or of a sample."""
        table = _sampled(table, MAX_ROWS)
        edges = [_edges(encoder, table) for encoder in encoders]
        counts = [_divided(encoder, table, own) for encoder, own in zip(encoders, edges, strict=True)]
        widths = np.array([len(own) for own in counts], dtype=np.intp)
        return cls(len(table), widths, np.concatenate(counts), np.concatenate(edges))

    def match(self, encoders: Sequence[Encoder]) -> bool:
        """Whether these can be the divisions of the encoders' columns."""
        widths = zip(encoders, self.widths.tolist(), strict=False)
        agree = (width == _width(one) if isinstance(one, Texts | Levels) else width > 0 for one, width in widths)
        return len(encoders) == len(self.widths) and all(agree)

    def parts(self) -> list[tuple[NDArray[np.intp], Array]]:
        """The counts and edges of each column."""
        ends = np.cumsum(self.widths)[:-1]
        return list(zip(np.split(self.counts, ends), np.split(self.edges, ends), strict=True))


def _edges(encoder: Encoder, table: Any) -> Array:
    if isinstance(encoder, Texts | Levels):
        return np.full(_width(encoder), np.nan)
    values = encoder.values(table[encoder.name])
    known = np.sort(values[np.isfinite(values)])
    places = np.ceil(np.array([0.0, *_QUANTILES, 1.0]) * len(known)).astype(np.intp) - 1
    return np.append(np.unique(known[np.maximum(places, 0)]) if len(known) else [], np.nan)


def _width(encoder: Texts | Levels) -> int:
    return encoder.unknown + 1 if isinstance(encoder, Levels) else len(encoder.names())


def _divided(encoder: Encoder, table: Any, edges: Array) -> NDArray[np.intp]:
    """How many rows of a table are in each division of a column."""
    column = table[encoder.name]
    if isinstance(encoder, Texts):
        return np.asarray(encoder.matrix(column).sum(axis=0)).ravel().astype(np.intp)
    if isinstance(encoder, Levels):
        return np.bincount(encoder.codes(column), minlength=encoder.unknown + 1).astype(np.intp)
    values = encoder.values(column)
    known = np.sort(values[np.isfinite(values)])
    above = len(known) - np.searchsorted(known, edges[:-1], side="right")
    return np.append(above, len(column) - len(known)).astype(np.intp)


def _names(encoder: Encoder, edges: Array) -> list[str]:
    """A phrase for each division of a column."""
    missing = f"{encoder.name} missing"
    if isinstance(encoder, Texts):
        return [f"{encoder.name} with {word!r}" for word in encoder.words.vocabulary_]
    if isinstance(encoder, Levels):
        levels = [*encoder.levels, *([] if encoder.reference is None else [encoder.reference]), "other"]
        known = [f"{encoder.name} = {level}" for level in levels[: encoder.n_known]]
        return [*known, missing, f"{encoder.name} {'new' if encoder.had_missing else 'new or missing'}"]
    return [*(f"{encoder.name} above {encoder.text(edge)}" for edge in edges[:-1]), missing]


def _sampled(table: Any, most: int) -> Any:
    """The rows, or as many, drawn at random."""
    if len(table) <= most:
        return table
    return table.iloc[np.sort(generator(0).choice(len(table), most, replace=False))]


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
    all_ways = log[total] - log[both] - log[total - both]
    probability = np.exp(np.where(possible, ways - all_ways[:, None], -np.inf))
    lower = np.where(k <= new[:, None], probability, 0.0).sum(axis=1)
    upper = np.where(k >= new[:, None], probability, 0.0).sum(axis=1)
    return np.minimum(1.0, 2.0 * np.minimum(lower, upper))


@dataclass(frozen=True)
class Difference:
    """One division of the rows that the new rows differ in: its shares, and the corrected p-value.

    Examples
    --------
    >>> from credo.tables import Difference
    >>> str(Difference("dose", "dose above 2.4", share=1.0, trained=0.5, p=1e-6))
    'dose above 2.4: 100 %, training 50 %'
    """

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
    >>> seen = Preparation().fit({"dose": np.arange(100) % 50 / 10, "age": np.arange(100) % 40})
    >>> found = seen.shift({"dose": 3 + np.arange(40) / 20, "age": np.arange(40)})
    >>> [str(one) for one in found.differences]
    ['dose above 2.4: 100 %, training 50 %']
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
        p = p_value(self.differences[0].p)
        return f"As a whole, the {plural(self.n_rows, 'row')} differ from the training rows ({named}; {p})."


def shift(encoders: Sequence[Encoder], known: Counts, table: Any, *, units: int | None = None) -> Shift:
    """The difference between new rows and the counted ones; with `units`, those count as so many rows."""
    table = _sampled(table, min(MAX_ROWS, max(_MIN_ROWS, _MAX_PROBABILITIES // max(1, len(known.counts)))))
    parts = known.parts()
    if not len(table):
        return Shift(0, len(parts), 1.0, ())
    n = known.rows if units is None else min(known.rows, units)
    p, share = [], []
    for encoder, (counts, edges) in zip(encoders, parts, strict=True):
        new = _divided(encoder, table, edges)
        p.append(chance(new, len(table), np.rint(counts * (n / known.rows)).astype(np.intp), n))
        share.append(new / len(table))
    one_p, shares, trained = np.concatenate(p), np.concatenate(share), known.counts / known.rows
    order = np.argsort(one_p, kind="stable")
    # Holm's method.
    corrected = np.minimum(1.0, np.maximum.accumulate(one_p[order] * np.arange(len(order), 0, -1)))
    column = np.repeat(np.arange(len(parts)), known.widths)
    starts, found = np.cumsum(known.widths) - known.widths, dict[int, Difference]()
    for i, value in zip(order[corrected < ALARM].tolist(), corrected.tolist(), strict=False):
        if (j := int(column[i])) not in found:
            words = _names(encoders[j], parts[j][1])[i - starts[j]]
            found[j] = Difference(str(encoders[j].name), words, float(shares[i]), float(trained[i]), value)
    return Shift(len(table), len(parts), float(corrected[0]), tuple(found.values()))
