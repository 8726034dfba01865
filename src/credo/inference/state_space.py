"""The representation of one column of times by the states of a stochastic process: exact, in linear time.

`kernels.markov` has the kernels, `markov` the recursions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.markov import Chain, Data, Timeline
from credo.inference.markov_passes import Filtered, filtered
from credo.inference.protocols import Basis, Representation, no_basis
from credo.inference.state_space_observed import StateSpacePosterior, pivoted
from credo.inference.state_space_sites import StateSpaceSites
from credo.kernels import Kernel
from credo.kernels.markov import MarkovForm
from credo.linalg import NotPositiveDefiniteError

Array = NDArray[np.float64]

# Components of a state, whose covariance is kept for some rows at a time.
LARGEST_STATE = 400


class StateSpace(Representation):
    """Rows of one column, in any order, as times of a Markov process: O(n) time and memory.

    For kernels that are such a process: `Exponential`, `Matern32`, `Matern52`, `Periodic`, `ZeroMeanPeriodic`,
    `Cosine`, `Harmonic`, `Linear`, `Constant`, and sums and products of them.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import Dense, StateSpace
    >>> from credo.kernels import Matern32
    >>> X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [0.0], [2.0]])
    >>> for rows in (Dense(X), StateSpace(X)):
    ...     print(round(rows.prior(Matern32()).observe(Y, noise=0.1).log_evidence, 6))
    -5.253592
    -5.253592
    """

    pilot_scale = 10

    def __init__(self, X: Array) -> None:
        if X.shape[1] != 1:
            raise ValueError(
                f'method="state_space" is for a single column, such as a time, and X has {X.shape[1]}; use '
                'method="exact"'
            )
        self.X = np.ascontiguousarray(X)
        self._basis: tuple[Basis, Array] = no_basis, np.empty((len(X), 0))

    def __reduce__(self) -> tuple[type, tuple[Array]]:
        return StateSpace, (self.X,)

    @cached_property
    def order(self) -> NDArray[np.intp] | None:
        """The rows in the order of time; None where they are in order already."""
        times = self.X[:, 0]
        return None if (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")

    @cached_property
    def timeline(self) -> Timeline:
        """The times in order."""
        return Timeline.of(self.sorted(self.X)[:, 0].copy())

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of each row in the order of time."""
        return values if self.order is None else values[self.order]

    def unsorted(self, values: Array) -> Array:
        """Values in the order of time in that of the rows."""
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def basis(self, basis: Basis) -> Array:
        """The basis at the rows in the order of time; that of the last call is kept."""
        if self._basis[0] is not basis:
            self._basis = basis, self.sorted(basis(self.X))
        return self._basis[1]

    def search_order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """By turns a row next to those before it and one at random: short scales need neighbours, long ones a range."""
        n = len(self.X)
        near = self.sorted(np.arange(n))[np.argsort(np.abs(np.arange(n) - rng.integers(n)), kind="stable")]
        both = np.stack([near, rng.permutation(n)], axis=1).ravel()
        first = np.unique(both, return_index=True)[1]
        return both[np.sort(first)]

    def subset(self, rows: NDArray[np.intp]) -> StateSpace:
        """The same for some of the rows."""
        return StateSpace(self.X[rows])

    def extended(self, rows: Array) -> StateSpace:
        """The same with further rows."""
        return StateSpace(np.vstack([self.X, rows]))

    def prior(self, kernel: Kernel) -> StateSpacePrior:
        """f ~ N(0, K) at the rows."""
        return StateSpacePrior(self, kernel)


@dataclass(frozen=True, eq=False)
class StateSpacePrior:
    """f ~ N(0, K) at the rows of a `StateSpace`."""

    representation: StateSpace
    kernel: Kernel

    @property
    def X(self) -> Array:
        return self.representation.X

    @cached_property
    def form(self) -> MarkovForm:
        """The kernel as a stochastic process; a ValueError where it is none."""
        try:
            form = self.kernel.state_space()
        except NotImplementedError as error:
            raise ValueError(f'method="state_space": {error}') from None
        if form.size > LARGEST_STATE:
            raise NotPositiveDefiniteError(
                f"{self.kernel!r} has a state of {form.size} components, more than {LARGEST_STATE}; use longer length "
                'scales of periodic kernels, fewer products, or method="exact"'
            )
        return form

    @cached_property
    def chain(self) -> Chain:
        return Chain(self.form, self.representation.timeline)

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> StateSpacePosterior:
        """f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return StateSpacePosterior(self, Y, np.broadcast_to(noise, len(Y)), basis)

    def sites(self, precision: Array, location: Array) -> StateSpaceSites:
        """f given one Gaussian site for each row."""
        return StateSpaceSites(self, precision, location)

    def multiply(self, v: Array) -> Array:
        """K v."""
        columns = np.ascontiguousarray(self.representation.sorted(v).reshape(len(v), -1))
        return self.representation.unsorted(self.chain.multiply(columns)).reshape(v.shape)

    def color(self, white: Array) -> Array:
        """L z, for K = LLᵀ; z has the order of the rows in time."""
        root, gains = self._root
        columns = np.ascontiguousarray(white.reshape(len(white), -1))
        return self.representation.unsorted(root.color(columns, gains)).reshape(white.shape)

    def whiten(self, f: Array) -> Array:
        """L⁻¹f."""
        root, _ = self._root
        columns = np.ascontiguousarray(self.representation.sorted(f).reshape(len(f), -1))
        found = filtered(self.chain, Data(columns, root.data.a, root.data.b))
        return found.white.reshape(f.shape)

    @cached_property
    def _root(self) -> tuple[Filtered, Array]:
        """The filter of values without noise, and its gains."""
        root, _ = pivoted(self.chain, np.empty((len(self.X), 0)), np.zeros(len(self.X)))
        return root, root.gains()
