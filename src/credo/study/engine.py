"""Forecasts of later times: whether they are as unsure as the held-out errors say.

The average of a study's models: stacking of held-out predictions that are there already.

Fitting the models within a time budget, the cheapest first; finished models are kept.

A model that would take more than its share of the time left, as far as its first fits tell, has to wait until the
others are fitted; then those that waited go on after their last finished fit, the quickest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from credo.core.deadlines import TimeUp, until
from credo.core.estimator import is_sparse
from credo.core.folds import Split
from credo.core.learning import stacking_weights
from credo.core.notices import collected, on_one_line
from credo.distributions import Bernoulli, Distribution, Mixture
from credo.ensemble import ModelAverage
from credo.metrics import point, predictive
from credo.selection import BASELINE, Comparison
from credo.selection.comparison import Score
from credo.selection.measures import CLASSIFICATION, REGRESSION
from credo.selection.trial import Parts, Trial, stacked
from credo.study.catalogue import AVERAGE, SLOWEST, Card
from credo.study.data import Dataset
from credo.tables import Preparation, TableModel
from credo.tables.table_model import preparing_once

# A forecast is too narrow if its standard deviation is below this share of the held-out RMSE.
_NARROW = 0.5


def narrow_ahead(data: Dataset, comparison: Comparison, splits: Sequence[Split]) -> dict[str, str]:
    """The models whose forecasts for the time after the last row are too narrow, and why.

    Each fold was predicted from the rows before it. So the rows of the last fold, moved by its length, are as far ahead
    of the last row as held-out rows were of the rows before them.
    """
    if data.time is None or data.size.times is None or data.size.classes:
        return {}
    column, last = data.size.times.column, np.asarray(data.time.order)[-len(splits[-1][1]) - 1 :]
    # Which quarter of its fold a row is in: held-out rows, and the rows ahead.
    quarter = np.zeros(len(data.y), dtype=np.intp)
    for _, test in splits:
        quarter[test] = 4 * np.arange(len(test)) // len(test)
    found = {}
    for name, held in comparison.held_out.items():
        model = comparison.fitted[name]
        before, rows = (model.preparation_.transform(data.frame.iloc[part]) for part in (last[:1], last[1:]))
        if name == BASELINE or is_sparse(rows) or rows.shape[1] <= column:
            continue
        rows[:, column] += rows[-1, column] - before[0, column]
        std = predictive(model.estimator_, model.for_estimator(rows)).std
        squares = (held.y - point(held.dist)) ** 2
        for q in range(4):
            ours = float(np.median(std[quarter[last[1:]] == q]))
            rmse = float(np.sqrt(np.mean(squares[quarter[held.rows] == q])))
            if ours < _NARROW * rmse:
                found[name] = (
                    "its intervals for times after the last row are too narrow (a standard deviation of "
                    f"{ours:.3g}, where held-out rows as far ahead have an RMSE of {rmse:.3g})"
                )
                break
    return found


Array = NDArray[np.float64]

# Members with less weight than this are left out, so that predictions need few models.
_LEAST = 0.01


def average(name: str, trials: Sequence[Trial]) -> Trial:
    """The trial of the average of finished models with equal preparations.

    The weights for a fold maximize the log score of the other folds' held-out rows, so that its scores are honest;
    those of the final model maximize that of all.
    """
    start = perf_counter()
    first = trials[0]
    scores = [np.column_stack([dist.log_prob(first.y[rows]) for _, dist in parts]) for rows, parts in _folds(trials)]
    found = Trial(name, first.model, first.X, first.y, first.task, first.seed)
    for k, (rows, parts) in enumerate(_folds(trials)):
        weights = _weights(np.concatenate([part for i, part in enumerate(scores) if i != k]))
        dist = _mixed([dist for _, dist in parts], weights)
        found.parts.append((rows, dist))
        found.measured.append(first.task.rows(first.y[rows], dist))
        found.warned.append([])
    table = np.concatenate(scores)
    order = np.argsort(np.concatenate([rows for rows, _ in found.parts]))
    found.fitted = _model(trials, _weights(table), table[order], np.sort(np.concatenate([r for r, _ in found.parts])))
    found.n_fits = len(scores) + 1
    found.model = TableModel(found.fitted.preparation, found.fitted.estimator, found.fitted.target)
    found.seconds = found.fitted._fit_seconds = perf_counter() - start
    return found


def _folds(trials: Sequence[Trial]) -> list[tuple[Any, list[tuple[Any, Distribution]]]]:
    """The rows of each fold, and what each model predicted for them."""
    return [(parts[0][0], list(parts)) for parts in zip(*(trial.parts for trial in trials), strict=True)]


def _weights(scores: Array) -> Array:
    weights = stacking_weights(scores)
    weights = np.where(weights < _LEAST * weights.max(), 0.0, weights)
    return weights / weights.sum()


def _mixed(dists: Sequence[Distribution], weights: Array) -> Distribution:
    """The mixture; of classes, which may differ between models, the mean probabilities."""
    used = [(dist, weight) for dist, weight in zip(dists, weights, strict=True) if weight > 0]
    if len(used) == 1:
        return used[0][0]
    if not used[0][0]._discrete:
        return Mixture([dist for dist, _ in used], [weight for _, weight in used])
    n = len(used[0][0])
    # All on the same classes, by stacking the models' rows.
    whole: Any = stacked([(np.arange(n) + i * n, dist) for i, (dist, _) in enumerate(used)], n * len(used))
    share = [weight for _, weight in used]
    probs = np.tensordot(share, whole.probs.reshape(len(used), n, -1), axes=1)
    if isinstance(whole, Bernoulli):
        return Bernoulli(np.clip(probs[:, 0], 0.0, 1.0))
    return type(whole)(probs, classes=whole.classes)


def _model(trials: Sequence[Trial], weights: Array, scores: Array, rows: NDArray[np.intp]) -> TableModel:
    """A table model whose estimator averages those of the members, fitted to all rows already."""
    kept = [i for i, weight in enumerate(weights) if weight > 0]
    fitted = [trials[i].fitted for i in kept]
    pairs = [(trials[i].name.replace("__", "_"), clone(trials[i].fitted.estimator)) for i in kept]
    models = [model.estimator_ for model in fitted]
    inner = ModelAverage.of_fitted(pairs, models, weights[kept], scores[:, kept], rows, "folds of the study")
    model = TableModel(clone(fitted[0].preparation), clone(inner), fitted[0].target)
    model.preparation_, model.estimator_ = fitted[0].preparation_, inner
    model.n_features_in_, model.feature_names_in_ = fitted[0].n_features_in_, fitted[0].feature_names_in_
    return model


# The part of the budget that the models may use; scores, figures and files need the rest.
_FOR_MODELS = 0.75
# Models of at least this cost are tried on part of the rows first, from this many rows on.
_TRIED_COST, _TRIED_ROWS = 2, 400
_PART = 0.25
# Of a table with more prepared numbers than this, all models are tried first.
_LARGE = 10**6
_WARM_UP_ROWS = 60
# A model is given up if even at its least growth with the rows it would take this many times the time left.
_HOPELESS = 2.0
# A model is started if its expected time, times this, is left.
_SAFETY = 1.4
# A model that takes more than this many times its share of the time left, or this part of it, has to wait for the
# others. So there is always some time left for the average.
_SHARES, _MOST = 2.0, 0.9
# With a budget of at least so many seconds, a model that is cheap for its table isn't stopped.
_GENEROUS = 20.0
# Seconds of compiling, at most, that aren't charged to the budget.
_COMPILING = 120.0
_INTERRUPTED = "stopped by Ctrl-C"
# Of the time of a fit that grows in proportion to the rows, at least this share does.
_LEAST_SLOPE = 0.5
# The time of a fit grows with at most this power of the rows.
_MOST_GROWTH = 3.2


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


class _Postponed(NamedTuple):
    """A model that exceeds its share of the time: its fits so far, seconds for the rest, and why it isn't finished."""

    trial: Trial
    rest: float
    reason: str


