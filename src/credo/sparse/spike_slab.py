"""Regression that says which inputs matter: the posterior over all subsets of the columns."""

import math
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution
from credo.estimator import FitWarning, Regressor, Result, choice, positive_integer
from credo.frames import Table
from credo.seeds import generator
from credo.sparse._average import Average
from credo.sparse._coefficient import Coefficient, quantiles
from credo.sparse._design import Design
from credo.sparse._enumerate import enumerate_models
from credo.sparse._fit import Moments, fits_of, moments_of
from credo.sparse._model_prior import ModelPrior
from credo.sparse._models import Model, ModelPosterior
from credo.sparse._report import best_table, design_words, models_table, search_words, size_words, summary_table
from credo.sparse._slabs import Slab, slab_of
from credo.sparse.walk import walk

Array = NDArray[np.float64]

# `search="auto"` visits every subset of up to so many columns.
_ENUMERATED = 20


class SpikeSlabRegressor(Regressor):
    """Linear regression over all subsets of the columns, each weighed by its posterior probability.

    y = b + Σ_{j∈γ} βⱼxⱼ + ε: a coefficient is zero (the spike) unless its column is in γ (the slab). The posterior
    p(γ | y) ∝ p(γ) p(y | γ) is that of all 2ᵈ subsets; coefficients and predictions are averages over it. The intercept
    is in every model, with a flat prior; an unknown σ² has the prior 1/σ².

    Parameters
    ----------
    prior_inclusion : float, "beta-binomial" or (a, b), default 0.5
        The probability that a column is in, for each by itself (a penalty of ln((1−π₀)/π₀) a column); or the
        beta-binomial prior, in which that probability has a uniform law (or that of Beta(a, b)).
    slab : {"bic", "g", "zellner-siow", "normal"}, default "bic"
        The prior of the coefficients that are in. "bic" approximates the evidence by −BIC/2, with the least-squares fit
        of each subset. "g" is Zellner's N(0, gσ²(XᵀX)⁻¹); "zellner-siow" integrates its g under InvGamma(½, n/2),
        exactly. "normal" is N(0, slab_variance) for each coefficient.
    search : {"auto", "enumerate", "gibbs"}, default "auto"
        Visit every subset, or walk among them (`credo.sparse.walk`); "auto" visits all of up to 20 columns.
    g : None, "n", "max", "empirical" or a number, default None
        For slab="g": n (the default), max(n, d²), a number, or for each subset the g that makes it likeliest, which is
        max(F − 1, 0) with its F statistic (local empirical Bayes).
    slab_variance : float, optional
        For slab="normal", in the units of the columns as given: the variance of a coefficient where noise_variance is
        given, else its multiple of σ². By default the information of one observation, σ² over the column's variance.
    noise_variance : float, optional
        For slab="normal": the known σ². By default σ² is integrated out.
    n_models : int, default 1000
        How many of the likeliest models to keep.
    n_draws, n_chains : int, default 5000 and 4
        For search="gibbs".
    random_state : None, int, Generator or RandomState
        For search="gibbs".

    Attributes
    ----------
    inclusion_probabilities_ : p(column is in | y)
    map_model_, median_model_ : tuples of indices: the likeliest subset, and the columns of at least probability ½
    models_ : a table of the likeliest subsets
    best_subsets_ : for every size the subset that fits best, as tuples of indices; `best_subsets_table()` to read
    coef_, coef_std_, intercept_, intercept_std_ : posterior means and standard deviations, over all models
    log_evidence_, evidence_method_ : ln Σ p(γ)p(y | γ); "exact", or "bic" where the slab is
    posterior_ : the posterior over models
    result_ : how the search ended, and what the columns made of it

    Notes
    -----
    With the flat prior of the intercept and 1/σ², the model without columns has the evidence
    Γ((n−1)/2) n^(−1/2) (π Σ(y−ȳ)²)^(−(n−1)/2); others have that times their Bayes factors. With σ² known, it is the
    density of y given any one of its values.

    Subsets of linearly dependent columns are no models of their own under "bic", "g" and "zellner-siow", and have
    probability zero; so have those of n−1 columns or more. Of columns that are copies of each other one is in at a
    time, so that they share their probability. A constant column can't be told from the intercept and is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse.spike_slab import SpikeSlabRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> y = 3.0 + 2.0 * X[:, 0] - X[:, 3] + rng.normal(size=60)
    >>> model = SpikeSlabRegressor(slab="g").fit(X, y)
    >>> model.inclusion_probabilities_.round(2)
    array([1.  , 0.12, 0.16, 1.  , 0.17])
    >>> model.map_model_
    (0, 3)
    """

    posterior_: ModelPosterior
    design_: Design
    inclusion_probabilities_: Array
    coef_: Array
    intercept_: float
    _fits: Average | None

    def __init__(
        self,
        prior_inclusion: float | str | tuple[float, float] = 0.5,
        *,
        slab: str = "bic",
        search: str = "auto",
        g: float | str | None = None,
        slab_variance: float | None = None,
        noise_variance: float | None = None,
        n_models: int = 1000,
        n_draws: int = 5000,
        n_chains: int = 4,
        random_state: Any = None,
    ) -> None:
        self.prior_inclusion = prior_inclusion
        self.slab = slab
        self.search = search
        self.g = g
        self.slab_variance = slab_variance
        self.noise_variance = noise_variance
        self.n_models = n_models
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Weigh the subsets; a weight of k is the same as k copies of the row."""
        choice("search", self.search, ("auto", "enumerate", "gibbs"))
        self._slab_arguments()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        unit = "length" if self.slab != "normal" else "variance" if self.slab_variance is None else "as given"
        design = Design.of(rows, target, weight, unit=unit)
        if not design.n > 1:
            raise ValueError(
                f"n_samples={len(target)} with a total weight of {design.n:g} is too few: a mean and its noise need "
                "more than one observation"
            )
        slab = self._slab(design)
        prior = ModelPrior.of(self.prior_inclusion, len(design.kept))
        found = self._search(design, slab, prior)
        self.search_ = "enumerate" if found.coef_mean is not None else "gibbs"
        self._learn(design, slab, found)
        self._fits = None
        self._fits = self._average
        words = [*design_words(design, self._feature_names()), *search_words(found, slab, design)]
        for word in words:
            warnings.warn(word, FitWarning, stacklevel=2)
        diagnostics = found.diagnostics
        message = diagnostics.get("message", f"all {diagnostics['n_visited']:,} models visited")
        self.result_ = Result(
            bool(diagnostics["converged"]), 1, "; ".join([message, *size_words(design, slab), *words])
        )
        return self

    def coefficient(self, column: int | str) -> Coefficient:
        """The posterior of one coefficient: the mass at zero, and the law of what isn't zero.

        >>> import numpy as np
        >>> X = np.arange(8.0)[:, None]
        >>> model = SpikeSlabRegressor().fit(X, [0.1, 1.0, 2.2, 2.9, 4.1, 5.0, 6.1, 6.9])
        >>> bool(model.coefficient(0).spike < 1e-6)
        True
        """
        check_is_fitted(self)
        names = self._feature_names()
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"there is no column {column!r}; the columns are {', '.join(names[:20])}")
            column = names.index(column)
        if not -len(names) <= column < len(names):
            raise ValueError(f"there is no column {column}: the table has {len(names)}")
        column = column % len(names)
        spike = 1.0 - float(self.inclusion_probabilities_[column])
        slab = self._average.slabs(np.array([column])) if self._inside()[column] > 0 else None
        return Coefficient(names[column], spike, slab)

    def sample_coefficients(self, n: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draws of the coefficients (n, n_features), zeros among them, and of the intercept (n,).

        They come from the models that are kept (`n_models`): the likeliest, or, where these hold less than nine tenths
        of the probability, draws from the walk.
        """
        check_is_fitted(self)
        return self._average.draws(positive_integer("n", n), generator(random_state))

    def all_scores(self) -> Array:
        """ln p(γ)p(y | γ) of every subset, largest first; for up to 20 columns that vary."""
        check_is_fitted(self)
        d = len(self.design_.kept)
        if self.search_ != "enumerate" or d > _ENUMERATED:
            raise ValueError(f"scores of all models are for up to {_ENUMERATED} columns, all visited; there are {d}")
        slab, prior = self._slab(self.design_), ModelPrior.of(self.prior_inclusion, d)
        return enumerate_models(self.design_.X, self.design_.y, slab, prior, pictured=True).diagnostics["scores"]

    @property
    def models_(self) -> Table:
        check_is_fitted(self)
        return models_table(self.posterior_, self._feature_names())

    @property
    def coef_cov_(self) -> Array:
        """The covariance of the coefficients over all models, built on each access."""
        check_is_fitted(self)
        cov = np.zeros((self.n_features_in_, self.n_features_in_))
        cov[np.ix_(self.design_.kept, self.design_.kept)] = self.moments_.cov
        return cov

    def best_subsets_table(self) -> Table:
        """The best subset of each size: its columns, R² and BIC."""
        check_is_fitted(self)
        return best_table(self.posterior_, self.design_, self._feature_names())

    def summary(self, *, level: float = 0.95) -> Table:
        """Each coefficient over all models: mean, standard deviation, inclusion probability and interval.

        Intervals are of the whole law, spike and slab together; of more than 50 columns the likeliest 50 are shown.
        """
        check_is_fitted(self)
        return summary_table(self, level=level)

    def _intervals(self, columns: NDArray[np.intp], level: float) -> Array:
        """Central intervals of coefficients, spike and slab together; those that are hardly ever in are zero."""
        tail, ends = (1.0 - level) / 2, np.zeros((len(columns), 2))
        spike = 1.0 - self.inclusion_probabilities_[columns]
        seen = (1.0 - spike > tail) & (self._inside()[columns] > 0)
        if seen.any():
            slabs = self._average.slabs(columns[seen])
            ends[seen] = quantiles(spike[seen], slabs, np.array([tail, 1.0 - tail]))
        return ends

    def _inside(self) -> Array:
        """The inclusion probabilities among the models that the coefficients' moments are of."""
        inside = np.zeros(self.n_features_in_)
        inside[self.design_.kept] = self.moments_.inclusion
        return inside

    def _mean(self, rows: Array) -> Array:
        return self._average.mean(rows)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        return self._average.predictive(rows, latent=latent)

    def _covariance(self, rows: Array) -> Array:
        return self._average.covariance(rows)

    @property
    def _average(self) -> Average:
        """The kept models' fits; a model file doesn't hold them, they are made again from the design."""
        if getattr(self, "_fits", None) is None:
            models, probability = self.posterior_.models, self.posterior_.probability
            if self.search_ == "gibbs":
                # The moments are those of the models that averages go over.
                models, probability = self.posterior_.averaged
            self._fits = Average(self.design_, slab_of(**self.slab_), models, probability, self.moments_)
        assert self._fits is not None
        return self._fits

    def _slab(self, design: Design) -> Slab:
        return slab_of(**self._slab_arguments(), **_sizes(design))

    def _slab_arguments(self) -> dict[str, Any]:
        """What `slab_of` needs beside the data; refuses what doesn't go together."""
        if self.slab != "g" and self.g is not None:
            raise ValueError(f'g is an argument of slab="g"; the slab is {self.slab!r}')
        if self.slab != "normal" and not (self.slab_variance is None and self.noise_variance is None):
            raise ValueError(f'slab_variance and noise_variance are arguments of slab="normal"; it is {self.slab!r}')
        variance = self.slab_variance
        if variance is None:
            variance = self.noise_variance if self.noise_variance is not None else 1.0
        return {"name": self.slab, "g": self.g, "slab_variance": variance, "noise_variance": self.noise_variance}

    def _search(self, design: Design, slab: Slab, prior: ModelPrior) -> ModelPosterior:
        n_models, d = positive_integer("n_models", self.n_models), len(design.kept)
        # Where no column varies there is one model, and nowhere to walk.
        if self.search == "enumerate" or (self.search == "auto" and d <= _ENUMERATED) or d == 0:
            return enumerate_models(design.X, design.y, slab, prior, n_models=n_models)
        return walk(
            design.X, design.y, slab, prior, n_draws=self.n_draws, n_chains=self.n_chains, n_models=n_models,
            random_state=self.random_state,
        )  # fmt: skip

    def _learn(self, design: Design, slab: Slab, found: ModelPosterior) -> None:
        """Write what was found in terms of the table's columns."""
        kept = design.kept
        models = tuple(_placed(model, kept) for model in found.models)
        inclusion = np.zeros(design.n_features)
        inclusion[kept] = found.inclusion
        self.slab_ = {**self._slab_arguments(), **_sizes(design)}
        if found.coef_mean is None or found.coef_cov is None or found.noise_variance is None:
            averaged, weight = found.averaged
            averaged = tuple(_placed(model, kept) for model in averaged)
            used = np.unique([j for model in (*models, *averaged) for j in model]).astype(np.intp)
            design = design.restrict(used)
            self.moments_ = moments_of(fits_of(design, slab, averaged), weight, used)
        else:
            unit = design.unit
            cov = found.coef_cov / np.outer(unit, unit)
            self.moments_ = Moments(found.inclusion, found.coef_mean / unit, cov, found.noise_variance)
        self.design_ = design
        self.posterior_ = replace(
            found,
            inclusion=inclusion,
            models=models,
            sample=tuple(_placed(model, kept) for model in found.sample),
            best_by_size=tuple(_placed(model, kept) for model in found.best_by_size),
            coef_mean=None,
            coef_cov=None,
        )
        self.inclusion_probabilities_ = inclusion
        self.map_model_, self.median_model_ = self.posterior_.map_model, self.posterior_.median_model
        self.best_subsets_ = self.posterior_.best_by_size
        self.coef_, self.coef_std_ = np.zeros(design.n_features), np.zeros(design.n_features)
        self.coef_[design.kept] = self.moments_.mean
        self.coef_std_[design.kept] = np.sqrt(np.maximum(np.diag(self.moments_.cov), 0.0))
        lean = design.x_mean
        self.intercept_ = design.y_mean - float(lean @ self.moments_.mean)
        self.intercept_std_ = math.sqrt(
            max(float(lean @ self.moments_.cov @ lean) + self.moments_.noise / design.n, 0.0)
        )
        self.log_evidence_, self.evidence_method_ = found.log_mass, slab.method


def _sizes(design: Design) -> dict[str, Any]:
    return {"n": design.n, "yy": design.yy, "d": len(design.kept), "n_rows": design.n_rows}


def _placed(model: Model, kept: NDArray[np.intp]) -> Model:
    """A subset of the columns that vary, as columns of the table."""
    return tuple(int(kept[j]) for j in model)
