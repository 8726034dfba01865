"""Priors of the coefficients that are in a model, each with the evidence that it gives to a subset.

A subset γ of k columns enters by three numbers, with X and y centred (and weighted):

    q = bᵀA⁻¹b,    logdet = ln|A|,    A = XᵀX + ridge·I,    b = Xᵀy

The intercept has a flat prior and, where the noise is unknown, σ² has 1/σ²; both are shared by all models. With them

    p(y | no column) = ∫∫ p(y | μ, σ²) dμ dσ²/σ² = Γ((n−1)/2) n^(−1/2) (π yᵀy)^(−(n−1)/2),

and a model's evidence is that times its Bayes factor: the density of y given any two of its values, up to the factor
1/|yᵢ − yⱼ| of those two. With σ² known it is ∫ p(y | μ) dμ: the density of y given any one value. The BIC stands for
the Bayes factor, so that all slabs have one evidence of no column, and one scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from credo.distributions import t_variance
from credo.estimator import FLAT, JEFFREYS, MAXIMISED, evidence_base, positive
from credo.subsets import _zellner_siow

Array = NDArray[np.float64]

# 1 − R² from q has lost its digits below the first of these; from residuals it has them down to the second, and a fit
# that is closer than that is perfect.
_FLOOR_OF_Q = 1e-14
FLOOR = 1e-24
# Student-t laws have at least as many degrees of freedom, so that a variance exists.
LEAST_DF = 3.0
# Which formula compiled code uses; see `credo.subsets._jit`.
LOG, LINEAR, LOCAL, TABLE = 0, 1, 2, 3


@dataclass(frozen=True)
class Law:
    """One part, with its weight, of what a subset's coefficients are given y: β ~ t_df(s·A⁻¹b, noise·s·A⁻¹).

    `shrink` is s, and `noise` the squared scale of an observation's noise.
    """

    weight: float
    shrink: float
    df: float
    noise: float


@dataclass(frozen=True)
class Formula:
    """A slab as compiled code reads it, for subsets of 0 to d columns; see `credo.subsets._jit`.

    `base` and `width` have an entry for each size: what the evidence begins with, and the noise's variance where a
    subset leaves all of the target. `numbers` are slope, shift, factor, volume, n and the
    shrinkage; `table` holds splines.
    """

    form: int
    base: Array
    width: Array
    numbers: Array
    table: Array


@dataclass(frozen=True)
class Slab:
    """A prior of the coefficients of the columns that are in.

    Parameters
    ----------
    n : float
        The number of observations, or their total weight.
    yy : float
        The squared length of the centred target; positive.
    n_rows : float, default ∞
        The number of different rows, where that is smaller than n.
    """

    n: float
    yy: float
    n_rows: float = field(default=math.inf, kw_only=True)

    method: ClassVar[str] = "exact"

    @property
    def ridge(self) -> float:
        """What is added to the diagonal of XᵀX."""
        return 0.0

    @property
    def form(self) -> int:
        """Which formula compiled code uses."""
        return LOG

    @property
    def base(self) -> str:
        """What the evidence conditions on."""
        return evidence_base(intercept=FLAT, noise=JEFFREYS)

    def log_evidence(self, k: ArrayLike, q: ArrayLike, logdet: ArrayLike = 0.0) -> Array:
        """ln p(y | γ) of subsets of k columns; −∞ where there are as many columns as the evidence can't bear."""
        rest = np.maximum(1.0 - np.asarray(q, dtype=np.float64) / self.yy, _FLOOR_OF_Q)
        return self.score(k, rest, logdet)

    def score(self, k: ArrayLike, rest: ArrayLike, logdet: ArrayLike = 0.0) -> Array:
        """The same, from rest = 1 − q/yᵀy, the share of the target that the subset leaves."""
        k, rest, logdet = np.broadcast_arrays(np.asarray(k), np.asarray(rest, dtype=np.float64), logdet)
        size = np.minimum(k, self.most)
        value = self._score(size, np.maximum(rest, FLOOR), logdet)
        return np.where(k > self.most, -np.inf, value)

    @property
    def most(self) -> float:
        """The largest size of a subset that has an evidence: one row is for the mean, one for the noise.

        Rows that are repeated tell nothing of the noise of a subset that goes through all of them.
        """
        return max(math.ceil(min(self.n, self.n_rows)) - 2.0, 0.0)

    @property
    def log_null(self) -> float:
        """The evidence of the model without columns."""
        half = (self.n - 1) / 2
        return float(gammaln(half) - 0.5 * math.log(self.n) - half * math.log(math.pi * self.yy))

    def _score(self, k: Array, rest: Array, logdet: Array) -> Array:
        raise NotImplementedError

    def laws(self, k: int, rest: float) -> list[Law]:
        """The posterior of the coefficients in a subset: one law, or several with weights that sum to one."""
        return self.all_laws(np.array([k]), np.array([rest]))[0]

    def all_laws(self, k: NDArray[np.intp], rest: Array) -> list[list[Law]]:
        """The same for many subsets."""
        return [[self._law(size, left)] for size, left in zip(k.tolist(), rest.tolist(), strict=True)]

    def _law(self, k: int, rest: float) -> Law:
        raise NotImplementedError

    def formula(self, d: int, *, rest: float = FLOOR) -> Formula:
        """For compiled code; no subset leaves less of the target than `rest`."""
        sizes = np.arange(d + 1.0)
        slope, shift, factor, volume, shrink = self._line()
        # The formula at rest = 1 and logdet = 0, less what the compiled code adds there.
        known = np.minimum(sizes, self.most)
        start = self._score(known, np.ones(d + 1), np.zeros(d + 1))
        start = start - (slope if self.form == LINEAR else slope * math.log(shift + factor) if self.form == LOG else 0)
        if self.form in (LOCAL, TABLE):
            start = np.full(d + 1, self.log_null)
        base = np.where(sizes > self.most, -np.inf, start)
        numbers = np.array([slope, shift, factor, volume, self.n, shrink])
        return Formula(self.form, base, self._widths(known), numbers, self._table(known, rest))

    def _line(self) -> tuple[float, float, float, float, float]:
        """slope, shift, factor, volume and shrinkage of slope·ln(shift + factor·rest) + volume·logdet."""
        return 0.0, 0.0, 0.0, 0.0, 1.0

    def _widths(self, k: Array) -> Array:
        """The noise's predictive variance for each size, where a subset leaves all of the target."""
        return np.full(len(k), self.yy / (self.n - 1) * t_variance(max(self.n - 1, LEAST_DF)))

    def _table(self, k: Array, rest: float) -> Array:
        return np.zeros((3, 1, 1, 6))

    def _conjugate(self, rest: float, lost: float, weight: float = 1.0) -> Law:
        """With σ² integrated: n−1 degrees of freedom, and 1 − sR² of the target's square (Liang et al. 2008).

        `lost` is 1 − s, which keeps its digits where s is next to one, as it is in a close fit.
        """
        noise = self.yy * (lost + (1.0 - lost) * rest) / (self.n - 1)
        return Law(weight, 1.0 - lost, max(self.n - 1, LEAST_DF), noise)