@dataclass
class Run:
    """Fits of the models on the same folds, one after the other."""

    data: Dataset
    cards: Sequence[Card]
    splits: Sequence[Split]
    seed: int
    time: float | None = None
    report: Report | None = None
    trials: dict[str, Trial] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    out_of_time: str = ""

    def __post_init__(self) -> None:
        # The models are imported before the clock starts.
        self.cards[0].make(self.data.size)
        self._deadline = None if self.time is None else monotonic() + _FOR_MODELS * self.time
        self._scores: list[Score] = []
        self._forms = self.data.preparation.forms_
        # Dates are read once, not in every fold.
        self._parts = Parts(self.data.preparation.with_dates(self.data.frame))
        self._order = sorted(self.cards, key=lambda card: (card.cost >= 0 and not card.always, card.cost))
        # Why models were not finished.
        self._late: dict[str, str] = {}
        self._postponed: dict[str, _Postponed] = {}

    def finish(self) -> list[Trial]:
        """Fit what the time allows; returns the finished trials in the order of the cards."""
        with preparing_once():
            return self._finish()

    def _finish(self) -> list[Trial]:
        try:
            self._fit_all(card for card in self._order if card.cost < SLOWEST)
            self._fit_all(card for card in self._order if card.cost >= SLOWEST and card.name != AVERAGE)
            self._fit_all(card for card in self._order if card.name == AVERAGE)
        except KeyboardInterrupt:
            self.interrupted = True
            self._late = dict.fromkeys(
                [card.name for card in self._order if card.name not in self.trials], _INTERRUPTED
            )
            if not self.has_model:
                raise
        self._say(None, 0)
        late = {card.name: self._late[card.name] for card in self._order if card.name in self._late}
        self.notes += _late_notes(late, self.time)
        missed = [name for name in late if name != AVERAGE]
        if missed and self.time is not None and not self.interrupted:
            some = f" and {len(missed) - 4} more" if len(missed) > 4 else ""
            more = f"try time={5 * self.time:g} (--time {5 * self.time:g})"
            self.out_of_time = f"For lack of time, {', '.join(missed[:4])}{some} did not finish: {more}."
        return [self.trials[card.name] for card in self.cards if card.name in self.trials]

    @property
    def has_model(self) -> bool:
        """Whether a model other than the baseline is finished."""
        return any(trial.error is None for trial in self._made)

    @property
    def _made(self) -> list[Trial]:
        """The trials of all models but the baseline."""
        return [self.trials[card.name] for card in self.cards if card.cost >= 0 and card.name in self.trials]

    def model(self, card: Card) -> TableModel:
        """The card's estimator behind a preparation that reads cells as the whole table is read."""
        preparation = Preparation(standardize=card.standardize, clip=True, kinds=self._forms)
        return TableModel(preparation, card.make(self.data.size), self.data.target)

    def _fit_all(self, cards: Iterable[Card]) -> None:
        """Fit these models, and then those of them that had to wait, the quickest first."""
        for card in cards:
            self._fit(card)
        waited = sorted(self._postponed.items(), key=lambda item: item[1].rest)
        self._postponed = {}
        for name, plan in waited:
            self._fit(next(card for card in self._order if card.name == name), plan)

    def _fit(self, card: Card, before: _Postponed | None = None) -> None:
        """Fit one model, or go on with it; if it isn't finished, note why."""
        reason = self._reason(card, before)
        if reason is not None:
            self._late[card.name] = reason

    def _reason(self, card: Card, before: _Postponed | None) -> str | None:
        """Fit one model, or go on with it; returns None, or why it was not finished."""
        # If the first model failed, the next one is fitted whatever the time: a run without any model is of no use.
        instead = bool(self._made) and not self.has_model
        certain = card.always or (card.certain and self.time is not None and self.time >= _GENEROUS)
        limited = self._deadline is not None and not (card.cost < 0 or certain or instead)
        if limited and self._left <= 0:
            return "" if before is None else before.reason
        if card.name == AVERAGE:
            self._average()
            return None
        if card.loops is not None and compiles(card.loops):
            self._say(card.name, 0, "compiling, first run only")
            self._compile(card)
        self._say(card.name, 0 if before is None else before.trial.n_fits)
        plan = before or self._plan(card, limited=limited)
        if not limited:
            return self._run(card, plan.trial, np.inf)
        most = _MOST * self._left
        if plan.rest > most:
            return plan.reason
        if before is not None:
            return self._run(card, plan.trial, most)
        if plan.rest > self._share:
            self._postponed[card.name] = plan
            return None
        return self._run(card, plan.trial, self._share, postpone=True)

    def _plan(self, card: Card, *, limited: bool) -> _Postponed:
        """A model before its first fit."""
        task = CLASSIFICATION if self.data.task == "classification" else REGRESSION
        trial = Trial(card.name, self.model(card), self._parts, self.data.y, task, self.seed)
        expected = self._expected(card) if limited else 0.0
        return _Postponed(trial, _SAFETY * expected, duration(expected))

    def _run(self, card: Card, trial: Trial, seconds: float, *, postpone: bool = False) -> str | None:
        """Run the fits that are left, unless they will take longer; returns why they aren't finished or postponed."""
        start, before, n_fits = monotonic(), trial.n_fits, len(self.splits) + 1
        # If a fit takes longer than this, there is no time for all of them.
        longest = min(seconds, _SAFETY * self._left / n_fits) if seconds < np.inf else np.inf

        def rest() -> float:
            return (monotonic() - start) / max(trial.n_fits - before, 1) * (n_fits - trial.n_fits)

        fits, done = trial.run(self.splits), None
        try:
            with _threads(card):
                while done is None:
                    self._say(card.name, trial.n_fits)
                    begun = trial.n_fits > before
                    if begun and rest() > start + seconds - monotonic():
                        raise TimeUp
                    with until(start + (seconds if begun else longest)):
                        done = next(fits, True)
        except TimeUp:
            reason = f"stopped after {trial.n_fits} of {n_fits} fits"
            if not postpone:
                return reason
            self._postponed[card.name] = _Postponed(trial, rest(), reason)
            return None
        self._keep(trial)
        return None

    @property
    def _left(self) -> float:
        """Seconds until the deadline."""
        return np.inf if self._deadline is None else max(0.0, self._deadline - monotonic())

    @property
    def _share(self) -> float:
        """The seconds that the running model may take before it has to wait for the others."""
        n_models = sum(card.name != AVERAGE for card in self._to_come())
        return self._left * min(_MOST, _SHARES / n_models)

    def _to_come(self) -> list[Card]:
        """The models that are neither finished nor given up, with the one that is running."""
        return [card for card in self._order if card.name not in self.trials and card.name not in self._late]

    def _compile(self, card: Card) -> None:
        """Fit the model to a few rows, so that what it needs is compiled; that time isn't charged to the budget."""
        start = monotonic()
        rows = np.random.default_rng(self.seed).permutation(self.data.size.rows)[:_WARM_UP_ROWS]
        # The trial itself reports errors.
        with collected(), suppress(Exception, TimeUp), until(start + _COMPILING), _threads(card):
            self._timed(card, rows)
        if self._deadline is not None:
            self._deadline += min(monotonic() - start, _COMPILING)

    def _average(self) -> None:
        """Average the finished models whose columns were prepared alike, and say in a note what is in it."""
        usable = {trial.name: trial for trial in self._made if trial.error is None and not trial.plain}
        alike = {card.name for card in self.cards if card.standardize}
        found = [trial for name, trial in usable.items() if name in alike]
        others = ", ".join(name for name in usable if name not in alike)
        apart = f"{others} can't be averaged with models whose inputs are standardized" if others else ""
        if len(found) < 2 or len(self.splits) < 2:
            few = "there is only one fold" if len(self.splits) < 2 else apart or "fewer than two models were finished"
            self.notes.append(f"No {AVERAGE}: {few}.")
            return
        self._say(AVERAGE, 0)
        try:
            trial = average(AVERAGE, found)
        except Exception as error:
            self._keep(replace(found[0], name=AVERAGE, error=on_one_line(error), fitted=None))
            return
        members, weights = trial.fitted.estimator_.names_, trial.fitted.estimator_.weights_
        if len(members) < 2:
            self.notes.append(f"No {AVERAGE}: by their held-out scores, {members[0]} has all the weight.")
            return
        self._keep(trial)
        parts = sorted(zip(members, weights, strict=True), key=lambda part: -part[1])
        shares = ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in parts)
        self.notes.append(f"The weights in {AVERAGE}: {shares}.{f' {apart}.' if apart else ''}")

    def _keep(self, trial: Trial) -> None:
        """Add a trial and its scores; a model whose predictions can't be scored has failed."""
        try:
            score = trial.score(None if trial.error is not None else trial.held_out())
        except Exception as error:
            trial.error = f"{on_one_line(error)} (when it was scored)"
            score = Score(trial.name, error=trial.error)
        self.trials[trial.name] = trial
        self._scores.append(score)

    def _expected(self, card: Card) -> float:
        """Estimated seconds for all fits, from fits on parts of the rows; 0 if the model is too cheap to time."""
        n = self.data.size.rows
        large_table = n * self.data.size.columns > _LARGE
        if n < _TRIED_ROWS or (card.cost < _TRIED_COST and not large_table):
            return 0.0
        rows = np.random.default_rng(self.seed).permutation(n)
        # One step of a Gaussian process takes long on many rows, and can't be interrupted.
        large = max(2 * _WARM_UP_ROWS, min(int(_PART * n), 600 if card.is_process else 2000))
        left = self._left
        allowed = monotonic() + min(0.2 * left, self._share)
        sizes = [len(train) for train, _ in self.splits] + [n]
        try:
            with until(allowed), collected(), _threads(card):
                # The first fit may compile, so it isn't timed.
                self._timed(card, rows[:_WARM_UP_ROWS])
                if card.linear_from is not None and n > card.linear_from:
                    return self._linear_time(card, rows[: card.linear_from + 1], sizes)
                first = self._timed(card, rows[: large // 2])
                at_least = float(sum(first * (size / (large // 2)) ** card.growth for size in sizes))
                if at_least > _HOPELESS * left:
                    return at_least
                second = self._timed(card, rows[:large])
        except TimeUp:
            return np.inf
        except Exception:
            # The trial itself reports the error.
            return 0.0
        growth = np.clip(np.log2(second / max(first, 1e-3)), card.growth, _MOST_GROWTH)
        return float(sum(second * (size / large) ** growth for size in sizes))

    def _linear_time(self, card: Card, rows: Any, sizes: Sequence[int]) -> float:
        """Estimated seconds of fits that take a + b·n for n rows, from those of a quarter of some rows and of all."""
        n = len(rows)
        first, second = self._timed(card, rows[: n // 4]), self._timed(card, rows)
        slope = max((second - first) / (n - n // 4), _LEAST_SLOPE * second / n)
        return float(sum(second + slope * (size - n) for size in sizes))

    def _timed(self, card: Card, rows: Any) -> float:
        rows = np.sort(rows)
        model = clone(self.model(card))
        start = monotonic()
        model.fit(self._parts.X.iloc[rows], self.data.y[rows])
        return monotonic() - start

    def _say(self, running: str | None, fits: int, message: str | None = None) -> None:
        if self.report is None:
            return
        waiting = () if running is None else tuple(card.name for card in self._to_come() if card.name != running)
        left = None if self._deadline is None else self._left
        models = {name: trial.fitted for name, trial in self.trials.items() if trial.error is None}
        n_fits = len(self.splits) + 1
        self.report(Progress(running, fits, n_fits, waiting, tuple(self._scores), left, message, models))


def _threads(card: Card) -> AbstractContextManager[Any]:
    """One thread for everything but Gaussian processes, which manage their threads themselves.

    On a busy machine the threads of small linear algebra, and of scikit-learn's trees, wait for each other most of the
    time: a tenth of the speed.
    """
    return nullcontext() if card.is_process else threadpool_limits(1)


def compiles(module: str) -> bool:
    """True if no compiled code of a module is in numba's cache; False if that is unknown."""
    functions = [value for value in vars(import_module(module)).values() if hasattr(value, "stats")]
    folders = [getattr(function.stats, "cache_path", None) for function in functions]
    if not functions or not all(folders):
        return False
    return not any(
        any(Path(str(folder)).glob(f"*{function.__name__}-*.nbi"))
        for folder, function in zip(folders, functions, strict=True)
    )


def duration(seconds: float) -> str:
    """A duration in suitable units."""
    if not np.isfinite(seconds):
        return ""
    if seconds < 10:
        return f"about {max(2, round(seconds))} seconds"
    if seconds < 90:
        return f"about {10 * round(seconds / 10)} seconds"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    hours = round(2 * seconds / 3600) / 2
    return f"about {hours:g} hours" if hours < 72 else f"about {np.ceil(hours / 24):.0f} days"


def _late_notes(late: dict[str, str], time: float | None) -> list[str]:
    """One sentence about the models that are not on the leaderboard."""
    if not late:
        return []
    if any(reason == _INTERRUPTED for reason in late.values()):
        return [f"Stopped by Ctrl-C before these models were fitted: {', '.join(late)}."]
    each = ", ".join(f"{name} ({reason})" if reason else name for name, reason in late.items())
    unit = "second was" if time == 1 else "seconds were"
    return [
        f"{time:g} {unit} not enough for: {each}. A quarter of the time is kept for scores and report. Allow more with "
        "time=… (--time SECONDS, or --time none)."
    ]
