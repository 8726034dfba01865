"""Exact Gaussian-process regression."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.estimator import ConvergenceWarning, Result, check_shapes, choice, nonnegative, numeric
from credo.frames import Table
from credo.gp._data import (
    MeanBasis,
    Merged,
    center_and_scale,
    distinct,
    merged,
    refuse_contradictions,
    rounding_variance,
    targets,
)
from credo.gp._evidence_base import process_base
from credo.gp._fitted import FittedProcess
from credo.gp._learned import LearnedKernel
from credo.gp._marginal import Marginal
from credo.gp._problem import Noisy, Problem
from credo.gp._process import Process
from credo.gp._sampling import drawn_summary, sampled
from credo.gp._search import FEW
from credo.gp._varying import VaryingNoise
from credo.kernels import Kernel
from credo.learning import Draws
from credo.linalg import one_blas_thread
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]

_MEANS = ("zero", "constant", "linear")
# The square of the number of rows is what has to fit into memory.
_LARGEST = 40_000


class GPRegressor(FittedProcess, LearnedKernel):
    """Exact Gaussian-process regression, with hyperparameters that maximise the evidence.

    y = m(x) + f(x) + ε with f ~ GP(0, k), ε ~ N(0, σ²), and the coefficients of the mean m integrated out under flat
    priors (Rasmussen & Williams, 2.2 and 2.7).

    Parameters
    ----------
    kernel : Kernel or {"rbf", "exponential", "matern32", "matern52", "rational_quadratic"}, default "rbf"
        A name stands for that kernel with one length scale for each column, or for each group of columns (see `fit`).
        The parameters of a kernel object are used as they are with ``hyperparameters="fixed"``, and otherwise are one
        of the starting points of the search.
    mean : {"constant", "zero", "linear"}, default "constant"
    noise : "learn", "heteroscedastic", float or array of shape (n_samples,), default "learn"
        The variance of an observation in the units of y²: learned, learned as a function of x (a second Gaussian
        process on its logarithm, integrated variationally), known, or known for each row.
    standardize : bool, default True
        Standardise y to mean 0 and variance 1; a given kernel's variance is in these units. The search starts from
        length scales proportional to the standard deviation of each column. Fitted attributes (`kernel_`,
        `noise_variance_`, `log_evidence_`) are in the units of y. False uses y as it is, and starts from the given
        kernel.
    hyperparameters : {"optimize", "fixed", "sample"}, default "optimize"
        "sample" draws them from their posterior by NUTS and averages predictions over the draws (needs the extra
        ``mcmc``).
    hyperpriors : bool, default True
        Weak priors, which keep the noise from zero and length scales from infinity. False is plain type-II maximum
        likelihood.
    method : {"auto", "exact"}, default "auto"
        Currently both are exact.
    n_restarts : int, default 6
        Number of additional random starting points. They are tried on a subset of at most 600 rows.
    max_evaluations : int, default 200
        Limit on the evaluations of the log evidence on all rows. Where it is reached, `result_.converged` is False.
    n_draws : int, default 500
        Draws of each of the four chains of ``hyperparameters="sample"``.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    kernel_ : the fitted kernel, in the units of X and y (of standardised targets, where y has several columns)
    noise_variance_ : variance of an observation, the average where it varies
    log_evidence_, evidence_method_ : log marginal likelihood ln p(y | X) and "exact", or a lower bound and "elbo" for
        heteroscedastic noise; not available for sampled hyperparameters
    evidence_base_ : what the evidence conditions on; evidences of one base compare
    relevance_ : standard deviation divided by length scale, for each column
    relevance_trace_ : the same at each step of the search
    theta_, theta_names_ : the free parameters as a flat, unconstrained vector, the argument of `log_evidence`
    draws_ : sampled hyperparameters, with R-hat and effective sample sizes
    result_ : whether the search converged

    Notes
    -----
    Several columns of y share the kernel, the noise and the Cholesky factor, each column in units of its own standard
    deviation (of a common one, where the noise is known). Predictions then have one column, or a list with one
    distribution, for each column of y. NaN marks missing entries of y, which are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = GPRegressor().fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5], [4.5]]).round(2)
    array([ 1.  , -0.98])
    """

    kernel_: Kernel
    draws_: Draws | None
    thetas_: Array

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        *,
        mean: str = "constant",
        noise: str | float | ArrayLike = "learn",
        standardize: bool = True,
        hyperparameters: str = "optimize",
        hyperpriors: bool = True,
        method: str = "auto",
        n_restarts: int = 6,
        max_evaluations: int = 200,
        n_draws: int = 500,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.mean = mean
        self.noise = noise
        self.standardize = standardize
        self.hyperparameters = hyperparameters
        self.hyperpriors = hyperpriors
        self.method = method
        self.n_restarts = n_restarts
        self.max_evaluations = max_evaluations
        self.n_draws = n_draws
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[str] | Sequence[int] | None = None,
    ) -> Self:
        """Fit the process to a table.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
            NaN marks a missing entry.
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        column_groups : sequence of n_features labels, optional
            Columns with the same label, such as the 0/1 columns of one categorical variable, share a length scale. For
            the default kernel and kernels given by name; a kernel object has `groups` of its own.
        """
        self._check_arguments()
        self._forget()
        self._keep_table(X, y, sample_weight)
        self._keep_groups(column_groups)
        problem = self._question = self._problem()
        rng = generator(self.random_state)
        with one_blas_thread() if len(self.X_train_) <= FEW else nullcontext():
            self._learn(problem, rng, from_data=self.standardize)
            self.draws_ = None
            if self.hyperparameters == "sample" and problem.tree.names:
                self._sample_hyperparameters(problem, rng)
            self._settle(problem)
        return self

    def log_evidence(self, theta: ArrayLike, *, gradient: bool = True) -> Any:
        """Log marginal likelihood ln p(y | X) at a flat parameter vector, with its gradient by default."""
        check_is_fitted(self)
        value, slope = self._asked().evidence(np.asarray(theta, dtype=np.float64), gradient=gradient)
        natural = self._natural(value)
        return (natural, slope) if gradient else natural

    @property
    def relevance_trace_(self) -> Array:
        path = self._scales_path()
        if not any(name.split("[")[0] == f"kernel.{path}" for name in self.theta_names_):
            raise AttributeError("the length scales were fixed, so they have no trace")
        natural = [self._asked().tree.unflatten(vector)[f"kernel.{path}"].value for vector in self.trace_]
        return self._relevances(path, natural)

    def summary(self, *, level: float = 0.95) -> Table:
        """The fitted parameters in natural units."""
        check_is_fitted(self)
        if self.draws_ is not None:
            return drawn_summary(self.draws_, self.kernel_, self._feature_names(), level=level)
        lines = self.kernel_.entries(self._feature_names())
        for j, variance in enumerate(np.atleast_1d(self.noise_variance_)):
            lines.append(("noise variance" if self.single_ else f"noise variance of y{j}", float(variance)))
        names, values = map(list, zip(*lines, strict=True))
        bound = "" if self.evidence_method_ == "exact" else "at least "
        return Table(
            f"Gaussian process, {self.kernel_!r}",
            {"parameter": names, "estimate": values, "sd": [None] * len(names)},
            notes=(
                f"log evidence {bound}{self.log_evidence_:.2f} on {self.weight_.sum():g} rows",
                self.result_.message,
            ),
        )

    def _check_state(self) -> None:
        super()._check_state()
        if self.draws_ is not None:
            check_shapes(self, {"p": len(self.theta_), "k": len(self.noise_levels_)}, thetas_="k p")
        if self.noise_process_ is not None and self.noise_process_.X.shape[1] != self.n_features_in_:
            raise ValueError("noise_process_ belongs to another table")
        # The processes are built again from these.
        self._check_arguments()

    def _check_arguments(self) -> None:
        self._check_learning()
        choice("mean", self.mean, _MEANS)
        choice("method", self.method, ("auto", "exact"))
        self._known_noise()
        if self.hyperparameters == "sample" and self._varies():
            raise ValueError('hyperparameters="sample" needs noise="learn" or a known noise variance')

    def _varies(self) -> bool:
        return isinstance(self.noise, str) and self.noise == "heteroscedastic"

    def _keep_table(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """The rows that carry weight and a target, each distinct one once, and how y is standardised."""
        rows: Any = self._validated(numeric(X))
        try:
            given = targets(y, rows, name=type(self).__name__)
        except ValueError:
            self._refuse_words(y)
            raise
        self._refuse_extremes(given)
        weight = np.ones(len(rows)) if sample_weight is None else self._weights(sample_weight, rows)
        used = (weight > 0) & ~np.isnan(given.reshape(len(rows), -1)).all(axis=1)
        if used.sum() > _LARGEST:
            raise ValueError(
                f"exact inference needs an n×n matrix, and n = {used.sum()} is too large; use at most {_LARGEST} rows"
            )
        Y = targets(given[used], rows[used], name="y").reshape(int(used.sum()), -1)
        self.single_ = given.ndim == 1
        known = self._known_noise()
        self.row_noise_ = _of_rows(known, used) if isinstance(known, np.ndarray) else None
        self.X_train_, Y, self.weight_, self.place_ = distinct(
            rows[used], Y, weight[used], merge=self.row_noise_ is None
        )
        if isinstance(known, float) and known == 0.0:
            refuse_contradictions(self.X_train_)
        self.y_train_ = Y[:, 0] if self.single_ else Y
        n_targets = Y.shape[1]
        standard = center_and_scale(Y, self.weight_) if self.standardize else (np.zeros(n_targets), np.ones(n_targets))
        self.center_, self.scale_ = standard
        if known is not None:
            self.scale_ = np.full(n_targets, np.sqrt(np.mean(self.scale_**2)))
        self.unit_ = np.ones(1) if self.single_ else self.scale_

    def _sample_hyperparameters(self, problem: Noisy, rng: np.random.Generator) -> None:
        """Chains from around the maximum; `theta_` becomes the mean of their draws."""
        assert isinstance(problem, Problem)
        found = sampled(problem, self.theta_, stretch=self._stretch(), n_draws=int(self.n_draws), rng=rng)
        self.draws_, self.thetas_, self.theta_ = found.draws, found.thetas, found.center
        self.result_ = Result(self.draws_.converged, self.draws_.n_evaluations, self.draws_.message)
        if not self.draws_.converged:
            warn(self.draws_.message, ConvergenceWarning, stacklevel=4)

    def _stretch(self) -> float:
        """What a variance of the problem's standardised targets is in the processes' units."""
        return float(self.scale_[0] / self.unit_[0]) ** 2

    def _settle(self, problem: Noisy) -> None:
        """Everything that follows from the hyperparameters, in natural units."""
        found = problem.at(self.theta_)
        stretch = self._stretch()
        self.kernel_ = stretch * found.kernel if stretch != 1.0 else found.kernel
        self.noises_ = stretch * found.noise[self._merged().place] / self.weight_
        level = self._level(problem, found.noise)
        self.noise_levels_ = np.array([level])
        if self.draws_ is not None:
            assert isinstance(problem, Problem)
            self.noise_levels_ = np.array([self._level(problem, problem.pieces(theta)[1]) for theta in self.thetas_])
        variance = level * self.unit_**2
        self.noise_variance_ = float(variance[0]) if self.single_ else variance
        law = found.noise_process
        self.noise_process_ = None if law is None else law.stretched(stretch)
        self._held = None
        process = self._processes()[0]
        self._report_jitter(process)
        if self.draws_ is None:
            # No number stands for the evidence of all draws.
            self.log_evidence_ = self._log_density(process) if law is None else self._natural(found.bound)
            self.evidence_method_ = "exact" if law is None else "elbo"
            self.evidence_base_ = self._evidence_base()

    def _evidence_base(self) -> str:
        names = self._feature_names()
        return process_base(
            self._first_kernel(),
            mean=self.mean,
            slopes=[names[j] for j in self._mean_basis().columns],
            standardize=self.standardize,
            optimized=self.hyperparameters == "optimize",
            noise_known=self._known_noise() is not None,
            several=not self.single_,
        )

    def _build(self) -> tuple[Process, ...]:
        Y = (self.y_train_.reshape(len(self.X_train_), -1) - self.center_) / self.unit_
        basis = self._mean_basis()
        if self.draws_ is None:
            return (Process.of(self.kernel_, self.noises_, self.X_train_, Y, basis),)
        problem, stretch, place = self._asked(), self._stretch(), self._merged().place
        assert isinstance(problem, Problem)
        return tuple(
            Process.of(stretch * kernel, stretch * noise[place] / self.weight_, self.X_train_, Y, basis)
            for kernel, noise in map(problem.pieces, self.thetas_)
        )

    def _level(self, problem: Noisy, noise: Array) -> float:
        """The noise variance of an observation, in the processes' units and on average over rows."""
        return float(np.average(self._stretch() * noise, weights=problem.marginal.count))

    def _mean_basis(self) -> MeanBasis:
        return MeanBasis.of(self.mean, self.X_train_, self.weight_)

    def _known_noise(self) -> float | Array | None:
        """The noise variance as given, in the units of y², or None where it is learned."""
        if isinstance(self.noise, str):
            if self.noise not in ("learn", "heteroscedastic"):
                raise ValueError(
                    f'noise must be "learn", "heteroscedastic", a variance, or one for each row; got {self.noise!r}'
                )
            return None
        if np.ndim(self.noise) == 0:
            return nonnegative("noise", self.noise)
        values = np.asarray(self.noise, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
            raise ValueError("noise must hold a finite variance that isn't negative for each row")
        return values

    def _problem(self) -> Noisy:
        kernel, rows = self._first_kernel(), self._merged()
        X = np.ascontiguousarray(rows.X)
        marginal = Marginal(X, rows.Y, self._mean_basis()(X), rows.weight, rows.scatter)
        if self._varies():
            return VaryingNoise(kernel, marginal, self._named_kernel("rbf"), hyperpriors=self.hyperpriors)
        known = self._known_noise()
        scale = self.scale_[0] ** 2
        # Exact copies of rows would drive the noise to zero; rounding of y sets a lower limit.
        repeated = known is None and self.hyperparameters != "fixed" and bool((self.weight_ > 1).any())
        lost = rounding_variance(self._standard_targets()) if repeated else 0.0
        return Problem(
            kernel,
            marginal,
            noise=0.1 if known is None else 0.0 if self.row_noise_ is not None else float(known) / scale,
            learns_noise=known is None,
            extra=np.full(len(X), lost) if self.row_noise_ is None else self.row_noise_ / scale,
            hyperpriors=self.hyperpriors,
        )

    def _standard_targets(self) -> Array:
        return (self.y_train_.reshape(len(self.X_train_), -1) - self.center_) / self.scale_

    def _merged(self) -> Merged:
        """The standardised table with equal inputs merged, on which the search runs."""
        Y = self._standard_targets()
        if self.row_noise_ is None:
            return merged(self.X_train_, Y, self.weight_)
        return Merged(self.X_train_, Y, self.weight_, np.zeros(len(Y)), np.arange(len(Y)))

    def _natural(self, value: float) -> float:
        """A log evidence of standardised targets as one of y: each dimension stretches by the scale."""
        return value - float(self._dimensions() @ np.log(self.scale_))


def _of_rows(noise: Array, used: NDArray[np.bool_]) -> Array:
    """The given variances of the rows that are used."""
    if len(noise) not in (len(used), int(used.sum())):
        raise ValueError(f"noise holds {len(noise)} variances for {len(used)} rows")
    return noise[used] if len(noise) == len(used) else noise
