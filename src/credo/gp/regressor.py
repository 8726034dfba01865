"""Gaussian-process regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import check_magnitude, numeric, positive_integer
from credo.core.frames import Table
from credo.core.inference import Paths
from credo.core.parts import in_parts, parts_of
from credo.core.seeds import generator
from credo.distributions import Distribution, MultivariateNormal
from credo.gp._counts import require_counts
from credo.gp._data import targets
from credo.gp._gaussian_process import KernelName
from credo.gp._parts import RegressorInParts
from credo.gp._sampling import drawn_summary
from credo.kernels import Kernel

Array = NDArray[np.float64]


class GPRegressor(RegressorInParts):
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
    noise : "learn", "heteroscedastic", "student", "poisson", float or array of shape (n_samples,), default "learn"
        The variance of an observation in the units of y²: learned, learned as a function of x (a second Gaussian
        process on its logarithm, integrated variationally), known, or known for each row. "student" is Student-t noise
        with learned scale and degrees of freedom, for a single column of y: outliers have little influence on f.
        "poisson" is for counts: y is a whole number of mean exp(m(x) + f(x)), see Notes.
    learn_additional_noise : bool, default False
        Add a learned variance to a known one: the noise of row i is ``noise[i]`` plus `additional_noise_variance_`.
        For error bars, ``noise=yerr**2``, that may be too small (a "jitter").
    tails : {"learn", "normal"}, default "learn"
        With a learned noise variance, the leave-one-out residuals tell whether new observations deviate from the
        process by a normal or by a Student-t distribution. "normal" assumes the former.
    standardize : bool, default True
        Standardise y to mean 0 and variance 1 (by median and quartiles, for Student-t noise); a given kernel's variance
        is in these units. The search starts from length scales proportional to the standard deviation of each column.
        Fitted attributes (`kernel_`, `noise_variance_`, `log_evidence_`) are in the units of y. False uses y as it is,
        and starts from the given kernel.
    hyperparameters : {"integrate", "optimize", "fixed", "sample"}, default "integrate"
        "optimize" maximises the evidence. "integrate" averages the evidence over up to 32 points around the maximum, by
        importance sampling from the Laplace approximation of the posterior, and predictions over the few of them that
        give nearly the same average. With more than 1500 rows, where the posterior is narrow, and with a bound
        ("elbo", below), it is the same as "optimize".
        "sample" draws from the posterior by NUTS and averages predictions over the draws (needs the extra ``mcmc``).
        Functions drawn by `paths`, and `suggest`, use the maximum only.
    hyperpriors : bool, default True
        Weak priors, which keep the noise from zero and length scales from infinity, and shrink the length scales of
        one kernel towards a common value while the rows are few. False is plain type-II maximum likelihood.
    method : {"auto", "exact", "state_space", "inducing", "vecchia", "committee"}, default "auto"
        How covariances are represented. "exact" keeps all of them, in O(n³) time and O(n²) memory; the others take time
        proportional to the number of rows. "state_space" is exact as well, for a single column (a time) and the kernels
        `Exponential`, `Matern32`, `Matern52`, `Periodic`, `ZeroMeanPeriodic`, `Cosine`, `Harmonic`, `Linear` and
        `Constant`, their sums and products; a periodic kernel is a sum of many harmonics, which takes longer for few
        rows. "inducing" keeps covariances with a few inducing points, chosen among the rows; `log_evidence_` is a
        lower bound (Titsias 2009). "vecchia" conditions each row on 30 neighbours, for few columns (kriging).
        "committee" has blocks of 500 rows (Liu et al. 2018) and no joint predictions. "auto" is exact up to 5000 rows,
        by whichever of "exact" and "state_space" takes less time; see `method_` and `result_`.
    n_inducing : int, optional
        Largest number of inducing points. By default between 500 and 1500, fewer for more rows.
    n_restarts : int, default 6
        Number of additional random starting points. They are tried on a subset of at most 600 rows; with
        heteroscedastic noise, for the kernel under constant noise, where that search starts.
    max_evaluations : int, default 200
        Limit on the evaluations of the log evidence on all rows. Where it is reached, `result_.converged` is False.
    n_draws : int, default 500
        Draws of each of the four chains of ``hyperparameters="sample"``.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    kernel_ : the fitted kernel, in the units of X and y (of standardised targets, where y has several columns)
    noise_variance_ : variance of an observation, the average where it varies (of a count: its mean)
    additional_noise_variance_ : learned variance beside a known one, with ``learn_additional_noise=True`` (for each
        column of y, if there are several)
    noise_df_ : degrees of freedom of the noise, infinite unless it is Student-t
    log_evidence_, evidence_method_ : log marginal likelihood ln p(y | X) and "exact", or "laplace" where it is
        integrated over the hyperparameters, or a lower bound and "elbo" for heteroscedastic or Student-t noise,
        counts and inducing points; not available for sampled hyperparameters
    evidence_base_ : what the evidence conditions on; evidences of one base compare
    relevance_ : standard deviation divided by length scale, for each column
    relevance_trace_ : the same at each step of the search
    theta_, theta_names_ : the free parameters as a flat, unconstrained vector, the argument of `log_evidence`
    thetas_, theta_weights_ : the vectors that predictions average over, `theta_` first, and their weights
    tails_ : degrees of freedom and scale of standardised residuals, for each column of y
    draws_ : sampled hyperparameters, with R-hat and effective sample sizes
    method_, inducing_points_ : the method that was used, and its inducing points or None
    result_ : whether the search converged

    Notes
    -----
    Several columns of y share the kernel, the noise and the Cholesky factor, each column in units of its own standard
    deviation (of a common one, where the noise is known). Predictions then have one column, or a list with one
    distribution, for each column of y. NaN marks missing entries of y, which are ignored.
    With ``noise="poisson"``, f is the log rate of counts in a single column, y isn't standardised, and the posterior is
    variational. `predict` is the expected count; ``predict_dist(latent=True)`` and `sample` are about the rate, which
    is in the same units. Counts that vary more than Poisson counts of a smooth rate need a kernel with `White`.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = GPRegressor().fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5], [4.5]]).round(2)
    array([ 1.  , -0.98])

    Measurements with error bars that don't explain all of the scatter, which has a standard deviation of 0.3 more:

    >>> from credo.kernels import Matern32
    >>> rng = np.random.default_rng(0)
    >>> t, yerr = np.sort(rng.uniform(0, 20, 300)), rng.uniform(0.05, 0.2, 300)
    >>> y = 3 * np.sin(t) + yerr * rng.normal(size=300) + 0.3 * rng.normal(size=300)
    >>> model = GPRegressor(Matern32(), noise=yerr**2, learn_additional_noise=True).fit(t[:, None], y)
    >>> round(model.additional_noise_variance_**0.5, 1)
    0.3
    """

    _learning = ("integrate", "optimize", "fixed", "sample")

    def __init__(
        self,
        kernel: Kernel | KernelName | None = None,
        *,
        mean: Literal["constant", "zero", "linear"] = "constant",
        noise: float | ArrayLike | Literal["learn", "heteroscedastic", "student", "poisson"] = "learn",
        learn_additional_noise: bool = False,
        tails: Literal["learn", "normal"] = "learn",
        standardize: bool = True,
        hyperparameters: Literal["integrate", "optimize", "fixed", "sample"] = "integrate",
        hyperpriors: bool = True,
        method: Literal["auto", "exact", "state_space", "inducing", "vecchia", "committee"] = "auto",
        n_inducing: int | None = None,
        n_restarts: int = 6,
        max_evaluations: int = 200,
        n_draws: int = 500,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.mean = mean
        self.noise = noise
        self.learn_additional_noise = learn_additional_noise
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
        tags.target_tags.multi_output = not (self._is_student() or self._has_counts())
        tags.target_tags.positive_only = self._has_counts()
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
            A weight of k is the same as k copies of the row.
        column_groups : sequence of n_features labels, optional
            Columns with the same label, such as the 0/1 columns of one categorical variable, share a length scale. For
            the default kernel and kernels given by name; a kernel object has `groups` of its own.
        """
        self._check_arguments()
        self._forget()
        self._rows_in_parts = None
        if in_parts(X, y):
            self._fit_parts(parts_of(X, y, sample_weight), column_groups)
        else:
            self._fit_rows(X, y, sample_weight, column_groups)
        return self

    def log_evidence(self, theta: ArrayLike, *, gradient: bool = True) -> Any:
        """Log marginal likelihood ln p(y | X) at a flat parameter vector, with its gradient by default."""
        check_is_fitted(self)
        self._need_rows("log_evidence")
        value, slope = self._objective().evidence(np.asarray(theta, dtype=np.float64), gradient=gradient)
        natural = self._table().in_units_of_y(value)
        return (natural, slope) if gradient else natural

    @property
    def additional_noise_variance_(self) -> Any:
        check_is_fitted(self)
        if not self.learn_additional_noise:
            raise AttributeError("additional_noise_variance_ needs learn_additional_noise=True")
        variance = self._objective().learned_noise(self.theta_) * self.scale_**2
        return float(variance[0]) if self._single else variance

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
        lines = self.kernel_.entries(self._feature_names())
        for j, variance in enumerate(() if self._has_counts() else np.atleast_1d(self.noise_variance_)):
            lines.append(("noise variance" if self._single else f"noise variance of y{j}", float(variance)))
        if self.learn_additional_noise:
            every = np.atleast_1d(self.additional_noise_variance_)
            names = ["additional noise variance" + ("" if self._single else f" of y{j}") for j in range(len(every))]
            lines += list(zip(names, map(float, every), strict=True))
        if math.isfinite(self.noise_df_):
            lines.append(("noise scale", float(np.sqrt(self.noise_levels_[0]) * self.scale_[0])))
            lines.append(("noise degrees of freedom", self.noise_df_))
        names, values = map(list, zip(*lines, strict=True))
        bound = "at least " if self.evidence_method_ == "elbo" else ""
        return Table(
            f"Gaussian process{' of the log rate of counts' if self._has_counts() else ''}, {self.kernel_!r}",
            {"parameter": names, "estimate": values, "sd": [None] * len(names)},
            notes=(
                f"log evidence {bound}{self.log_evidence_:.2f} on {self._n_observations():g} rows",
                self.result_.message,
            ),
        )

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: Literal[False] = False) -> Distribution: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: Literal[True]) -> MultivariateNormal: ...

    @overload
    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: bool = False) -> Any: ...

    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: bool = False) -> Any:
        """The predictive distribution of new observations; a list of them where y has several columns.

        Parameters
        ----------
        X : array or frame
        latent : bool, default False
            True leaves the noise out: the distribution of f itself, and for counts of the rate.
        joint : bool, default False
            True gives one `MultivariateNormal` over all rows, with their covariances. Where hyperparameters were
            sampled, the noise varies or y is a count, it is the normal distribution of the same mean and covariance.
        """
        rows, predictor = self._predict_rows(X), self._predictor()
        if not joint:
            return self._outputs(predictor.distributions(rows, latent=latent))
        means = predictor.mean(rows)
        return self._outputs(
            [MultivariateNormal(means[:, j], predictor.covariance(rows, j, latent=latent)) for j in predictor.targets]
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
            kernel = self._standard_kernel()
            drawn = [scale * kernel.sample(rows, n, random_state=rng, method=method) for scale in self.scale_]
            drawn = list(map(np.exp, drawn)) if self._has_counts() else drawn
        else:
            drawn = self._predictor().sample(rows, n, rng, method)
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
        process = self._mode_process("paths")
        if not self._single or self._has_counts():
            raise ValueError("paths needs a single target that isn't a count: fit a model for each, or use sample")
        drawn = process.posterior().paths(positive_integer("n", n), generator(random_state))
        return replace(drawn, center=float(self.center_[0]), scale=float(self.scale_[0]))

    def loo(self) -> Any:
        """The prediction of each training target from all the others, in closed form (Rasmussen & Williams 5.10–5.12).

        The hyperparameters are those of all rows, and with Student-t noise or counts also the sites of the others. Of
        a row of weight k, or repeated k times, one observation is left out; one of weight below 1 as a whole.
        Several columns of y give a list.
        """
        check_is_fitted(self)
        self._need_rows("loo")
        return self._outputs(self._predictor().left_out(self.train_index_))

    def _left_out(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None) -> Distribution:
        """As linear models have it; X, y and weight must be those of the fit."""
        return self.loo()

    def update(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add rows at the same hyperparameters, by extending the Cholesky factor.

        Equivalent to a fit on all rows with ``hyperparameters="fixed"``, in O(n²) for each new row. A linear mean is
        fitted again, and with Student-t noise or counts the site of every row. Where the hyperparameters are
        integrated, their points stay and only their weights change.
        """
        check_is_fitted(self)
        if self.known_noise_ is not None or self.noise_process_ is not None:
            raise ValueError(
                "update needs a single noise variance, and the noise of the new rows isn't known: fit again on all rows"
            )
        self._need_rows("update")
        self._mode_process("update")
        rows: Any = self._validated(numeric(X), reset=False)
        given = targets(y, rows, name=type(self).__name__)
        check_magnitude(rows, columns=getattr(self, "feature_names_in_", None))
        check_magnitude(given, name="y")
        if self._has_counts():
            require_counts(given, mean="zero")
        if given.ndim != self.y_train_.ndim or given.shape[1:] != self.y_train_.shape[1:]:
            raise ValueError(f"y has shape {given.shape}, but the model was fitted to y of shape {self.y_train_.shape}")
        seen = ~np.isnan(given.reshape(len(rows), -1)).all(axis=1)
        rows, given = rows[seen], given[seen]
        Y = (given.reshape(len(rows), -1) - self.center_) / self.scale_
        self.train_index_ = np.append(self.train_index_, len(self.weight_) + np.arange(len(rows)))
        before, units = self._predictor().processes, self._table().in_units_of_y(0.0)
        if self._has_bound():
            self.X_train_, self.y_train_ = np.vstack([self.X_train_, rows]), np.concatenate([self.y_train_, given])
            self.weight_ = np.append(self.weight_, np.ones(len(rows)))
            self._held_predictor = self._held_objective = None
            bound = self._keep_noise()
            assert bound is not None
            self.log_evidence_ = self._table().in_units_of_y(bound)
            return self
        after = tuple(
            each.extended(rows, Y, float(noise)) for each, noise in zip(before, self.noise_levels_, strict=True)
        )
        process = after[0]
        self.X_train_, self.y_train_ = process.observations.X, np.concatenate([self.y_train_, given])
        self.weight_, self.train_noise_ = process.observations.weight, process.noise
        self.inducing_points_ = process.observations.representation.points
        # Bayes' rule for the hyperparameters: each point predicted the new rows with some density.
        gains = [new.log_evidence - old.log_evidence for new, old in zip(after, before, strict=True)]
        with np.errstate(divide="ignore"):
            logs = np.log(self.theta_weights_) + gains
        gain = float(logsumexp(logs))
        self.theta_weights_ = np.exp(logs - gain)
        self.log_evidence_ += gain + self._table().in_units_of_y(0.0) - units
        self._held_predictor, self._held_objective = self._make_predictor(after), None
        return self

    def noise_std(self, X: ArrayLike) -> Array:
        """The estimated standard deviation of the noise of a new observation at each row.

        The same at every row unless the noise is heteroscedastic. Several columns of y add an axis at the end.
        """
        std = np.sqrt(self._predictor().noise_variance(self._predict_rows(X)))
        return std[:, 0] if self._single else std

    def suggest(self, X_pool: ArrayLike, n: int = 1) -> NDArray[np.intp]:
        """Row numbers of the n points of a pool to measure next: each has the largest variance given those before it.

        This greedily maximises the joint entropy of f over the batch.
        """
        rows = self._predict_rows(X_pool)
        if positive_integer("n", n) > len(rows):
            raise ValueError(f"n is {n}, but the pool has only {len(rows)} rows")
        return self._predictor().suggest(rows, n)

    def _mean(self, rows: Array) -> Array:
        means = self._predictor().mean(rows)
        return means[:, 0] if self._single else means

    def _std(self, rows: Array) -> Array:
        return self._stacked([dist.std for dist in self._predictor().distributions(rows, latent=False)])

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        return self._outputs(self._predictor().distributions(rows, latent=latent))

    def _covariance(self, rows: Array) -> Array:
        """(n, n), or (n, n, n_targets) where y has several columns."""
        predictor = self._predictor()
        return self._stacked([predictor.covariance(rows, j, latent=False) for j in predictor.targets])

    def _outputs(self, parts: list[Any]) -> Any:
        return parts[0] if self._single else parts

    def _stacked(self, parts: list[Array]) -> Array:
        return np.array(parts[0]) if self._single else np.stack(parts, axis=-1)
