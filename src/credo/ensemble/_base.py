"""Base classes of models made of other models, and the fits and predictions of their members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, check_array, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from credo.core import deadlines
from credo.core.estimator import (
    Estimator,
    FitWarning,
    Regressor,
    Result,
    check_labels,
    check_magnitude,
    class_probabilities,
    ending_of,
    has_distribution,
    is_predictor,
    require_no_missing,
    unmasked,
)
from credo.core.fields import Axes, If, Several, Sorted
from credo.core.notices import collected, on_one_line, warn
from credo.core.wording import first_few
from credo.distributions import Bernoulli, Categorical, Distribution, Mixture, Normal
from credo.metrics import final_step, point, predictive

Array = NDArray[np.float64]


def _classifies(model: Any) -> bool:
    if not model._predicts_classes:
        raise AttributeError(f"this {type(model).__name__} is made of regressors and has no class probabilities")
    return True


class MetaEstimator(Estimator):
    """A model that passes X on to other estimators unchanged, and so accepts what all of them accept."""

    def _estimators(self) -> Sequence[Any]:
        """The unfitted estimators, as they were given."""
        raise NotImplementedError

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return all(get_tags(estimator).input_tags.sparse for estimator in self._estimators())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [get_tags(estimator).input_tags for estimator in self._estimators()]
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, all(getattr(one, name) for one in inner))
        return tags

    def _fitted(self) -> Pairs:
        """The fitted members, with their names."""
        return [(f"member {i}", model) for i, model in enumerate(self.estimators_)]

    @property
    def _labels(self: Any) -> NDArray[Any] | None:
        """The classes of classifiers."""
        return self.classes_ if is_classifier(self) else None

    @property
    def _needs_distributions(self) -> bool:
        """Whether each member has to predict a distribution."""
        return False

    def _check_state(self) -> None:
        classes = self._labels
        for name, model in self._fitted():
            if not is_predictor(model):
                raise ValueError(f"{name} must be a fitted estimator")
            if is_classifier(model) != (classes is not None):
                raise ValueError(f"{name} must have the task of the ensemble")
            if classes is not None and not np.isin(model.classes_, classes).all():
                raise ValueError(f"{name} knows classes that the ensemble doesn't have")
            if self._needs_distributions:
                require_distribution(name, model)

    def _predict_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return unmasked(X, name="X")


class Ensemble(MetaEstimator):
    """A model made of other models, which are all regressors or all classifiers.

    A subclass defines `fit`, `summary`, `_estimators`, and `_dist` (of validated rows) for regressors and
    `_probabilities` for classifiers.
    """

    classes_: Annotated[NDArray[Any], Axes("c"), Sorted, Several, If("_predicts_classes")]

    @property
    def _predicts_classes(self) -> bool:
        return is_classifier(self._estimators()[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        first = get_tags(self._estimators()[0])
        tags.estimator_type, tags.target_tags.required = first.estimator_type, True
        tags.regressor_tags, tags.classifier_tags = first.regressor_tags, first.classifier_tags
        return tags

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The most probable label of each row; or the mean, on request with the standard deviation."""
        rows = self._predict_rows(X)
        if self._predicts_classes:
            return self.classes_[np.argmax(self._probabilities(rows), axis=1)]
        dist = self._dist(rows, latent=False)
        return (point(dist), np.array(dist.std)) if return_std else point(dist)

    def predict_dist(self, X: Any, *, latent: bool = False) -> Distribution:
        """The predictive distribution of a new observation at each row.

        Parameters
        ----------
        X : whatever the estimators take
        latent : bool, default False
            For regressors: the distribution of f(x), without the noise of an observation.
        """
        rows = self._predict_rows(X)
        if not self._predicts_classes:
            return self._dist(rows, latent=latent)
        table = self._probabilities(rows)
        if self.classes_.dtype.kind in "biuf" and np.array_equal(self.classes_, [0, 1]):
            return Bernoulli(table[:, 1])
        return Categorical(table, classes=self.classes_)

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> Array:
        """The probability of each label, in the order of `classes_`: shape (n_samples, n_classes)."""
        return self._probabilities(self._predict_rows(X))

    @available_if(_classifies)
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R² of the predicted means, or the accuracy of the predicted labels."""
        measure = accuracy_score if self._predicts_classes else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        raise NotImplementedError

    def _probabilities(self, rows: Any) -> Array:
        raise NotImplementedError

    def _training(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[Any], Array | None]:  # fmt: skip
        """X unchanged, the targets or labels, and the weights; rows of weight zero are removed."""
        return (labelled_rows if self._predicts_classes else target_rows)(self, X, y, sample_weight)


def target_rows(
    owner: Estimator, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Any, Array, Array | None]:
    """X unchanged, y and weights as arrays of numbers; rows of weight zero are removed."""
    _require(owner, y)
    y = require_no_missing(y)
    try:
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=owner)
    except ValueError:
        Regressor._reject_text_targets(y)
        raise
    target = np.asarray(column_or_1d(values, warn=True), dtype=np.float64)
    check_magnitude(target, name="y")
    return _weighted(owner, X, target, sample_weight)


def labelled_rows(
    owner: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Any, NDArray[Any], Array | None]:
    """X unchanged, labels and weights; rows of weight zero are removed. Sets `classes_`, of which two are needed."""
    _require(owner, y)
    rows, labels, weight = _weighted(owner, X, check_labels(y), sample_weight)
    if not len(labels):
        raise ValueError(f"{type(owner).__name__} needs rows to learn from; got 0 samples (n_samples = 0)")
    owner.classes_ = np.unique(labels)
    if len(owner.classes_) < 2:
        every = f"but every label is {owner.classes_.tolist()[0]!r}"
        raise ValueError(f"{type(owner).__name__} needs at least two classes, {every} (1 class)")
    return rows, labels, weight


def fit_arguments(estimator: Any, weight: Array | None, column_groups: Sequence[Any] | None = None) -> dict[str, Any]:
    """Weights and column groups as arguments of the estimator's `fit`; groups only if it takes them."""
    last = final_step(estimator)
    step = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    arguments: dict[str, Any] = {}
    if weight is not None:
        if not has_fit_parameter(last, "sample_weight"):
            raise ValueError(
                f"{type(last).__name__}.fit takes no sample_weight: use another estimator, such as a decision tree or "
                "a linear model"
            )
        arguments[f"{step}sample_weight"] = weight
    if column_groups is not None and not step and has_fit_parameter(estimator, "column_groups"):
        arguments["column_groups"] = column_groups
    return arguments


