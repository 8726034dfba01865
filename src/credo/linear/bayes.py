"""Bayesian linear regression: precisions, posterior, predictive and evidence in closed form (Bishop 3.3–3.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    FLAT,
    JEFFREYS,
    MAXIMISED,
    SCALED,
    FitWarning,
    Result,
    evidence_base,
    positive,
    positive_integer,
)
from credo.core.fields import Positive
from credo.core.learning import (
    EvidenceTerms,
    Gamma,
    PrecisionMixture,
    Precisions,
    gamma_posterior,
    integrate_precisions,
    log_evidence,
    maximize_precisions,
)
from credo.core.learning.linear_posterior import Posterior
from credo.core.learning.spectrum import Spectrum, spectrum
from credo.core.linalg import EPS
from credo.core.notices import warn
from credo.core.parts import RowSummary, in_parts, summarize, take_summary
from credo.core.seeds import generator
from credo.distributions import Distribution, Normal
from credo.linear._rows import StoredRows, same_intercept
from credo.linear.least_squares import PosteriorModel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Learned:
    """The outcome of a fit; `noiseless` means that the evidence grows without bound as the noise goes to zero."""

    posterior: Posterior
    prior_precision: float
    noise_precision: float
    effective_dof: float
    log_evidence: float
    result: Result
    noiseless: bool = False


@dataclass(frozen=True)
class Settings:
    """`prior_precision`, `noise_precision` and `noise_prior` of the model, which are checked here."""

    prior: float | str
    noise: float | str
    noise_prior: tuple[float, float] | None

    def __post_init__(self) -> None:
        if isinstance(self.noise, str) and self.noise not in ("integrate", "evidence", "conjugate"):
            raise ValueError(
                f'noise_precision must be a positive number, "integrate", "evidence" or "conjugate"; got {self.noise!r}'
            )
        words = ("integrate", "evidence")
        if self.prior not in words:
            positive("prior_precision", self.prior, words=words)
        if self.prior == "integrate" and self.noise == "evidence":
            raise ValueError(
                'noise_precision="evidence" maximizes over both precisions: set prior_precision to "evidence" or to a '
                'number as well, or noise_precision to "integrate"'
            )

    @property
    def given_prior(self) -> float | None:
        return None if isinstance(self.prior, str) else positive("prior_precision", self.prior)

    @property
    def integrates(self) -> bool:
        """Whether an integral over the ratio of the precisions is needed."""
        return self.prior == "integrate" or (self.noise == "integrate" and self.given_prior is not None)

    @property
    def is_relative(self) -> bool:
        """Whether a given prior precision is relative to the noise precision."""
        return self.noise == "conjugate"

    def noise_of(self, terms: EvidenceTerms, y_square: float) -> float | Gamma | None:
        """β as a number or a gamma prior; None if the evidence is maximized over it, or α is given and it isn't."""
        if self.noise == "evidence" or (self.noise == "integrate" and self.given_prior is not None):
            return None
        if self.noise == "integrate":
            return Gamma(0.0, 0.0)
        if self.noise != "conjugate":
            return positive("noise_precision", self.noise)
        if self.noise_prior is not None:
            shape, rate = self.noise_prior
            if shape == 0 and rate == 0:
                return Gamma(0.0, 0.0)
            return Gamma(positive("noise_prior shape", shape), positive("noise_prior rate", rate))
        # A single row has no variance; its square is used instead, as in `_provisional`.
        spread = (terms.rss + float(terms.projections.sum())) / terms.dof if terms.dof >= 1 else y_square
        return Gamma(0.5, (spread or 1.0) / 200)


def learn(data: Spectrum, prior_mean: Array, settings: Settings) -> Learned:
    """Precisions, then posterior, then evidence."""
    terms = _evidence_terms(data, prior_mean)
    noise = settings.noise_of(terms, data.y_square)
    alpha = settings.given_prior
    if terms.dof < 1 and (noise is None or (isinstance(noise, Gamma) and noise.is_improper)):
        return _of_point(data, terms, prior_mean, _provisional(data, alpha), None, relative=False)
    if settings.integrates:
        return _of_mixture(data, terms, prior_mean, alpha, noise, relative=settings.is_relative)
    found = maximize_precisions(terms, prior=alpha, noise=noise)
    return _of_point(data, terms, prior_mean, found, noise, relative=settings.is_relative)


