"""What sums and products of covariance functions do with arrays.

(k₁ + k₂)  passes W on,    (k₁ k₂)  passes on W∘K₂ and W∘K₁
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import iadd, imul, mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.kernels import _jit
from credo.kernels._contract import Covariance, Places
from credo.kernels._jit import MULTIPLY
from credo.kernels._triangles import times_others
from credo.kernels.markov import MarkovForm, product_of, sum_of
from credo.kernels.spectra import Term
from credo.linalg import parallel_rows

Array = NDArray[np.float64]


class Combined(Covariance):
    """What sums and products share."""

    terms: Any  # a sequence of kernels

    def _default_priors(self, spread: Array) -> Array:
        return np.concatenate([term._default_priors(spread) for term in self.terms])

    def column_scales(self, n_columns: int) -> Array:
        return np.min([term.column_scales(n_columns) for term in self.terms], axis=0)


class Added(Combined):
    """The sum of its terms."""

    def state_space(self) -> MarkovForm:
        return sum_of([term.state_space() for term in self.terms])

    def _cross(self, X: Array, Z: Array) -> Array:
        return reduce(iadd, (term._cross(X, Z) for term in self.terms))

    def _diagonal(self, X: Array) -> Array:
        return np.sum([term._diagonal(X) for term in self.terms], axis=0)

    def _pullback(self, X: Array, W: Array) -> Array:
        return np.concatenate([term._pullback(X, W) for term in self.terms])

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return np.concatenate([term._pullback_cross(X, Z, W) for term in self.terms])

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.concatenate([term._pullback_diagonal(X, w) for term in self.terms])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return np.sum([term._pullback_inputs(X, W) for term in self.terms], axis=0)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        return np.concatenate([term._pullback_blocks(X, places, W) for term in self.terms])

    def _spectrum(self, center: Array) -> list[Term]:
        return [part for term in self.terms for part in term._spectrum(center)]


class Multiplied(Combined):
    """The product of its terms."""

    def state_space(self) -> MarkovForm:
        return product_of([term.state_space() for term in self.terms])

    def _cross(self, X: Array, Z: Array) -> Array:
        return reduce(imul, (term._cross(X, Z) for term in self.terms))

    def _diagonal(self, X: Array) -> Array:
        return np.prod([term._diagonal(X) for term in self.terms], axis=0)

    def _pullback(self, X: Array, W: Array) -> Array:
        return np.concatenate([term._pullback(X, self._others(i, X, W)) for i, term in enumerate(self.terms)])

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        weights = times_others(W, [term._cross(X, Z) for term in self.terms])
        return np.concatenate([term._pullback_cross(X, Z, own) for term, own in zip(self.terms, weights, strict=True)])

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        weights = times_others(w, [term._diagonal(X) for term in self.terms])
        return np.concatenate([term._pullback_diagonal(X, own) for term, own in zip(self.terms, weights, strict=True)])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        parts = []
        for i, term in enumerate(self.terms):
            weights = self._others(i, X, W)
            parallel_rows(_jit.mirror, len(X), weights)
            parts.append(term._pullback_inputs(X, weights))
        return np.sum(parts, axis=0)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        weights = times_others(W, [term.blocks(X, places) for term in self.terms])
        return np.concatenate(
            [term._pullback_blocks(X, places, own) for term, own in zip(self.terms, weights, strict=True)]
        )

    def _spectrum(self, center: Array) -> list[Term]:
        spectra = [term._spectrum(center) for term in self.terms]
        return [reduce(mul, parts) for parts in product(*spectra)]

    def _others(self, i: int, X: Array, W: Array) -> Array:
        """W times the triangles of every factor but one."""
        weights = W.copy()
        for other in self.terms[:i] + self.terms[i + 1 :]:
            other._fill(X, weights, MULTIPLY)
        return weights
