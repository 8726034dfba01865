"""The average of a study's models: stacking of held-out predictions that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from credo.distributions import Bernoulli, Distribution, Mixture
from credo.ensemble import ModelAverage
from credo.io import TableModel
from credo.learning import stacking_weights
from credo.selection._stacked import stacked
from credo.selection._trial import Trial

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