def _of_point(
    data: Spectrum,
    terms: EvidenceTerms,
    prior_mean: Array,
    found: Precisions,
    noise: float | Gamma | None,
    *,
    relative: bool,
) -> Learned:
    """With the ratio of the precisions given, or at the maximum of the evidence."""
    df, unit, ratio = math.inf, 1.0 / found.noise if found.noise else math.inf, found.prior / (found.noise or math.nan)
    beta: float | Gamma = found.noise
    if isinstance(noise, Gamma):
        shape, rate = gamma_posterior(terms, noise, found.prior)
        ratio, unit, df, beta = found.prior, rate / shape, 2 * shape, noise
    prior = found.prior if relative or not isinstance(noise, Gamma) else found.prior * found.noise
    _require_finite(prior, found.noise, ratio)
    return Learned(
        Posterior.of_ratios(data, np.array([ratio]), np.ones(1), np.array([unit]), df=df, prior_mean=prior_mean),
        prior,
        found.noise,
        _effective(terms, ratio),
        log_evidence(terms, prior=found.prior, noise=beta),
        Result(found.n_iter >= 0, max(found.n_iter, 0), found.message),
        found.noiseless,
    )


def _of_mixture(
    data: Spectrum,
    terms: EvidenceTerms,
    prior_mean: Array,
    alpha: float | None,
    noise: float | Gamma | None,
    *,
    relative: bool,
) -> Learned:
    """With the ratio of the precisions integrated out."""
    found = integrate_precisions(
        terms,
        row_square=float(terms.eigenvalues.sum()) / data.weight,
        prior=alpha,
        noise=noise,
        null_space=not data.spans_all,
    )
    with np.errstate(all="ignore"):
        prior = np.float64(found.noise_variance if relative else 1.0) / found.prior_variance
        beta = 1.0 / np.float64(found.noise_variance)
    _require_finite(float(prior), float(beta), *found.ratios)
    return Learned(
        Posterior.of_ratios(
            data, found.ratios, found.weights, found.noise_variances, df=found.df, prior_mean=prior_mean
        ),
        float(prior),
        float(beta),
        float(found.weights @ [_effective(terms, ratio) for ratio in found.ratios]),
        found.log_evidence,
        Result(True, len(found.ratios), _message(terms, found, alpha, noise)),
    )


def _message(terms: EvidenceTerms, found: PrecisionMixture, alpha: float | None, noise: float | Gamma | None) -> str:
    if not len(terms.eigenvalues):
        return "converged; all columns are constant, so the prior precision can't be estimated"
    if alpha is None and noise is not None:
        # The limit of an infinite prior precision.
        empty = EvidenceTerms(np.empty(0), np.empty(0), terms.rss + float(terms.projections.sum()), terms.dof, 0.0)
        if log_evidence(empty, prior=1.0, noise=noise) - terms.log_weight > found.log_evidence:
            return "converged; the evidence is higher without any linear effect; a nonlinear model may still do better"
    return "converged; the precisions are integrated out"


def _effective(terms: EvidenceTerms, ratio: float) -> float:
    """γ of Bishop 3.91."""
    return float((terms.eigenvalues / (terms.eigenvalues + ratio)).sum())


def _require_finite(prior: float, noise: float, *ratios: float) -> None:
    if not 0 < prior < math.inf or not 0 < noise < math.inf or not all(0 < ratio < math.inf for ratio in ratios):
        raise ValueError(
            f"the prior precision of the coefficients would be {prior:.3g}, and the noise precision "
            f"{noise:.3g}, which overflow or underflow: change the units of X or y"
        )


def _evidence_terms(data: Spectrum, prior_mean: Array) -> EvidenceTerms:
    """What the evidence depends on, with residuals no smaller than the rounding error of the targets."""
    projections = (data.q - data.s * (data.V.T @ prior_mean)) ** 2
    floor = data.weight * (256 * EPS) ** 2 * data.y_square
    return EvidenceTerms(
        eigenvalues=data.s**2,
        projections=projections,
        rss=max(data.rss, floor, 1e-200),
        dof=data.dof,
        log_weight=0.5 * math.log(data.weight) if data.centered else 0.0,
    )


