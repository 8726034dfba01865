"""Inducing points: a process that is known everywhere from its values at a few points.

With u = f(Z) at m points Z, K_uu = LLᵀ and the features ψ(x) = L⁻¹k(Z, x) of a row,

    f(x) = ψ(x)ᵀv + e(x),    v ~ N(0, I),    u = Lv,    var e(x) = k(x, x) − ψ(x)ᵀψ(x)

Given targets, `observe` maximizes Titsias's (2009) bound, in which e is no part of what is learned. `sites` treat the e
of different training rows as independent (FITC: Snelson & Ghahramani 2006; with EP, Naish-Guzman & Holden 2008), which
makes f ~ N(0, Q + diag(K − Q)) with Q = ΨᵀΨ a prior like any other for Laplace, EP and VI. With as many points as rows
both are exact. Time is O(nm²); training rows are visited in chunks, so that memory is O(m²) beside the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.inference.dense import Dense
from credo.inference.inducing_features import InducingFeatures
from credo.inference.inducing_observed import InducingPosterior
from credo.inference.inducing_sites import InducingSites
from credo.inference.protocols import Basis, Representation, no_basis
from credo.kernels import Kernel
from credo.linalg import random_pivots

Array = NDArray[np.float64]

# Points are chosen so that an evaluation costs about n·m² = this, within these limits.
_COST, _FEWEST, _MOST = 1.25e10, 500, 1500
# Points are chosen among at most this many rows, drawn with this seed.
_CANDIDATES, _SEED = 10_000, 0
# Points are enough when they leave at most this share of the prior variance of any candidate.
_NEGLIGIBLE = 1e-13
# Subsets of up to this many times as many rows as points are exact, because that costs less.
_EXACT = 2
# Numbers of the features of all rows that a prior may hold (256 MB); beyond, they are computed whenever needed.
_HELD = 2**25


def default_points(n_rows: int) -> int:
    """The number of inducing points for so many rows.

    Examples
    --------
    >>> from credo.inference import default_points
    >>> default_points(10_000), default_points(10**7)
    (1118, 500)
    """
    return int(np.clip(math.sqrt(_COST / max(n_rows, 1)), _FEWEST, _MOST))


class Inducing(Representation):
    """Rows X and inducing points Z, which are given or chosen among the rows.

    They are chosen under the kernel of a prior by pivoted Cholesky (Burt, Rasmussen & van der Wilk 2020), with random
    pivots.
    `adapted` keeps the choice, so that evidences under different kernels are values of one function.

    Parameters
    ----------
    X : array of shape (n, n_features)
    points : array of shape (m, n_features), optional
        Points that nearly depend on others under a kernel are left out there.
    n_points : int, optional
        How many are chosen at most; by default 500 to 1500, fewer for more rows.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import Inducing
    >>> from credo.kernels import RBF
    >>> x = np.linspace(0, 5, 1000)[:, None]
    >>> len(Inducing(x).adapted(RBF()).points) < 30
    True
    """

    evidence_method = "elbo"

    def __init__(self, X: Array, points: Array | None = None, n_points: int | None = None) -> None:
        self.X = np.ascontiguousarray(X)
        self.points = None if points is None else np.ascontiguousarray(points)
        self.n_points = default_points(len(X)) if n_points is None else n_points

    def subset(self, rows: NDArray[np.intp]) -> Representation:
        """The same for some of the rows, exact if they are few."""
        if len(rows) <= _EXACT * self.n_points:
            return Dense(self.X[rows])
        return Inducing(self.X[rows], self.points, self.n_points)

    def extended(self, rows: Array) -> Inducing:
        """The same with further rows. They become points as well, as long as there are fewer than `n_points`."""
        X = np.vstack([self.X, rows])
        if self.points is None:
            return Inducing(X, None, self.n_points)
        more = rows[: max(0, self.n_points - len(self.points))]
        return Inducing(X, np.vstack([self.points, more]), self.n_points)

    def adapted(self, kernel: Kernel) -> Inducing:
        """The same rows with points that are chosen among them under this kernel."""
        return Inducing(self.X, self._chosen(kernel), self.n_points)

    def prior(self, kernel: Kernel) -> InducingPrior:
        """f ~ GP(0, k), known through its values at the points."""
        points = self._chosen(kernel) if self.points is None else self.points
        return InducingPrior(self, InducingFeatures.of(kernel, points, _NEGLIGIBLE))

    def _chosen(self, kernel: Kernel) -> Array:
        rows, rng = self.X, np.random.default_rng(_SEED)
        if len(rows) > _CANDIDATES:
            rows = rows[np.sort(rng.choice(len(rows), _CANDIDATES, replace=False))]
        index = random_pivots(
            kernel.diagonal(rows),
            lambda some: kernel.cross(rows[some], rows).T,
            self.n_points,
            tolerance=_NEGLIGIBLE,
            rng=rng,
        )
        return rows[index]


@dataclass(frozen=True, eq=False)
class InducingPrior:
    """f ~ GP(0, k) at the rows of an `Inducing`, through the features of its points."""

    representation: Inducing
    features: InducingFeatures

    @property
    def X(self) -> Array:
        return self.representation.X

    @property
    def kernel(self) -> Kernel:
        return self.features.kernel

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> InducingPosterior:
        """The bound's posterior of f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return InducingPosterior(self, Y, np.broadcast_to(noise, len(Y)), basis)

    def sites(self, precision: Array, location: Array) -> InducingSites:
        """f given one Gaussian site for each row."""
        return InducingSites(self, precision, location)

    def multiply(self, v: Array) -> Array:
        """(Q + diag(K − Q)) v."""
        total = np.zeros(self.features.size)
        for part, psi in self.chunks():
            total += psi.T @ v[part]
        return self.residual * v + self.applied(total)

    def color(self, white: Array) -> Array:
        """None: the prior has more dimensions than rows."""
        raise ValueError(_NO_ROOT)

    def whiten(self, f: Array) -> Array:
        """None: the prior has more dimensions than rows."""
        raise ValueError(_NO_ROOT)

    @cached_property
    def residual(self) -> Array:
        """var e = k(x, x) − ψᵀψ of each row."""
        residual = self.kernel.diagonal(self.X)
        for part, psi in self.chunks():
            residual[part] -= np.einsum("ij,ij->i", psi, psi)
        return np.maximum(residual, 0.0)

    def applied(self, v: Array) -> Array:
        """ψᵀv at each row."""
        return np.concatenate([psi @ v for _, psi in self.chunks()])

    def chunks(self) -> Iterator[tuple[slice, Array]]:
        """Some rows at a time, and their features; held, where there is room for those of all rows."""
        if len(self.X) * self.features.size > _HELD:
            yield from self.features.chunks(self.X)
            return
        yield from self._held

    def release(self) -> None:
        """Drop the features of all rows, which are computed again if needed."""
        vars(self).pop("_held", None)

    @cached_property
    def _held(self) -> list[tuple[slice, Array]]:
        return list(self.features.chunks(self.X))


_NO_ROOT = (
    "the prior of inducing points has no square root at the training rows, which sampling needs: use "
    'method="exact", or another inference'
)
