"""The members of an ensemble: their names, their fits, of which some may fail, and their predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from credo import deadlines
from credo.distributions import Distribution, Mixture, Normal
from credo.ensemble._base import class_probabilities, fit_arguments, latent_dist
from credo.estimator import FitWarning, Result
from credo.metrics import final_step, predictive
from credo.notices import collected, on_one_line, warn

Array = NDArray[np.float64]
Pairs = list[tuple[str, Any]]


@dataclass
class Attempt:
    """The fit of one member: the fitted estimator or the error, and warnings."""

    name: str
    model: Any = None
    error: Exception | None = None
    warned: Sequence[str] = ()


def pairs_of(estimators: Any) -> Pairs:
    """(name, estimator) pairs, from such a list or a mapping; names must differ, and all must have one task."""
    pairs = list(estimators.items()) if isinstance(estimators, Mapping) else estimators
    valid = isinstance(pairs, list | tuple) and len(pairs) > 0
    if not valid or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"estimators must be a list of (name, estimator) pairs with at least one; got {estimators!r}")
    for name, estimator in pairs:
        if not isinstance(name, str) or not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
            raise ValueError(f"estimators must be pairs of a name and an estimator; got ({name!r}, {estimator!r})")
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"the names of estimators must differ, but {twice[0]!r} occurs more than once")
    odd = [name for name, estimator in pairs if is_classifier(estimator) != is_classifier(pairs[0][1])]
    if odd:
        kinds = ("a classifier", "a regressor") if is_classifier(pairs[0][1]) else ("a regressor", "a classifier")
        raise ValueError(f"{pairs[0][0]!r} is {kinds[0]} and {odd[0]!r} {kinds[1]}: they can't predict one target")
    return [(name, estimator) for name, estimator in pairs]


def attempt(
    name: str, estimator: Any, X: Any, y: Any, weight: Array | None = None, column_groups: Sequence[Any] | None = None
) -> Attempt:
    """Fit a clone of the estimator; an error becomes part of the result."""
    deadlines.check()
    model = clone(estimator)
    with collected() as caught:
        try:
            model.fit(X, y, **fit_arguments(model, weight, column_groups))
        # A failure of one member must not stop the others; it is reported.
        except Exception as error:
            return Attempt(name, error=error)
    return Attempt(name, model, warned=[str(notice) for notice in caught])


def survivors(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts that succeeded; warns about the others by name, and raises the first error if none is left."""
    failed = [one for one in attempts if one.error is not None]
    if len(failed) == len(attempts):
        error = failed[0].error
        assert error is not None
        if len(failed) > 1:
            error.add_note(f"None of the {len(failed)} members could be fitted; this is the error of {failed[0].name}.")
        raise error
    for message, names in _by_message((one.name, [on_one_line(one.error)]) for one in failed if one.error):
        warn(f"{_listed(names)} failed and {_are(names)} left out: {message}", FitWarning, stacklevel=3)
    kept = [one for one in attempts if one.error is None]
    for message, names in _by_message((one.name, one.warned) for one in kept):
        warn(f"{_listed(names)}: {message}", FitWarning, stacklevel=3)
    return kept


def result_of(attempts: Sequence[Attempt]) -> Result:
    """How the fits of all members ended."""
    kept = [one for one in attempts if one.error is None]
    errors = {one.name: one.error for one in attempts if one.error is not None}
    ended = {one.name: getattr(final_step(one.model), "result_", None) for one in kept}
    open_ended = [name for name, result in ended.items() if result is not None and not result.converged]
    parts = [f"{len(kept)} member{'s' * (len(kept) != 1)} fitted"]
    if errors:
        parts.append(f"{_listed(list(errors))} failed: {on_one_line(next(iter(errors.values())))}")
    if open_ended:
        result = ended[open_ended[0]]
        assert result is not None
        parts.append(f"{_listed(open_ended)} did not converge: {result.message}")
    return Result(not open_ended, len(kept), "; ".join(parts))


def dist_of(model: Any, X: Any, *, latent: bool, noise_std: float | None = None) -> Distribution:
    """The predictive distribution of a fitted regressor.

    With a `noise_std`, that of a model that predicts numbers only.
    """
    if noise_std is not None:
        return Normal(np.asarray(model.predict(X), dtype=np.float64), 0.0 if latent else noise_std)
    return latent_dist(model, X) if latent else predictive(model, X)


def mixture_of(parts: Sequence[Distribution], weights: Array) -> Distribution:
    """The mixture of the parts that have a weight."""
    used = [part for part, weight in zip(parts, weights, strict=True) if weight > 0]
    return used[0] if len(used) == 1 else Mixture(used, weights[weights > 0])


def mean_probabilities(models: Sequence[Any], weights: Array, X: Any, classes: NDArray[Any]) -> Array:
    """Σ_k w_k p_k(class | x)."""
    total: Any = 0.0
    for model, weight in zip(models, weights, strict=True):
        if weight > 0:
            total = total + weight * class_probabilities(model, X, classes)
    return total


def variance_parts(parts: Sequence[Distribution], weights: Array) -> tuple[Array, Array]:
    """Σ_k w_k var_k and Σ_k w_k (mean_k − mean)²: the variance of a mixture is their sum."""
    used = [(part, weight) for part, weight in zip(parts, weights, strict=True) if weight > 0]
    means = np.stack([part.mean for part, _ in used])
    share = np.array([weight for _, weight in used])
    within = share @ np.stack([part.var for part, _ in used])
    return within, share @ (means - share @ means) ** 2


def require_distribution(name: str, model: Any) -> None:
    """Raise an error that names the member, if it is a regressor that predicts numbers only."""
    last = final_step(model)
    if not hasattr(last, "predict_dist") and "return_std" not in signature(last.predict).parameters:
        raise ValueError(
            f"{name}: {type(last).__name__} predicts numbers without a distribution: use one of Credo's models, or "
            "wrap it in Conformal"
        )


def check_members(models: Any, classes: NDArray[Any] | None) -> None:
    """Raise a ValueError unless the members of a loaded ensemble are fitted to its task and its classes."""
    if not isinstance(models, list) or not models or not all(hasattr(model, "predict") for model in models):
        raise ValueError("estimators_ must be a list of estimators")
    if any(is_classifier(model) != (classes is not None) for model in models):
        raise ValueError("estimators_ must have the task of the ensemble")
    if classes is None:
        return
    if classes.ndim != 1 or not np.array_equal(np.unique(classes), classes):
        raise ValueError("classes_ must be different labels in order")
    if not all(np.isin(model.classes_, classes).all() for model in models):
        raise ValueError("estimators_ know classes that the ensemble doesn't have")


def _by_message(said: Any) -> list[tuple[str, list[str]]]:
    """Each message with the names that it belongs to."""
    found: dict[str, list[str]] = {}
    for name, messages in said:
        for message in dict.fromkeys(messages):
            found.setdefault(message, []).append(name)
    return list(found.items())


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
