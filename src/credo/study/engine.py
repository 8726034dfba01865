"""The models of a study, fitted one after the other within a time budget; what is finished counts.

Models come in the order of `portfolio`. One starts if the law of its time, scaled by the speed seen in this run, says
that all its fits end in time; with one set of held-out rows, it may learn from a part of the rows instead. Solvers stop
at the deadline. What numba has not compiled yet is compiled by a child process while other models are fitted.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import numpy as np
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from credo.core.deadlines import TimeUp, until
from credo.core.estimator import is_sparse
from credo.core.folds import Split
from credo.core.notices import on_one_line
from credo.selection.comparison import Score
from credo.selection.measures import CLASSIFICATION, REGRESSION, TIMES, Task, on_a_scale
from credo.selection.trial import Parts, SavedTrials, Trial
from credo.study.average import average
from credo.study.catalogue import AVERAGE, BASELINE, ModelSpec
from credo.study.data import FOLD_ROWS, Dataset
from credo.study.portfolio import ORDER, seconds
from credo.tables import TableModel
from credo.tables.table_model import rows_for

# The part of the budget for the models. Figures and files of the demo take 6 s of 60 on two cores, and twice that if
# the machine is busy.
_FOR_MODELS = 0.75


@dataclass(frozen=True)
class Progress:
    """State for a display: the running model, its fits so far, the finished models with scores, and the time left."""

    running: str | None
    fits: int
    n_fits: int
    waiting: Sequence[str]
    scores: Sequence[Score]
    remaining: float | None
    message: str | None = None
    models: Mapping[str, TableModel] = field(default_factory=dict)


Report = Callable[[Progress], None]


@dataclass
class Engine:
    """Fits of the models on the same splits and prepared columns.

    `trials` are the finished ones by name, which may contain those of an earlier run; `not_run` says why others are not
    among them, `learned_from` which learned from so many rows instead of all.
    """

    data: Dataset
    specs: Sequence[ModelSpec]
    splits: Sequence[Split]
    seed: int
    time: float | None = None
    report: Report | None = None
    trials: dict[str, Trial] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)
    learned_from: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False

    def __post_init__(self) -> None:
        self._deadline = None if self.time is None else monotonic() + _FOR_MODELS * self.time
        self._scores: list[Score] = []
        # Seconds of finished fits, and by the law; before any fit the machine counts as that of the law.
        self._spent, self._foreseen = 1.0, 1.0
        order = ORDER[self.data.task]
        last = len(order)
        self._waiting = sorted(
            self.specs,
            key=lambda spec: order.index(spec.plain_name) if spec.plain_name in order else last,
        )
        self._tables: dict[bool, Parts] = {}

    def resume(self, saved: SavedTrials, key: str) -> None:
        """Take over the finished models of an earlier study."""
        if saved.key_ != key:
            raise ValueError(
                "continue_from is a study of another table or target, or with other folds, groups, weights, exposure, "
                "event, possible values of the target, or random_state"
            )
        data = self.data
        for trial in saved.trials(
            Parts(data.rows), data.y, self._task, self.seed, data.support, data.weight, data.event
        ):
            self._keep(trial)
        self._waiting = [spec for spec in self._waiting if spec.name not in self.trials]

    def run(self, *, with_average: bool = True) -> list[Trial]:
        """Fit what the time allows; returns the finished trials from simple to complex, the average last."""
        with Compiler(self._waiting, self.data.size.classes) as compiler:
            try:
                while self._waiting:
                    spec = next((one for one in self._waiting if compiler.is_ready(one)), None)
                    if spec is None:
                        self._wait(compiler)
                        continue
                    self._fit(spec)
                    self._waiting.remove(spec)
            except KeyboardInterrupt:
                self.interrupted = True
                if not self.has_model:
                    raise
        if with_average and self.has_model:
            try:
                self._average()
            except KeyboardInterrupt:
                self.interrupted = True
                self.notes.append("Stopped by Ctrl-C before the models were averaged.")
        self._say(None, 0)
        names = [*(spec.name for spec in self.specs), AVERAGE]
        return [self.trials[name] for name in names if name in self.trials]

    @property
    def has_model(self) -> bool:
        """Whether a model other than the baseline is finished."""
        return any(trial.error is None for name, trial in self.trials.items() if name != BASELINE)

    def table_model(self, trial: Trial) -> TableModel:
        """The fitted estimator behind the preparation of the study's table."""
        data = self.data
        return TableModel.of_fitted(
            data.preparation, trial.fitted, data.target, trial.seconds, data.support, data.happened
        )

    def trial(self, name: str, model: Any) -> Trial:
        """A trial of a model on the study's rows, without any fit."""
        data, groups = self.data, {"column_groups": self.data.preparation.groups()}
        return Trial(
            name, model, self._parts(model), data.y, self._task, self.seed, groups, data.support, data.weight,
            data.event,
        )  # fmt: skip

    @property
    def _task(self) -> Task:
        size = self.data.size
        if size.classes:
            return on_a_scale(size.order) if size.order else CLASSIFICATION
        return TIMES if size.is_time else REGRESSION

    @property
    def left(self) -> float:
        """The seconds until the models have to be finished; infinite without a time budget."""
        return np.inf if self._deadline is None else self._deadline - monotonic()

    def _wait(self, compiler: Compiler) -> None:
        """Wait until some model is compiled; that time isn't charged to the budget."""
        start = monotonic()
        self._say(self._waiting[0].name, 0, "compiling, first run only")
        compiler.wait(self._waiting)
        if self._deadline is not None:
            self._deadline += monotonic() - start

    def _expected(self, spec: ModelSpec, rows: int, n_fits: int) -> float:
        """The seconds that a model needs, from the law and the speed of this machine."""
        return self._law(spec, rows, n_fits) * self._spent / self._foreseen

    def _law(self, spec: ModelSpec, rows: int, n_fits: int) -> float:
        size = self.data.size
        return n_fits * seconds(size.task, spec.plain_name, rows, size.columns, size.classes)

    def _rows_in_time(self, spec: ModelSpec) -> int:
        """The rows that all fits may use in the time left: all, half of them, a quarter, …, or 0 if too few."""
        rows = self.data.size.rows
        if self._deadline is None or spec.name == BASELINE or not self.has_model:
            return rows
        n_fits = len(self.splits) + 1
        while self._expected(spec, rows, n_fits) > self.left:
            rows //= 2
            # A model of part of the rows is not fitted again.
            n_fits = 1
            if len(self.splits) > 1 or rows < FOLD_ROWS:
                return 0
        return rows

    def _fit(self, spec: ModelSpec) -> None:
        """Run all fits of a model, or note why not."""
        rows, left = self._rows_in_time(spec), self.left
        n_fits = len(self.splits) + 1
        if not rows:
            needed = _duration(self._expected(spec, self.data.size.rows, n_fits))
            late = f"needs about {needed}; {_duration(left, down=True)} were left"
            self.not_run[spec.name] = late if left > 0 else "no time was left"
            return
        model, splits, refit = spec.make(self.data.size), self.splits, rows == self.data.size.rows
        if not refit:
            n_fits = 1
            rng = np.random.default_rng(self.seed)
            splits = [(rng.permutation(train)[:rows], test) for train, test in splits]
        trial = self.trial(spec.name, model)
        start = monotonic()
        try:
            with _threads(spec), until(self._deadline if self.has_model else None):
                for _ in trial.run(splits, refit=refit):
                    self._say(spec.name, trial.n_fits)
        except TimeUp:
            self.not_run[spec.name] = f"stopped after {trial.n_fits} of {n_fits} fits"
            return
        if trial.error is None and spec.name != BASELINE:
            self._spent += monotonic() - start
            self._foreseen += self._law(spec, rows, n_fits)
        if not refit:
            self.learned_from[spec.name] = rows
        self._keep(trial)

    def _parts(self, model: Any) -> Parts:
        """The prepared rows, dense unless they are sparse and the estimator takes that."""
        rows = self.data.rows
        dense = not is_sparse(rows) or not get_tags(model).input_tags.sparse
        if dense not in self._tables:
            names, relearn = self.data.preparation.get_feature_names_out(), self.data.fold_effects
            self._tables[dense] = Parts(rows_for(model, rows, names), relearn)
        return self._tables[dense]

    def _average(self) -> None:
        """Average the finished models."""
        usable = [trial for trial in self.trials.values() if trial.error is None and not trial.plain]
        if len(usable) < 2:
            return
        self._say(AVERAGE, 0)
        try:
            numbers = self.data.task == "regression"
            trial = average(AVERAGE, usable, self.data.preparation.missing(self.data.frame) if numbers else None)
        except Exception as error:
            first = usable[0]
            self._keep(Trial(AVERAGE, first.model, first.X, first.y, first.task, first.seed, error=on_one_line(error)))
            return
        self._keep(trial)

    def _keep(self, trial: Trial) -> None:
        """Add a trial and its scores; a model whose predictions can't be scored has failed."""
        try:
            score = trial.score(None if trial.error is not None else trial.held_out())
        except Exception as error:
            trial.error = f"{on_one_line(error)} (when it was scored)"
            score = Score(trial.name, error=trial.error)
        self.trials[trial.name] = trial
        self._scores.append(score)

    def _say(self, running: str | None, fits: int, message: str | None = None) -> None:
        if self.report is None:
            return
        waiting = () if running is None else tuple(spec.name for spec in self._waiting if spec.name != running)
        left = None if self._deadline is None else max(self.left, 0.0)
        models = {name: self.table_model(trial) for name, trial in self.trials.items() if trial.error is None}
        n_fits = len(self.splits) + 1
        self.report(Progress(running, fits, n_fits, waiting, tuple(self._scores), left, message, models))


