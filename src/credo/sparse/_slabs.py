"""Priors of the coefficients in a model, each with the evidence that it gives to a subset.

A subset γ of k columns enters by two numbers, with X and y centered (and weighted):

    1 − R² = 1 − bᵀA⁻¹b / yᵀy,    logdet = ln|A|,    A = XᵀX + ridge·I,    b = Xᵀy

The intercept has a flat prior and an unknown σ² the prior 1/σ². With them the model without columns has the evidence

    ∫∫ p(y | μ, σ²) dμ dσ²/σ² = Γ((n−1)/2) n^(−1/2) (π yᵀy)^(−(n−1)/2),

and a model's evidence is that times its Bayes factor, for which the BIC is an approximation. With σ² known it is
∫ p(y | μ) dμ. A slab gives the parameters of one formula; the formulas themselves are in `_slabs_jit`.

Zellner & Siow's prior of g is integrated by quadrature:

    g ~ InvGamma(½, n/2),    BF(k, R²) = ∫ (1+g)^((n−1−k)/2) (1 + g(1−R²))^(−(n−1)/2) p(g) dg

(Liang, Paulo, Molina, Clyde & Berger 2008, eq. 6 and 12.) In t = ln g the integrand has one peak; Gauss–Legendre rules
on either side of it are accurate to rounding. With x = −ln(1−R²), ln BF − x(n−1)/2 is close to a line of slope
−(k+1)/2 for every n: compiled code evaluates splines of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import make_interp_spline
from scipy.special import expit, gammaln

from credo.core.estimator import FLAT, JEFFREYS, evidence_base, positive
from credo.core.fields import Finite, NonNegative, Positive
from credo.core.learning.integration import gauss_nodes
from credo.distributions import t_variance
from credo.sparse._slabs_jit import CELLS, FLOOR, LINEAR, LOG, TABLE, Formula, log_evidences

Array = NDArray[np.float64]

# Student-t distributions have at least this many degrees of freedom, so that their variance exists.
MIN_DF = 3.0


@dataclass(frozen=True)
class Slab:
    """A prior of the coefficients of the columns in a model, as the parameters of `_slabs_jit.log_evidence`.

    Parameters
    ----------
    n, yy : the number of observations or their total weight, and the squared length of the centered target
    form : {LOG, LINEAR, TABLE}
    start, per_column : the log Bayes factor has the constant start + per_column·k
    slope, shift, factor, volume, lost : see `_slabs_jit.Formula`
    ridge : what is added to the diagonal of XᵀX; a proper prior if it is positive
    noise : the known σ², or None
    method, base : how the evidence is computed, and what it conditions on
    n_rows : the number of distinct rows, if smaller than n
    """

    n: Annotated[float, Finite, Positive]
    yy: Annotated[float, Finite, Positive]
    form: Literal[0, 1, 2] = LOG
    start: float = 0.0
    per_column: float = 0.0
    slope: float = 0.0
    shift: float = 0.0
    factor: float = 0.0
    volume: float = 0.0
    lost: float = 0.0
    ridge: Annotated[float, Finite, NonNegative] = 0.0
    noise: float | None = None
    method: str = "exact"
    base: str = evidence_base(intercept=FLAT, noise=JEFFREYS)
    n_rows: float = math.inf

    @property
    def max_size(self) -> float:
        """The largest subset that has an evidence: one row is for the mean, one for the noise, unless there is a ridge.

        Repeated rows say nothing about the noise of a subset that fits all of them.
        """
        return math.inf if self.ridge > 0 else max(math.ceil(min(self.n, self.n_rows)) - 2.0, 0.0)

    @property
    def log_null(self) -> float:
        """The log evidence of the model without columns."""
        half = (self.n - 1) / 2
        if self.noise is not None:
            return -0.5 * math.log(self.n) - half * math.log(2 * math.pi * self.noise) - 0.5 * self.yy / self.noise
        return float(gammaln(half) - 0.5 * math.log(self.n) - half * math.log(math.pi * self.yy))

    def score(self, k: ArrayLike, one_minus_r2: ArrayLike, logdet: ArrayLike = 0.0) -> Array:
        """ln p(y | γ) of subsets of k columns; −∞ for too many columns."""
        k, one_minus_r2, logdet = np.broadcast_arrays(
            np.asarray(k, dtype=np.int64), np.asarray(one_minus_r2, dtype=np.float64), logdet
        )
        out = np.empty(k.size)
        if k.size:
            formula = self.formula(int(k.max()), one_minus_r2=float(one_minus_r2.min()))
            log_evidences(formula, k.ravel(), one_minus_r2.ravel(), logdet.ravel().astype(np.float64), out)
        return out.reshape(k.shape)

    def formula(self, d: int, *, one_minus_r2: float = FLOOR) -> Formula:
        """For compiled code: subsets of up to d columns, with 1 − R² no smaller than this."""
        sizes = np.arange(d + 1.0)
        known = np.minimum(sizes, self.max_size)
        base = np.where(sizes > self.max_size, -np.inf, self.log_null + self.start + self.per_column * known)
        df, scale = self._noise(known)
        table = np.zeros((3, 1, 1, 6))
        if self.form == TABLE:
            reach = reach_of(-math.log(max(one_minus_r2, FLOOR)))
            table = np.stack([shrinkage_spline(self.n, int(size), reach) for size in known], axis=1)
        return Formula(
            self.form, base, scale * t_variance(df), self.slope, self.shift, self.factor, self.volume, self.lost,
            float(self.n), np.ascontiguousarray(table),
        )  # fmt: skip

    def posteriors(self, k: ArrayLike, one_minus_r2: ArrayLike) -> list[list[tuple[float, float, float, float]]]:
        """For each subset the posterior of its coefficients, β ~ t_df(s·A⁻¹b, noise·s·A⁻¹), or a mixture of several.

        Each is (weight, s, df, noise), with s the shrinkage and `noise` the squared scale of the noise.
        """
        sizes, shares = np.atleast_1d(k).astype(np.int64), np.clip(np.atleast_1d(one_minus_r2), FLOOR, 1.0)
        df, scale = (values.tolist() for values in self._noise(sizes))
        # Weights and values of 1 − s.
        rules = [(np.ones(1), np.array([self.lost if size else 0.0])) for size in sizes]
        if self.form == TABLE:
            at = np.flatnonzero(sizes)
            for i, lost, weights in zip(at, *shrinkage_rules(self.n, sizes[at], -np.log(shares[at])), strict=True):
                rules[i] = (weights, lost)
        found = []
        for (weights, lost), nu, square, share in zip(rules, df, scale, shares.tolist(), strict=True):
            noise = square * (np.ones_like(lost) if self.form == LINEAR else lost + (1.0 - lost) * share)
            found.append(
                list(zip(weights.tolist(), (1.0 - lost).tolist(), [nu] * len(lost), noise.tolist(), strict=True))
            )
        return found

    def _noise(self, k: NDArray[Any]) -> tuple[Array, Array]:
        """Degrees of freedom, and the squared scale of the noise at R² = 0."""
        if self.noise is not None:
            return np.full(len(k), math.inf), np.full(len(k), self.noise)
        # The BIC uses those of least squares.
        df = self.n - 1.0 - (k if self.method == "bic" else np.zeros(len(k)))
        return np.maximum(df, MIN_DF), self.yy / df


def bic_slab(n: float, yy: float) -> Slab:
    """The Bayesian information criterion as evidence: BF ≈ exp((BIC₀ − BIC)/2) = (1 − R²)^(−n/2) n^(−k/2).

    (Schwarz 1978; Kass & Raftery 1995, eq. 9.) Coefficients have the Student-t distribution of least squares.
    """
    return Slab(n, yy, per_column=-0.5 * math.log(n), slope=-0.5 * n, factor=1.0, method="bic")


def bic(n: float, yy: float, k: ArrayLike, one_minus_r2: ArrayLike) -> Array:
    """BIC = −2 ln p(y | γ, best fit) + (k+2) ln n, with the intercept and σ² counted."""
    fit = n * (math.log(2 * math.pi * yy / n) + 1.0 + np.log(np.maximum(one_minus_r2, FLOOR)))
    return np.asarray(fit + (np.asarray(k) + 2.0) * math.log(n))


def g_slab(n: float, yy: float, g: float) -> Slab:
    """Zellner's prior β | σ² ~ N(0, g σ² (XᵀX)⁻¹): BF = (1+g)^((n−1−k)/2) (1 + g(1−R²))^(−(n−1)/2).

    (Liang et al. 2008, eq. 6.)
    """
    half, log = 0.5 * (n - 1), math.log1p(g)
    return Slab(n, yy, start=half * log, per_column=-0.5 * log, slope=-half, shift=1.0, factor=g, lost=1.0 / (1.0 + g))


def normal_slab(n: float, yy: float, variance: float, noise: float | None) -> Slab:
    """Independent normal coefficients: β ~ N(0, v I) with σ² known, or β | σ² ~ N(0, v σ² I) with σ² integrated.

    p(y | γ) ∝ |I + XᵀX v/σ²|^(−1/2) exp(q/2σ²),    or    |I + vXᵀX|^(−1/2) (yᵀy − q)^(−(n−1)/2),    q = bᵀA⁻¹b
    """
    ridge = (noise or 1.0) / variance
    slab = Slab(n, yy, per_column=0.5 * math.log(ridge), factor=1.0, volume=-0.5, ridge=ridge, slope=-0.5 * (n - 1))
    if noise is None:
        return slab
    fit, base = 0.5 * yy / noise, evidence_base(intercept=FLAT)
    return replace(slab, form=LINEAR, start=fit, slope=-fit, noise=noise, base=base)


def slab_of(
    name: Any, n: float, yy: float, d: int, *, g: Any = None, slab_variance: float = 1.0, noise_variance: Any = None,
    n_rows: float = math.inf
) -> Slab:  # fmt: skip
    """The slab that an estimator's arguments specify; d is the number of columns, for g = max(n, d²)."""
    n, yy = float(n), float(yy)
    if name == "bic":
        slab = bic_slab(n, yy)
    elif name == "zellner-siow":
        # Zellner's prior with g ~ InvGamma(½, n/2), a Cauchy prior of the coefficients.
        slab = Slab(n, yy, form=TABLE)
    elif name == "normal":
        noise = None if noise_variance is None else positive("noise_variance", noise_variance)
        slab = normal_slab(n, yy, positive("slab_variance", slab_variance), noise)
    elif name == "g":
        named = {"n": n, "max": max(n, float(d * d))}
        if isinstance(g, str) and g not in named:
            raise ValueError(f'g must be "n", "max" or a positive number; got {g!r}')
        slab = g_slab(n, yy, n if g is None else named[g] if isinstance(g, str) else positive("g", g))
    else:
        raise ValueError(f'slab must be one of "bic", "g", "zellner-siow", "normal"; got {name!r}')
    return replace(slab, n_rows=n_rows)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def shrinkage_moments(n: float, k: float, x: Array) -> Array:
    """ln BF − x(n−1)/2, E[s] and E[s²] of the shrinkage s = g/(1+g), shape (3, len(x)), by quadrature."""
    t, log_weight = g_posterior(n, k, x)
    peak = log_weight.max(axis=0)
    weight = np.exp(log_weight - peak)
    total = weight.sum(axis=0)
    s = expit(t)
    return np.stack([peak + np.log(total), (weight * s).sum(axis=0) / total, (weight * s * s).sum(axis=0) / total])


