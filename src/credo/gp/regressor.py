"""Exact Gaussian-process regression."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, MultivariateNormal, Normal
from credo.estimator import Regressor, Result, choice, nonnegative, positive_integer
from credo.frames import Table
from credo.gp._problem import Problem, weighted_std
from credo.inference import Conditioned, condition
from credo.kernels import RBF, Kernel
from credo.learning.hyperparameters import Search, search
from credo.seeds import generator

Array = NDArray[np.float64]

# Rows on which the starts are tried before the best one climbs on all rows.
_REHEARSAL = 400
_MEANS = ("zero", "constant", "linear")


class GPRegressor(Regressor):
    """Gaussian-process regression, exact, with hyperparameters at the maximum of the evidence.

    y = m(x) + f(x) + ε with f ~ GP(0, k), ε ~ N(0, σ²), and the coefficients of the mean m integrated out under flat
    priors (Rasmussen & Williams, 2.2 and 2.7).

    Parameters
    ----------
    kernel : Kernel, optional
        Its values are what is used under ``hyperparameters="fixed"``, and one of the starts of a search. By default an
        RBF with one length scale for each column.
    mean : {"constant", "zero", "linear"}, default "constant"
    noise : "learn", float or array of shape (n_samples,), default "learn"
        The variance of an observation in the units of y²: learned, known, or known for each row.
    standardize : bool, default True
        Fit to targets of mean 0 and variance 1, in whose units the given kernel's variances are, and start from length
        scales in proportion to the spread of each column. What is fitted (`kernel_`, `noise_variance_`,
        `log_evidence_`) is in the units of y. False takes y, and the kernel as the start, as they are.
    hyperparameters : {"optimize", "fixed"}, default "optimize"
    hyperpriors : bool, default True
        Weak priors that keep the search from noise zero and infinite length scales; False is pure type-II maximum
        likelihood.
    n_restarts : int, default 2
        Further starts, drawn around the first.
    random_state : int, Generator or None, default 0

    Attributes
    ----------
    kernel_ : the fitted kernel, in the units of X and y
    noise_variance_ : variance of an observation
    log_evidence_, evidence_method_ : ln p(y | X) and "exact"
    relevance_ : standard deviation over length scale of each column, for a kernel with one length scale a column
    theta_ : the flat, unconstrained vector of all free parameters; `log_evidence` takes it
    result_ : how the search ended

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

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        mean: str = "constant",
        noise: str | float | ArrayLike = "learn",
        standardize: bool = True,
        hyperparameters: str = "optimize",
        hyperpriors: bool = True,
        n_restarts: int = 2,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.mean = mean
        self.noise = noise
        self.standardize = standardize
        self.hyperparameters = hyperparameters
        self.hyperpriors = hyperpriors
        self.n_restarts = n_restarts
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table; a weight of k is the same as k copies of the row."""
        rows, target, weight = self._training_rows(X, y, sample_weight)
        choice("mean", self.mean, _MEANS)
        choice("hyperparameters", self.hyperparameters, ("optimize", "fixed"))
        known = self._given_noise(sample_weight, len(target))
        self.X_train_, self.y_train_, self.weight_, self.place_ = _distinct(rows, target, weight, known)
        self.center_, self.scale_ = _center_and_scale(self.y_train_, self.weight_) if self.standardize else (0.0, 1.0)
        problem = self._problem(known)
        if self.hyperparameters == "optimize" and problem.tree.names:
            found = self._search(problem)
            self.theta_, self.result_ = found.best.vector, _result(found)
        else:
            self.theta_, self.result_ = problem.tree.flatten(), Result(True, 0, "the hyperparameters were given")
        kernel, noise = problem.at(self.theta_)
        self.kernel_ = self.scale_**2 * kernel if self.scale_ != 1.0 else kernel
        self.noises_ = self.scale_**2 * (noise / self.weight_ + problem.extra)
        self.noise_variance_ = float(np.average(self.noises_ * self.weight_, weights=self.weight_))
        self.log_evidence_ = self._natural(problem, problem.evidence(self.theta_, gradient=False)[0])
        self.evidence_method_ = "exact"
        self._process: Conditioned | None = self._conditioned()
        self._question: Problem | None = problem
        return self

    def predict_dist(self, X: ArrayLike, *, latent: bool = False, joint: bool = False) -> Any:
        """The predictive distribution of new observations.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        latent : bool, default False
            True leaves the noise out: the distribution of f itself.
        joint : bool, default False
            True gives one `MultivariateNormal` over all rows, with their covariances.
        """
        rows = self._predict_rows(X)
        if not joint:
            return self._dist(rows, latent=latent)
        cov = self._latent_covariance(rows)
        if not latent:
            cov.flat[:: len(cov) + 1] += self.noise_variance_
        return MultivariateNormal(self._mean(rows), cov)

    def sample(
        self, X: ArrayLike, n: int = 1, *, prior: bool = False, random_state: Any = None, method: str = "cholesky"
    ) -> Array:
        """n functions at the rows of X from the posterior, or from the prior of f alone: shape (n, n_samples)."""
        rows = self._predict_rows(X)
        positive_integer("n", n)
        if prior:
            return self.kernel_.sample(rows, n, random_state=random_state, method=method)
        law = MultivariateNormal(self._mean(rows), self._latent_covariance(rows))
        return law.sample(n, random_state=random_state, method=method)  # type: ignore[arg-type]

    def loo(self) -> Normal:
        """The prediction of each training target from all the others, in closed form (Rasmussen & Williams 5.10–5.12).

        The hyperparameters are those of all rows. A row of weight k, or repeated k times, is left out as a whole.
        """
        check_is_fitted(self)
        process = self._fitted_process()
        precision = process.factor.inverse_diagonal()
        slack = process.mean_root()
        precision = precision - np.einsum("ij,ij->i", slack, slack)
        return Normal(self.y_train_ - process.alpha[:, 0] / precision, precision**-0.5)[self.place_]

    def update(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from further rows at the same hyperparameters, by extending the factor.

        Equivalent to a fit on all rows with ``hyperparameters="fixed"``, in O(n²) for each new row.
        """
        check_is_fitted(self)
        if isinstance(self._known_noise(), np.ndarray):
            raise ValueError("the noise of the new rows isn't known: fit again with a noise variance for every row")
        rows, target, _ = self._training_rows(X, y, reset=False)
        cross = self.kernel_._cross(self.X_train_, rows)
        own = self.kernel_.gram(rows)
        noise = np.full(len(rows), self.noise_variance_)
        own.flat[:: len(own) + 1] += noise
        factor = self._fitted_process().factor.extend(cross, own)
        self.X_train_, self.y_train_ = np.vstack([self.X_train_, rows]), np.append(self.y_train_, target)
        self.place_ = np.append(self.place_, len(self.weight_) + np.arange(len(rows)))
        self.weight_, self.noises_ = np.append(self.weight_, np.ones(len(rows))), np.append(self.noises_, noise)
        self._process = Conditioned.of(factor, self._centred_targets(), self._basis(self.X_train_))
        self.log_evidence_ = self._process.log_evidence(self._centred_targets())
        self._question = None
        return self

    def suggest(self, X_pool: ArrayLike, n: int = 1) -> NDArray[np.intp]:
        """Which n rows of a pool to measure next: the one of largest variance, then each given those before it.

        This is the greedy choice of the batch that says most about f (largest joint entropy); returns row numbers.
        """
        rows = self._predict_rows(X_pool)
        if positive_integer("n", n) > len(rows):
            raise ValueError(f"n is {n}, but the pool has only {len(rows)} rows")
        variance = self._dist(rows, latent=True).var.copy()
        cov_columns: list[Array] = []
        chosen: list[int] = []
        for _ in range(n):
            best = int(np.argmax(np.where(np.isin(np.arange(len(rows)), chosen), -np.inf, variance)))
            chosen.append(best)
            column = self._latent_cross(rows, rows[best : best + 1])[:, 0]
            for earlier in cov_columns:
                column = column - earlier * earlier[best]
            column = column / math.sqrt(max(column[best] + self.noise_variance_, np.finfo(float).tiny))
            cov_columns.append(column)
            variance = np.maximum(variance - column**2, 0.0)
        return np.array(chosen, dtype=np.intp)

    def log_evidence(self, theta: ArrayLike, *, gradient: bool = True) -> Any:
        """ln p(y | X) at a flat parameter vector, and its gradient unless that is switched off."""
        check_is_fitted(self)
        problem = getattr(self, "_question", None)
        if problem is None:
            raise ValueError("the evidence at other parameters needs a fit on all rows: fit again after update or load")
        value, slope = problem.evidence(np.asarray(theta, dtype=np.float64), gradient=gradient)
        natural = self._natural(problem, value)
        return (natural, slope) if gradient else natural

    @property
    def relevance_(self) -> Array:
        check_is_fitted(self)
        for path, value in self.kernel_.params.items():
            if path.rpartition(".")[2] == "lengthscale" and np.ndim(value) and len(value) == self.n_features_in_:
                return weighted_std(self.X_train_, self.weight_) / np.asarray(value)
        raise AttributeError("the kernel has no length scale for each column; give it one, as in RBF([1.0, 1.0])")

    def summary(self, *, level: float = 0.95) -> Table:
        """The fitted parameters in natural units."""
        check_is_fitted(self)
        names, values = [], []
        for path, value in self.kernel_.params.items():
            for i, entry in enumerate(np.atleast_1d(value)):
                columns = self._feature_names()
                each = np.ndim(value) and len(np.atleast_1d(value)) == len(columns)
                names.append(f"{path}[{columns[i]}]" if each else path)
                values.append(float(entry))
        names.append("noise variance")
        values.append(self.noise_variance_)
        return Table(
            f"Gaussian process, {self.kernel_!r}",
            {"parameter": names, "estimate": values, "sd": [None] * len(names)},
            notes=(f"log evidence {self.log_evidence_:.2f} on {self.weight_.sum():g} rows", self.result_.message),
        )

    def _mean(self, rows: Array) -> Array:
        return self.center_ + self._fitted_process().mean(self._cross(rows), self._basis(rows))[:, 0]

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        cross, basis = self._cross(rows), self._basis(rows)
        process = self._fitted_process()
        variance = process.variance(self.kernel_._diagonal(rows), cross, basis)
        mean = self.center_ + process.mean(cross, basis)[:, 0]
        return Normal(mean, np.sqrt(variance + (0.0 if latent else self.noise_variance_)))

    def _covariance(self, rows: Array) -> Array:
        cov = self._latent_covariance(rows)
        cov.flat[:: len(cov) + 1] += self.noise_variance_
        return cov

    def _latent_covariance(self, rows: Array) -> Array:
        prior = self.kernel_.gram(rows)
        cov = self._fitted_process().covariance(prior, self._cross(rows), self._basis(rows))
        return 0.5 * (cov + cov.T)

    def _latent_cross(self, rows: Array, others: Array) -> Array:
        """cov(f(rows), f(others)) given the data."""
        process = self._fitted_process()
        a, b = (process.half(self._cross(part)) for part in (rows, others))
        slack_a, slack_b = (process.mean_slack(self._cross(part), self._basis(part)) for part in (rows, others))
        return self.kernel_._cross(rows, others) - a.T @ b + slack_a.T @ slack_b

    def _cross(self, rows: Array) -> Array:
        return self.kernel_._cross(np.ascontiguousarray(rows), self.X_train_)

    def _basis(self, rows: Array) -> Array:
        """The columns H of the mean, centred by the training rows for the sake of digits."""
        if self.mean == "zero":
            return np.empty((len(rows), 0))
        if self.mean == "constant":
            return np.ones((len(rows), 1))
        center = np.average(self.X_train_, axis=0, weights=self.weight_)
        spread = weighted_std(self.X_train_, self.weight_)
        return np.column_stack([np.ones(len(rows)), (rows - center) / np.where(spread > 0, spread, 1.0)])

    def _centred_targets(self) -> Array:
        return (self.y_train_ - self.center_)[:, None]

    def _conditioned(self) -> Conditioned:
        K = self.kernel_.gram(self.X_train_)
        return condition(K, self._centred_targets(), noise=self.noises_, basis=self._basis(self.X_train_))

    def _fitted_process(self) -> Conditioned:
        """The factored process; built again where the model came from a file."""
        process = getattr(self, "_process", None)
        if process is None:
            process = self._process = self._conditioned()
        return process

    def _known_noise(self) -> float | Array | None:
        """The noise variance as given, in the units of y², or None where it is learned."""
        if isinstance(self.noise, str):
            if self.noise != "learn":
                raise ValueError(f'noise must be "learn", a variance, or one for each row; got {self.noise!r}')
            return None
        if np.ndim(self.noise) == 0:
            return nonnegative("noise", self.noise)
        values = np.asarray(self.noise, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
            raise ValueError("noise must hold a finite variance that isn't negative for each row")
        return values

    def _given_noise(self, sample_weight: ArrayLike | None, n_rows: int) -> float | Array | None:
        """The known noise of the rows that carry weight."""
        known = self._known_noise()
        if not isinstance(known, np.ndarray):
            return known
        weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        used = np.broadcast_to(weight > 0, len(known)) if weight.ndim == 0 or len(weight) == len(known) else None
        if used is None or int(used.sum()) != n_rows:
            raise ValueError(f"noise holds {len(known)} variances for {n_rows} rows")
        return known[used]

    def _problem(self, known: float | Array | None) -> Problem:
        n_features = self.X_train_.shape[1]
        kernel = RBF(np.ones(n_features)) if self.kernel is None else self.kernel
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel such as credo.kernels.RBF(); got {kernel!r}")
        scale = self.scale_**2
        each = known if isinstance(known, np.ndarray) else np.zeros(len(self.y_train_))
        single = 0.0 if isinstance(known, np.ndarray) else None if known is None else known / scale
        return Problem(
            kernel=kernel,
            X=np.ascontiguousarray(self.X_train_),
            Y=self._centred_targets() / self.scale_,
            basis=self._basis(self.X_train_),
            noise=0.1 if single is None else single,
            learns_noise=single is None,
            extra=each / self.weight_ / scale,
            weight=self.weight_,
            hyperpriors=self.hyperpriors,
        )

    def _search(self, problem: Problem) -> Search:
        rng = generator(self.random_state)
        first = problem.first_start() if self.standardize else problem.tree.flatten()
        starts = [first, *(first + rng.normal(size=len(first)) for _ in range(int(self.n_restarts)))]
        if self.standardize and self.kernel is not None:
            starts.append(problem.tree.flatten())
        n = len(self.y_train_)
        rehearsal = None
        if n > 1.5 * _REHEARSAL:
            rehearsal = problem.subset(np.sort(rng.permutation(n)[:_REHEARSAL])).objective
        # Where an evaluation costs nothing, the last digits may be had.
        tolerance = 1e-13 if rehearsal is None else 1e-8
        return search(problem.objective, starts, rehearsal=rehearsal, growth=n / _REHEARSAL, tolerance=tolerance)

    def _natural(self, problem: Problem, value: float) -> float:
        """A log evidence of standardised targets as one of y: each dimension stretches by the scale."""
        return value - (float(self.weight_.sum()) - problem.basis.shape[1]) * math.log(self.scale_)


def _distinct(
    rows: Array, target: Array, weight: Array | None, noise: float | Array | None
) -> tuple[Array, Array, Array, NDArray[np.intp]]:
    """The distinct observations in a fixed order, their weights, and where each given row is among them.

    A row that is repeated k times becomes one of weight k: a smaller matrix, and a better conditioned one. Rows with a
    noise of their own stay as they are.
    """
    weight = np.ones(len(target)) if weight is None else weight
    if isinstance(noise, np.ndarray):
        return rows.copy(), target.copy(), weight, np.arange(len(target))
    both, place = np.unique(np.column_stack([rows, target]), axis=0, return_inverse=True)
    return (
        np.ascontiguousarray(both[:, :-1]),
        both[:, -1].copy(),
        np.bincount(place.ravel(), weight).astype(np.float64),
        place.ravel(),
    )


def _center_and_scale(y: Array, weight: Array) -> tuple[float, float]:
    center = float(np.average(y, weights=weight))
    scale = math.sqrt(float(np.average((y - center) ** 2, weights=weight)))
    return center, scale if scale > 1e-12 * abs(center) and scale > 0 else max(abs(center), 1.0)


def _result(found: Search) -> Result:
    if not math.isfinite(found.best.value):
        return Result(
            False, found.best.n_evaluations, "no start gave a matrix that could be factored; try another kernel"
        )
    ending = "a maximum of the evidence" if found.best.converged else (
        "stopped before a maximum was reached: the model may be too free for the data"
    )  # fmt: skip
    if found.gaps:
        ending += f"; other local maxima lie {', '.join(f'{gap:.1f}' for gap in found.gaps[:3])} nats lower"
    return Result(found.best.converged, found.best.n_evaluations, ending)
