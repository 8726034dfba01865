"""The Bernoulli likelihood, and class probabilities averaged over normally distributed log odds.

    p(y = 1) = ∫ σ(a) N(a | m, v) da                two classes
    p(y = k) = ∫ softmax_k(Cf) N(f | m, Σ) df       more

The average is closer to ½ than σ(m): uncertainty about the coefficients makes probabilities less extreme ("moderation",
MacKay 1992). For two classes the integral is accurate to rounding error; for more, it is a mean over fixed quasi-random
points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr, ndtr, ndtri, softmax
from scipy.stats import qmc

from credo.likelihoods._likelihood import Likelihood

Array = NDArray[np.float64]

# The trapezoidal rule converges exponentially on the whole line: over the normal distribution for variances up to this,
# because σ has poles at distance π/√v; for larger ones over the logistic density, whose poles are at ±iπ.
_MAX_NORMAL_VARIANCE = 2.0
_NORMAL_STEP, _LOGISTIC_STEP = 0.35, 0.55
# Entries of a block of rows × nodes, or rows × classes × nodes.
_BLOCK_ENTRIES = 200_000

_NORMAL = _NORMAL_STEP * np.arange(-26, 27)
_NORMAL_WEIGHTS = _NORMAL_STEP * np.exp(-0.5 * _NORMAL**2) / np.sqrt(2 * np.pi)
_LOGISTIC = _LOGISTIC_STEP * np.arange(-68, 69)
_LOGISTIC_WEIGHTS = _LOGISTIC_STEP * expit(_LOGISTIC) * expit(-_LOGISTIC)
_LOGISTIC_WEIGHTS /= _LOGISTIC_WEIGHTS.sum()

# σ(a) ≈ Σ pᵢ Φ(sᵢa) to 2·10⁻⁹ (Monahan & Stefanski 1989, with eight terms), of which a Gaussian average is known:
# E Φ(sa) = Φ(sm/√(1 + s²v)) for a ~ N(m, v).
_SHARES = np.array(
    [0.003246343272134, 0.051517477033972, 0.195077912673858, 0.315569823632818,
     0.274149576158423, 0.131076880695470, 0.027912418727972, 0.001449567805354]
)  # fmt: skip
_SLOPES = np.array(
    [1.365340806296348, 1.059523971016916, 0.830791313765644, 0.650732166639391,
     0.508135425366489, 0.396313345166341, 0.308904252267995, 0.238212616409306]
)  # fmt: skip


def expected_sigmoid(mean: Array, var: Array) -> Array:
    """E σ(a) for a ~ N(mean, var), to about 10⁻¹³; the probabilities of both classes, shape (n, 2).

    The smaller of the two is integrated, so that it keeps its relative accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import expected_sigmoid
    >>> expected_sigmoid(np.array([0.0, 2.0]), np.array([5.0, 0.0]))[:, 1].round(6)
    array([0.5     , 0.880797])
    """
    low = -np.abs(mean)
    # σ(a) = eᵃ σ(−a), and eᵃ moves the normal distribution by v: far out, the integral is a known size times nearly
    # one.
    far = low + var < 0
    tail = _integral(np.where(far, low + var, low), var)
    tail = np.where(far, np.exp(np.minimum(low + 0.5 * var, 0.0)) * (1.0 - tail), tail)
    return _both(tail, mean)


def expected_sigmoid_fast(mean: Array, var: Array) -> Array:
    """E σ(a) for a ~ N(mean, var), of the second class alone, to 2·10⁻⁹: for sums over hundreds of models.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import expected_sigmoid_fast
    >>> expected_sigmoid_fast(np.array([0.0, 2.0]), np.array([5.0, 0.0])).round(6)
    array([0.5     , 0.880797])
    """
    scaled = _SLOPES * mean[:, None] / np.sqrt(1.0 + _SLOPES**2 * var[:, None])
    return ndtr(scaled) @ _SHARES


def expected_log_loss(mean: Array, var: Array) -> tuple[Array, Array, Array]:
    """E ln(1 + eᵃ) for a ~ N(mean, var) and its derivatives by the mean, E σ(a) and E σ(a)(1 − σ(a)), to 10⁻⁸."""
    width = np.sqrt(1.0 + _SLOPES**2 * var[:, None])
    scaled = _SLOPES * mean[:, None] / width
    below, density = ndtr(scaled), np.exp(-0.5 * scaled**2) / np.sqrt(2 * np.pi)
    value = (mean[:, None] * below + width / _SLOPES * density) @ _SHARES
    return value, below @ _SHARES, (_SLOPES / width * density) @ _SHARES


def expected_log_softmax(nodes: Array, mean: Array, root: Array, contrasts: Array, codes: NDArray[np.intp]) -> Array:
    """E ln p of the labels over stored points, as `expected_softmax`."""
    logs, start = np.empty(len(mean)), 0
    for draws in _softmax_draws(nodes, mean, root, contrasts):
        part = slice(start, start + draws.shape[1])
        label = draws[codes[part], np.arange(draws.shape[1])]
        logs[part] = np.log(np.maximum(label, np.finfo(np.float64).tiny)).mean(axis=1)
        start = part.stop
    return logs


def probit(mean: Array, var: Array) -> Array:
    """σ(m/√(1 + πv/8)), the average under a probit of equal slope (MacKay 1992; Bishop 4.153); shape (n, 2)."""
    return _both(expit(-np.abs(mean) / np.sqrt(1.0 + np.pi * var / 8.0)), mean)


def plugin(mean: Array) -> Array:
    """σ(m), as if the log odds were known; shape (n, 2)."""
    return _both(expit(-np.abs(mean)), mean)


def expected_sigmoid_over(nodes: Array, mean: Array, std: Array) -> Array:
    """The mean of σ(m + s·z) over stored draws z of a standard normal; shape (n, 2)."""
    probs = np.empty(len(mean))
    step = max(1, _BLOCK_ENTRIES // len(nodes))
    for start in range(0, len(mean), step):
        part = slice(start, start + step)
        probs[part] = expit(mean[part, None] + std[part, None] * nodes).mean(axis=1)
    return np.column_stack([1.0 - probs, probs])


def interval(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Ends of the central interval of σ(a) and of 1 − σ(a) from those of a: σ is monotone."""
    return tuple(np.column_stack([expit(-far), expit(near)]) for near, far in ((lower, upper), (upper, lower)))  # type: ignore[return-value]


