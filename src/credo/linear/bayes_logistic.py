"""Bayesian logistic and softmax regression by Gaussian variational inference, averaged over the prior precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    MAXIMISED,
    ConvergenceWarning,
    LinearClassifier,
    Result,
    choice,
    evidence_base,
    interval_level,
    positive,
    positive_integer,
)
from credo.core.fields import Axes, Inner, NonNegative, Positive
from credo.core.frames import Intervals
from credo.core.learning.spectrum import Spectrum, components
from credo.core.linalg import one_blas_thread
from credo.core.notices import warn
from credo.core.parts import BLOCK_ENTRIES, reject_parts
from credo.core.seeds import generator
from credo.distributions import Mixture, Normal
from credo.likelihoods import bernoulli as moderated
from credo.linear._variational import (
    LogPosterior,
    PosteriorFit,
    given_precision,
    integrated_precision,
    log_posterior,
    maximized_precision,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogitPosterior:
    """A mixture of Gaussians, one for each prior precision, in the singular basis V of the rows.

    `weights` (c,) are those of the mixture, `mean` (c, m, d) the means of the m contrasts' parameters, `root` (c, md,
    md) R with RᵀR their covariance, and `contrasts` (K, m) maps them to logits. Directions outside the span of the rows
    keep their prior variance (c,). `mode` (m, d) is that of the posterior at one prior precision.
    """

    V: Annotated[Array, Axes("d R")]
    x_mean: Annotated[Array, Axes("d")]
    weights: Annotated[Array, Axes("c"), NonNegative]
    mean: Annotated[Array, Axes("c m p")]
    root: Annotated[Array, Axes("c a a")]
    mode: Annotated[Array, Axes("m p")]
    contrasts: Annotated[Array, Axes("k m")]
    prior_variance: Annotated[Array, Axes("c"), Positive]
    centered: bool

    def _sizes(self) -> dict[str, int]:
        return {"a": self.mode.size}

    @classmethod
    def of(cls, found: PosteriorFit, data: Spectrum) -> LogitPosterior:
        """From the Gaussians that were fitted."""
        posterior = found.parts[0].posterior
        return cls(
            # Contiguous, so that sums have the same last digit after loading from a file.
            V=np.ascontiguousarray(data.V),
            x_mean=data.x_mean,
            weights=found.weights,
            mean=np.ascontiguousarray(np.stack([part.mean for part in found.parts])),
            root=np.ascontiguousarray(np.stack([part.curvature.root() for part in found.parts])),
            mode=np.ascontiguousarray(found.mode.point.theta),
            contrasts=posterior.contrasts,
            prior_variance=np.array([1.0 / part.posterior.penalty for part in found.parts]),
            centered=posterior.intercept,
        )

    @property
    def outputs(self) -> Array:
        """Rows of C for the reported logits: all of them, or the log odds of two classes."""
        return self.contrasts[1:] if len(self.contrasts) == 2 else self.contrasts

    @property
    def rank(self) -> int:
        return self.V.shape[1]

    def coef(self) -> Array:
        """Mean weights of each output, shape (K or 1, p)."""
        return np.tensordot(self.weights, self._coefs(), axes=1)

    def intercept(self) -> Array:
        """Mean logits at x = 0."""
        level = self.outputs @ np.tensordot(self.weights, self.mean[..., self.rank :].sum(axis=2), axes=1)
        return level - self.coef() @ self.x_mean

    def coef_std(self) -> Array:
        """Posterior standard deviation of each weight."""
        outside = np.maximum(1.0 - np.einsum("ij,ij->i", self.V, self.V), 0.0)
        variance = np.tensordot(self.weights, np.square(self._coefs() - self.coef()), axes=1)
        for k, share in enumerate(self.weights):
            blocks = self._root_blocks(k)[..., : self.rank]
            for row, load in zip(variance, self.outputs, strict=True):
                half = np.tensordot(load, blocks, axes=(0, 1)) @ self.V.T
                own = np.einsum("xi,xi->i", half, half) + self.prior_variance[k] * (load @ load) * outside
                row += share * own
        return np.sqrt(variance)

    def intercept_std(self) -> Array:
        """Posterior standard deviation of each logit at x = 0; zero without an intercept."""
        if not self.centered:
            return np.zeros(len(self.outputs))
        mean, half = next(self.moments(np.zeros((1, len(self.V)))))
        logits = mean[:, 0] @ self.outputs.T
        own = np.square(self.outputs @ half[:, 0]).sum(axis=2)
        return np.sqrt(self.weights @ (own + np.square(logits - self.weights @ logits)))

    def coef_cov(self) -> Array:
        """Covariance of the weights, output by output: shape (Kp, Kp), (p, p) for two classes."""
        V, outputs = self.V, self.outputs
        between = (np.sqrt(self.weights)[:, None, None] * (self._coefs() - self.coef())).reshape(len(self.weights), -1)
        null = np.eye(len(V)) - V @ V.T
        cov = between.T @ between + self.weights @ self.prior_variance * np.kron(outputs @ outputs.T, null)
        for k, share in enumerate(self.weights):
            half = np.einsum("kj,xjr,ir->xki", outputs, self._root_blocks(k)[..., : self.rank], V, optimize=True)
            half = half.reshape(len(half), -1)
            cov += share * (half.T @ half)
        return cov

    def plugin(self, X: Any) -> Iterator[Array]:
        """Latent values (n, m) at the mode, block by block of rows."""
        return (phi @ self.mode.T for phi, _ in self._rows(X))

    def moments(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Means (c, n, m) and roots (c, n, m, k), covariance = root rootᵀ, of the latent values, by blocks of rows."""
        c, m, d = self.mean.shape
        for phi, outside in self._rows(X):
            half = np.empty((c, len(phi), m, m * d + m))
            for k in range(c):
                np.einsum("xjd,nd->njx", self._root_blocks(k), phi, optimize=True, out=half[k, ..., : m * d])
            spread = np.sqrt(self.prior_variance[:, None] * outside)
            half[..., m * d :] = spread[:, :, None, None] * np.eye(m)
            yield phi @ self.mean.swapaxes(1, 2), half

    def draws(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """n draws of weights (n, K or 1, p) and intercepts (n, K or 1)."""
        _, m, d = self.mean.shape
        chosen = rng.choice(len(self.weights), size=n, p=self.weights / self.weights.sum())
        theta, z = self.mean[chosen], rng.standard_normal((n, m * d))
        for k, root in enumerate(self.root):
            theta[chosen == k] += (z[chosen == k] @ root).reshape(-1, m, d)
        noise = np.sqrt(self.prior_variance[chosen])[:, None, None] * rng.standard_normal((n, m, len(self.V)))
        weights = theta[..., : self.rank] @ self.V.T + noise - (noise @ self.V) @ self.V.T
        weights, level = self.outputs @ weights, theta[..., self.rank :].sum(axis=2) @ self.outputs.T
        return weights, level - weights @ self.x_mean

    def _rows(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Rows in the singular basis, and the squares of what is outside of it."""
        c, m, d = self.mean.shape
        step = max(64, BLOCK_ENTRIES // max(c * m * (m * d + m), self.V.shape[0], 1))
        for start in range(0, X.shape[0], step):
            inside, outside = components(X[start : start + step], self.V, self.x_mean, rest=True)
            yield (np.column_stack([inside, np.ones(len(inside))]) if self.centered else inside), outside

    def _coefs(self) -> Array:
        """Mean weights of each Gaussian, (c, K or 1, p)."""
        return (self.outputs @ self.mean[..., : self.rank]) @ self.V.T

    def _root_blocks(self, k: int) -> Array:
        """R of a Gaussian with its columns by latent value: shape (md, m, d)."""
        return self.root[k].reshape(-1, *self.mode.shape)


def triangular_roots(half: Array) -> Array:
    """Lower triangular L with L Lᵀ = half halfᵀ for each row, unique by its diagonal: shape (n, m, m)."""
    R = np.asarray(np.linalg.qr(half.swapaxes(-1, -2), mode="r"))
    sign = np.where(np.einsum("...ii->...i", R) < 0, -1.0, 1.0)
    return (R * sign[..., :, None]).swapaxes(-1, -2)


_MESSAGES = {
    "given": "converged; the prior precision was given",
    "integrated": "converged; the posterior is averaged over the prior precision",
    "maximized": "converged; the prior precision maximizes the evidence",
    "flat": "converged; all columns are constant, so the prior precision can't be estimated and is 1",
    "high": "converged; the evidence is highest without any linear effect; a nonlinear model may still do better",
}


class BayesianLogisticRegression(LinearClassifier):
    """Logistic regression with a posterior distribution of its coefficients and the model evidence.

    p(y = 1 | x) = σ(b + wᵀx) with w ~ N(0, α⁻¹ I). The posterior of the coefficients is approximated by the Gaussian q
    that maximizes the lower bound E_q ln p(y | w) − KL[q ‖ prior] on the log evidence. Its precision is an average of
    the curvature,

        S⁻¹ = αI + Σ E_q[σᵢ(1 − σᵢ)] xᵢxᵢᵀ

    whereas the Laplace approximation (Bishop 4.143) uses the curvature at the mode, which is far too small if the
    classes are nearly separable. If α is integrated out, the posterior is a mixture of such Gaussians, for up to five
    α.

    Predicted probabilities are averages of σ over this posterior: they are closer to 1/2 than those at the mode, the
    more so the farther x is from the data. More than two classes have logits b_k + w_kᵀx and a softmax; each w_k has
    the prior above, conditional on a sum of zero. The prior is the same for all columns in the units given, so
    standardize them if their units differ.

    The intercept has a prior on its value at the mean of the inputs: b + wᵀx̄ ~ N(0, 1/intercept_precision). This makes
    the evidence a proper probability of the labels (of which there is a lower bound), and shifting a column has no
    effect.

    With `predictive="plugin"`, equivalent to `LogisticRegression(alpha=α)` as `intercept_precision` goes to 0. Wide
    data (fewer rows than columns) are solved in the row space; no p×p matrix is formed before `coef_cov_` is accessed.

    Parameters
    ----------
    prior_precision : float, "integrate" or "evidence", default "integrate"
        α; "integrate" averages predictions and intervals over its posterior, "evidence" takes the maximum of the bound
        on the evidence. The prior for "integrate" is one of τ, where τ² = mean‖x − x̄‖²/α is the variance of the log
        odds of a typical row: half-Cauchy of scale 3, whatever the units of the columns.
    predictive : {"quadrature", "probit", "monte_carlo", "plugin"}, default "quadrature"
        How probabilities are averaged. "quadrature" is exact for two classes (to 10⁻¹²), and quasi-Monte Carlo with
        4096 points for more (to about 10⁻⁴); "probit" is MacKay's approximation σ(m/√(1 + πv/8)); "monte_carlo"
        averages over `n_draws` stored draws; "plugin" uses the posterior mode at `prior_precision_`.
    fit_intercept : bool, default True
    intercept_precision : float, default 0.01
        Precision of the intercept's prior; by default its standard deviation is 10.
    class_weight : "balanced" or mapping from label to factor, optional
        Multiplies the sample weights.
    n_draws : int, default 1000
        For "monte_carlo".
    random_state : None, int, Generator or RandomState
        For "monte_carlo": the draws are made in `fit` and stored, so predictions are reproducible.

    Attributes
    ----------
    coef_, intercept_ : posterior means of coefficients (1 or n_classes, n_features) and intercepts (1 or n_classes,)
    coef_std_, intercept_std_ : posterior standard deviations, in the same shapes
    coef_cov_ : posterior covariance of the coefficients, class by class, computed on each access
    prior_precision_ : α as given or at the maximum; for "integrate", the most probable value of ln α as α
    effective_dof_ : effective number of parameters
    log_evidence_, evidence_method_ : lower bound on ln p(y | X), for "integrate" integrated over α, and "elbo"
    evidence_base_ : what the evidence conditions on; only evidences of the same base are comparable
    log_likelihood_, n_parameters_, n_observations_ : at the mode, for `bic` and `description_length`
    posterior_ : the posterior in the singular basis of the data, a mixture of Gaussians
    nodes_ : standard normal points over which probabilities are averaged, if they are
    result_ : convergence of the search for the mode and the Gaussians

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linear import BayesianLogisticRegression
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = BayesianLogisticRegression().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[0.0], [2.0], [20.0]])[:, 1].round(2)
    array([0.5 , 0.96, 0.99])
    >>> lower, upper = model.proba_interval([[2.0]], level=0.9)
    >>> np.append(lower[:, 1], upper[:, 1]).round(2)
    array([0.68, 1.  ])
    """

    coef_std_: Array
    intercept_std_: Array
    prior_precision_: float
    effective_dof_: float
    log_evidence_: float
    evidence_method_: str
    evidence_base_: str
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float

    _accepts_sparse = True
    _title = "Bayesian logistic regression"

    posterior_: Annotated[LogitPosterior, Inner(d="d", k="c")]
    nodes_: Array

    def __init__(
        self,
        prior_precision: float | Literal["integrate", "evidence"] = "integrate",
        *,
        predictive: Literal["quadrature", "probit", "monte_carlo", "plugin"] = "quadrature",
        fit_intercept: bool = True,
        intercept_precision: float = 0.01,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_draws: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.predictive = predictive
        self.fit_intercept = fit_intercept
        self.intercept_precision = intercept_precision
        self.class_weight = class_weight
        self.n_draws = n_draws
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        """
        choice("predictive", self.predictive, ("quadrature", "probit", "monte_carlo", "plugin"))
        reject_parts(self, X, y)
        self._reset()
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        # With few parameters, BLAS threads cost more than they save.
        small = min(rows.shape) * len(self.classes_) <= 2_500
        with one_blas_thread() if small else nullcontext():
            self._learn(*log_posterior(rows, codes, weight, n_classes=len(self.classes_), **self._intercept_settings()))
        return self._warned()

    def _intercept_settings(self) -> dict[str, Any]:
        level = positive("intercept_precision", self.intercept_precision)
        return {"intercept": bool(self.fit_intercept), "level_penalty": level}

    def _warned(self) -> Self:
        if not self.result_.converged:
            warn(self.result_.message, ConvergenceWarning, stacklevel=3)
        return self

    def _learn(self, posterior: LogPosterior, data: Spectrum) -> None:
        """Fit to the posterior of the rows, which are in their singular basis."""
        if self.prior_precision == "integrate":
            found = integrated_precision(posterior, data)
        elif self.prior_precision == "evidence":
            found = maximized_precision(posterior, data)
        else:
            precision = positive("prior_precision", self.prior_precision, words=("integrate", "evidence"))
            found = given_precision(posterior, precision)
        self._keep(found, data)
        self.n_observations_ = data.weight
        self.n_parameters_ = (len(self.classes_) - 1) * (len(data.x_mean) + posterior.intercept)

    def confint(self, level: float = 0.95) -> Intervals:
        """Intervals of all parameters, mean ± z sd of the posterior: class by class, the intercept first.

        Returns
        -------
        Intervals
            Prints as a table with the names of the parameters and converts to a frame (`to_frame()`), or to an array of
            shape (n_parameters, 2) by `np.asarray`; `confint()["age"]` is one interval.
        """
        return self._confint(level)

    def proba_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Central posterior interval of each class's probability.

        A probability is a function of the coefficients, so it has a posterior distribution, whose mean is
        `predict_proba` and whose quantiles these are: exact for two classes, estimated on stored points for more.

        Returns
        -------
        lower, upper : arrays of shape (n_samples, n_classes)
        """
        rows, level = self._predict_rows(X), interval_level(level)
        parts = [self._interval(mean, half, level) for mean, half in self.posterior_.moments(rows)]
        return np.concatenate([lower for lower, _ in parts]), np.concatenate([upper for _, upper in parts])

    def sample_coefficients(self, n: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draw n sets of coefficients and intercepts from the posterior; n is the first axis of both arrays."""
        check_is_fitted(self)
        return self.posterior_.draws(positive_integer("n", n), generator(random_state))

    def sample_functions(self, X: ArrayLike, n: int = 1, *, random_state: Any = None) -> Array:
        """Draw the log odds at the rows from the posterior: shape (n, n_samples).

        More than two classes have one logit each: shape (n, n_samples, n_classes).
        """
        rows = self._predict_rows(X)
        weights, intercepts = self.sample_coefficients(n, random_state=random_state)
        scores = np.asarray(rows @ weights.reshape(-1, weights.shape[-1]).T).reshape(rows.shape[0], *intercepts.shape)
        draws = np.moveaxis(scores + intercepts, 1, 0)
        return draws[..., 0] if len(self.classes_) == 2 else draws

    @property
    def coef_cov_(self) -> Array:
        check_is_fitted(self)
        return self.posterior_.coef_cov()

    def _keep(self, found: PosteriorFit, data: Spectrum) -> None:
        """Fitted attributes from the approximation."""
        mode = found.mode
        self.posterior_ = LogitPosterior.of(found, data)
        self.coef_, self.intercept_ = self.posterior_.coef(), self.posterior_.intercept()
        self.coef_std_, self.intercept_std_ = self.posterior_.coef_std(), self.posterior_.intercept_std()
        self.prior_precision_ = found.alpha
        self.effective_dof_ = float(found.weights @ [part.effective_weights for part in found.parts])
        self.log_evidence_, self.evidence_method_ = found.log_evidence, "elbo"
        self.evidence_base_ = evidence_base(
            hyperparameters=MAXIMISED if self.prior_precision == "evidence" else "", class_weight=self.class_weight
        )
        self.log_likelihood_ = mode.point.log_likelihood
        message = _MESSAGES[found.place]
        if not found.converged:
            change = max(mode.decrement, *(part.change for part in found.parts))
            message = (
                f"the posterior's approximation did not converge in {found.n_iter} iterations (it is {change:.2g} "
                "posterior standard deviations from it): try a larger prior_precision, or standardize the columns"
            )
        self.result_ = Result(found.converged, found.n_iter, message)
        n_latent = self.posterior_.contrasts.shape[1]
        if self.predictive == "monte_carlo":
            draws = positive_integer("n_draws", self.n_draws)
            self.nodes_ = generator(self.random_state).standard_normal((draws, n_latent))
        elif n_latent > 1:
            self.nodes_ = moderated.normal_points(n_latent)

    def _scores(self, rows: Any) -> Array:
        """Log odds of the averaged probabilities; their logarithms for more than two classes."""
        logs = self._log_probabilities(rows)
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def _log_probabilities(self, rows: Any) -> Array:
        # Finite even if a probability underflows.
        return np.log(np.maximum(self._probabilities(rows), np.finfo(np.float64).tiny))

    def _probabilities(self, rows: Any) -> Array:
        C, binary = self.posterior_.contrasts, len(self.classes_) == 2
        if self.predictive == "plugin":
            latent = np.concatenate(list(self.posterior_.plugin(rows)))
            return moderated.plugin(latent[:, 0]) if binary else softmax(latent @ C.T, axis=1)
        if self.predictive == "monte_carlo" and not hasattr(self, "nodes_"):
            raise ValueError('predictive="monte_carlo" needs draws that are made in fit: call fit again')
        average = self._binary if binary else self._softmax
        return np.concatenate([average(mean, half) for mean, half in self.posterior_.moments(rows)])

    def _binary(self, mean: Array, half: Array) -> Array:
        mean, var = mean[..., 0], np.einsum("cnjx,cnjx->cn", half, half)
        if self.predictive == "monte_carlo":
            return self._over_nodes(lambda z, k: moderated.expected_sigmoid_over(z[:, 0], mean[k], np.sqrt(var[k])))
        rule = moderated.probit if self.predictive == "probit" else moderated.expected_sigmoid
        return self._mixed([rule(m, v) for m, v in zip(mean, var, strict=True)])

    def _softmax(self, mean: Array, half: Array) -> Array:
        C = self.posterior_.contrasts
        if self.predictive == "probit":
            half = C @ half
            cov = half @ half.swapaxes(2, 3)
            return self._mixed([moderated.softmax_probit(m @ C.T, v) for m, v in zip(mean, cov, strict=True)])
        roots = triangular_roots(half)
        return self._over_nodes(lambda z, k: moderated.expected_softmax(z, mean[k], roots[k], C))

    def _interval(self, mean: Array, half: Array, level: float) -> tuple[Array, Array]:
        if len(self.classes_) == 2:
            std = np.sqrt(np.maximum(np.einsum("cnjx,cnjx->cn", half, half), np.finfo(np.float64).tiny))
            odds = [Normal(m, s) for m, s in zip(mean[..., 0], std, strict=True)]
            return moderated.interval(*Mixture(odds, self.posterior_.weights).interval(level))
        C = self.posterior_.contrasts
        return moderated.softmax_interval(self._node_shares(), mean, triangular_roots(half), C, level)

    def _mixed(self, parts: list[Array]) -> Array:
        """The average over the Gaussians of the mixture."""
        return np.tensordot(self.posterior_.weights, np.stack(parts), axes=1)

    def _over_nodes(self, average: Callable[[Array, int], Array]) -> Array:
        """The average over the stored points, which are divided among the Gaussians of the mixture."""
        total: Array = sum(len(z) * average(z, k) for k, z in enumerate(self._node_shares()) if len(z))  # type: ignore[assignment]
        return total / len(self.nodes_)

    def _node_shares(self) -> list[Array]:
        ends = np.round(np.cumsum(self.posterior_.weights) * len(self.nodes_)).astype(int)
        return np.split(self.nodes_, ends[:-1])

    def _scales(self) -> tuple[Array, Array]:
        return self.coef_std_, self.intercept_std_

    def _tests(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """None: a posterior has no z or p value."""
        return {}

    def _notes(self) -> tuple[str, ...]:
        effective = (
            f"{self.effective_dof_:.1f} effective of {(len(self.classes_) - 1) * self.n_features_in_} parameters"
        )
        return (
            f"prior precision {self.prior_precision_:.4g} (prior sd {self.prior_precision_**-0.5:.4g})",
            f"log evidence {self.log_evidence_:.2f} (lower bound); {effective}",
            self.result_.message,
        )