def _provisional(data: Spectrum, alpha: float | None) -> Precisions:
    """Provisional precisions while there are too few rows to estimate them."""
    noise = 1.0 / data.y_square if data.y_square > 0 else 1.0
    return Precisions(
        noise if alpha is None else alpha,
        noise,
        n_iter=-1,
        message="too few rows to estimate the precisions: provisional values are used until more rows are added",
    )


# The prior of the noise variance if that of the coefficients is given; see `credo.core.learning.precisions`.
_TOTAL = "prior 1/(σ² + explained variance)"


class BayesianLinearRegression(PosteriorModel):
    """Bayesian linear regression with a Gaussian prior on the coefficients, and the model evidence.

    y = b + wᵀx + ε with w ~ N(m₀, α⁻¹ I), ε ~ N(0, β⁻¹) and a flat prior on b. The posterior is Gaussian with

        S = (αI + βXᵀX)⁻¹,    m = m₀ + βSXᵀ(y − Xm₀)        (Bishop 3.53, 3.54; X and y centered)

    Equivalent to `Ridge(alpha=α/β)` in its mean. Wide data (fewer rows than columns) are solved in the n×n dual; no
    p×p matrix is formed before `coef_cov_` is accessed.

    Parameters
    ----------
    prior_precision : float, "integrate" or "evidence", default "integrate"
        α; "integrate" averages over its posterior, "evidence" takes the global maximum of the evidence. The prior for
        "integrate" is about the share of variance that the columns explain: R² = c/(c + α/β) is uniform between 0 and
        1, where c is the mean squared distance of the rows of X from their mean. It doesn't depend on units or on y.
    noise_precision : float, "integrate", "evidence" or "conjugate", default "integrate"
        β; "integrate" averages over its posterior under the prior 1/σ² = β (if α is a number, 1/(σ² + c/α), which is
        bounded). "conjugate" does so under a gamma prior; the prior of the coefficients is then N(m₀, (αβ)⁻¹ I), so a
        number for α is relative to the noise. "evidence" needs an α that is not integrated. With both integrated,
        predictions are a mixture of Student-t distributions, one for each of up to nine values of α/β.
    fit_intercept : bool, default True
        Whether to learn b, under a flat prior. `log_evidence_` is then ln ∫ p(y|b) db, which is the density
        of the targets given any one of them; without intercept it is ln N(y | Xm₀, β⁻¹I + α⁻¹XXᵀ).
    prior_mean : float or array of shape (n_features,), default 0.0
        m₀.
    noise_prior : (shape, rate), optional
        The gamma prior of β for "conjugate". By default shape ½ and rate var(y)/200: the information of one observation
        with a noise standard deviation of a tenth of that of y. (0, 0) is the improper prior 1/β, that is 1/σ², as in
        `SpikeSlabRegressor`: with it and a number as `prior_precision` the evidences of both are comparable.

    Attributes
    ----------
    coef_, intercept_ : posterior means
    coef_std_, intercept_std_ : posterior standard deviations
    coef_cov_ : posterior covariance of the coefficients, computed on each access
    prior_precision_, noise_precision_ : α and β, given or estimated; if they are integrated out, the reciprocals of
        the posterior mean variances of coefficients and noise (with scales of Student-t distributions as variances)
    effective_dof_ : effective number of parameters (γ of Bishop 3.91)
    log_evidence_, evidence_method_ : ln p(y | X) and "exact" (integrals over α/β by quadrature, to about 1e-8)
    evidence_base_ : what the evidence conditions on; only evidences of the same base are comparable
    posterior_ : the posterior in the singular basis of the data, one component for each value of α/β
    result_ : how α and β were found

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> y = X @ [1.0, 0.0, -2.0] + 0.1 * rng.normal(size=50)
    >>> model = BayesianLinearRegression().fit(X, y)
    >>> model.coef_.round(1) + 0.0
    array([ 1.,  0., -2.])
    >>> lower, upper = model.predict_dist(X[:1]).interval(0.95)
    >>> bool(lower[0] < y[0] < upper[0])
    True
    """

    prior_precision_: float
    effective_dof_: float
    log_evidence_: float
    evidence_method_: str
    evidence_base_: str

    _accepts_sparse = True
    _accepts_parts = True
    _title = "Bayesian linear regression"

    noise_precision_: Annotated[float, Positive]

    def __init__(
        self,
        prior_precision: float | Literal["integrate", "evidence"] = "integrate",
        *,
        noise_precision: float | Literal["integrate", "evidence", "conjugate"] = "integrate",
        fit_intercept: bool = True,
        prior_mean: float | ArrayLike = 0.0,
        noise_prior: tuple[float, float] | None = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.noise_precision = noise_precision
        self.fit_intercept = fit_intercept
        self.prior_mean = prior_mean
        self.noise_prior = noise_prior

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features), or a table in parts
            A table in parts is an iterable of chunks, (X, y) or (X, y, weight), without further
            arguments, or a Dask array or frame.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        """
        if in_parts(X, y):
            return self.fit_summary(summarize(X, y, sample_weight))
        rows, target, weight = self._training_rows(X, y, sample_weight)
        data = spectrum(rows, target, weight, center=self.fit_intercept)
        if self._learns_noise() and data.dof < 1:
            rows_given = f"n_samples={len(target)}"
            if weight is not None:
                rows_given += f" of total weight {float(weight.sum()):.3g}"
            raise ValueError(
                f"{rows_given} is too few to estimate the noise precision with an intercept: set "
                "noise_precision to a number, or use more rows"
            )
        self._learn(data)
        self._stored_rows = StoredRows.of(rows, weight, sample_weight)
        return self

    def fit_summary(self, summary: RowSummary) -> Self:
        """Fit the model to rows summarized by `credo.summarize`: the same result as `fit` on the rows."""
        take_summary(self, summary)
        self._learn(Spectrum.of(summary, center=self.fit_intercept))
        self._stored_rows = None
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Update the fit with further rows; the result equals one `fit` on all rows so far.

        The stored state is at most p×p, whatever the number of rows.
        """
        first = not hasattr(self, "posterior_")
        rows, target, weight = self._training_rows(X, y, sample_weight, reset=first)
        if not first:
            same_intercept(self.posterior_.spectrum.centered, self.fit_intercept)
        data = spectrum(rows, target, weight, center=self.fit_intercept)
        if not first:
            data = Spectrum.of(self.posterior_.spectrum.summary().merge(data.summary()), center=self.fit_intercept)
        self._learn(data)
        self._stored_rows = None
        return self

    def plugin_dist(self, X: ArrayLike) -> Normal:
        """The plug-in predictive distribution at the posterior mean: N(mᵀx + b, β⁻¹).

        It ignores the uncertainty of the coefficients; compare with `predict_dist`.
        """
        rows = self._predict_rows(X)
        return Normal(self._mean(rows), self.noise_precision_**-0.5)

    def sample_functions(self, X: ArrayLike, n: int = 1, *, random_state: Any = None) -> Array:
        """Draw functions from the posterior and evaluate them at the rows: shape (n, n_samples)."""
        rows = self._predict_rows(X)
        weights, intercepts = self.sample_coefficients(n, random_state=random_state)
        return np.asarray(rows @ weights.T).T + intercepts[:, None]

    def sample_coefficients(self, n: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draw coefficients (n, n_features) and intercepts (n,) from the posterior."""
        check_is_fitted(self)
        return self.posterior_.draws(positive_integer("n", n), generator(random_state))

    def equivalent_kernel(
        self, X: ArrayLike, *, X_train: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Array:
        """k(x, xₙ) = β xᵀS xₙ (+ 1/n with an intercept): the weight of each training target in the prediction at x.

        Averaged over α/β if that is integrated out; the average then depends on the targets.

        With a prior mean of zero, ``equivalent_kernel(X) @ y`` is the predictive mean (Bishop 3.61, 3.62).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        X_train : array of shape (n_train, n_features), optional
            The training rows; required if the model doesn't store them: after `partial_fit`, after loading from a
            file, and for tables of more than 8 million numbers.
        sample_weight : array of shape (n_train,), optional
            The weights of `X_train`, if the model was fitted with weights.
        """
        rows = self._predict_rows(X)
        if X_train is not None:
            train = self._predict_rows(X_train)
            weight = None if sample_weight is None else self._weights(sample_weight, train)
            total = train.shape[0] if weight is None else float(weight.sum())
            if not math.isclose(total, self.posterior_.spectrum.weight, rel_tol=1e-9):
                raise ValueError(
                    f"X_train stands for {total:g} observations, but the model learned from "
                    f"{self.posterior_.spectrum.weight:g}: pass all training rows, with the sample_weight of the fit"
                )
            return self.posterior_.equivalent_kernel(rows, train, weight)
        kept = self._stored_rows
        if kept is None:
            raise ValueError("the training rows were not stored: pass them as X_train")
        shares = np.zeros((rows.shape[0], kept.n_given))
        shares[:, kept.positions] = self.posterior_.equivalent_kernel(rows, kept.rows, kept.weight)
        return shares

    @property
    def coef_cov_(self) -> Array:
        check_is_fitted(self)
        return self.posterior_.coef_cov()

    def _left_out(self, X: ArrayLike, y: Array, weight: Array | None) -> Distribution | None:
        return self.posterior_.left_out(self._predict_rows(X), y, weight)

    def _notes(self) -> tuple[str, ...]:
        return (
            f"prior precision {self.prior_precision_:.4g}, noise precision {self.noise_precision_:.4g} "
            f"(noise sd {self.noise_precision_**-0.5:.4g})",
            f"log evidence {self.log_evidence_:.2f}; {self.effective_dof_:.1f} effective of "
            f"{len(self.coef_)} parameters",
            self.result_.message,
        )

    def _learns_noise(self) -> bool:
        return isinstance(self.noise_precision, str)

    def _learn(self, data: Spectrum) -> None:
        settings = Settings(self.prior_precision, self.noise_precision, self.noise_prior)
        found = learn(data, self._prior_mean(len(data.x_mean)), settings)
        self._keep_posterior(found.posterior)
        self.prior_precision_, self.noise_precision_ = found.prior_precision, found.noise_precision
        self.effective_dof_, self.result_ = found.effective_dof, found.result
        self.log_evidence_, self.evidence_method_ = found.log_evidence, "exact"
        self.evidence_base_ = self._evidence_base()
        if found.noiseless and data.dof <= len(data.s):
            remedy = "a noise_prior above zero" if self.noise_precision == "conjugate" else '"conjugate"'
            warn(
                f"{found.result.message}, as is possible with {len(self.coef_)} coefficients and {data.weight:g} rows. "
                f"Intervals near the data are too narrow: set noise_precision to a number, or {remedy}",
                FitWarning,
                stacklevel=3,
            )

    def _evidence_base(self) -> str:
        scaled = self.noise_precision == "conjugate" and self.noise_prior is None
        jeffreys = self.noise_precision == "conjugate" and not scaled and not any(self.noise_prior or ())
        if self.noise_precision == "integrate":
            noise = JEFFREYS if isinstance(self.prior_precision, str) else _TOTAL
        else:
            noise = MAXIMISED if self.noise_precision == "evidence" else JEFFREYS if jeffreys else ""
        return evidence_base(
            intercept=FLAT if self.fit_intercept else "",
            noise=noise,
            noise_prior=SCALED if scaled else "",
            hyperparameters=MAXIMISED if self.prior_precision == "evidence" else "",
        )

    def _prior_mean(self, n_features: int) -> Array:
        try:
            mean = np.asarray(self.prior_mean, dtype=np.float64)
        except (TypeError, ValueError):
            mean = np.array(np.nan)
        if mean.ndim > 1 or (mean.ndim == 1 and len(mean) != n_features) or not (np.abs(mean) < 1e150).all():
            raise ValueError(
                f"prior_mean must be a number (below 1e150) or one for each of the {n_features} columns; "
                f"got {self.prior_mean!r}"
            )
        return np.broadcast_to(mean, (n_features,))
