"""The page `docs/honesty.md`, from the numbers in `docs/honesty.json`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.honesty.scores import HIGH, LOW, clearly_behind
from benchmarks.pictures import calibration
from benchmarks.record import origin

_HEAD = """# Accuracy and calibration on real data

Every regressor and classifier of Credo is fitted with its default settings and predicts rows that it has not seen,
beside other libraries (in *italics*).
"""
_PICTURE = "![Mean rank and coverage of 95 % intervals of each regressor; Credo's are filled](images/honesty.png)\n"

_HOW = """## How this was measured

Made by `python -m benchmarks.honesty`; don't edit. Good models have a high log score and a low RMSE and CRPS, and their
50 % and 95 % intervals contain 50 % and 95 % of the held-out values.

- **Splits.** yacht, energy, concrete, wine_red, kin8nm and protein: all rows, and the first so many of the train/test
  splits of Gal & Ghahramani (2016), so that RMSE and log score compare with published numbers. All other sets: five
  random folds of at most 1,000 rows.
- **Units.** RMSE, CRPS and log score are in the units of the target; ± is the standard error over the splits.
- **Behind best.** The log score minus the best one of the same set, averaged over pairs of rows, ± its standard error.
- **Flags.** *Too narrow* (or *too wide*): the coverage of the 95 % intervals is outside 93–97 % by more than two
  binomial standard errors. *Overconfident*: fewer labels are correct than the probabilities promise, by more than three
  standard errors.
- **Copies.** In wine_red a quarter of the test rows have an exact copy among the training rows, and all targets are
  whole numbers. A density can be arbitrarily high there, so that a model that repeats what it has seen gets a high log
  score whatever its other errors: compare by CRPS on that set.
- **Settings.** Columns are standardized on the training rows, categories become 0/1 columns. `sklearn.GP` and
  `GPyRegressor` (GPy) have an RBF with a length scale for each column and noise, by maximum likelihood;
  `sklearn.forest` has 500 trees and a normal distribution with the out-of-bag error; NGBoost stops early on a fifth of
  the rows; MAPIE gives CV+ intervals around a forest, and no distribution.
"""

_RUN = """## Run it

```
make bench-honesty DATA=folder/with/the/tables
```

The sets that scikit-learn and statsmodels contain need no folder; the others are CSV files that Credo does not
include, named in `benchmarks/honesty/sets.py`. Forecasts are kept in `.honesty`, and what is there is not computed
again; `python -m benchmarks.honesty --models GPRegressor --again` replaces those of one model. A full run takes about
two hours on one core.
"""


def page(run: Mapping[str, Any]) -> str:
    """The page of a recorded run."""
    sets = run["sets"]
    sentences = calibration(ranked(run))
    parts = [_HEAD, sentences, _PICTURE] if sentences else [_HEAD]
    if run["missing"]:
        parts.append(f"**Not in this run**: {', '.join(run['missing'])}.\n")
    for task, summary in {"regression": _regression_summary, "classification": _classification_summary}.items():
        own = {name: found for name, found in sets.items() if found["task"] == task}
        if own:
            parts += [f"## Summary: {task}\n", *summary(own), *_findings(own)]
    if any(found.get("published") for found in sets.values()):
        parts += ["## Beside published numbers\n", *_published(sets)]
    for name, found in sets.items():
        parts += [f"## {name}\n", *_set(found)]
    if run["simulations"]:
        parts += ["## Tables drawn from the prior\n", *_simulations(run["simulations"])]
    return "\n".join([*parts, _HOW, origin(run), _RUN])


def ranked(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Name, origin, mean rank and coverage of 95 % intervals of each regressor with a density."""
    sets = {name: found for name, found in run["sets"].items() if found["task"] == "regression"}
    rows = []
    for model in _models(sets):
        place, _, scores = _common(sets, model)
        coverage = 100 * mean(score["95 %"] for score in scores)
        if place < float("inf"):
            rows.append({"name": model, "credo": scores[0]["credo"], "place": place, "coverage": coverage})
    return rows


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:], ""]


def _models(sets: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(score["model"] for found in sets.values() for score in found["scores"]))


