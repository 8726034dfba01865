"""The main job: a table in; a model, a leaderboard and a report out. `fit` and `demo` both run it."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.cli._compilation import compiles
from credo.cli._files import refuse_overwriting, staging
from credo.cli._inclusions import inclusions
from credo.cli._models import COMPILED, estimators
from credo.cli._screen import Screen
from credo.cli._sizes import Size

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from credo.io import Preparation, Task
    from credo.selection import Comparison

MODEL, REPORT, LEADERBOARD, INCLUSIONS = "model.credo", "report.html", "leaderboard.csv", "inclusions.csv"
OUTPUTS = (MODEL, REPORT, LEADERBOARD, INCLUSIONS)

# A held-out RMSE below this share of the target's standard deviation, or a log loss below it, is no measurement's.
TOO_GOOD = 1e-6
# A prepared column with so many rows beside its most frequent value is one that every fold has, or nearly surely so.
RARE = 10
_ERRORS = {"rmse": "RMSE", "log_loss": "log loss"}


@dataclass(frozen=True)
class Question:
    """A table that was read, and what to predict in it: numbers or, for the task "classification", labels."""

    data: Path
    target: str
    task: str
    frame: "pd.DataFrame"
    y: "NDArray[Any]"
    preparation: "Preparation"
    width: int
    steady: bool
    copies: "NDArray[np.intp]"
    reading_notes: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """The number of classes; none where the target is a number."""
        return len(set(self.y.tolist())) if self.task == "classification" else 0

    @property
    def size(self) -> str:
        """Rows and columns in words."""
        from credo.io.errors import plural

        rows, columns = self.frame.shape
        return f"{plural(rows, 'row')}, {plural(columns, 'column')}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading and preparing did to the table."""
        return (*self.reading_notes, *self.preparation.notes_, *self._copy_notes)

    @property
    def _copy_notes(self) -> tuple[str, ...]:
        from credo.io.errors import plural

        n_copies = len(self.copies) - len(set(self.copies.tolist()))
        if not n_copies:
            return ()
        are = "is an exact copy of another" if n_copies == 1 else "are exact copies of others"
        return (
            f"{plural(n_copies, 'row')} {are}, target included: copies stay in one fold, so that no row is predicted "
            "from itself.",
        )


@dataclass(frozen=True)
class Outcome:
    """What the job found, and where it is."""

    question: Question
    comparison: "Comparison"
    inclusions: list[dict[str, Any]]
    notes: tuple[str, ...]
    outputs: Mapping[str, Path]
    seed: int

    def record(self) -> dict[str, Any]:
        """The outcome as `--json` prints it."""
        rows, columns = self.question.frame.shape
        return {
            "data": str(self.question.data),
            "target": self.question.target,
            "task": self.question.task,
            "rows": rows,
            "columns": columns,
            "folds": self.comparison.n_folds,
            "seed": self.seed,
            "best": self.comparison.best,
            "leaderboard": self.comparison.records(),
            "inclusions": self.inclusions,
            "notes": list(self.notes),
            "outputs": {Path(name).stem: str(path) for name, path in self.outputs.items()},
        }


def run(
    data: Path,
    *,
    target: str,
    names: tuple[str, ...] | None,
    out: Path,
    seed: int,
    cv: int,
    reading: Mapping[str, Any],
    screen: Screen,
    task: str | None = None,
) -> Outcome:
    """Read the table, compare the models on it, and write the best of them with its report."""
    refuse_overwriting([data], [out / name for name in OUTPUTS])
    with screen.notes_for_warnings(), staging(out) as stage:
        question = ask(data, target, reading, task=task)
        n_classes = question.n_classes
        size = Size(len(question.y), question.width, folds=cv, steady=question.steady, classes=n_classes)
        chosen, model_notes = estimators(names, size)
        kind = f" of {n_classes} classes" if n_classes else ""
        screen.say(f"{data.name}: {question.size}, target {target!r}{kind}.")
        for note in (*question.notes, *model_notes):
            screen.note(f"Note: {note}")
        comparison = answer(question, chosen, seed=seed, cv=cv, screen=screen)
        comparison = replace(comparison, notes=(*model_notes, *comparison.notes))
        inputs = inclusions(comparison.fitted)
        write(question, comparison, inputs, stage.folder, seed=seed, screen=screen)
        outputs = stage.publish()
        for name in OUTPUTS:
            if name not in outputs and (out / name).exists():
                screen.note(
                    f"Note: {out / name} is not of this run, which wrote no such file: it is left from an earlier one."
                )
    return Outcome(question, comparison, inputs, (*question.notes, *comparison.notes), outputs, seed)


