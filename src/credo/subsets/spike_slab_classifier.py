"""Logistic regression that averages over all subsets of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.estimator import (
    Classifier,
    ConvergenceWarning,
    FitWarning,
    Result,
    check_places,
    check_shapes,
    choice,
    evidence_base,
    positive,
    positive_integer,
)
from credo.frames import Table
from credo.notices import warn
from credo.seeds import generator
from credo.subsets._coefficient import Coefficient, place_of, places_of
from credo.subsets._dependence import DEPENDENT, Dependence, dependence_of
from credo.subsets._median import median_model
from credo.subsets._model_posterior import ModelPosterior, placed
from credo.subsets._model_prior import ModelPrior, advised
from credo.subsets._over_subsets import OverSubsets
from credo.subsets._report import flat_words, summary_table
from credo.subsets.logistic import ClassAverage, Dataset, Standard, enumerate_logistic, sample_logistic

Array = NDArray[np.float64]

# Enumeration visits 2ᵈ models: up to this many columns when it is asked for, and by itself while rows × models are few.
_MOST_COLUMNS, _MUCH_WORK = 15, 2.0e7
# Variances of the slab up to this, and down to one over it.
_WIDEST = 1e12
# A prior that expects more columns in a model than this makes every step of a walk cost a large factor.
_MOST_EXPECTED = 100
# Models beyond this share of the listed ones change no prediction that anyone could see.
_ENOUGH = 1.0 - 1e-6


class SpikeSlabClassifier(OverSubsets, Classifier):
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
    slab_variance : float, default 1.0
        Prior variance of the coefficients of standardized columns that are in the model.
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
    map_model_, median_model_ : the most probable subset, and the columns with inclusion probability of at least ½; of
        identical columns the most probable one, if at least one of them is in with probability ½ or more
    copies_ : groups of columns that are identical up to offset and scale, as tuples of indices
    coef_, intercept_ : arrays of shape (1, n_features) and (1,)
        Posterior means over all subsets, in the units of the columns.
    coef_std_, intercept_std_ : their standard deviations
    log_evidence_, evidence_method_ : ln Σ p(γ) p(y | γ), and "laplace", for each subset
    evidence_base_ : what the evidence conditions on: nothing, all priors being proper, unless classes are weighted
    log_evidence_error_ : the standard error of the sum over subsets: zero where all were visited
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
    >>> from credo.subsets.spike_slab_classifier import SpikeSlabClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 5))
    >>> y = X[:, 1] - X[:, 3] + rng.logistic(size=80) > 0
    >>> model = SpikeSlabClassifier().fit(X, y)
    >>> model.median_model_
    (1, 3)
    """

    average_: ClassAverage
    standard_: Standard
    coef_: Array
    intercept_: Array
    coef_std_: Array
    intercept_std_: Array
    inclusion_probabilities_: Array
    median_model_: tuple[int, ...]

    def _check_state(self) -> None:
        super()._check_state()
        sizes = {"d": self.n_features_in_}
        check_shapes(self, sizes, coef_="k d", coef_std_="k d", inclusion_probabilities_="d", intercept_="k")
        check_places(self.standard_, "kept", sizes["d"])
        places = (*self.average_.columns.ravel().tolist(), *self.median_model_)
        if not all(-1 <= j < sizes["d"] for j in places) or len(self.classes_) != 2:
            raise ValueError("average_ or median_model_ names columns that aren't there")

    def __init__(
        self,
        prior_inclusion: float | str | tuple[float, float] = 0.5,
        *,
        slab_variance: float = 1.0,
        search: str = "auto",
        n_models: int = 1000,
        n_draws: int | None = None,
        n_chains: int = 4,
        class_weight: Any = None,
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
        self.standard_ = Standard.of(rows, weight)
        task = Dataset(
            ZT=np.ascontiguousarray(self.standard_.columns(rows).T),
            y=codes.astype(np.float64),
            weight=weight,
            variance=_variance(self.slab_variance),
        )
        prior = ModelPrior.of(self.prior_inclusion, task.n_columns)
        dependence = dependence_of((task.ZT * np.sqrt(task.weight)).T)
        words = [*self._column_words(dependence), *prior.words(float(weight.sum()), beta=True)]
        for word in words:
            warn(word, FitWarning, stacklevel=2)
        found = self._search(task, prior)
        self._learn(task, dependence, found)
        diagnostics = found.diagnostics
        if not diagnostics["converged"]:
            warn(diagnostics["message"], ConvergenceWarning, stacklevel=2)
        told = "; ".join([diagnostics["message"], *words])
        self.result_ = Result(bool(diagnostics["converged"]), int(diagnostics["n_visited"]), told)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Log odds of the averaged probabilities, of the second class against the first: shape (n_samples,)."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0]

    def coefficient(self, column: int | str) -> Coefficient:
        """The posterior of one weight, in the column's units: the mass at zero, and the law of what isn't zero."""
        check_is_fitted(self)
        names = self._feature_names()
        column = place_of(column, names)
        place = np.flatnonzero(self.standard_.kept == column)
        slab = self.average_.slab(int(place[0]), unit=float(self.standard_.scale[place[0]])) if len(place) else None
        return Coefficient(names[column], 1.0 - float(self.inclusion_probabilities_[column]), slab)

    def inclusion_of(self, columns: int | str | Sequence[int | str]) -> float:
        """p(at least one of the columns is in | y): what a group of columns that say the same amounts to.

        The sum of the inclusion probabilities, less what models that hold several of the columns count twice; of these
        the kept models tell (`n_models`).

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
        (array([0.62, 0.62]), 1.0)
        """
        check_is_fitted(self)
        return self.posterior_.any_of(places_of(columns, self._feature_names()))

    def sample_coefficients(self, n: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draws of the weights (n, n_features), zeros among them, and of the intercept (n,), in the columns' units.

        They come from the subsets that predictions are averaged over.
        """
        check_is_fitted(self)
        theta, levels = self.average_.draws(positive_integer("n", n), generator(random_state), len(self.standard_.kept))
        coefs = np.zeros((len(theta), self.n_features_in_))
        coefs[:, self.standard_.kept] = theta / self.standard_.scale
        return coefs, levels - coefs[:, self.standard_.kept] @ self.standard_.mean

    def summary(self, *, level: float = 0.95) -> Table:
        """Each weight over all subsets: mean, standard deviation, inclusion probability and interval.

        Intervals are of the whole law, spike and slab together; of more than 50 columns the likeliest 50 are shown.
        """
        check_is_fitted(self)
        return summary_table(self, title="Spike and slab classification", level=level, intervals=self._intervals)

    def _intervals(self, columns: NDArray[np.intp], level: float) -> Array:
        """Central intervals of weights, spike and slab together; where nearly all is at zero, so are both ends."""
        ends = np.zeros((len(columns), 2))
        for row, column in enumerate(columns.tolist()):
            if self.inclusion_probabilities_[column] > (1.0 - level) / 2:
                ends[row] = self.coefficient(column).interval(level)
        return ends

    def _probabilities(self, rows: Array) -> Array:
        probs = self.average_.probabilities(self.standard_.columns(rows))
        return np.column_stack([1.0 - probs, probs])

    def _search(self, task: Dataset, prior: ModelPrior) -> ModelPosterior:
        n_models, d = positive_integer("n_models", self.n_models), task.n_columns
        cheap = d <= _MOST_COLUMNS and 2.0**d * len(task.y) <= _MUCH_WORK
        if self.search == "enumerate" and d > _MOST_COLUMNS:
            raise ValueError(
                f'search="enumerate" would visit 2^{d} models, a mode in each; it goes up to {_MOST_COLUMNS} columns. '
                'Use search="gibbs"'
            )
        if self.search == "enumerate" or (self.search == "auto" and cheap) or d == 0:
            self.search_ = "enumerate"
            return enumerate_logistic(task, prior, n_models=n_models)
        if isinstance(prior.inclusion, float) and prior.inclusion * d > _MOST_EXPECTED:
            raise ValueError(
                f"prior_inclusion={prior.inclusion:g} expects {prior.inclusion * d:.0f} of {d} columns to be in: "
                f"models that large can't be told apart by {len(task.y)} rows, nor walked over in reasonable time. Use "
                f"{advised(d, len(task.y))}, or the share of the columns that you expect, at most "
                f"{_MOST_EXPECTED / d:.2g}"
            )
        self.search_ = "gibbs"
        return sample_logistic(
            task, prior, n_draws=self.n_draws, n_chains=self.n_chains, n_models=n_models, random_state=self.random_state
        )

    def _learn(self, task: Dataset, dependence: Dependence, found: ModelPosterior) -> None:
        """Write what was found in terms of the table's columns."""
        standard, d = self.standard_, self.n_features_in_
        models, weight = found.averaged
        enough = int(np.searchsorted(np.cumsum(weight), _ENOUGH)) + 1
        modes = [task.mode(model) for model in models[:enough]]
        self.average_ = ClassAverage.of(modes, weight[:enough])
        median = placed(median_model(found, dependence, task.ZT.T, least=DEPENDENT, proper=True), standard.kept)
        copies = [placed(group, standard.kept) for group in dependence.copies]
        base = evidence_base(class_weight=self.class_weight)
        told = found.placed(standard.kept, d)
        self._write_down(told, median=median, copies=copies, method="laplace", base=base)
        self.coef_, self.coef_std_ = np.zeros((1, d)), np.zeros((1, d))
        moments = self.average_.moments(standard.mean, standard.scale)
        self.coef_[0, standard.kept], self.coef_std_[0, standard.kept] = moments.coef, moments.coef_std
        self.intercept_, self.intercept_std_ = np.array([moments.intercept]), np.array([moments.intercept_std])

    def _column_words(self, dependence: Dependence) -> list[str]:
        """What there is to say about the columns."""
        names, kept = self._feature_names(), self.standard_.kept
        words = flat_words(sorted(set(range(self.n_features_in_)) - set(kept.tolist())), names)
        if len(kept):
            words += dependence.words([names[j] for j in kept], proper=True)
        return words


def _variance(value: Any) -> float:
    """A variance of weights within which curvatures keep their digits."""
    variance = positive("slab_variance", value)
    if not 1 / _WIDEST <= variance <= _WIDEST:
        raise ValueError(
            f"slab_variance={variance:g} is out of range: columns are standardized, so use a value between "
            f"{1 / _WIDEST:g} and {_WIDEST:g}"
        )
    return variance
