"""Scores and CPU seconds of the study's models on many tables: which model to fit first.

`run` fits each model to a part and to all of the training rows of each table; `derive` reads what is there and prints,
for each task and size of table, the order of models in which the mixture gains most held-out log score per second
(greedily, as in zero-shot portfolios). It is derived from one half of the tables and judged on the other. A model that
has changed is run again with `run --models NAME --again`. How long a fit takes is measured by `benchmarks.seconds`.
"""

import argparse
import csv
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.rivals import scores
from benchmarks.tables import CLASSIFICATION, DERIVE, HALVES, JUDGE, REGRESSION, Table, tables

WORK = Path(".portfolio")
LIMIT = 60.0
FIELDS = (
    "table", "half", "task", "model", "n", "p", "whole", "status", "log_score", "crps", "rmse", "coverage", "accuracy",
    "auc", "fit", "predict_1000",
)  # fmt: skip
_MOST_TEST_ROWS, _PREDICTED, _WARM_UP_ROWS = 2000, 1000, 60
# Besides all training rows: a quarter where that is at least so many rows, and a sixteenth.
_PARTS = ((16, 1000), (4, 60))
# A model isn't fitted to more rows if in proportion to the rows that would take this many times the limit.
_HOPELESS = 3.0
# Training rows from which on a table belongs to a size.
SIZES = {"small": 0, "medium": 500, "large": 5000}
# A shorter fit counts as this many seconds, a larger gain on one table as this many nats, and a lower log score of a
# row as this. Models that gain less than this many nats are left out of the order.
_LEAST_SECONDS, _MOST_GAIN, _LEAST_LOG, _LEAST_GAIN = 0.02, 0.5, -1e3, 5e-4
_SUFFIXES = ("-log", "-power")
_BASELINE = "baseline"
Row = dict[str, Any]


def cards(data: Any) -> list[Any]:
    """All models of the study that suit a table, also of the transformed target where that is easier to predict."""
    from credo.study.catalogue import chosen

    return chosen(data.size, None, data.transformation)[0]


def _model(card: Any, data: Any) -> Any:
    from credo.tables import Preparation, TableModel

    preparation = Preparation(standardize=True, clip=True, kinds=data.preparation.forms_)
    return TableModel(preparation, card.make(data.size), data.target)


def _fit(table: Table, card: Any, data: Any, test: pd.DataFrame, seconds: float, file: Path, answer: Any) -> None:
    """Fit one model and score it, in a process of its own; `answer` gets the line, `file` what it says of the rows."""
    import resource

    from credo.core.deadlines import TimeUp, until
    from credo.metrics import forecast, point, predictive

    resource.setrlimit(resource.RLIMIT_CPU, (int(2 * seconds) + 20,) * 2)
    frame, rng = data.preparation.with_dates(data.frame), np.random.default_rng(0)
    y = test[table.target].to_numpy()
    inputs = test.drop(columns=table.target)
    start = time.process_time()
    try:
        # What is compiled or read from numba's cache isn't counted.
        few = np.sort(rng.permutation(len(data.y))[:_WARM_UP_ROWS])
        try:
            with until(start + seconds):
                predictive(_model(card, data).fit(frame.iloc[few], data.y[few]), inputs.head(5))
        except Exception:
            pass
        start = time.process_time()
        with until(start + seconds):
            model = _model(card, data).fit(frame, data.y)
        fitted = time.process_time() - start
        dist = predictive(model, inputs)
        row: Row = {"status": "ok", "fit": fitted} | scores(table.task, y, dist)
        if table.task == REGRESSION:
            said = {"log": dist.log_prob(y), "mean": point(dist)}
        else:
            found = forecast(y, dist)
            said = {"log": np.log(np.maximum(found.actual, 1e-6)), "probs": found.table.astype(np.float32)}
        start = time.process_time()
        predictive(model, inputs.sample(_PREDICTED, replace=True, random_state=0, ignore_index=True))
        row["predict_1000"] = time.process_time() - start
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, **said)
    except TimeUp:
        row = {"status": "stopped", "fit": time.process_time() - start}
    except Exception as error:
        row = {"status": f"failed: {type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"}
    answer.send(row)


