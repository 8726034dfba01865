"""Gaussian-process classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    INTEGRATED,
    MAXIMISED,
    Classifier,
    ConvergenceWarning,
    Evidence,
    Result,
    choice,
    evidence_base,
    evidence_of,
)
from credo.core.fields import Axes, Inner, Sometimes, Where
from credo.core.frames import Table
from credo.core.inference import SoftmaxApproximation, choose
from credo.core.notices import warn
from credo.core.parts import reject_parts
from credo.core.seeds import generator
from credo.distributions import Bernoulli, Categorical, Distribution, Mixture, Normal
from credo.gp._classes import (
    INFERENCES,
    NO_LATENT,
    SINGLE_THREAD_ROWS,
    ClassificationObjective,
    ClassPosterior,
    DrawsPosterior,
    SitePosterior,
    SoftmaxPosterior,
    TwoClasses,
    predicting_points,
    sample_latent,
)
from credo.gp._gaussian_process import GaussianProcess, KernelName
from credo.gp._observations import TrainingData
from credo.gp._search import blas_threads
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli as Labels

Array = NDArray[np.float64]

_EVIDENCE_METHODS = {"ep": "ep", "laplace": "laplace", "vi": "elbo"}
# Up to this many rows and hyperparameters, the latter are integrated over this many points. Their curvature takes two
# evaluations for each, and few points say little about many hyperparameters.
_MAX_INTEGRATED_ROWS, _MAX_INTEGRATED_PARAMETERS, _N_POINTS = 1000, 32, 16
# (rows, most): up to this many rows, predictions average over at most `most` of the points. On five tables of each size
# (1 to 20 columns), log scores of 500 new rows differed from those of all points by at most .0008 at 300 rows, .0033 at
# 600 and .0015 at 1,000; the median was at most .0006.
_PREDICTING_POINTS = ((100, _N_POINTS), (300, 4), (_MAX_INTEGRATED_ROWS, 2))


def _are_binary(members: list[Any]) -> bool:
    return all(isinstance(member, GPClassifier) and len(member.classes_) == 2 for member in members)


class GPClassifier(Classifier, GaussianProcess):
    """Classification by a latent Gaussian process.

    P(y = +1 | x) = s(f(x)) with f ~ GP(0, k) and s the normal distribution function (probit) or the logistic function;
    more than two classes have a latent function each (Rasmussen & Williams, chapter 3).

    Parameters
    ----------
    kernel : Kernel or {"rbf", "exponential", "matern32", "matern52", "rational_quadratic"} or None, default None
        A name stands for that kernel with one length scale for each column, or for each group of columns (see `fit`).
        None chooses between "rbf" and "matern52", and whether to add a linear part, by the evidence.
        The parameters of a kernel object are used as they are with ``hyperparameters="fixed"``, and otherwise are one
        of the starting points of the search.
    inference : {"ep", "laplace", "vi", "mcmc"}, default "ep"
        Expectation propagation, Laplace's approximation, variational inference, or elliptical slice sampling.
    link : {"probit", "logit"}, default "probit"
    hyperparameters : {"integrate", "optimize", "fixed"}, default "integrate"
        "optimize" maximizes the evidence as the inference approximates it (EP's, for MCMC). "integrate" averages
        predictions and evidence over up to 16 points around the maximum, by importance sampling from the Laplace
        approximation of the posterior; with more than 1000 rows or 32 parameters, MCMC or a softmax likelihood it
        is the same as "optimize".
    hyperpriors : bool, default True
        Weak priors, which keep variances and length scales finite if the classes are separable. False also
        makes "integrate" the same as "optimize".
    method : {"auto", "exact", "state_space", "inducing"}, default "auto"
        How covariances are represented, as in `GPRegressor`. With "inducing", rows are independent given the function
        at the inducing points (FITC). A softmax of several classes is "exact".
    n_inducing : int, optional
        Largest number of inducing points. By default 300.
    multiclass : {"auto", "softmax", "one_vs_rest"}, default "auto"
        For more than two classes: one model with a softmax likelihood under Laplace's approximation, or one model for
        each class against the rest, with any inference. "auto" is "softmax" for ``inference="laplace"`` only.
    class_weight : "balanced", mapping from label to factor, or None, default None
    n_restarts : int, default 2
        Number of additional random starting points. They are tried on a subset of at most 400 rows.
    max_evaluations : int, default 200
        Limit on the evaluations of the log evidence on all rows.
    n_draws : int, default 500
        Number of draws that MCMC keeps.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    kernel_ : the fitted kernel
    log_evidence_, evidence_method_ : log marginal likelihood ln p(y | X), and its approximation: "laplace", "ep" or
        "elbo"; absent for "mcmc"
    evidence_base_ : what the evidence conditions on; evidences with the same base are comparable
    relevance_ : standard deviation divided by length scale, for each column
    theta_, theta_names_ : the free parameters as a flat, unconstrained vector, the argument of `log_evidence`
    thetas_, theta_weights_ : the vectors that predictions average over, and their weights
    method_, inducing_points_ : the method that was used, and its inducing points or None
    result_ : whether the search and the inference converged

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPClassifier
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = GPClassifier().fit(x, np.where(np.sin(x[:, 0]) > 0, "up", "down"))
    >>> model.predict([[1.5], [4.5]]).tolist()
    ['up', 'down']
    >>> bool(model.predict_proba([[50.0]]).max() < 0.6)
    True
    """

    _learning = ("integrate", "optimize", "fixed")
    _methods = ("exact", "state_space", "inducing")
    # Updates of sites multiply four covariances.
    _max_variance = 1e75
    # Sites are updated many times in one evaluation of the evidence.
    _n_inducing = 300

    posterior_: Annotated[ClassPosterior, Inner(d="d", c="c"), Sometimes]
    members_: Annotated[list[Any] | None, Axes("c"), Where(_are_binary, "classifiers of two classes")]

    def __init__(
        self,
        kernel: Kernel | KernelName | None = None,
        *,
        inference: Literal["ep", "laplace", "vi", "mcmc"] = "ep",
        link: Literal["probit", "logit"] = "probit",
        hyperparameters: Literal["integrate", "optimize", "fixed"] = "integrate",
        hyperpriors: bool = True,
        method: Literal["auto", "exact", "state_space", "inducing"] = "auto",
        n_inducing: int | None = None,
        multiclass: Literal["auto", "softmax", "one_vs_rest"] = "auto",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_restarts: int = 2,
        max_evaluations: int = 200,
        n_draws: int = 500,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.inference = inference
        self.link = link
        self.hyperparameters = hyperparameters
        self.hyperpriors = hyperpriors
        self.method = method
        self.n_inducing = n_inducing
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.n_restarts = n_restarts
        self.max_evaluations = max_evaluations
        self.n_draws = n_draws
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[str] | Sequence[int] | None = None,
    ) -> Self:
        """Fit the process to a table.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            A weight of k is equivalent to k copies of the row.
        column_groups : sequence of n_features labels, optional
            Columns with the same label share a length scale, as in `GPRegressor`.
        """
        self._check_arguments()
        reject_parts(self, X, y)
        self._reset()
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        self._keep_groups(column_groups)
        self.members_ = None
        if len(self.classes_) > 2:
            allowed = self._methods
            exact = choose(self.method, rows, self._first_kernel(self.method), allowed=allowed)[0] == "exact"
            joined = "softmax" if self.inference == "laplace" and exact else "one_vs_rest"
            if (joined if self.multiclass == "auto" else self.multiclass) == "one_vs_rest":
                self._fit_members(rows, codes, weight)
                return self
            if self.inference == "mcmc":
                raise ValueError('inference="mcmc" is for two classes: use multiclass="one_vs_rest", or "laplace"')
        weight = np.ones(len(codes)) if weight is None else weight
        data = TrainingData.of(rows, codes.astype(np.float64), weight)
        rng = generator(self.random_state)
        with blas_threads(len(data.X), SINGLE_THREAD_ROWS):
            # An evaluation takes several factorizations, so starts are tried on half of the rows, within limits.
            n_subset = min(400, max(200, len(data.X) // 2))
            objective, data, curvature = self._learn(data, rng, n_subset=n_subset, from_data=True)
            self.kernel_ = objective.kernel_at(self.theta_)
            self.thetas_, self.theta_weights_ = self.theta_[None], np.ones(1)
            if self.inference == "mcmc":
                draws = sample_latent(objective, self.kernel_, n_draws=int(self.n_draws), rng=rng)
                self._add_to_message(f"{len(draws)} draws of the latent values")
                self.posterior_ = DrawsPosterior(data, (self.kernel_,), np.ones(1), self.link, draws)
            else:
                self.posterior_ = self._approximated(objective, data, curvature)
        return self

    @property
    def codes_(self) -> NDArray[np.intp]:
        return self.posterior_.data.Y[:, 0].astype(np.intp)

    def decision_function(self, X: ArrayLike) -> Array:
        """Log odds of the second class; for more than two classes the log probability of each."""
        rows = self._predict_rows(X)
        if len(self.classes_) > 2:
            return np.log(np.maximum(self._probabilities(rows), np.finfo(float).tiny))
        assert isinstance(self.posterior_, TwoClasses)
        return self.posterior_.in_blocks(rows, self.posterior_.log_odds)

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: Literal[False] = False) -> Bernoulli | Categorical: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: Literal[True]) -> Normal | Mixture: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False) -> Distribution: ...

    def predict_dist(self, X: ArrayLike, *, latent: bool = False) -> Distribution:
        """The predictive distribution of each row's label: Bernoulli if the labels are 0 and 1, otherwise Categorical.

        Parameters
        ----------
        X : array or frame
        latent : bool, default False
            True gives the distribution of the latent function f itself, for two classes with "ep", "laplace" or "vi":
            a normal distribution, or a mixture of them if hyperparameters were integrated out.
        """
        if not latent:
            return super().predict_dist(X)
        rows = self._predict_rows(X)
        if self.members_ is not None:
            raise ValueError(NO_LATENT)
        return self.posterior_.predictive(rows, latent=True)

    def _need_rows(self, what: str) -> None:
        if self.members_ is not None:
            raise ValueError("one-vs-rest models have no common evidence: use the models in members_")

    @property
    def relevance_(self) -> Array:
        check_is_fitted(self)
        if self.members_ is not None:
            return np.mean([member.relevance_ for member in self.members_], axis=0)
        return super().relevance_

    def _words(self) -> str:
        # All one-vs-rest members have kernels of the same form.
        return super()._words() if self.members_ is None else self.members_[0]._words()

    def summary(self, *, level: float = 0.95) -> Table:
        """The fitted kernel in natural units."""
        check_is_fitted(self)
        members = [("", self)] if self.members_ is None else zip(map(str, self.classes_), self.members_, strict=True)
        columns = self._feature_names()
        lines = [
            (f"{owner}: {name}" if owner else name, value)
            for owner, member in members
            for name, value in member.kernel_.entries(columns)
        ]
        evidence = evidence_of(self)
        notes = [] if evidence is None else [f"log evidence {evidence.value:.2f} by {evidence.method}"]
        return self._table(f"Gaussian-process classifier of {', '.join(map(str, self.classes_[:6]))}", lines, notes)

    def _probabilities(self, rows: Any) -> Array:
        if self.members_ is not None:
            votes = np.stack([member.predict_proba(rows)[:, 1] for member in self.members_], axis=1)
            return votes / votes.sum(axis=1, keepdims=True)
        return self.posterior_.predictive(rows)

    def _check_arguments(self) -> None:
        self._check_learning()
        choice("inference", self.inference, (*INFERENCES, "mcmc"))
        choice("link", self.link, ("probit", "logit"))
        choice("multiclass", self.multiclass, ("auto", "softmax", "one_vs_rest"))

    def _fit_members(self, rows: Array, codes: NDArray[np.intp], weight: Array | None) -> None:
        self.members_ = []
        for k in range(len(self.classes_)):
            member = clone(self).set_params(class_weight=None)
            member.fit(rows, (codes == k).astype(np.int64), weight, self.column_groups_)
            self.members_.append(member)
        # The result of the members that didn't converge, or of the first.
        ends = [member.result_ for member in self.members_]
        worst = next((k for k, end in enumerate(ends) if not end.converged), 0)
        message = ends[worst].message
        if any(end.message != message for end in ends):
            message = f"class {self.classes_.tolist()[worst]!r}: {message}; members_ has the other classes"
        self.result_ = Result(all(end.converged for end in ends), max(end.n_iter for end in ends), message)

    def _possible_methods(self) -> tuple[tuple[str, ...], str]:
        if len(self.classes_) > 2 or self.inference == "mcmc":
            return ("exact",), 'inference="mcmc"' if len(self.classes_) == 2 else 'multiclass="softmax"'
        return ("exact", "state_space", "inducing"), "classification"

    def _make_objective(self, data: TrainingData, kernel: Kernel) -> ClassificationObjective:
        return ClassificationObjective(
            kernel=kernel,
            observations=data.observations(kernel, merged=False),
            n_classes=len(self.classes_),
            likelihood=Labels(self.link),
            inference=self.inference if self.inference in INFERENCES else "ep",
            hyperpriors=self.hyperpriors,
        )

    def _approximated(
        self, objective: ClassificationObjective, data: TrainingData, curvature: Array | None
    ) -> ClassPosterior:
        """The posterior of the latent functions at the maximum, or averaged over weighted points around it."""
        found, several = objective.approximation(self.kernel_), len(self.classes_) > 2
        # The message of the search continues with that of the inference.
        if several and self.inference != "laplace":
            self._add_to_message("the classes are joined by Laplace's approximation")
        if found.message not in self.result_.message.split("; "):
            self._add_to_message(found.message)
        if not found.converged:
            self.result_ = replace(self.result_, converged=False)
            warn(found.message, ConvergenceWarning, stacklevel=3)
        value, learned = found.log_evidence, MAXIMISED if self.theta_names_ and self.hyperparameters != "fixed" else ""
        kernels, approximations = [self.kernel_], {self.theta_.tobytes(): found}
        few = len(data.X) <= _MAX_INTEGRATED_ROWS and len(self.theta_) <= _MAX_INTEGRATED_PARAMETERS
        asked = self.hyperparameters == "integrate" and self.theta_names_ and self.hyperpriors
        if asked and few and not several and data.points is None:
            objective = replace(objective, last={}, found=approximations)
            value, learned = self._integrated(objective, curvature, _N_POINTS).log_value, INTEGRATED
            most = next(most for rows, most in _PREDICTING_POINTS if len(data.X) <= rows)
            each: Any = [approximations[theta.tobytes()].posterior for theta in self.thetas_]
            kept, self.theta_weights_ = predicting_points(each, objective.likelihood, self.theta_weights_, most)
            self.thetas_ = self.thetas_[kept]
            kernels = list(map(objective.kernel_at, self.thetas_))
            self._add_to_message(f"predictions average over {len(kernels)} sets of hyperparameters")
        method = "laplace" if several else _EVIDENCE_METHODS[self.inference]
        base = evidence_base(hyperparameters=learned, class_weight=self.class_weight)
        process = data, tuple(kernels), self.theta_weights_
        if isinstance(found, SoftmaxApproximation):
            sites = found.posterior.alpha, found.posterior.probabilities
            return SoftmaxPosterior(*process, *sites, evidence=Evidence(value, method, base))
        every: Any = [approximations[theta.tobytes()].posterior for theta in self.thetas_]
        sites = np.stack([q.precision for q in every]), np.stack([q.location for q in every])
        return SitePosterior(*process, self.link, *sites, evidence=Evidence(value, method, base))