def g_posterior(n: float, k: float | Array, x: Array) -> tuple[Array, Array]:
    """Nodes t = ln g and the logs of their masses, each of shape (n_nodes, len(x)).

    The masses sum to BF·e^(−x(n−1)/2).
    """
    mode = _crossing(lambda t: _slope(t, n, k, x), np.full_like(x, -40.0), np.full_like(x, 120.0))
    # Beyond these ends the integrand is below e^-50 of its peak.
    level = _log_integrand(mode, n, k, x) - 50.0
    below = _crossing(lambda t: level - _log_integrand(t, n, k, x), mode - 80.0, mode)
    above = _crossing(lambda t: _log_integrand(t, n, k, x) - level, mode, mode + 200.0)
    t = np.concatenate([_between(below, mode), _between(mode, above)])
    rule = np.log(_WEIGHTS)[:, None]
    width = np.concatenate([rule + np.log((mode - below) / 2), rule + np.log((above - mode) / 2)])
    return t, _log_integrand(t, n, k, x) + width


@lru_cache(maxsize=4096)
def shrinkage_spline(n: float, k: int, reach: int) -> Array:
    """Spline coefficients of `shrinkage_moments` on 0 ≤ x ≤ reach: shape (3, cells, 6), for `_slabs_jit.spline`."""
    x = np.linspace(0.0, reach, CELLS * reach + 1)
    values = shrinkage_moments(n, k, x)
    pieces = make_interp_spline(CELLS * x, values.T, k=5)
    nodes = np.arange(CELLS * reach, dtype=np.float64)
    # Four derivatives are continuous at the nodes, the fifth is constant between them.
    coefs = [pieces(nodes, nu=order) for order in range(5)] + [pieces(nodes + 0.5, nu=5)]
    scale = np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0])
    return np.ascontiguousarray(np.stack(coefs, axis=-1).transpose(1, 0, 2) / scale)


