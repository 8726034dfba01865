"""What the Gaussian-process regressor and classifier share: a kernel that is learned, and what it says of the table."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from credo.estimator import Estimator, Result, choice, positive_integer
from credo.gp._data import weighted_std
from credo.gp._problem import Evident
from credo.gp._search import maximum, result
from credo.kernels import RBF, Columns, Kernel, require_kernel

Array = NDArray[np.float64]

# Columns whose spreads differ by less than this factor may well share a length scale.
_UNEQUAL = math.log(10.0)


class LearnedKernel(Estimator):
    """An estimator with a kernel at the maximum of an evidence; a subclass writes `_problem`."""

    kernel: Kernel | None
    hyperparameters: str
    hyperpriors: bool
    n_restarts: int
    n_draws: int

    kernel_: Kernel
    X_train_: Array
    weight_: Array
    theta_: Array
    theta_names_: list[str]
    trace_: Array

    def _relevances(self, lengthscale: Any) -> Array:
        """Standard deviation over length scale of each column."""
        return weighted_std(self.X_train_, self.weight_) / np.asarray(lengthscale)

    @property
    def relevance_(self) -> Array:
        check_is_fitted(self)
        return self._relevances(self.kernel_.params[self._scales_path()])

    def _check_learning(self) -> None:
        """The arguments that both have."""
        if self.kernel is not None:
            require_kernel(self.kernel)
        choice("hyperparameters", self.hyperparameters, ("optimize", "fixed", "sample"))
        positive_integer("n_draws", self.n_draws)
        if isinstance(self.n_restarts, bool) or int(self.n_restarts) != self.n_restarts or self.n_restarts < 0:
            raise ValueError(f"n_restarts must be a whole number that isn't negative; got {self.n_restarts!r}")
        if self.hyperparameters == "sample" and not self.hyperpriors:
            raise ValueError("a posterior of hyperparameters needs their priors: leave hyperpriors=True to sample")

    def _first_kernel(self) -> Kernel:
        """The kernel as given, or one with a length scale for each column."""
        return RBF(np.ones(self.X_train_.shape[1])) if self.kernel is None else self.kernel

    def _problem(self) -> Any:
        raise NotImplementedError

    def _asked(self) -> Any:
        """The problem that was solved; made again where a file brought the model, or rows were added."""
        question = getattr(self, "_question", None)
        if question is None:
            question = self._question = self._problem()
        return question

    def _learn(self, problem: Evident, rng: np.random.Generator, *, from_data: bool = True, **how: Any) -> None:
        """The hyperparameters, as given or at the highest maximum that the starts lead to."""
        self.theta_names_ = problem.tree.names
        if self.hyperparameters == "fixed" or not problem.tree.names:
            self.theta_, self.result_ = problem.tree.flatten(), Result(True, 0, "the hyperparameters were given")
            self.trace_ = self.theta_[None]
            return
        found = maximum(
            problem,
            len(self.X_train_),
            from_data=from_data,
            given=self.kernel is not None,
            n_restarts=int(self.n_restarts),
            rng=rng,
            **how,
        )
        self.theta_, self.trace_ = found.best.vector, np.stack(found.best.trace)
        ending = result(found)
        self.result_ = replace(ending, message=ending.message + self._one_for_all())

    def _one_for_all(self) -> str:
        """A word on a single length scale that has to serve columns of very different spreads."""
        shared = self.kernel is not None and np.ndim(self.kernel.params.get("lengthscale", [])) == 0
        spread = weighted_std(self.X_train_, self.weight_)
        spread = spread[spread > 0]
        if not shared or isinstance(self.kernel, Columns) or not len(spread) or np.ptp(np.log(spread)) < _UNEQUAL:
            return ""
        return (
            f"; one length scale serves columns whose spreads differ by a factor of {spread.max() / spread.min():.3g}: "
            f"an array of {self.n_features_in_} has one for each"
        )

    def _scales_path(self) -> str:
        """The parameter with one length scale for each column."""
        for path, value in self.kernel_.params.items():
            if path.rpartition(".")[2] == "lengthscale" and np.ndim(value) and len(value) == self.n_features_in_:
                return path
        raise AttributeError("the kernel has no length scale for each column; give it one, as in RBF([1.0, 1.0])")
