"""The evidence of a Gaussian-process classifier as a function of one flat vector of hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.gp._hyperpriors import Hyperprior, kernel_habits
from credo.inference import Approximation, SoftmaxApproximation, ep, laplace, softmax_laplace, vi
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.params import ParameterTree

Array = NDArray[np.float64]
Found = Approximation | SoftmaxApproximation

RULES: dict[str, Callable[..., Approximation]] = {"laplace": laplace, "ep": ep, "vi": vi}

# Where the rules may stop while hyperparameters are searched: EP's evidence is stationary in its sites, and the others'
# in what they climb, so that its error is the square of theirs.
_ON_THE_WAY = {"laplace": 1e-9, "ep": 1e-6, "vi": 1e-8}


@dataclass(frozen=True)
class ClassProblem:
    """Rows, their classes and weights, a kernel, and the rule that approximates the posterior.

    `n_classes` is 2 for a likelihood of one latent function; more are joined by the softmax, under Laplace's rule.
    `trail` remembers where the last evaluation of a climb ended; without one each begins from nothing.
    """

    kernel: Kernel
    X: Array
    codes: NDArray[np.intp]
    n_classes: int
    weight: Array
    likelihood: Bernoulli
    rule: str
    hyperpriors: bool = True
    tolerance: float = 1e-9
    trail: dict[str, Any] | None = None

    @cached_property
    def tree(self) -> ParameterTree:
        """The kernel's parameters, by name."""
        return ParameterTree({"kernel": self.kernel.tree})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        """Around data-driven values."""
        return Hyperprior.of(self.tree, kernel_habits(self.kernel, self.X, self.weight))

    @cached_property
    def labels(self) -> Array:
        """−1 and +1."""
        return np.where(self.codes == 1, 1.0, -1.0)

    @property
    def n_rows(self) -> int:
        """The size of the matrix that an evaluation factors."""
        return len(self.X)

    def subset(self, rows: NDArray[np.intp]) -> ClassProblem:
        """The same problem on some of the rows."""
        return replace(self, X=np.ascontiguousarray(self.X[rows]), codes=self.codes[rows], weight=self.weight[rows])

    def fresh(self) -> ClassProblem:
        """The same for one climb: an evaluation begins with the sites of the last."""
        return replace(self, trail={})

    def kernel_at(self, vector: Array) -> Kernel:
        """The kernel at a vector."""
        own = self.tree.unflatten(vector)["kernel"]
        assert isinstance(own, ParameterTree)
        return self.kernel.with_tree(own)

    def approximation(self, kernel: Kernel) -> Found:
        """The distribution of the latent values under a kernel."""
        K = kernel.gram(self.X)
        known: dict[str, Any] = {"weight": self.weight}
        if self.trail is not None:
            known |= {"start": self.trail.get("start"), "tolerance": _ON_THE_WAY[self.rule]}
        found: Found
        if self.n_classes > 2:
            found = softmax_laplace(K, self.codes, self.n_classes, **known)
        else:
            found = RULES[self.rule](K, self.labels, self.likelihood, **known)
        if self.trail is not None:
            self.trail["start"] = found.start if found.converged else None
        return found

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) as the rule sees it, and its gradient with respect to the vector."""
        kernel = self.kernel_at(vector)
        found = self.approximation(kernel)
        if not gradient:
            return found.log_evidence, np.empty(0)
        natural = kernel.pullback(self.X, found.kernel_weights(), triangle=True)
        return found.log_evidence, natural * self.tree.derivative(vector)