@dataclass(frozen=True)
class Bic(Slab):
    """The Bayesian information criterion as evidence: BF ≈ exp((BIC₀ − BIC)/2) = rest^(−n/2) n^(−k/2).

    (Schwarz 1978; Kass & Raftery 1995, eq. 9.) Given a subset, coefficients have the Student-t law of least squares.
    """

    method: ClassVar[str] = "bic"

    def criterion(self, k: ArrayLike, rest: ArrayLike) -> Array:
        """BIC = −2 ln p(y | γ, best fit) + (k+2) ln n, with the intercept and σ² counted."""
        fit = self.n * (math.log(2 * math.pi * self.yy / self.n) + 1.0 + np.log(np.maximum(rest, FLOOR)))
        return np.asarray(fit + (np.asarray(k) + 2.0) * math.log(self.n))

    def _score(self, k: Array, rest: Array, logdet: Array) -> Array:
        return self.log_null - 0.5 * self.n * np.log(rest) - 0.5 * k * math.log(self.n)

    def _line(self) -> tuple[float, float, float, float, float]:
        return -0.5 * self.n, 0.0, 1.0, 0.0, 1.0

    def _widths(self, k: Array) -> Array:
        df = self.n - 1 - k
        return self.yy / df * t_variance(np.maximum(df, LEAST_DF))

    def _law(self, k: int, rest: float) -> Law:
        df = self.n - 1 - k
        return Law(1.0, 1.0, max(df, LEAST_DF), self.yy * rest / df)