def softmax_probit(mean: Array, cov: Array) -> Array:
    """One over Σⱼ exp(−(mₖ − mⱼ)/√(1 + πvₖⱼ/8)) with vₖⱼ the variance of the difference, normalized.

    MacKay's formula for every pair of classes (Lu, Ie & Sha 2020, "mf2"); for two classes it is MacKay's own.
    Logits come as `mean` (n, K) and `cov` (n, K, K).
    """
    var = np.einsum("nkk->nk", cov)
    spread = np.maximum(var[:, :, None] + var[:, None, :] - 2.0 * cov, 0.0)
    gap = (mean[:, None, :] - mean[:, :, None]) / np.sqrt(1.0 + np.pi * spread / 8.0)
    # −ln Σⱼ exp(gap), with the largest taken out.
    largest = gap.max(axis=2)
    return softmax(-largest - np.log(np.exp(gap - largest[:, :, None]).sum(axis=2)), axis=1)


def expected_softmax(nodes: Array, mean: Array, root: Array, contrasts: Array) -> Array:
    """The mean of softmax(C(m + Lz)) over stored points z of a standard normal distribution; shape (n, K).

    `root` holds a root L of each row's covariance LLᵀ, shape (n, m, m).
    """
    return np.concatenate([draws.mean(axis=2).T for draws in _softmax_draws(nodes, mean, root, contrasts)])


def softmax_interval(
    nodes: list[Array], mean: Array, root: Array, contrasts: Array, level: float
) -> tuple[Array, Array]:  # fmt: skip
    """Ends of the central interval of each class's probability over the stored points.

    `nodes` has the points of each Gaussian of a mixture, with `mean` (c, n, m) and `root` (c, n, m, m).
    """
    tails = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
    ends = []
    for row in range(mean.shape[1]):
        here = zip(nodes, mean[:, row : row + 1], root[:, row : row + 1], strict=True)
        draws = [draw[:, 0] for z, m, L in here for draw in _softmax_draws(z, m, L, contrasts)]
        ends.append(np.quantile(np.concatenate(draws, axis=1), tails, axis=1))
    lower, upper = np.stack(ends, axis=1)
    return lower, upper


def normal_points(n_dims: int, *, log2: int = 12) -> Array:
    """2^log2 points that fill a standard normal distribution evenly, in pairs of opposite sign: shape (2^log2, n_dims).

    Half of them are Sobol' points, scrambled with a fixed seed and mapped by the normal quantile function.
    """
    cube = qmc.Sobol(n_dims, scramble=True, rng=np.random.default_rng(20)).random_base2(log2 - 1)
    half = ndtri(np.clip(cube, 1e-12, 1.0 - 1e-12))
    return np.stack([half, -half], axis=1).reshape(-1, n_dims)


