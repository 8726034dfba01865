"""Comparing models on the same held-out rows."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _num_samples

from credo.metrics import final_step, pit, point, predictive, rmse
from credo.seeds import generator
from credo.selection._comparison import Comparison, HeldOut, Score

Progress = Callable[[str, int, int], None]
Folds = list[NDArray[np.intp]]


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    cv: int = 5,
    groups: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models by their predictive distributions for rows that they did not see.

    The rows are shuffled and cut into `cv` folds, the same for all models. Each fold is predicted by models
    fitted on the others; then each model is fitted on all rows, for its evidence and its time.

    Parameters
    ----------
    models : dict of name to unfitted estimator
        Each has `predict_dist`, or is a Pipeline that ends in one that has. They are cloned.
    X : array, frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    cv : int, default 5
        Number of folds; with fewer rows than folds, one fold a row.
    groups : array of shape (n_samples,), optional
        Rows of equal label stay in one fold: copies of a row, repeats of a measurement, visits of a patient. What is
        learned from one of them would otherwise be tested on another.
    random_state : int or Generator, optional
        Shuffles the rows, and seeds those models whose own `random_state` is None. An int gives the same
        comparison every time.
    progress : callable(name, done, total), optional
        Called before every fit, and once at the end, with the number of fits done so far.

    Returns
    -------
    Comparison
        A model that fails has a line whose `error` says why.

    Examples
    --------
    >>> from credo.linear import BayesianLinearRegression, LinearRegression
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.tile([0.1, -0.2, 0.3, -0.1], 5)
    >>> models = {"least squares": LinearRegression(), "bayes": BayesianLinearRegression()}
    >>> comparison = compare(models, X, y, cv=4, random_state=0)
    >>> sorted(score.name for score in comparison.scores)
    ['bayes', 'least squares']
    """
    if not models:
        raise ValueError("there is no model to compare: pass a dict of name to estimator")
    y = _targets(X, y)
    rng = generator(random_state)
    folds, notes = _folds(len(y), cv, rng, groups)
    seed = None if random_state is None else int(rng.integers(2**31))
    total, done = len(models) * (len(folds) + 1), 0
    trials = []
    for name, model in models.items():
        trial = _Trial(name, model, X, y, seed)
        for _ in trial.run(folds):
            if progress is not None:
                progress(name, done + trial.n_fits, total)
        trials.append(trial)
        done += len(folds) + 1
    if progress is not None:
        progress("", total, total)
    return _comparison(trials, [*notes, *(note for trial in trials for note in trial.notes)], len(folds))


@dataclass
class _Trial:
    """One model on its way through the folds and the fit on all rows."""

    name: str
    model: Any
    X: Any
    y: NDArray[np.float64]
    seed: int | None
    n_fits: int = 0
    error: str | None = None
    fitted: Any = None
    seconds: float = 0.0
    # Columns: mean, std, lower, upper, PIT, log density, CRPS.
    held_out: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 7)))
    warned: list[list[str]] = field(default_factory=list)

    def run(self, folds: Folds) -> Iterator[None]:
        """Fit once for each fold and once on all rows, yielding before each fit."""
        self.held_out = np.full((len(self.y), 7), np.nan)
        every = np.arange(len(self.y))
        for i, test in enumerate(folds, start=1):
            yield
            if not self._step(f"in fold {i} of {len(folds)}", np.setdiff1d(every, test), test):
                return
        yield
        self._step("on all rows", None, None)

    def _step(self, where: str, train: NDArray[np.intp] | None, test: NDArray[np.intp] | None) -> bool:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                self._fit(train, test)
            # Whatever goes wrong inside one model must not lose the others; the sentence is kept.
            except Exception as error:
                self.error = f"{_sentence(error)} ({where})"
        self.n_fits += 1
        self.warned.append(list(dict.fromkeys(str(warning.message) for warning in caught)))
        return self.error is None

    def _fit(self, train: NDArray[np.intp] | None, test: NDArray[np.intp] | None) -> None:
        model = _seeded(clone(self.model), self.seed)
        if train is None or test is None:
            start = perf_counter()
            self.fitted = model.fit(self.X, self.y)
            self.seconds = perf_counter() - start
            return
        model.fit(_safe_indexing(self.X, train), self.y[train])
        dist, y = predictive(model, _safe_indexing(self.X, test)), self.y[test]
        lower, upper = dist.interval(0.95)
        # A distribution without a mean has no standard deviation either: it is wider than any.
        std = np.where(np.isnan(dist.std), np.inf, dist.std)
        rows = [point(dist), std, lower, upper, pit(y, dist), dist.log_prob(y), dist.crps(y)]
        values = np.column_stack(rows)
        bad = np.flatnonzero(np.isnan(values).any(axis=1) | ~np.isfinite(values[:, 0]))
        if bad.size:
            first = f"the first is row {test[bad[0]]} of X"
            raise ValueError(f"the predictions of {bad.size} rows are no numbers, {first}")
        self.held_out[test] = values

    @property
    def notes(self) -> list[str]:
        """What the fits warned of; the fit on all rows speaks for the folds."""
        if self.error is not None or not any(self.warned):
            return []
        if self.warned[-1]:
            return [f"{self.name}: {message}" for message in self.warned[-1]]
        messages = [messages for messages in self.warned if messages]
        return [f"{self.name}, in {len(messages)} of {self.n_fits - 1} folds: {messages[0][0]}"]

    def score(self) -> Score:
        """The line of the leaderboard."""
        if self.error is not None:
            return Score(self.name, error=self.error)
        mean, _, lower, upper, _, log_density, crps = self.held_out.T
        evidence = next((m for m in (self.fitted, final_step(self.fitted)) if hasattr(m, "log_evidence_")), None)
        return Score(
            self.name,
            log_score=float(log_density.mean()),
            rmse=rmse(self.y, mean),
            crps=float(crps.mean()),
            coverage=float(np.mean((lower <= self.y) & (self.y <= upper))),
            log_evidence=None if evidence is None else float(evidence.log_evidence_),
            evidence_method=getattr(evidence, "evidence_method_", None),
            seconds=self.seconds,
        )


