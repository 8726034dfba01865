"""Mixtures of experts: a gate that depends on x weights experts, each good at a part of the data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from credo.core.estimator import (
    Classifier,
    ConvergenceWarning,
    Estimator,
    Regressor,
    Result,
    center_and_scale,
    choice,
    encode_labels,
    has_distribution,
    is_predictor,
    merge_equal_rows,
    nonnegative_integer,
    positive,
    positive_integer,
)
from credo.core.fields import Axes, Finite, Inner, Positive
from credo.core.frames import Table
from credo.core.learning.em import Ascent, smallest_bic
from credo.core.notices import collected, warn
from credo.core.seeds import generator
from credo.distributions import Distribution, Mixture, StudentT
from credo.ensemble._experts import (
    MIN_SHARE,
    Fit,
    Gate,
    GivenExperts,
    LinearExperts,
    LogitExperts,
    Task,
    maximize,
    step,
)
from credo.linear import BayesianLogisticRegression
from credo.metrics import final_step, predictive

Array = NDArray[np.float64]


class MixtureOfExperts(Estimator):
    """Base of regressor and classifier: standardized rows, EM, the gate, and the choice of the number of experts."""

    log_likelihood_: float
    experts_: Any
    gate_: Annotated[Gate, Inner(q="q")]
    center_: Annotated[Array, Axes("d")]
    scale_: Annotated[Array, Axes("d"), Positive]
    rotation_: Annotated[Array | None, Axes("d R")]
    bound_: Annotated[Array, Axes("n")]
    bics_: Array
    n_parameters_: int
    n_observations_: float

    _equation = "p(y | x) = Σ gₖ(x) pₖ(y | x)"

    def _words(self) -> str:
        return f"Mixture of {self.n_experts_} experts"

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
        experts, k = self.experts_, self.gate_.n_experts
        if isinstance(experts, LinearExperts):
            if experts.mean.shape != (k, self.gate_.theta.shape[2]):
                raise ValueError(f"experts_ have weights of shape {experts.mean.shape}")
        elif not isinstance(experts, list) or len(experts) != k or not all(map(is_predictor, experts)):
            raise ValueError(f"experts_ must be a list of {k} fitted estimators")
        elif isinstance(self, Classifier) and any(len(e.classes_) != len(self.classes_) for e in experts):
            raise ValueError("experts_ must have the same classes as the mixture")

    def _sizes(self) -> dict[str, int]:
        return {"q": 1 + (self.n_features_in_ if self.rotation_ is None else self.rotation_.shape[1])}

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
        # The intercepts have a weak prior.
        penalties = np.append(np.full(width - 1, penalty), 0.01)
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
        if not has_fit_parameter(last, "sample_weight") or not has_distribution(last, latent=True):
            raise TypeError(f"expert must have predict_dist and take sample_weight; {type(last).__name__} doesn't")
        own = replace(task, y=y)
        start = step(own, replace(linear, experts=GivenExperts(self.expert, rows)))
        goal = self.tol * float(task.weight.sum())
        # Starting from linear experts, few iterations are needed.
        most = min(20, self.max_iter)
        path = Ascent(start, (start.value,)).continued(partial(step, own), max_iter=most, goal=goal)
        self.experts_ = list(path.end.experts.members)
        self._finish(own, path, 0.0)
        # The number of parameters of other estimators is unknown.
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

    Without it, an expert for each of a few whole numbers would have no noise and an unbounded density.
    """
    gaps = np.diff(np.unique(y))
    return float(np.median(gaps)) ** 2 / 12 if len(gaps) and 2 * len(gaps) < weight.sum() else 0.0


# Values of `expert_precision` that aren't numbers.
_LEARNED = ("integrate", "evidence")

_PARAMETERS = """gate : {"softmax", "hierarchical"}, default "softmax"
        "hierarchical" is a binary tree of logistic gates (Jordan & Jacobs 1994).
    gate_precision : float, default 0.01
        Precision of the normal prior of the gate's weights, for standardized columns. It keeps them finite.
    max_experts : int, default 8
        For "bic".
    n_restarts : int, default 5
        Further starts of EM; the best are continued.
    max_iter : int, default 300
        Iterations of EM.
    tol : float, default 1e-5
        EM stops when an iteration adds less than this per observation to the bound.
    random_state : int, Generator or None, default None
        For the starts."""

_ATTRIBUTES = """gate_ : the gate in standardized units
    bics_ : BIC with one expert, two, …; only with the given number if there is one
    log_likelihood_, n_parameters_, n_observations_ : at the estimates
    result_ : convergence of EM"""


