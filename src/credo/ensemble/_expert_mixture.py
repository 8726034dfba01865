"""What mixtures of experts share: standardized rows, EM, the gate, and the choice of the number of experts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from credo.ensemble._expert_em import Fit, Task, maximize, step
from credo.ensemble._experts import GivenExperts
from credo.ensemble._gate import Gate
from credo.estimator import (
    ConvergenceWarning,
    Estimator,
    Result,
    center_and_scale,
    check_positive,
    check_shapes,
    choice,
    nonnegative_integer,
    positive,
    positive_integer,
)
from credo.learning.em import Ascent, smallest_bic
from credo.metrics import final_step
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]

# Precision of the gate's intercepts.
_GATE_INTERCEPT = 0.01
# Iterations of experts that are given, which start from linear ones.
_GIVEN_ITER = 20


class MixtureOfExperts(Estimator):
    """What regressor and classifier share: standardized rows, EM, the gate, and the choice of the number of experts."""

    log_likelihood_: float
    experts_: Any
    gate_: Gate
    center_: Array
    scale_: Array
    rotation_: Array | None
    bound_: Array
    bics_: Array
    n_parameters_: int
    n_observations_: float

    def __init__(
        self,
        n_experts: int | Literal["bic"] = "bic",
        *,
        expert: Any = None,
        gate: Literal["softmax", "hierarchical"] = "softmax",
        gate_precision: float = 0.01,
        max_experts: int = 8,
        n_restarts: int = 5,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_experts = n_experts
        self.expert = expert
        self.gate = gate
        self.gate_precision = gate_precision
        self.max_experts = max_experts
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

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
        return {
            "n_restarts": nonnegative_integer("n_restarts", self.n_restarts),
            "max_iter": positive_integer("max_iter", self.max_iter),
            "tol": positive("tol", self.tol),
        }

    def _numbers(self, n_rows: int) -> list[int]:
        """The numbers of experts to try."""
        if self.n_experts == "bic":
            if self.expert is not None:
                raise ValueError('n_experts="bic" counts the parameters of linear experts: give a number with expert=')
            return list(range(1, min(positive_integer("max_experts", self.max_experts), n_rows) + 1))
        return [min(positive_integer("n_experts", self.n_experts, words=["bic"]), n_rows)]

    def _learn(self, rows: Array, y: Array, weight: Array, labels: Array, start: Any) -> tuple[Task, Ascent[Fit]]:
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

        def n_parameters(k: int) -> int:
            return k * self._expert_size(width) + (k - 1) * width

        def fitted(k: int) -> tuple[Ascent[Fit], float]:
            gate = Gate.uniform(k, width, hierarchical=self.gate == "hierarchical")
            rng = generator(self.random_state)
            path = maximize(task, start(k, width), gate, labels, rng=rng, **settings)
            return path, -2 * task.log_likelihood(path.end) + n_parameters(k) * np.log(max(self.n_observations_, 2.0))

        best, bics = smallest_bic(map(fitted, self._numbers(n)))
        self.bics_, self.n_parameters_ = np.array(bics), n_parameters(best.end.gate.n_experts)
        return task, best

    def _fit_given(self, task: Task, linear: Fit, rows: Array, y: NDArray[Any]) -> None:
        """EM with clones of the given estimator, which starts from the responsibilities of linear experts."""
        last = final_step(self.expert)
        if not has_fit_parameter(last, "sample_weight") or not hasattr(last, "predict_dist"):
            raise TypeError(f"expert must have predict_dist and take sample_weight; {type(last).__name__} doesn't")
        own = replace(task, y=y)
        start = step(own, replace(linear, experts=GivenExperts(self.expert, rows)))
        goal = self.tol * float(task.weight.sum())
        most = min(_GIVEN_ITER, self.max_iter)
        path = Ascent(start, (start.value,)).continued(partial(step, own), max_iter=most, goal=goal)
        self.experts_ = list(path.end.experts.members)
        self._finish(own, path, 0.0)
        # Of any estimators, the number of parameters is unknown.
        del self.n_parameters_, self.log_likelihood_, self.bics_

    def _finish(self, task: Task, path: Ascent[Fit], jacobian: float) -> None:
        self.gate_ = path.end.gate
        self.bound_ = np.array(path.values) + jacobian
        self.log_likelihood_ = task.log_likelihood(path.end) + jacobian
        self.bics_ = self.bics_ - 2 * jacobian
        n_iter = len(path.values)
        many = f"{self.n_experts_} expert" + "s" * (self.n_experts_ > 1)
        if path.converged:
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
