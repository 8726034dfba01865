"""The evidence of a Gaussian-process classifier as a function of one flat vector of hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.gp._hyperpriors import Hyperprior, kernel_defaults
from credo.gp._objective import EvidenceObjective
from credo.inference import Approximation, Representation, SoftmaxApproximation, ep, laplace, softmax_laplace, vi
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.params import ParameterTree

Array = NDArray[np.float64]

INFERENCES: dict[str, Callable[..., Approximation]] = {"laplace": laplace, "ep": ep, "vi": vi}

# Tolerances during a search. The evidence is stationary where the iterations converge, so that its error is the square
# of theirs.
_SEARCH_TOLERANCE = {"laplace": 1e-9, "ep": 1e-6, "vi": 1e-8}


@dataclass(frozen=True)
class ClassificationObjective(EvidenceObjective):
    """Rows, their classes and weights, a kernel, and the inference that approximates the posterior.

    `n_classes` is 2 for a likelihood of one latent function; more classes are joined by the softmax, with Laplace's
    approximation. `last` holds the sites at which the last evaluation ended, for warm starts; without it each starts
    from scratch. `found` collects the approximation at every vector, if it is a dictionary.
    """

    kernel: Kernel
    representation: Representation
    codes: NDArray[np.intp]
    n_classes: int
    weight: Array
    likelihood: Bernoulli
    inference: str
    hyperpriors: bool = True
    tolerance: float = 1e-9
    last: dict[str, Any] | None = None
    found: dict[bytes, Approximation | SoftmaxApproximation] | None = None

    @cached_property
    def tree(self) -> ParameterTree:
        return ParameterTree({"kernel": self.kernel.tree})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        return Hyperprior.of(self.tree, kernel_defaults(self.kernel, self.representation.X, self.weight))

    @cached_property
    def labels(self) -> Array:
        """−1 and +1."""
        return np.where(self.codes == 1, 1.0, -1.0)

    @property
    def rows(self) -> Representation:
        return self.representation

    def subset(self, rows: NDArray[np.intp]) -> ClassificationObjective:
        part = self.representation.subset(rows)
        return replace(self, representation=part, codes=self.codes[rows], weight=self.weight[rows])

    def adapted(self, vector: Array) -> ClassificationObjective:
        return replace(self, representation=self.representation.adapted(self.kernel_at(vector)))

    def started(self, vector: Array) -> ClassificationObjective:
        return replace(self.adapted(vector), last={})

    def approximation(self, kernel: Kernel) -> Approximation | SoftmaxApproximation:
        """The approximate posterior of the latent values under a kernel."""
        prior = self.representation.prior(kernel)
        options: dict[str, Any] = {"weight": self.weight}
        if self.last is not None:
            options |= {"start": self.last.get("start"), "tolerance": _SEARCH_TOLERANCE[self.inference]}
        found: Approximation | SoftmaxApproximation
        if self.n_classes > 2:
            found = softmax_laplace(prior, self.codes, self.n_classes, **options)
        else:
            found = INFERENCES[self.inference](prior, self.labels, self.likelihood, **options)
        if self.last is not None:
            self.last["start"] = found.start if found.converged else None
        return found

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) as the inference approximates it, and its gradient with respect to the vector."""
        found = self.approximation(self.kernel_at(vector))
        if self.found is not None:
            self.found[vector.tobytes()] = found
        if not gradient:
            return found.log_evidence, np.empty(0)
        return found.log_evidence, found.gradient().by_kernel * self.tree.derivative(vector)
