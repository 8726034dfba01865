"""Gaussian-process classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.frames import Table
from credo.core.parts import in_parts, parts_of
from credo.distributions import Bernoulli, Categorical, Distribution, Mixture, Normal
from credo.gp._class_parts import ClassifierInParts
from credo.gp._class_predictors import SiteMixturePredictor, SitePredictor, SumsPredictor
from credo.gp._classifier_core import few_threads
from credo.gp._gaussian_process import KernelName
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Covariances of new with training rows that are held at a time.
_BLOCK = 2**22


class GPClassifier(ClassifierInParts):
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
    hyperparameters : {"integrate", "optimize", "fixed", "sample"}, default "integrate"
        "optimize" maximises the evidence as the inference approximates it (EP's, for MCMC). "integrate" averages
        predictions and evidence over up to 16 points around the maximum, by importance sampling from the Laplace
        approximation of the posterior; with more than 1000 rows or 32 parameters, MCMC or a softmax likelihood it
        is the same as "optimize". "sample" needs MCMC.
    hyperpriors : bool, default True
        Weak priors, which keep variances and length scales finite where the classes are separable. False also
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
        "elbo"; absent for "mcmc", whose estimate by annealing is in `result_.message`
    evidence_base_ : what the evidence conditions on; evidences of one base compare
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

    _learning = ("integrate", "optimize", "fixed", "sample")
    _methods = ("auto", "exact", "state_space", "inducing")

    def __init__(
        self,
        kernel: Kernel | KernelName | None = None,
        *,
        inference: Literal["ep", "laplace", "vi", "mcmc"] = "ep",
        link: Literal["probit", "logit"] = "probit",
        hyperparameters: Literal["integrate", "optimize", "fixed", "sample"] = "integrate",
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
        X : array or frame of shape (n_samples, n_features), or a table in parts
            A table in parts is an iterable of chunks, (X, y) or (X, y, weight), or a Dask array or
            frame. Hyperparameters and inducing points come from a random sample of 20,000 rows; passes over all rows
            then give their posterior by variational inference.
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        column_groups : sequence of n_features labels, optional
            Columns with the same label share a length scale, as in `GPRegressor`.
        """
        self._check_arguments()
        self._forget()
        self._rows_in_parts = None
        if in_parts(X, y):
            self._fit_parts(parts_of(X, y, sample_weight), column_groups)
        else:
            self._fit_rows(X, y, sample_weight, column_groups)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Log odds of the second class; for more than two classes the log probability of each."""
        rows = self._predict_rows(X)
        if len(self.classes_) > 2:
            return np.log(np.maximum(self._probabilities(rows), np.finfo(float).tiny))
        return self._in_blocks(rows, self.predictor_.log_odds)

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: Literal[False] = False) -> Bernoulli | Categorical: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: Literal[True]) -> Normal | Mixture: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False) -> Distribution: ...

    def predict_dist(self, X: ArrayLike, *, latent: bool = False) -> Distribution:
        """The predictive distribution of each row's label: Bernoulli where the labels are 0 and 1, else Categorical.

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
        if not isinstance(getattr(self, "predictor_", None), SitePredictor | SiteMixturePredictor | SumsPredictor):
            raise ValueError(
                'latent=True needs two classes and inference="ep", "laplace" or "vi": otherwise the latent function '
                "has no normal distribution"
            )
        return self.predictor_.latent_dist(rows)

    def log_evidence(self, theta: ArrayLike, *, gradient: bool = True) -> Any:
        """Log marginal likelihood ln p(y | X) at a flat parameter vector, with its gradient by default."""
        check_is_fitted(self)
        if self.members_ is not None:
            raise ValueError("the models of one class against the rest have no common evidence: use those in members_")
        self._need_rows("log_evidence")
        value, slope = self._objective().evidence(np.asarray(theta, dtype=np.float64), gradient=gradient)
        return (value, slope) if gradient else value

    @property
    def relevance_(self) -> Array:
        check_is_fitted(self)
        if self.members_ is not None:
            return np.mean([member.relevance_ for member in self.members_], axis=0)
        return super().relevance_

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
        names, values = map(list, zip(*lines, strict=True))
        value = getattr(self, "log_evidence_", None)
        notes = [] if value is None else [f"log evidence {value:.2f} by {self.evidence_method_}"]
        title = f"Gaussian-process classifier of {', '.join(map(str, self.classes_[:6]))}"
        shown: dict[str, list[Any]] = {"parameter": names, "estimate": values, "sd": [None] * len(names)}
        return Table(title, shown, notes=(*notes, self.result_.message))

    def _probabilities(self, rows: Any) -> Array:
        if self.members_ is not None:
            votes = np.stack([member.predict_proba(rows)[:, 1] for member in self.members_], axis=1)
            return votes / votes.sum(axis=1, keepdims=True)
        return self._in_blocks(rows, self.predictor_.probabilities)

    def _in_blocks(self, rows: Array, predict: Any) -> Array:
        size = max(1, _BLOCK // (len(self.predictor_.X) * max(1, len(self.classes_) - 1)))
        parts = np.split(rows, range(size, len(rows), size))
        with few_threads(len(self.predictor_.X)):
            return np.concatenate([predict(np.ascontiguousarray(part)) for part in parts])
