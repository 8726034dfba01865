"""Categories as 0/1 columns, and what a level that was not seen in training is coded as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import TableWarning, plural, quoted, shown
from credo.io.extras import pandas
from credo.io.tables.columns import present_mask, words
from credo.notices import warn

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Levels:
    """A 0/1 column for each level except the reference.

    `levels` have a column each; those in `pooled` share one, "other". Levels that were not seen in `fit` count as
    "other" where there is such a column. Elsewhere they are unknown, and so is a missing value where none or few
    were missing in `fit`: an unknown row is coded by the training frequencies of the levels, so that a linear predictor
    takes its average over the levels. Either gives a warning.

    `shares` are the training frequencies of `levels`, the reference and "other", in that order; `order` lists all
    levels that aren't pooled, the reference among them, and `ordered` says whether that order is a scale.
    """

    name: str
    levels: tuple[str, ...]
    reference: str | None
    pooled: tuple[str, ...]
    missing: bool
    had_missing: bool
    shares: tuple[float, ...] = ()
    order: tuple[str, ...] = ()
    ordered: bool = False

    def _check_state(self) -> None:
        """Raise a ValueError where state that came from a file can't be that of a fit."""
        shares = np.array(self.shares or (1.0,))
        if not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0 or not self.n_known:
            raise ValueError(f"the shares of the levels of {self.name!r} are {self.shares}")
        if self.shares and len(self.shares) != self.n_known:
            raise ValueError(f"{self.name!r} has {self.n_known} levels and {len(self.shares)} shares")

    def names(self) -> list[str]:
        named = [f"{self.name}={level}" for level in self.levels]
        named += [f"{self.name}=other"] * bool(self.pooled)
        return named + [f"{self.name} is missing"] * self.missing

    def matrix(self, column: Any) -> Array:
        return self.coding()[self.codes(column)]

    @property
    def n_known(self) -> int:
        """The number of levels, the reference and "other" included; also the code of a missing value."""
        return len(self.levels) + (self.reference is not None) + bool(self.pooled)

    @property
    def unknown(self) -> int:
        """The code of a row whose level is unknown."""
        return self.n_known + 1

    def frequencies(self) -> Array:
        """The training frequency of each known code."""
        known = np.array(self.shares) if self.shares else np.ones(self.n_known)
        return np.asarray(known / known.sum())

    def coding(self) -> Array:
        """The prepared columns of each code: the levels, the reference, "other", missing, unknown."""
        n_levels, n_known = len(self.levels), self.n_known
        table = np.zeros((n_known + 2, len(self.names())))
        table[:n_levels, :n_levels] = np.eye(n_levels)
        if self.pooled:
            table[n_known - 1, n_levels] = 1.0
        table[self.unknown] = self.frequencies() @ table[:n_known]
        if self.missing:
            table[n_known, -1] = 1.0
        else:
            table[n_known] = table[self.unknown]
        return table

    def codes(self, column: Any) -> NDArray[np.intp]:
        """The code of each row, with a warning about levels that were not seen."""
        known = self._known()
        elsewhere = self.n_known - 1 if self.pooled else self.unknown
        present = present_mask(column)
        codes = np.full(len(column), self.n_known if self.had_missing else self.unknown, dtype=np.intp)
        place, distinct = _distinct(column, present)
        codes[present] = np.array([known.get(word, elsewhere) for word in distinct], dtype=np.intp)[place]
        counts = np.bincount(place, minlength=len(distinct))
        unseen = {word: int(count) for word, count in zip(distinct, counts, strict=True) if word not in known}
        self._warn(unseen, 0 if self.had_missing else int((~present).sum()))
        return codes

    def outside(self, column: Any) -> tuple[NDArray[np.intp], list[str]]:
        """The rows whose level was not seen in `fit`, and a phrase for each."""
        known, present = self._known(), present_mask(column)
        place, distinct = _distinct(column, present)
        new = np.array([word not in known for word in distinct], dtype=bool)
        which = np.flatnonzero(new[place])
        unseen = [f"{self.name} = {shown(distinct[j])!r} (not in the training data)" for j in place[which]]
        return np.flatnonzero(present)[which], unseen

    def _known(self) -> dict[str, int]:
        """The code of every level that was seen."""
        known = {level: j for j, level in enumerate(self.levels)}
        known |= dict.fromkeys(self.pooled, self.n_known - 1)
        return known if self.reference is None else {**known, self.reference: len(self.levels)}

    def _warn(self, unseen: dict[str, int], n_missing: int) -> None:
        average = "treated as an average over the levels, weighted by their frequency in the training data"
        if unseen:
            treatment = f"treated as {self.name + '=other'!r}" if self.pooled else average
            rows = sum(unseen.values())
            sentence = (
                f"column {self.name!r}: {plural(rows, 'row')} {'has' if rows == 1 else 'have'} a level that is not in "
                f"the training data ({quoted(unseen)}), {treatment}"
            )
            warn(TableWarning(sentence), stacklevel=6)
        if n_missing:
            sentence = (
                f"column {self.name!r}: {plural(n_missing, 'missing value')} {average}, because none was missing in "
                "the training data"
            )
            warn(TableWarning(sentence), stacklevel=6)


def _distinct(column: Any, present: NDArray[np.bool_]) -> tuple[NDArray[np.intp], list[str]]:
    """The distinct words of the rows that have one, and the place of each row's word among them."""
    pd = pandas()
    values = words(column, present)[present]
    place, distinct = pd.factorize(values)
    return np.asarray(place, dtype=np.intp), [str(word) for word in distinct]
