"""The dot plots with which the pages of results open, and the sentences above them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

OURS, THEIRS = "#0072b2", "#7f7f7f"
# Yardsticks that begin with one of these are other libraries; all others are limits and lower bounds of our own.
RIVALS = (
    "scikit-learn", "GPy", "GPflow", "GPyTorch", "tinygp", "celerite2", "GPBoost", "celer", "skglm", "statsmodels",
    "MAPIE", "R's", "liblinear", "interpret",
)  # fmt: skip


def comparisons(suites: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], float]]:
    """Suite, line and ratio of times for every comparison with another library."""
    for title, suite in suites.items():
        for line in suite["lines"]:
            if line["unit"] in {"s", "ms"} and line["theirs"] and line["yardstick"].startswith(RIVALS):
                yield title, line, line["ours"] / line["theirs"]


def speed(suites: Mapping[str, Any]) -> str:
    """Three sentences about the comparisons; empty without any."""
    found = list(comparisons(suites))
    if not found:
        return ""
    ratios = [ratio for *_, ratio in found]
    _, slowest, most = max(found, key=lambda each: each[2])
    missed = sum(not line["met"] for suite in suites.values() for line in suite["lines"])
    n_targets = sum(len(suite["lines"]) for suite in suites.values())
    return (
        f"Credo is faster in {sum(ratio < 1 for ratio in ratios)} of {len(ratios)} comparisons with other libraries, "
        f"and its median time is {median(ratios):.2f} of theirs. Its worst ratio is {most:.2f}, to "
        f"{slowest['yardstick']} ({slowest['case'].strip()}). Of {n_targets} targets {missed} are missed; they are "
        "marked below.\n"
    )


def draw_speed(suites: Mapping[str, Any], path: Path) -> None:
    """The ratio of times of every comparison, one row for each suite."""
    found = list(comparisons(suites))
    titles = list(dict.fromkeys(title for title, *_ in found))[::-1]
    figure = Figure(figsize=(9, 0.8 + 0.42 * len(titles)), layout="constrained")
    axis = figure.subplots()
    for row, title in enumerate(titles):
        ratios = [ratio for name, _, ratio in found if name == title]
        axis.semilogx(ratios, [row] * len(ratios), "o", color=OURS, alpha=0.55, markeredgewidth=0)
    axis.axvline(1, color="0.4", linewidth=0.8)
    axis.set(yticks=range(len(titles)), yticklabels=titles, ylim=(-0.6, len(titles) - 0.4))
    axis.set_xlabel("Credo's time divided by that of the other library (left of the line: Credo is faster)")
    _save(figure, path)


def calibration(rows: Sequence[Mapping[str, Any]]) -> str:
    """Sentences about the models of a summary; each has name, credo, place and coverage."""
    ours, theirs = ([row for row in rows if row["credo"] is own] for own in (True, False))
    if not ours or not theirs:
        return ""
    best, other = (min(group, key=lambda row: row["place"]) for group in (ours, theirs))
    spans = [(min(row["coverage"] for row in group), max(row["coverage"] for row in group)) for group in (ours, theirs)]
    (low, high), (lowest, highest) = spans
    return (
        f"Among {len(rows)} models, the best of Credo's models by log score is {best['name']}, with a mean rank of "
        f"{100 * best['place']:.0f} %; the best of another library is {other['name']}, with "
        f"{100 * other['place']:.0f} %. The 95 % intervals of Credo's models contain {low:.1f} to {high:.1f} % of the "
        f"held-out values, those of other libraries {lowest:.1f} to {highest:.1f} %.\n"
    )


def draw_calibration(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Mean rank and coverage of each model, the best at the top."""
    shown = sorted(rows, key=lambda row: -row["place"])
    figure = Figure(figsize=(9, 0.9 + 0.27 * len(shown)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for k, row in enumerate(shown):
        face = OURS if row["credo"] else "none"
        for axis, value in ((left, 100 * row["place"]), (right, row["coverage"])):
            axis.plot(value, k, "o", color=OURS if row["credo"] else THEIRS, markerfacecolor=face)
    right.axvline(95, color="0.4", linewidth=0.8)
    left.set(yticks=range(len(shown)), yticklabels=[row["name"] for row in shown], xlim=(0, 100))
    left.set_xlabel("mean rank by log score, % (0: best on every set)")
    right.set_xlabel("held-out values in 95 % intervals, %")
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    for axis in figure.axes:
        axis.grid(axis="both", alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_axisbelow(True)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
