"""A run in the worker process: progress and finished models are written to the job's folder as they come."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import Any

from credo.selection import BASELINE, MEASURES
from credo.selection._comparison import Score
from credo.study import Dataset, Study, dataset, run, write
from credo.study._catalogue import CARDS
from credo.study._run import Progress
from credo.study._study import LEADERBOARD, MODEL, OUTPUTS, write_records
from credo.tables import replacing, save

PROGRESS = "progress.json"
# Kinds of the page as `Preparation` names them.
FORCED = {
    "number": "numeric", "category": "categorical", "text": "text", "date": "date", "leave out": "identifier",
}  # fmt: skip
# Advice of `credo fit` in the words of the page.
_ADVICE = (
    (r"task='(\w+)' \(--task \w+\)", r"the task \1"),
    (r"time_order=False \(--shuffle\) holds out rows at random instead", "“Ignore the time order” holds out rows at "
     "random instead"),
    (r"Allow more with time=… \(--time SECONDS, or --time none\)\.", "Allow more time and run again."),
    (r"^Stopped by Ctrl-C before", "Stopped before"),
    (r"^Stopped by Ctrl-C:", "Stopped:"),
    (r" \(--[a-z][^)]*\)", ""),
)  # fmt: skip


def run_job(
    path: str,
    name: str,
    folder: str,
    target: str,
    task: str | None,
    kinds: Mapping[str, str],
    seconds: float,
    models: Sequence[str] | None,
    shuffle: bool,
    stop: Stop,
) -> dict[str, Any]:
    """Analyse a table; returns the result for the page."""
    started, writer = monotonic(), Writer(Path(folder), stop)
    writer.say("reading", started)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        data = dataset(
            path,
            target,
            task=task,
            kinds={column: FORCED[kind] for column, kind in kinds.items()},
            time_order=False if shuffle else None,
        )
        data = replace(data, source=name)
        study = run(
            data,
            models=models,
            time=seconds,
            report=lambda state: writer.report(state, data, started),
        )
        # The report is written in any case.
        stop.job = None
        writer.say("writing", started)
        missing = write(study, Path(folder))
    later = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    return result(study, Path(folder), [*missing, *dict.fromkeys(later)])


def result(study: Study, folder: Path, more: Sequence[str]) -> dict[str, Any]:
    """What the page shows of a finished study."""
    record = study.record()
    notes = [
        {"text": advice(note.text), "important": note.important, "shown": note.important or note.on_board}
        for note in study.notes
    ]
    return {
        "task": study.task,
        "target": study.target,
        "target_range": target_range(study.data),
        "rows": record["rows"],
        "columns": record["columns"],
        "folds": record["folds"],
        "selected": study.selected,
        "selected_words": described(study.selected, study.task),
        "tied": record["tied"],
        "reason": study.reason,
        "performance": study.performance(),
        "measures": measures(study.comparison.measures),
        "leaderboard": [line(score, study.task) for score in study.comparison.scores],
        "notes": notes + [{"text": text, "important": False, "shown": False} for text in more],
        "files": [name for name in OUTPUTS if (folder / name).exists()],
    }


class Stop:
    """Whether the run of a job was asked to stop; the main thread is then interrupted, once."""

    def __init__(self) -> None:
        self.job: str | None = None
        self.asked = False

    def __call__(self, *_: Any) -> None:
        """The handler of the interrupt signal."""
        if self.job is not None and not self.asked:
            self.asked = True
            raise KeyboardInterrupt


class Writer:
    """Writes the progress of a run and the best finished model; each file is replaced in one step."""

    def __init__(self, folder: Path, stop: Stop) -> None:
        self._folder, self._stop, self._n_scores, self._best = folder, stop, 0, ""
        self._state: dict[str, Any] = {"leaderboard": [], "measures": []}

    def say(self, phase: str, started: float) -> None:
        """Write that another phase of the run began."""
        self._state = self._state | {"phase": phase, "running": None, "elapsed": monotonic() - started}
        self._write()

    def report(self, state: Progress, data: Dataset, started: float) -> None:
        """Write the state of the models, and the best of them when it is another one."""
        # An interrupt inside compiled code may have been lost.
        if self._stop.asked and state.running is not None:
            raise KeyboardInterrupt
        task = data.task
        if len(state.scores) > self._n_scores:
            self._n_scores = len(state.scores)
            self._keep(state, task)
        ranked = sorted(state.scores, key=rank)
        keys = next((list(score.held_out) for score in ranked if score.held_out), [])
        self._state = {
            "phase": "fitting",
            "task": task,
            "running": state.running,
            "running_words": described(state.running or "", task),
            "fits": state.fits,
            "n_fits": state.n_fits,
            "waiting": list(state.waiting),
            "remaining": state.remaining,
            "message": state.message,
            "elapsed": monotonic() - started,
            "measures": measures(keys),
            "leaderboard": [line(score, task) for score in ranked],
            "best": self._best,
            "target_range": target_range(data),
        }
        self._write()

    def _keep(self, state: Progress, task: str) -> None:
        ranked = [score for score in sorted(state.scores, key=rank) if score.name in state.models]
        if not ranked:
            return
        records = [line(score, task) for score in ranked]
        keys = dict.fromkeys(key for record in records for key in record if key != "words")
        write_records([{key: record.get(key) for key in keys} for record in records], self._folder / LEADERBOARD)
        best = next((score.name for score in ranked if score.name != BASELINE), None)
        if best is not None and best != self._best:
            save(state.models[best], self._folder / MODEL)
            self._best = best

    def _write(self) -> None:
        with replacing(self._folder / PROGRESS) as file:
            file.write(json.dumps(plain(self._state)).encode())


def target_range(data: Dataset) -> list[float] | None:
    """The smallest and the largest value of a numeric target."""
    return None if data.task == "classification" else [float(data.y.min()), float(data.y.max())]


def rank(score: Score) -> tuple[bool, float]:
    """Best first, as on the leaderboard: by the log score or, without one, by the error; failed models last."""
    held = score.held_out
    for name in ("log_score", "log_loss", "rmse", "accuracy"):
        if name in held:
            return False, -MEASURES[name].sign * held[name]
    return True, 0.0


def line(score: Score, task: str) -> dict[str, Any]:
    """One line of the leaderboard."""
    fields = asdict(score)
    held = fields.pop("held_out")
    name = fields.pop("name")
    return {"name": name, "words": described(name, task), **held, **fields}


def measures(names: Sequence[str]) -> list[dict[str, Any]]:
    """How the page shows each held-out score."""
    return [
        {
            "id": name,
            "title": MEASURES[name].title,
            "way": MEASURES[name].way,
            "decimals": MEASURES[name].decimals,
            "share": MEASURES[name].is_share,
        }
        for name in names
        if name in MEASURES
    ]


def described(name: str, task: str) -> str:
    """A model in a few words.

    >>> described("linear-log", "regression")
    'Linear regression (least squares), of the log target'
    """
    words = {card.name: card.words for card in CARDS[task]}
    for suffix, kind in (("-log", "log"), ("-power", "power-transformed")):
        if name not in words and name.removesuffix(suffix) in words:
            return f"{words[name.removesuffix(suffix)]}, of the {kind} target"
    return words.get(name, "")


def advice(text: str) -> str:
    """A note in the words of the page, which has no options of a command.

    >>> advice("It is skewed; task='regression' (--task regression) predicts it as a number.")
    'It is skewed; the task regression predicts it as a number.'
    """
    for pattern, replacement in _ADVICE:
        text = re.sub(pattern, replacement, text)
    return text


def plain(value: Any) -> Any:
    """The value in JSON types; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | str | int) else str(value)
