"""Base of the Gaussian-process regressor and classifier: arguments, choice of kernel, and the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    Estimator,
    Evidence,
    FitWarning,
    Result,
    center_and_scale,
    choice,
    nonnegative_integer,
    positive_integer,
)
from credo.core.fields import Axes, Probabilities, Sometimes
from credo.core.frames import Table
from credo.core.inference import REPRESENTATIONS, choose, cost_remark, default_points
from credo.core.learning import integrate
from credo.core.learning.ascent import curvature_at
from credo.core.learning.integration import Integral
from credo.core.linalg import mean_and_std
from credo.core.notices import warn
from credo.core.params import Parameter
from credo.gp._objective import EvidenceObjective
from credo.gp._observations import TrainingData
from credo.gp._search import Candidate, result, search_hyperparameters
from credo.kernels import (
    RBF,
    Columns,
    Exp,
    Exponential,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
    Sum,
    require_kernel,
)

Array = NDArray[np.float64]

# Kernels that can be given by name.
KernelName = Literal["rbf", "exponential", "matern32", "matern52", "rational_quadratic"]
_FAMILIES: dict[str, Callable[..., Kernel]] = {
    "rbf": RBF,
    "exponential": Exponential,
    "matern32": Matern32,
    "matern52": Matern52,
    "rational_quadratic": RationalQuadratic,
}
# Kernels that are tried if none is given, each with and without a linear part.
_DEFAULT_KERNELS = ("rbf", "matern52")


_KERNEL_WORDS = {
    "Matern52": "Matérn 5/2",
    "Matern32": "Matérn 3/2",
    "RBF": "RBF",
    "Exponential": "exponential",
    "Linear": "linear",
}


class GaussianProcess(Estimator):
    """Base class of both estimators: shared arguments and fitted attributes, and the search.

    A subclass writes `_make_objective`.
    """

    kernel: Kernel | str | None
    hyperparameters: str
    hyperpriors: bool
    n_restarts: int
    max_evaluations: int
    n_draws: int
    method: str
    n_inducing: int | None

    kernel_: Kernel
    theta_: Annotated[Array, Axes("P"), Sometimes]
    theta_names_: Annotated[list[str], Axes("P"), Sometimes]
    thetas_: Annotated[Array, Axes("K P"), Sometimes]
    theta_weights_: Annotated[Array, Axes("K"), Probabilities, Sometimes]
    trace_: Annotated[Array, Axes("T P"), Sometimes]
    column_groups_: Annotated[list[str] | None, Axes("d")]
    # A frozen value with the training data, which predicts.
    posterior_: Any
    _held_objective: EvidenceObjective | None = None

    # The values that the argument `hyperparameters` may have.
    _learning: tuple[str, ...] = ("integrate", "optimize", "fixed", "sample")
    _methods: tuple[str, ...] = tuple(REPRESENTATIONS)
    # Products of two covariances must be finite.
    _max_variance = 1e150
    # The largest number of inducing points, unless given; None leaves it to the representation.
    _n_inducing: int | None = None

    X_train_ = property(attrgetter("posterior_.data.X"))
    weight_ = property(attrgetter("posterior_.data.weight"))
    method_ = property(attrgetter("posterior_.data.method"))
    inducing_points_ = property(attrgetter("posterior_.data.points"))
    log_evidence_ = property(attrgetter("_evidence.value"))
    evidence_method_ = property(attrgetter("_evidence.method"))
    evidence_base_ = property(attrgetter("_evidence.base"))

    @property
    def _evidence(self) -> Evidence:
        if self.posterior_.evidence is None:
            raise NotFittedError(f"this {type(self).__name__} was fitted with options that don't set an evidence")
        return self.posterior_.evidence

    _equation = "y = f(x) + noise, f a Gaussian process"

    def _words(self) -> str:
        terms = self.kernel_.terms if isinstance(self.kernel_, Sum) else (self.kernel_,)
        words = [_KERNEL_WORDS.get(type(term).__name__, "") for term in terms]
        return f"Gaussian process, {' + '.join(words)} kernel" if all(words) else "Gaussian process"

    def _importances(self) -> tuple[Any, str]:
        try:
            return self.relevance_, "nonlinearity (standard deviation / length scale)"
        except (AttributeError, ValueError):  # no length scale for each column
            return np.empty(0), ""

    def _need_rows(self, what: str) -> None:
        """Raise an error if the training rows weren't kept."""
        raise NotImplementedError

    def log_evidence(self, theta: ArrayLike, *, gradient: bool = True) -> Any:
        """Log marginal likelihood ln p(y | X) at a flat parameter vector, with its gradient by default."""
        check_is_fitted(self)
        self._need_rows("log_evidence")
        value, slope = self._objective().evidence(np.asarray(theta, dtype=np.float64), gradient=gradient)
        value = self.posterior_.data.in_units_of_y(value)
        return (value, slope) if gradient else value

    def _relevances(self, path: str, lengthscale: Any) -> Array:
        """Standard deviation over length scale of each column; columns of a group share their length scale."""
        shared = self.kernel_.column_groups().get(path)
        scales = np.asarray(lengthscale) if shared is None else np.asarray(lengthscale)[..., shared.places]
        return mean_and_std(self.X_train_, self.weight_)[1] / scales

    @property
    def relevance_(self) -> Array:
        check_is_fitted(self)
        path = self._scales_path()
        return self._relevances(path, self.kernel_.params[path])

    def _check_learning(self) -> None:
        """Check the arguments that both estimators share."""
        if isinstance(self.kernel, str):
            choice("kernel", self.kernel, tuple(_FAMILIES))
        elif self.kernel is not None:
            require_kernel(self.kernel)
        choice("hyperparameters", self.hyperparameters, self._learning)
        choice("method", self.method, ("auto", *self._methods))
        if self.n_inducing is not None:
            positive_integer("n_inducing", self.n_inducing)
        positive_integer("n_draws", self.n_draws)
        positive_integer("max_evaluations", self.max_evaluations)
        nonnegative_integer("n_restarts", self.n_restarts)
        if self.hyperparameters == "sample" and not self.hyperpriors:
            raise ValueError(
                'hyperparameters="sample" needs hyperpriors=True: without priors there is no posterior to sample from'
            )

    def _possible_methods(self) -> tuple[tuple[str, ...], str]:
        """The representations that support the arguments, and the argument that limits them."""
        raise NotImplementedError

    def _keep_groups(self, column_groups: Sequence[str] | Sequence[int] | None) -> None:
        """Store the group of each column, if some share one and the kernel is given by name."""
        self.column_groups_ = None
        if column_groups is None or isinstance(self.kernel, Kernel):
            return
        given = [str(label) for label in column_groups]
        if len(given) != self.n_features_in_:
            raise ValueError(
                f"column_groups must hold one label for each of the {self.n_features_in_} columns; got {len(given)}"
            )
        if len(set(given)) < len(given):
            self.column_groups_ = given

    def _first_kernel(self, method: str) -> Kernel:
        """The kernel as given or by name, otherwise one that the method supports."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        return self._named_kernel(self.kernel or self._default_name(method))

    def _default_name(self, method: str) -> str:
        """The name of the first kernel if none is given."""
        return "matern52" if method == "state_space" else "rbf"

    def _named_kernel(self, name: str) -> Kernel:
        groups = self.column_groups_
        return _FAMILIES[name](np.ones(self.n_features_in_) if groups is None else 1.0, groups=groups)

    def _candidates(self, data: TrainingData) -> list[Candidate]:
        """The kernels among which the evidence chooses."""
        if self.kernel is not None or self.hyperparameters == "fixed":
            return [Candidate("", self._make_objective(data, self._first_kernel(data.method)))]
        names = ("matern52",) if data.method == "state_space" else _DEFAULT_KERNELS
        center, scale = center_and_scale(data.X, data.weight)
        linear = Linear(center=center, scale=scale)
        made, has_slopes = partial(self._make_objective, data), data.mean == "linear"
        kernels = {name: self._named_kernel(name) for name in names}
        return [Candidate(name, made(k), None if has_slopes else made(k + linear)) for name, k in kernels.items()]

    def _make_objective(self, data: TrainingData, kernel: Kernel) -> EvidenceObjective:
        """The evidence of the training data as a function of the hyperparameters."""
        raise NotImplementedError

    def _objective(self) -> Any:
        """The objective that was maximized; made again after the model was loaded or updated."""
        if self._held_objective is None:
            self._held_objective = self._make_objective(self.posterior_.data, self.posterior_.kernels[0])
        return self._held_objective

    def _represented(self, data: TrainingData, rows_in_parts: int | None) -> tuple[TrainingData, str, str]:
        """The data with their representation, why the method was chosen, and a remark on its cost."""
        if isinstance(self.kernel, Kernel):
            self._check_covariances(self.kernel, data.X)
        # For long series, the default kernel is one with a state-space form.
        series = self.kernel is None and data.X.shape[1] == 1 and len(data.X) > 2000
        kernel = self._named_kernel("matern52") if series else self._first_kernel(self.method)
        allowed, purpose = self._possible_methods()
        method: Any
        method, reason = choose(self.method, data.X, kernel, allowed=allowed, purpose=purpose)
        n_points = self._n_inducing if self.n_inducing is None else self.n_inducing
        if rows_in_parts is not None:
            method, reason = "inducing", f"{rows_in_parts:,} rows come in parts"
            n_points = default_points(rows_in_parts) if n_points is None else n_points
        remark = ""
        if self.method == method and {"exact", "state_space"} <= set(allowed):
            remark = cost_remark(method, data.X, kernel)
        if remark and self.hyperparameters != "fixed":
            warn(f'{remark}: use that, or method="auto"', FitWarning, stacklevel=3)
        return replace(data, method=method, n_points=n_points), reason, remark

    def _check_covariances(self, kernel: Kernel, X: Array) -> None:
        """Raise an error if the covariances of the rows, none of which is above the largest variance, overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            largest = float(np.max(kernel.diagonal(X)))
        if not largest < self._max_variance:
            raise ValueError(
                f"{kernel!r} gives variances up to {largest:.3g} at the rows of X, whose products overflow: rescale "
                "the columns of X, for example with StandardScaler"
            )

    def _learn(
        self, data: TrainingData, rng: np.random.Generator, *, n_subset: int, from_data: bool, n_rows: int | None = None
    ) -> tuple[Any, TrainingData, Array | None]:
        """Set `theta_`, `trace_` and `result_` by a search, or as given.

        Returns the objective there, the data with their representation, and the curvature at the maximum, if known.
        `n_rows` is the number of rows of a table in parts, of which the data are a sample.
        """
        data, reason, remark = self._represented(data, n_rows)
        candidates, curvature = self._candidates(data), None
        objective = candidates[0].objective
        if self.hyperparameters != "fixed" and objective.tree.names:
            objective, found, how = search_hyperparameters(
                candidates,
                from_data=from_data,
                given=isinstance(self.kernel, Kernel),
                n_restarts=int(self.n_restarts),
                max_evaluations=int(self.max_evaluations),
                rng=rng,
                n_subset=n_subset,
            )
            self.theta_, self.trace_, curvature = found.best.vector, np.stack(found.best.trace), found.curvature
            ending = result(found)
            self.result_ = replace(ending, message=ending.message + how)
        else:
            self.theta_, self.result_ = objective.tree.flatten(), Result(True, 0, "hyperparameters fixed")
            self.trace_ = self.theta_[None]
        self.theta_names_ = objective.tree.names
        # The representation that predictions use is the one for the fitted kernel.
        self._held_objective = objective = objective.adapted(self.theta_)
        data = replace(data, points=objective.rows.points)
        if data.method != "exact":
            points = "" if data.points is None else f" with {len(data.points)} inducing points"
            self._add_to_message(f'method="{data.method}"{points}' + (f", because {reason}" if reason else ""))
        if remark:
            self._add_to_message(remark)
        return objective, data, curvature

    def _integrated(self, objective: EvidenceObjective, curvature: Array | None, n: int, **options: Any) -> Integral:
        """The evidence averaged over weighted points around the maximum, which become `thetas_`."""
        if curvature is None or not np.isfinite(curvature).all():
            curvature = curvature_at(objective.log_posterior, self.theta_)
        found = integrate(objective.log_posterior_value, self.theta_, curvature, n, **options)
        self.thetas_, self.theta_weights_ = found.points, found.weights
        return found

    def _table(self, title: str, lines: Sequence[tuple[str, Any]], notes: Sequence[str]) -> Table:
        names, values = map(list, zip(*lines, strict=True))
        columns: dict[str, list[Any]] = {"parameter": names, "estimate": values, "sd": [None] * len(names)}
        return Table(title, columns, notes=(*notes, self.result_.message))

    def _add_to_message(self, text: str) -> None:
        self.result_ = replace(self.result_, message=f"{self.result_.message}; {text}")

    def _scales_path(self) -> str:
        """The parameter with one length scale for each column or group of columns."""
        shared = self.kernel_.column_groups()
        for path, value in self.kernel_.params.items():
            n_columns = len(shared[path].labels) if path in shared else np.size(value) if np.ndim(value) else 0
            if path.rpartition(".")[2] == "lengthscale" and n_columns == self.n_features_in_:
                return path
        raise AttributeError("the kernel has no length scale for each column; give it one, as in RBF([1.0, 1.0])")


def is_scalable(kernel: Kernel) -> bool:
    """Whether the kernel's free parameters can multiply it by any factor."""
    if isinstance(kernel, Sum):
        return all(map(is_scalable, kernel.terms))
    if isinstance(kernel, Product):
        return any(map(is_scalable, kernel.terms))
    if isinstance(kernel, Columns):
        return is_scalable(kernel.kernel)
    if isinstance(kernel, Exp):
        # The variance in its tree is that of the exponent.
        return False
    leaves = (kernel.tree[path] for path in ("variance", "value") if path in kernel.tree)
    return any(isinstance(leaf, Parameter) and not leaf.fixed for leaf in leaves)
