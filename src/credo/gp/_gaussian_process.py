"""What the Gaussian-process regressor and classifier share: a kernel whose parameters maximize the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    FLAT,
    INTEGRATED,
    SCALED,
    Estimator,
    FitWarning,
    Result,
    check_shapes,
    choice,
    evidence_base,
    positive_integer,
)
from credo.core.inference import REPRESENTATIONS, choose, cost_remark, default_points
from credo.core.notices import warn
from credo.core.params import Parameter
from credo.gp._data import weighted_std
from credo.gp._objective import EvidenceObjective
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
# The names of those that are tried where none is given, each with and without a linear part.
_CHOSEN = ("rbf", "matern52")
# Beyond so many rows of a single column, a kernel that isn't given has a state-space form.
_SERIES = 2000
# A shared length scale is remarked on where columns' standard deviations differ by more than this factor, as a log.
_UNEQUAL = math.log(10.0)


class GaussianProcess(Estimator):
    """The base class of both estimators: arguments and fitted attributes that both have, and the search.

    A subclass writes `_make_objective`.
    """

    log_evidence_: float
    evidence_method_: str
    evidence_base_: str

    kernel: Kernel | str | None
    hyperparameters: str
    hyperpriors: bool
    n_restarts: int
    max_evaluations: int
    n_draws: int
    method: str
    n_inducing: int | None

    kernel_: Kernel
    X_train_: Array
    weight_: Array
    theta_: Array
    theta_names_: list[str]
    trace_: Array
    column_groups_: list[str] | None
    method_: str
    inducing_points_: Array | None
    _held_objective: EvidenceObjective | None
    _reason: str
    _cost_remark: str
    # The number of rows of a table in parts, of which `X_train_` is a sample.
    _rows_in_parts: int | None = None

    # The values that the argument `hyperparameters` may have.
    _learning: tuple[str, ...] = ("optimize", "fixed", "sample")
    # The values that the argument `method` may have.
    _methods: tuple[str, ...] = ("auto", *REPRESENTATIONS)
    # The largest number of inducing points, unless given; None leaves it to the representation.
    _n_inducing: int | None = None

    def _check_state(self) -> None:
        super()._check_state()
        theta, names = getattr(self, "theta_", np.empty(0)), getattr(self, "theta_names_", [])
        if theta.shape != (len(names),) or not np.isfinite(theta).all():
            raise ValueError(f"theta_ has shape {theta.shape} for {len(names)} parameters, or isn't finite")
        groups = getattr(self, "column_groups_", None)
        if groups is not None and len(groups) != self.n_features_in_:
            raise ValueError(f"column_groups_ holds {len(groups)} labels for {self.n_features_in_} columns")
        if hasattr(self, "method_"):
            choice("method_", self.method_, tuple(REPRESENTATIONS))
            check_shapes(self, {"d": self.n_features_in_}, inducing_points_="m d?")
            if (self.inducing_points_ is None) != (self.method_ != "inducing"):
                raise ValueError('inducing_points_ belong to method_="inducing", and to no other')

    def _relevances(self, path: str, lengthscale: Any) -> Array:
        """Standard deviation over length scale of each column; columns of a group share their length scale."""
        shared = self.kernel_.column_groups().get(path)
        scales = np.asarray(lengthscale) if shared is None else np.asarray(lengthscale)[..., shared.places]
        return weighted_std(self.X_train_, self.weight_) / scales

    @property
    def relevance_(self) -> Array:
        check_is_fitted(self)
        path = self._scales_path()
        return self._relevances(path, self.kernel_.params[path])

    def _check_learning(self) -> None:
        """The arguments that both have."""
        if isinstance(self.kernel, str):
            choice("kernel", self.kernel, tuple(_FAMILIES))
        elif self.kernel is not None:
            require_kernel(self.kernel)
        choice("hyperparameters", self.hyperparameters, self._learning)
        choice("method", self.method, self._methods)
        if self.n_inducing is not None:
            positive_integer("n_inducing", self.n_inducing)
        positive_integer("n_draws", self.n_draws)
        positive_integer("max_evaluations", self.max_evaluations)
        if isinstance(self.n_restarts, bool) or int(self.n_restarts) != self.n_restarts or self.n_restarts < 0:
            raise ValueError(f"n_restarts must be a whole number that isn't negative; got {self.n_restarts!r}")
        if self.hyperparameters == "sample" and not self.hyperpriors:
            raise ValueError(
                'hyperparameters="sample" needs hyperpriors=True: without priors there is no posterior to sample from'
            )

    def _has_sums(self) -> bool:
        """Whether only sums over the training rows are kept."""
        return False

    def _need_rows(self, what: str) -> None:
        """Raise an error where only sums over the training rows are kept."""
        if self._has_sums():
            raise ValueError(
                f"{what} needs the training rows, of which a fit to a table in parts keeps sums only: fit to rows in "
                "memory, or to a sample of them"
            )

    def _possible_methods(self) -> tuple[tuple[str, ...], str]:
        """The representations that can do what the arguments ask for, and what that is."""
        raise NotImplementedError

    def _choose_method(self) -> None:
        """How covariances of the training rows are represented."""
        # Beyond so many rows of one column, a kernel that isn't given is one with a state-space form.
        series = self.kernel is None and self.X_train_.shape[1] == 1 and len(self.X_train_) > _SERIES
        kernel = self._named_kernel("matern52") if series else self._first_kernel()
        allowed, purpose = self._possible_methods()
        self.method_, self._reason = choose(self.method, self.X_train_, kernel, allowed=allowed, purpose=purpose)
        if self._rows_in_parts is not None:
            self.method_, self._reason = "inducing", f"{self._rows_in_parts:,} rows come in parts"
        self.inducing_points_ = None
        self._cost_remark = ""
        if self.method == self.method_ and {"exact", "state_space"} <= set(allowed):
            self._cost_remark = cost_remark(self.method_, self.X_train_, kernel)
        if self._cost_remark and self.hyperparameters != "fixed":
            warn(f'{self._cost_remark}: use that, or method="auto"', FitWarning, stacklevel=5)

    def _representation_settings(self) -> tuple[str, Array | None, int | None]:
        """Its name, with inducing points if they are chosen already, and how many may be; files of earlier versions
        know none."""
        n_points = self._n_inducing if self.n_inducing is None else self.n_inducing
        if n_points is None and self._rows_in_parts is not None:
            n_points = default_points(self._rows_in_parts)
        return getattr(self, "method_", "exact"), getattr(self, "inducing_points_", None), n_points

    def _keep_groups(self, column_groups: Sequence[str] | Sequence[int] | None) -> None:
        """The group of each column, where a kernel given by name has to know and some columns share one."""
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

    def _first_kernel(self) -> Kernel:
        """The kernel as given, by name, or as it was chosen in the fit."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if self.kernel is None and hasattr(self, "kernel_"):
            return self._standard_kernel()
        return self._named_kernel(self.kernel or self._default_kernel())

    def _standard_kernel(self) -> Kernel:
        """`kernel_` as the objective has it."""
        return self.kernel_

    def _candidates(self) -> list[Candidate]:
        """The kernels among which the evidence chooses."""
        if self.kernel is not None or self.hyperparameters == "fixed":
            return [Candidate("", self._make_objective(self._first_kernel()))]
        names = ("matern52",) if self.method_ == "state_space" else _CHOSEN
        rows, weight = self.X_train_, self.weight_
        spread = weighted_std(rows, weight)
        linear = Linear(center=np.average(rows, axis=0, weights=weight), scale=np.where(spread > 0, spread, 1.0))
        has_slopes = getattr(self, "mean", None) == "linear"
        return [
            Candidate(
                name,
                self._make_objective(kernel),
                None if has_slopes else self._make_objective(kernel + linear),
            )
            for name, kernel in [(name, self._named_kernel(name)) for name in names]
        ]

    def _default_kernel(self) -> str:
        """The name of the first kernel where none is given: one that the method can do."""
        return "matern52" if getattr(self, "method_", self.method) == "state_space" else "rbf"

    def _named_kernel(self, name: str) -> Kernel:
        # Files of earlier versions know no groups.
        groups = getattr(self, "column_groups_", None)
        return _FAMILIES[name](np.ones(self.n_features_in_) if groups is None else 1.0, groups=groups)

    def _make_objective(self, kernel: Kernel) -> EvidenceObjective:
        """The evidence of the training data as a function of the hyperparameters."""
        raise NotImplementedError

    def _objective(self) -> Any:
        """The objective that was maximized; made again after the model was loaded or updated."""
        held = getattr(self, "_held_objective", None)
        if held is None:
            held = self._held_objective = self._make_objective(self._first_kernel())
        return held

    def _learn(self, rng: np.random.Generator, *, from_data: bool = True, **how: Any) -> Array | None:
        """The hyperparameters, as given or at the best maximum that the search finds; its curvature, if known."""
        curvature = self._search(rng, from_data=from_data, **how)
        # The representation that predictions use is the one for the fitted kernel.
        self._held_objective = objective = self._objective().adapted(self.theta_)
        self.inducing_points_ = objective.rows.points
        if self.method_ != "exact":
            points = "" if self.inducing_points_ is None else f" with {len(self.inducing_points_)} inducing points"
            reason = f", because {self._reason}" if self._reason else ""
            message = f'{self.result_.message}; method="{self.method_}"{points}{reason}'
            self.result_ = replace(self.result_, message=message)
        if self._cost_remark:
            self.result_ = replace(self.result_, message=f"{self.result_.message}; {self._cost_remark}")
        return curvature

    def _search(self, rng: np.random.Generator, *, from_data: bool, **how: Any) -> Array | None:
        """Set the objective, `theta_`, `trace_` and `result_`; the curvature at the maximum, if known."""
        candidates = self._candidates()
        first = candidates[0].objective
        if self.hyperparameters == "fixed" or not first.tree.names:
            self._held_objective, self.theta_names_ = first, first.tree.names
            self.theta_, self.result_ = first.tree.flatten(), Result(True, 0, "hyperparameters fixed")
            self.trace_ = self.theta_[None]
            return None
        chosen = search_hyperparameters(
            candidates,
            from_data=from_data,
            given=isinstance(self.kernel, Kernel),
            n_restarts=int(self.n_restarts),
            max_evaluations=int(self.max_evaluations),
            rng=rng,
            **how,
        )
        self._held_objective, found = chosen.objective, chosen.found
        self.theta_names_ = chosen.objective.tree.names
        self.theta_, self.trace_ = found.best.vector, np.stack(found.best.trace)
        ending = result(found)
        self.result_ = replace(ending, message=ending.message + chosen.message + self._remark())
        return found.curvature

    def _remark(self) -> str:
        """A note where a single length scale is used for columns of very different standard deviations."""
        shared = isinstance(self.kernel, Kernel) and np.ndim(self.kernel.params.get("lengthscale", [])) == 0
        spread = weighted_std(self.X_train_, self.weight_)
        spread = spread[spread > 0]
        if not shared or isinstance(self.kernel, Columns) or not len(spread) or np.ptp(np.log(spread)) < _UNEQUAL:
            return ""
        return (
            "; one length scale is used for columns whose standard deviations differ by a factor of "
            f"{spread.max() / spread.min():.3g}: standardise X, or give {self.n_features_in_} length scales"
        )

    def _scales_path(self) -> str:
        """The parameter with one length scale for each column or group of columns."""
        shared = self.kernel_.column_groups()
        for path, value in self.kernel_.params.items():
            n_columns = len(shared[path].labels) if path in shared else np.size(value) if np.ndim(value) else 0
            if path.rpartition(".")[2] == "lengthscale" and n_columns == self.n_features_in_:
                return path
        raise AttributeError("the kernel has no length scale for each column; give it one, as in RBF([1.0, 1.0])")


