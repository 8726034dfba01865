"""The confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from numpy.typing import ArrayLike, NDArray

from credo.plots._classes import labels, ordered, places, word
from credo.plots._labels import shorten
from credo.plots._style import ACCENT, ALERT, INK, RULE, canvas

# Opacity of the strongest shade, on which text is readable in light and dark mode.
_STRONGEST = 0.6
# Text smaller than this, in points, is left out.
_SMALLEST = 4.0


def confusion(y: ArrayLike, predicted: Any, classes: Sequence[Any] | None = None, *, ax: Axes | None = None) -> Axes:
    """A table of the labels that were predicted for the rows of each class: counts, and shares of the class.

    A row of the table is an actual class, with the number of its rows. Shades are shares of that class; off the
    diagonal they grow with the square root, so that rare mistakes are visible.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels of held-out rows.
    predicted : array of shape (n_samples,), or distribution with a `mode`
    classes : sequence of labels, optional
        Their order; by default all that occur, in the order of a classifier's `classes_`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import confusion
    >>> from matplotlib.figure import Figure
    >>> ax = confusion(["cat", "cat", "dog"], ["cat", "dog", "dog"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['cat (2)', 'dog (1)']
    """
    guesses = getattr(predicted, "mode", predicted)
    actual, guessed = labels("y", y), labels("predicted", guesses)
    if len(actual) != len(guessed):
        raise ValueError(f"y has {len(actual)} labels and predicted has {len(guessed)}; they must match")
    known = _order(actual, guessed, predicted) if classes is None else labels("classes", classes)
    if len(set(known)) != len(known):
        raise ValueError(f"classes must differ; got {known!r}")
    counts = np.zeros((len(known), len(known)), dtype=np.intp)
    np.add.at(counts, (places("y", actual, known), places("predicted", guessed, known)), 1)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    n = len(known)
    side = n * (0.8 if n <= 3 else 0.6 if n <= 6 else 0.46 if n <= 12 else 0.34)
    with canvas(ax, size=(side + 1.6, side + 0.9)) as ax:
        _shades(ax, shares)
        _name_ticks(ax, known, totals.ravel())
        _numbers(ax, counts, shares)
        return ax


def _order(actual: list[Any], guessed: list[Any], predicted: Any) -> list[Any]:
    """All labels, those of the distribution's classes included, in order."""
    own = getattr(predicted, "classes", ())
    return ordered([*actual, *guessed, *np.asarray(own).tolist()])


def _shades(ax: Axes, shares: NDArray[np.float64]) -> None:
    n = len(shares)
    colors: Any = np.array([[to_rgba(ACCENT if i == j else ALERT) for j in range(n)] for i in range(n)])
    colors[..., 3] = _STRONGEST * np.where(np.eye(n, dtype=bool), shares, np.sqrt(shares))
    mesh = ax.pcolormesh(
        np.arange(n + 1) - 0.5, np.arange(n + 1) - 0.5, shares, edgecolors=RULE, linewidth=0.4, clip_on=False
    )
    mesh.set_array(None)
    mesh.set_facecolor(colors.reshape(-1, 4))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    ax.spines[["left", "bottom"]].set_visible(False)


def _name_ticks(ax: Axes, known: list[Any], totals: NDArray[np.intp]) -> None:
    names = [shorten(word(label), width=18) for label in known]
    width, height = _cell(ax, len(known))
    size = min(8.0, max(_SMALLEST, 0.9 * height))
    ax.set_yticks(np.arange(len(known)))
    ax.set_yticklabels([f"{name} ({n})" for name, n in zip(names, totals, strict=True)], parse_math=False)
    ax.set_xticks(np.arange(len(known)))
    # Slanted if the longest would overlap its neighbour.
    crowded = max(map(len, names)) * 0.6 * size > width
    ax.set_xticklabels(names, parse_math=False, rotation=45 if crowded else 0, ha="left" if crowded else "center")
    if crowded:
        for text in ax.get_xticklabels():
            text.set_rotation_mode("anchor")
    ax.tick_params(length=0, labelsize=size, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("predicted")
    ax.set_ylabel("actual (rows)")


def _numbers(ax: Axes, counts: NDArray[np.intp], shares: NDArray[np.float64]) -> None:
    """Counts, with the share below where there is room for two lines."""
    width, height = _cell(ax, len(counts))
    longest = max(len(str(counts.max())), 2)
    size = min(9.0, width / (0.68 * longest), 0.55 * height)
    if size < _SMALLEST:
        return
    two_lines = height > 22 and width > 20
    for (i, j), n in np.ndenumerate(counts):
        if not n:
            continue
        _write(ax, (j, i), str(n), rise=0.55 * size * two_lines, size=size, bold=i == j)
        if two_lines:
            _write(ax, (j, i), _percent(float(shares[i, j])), rise=-0.6 * size, size=0.78 * size)


def _write(ax: Axes, place: tuple[int, int], text: str, *, rise: float, size: float, bold: bool = False) -> None:
    note = ax.annotate(
        text, place, xytext=(0, rise), textcoords="offset points", ha="center", va="center", fontsize=size, color=INK,
        fontweight="bold" if bold else "normal",
    )  # fmt: skip
    # Inside the axes: the layout needn't measure hundreds of them.
    note.set_in_layout(False)


def _percent(share: float) -> str:
    """A share in whole per cent, 0 or 100 only if exact.

    >>> _percent(0.999), _percent(1.0), _percent(0.001)
    ('>99 %', '100 %', '<1 %')
    """
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def _cell(ax: Axes, n: int) -> tuple[float, float]:
    """The approximate width and height of a cell in points."""
    box = ax.get_window_extent()
    part = 0.9 * 72.0 / ax.figure.dpi / n
    return part * box.width, part * box.height
