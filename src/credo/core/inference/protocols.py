"""The contract between representations of a latent Gaussian and the methods that condition it on data.

    representation.prior(kernel)  →  prior.observe(Y, noise, basis)  or  prior.sites(precision, location)  →  posterior

A representation stores and factors the covariance of the training rows. Exact inference, Laplace, EP, VI and the
samplers use only what is written here, so that a new representation needs no change outside its own module and the
look-up `REPRESENTATIONS`; `tests/contracts/test_representations.py` then runs over it.

The coefficients of a mean function have a flat prior and are integrated out in the same way for every representation:

    y = Hb + f + ε,    C = cov(f + ε) = LLᵀ,    b flat

(Rasmussen & Williams 2.42–2.45.) Only the whitened targets L⁻¹Y and basis L⁻¹H and ln|C| are needed: with
A = HᵀC⁻¹H = (L⁻¹H)ᵀ(L⁻¹H), b̂ = A⁻¹HᵀC⁻¹y and the whitened residual r = L⁻¹(y − Hb̂),

    ln p(y) = −½ rᵀr − ½ ln|C| − ½ ln|A| − ½(n − q) ln 2π
    ∂ ln p/∂θ = Σ W∘∂C/∂θ,    W = ½(ααᵀ + GGᵀ − C⁻¹),    α = L⁻ᵀr,    G = L⁻ᵀL⁻¹HA^(−½)

Several targets share C; their log densities add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from credo.core.inference.paths import Paths
from credo.core.linalg import Factor, factorize
from credo.kernels import Kernel

Array = NDArray[np.float64]
# From rows to the columns H of the mean function Hb, whose coefficients b have a flat prior.
Basis = Callable[[Array], Array]


def no_basis(rows: Array) -> Array:
    """The basis of a mean that is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import no_basis
    >>> no_basis(np.zeros((3, 2))).shape
    (3, 0)
    """
    return np.empty((len(rows), 0))


@dataclass(frozen=True)
class Gradient:
    """Derivatives of a log evidence: by the kernel's free parameters, and by each row's noise variance.

    `by_kernel` is in natural units and in the order of the kernel's `names`. `by_noise` is empty for a posterior from
    sites.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense
    >>> from credo.kernels import RBF
    >>> posterior = Dense(np.array([[0.0], [1.0]])).prior(RBF(1.0)).observe(np.array([[1.0], [-1.0]]), 0.1)
    >>> gradient = posterior.gradient()
    >>> RBF(1.0).names, gradient.by_kernel.round(2), gradient.by_noise.round(2)
    (['lengthscale', 'variance'], array([-2.05,  0.75]), array([1.4, 1.4]))
    """

    by_kernel: Array
    by_noise: Array = field(default_factory=lambda: np.empty(0))


class Representation(Protocol):
    """The training rows X, and how covariances between them are stored and factored.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense, Inducing
    >>> from credo.kernels import RBF
    >>> X, Y = np.arange(6.0)[:, None], np.sin(np.arange(6.0))[:, None]
    >>> forms = [Dense(X), Inducing(X, X)]  # the same with all rows as inducing points
    >>> [round(float(form.prior(RBF(2.0)).observe(Y, 0.1).log_evidence), 4) for form in forms]
    [-5.1084, -5.1084]
    """

    X: Array
    # What the log evidence of `observe` is: "exact", a lower bound ("elbo"), or that of an approximate prior.
    evidence_method: str = "exact"
    # What a model file has to store in addition to the rows.
    points: Array | None = None
    # A search may start on this many times as many rows as with a dense matrix.
    pilot_scale: int = 1

    def search_order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """All rows, ordered so that a search can start on the first few, whatever their number."""
        return rng.permutation(len(self.X))

    def subset(self, rows: NDArray[np.intp]) -> Representation:
        """The same for some of the rows, on which searches start."""
        ...

    def adapted(self, kernel: Kernel) -> Self:
        """With everything that depends on the kernel's parameters, such as inducing points, chosen for this kernel.

        The choice is kept for other kernels, so that a search maximizes one function.
        """
        return self

    def extended(self, rows: Array) -> Self:
        """The same with further rows."""
        ...

    def prior(self, kernel: Kernel) -> LatentPrior:
        """f ~ N(0, K) at the training rows."""
        ...


class LatentPrior(Protocol):
    """f ~ GP(0, k), to be conditioned at the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense
    >>> from credo.kernels import RBF
    >>> prior = Dense(np.array([[0.0], [1.0]])).prior(RBF(1.0))
    >>> prior.multiply(np.array([1.0, 0.0])).round(3)  # a column of the covariance matrix
    array([1.   , 0.607])
    >>> prior.observe(np.array([[1.0], [-1.0]]), 0.01).mean[:, 0].round(2)
    array([ 0.98, -0.98])
    """

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> ObservedPosterior:
        """Given Y = Hb + f + ε with ε ~ N(0, noise), one column for each target, and flat b."""
        ...

    def sites(self, precision: Array, location: Array) -> SitePosterior:
        """Given one Gaussian site exp(−½τf² + νf) for each row, which Laplace, EP and VI update."""
        ...

    def multiply(self, v: Array) -> Array:
        """K v."""
        ...

    def color(self, white: Array) -> Array:
        """L z, for a root K = LLᵀ: a draw of f from standard normal numbers."""
        ...

    def whiten(self, f: Array) -> Array:
        """L⁻¹f."""
        ...


class LatentPosterior(Protocol):
    """The Gaussian distribution of f given data or sites. With several targets, means have a column for each.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense
    >>> from credo.kernels import RBF
    >>> posterior = Dense(np.array([[0.0], [1.0]])).prior(RBF(1.0)).observe(np.array([[1.0], [-1.0]]), 0.01)
    >>> mean, variance = posterior.latent(np.array([[0.0], [2.0]]))
    >>> mean[:, 0].round(2), variance.round(2)
    (array([ 0.98, -1.17]), array([0.01, 0.55]))
    """

    @property
    def mean(self) -> Array:
        """E f at the training rows."""
        ...

    @property
    def variance(self) -> Array:
        """var f at the training rows."""
        ...

    @property
    def log_evidence(self) -> float:
        """ln p(Y) or a lower bound, or ln ∫ N(f | 0, K) Π sites df."""
        ...

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """E f and var f at new rows."""
        ...

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        """cov f between new rows, or between these and others."""
        ...


class SitePosterior(LatentPosterior, Protocol):
    """N(f | 0, K) times one Gaussian site for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense
    >>> from credo.kernels import RBF
    >>> prior = Dense(np.array([[0.0], [1.0]])).prior(RBF(1.0))
    >>> posterior = prior.sites(np.array([4.0, 0.0]), np.array([4.0, 0.0]))  # N(f₀ | 1, 1/4), and nothing about f₁
    >>> posterior.mean.round(2), posterior.variance.round(2)
    (array([0.8 , 0.49]), array([0.2 , 0.71]))
    """

    @property
    def precision(self) -> Array: ...

    @property
    def location(self) -> Array: ...

    @property
    def alpha(self) -> Array:
        """a = K⁻¹μ = ν − τμ."""
        ...

    @property
    def logdet(self) -> float:
        """ln|I + KT|, with T the sites' precisions."""
        ...

    @property
    def divergence(self) -> float:
        """The Kullback–Leibler divergence of this distribution from the prior."""
        ...

    def weights(self, location: Array) -> Array:
        """(I + TK)⁻¹ν: `alpha` for another location of the sites."""
        ...

    def gradient(self, by_mean: Array | None = None) -> Gradient:
        """The derivatives of the log evidence at fixed sites.

        Parameters
        ----------
        by_mean : array of shape (n,), optional
            s of a further term sᵀ∂μ/∂θ, for an evidence that isn't stationary in the mean, such as Laplace's.
        """
        ...

    def draw(self, rng: np.random.Generator) -> Array:
        """A draw of f − μ at the training rows."""
        ...


