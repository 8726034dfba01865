"""The evidence of a Gaussian-process classifier as a function of one flat vector of hyperparameters."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.gp._hyperpriors import Hyperprior
from credo.inference import Approximation, SoftmaxApproximation, ep, laplace, softmax_laplace, vi
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.params import ParameterTree

Array = NDArray[np.float64]
Found = Approximation | SoftmaxApproximation

RULES: dict[str, Callable[..., Approximation]] = {"laplace": laplace, "ep": ep, "vi": vi}


@dataclass(frozen=True)
class ClassProblem:
    """Rows, their classes and weights, a kernel, and the rule that approximates the posterior.

    `n_classes` is 2 for a likelihood of one latent function; more are joined by the softmax, under Laplace's rule.
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

    @cached_property
    def tree(self) -> ParameterTree:
        """The kernel's parameters, by name."""
        return ParameterTree({"kernel": self.kernel.tree})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        """Around data-driven values."""
        return Hyperprior.of(self.tree, self.X, self.weight)

    @cached_property
    def labels(self) -> Array:
        """−1 and +1."""
        return np.where(self.codes == 1, 1.0, -1.0)

    def subset(self, rows: NDArray[np.intp]) -> "ClassProblem":
        """The same problem on some of the rows."""
        return replace(self, X=np.ascontiguousarray(self.X[rows]), codes=self.codes[rows], weight=self.weight[rows])

    def kernel_at(self, vector: Array) -> Kernel:
        """The kernel at a vector."""
        own = self.tree.unflatten(vector)["kernel"]
        assert isinstance(own, ParameterTree)
        return self.kernel._with_tree(own)

    def approximation(self, kernel: Kernel) -> Found:
        """The law of the latent values under a kernel."""
        K = kernel.gram(self.X)
        if self.n_classes > 2:
            return softmax_laplace(K, self.codes, self.n_classes, weight=self.weight)
        return RULES[self.rule](K, self.labels, self.likelihood, weight=self.weight)

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) as the rule sees it, and its gradient with respect to the vector."""
        kernel = self.kernel_at(vector)
        found = self.approximation(kernel)
        if not gradient:
            return found.log_evidence, np.empty(0)
        natural = kernel._pull(self.X, found.kernel_weights())[kernel._free()]
        return found.log_evidence, natural * self.tree.derivative(vector)
