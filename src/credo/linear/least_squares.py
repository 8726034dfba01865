"""Linear regression by ordinary least squares, and what linear models with uncertain coefficients share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg as sla
from scipy import stats
from scipy.linalg import lapack
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import FitWarning, Regressor, Result, interval_level, is_sparse
from credo.core.fields import Axes, Finite, Inner, Positive
from credo.core.frames import Intervals, Table
from credo.core.learning.linear_posterior import Posterior, left_out
from credo.core.learning.spectrum import spectrum
from credo.core.linalg import EPS, column_norms, constant_columns, graded_svd
from credo.core.notices import warn
from credo.core.parts import BLOCK_ENTRIES, RowSummary, in_parts, row_summary, summarize, take_summary
from credo.distributions import Distribution, StudentT, t_variance
from credo.linear._rows import MAX_STORED_ENTRIES, StoredRows, collinear

Array = NDArray[np.float64]


class LinearModel(Regressor):
    """A linear model whose coefficients have Student-t (or, with infinite degrees of freedom, normal) distributions.

    A subclass gives the scales of coefficients and intercept (`_scales`), their degrees of freedom (`_df`), and the
    summary's `_title` and `_notes`.
    """

    coef_: Annotated[Array, Axes("d")]
    intercept_: Annotated[float, Finite]
    _stored_rows: StoredRows | None = None
    fit_intercept: bool

    _title: str
    _equation = "y = b + Σ wⱼ xⱼ + noise"

    def confint(self, level: float = 0.95) -> Intervals:
        """Central intervals of the intercept, if there is one, and of each coefficient, in this order.

        Returns
        -------
        Intervals
            Prints as a table with the names of the parameters and converts to a frame (`to_frame()`), or to an array of
            shape (n_parameters, 2) by `np.asarray`; `confint()["age"]` is one interval. Infinite for a coefficient that
            the data don't determine.
        """
        check_is_fitted(self)
        level = interval_level(level)
        self._require_noise()
        names, estimate, scale = self._parameters()
        ends = self._ends(estimate, scale, level)
        return Intervals.of(names, ends, level)

    def summary(self, *, level: float = 0.95) -> Table:
        """Estimate, standard deviation and interval of each parameter, and notes about the fit."""
        check_is_fitted(self)
        level = interval_level(level)
        names, estimate, scale = self._parameters()
        ends = self._ends(estimate, scale, level)
        columns: dict[str, Any] = {"parameter": names, "estimate": list(estimate), **self._spread(estimate, scale)}
        return Table(
            self._title,
            {**columns, "lower": list(ends[:, 0]), "upper": list(ends[:, 1])},
            notes=(f"intervals at {100 * level:g} %", *self._notes()),
        )

    def _parameters(self) -> tuple[list[str], Array, Array]:
        """Names, estimates and scales; the intercept comes first."""
        names, estimate, (scale, intercept_scale) = self._feature_names(), self.coef_, self._scales()
        if not self.fit_intercept:
            return names, estimate, scale
        return ["intercept", *names], np.append(self.intercept_, estimate), np.append(intercept_scale, scale)

    def _ends(self, estimate: Array, scale: Array, level: float) -> Array:
        # The upper tail's probability keeps its digits where 1 − tail would lose them; nan without degrees of freedom.
        df = self._df()
        half = stats.t.isf((1 - level) / 2, df if df > 0 else np.nan) * scale
        return np.column_stack([estimate - half, estimate + half])

    def _spread(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """The columns between estimate and interval."""
        return {"sd": list(scale * np.sqrt(t_variance(self._df())))}

    def _scales(self) -> tuple[Array, float]:
        raise NotImplementedError

    def _df(self) -> float:
        raise NotImplementedError

    def _notes(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _require_noise(self) -> None:
        """Raise an error if the noise can't be estimated."""


