"""Averages of different models, weighted by evidence, by held-out scores, or equally."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.utils.metaestimators import _BaseComposition, available_if

from credo.core.estimator import (
    Description,
    Evidence,
    Result,
    choice,
    class_probabilities,
    encode_labels,
    evidence_of,
    take_columns,
)
from credo.core.fields import Axes, Probabilities, Sometimes, Where
from credo.core.frames import Table
from credo.core.learning import stacking_weights
from credo.core.seeds import generator
from credo.core.wording import listing, whole_percent
from credo.distributions import Distribution
from credo.ensemble._base import (
    Attempt,
    Ensemble,
    Pairs,
    dist_of,
    mean_probabilities,
    mixture_of,
    pairs_of,
    require_distribution,
    result_of,
    successful,
    try_fit,
    variance_parts,
)
from credo.ensemble._diagnosis import Diagnosis, ErrorSums
from credo.ensemble._held_out import by_folds, leave_one_out
from credo.ensemble.calibration import BetaMap, Calibration
from credo.metrics import final_step, point

Array = NDArray[np.float64]

# How many members the words name, those of largest weight.
_NAMED = 3
# From exact to approximate; an average of several is as approximate as the last.
_METHODS = ("exact", "ep", "laplace", "elbo", "bic")


def _regresses(model: Any) -> bool:
    if model._predicts_classes:
        raise AttributeError(f"this {type(model).__name__} is made of classifiers, whose predictions have no variance")
    return True


class WeightedModels(Ensemble, _BaseComposition):
    """Σ_k w_k p_k(y | x) of named models, with weights that a subclass chooses."""

    estimators: Annotated[Any, Where(pairs_of, "pairs of a name and an estimator")]
    estimators_: Annotated[list[Any], Axes("k")]
    names_: Annotated[list[str], Axes("k")]
    weights_: Annotated[Array, Axes("k"), Probabilities]

    _equation = "p(y | x) = Σ wₖ pₖ(y | x)"

    def describe(self, *, level: float = 0.95) -> Description:
        members = zip(self.names_, map(float, self.weights_), strict=True)
        return replace(super().describe(level=level), members=tuple(members))

    def _words(self) -> str:
        order = np.argsort(-self.weights_, kind="stable")
        shown = [f"{self.names_[k]} ({whole_percent(float(self.weights_[k]))})" for k in order[:_NAMED]]
        return f"Average of {listing([*shown, f'{len(order) - _NAMED} more'] if len(order) > _NAMED else shown)}"

    @property
    def _needs_distributions(self) -> bool:
        return not self._predicts_classes

    def _fitted(self) -> Pairs:
        return list(zip(self.names_, self.estimators_, strict=True))

    def _estimators(self) -> Sequence[Any]:
        return [estimator for _, estimator in pairs_of(self.estimators)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments; with `deep`, also each estimator by its name, and its parameters."""
        if isinstance(self.estimators, list):
            return self._get_params("estimators", deep=deep)
        return super().get_params(deep=deep)

    def set_params(self, **parameters: Any) -> Self:
        """Set arguments, estimators by name, or parameters of theirs, such as ``trees__max_depth``."""
        if isinstance(self.estimators, list):
            return self._set_params("estimators", **parameters)
        return super().set_params(**parameters)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[Any] | None = None,
    ) -> Self:
        """Fit a clone of every estimator to all rows, then choose the weights.

        An estimator that fails is left out, with a warning that names it.

        Parameters
        ----------
        X : whatever the estimators take
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is equivalent to k copies of the row.
        column_groups : sequence of labels, optional
            Passed to estimators whose `fit` takes it, such as `GPRegressor`.
        """
        self._reset()
        pairs = pairs_of(self.estimators)
        # set_params couldn't distinguish names of arguments or with "__".
        self._validate_names([name for name, _ in pairs])
        self._check_arguments([name for name, _ in pairs])
        rows, target, weight = self._training(X, y, sample_weight)
        attempts = [try_fit(*pair, rows, target, weight, column_groups) for pair in pairs]
        kept = successful(attempts)
        if not self._predicts_classes:
            for one in kept:
                require_distribution(one.name, one.model)
        self._weigh(attempts, rows, target, weight)
        self.result_ = result_of(attempts)
        take_columns(self, self.estimators_[0])
        return self

    def _check_arguments(self, names: Sequence[str]) -> None:
        """Raise an error for wrong constructor arguments."""

    def _weigh(self, attempts: list[Attempt], X: Any, y: NDArray[Any], weight: Array | None) -> None:
        raise NotImplementedError

    def _take(self, kept: Sequence[Attempt], weights: Array) -> None:
        self.names_, self.estimators_ = [one.name for one in kept], [one.model for one in kept]
        self.weights_ = weights / weights.sum()

    @available_if(_regresses)
    def variance_parts(self, X: Any) -> tuple[Array, Array]:
        """The variance of each row in two parts: the mean variance within members, and that between their means."""
        rows = self._predict_rows(X)
        return variance_parts([dist_of(model, rows, latent=False) for model in self.estimators_], self.weights_)

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        models = zip(self.estimators_, self.weights_, strict=True)
        parts = [dist_of(model, rows, latent=latent) for model, weight in models if weight > 0]
        return mixture_of(parts, self.weights_[self.weights_ > 0])

    def _probabilities(self, rows: Any) -> Array:
        return mean_probabilities(self.estimators_, self.weights_, rows, self.classes_)