def reach_of(x: float) -> int:
    """The range of a shrinkage_spline, rounded up to a power of two so that few are needed."""
    return int(2 ** np.ceil(np.log2(max(x, 1.0))))


def _log_integrand(t: Array, n: float, k: float | Array, x: Array) -> Array:
    """ln of the integrand in t = ln g, with the Jacobian, minus x(n−1)/2."""
    grown, kept = np.logaddexp(0.0, t), np.logaddexp(0.0, t - x)
    prior = 0.5 * np.log(n / (2 * np.pi)) - 0.5 * t - 0.5 * n * np.exp(-np.maximum(t, -50.0))
    return 0.5 * (n - 1) * (grown - x - kept) - 0.5 * k * grown + prior


def _slope(t: Array, n: float, k: float | Array, x: Array) -> Array:
    g_share = expit(t)
    return 0.5 * (n - 1) * (g_share - expit(t - x)) - 0.5 * k * g_share - 0.5 + 0.5 * n * np.exp(-t)


def _crossing(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where f falls through zero between low and high, by bisection."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        up = f(middle) > 0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    return 0.5 * (low + high)


def _between(low: Array, high: Array) -> Array:
    """Gauss-Legendre nodes of each interval, shape (64, len(low))."""
    return 0.5 * (low + high) + 0.5 * (high - low) * _NODES[:, None]


def shrinkage_rules(n: float, k: NDArray[np.intp], x: Array) -> tuple[Array, Array]:
    """For each subset three values of u = 1 − s = 1/(1+g), with weights, that have the first five moments of u.

    Each of shape (len(x), 3): the Gauss rule of the discrete distribution on the nodes of the quadrature.
    """
    t, log_weight = g_posterior(n, np.asarray(k, dtype=np.float64), x)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    nodes, weights = gauss_nodes(expit(-t).T, (weight / weight.sum(axis=0)).T, 3)
    return np.clip(nodes, 0.0, 1.0), weights