def _threads(spec: ModelSpec) -> AbstractContextManager[Any]:
    """One thread for everything but Gaussian processes, which manage their threads themselves.

    On a busy machine the threads of small linear algebra, and of scikit-learn's trees, wait for each other most of the
    time: a tenth of the speed.
    """
    return nullcontext() if spec.plain_name.startswith("gp") else threadpool_limits(1)


class Compiler:
    """A child process that compiles what models need, in their order, by fitting each of them to a small table."""

    def __init__(self, specs: Sequence[ModelSpec], n_classes: int) -> None:
        self._needed = [spec.name for spec in specs if any(map(needs_compiling, spec.compiled))]
        self._n_classes = n_classes
        self._done: set[str] = set()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Compiler:
        if self._needed:
            command = [sys.executable, "-m", "credo.study.compiling", str(self._n_classes), *self._needed]
            with suppress(OSError):
                self._process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
                )
                Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            self._done.add(line.strip())

    def is_ready(self, spec: ModelSpec) -> bool:
        """Whether a model's code is compiled, or no child will do it."""
        running = self._process is not None and self._process.poll() is None
        return spec.name not in self._needed or spec.name in self._done or not running

    def wait(self, specs: Sequence[ModelSpec]) -> None:
        """Return when one of the models is ready."""
        while not any(map(self.is_ready, specs)):
            sleep(0.05)


def needs_compiling(module: str) -> bool:
    """True if no compiled code of a module is in numba's cache; False if that is unknown."""
    functions = [value for value in vars(import_module(module)).values() if hasattr(value, "stats")]
    folders = [getattr(function.stats, "cache_path", None) for function in functions]
    if not functions or not all(folders):
        return False
    return not any(
        any(Path(str(folder)).glob(f"*{function.__name__}-*.nbi"))
        for folder, function in zip(folders, functions, strict=True)
    )


def _duration(seconds: float, *, down: bool = False) -> str:
    """In words, rounded up, or down: a model that needs more than what was left never seems to need as much."""
    rounded = np.floor if down else np.ceil
    if seconds < 10:
        return f"{rounded(10 * seconds) / 10:g} s"
    for most, unit, words in ((90, 1, "s"), (5400, 60, "minutes"), (72 * 3600, 3600, "hours")):
        if seconds < most:
            return f"{rounded(seconds / unit):.0f} {words}"
    return f"{rounded(seconds / 86400):.0f} days"
