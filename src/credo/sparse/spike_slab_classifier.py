"""Logistic regression averaged over all subsets of its columns.

The variance v of the slab has a grid of values, each with its posterior over the subsets:

    p(γ | y) = Σ_v p(v | y) p(γ | y, v),    p(v | y) ∝ p(v) Σ_γ p(γ) p(y | γ, v)

The prior of v is the half-Cauchy density of the standard deviation √v at the points of the grid, with scale 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    Classifier,
    ConvergenceWarning,
    FitWarning,
    Result,
    choice,
    evidence_base,
    positive,
    positive_integer,
)
from credo.core.fields import Axes, Finite, Indices, Inner, NonNegative, Positive, Sorted
from credo.core.linalg import Factor
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.likelihoods.bernoulli import expected_sigmoid_fast
from credo.sparse._average import Average, Part, moments_of
from credo.sparse._chain import sample_logistic
from credo.sparse._design import DEPENDENT, Dependence, dependence_of
from credo.sparse._laplace import Dataset, Mode, Standard, enumerate_logistic
from credo.sparse._models import Model, ModelPosterior, ModelPrior, recommended_prior
from credo.sparse.spike_slab import SubsetEstimator, constant_messages

Array = NDArray[np.float64]

# The grid of slab variances is the ratio to these powers; the prior of the standard deviation has this scale.
_POWERS, _RATIO, _SCALE = range(-1, 5), 8.0, 2.0
# Steps of the short chains that find the variance if models are sampled.
_PILOT_STEPS = 500

Search = Callable[[Dataset, int | None], ModelPosterior]


@dataclass(frozen=True)
class SlabAverage:
    """The posterior over subsets averaged over slab variances, and the parts that it is averaged over."""

    found: ModelPosterior
    parts: list[tuple[Dataset, ModelPosterior]]
    weights: Array

    @property
    def variance(self) -> float:
        """The most probable variance of the slab."""
        return self.parts[int(np.argmax(self.weights))][0].variance

    def modes(self, enough: float) -> tuple[list[Mode], Array]:
        """The modes of the most probable pairs of subset and variance, up to this total probability."""
        pairs = [
            (share * weight, data, model)
            for share, (data, found) in zip(self.weights, self.parts, strict=True)
            for model, weight in zip(*found.averaged, strict=True)
        ]
        pairs.sort(key=lambda pair: -pair[0])
        weights = np.array([pair[0] for pair in pairs])
        stop = int(np.searchsorted(np.cumsum(weights), enough)) + 1
        return [data.mode(model) for _, data, model in pairs[:stop]], weights[:stop]


def average_slabs(data: Dataset, search: Search, *, learn: bool, n_models: int, sampled: bool) -> SlabAverage:
    """The posterior at one variance or averaged over the grid.

    Sampled models are those at the best variance, found by short chains.
    """
    if not learn:
        found = search(data, None)
        return SlabAverage(found, [(data, found)], np.ones(1))
    known: dict[int, ModelPosterior] = {}
    joint: dict[int, float] = {}
    priors = dict(zip(_POWERS, _log_prior(), strict=True))

    def visit(k: int) -> float:
        known[k] = search(replace(data, variance=_RATIO**k), _PILOT_STEPS if sampled else None)
        joint[k] = known[k].log_mass + priors[k]
        return joint[k]

    visit(0)
    for side in (1, -1):
        k = side
        while k in _POWERS and visit(k) > max(joint.values()) - 4.0:
            k += side
    if sampled:
        best = max(joint, key=joint.__getitem__)
        at = replace(data, variance=_RATIO**best)
        found = search(at, None)
        joint[best] = found.log_mass + priors[best]
        total = float(logsumexp(list(joint.values())))
        return SlabAverage(replace(found, log_mass=total), [(at, found)], np.ones(1))
    powers = sorted(joint)
    logs = np.array([joint[k] for k in powers])
    weights = np.exp(logs - logsumexp(logs))
    parts = [(replace(data, variance=_RATIO**k), known[k]) for k in powers]
    return SlabAverage(
        _merged(parts, weights, float(logsumexp(logs)), [priors[k] for k in powers], n_models), parts, weights
    )


def _log_prior() -> Array:
    """ln p(v) on the grid: √v/(4 + v) up to a factor."""
    x = 0.5 * np.log(_RATIO) * np.array(_POWERS) - math.log(_SCALE)
    logs = -np.logaddexp(x, -x)
    return logs - logsumexp(logs)


def _merged(
    parts: list[tuple[Dataset, ModelPosterior]], weights: Array, log_mass: float, priors: list[float], n_models: int
) -> ModelPosterior:
    """Probabilities averaged over the variances; ln p(y | γ) = ln Σ p(v) p(y | γ, v)."""
    probability: dict[Model, float] = {}
    logs: dict[Model, float] = {}
    for (_, found), weight, prior in zip(parts, weights.tolist(), priors, strict=True):
        for model, share, height in zip(found.models, found.probability, found.log_evidence, strict=True):
            probability[model] = probability.get(model, 0.0) + weight * float(share)
            logs[model] = float(np.logaddexp(logs.get(model, -np.inf), prior + float(height)))
    models = sorted(probability, key=lambda model: -probability[model])[:n_models]
    top = parts[int(np.argmax(weights))][1]
    return replace(
        top,
        inclusion=np.minimum(sum(w * found.inclusion for w, (_, found) in zip(weights, parts, strict=True)), 1.0),
        models=tuple(models),
        probability=np.array([probability[model] for model in models]),
        log_evidence=np.array([logs[model] for model in models]),
        log_mass=log_mass,
        size_probability=np.asarray(
            sum(w * found.size_probability for w, (_, found) in zip(weights, parts, strict=True))
        ),
        diagnostics={
            **top.diagnostics,
            "converged": all(found.diagnostics["converged"] for _, found in parts),
            "message": f"{top.diagnostics['message']}, with {len(parts)} slab variances each",
        },
    )


@dataclass(frozen=True)
class ClassAverage:
    """Models with the Gaussian approximation of the posterior of their weights.

    Parameters
    ----------
    probability : array of shape (m,)
        Probabilities of the models, which sum to one.
    columns, theta : arrays of shape (m, k) and (m, k + 1)
        The columns of each, padded with −1; levels and weights of standardized columns, padded with zeros.
    root : array of shape (m, k + 1, k + 1)
        W with WᵀW the covariance of θ.
    """

    probability: Annotated[Array, Axes("m"), NonNegative]
    columns: Annotated[NDArray[np.int64], Axes("m K")]
    theta: Annotated[Array, Axes("m K+1")]
    root: Annotated[Array, Axes("m K+1 K+1")]

    @classmethod
    def of(cls, modes: Sequence[Mode], probability: Array) -> ClassAverage:
        """From the modes of models, and their probabilities up to a factor."""
        widest = max(len(mode.model) for mode in modes)
        columns = np.full((len(modes), widest), -1, dtype=np.int64)
        theta, root = np.zeros((len(modes), widest + 1)), np.zeros((len(modes), widest + 1, widest + 1))
        for place, mode in enumerate(modes):
            k = len(mode.model)
            columns[place, :k], theta[place, : k + 1] = mode.model, mode.theta
            root[place, : k + 1, : k + 1] = Factor(mode.L).half_solve(np.eye(k + 1))
        return cls(probability / probability.sum(), columns, theta, root)

    def parts(self, standard: Standard) -> list[Part]:
        """The models with weights in the units of the columns."""
        found = []
        for share, places, theta, root in zip(self.probability, self.columns, self.theta, self.root, strict=True):
            used = places[places >= 0]
            k, unit = len(used) + 1, np.append(1.0, standard.scale[used])
            columns = np.append(-1, standard.kept[used])
            found.append(Part(float(share), columns, theta[:k] / unit, root[:k, :k].T / unit[:, None], math.inf, 0.0))
        return found


# Enumeration visits 2ᵈ models: up to this many columns on request, and by default up to this many rows × models.
_MAX_COLUMNS, _MAX_AUTO_WORK = 15, 2.0e7
# The largest slab variance; the smallest is one over it.
_MAX_VARIANCE = 1e12
# A prior that expects more columns makes every step of the sampler slow.
_MAX_EXPECTED_COLUMNS = 100


class SpikeSlabClassifier(SubsetEstimator, Classifier):
    """Logistic regression for two classes, averaged over all subsets of the columns (Laplace approximation).

    p(y = 1 | x) = σ(b + Σ_{j∈γ} w_j z_j), where z_j is column j with mean 0 and variance 1, w_j ~ N(0, slab_variance)
    and b ~ N(0, 10²). A subset γ has the prior probability that `prior_inclusion` gives and the evidence

        ln p(y | γ) ≈ ln p(y | θ̂) + ln p(θ̂) + (k+1)/2 ln 2π − ½ ln|H|        (Bishop 4.137)

    at the posterior mode θ̂, with H the curvature there. Predictions are averages over subsets and coefficients.

    Columns are standardized internally, so their units don't matter. For more than two classes use
    ``sklearn.multiclass.OneVsRestClassifier(SpikeSlabClassifier())``, which selects columns for each class.

    Parameters
    ----------
    prior_inclusion : float, "beta-binomial" or (a, b), default 0.5
        Prior inclusion probability of each column; or the parameters of its Beta(a, b) prior, uniform for
        "beta-binomial".
    slab_variance : float or "learn", default "learn"
        Prior variance v of the coefficients of standardized columns that are in the model. "learn" averages over a grid
        of six values from 1/8 to 4096, whose prior is a half-Cauchy density of √v with scale 2; if subsets are
        sampled, the most probable value is used.
    search : {"auto", "enumerate", "gibbs"}, default "auto"
        "enumerate" visits every subset (up to 15 columns); "gibbs" samples them by MCMC, with `n_chains` chains of
        `n_draws` steps that add, drop and swap columns; "auto" enumerates if that takes seconds.
    n_draws : int, optional
        Steps of each chain. By default 5000, doubled until the chains agree, up to 40 000 or about two minutes.
    n_chains : int, default 4
        Number of chains.
    n_models : int, default 1000
        Number of most probable subsets to store.
    class_weight : "balanced" or mapping from label to factor, optional
        Multiplies the sample weights.
    random_state : None, int, Generator or RandomState
        For search="gibbs".

    Attributes
    ----------
    inclusion_probabilities_ : array of shape (n_features,)
        Posterior inclusion probabilities; zero for constant columns.
    models_ : a table of the most probable subsets: columns, probability, log_evidence
    map_model_, median_model_ : the most probable subset, and the columns with inclusion probability of at least ½;
        the most probable of identical columns, if at least one of them is in with probability ½ or more
    copies_ : groups of columns that are identical up to offset and scale, as tuples of indices
    coef_, intercept_ : arrays of shape (1, n_features) and (1,)
        Posterior means over all subsets, in the units of the columns.
    coef_std_, intercept_std_ : their standard deviations
    log_evidence_, evidence_method_ : ln Σ p(γ) p(y | γ), and "laplace", for each subset; after sampling, the sum is
        over the visited subsets: a lower bound
    evidence_base_ : what the evidence conditions on: nothing, all priors being proper, unless classes are weighted
    slab_variance_ : the slab variance as given, or the most probable one
    posterior_ : the posterior over subsets, with `diagnostics`
    average_, standard_ : the subsets that predictions are averaged over, with the posterior of their coefficients; and
        the means and scales of the columns
    result_ : convergence of the search

    Notes
    -----
    Each coefficient has its own prior, so a model can contain several identical columns, each with a part of the
    coefficient; the inclusion probability of each is then lower than that of the group, which `inclusion_of` gives. The
    fit warns of identical columns, linear combinations, and correlations beyond ±0.999. Constant columns are excluded.

    Each subset is scored at its own mode, so `log_scores`, `all_scores` and `best_subsets_table` exist only for
    `SpikeSlabRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse.spike_slab_classifier import SpikeSlabClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 5))
    >>> y = X[:, 1] - X[:, 3] + rng.logistic(size=80) > 0
    >>> model = SpikeSlabClassifier().fit(X, y)
    >>> model.median_model_
    (1, 3)
    """

    _title = "Spike and slab classification"

    slab_variance_: Annotated[float, Finite, Positive]
    classes_: Annotated[NDArray[Any], Axes("2"), Sorted]
    standard_: Annotated[Standard, Inner(R="R"), Indices("d", "kept")]
    average_: Annotated[ClassAverage, Indices("R", "columns", least=-1)]
    coef_: Annotated[Array, Axes("1 d")]
    intercept_: Annotated[Array, Axes("1")]
    coef_std_: Annotated[Array, Axes("1 d")]
    intercept_std_: Annotated[Array, Axes("1")]

    def __init__(
        self,
        prior_inclusion: float | tuple[float, float] | Literal["beta-binomial"] = 0.5,
        *,
        slab_variance: float | Literal["learn"] = "learn",
        search: Literal["auto", "enumerate", "gibbs"] = "auto",
        n_models: int = 1000,
        n_draws: int | None = None,
        n_chains: int = 4,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
    ) -> None:
        self.prior_inclusion = prior_inclusion
        self.slab_variance = slab_variance
        self.search = search
        self.n_models = n_models
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.class_weight = class_weight
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        choice("search", self.search, ("auto", "enumerate", "gibbs"))
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass, with "
                f"{len(self.classes_)} classes: use sklearn.multiclass.OneVsRestClassifier(SpikeSlabClassifier()), "
                "which selects columns for each class"
            )
        weight = np.ones(len(codes)) if weight is None else weight
        learns = isinstance(self.slab_variance, str)
        if learns:
            choice("slab_variance", self.slab_variance, ("learn",))
        self.standard_ = Standard.of(rows, weight)
        ZT = np.ascontiguousarray(self.standard_.columns(rows).T)
        variance = 1.0 if learns else _variance(self.slab_variance)
        data = Dataset(ZT, codes.astype(np.float64), weight, variance)
        prior = ModelPrior.of(self.prior_inclusion, data.n_columns)
        dependence = dependence_of((data.ZT * np.sqrt(data.weight)).T)
        messages = [*self._column_messages(dependence), *prior.messages(float(weight.sum()), beta=True)]
        for message in messages:
            warn(message, FitWarning, stacklevel=2)
        n_models, sampled = positive_integer("n_models", self.n_models), not self._enumerates(data)
        slab = average_slabs(data, partial(self._search, prior), learn=learns, n_models=n_models, sampled=sampled)
        self._learn(data, dependence, slab)
        diagnostics = slab.found.diagnostics
        if not diagnostics["converged"]:
            warn(diagnostics["message"], ConvergenceWarning, stacklevel=2)
        message = "; ".join([diagnostics["message"], *messages])
        self.result_ = Result(bool(diagnostics["converged"]), int(diagnostics["n_visited"]), message)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Log odds of the averaged probabilities, of the second class against the first: shape (n_samples,)."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0]

    def inclusion_of(self, columns: int | str | Sequence[int | str]) -> float:
        """Posterior probability that at least one of the columns is in the model, from the stored models (`n_models`).

        Parameters
        ----------
        columns : names or numbers of columns, or one of them

        Examples
        --------
        >>> import warnings
        >>> import numpy as np
        >>> x = np.linspace(-2.0, 2.0, 40)
        >>> with warnings.catch_warnings(action="ignore"):
        ...     model = SpikeSlabClassifier(0.2).fit(np.column_stack([x, 32.0 + 1.8 * x]), x + np.cos(9 * x) > 0)
        >>> model.inclusion_probabilities_.round(2), round(model.inclusion_of([0, 1]), 2)
        (array([0.56, 0.56]), 1.0)
        """
        return self.posterior_.any_of(self._places(columns))

    def sample_coefficients(self, n: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draw weights (n, n_features), some of them zero, and intercepts (n,), in the units of the columns.

        Subsets are drawn from those that predictions are averaged over.
        """
        check_is_fitted(self)
        return self._average.draws(positive_integer("n", n), generator(random_state), self.n_features_in_)

    def _probabilities(self, rows: Array) -> Array:
        kept, total = self.standard_.kept, np.zeros(len(rows))
        # Squares of this many standard deviations don't overflow.
        limit, rows = 1e120 * self.standard_.scale, rows.copy()
        rows[:, kept] = np.clip(rows[:, kept], self.standard_.mean - limit, self.standard_.mean + limit)
        for part, mean, square in self._average.latent(rows):
            total += part.weight * expected_sigmoid_fast(mean, square)
        probs = np.clip(total, 0.0, 1.0)
        return np.column_stack([1.0 - probs, probs])

    def _make_average(self) -> Average:
        parts, standard = self.average_.parts(self.standard_), self.standard_
        return Average(parts, moments_of(parts, standard.kept), standard.kept, standard.mean)

    def _enumerates(self, data: Dataset) -> bool:
        d = data.n_columns
        cheap = d <= _MAX_COLUMNS and 2.0**d * len(data.y) <= _MAX_AUTO_WORK
        return self.search == "enumerate" or (self.search == "auto" and cheap) or d == 0

    def _search(self, prior: ModelPrior, data: Dataset, pilot: int | None) -> ModelPosterior:
        """The posterior over subsets at one slab variance; by short chains of `pilot` steps, if models are sampled."""
        n_models, d = self.n_models, data.n_columns
        if self.search == "enumerate" and d > _MAX_COLUMNS:
            raise ValueError(
                f'search="enumerate" would visit 2^{d} models and find a mode for each; it goes up to '
                f'{_MAX_COLUMNS} columns. Use search="gibbs"'
            )
        if self._enumerates(data):
            self.search_ = "enumerate"
            return enumerate_logistic(data, prior, n_models=n_models)
        if isinstance(prior.inclusion, float) and prior.inclusion * d > _MAX_EXPECTED_COLUMNS:
            raise ValueError(
                f"prior_inclusion={prior.inclusion:g} expects {prior.inclusion * d:.0f} of {d} columns to be in: "
                f"models that large can't be distinguished by {len(data.y)} rows, nor sampled in reasonable time. Use "
                f"{recommended_prior(d, len(data.y))}, or the share of the columns that you expect, at most "
                f"{_MAX_EXPECTED_COLUMNS / d:.2g}"
            )
        self.search_ = "gibbs"
        n_draws = self.n_draws if pilot is None or (self.n_draws or pilot) < pilot else pilot
        return sample_logistic(
            data, prior, n_draws=n_draws, n_chains=self.n_chains, n_models=n_models, random_state=self.random_state
        )

    def _learn(self, data: Dataset, dependence: Dependence, slab: SlabAverage) -> None:
        """Set the fitted attributes, in terms of the table's columns."""
        standard, found = self.standard_, slab.found
        self.slab_variance_ = slab.variance
        # Models beyond this cumulative probability don't change predictions visibly.
        self.average_ = ClassAverage.of(*slab.modes(1.0 - 1e-6))
        base = evidence_base(class_weight=self.class_weight)
        self._store(
            found, dependence, data.ZT.T, standard.kept, least=DEPENDENT, proper=True, method="laplace", base=base
        )
        self._fits = self._make_average()
        coef, std, intercept, intercept_std = self._fits.coefficients(self.n_features_in_)
        self.coef_, self.coef_std_, self.intercept_ = coef[None], std[None], np.array([intercept])
        self.intercept_std_ = np.array([intercept_std])

    def _column_messages(self, dependence: Dependence) -> list[str]:
        names, kept = self._feature_names(), self.standard_.kept
        messages = constant_messages(sorted(set(range(self.n_features_in_)) - set(kept.tolist())), names)
        return messages + (dependence.messages([names[j] for j in kept]) if len(kept) else [])


def _variance(value: Any) -> float:
    """A variance with which curvatures keep their digits."""
    variance = positive("slab_variance", value)
    if not 1 / _MAX_VARIANCE <= variance <= _MAX_VARIANCE:
        raise ValueError(
            f"slab_variance={variance:g} is out of range: columns are standardized, so use a value between "
            f"{1 / _MAX_VARIANCE:g} and {_MAX_VARIANCE:g}"
        )
    return variance