@dataclass(frozen=True)
class G(Slab):
    """Zellner's prior: β | σ² ~ N(0, g σ² (XᵀX)⁻¹).

    BF = (1+g)^((n−1−k)/2) (1 + g(1−R²))^(−(n−1)/2)        (Liang et al. 2008, eq. 6)
    """

    g: float

    def _score(self, k: Array, rest: Array, logdet: Array) -> Array:
        factor = 0.5 * (self.n - 1 - k) * math.log1p(self.g) - 0.5 * (self.n - 1) * np.log1p(self.g * rest)
        return self.log_null + factor

    def _line(self) -> tuple[float, float, float, float, float]:
        return -0.5 * (self.n - 1), 1.0, self.g, 0.0, self.g / (1.0 + self.g)

    def _law(self, k: int, rest: float) -> Law:
        return self._conjugate(rest, 1.0 / (1.0 + self.g) if k else 0.0)


@dataclass(frozen=True)
class LocalG(Slab):
    """Zellner's prior with the g that makes each subset likeliest: g = max(F − 1, 0) (Liang et al. 2008, eq. 9)."""

    @property
    def form(self) -> int:
        return LOCAL

    @property
    def base(self) -> str:
        return evidence_base(intercept=FLAT, noise=JEFFREYS, hyperparameters=MAXIMISED)

    def _g(self, k: Array, rest: Array) -> Array:
        f = (1.0 - rest) * (self.n - 1 - k) / (np.maximum(k, 1) * rest)
        return np.where(k > 0, np.maximum(f - 1.0, 0.0), 0.0)

    def _score(self, k: Array, rest: Array, logdet: Array) -> Array:
        g = self._g(k, rest)
        return self.log_null + 0.5 * (self.n - 1 - k) * np.log1p(g) - 0.5 * (self.n - 1) * np.log1p(g * rest)

    def _law(self, k: int, rest: float) -> Law:
        g = float(self._g(np.array(k), np.array(rest)))
        return self._conjugate(rest, 1.0 / (1.0 + g) if k else 0.0)


@dataclass(frozen=True)
class ZellnerSiow(Slab):
    """Zellner's prior with g ~ InvGamma(½, n/2), a Cauchy prior of the coefficients; integrated by quadrature."""

    @property
    def form(self) -> int:
        return TABLE

    def _score(self, k: Array, rest: Array, logdet: Array) -> Array:
        x = -np.log(np.minimum(rest, 1.0))
        factor = _zellner_siow.interpolate(self.n, np.asarray(k), x) + 0.5 * (self.n - 1) * x
        return self.log_null + np.where(k == 0, 0.0, factor)

    def _table(self, k: Array, rest: float) -> Array:
        reach = _zellner_siow.reach_of(-math.log(max(rest, FLOOR)))
        splines = [_zellner_siow.spline(self.n, int(size), reach) for size in k]
        return np.ascontiguousarray(np.stack(splines, axis=1))

    def all_laws(self, k: NDArray[np.intp], rest: Array) -> list[list[Law]]:
        lost, weights = _zellner_siow.rule(self.n, k, -np.log(np.clip(rest, FLOOR, 1.0)))
        return [
            [self._conjugate(left, u, w) for u, w in zip(nodes, shares, strict=True)]
            if size
            else [self._conjugate(left, 0.0)]
            for size, left, nodes, shares in zip(
                k.tolist(), rest.tolist(), lost.tolist(), weights.tolist(), strict=True
            )
        ]


