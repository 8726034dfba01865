"""Methods of a fitted Gaussian process: predictions, draws, leave-one-out, updates, and where to measure next."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, Mixture, MultivariateNormal, Normal
from credo.estimator import (
    FitWarning,
    Regressor,
    check_places,
    check_positive,
    check_shapes,
    numeric,
    positive_integer,
)
from credo.gp._batch import greedy_batch
from credo.gp._data import MeanBasis, targets
from credo.gp._marginal import Marginal
from credo.gp._noise_process import EXTREME, NoiseProcess
from credo.gp._problem import Noisy
from credo.gp._process import Process
from credo.gp._search import FEW
from credo.gp.paths import Paths, draw_paths
from credo.inference import Conditioned
from credo.kernels import Kernel
from credo.kernels._draws import draws
from credo.linalg import one_blas_thread
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]

# A jitter up to this share of the noise variance is negligible; without noise, of this share of the kernel's variance.
_NEGLIGIBLE, _ROUNDING = 0.01, 1e-9

# Nodes of the quadrature over the log noise.
_NODES = 9


class FittedProcess(Regressor):
    """The methods of a fitted Gaussian-process regressor; a subclass fits it and writes `_build`.

    The processes are in units in which `kernel_` is the kernel of every target: y = center_ + unit_·f.
    """

    kernel_: Kernel
    X_train_: Array
    y_train_: Array
    weight_: Array
    place_: NDArray[np.intp]
    center_: Array
    scale_: Array
    unit_: Array
    single_: bool
    noises_: Array
    noise_levels_: Array
    noise_process_: NoiseProcess | None
    row_noise_: Array | None

    def _check_state(self) -> None:
        super()._check_state()
        sizes = {"d": self.n_features_in_}
        y = "~n" if self.single_ else "~n t"
        sizes = check_shapes(
            self, sizes, X_train_="n d", weight_="n", y_train_=y, center_="t", scale_="t", unit_="t", noises_="n",
            place_="m", noise_levels_="k", row_noise_="n?",
        )  # fmt: skip
        if sizes["t"] != 1 and self.single_:
            raise ValueError(f"center_ holds {sizes['t']} values for a single target")
        if np.isinf(self.y_train_).any() or np.isnan(self.y_train_).all(axis=0).any():
            raise ValueError("y_train_ holds values that aren't finite")
        check_places(self, "place_", sizes["n"])
        check_positive(self, "weight_", "scale_", "unit_")
        check_positive(self, "noises_", "noise_levels_", zero=True)

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
        X : array or frame of shape (n_samples, n_features)
        latent : bool, default False
            True leaves the noise out: the distribution of f itself.
        joint : bool, default False
            True gives one `MultivariateNormal` over all rows, with their covariances. Where hyperparameters were
            sampled or the noise varies, it is the normal distribution of the same mean and covariance.
        """
        rows = self._predict_rows(X)
        if not joint:
            return self._outputs(self._dists(rows, latent=latent))
        means = self._means(rows)
        laws = [
            MultivariateNormal(means[:, j], self._total_covariance(rows, j, latent=latent)) for j in self._columns()
        ]
        return self._outputs(laws)

    def sample(
        self, X: ArrayLike, n: int = 1, *, prior: bool = False, random_state: Any = None, method: str = "cholesky"
    ) -> Array:
        """n functions at the rows of X from the posterior, or from the prior of f alone: shape (n, n_samples).

        Several columns of y add an axis at the end.
        """
        rows = self._predict_rows(X)
        positive_integer("n", n)
        rng = generator(random_state)
        if prior:
            drawn = [
                self.unit_[j] * self.kernel_.sample(rows, n, random_state=rng, method=method) for j in self._columns()
            ]
            return drawn[0] if self.single_ else np.stack(drawn, axis=-1)
        processes = self._processes()
        counts = np.bincount(rng.integers(len(processes), size=n), minlength=len(processes))
        drawn = []
        for j in self._columns():
            parts = [
                self._functions(processes[k], j, rows, count, rng, method) for k, count in enumerate(counts) if count
            ]
            drawn.append(rng.permutation(np.concatenate(parts)) if len(parts) > 1 else parts[0])
        return drawn[0] if self.single_ else np.stack(drawn, axis=-1)

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
        process = self._only_process("paths")
        if not self.single_:
            raise ValueError("paths needs a single target: fit a model for each column of y")
        return draw_paths(
            process.parts[0][1],
            kernel=process.kernel,
            X=process.X,
            y=self.y_train_,
            noise=process.noise,
            basis=process.basis,
            center=float(self.center_[0]),
            n=positive_integer("n", n),
            random_state=random_state,
        )

    def loo(self) -> Any:
        """The prediction of each training target from all the others, in closed form (Rasmussen & Williams 5.10–5.12).

        The hyperparameters are those of all rows. A row of weight k, or repeated k times, is left out as a whole.
        Several columns of y give a list.
        """
        check_is_fitted(self)
        found = [process.left_out() for process in self._processes()]
        laws = []
        for j in self._columns():
            parts = [Normal(*self._in_units(mean[:, j], variance[:, j], j))[self.place_] for mean, variance in found]
            laws.append(parts[0] if len(parts) == 1 else Mixture(parts, np.full(len(parts), 1 / len(parts))))
        return self._outputs(laws)

    def update(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add rows at the same hyperparameters, by extending the Cholesky factor.

        Equivalent to a fit on all rows with ``hyperparameters="fixed"``, in O(n²) for each new row. A linear mean is
        fitted again.
        """
        check_is_fitted(self)
        if self.row_noise_ is not None or self.noise_process_ is not None:
            raise ValueError(
                "update needs a single noise variance, and the noise of the new rows isn't known: fit again on all rows"
            )
        process = self._only_process("update")
        rows: Any = self._validated(numeric(X), reset=False)
        given = targets(y, rows, name=type(self).__name__)
        self._refuse_extremes(given)
        if given.ndim != self.y_train_.ndim or given.shape[1:] != self.y_train_.shape[1:]:
            raise ValueError(f"y has shape {given.shape}, but the model was fitted to y of shape {self.y_train_.shape}")
        seen = ~np.isnan(given.reshape(len(rows), -1)).all(axis=1)
        rows, given = rows[seen], given[seen]
        Y = (given.reshape(len(rows), -1) - self.center_) / self.unit_
        weight = np.append(self.weight_, np.ones(len(rows)))
        basis = MeanBasis.of(process.basis.kind, np.vstack([self.X_train_, rows]), weight)
        process = process.extended(rows, Y, np.full(len(rows), self.noise_levels_[0]), basis)
        self.X_train_, self.y_train_ = process.X, np.concatenate([self.y_train_, given])
        self.place_ = np.append(self.place_, len(self.weight_) + np.arange(len(rows)))
        self.weight_, self.noises_ = weight, process.noise
        self._held: tuple[Process, ...] | None = (process,)
        self._question: Noisy | None = None
        self.log_evidence_ = self._log_density(process)
        return self

    def noise_std(self, X: ArrayLike) -> Array:
        """The estimated standard deviation of the noise of a new observation at each row.

        The same at every row unless the noise is heteroscedastic. Several columns of y add an axis at the end.
        """
        rows = self._predict_rows(X)
        laws = [self._noises(rows, k) for k in range(len(self._processes()))]
        variance = np.mean([sum(w * v for w, v in law) / sum(w for w, _ in law) for law in laws], axis=0)
        noise = np.sqrt(np.broadcast_to(variance, len(rows)))
        return noise * self.unit_[0] if self.single_ else noise[:, None] * self.unit_

    def suggest(self, X_pool: ArrayLike, n: int = 1) -> NDArray[np.intp]:
        """Row numbers of the n points of a pool to measure next: each has the largest variance given those before it.

        This greedily maximises the joint entropy of f over the batch.
        """
        rows = self._predict_rows(X_pool)
        if positive_integer("n", n) > len(rows):
            raise ValueError(f"n is {n}, but the pool has only {len(rows)} rows")
        process = self._processes()[0]
        noise = sum(weight * variance for weight, variance in self._noises(rows))
        return greedy_batch(
            process.moments(rows)[1].mean(axis=1),
            lambda i: process.cross_covariance(rows, rows[i : i + 1])[:, 0],
            np.broadcast_to(noise, len(rows)),
            n,
        )

    def _mean(self, rows: Array) -> Array:
        means = self._means(rows)
        return means[:, 0] if self.single_ else means

    def _std(self, rows: Array) -> Array:
        parts = [law.std for law in self._dists(rows, latent=False)]
        return np.array(parts[0]) if self.single_ else np.stack(parts, axis=-1)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        return self._outputs(self._dists(rows, latent=latent))

    def _covariance(self, rows: Array) -> Array:
        """(n, n), or (n, n, n_targets) where y has several columns."""
        parts = [self._total_covariance(rows, j, latent=False) for j in self._columns()]
        return parts[0] if self.single_ else np.stack(parts, axis=-1)

    def _columns(self) -> range:
        return range(len(self.unit_))

    def _outputs(self, laws: list[Any]) -> Any:
        return laws[0] if self.single_ else laws

    def _in_units(self, mean: Array, variance: Array, j: int) -> tuple[Array, Array]:
        """Mean and standard deviation of target j in the units of y."""
        return self.center_[j] + self.unit_[j] * mean, self.unit_[j] * np.sqrt(variance)

    def _means(self, rows: Array) -> Array:
        """E f in the units of y: (n_rows, n_targets)."""
        means = [process.mean(rows) for process in self._processes()]
        return self.center_ + self.unit_ * np.mean(means, axis=0)

    def _dists(self, rows: Array, *, latent: bool) -> list[Distribution]:
        """One distribution for each target: normal, or a mixture over noises and draws of the hyperparameters."""
        parts: list[list[Normal]] = [[] for _ in self._columns()]
        weights = []
        for k, process in enumerate(self._processes()):
            mean, variance = process.moments(rows)
            for weight, noise in [(1.0, 0.0)] if latent else self._noises(rows, k):
                weights.append(weight)
                for j in self._columns():
                    parts[j].append(Normal(*self._in_units(mean[:, j], variance[:, j] + noise, j)))
        share = np.array(weights) / np.sum(weights)
        return [components[0] if len(components) == 1 else Mixture(components, share) for components in parts]

    def _noises(self, rows: Array, k: int = 0) -> list[tuple[float, Any]]:
        """Weights and values of a new observation's noise variance, for draw k of the hyperparameters."""
        if self.noise_process_ is None:
            return [(1.0, float(self.noise_levels_[k]))]
        mean, variance = self.noise_process_.log_variance(rows)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        # Far from the data the log variance has the spread of its prior, of which no more is believed than in a fit.
        unit = 2.0 * np.log(self.scale_[0] / self.unit_[0])
        logs = [np.clip(mean + node * np.sqrt(variance), unit - EXTREME, unit + EXTREME) for node in nodes]
        return [(w, np.exp(log)) for log, w in zip(logs, weights / weights.sum(), strict=True)]

    def _total_covariance(self, rows: Array, j: int, *, latent: bool) -> Array:
        """cov of the observations, or of f, over all draws of the hyperparameters, in the units of y²."""
        processes = self._processes()
        cov: Array = np.mean([process.covariance(rows, target=j) for process in processes], axis=0)
        if len(processes) > 1:
            means = np.stack([process.mean(rows)[:, j] for process in processes])
            cov = cov + np.cov(means.T, bias=True)
        if not latent:
            noises = [sum(w * v for w, v in self._noises(rows, k)) for k in range(len(processes))]
            cov[np.diag_indices(len(rows))] += np.mean(noises, axis=0)
        return self.unit_[j] ** 2 * cov

    def _functions(self, process: Process, j: int, rows: Array, n: int, rng: np.random.Generator, method: Any) -> Array:
        """n draws of f from one process."""
        deviations = draws(process.covariance(rows, target=j), n, random_state=rng, method=method)
        return self.center_[j] + self.unit_[j] * (process.mean(rows)[:, j] + deviations)

    def _report_jitter(self, process: Process) -> None:
        """Say in the result's message that the covariance needed jitter, and warn if it isn't negligible."""
        jitter = max(given.factor.jitter for _, given in process.parts)
        if not jitter:
            return
        noise = float(self.noise_levels_[0])
        share = f"{100 * jitter / noise:.2g} % of the noise variance" if noise > 0 else "the noise variance is 0"
        message = (
            "the covariance matrix is numerically singular, so a jitter of "
            f"{jitter * float(np.mean(self.unit_**2)):.2g} ({share}) was added to its diagonal"
        )
        self.result_ = replace(self.result_, message=f"{self.result_.message}; {message}")
        if jitter > _NEGLIGIBLE * (noise or _ROUNDING * float(np.mean(self.kernel_.diagonal(self.X_train_)))):
            warn(
                f"{message}, which acts as additional noise: use a larger noise variance, remove rows that nearly "
                "repeat others, or use a rougher kernel such as Matern52",
                FitWarning,
                stacklevel=4,
            )

    def _log_density(self, process: Process) -> float:
        """ln p(y) of a process, in the units of y."""
        marginal = Marginal(process.X, process.Y, process.basis(process.X), self.weight_, np.zeros(len(process.X)))
        copies, _ = marginal.copies(process.noise * self.weight_)
        return process.log_evidence() + copies - float(self._dimensions() @ np.log(self.unit_))

    def _dimensions(self) -> Array:
        """Observations of each target, less the coefficients of the mean."""
        seen = ~np.isnan(self.y_train_.reshape(len(self.X_train_), -1))
        return (self.weight_[:, None] * seen).sum(axis=0) - self._basis(self.X_train_[:1]).shape[1]

    def _processes(self) -> tuple[Process, ...]:
        """The factored processes, one for each draw of the hyperparameters; built again after a file was loaded."""
        held = getattr(self, "_held", None)
        if held is None:
            # In one thread where it is quicker, so that a loaded model computes to the bit what the fitted one did.
            with one_blas_thread() if len(self.X_train_) <= FEW else nullcontext():
                held = self._held = self._build()
        return held

    def _only_process(self, purpose: str) -> Process:
        processes = self._processes()
        if len(processes) > 1:
            raise ValueError(
                f"{purpose} needs a single set of hyperparameters, and these were sampled: fit with "
                'hyperparameters="optimize"'
            )
        return processes[0]

    def _fitted_process(self) -> Conditioned:
        """What the first target was conditioned on."""
        return self._processes()[0].parts[0][1]

    def _basis(self, rows: Array) -> Array:
        return self._processes()[0].basis(rows)

    def _build(self) -> tuple[Process, ...]:
        raise NotImplementedError
