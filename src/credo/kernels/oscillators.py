"""The damped oscillator and the cosine, kernels of one column."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from credo.core.linalg import parallel_rows
from credo.core.params import Parameter, ParameterTree
from credo.kernels import oscillators_jit as _jit
from credo.kernels.checks import VARIANCE_WIDTH
from credo.kernels.markov import MarkovForm, cosine_form, oscillator_form
from credo.kernels.spectra import SpectralDistribution, Term, Waves, one_frequency, resonance
from credo.kernels.stationary import CompiledKernel

Array = NDArray[np.float64]


class _OneColumn(CompiledKernel):
    """A kernel of the difference of two times, with a period."""

    @property
    def _rate(self) -> float:
        """ω = 2π/period."""
        return 2.0 * np.pi / float(self.params["period"])

    @property
    def _variance(self) -> float:
        return float(self.params["variance"])

    def _times(self, *tables: Array) -> list[Array]:
        """The only column of each table."""
        n_columns = tables[0].shape[1]
        if n_columns != 1:
            raise ValueError(f"a {type(self).__name__} kernel is one of a single column, as in .on(0); got {n_columns}")
        return [np.ascontiguousarray(table[:, 0]) for table in tables]

    def _default_priors(self, spread: Array) -> Array:
        priors = super()._default_priors(spread)
        priors[-1] = 0.0, VARIANCE_WIDTH
        return priors

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.append(np.zeros(len(self._free()) - 1), w.sum())

    def _spectrum(self, center: Array) -> list[Term]:
        waves = Waves(partial(_angle, self._times(center[None, :])[0][0], self._rate), self._frequencies())
        return [Term(self._variance, (waves,))]

    def _frequencies(self) -> SpectralDistribution:
        """The distribution of frequencies in units of ω."""
        raise NotImplementedError

    def _arguments(self) -> str:
        return ", ".join(f"{name}={float(self.params[name]):.6g}" for name in self.tree.paths if name != "variance")


class Harmonic(_OneColumn):
    """The position of a damped oscillator that is driven by white noise (celerite2's SHO; Foreman-Mackey et al. 2017).

    With ω = 2π/period, t = ω·abs(x − x′), b = 1/(2·quality) and η² = abs(1 − b²),

        variance · e^(−bt) (cos ηt + (b/η) sin ηt),

    with cosh and sinh below a quality of ½, and variance · e^(−t) (1 + t) at ½, a Matérn 3/2 kernel. A quality much
    larger than one gives oscillations that stay coherent for about as many periods; below ½ there are none.

    Parameters
    ----------
    period : float, default 1.0
        Without damping, in units of x: celerite2's ``rho``. Its ``w0`` is 2π/period.
    quality : float, default 1.0
        celerite2's ``Q``. Its damping time ``tau`` is quality·period/π.
    variance : float, default 1.0
        celerite2's ``sigma**2``, or ``S0 * w0 * Q``.

    Examples
    --------
    >>> from credo.kernels import Harmonic, Matern32
    >>> Harmonic(period=2.0, quality=5.0).cross([[0.0]], [[0.0], [1.0], [2.0], [4.0]]).round(3)
    array([[ 1.   , -0.729,  0.532,  0.282]])
    >>> Harmonic(period=6.2831853, quality=0.5).cross([[0.0]], [[0.3], [2.0]]).round(6)
    array([[0.963064, 0.406006]])
    >>> Matern32(3**0.5).cross([[0.0]], [[0.3], [2.0]]).round(6)
    array([[0.963064, 0.406006]])
    """

    def __init__(self, period: float = 1.0, *, quality: float = 1.0, variance: float = 1.0) -> None:
        values = {"period": period, "quality": quality, "variance": variance}
        self.tree = ParameterTree({name: Parameter(value) for name, value in values.items()})

    @property
    def _damping(self) -> float:
        """b."""
        return 0.5 / float(self.params["quality"])

    def _evaluate(self, X: Array, Z: Array, mode: int, triangle: bool, K: Array) -> None:
        settings = self._damping, self._rate, self._variance, mode, triangle
        parallel_rows(_jit.oscillator_fill, len(X), *self._times(X, Z), *settings, K)

    def _sum_derivatives(self, X: Array, Z: Array, W: Array, *, triangle: bool) -> Array:
        settings = self._damping, self._rate, triangle
        parts = parallel_rows(_jit.oscillator_pullback, len(X), *self._times(X, Z), *settings, W)
        value, by_rate, by_damping = np.sum(parts, axis=0)
        by_period = -self._variance * by_rate / float(self.params["period"])
        return np.array([by_period, -2.0 * self._variance * self._damping**2 * by_damping, value])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        out = np.zeros(len(X))
        parallel_rows(_jit.oscillator_slopes, len(X), *self._times(X), self._damping, self._rate, W, out)
        return self._variance * out[:, None]

    def _frequencies(self) -> SpectralDistribution:
        return resonance(self._damping)

    def state_space(self) -> MarkovForm:
        """The state is the position and the velocity."""
        return oscillator_form(float(self.params["period"]), float(self.params["quality"]), self._variance)


class Cosine(_OneColumn):
    """variance · cos(2π(x − x′)/period): sines of one period, of any phase.

    `ZeroMeanPeriodic` and `Periodic` have harmonics as well; times a Matérn kernel, phase and amplitude drift.

    Examples
    --------
    >>> from credo.kernels import Cosine
    >>> Cosine(period=4.0).cross([[0.0]], [[0.0], [1.0], [2.0], [4.0]]).round(6) + 0.0
    array([[ 1.,  0., -1.,  1.]])
    """

    def __init__(self, period: float = 1.0, *, variance: float = 1.0) -> None:
        self.tree = ParameterTree({"period": Parameter(period), "variance": Parameter(variance)})

    def _evaluate(self, X: Array, Z: Array, mode: int, triangle: bool, K: Array) -> None:
        settings = self._rate, self._variance, mode, triangle
        parallel_rows(_jit.cosine_fill, len(X), *self._times(X, Z), *settings, K)

    def _sum_derivatives(self, X: Array, Z: Array, W: Array, *, triangle: bool) -> Array:
        parts = parallel_rows(_jit.cosine_pullback, len(X), *self._times(X, Z), self._rate, triangle, W)
        value, by_rate = np.sum(parts, axis=0)
        return np.array([-self._variance * by_rate / float(self.params["period"]), value])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        (times,) = self._times(X)
        sines = np.sin(self._rate * (times[:, None] - times))
        return -2.0 * self._variance * self._rate * np.sum(W * sines, axis=1)[:, None]

    def _frequencies(self) -> SpectralDistribution:
        return one_frequency()

    def state_space(self) -> MarkovForm:
        """The state is a vector that rotates."""
        return cosine_form(float(self.params["period"]), self._variance)


def _angle(center: float, rate: float, X: Array) -> Array:
    return rate * (X - center)
