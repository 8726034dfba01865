"""A grid over two columns of a model, the others held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.plots._arrays import Vector, limits
from credo.plots._fitted import columns as columns_of
from credo.plots._labels import shorten
from credo.plots._pairs import two

# The values of more columns than this would be a line too long to read.
_FEW = 3


@dataclass(frozen=True)
class Plane:
    """Grid lines across and up, the rows to ask a model, and what the two axes are called.

    `held` says at which values the other columns stand; it is empty where there are none.
    """

    across: Vector
    up: Vector
    mesh: NDArray[np.float64]
    drawn: list[int]
    names: tuple[str, str]
    held: str

    def field(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Answers at the rows of the mesh, laid out on the plane."""
        return values.reshape(len(self.up), len(self.across), *values.shape[1:])

    def image(self) -> dict[str, Any]:
        """How an image lies whose pixels have the grid points at their centres."""
        (left, right), (bottom, top) = _pixels(self.across), _pixels(self.up)
        return {
            "extent": (left, right, bottom, top), "origin": "lower", "aspect": "auto", "interpolation": "bilinear",
            "zorder": 0,
        }  # fmt: skip


def plane(
    model: Any, rows: NDArray[np.float64], columns: Sequence[int | str] | None, names: Sequence[str] | None, n: int
) -> Plane:
    """The plane of two columns over the range of the rows."""
    if n < 2:
        raise ValueError(f"n must be at least 2, for a plane of n × n points; got {n}")
    own = columns_of(model)
    drawn = _chosen(own, columns)
    titles = _titles(own, drawn, names)
    across, up = (np.linspace(*limits(rows[:, place]), n) for place in drawn)
    center = np.median(rows, axis=0)
    mesh = np.tile(center, (n * n, 1))
    mesh[:, drawn] = np.column_stack([part.ravel() for part in np.meshgrid(across, up)])
    others = [place for place in range(len(own)) if place not in drawn]
    held = _held([titles[place] for place in others], center[others])
    return Plane(across, up, mesh, drawn, (shorten(titles[drawn[0]]), shorten(titles[drawn[1]])), held)


def _chosen(own: list[str], columns: Sequence[int | str] | None) -> list[int]:
    if columns is None:
        if len(own) == 2:
            return [0, 1]
        say = "sigmoid draws those" if len(own) == 1 else "say which two by columns=, the others are held at medians"
        raise ValueError(f"decision regions lie in a plane of two columns, and the model has {len(own)}: {say}")
    return two("columns", columns, own, what="column")


def _titles(own: list[str], drawn: list[int], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return own
    if len(names) == len(own) and len(own) > 2:
        return [str(name) for name in names]
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f"names must name the two columns drawn, or all {len(own)} of the model; got {names!r}")
    titles = list(own)
    for place, name in zip(drawn, names, strict=True):
        titles[place] = str(name)
    return titles


def _held(names: list[str], values: Vector) -> str:
    if not names:
        return ""
    if len(names) > _FEW:
        return f"the {len(names)} other columns at their medians"
    return "at medians: " + ", ".join(f"{shorten(a, width=18)} = {b:.3g}" for a, b in zip(names, values, strict=True))


def _pixels(grid: Vector) -> tuple[float, float]:
    half = 0.5 * (grid[1] - grid[0])
    return float(grid[0] - half), float(grid[-1] + half)
