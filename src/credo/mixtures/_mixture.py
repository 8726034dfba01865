"""What both mixtures share: validation, the number of components, and all that a density answers."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from credo.estimator import (
    ConvergenceWarning,
    Estimator,
    Result,
    center_and_scale,
    check_magnitude,
    check_positive,
    check_shapes,
    choice,
    merge_equal_rows,
    nonnegative_integer,
    numeric,
    positive,
    positive_integer,
)
from credo.frames import Table
from credo.learning.em import Ascent, smallest_bic
from credo.mixtures._components import Components, Prior
from credo.mixtures._em import Fit, Problem, maximize
from credo.mixtures._laplace import log_evidence, n_parameters
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
# Interquartile range of a standard normal distribution.
_NORMAL_IQR = 1.349
# In units of the spread of a column.
_FARTHEST = 1e140


class DensityMixture(DensityMixin, Estimator):
    """What both mixtures share; a subclass says which `_df` its components have."""

    log_evidence_: float
    evidence_method_: str
    evidence_base_: str

    _title: str

    components_: Components
    center_: Array
    scale_: Array
    bound_: Array
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float

    def __init__(
        self,
        n_components: int | Literal["bic"] = 1,
        *,
        covariance: Literal["full", "diag"] = "full",
        prior: Literal["weak"] | None = "weak",
        max_components: int = 10,
        n_restarts: int = 4,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.prior = prior
        self.max_components = max_components
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_state(self) -> None:
        super()._check_state()
        check_shapes(self, {"d": self.n_features_in_}, center_="d", scale_="d", bound_="n")
        check_positive(self, "scale_")
        if self.components_.means.shape[1] != self.n_features_in_:
            raise ValueError(f"components_ have {self.components_.means.shape[1]} columns, not {self.n_features_in_}")

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        """
        rows, weight = self._standardized(X, sample_weight)
        if self.n_components == "bic":
            most = min(positive_integer("max_components", self.max_components), len(rows))
            fits = (self._fitted(rows, weight, k) for k in range(1, most + 1))
            (problem, path), _ = smallest_bic((fit, _bic(*fit)) for fit in fits)
        else:
            k = positive_integer("n_components", self.n_components, words=["bic"])
            if k > len(rows):
                raise ValueError(f"n_components={k} is more than the {len(rows)} distinct rows of X: use fewer")
            problem, path = self._fitted(rows, weight, k)
        self._keep(problem, path)
        return self

    def score_samples(self, X: ArrayLike) -> Array:
        """The log density of each row."""
        return np.asarray(logsumexp(self._log_terms(X), axis=1)) - float(np.log(self.scale_).sum())

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """The mean log density of the rows."""
        return float(self.score_samples(X).mean())

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The most probable component of each row."""
        return np.asarray(self._log_terms(X).argmax(axis=1))

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability that each component made the row (its responsibility): shape (n_samples, n_components)."""
        return np.asarray(softmax(self._log_terms(X), axis=1))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Array, NDArray[np.intp]]:
        """Draw rows from the density; returns them and the component of each."""
        check_is_fitted(self)
        n = positive_integer("n_samples", n_samples)
        rows, labels = self.components_.sample(n, generator(random_state))
        return rows * self.scale_ + self.center_, labels

    def bic(self, X: ArrayLike) -> float:
        """−2 ln p(X | θ̂) + k ln n for these rows; smaller is better."""
        total = self.score_samples(X)
        return -2.0 * float(total.sum()) + self.n_parameters_ * float(np.log(len(total)))

    def aic(self, X: ArrayLike) -> float:
        """−2 ln p(X | θ̂) + 2k for these rows; smaller is better."""
        return -2.0 * float(self.score_samples(X).sum()) + 2.0 * self.n_parameters_

    def summary(self, *, level: float = 0.95) -> Table:
        """The weight of each component, and its center and spread in each column."""
        check_is_fitted(self)
        names, lines = self._feature_names(), []
        spread = np.sqrt(self._diagonals())
        for k, weight in enumerate(self.weights_):
            lines.append((f"weight {k}", float(weight)))
            lines += [(f"df {k}", float(self.components_.df[k]))] if np.isfinite(self.components_.df[k]) else []
            for j, name in enumerate(names):
                lines.append((f"center {k}: {name}", float(self.means_[k, j])))
                lines.append((f"scale {k}: {name}", float(spread[k, j])))
        notes = (
            f"log evidence {self.log_evidence_:.2f} ({self.evidence_method_}); log likelihood "
            f"{self.log_likelihood_:.2f} with {self.n_parameters_} parameters",
            self.result_.message,
        )
        return Table.of_estimates(f"{self._title}, {len(self.components_)} components", lines, notes=notes)

    @property
    def weights_(self) -> Array:
        check_is_fitted(self)
        return self.components_.weights

    @property
    def means_(self) -> Array:
        check_is_fitted(self)
        return self.components_.means * self.scale_ + self.center_

    @property
    def n_iter_(self) -> int:
        check_is_fitted(self)
        return self.result_.n_iter

    def _scatters(self) -> Array:
        check_is_fitted(self)
        table = self.components_.scatters()
        return table * (np.outer(self.scale_, self.scale_) if table.ndim == 3 else self.scale_**2)

    def _diagonals(self) -> Array:
        table = self._scatters()
        return np.einsum("kii->ki", table) if table.ndim == 3 else table

    def _df(self) -> float | None:
        raise NotImplementedError

    def _log_terms(self, X: ArrayLike) -> Array:
        rows = self._predict_rows(X)
        # Farther out, squares would overflow, and no component would be more probable than another.
        with np.errstate(over="ignore"):
            standardized = np.clip((rows - self.center_) / self.scale_, -_FARTHEST, _FARTHEST)
        return self.components_.log_terms(standardized)

    def _standardized(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """The distinct rows, each column with median zero and a spread of one, and their weights."""
        choice("covariance", self.covariance, ("full", "diag"))
        choice("prior", self.prior, ("weak", None))
        rows = self._validated(numeric(X))
        weight = np.ones(len(rows)) if sample_weight is None else self._weights(sample_weight, rows)
        rows, weight = rows[weight > 0], weight[weight > 0]
        check_magnitude(rows, columns=getattr(self, "feature_names_in_", None))
        first, _, weight = merge_equal_rows(rows, weight)
        rows = rows[first]
        center, scale, constant = _center_and_scale(rows, weight)
        if constant.any():
            name = self._feature_names()[int(np.argmax(constant))]
            if len(rows) == 1:
                raise ValueError(f"{type(self).__name__} needs at least two distinct rows; got n_samples = 1")
            raise ValueError(f"column {name} of X is constant, so that it has no density: leave it out")
        self.center_, self.scale_ = center, scale
        return (rows - center) / scale, weight

    def _fitted(self, rows: Array, weight: Array, n_components: int) -> tuple[Problem, Ascent[Fit]]:
        full = self.covariance == "full"
        prior = Prior.weak(n_components, rows.shape[1], full=full) if self.prior == "weak" else Prior.none()
        problem = Problem(rows, weight, n_components, prior, full, self._df())
        path = maximize(
            problem,
            n_restarts=nonnegative_integer("n_restarts", self.n_restarts),
            max_iter=positive_integer("max_iter", self.max_iter),
            tol=positive("tol", self.tol),
            rng=generator(self.random_state),
        )
        return problem, path

    def _keep(self, problem: Problem, path: Ascent[Fit]) -> None:
        parts = path.end.parts
        order = np.argsort(-parts.weights, kind="stable")
        self.components_ = Components(parts.weights[order], parts.means[order], parts.roots[order], parts.df[order])
        self.n_observations_ = float(problem.weight.sum())
        jacobian = -self.n_observations_ * float(np.log(self.scale_).sum())
        self.bound_ = np.array(path.values) + jacobian
        self.log_likelihood_ = _log_likelihood(problem, path) + jacobian
        self.n_parameters_ = n_parameters(problem)
        evidence = log_evidence(problem, path.end) if self.prior == "weak" else None
        if evidence is None:
            self.log_evidence_ = self.log_likelihood_ - 0.5 * self.n_parameters_ * float(np.log(self.n_observations_))
            self.evidence_method_, self.evidence_base_ = "bic", "Schwarz's approximation, without priors"
        else:
            self.log_evidence_, self.evidence_method_ = evidence + jacobian, "laplace"
            self.evidence_base_ = "priors: scaled by the interquartile ranges of X"
        self.evidence_base_ += "; n_components: maximised" * (self.n_components == "bic")
        n_iter = len(path.values) - 1
        if path.converged:
            self.result_ = Result(True, n_iter, f"converged after {n_iter} iterations of EM")
        else:
            message = f"EM did not converge in {n_iter} iterations: increase max_iter, or use fewer components"
            self.result_ = Result(False, n_iter, message)
            warn(message, ConvergenceWarning, stacklevel=3)


def _center_and_scale(rows: Array, weight: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Medians, spreads and whether a column is constant.

    The spread is the interquartile range over that of a standard normal, so that the tails of a Cauchy distribution
    don't scale the prior; at least a thousandth of the standard deviation.
    """
    order = np.argsort(rows, axis=0, kind="stable")
    share = np.cumsum(weight[order], axis=0) / weight.sum()
    sorted_rows = np.take_along_axis(rows, order, axis=0)
    lower, center, upper = (
        np.take_along_axis(sorted_rows, (share < level - 1e-12).sum(axis=0)[None], axis=0)[0]
        for level in (0.25, 0.5, 0.75)
    )
    std = center_and_scale(rows, weight)[1]
    constant = np.ptp(rows, axis=0) <= 8 * _EPS * np.abs(center)
    return center, np.maximum((upper - lower) / _NORMAL_IQR, 1e-3 * std), constant


def _log_likelihood(problem: Problem, path: Ascent[Fit]) -> float:
    return path.values[-1] - problem.prior.log_density(path.end.parts, learns_df=problem.learns_df)


def _bic(problem: Problem, path: Ascent[Fit]) -> float:
    return -2.0 * _log_likelihood(problem, path) + n_parameters(problem) * float(np.log(problem.weight.sum()))