def process_base(
    kernel: Kernel,
    *,
    mean: str,
    slopes: Sequence[str],
    standardize: bool,
    learned: str,
    noise_known: bool,
    several: bool,
) -> str:
    """The base of a process's evidence.

    Standardised targets take part of the model from y: a zero mean is then the mean of y, and a variance that isn't
    learned is a share of the variance of y. So is the kernel of several targets, each in units of its own.

    Parameters
    ----------
    slopes : names of the columns whose slopes are flat, in units of their standard deviations.
    learned : how the hyperparameters were learned; empty if they were given.
    noise_known : whether the noise was given.
    several : whether y has several columns.
    """
    frozen = several or not learned or not _is_scalable(kernel)
    if learned == INTEGRATED and standardize:
        # The priors of variances are those of standardised targets.
        learned = f"{INTEGRATED}, priors {SCALED}"
    noise = "" if noise_known else learned or (SCALED if standardize else "")
    return evidence_base(
        intercept=FLAT if mean != "zero" else "mean of y" if standardize else "",
        slopes=f"{FLAT} ({', '.join(slopes)}, standardised)" if slopes else "",
        noise=noise,
        kernel=SCALED if standardize and frozen else "",
        hyperparameters=learned if kernel.names else "",
    )


def _is_scalable(kernel: Kernel) -> bool:
    """Whether the kernel's free parameters can multiply it by any factor."""
    if isinstance(kernel, Sum):
        return all(map(_is_scalable, kernel.terms))
    if isinstance(kernel, Product):
        return any(map(_is_scalable, kernel.terms))
    if isinstance(kernel, Columns):
        return _is_scalable(kernel.kernel)
    if isinstance(kernel, Exp):
        # The variance in its tree is that of the exponent.
        return False
    leaves = (kernel.tree[path] for path in ("variance", "value") if path in kernel.tree)
    return any(isinstance(leaf, Parameter) and not leaf.fixed for leaf in leaves)
