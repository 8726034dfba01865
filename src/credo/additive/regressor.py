"""Additive regression: a sum of curves, lines, factors and random effects, with families of targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import NoneType
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo.additive import _families as families
from credo.additive._laplace import LaplaceEvidence
from credo.additive._learning import Layout, Moments, RestrictedLikelihood, require_enough_rows
from credo.additive._model import AdditiveModel
from credo.additive._posterior import AdditivePosterior, basis_layout, centered_basis, monotone
from credo.additive.classifier import AdditiveClassifier
from credo.additive.terms import Block, Indicators, Term, TrainingColumns, coded
from credo.core.estimator import (
    JEFFREYS,
    MAXIMISED,
    Regressor,
    choice,
    has_weight,
    missing_to_nan,
    take_columns,
    training_rows,
    truth_values,
)
from credo.core.fields import Inner
from credo.core.parts import Chunk, RowSample, in_parts, parts_of
from credo.distributions import Distribution, StudentT
from credo.likelihoods import Beta, Gamma, Gaussian, LogNormal, NegativeBinomial, Poisson, Weibull, ZeroTruncated
from credo.likelihoods import StudentT as StudentNoise

Array = NDArray[np.float64]
Family = Literal[
    "auto", "gaussian", "student", "poisson", "negative_binomial", "gamma", "beta", "lognormal", "weibull"
]  # fmt: skip


class AdditiveRegressor(AdditiveModel, Regressor):
    """y ~ family with g(E y) = b + f₁(x) + f₂(x) + …: curves, lines, factors, random effects and pairs of columns.

    Every term is a block of basis functions with coefficients N(0, τ²); the variances τ² are learned by the evidence
    (the restricted likelihood for normal noise, Laplace's approximation for other families), so that a curve that the
    data don't need shrinks to a line, and a line to nothing. Equivalent to `gam(method="REML")` of R's mgcv and, with
    random effects, to `lmer` of lme4.

    Parameters
    ----------
    terms : list of terms, optional
        Made by `credo.additive.smooth`, `linear`, `factor`, `random` and `pair`. By default every column gets a term: a
        smooth for numbers, a line for two values, a factor for text. In a list, "others" gives such a term to every
        column that the other terms don't have.
    family : {"auto", "gaussian", "student", "poisson", "negative_binomial", "gamma", "beta", "lognormal", "weibull"}, \
            default "auto"
        The distribution of y given f: with identity link ("gaussian", and "student" for outliers), log link (counts
        and positive numbers) or logit link ("beta", for shares). "lognormal" and "weibull" are for times until an
        event, ln y = f + scale·noise, of which some may be right-censored. "auto" takes the one with the highest
        evidence among those that the values of y allow: Poisson or negative binomial for counts, gamma or normal for
        positive numbers, beta or normal for shares, log-normal or Weibull if there is an `event`, else normal.
    pairs : "auto" or int, default "auto"
        Pairs of columns to add. "auto" adds those whose residuals demand it and that raise the evidence, at most 20, if
        no terms are given; a number adds as many, whatever the evidence.
    zeros : bool, default False
        Whether the zeros of counts or positive numbers have a model of their own (a hurdle): y is zero with a
        probability by an `AdditiveClassifier` of the same terms, and otherwise follows the family without its zero.
    hyperparameters : {"integrate", "optimize"}, default "integrate"
        "integrate" averages over the posterior of the variances, to first order, under the prior ln(τ²/σ²) ~ N(0, 6²)
        for the variance τ² of each term's function beside normal noise, and ln τ² ~ N(0, 2²) otherwise; "optimize"
        maximizes the evidence without a prior, as lme4 does.
    reml : bool, default True
        Whether coefficients with flat priors are integrated out. If False they are maximized with the variances, as
        glmer and glmmTMB do; without random effects, that is maximum likelihood.

    Attributes
    ----------
    terms_ : a table of the terms: standard deviations, effective degrees of freedom, shares, log Bayes factors
    family_ : the family
    family_reason_ : why, if it was chosen
    noise_std_ : standard deviation of normal noise
    dispersion_ : the family's own parameters by name, such as the shape of a negative binomial distribution
    reml_criterion_ : −2 ln of the restricted likelihood at its maximum, for normal noise
    log_evidence_, evidence_method_, evidence_base_ : ln p(y | X), "exact" for normal noise and "laplace" otherwise
    posterior_ : the posterior of the coefficients
    result_ : how the search for the variances ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo import AdditiveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> y = np.sin(6 * X[:, 0]) + 2 * X[:, 1] + 0.1 * rng.normal(size=200)
    >>> model = AdditiveRegressor(family="gaussian").fit(X, y)
    >>> model.predict([[0.25, 0.5]]).round(1)
    array([2.])
    >>> [round(value) for value in model.terms_.columns["dof"]]  # a curve, and nearly a line
    [11, 2]
    """

    family_: str
    family_reason_: str
    noise_std_: float
    dispersion_: dict[str, float]
    reml_criterion_: float
    likelihood_: Any
    zero_part_: Annotated[AdditiveClassifier | None, Inner(d="d")]

    _accepts_parts = True
    _title = "Additive model"
    _equation = "g(E y) = b + f1(x) + f2(x) + ..."

    def __init__(
        self,
        terms: Sequence[Term | str] | None = None,
        *,
        family: Family = "auto",
        pairs: int | Literal["auto"] = "auto",
        zeros: bool = False,
        hyperparameters: Literal["integrate", "optimize"] = "integrate",
        reml: bool = True,
    ) -> None:
        self.terms = terms
        self.family = family
        self.pairs = pairs
        self.zeros = zeros
        self.hyperparameters = hyperparameters
        self.reml = reml

    @property
    def _has_log_link(self) -> bool:
        """Whether an exposure is the offset of a log link."""
        return self.family in ("auto", *families.LOG_LINKS)

    def _check_state(self) -> None:
        zeros = self.zero_part_
        kinds: dict[str, Any] = {
            "gaussian": NoneType, "student": StudentNoise, "gamma": Gamma, "beta": Beta, "lognormal": LogNormal,
            "weibull": Weibull,
            "poisson": ZeroTruncated if zeros is not None else Poisson,
            "negative_binomial": ZeroTruncated if zeros is not None else NegativeBinomial,
        }  # fmt: skip
        if not isinstance(self.likelihood_, kinds.get(self.family_, ())):
            raise ValueError(f"likelihood_ is not that of the family {self.family_!r}")
        if self.likelihood_ and not all(0 < value < math.inf for value in self.likelihood_.dispersion.values()):
            raise ValueError("the parameters of likelihood_ must be positive and finite")
        if self.posterior_.n_latents != 1 or not self.posterior_.has_intercept:
            raise ValueError("the posterior must have one function and an intercept")

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[Any] | None = None,
        *,
        exposure: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features), or a table in parts
            Columns of text are factors. A table in parts is read twice, and needs normal noise and numeric columns.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        column_groups : sequence of n_features labels, optional
            Columns of two values that share a label, such as "site" for "site=a" and "site=b", are the levels of one
            factor with that name, beside a level in whose rows all of them are at their lower value.
        exposure : array of shape (n_samples,), optional
            Positive numbers by which the mean is proportional, such as time or population, for families with a log
            link. Predictions are for an exposure of one unless told otherwise.
        event : array of shape (n_samples,), optional
            For times until an event, whether it was observed (true or 1); the other rows are right-censored: their time
            is known to be longer.
        """
        choice("family", self.family, ("auto", *families.REGRESSION))
        self._check_options()
        self._reset()
        self._log_variances: dict[Any, float] = {}
        if in_parts(X, y):
            return self._fit_parts(parts_of(X, y, sample_weight), column_groups)
        rows, target, weight = self._training_rows(self._numbered(X, reset=True), y, sample_weight)
        used = None if sample_weight is None else has_weight(sample_weight, len(np.asarray(y)))
        offset = self._offset(exposure, len(rows) if used is None else len(used))
        offset = offset if used is None else offset[used]
        observed = self._observed(event, len(rows) if used is None else len(used))
        observed = observed if used is None or observed is None else observed[used]
        if observed is not None and not observed.any():
            raise ValueError("no event was observed: at least one row needs a time that isn't censored")
        rows = self._with_factors(column_groups, rows)
        every = np.ones(len(rows)) if weight is None else weight
        family, self.family_reason_ = self._chosen_family(
            rows, target, every, offset, observed, has_exposure=exposure is not None
        )
        if event is not None and family not in families.SURVIVAL:
            raise ValueError(f'event needs a family of times ({", ".join(families.SURVIVAL)}); got "{family}"')
        self._check_exposure(exposure, family)
        families.check_support(family, target, zeros=self.zeros)
        self._fit_zeros(X, y, sample_weight, column_groups, family, target)
        if self.zero_part_ is not None:
            above = target > 0
            rows, target, every, offset = rows[above], target[above], every[above], offset[above]
        self._fit_family(family, rows, target, every, offset, observed)
        if self.zero_part_ is not None:
            self.log_evidence_ += self.zero_part_.log_evidence_
        return self

    def predict_dist(self, X: Any, *, latent: bool = False, exposure: ArrayLike | None = None) -> Distribution:
        """The predictive distribution of a new observation at each row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        latent : bool, default False
            If True, the distribution of the mean of y at the row, without the noise of an observation.
        exposure : array of shape (n_samples,), optional
            As in `fit`.
        """
        rows = self._predict_rows(X)
        self._check_exposure(exposure, self.family_)
        return self._dist(rows, latent=latent, offset=self._offset(exposure, len(rows)))

    def _dist(self, rows: Any, *, latent: bool, offset: Array | float = 0.0) -> Distribution:
        mean, cov = self.posterior_.latent(rows)
        f, variance = mean[:, 0] + offset, cov[:, 0, 0]
        if self.family_ == "gaussian":
            return StudentT(self.posterior_.df, f, np.sqrt(variance + (0.0 if latent else self.noise_std_**2)))
        zero = None if self.zero_part_ is None else self.zero_part_._probabilities(rows)[:, 0]
        std = np.sqrt(variance)
        return (families.latent if latent else families.predictive)(self.likelihood_, f, std, zero)

    def _mean(self, rows: Any) -> Array:
        if self.family_ in ("gaussian", "student"):
            return self.posterior_.latent(rows)[0][:, 0]
        return np.array(self._dist(rows, latent=False).mean)

    def _covariance(self, rows: Any) -> Array:
        if self.family_ != "gaussian":
            return super()._covariance(rows)
        Z = self.posterior_.design(rows)
        inflation = self.posterior_.df / (self.posterior_.df - 2) if self.posterior_.df > 2 else math.inf
        return inflation * (Z @ self.posterior_.covariance @ Z.T + self.noise_std_**2 * np.eye(len(rows)))

    @staticmethod
    def _check_exposure(exposure: ArrayLike | None, family: str) -> None:
        if exposure is not None and family not in families.LOG_LINKS:
            raise ValueError(
                f'exposure needs a family with a log link ({", ".join(families.LOG_LINKS)}); got "{family}"'
            )

    def _offset(self, exposure: ArrayLike | None, n: int) -> Array:
        if exposure is None:
            return np.zeros(n)
        given = missing_to_nan(exposure, name="exposure")
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("exposure must be numbers; it has other values") from None
        values = np.broadcast_to(values, (n,)) if values.ndim == 0 else values
        if values.shape != (n,) or not ((values > 0) & np.isfinite(values)).all():
            raise ValueError(f"exposure must have a positive finite number for each of the {n} rows")
        return np.log(values)

    def _observed(self, event: ArrayLike | None, n: int) -> NDArray[np.bool_] | None:
        if event is None:
            return None
        values = truth_values("event", event)
        if values.shape != (n,):
            raise ValueError(f"event must be true or false, or 1 or 0, for each of the {n} rows")
        return values

    def _chosen_family(
        self,
        rows: Array,
        y: Array,
        weight: Array,
        offset: Array,
        observed: NDArray[np.bool_] | None,
        *,
        has_exposure: bool,
    ) -> tuple[str, str]:
        """The family, and why; "auto" compares evidences at the best parameters of the noise and of the variances."""
        if self.family != "auto":
            return self.family, ""
        names = families.allowed(y)
        if observed is not None:
            names = families.SURVIVAL
            families.check_support(names[0], y, zeros=False)
        if has_exposure:
            names = tuple(name for name in names if name in families.LOG_LINKS) or ("poisson",)
        if self.zeros and "gaussian" in names:
            names = ("gamma",)
        if len(names) == 1:
            return names[0], "the values of y allow no other"
        scores, ends = {}, {}
        for name in names:
            model = clone(self).set_params(family=name, pairs=0)
            take_columns(model, self)
            model.levels_, model.groups_ = self.levels_, self.groups_
            model.zero_part_ = None
            keep = y > 0 if self.zeros else np.ones(len(y), dtype=bool)
            # The variances of one log link are near those of another.
            model._log_variances = {} if "gaussian" in names else self._log_variances
            model._fit_family(name, rows[keep], y[keep], weight[keep], offset[keep], observed)
            self._log_variances = ends[name] = model._log_variances
            scores[name] = model._peak_evidence
            if name == "gaussian":
                # Flat priors of f on the scale of the link of the other family, instead of that of y.
                mean = float(np.average(y[keep], weights=weight[keep]))
                by_link = mean * (1.0 - mean) if "beta" in names else mean
                n_flat = 1 + sum(block.width for block in model.posterior_.blocks if not block.shrunk)
                scores[name] -= n_flat * math.log(by_link)
        best = max(scores, key=lambda name: scores[name])
        self._log_variances = ends[best]
        values = ", ".join(f"{families.WORDS[name]} {value:.1f}" for name, value in scores.items())
        return best, f"it has the highest log evidence ({values})"

    def _fit_zeros(self, X: Any, y: Any, sample_weight: Any, column_groups: Any, family: str, target: Array) -> None:
        self.zero_part_ = None
        if not self.zeros:
            return
        if family not in families.LOG_LINKS:
            raise ValueError(f"zeros=True needs a family with a log link ({', '.join(families.LOG_LINKS)})")
        if (target > 0).all() or not (target > 0).any():
            raise ValueError("zeros=True needs targets that are zero and targets that aren't")
        part = AdditiveClassifier(self.terms, pairs=self.pairs, hyperparameters=self.hyperparameters, reml=self.reml)
        self.zero_part_ = part.fit(X, np.asarray(y, dtype=np.float64) > 0, sample_weight, column_groups)

    def _fit_family(
        self,
        family: str,
        rows: Array,
        y: Array,
        weight: Array | None,
        offset: Array,
        observed: NDArray[np.bool_] | None = None,
    ) -> None:
        self.family_ = family
        columns = self._columns(rows)

        def fit(terms: Sequence[Term]) -> None:
            if family == "gaussian":
                self._fit_normal(terms, columns, y, weight)
            else:
                every = np.ones(len(y)) if weight is None else weight
                self._fit_laplace(terms, columns, y, every, offset, observed)

        def derivatives() -> tuple[Array, Array]:
            f = offset + self.posterior_.mean_of(rows)[:, 0]
            likelihood = self.likelihood_ or Gaussian(max(self.noise_std_**2, 1e-300))
            if observed is not None:
                likelihood = replace(likelihood, observed=observed)
            slope, second, _ = likelihood.derivatives(y, f)
            every = 1.0 if weight is None else weight
            return (every * slope)[:, None], np.maximum(-every * second, 0.0)[:, None]

        self._fit_with_pairs(columns, fit, derivatives)

    # Normal noise: one pass for the sums, and nothing of the rows after that.

    def _fit_normal(self, terms: Sequence[Term], columns: TrainingColumns, y: Array, weight: Array | None) -> None:
        blocks = self._blocks(terms, columns)
        self._learn_normal(terms, blocks, Moments.of(blocks, columns.rows, y, weight))

    def _learn_normal(self, terms: Sequence[Term], blocks: tuple[Block, ...], moments: Moments) -> None:
        n, means, gram = moments.weight, moments.mean, moments.centred()
        G, moment, total = gram[:-1, :-1], gram[:-1, -1], float(gram[-1, -1])
        squares = np.maximum(np.diagonal(G), 0.0) / n
        layout = basis_layout(blocks, [block.width for block in blocks], squares, intercept=False)
        require_enough_rows(n, int(layout.is_flat.sum()))
        total = max(total, 1e-24 * n * float(means[-1]) ** 2, 1e-280)
        average = self.hyperparameters == "integrate"
        criterion = RestrictedLikelihood(G, moment, total, n, layout, prior=average)
        learned = criterion.learn(self._starts(terms, blocks), average=average)
        p = len(moment)
        covariance = np.zeros((p + 1, p + 1))
        covariance[0, 0], covariance[1:, 1:] = learned.noise / n, learned.covariance
        mean = np.concatenate([means[-1:], learned.mean])
        posterior = AdditivePosterior(blocks, means[:-1], mean, covariance, True, float(learned.df))
        self._keep(terms, monotone(posterior, terms), learned, layout, G)
        self.noise_std_, self.likelihood_ = math.sqrt(learned.noise), None
        self.dispersion_ = {"noise_std": self.noise_std_}
        self.reml_criterion_ = criterion.criterion(learned.search.vector)
        self.evidence_method_, self.evidence_base_ = "exact", self._base(JEFFREYS)

    def _fit_parts(self, parts: Any, column_groups: Sequence[Any] | None) -> Self:
        if self.family not in ("auto", "gaussian") or self.zeros:
            raise ValueError('a table in parts needs family="gaussian": other families read the rows many times')
        self.levels_, self.zero_part_, self.family_reason_ = {}, None, ""
        sample: RowSample = parts.map_reduce(partial(_sampled, type(self).__name__), RowSample.merge)
        self.n_features_in_ = sample.rows.shape[1]
        if sample.names is not None:
            self.feature_names_in_, self.names_carried_ = np.array(sample.names, dtype=object), True
        rows = self._with_factors(column_groups, sample.rows)
        # Terms and pairs come from the sample, and their coefficients from all rows.
        y, weight = sample.extra
        self._fit_family("gaussian", rows, y, weight, np.zeros(len(y)))
        if not sample.is_complete:
            terms, blocks = self.fitted_terms_, self.posterior_.blocks
            shift = np.append(self.posterior_.center, self.posterior_.mean[0])
            summed = partial(_summed, type(self).__name__, self.groups_, blocks, shift)
            self._learn_normal(terms, blocks, parts.map_reduce(summed, Moments.merge))
        return self

    # Other families: Laplace's approximation.

    def _fit_laplace(
        self,
        terms: Sequence[Term],
        columns: TrainingColumns,
        y: Array,
        weight: Array,
        offset: Array,
        observed: NDArray[np.bool_] | None,
    ) -> None:
        shift, unit = (float(np.mean(y)), float(np.std(y)) or 1.0) if self.family_ == "student" else (0.0, 1.0)
        target, average = (y - shift) / unit, self.hyperparameters == "integrate"
        blocks = self._blocks(terms, columns)
        Z, center = centered_basis(blocks, columns.rows, weight, intercept=True, center_levels=bool(self.reml))
        squares = np.average(Z**2, axis=0, weights=weight)
        layout = basis_layout(blocks, [block.width for block in blocks], squares, intercept=True)
        positive = self.zero_part_ is not None
        begin = families.starting_point(self.family_, target, weight, positive=positive, observed=observed)
        likelihood_at = begin.likelihood.with_logs
        evidence = LaplaceEvidence(
            Z, offset, layout, lambda logs: families.RowNoise(likelihood_at(logs), target, weight), begin.logs,
            prior=average, maximize_flat=not self.reml,
        )  # fmt: skip
        evidence.begin_at(begin.level - float(np.average(offset, weights=weight)))
        learned = evidence.learn(self._starts(terms, blocks), average=average)
        mean, covariance = unit * learned.mean, unit**2 * learned.covariance
        mean[0] += shift
        posterior = AdditivePosterior(blocks, center, mean, covariance, True, math.inf)
        inner = Layout(layout.block[1:], layout.scale)
        G = (Z[:, 1:] * weight[:, None]).T @ Z[:, 1:]
        self._keep(terms, monotone(posterior, terms), learned.for_columns(1), inner, G)
        self.variances_ = unit**2 * self.variances_
        self.log_evidence_ -= float(weight.sum()) * math.log(unit)
        self.likelihood_ = likelihood_at(learned.parameters)
        if observed is not None:
            self.likelihood_ = replace(self.likelihood_, observed=None)
        if isinstance(self.likelihood_, StudentNoise):
            self.likelihood_ = replace(self.likelihood_, scale=unit * self.likelihood_.scale)
        self.dispersion_ = self.likelihood_.dispersion
        self.evidence_method_ = "laplace"
        self.evidence_base_ = self._base(MAXIMISED if self.dispersion_ else "")

    def _unit(self, label: Any) -> str:
        if self.family_ in ("gaussian", "student"):
            return ""
        if self.family_ in families.SURVIVAL:
            return "log of the time"
        return "log odds of the mean" if self.family_ == "beta" else "log of the mean"

    def _response(self) -> Callable[[Array], Array] | None:
        level, family = float(self.posterior_.mean[0]), self.family_
        if family == "weibull":
            # The median of a Weibull distribution.
            level += self.likelihood_.scale * math.log(math.log(2.0))
        link = np.asarray if family in ("gaussian", "student") else expit if family == "beta" else np.exp
        return None if self.zeros else lambda f: link(level + f)

    def _words(self) -> str:
        family = families.WORDS.get(getattr(self, "family_", "gaussian"), "")
        return f"Additive model ({family}{', with a hurdle at zero' if self.zeros else ''})"

    def _noise_rows(self) -> list[tuple[str, float]]:
        names = {"noise_std": "noise sd", "df": "degrees of freedom"}
        return [(names.get(name, name), value) for name, value in self.dispersion_.items()]

    def _notes(self) -> tuple[str, ...]:
        check_is_fitted(self)
        chosen = (
            (f"family: {families.WORDS[self.family_]}, because {self.family_reason_}",) if self.family_reason_ else ()
        )
        return (*chosen, *super()._notes())


def _sampled(caller: str, chunk: Chunk) -> RowSample:
    rows, y, weight, names = training_rows(caller, chunk.X, chunk.y, chunk.weight)
    return RowSample.of(rows, y, np.ones(len(y)) if weight is None else weight, number=chunk.number, names=names)


def _summed(caller: str, groups: Sequence[Indicators], blocks: Sequence[Block], shift: Array, chunk: Chunk) -> Moments:
    rows, y, weight, _ = training_rows(caller, chunk.X, chunk.y, chunk.weight)
    return Moments.of(blocks, coded(groups, rows), y, weight, shift)