class MixtureOfExpertsRegressor(MixtureOfExperts, Regressor):
    __doc__ = f"""A mixture of experts for numbers: linear models, each responsible for a part of the data.

        p(y | x) = Σ_j g_j(x) p_j(y | x),    g(x) = softmax(Vφ(x))                  (Jacobs et al. 1991; Bishop 14.5.3)

    Experts have the posterior of a Bayesian linear regression given their share of the rows, so that one with few rows
    predicts with wide intervals. The predictive distribution is a mixture: bimodal where the data are. Targets with
    many ties, such as ratings, are treated as rounded: no expert has less noise than the rounding error.

    Parameters
    ----------
    n_experts : int or "bic", default "bic"
        "bic" selects the number with the smallest BIC, from 1 to `max_experts`.
    expert : regressor, optional
        With `predict_dist` and `sample_weight`; by default linear experts. Clones of it are fitted, starting from the
        parts that linear experts find; needs a number as `n_experts`.
    {_PARAMETERS}

    Attributes
    ----------
    n_experts_ : the number of experts
    experts_ : the experts: their posteriors in standardized units, or the fitted estimators
    bound_ : the lower bound of the log evidence given the gate, after each iteration; it never decreases
    {_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import MixtureOfExpertsRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, (300, 1))
    >>> y = np.where(rng.random(300) < 0.5, X[:, 0], -X[:, 0]) + 0.05 * rng.normal(size=300)
    >>> model = MixtureOfExpertsRegressor(random_state=0).fit(X, y)
    >>> model.n_experts_
    2
    >>> model.predict_dist([[0.8]]).cdf([0.0]).round(1)  # half of the mass near −0.8, half near 0.8
    array([0.5])
    """

    y_center_: Annotated[float, Finite]
    y_scale_: Annotated[float, Finite, Positive]

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the experts and the gate; a weight of k is equivalent to k copies of the row."""
        self._reset()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(target)) if weight is None else weight
        first, _, weight = merge_equal_rows(np.column_stack([rows, target]), weight)
        rows, target = rows[first], target[first]
        self.y_center_, self.y_scale_ = map(float, center_and_scale(target, weight))
        z = (target - self.y_center_) / self.y_scale_
        start = partial(LinearExperts.start, rounding=rounding_variance(z, weight))
        task, path = self._learn(rows, z, weight, z[:, None], start)
        if self.expert is None:
            self.experts_ = path.end.experts
            self._finish(task, path, -float(weight.sum()) * np.log(self.y_scale_))
        else:
            self._fit_given(task, path.end, rows, target)
        return self

    def responsibilities(self, X: ArrayLike, y: ArrayLike) -> Array:
        """The probability that each expert generated the target of a row: shape (n_samples, n_experts)."""
        rows = self._predict_rows(X)
        terms = [part.log_prob(np.asarray(y, dtype=np.float64)) for part in self._parts(rows, latent=False)]
        return np.asarray(softmax(self.gate_.log_proba(self._phi(rows)) + np.column_stack(terms), axis=1))

    def expert_predictions(self, X: ArrayLike) -> Array:
        """The mean of each expert at each row: shape (n_samples, n_experts)."""
        return np.column_stack([part.mean for part in self._parts(self._predict_rows(X), latent=False)])

    def summary(self, *, level: float = 0.95) -> Table:
        """The noise and the coefficients of each linear expert, with intervals; the probabilities of the gate."""
        check_is_fitted(self)
        lines: list[tuple[Any, ...]] = [(name, value, None, None, None) for name, value in self._gate_lines()]
        if isinstance(self.experts_, LinearExperts):
            lines += self._expert_lines(level)
        columns = dict(zip(("parameter", "estimate", "sd", "lower", "upper"), zip(*lines, strict=True), strict=True))
        return Table(f"Mixture of {self.n_experts_} experts", columns, notes=(self.result_.message,))

    def _expert_lines(self, level: float) -> list[tuple[Any, ...]]:
        lines: list[tuple[Any, ...]] = []
        experts, names = self.experts_, self._feature_names()
        for j in range(self.n_experts_):
            noise = self.y_scale_ * float(np.sqrt(experts.rate[j] / experts.shape[j]))
            lines.append((f"expert {j}: noise sd", noise, None, None, None))
            coef = self.y_scale_ * self._in_columns(experts.mean[j])
            std = noise * np.sqrt(np.square(self._in_columns(experts.roots[j])).sum(axis=0))
            lower, upper = StudentT(2 * experts.shape[j], coef, std).interval(level)
            lines += [
                (f"expert {j}: {name}", float(c), float(s), float(low), float(high))
                for name, c, s, low, high in zip(names, coef, std, lower, upper, strict=True)
            ]
        return lines

    def _expert_size(self, width: int) -> int:
        return width + 1

    def _parts(self, rows: Array, *, latent: bool) -> list[Distribution]:
        if isinstance(self.experts_, LinearExperts):
            return list(self.experts_.predicted(self._phi(rows), self.y_center_, self.y_scale_, latent=latent))
        return [
            member.predict_dist(rows, latent=True) if latent else predictive(member, rows) for member in self.experts_
        ]

    def _mean(self, rows: Array) -> Array:
        return np.asarray(self._dist(rows, latent=False).mean)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        parts = self._parts(rows, latent=latent)
        return parts[0] if len(parts) == 1 else Mixture(parts, np.exp(self.gate_.log_proba(self._phi(rows))))


class MixtureOfExpertsClassifier(MixtureOfExperts, Classifier):
    __doc__ = f"""A mixture of experts for classes: logistic regressions, each responsible for a part of the data.

        p(y | x) = Σ_j g_j(x) p_j(y | x),    g(x) = softmax(Vφ(x))                  (Jacobs et al. 1991; Bishop 14.5.3)

    Experts have a normal prior on their weights. Their probabilities are averaged over a Gaussian approximation of the
    posterior given their share of the rows, as in `BayesianLogisticRegression`.

    Parameters
    ----------
    n_experts : int or "bic", default "bic"
        "bic" selects the number with the smallest BIC, from 1 to `max_experts`.
    expert : classifier, optional
        With `predict_dist` and `sample_weight`; by default logistic regressions. Clones of it are fitted, starting
        from the parts that logistic experts find; needs a number as `n_experts`.
    expert_precision : float, "integrate" or "evidence", default "integrate"
        Precision of the normal prior of the experts' weights, for standardized columns; as `prior_precision` of
        `BayesianLogisticRegression`. EM itself needs a number, and uses 1 unless one is given.
    {_PARAMETERS}

    Attributes
    ----------
    n_experts_ : the number of experts
    experts_ : the fitted experts; logistic regressions of standardized columns unless given
    bound_ : the penalized log likelihood after each iteration; it never decreases
    {_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import MixtureOfExpertsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)  # a checkerboard of four fields, which no line divides
    >>> model = MixtureOfExpertsClassifier(2, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_experts: int | Literal["bic"] = "bic",
        *,
        expert: Any = None,
        gate: Literal["softmax", "hierarchical"] = "softmax",
        gate_precision: float = 0.01,
        expert_precision: float | Literal["integrate", "evidence"] = "integrate",
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
        self.expert_precision = expert_precision
        self.max_experts = max_experts
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the experts and the gate; a weight of k is equivalent to k copies of the row."""
        self._reset()
        rows, codes, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(codes)) if weight is None else weight
        first, _, weight = merge_equal_rows(np.column_stack([rows, codes]), weight)
        rows, codes = rows[first], codes[first]
        learned = self.expert_precision in _LEARNED
        precision = 1.0 if learned else positive("expert_precision", self.expert_precision, words=_LEARNED)
        labels = np.eye(len(self.classes_))[codes]
        labels = (labels - np.average(labels, axis=0, weights=weight)) / np.sqrt(0.5)

        def start(n_experts: int, width: int) -> LogitExperts:
            return LogitExperts.start(n_experts, width, n_classes=len(self.classes_), precision=precision)

        task, path = self._learn(rows, codes.astype(np.float64), weight, labels, start)
        if self.expert is None:
            self.experts_ = self._logistic(task, path.end, codes)
            self._finish(task, path, 0.0)
        else:
            self._fit_given(task, path.end, rows, self.classes_[codes])
        return self

    def expert_predictions(self, X: ArrayLike) -> Array:
        """The class probabilities of each expert at each row: shape (n_samples, n_classes, n_experts)."""
        return self._parts(self._predict_rows(X))

    def responsibilities(self, X: ArrayLike, y: ArrayLike) -> Array:
        """The probability that each expert generated the label of a row: shape (n_samples, n_experts)."""
        rows = self._predict_rows(X)
        codes = encode_labels(y, self.classes_)
        terms = np.take_along_axis(self._parts(rows), codes[:, None, None], axis=1)[:, 0]
        shares = terms * np.exp(self.gate_.log_proba(self._phi(rows)))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def summary(self, *, level: float = 0.95) -> Table:
        """The probabilities of the gate, and the coefficients of each logistic expert."""
        check_is_fitted(self)
        lines: list[tuple[str, float]] = list(self._gate_lines())
        if self.expert is None:
            for j, member in enumerate(self.experts_):
                table = self._in_columns(np.column_stack([member.coef_, member.intercept_]))
                labels = [""] if len(table) == 1 else [f" ({label})" for label in self.classes_.tolist()]
                lines += [
                    (f"expert {j}: {name}{label}", float(value))
                    for label, row in zip(labels, table, strict=True)
                    for name, value in zip(self._feature_names(), row, strict=True)
                ]
        return Table.of_estimates(f"Mixture of {self.n_experts_} experts", lines, notes=(self.result_.message,))

    def _logistic(self, task: Task, fit: Fit, codes: NDArray[np.intp]) -> list[Any]:
        """A Bayesian logistic regression for each expert's share of the rows."""
        found = []
        for share in np.maximum(fit.shares, MIN_SHARE).T:
            # Warnings about a single expert say nothing about the mixture.
            with collected():
                member = BayesianLogisticRegression(self.expert_precision)
                member.fit(task.phi[:, :-1], codes, task.weight * share)
            found.append(member)
        return found

    def _expert_size(self, width: int) -> int:
        return (len(self.classes_) - 1) * width

    def _parts(self, rows: Array) -> Array:
        inner = self._phi(rows)[:, :-1] if self.expert is None else rows
        return np.stack([member.predict_proba(inner) for member in self.experts_], axis=2)

    def _probabilities(self, rows: Array) -> Array:
        gate = np.exp(self.gate_.log_proba(self._phi(rows)))
        table = np.einsum("ncj,nj->nc", self._parts(rows), gate)
        return np.asarray(table / table.sum(axis=1, keepdims=True))