def _comparison(trials: list[_Trial], notes: list[str], n_folds: int) -> Comparison:
    scores = [trial.score() for trial in trials]
    # Best first; sorting is stable, so equals keep the caller's order and failures come last.
    scores.sort(key=lambda score: np.inf if score.log_score is None else -score.log_score)
    scores.sort(key=lambda score: score.error is not None)
    good = [trial for trial in trials if trial.error is None]
    return Comparison(
        scores=scores,
        held_out={trial.name: HeldOut(trial.y, *trial.held_out.T[:6].copy()) for trial in good},
        fitted={trial.name: trial.fitted for trial in good},
        notes=tuple(notes),
        n_folds=n_folds,
    )


def _targets(X: Any, y: ArrayLike) -> NDArray[np.float64]:
    values = check_array(y, ensure_2d=False, dtype=np.float64, ensure_min_samples=0, input_name="y")
    n_samples = _num_samples(X)
    if values.shape != (n_samples,):
        raise ValueError(f"y needs one value for each of the {n_samples} rows of X; got shape {values.shape}")
    if n_samples < 2:
        raise ValueError(f"a comparison holds rows out, so it needs at least 2 of them; got {n_samples}")
    return values


def _folds(n_samples: int, cv: int, rng: np.random.Generator, groups: ArrayLike | None) -> tuple[Folds, list[str]]:
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(f"cv must be a whole number of at least 2 folds; got {cv!r}")
    labels = np.arange(n_samples) if groups is None else _labels(groups, n_samples)
    sizes = np.bincount(labels)
    n_folds, what = min(int(cv), len(sizes)), "row" if len(sizes) == n_samples else "group"
    notes = [f"{len(sizes)} {what}s make {n_folds} folds of one {what}, not {cv}."] if n_folds < cv else []
    order = rng.permutation(len(sizes))
    if what == "row":
        return [np.sort(fold) for fold in np.array_split(order, n_folds)], notes
    # Groups are dealt out like cards, the largest first, so that no fold gets more than one of them ahead.
    fold_of = np.empty(len(sizes), dtype=np.intp)
    fold_of[order[np.argsort(-sizes[order], kind="stable")]] = np.arange(len(sizes)) % n_folds
    return [np.flatnonzero(fold_of[labels] == fold) for fold in range(n_folds)], notes


def _labels(groups: ArrayLike, n_samples: int) -> NDArray[np.intp]:
    values = np.asarray(groups)
    if values.shape != (n_samples,):
        raise ValueError(f"groups needs one label for each of the {n_samples} rows of X; got shape {values.shape}")
    labels = np.unique(values, return_inverse=True)[1].ravel()
    if n_samples > 1 and not labels.any():
        raise ValueError("all rows carry the same label in groups, so that none can be held out from the others")
    return labels


def _seeded(model: Any, seed: int | None) -> Any:
    """The model with every `random_state` that is None set to the seed."""
    if seed is None:
        return model
    names = [key for key in model.get_params() if key == "random_state" or key.endswith("__random_state")]
    free = {key: seed for key in names if model.get_params()[key] is None}
    return model.set_params(**free)


def _sentence(error: Exception) -> str:
    """The error's own words on one line; its kind in front when it isn't one that Credo writes."""
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | TypeError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
