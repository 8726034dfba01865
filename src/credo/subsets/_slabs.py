"""Priors of the coefficients in a model, each with the evidence that it gives to a subset.

A subset γ of k columns enters by two numbers, with X and y centred (and weighted):

    rest = 1 − bᵀA⁻¹b / yᵀy,    logdet = ln|A|,    A = XᵀX + ridge·I,    b = Xᵀy

The intercept has a flat prior and an unknown σ² the prior 1/σ². With them the model without columns has the evidence

    ∫∫ p(y | μ, σ²) dμ dσ²/σ² = Γ((n−1)/2) n^(−1/2) (π yᵀy)^(−(n−1)/2),

and a model's evidence is that times its Bayes factor, for which the BIC is an approximation. With σ² known it is
∫ p(y | μ) dμ. A slab gives the parameters of one formula; the formulas themselves are in `_slabs_jit`.
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
from credo.subsets import _slabs_jit, _zellner_siow
from credo.subsets._slabs_jit import FLOOR, LINEAR, LOCAL, LOG, TABLE, Formula

Array = NDArray[np.float64]

# Student-t distributions have at least as many degrees of freedom, so that their variance exists.
LEAST_DF = 3.0


@dataclass(frozen=True)
class CoefficientPosterior:
    """The posterior of a subset's coefficients, or a part of it: β ~ t_df(s·A⁻¹b, noise·s·A⁻¹).

    `shrink` is s, and `noise` the squared scale of the noise.
    """

    weight: float
    shrink: float
    df: float
    noise: float


@dataclass(frozen=True)
class Slab:
    """A prior of the coefficients of the columns in a model.

    Parameters
    ----------
    n : float
        The number of observations, or their total weight.
    yy : float
        The squared length of the centred target; positive.
    n_rows : float, default ∞
        The number of distinct rows, where that is smaller than n.
    """

    n: float
    yy: float
    n_rows: float = field(default=math.inf, kw_only=True)

    method: ClassVar[str] = "exact"
    form: ClassVar[int] = LOG

    @property
    def ridge(self) -> float:
        """What is added to the diagonal of XᵀX."""
        return 0.0

    @property
    def base(self) -> str:
        """What the evidence conditions on."""
        return evidence_base(intercept=FLAT, noise=JEFFREYS)

    @property
    def max_size(self) -> float:
        """The largest subset that has an evidence: one row is for the mean, one for the noise.

        Repeated rows say nothing about the noise of a subset that fits all of them.
        """
        return max(math.ceil(min(self.n, self.n_rows)) - 2.0, 0.0)

    @property
    def log_null(self) -> float:
        """The log evidence of the model without columns."""
        half = (self.n - 1) / 2
        return float(gammaln(half) - 0.5 * math.log(self.n) - half * math.log(math.pi * self.yy))

    def score(self, k: ArrayLike, rest: ArrayLike, logdet: ArrayLike = 0.0) -> Array:
        """ln p(y | γ) of subsets of k columns that leave a share `rest` of yᵀy; −∞ for too many columns."""
        k, rest, logdet = np.broadcast_arrays(np.asarray(k, dtype=np.int64), np.asarray(rest, dtype=np.float64), logdet)
        out = np.empty(k.size)
        if k.size:
            formula = self.formula(int(k.max()), rest=float(rest.min()))
            _slabs_jit.log_evidences(formula, k.ravel(), rest.ravel(), logdet.ravel().astype(np.float64), out)
        return out.reshape(k.shape)

    def formula(self, d: int, *, rest: float = FLOOR) -> Formula:
        """For compiled code: subsets of up to d columns that leave at least `rest` of the target."""
        sizes = np.arange(d + 1.0)
        known = np.minimum(sizes, self.max_size)
        base = np.where(sizes > self.max_size, -np.inf, self.log_null + self._constant(known))
        slope, shift, factor, volume, lost = map(float, self._numbers())
        df, scale = self._noise(known)
        width = scale * t_variance(df)
        return Formula(
            self.form, base, width, slope, shift, factor, volume, lost, float(self.n), self._table(known, rest)
        )  # fmt: skip

    def posteriors(self, k: ArrayLike, rest: ArrayLike) -> list[list[CoefficientPosterior]]:
        """For each subset the posterior of its coefficients: one distribution, or a mixture of several."""
        sizes, shares = np.atleast_1d(k).astype(np.int64), np.atleast_1d(rest).astype(np.float64)
        df, scale = self._noise(sizes.astype(np.float64))
        formula = self.formula(int(sizes.max(initial=0)), rest=float(shares.min(initial=1.0)))
        out = []
        for i, (size, left) in enumerate(zip(sizes.tolist(), shares.tolist(), strict=True)):
            lost = _slabs_jit.shrinkage(formula, size, left)[0]
            noise = scale[i] * (1.0 if self.form == LINEAR else lost + (1.0 - lost) * left)
            out.append([CoefficientPosterior(1.0, 1.0 - lost, float(df[i]), float(noise))])
        return out

    def _constant(self, k: Array) -> Array:
        """The log Bayes factor less the parts that depend on `rest` and `logdet`."""
        return np.zeros_like(k)

    def _numbers(self) -> tuple[float, float, float, float, float]:
        """slope, shift, factor, volume and 1 − s of the formula."""
        return 0.0, 0.0, 0.0, 0.0, 0.0

    def _noise(self, k: Array) -> tuple[Array, Array]:
        """Degrees of freedom, and the squared scale of the noise at R² = 0."""
        return np.full(len(k), max(self.n - 1, LEAST_DF)), np.full(len(k), self.yy / (self.n - 1))

    def _table(self, k: Array, rest: float) -> Array:
        return np.zeros((3, 1, 1, 6))


@dataclass(frozen=True)
class Bic(Slab):
    """The Bayesian information criterion as evidence: BF ≈ exp((BIC₀ − BIC)/2) = rest^(−n/2) n^(−k/2).

    (Schwarz 1978; Kass & Raftery 1995, eq. 9.) Coefficients have the Student-t distribution of least squares.
    """

    method: ClassVar[str] = "bic"

    def criterion(self, k: ArrayLike, rest: ArrayLike) -> Array:
        """BIC = −2 ln p(y | γ, best fit) + (k+2) ln n, with the intercept and σ² counted."""
        fit = self.n * (math.log(2 * math.pi * self.yy / self.n) + 1.0 + np.log(np.maximum(rest, FLOOR)))
        return np.asarray(fit + (np.asarray(k) + 2.0) * math.log(self.n))

    def _constant(self, k: Array) -> Array:
        return -0.5 * k * math.log(self.n)

    def _numbers(self) -> tuple[float, float, float, float, float]:
        return -0.5 * self.n, 0.0, 1.0, 0.0, 0.0

    def _noise(self, k: Array) -> tuple[Array, Array]:
        df = self.n - 1 - k
        return np.maximum(df, LEAST_DF), self.yy / df


@dataclass(frozen=True)
class G(Slab):
    """Zellner's prior: β | σ² ~ N(0, g σ² (XᵀX)⁻¹).

    BF = (1+g)^((n−1−k)/2) (1 + g(1−R²))^(−(n−1)/2)        (Liang et al. 2008, eq. 6)
    """

    g: float

    def _constant(self, k: Array) -> Array:
        return 0.5 * (self.n - 1 - k) * math.log1p(self.g)

    def _numbers(self) -> tuple[float, float, float, float, float]:
        return -0.5 * (self.n - 1), 1.0, self.g, 0.0, 1.0 / (1.0 + self.g)


@dataclass(frozen=True)
class LocalG(Slab):
    """Zellner's prior with the g that maximizes the evidence of each subset."""

    form: ClassVar[int] = LOCAL

    @property
    def base(self) -> str:
        return evidence_base(intercept=FLAT, noise=JEFFREYS, hyperparameters=MAXIMISED)


