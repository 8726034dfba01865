"""The average of all finished models: weights that maximize the held-out log score, then a map that calibrates it.

    p(y | x) = Σ_k w_k p_k(y | x),    w maximizes Σ_i ln Σ_k w_k p_k(y_i | x_i, other rows)

Its own held-out predictions are honest: held-out rows are divided into parts, and the weights and the map for a part
come from the other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.folds import even_folds
from credo.core.learning import stacking_weights
from credo.distributions import Bernoulli, Categorical, Distribution, Limited, Mixture, RightCensored
from credo.ensemble import ModelAverage
from credo.ensemble.calibration import BetaMap, Calibration, choose_calibration
from credo.metrics import forecast, pit
from credo.selection import gap
from credo.selection.trial import Part, Trial, stacked
from credo.study.data import N_FOLDS
from credo.tables.gaps import gains, scales_of_others
from credo.tables.groups import normal_scores

Array = NDArray[np.float64]


def average(name: str, trials: Sequence[Trial], missing: NDArray[np.bool_] | None = None) -> Trial:
    """The trial of the average of finished models, of which it keeps those with a weight of 1 % or more.

    With the missing cells of the table, the weights are those of predictions that have a scale in each missing pattern:
    otherwise a mixture of narrow and wide models would stand for rows without and with gaps.
    """
    start, first = perf_counter(), trials[0]
    held = [one for trial in trials if (one := trial.held_out()) is not None]
    y, rows = held[0].y, held[0].rows
    scores = np.column_stack([one.log_score for one in held])
    if missing is not None and missing.any():
        normal = [normal_scores(pit(y, one.dist, random_state=0)) for one in held]
        scores += np.column_stack([gains(one, scales_of_others(missing[rows], one)) for one in normal])
    # The predictions of the models themselves: their mixture is limited to the possible values.
    dists = [unlimited(one.dist) for one in held]
    pieces = []

    def of(places: NDArray[np.intp]) -> Array | None:
        return None if held[0].weight is None else held[0].weight[places]

    for own in _parts(first, rows):
        others = np.setdiff1d(np.arange(len(y)), own)
        pieces.append((own, _mixed([dist[own] for dist in dists], _weights(scores[others], of(others)))))

    def observable(own: NDArray[np.intp], dist: Distribution) -> Distribution:
        return first.observable(dist, rows[own])

    pieces, found = _calibrated(y, pieces, first.y, observable)
    weights = _weights(scores, held[0].weight)
    kept = np.flatnonzero(weights).tolist()
    pairs = [(trials[k].name.replace("__", "_"), trials[k].model) for k in kept]
    model = ModelAverage.of_fitted(
        pairs, [trials[k].fitted for k in kept], weights[kept], scores[:, kept], rows, "folds of the study", found
    )
    trial = Trial(
        name, model, first.X, first.y, first.task, first.seed, support=first.support, weight=first.weight,
        event=first.event, fitted=model,
    )  # fmt: skip
    trial.parts = [(rows[own], dist) for own, dist in pieces]
    trial.measured = [first.task.rows(y[own], observable(own, dist)) for own, dist in pieces]
    trial.warned, trial.n_fits, trial.seconds = [[]], 1, perf_counter() - start
    return trial


def unlimited(dist: Distribution) -> Distribution:
    """The model's own prediction behind that of what can be observed."""
    while isinstance(dist, Limited | RightCensored):
        dist = dist.base
    return dist


def _parts(trial: Trial, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Places of the held-out rows by fold; a single fold is divided at random."""
    if len(trial.parts) > 1:
        return [np.searchsorted(rows, np.sort(own)) for own, _ in trial.parts]
    fold = even_folds(np.zeros(len(rows)), min(N_FOLDS, len(rows)))
    return [np.flatnonzero(fold == k) for k in range(fold.max() + 1)]


def _weights(scores: Array, sample_weight: Array | None) -> Array:
    weights = stacking_weights(scores, sample_weight)
    weights = np.where(weights < 0.01, 0.0, weights)
    return weights / weights.sum()


def mixed(model: ModelAverage, dists: Sequence[Distribution]) -> Distribution:
    """What a fitted average predicts if these are the predictions of its members."""
    dist, found = _mixed(dists, model.weights_), getattr(model, "calibration_", None)
    return dist if found is None else found(dist)


def _mixed(dists: Sequence[Distribution], weights: Array) -> Distribution:
    """The mixture; of classes, which may differ between models, the mean probabilities."""
    used = [(dist, weight) for dist, weight in zip(dists, weights, strict=True) if weight > 0]
    if len(used) == 1:
        return used[0][0]
    if not isinstance(used[0][0], Bernoulli | Categorical):
        return Mixture([dist for dist, _ in used], [weight for _, weight in used])
    n = len(used[0][0])
    # All on the same classes, by stacking the models' rows.
    whole: Any = stacked([(np.arange(n) + i * n, dist) for i, (dist, _) in enumerate(used)], n * len(used))
    probs = np.tensordot([weight for _, weight in used], whole.probs.reshape(len(used), n, -1), axes=1)
    if isinstance(whole, Bernoulli):
        return Bernoulli(np.clip(probs[:, 0], 0.0, 1.0))
    return Categorical(probs / probs.sum(axis=1, keepdims=True), classes=whole.classes)


def _calibrated(
    y: NDArray[Any],
    pieces: list[Part],
    every: NDArray[Any],
    observable: Callable[[NDArray[np.intp], Distribution], Distribution],
) -> tuple[list[Part], BetaMap | Calibration | None]:
    """The distributions, calibrated if that raises the log score by more than one standard error; and the map."""
    if len(pieces) < 2:
        return pieces, None
    if isinstance(pieces[0][1], Bernoulli | Categorical):
        return _calibrated_classes(y, pieces, len(np.unique(every)))
    # Where outcomes have probabilities, only randomized PIT values of calibrated predictions are uniform.
    values = [pit(y[own], observable(own, dist), random_state=0) for own, dist in pieces]
    maps = [BetaMap.fitted(np.concatenate(values[:k] + values[k + 1 :])) for k in range(len(pieces))]
    better = [(own, found(dist)) for (own, dist), found in zip(pieces, maps, strict=True)]
    before, after = (
        np.concatenate([observable(own, dist).log_prob(y[own]) for own, dist in each]) for each in (pieces, better)
    )
    lead = gap(after, before)
    if not lead.mean > lead.error:
        return pieces, None
    return better, BetaMap.fitted(np.concatenate(values))


def _calibrated_classes(y: NDArray[Any], pieces: list[Part], n_classes: int) -> tuple[list[Part], Calibration | None]:
    found, fold = forecast(y, stacked(pieces, len(y))), np.empty(len(y), dtype=np.intp)
    if len(found.classes) < n_classes:
        # If rows are in time order, the last may have a class that no fold knows.
        return pieces, None
    for k, (own, _) in enumerate(pieces):
        fold[own] = k
    weight = np.ones(len(y))
    chosen, _ = choose_calibration(found.table, found.codes, weight, fold, "auto")
    if chosen.method == "none":
        return pieces, None
    better: list[Part] = []
    for k, (own, dist) in enumerate(pieces):
        rest = fold != k
        map_ = Calibration.fit(chosen.method, found.table[rest], found.codes[rest], weight[rest])
        table = map_(found.table[own])
        is_binary = isinstance(dist, Bernoulli)
        better.append((own, Bernoulli(table[:, 1]) if is_binary else Categorical(table, classes=found.classes)))
    return better, chosen
