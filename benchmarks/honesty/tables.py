"""Scores as printed tables and as files, and what stands out."""

import csv
import json
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from benchmarks.honesty.contest import Score
from benchmarks.honesty.models import CREDO

LOW, HIGH = 0.93, 0.97


def outside(score: Score) -> float:
    """How far the coverage of 95 % intervals is outside 93–97 %, in binomial standard errors; 0 inside."""
    share = score.values["95 %"]
    limit = LOW if share < LOW else HIGH
    inside = LOW <= share <= HIGH
    return 0.0 if inside else abs(share - limit) / sqrt(limit * (1 - limit) / score.rows)


def flag(score: Score) -> str:
    """Coverage outside 93–97 % by more than two standard errors, or accuracy outside of what was stated by three."""
    if score.task == "classification":
        z = score.values["z"]
        return "" if abs(z) <= 3.0 else "OVERCONFIDENT" if z < 0 else "underconfident"
    if outside(score) <= 2.0:
        return ""
    return "TOO NARROW" if score.values["95 %"] < LOW else "too wide"


def print_scores(scores: Sequence[Score]) -> None:
    """A table of one data set."""
    if not scores:
        return
    first = scores[0]
    print(f"\n{first.table} ({first.rows} rows)")
    names = list(first.values)
    print(f"{'':<28}" + "".join(f"{name:>12}" for name in names) + f"{'behind best':>18}{'CPU s':>9}")
    for score in scores:
        numbers = "".join(f"{_shown(name, score.values[name]):>12}" for name in names)
        behind = "best" if score.gap == 0 else f"{score.gap:.3f} ± {score.gap_error:.3f}"
        print(f"{score.model:<28}{numbers}{behind:>18}{score.seconds:>9.1f}  {flag(score)}".rstrip(), flush=True)


def _shown(name: str, value: float) -> str:
    return f"{100 * value:.1f}" if name.endswith("%") or name == "accuracy" else f"{value:.3f}"


def print_findings(scores: Sequence[Score]) -> None:
    """Coverage out of range, and tables on which a peer's log score is above that of every model of Credo."""
    if not scores:
        return
    print("\nFlagged: Credo's 95 % intervals outside 93–97 % by two binomial errors, accuracy off by three")
    for score in scores:
        if flag(score) and _ours(score):
            shown = _shown("95 %", score.values["95 %"]) if score.task == "regression" else f"z={score.values['z']:.1f}"
            print(f"  {score.model:<28}{score.table:<18}{shown}  {flag(score)}")
    print("\nTables on which a peer has the best log score, and how far the best model of Credo is behind")
    for table in dict.fromkeys(score.table for score in scores):
        here = [score for score in scores if score.table == table]
        best, ours = max(here, key=_log), max(filter(_ours, here), key=_log, default=None)
        if ours is not None and not _ours(best):
            clear = "CLEAR" if ours.gap < -2 * ours.gap_error else ""
            print(f"  {table:<18}{best.model:<24}{ours.model:<28}{ours.gap:.3f} ± {ours.gap_error:.3f}  {clear}")
    print("\nCoverage of 95 % intervals over all tables, each table counting the same")
    regression = [score for score in scores if score.task == "regression"]
    for name in dict.fromkeys(score.model for score in regression):
        own = [score for score in regression if score.model == name]
        mean = 100 * sum(score.values["95 %"] for score in own) / len(own)
        print(f"  {name:<28}{mean:.1f} % on {len(own)} tables, {sum(bool(flag(score)) for score in own)} flagged")


def _log(score: Score) -> float:
    return score.values["log score"]


def _ours(score: Score) -> bool:
    return score.model in CREDO[score.task]


def write(path: Path, scores: Sequence[Score], simulated: Sequence[Mapping[str, Any]]) -> None:
    """All numbers, as JSON or CSV by the name of the file; the CSV has one line for each number."""
    lines = [dict(line) for line in simulated]
    for score in scores:
        head = {"table": score.table, "task": score.task, "model": score.model, "rows": score.rows}
        paired = {"behind best": score.gap, "behind best error": score.gap_error}
        for name, value in (score.values | paired | {"CPU s": score.seconds}).items():
            lines.append({**head, "score": name, "value": value})
    if path.suffix == ".json":
        path.write_text(json.dumps(lines, indent=1))
        return
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["table", "task", "model", "rows", "score", "value"])
        writer.writeheader()
        writer.writerows(lines)
