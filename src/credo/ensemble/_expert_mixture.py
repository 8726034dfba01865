"""What mixtures of experts share: standardized rows, EM, the gate, and the choice of the number of experts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from credo.ensemble._expert_em import Fit, Task, climb, maximize, step
from credo.ensemble._experts import GivenExperts
from credo.ensemble._gate import Gate
from credo.estimator import (
    ConvergenceWarning,
    Estimator,
    Result,
    check_positive,
    check_shapes,
    choice,
    positive,
    positive_integer,
)
from credo.metrics import final_step
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]

# Precision of the gate's intercepts.
_GATE_INTERCEPT = 0.01
# "bic" stops after this many numbers of experts that were worse than the best.
_PATIENCE = 2
# Iterations of experts that are given, which start from linear ones.
_GIVEN_ITER = 20


class MixtureOfExperts(Estimator):
    """What regressor and classifier share: standardized rows, EM, the gate, and the choice of the number of experts."""

    experts_: Any
    gate_: Gate
    center_: Array
    scale_: Array
    rotation_: Array | None
    bound_: Array
    bics_: Array
    n_parameters_: int
    n_observations_: float

    n_experts: int | str
    expert: Any
    gate: str
    gate_precision: float
    max_experts: int
    n_restarts: int
    max_iter: int
    tol: float
    random_state: Any

    def _check_state(self) -> None:
        super()._check_state()
        check_shapes(self, {"d": self.n_features_in_}, center_="d", scale_="d", rotation_="d r?", bound_="n")
        check_positive(self, "scale_")
        width = (self.n_features_in_ if self.rotation_ is None else self.rotation_.shape[1]) + 1
        if self.gate_.theta.shape[2] != width:
            raise ValueError(f"gate_ has {self.gate_.theta.shape[2]} weights in each branch, not {width}")

    def gate_proba(self, X: ArrayLike) -> Array:
        """The probability of each expert at each row, before its target is known: shape (n_samples, n_experts)."""
        return np.exp(self.gate_.log_proba(self._phi(self._predict_rows(X))))

    @property
    def n_experts_(self) -> int:
        check_is_fitted(self)
        return self.gate_.n_experts

    @property
    def n_iter_(self) -> int:
        check_is_fitted(self)
        return self.result_.n_iter

    def _settings(self) -> dict[str, Any]:
        if not isinstance(self.n_restarts, int) or self.n_restarts < 0:
            raise ValueError(f"n_restarts must be a whole number that is not negative; got {self.n_restarts!r}")
        return {
            "n_restarts": self.n_restarts,
            "max_iter": positive_integer("max_iter", self.max_iter),
            "tol": positive("tol", self.tol),
        }

    def _numbers(self, n_rows: int) -> list[int]:
        """The numbers of experts to try."""
        if self.n_experts == "bic":
            if self.expert is not None:
                raise ValueError('n_experts="bic" counts the parameters of linear experts: give a number with expert=')
            return list(range(1, min(positive_integer("max_experts", self.max_experts), n_rows) + 1))
        return [min(positive_integer("n_experts", self.n_experts), n_rows)]

    def _learn(self, rows: Array, y: Array, weight: Array, labels: Array, start: Any) -> tuple[Task, Fit]:
        """EM with linear experts for each number of them; the smallest BIC is kept."""
        choice("gate", self.gate, ("softmax", "hierarchical"))
        penalty = positive("gate_precision", self.gate_precision)
        settings = self._settings()
        self.center_, self.scale_ = center_and_scale(rows, weight)
        table = (rows - self.center_) / self.scale_
        n, d = table.shape
        # A ridge penalty is the same in every orthonormal basis of the rows' span.
        self.rotation_ = np.linalg.svd(table, full_matrices=False)[2].T if d > n else None
        phi = self._phi(rows)
        width = phi.shape[1]
        penalties = np.append(np.full(width - 1, penalty), _GATE_INTERCEPT)
        task = Task(phi, y, weight, penalties)
        self.n_observations_ = float(weight.sum())
        best, bics, worse = None, [], 0
        for k in self._numbers(n):
            gate = Gate.uniform(k, width, hierarchical=self.gate == "hierarchical")
            rng = generator(self.random_state)
            fit = maximize(task, start(k, width), gate, labels, rng=rng, **settings)
            size = k * self._expert_size(width) + (k - 1) * width
            bics.append(-2 * task.log_likelihood(fit.experts, fit.gate) + size * np.log(max(self.n_observations_, 2.0)))
            best, worse = (fit, 0) if bics[-1] <= min(bics) else (best, worse + 1)
            if worse == _PATIENCE:
                break
        assert best is not None
        self.bics_ = np.array(bics)
        self.n_parameters_ = best.gate.n_experts * self._expert_size(width) + (best.gate.n_experts - 1) * width
        return task, best

    def _given(self, task: Task, fit: Fit, rows: Array, y: NDArray[Any]) -> Fit:
        """EM with clones of the given estimator, which starts from the responsibilities of linear experts."""
        last = final_step(self.expert)
        if not has_fit_parameter(last, "sample_weight") or not hasattr(last, "predict_dist"):
            raise TypeError(f"expert must have predict_dist and take sample_weight; {type(last).__name__} doesn't")
        own = Task(task.phi, y, task.weight, task.gate_penalty)
        first = step(own, GivenExperts(self.expert, rows), fit.gate, fit.shares)
        return climb(own, first, max_iter=min(_GIVEN_ITER, self.max_iter), tol=self.tol)

    def _finish(self, task: Task, fit: Fit, jacobian: float) -> None:
        self.gate_ = fit.gate
        self.bound_ = np.array(fit.bounds) + jacobian
        self.log_likelihood_ = task.log_likelihood(fit.experts, fit.gate) + jacobian
        n_iter = len(fit.bounds)
        many = f"{self.n_experts_} expert" + "s" * (self.n_experts_ > 1)
        if fit.converged:
            self.result_ = Result(True, n_iter, f"{many}; converged after {n_iter} iterations of EM")
            return
        message = f"EM with {many} did not converge in {n_iter} iterations: increase max_iter, or use fewer experts"
        self.result_ = Result(False, n_iter, message)
        warn(message, ConvergenceWarning, stacklevel=4)

    def _phi(self, rows: Array) -> Array:
        """Standardized rows with a column of ones."""
        table = (rows - self.center_) / self.scale_
        table = table if self.rotation_ is None else table @ self.rotation_
        return np.column_stack([table, np.ones(len(table))])

    def _expert_size(self, width: int) -> int:
        raise NotImplementedError

    def _gate_lines(self) -> list[tuple[str, float]]:
        shares = self.gate_.log_proba(np.append(np.zeros(self.gate_.theta.shape[2] - 1), 1.0)[None])
        return [(f"gate at the mean of X: expert {j}", float(p)) for j, p in enumerate(np.exp(shares[0]))]

    def _in_columns(self, weights: Array) -> Array:
        """Weights of standardized (and rotated) columns as those of X."""
        slopes = weights[..., :-1]
        return (slopes if self.rotation_ is None else slopes @ self.rotation_.T) / self.scale_


def rounding_variance(y: Array, weight: Array) -> float:
    """δ²/12 if y was rounded to multiples of δ, judged by its ties; zero if half of the targets or more are distinct.

    Without it, an expert for each of a few whole numbers would have no noise, and a density without bound.
    """
    gaps = np.diff(np.unique(y))
    return float(np.median(gaps)) ** 2 / 12 if len(gaps) and 2 * len(gaps) < weight.sum() else 0.0


def check_members(members: Any, n_experts: int) -> None:
    if not isinstance(members, list) or len(members) != n_experts or not all(hasattr(m, "predict") for m in members):
        raise ValueError(f"experts_ must be a list of {n_experts} fitted estimators")


def center_and_scale(table: Array, weight: Array) -> tuple[Array, Array]:
    """Weighted means and standard deviations of the columns; one for a constant column."""
    center = np.average(table, axis=0, weights=weight)
    rest = table - center
    size = np.abs(rest).max(axis=0)
    constant = size <= 8 * np.finfo(np.float64).eps * np.abs(center)
    unit = np.where(constant, 1.0, size)
    scale = unit * np.sqrt(np.average(np.square(rest / unit), axis=0, weights=weight))
    return np.where(constant, table[0], center), np.where(constant, 1.0, scale)