class ModelAverage(WeightedModels):
    """Bayesian model averaging, or stacking: a weighted mixture of the predictions of different models.

        p(y | x, D) = Σ_h p(y | x, h, D) p(h | D),    p(h | D) ∝ p(D | h) p(h)

    With ``weights="evidence"``, one of the models is assumed to have generated all of the data; the weights are the
    models' posterior probabilities, which concentrate on one model as rows are added. With ``weights="stacking"``, the
    weights maximize the mean log score Σ_i ln Σ_h w_h p(y_i | x_i, h, D₋ᵢ) of held-out rows (Yao et al. 2018): the
    models are combined, and several may keep a weight even with many rows.

    Parameters
    ----------
    estimators : list of (name, estimator) pairs, or mapping from name to estimator
        All regressors or all classifiers, each with a predictive distribution. The evidence of a pipeline is that of
        its last step.
    prior : mapping from name to probability, or sequence of probabilities, optional
        p(h); by default all models are equally probable. Only for ``weights="evidence"``.
    weights : {"evidence", "stacking"}, default "evidence"
        Evidences are comparable only if the models have the same `evidence_base_`.
    cv : int, splitter or iterable of splits, default 5
        The folds of "stacking". If all models have a closed form of the leave-one-out prediction (least squares,
        Bayesian linear regression, Gaussian processes; at the hyperparameters of all rows), that is used instead.
    random_state : int, Generator or None, default None
        Shuffles the folds.

    Attributes
    ----------
    weights_ : array of shape (n_models,), in the order of `names_`
    names_, estimators_ : the names of the models that were fitted, and the fitted models
    log_evidence_ : ln Σ_h p(D | h) p(h), with `evidence_method_` and `evidence_base_` (for "evidence")
    held_out_scores_ : array of shape (n_rows, n_models), log scores of held-out rows (for "stacking")
    held_out_rows_ : their row numbers, not counting rows of weight zero (for "stacking")
    held_out_method_ : "leave-one-out" or, for example, "5 folds" (for "stacking")
    calibration_ : the map that calibrates the predictions of an average made by a study, or None
    classes_ : the labels, for classifiers
    result_ : how the fits ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression, Polynomial
    >>> from credo.ensemble import ModelAverage
    >>> from sklearn.pipeline import make_pipeline
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> y = x[:, 0] ** 2 + 0.1 * np.random.default_rng(0).normal(size=40)
    >>> line, parabola = (make_pipeline(Polynomial(degree), BayesianLinearRegression()) for degree in (1, 2))
    >>> model = ModelAverage([("line", line), ("parabola", parabola)]).fit(x, y)
    >>> model.weights_.round(3)
    array([0., 1.])
    """

    log_evidence_: float
    evidence_method_: str
    evidence_base_: str
    held_out_scores_: Array
    held_out_rows_: NDArray[np.intp]
    held_out_method_: str
    calibration_: Annotated[BetaMap | Calibration | None, Sometimes] = None

    def __init__(
        self,
        estimators: Any,
        *,
        prior: Mapping[str, float] | Sequence[float] | NDArray[Any] | None = None,
        weights: Literal["evidence", "stacking"] = "evidence",
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.prior = prior
        self.weights = weights
        self.cv = cv
        self.random_state = random_state

    @classmethod
    def of_fitted(
        cls,
        pairs: Pairs,
        models: Sequence[Any],
        weights: Array,
        scores: Array,
        rows: NDArray[np.intp],
        method: str,
        calibration: BetaMap | Calibration | None = None,
    ) -> Self:
        """The stacking average of models that are fitted already, with weights from these held-out log scores.

        Its predictions are then calibrated by a map, if one is given.
        """
        found = cls(pairs, weights="stacking")
        found._take([Attempt(name, model) for (name, _), model in zip(pairs, models, strict=True)], weights)
        found.held_out_scores_, found.held_out_rows_, found.held_out_method_ = scores, rows, method
        found.calibration_ = calibration
        found.result_ = Result(True, 1, f"average of {', '.join(found.names_)}")
        take_columns(found, models[0])
        if found._predicts_classes:
            found.classes_ = models[0].classes_
        return found

    def summary(self, *, level: float = 0.95) -> Table:
        """Each model with its weight and its log evidence or mean held-out log score."""
        stacked = evidence_of(self) is None
        evidences = filter(None, map(evidence_of, self.estimators_))
        values = self.held_out_scores_.mean(axis=0) if stacked else [one.value for one in evidences]
        how = f"held-out log score ({self.held_out_method_})" if stacked else "log evidence"
        notes = () if stacked else (f"log evidence of the average {self.log_evidence_:.2f}; {self.evidence_base_}",)
        return Table(
            f"Model average, weights by {self.weights}",
            {
                "parameter": [f"weight of {name}" for name in self.names_],
                "estimate": self.weights_.tolist(),
                "sd": [None] * len(self.names_),
                how: [float(value) for value in values],
            },
            notes=(*notes, self.result_.message),
        )

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        dist, found = super()._dist(rows, latent=latent), self.calibration_
        return found(dist) if isinstance(found, BetaMap) and not latent else dist

    def _probabilities(self, rows: Any) -> Array:
        table, found = super()._probabilities(rows), self.calibration_
        return found(table) if isinstance(found, Calibration) else table

    def _check_arguments(self, names: Sequence[str]) -> None:
        choice("weights", self.weights, ("evidence", "stacking"))
        if self.prior is not None and self.weights == "stacking":
            raise ValueError('weights="stacking" has no prior of the models: leave prior out')
        self._prior(names)

    def _prior(self, names: Sequence[str]) -> dict[str, float]:
        if self.prior is None:
            return dict.fromkeys(names, 1.0 / len(names))
        given = self.prior if isinstance(self.prior, Mapping) else None
        if given is None:
            values = np.atleast_1d(np.asarray(self.prior, dtype=np.float64)).tolist()
            if len(values) != len(names):
                raise ValueError(f"prior has {len(values)} probabilities for {len(names)} estimators")
            given = dict(zip(names, values, strict=True))
        if set(given) != set(names):
            odd = sorted(set(given) ^ set(names))
            raise ValueError(f"prior must name the estimators {', '.join(names)}; {odd[0]!r} doesn't match")
        table = np.array([given[name] for name in names], dtype=np.float64)
        if not (table >= 0).all() or abs(table.sum() - 1.0) > 1e-6:
            raise ValueError(f"prior must be probabilities that sum to one; got {table.tolist()}")
        return dict(zip(names, table.tolist(), strict=True))

    def _weigh(self, attempts: list[Attempt], X: Any, y: NDArray[Any], weight: Array | None) -> None:
        if self.weights == "stacking":
            self._stack(attempts, X, y, weight)
        else:
            self._average([one for one in attempts if one.error is None], self._prior([one.name for one in attempts]))

    def _average(self, kept: Sequence[Attempt], prior: Mapping[str, float]) -> None:
        """Weights p(h | D) in the log domain."""
        parts = _comparable(kept)
        p = np.array([prior[one.name] for one in kept])
        if not p.any():
            raise ValueError("the models that could be fitted have prior probability zero")
        with np.errstate(divide="ignore"):
            joint = np.log(p / p.sum()) + [part.value for part in parts]
        self.log_evidence_ = float(logsumexp(joint))
        if not np.isfinite(self.log_evidence_):
            raise ValueError(f"the log evidences are not finite: {[part.value for part in parts]}")
        self.evidence_method_ = max((part.method for part in parts if part.method), key=_METHODS.index)
        self.evidence_base_ = parts[0].base or "not stated"
        self._take(kept, np.exp(joint - self.log_evidence_))

    def _stack(self, attempts: list[Attempt], X: Any, y: NDArray[Any], weight: Array | None) -> None:
        """Weights that maximize the held-out log score; a model that fails in a fold is left out."""
        kept = [one for one in attempts if one.error is None]
        classes = self.classes_ if self._predicts_classes else None
        scores = leave_one_out([one.model for one in kept], X, y, weight) if classes is None else None
        rows, how = np.arange(len(y)), "leave-one-out"
        if scores is None:
            given = dict(pairs_of(self.estimators))
            pairs = [(one.name, given[one.name]) for one in kept]
            rng = generator(self.random_state)
            scores, rows, failed, n_folds = by_folds(pairs, X, y, weight, cv=self.cv, rng=rng, classes=classes)
            successful([one for one in kept if one.name not in {lost.name for lost in failed}] + failed)
            for lost in failed:
                attempts[[one.name for one in attempts].index(lost.name)] = lost
            kept = [one for one in attempts if one.error is None]
            order = np.argsort(rows, kind="stable")
            scores, rows, how = scores[order], rows[order], f"{n_folds} folds"
        self.held_out_scores_, self.held_out_rows_, self.held_out_method_ = scores, rows, how
        self._take(kept, stacking_weights(scores, None if weight is None else weight[rows]))


class Committee(WeightedModels):
    """The average of different models with equal weights: p(y | x) = (1/M) Σ_m p_m(y | x).

    The variance of a prediction has a part within the members and one between them (`variance_parts`).

    Parameters
    ----------
    estimators : list of (name, estimator) pairs, or mapping from name to estimator
        All regressors or all classifiers, pipelines included. Regressors need a predictive distribution; the label
        predicted by a classifier without probabilities counts as a probability of one.

    Attributes
    ----------
    weights_ : array of shape (n_members,), all equal
    names_, estimators_ : the names of the members that were fitted, and the fitted members
    classes_ : the labels, for classifiers
    result_ : how the fits ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression, GPRegressor
    >>> from credo.ensemble import Committee
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=60)
    >>> model = Committee([("line", BayesianLinearRegression()), ("process", GPRegressor())]).fit(X[:40], y[:40])
    >>> within, between = model.variance_parts(X)
    >>> bool(np.allclose(within + between, model.predict_dist(X).var))
    True
    >>> found = model.diagnosis(X[40:], y[40:])
    >>> bool(found.uncorrelated_error < found.committee_error < found.member_error)
    True
    """

    def __init__(self, estimators: Any) -> None:
        self.estimators = estimators

    def summary(self, *, level: float = 0.95) -> Table:
        """Each member with its weight."""
        lines = [(f"weight of {name}", float(w)) for name, w in zip(self.names_, self.weights_, strict=True)]
        return Table.of_estimates("Committee", lines, notes=(self.result_.message,))

    def diagnosis(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Diagnosis:
        """The errors of the members and of the committee on rows that weren't used for the fit.

        On training rows, members that overfit would look too good.
        """
        rows = self._predict_rows(X)
        if self._predicts_classes:
            sums = ErrorSums(encode_labels(y, self.classes_), len(self.classes_))
            for model in self.estimators_:
                sums.add(class_probabilities(model, rows, self.classes_))
        else:
            sums = ErrorSums(np.asarray(y, dtype=np.float64))
            for model in self.estimators_:
                sums.add(point(dist_of(model, rows, latent=False)))
        weight = None if sample_weight is None else self._weights(sample_weight, sums.target)
        found = sums.diagnosis(weight, "held-out rows")
        assert found is not None
        return found

    def _weigh(self, attempts: list[Attempt], X: Any, y: NDArray[Any], weight: Array | None) -> None:
        kept = [one for one in attempts if one.error is None]
        self._take(kept, np.ones(len(kept)))


def _comparable(kept: Sequence[Attempt]) -> list[Evidence]:
    """The evidences of the models; raises an error that names the exception unless all have the same base."""
    advice, found = 'use weights="stacking", which compares held-out log scores', []
    for one in kept:
        evidence = evidence_of(one.model)
        if evidence is None:
            name = type(final_step(one.model)).__name__
            raise ValueError(f"{one.name} ({name}) has no evidence: leave it out, or {advice}")
        found.append(evidence)
    bases = [evidence.base or "not stated" for evidence in found]
    usual = max(bases, key=bases.count)
    odd = next((i for i, base in enumerate(bases) if base != usual), None)
    if odd is not None:
        other = bases.index(usual)
        raise ValueError(
            f"the evidence of {kept[odd].name} is not comparable with that of {kept[other].name}: its base is "
            f"({bases[odd]}), and theirs ({usual}). Leave it out, or {advice}"
        )
    return found