def _own(sets: Mapping[str, Any], model: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Rank by log score, number of models ranked, and score of a model, on each of its sets."""
    for found in sets.values():
        ranked = [score for score in found["scores"] if score["behind"][0] is not None]
        for rank, score in enumerate([*ranked, *(s for s in found["scores"] if s not in ranked)], 1):
            if score["model"] == model:
                yield rank, len(ranked), score


def _named(score: Mapping[str, Any]) -> str:
    return score["model"] if score["credo"] else f"*{score['model']}*"


def _common(sets: Mapping[str, Any], model: str) -> tuple[float, list[str], list[dict[str, Any]]]:
    """Key to sort by, cells about the log score, and scores."""
    found = list(_own(sets, model))
    scores = [score for *_, score in found]
    gaps = [score["behind"][0] for score in scores if score["behind"][0] is not None]
    if not gaps:
        return float("inf"), ["–", "–", "–"], scores
    # Between 0 (the best of all on each set) and 1 (the last), because not every model is on each set.
    place = mean((rank - 1) / max(n - 1, 1) for rank, n, _ in found)
    clear = sum(map(clearly_behind, scores))
    return place, [f"{100 * place:.0f} %", f"{sorted(gaps)[len(gaps) // 2]:.2f}", str(clear)], scores


def _regression_summary(sets: Mapping[str, Any]) -> list[str]:
    head = ["model", "sets", "50 %", "95 %", "narrow / wide", "rank", "behind best", "clearly"]
    rows = []
    for model in _models(sets):
        place, cells, scores = _common(sets, model)
        shares = [f"{100 * mean(score[level] for score in scores):.1f}" for level in ("50 %", "95 %")]
        rows.append(
            (place, [_named(scores[0]), str(len(scores)), *shares, _flags(scores, "too narrow", "too wide"), *cells])
        )
    note = (
        "Coverage of 50 % and 95 % intervals is the mean over the sets, each counting the same. *Rank* is the mean "
        "rank by log score, 0 % for the best of all models on every set and 100 % for the worst; *behind best* is the "
        "median over the sets, in nats; *clearly* counts sets on which it is behind by more than two standard errors; "
        "*narrow / wide* counts sets on which 95 % intervals are flagged as too narrow, and as too wide.\n"
    )
    return [note, *_table(head, [row for _, row in sorted(rows, key=lambda pair: pair[0])])]


def _classification_summary(sets: Mapping[str, Any]) -> list[str]:
    head = ["model", "sets", "accuracy", "calibration error", "over / under", "rank", "behind best", "clearly"]
    rows = []
    for model in _models(sets):
        place, cells, scores = _common(sets, model)
        values = [
            f"{100 * mean(score['accuracy'] for score in scores):.1f}",
            f"{mean(score['calibration'] for score in scores):.3f}",
        ]
        flags = _flags(scores, "overconfident", "underconfident")
        rows.append((place, [_named(scores[0]), str(len(scores)), *values, flags, *cells]))
    note = (
        "Accuracy and calibration error are means over the sets. *Over / under* counts sets on which a model is "
        "flagged as overconfident, and as underconfident; the last three columns are as above.\n"
    )
    return [note, *_table(head, [row for _, row in sorted(rows, key=lambda pair: pair[0])])]


def _flags(scores: Sequence[Mapping[str, Any]], *names: str) -> str:
    return " / ".join(str(sum(score["flag"] == name for score in scores)) for name in names)


def _findings(sets: Mapping[str, Any]) -> list[str]:
    """Sets on which another library is best, and flags of Credo's models by model."""
    ahead, flagged = [], dict[str, list[str]]()
    for name, found in sets.items():
        best = found["scores"][0]
        ours = next((score for score in found["scores"] if score["credo"]), None)
        if ours is not None and not best["credo"]:
            gap, error = ours["behind"]
            clear = "clearly" if clearly_behind(ours) else "within the error"
            ahead.append(f"- {name}: {_named(best)}; {ours['model']} is {-gap:.3f} ± {error:.3f} behind ({clear})")
        for score in found["scores"]:
            if score["credo"] and score["flag"] in ("too narrow", "overconfident"):
                flagged.setdefault(score["model"], []).append(f"{name} ({_how_far(score)})")
    lines = ["Another library has the best log score on:\n", *(ahead or ["- none of the sets"]), ""]
    if flagged:
        lines.append("Models of Credo with intervals that are too narrow, or that are overconfident:\n")
        most = sorted(flagged.items(), key=lambda pair: -len(pair[1]))
        lines += [f"- {model}: {', '.join(where)}" for model, where in most] + [""]
    return lines


def _how_far(score: Mapping[str, Any]) -> str:
    return f"{100 * score['95 %']:.0f} %" if "95 %" in score else f"z = {score['z']:.1f}"


def _published(sets: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    sources: list[str] = []
    for name, found in sets.items():
        if not found.get("published"):
            continue
        ours = [score for score in found["scores"] if score["credo"]]
        shown = [score for score in ours if score in ours[:3] or score["model"] == "GPRegressor"]
        rows = [[s["model"], str(found["splits"]), _pair(s["RMSE"]), _pair(s["log score"])] for s in shown]
        for other in found["published"]:
            if other["source"] not in sources:
                sources.append(other["source"])
            method = f"*{other['method']}* [{1 + sources.index(other['source'])}]"
            rows.append([method, other["splits"], _pair(other["RMSE"]), _pair(other["log score"])])
        lines += [f"{name}:\n", *_table(["", "splits", "RMSE", "log score"], rows)]
    note = (
        "Credo's three best models by log score, and GPRegressor. Sources: "
        + "; ".join(f"[{number}] {source}" for number, source in enumerate(sources, 1))
        + ". Splits that are not the same differ in which tenth of the rows they hold out.\n"
    )
    return [note, *lines]


def _set(found: Mapping[str, Any]) -> list[str]:
    regression = found["task"] == "regression"
    how = f"{found['splits']} published splits" if found["given"] else f"{found['splits']} folds"
    lines = [f"{found['rows']:,} rows, {found['columns']} columns; {how}.\n"]
    columns = ["RMSE", "log score", "CRPS", "50 %", "95 %"] if regression else ["accuracy", "log score", "Brier", "z"]
    rows = []
    for score in found["scores"]:
        gap, error = score["behind"]
        behind = "–" if gap is None else "best" if gap == 0 else f"{gap:.3f} ± {error:.3f}"
        cells = [_shown(column, score[column], found["given"]) for column in columns]
        # The flag stands beside the number that it is about, which is the last.
        rows.append([_named(score), *cells[:-1], f"{cells[-1]} {score['flag']}".strip(), behind])
    lines += _table(["model", *columns, "behind best"], rows)
    if found["skipped"]:
        lines.append("Not fitted: " + "; ".join(f"{name} ({why})" for name, why in found["skipped"].items()) + ".\n")
    return lines


def _shown(column: str, value: Any, errors: bool) -> str:
    if isinstance(value, Sequence):
        return _pair(value) if errors else _pair([value[0], None])
    return f"{100 * value:.1f}" if column.endswith("%") or column == "accuracy" else f"{value:.3g}"


def _pair(pair: Sequence[float | None]) -> str:
    value, error = pair
    if value is None:
        return "–"
    shown = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}" if abs(value) >= 100 else f"{value:.3f}"
    return shown if error is None else f"{shown} ± {error:.3f}"


def _simulations(found: Sequence[Mapping[str, Any]]) -> list[str]:
    note = (
        "Coverage of fresh rows by models whose assumptions hold, fitted to few rows. process: an RBF with random "
        "length scales and noise; linear: normal columns and coefficients.\n"
    )
    rows = []
    for line in found:
        (wide, wide_error), (half, half_error) = line["coverage"], line["half"]
        flag = "too narrow" if wide + 2 * wide_error < LOW else "too wide" if wide - 2 * wide_error > HIGH else ""
        case = f"{line['kind']}, n={line['n']}, {line['d']} columns"
        shares = [f"{100 * half:.1f} ± {100 * half_error:.1f}", f"{100 * wide:.1f} ± {100 * wide_error:.1f}"]
        rows.append([case, line["model"], *shares, f"{line['log_score'][0]:.3f}", flag])
    return [note, *_table(["tables", "model", "50 %", "95 %", "log score", ""], rows)]