@dataclass(frozen=True)
class Normal(Slab):
    """Independent normal coefficients: β ~ N(0, v I) with σ² known, or β | σ² ~ N(0, v σ² I) with σ² integrated.

    p(y | γ) ∝ |I + XᵀX v/σ²|^(−1/2) exp(q/2σ²),    or    |I + vXᵀX|^(−1/2) (yᵀy − q)^(−(n−1)/2)
    """

    variance: float
    noise: float | None

    @property
    def ridge(self) -> float:
        """σ²/v, or 1/v where v is in units of σ²."""
        return (self.noise or 1.0) / self.variance

    @property
    def form(self) -> int:
        return LOG if self.noise is None else LINEAR

    @property
    def base(self) -> str:
        return super().base if self.noise is None else evidence_base(intercept=FLAT)

    @property
    def most(self) -> float:
        """A proper prior bears any number of columns."""
        return math.inf

    @property
    def log_null(self) -> float:
        if self.noise is None:
            return super().log_null
        flat = 0.5 * math.log(self.n) + 0.5 * (self.n - 1) * math.log(2 * math.pi * self.noise)
        return -flat - 0.5 * self.yy / self.noise

    def _score(self, k: Array, rest: Array, logdet: Array) -> Array:
        volume = 0.5 * (k * math.log(self.ridge) - logdet)
        if self.noise is None:
            return self.log_null + volume - 0.5 * (self.n - 1) * np.log(rest)
        return self.log_null + volume + 0.5 * self.yy * (1.0 - rest) / self.noise

    def _line(self) -> tuple[float, float, float, float, float]:
        slope = -0.5 * (self.n - 1) if self.noise is None else -0.5 * self.yy / self.noise
        return slope, 0.0, 1.0, -0.5, 1.0

    def _widths(self, k: Array) -> Array:
        return super()._widths(k) if self.noise is None else np.full(len(k), self.noise)

    def _law(self, k: int, rest: float) -> Law:
        return self._conjugate(rest, 0.0) if self.noise is None else Law(1.0, 1.0, math.inf, self.noise)


def slab_arguments(name: Any, *, g: Any, slab_variance: Any, noise_variance: Any) -> dict[str, Any]:
    """An estimator's arguments as `slab_of` takes them; refuses those that don't go together."""
    if name != "g" and g is not None:
        raise ValueError(f'g is an argument of slab="g"; the slab is {name!r}')
    if name != "normal" and not (slab_variance is None and noise_variance is None):
        raise ValueError(f'slab_variance and noise_variance are arguments of slab="normal"; it is {name!r}')
    if slab_variance is None:
        slab_variance = 1.0 if noise_variance is None else noise_variance
    return {"name": name, "g": g, "slab_variance": slab_variance, "noise_variance": noise_variance}


def slab_of(
    name: Any, n: float, yy: float, d: int, *, g: Any = None, slab_variance: float = 1.0, noise_variance: Any = None,
    n_rows: float = math.inf
) -> Slab:  # fmt: skip
    """The slab that an estimator's arguments ask for.

    Parameters
    ----------
    name : {"bic", "g", "zellner-siow", "normal"}
    n, yy : the number of observations and the squared length of the centred target
    d : int
        The number of columns, for g = max(n, d²).
    g : None or "n", "max", "empirical", or a number
    slab_variance, noise_variance : for "normal"
    n_rows : the number of different rows, where the columns can reproduce the target

    Examples
    --------
    >>> slab = slab_of("g", 30, 12.0, 6)
    >>> slab.g
    30.0
    >>> (slab.log_evidence(2, 6.0) - slab.log_evidence(0, 0.0)).round(3)
    np.float64(6.156)
    """
    return replace(_slab(name, n, yy, d, g, slab_variance, noise_variance), n_rows=n_rows)


def _slab(name: Any, n: float, yy: float, d: int, g: Any, slab_variance: Any, noise_variance: Any) -> Slab:
    if name == "bic":
        return Bic(n, yy)
    if name == "zellner-siow":
        return ZellnerSiow(n, yy)
    if name == "normal":
        noise = None if noise_variance is None else positive("noise_variance", noise_variance)
        return Normal(n, yy, positive("slab_variance", slab_variance), noise)
    if name != "g":
        raise ValueError(f'slab must be one of "bic", "g", "zellner-siow", "normal"; got {name!r}')
    if g is None or isinstance(g, str):
        if g == "empirical":
            return LocalG(n, yy)
        if g not in (None, "n", "max"):
            raise ValueError(f'g must be "n", "max", "empirical" or a positive number; got {g!r}')
        return G(n, yy, float(max(n, d * d) if g == "max" else n))
    return G(n, yy, positive("g", g))
