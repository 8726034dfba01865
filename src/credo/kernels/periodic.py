"""The periodic kernel."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import i0e, i1e, ive

from credo.core.linalg import NotPositiveDefiniteError, parallel_rows
from credo.core.params import Parameter, ParameterTree
from credo.core.params.tree import number_text
from credo.kernels import _jit
from credo.kernels._jit import SET
from credo.kernels.checks import VARIANCE_WIDTH, combine, triangle_total
from credo.kernels.markov import MarkovForm, harmonic_form
from credo.kernels.spectra import SpectralDistribution, Term, Waves, harmonics
from credo.kernels.stationary import CompiledKernel

Array = NDArray[np.float64]

# With a shorter length scale, paths can't be distinguished from noise.
_MIN_LENGTHSCALE = 1e-12
# From this length scale on, functions that average zero are sines up to rounding errors.
_MAX_LENGTHSCALE = 1e3
# Harmonics of the state-space form.
_MAX_HARMONICS = 100


class Periodic(CompiledKernel):
    """variance · exp(−2 Σ_d sin²(π(x_d − x′_d)/period_d)/lengthscale_d²) (Rasmussen & Williams 4.31).

    The length scale is relative to the period, not in units of x: 1 is smooth, 0.3 is wiggly.

    Examples
    --------
    >>> from credo.kernels import Periodic
    >>> Periodic(period=12.0).gram([[0.0], [12.0]]).round(6)
    array([[1., 1.],
           [1., 1.]])
    """

    _vectors_allowed = ("lengthscale", "period")

    def __init__(
        self, lengthscale: float | ArrayLike = 1.0, *, period: float | ArrayLike = 1.0, variance: float = 1.0
    ) -> None:  # fmt: skip
        parameters = {"lengthscale": Parameter(lengthscale), "period": Parameter(period)}
        self.tree = ParameterTree({**parameters, "variance": Parameter(variance)})

    def _vectors(self, n_columns: int) -> tuple[Array, Array]:
        """Length scales and periods of each column."""
        vectors = []
        for name in ("lengthscale", "period"):
            value = self.params[name]
            if np.ndim(value) and len(value) != n_columns:
                raise ValueError(f"the kernel has {len(value)} values of {name}, but X has {n_columns} columns")
            vectors.append(np.full(n_columns, value, dtype=np.float64))
        return vectors[0], vectors[1]

    def _evaluate(self, X: Array, Z: Array, mode: int, triangle: bool, K: Array) -> None:
        columns = np.ascontiguousarray(X.T), np.ascontiguousarray(Z.T)
        vectors, variance = self._vectors(X.shape[1]), float(self.params["variance"])
        parallel_rows(_jit.periodic_fill, len(X), *columns, *vectors, variance, mode, triangle, K)

    def _default_priors(self, spread: Array) -> Array:
        priors = super()._default_priors(spread)
        priors[-1] = 0.0, VARIANCE_WIDTH
        return priors

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.append(np.zeros(len(self._free()) - 1), w.sum())

    def _sum_derivatives(self, X: Array, Z: Array, W: Array, *, triangle: bool) -> Array:
        n_columns = X.shape[1]
        columns = np.ascontiguousarray(X.T), np.ascontiguousarray(Z.T)
        loop = _jit.periodic_pullback
        sums = np.sum(parallel_rows(loop, len(X), *columns, *self._vectors(n_columns), triangle, W), axis=0)
        parts = []
        for name, part in [("lengthscale", sums[1 : n_columns + 1]), ("period", sums[n_columns + 1 :])]:
            parts.append(part if np.ndim(self.params[name]) else part.sum(keepdims=True))
        return np.concatenate([*(float(self.params["variance"]) * part for part in parts), sums[:1]])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        lengthscale, period = self._vectors(X.shape[1])
        weighted = W * self._cross(X, X)
        out = np.empty_like(X)
        for d in range(X.shape[1]):
            angle = 2.0 * np.pi * (X[:, None, d] - X[None, :, d]) / period[d]
            out[:, d] = -4.0 * np.pi / (lengthscale[d] ** 2 * period[d]) * np.sum(weighted * np.sin(angle), axis=1)
        return out

    def _spectrum(self, center: Array) -> list[Term]:
        lengthscale, period = self._vectors(len(center))
        # −2 sin²(t/2) = cos t − 1 with the angle t = 2π(x − x′)/period, for each column.
        waves = [
            Waves(
                partial(_angle, d, center[d], 2.0 * np.pi / period[d]),
                self._harmonics(1.0 / max(lengthscale[d], _MIN_LENGTHSCALE) ** 2),
            )
            for d in range(len(center))
        ]
        return [Term(float(self.params["variance"]), tuple(waves))]

    def _harmonics(self, concentration: float) -> SpectralDistribution:
        return harmonics(concentration)

    def state_space(self) -> MarkovForm:
        """By as many harmonics as a precision of 10⁻¹³ takes (Solin & Särkkä 2014, eq. 27)."""
        lengthscale, period = (np.ravel(self.params[name]) for name in ("lengthscale", "period"))
        if len(lengthscale) != 1 or len(period) != 1:
            return super().state_space()
        shares, slopes = self._shares(float(lengthscale[0]))
        first = int(isinstance(self, ZeroMeanPeriodic))
        variance = float(self.params["variance"])
        return harmonic_form(shares[first:], slopes[first:], float(period[0]), variance, first=first)

    def _shares(self, lengthscale: float) -> tuple[Array, Array]:
        """The share of the variance of each harmonic, the constant first, and its derivative by the length scale."""
        if not lengthscale**2 > 50.0 / _MAX_HARMONICS**2:
            raise NotPositiveDefiniteError(
                f"a periodic kernel of length scale {lengthscale:.3g} needs more than {_MAX_HARMONICS} harmonics in "
                'state-space form; use a longer length scale, or method="exact"'
            )
        scaled = ive(np.arange(-1, _MAX_HARMONICS + 2), lengthscale**-2.0)
        twice = np.where(np.arange(_MAX_HARMONICS + 1), 2.0, 1.0)
        shares = twice * scaled[1:-1]
        slopes = twice * (0.5 * (scaled[:-2] + scaled[2:]) - scaled[1:-1]) * -2.0 * lengthscale**-3.0
        size = int((np.cumsum(shares[::-1])[::-1] > 1e-13).sum())
        return shares[:size], slopes[:size]

    def _arguments(self) -> str:
        return ", ".join(f"{name}={number_text(self.params[name])}" for name in ("lengthscale", "period"))


class ZeroMeanPeriodic(Periodic):
    """The periodic kernel of functions that average zero over a period, so that a sum has its level elsewhere.

    variance · Π_d (p_d − c_d)/(1 − c_d) with p_d = exp(−2 sin²(π(x_d − x′_d)/period_d)/ℓ_d²) and its mean over a period
    c = e^(−κ) I₀(κ), κ = 1/ℓ² (Lloyd et al. 2014). As ℓ grows it tends to cos(2π(x − x′)/period), and draws to sines.

    Examples
    --------
    >>> from credo.kernels import ZeroMeanPeriodic
    >>> ZeroMeanPeriodic(period=4.0).gram([[0.0], [1.0], [2.0], [3.0]]).round(2)
    array([[ 1.  , -0.18, -0.62, -0.18],
           [-0.18,  1.  , -0.18, -0.62],
           [-0.62, -0.18,  1.  , -0.18],
           [-0.18, -0.62, -0.18,  1.  ]])
    """

    def _check_columns(self, X: Array) -> None:
        if X.shape[1] != 1:
            raise ValueError(f"a ZeroMeanPeriodic kernel is one of a single column, as in .on(0); got {X.shape[1]}")

    def _mean(self) -> tuple[float, float]:
        """c, and its derivative by the length scale."""
        lengthscale = min(max(float(np.ravel(self.params["lengthscale"])[0]), _MIN_LENGTHSCALE), _MAX_LENGTHSCALE)
        kappa = 1.0 / lengthscale**2
        return float(i0e(kappa)), 2.0 * float(i0e(kappa) - i1e(kappa)) / lengthscale**3

    def _evaluate(self, X: Array, Z: Array, mode: int, triangle: bool, K: Array) -> None:
        self._check_columns(X)
        own = np.empty_like(K)
        super()._evaluate(X, Z, SET, triangle, own)
        # The other triangle may hold anything, and is never read.
        with np.errstate(all="ignore"):
            own -= float(self.params["variance"]) * self._mean()[0]
            own /= 1.0 - self._mean()[0]
        combine(K, own, mode)

    def _sum_derivatives(self, X: Array, Z: Array, W: Array, *, triangle: bool) -> Array:
        self._check_columns(X)
        c, slope = self._mean()
        sums = super()._sum_derivatives(X, Z, W, triangle=triangle) / (1.0 - c)
        total = (triangle_total(W) if triangle else float(W.sum())) / (1.0 - c)
        # d/dℓ (p − c)/(1 − c) = p′/(1 − c) − c′(1 − p)/(1 − c)²
        sums[0] -= float(self.params["variance"]) * slope / (1.0 - c) * (total - sums[-1])
        sums[-1] -= c * total
        return sums

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        self._check_columns(X)
        plain = Periodic(**dict(self.params))
        return plain._pullback_inputs(X, W) / (1.0 - self._mean()[0])

    def _shares(self, lengthscale: float) -> tuple[Array, Array]:
        shares, slopes = super()._shares(min(lengthscale, _MAX_LENGTHSCALE))
        rest = 1.0 - shares[0]
        return shares / rest, (slopes + shares * slopes[0] / rest) / rest * (lengthscale < _MAX_LENGTHSCALE)

    def _harmonics(self, concentration: float) -> SpectralDistribution:
        return harmonics(max(concentration, _MAX_LENGTHSCALE**-2), constant=False)


def _angle(column: int, center: float, speed: float, X: Array) -> Array:
    return speed * (X[:, column, None] - center)
