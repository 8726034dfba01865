"""Spike-and-slab regression: the posterior over all subsets of the columns, by enumeration or sampling.

`SubsetEstimator` is what the regressor shares with `SpikeSlabClassifier`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    Description,
    Effect,
    Estimator,
    FitWarning,
    Regressor,
    Result,
    choice,
    interval_level,
    linear_effects,
    positive_integer,
)
from credo.core.fields import Axes, Finite, Indices, Inner
from credo.core.frames import Table
from credo.core.linalg import parallel_map
from credo.core.notices import warn
from credo.core.parts import RowSummary, in_parts, summarize, take_summary
from credo.core.seeds import generator
from credo.distributions import Distribution, Mixture
from credo.sparse import _enumerate_jit
from credo.sparse._average import Average, log_evidences, moments_of, parts_of, summed_moments
from credo.sparse._chain import sample_models
from credo.sparse._design import DEPENDENT, EXACT_FIT, Dependence, Design, dependence_of, lengths, median_model, named
from credo.sparse._enumerate_jit import Problem, Sums
from credo.sparse._models import Model, ModelPosterior, ModelPrior, Moments, in_table, recommended_prior
from credo.sparse._slabs import MIN_DF, Slab, bic, slab_of

Array = NDArray[np.float64]

# Rows of a printed table of coefficients, and characters of a printed subset.
_MAX_SHOWN_ROWS, _SUBSET_WIDTH = 50, 48


def subset_name(model: Model, names: Sequence[str]) -> str:
    """A subset by the names of its columns."""
    return " + ".join(names[j] for j in model) if model else "(none)"


def constant_messages(flat: Sequence[int], names: Sequence[str]) -> list[str]:
    """About constant columns."""
    if not flat:
        return []
    verb = "is constant" if len(flat) == 1 else "are constant"
    return [f"{named(flat, names)} {verb} and confounded with the intercept: excluded from all models"]


def design_messages(design: Design, dependence: Dependence, slab: Slab, names: Sequence[str]) -> list[str]:
    """Warnings about columns and target, issued before the search."""
    messages = constant_messages(design.flat, names)
    if len(design.kept) and slab.max_size > 0:
        messages += dependence.messages([names[j] for j in design.kept])
    if slab.method == "bic" and 2 * len(design.kept) >= design.n:
        messages.append(
            f"{len(design.kept)} columns and {design.n:g} rows: the BIC is valid only for many more rows than columns, "
            'and overfits otherwise. Use slab="g" or "zellner-siow" with '
            f"{recommended_prior(len(design.kept), design.n)}"
        )
    return messages + target_messages(design)


def target_messages(design: Design) -> list[str]:
    """A warning about a constant target."""
    if not design.constant:
        return []
    return [
        f"y is constant ({design.y_mean:.6g} up to rounding): there is nothing to explain, and the results reflect "
        "only the priors"
    ]


def size_messages(design: Design, slab: Slab) -> list[str]:
    """A warning if large models have no evidence."""
    if len(design.kept) <= slab.max_size:
        return []
    return [
        f"{len(design.kept)} column{'s' * (len(design.kept) > 1)} and {min(design.n, design.n_rows):g} rows: models of "
        f"more than {slab.max_size:g} column{'s' * (slab.max_size != 1)} have no evidence and are excluded"
    ]


def search_messages(found: ModelPosterior, slab: Slab, design: Design, names: Sequence[str]) -> list[str]:
    """Warnings about the models that were found, in terms of the columns of the design."""
    messages, best = [], list(found.map_model)
    if 0 < len(best) <= design.n - 2 and design.one_minus_r2(best) < EXACT_FIT:
        messages.append(
            f"{named(design.kept[best].tolist(), names)} {'reproduces' if len(best) == 1 else 'reproduce'} "
            "y exactly, up to rounding, so the noise can't be estimated: check that they weren't computed from y"
        )
    if design.n - 1 < MIN_DF and slab.noise is None:
        messages.append(
            f"{design.n:g} rows leave {design.n - 1:g} degree{'s' * (design.n != 2)} of freedom for the noise; "
            f"intervals use {MIN_DF:g}, so that their width is finite, and are too narrow"
        )
    return messages


def warn_of(messages: Sequence[str]) -> None:
    """Issue the messages as warnings at the line that called `fit`."""
    for message in messages:
        warn(message, FitWarning, stacklevel=4)


@dataclass(frozen=True)
class Coefficient:
    """The posterior of a coefficient: P(β = 0) = spike, otherwise the distribution `slab`.

    Attributes
    ----------
    name : str
        The column's name.
    spike : float
        The probability that the column isn't in the model.
    slab : Mixture or None
        The distribution given that it is in the model, as one row; None if no stored model contains it.
    """

    name: str
    spike: float
    slab: Mixture | None

    def density(self, values: ArrayLike) -> Array:
        """The density of the slab times 1 − spike, to which it integrates."""
        grid = np.asarray(values, dtype=np.float64)
        if self.slab is None:
            return np.zeros_like(grid)
        return (1.0 - self.spike) * np.exp(self.slab.log_prob(grid.ravel())).reshape(grid.shape)

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles of spike and slab together."""
        levels = np.asarray(q, dtype=np.float64)
        if self.slab is None:
            return np.zeros_like(levels)
        share = max(1.0 - self.spike, 1e-300)
        below = share * float(self.slab.cdf(np.zeros(1))[0])
        inside = np.clip(np.where(levels < below, levels, levels - self.spike) / share, 0.0, 1.0)
        values = self.slab.quantile(inside.ravel())[0].reshape(levels.shape)
        return np.where((levels >= below) & (levels <= below + self.spike), 0.0, values)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The central interval of spike and slab together."""
        tail = (1.0 - interval_level(level)) / 2
        lower, upper = self.quantile([tail, 1.0 - tail])
        return float(lower), float(upper)


class Subsets(NamedTuple):
    """The posterior over subsets of the columns, the prior, groups of copies, and whether the search converged."""

    posterior: ModelPosterior
    prior: ModelPrior
    copies: tuple[Model, ...]
    converged: bool


class SubsetEstimator(Estimator):
    """Mixin of estimators with a posterior over models: tables, intervals and draws from it."""

    _fits: Average | None = None
    posterior_: Annotated[ModelPosterior, Inner(d="d")]
    inclusion_probabilities_: Annotated[Array, Axes("d")]
    map_model_: Annotated[Model, Indices("d")]
    median_model_: Annotated[Model, Indices("d")]
    best_subsets_: Annotated[tuple[Model, ...], Indices("d")]
    copies_: Annotated[tuple[Model, ...], Indices("d")]
    prior_inclusion: float | str | tuple[float, float]
    search_: Literal["enumerate", "gibbs"]
    log_evidence_: float
    evidence_method_: str
    evidence_base_: str

    coef_: Array
    intercept_: Any
    _title = "Spike and slab: an average over subsets of the columns"
    _equation = "f(x) = b + Σ wⱼ xⱼ over the columns j of a subset"

    def describe(self, *, level: float = 0.95) -> Description:
        prior = ModelPrior.of(self.prior_inclusion, self.n_features_in_)
        subsets = Subsets(self.posterior_, prior, self.copies_, bool(self.result_.converged))
        return replace(super().describe(level=level), subsets=subsets, selects=True)

    def _effects(self, level: float) -> tuple[Effect, ...]:
        lower, upper = self._intervals(np.arange(self.n_features_in_), interval_level(level)).T
        # A coefficient whose interval is the point zero is zero, not its mean over all subsets.
        coef = np.clip(np.ravel(self.coef_), lower, upper)
        return linear_effects(self._feature_names(), coef, self.intercept_, intervals=(lower, upper))

    def _importances(self) -> tuple[Any, str]:
        return self.inclusion_probabilities_, "inclusion probability"

    @property
    def models_(self) -> Table:
        check_is_fitted(self)
        posterior, names = self.posterior_, self._feature_names()
        whole = "the visited models' probability" if self.search_ == "gibbs" else "the posterior probability"
        shown = f"{100 * min(posterior.probability.sum(), 1.0):.4g} % of {whole}"
        return Table(
            "Most probable models",
            {
                "model": [subset_name(model, names) for model in posterior.models],
                "probability": posterior.probability.tolist(),
                "log evidence": posterior.log_evidence.tolist(),
                "size": [len(model) for model in posterior.models],
                "columns": list(posterior.models),
            },
            notes=(f"{len(posterior.models)} models with {shown}",),
            most=12,
            width=_SUBSET_WIDTH,
        )

    def _intervals(self, columns: NDArray[np.intp], level: float) -> Array:
        """(len(columns), 2): the central interval of each coefficient; zero where a column is hardly ever in."""
        likely = self.inclusion_probabilities_[columns] > (1.0 - level) / 2
        pairs = zip(columns, likely, strict=True)
        return np.array([self.coefficient(j).interval(level) if is_in else (0.0, 0.0) for j, is_in in pairs])

    def summary(self, *, level: float = 0.95) -> Table:
        """Posterior mean, standard deviation, inclusion probability and interval of each coefficient over all models.

        Intervals include the probability of a zero coefficient. With more than 50 columns the 50 most probable are
        shown.
        """
        check_is_fitted(self)
        level = interval_level(level)
        names, inclusion = self._feature_names(), self.inclusion_probabilities_
        order = (
            np.arange(len(names))
            if len(names) <= _MAX_SHOWN_ROWS
            else np.argsort(-inclusion, kind="stable")[:_MAX_SHOWN_ROWS]
        )
        lower, upper = self._intervals(order, level).T.tolist()
        estimate = np.append(self.intercept_, np.ravel(self.coef_)[order])
        std = np.append(self.intercept_std_, np.ravel(self.coef_std_)[order])
        median = ", ".join(names[j] for j in self.median_model_[:_MAX_SHOWN_ROWS]) or "none"
        bound = "at least " if self.search_ == "gibbs" else ""
        shown = [f"the {len(order)} most probable of {len(names)} columns"] if len(order) < len(names) else []
        return Table(
            self._title,
            {
                "parameter": ["intercept", *(names[j] for j in order)],
                "estimate": estimate.tolist(),
                "sd": std.tolist(),
                "inclusion": [1.0, *inclusion[order].tolist()],
                "lower": [None, *lower],
                "upper": [None, *upper],
            },
            notes=(
                f"intervals at {100 * level:g} %, with the probability of a zero coefficient included",
                *shown,
                f"median probability model (inclusion probability of at least 0.5): {median}",
                f"log evidence {bound}{self.log_evidence_:.2f} ({self.evidence_method_})",
                *self._notes(),
                self.result_.message,
            ),
        )

    def coefficient(self, column: int | str) -> Coefficient:
        """The posterior of a coefficient, in units of its column: P(β = 0), and the distribution otherwise.

        Examples
        --------
        >>> import numpy as np
        >>> from credo import SpikeSlabRegressor
        >>> model = SpikeSlabRegressor().fit(np.arange(8.0)[:, None], [0.1, 1.0, 2.2, 2.9, 4.1, 5.0, 6.1, 6.9])
        >>> bool(model.coefficient(0).spike < 1e-6)
        True
        """
        place = self._place(column)
        spike = 1.0 - float(self.inclusion_probabilities_[place])
        return Coefficient(self._feature_names()[place], spike, self._average.coefficient(place))

    @property
    def _average(self) -> Average:
        """The coefficients of the stored models; not in model files."""
        if self._fits is None:
            self._fits = self._make_average()
        assert self._fits is not None
        return self._fits

    def _make_average(self) -> Average:
        raise NotImplementedError

    def _notes(self) -> list[str]:
        """Further notes of the summary."""
        return []

    def sample_functions(self, X: ArrayLike, n: int = 1, *, random_state: Any = None) -> Array:
        """Draws of f (log odds for classes) at the rows, shape (n, n_samples); each is linear in one subset."""
        rows = self._predict_rows(X)
        coefs, intercepts = self.sample_coefficients(n, random_state=random_state)
        return np.asarray(coefs @ rows.T) + intercepts[:, None]

    def _place(self, column: Any) -> int:
        """The index of a column given by its name or number; negative numbers count from the end."""
        check_is_fitted(self)
        names = self._feature_names()
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"there is no column {column!r}; the columns are {', '.join(names[:20])}")
            return int(names.index(column))
        if not isinstance(column, Integral) or isinstance(column, bool):
            raise ValueError(f"a column must be given by its name or number; got {column!r}")
        place = int(column)
        if not -len(names) <= place < len(names):
            raise ValueError(f"there is no column {place}: the table has {len(names)}")
        return place % len(names)

    def _places(self, columns: Any) -> list[int]:
        """Sorted indices of columns without repeats; a single column needs no list."""
        given = [columns] if isinstance(columns, str | Integral) else columns
        return sorted({self._place(column) for column in given})

    def _store(
        self, found: ModelPosterior, dependence: Dependence, X: Array, kept: NDArray[np.intp], *, least: Array | float,
        proper: bool, method: str, base: str,
    ) -> None:  # fmt: skip
        """Set the fitted attributes that follow from the posterior, in terms of the table's columns.

        X are the columns that vary, whose places in the table are `kept`.
        """
        self.posterior_ = found.in_table(kept, self.n_features_in_)
        self.inclusion_probabilities_ = self.posterior_.inclusion
        self.map_model_, self.best_subsets_ = self.posterior_.map_model, self.posterior_.best_by_size
        self.median_model_ = in_table(median_model(found, dependence, X, least=least, proper=proper), kept)
        self.copies_ = tuple(in_table(group, kept) for group in dependence.copies)
        self.log_evidence_, self.evidence_method_, self.evidence_base_ = found.log_mass, method, base


_MAX_COLUMNS = 30
# The scores of all subsets are stored for up to this many columns.
_MAX_SCORED_COLUMNS = 20
# From 12 columns on, the outcomes of the first 6 decisions are distributed to threads. The depth is fixed, so that sums
# have the same digits on every machine.
_PARALLEL_COLUMNS, _PARALLEL_DEPTH = 12, 6


def enumerate_models(
    X: Array, y: Array, slab: Slab, prior: ModelPrior, *, least: Array | float = DEPENDENT, n_models: int = 1000,
    all_scores: bool = False,
) -> ModelPosterior:  # fmt: skip
    """The exact posterior over all subsets of the columns.

    Parameters
    ----------
    X, y : arrays of shape (m, d) and (m,)
        Centered, multiplied by the square roots of weights.
    slab, prior : the evidence of a model, and its prior probability; the prior may be that of more columns, which
        are then in no model
    least : array of shape (d,) or float
        The share of a column's length that must be left given others, unless the slab has a ridge.
    n_models : int, default 1000
        How many of the most probable models to store.
    all_scores : bool, default False
        Store ln p(γ)p(y | γ) of every subset in ``diagnostics["scores"]``, by its number; up to 20 columns.
    """
    d = X.shape[1]
    if d > _MAX_COLUMNS:
        raise ValueError(
            f'search="enumerate" would visit 2^{d} models; it goes up to {_MAX_COLUMNS} columns. Use search="gibbs", '
            "or credo.sparse.forward_selection to thin the columns first"
        )
    scale = lengths(X)
    floor = np.zeros(d) if slab.ridge > 0 else np.ones(d) * least
    problem = _problem(X / scale, y, slab, prior, scale, floor)
    scores = np.full(2**d if all_scores and d <= _MAX_SCORED_COLUMNS else 0, -np.inf)
    null, n_models = float(problem.log_prior[0] + slab.log_null), min(n_models, 2**d)
    depth = 0 if d < _PARALLEL_COLUMNS else _PARALLEL_DEPTH

    def explore(prefix: int) -> tuple[float, Sums]:
        T = np.zeros((d + 1, d + 1, d + 1))
        T[0] = problem.R
        sums = Sums(
            counts=np.zeros((2, d + 1)), masses=np.zeros((2, d + 1, 5)), means=np.zeros((2, d + 1, 2, d)),
            squares=np.zeros((2, d + 1, d, d)), top=np.full(n_models, -np.inf),
            top_place=np.full(n_models, -1, dtype=np.int64), best=np.full(d + 1, np.inf),
            best_place=np.full(d + 1, -1, dtype=np.int64), scores=scores,
        )  # fmt: skip
        return _enumerate_jit.explore(prefix, depth, T, problem, null, sums), sums

    parts = parallel_map(explore, range(2**depth))
    return _combined(parts, problem.log_prior, n_models, scale, math.sqrt(slab.yy))


def _problem(U: Array, y: Array, slab: Slab, prior: ModelPrior, scale: Array, least: Array) -> Problem:
    """From columns of unit length and their original lengths."""
    d = U.shape[1]
    rows = np.column_stack([U, y / math.sqrt(slab.yy)])
    if slab.ridge > 0:
        rows = np.vstack([rows, np.eye(d, d + 1) * (math.sqrt(slab.ridge) / scale)[:, None]])
    R = np.zeros((d + 1, d + 1))
    triangle = np.linalg.qr(rows, mode="r")
    R[: len(triangle)] = triangle
    # No subset explains a target that is constant up to rounding.
    R[d, d] = math.sqrt(R[d, d] ** 2 + max(slab.yy - float(y @ y), 0.0) / slab.yy)
    formula = slab.formula(d, one_minus_r2=float(R[d, d] ** 2))
    # Coefficients and noise are in units of the target's length.
    formula = formula._replace(width=formula.width / slab.yy)
    return Problem(R, least, 2.0 * np.log(scale), formula, prior.log_prob(np.arange(d + 1)))


def _combined(
    parts: list[tuple[float, Sums]], log_prior: Array, n_models: int, scale: Array, y_scale: float
) -> ModelPosterior:  # fmt: skip
    d, units, sums = len(scale), np.array([unit for unit, _ in parts]), [part for _, part in parts]
    shares = np.exp(units - units.max())

    def total(arrays: list[Array]) -> Array:
        return np.asarray(sum(share * array for share, array in zip(shares, arrays, strict=True)))

    counts, masses = total([part.counts for part in sums]), total([part.masses[0, 0] for part in sums])
    means, squares = total([part.means[0, 0, 0] for part in sums]), total([part.squares[0, 0] for part in sums])
    # The level, whose mean is zero and whose variance `summed_moments` adds, comes first.
    means, squares = np.append(0.0, means), np.pad(squares, ((1, 0), (1, 0)))
    mass, unit = masses[0], np.append(1.0, y_scale / scale)
    log_mass = units.max() + math.log(mass)
    tops, places = np.concatenate([part.top for part in sums]), np.concatenate([part.top_place for part in sums])
    stored = np.argsort(-tops, kind="stable")[:n_models]
    stored = stored[tops[stored] > -np.inf]
    models = [members(place, d) for place in places[stored].tolist()]
    # Smaller models first among equals.
    ranks = sorted(range(len(models)), key=lambda i: (-tops[stored[i]], len(models[i]), models[i]))
    order, chosen = stored[ranks], tuple(models[i] for i in ranks)
    winner = np.argmin([part.best for part in sums], axis=0)
    best = [int(sums[winner[k]].best_place[k]) for k in range(d + 1)]
    mean = means / mass * unit
    square = (squares + np.tril(squares, -1).T) / mass * np.outer(unit, unit)
    inclusion = np.minimum(counts[0, :d] / mass, 1.0)
    return ModelPosterior(
        inclusion=inclusion,
        models=chosen,
        probability=np.exp(tops[order] - log_mass),
        log_evidence=tops[order] - log_prior[[len(model) for model in chosen]],
        log_mass=float(log_mass),
        size_probability=counts[1] / mass,
        best_by_size=tuple(members(place, d) for place in best if place >= 0),
        moments=Moments(
            np.append(1.0, inclusion), mean, square - np.outer(mean, mean), float(masses[4] / mass) * y_scale**2
        ),
        diagnostics={"converged": True, "n_visited": 2**d, "scores": sums[0].scores},
    )


def members(place: int, d: int) -> Model:
    """The columns of a subset by its number."""
    return tuple(j for j in range(d) if place >> (d - 1 - j) & 1)


# `search="auto"` enumerates the subsets of up to this many columns.
_MAX_AUTO_COLUMNS = 20
# Models with this total probability are the whole posterior, up to rounding.
_WHOLE_PROBABILITY = 1.0 - 1e-12


class SpikeSlabRegressor(SubsetEstimator, Regressor):
    """Linear regression averaged over all subsets of the columns (Bayesian variable selection).

    y = b + Σ_{j∈γ} βⱼxⱼ + ε: a coefficient is zero (the spike) unless its column is in the subset γ (the slab).
    Coefficients and predictions are averages over the posterior p(γ | y) ∝ p(γ) p(y | γ) of all 2ᵈ subsets. The
    intercept is in every model, with a flat prior; an unknown σ² has the prior 1/σ².

    Parameters
    ----------
    prior_inclusion : float, "beta-binomial" or (a, b), default 0.5
        Prior inclusion probability π₀ of each column (a penalty of ln((1−π₀)/π₀) for each); or the beta-binomial prior,
        in which π₀ is uniform (or Beta(a, b)).
    slab : {"bic", "g", "zellner-siow", "normal"}, default "bic"
        Prior of the coefficients in the model. "bic" approximates Bayes factors by exp(−ΔBIC/2), with the
        least-squares fit of each subset. "g" is Zellner's N(0, gσ²(XᵀX)⁻¹); "zellner-siow" integrates its g under
        InvGamma(½, n/2), exactly. "normal" is N(0, slab_variance) for each coefficient.
    search : {"auto", "enumerate", "gibbs"}, default "auto"
        Enumerate all subsets, or sample them by MCMC; "auto" enumerates up to 20 columns.
    g : None, "n", "max" or a number, default None
        For slab="g": n (the default), max(n, d²), or a number.
    slab_variance : float, optional
        For slab="normal", in the units of the columns as given: the variance of a coefficient if noise_variance is
        given, otherwise a multiple of σ². By default the information of one observation, σ² over the column's variance.
    noise_variance : float, optional
        For slab="normal": the known σ². By default σ² is integrated out.
    n_models : int, default 1000
        Number of most probable models to store.
    n_draws : int, optional
        For search="gibbs", the steps of each chain. By default 5000, doubled until the chains agree, up to 40 000 or
        about two minutes.
    n_chains : int, default 4
    random_state : None, int, Generator or RandomState
        For search="gibbs".

    Attributes
    ----------
    inclusion_probabilities_ : posterior inclusion probabilities of the columns
    map_model_, median_model_ : tuples of indices: the most probable subset, and the median probability model, the
        columns with inclusion probability of at least ½. It contains only the most probable of identical columns, and
        no combination of others (except under "normal", which gives such subsets an evidence)
    copies_ : groups of columns that are identical up to offset and scale, as tuples of indices
    models_ : a table of the most probable subsets
    best_subsets_ : for each size the visited subset with the smallest residual sum of squares, as tuples of indices
        (under "normal" with the slab's shrinkage); see `best_subsets_table()`
    coef_, coef_std_, intercept_, intercept_std_ : posterior means and standard deviations, over all models
    log_evidence_, evidence_method_ : ln Σ p(γ)p(y | γ); "bic" for slab="bic", otherwise "exact". After
        sampling, the sum is over the visited subsets: a lower bound
    evidence_base_ : what the evidence conditions on: the flat intercept, and 1/σ² if the noise is unknown
    posterior_ : the posterior over models
    result_ : convergence of the search, and notes about the columns

    Notes
    -----
    With the flat prior of the intercept and 1/σ², the model without columns has the evidence
    Γ((n−1)/2) n^(−1/2) (π Σ(y−ȳ)²)^(−(n−1)/2); others have that times their Bayes factors. With σ² known, it is the
    density of y given any one of its values. A model that maximizes σ² instead, as `GPRegressor()` does, has
    another constant and another `evidence_base_`.

    Under "bic", "g" and "zellner-siow", subsets of linearly dependent columns and subsets of n−1 columns or more have
    probability zero. So a model contains at most one of identical columns, which share the inclusion probability; so
    do linearly dependent and nearly identical columns. `inclusion_of` gives the probability of such a group. The fit
    warns of identical columns, linear combinations, and correlations beyond ±0.999. Constant columns are excluded.

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

    _title = "Spike and slab regression"

    intercept_std_: float

    _accepts_parts = True
    design_: Annotated[Design, Inner(R="R", d="d")]
    moments_: Annotated[Moments, Inner(R="R")]
    slab_: Slab
    prior_: ModelPrior
    coef_: Annotated[Array, Axes("d")]
    intercept_: Annotated[float, Finite]
    coef_std_: Annotated[Array, Axes("d")]

    def _check_state(self) -> None:
        design, slab = self.design_, self.slab_
        # After sampling, the design has only the columns of some stored model.
        known = len(design.kept) <= self.prior_.d <= self.n_features_in_
        if not known or (slab.n, slab.yy, slab.n_rows) != (design.n, design.yy, design.n_rows):
            raise ValueError("slab_ or prior_ belongs to another table")

    def __init__(
        self,
        prior_inclusion: float | tuple[float, float] | Literal["beta-binomial"] = 0.5,
        *,
        slab: Literal["bic", "g", "zellner-siow", "normal"] = "bic",
        search: Literal["auto", "enumerate", "gibbs"] = "auto",
        g: float | Literal["n", "max"] | None = None,
        slab_variance: float | None = None,
        noise_variance: float | None = None,
        n_models: int = 1000,
        n_draws: int | None = None,
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

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to rows, or to a table in parts; a sample weight of k is equivalent to k copies of the row."""
        unit = self._unit()
        if in_parts(X, y):
            return self.fit_summary(summarize(X, y, sample_weight))
        rows, target, weight = self._training_rows(X, y, sample_weight)
        return self._fit(Design.of(rows, target, weight, unit=unit))

    def fit_summary(self, summary: RowSummary) -> Self:
        """Fit the model to rows summarized by `credo.summarize`: the same result as `fit` on the rows."""
        take_summary(self, summary)
        return self._fit(Design.of_summary(summary, unit=self._unit()))

    def _fit(self, design: Design) -> Self:
        names, slab = self._feature_names(), slab_of(**self._slab_arguments(), **design.sizes)
        prior = ModelPrior.of(self.prior_inclusion, len(design.kept))
        dependence = dependence_of(design.X, least=design.least)
        # Warn before a search that may take minutes. The BIC has its own message about too many columns.
        messages = design_messages(design, dependence, slab, names)
        messages += [] if self.slab == "bic" else prior.messages(design.n)
        warn_of(messages)
        found = self._search(design, slab, prior)
        self.search_ = "enumerate" if found.moments is not None else "gibbs"
        self._learn(design, dependence, slab, prior, found)
        later = search_messages(found, slab, design, names)
        warn_of(later)
        diagnostics = found.diagnostics
        visited = f"converged; all {diagnostics['n_visited']:,} subsets were evaluated"
        message = "; ".join([diagnostics.get("message", visited), *size_messages(design, slab), *messages, *later])
        self.result_ = Result(bool(diagnostics["converged"]), int(diagnostics["n_visited"]), message)
        return self

    def sample_coefficients(self, n: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draw coefficients (n, n_features), some of them zero, and intercepts (n,) from the posterior.

        Subsets are drawn from all that were visited, except after the enumeration of more than 20 columns: then from
        the most probable (`n_models`).
        """
        check_is_fitted(self)
        n, rng = positive_integer("n", n), generator(random_state)
        few = self.search_ == "enumerate" and len(self.design_.kept) <= _MAX_AUTO_COLUMNS
        if not few or self.posterior_.probability.sum() > _WHOLE_PROBABILITY:
            return self._average.draws(n, rng, self.n_features_in_)
        scores = self._enumerate(self.design_, all_scores=True).diagnostics["scores"]
        places, counts = np.unique(rng.choice(len(scores), size=n, p=softmax(scores)), return_counts=True)
        models = [in_table(members(place, len(self.design_.kept)), self.design_.kept) for place in places.tolist()]
        return self._average_of(models, counts / n).draws(n, rng, self.n_features_in_)

    def inclusion_of(self, columns: int | str | Sequence[int | str]) -> float:
        """Posterior probability that at least one of the columns is in the model.

        Exact after an enumeration, which visits the subsets without these columns once more; after MCMC, estimated
        from the sampled models.

        Parameters
        ----------
        columns : names or numbers of columns, or one of them

        Examples
        --------
        >>> import numpy as np
        >>> celsius = np.linspace(0.0, 30.0, 20)
        >>> X = np.column_stack([celsius, 32.0 + 1.8 * celsius])
        >>> model = SpikeSlabRegressor().fit(X, 0.1 * celsius + np.cos(celsius))
        >>> model.inclusion_probabilities_.round(3), round(model.inclusion_of([0, 1]), 3)
        (array([0.5, 0.5]), 1.0)
        """
        check_is_fitted(self)
        places = self._places(columns)
        if len(places) < 2 or self.search_ != "enumerate" or self.posterior_.probability.sum() > _WHOLE_PROBABILITY:
            return self.posterior_.any_of(places)
        others = self.design_.restrict(np.setdiff1d(self.design_.kept, places))
        without = self._enumerate(others, n_models=1).log_mass
        return float(-math.expm1(min(without - self.posterior_.log_mass, 0.0)))

    def log_scores(self, models: Sequence[Sequence[int | str]]) -> Array:
        """ln p(γ)p(y | γ) of subsets, each given by the names or numbers of its columns.

        Minus `log_evidence_` it is ln p(γ | y). It is −∞ for a subset of probability zero: with a constant column, too
        many columns, or linearly dependent ones. After MCMC, only columns in some model of `posterior_` can be
        scored, because the data of the others aren't stored.
        """
        check_is_fitted(self)
        subsets = [tuple(self._places(model)) for model in models]
        missing = sorted({j for subset in subsets for j in subset} - set(self.design_.kept.tolist()))
        if missing and self.search_ == "gibbs":
            raise ValueError(
                f"{named(missing, self._feature_names())} can't be scored: constant, or in no stored model"
            )
        sizes = list(map(len, subsets))
        return log_evidences(self.design_, self.slab_, subsets) + self.prior_.log_prob(sizes)

    def all_scores(self) -> Array:
        """ln p(γ)p(y | γ) of all subsets, in descending order, by enumerating them once more; for up to 20 columns.

        −∞ for subsets of probability zero, such as those of linearly dependent columns. See `log_scores` for given
        subsets.
        """
        check_is_fitted(self)
        d = len(self.design_.kept)
        if self.search_ != "enumerate" or d > _MAX_AUTO_COLUMNS:
            raise ValueError(f"all_scores needs an enumeration of at most {_MAX_AUTO_COLUMNS} columns; there are {d}")
        return np.sort(self._enumerate(self.design_, all_scores=True).diagnostics["scores"])[::-1]

    @property
    def coef_cov_(self) -> Array:
        """Posterior covariance of the coefficients over all models, computed on each access."""
        check_is_fitted(self)
        cov = np.zeros((self.n_features_in_, self.n_features_in_))
        cov[np.ix_(self.design_.kept, self.design_.kept)] = self.moments_.cov[1:, 1:]
        return cov

    def best_subsets_table(self) -> Table:
        """The best subset of each size: its columns, R² and BIC."""
        check_is_fitted(self)
        design, names, known = self.design_, self._feature_names(), set(self.design_.kept.tolist())
        models = [model for model in self.posterior_.best_by_size if known.issuperset(model)]
        unexplained = [design.one_minus_r2(design.places(model)) for model in models]
        sizes = [len(model) for model in models]
        return Table(
            "Best subset of each size",
            {
                "size": sizes,
                "subset": [subset_name(model, names) for model in models],
                "R2": [1.0 - left for left in unexplained],
                "BIC": bic(design.n, design.yy, sizes, unexplained).tolist(),
            },
            width=_SUBSET_WIDTH,
        )

    def _notes(self) -> list[str]:
        return [f"noise sd {math.sqrt(self.moments_.noise):.4g}"]

    def _mean(self, rows: Array) -> Array:
        return self._average.mean(rows)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        return self._average.predictive(rows, latent=latent)

    def _covariance(self, rows: Array) -> Array:
        return self._average.covariance(rows)

    def _make_average(self) -> Average:
        stored = self.posterior_.models, self.posterior_.probability
        return self._average_of(*(self.posterior_.averaged if self.search_ == "gibbs" else stored))

    def _average_of(self, models: Sequence[Model], probability: Array) -> Average:
        design = self.design_
        parts = parts_of(design, self.slab_, models, probability)
        return Average(parts, self.moments_, design.kept, design.x_mean, design.y_mean)

    def _slab_arguments(self) -> dict[str, Any]:
        """Arguments of `slab_of` besides the data; raises an error if they don't go together."""
        if self.slab != "g" and self.g is not None:
            raise ValueError(f'g is an argument of slab="g"; the slab is {self.slab!r}')
        variance, noise = self.slab_variance, self.noise_variance
        if self.slab != "normal" and not (variance is None and noise is None):
            raise ValueError(f'slab_variance and noise_variance are arguments of slab="normal"; it is {self.slab!r}')
        variance = variance if variance is not None else 1.0 if noise is None else noise
        return {"name": self.slab, "g": self.g, "slab_variance": variance, "noise_variance": noise}

    def _unit(self) -> str:
        """The unit of the design's columns; checks the arguments."""
        choice("search", self.search, ("auto", "enumerate", "gibbs"))
        self._slab_arguments()
        return "length" if self.slab != "normal" else "variance" if self.slab_variance is None else "as given"

    def _enumerate(self, design: Design, **options: Any) -> ModelPosterior:
        """Enumerate subsets of some of the columns, with the priors of the fit."""
        return enumerate_models(design.X, design.y, self.slab_, self.prior_, least=design.least, **options)

    def _search(self, design: Design, slab: Slab, prior: ModelPrior) -> ModelPosterior:
        n_models, d = positive_integer("n_models", self.n_models), len(design.kept)
        # If no column varies there is one model.
        if self.search == "enumerate" or (self.search == "auto" and d <= _MAX_AUTO_COLUMNS) or d == 0:
            return enumerate_models(design.X, design.y, slab, prior, least=design.least, n_models=n_models)
        return sample_models(
            design.X, design.y, slab, prior, least=design.least, n_draws=self.n_draws, n_chains=self.n_chains,
            n_models=n_models, random_state=self.random_state,
        )  # fmt: skip

    def _learn(
        self, design: Design, dependence: Dependence, slab: Slab, prior: ModelPrior, found: ModelPosterior
    ) -> None:  # fmt: skip
        """Set the fitted attributes, in terms of the table's columns."""
        self._store(
            found, dependence, design.X, design.kept, least=design.least, proper=slab.ridge > 0, method=slab.method,
            base=slab.base,
        )  # fmt: skip
        self.slab_, self.prior_ = slab, prior
        if found.moments is None:
            averaged, weight = self.posterior_.averaged
            used = np.unique([j for model in (*self.posterior_.models, *averaged) for j in model]).astype(np.intp)
            design = design.restrict(used)
            self.moments_ = moments_of(parts_of(design, slab, averaged, weight), used)
        else:
            self.moments_ = summed_moments(design, slab, found.moments, self.posterior_)
        self.design_ = design
        self._fits = self._make_average()
        self.coef_, self.coef_std_, self.intercept_, self.intercept_std_ = self._fits.coefficients(self.n_features_in_)
