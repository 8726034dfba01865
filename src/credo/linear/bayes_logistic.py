"""Bayesian logistic and softmax regression by Laplace's approximation (Bishop 4.4, 4.5; MacKay 1992)."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from credo.estimator import (
    MAXIMISED,
    FitWarning,
    LinearClassifier,
    Result,
    choice,
    evidence_base,
    interval_level,
    positive,
    positive_integer,
)
from credo.likelihoods import moderated
from credo.linear._laplace import (
    LaplaceFit,
    best_precision,
    effective_weights,
    given_precision,
    log_evidence,
    log_posterior,
)
from credo.linear._logits import LogitPosterior, triangular_roots
from credo.linear._spectrum import Spectrum
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]

# Rows that are looked at for signs that the Gaussian is no good picture of the posterior.
_SAMPLE = 4096

_PREDICTIVES = ("quadrature", "probit", "monte_carlo", "plugin")
_PLACES = {
    "given": "the prior precision was given",
    "inner": "the evidence is stationary in the prior precision",
    "several": "the evidence has several local maxima in the prior precision; this is the highest",
    "flat": "the inputs don't vary, so the data say nothing about the prior precision",
    "high": "the evidence is largest with all weights at zero: the inputs say nothing about the classes",
    "low": "the evidence grows as the prior widens, as it can where a plane separates the classes: "
    "the prior precision is the smallest that was tried; give prior_precision a number",
}


class BayesianLogisticRegression(LinearClassifier):
    """Logistic regression that averages over its weights, with the evidence for the model.

    p(y = 1 | x) = σ(b + wᵀx) with w ~ N(0, α⁻¹ I). The posterior of the weights is approximated by the Gaussian that
    has its mode and its curvature there (Laplace),

        S⁻¹ = αI + Σ σᵢ(1 − σᵢ) xᵢxᵢᵀ        (Bishop 4.143)

    and predicted probabilities are averages of σ over it: less sure than the most probable weights, the more so the
    farther x is from the data. More than two classes have logits b_k + w_kᵀx and their softmax, each w_k with the
    prior above, given that they sum to zero: the labels say nothing of what all classes have in common. The prior is on
    the weights of the columns as they are given, so give these comparable scales.

    The intercept has a prior too, on the level at the mean of the inputs: b + wᵀx̄ ~ N(0, 1/intercept_precision). So
    the evidence is a probability of the labels (it sums to one over all of them, but for Laplace's error), which a flat
    prior would not give, and moving the origin of a column changes nothing.

    Equivalent to `LogisticRegression(alpha=α)` in its weights as `intercept_precision` goes to 0. Wide data (fewer rows
    than columns) are solved in the space that the rows span; no p×p matrix exists before `coef_cov_` is asked for.

    Parameters
    ----------
    prior_precision : float or "evidence", default 1.0
        α; "evidence" maximises the evidence over it.
    predictive : {"quadrature", "probit", "monte_carlo", "plugin"}, default "quadrature"
        How probabilities are averaged. "quadrature" is exact for two classes (to 10⁻¹²), and a mean over 4096 evenly
        spread points of the logits' law for more (to about 10⁻⁴); "probit" is MacKay's formula σ(m/√(1 + πv/8));
        "monte_carlo" averages over `n_draws` stored draws; "plugin" takes the most probable weights for known.
    fit_intercept : bool, default True
    intercept_precision : float, default 0.01
        Of the level's prior, whose standard deviation is 10 by default: log odds of ±20 are within reach.
    class_weight : "balanced" or mapping from label to factor, optional
        Multiplies the sample weights.
    n_draws : int, default 1000
        For "monte_carlo".
    random_state : None, int, Generator or RandomState
        For "monte_carlo": the draws are made in `fit` and kept, so that predictions don't change from call to call.

    Attributes
    ----------
    coef_, intercept_ : most probable weights (1 or n_classes, n_features) and intercepts (1 or n_classes,)
    coef_std_, intercept_std_ : posterior standard deviations, in the same shapes
    coef_cov_ : posterior covariance of the weights, class by class, built on each access
    prior_precision_ : α as given or learned
    effective_dof_ : number of weights that the data determine
    log_evidence_, evidence_method_ : ln p(y | X) and "laplace"
    evidence_base_ : what the evidence conditions on; evidences of one base compare
    log_likelihood_, n_parameters_, n_observations_ : at the mode, for `bic` and `description_length`
    posterior_ : the posterior in the singular basis of the data
    nodes_ : the points of a standard normal law over which probabilities are averaged, where they are
    result_ : how the search for the mode (and α) ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linear import BayesianLogisticRegression
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = BayesianLogisticRegression().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[0.0], [2.0], [20.0]])[:, 1].round(2)
    array([0.5 , 0.79, 0.93])
    >>> lower, upper = model.proba_interval([[2.0]], level=0.9)
    >>> np.append(lower[:, 1], upper[:, 1]).round(2)
    array([0.26, 0.99])
    """

    _accepts_sparse = True
    _title = "Bayesian logistic regression"

    posterior_: LogitPosterior
    nodes_: Array

    def __init__(
        self,
        prior_precision: float | str = 1.0,
        *,
        predictive: str = "quadrature",
        fit_intercept: bool = True,
        intercept_precision: float = 0.01,
        class_weight: Any = None,
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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        """
        self._forget()
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        choice("predictive", self.predictive, _PREDICTIVES)
        task, data = log_posterior(
            rows,
            codes,
            weight,
            n_classes=len(self.classes_),
            intercept=bool(self.fit_intercept),
            level_penalty=positive("intercept_precision", self.intercept_precision),
        )
        if isinstance(self.prior_precision, str):
            choice("prior_precision", self.prior_precision, ("evidence",))
            found = best_precision(task, data)
        else:
            found = given_precision(task, positive("prior_precision", self.prior_precision))
        self._keep(found, data)
        self.n_observations_ = data.weight
        self.n_parameters_ = (len(self.classes_) - 1) * (rows.shape[1] + task.intercept)
        for message in self._doubts(found, rows, codes, weight):
            warn(message, FitWarning, stacklevel=2)
        return self

    def proba_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """The central interval of each class's probability, given what is known of the weights.

        A probability is a function of the weights, so that it has a law of its own, whose mean is `predict_proba` and
        whose quantiles are these: exact for two classes, on the stored points for more.

        Returns
        -------
        lower, upper : arrays of shape (n_samples, n_classes)
        """
        rows, level = self._predict_rows(X), interval_level(level)
        parts = [self._interval(mean, half, level) for mean, half in self.posterior_.moments(rows)]
        return np.concatenate([lower for lower, _ in parts]), np.concatenate([upper for _, upper in parts])

    def sample_coefficients(self, n: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draws of weights and intercepts, in the shapes of `coef_` and `intercept_` with n in front."""
        check_is_fitted(self)
        return self.posterior_.draws(positive_integer("n", n), generator(random_state))

    def sample_functions(self, X: ArrayLike, n: int = 1, *, random_state: Any = None) -> Array:
        """Draws of the log odds at the rows, shape (n, n_samples); of all logits for more than two classes.

        Each draw is one plane of the posterior: (n, n_samples, n_classes) for more than two classes.
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

    def _keep(self, found: LaplaceFit, data: Spectrum) -> None:
        """Fitted attributes from the approximation."""
        task, mode = found.task, found.mode
        self.posterior_ = LogitPosterior.of(task, mode, data)
        self.coef_, self.intercept_ = self.posterior_.coef(), self.posterior_.intercept()
        self.coef_std_, self.intercept_std_ = self.posterior_.coef_std(), self.posterior_.intercept_std()
        self.prior_precision_ = task.penalty
        self.effective_dof_ = effective_weights(task, mode)
        self.log_evidence_, self.evidence_method_ = log_evidence(task, mode), "laplace"
        learned = MAXIMISED if self.prior_precision == "evidence" else ""
        self.evidence_base_ = evidence_base(hyperparameters=learned, class_weight=self.class_weight)
        self.log_likelihood_ = mode.summit.point.log_likelihood
        message = _PLACES[found.place]
        if not mode.summit.converged:
            message = (
                f"Newton's method ended {mode.summit.decrement:.2g} standard deviations from the mode after "
                f"{mode.summit.n_iter} steps: try a larger prior_precision, or columns of comparable scale"
            )
        self.result_ = Result(mode.summit.converged, found.n_iter, message)
        n_latent = task.shape[0]
        if self.predictive == "monte_carlo":
            draws = positive_integer("n_draws", self.n_draws)
            self.nodes_ = generator(self.random_state).standard_normal((draws, n_latent))
        elif n_latent > 1:
            self.nodes_ = moderated.normal_points(n_latent)

    def _doubts(
        self, found: LaplaceFit, rows: Any, codes: NDArray[np.intp], weight: Array | None
    ) -> Iterator[str]:  # fmt: skip
        """What a user should know about this fit.

        Where the posterior is nearly Gaussian, averaging costs a row about half its share in the weights that the data
        determine, ½φᵀSφ·σ(1 − σ). Where a plane nearly separates the classes, the curvature at the mode knows nothing
        of the wall that labels put on one side, and the Gaussian reaches through it.
        """
        if found.place == "low" or not self.result_.converged:
            yield self.result_.message
        if self.predictive == "plugin":
            return
        some = slice(None, None, 1 + rows.shape[0] // _SAMPLE)
        omega = np.ones(rows.shape[0]) if weight is None else weight
        places = np.arange(len(codes[some])), codes[some]
        logs = [
            np.log(np.maximum(self._probabilities(rows[some], rule=rule)[places], np.finfo(np.float64).tiny))
            for rule in ("plugin", "probit")
        ]
        lost = float(omega[some] @ (logs[0] - logs[1])) * self.n_observations_ / float(omega[some].sum())
        if lost > max(self.effective_dof_, 1.0):
            yield (
                f"averaging over the weights makes the training labels e^{lost:.0f} times less probable, which is more "
                f"than {self.effective_dof_:.1f} determined weights explain: a plane nearly separates the classes, and "
                "Laplace's Gaussian reaches where the labels forbid. Averaged probabilities are too near to each "
                'other; try a larger prior_precision, or predictive="plugin"'
            )

    def _scores(self, rows: Any) -> Array:
        """Log odds of the averaged probabilities; their logarithms for more than two classes."""
        logs = self._log_probabilities(rows)
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def _log_probabilities(self, rows: Any) -> Array:
        # Finite where a probability is too small for a computer.
        return np.log(np.maximum(self._probabilities(rows), np.finfo(np.float64).tiny))

    def _probabilities(self, rows: Any, *, rule: str | None = None) -> Array:
        average = self._binary if len(self.classes_) == 2 else self._softmax
        rule = self.predictive if rule is None else rule
        return np.concatenate([average(mean, half, rule) for mean, half in self.posterior_.moments(rows)])

    def _binary(self, mean: Array, half: Array, rule: str) -> Array:
        mean, var = mean[:, 0], np.einsum("njx,njx->n", half, half)
        if rule == "plugin":
            return moderated.plugin(mean)
        if rule == "probit":
            return moderated.probit(mean, var)
        if rule == "monte_carlo":
            if not hasattr(self, "nodes_"):
                raise ValueError('predictive="monte_carlo" averages over draws that fit makes: fit again')
            return moderated.averaged_over(self.nodes_[:, 0], mean, np.sqrt(var))
        return moderated.averaged(mean, var)

    def _softmax(self, mean: Array, half: Array, rule: str) -> Array:
        C = self.posterior_.contrasts
        if rule == "plugin":
            return softmax(mean @ C.T, axis=1)
        if rule == "probit":
            half = C @ half
            return moderated.softmax_probit(mean @ C.T, half @ half.swapaxes(1, 2))
        return moderated.softmax_averaged(self.nodes_, mean, triangular_roots(half), C)

    def _interval(self, mean: Array, half: Array, level: float) -> tuple[Array, Array]:
        if len(self.classes_) == 2:
            std = np.sqrt(np.einsum("njx,njx->n", half, half))
            return moderated.interval(mean[:, 0], std, level)
        return moderated.softmax_interval(self.nodes_, mean, triangular_roots(half), self.posterior_.contrasts, level)

    def _scales(self) -> tuple[Array, Array]:
        return self.coef_std_, self.intercept_std_

    def _tests(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """None: a posterior has no z and no p."""
        return {}

    def _notes(self) -> tuple[str, ...]:
        n_weights = (len(self.classes_) - 1) * self.n_features_in_
        return (
            f"prior precision {self.prior_precision_:.4g} (prior sd {self.prior_precision_**-0.5:.4g})",
            f"log evidence {self.log_evidence_:.2f} by Laplace; {self.effective_dof_:.1f} of {n_weights} weights "
            "determined by the data",
            self.result_.message,
        )
