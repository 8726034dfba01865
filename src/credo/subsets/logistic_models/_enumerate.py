"""The posterior over subsets of few columns, by looking at every one of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from scipy.special import logsumexp

from credo.deadlines import carried, check
from credo.linalg import n_threads
from credo.subsets._model_prior import ModelPrior
from credo.subsets._models import ModelPosterior
from credo.subsets.logistic_models._modes import ClassTask, Mode


def enumerate_class_models(task: ClassTask, prior: ModelPrior, *, n_models: int) -> ModelPosterior:
    """The posterior over all subsets of the columns, each mode searched from that of a subset with one column less."""
    empty = task.mode(())
    roots = [task.mode((j,), near=empty) for j in range(task.n_columns)]
    with ThreadPoolExecutor(n_threads(), thread_name_prefix="credo-subsets") as pool:
        parts = list(pool.map(carried(partial(_family, task)), roots))
    modes = {mode.model: mode for part in [[empty], *parts] for mode in part}
    models = sorted(modes, key=lambda model: (len(model), model))
    evidence = np.array([modes[model].log_evidence for model in models])
    sizes = np.array([len(model) for model in models])
    joint = evidence + prior.log_prob(sizes)
    log_mass = float(logsumexp(joint))
    probability = np.exp(joint - log_mass)
    inclusion, by_size = np.zeros(task.n_columns), np.zeros(task.n_columns + 1)
    for model, share in zip(models, probability.tolist(), strict=True):
        inclusion[list(model)] += share
        by_size[len(model)] += share
    order = np.argsort(-joint, kind="stable")[:n_models]
    best = [max(np.flatnonzero(sizes == k), key=lambda place: evidence[place]) for k in range(task.n_columns + 1)]
    return ModelPosterior(
        inclusion=np.minimum(inclusion, 1.0),
        models=tuple(models[place] for place in order),
        probability=probability[order],
        log_evidence=evidence[order],
        log_mass=log_mass,
        size_probability=by_size,
        best_by_size=tuple(models[place] for place in best),
        diagnostics={
            "converged": all(mode.converged for mode in modes.values()),
            "message": f"converged; all {len(models)} models were evaluated",
            "n_visited": len(models),
        },
    )


def _family(task: ClassTask, root: Mode) -> list[Mode]:
    """A model and all that follow by adding columns behind its last."""
    waiting, found = [root], []
    while waiting:
        check()
        mode = waiting.pop()
        # The curvature isn't needed any more, and 2ᵈ of them would fill the memory.
        found.append(Mode(mode.model, np.empty(0), np.empty((0, 0)), mode.log_evidence, mode.gap))
        waiting += [task.mode((*mode.model, j), near=mode) for j in range(mode.model[-1] + 1, task.n_columns)]
    return found