@runtime_checkable
class HasInformation(Protocol):
    """A posterior that has the Fisher information at little cost; a search then needs fewer evaluations.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense, HasInformation, Vecchia
    >>> from credo.kernels import RBF
    >>> X = np.linspace(0.0, 1.0, 20)[:, None]
    >>> [isinstance(rows.prior(RBF()).observe(X, 0.1), HasInformation) for rows in (Vecchia(X, 5), Dense(X))]
    [True, False]
    """

    def information(self, by_noise: Array) -> Array:
        """The Fisher information of the kernel's free parameters, in natural units, and of one of the noise.

        The coefficients of the mean count as known. `by_noise` has the derivative of each row's noise variance by the
        last parameter.
        """
        ...


class ObservedPosterior(LatentPosterior, Protocol):
    """f given targets with Gaussian noise.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense
    >>> from credo.kernels import RBF
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [1.0], [2.0]])
    >>> posterior = Dense(X).prior(RBF(1.0)).observe(Y, 0.01)
    >>> mean, variance = posterior.left_out()
    >>> mean[:, 0].round(2), round(posterior.log_evidence, 2)
    (array([0.1 , 1.06, 0.81]), -4.28)
    """

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal of K + noise."""
        ...

    def gradient(self) -> Gradient:
        """The derivatives of the log evidence."""
        ...

    def by_noise(self) -> Array:
        """`gradient().by_noise`, at less cost if the kernel's part takes most of the time."""
        ...

    def expected(self, rows: Array) -> Array:
        """E f at new rows, without the cost of a variance."""
        ...

    def difference(self, rows: Array, origin: Array) -> tuple[Array, Array]:
        """Mean and variance of f(x) − f(origin) of the first target at new rows."""
        ...

    def difference_gradient(self, row: Array, origin: Array, *, by_mean: float, by_variance: float) -> Array:
        """∂/∂x of by_mean·E + by_variance·var of f(x) − f(origin); a ValueError if the kernel has no derivative."""
        ...

    def left_out(self) -> tuple[Array, Array]:
        """Mean and variance of each target given all others; the variance is shared by the columns.

        A target without which the mean's coefficients aren't determined has an infinite variance.
        """
        ...

    def extended(self, rows: Array, Y: Array, noise: Array) -> Self:
        """The posterior given further observations."""
        ...

    def paths(self, n: int, rng: np.random.Generator, *, n_features: int = 2048) -> Paths:
        """n functions drawn from the posterior, which can be evaluated anywhere."""
        ...