class PosteriorModel(LinearModel):
    """A linear model with a `Posterior` of its coefficients."""

    coef_std_: Array
    intercept_std_: float
    posterior_: Annotated[Posterior, Inner(d="d")]

    def _keep_posterior(self, posterior: Posterior) -> None:
        self.posterior_, self.coef_, self.intercept_ = posterior, posterior.coef, posterior.intercept
        self.coef_std_, self.intercept_std_ = posterior.std()

    def _mean(self, rows: Array) -> Array:
        return self.posterior_.mean(rows)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        """N(mᵀx + b, β⁻¹ + xᵀSx) at each row (Bishop 3.58); Student-t if the noise is integrated out or estimated, and
        a mixture if the prior precision is integrated out too."""
        self._require_noise()
        return self.posterior_.predictive(rows, latent=latent)

    def _covariance(self, rows: Array) -> Array:
        self._require_noise()
        return self.posterior_.covariance(rows)

    def _scales(self) -> tuple[Array, float]:
        """The scales of a single distribution, or the root mean squares of those of a mixture's components."""
        square = self.posterior_.weights @ self.posterior_.parameters()[1]
        return np.sqrt(square[1:]), float(np.sqrt(square[0]))

    def _df(self) -> float:
        return self.posterior_.df

    def _ends(self, estimate: Array, scale: Array, level: float) -> Array:
        if len(self.posterior_.weights) == 1:
            return super()._ends(estimate, scale, level)
        return np.column_stack(self.posterior_.marginals(intercept=self.fit_intercept).interval(level))

    def _spread(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        return {"sd": [*([self.intercept_std_] if self.fit_intercept else []), *self.coef_std_]}


@dataclass(frozen=True)
class Solution:
    """A least-squares fit: weights, the mean row, and a root A of (XᵀX)⁻¹ = AAᵀ."""

    coef: Annotated[Array, Axes("d")]
    root: Annotated[Array, Axes("d R")]
    x_mean: Annotated[Array, Axes("d")]
    y_mean: Annotated[float, Finite]
    rss: float
    tss: float
    n_observations: Annotated[float, Positive]
    rank: int
    centered: bool
    # Only for rank-deficient designs: an orthonormal basis of the rows divided by `scale`.
    span: Annotated[Array | None, Axes("d R")]
    scale: Annotated[Array, Axes("d")]

    @property
    def intercept(self) -> float:
        return self.y_mean - float(self.x_mean @ self.coef)

    def mean(self, X: Any) -> Array:
        if is_sparse(X):
            return np.asarray(X @ self.coef) + self.intercept
        # About the mean of the inputs, because b + wᵀx would lose digits to a large offset.
        return (X - self.x_mean) @ self.coef + self.y_mean

    def unit_cov(self) -> Array:
        """(XᵀX)⁻¹, the covariance of the weights at unit noise."""
        return self.root @ self.root.T

    def coef_scale(self) -> Array:
        """Standard errors at unit noise, infinite for weights that the rows don't determine."""
        scale = np.sqrt(np.einsum("ij,ij->i", self.root, self.root))
        if self.span is not None:
            # A single weight is determined if its axis lies in the span of the rows.
            scale[1.0 - np.einsum("ij,ij->i", self.span, self.span) > 1e-8] = np.inf
        return scale

    def intercept_scale(self) -> float:
        if not self.centered:
            return 0.0
        lean = self.x_mean @ self.root
        return float(np.sqrt(1.0 / self.n_observations + lean @ lean))

    def latent_square(self, X: Any) -> tuple[Array, NDArray[np.bool_]]:
        """Variance of f(x) at unit noise, and whether the training rows determine f there."""
        inside = self._coordinates(X, self.root)
        square = np.einsum("ij,ij->i", inside, inside)
        if self.centered:
            square += 1.0 / self.n_observations
        if self.span is None:
            return square, np.ones(len(square), dtype=bool)
        if is_sparse(X):
            parts = range(0, X.shape[0], max(1, BLOCK_ENTRIES // X.shape[1]))
            step = parts.step
            return square, np.concatenate([self._estimable(X[start : start + step].toarray()) for start in parts])
        return square, self._estimable(X)

    def _coordinates(self, X: Any, directions: Array) -> Array:
        """(x − x̄)ᵀA for each row."""
        if is_sparse(X):
            return np.asarray(X @ directions) - self.x_mean @ directions
        return (X - self.x_mean) @ directions

    def _estimable(self, X: Array) -> NDArray[np.bool_]:
        """Whether the training rows determine f at each row."""
        assert self.span is not None
        rows = (X - self.x_mean) / self.scale
        off = rows - (rows @ self.span) @ self.span.T
        reach = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return np.sqrt(np.einsum("ij,ij->i", off, off)) <= 1e-8 * (1.0 + reach)

    def latent_gram(self, X: Any) -> Array:
        """Covariance of f between rows at unit noise."""
        inside = self._coordinates(X, self.root)
        return inside @ inside.T + (1.0 / self.n_observations if self.centered else 0.0)


class LinearRegression(LinearModel):
    """Ordinary least squares (maximum likelihood under Gaussian noise) with standard errors.

        ŵ = argmin ‖y − b − Xw‖²,    cov(ŵ) = σ̂²(XᵀX)⁻¹,    σ̂² = RSS/(n − rank − 1)

    Solved by QR of the centered and scaled design, which is accurate for badly scaled or nearly collinear columns;
    sparse X is not made dense as long as its Gram matrix is well conditioned. If the design is rank-deficient, the
    coefficients of smallest norm are returned, with a warning. Equivalent to scikit-learn's `LinearRegression` in its
    coefficients.

    Parameters
    ----------
    fit_intercept : bool, default True

    Attributes
    ----------
    coef_, intercept_ : estimates
    coef_std_error_, intercept_std_error_ : standard errors; infinite for a coefficient that the data don't determine
    coef_cov_ : covariance of the coefficients, computed on each access
    noise_std_, dof_ : σ̂ and its degrees of freedom; σ̂ is nan if no degrees of freedom are left
    r2_ : coefficient of determination (about zero instead of the mean without an intercept)
    rank_ : numerical rank of the design (without the intercept)
    log_likelihood_ : maximum of the log likelihood, with noise variance RSS/n
    n_parameters_, n_observations_ : number of parameters, with the noise variance, and sum of the sample weights
    result_ : outcome of the fit

    Examples
    --------
    >>> from credo import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.1, 2.9, 5.2, 6.8])
    >>> model.coef_.round(2), round(model.intercept_, 2)
    (array([1.94]), 1.09)
    >>> print(model.confint(0.95))
    95 % intervals
    parameter    lower   upper
    intercept  0.36108  1.8189
    x0          1.5504  2.3296
    """

    noise_std_: float
    dof_: float
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float

    _accepts_sparse = True
    _accepts_parts = True

    _title = "Linear regression by least squares"

    solution_: Annotated[Solution, Inner(d="d")]
    coef_std_error_: Array
    intercept_std_error_: float
    r2_: float
    rank_: int

    def __init__(self, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row.

        Instead of X and y, an iterable of chunks (X, y) or (X, y, weight) can be passed, or Dask arrays or frames; see
        `credo.core.parts`.
        """
        if in_parts(X, y):
            return self.fit_summary(summarize(X, y, sample_weight))
        rows, target, weight = self._training_rows(X, y, sample_weight)
        if is_sparse(rows):
            self._learn(sparse_least_squares(rows, target, weight, center=self.fit_intercept))
        else:
            self._learn(least_squares(row_summary(rows, target, weight), center=self.fit_intercept))
        self._stored_rows = StoredRows.of(rows, weight, sample_weight)
        return self

    def fit_summary(self, summary: RowSummary) -> Self:
        """Fit the model to rows summarized by `credo.summarize`: the same result as `fit` on the rows."""
        take_summary(self, summary)
        self._learn(least_squares(summary, center=self.fit_intercept))
        self._stored_rows = None
        return self

    def _learn(self, solution: Solution) -> None:
        self.solution_, n_observations = solution, solution.n_observations
        self.coef_, self.intercept_, self.rank_ = solution.coef, solution.intercept, solution.rank
        self.dof_ = n_observations - solution.rank - solution.centered
        self.noise_std_ = float(np.sqrt(solution.rss / self.dof_)) if self.dof_ > 0 else np.nan
        # A constant target has no variance to explain.
        self.r2_ = 1.0 - solution.rss / solution.tss if solution.tss > 0 else np.nan
        self.n_parameters_, self.n_observations_ = solution.rank + solution.centered + 1, n_observations
        exact = not self.dof_ > 0 or not solution.rss > 0
        log_variance = -np.inf if exact else float(np.log(2.0 * np.pi * solution.rss / n_observations))
        self.log_likelihood_ = -0.5 * n_observations * (log_variance + 1.0)
        scale = solution.coef_scale()
        # Even without noise, a weight that the rows don't determine has an infinite standard error.
        known = np.isfinite(scale)
        self.coef_std_error_ = np.where(known, self.noise_std_ * np.where(known, scale, 1.0), np.inf)
        self.intercept_std_error_ = self.noise_std_ * solution.intercept_scale()
        self.result_ = self._outcome()

    def hat_matrix(self) -> Array:
        """The n×n matrix H with ŷ = Hy on the training rows; zero for rows of weight zero."""
        kept = self._training()
        H = np.zeros((kept.n_given, kept.n_given))
        share = self.solution_.latent_gram(kept.rows)
        H[np.ix_(kept.positions, kept.positions)] = share if kept.weight is None else share * kept.weight
        return H

    def leverage(self) -> Array:
        """The diagonal of the hat matrix: the influence of each row on its own fitted value; sums to rank (+ 1)."""
        kept = self._training()
        leverage = np.zeros(kept.n_given)
        share = self.solution_.latent_square(kept.rows)[0]
        leverage[kept.positions] = share if kept.weight is None else share * kept.weight
        return leverage

    @property
    def coef_cov_(self) -> Array:
        check_is_fitted(self)
        return self.noise_std_**2 * self.solution_.unit_cov()

    def _mean(self, rows: Array) -> Array:
        return self.solution_.mean(rows)

    def _dist(self, rows: Array, *, latent: bool) -> StudentT:
        self._require_noise()
        square, estimable = self.solution_.latent_square(rows)
        if not estimable.all():
            warn(
                f"{int((~estimable).sum())} of {len(estimable)} rows lie outside the span of the training rows, so "
                "their predictions are not determined by the data and the intervals are too narrow. Use "
                "BayesianLinearRegression, which includes this uncertainty.",
                FitWarning,
                stacklevel=3,
            )
        return StudentT(self.dof_, self._mean(rows), self.noise_std_ * np.sqrt(square + (0.0 if latent else 1.0)))

    def _left_out(self, X: ArrayLike, y: Array, weight: Array | None) -> Distribution | None:
        rows = self._predict_rows(X)
        leverage = self.solution_.latent_square(rows)[0]
        found = left_out(y, self._mean(rows), leverage, self.noise_std_**2, self.dof_, weight)
        return None if found is None else found.dist

    def _covariance(self, rows: Array) -> Array:
        self._require_noise()
        cov = self.solution_.latent_gram(rows)
        cov.flat[:: len(cov) + 1] += 1.0
        return cov * (self.noise_std_**2 * t_variance(self.dof_))

    def _scales(self) -> tuple[Array, float]:
        return self.coef_std_error_, self.intercept_std_error_

    def _df(self) -> float:
        return self.dof_

    def _spread(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """Standard errors, t values and two-sided p values, as classical tables have them."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = estimate / scale
        return {"sd": list(scale), "t": list(t), "p": list(2 * stats.t.sf(np.abs(t), self.dof_))}

    def _notes(self) -> tuple[str, ...]:
        noise = f"noise sd {self.noise_std_:.4g} with {self.dof_:g} degrees of freedom; R² {self.r2_:.4f}"
        return noise, self.result_.message

    def _require_noise(self) -> None:
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.solution_.n_observations:g} rows and {self.rank_} independent columns leave no degrees of "
                "freedom to estimate the noise: use more rows, fewer columns, or BayesianLinearRegression"
            )

    def _training(self) -> StoredRows:
        check_is_fitted(self)
        kept = self._stored_rows
        if kept is None:
            raise ValueError(
                "the training rows were not stored (the model was loaded from a file or fitted from a summary, or X "
                f"has more than {MAX_STORED_ENTRIES} entries): fit again, on fewer rows, to get the hat matrix"
            )
        return kept

    def _outcome(self) -> Result:
        if self.rank_ == len(self.coef_):
            return Result(True, 1, "solved directly")
        message = collinear(self.rank_, len(self.coef_), "drop columns, or use BayesianLinearRegression")
        warn(message, FitWarning, stacklevel=4)
        return Result(True, 1, message)


def least_squares(summary: RowSummary, *, center: bool) -> Solution:
    """The least-squares solution, of smallest norm if it isn't unique.

        √w [X − x̄, y − ȳ] = Q R,    R = [[R₁, c], [0, ρ]],    R₁ w = c,    RSS = ρ²

    The columns of R are scaled to unit length. A well-conditioned R₁ is solved by back substitution; otherwise the SVD
    gives the rank and the solution of smallest norm.
    """
    summary = summary.for_intercept(center)
    n_features, order = summary.n_features, max(summary.n_rows, summary.n_features)
    x_mean, y_mean = summary.mean[:-1], float(summary.mean[-1])
    R1, c, tail = summary.factor[:, :-1], summary.factor[:, -1], 0.0
    triangular = len(R1) > n_features
    if triangular:
        R1, c, tail = R1[:-1], c[:-1], float(c[-1]) ** 2
    tss = float(c @ c) + tail
    scale = column_norms(R1)
    flat = constant_columns(scale, x_mean, summary.weight)
    R1 = np.where(flat, 0.0, R1 / np.where(flat, 1.0, scale))
    scale = np.where(flat, np.maximum(np.abs(x_mean), 1.0), scale)
    if triangular and not flat.any() and _rcond(R1) > 1e-10:
        coef = sla.solve_triangular(R1, c, check_finite=False)
        root = sla.solve_triangular(R1, np.eye(n_features), check_finite=False)
        span, rank = None, n_features
    else:
        coef, root, span, rank, rest = _by_svd(R1, c, scale, order)
        tail += rest
    return Solution(
        coef=coef / scale if span is None else coef,
        root=root / scale[:, None] if span is None else root,
        x_mean=x_mean,
        y_mean=y_mean,
        rss=tail,
        tss=tss,
        n_observations=summary.weight,
        rank=rank,
        centered=center,
        span=span,
        scale=scale,
    )


def sparse_least_squares(X: Any, y: Array, weight: Array | None, *, center: bool) -> Solution:
    """The solution in the singular basis, which is found without making sparse rows dense."""
    data = spectrum(X, y, weight, center=center)
    return Solution(
        coef=data.V @ (data.q / data.s),
        root=data.V / data.s,
        x_mean=data.x_mean,
        y_mean=data.y_mean,
        rss=data.rss,
        tss=data.rss + float(data.q @ data.q),
        n_observations=data.weight,
        rank=len(data.s),
        centered=data.centered,
        span=None if data.spans_all else data.V,
        scale=np.ones(len(data.x_mean)),
    )


def _rcond(R: Array) -> float:
    rcond, _ = lapack.dtrcon(R, norm="1", uplo="U")
    return float(rcond)


def _by_svd(
    R: Array, c: Array, scale: Array, order: int
) -> tuple[Array, Array, Array | None, int, float]:  # fmt: skip
    """Weights, root, span of the rows, rank and unexplained sum of squares for any R."""
    U, s, Vt = sla.svd(R, full_matrices=False, check_finite=False)
    keep = s > EPS * order * (s[0] if len(s) else 0.0)
    U, s, V = U[:, keep], s[keep], Vt[keep].T
    q = U.T @ c
    rest = c - U @ q
    coef, root, rank = V @ (q / s), V / s, len(s)
    if rank == R.shape[1]:
        return coef, root, None, rank, float(rest @ rest)
    # The smallest norm in the units of X, not in those of the scaled columns.
    left, s, natural = graded_svd(R * scale, order=order)
    q = left.T @ c
    rest = c - left @ q
    return natural @ (q / s), natural / s, V, len(s), float(rest @ rest)
