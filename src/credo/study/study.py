"""The result of a study, with leaderboard, selected model, predictions and report, and its files."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from credo.core.estimator import describe
from credo.core.frames import Table
from credo.selection import BASELINE, Comparison
from credo.selection.trial import SavedTrials
from credo.study._explain import Explanation, explain, influence
from credo.study.ahead import Ahead, forecast_ahead
from credo.study.data import Dataset, Note
from credo.study.facts import Facts
from credo.study.units import Known, KnownUnits
from credo.tables import TableModel, save
from credo.tables.table_model import distribution_frame, predictions

MODEL, REPORT, LEADERBOARD, HELD_OUT, INCLUSIONS, STUDY = (
    "model.credo", "report.html", "leaderboard.csv", "held_out.csv", "inclusions.csv", "study.credo",
)  # fmt: skip
OUTPUTS = (MODEL, REPORT, LEADERBOARD, HELD_OUT, INCLUSIONS, STUDY)


def write(study: Study, folder: Path, *, keep_all: bool = False) -> list[str]:
    """Write model, leaderboard, held-out predictions and report into a folder; returns notes about missing files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from credo.study import analyze, write
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> study = analyze(frame, "growth", models=["linear"], progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(study, Path(folder))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['held_out.csv', 'leaderboard.csv', 'model.credo', 'report.html']
    """
    notes = []
    study.save(folder / MODEL)
    write_records(study.comparison.records(), folder / LEADERBOARD)
    study.held_out().to_csv(folder / HELD_OUT, index=False)
    inclusions = study.inclusions()
    if inclusions:
        write_records(inclusions, folder / INCLUSIONS)
    if study.comparison.not_run:
        save(study.saved, folder / STUDY)
    if keep_all:
        for name in study.comparison.fitted:
            save(study[name], folder / f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)}.credo")
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        notes.append(f"No report was written: it needs {' and '.join(missing)} (pip install 'credo[report]').")
    else:
        # An error in the report must not lose the models, which took the time of the run.
        try:
            study.report(folder / REPORT)
        except Exception as error:
            notes.append(
                f"No report was written ({type(error).__name__}: {error}). The model and the tables are complete; "
                "please report this as a bug."
            )
    return notes


def write_records(records: list[dict[str, Any]], path: Path) -> None:
    """Write records as CSV, numbers in full precision, None as an empty cell."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def inclusions(models: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs by their inclusion probability, the largest first, from the spike-and-slab model.

    Empty without such a model. A categorical column is included if any of its levels is; the words of a text are listed
    one by one. Copies share their probability: `with_copies` is the probability that the input or a copy of it is
    included.
    """
    for name, model in models.items():
        subsets = describe(model).subsets
        if subsets is not None:
            places: dict[str, list[int]] = {}
            for place, title in enumerate(model.without_exposure.inputs()):
                places.setdefault(title, []).append(place)
            records = [
                {
                    "name": title,
                    "inclusion_probability": _any_of(own, subsets.posterior),
                    "with_copies": _any_of(_with_copies(own, subsets.copies), subsets.posterior),
                    "model": name,
                }
                for title, own in places.items()
            ]
            return sorted(records, key=lambda record: (-record["with_copies"], -record["inclusion_probability"]))
    return []


def _any_of(places: list[int], posterior: Any) -> float:
    # For a single column it is known; computing it anew for thousands of words would be slow.
    one = len(places) == 1
    return float(posterior.inclusion[places[0]] if one else posterior.any_of(places))


def _with_copies(places: list[int], copies: Any) -> list[int]:
    """Prepared columns together with all their copies."""
    return sorted({*places, *(j for group in copies if not set(places).isdisjoint(group) for j in group)})


# A smaller squared error, as a share of the baseline's, suggests a leak: of the 20 tables of numbers in
# docs/honesty.json the smallest is 0.0003 (yacht).
TOO_GOOD = 1e-4
# A larger RMSE, in multiples of the baseline's, is noted: of all models on those tables the largest is 1.1 (uscrime).
ABSURD = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The analysis of a table: models compared on held-out rows, one of them selected.

    Attributes
    ----------
    data : Dataset
        The table, its target and its folds.
    comparison : Comparison
        Scores, held-out predictions and fitted models.
    selected : str
        The name of the selected model; `reason` says why.
    notes : sequence of Note
        Remarks on the table and the fits.
    seed : int

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import analyze
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> study = analyze(frame, "growth", models=["linear"], progress=False)
    >>> study.selected, study.task, [score.name for score in study.comparison.scores]
    ('linear', 'regression', ['linear', 'baseline'])
    >>> study.predict(pd.DataFrame({"dose": [4.5, 50.0]}))["outside"].tolist()
    ['', 'dose = 50 (training: 0 to 11)']
    """

    data: Dataset
    comparison: Comparison
    selected: str
    reason: str
    notes: Sequence[Note]
    seed: int
    saved: SavedTrials
    units: KnownUnits | None = None

    @property
    def task(self) -> str:
        """ "regression" or "classification"."""
        return self.data.task

    @property
    def target(self) -> str:
        """The name of the column that is predicted."""
        return self.data.target

    @cached_property
    def facts(self) -> Facts:
        """What the study found out about the selected model; the sentences of terminal and report read it."""
        return Facts.of(
            self.comparison, self.selected, reason=self.reason, target=self.target, n_rows=len(self.data.y),
            seed=self.seed,
        )  # fmt: skip

    @property
    def known(self) -> Known | None:
        """How the selected model predicts rows of new and of known units, such as patients; None without units."""
        return None if self.units is None else self.units.learn(self.selected, self.comparison.fitted[self.selected])

    @property
    def leaderboard(self) -> Table:
        """The models with their held-out scores, best first; a table as text, or as HTML in a notebook."""
        table = self.comparison.table()
        important = [note.text for note in self.notes if note.important or note.on_board]
        title = f"{self.target}: {self.data.shape}, {table.title.lower()}"
        return replace(table, title=title, notes=(self.reason, *self.comparison.failures, *important))

    @property
    def model(self) -> TableModel:
        """The selected model, fitted on all rows; it takes tables like the one it was fitted to."""
        return self[self.selected]

    def __getitem__(self, name: str) -> TableModel:
        """A model by its name on the leaderboard, fitted on all rows.

        If units such as patients have several rows each, a model other than the selected one is fitted again to parts
        of them, once, to find out how it predicts known units.
        """
        fitted = self.comparison.fitted
        if name not in fitted:
            raise KeyError(f"there is no fitted model {name!r}; choose from {', '.join(map(repr, fitted))}")
        found: TableModel = fitted[name]
        if self.units is not None:
            self.units.learn(name, found)
        return found

    def select(self, name: str) -> Study:
        """The study with another model selected; nothing is fitted again."""
        self[name]
        suggested = self.comparison.selected
        other = "" if suggested == name else f" By the held-out scores, {suggested} would be selected."
        return replace(self, selected=name, reason=f"Selected: {name}, as requested.{other}")

    def __str__(self) -> str:
        return str(self.leaderboard)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.leaderboard._repr_html_()

    def predict(
        self, rows: Any, *, level: float = 0.95, quantiles: Sequence[float] = (), name: str | None = None
    ) -> Any:
        """Predictions for new rows as a data frame.

        Parameters
        ----------
        rows : data frame with the columns of the table; the target may be missing
        level : float, default 0.95
            Probability of the interval from `lower` to `upper`.
        quantiles : sequence of float, optional
            Quantiles of each prediction that get a column of their own, such as q0.05.
        name : str, optional
            Name of a model other than the selected one.

        Returns
        -------
        pandas.DataFrame
            For numbers: mean, std, lower, upper. For classes: predicted, and a probability for each class, such as
            p(spam). In both cases `outside`, which names values outside the training range and is empty otherwise. If
            units such as patients have several rows, `known patient` says whether that of a row is known, which then is
            predicted from its other rows too; new_lower and new_upper are the interval of a new patient.
        """
        return predictions(self[self.selected if name is None else name], rows, level=level, quantiles=quantiles)

    def held_out(self, name: str | None = None) -> Any:
        """The held-out predictions as a data frame, with the row of the table and the actual value."""
        chosen = self.selected if name is None else name
        held = self.comparison.held_out[chosen]
        frame = distribution_frame(held.dist, level=0.95)
        frame.insert(0, "actual", held.y)
        frame.insert(0, "row", [int(place) + 1 for place in self.data.frame.index[held.rows]])
        return frame if self.data.labels is None else frame.set_axis(self.data.labels[held.rows], axis=0)

    def explain(self, rows: Any, *, name: str | None = None, n_pairs: int = 4) -> Explanation:
        """Why the rows are predicted as they are: what each input adds to the average prediction (Shapley values).

        A row is compared with up to 100 rows of the study's table, whose values replace its own. The contributions add
        up to the difference from their average prediction, in units of the target, or for classes as the probability
        of the predicted class. They are exact for linear regressions and with up to five inputs; otherwise they have
        standard errors. An additive model is explained exactly by its terms, beside the average over the training rows,
        in units of the target, as log odds, or on the scale of a transformed target.

        Parameters
        ----------
        rows : data frame with the columns of the table; the target may be missing
        name : str, optional
            Name of a model other than the selected one.
        n_pairs : int, default 4
            More give smaller standard errors; see `credo.metrics.shapley`.
        """
        model = self[self.selected if name is None else name]
        return explain(model, rows, self.data.frame, n_pairs=n_pairs, seed=self.seed)

    def influence(self, name: str | None = None) -> Table:
        """How much each input changes the predictions, the most influential first.

        The change of the prediction (root mean square over the rows) when an input changes by one standard deviation,
        or takes the value of another row; inputs that vary together are changed together. These are associations, not
        causes.
        """
        chosen = self.selected if name is None else name
        classes = self.task == "classification"
        found = influence(self[chosen], self.data.frame, spread=np.inf if classes else float(np.std(self.data.y)))
        if found is None:
            why = "There are too many columns, or the model's predictions are not finite."
            return Table(f"Inputs of {chosen}", {"input": [], "effect": []}, (why,))
        order = found.order
        unit = "change in class probabilities" if classes else f"change in {self.target}"
        return Table(
            f"Influence of the inputs on the predictions of {chosen}",
            {"input": [", ".join(found.members[i]) for i in order], unit: [float(found.values[i]) for i in order]},
            ("Over one standard deviation of the input, or with the value of another row. Associations, not causes.",),
        )

    def inclusions(self) -> list[dict[str, Any]]:
        """The probability that each input matters, from the spike-and-slab model; empty without one."""
        return inclusions(self.comparison.fitted)

    @cached_property
    def ahead(self) -> Ahead | None:
        """The forecast after the last row, of as many steps as a held-out block has; None if rows aren't in time order.

        Without a `table`, its `sentence` says why there is none.
        """
        if self.data.time is None or self.task == "classification":
            return None
        folds = self.facts.folds
        return forecast_ahead(self.model, self.data, max(1, folds.n_held_out // folds.n_parts))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report, a self-contained HTML page."""
        from credo.study.report import write  # noqa: PLC0415, needs the extra `report`

        write(path, self, date=date.today().isoformat())

    def save(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Save the selected model, or another by its name, as a file for `credo.load` and `credo predict`."""
        save(self[self.selected if name is None else name], path)

    def record(self) -> dict[str, Any]:
        """The study in plain types, as `--json` prints it."""
        rows, columns = self.data.frame.shape
        return {
            "data": self.data.source,
            "target": self.target,
            "task": self.task,
            "rows": rows,
            "columns": columns,
            "target_range": [self.data.y.min(), self.data.y.max()] if self.task == "regression" else None,
            "folds": self.comparison.n_folds,
            "seed": self.seed,
            "selected": self.selected,
            "reason": self.reason,
            "performance": " ".join(self.facts.performance),
            "units": None if self.known is None else self.known.record(),
            "tied": self.comparison.tied,
            "leaderboard": self.comparison.records(),
            "inclusions": self.inclusions(),
            "notes": [note.text for note in self.notes],
            "important": [note.text for note in self.notes if note.important],
            "on_board": [note.text for note in self.notes if note.on_board],
        }


def too_good_notes(comparison: Comparison, selected: str, target: str) -> list[str]:
    """A question where held-out numbers are predicted almost without error.

    Classes that several columns separate are no sign of a leak, and a single column that does has a note of its own.
    """
    score, base = comparison[selected].held_out, comparison[BASELINE].held_out
    if selected == BASELINE or not base.get("rmse") or (score["rmse"] / base["rmse"]) ** 2 >= TOO_GOOD:
        return []
    return [
        f"{selected} predicts held-out rows of {target!r} almost perfectly. Are the columns, or a sum or difference of "
        "them, another form of the target, or known only afterwards? If so, leave them out and run again."
    ]


def absurd_notes(comparison: Comparison) -> list[str]:
    """A note about models whose held-out errors are many times those of the baseline."""
    base = comparison[BASELINE].held_out.get("rmse", 0.0)
    rmse = {score.name: score.held_out.get("rmse", 0.0) for score in comparison.scores}
    bad = [f"{name} ({value:.4g})" for name, value in rmse.items() if value > ABSURD * base > 0]
    if not bad:
        return []
    return [
        f"The held-out RMSE of {', '.join(bad)} is more than {ABSURD:.0f} times that of the baseline ({base:.4g}): "
        "some predictions are far outside the range of the target, as can happen where a model extrapolates."
    ]