def ask(data: Path, target: str, reading: Mapping[str, Any], *, task: str | None = None) -> Question:
    """Read the table and set the target apart; what it holds is found out unless `task` says it."""
    from credo.io import Preparation, read_table, split_target, target_task, without_lone_classes

    sheet = read_table(data, **reading)
    found = None if task else target_task(sheet.frame, target)
    task = task or (found.name if found else "regression")
    frame, y, notes = split_target(sheet.frame, target, task=task)
    if task == "classification":
        frame, y, more = without_lone_classes(frame, y, target)
        notes += more
    if found is not None and found.why:
        notes.insert(0, task_note(target, found))
    preparation = Preparation(standardize=True).fit(frame)
    rows = preparation.transform(frame)
    return Question(
        data=data,
        target=target,
        task=task,
        frame=frame,
        y=y,
        preparation=preparation,
        width=rows.shape[1],
        steady=steady(rows),
        copies=copies(frame, y),
        reading_notes=(*sheet.notes, *notes),
    )


def task_note(target: str, found: "Task") -> str:
    """What the target was taken for, why, and how to say otherwise."""
    if found.name == "classification":
        other = "; --task regression predicts it as a number" if found.open else ""
        return f"The target {target!r} is predicted as classes, since {found.why}{other}."
    return (
        f"The target {target!r} is predicted as a number, though {found.why}; --task classification makes them classes."
    )


def steady(rows: Any) -> bool:
    """Whether every fold has all the prepared columns, because none of them hangs on a few rows."""
    import numpy as np

    if not isinstance(rows, np.ndarray):
        return False
    return all(len(column) - np.unique(column, return_counts=True)[1].max() >= RARE for column in rows.T)


def copies(frame: "pd.DataFrame", y: "NDArray[Any]") -> "NDArray[np.intp]":
    """A label for each row that rows share when all their cells are equal, the target's too."""
    import numpy as np
    from pandas.util import hash_pandas_object

    cells = hash_pandas_object(frame, index=False).to_numpy()
    both = np.column_stack([cells, np.unique(y, return_inverse=True)[1].astype(np.uint64)])
    return np.unique(both, axis=0, return_inverse=True)[1].ravel()


def answer(question: Question, chosen: Mapping[str, Any], *, seed: int, cv: int, screen: Screen) -> "Comparison":
    """Compare the models; each prepares the table anew, so that held-out rows stay unseen.

    How cells are read is settled by the whole table: a fold may lack the date, or the word, that decides it.
    """
    from credo.io import Preparation, TableModel
    from credo.selection import compare

    slow = [name for name in chosen if name in COMPILED and compiles(COMPILED[name])]
    if slow:
        screen.note(f"Compiling the loops of {', '.join(slow)}, first run only …")
    forms = question.preparation.forms_
    models = {
        name: TableModel(Preparation(standardize=True, kinds=forms), estimator, question.target)
        for name, estimator in chosen.items()
    }
    with screen.progress() as progress:
        comparison = compare(
            models, question.frame, question.y, cv=cv, groups=question.copies, random_state=seed, progress=progress
        )
    comparison = _told(comparison, question)
    for score in comparison.scores:
        # When all failed, the error that follows says why.
        if score.error is not None and comparison.fitted:
            screen.note(f"{score.name} failed. {score.error}")
    for note in comparison.notes:
        screen.note(f"Note: {note}")
    return comparison


def _told(comparison: "Comparison", question: Question) -> "Comparison":
    """The comparison with the seconds of the fits alone, and a question where a fit is too good to be true."""
    fitted = comparison.fitted
    scores = [
        replace(score, seconds=fitted[score.name].fit_seconds) if score.name in fitted else score
        for score in comparison.scores
    ]
    notes = list(comparison.notes)
    if fitted:
        name = comparison.best
        found = comparison[name].held_out
        key, unit = ("log_loss", 1.0) if question.task == "classification" else ("rmse", question.y.std())
        if found[key] < TOO_GOOD * unit:
            notes.append(
                f"{name} predicts rows that it had not seen almost without error ({_ERRORS[key]} {found[key]:.2g}): is "
                "one of the columns another form of the target? Leave out what isn't known beforehand."
            )
    return replace(comparison, scores=scores, notes=tuple(notes))


def write(
    question: Question,
    comparison: "Comparison",
    inputs: list[dict[str, Any]],
    folder: Path,
    *,
    seed: int,
    screen: Screen,
) -> None:
    """Write the best model, the leaderboard, what is known of `inputs`, and the report if its libraries are there."""
    from credo.io import save

    save(comparison.fitted[comparison.best], folder / MODEL)
    write_records(comparison.records(), folder / LEADERBOARD)
    if inputs:
        write_records(inputs, folder / INCLUSIONS)
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        needs = " and ".join(missing)
        screen.note(f"No report was written, since it needs {needs}: pip install 'credo[report]'")
        return
    from credo import report

    report.write(
        folder / REPORT,
        title=f"What predicts {question.target}?",
        source=question.data.name,
        sheet_notes=question.notes,
        preparation=question.preparation,
        comparison=comparison,
        models=comparison.fitted,
        target=question.target,
        frame=question.frame,
        y=question.y,
        seed=seed,
    )


def write_records(records: list[dict[str, Any]], path: Path) -> None:
    """Records as CSV, numbers in full; an empty cell where one has none."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