@dataclass(frozen=True)
class ZellnerSiow(Slab):
    """Zellner's prior with g ~ InvGamma(½, n/2), a Cauchy prior of the coefficients; integrated by quadrature."""

    form: ClassVar[int] = TABLE

    def _table(self, k: Array, rest: float) -> Array:
        reach = _zellner_siow.reach_of(-math.log(max(rest, FLOOR)))
        return np.ascontiguousarray(np.stack([_zellner_siow.spline(self.n, int(size), reach) for size in k], axis=1))

    def posteriors(self, k: ArrayLike, rest: ArrayLike) -> list[list[CoefficientPosterior]]:
        sizes, shares = np.atleast_1d(k).astype(np.intp), np.clip(np.atleast_1d(rest), FLOOR, 1.0)
        lost, weights = _zellner_siow.rule(self.n, sizes, -np.log(shares))
        lost, weights = (
            np.where(sizes[:, None] == 0, 0.0, lost),
            np.where(sizes[:, None] == 0, [1.0, 0.0, 0.0], weights),
        )
        df, scale = max(self.n - 1, LEAST_DF), self.yy / (self.n - 1)
        noise = scale * (lost + (1.0 - lost) * shares[:, None])
        return [
            [CoefficientPosterior(w, 1.0 - u, df, s) for u, w, s in zip(*row, strict=True) if w > 0]
            for row in zip(lost.tolist(), weights.tolist(), noise.tolist(), strict=True)
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
    def form(self) -> int:  # type: ignore[override]
        return LOG if self.noise is None else LINEAR

    @property
    def base(self) -> str:
        return super().base if self.noise is None else evidence_base(intercept=FLAT)

    @property
    def max_size(self) -> float:
        """A proper prior allows any number of columns."""
        return math.inf

    @property
    def log_null(self) -> float:
        if self.noise is None:
            return super().log_null
        flat = 0.5 * math.log(self.n) + 0.5 * (self.n - 1) * math.log(2 * math.pi * self.noise)
        return -flat - 0.5 * self.yy / self.noise

    def _constant(self, k: Array) -> Array:
        fit = 0.0 if self.noise is None else 0.5 * self.yy / self.noise
        return 0.5 * k * math.log(self.ridge) + fit

    def _numbers(self) -> tuple[float, float, float, float, float]:
        slope = -0.5 * (self.n - 1) if self.noise is None else -0.5 * self.yy / self.noise
        return slope, 0.0, 1.0, -0.5, 0.0

    def _noise(self, k: Array) -> tuple[Array, Array]:
        return super()._noise(k) if self.noise is None else (np.full(len(k), math.inf), np.full(len(k), self.noise))


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
    """The slab that an estimator's arguments specify.

    Parameters
    ----------
    name : {"bic", "g", "zellner-siow", "normal"}
    n, yy : the number of observations and the squared length of the centred target
    d : int
        The number of columns, for g = max(n, d²).
    g : None or "n", "max", "empirical", or a number
    slab_variance, noise_variance : for "normal"
    n_rows : the number of distinct rows, where the columns can reproduce the target

    Examples
    --------
    >>> slab = slab_of("g", 30, 12.0, 6)
    >>> slab.g
    30.0
    >>> (slab.score(2, 0.5) - slab.score(0, 1.0)).round(3)
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
    if g is not None and not isinstance(g, str):
        return G(n, yy, positive("g", g))
    if g == "empirical":
        return LocalG(n, yy)
    if g not in (None, "n", "max"):
        raise ValueError(f'g must be "n", "max", "empirical" or a positive number; got {g!r}')
    return G(n, yy, float(max(n, d * d) if g == "max" else n))