def _measured(table: Table, card: Any, data: Any, test: pd.DataFrame, seconds: float, file: Path) -> Row:
    """The line of a fit in a fork, which is killed if it doesn't stop by itself."""
    forked = multiprocessing.get_context("fork")
    ours, theirs = forked.Pipe(duplex=False)
    process = forked.Process(target=_fit, args=(table, card, data, test, seconds, file, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(20 * seconds) else {"status": "stopped", "fit": 2 * seconds}
    except EOFError:
        return {"status": "stopped", "fit": 2 * seconds}
    finally:
        process.kill()
        process.join()


def run(given: argparse.Namespace) -> None:
    """Fit what has no line yet."""
    # Time limits count CPU seconds, so that other processes don't shorten them; before Credo is imported.
    time.monotonic = time.process_time  # type: ignore[assignment]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    from credo.study import dataset

    results = given.work / "results.csv"
    old = read(given.work)
    done = {(line.table, line.model, line.n): line for line in old.itertuples()}
    chosen = tables(None if given.half == "both" or given.tables else given.half, given.tables)
    # Small and large ones in turn, so that every part of a run has all sizes.
    by_size = sorted(chosen, key=lambda table: len(table.frame))
    for _, table in sorted(enumerate(by_size), key=lambda pair: 0.618034 * pair[0] % 1):
        train, test = table.split()
        test = test.head(_MOST_TEST_ROWS) if table.series else test.sample(frac=1, random_state=0).head(_MOST_TEST_ROWS)
        last: dict[str, tuple[int, Row]] = {}
        sizes = [n for part, least in _PARTS if (n := len(train) // part) >= least] + [len(train)]
        whole = dataset(train, table.target, task=table.task, time_order=None if table.series else False)
        for n in sizes:
            data = whole
            if n < len(train):
                part = train.tail(n) if table.series else train.sample(n, random_state=0)
                order = None if table.series else False
                data = dataset(part.sort_index(), table.target, task=table.task, time_order=order)
            # The same names for all sizes.
            for card in [card for card in cards(whole) if card.limit(data.size) is None]:
                if (given.models and card.name not in given.models) or card.name in given.without:
                    continue
                n_before, before = last.get(card.name, (0, {"status": "ok", "fit": 0.0}))
                expected = before.get("fit", 0.0) * n / max(n_before, 1)
                known = done.get((table.name, card.name, len(data.y)))
                if known is not None and not (given.again and card.name in given.models):
                    row: Row = {"status": known.status, "fit": known.fit}
                else:
                    row = {"table": table.name, "half": table.half, "task": table.task, "model": card.name}
                    row |= {"n": len(data.y), "p": data.size.columns, "whole": int(n == len(train))}
                    if before["status"] == "stopped" or expected > _HOPELESS * given.limit:
                        row |= {"status": "stopped", "fit": max(expected, given.limit)}
                    else:
                        file = _file(given.work, table.name, card.name, whole=n == len(train))
                        row |= _measured(table, card, data, test, given.limit, file)
                    _append(results, row)
                    shown = f"{row.get('log_score', np.nan):.3f}  {row.get('fit', np.nan):.2f} s"
                    print(f"{table.name} {row['n']} × {row['p']}, {card.name}: {row['status']}  {shown}", flush=True)
                last[card.name] = (n, row)
        # Not all tables at once in memory.
        table.__dict__.pop("frame", None)


def _file(work: Path, table: str, model: str, *, whole: bool) -> Path:
    return work / ("rows" if whole else "parts") / table / f"{model}.npz"


def _append(path: Path, row: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})


def read(work: Path) -> pd.DataFrame:
    """All lines; the last one of a table, model and number of rows counts."""
    path = work / "results.csv"
    if not path.exists():
        return pd.DataFrame(columns=list(FIELDS))
    return pd.read_csv(path).drop_duplicates(["table", "model", "n"], keep="last").reset_index(drop=True)


def plain_name(model: str) -> str:
    """The name of the model without that of the target's transformation."""
    return next((model.removesuffix(suffix) for suffix in _SUFFIXES if model.endswith(suffix)), model)


def order_name(model: str) -> str:
    """One name for the models of the transformed target, whichever transformation a table has."""
    plain = plain_name(model)
    return model if plain == model else f"{plain}-transformed"


class Board:
    """A table's models: log scores of the held-out rows and seconds, of those that finished."""

    def __init__(self, work: Path, lines: pd.DataFrame) -> None:
        self.name, self.n = lines["table"].iloc[0], int(lines["n"].max())
        names = lines["model"].map(order_name)
        self.seconds = dict(zip(names, lines["fit"].fillna(0.0).clip(lower=_LEAST_SECONDS), strict=True))
        self.logs = {}
        for name in lines["model"][lines["status"] == "ok"]:
            file = _file(work, self.name, name, whole=True)
            if file.exists():
                log = np.load(file)["log"]
                self.logs[order_name(name)] = np.maximum(np.nan_to_num(log, nan=_LEAST_LOG), _LEAST_LOG)
        self._known: dict[frozenset[str], float] = {}

    @property
    def size(self) -> str:
        return [size for size, least in SIZES.items() if self.n >= least][-1]

    def score(self, models: Iterable[str]) -> float:
        """The mean log score of the mixture, its weights for each half of the rows found on the other half."""
        from credo.core.learning import stacking_weights

        key = frozenset(models).intersection(self.logs)
        if key not in self._known:
            table = np.column_stack([self.logs[name] for name in sorted(key)])
            halves = np.arange(len(table)) % 2 == 0
            parts = []
            for rows in (halves, ~halves):
                with np.errstate(divide="ignore"):
                    weights = np.log(stacking_weights(table[~rows]))
                parts.append(np.logaddexp.reduce(table[rows] + weights, axis=1))
            self._known[key] = float(np.mean(np.concatenate(parts)))
        return self._known[key]

    def gain(self, models: Sequence[str], more: str) -> float:
        if more not in self.logs:
            return 0.0
        return float(np.clip(self.score([*models, more]) - self.score(models), -_MOST_GAIN, _MOST_GAIN))


def boards(work: Path, lines: pd.DataFrame) -> list[Board]:
    whole = lines[lines["whole"] == 1]
    found = [Board(work, own) for _, own in whole.groupby("table")]
    return [board for board in found if _BASELINE in board.logs]


def order(found: Sequence[Board]) -> list[tuple[str, float, float]]:
    """Models in the order of gain per second, with their mean gain and their mean seconds.

    A table for which a model isn't meant neither gains nor takes time; one on which it was stopped takes its time.
    """
    left = sorted({name for board in found for name in board.seconds} - {_BASELINE})
    models, lines = [_BASELINE], []
    seconds = {name: float(np.mean([board.seconds.get(name, 0.0) for board in found])) for name in left}
    while left:
        gains = {name: float(np.mean([board.gain(models, name) for board in found])) for name in left}
        best = max(left, key=lambda name: (gains[name] > 0, gains[name] / max(seconds[name], _LEAST_SECONDS)))
        lines.append((best, gains[best], seconds[best]))
        models.append(best)
        left.remove(best)
    return lines


def judged(found: Sequence[Board], models: Sequence[str]) -> list[tuple[str, float, float]]:
    """After each model: the mean seconds so far, and by how much the mixture is behind that of all models, in nats."""
    every = sorted({name for board in found for name in board.logs})
    lines, used, seconds = [], [_BASELINE], 0.0
    for name in models:
        used.append(name)
        seconds += float(np.mean([board.seconds.get(name, 0.0) for board in found]))
        gap = float(
            np.mean([np.clip(board.score(every) - board.score(used), -_MOST_GAIN, _MOST_GAIN) for board in found])
        )
        lines.append((name, seconds, gap))
    return lines


def derive(given: argparse.Namespace) -> None:
    """Print what one half says, and how the other half agrees."""
    lines = read(given.work)
    comments, orders = [], {}
    for task in (REGRESSION, CLASSIFICATION):
        known = {half: boards(given.work, lines[(lines["task"] == task) & (lines["half"] == half)]) for half in HALVES}
        for size in SIZES:
            own, new = ([board for board in known[half] if board.size == size] for half in (DERIVE, JUDGE))
            if not own:
                continue
            found = order(own)
            orders[task, size] = tuple(name for name, gain, _ in found if gain >= _LEAST_GAIN)
            comments += [f"# {task}, {size}: {len(own)} tables to derive, {len(new)} to judge.", _HEAD]
            behind = (
                judged(new, [name for name, *_ in found]) if new else [(name, np.nan, np.nan) for name, *_ in found]
            )
            for (name, gain, seconds), (_, total, gap) in zip(found, behind, strict=True):
                comments.append(f"#   {name:<24}{gain:>+8.4f}{seconds:>9.2f}{total:>14.2f}{gap:>+9.4f}")
    print("\n".join(comments))
    print(f"# Models that gain less than {_LEAST_GAIN:g} nats after those before them are left out.")
    print("ORDER = {")
    for key, models in orders.items():
        print(f"    {key!r}: {models!r},")
    print("}")


_HEAD = f"#   {'model':<24}{'gain':>8}{'seconds':>9}{'judged: total':>14}{'behind':>9}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.portfolio", description=__doc__)
    parser.add_argument("what", choices=["run", "derive"])
    parser.add_argument("--work", type=Path, default=WORK, help="folder of results.csv and the rows' log scores")
    parser.add_argument("--tables", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--models", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="models to leave out")
    parser.add_argument("--half", choices=[*HALVES, "both"], default="both")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds of one fit")
    parser.add_argument("--again", action="store_true", help="run the named models even if they have lines")
    given = parser.parse_args(arguments)
    if given.again and not given.models:
        parser.error("--again needs --models")
    (run if given.what == "run" else derive)(given)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
