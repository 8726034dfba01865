"""Columns that share a length scale, such as the 0/1 columns of one categorical variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Label = int | str


@dataclass(frozen=True)
class Groups:
    """The group of each column, as whole numbers 0, 1, … or as names, which count in order of first appearance."""

    labels: tuple[Label, ...]

    @classmethod
    def of(cls, labels: Iterable[object]) -> Groups:
        """Check labels given by a user."""
        given = list(labels.tolist() if isinstance(labels, np.ndarray) else labels)
        if given and all(isinstance(label, str) for label in given):
            return cls(tuple(map(str, given)))
        whole = all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in given)
        if not given or not whole or sorted(set(map(int, given))) != list(range(len(set(given)))):
            raise ValueError(
                "groups must have one entry for each column: names, or integers that include each of 0, 1, … "
                f"up to the largest; got {given!r}"
            )
        return cls(tuple(map(int, given)))

    @cached_property
    def names(self) -> tuple[Label, ...]:
        """Each label once, in the order of the length scales."""
        return tuple(dict.fromkeys(self.labels) if isinstance(self.labels[0], str) else sorted(set(self.labels)))

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """The number of each column's group."""
        number = {name: i for i, name in enumerate(self.names)}
        return np.array([number[label] for label in self.labels], dtype=np.intp)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over each group of a value for each column."""
        return np.bincount(self.places, values, minlength=len(self.names)).astype(np.float64)

    def described(self, columns: Sequence[str]) -> list[str]:
        """A name for each group: its own, or the names of its columns."""
        if isinstance(self.labels[0], str) or len(columns) != len(self.labels):
            return [str(name) for name in self.names]
        members = [
            [column for column, place in zip(columns, self.places, strict=True) if place == k]
            for k in range(len(self.names))
        ]
        return [", ".join(own) if len(own) < 4 else f"{own[0]}, …, {own[-1]}" for own in members]