@dataclass(frozen=True)
class Approximation:
    """The Gaussian approximation of the posterior of f, its ln p(y), and whether the method converged.

    `start` is a warm start for a similar kernel. `by_mean` is the derivative of ln p(y) by the mean of the posterior,
    for Laplace; the evidences of EP and VI are stationary in their sites.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense, ep
    >>> from credo.kernels import RBF
    >>> from credo.likelihoods import Bernoulli
    >>> prior = Dense(np.array([[0.0], [1.0], [2.0]])).prior(RBF(1.0))
    >>> found = ep(prior, np.array([-1.0, 1.0, 1.0]), Bernoulli(), weight=np.ones(3))
    >>> found.converged, round(found.log_evidence, 3), found.gradient().by_kernel.round(3)
    (True, -2.124, array([-0.181, -0.023]))
    """

    posterior: SitePosterior
    log_evidence: float
    n_iter: int
    converged: bool
    message: str
    start: Any = None
    by_mean: Array | None = None

    def gradient(self) -> Gradient:
        """The derivatives of ln p(y) by the kernel's parameters."""
        return self.posterior.gradient(self.by_mean)


@dataclass(frozen=True)
class FlatMean:
    """The estimate b̂ with the whitened residuals and basis; `factor` is that of A, None without a basis."""

    coefficients: Array
    residual: Array
    basis: Array
    factor: Factor | None

    @classmethod
    def of(cls, Y: Array, H: Array) -> FlatMean:
        """From whitened targets (n, n_targets) and a whitened basis (n, q)."""
        if not H.shape[1]:
            return cls(np.empty((0, Y.shape[1])), Y, H, None)
        factor = factorize(H.T @ H)
        coefficients = factor.solve(H.T @ Y)
        return cls(coefficients, Y - H @ coefficients, H, factor)

    def log_evidence(self, logdet: float, n: int | None = None) -> float:
        """ln p(Y), from ln|C|; n is the number of rows, if the whitened vectors have another length."""
        n_rows, n_targets = self.residual.shape
        n = n_rows if n is None else n
        logdet += 0.0 if self.factor is None else self.factor.logdet
        constant = logdet + (n - self.basis.shape[1]) * math.log(2 * math.pi)
        return -0.5 * float(np.einsum("ij,ij->", self.residual, self.residual)) - 0.5 * n_targets * constant

    @property
    def root(self) -> Array:
        """LᵀG: the whitened basis, made orthonormal."""
        return self.basis if self.factor is None else self.factor.half_solve(self.basis.T).T

    def uncertainty(self, H: Array, half: Array) -> Array:
        """A root (q, n_new) of the covariance at new rows due to the unknown b.

        From their basis H and whitened covariance with the training rows, `half` = L⁻¹k.
        """
        if self.factor is None:
            return np.zeros((0, len(H)))
        return self.factor.half_solve(H.T - self.basis.T @ half)
