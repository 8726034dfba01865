"""The posterior of the coefficients of a linear model, in the singular basis of the data; ridge penalties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import Result, is_sparse, nonnegative
from credo.core.fields import Axes, Inner, NonNegative, Probabilities
from credo.core.learning.spectrum import Spectrum
from credo.core.linalg import EPS
from credo.distributions import Distribution, Mixture, Normal, StudentT, t_variance

Array = NDArray[np.float64]


def penalties(alphas: ArrayLike | None, default: Array) -> Array:
    """The candidates for α, largest first: those given, or the default ones.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import penalties
    >>> penalties([0.1, 10.0], np.ones(1))
    array([10. ,  0.1])
    """
    if alphas is None:
        return default
    values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"alphas must be one or more finite numbers, not negative; got {alphas!r}")
    return np.sort(values)[::-1]


@dataclass(frozen=True)
class Penalty:
    """A penalty α, how it was chosen, and the path of leave-one-out errors if it was chosen by them."""

    alpha: float
    result: Result
    alphas: Array | None = None
    errors: Array | None = None

    @classmethod
    def chosen(
        cls,
        alpha: Any,
        alphas: ArrayLike | None,
        default: Array,
        loo_errors: Callable[[Array], Array],
        *,
        advice: str,
    ) -> Penalty:
        """The given α, or with "loo" the candidate of the smallest error; `advice` is for the largest candidate.

        Examples
        --------
        >>> import numpy as np
        >>> from credo.core.learning import Penalty
        >>> errors = lambda alphas: (np.log10(alphas) - 0.1) ** 2
        >>> Penalty.chosen("loo", [10.0, 1.0, 0.1], np.ones(1), errors, advice="try larger ones").alpha
        1.0
        """
        if not isinstance(alpha, str):
            return cls(nonnegative("alpha", alpha), Result(True, 1, "solved directly"))
        if alpha != "loo":
            raise ValueError(f'alpha must be a number or "loo"; got {alpha!r}')
        candidates = penalties(alphas, default)
        errors = loo_errors(candidates)
        best = int(np.argmin(errors))
        message = "alpha selected by leave-one-out cross-validation"
        if len(candidates) > 1 and best == 0:
            message = f"the largest alpha was selected: try larger values; {advice}"
        elif len(candidates) > 1 and best == len(candidates) - 1:
            message = "the smallest alpha was selected: hardly any penalty is needed"
        return cls(float(candidates[best]), Result(True, len(candidates), message), candidates, errors)


def loo_squares(
    U: Array, q: Array, eigenvalues: Array, alphas: Array, *, residual: Array, gap: Array, weight: Array
) -> Array:
    """The weighted sum of squared leave-one-out errors at each α, over rows with coordinates U in the eigenbasis.

        e/(1 − h),    e = e₀ + U (α/(λ + α) q),    1 − h = 1 − h₀ + U² α/(λ + α)

    with residuals e₀ (`residual`) and 1 − h₀ (`gap`) of least squares: the smoother is linear, and its penalty doesn't
    involve y. A row of weight k stands for k rows, of which one is left out; one of weight below 1 is left out as a
    whole.
    """
    total = eigenvalues[:, None] + alphas
    slack = np.divide(np.broadcast_to(alphas, total.shape), total, out=np.ones_like(total), where=total > 0)
    errors = residual[:, None] + U @ (slack * q[:, None])
    gaps = gap[:, None] + np.minimum(weight, 1.0)[:, None] * ((U * U) @ slack)
    # With a leverage of one, the other rows don't determine the prediction at this row.
    errors = np.divide(errors, gaps, out=np.full_like(gaps, np.inf), where=gaps > 1e-12)
    return weight @ errors**2


def residual_noise(shrinkage: Array, q: Array, *, free: float, rss: float = 0.0) -> tuple[float, float]:
    """σ² = RSS/(ν − γ) and its degrees of freedom, for residuals `shrinkage`·q along the directions of the data.

    `free` observations beyond the number of directions have residuals of sum of squares `rss`. The estimate is unbiased
    if the prior holds (Bishop 3.95); its degrees of freedom are Satterthwaite's for the weighted sum of squares that
    the residuals are.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import residual_noise
    >>> variance, df = residual_noise(np.array([0.0, 0.0]), np.array([9.0, 1.0]), free=10.0, rss=5.0)  # least squares
    >>> variance, df
    (0.5, 10.0)
    """
    left = free + float(shrinkage.sum())
    if not left > 0:
        return np.nan, 0.0
    # In units of the largest, because squares may underflow.
    unit = 1.0 if free > 0 else float(shrinkage.max())
    noise = ((rss if free > 0 else 0.0) + float(((shrinkage * q) ** 2).sum())) / left
    return noise, (left / unit) ** 2 / (free + float(((shrinkage / unit) ** 2).sum()))


@dataclass(frozen=True)
class Posterior:
    """The posterior of weights and intercept: a mixture of normals or Student-t, mostly of a single one.

    Component k has the location coef + V shiftsₖ and the covariance (with finite `df`, the matrix of squared scales)

        Sₖ = V diag(vₖ) Vᵀ + v₀ₖ (I − VVᵀ)

    Only `coef_cov` forms a p×p matrix; variances, predictions and draws use V.

    `variances` are those along the columns of V, `null_variances` those of every direction outside the span of the
    rows, `level_variances` those of f at the mean of the inputs, `noise_variances` those of an observation: one row or
    entry for each component, with the probabilities `weights`. `coef` is the mean of the mixture.
    """

    spectrum: Annotated[Spectrum, Inner(d="d", R="R")]
    coef: Annotated[Array, Axes("d")]
    weights: Annotated[Array, Axes("k"), Probabilities]
    shifts: Annotated[Array, Axes("k R")]
    variances: Annotated[Array, Axes("k R"), NonNegative]
    null_variances: Annotated[Array, Axes("k"), NonNegative]
    level_variances: Annotated[Array, Axes("k"), NonNegative]
    noise_variances: Annotated[Array, Axes("k"), NonNegative]
    df: float = np.inf

    @classmethod
    def of_ratios(
        cls,
        data: Spectrum,
        ratios: Array,
        weights: Array,
        noise_variances: Array,
        *,
        df: float = np.inf,
        prior_mean: Array | float = 0.0,
    ) -> Self:
        """The posterior of w ~ N(m₀, (σ²/ρ) I) given each ratio ρ of noise to prior variance, and the noise variance.

        A ratio of zero is a flat prior; the directions that it leaves undetermined count as known.
        """
        mean = np.broadcast_to(prior_mean, data.x_mean.shape)
        shrunk = 1.0 / (ratios[:, None] + data.s**2)
        places = shrunk * (data.s * (data.q - data.s * (data.V.T @ mean)))
        center = weights @ places
        with np.errstate(divide="ignore"):
            null = np.where(ratios > 0, noise_variances / ratios, 0.0)
        return cls(
            spectrum=data,
            coef=mean + data.V @ center,
            weights=weights,
            shifts=places - center,
            variances=noise_variances[:, None] * shrunk,
            null_variances=null,
            level_variances=noise_variances / data.weight if data.centered else np.zeros(len(weights)),
            noise_variances=noise_variances,
            df=df,
        )

    @classmethod
    def of_penalty(cls, data: Spectrum, alpha: float) -> Self:
        """The posterior at a fixed ratio α of noise to prior variance, with σ² from the residuals."""
        square = data.s**2
        shrinkage = alpha / (square + alpha)  # 1 − hᵢ along each direction
        noise, dof = residual_noise(shrinkage, data.q, free=max(data.dof - len(square), 0.0), rss=data.rss)
        return cls.of_ratios(data, np.array([alpha]), np.ones(1), np.array([noise]), df=dof)

    @property
    def intercept(self) -> float:
        """The value of f at x = 0."""
        return self.spectrum.y_mean - float(self.spectrum.x_mean @ self.coef)

    @property
    def noise_variance(self) -> float:
        """The mean of the components' noise variances (squared scales, if `df` is finite)."""
        return float(self.weights @ self.noise_variances)

    def mean(self, X: Any) -> Array:
        """E f(x) at each row."""
        if is_sparse(X):
            return np.asarray(X @ self.coef) + self.intercept
        # About the mean of the inputs, because b + wᵀx would lose digits to a large offset.
        return (X - self.spectrum.x_mean) @ self.coef + self.spectrum.y_mean

    def parameters(self) -> tuple[Array, Array]:
        """Locations and squared scales of intercept and weights in each component, each of shape (k, 1 + d)."""
        V = self.spectrum.V
        origin = np.zeros((1, len(self.coef)))
        level_shift, level_square = self._components(origin)
        # Without a second array of the size of V.
        square = np.einsum("kj,ij,ij->ki", self.variances, V, V)
        if not self.spectrum.spans_all:
            outside = 1.0 - np.einsum("ij,ij->i", V, V)
            # Multiplied by a wide prior, the rounding error of a column inside the span would exceed its variance.
            outside[outside <= 8 * EPS * V.shape[1]] = 0.0
            square += self.null_variances[:, None] * outside
        if not self.spectrum.centered:
            level_shift, level_square = np.zeros_like(level_shift), np.zeros_like(level_square)
        places = np.hstack([self.intercept + level_shift, self.coef + self.shifts @ V.T])
        return places, np.hstack([level_square, square])

    def std(self) -> tuple[Array, float]:
        """Standard deviations of the weights and of the intercept; a scale of zero stays zero at any df."""
        places, square = self.parameters()
        between = self.weights @ (places - np.append(self.intercept, self.coef)) ** 2
        within = self.weights @ square
        used = within != 0
        found = np.sqrt(np.where(used, np.where(used, within, 1.0) * t_variance(self.df), 0.0) + between)
        return found[1:], float(found[0])

    def marginals(self, *, intercept: bool) -> Distribution:
        """The distributions of the intercept, if asked for, and of each weight."""
        places, square = self.parameters()
        first = 0 if intercept else 1
        return self._mixture(places[:, first:], np.sqrt(square[:, first:]))

    def coef_cov(self) -> Array:
        """Covariance of the weights as a p×p matrix."""
        V = self.spectrum.V
        # A sum of squares, not a difference from the prior's variance, which can be larger by many orders of magnitude.
        half = V * np.sqrt(self.weights @ self.variances)
        S = half @ half.T
        null = float(self.weights @ self.null_variances)
        if not self.spectrum.spans_all and null:
            off = np.eye(len(V)) - V @ V.T
            S += null * (off.T @ off)
        between = V @ (np.sqrt(self.weights)[:, None] * self.shifts).T
        return S * t_variance(self.df) + between @ between.T

    def latent_covariance(self, X: Any, *, outside: Array | None = None) -> Array:
        """Covariance of f between rows; `outside` has the inner products of their parts outside the span, if known."""
        inside = self.spectrum.coordinates(X)
        cov = (inside * (self.weights @ self.variances)) @ inside.T
        null = float(self.weights @ self.null_variances)
        if not self.spectrum.spans_all and null:
            if outside is None:
                rows = X.toarray() if is_sparse(X) else X
                off = rows - self.spectrum.x_mean - inside @ self.spectrum.V.T
                outside = off @ off.T
            cov += null * outside
        between = inside @ (np.sqrt(self.weights)[:, None] * self.shifts).T
        return (cov + float(self.weights @ self.level_variances)) * t_variance(self.df) + between @ between.T

    def covariance(self, X: Any) -> Array:
        """Covariance of new observations between rows."""
        cov = self.latent_covariance(X)
        cov.flat[:: len(cov) + 1] += self.noise_variance * t_variance(self.df)
        return cov

    def predictive(self, X: Any, *, latent: bool) -> Distribution:
        """The distribution of a new observation at each row, or of f itself."""
        shift, square = self._components(X)
        if not latent:
            square += self.noise_variances[:, None]
        return self._mixture(self.mean(X) + shift, np.sqrt(square))

    def latent_square(self, X: Any) -> Array:
        """The squared scale of f at each row, one line for each component."""
        return self._components(X)[1]

    def left_out(self, X: Any, y: Array, weight: Array | None) -> Distribution | None:
        """The prediction of each training target from all the others; None if one of them isn't determined by them.

        Given the ratio, in closed form (see `left_out`). Without row i, the probability of component k is proportional
        to πₖ/pₖ(yᵢ | all others), because πₖ contains the likelihood of row i.
        """
        shift, square = self._components(X)
        found, mean = [], self.mean(X)
        for k, noise in enumerate(self.noise_variances):
            part = left_out(y, mean + shift[k], square[k] / noise, float(noise), self.df, weight)
            if part is None:
                return None
            found.append(part)
        if len(found) == 1:
            return found[0].dist
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)[:, None] - np.array([part.log_density for part in found])
        shares = np.exp(logs - logs.max(axis=0))
        return Mixture([part.dist for part in found], (shares / shares.sum(axis=0)).T)

    def equivalent_kernel(self, X: Any, train: Any, weight: Array | None) -> Array:
        """βxᵀSxₙ between rows and training rows, plus the term of the intercept (Bishop 3.62)."""
        inside, trained = self.spectrum.coordinates(X), self.spectrum.coordinates(train)
        share = (inside * (self.weights @ (self.variances / self.noise_variances[:, None]))) @ trained.T
        share += float(self.weights @ (self.level_variances / self.noise_variances))
        return share if weight is None else share * weight

    def draws(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """n weight vectors and intercepts from the posterior."""
        V, several = self.spectrum.V, len(self.weights) > 1
        which = (
            rng.choice(len(self.weights), size=n, p=self.weights / self.weights.sum()) if several else np.zeros(n, int)
        )
        noise = rng.standard_normal((n, len(self.coef)))
        shift = ((noise @ V) * np.sqrt(self.variances[which])) @ V.T
        if not self.spectrum.spans_all:
            shift += np.sqrt(self.null_variances[which])[:, None] * (noise - (noise @ V) @ V.T)
        level = np.sqrt(self.level_variances[which]) * rng.standard_normal(n)
        if self.df != np.inf:
            stretch = np.sqrt(self.df / rng.chisquare(self.df, size=n))
            shift, level = shift * stretch[:, None], level * stretch
        shift = shift + self.shifts[which] @ V.T
        return self.coef + shift, self.intercept + level - shift @ self.spectrum.x_mean

    def _components(self, X: Any) -> tuple[Array, Array]:
        """Location of f, less that of the mixture, and squared scale at each row, in each component."""
        inside, outside = self.spectrum.components(X)
        square = self.variances @ (inside * inside).T + self.level_variances[:, None]
        return self.shifts @ inside.T, square + self.null_variances[:, None] * outside

    def _mixture(self, places: Array, scales: Array) -> Distribution:
        normal = self.df == np.inf
        parts = [
            Normal(place, scale) if normal else StudentT(self.df, place, scale)
            for place, scale in zip(places, scales, strict=True)
        ]
        return parts[0] if len(parts) == 1 else Mixture(parts, self.weights)


@dataclass(frozen=True)
class LeftOut:
    """The predictions of left-out targets, and ln p of what was left out, up to a constant shared by all ratios."""

    dist: Distribution
    log_density: Array


def left_out(
    y: Array, mean: Array, leverage: Array, noise_variance: float, df: float, weight: Array | None
) -> LeftOut | None:
    """The prediction of each training target from all the others; None if one of them isn't determined by the others.

    A row of weight k stands for k observations, of which one is left out; a row of weight below 1 is left out as a
    whole. With h the variance of f at the row for unit noise (`leverage`) and a = min(k, 1) the weight left out, the
    error of the prediction is (y − mean)/(1 − ah), and its variance is that of f, h/(1 − ah), plus the noise. With
    finite `df`, the noise variance is an estimate that loses the row's part as well: a (y − mean)²/(1 − ah) of its sum
    of squares and a of its degrees of freedom. The ratio of the precisions is that of all rows.
    """
    gone = np.ones_like(y) if weight is None else np.minimum(weight, 1.0)
    rest = 1.0 - gone * leverage
    if not (rest > 1e-8).all() or not (df > gone).all():
        return None
    error = (y - mean) / rest
    square, lost = 1.0 + leverage / rest, gone * (y - mean) * error
    if df == np.inf:
        log_density = 0.5 * (np.log(rest) - gone * np.log(noise_variance) - lost / noise_variance)
        return LeftOut(Normal(y - error, np.sqrt(noise_variance * square)), log_density)
    total = df * noise_variance
    # The difference is known up to rounding error.
    left = np.maximum(total - lost, EPS * total)
    log_density = 0.5 * (np.log(rest) - df * np.log(total) + (df - gone) * np.log(left))
    return LeftOut(StudentT(df - gone, y - error, np.sqrt(left / (df - gone) * square)), log_density)