def latent_dist(model: Any, X: Any) -> Distribution:
    """The distribution of f(x) under a model, or the last step of a pipeline."""
    if isinstance(model, Pipeline):
        return latent_dist(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    found: Distribution = final_step(model).predict_dist(X, latent=True)
    return found


def _require(owner: Any, y: Any) -> None:
    if y is None:
        raise ValueError(f"{type(owner).__name__} requires y to be passed, but the target y is None")


def _weighted(
    owner: Any, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Any, NDArray[Any], Array | None]:
    # scikit-learn's estimators would ignore a mask.
    X = unmasked(X, name="X")
    check_consistent_length(X, y)
    if sample_weight is None:
        return X, y, None
    weight = owner._weights(sample_weight, y[:, None])
    used = np.flatnonzero(weight > 0)
    if len(used) == len(weight):
        return X, y, weight
    return _safe_indexing(X, used), y[used], weight[used]


Pairs = list[tuple[str, Any]]


@dataclass
class Attempt:
    """The fit of one member: the fitted estimator or the error, and warnings."""

    name: str
    model: Any = None
    error: Exception | None = None
    warned: Sequence[str] = ()


def pairs_of(estimators: Any) -> Pairs:
    """(name, estimator) pairs, from such a list or a mapping; names must differ, and all must be of one kind."""
    pairs = list(estimators.items()) if isinstance(estimators, Mapping) else estimators
    valid = isinstance(pairs, list | tuple) and len(pairs) > 0
    if not valid or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"estimators must be a list of (name, estimator) pairs with at least one; got {estimators!r}")
    for name, estimator in pairs:
        if not isinstance(name, str) or not is_predictor(estimator):
            raise ValueError(f"estimators must be pairs of a name and an estimator; got ({name!r}, {estimator!r})")
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"the names of estimators must differ, but {twice[0]!r} occurs more than once")
    odd = [name for name, estimator in pairs if is_classifier(estimator) != is_classifier(pairs[0][1])]
    if odd:
        kinds = ("a classifier", "a regressor") if is_classifier(pairs[0][1]) else ("a regressor", "a classifier")
        raise ValueError(f"{pairs[0][0]!r} is {kinds[0]} and {odd[0]!r} {kinds[1]}: all must be of one kind")
    return [(name, estimator) for name, estimator in pairs]


def try_fit(
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


def successful(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts that succeeded; warns about the others by name, and raises the first error if all failed."""
    failed = [one for one in attempts if one.error is not None]
    if len(failed) == len(attempts):
        error = failed[0].error
        assert error is not None
        if len(failed) > 1:
            error.add_note(f"None of the {len(failed)} members could be fitted; this is the error of {failed[0].name}.")
        raise error
    for message, names in _by_message((one.name, [on_one_line(one.error)]) for one in failed if one.error):
        warn(f"{first_few(names)} failed and {_are(names)} left out: {message}", FitWarning, stacklevel=3)
    kept = [one for one in attempts if one.error is None]
    for message, names in _by_message((one.name, one.warned) for one in kept):
        warn(f"{first_few(names)}: {message}", FitWarning, stacklevel=3)
    return kept


def result_of(attempts: Sequence[Attempt]) -> Result:
    """How the fits of all members ended."""
    kept = [one for one in attempts if one.error is None]
    errors = {one.name: one.error for one in attempts if one.error is not None}
    ended = {one.name: ending_of(one.model) for one in kept}
    open_ended = [name for name, result in ended.items() if result is not None and not result.converged]
    parts = [f"{len(kept)} member{'s' * (len(kept) != 1)} fitted"]
    if errors:
        parts.append(f"{first_few(list(errors))} failed: {on_one_line(next(iter(errors.values())))}")
    if open_ended:
        result = ended[open_ended[0]]
        assert result is not None
        parts.append(f"{first_few(open_ended)} did not converge: {result.message}")
    return Result(not open_ended, len(kept), "; ".join(parts))


def dist_of(model: Any, X: Any, *, latent: bool, noise_std: float | None = None) -> Distribution:
    """The predictive distribution of a fitted regressor.

    `noise_std` is for a model that predicts numbers only.
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
    if not has_distribution(model):
        raise ValueError(
            f"{name}: {type(final_step(model)).__name__} predicts numbers without a distribution: use one of Credo's "
            "models, or wrap it in Conformal"
        )


def _by_message(said: Any) -> list[tuple[str, list[str]]]:
    """Each message with the names that it belongs to."""
    found: dict[str, list[str]] = {}
    for name, messages in said:
        for message in dict.fromkeys(messages):
            found.setdefault(message, []).append(name)
    return list(found.items())


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
