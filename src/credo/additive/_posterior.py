"""The posterior of the coefficients of an additive model, a term on a grid, and monotone curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from credo.additive._learning import Layout
from credo.additive.terms import Block, Term, design
from credo.core.estimator import interval_level
from credo.core.fields import Axes, Finite, Positive
from credo.core.frames import frame
from credo.core.linalg import factorize

Array = NDArray[np.float64]

# Entries of the basis functions that are in memory at once in predictions, and draws for simultaneous bands.
_BLOCK_ENTRIES, _N_DRAWS = 2_000_000, 4000


@dataclass(frozen=True)
class AdditivePosterior:
    """The posterior of intercept and coefficients: normal, or Student-t with `df` degrees of freedom.

    With several latent values, `mean` and `covariance` hold the coefficients of one after those of the other. The basis
    functions are centered by `center`, so that every term has mean zero over the training rows.
    """

    blocks: tuple[Block, ...]
    center: Annotated[Array, Axes("P"), Finite]
    mean: Annotated[Array, Axes("q"), Finite]
    covariance: Annotated[Array, Axes("q q"), Finite]
    has_intercept: bool
    df: Annotated[float, Positive]

    def _sizes(self) -> dict[str, int]:
        p = sum(self.widths())
        return {"P": p, "q": self.n_latents * (p + self.has_intercept)}

    @property
    def terms(self) -> list[int]:
        """The term of each block."""
        return [block.term for block in self.blocks]

    @property
    def columns(self) -> list[int]:
        """The columns of the bases."""
        return [column for block in self.blocks for column in block.columns]

    @property
    def n_latents(self) -> int:
        """Latent values of each row."""
        return max(len(self.mean) // max(len(self.center) + self.has_intercept, 1), 1)

    def widths(self) -> list[int]:
        """The number of columns of each block."""
        return [block.width for block in self.blocks]

    def is_absent_at_zero(self) -> NDArray[np.bool_]:
        """Which columns are coefficients with flat priors or effects of levels, and not curves around their mean."""
        absent = [not block.shrunk or block.has_levels for block in self.blocks]
        return np.repeat(absent, self.widths()).astype(bool)

    def design(self, rows: Array) -> Array:
        """The centered basis functions, with a column of ones for an intercept first."""
        start = int(self.has_intercept)
        found = np.ones((len(rows), start + len(self.center)))
        design(self.blocks, rows, out=found[:, start:])
        found[:, start:] -= self.center
        return found

    def mean_of(self, rows: Array) -> Array:
        """Means (n, m) of the latent values."""
        weights = self.mean.reshape(self.n_latents, -1).T
        found = np.empty((len(rows), self.n_latents))
        for part in self._parts(rows):
            found[part] = self.design(rows[part]) @ weights
        return found

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Means (n, m) and covariances (n, m, m) of the latent values."""
        m, p = self.n_latents, len(self.mean) // max(self.n_latents, 1)
        weights = self.mean.reshape(m, p).T
        mean, cov = np.empty((len(rows), m)), np.empty((len(rows), m, m))
        for part in self._parts(rows):
            Z = self.design(rows[part])
            mean[part] = Z @ weights
            for a in range(m):
                for b in range(a + 1):
                    C = self.covariance[a * p : (a + 1) * p, b * p : (b + 1) * p]
                    cov[part, a, b] = cov[part, b, a] = np.einsum("ij,ij->i", Z @ C, Z)
        diagonal = np.einsum("naa->na", cov)
        np.maximum(diagonal, 0.0, out=diagonal)
        return mean, cov

    def _parts(self, rows: Array) -> list[slice]:
        step = max(200, _BLOCK_ENTRIES // max(len(self.center), 1))
        return [slice(start, start + step) for start in range(0, len(rows), step)]


@dataclass(frozen=True)
class TermCurve:
    """A term of a fitted model on a grid: a normal distribution of the function at all points at once.

    Attributes
    ----------
    label : the term
    kind : "smooth", "cycle", "linear", "factor", "random" or "pair"
    points : dict from column to the grid's values
    mean, std : arrays of shape (n_points,)
    unit : what the values are, such as "log odds of yes"; empty if they have the unit of y
    response : turns values of the term into the prediction with all other terms at their average; None if there is no
        single such number
    share : the term's share of the variance of the fitted function
    log_bayes_factor : that of keeping the term; NaN under a flat prior
    rug : quantiles of the training rows of a single numeric column

    Examples
    --------
    >>> import numpy as np
    >>> from credo import AdditiveRegressor
    >>> x = np.linspace(0.0, 1.0, 60)[:, None]
    >>> curve = AdditiveRegressor(family="gaussian").fit(x, np.sin(6 * x[:, 0]) + 0.01 * np.cos(90 * x[:, 0])).curve(0)
    >>> inner, outer = curve.interval(0.95), curve.band(0.95)
    >>> bool(np.all(outer[0] <= inner[0])), len(curve.mean)
    (True, 100)
    """

    label: str
    kind: str
    points: dict[str, NDArray[Any]]
    mean: Array
    covariance: Array
    df: float
    unit: str = ""
    response: Callable[[Array], Array] | None = None
    share: float = math.nan
    log_bayes_factor: float = math.nan
    rug: Array = field(default_factory=lambda: np.empty(0))

    @property
    def words(self) -> str:
        """The term in plain words."""
        first, *rest = self.points
        if self.kind == "random":
            return f"{first} (slope of {rest[0]})" if rest else f"{first} (random)"
        if self.kind == "pair":
            return f"{first} × {rest[0]}"
        return f"{first}{' (cycle)' * (self.kind == 'cycle')}{f' by {rest[0]}' if rest else ''}"

    @property
    def is_of_levels(self) -> bool:
        """Whether the points are a few levels, or two values, and no curve."""
        return len(self.points) == 1 and (self.kind in ("factor", "random") or len(self.mean) <= 2)

    @property
    def is_needed(self) -> bool:
        """Whether the evidence is for the term, or it has a flat prior."""
        return not self.log_bayes_factor <= 0

    @property
    def std(self) -> Array:
        """The standard deviation at each point."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """The interval at each point by itself."""
        from scipy.stats import norm, t  # noqa: PLC0415, scipy.stats takes long to import

        tail = 0.5 + 0.5 * interval_level(level)
        z = float(t.ppf(tail, self.df) if math.isfinite(self.df) else norm.ppf(tail))
        return self.mean - z * self.std, self.mean + z * self.std

    def band(self, level: float = 0.95) -> tuple[Array, Array]:
        """The band that contains the whole curve with the given probability, by simulation with a fixed seed."""
        rng, std = np.random.default_rng(0), self.std
        values, axes = np.linalg.eigh(self.covariance)
        draws = (axes * np.sqrt(np.maximum(values, 0.0))) @ rng.standard_normal((len(std), _N_DRAWS))
        if math.isfinite(self.df):
            draws *= np.sqrt(self.df / rng.chisquare(self.df, _N_DRAWS))
        largest = np.abs(draws[std > 0] / std[std > 0, None]).max(axis=0, initial=0.0)
        z = float(np.quantile(largest, interval_level(level)))
        return self.mean - z * std, self.mean + z * std

    def to_frame(self, level: float = 0.95, *, backend: str | None = None) -> Any:
        """The grid, the mean, and the ends of the interval and of the band."""
        (lower, upper), (band_lower, band_upper) = self.interval(level), self.band(level)
        columns = {"mean": self.mean, "std": self.std, "lower": lower, "upper": upper}
        bands = {"band_lower": band_lower, "band_upper": band_upper}
        return frame(self.points | columns | bands, backend=backend)


def basis_layout(blocks: Sequence[Block], widths: Sequence[int], squares: Array, *, intercept: bool) -> Layout:
    """To which block with a learned variance each column belongs."""
    numbers = np.where([block.shrunk for block in blocks], np.cumsum([block.shrunk for block in blocks]) - 1, -1)
    block = np.repeat(numbers, widths).astype(np.intp) if len(blocks) else np.empty(0, dtype=np.intp)
    return Layout.of(np.concatenate([[-1], block]) if intercept else block, squares)


def centered_basis(
    blocks: Sequence[Block], rows: Array, weight: Array, *, intercept: bool, center_levels: bool
) -> tuple[Array, Array]:
    """The basis functions less their means, behind a column of ones for an intercept; and these means.

    If an intercept is integrated out, centering changes nothing. If it is maximized, effects of levels must stay as
    they are: centered ones would have one degree of freedom less.
    """
    Z = design(blocks, rows)
    center = np.average(Z, axis=0, weights=weight)
    if not center_levels:
        levels = np.repeat([block.shrunk and block.has_levels for block in blocks], [block.width for block in blocks])
        center[levels.astype(bool)] = 0.0
    return np.hstack([np.ones((len(rows), int(intercept))), Z - center]), center


def monotone(posterior: AdditivePosterior, terms: Sequence[Term]) -> AdditivePosterior:
    """The posterior truncated to curves of the shapes that the terms demand, by its mean and covariance."""
    starts = np.concatenate([[0], np.cumsum(posterior.widths())]) + posterior.has_intercept
    mean, covariance = posterior.mean.copy(), posterior.covariance.copy()
    for k, term in enumerate(terms):
        mine = [i for i, block in enumerate(posterior.blocks) if block.term == k]
        if term.shape is None or len(mine) != 2:
            continue
        line, spline = (posterior.blocks[i].bases[0] for i in mine)
        rises = spline.increments()
        rises[:, 0] /= line.scale
        at = np.concatenate([[starts[mine[0]]], np.arange(starts[mine[1]], starts[mine[1] + 1])])
        A = (1.0 if term.shape == "increasing" else -1.0) * rises
        u_mean, u_cov = A @ mean[at], A @ covariance[np.ix_(at, at)] @ A.T
        scale = np.sqrt(np.diagonal(u_cov))
        found, spread = truncated_moments(u_mean / scale, u_cov / np.outer(scale, scale))
        gain = np.linalg.solve(u_cov, A @ covariance[at]).T
        mean += gain @ (scale * found - u_mean)
        covariance += gain @ (spread * np.outer(scale, scale) - u_cov) @ gain.T
    return replace(posterior, mean=mean, covariance=covariance)


def truncated_moments(mean: Array, covariance: Array, *, n_draws: int = 3000) -> tuple[Array, Array]:
    """Mean and covariance of N(mean, covariance) given that all entries are positive, by Gibbs sampling."""
    rng = np.random.default_rng(0)
    precision = factorize(covariance).inverse()
    std = 1.0 / np.sqrt(np.diagonal(precision))
    x = np.maximum(mean, 0.1)
    draws = np.empty((n_draws, len(mean)))
    uniforms = np.log(rng.random((n_draws + 200, len(mean))))
    for i, row in enumerate(uniforms):
        for j in range(len(x)):
            gap = precision[j] @ (x - mean) - precision[j, j] * (x[j] - mean[j])
            center = mean[j] - gap / precision[j, j]
            # A normal variable above zero: the upper tail is uniform.
            x[j] = max(center - std[j] * float(ndtri_exp(row[j] + log_ndtr(center / std[j]))), 1e-12)
        if i >= 200:
            draws[i - 200] = x
    return draws.mean(axis=0), np.cov(draws.T)
