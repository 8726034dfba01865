"""From a classifier's arguments to its fitted attributes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from credo.core.estimator import (
    INTEGRATED,
    MAXIMISED,
    Classifier,
    ConvergenceWarning,
    Result,
    check_places,
    check_positive,
    check_shapes,
    choice,
    evidence_base,
)
from credo.core.inference import Approximation, SoftmaxApproximation, choose, representation
from credo.core.learning import integrate
from credo.core.learning.ascent import curvature_at
from credo.core.linalg import one_blas_thread
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.gp._class_inference import INFERENCES, ClassificationObjective, sample_jointly, sample_latent
from credo.gp._class_predictors import (
    LINKS,
    DrawsPredictor,
    SiteMixturePredictor,
    SitePredictor,
    SoftmaxPredictor,
    SumsPredictor,
)
from credo.gp._data import distinct
from credo.gp._gaussian_process import GaussianProcess
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli

Array = NDArray[np.float64]

_EVIDENCE_METHODS = {"ep": "ep", "laplace": "laplace", "vi": "elbo"}
# An evaluation takes several factorisations: starts are tried on half of the rows, within these limits, and up to so
# many rows BLAS uses one thread.
_LEAST, _MOST, _ONE_THREAD = 200, 400, 1000
# Draws of hyperparameters that predictions average over.
_KERNELS = 48
# Up to so many rows and hyperparameters, these are integrated over so many points. Their curvature takes two
# evaluations for each, and few points say little about many.
_INTEGRATED_ROWS, _INTEGRATED_ENTRIES, _POINTS = 1000, 32, 16


class ClassifierCore(Classifier, GaussianProcess):
    """The base class of `GPClassifier`, which adds the arguments, tables in parts, and what users call."""

    inference: str
    link: str
    multiclass: str
    class_weight: Any
    random_state: Any

    # Sites are updated many times in one evaluation of the evidence.
    _n_inducing = 300

    codes_: NDArray[np.intp]
    predictor_: Any
    members_: list[Any] | None
    thetas_: Array
    theta_weights_: Array

    def _check_state(self) -> None:
        super()._check_state()
        n_classes = len(self.classes_)
        if self.members_ is not None:
            if len(self.members_) != n_classes or any(len(member.classes_) != 2 for member in self.members_):
                raise ValueError(f"{len(self.members_)} members_ for {n_classes} classes")
            return
        check_shapes(self, {"d": self.n_features_in_}, X_train_="n d", weight_="n", codes_="n")
        check_places(self, "codes_", n_classes)
        check_positive(self, "weight_")
        two = SitePredictor | SiteMixturePredictor | DrawsPredictor | SumsPredictor
        if not isinstance(self.predictor_, SoftmaxPredictor if n_classes > 2 else two):
            raise ValueError(f"predictor_ is a {type(self.predictor_).__name__}, which isn't for {n_classes} classes")
        known = len(self.predictor_.alpha) if isinstance(self.predictor_, SoftmaxPredictor) else n_classes
        summed = isinstance(self.predictor_, SumsPredictor)
        rows: Any = self.inducing_points_ if summed else self.X_train_
        if self.predictor_.X.shape != np.shape(rows) or known != n_classes:
            raise ValueError("predictor_ belongs to another table")
        if hasattr(self, "theta_weights_"):
            # Files of earlier versions have none.
            check_shapes(self, {"p": len(self.theta_)}, thetas_="k p", theta_weights_="k")

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: Any, column_groups: Sequence[str] | Sequence[int] | None
    ) -> None:
        """Fit to rows in memory."""
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        self._keep_groups(column_groups)
        self._fit_coded(rows, codes, weight)

    def _fit_coded(self, rows: Array, codes: NDArray[np.intp], weight: Array | None) -> None:
        """Fit to rows, the places of their labels among the classes, and their weights."""
        self.members_ = None
        if len(self.classes_) > 2:
            allowed = ("exact", "state_space", "inducing")
            exact = choose(self.method, rows, self._first_kernel(), allowed=allowed)[0] == "exact"
            exact = exact and self._rows_in_parts is None
            joined = "softmax" if self.inference == "laplace" and exact else "one_vs_rest"
            if (joined if self.multiclass == "auto" else self.multiclass) == "one_vs_rest":
                self._fit_members(rows, codes, weight)
                return
            if self.inference == "mcmc":
                raise ValueError('inference="mcmc" is for two classes: use multiclass="one_vs_rest", or "laplace"')
        weight = np.ones(len(codes)) if weight is None else weight
        kept, marks, self.weight_, _ = distinct(rows, codes[:, None].astype(np.float64), weight, merge=True)
        self.X_train_, self.codes_ = kept, marks[:, 0].astype(np.intp)
        self._choose_method()
        self._held_objective = None
        rng = generator(self.random_state)
        with few_threads(len(self.X_train_)):
            curvature = self._learn(rng, n_subset=min(_MOST, max(_LEAST, len(self.X_train_) // 2)))
            self._finish(rng)
            self._integrate_hyperparameters(curvature)

    def _check_arguments(self) -> None:
        self._check_learning()
        choice("inference", self.inference, (*INFERENCES, "mcmc"))
        choice("link", self.link, LINKS)
        choice("multiclass", self.multiclass, ("auto", "softmax", "one_vs_rest"))
        if self.hyperparameters == "sample" and self.inference != "mcmc":
            raise ValueError('hyperparameters="sample" needs inference="mcmc"')

    def _fit_members(self, rows: Array, codes: NDArray[np.intp], weight: Array | None) -> None:
        self.members_ = []
        for k in range(len(self.classes_)):
            member = clone(self).set_params(class_weight=None)
            member._rows_in_parts = self._rows_in_parts
            member._fit_rows(rows, (codes == k).astype(np.int64), weight, self.column_groups_)
            self.members_.append(member)
        self._join_results(self.members_)

    def _join_results(self, members: Sequence[Any]) -> None:
        """The result of the members that didn't converge, or of the first."""
        ends = [member.result_ for member in members]
        worst = next((k for k, end in enumerate(ends) if not end.converged), 0)
        message = ends[worst].message
        if any(end.message != message for end in ends):
            message = f"class {self.classes_.tolist()[worst]!r}: {message}; members_ has the other classes"
        self.result_ = Result(all(end.converged for end in ends), max(end.n_iter for end in ends), message)

    def _possible_methods(self) -> tuple[tuple[str, ...], str]:
        if len(self.classes_) > 2 or self.inference == "mcmc":
            return ("exact",), 'inference="mcmc"' if len(self.classes_) == 2 else 'multiclass="softmax"'
        return ("exact", "state_space", "inducing"), "classification"

    def _make_objective(self, kernel: Kernel) -> ClassificationObjective:
        method, points, n_inducing = self._representation_settings()
        return ClassificationObjective(
            kernel,
            representation(method, self.X_train_, kernel, points, n_points=n_inducing),
            self.codes_,
            len(self.classes_),
            self.weight_,
            Bernoulli(self.link),
            self.inference if self.inference in INFERENCES else "ep",
            hyperpriors=self.hyperpriors,
        )

    def _finish(self, rng: np.random.Generator) -> None:
        """The posterior of the latent functions at the hyperparameters that were found."""
        self.kernel_ = self._objective().kernel_at(self.theta_)
        self.thetas_, self.theta_weights_ = self.theta_[None], np.ones(1)
        if self.inference == "mcmc":
            self._sample(rng)
            return
        found = self._objective().approximation(self.kernel_)
        q = found.posterior
        if isinstance(found, SoftmaxApproximation):
            self.predictor_ = SoftmaxPredictor(self.kernel_, self.X_train_, q.alpha, q.probabilities, self.weight_)
        else:
            self.predictor_ = SitePredictor(
                self.kernel_, self.X_train_, q.precision, q.location, self.link, self.inducing_points_, self.method_
            )
        self.log_evidence_ = found.log_evidence
        self.evidence_method_ = "laplace" if len(self.classes_) > 2 else _EVIDENCE_METHODS[self.inference]
        self.evidence_base_ = self._evidence_base()
        self._report(found)

    def _integrate_hyperparameters(self, curvature: Array | None) -> None:
        """Replace the maximum by weighted points around it, where this is asked for and their number is above one."""
        asked = self.hyperparameters == "integrate" and self.theta_names_ and self.hyperpriors
        few = len(self.X_train_) <= _INTEGRATED_ROWS and len(self.theta_) <= _INTEGRATED_ENTRIES
        if not (asked and few and isinstance(self.predictor_, SitePredictor)) or self.predictor_.points is not None:
            return
        approximations: dict[bytes, Any] = {}
        objective = replace(self._objective(), last={}, found=approximations)
        if curvature is None or not np.isfinite(curvature).all():
            curvature = curvature_at(objective.log_posterior, self.theta_)
        found = integrate(objective.log_posterior_value, self.theta_, curvature, _POINTS)
        sites = [approximations[point.tobytes()].posterior for point in found.points]
        kernels = tuple(objective.kernel_at(point) for point in found.points)
        self.thetas_, self.theta_weights_ = found.points, found.weights
        self.predictor_ = SiteMixturePredictor.of(
            sites, kernels, found.weights, X=self.X_train_, link=self.link, method=self.method_
        )
        self.log_evidence_ = found.log_value
        self.evidence_base_ = evidence_base(hyperparameters=INTEGRATED, class_weight=self.class_weight)
        message = f"{self.result_.message}; predictions average over {len(found.points)} sets of hyperparameters"
        self.result_ = replace(self.result_, message=message)

    def _evidence_base(self) -> str:
        learned = MAXIMISED if self.theta_names_ and self.hyperparameters != "fixed" else ""
        return evidence_base(hyperparameters=learned, class_weight=self.class_weight)

    def _report(self, found: Approximation | SoftmaxApproximation) -> None:
        """Add how the inference ended to how the search ended."""
        parts = [self.result_.message]
        if len(self.classes_) > 2 and self.inference != "laplace":
            parts.append("the classes are joined by Laplace's approximation")
        parts += [] if found.message in self.result_.message.split("; ") else [found.message]
        self.result_ = Result(self.result_.converged and found.converged, self.result_.n_iter, "; ".join(parts))
        if not found.converged:
            warn(found.message, ConvergenceWarning, stacklevel=4)

    def _sample(self, rng: np.random.Generator) -> None:
        objective, n_draws = self._objective(), int(self.n_draws)
        if self.hyperparameters == "sample":
            thetas, draws = sample_jointly(objective, self.theta_, n_draws=n_draws, rng=rng)
            kept = np.unique(np.linspace(0, len(thetas) - 1, min(_KERNELS, len(thetas))).round().astype(int))
            self.thetas_, self.theta_weights_ = thetas, np.full(len(thetas), 1 / len(thetas))
            self.theta_ = thetas.mean(axis=0)
            self.kernel_ = objective.kernel_at(self.theta_)
            kernels = tuple(objective.kernel_at(theta) for theta in thetas[kept])
            self.predictor_ = DrawsPredictor(kernels, self.X_train_, draws[kept], self.link)
            message = f"{len(thetas)} draws of hyperparameters and latent values"
        else:
            draws, value, error = sample_latent(objective, self.kernel_, n_draws=n_draws, rng=rng)
            self.predictor_ = DrawsPredictor((self.kernel_,), self.X_train_, draws, self.link)
            message = f"{len(draws)} draws of the latent values; log evidence {value:.2f} ± {error:.2f} by annealing"
        self.result_ = Result(self.result_.converged, self.result_.n_iter, f"{self.result_.message}; {message}")


def few_threads(n_rows: int) -> AbstractContextManager[None]:
    """One thread of BLAS for matrices of so many rows, if these are small: more would wait for each other."""
    return one_blas_thread() if n_rows <= _ONE_THREAD else nullcontext()
