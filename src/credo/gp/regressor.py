"""Gaussian-process regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Annotated, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    FLAT,
    INTEGRATED,
    MAXIMISED,
    SCALED,
    ConvergenceWarning,
    Description,
    Evidence,
    FitWarning,
    Regressor,
    Result,
    check_magnitude,
    choice,
    evidence_base,
    named,
    numeric,
    positive_integer,
)
from credo.core.fields import Inner
from credo.core.frames import Table
from credo.core.inference import InducingFeatures, Paths
from credo.core.learning import Draws
from credo.core.notices import warn
from credo.core.parts import Parts, in_parts, parts_of
from credo.core.seeds import generator
from credo.distributions import Distribution, MultivariateNormal
from credo.gp._counts import Poisson
from credo.gp._gaussian_process import GaussianProcess, KernelName, is_scalable
from credo.gp._heteroscedastic import Heteroscedastic
from credo.gp._noise import BOUND_SUBSET_ROWS, Found, Gaussian, Noise
from credo.gp._observations import Process, TrainingData, targets
from credo.gp._posterior import Posterior, Tails, row_sample, row_sums
from credo.gp._search import SMALL_ROWS, SUBSET_ROWS, blas_threads, drawn_summary, sample_hyperparameters
from credo.gp._student import FittedStudentT, StudentT
from credo.kernels import Kernel

Array = NDArray[np.float64]

_MEANS = ("zero", "constant", "linear")
# Short names of noises.
_NOISES: dict[str, type[Noise]] = {kind.name: kind for kind in (Gaussian, Heteroscedastic, StudentT, Poisson)}
# (rows, points, most): up to this many rows, hyperparameters are integrated over this many points, and predictions
# average over at most `most` of them. With more rows, the posterior is narrower and a point costs more; with the
# fewest, it is skewed. On ten tables of each size (1 to 20 columns), log scores of 500 new rows differed from those of
# all points by at most .0027 at 300 rows, .0009 at 500 and 700, and .0008 at 1,000; the median was .0005 and less.
_INTEGRATION_POINTS = ((100, 32, 32), (200, 32, 6), (300, 32, 4), (700, 16, 3), (1500, 8, 2))


class GPRegressor(Regressor, GaussianProcess):
    """Gaussian-process regression, averaged over the posterior of its hyperparameters.

    y = m(x) + f(x) + ε with f ~ GP(0, k), ε ~ N(0, σ²), and the coefficients of the mean m integrated out under flat
    priors (Rasmussen & Williams, 2.2 and 2.7).

    Parameters
    ----------
    kernel : Kernel or {"rbf", "exponential", "matern32", "matern52", "rational_quadratic"} or None, default None
        A name stands for that kernel with one length scale for each column, or for each group of columns (see `fit`).
        None chooses between "rbf" and "matern52", and whether to add a linear part, by the evidence.
        The parameters of a kernel object are used as they are with ``hyperparameters="fixed"``, and otherwise are one
        of the starting points of the search.
    mean : {"constant", "zero", "linear"}, default "constant"
    noise : "learn", "heteroscedastic", "student", "poisson", float, array of shape (n_samples,) or Noise
        The variance of an observation in the units of y²: learned, learned as a function of x (a second Gaussian
        process on its logarithm, integrated variationally), known, or known for each row. "student" is Student-t noise
        with learned scale and degrees of freedom, for a single column of y: outliers have little influence on f.
        "poisson" is for counts: y is a whole number of mean exp(m(x) + f(x)), see Notes. They are short names of
        `gp.Gaussian`, `gp.Heteroscedastic`, `gp.StudentT` and `gp.Poisson`.
    tails : {"learn", "normal"}, default "learn"
        With a learned noise variance, the leave-one-out residuals tell whether new observations deviate from the
        process by a normal or by a Student-t distribution. "normal" assumes the former.
    standardize : bool, default True
        Standardize y to mean 0 and variance 1 (by median and quartiles, for Student-t noise); a given kernel's variance
        is in these units. The search starts from length scales proportional to the standard deviation of each column.
        Fitted attributes (`kernel_`, `noise_variance_`, `log_evidence_`) are in the units of y. False uses y as it is,
        and starts from the given kernel.
    hyperparameters : {"integrate", "optimize", "fixed", "sample"}, default "integrate"
        "optimize" maximizes the evidence. "integrate" averages the evidence over up to 32 points around the maximum, by
        importance sampling from the Laplace approximation of the posterior, and predictions over the few of them that
        give nearly the same average. With more than 1500 rows, when the posterior is narrow, and with a lower bound
        ("elbo", below), it is the same as "optimize".
        "sample" draws from the posterior by NUTS and averages predictions over the draws (needs the extra ``mcmc``).
        Functions drawn by `paths`, and `suggest`, use the maximum only.
    hyperpriors : bool, default True
        Weak priors, which keep the noise from zero and length scales from infinity, and shrink the length scales of
        one kernel towards a common value while the rows are few. False is plain type-II maximum likelihood.
    method : {"auto", "exact", "state_space", "inducing", "vecchia"}, default "auto"
        How covariances are represented. "exact" keeps all of them, in O(n³) time and O(n²) memory; the others take time
        proportional to the number of rows. "state_space" is exact as well, for a single column (a time) and the kernels
        `Exponential`, `Matern32`, `Matern52`, `Periodic`, `ZeroMeanPeriodic`, `Cosine`, `Harmonic`, `Linear` and
        `Constant`, their sums and products; a periodic kernel is a sum of many harmonics, which takes longer for few
        rows. "inducing" keeps covariances with a few inducing points, chosen among the rows; `log_evidence_` is a
        lower bound (Titsias 2009). "vecchia" conditions each row on 30 neighbors, for few columns (kriging).
        "auto" is exact up to 5000 rows, by whichever of "exact" and "state_space" takes less time; see `method_` and
        `result_`.
    n_inducing : int, optional
        Largest number of inducing points. By default between 500 and 1500, fewer for more rows.
    n_restarts : int, default 6
        Number of additional random starting points. They are tried on a subset of at most 600 rows; with
        heteroscedastic noise, only in the search for a kernel with constant noise, whose result is a starting point.
    max_evaluations : int, default 200
        Limit on the evaluations of the log evidence on all rows. If it is reached, `result_.converged` is False.
    n_draws : int, default 500
        Draws of each of the four chains of ``hyperparameters="sample"``.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    kernel_ : the fitted kernel, in the units of X and y (of standardized targets, if y has several columns)
    noise_variance_ : variance of an observation, the average if it varies (for counts, their mean)
    additional_noise_variance_ : learned variance on top of a known one, with ``gp.Gaussian(known, additional=True)``
    (for
        each column of y, if there are several)
    noise_df_ : degrees of freedom of the noise, infinite unless it is Student-t
    log_evidence_, evidence_method_ : log marginal likelihood ln p(y | X) and "exact", or "laplace" if it is
        integrated over the hyperparameters, or a lower bound and "elbo" for heteroscedastic or Student-t noise,
        counts and inducing points; not available for sampled hyperparameters
    evidence_base_ : what the evidence conditions on; evidences with the same base are comparable
    relevance_ : standard deviation divided by length scale, for each column
    relevance_trace_ : the same at each step of the search
    theta_, theta_names_ : the free parameters as a flat, unconstrained vector, the argument of `log_evidence`
    thetas_, theta_weights_ : the vectors that predictions average over, `theta_` first, and their weights
    tails_ : degrees of freedom and scale of standardized residuals, for each column of y
    draws_ : sampled hyperparameters, with R-hat and effective sample sizes
    method_, inducing_points_ : the method that was used, and its inducing points or None
    result_ : whether the search converged

    Notes
    -----
    Several columns of y share the kernel, the noise and the Cholesky factor, each column in units of its own standard
    deviation (a common one, if the noise is known). Predictions then have one column, or a list with one
    distribution, for each column of y. NaN marks missing entries of y, which are ignored.
    With ``noise="poisson"``, f is the log rate of counts in a single column, y isn't standardized, and the posterior is
    variational. `predict` is the expected count; ``predict_dist(latent=True)`` and `sample` give the rate. Counts that
    vary more than Poisson counts of a smooth rate need a kernel with `White`.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = GPRegressor().fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5], [4.5]]).round(2)
    array([ 1.  , -0.98])

    Measurements with error bars, and additional noise with a standard deviation of 0.3:

    >>> from credo.gp import Gaussian
    >>> from credo.kernels import Matern32
    >>> rng = np.random.default_rng(0)
    >>> t, yerr = np.sort(rng.uniform(0, 20, 300)), rng.uniform(0.05, 0.2, 300)
    >>> y = 3 * np.sin(t) + yerr * rng.normal(size=300) + 0.3 * rng.normal(size=300)
    >>> model = GPRegressor(Matern32(), noise=Gaussian(yerr**2, additional=True)).fit(t[:, None], y)
    >>> round(model.additional_noise_variance_**0.5, 1)
    0.3
    """

    posterior_: Annotated[Posterior, Inner(d="d", k="K")]
    draws_: Draws | None

    y_train_ = property(attrgetter("posterior_.data.y"))
    scale_ = property(attrgetter("posterior_.data.scale"))
    tails_ = property(attrgetter("posterior_.tails"))

    def __init__(
        self,
        kernel: Kernel | KernelName | None = None,
        *,
        mean: Literal["constant", "zero", "linear"] = "constant",
        noise: float | ArrayLike | Noise | Literal["learn", "heteroscedastic", "student", "poisson"] = "learn",
        tails: Literal["learn", "normal"] = "learn",
        standardize: bool = True,
        hyperparameters: Literal["integrate", "optimize", "fixed", "sample"] = "integrate",
        hyperpriors: bool = True,
        method: Literal["auto", "exact", "state_space", "inducing", "vecchia"] = "auto",
        n_inducing: int | None = None,
        n_restarts: int = 6,
        max_evaluations: int = 200,
        n_draws: int = 500,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.mean = mean
        self.noise = noise
        self.tails = tails
        self.standardize = standardize
        self.hyperparameters = hyperparameters
        self.hyperpriors = hyperpriors
        self.method = method
        self.n_inducing = n_inducing
        self.n_restarts = n_restarts
        self.max_evaluations = max_evaluations
        self.n_draws = n_draws
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        noise = self._noise()
        tags.target_tags.multi_output = noise.several_targets
        tags.target_tags.positive_only = noise.counts
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[str] | Sequence[int] | None = None,
    ) -> Self:
        """Fit the process to a table.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features), or a table in parts
            A table in parts is an iterable of chunks, (X, y) or (X, y, weight), or a Dask array or
            frame. Hyperparameters and inducing points come from a random sample of 20,000 rows; one more pass over all
            rows gives the posterior and its lower bound.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            NaN marks a missing entry.
        sample_weight : array of shape (n_samples,), optional
            A weight of k is equivalent to k copies of the row.
        column_groups : sequence of n_features labels, optional
            Columns with the same label, such as the 0/1 columns of one categorical variable, share a length scale. For
            the default kernel and kernels given by name; a kernel object has `groups` of its own.
        """
        self._check_arguments()
        self._reset()
        parts = n_rows = None
        if in_parts(X, y):
            parts = parts_of(X, y, sample_weight)
            found = row_sample(type(self).__name__, parts)
            X, (y, sample_weight) = found.rows if found.names is None else named(found.rows, found.names), found.extra
            if not found.is_complete:
                n_rows = found.n_rows
                for what in self._unsupported_in_parts():
                    raise ValueError(
                        f"{what} needs all rows in memory, and the table comes in parts with {n_rows:,} rows: use "
                        'method="inducing" with noise="learn", or fit to a sample of the rows'
                    )
        data = self._training_data(X, y, sample_weight)
        self._keep_groups(column_groups)
        rng = generator(self.random_state)
        n_subset = BOUND_SUBSET_ROWS if self._noise().is_variational and len(data.X) > SMALL_ROWS else SUBSET_ROWS
        with blas_threads(len(data.X)):
            objective, data, curvature = self._learn(
                data, rng, n_subset=n_subset, from_data=self.standardize, n_rows=n_rows
            )
            self.draws_, self.thetas_, self.theta_weights_ = None, self.theta_[None], np.ones(1)
            integrated, n_points = None, _n_points(objective.n_rows)[0]
            if self.hyperparameters == "sample" and self.theta_names_:
                self._sample_hyperparameters(objective, data, rng)
            elif self._is_integrated() and n_points > 1 and n_rows is None:
                skewed = n_points == _INTEGRATION_POINTS[0][1]
                integrated = self._integrated(objective, curvature, n_points, skewed=skewed).log_value
            self._condition(objective, data, integrated)
        if parts is not None and n_rows is not None:
            self._condition_on(parts)
        return self

    def describe(self, *, level: float = 0.95) -> Description:
        noise = np.asarray(self.noise_variance_)
        found = float(np.sqrt(noise.mean())) if np.isfinite(noise).all() else None
        return replace(super().describe(level=level), noise=found)

    def _words(self) -> str:
        noise = self._noise().words
        return f"{super()._words()}, {noise}" if noise else super()._words()

    @property
    def additional_noise_variance_(self) -> Any:
        check_is_fitted(self)
        if self.posterior_.noise.additional is None:
            raise AttributeError("additional_noise_variance_ needs noise=Gaussian(known, additional=True)")
        return self._in_units_of_y(self.posterior_.noise.additional)

    @property
    def noise_variance_(self) -> Any:
        return self._in_units_of_y(self.posterior_.noise.mean_variance)

    def _in_units_of_y(self, variance: float) -> Any:
        every = variance * self.scale_**2
        return float(every[0]) if self.posterior_.data.is_single else every

    @property
    def noise_df_(self) -> float:
        noise = self.posterior_.noise
        return noise.df if isinstance(noise, FittedStudentT) else math.inf

    @property
    def relevance_trace_(self) -> Array:
        path = self._scales_path()
        if not any(name.split("[")[0] == f"kernel.{path}" for name in self.theta_names_):
            raise AttributeError("the length scales were fixed, so they have no trace")
        natural = [self._objective().tree.unflatten(vector)[f"kernel.{path}"].value for vector in self.trace_]
        return self._relevances(path, natural)

    def summary(self, *, level: float = 0.95) -> Table:
        """The fitted parameters in natural units."""
        check_is_fitted(self)
        if self.draws_ is not None:
            return drawn_summary(self.draws_, self.kernel_, self._feature_names(), level=level)
        posterior = self.posterior_
        lines = [*self.kernel_.entries(self._feature_names()), *posterior.noise.entries(posterior.data)]
        bound = "at least " if self.evidence_method_ == "elbo" else ""
        n_rows = posterior.data.weight.sum() if posterior.sums is None else posterior.sums.weight
        note = f"log evidence {bound}{self.log_evidence_:.2f} on {n_rows:g} rows"
        return self._table(f"{self._noise().title}, {self.kernel_!r}", lines, [note])

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: Literal[False] = False) -> Distribution: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: Literal[True]) -> MultivariateNormal: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: bool = False) -> Any: ...

    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: bool = False) -> Any:
        """The predictive distribution of new observations; a list of them if y has several columns.

        Parameters
        ----------
        X : array or frame
        latent : bool, default False
            True leaves the noise out: the distribution of f itself, or of the rate for counts.
        joint : bool, default False
            True gives one `MultivariateNormal` over all rows, with their covariances. If hyperparameters were
            sampled, the noise varies or y is a count, it is the normal distribution with the same mean and covariance.
        """
        rows, posterior = self._predict_rows(X), self.posterior_
        if not joint:
            return self._outputs(posterior.predictive(rows, latent=latent))
        means = posterior.mean(rows)
        return self._outputs(
            [MultivariateNormal(means[:, j], posterior.covariance(rows, j, latent=latent)) for j in posterior.targets]
        )

    def sample(
        self, X: ArrayLike, n: int = 1, *, prior: bool = False, random_state: Any = None, method: str = "cholesky"
    ) -> Array:
        """n functions at the rows of X from the posterior, or from the prior of f alone: shape (n, n_samples).

        Several columns of y add an axis at the end. For counts, functions are rates (from the prior: factors e^f).
        """
        rows = self._predict_rows(X)
        positive_integer("n", n)
        rng = generator(random_state)
        if prior:
            kernel = (1.0 / self.posterior_.data.variance_factor) * self.kernel_
            drawn = [scale * kernel.sample(rows, n, random_state=rng, method=method) for scale in self.scale_]
            drawn = list(map(np.exp, drawn)) if self._noise().counts else drawn
        else:
            drawn = self.posterior_.draws(rows, n, rng, method)
        return self._stacked(drawn)

    def paths(self, n: int = 1, *, random_state: Any = None) -> Paths:
        """n functions from the posterior that can be evaluated anywhere, by Matheron's rule.

        Examples
        --------
        >>> import numpy as np
        >>> from credo import GPRegressor
        >>> x = np.linspace(0, 6, 20)[:, None]
        >>> functions = GPRegressor().fit(x, np.sin(x[:, 0])).paths(3, random_state=0)
        >>> functions(np.linspace(0, 10, 500)[:, None]).shape
        (3, 500)
        """
        check_is_fitted(self)
        process, data = self._mode_process("paths"), self.posterior_.data
        if not data.is_single or self._noise().counts:
            raise ValueError("paths needs a single target that isn't a count: fit a model for each, or use sample")
        drawn = process.posterior().paths(positive_integer("n", n), generator(random_state))
        return replace(drawn, center=float(data.center[0]), scale=float(data.scale[0]))

    def loo(self) -> Any:
        """The prediction of each training target from all the others, in closed form (Rasmussen & Williams 5.10–5.12).

        The hyperparameters are those of all rows; so are the sites of the others, with Student-t noise or counts. If a
        row has weight k or is repeated k times, one observation is left out; a row of weight below 1 is left out whole.
        Several columns of y give a list.
        """
        check_is_fitted(self)
        self._need_rows("loo")
        return self._outputs(self.posterior_.left_out())

    def _left_out(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None) -> Distribution | None:
        """The interface that linear models have; X, y and weight must be those of the fit."""
        return self.loo() if self.posterior_.determined.all() else None

    def update(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add rows at the same hyperparameters, by extending the Cholesky factor.

        Equivalent to a fit on all rows with ``hyperparameters="fixed"``, in O(n²) for each new row. A linear mean is
        fitted again, and with Student-t noise or counts the site of every row. If the hyperparameters are
        integrated, their points stay and only their weights change.
        """
        check_is_fitted(self)
        noise, posterior = self._noise(), self.posterior_
        if posterior.data.row_noise is not None or isinstance(noise, Heteroscedastic):
            raise ValueError(
                "update needs a single noise variance, and the noise of the new rows isn't known: fit again on all rows"
            )
        self._need_rows("update")
        self._mode_process("update")
        rows: Any = self._validated(numeric(X), reset=False)
        given = self._targets(y, rows)
        noise.require_targets(given, mean="zero")
        if given.ndim != self.y_train_.ndim or given.shape[1:] != self.y_train_.shape[1:]:
            raise ValueError(f"y has shape {given.shape}, but the model was fitted to y of shape {self.y_train_.shape}")
        data, self._held_objective = posterior.data.extended(rows, given), None
        if not noise.is_variational:
            self.posterior_ = posterior.extended(data, self._evidence)
            self.theta_weights_ = self.posterior_.weights
            return self
        found = self._found_noise(self._make_objective(data, posterior.kernels[0]), data)
        assert found.bound is not None
        evidence = replace(self._evidence, value=data.in_units_of_y(found.bound))
        self.posterior_ = replace(posterior, data=data, noise=found.noise, evidence=evidence)
        return self

    def noise_std(self, X: ArrayLike) -> Array:
        """The estimated standard deviation of the noise of a new observation at each row.

        The same at every row unless the noise is heteroscedastic. Several columns of y add an axis at the end.
        """
        rows = self._predict_rows(X)
        return self._stacked(list(np.sqrt(self.posterior_.noise_variance(rows)).T))

    def suggest(self, X_pool: ArrayLike, n: int = 1) -> NDArray[np.intp]:
        """Row numbers of the n points of a pool to measure next: each has the largest variance given those before it.

        This greedily maximizes the joint entropy of f over the batch.
        """
        rows = self._predict_rows(X_pool)
        if positive_integer("n", n) > len(rows):
            raise ValueError(f"n is {n}, but the pool has only {len(rows)} rows")
        return self.posterior_.suggest(rows, n)

    def _mean(self, rows: Array) -> Array:
        return self._stacked(list(self.posterior_.mean(rows).T))

    def _std(self, rows: Array) -> Array:
        return self._stacked([dist.std for dist in self.posterior_.predictive(rows)])

    def _covariance(self, rows: Array) -> Array:
        """(n, n), or (n, n, n_targets) if y has several columns."""
        posterior = self.posterior_
        return self._stacked([posterior.covariance(rows, j, latent=False) for j in posterior.targets])

    def _outputs(self, parts: list[Any]) -> Any:
        return parts[0] if self.posterior_.data.is_single else parts

    def _stacked(self, parts: list[Array]) -> Array:
        return np.array(parts[0]) if self.posterior_.data.is_single else np.stack(parts, axis=-1)

    def _noise(self) -> Noise:
        """The argument `noise` as a value."""
        noise: Any = self.noise
        if isinstance(noise, str):
            if noise not in _NOISES:
                names = ", ".join(f'"{name}"' for name in _NOISES)
                raise ValueError(f"noise must be {names}, a variance, or one for each row; got {noise!r}")
            return _NOISES[noise]()
        return noise if isinstance(noise, Noise) else Gaussian(noise)

    def _check_arguments(self) -> None:
        self._check_learning()
        choice("mean", self.mean, _MEANS)
        choice("tails", self.tails, ("learn", "normal"))
        noise = self._noise()
        if noise.known is not None and noise.is_learned and self.hyperparameters == "fixed":
            raise ValueError(
                "noise=Gaussian(known, additional=True) learns a variance, and needs hyperparameters that are learned; "
                'got hyperparameters="fixed"'
            )
        if self.hyperparameters == "sample" and noise.is_variational:
            raise ValueError('hyperparameters="sample" needs noise="learn" or a known noise variance')

    def _training_data(self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> TrainingData:
        """The table, validated."""
        noise, rows = self._noise(), self._validated(numeric(X))
        try:
            given = self._targets(y, rows)
        except ValueError:
            self._reject_text_targets(y)
            raise
        if given.ndim == 2 and not noise.several_targets:
            if given.shape[1] > 1:
                raise ValueError(
                    f'noise="{noise.name}" needs a single target, and y has {given.shape[1]} columns: fit a model for '
                    "each"
                )
            warn("A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=3)
            given = given[:, 0]
        weight = np.ones(len(rows)) if sample_weight is None else self._weights(sample_weight, rows)
        noise.require_targets(np.where(weight > 0, given.T, np.nan).T, mean=self.mean)
        standardize = noise.center_and_scale if self.standardize and not noise.counts else None
        return TrainingData.of(rows, given, weight, mean=self.mean, known=noise.known, standardize=standardize)

    def _targets(self, y: ArrayLike | None, rows: Array) -> Array:
        """y as an array; raises an error if squares of y or of the rows would overflow."""
        given = targets(y, rows, name=type(self).__name__)
        check_magnitude(rows, columns=getattr(self, "feature_names_in_", None))
        check_magnitude(given, name="y")
        return given

    def _possible_methods(self) -> tuple[tuple[str, ...], str]:
        noise = self._noise()
        return noise.methods, f'noise="{noise.name}"' if noise.is_variational else "a noise variance of zero"

    def _make_objective(self, data: TrainingData, kernel: Kernel) -> Any:
        noise_kernel = self._named_kernel(self._default_name(data.method))
        made = self._noise().objective(data, kernel, noise_kernel, self.hyperparameters == "fixed")
        return replace(made, hyperpriors=self.hyperpriors)

    def _is_integrated(self) -> bool:
        """Whether to average over hyperparameters: there are some, and not too many rows."""
        asked = self.hyperparameters == "integrate" and bool(self.theta_names_)
        return asked and self.hyperpriors and not self._noise().is_variational

    def _sample_hyperparameters(self, objective: Any, data: TrainingData, rng: np.random.Generator) -> None:
        """Chains from around the maximum; `theta_` becomes the mean of their draws."""
        self.draws_, self.thetas_, self.theta_ = sample_hyperparameters(
            objective, self.theta_, variance_factor=data.variance_factor, n_draws=int(self.n_draws), rng=rng
        )
        self.theta_weights_ = np.full(len(self.thetas_), 1 / len(self.thetas_))
        self.result_ = Result(self.draws_.converged, self.draws_.n_evaluations, self.draws_.message)
        if not self.draws_.converged:
            warn(self.draws_.message, ConvergenceWarning, stacklevel=3)

    def _condition(self, objective: Any, data: TrainingData, integrated: float | None) -> None:
        """The posterior at the hyperparameters; `integrated` is the log evidence averaged over them, if it is."""
        noise, factor = self._noise(), data.variance_factor
        found, kernel = self._found_noise(objective, data), objective.kernel_at(self.theta_)
        self.kernel_ = factor * kernel if factor != 1.0 else kernel
        kernels = tuple(map(objective.kernel_at, self.thetas_)) if len(self.thetas_) > 1 else (kernel,)
        tails = (Tails(),) * len(data.scale)
        posterior = noise.posterior(data, kernels, self.theta_weights_, found.noise, tails)
        processes = posterior.processes
        is_learned = not (noise.is_variational or self.hyperparameters == "fixed") and noise.known is None
        if self.tails == "learn" and is_learned:
            posterior = posterior.changed(processes, tails=posterior.learned_tails())
        if integrated is not None:
            # Leave out points of the hyperparameters that hardly change predictions.
            kept, posterior = posterior.thinned(_n_points(len(data.X))[1])
            self.thetas_, self.theta_weights_ = self.thetas_[kept], posterior.weights
            self._add_to_message(f"predictions average over {len(kept)} sets of hyperparameters")
        message, advice = posterior.jitter_report()
        if message:
            self._add_to_message(message)
        if advice:
            warn(f"{message}, {advice}", FitWarning, stacklevel=3)
        evidence = None
        # Draws have no common evidence.
        if self.draws_ is None:
            values = [value for value in (integrated, found.bound, processes[0].log_evidence) if value is not None]
            method = objective.rows.evidence_method if found.bound is None else "elbo"
            method = "laplace" if integrated is not None and method == "exact" else method
            learned = "" if self.hyperparameters == "fixed" else MAXIMISED if integrated is None else INTEGRATED
            base = self._evidence_base(objective.kernel, data, learned)
            evidence = Evidence(data.in_units_of_y(values[0]), method, base)
        self.posterior_ = posterior.changed(posterior.processes, evidence=evidence)

    def _evidence_base(self, kernel: Kernel, data: TrainingData, learned: str) -> str:
        """What the evidence conditions on; `learned` says how hyperparameters were learned, and is empty if they were
        given.

        Standardizing takes part of the model from y: a zero mean becomes the mean of y, and a variance that isn't
        learned is a share of the variance of y; so is the kernel of several targets, each in its own units.
        """
        noise, names = self._noise(), self._feature_names()
        standardize = self.standardize and not noise.counts
        frozen = not data.is_single or not learned or not is_scalable(kernel)
        if learned == INTEGRATED and standardize:
            # The priors of variances are those of standardized targets.
            learned = f"{INTEGRATED}, priors {SCALED}"
        slopes = ", ".join(names[j] for j in data.basis.columns)
        base = evidence_base(
            intercept=FLAT if self.mean != "zero" else "mean of y" if standardize else "",
            slopes=f"{FLAT} ({slopes}, standardized)" if slopes else "",
            noise=(learned or (SCALED if standardize else "")) if noise.is_learned else "",
            kernel=SCALED if standardize and frozen else "",
            hyperparameters=learned if kernel.names else "",
        )
        return noise.evidence_base(base)

    def _found_noise(self, objective: Any, data: TrainingData) -> Found:
        """The noise at the hyperparameters."""
        found: Found = objective.found(data, self.theta_, self.thetas_)
        if found.failure:
            self.result_ = replace(self.result_, converged=False, message=found.failure)
            warn(found.failure, ConvergenceWarning, stacklevel=4)
        return found

    def _mode_process(self, purpose: str) -> Process:
        """The process at the most probable hyperparameters."""
        if self.draws_ is not None:
            raise ValueError(
                f"{purpose} needs a single set of hyperparameters, and these were sampled: fit with "
                'hyperparameters="optimize"'
            )
        return self.posterior_.processes[0]

    @property
    def _accepts_parts(self) -> bool:  # type: ignore[override]
        return not self._unsupported_in_parts()

    def _unsupported_in_parts(self) -> list[str]:
        """Arguments that need more than sums over the rows."""
        noise = self._noise()
        needs_rows = {
            f'method="{self.method}"': self.method not in ("auto", "inducing"),
            f'noise="{noise.name}"': noise.is_variational,
            "a noise variance of zero, or one for each row": isinstance(noise.known, np.ndarray) or noise.known == 0.0,
            "a learned variance on top of a known one": noise.known is not None and noise.is_learned,
            'hyperparameters="sample"': self.hyperparameters == "sample",
        }
        return [what for what, is_given in needs_rows.items() if is_given]

    def _condition_on(self, parts: Parts) -> None:
        """Condition the process, fitted to a sample of the rows, on all of them."""
        posterior = self.posterior_
        data, kernel, level = posterior.data, posterior.kernels[0], float(posterior.noise.rows[0, 0])
        assert data.points is not None and posterior.evidence is not None
        # Inducing points that don't nearly depend on others, in an order in which K_uu has a Cholesky factor.
        data = replace(data, points=InducingFeatures.of(kernel, data.points).points)
        sums = row_sums(type(self).__name__, parts, kernel, data, noise=level)
        value = sums.posterior(kernel, data).log_evidence + sums.copies(level)
        value -= (sums.weight - data.n_coefficients) * math.log(float(data.scale[0]))
        self.posterior_ = replace(posterior, data=data, sums=sums, evidence=replace(posterior.evidence, value=value))
        self._held_objective = None
        self._add_to_message(
            f"hyperparameters from a random sample of {len(data.index):,} rows, the posterior from all"
        )

    def _need_rows(self, what: str) -> None:
        """Raise an error if only sums over the training rows were kept."""
        if self.posterior_.sums is not None:
            raise ValueError(
                f"{what} needs the training rows, but a fit to a table in parts keeps only sums: fit to rows in "
                "memory, or to a sample of them"
            )


def _n_points(n_rows: int) -> tuple[int, int]:
    """Points over which hyperparameters are integrated, and the most of them that predictions use."""
    return next(((n, most) for rows, n, most in _INTEGRATION_POINTS if n_rows <= rows), (1, _INTEGRATION_POINTS[-1][2]))
