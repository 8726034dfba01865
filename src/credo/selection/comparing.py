"""Comparing models on the same held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from credo.core.estimator import check_labels, require_no_missing
from credo.core.folds import splits
from credo.core.seeds import generator
from credo.linear import BaselineClassifier, BaselineRegressor
from credo.selection.comparison import Comparison, Score, with_probabilities
from credo.selection.measures import CLASSIFICATION, MEASURES, REGRESSION, Task
from credo.selection.rule import BASELINE
from credo.selection.trial import Parts, Trial

Progress = Callable[[str, int, int], None]


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models by their predictive distributions of held-out rows.

    A baseline is included, a candidate like any other: the mean of the targets, or the class frequencies. The rows are
    shuffled and split into `cv` folds, the same for all models, stratified by class for classifiers. Each fold is
    predicted by models fitted on the others; then each model is fitted on all rows, for its evidence and its time.

    Parameters
    ----------
    models : dict of name to unfitted estimator
        Each has `predict_dist`, or is a Pipeline whose last step does; for others, such as a perceptron, only the RMSE
        or accuracy is computed. They are cloned. Either all of them are classifiers or none.
    X : array, frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Numbers, or for classifiers labels of any kind.
    cv : int, splitter or pairs of rows, default 5
        Number of folds (with fewer rows than folds, one row per fold), a scikit-learn splitter such as
        `TimeSeriesSplit()`, or pairs of training and held-out rows.
    groups : array of shape (n_samples,), optional
        Rows with the same label stay in one fold: copies of a row, repeated measurements, visits of a patient.
        Otherwise a model would be tested on rows much like those it was fitted to.
    random_state : int or Generator, optional
        Shuffles the rows, and seeds those models whose own `random_state` is None. An int gives the same
        comparison every time.
    progress : callable(name, done, total), optional
        Called before every fit, and once at the end, with the number of fits done so far.

    Returns
    -------
    Comparison
        The score of a model that failed has the reason in `error`; a note names models without distributions.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linear import BayesianLinearRegression, LinearRegression
    >>> from credo.selection import compare
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.tile([0.1, -0.2, 0.3, -0.1], 5)
    >>> models = {"least squares": LinearRegression(), "bayes": BayesianLinearRegression()}
    >>> comparison = compare(models, X, y, cv=4, random_state=0)
    >>> sorted(score.name for score in comparison.scores)
    ['baseline', 'bayes', 'least squares']

    Classifiers are compared by the same call.

    >>> from credo.linear import LinearDiscriminant, LogisticRegression
    >>> models = {"discriminant": LinearDiscriminant(), "logistic": LogisticRegression(alpha=0.1)}
    >>> comparison = compare(models, X, np.where(y > 25, "high", "low"), cv=4, random_state=0)
    >>> round(comparison["logistic"].held_out["accuracy"], 2)
    1.0
    """
    task = _task(models)
    y = _labels(X, y) if task is CLASSIFICATION else _numbers(X, y)
    rng = generator(random_state)
    cut, notes = splits(X, y, cv, rng, groups=groups, classes=task is CLASSIFICATION)
    seed = None if random_state is None else int(rng.integers(2**31))
    models = with_baseline(models, task)
    total, done = len(models) * (len(cut) + 1), 0
    trials, parts = [], Parts(X)
    for name, model in models.items():
        trial = Trial(name, model, parts, y, task, seed)
        for _ in trial.run(cut):
            if progress is not None:
                progress(name, done + trial.n_fits, total)
        trials.append(trial)
        done += len(cut) + 1
    if progress is not None:
        progress("", total, total)
    in_order = all(train.max() < test.min() for train, test in cut)
    return comparison_of(trials, notes, n_folds=len(cut), in_order=in_order)


def with_baseline(models: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """The baseline, which counts as the simplest model, followed by the others."""
    baseline = BaselineClassifier() if task is CLASSIFICATION else BaselineRegressor()
    return {BASELINE: baseline} | dict(models)


def comparison_of(trials: Sequence[Trial], notes: Sequence[str], *, n_folds: int, in_order: bool = False) -> Comparison:
    """The comparison of finished trials on the same folds; the notes of each model follow those given."""
    task, finished = trials[0].task, [trial for trial in trials if trial.error is None]
    held_out = {trial.name: held for trial in finished if (held := trial.held_out()) is not None}
    scores = [trial.score(held_out.get(trial.name)) for trial in trials]
    sign = MEASURES[task.point_measure].sign

    def rank(score: Score) -> tuple[bool, bool, float]:
        """Best first, by the log score or, without one, by the error of point predictions; failures come last."""
        held = held_out.get(score.name)
        if held is None:
            return score.error is not None, True, -sign * score.held_out.get(task.point_measure, 0.0)
        return False, False, -float(np.average(held.log_score, weights=held.weight))

    # Sorting is stable, so equal scores keep the caller's order.
    return Comparison(
        scores=with_probabilities(sorted(scores, key=rank)),
        held_out=held_out,
        fitted={trial.name: trial.fitted for trial in finished},
        notes=(*notes, *(note for trial in trials for note in trial.notes)),
        n_folds=n_folds,
        task=task.name,
        in_order=in_order,
    )


def _task(models: Mapping[str, Any]) -> Task:
    if not models:
        raise ValueError("no models were given: pass a dict of name to estimator")
    classifiers = [name for name, model in models.items() if is_classifier(model)]
    if not classifiers:
        return REGRESSION
    others = [name for name in models if name not in classifiers]
    if others:
        raise ValueError(
            f"{classifiers[0]!r} is a classifier and {others[0]!r} is not: their scores are not comparable, so "
            "compare them separately"
        )
    return CLASSIFICATION


def _numbers(X: Any, y: ArrayLike) -> NDArray[np.float64]:
    values = check_array(require_no_missing(y), ensure_2d=False, dtype=np.float64, ensure_min_samples=0, input_name="y")
    _check_rows(X, values)
    return values


def _labels(X: Any, y: ArrayLike) -> NDArray[Any]:
    values = check_labels(y)
    _check_rows(X, values)
    # Strings in an array of objects, as pandas gives them.
    values = values.astype(str) if values.dtype.kind == "O" else values
    known = np.unique(values)
    if len(known) < 2:
        raise ValueError(f"y has only one class, {known[0].item()!r}; at least two are needed")
    return values


def _check_rows(X: Any, values: NDArray[Any]) -> None:
    n_samples = _num_samples(X)
    if values.shape != (n_samples,):
        raise ValueError(f"y must have one value for each of the {n_samples} rows of X; got shape {values.shape}")
    if n_samples < 2:
        raise ValueError(f"a comparison needs at least 2 rows, because it holds rows out; got {n_samples}")