def _softmax_draws(nodes: Array, mean: Array, root: Array, contrasts: Array) -> Iterator[Array]:
    """Class probabilities at every stored point, (K, n, n_nodes), block by block of rows."""
    level = contrasts @ mean.T
    slope = np.moveaxis(contrasts @ root, 1, 0)
    step = max(1, _BLOCK_ENTRIES // (max(len(nodes), 1) * len(contrasts)))
    for start in range(0, len(mean), step):
        part = slice(start, start + step)
        logits = slope[:, part] @ nodes.T
        logits += level[:, part, None]
        logits -= logits.max(axis=0)
        probs = np.exp(logits, out=logits)
        probs /= probs.sum(axis=0)
        yield probs


def _integral(mean: Array, var: Array) -> Array:
    total = np.empty_like(mean)
    narrow = var <= _MAX_NORMAL_VARIANCE
    step = _BLOCK_ENTRIES // len(_LOGISTIC)
    for rows in (np.flatnonzero(narrow), np.flatnonzero(~narrow)):
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            m, s = mean[part, None], np.sqrt(var[part, None])
            if narrow[part[0]]:
                total[part] = expit(m + s * _NORMAL) @ _NORMAL_WEIGHTS
            else:
                # σ is the distribution function of the logistic distribution: E σ(a) = E Φ((m − t)/√v), t logistic.
                total[part] = ndtr((m - _LOGISTIC) / s) @ _LOGISTIC_WEIGHTS
    return total


def _both(tail: Array, mean: Array) -> Array:
    """Columns for both classes from the smaller probability."""
    tail = np.minimum(tail, 0.5)
    return np.where((mean < 0)[:, None], np.column_stack([1.0 - tail, tail]), np.column_stack([tail, 1.0 - tail]))


_ROOT_HALF = np.sqrt(0.5)
# The trapezoidal rule for normal distributions up to these standard deviations. Singularities of ln s have a distance
# of 2.8 or more from the real line, so that steps of 0.65 make an error of e^(−2π·2.8/0.65).
_RULES = [
    (width, steps, np.exp(-0.5 * steps**2) / np.exp(-0.5 * steps**2).sum())
    for width, steps in ((1.0, 0.65 * np.arange(-13, 14)), (3.0, 0.65 / 3 * np.arange(-39, 40)))
]
_ROOT_TWO_OVER_PI = np.sqrt(2.0 / np.pi)


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """p(y = ±1 | f) = s(y·f) with s the logistic function ("logit") or the normal distribution function ("probit").

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Bernoulli
    >>> Bernoulli("probit").probability(np.array([0.0]), np.array([3.0]))
    array([0.5])
    """

    link: str = "probit"

    _breakpoints: ClassVar[Array] = np.array([-40.0, -20.0, -10.0, -4.0, 0.0, 4.0, 10.0, 20.0, 40.0])

    def __post_init__(self) -> None:
        if self.link not in ("logit", "probit"):
            raise ValueError(f'link must be "logit" or "probit"; got {self.link!r}')

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln s(y·f)."""
        z = y * f
        return log_ndtr(z) if self.link == "probit" else -np.logaddexp(0.0, -z)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """With respect to f (Rasmussen & Williams 3.15, 3.16), and the third derivative."""
        z = y * f
        if self.link == "logit":
            up, down = expit(z), expit(-z)
            second = -up * down
            return y * down, second, y * second * (down - up)
        r = _hazard(z)
        return y * r, -r * (z + r), y * r * ((z + r) * (z + 2.0 * r) - 1.0)

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """In closed form for the probit (Rasmussen & Williams 3.80–3.82), by quadrature for the logit."""
        if self.link == "logit":
            return super().tilted(y, mean, var)
        width = 1.0 + var
        z = y * mean / np.sqrt(width)
        r = _hazard(z)
        return log_ndtr(z), y * r / np.sqrt(width), -r * (z + r) / width

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """By the trapezoidal rule if its steps resolve the curvature of ln s; to eleven digits."""
        y, mean, var = np.broadcast_arrays(y, mean, var)
        found, left = np.empty((3, *y.shape)), np.ones(y.shape, dtype=bool)
        for width, steps, weights in _RULES:
            rows = left & (var <= width**2)
            f = mean[rows] + np.sqrt(var[rows]) * steps[:, None]
            first, second, _ = self.derivatives(y[rows], f)
            found[:, rows] = weights @ self.log_prob(y[rows], f), weights @ first, 0.5 * (weights @ second)
            left &= ~rows
        if left.any():
            found[:, left] = super().expected(y[left], mean[left], var[left])
        return found[0], found[1], found[2]

    def log_odds(self, mean: Array, var: Array) -> Array:
        """ln P(y = +1) − ln P(y = −1) for f ~ N(mean, var), accurate in both tails."""
        if self.link == "probit":
            z = mean / np.sqrt(1.0 + var)
            return log_ndtr(z) - log_ndtr(-z)
        # A variance of zero is a latent value that is known.
        width, ones = np.maximum(var, 1e-12), np.ones_like(mean)
        return self.tilted(ones, mean, width)[0] - self.tilted(-ones, mean, width)[0]

    def probability(self, mean: Array, var: Array) -> Array:
        """P(y = +1) for f ~ N(mean, var)."""
        return ndtr(mean / np.sqrt(1.0 + var)) if self.link == "probit" else expected_sigmoid(mean, var)[:, 1]


def _hazard(z: Array) -> Array:
    """N(z)/Φ(z), which grows like −z on the left, where both underflow."""
    return _ROOT_TWO_OVER_PI / erfcx(-z * _ROOT_HALF)
