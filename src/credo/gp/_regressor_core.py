"""From a regressor's arguments to its fitted attributes, and from those to its objective and its predictor."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning

from credo.core.estimator import (
    INTEGRATED,
    MAXIMISED,
    ConvergenceWarning,
    FitWarning,
    Regressor,
    Result,
    check_magnitude,
    check_places,
    check_positive,
    check_shapes,
    choice,
    numeric,
)
from credo.core.inference import REPRESENTATIONS
from credo.core.learning import Draws, integrate
from credo.core.learning.ascent import curvature_at
from credo.core.linalg import one_blas_thread
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.distributions._student_t import t_variance
from credo.gp._counts import CountObjective, CountPredictor, require_counts, sites_of
from credo.gp._data import Group, targets
from credo.gp._gaussian_process import GaussianProcess, process_base
from credo.gp._heteroscedastic import BOUND_SUBSET, HeteroscedasticObjective, NoiseProcess
from credo.gp._objective import GaussianObjective
from credo.gp._observations import Process
from credo.gp._predictor import Predictor
from credo.gp._row_sums import RowSums, features_of
from credo.gp._sampling import sample_hyperparameters
from credo.gp._search import FEW, SUBSET
from credo.gp._student import MIN_DF, StudentObjective
from credo.gp._tails import Tails
from credo.gp._training import BOUNDS, TrainingTable, known_noise
from credo.kernels import Kernel

Array = NDArray[np.float64]

_MEANS = ("zero", "constant", "linear")
# Up to so many rows, hyperparameters are integrated over so many points, of which predictions use at most so many. The
# more rows, the narrower their posterior, and the more a point costs. With the fewest rows it is skewed.
_POINTS = ((100, 32, 32), (300, 32, 6), (700, 16, 4), (1500, 8, 3))


class RegressorCore(Regressor, GaussianProcess):
    """The base class of `GPRegressor`, which adds the arguments, tables in parts, and what users call.

    The training table is kept in fitted attributes. Objective and predictor are made from it, and aren't saved.
    """

    mean: Literal["constant", "zero", "linear"]
    noise: Any
    learn_additional_noise: bool
    tails: str
    standardize: bool

    kernel_: Kernel
    X_train_: Array
    y_train_: Array
    weight_: Array
    train_index_: NDArray[np.intp]
    train_noise_: Array
    train_targets_: Array | None
    known_noise_: Array | None
    noise_levels_: Array
    noise_variance_: float | Array
    noise_process_: NoiseProcess | None
    noise_df_: float
    center_: Array
    scale_: Array
    draws_: Draws | None
    thetas_: Array
    theta_weights_: Array
    tails_: tuple[Tails, ...]
    row_sums_: RowSums | None

    _held_predictor: Predictor | None

    def _check_state(self) -> None:
        super()._check_state()
        y = "~n" if self._single else "~n t"
        sizes = check_shapes(
            self, {"d": self.n_features_in_}, X_train_="n d", weight_="n", y_train_=y, center_="t", scale_="t",
            train_noise_="n", train_index_="m", noise_levels_="k", known_noise_="n?",
        )  # fmt: skip
        if sizes["t"] != 1 and self._single:
            raise ValueError(f"center_ holds {sizes['t']} values for a single target")
        if np.isinf(self.y_train_).any() or np.isnan(self.y_train_).all(axis=0).any():
            raise ValueError("y_train_ holds values that aren't finite")
        check_places(self, "train_index_", sizes["n"])
        check_positive(self, "weight_")
        check_positive(self, "scale_", square=True)
        check_positive(self, "train_noise_", "noise_levels_", zero=True)
        check_shapes(self, {"p": len(self.theta_), "k": len(self.noise_levels_)}, thetas_="k p", theta_weights_="k")
        check_positive(self, "theta_weights_", zero=True)
        if len(self.tails_) != sizes["t"] or not all(tails.df > 2 and tails.scale > 0 for tails in self.tails_):
            raise ValueError("tails_ must have more than two degrees of freedom and a positive scale for each target")
        if abs(self.theta_weights_.sum() - 1.0) > 1e-6:
            raise ValueError("theta_weights_ must sum to one")
        if not self.noise_df_ > MIN_DF or math.isfinite(self.noise_df_) != self._is_student():
            raise ValueError(
                f'noise_df_ must be more than {MIN_DF:g}, and finite with noise="student" only; it is {self.noise_df_}'
            )
        if self._has_counts():
            check_shapes(self, {"n": sizes["n"]}, train_targets_="n")
            require_counts(self.y_train_, mean=self.mean)
        sums = getattr(self, "row_sums_", None)
        if sums is not None:
            width = 1 + self._table().basis(self.X_train_[:1]).shape[1]
            points = () if self.inducing_points_ is None else self.inducing_points_
            if sums.summary.cross.shape != (len(points), width) or sizes["t"] != 1 or len(self.thetas_) != 1:
                raise ValueError("row_sums_ belong to other inducing points, targets or means")
        if self.noise_process_ is not None and self.noise_process_.X.shape[1] != self.n_features_in_:
            raise ValueError("noise_process_ belongs to another table")
        # The objective is made again from these.
        self._check_arguments()

    def _check_arguments(self) -> None:
        self._check_learning()
        choice("mean", self.mean, _MEANS)
        choice("tails", self.tails, ("learn", "normal"))
        known = known_noise(self.noise)
        if self.learn_additional_noise and (known is None or self.hyperparameters == "fixed"):
            given = 'hyperparameters="fixed"' if known is not None else f'noise="{self.noise}"'
            raise ValueError(
                "learn_additional_noise=True adds a learned variance to known ones, noise=yerr**2, and needs "
                f"hyperparameters that are learned; got {given}"
            )
        if self.hyperparameters == "sample" and self._has_bound():
            raise ValueError('hyperparameters="sample" needs noise="learn" or a known noise variance')

    def _learns_noise(self) -> bool:
        """Whether one noise variance for all rows is learned."""
        return isinstance(self.noise, str) and self.noise == "learn" and self.hyperparameters != "fixed"

    def _n_subset(self) -> int:
        """Rows of the subset on which a search starts: an evaluation of a bound costs several of the evidence."""
        return BOUND_SUBSET if self._has_bound() and len(self.X_train_) > FEW else SUBSET

    def _is_student(self) -> bool:
        return isinstance(self.noise, str) and self.noise == "student"

    def _has_counts(self) -> bool:
        return isinstance(self.noise, str) and self.noise == "poisson"

    def _has_bound(self) -> bool:
        """Whether there is a lower bound in place of the evidence."""
        return isinstance(self.noise, str) and self.noise in BOUNDS

    def _keep_table(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """The training table, as fitted attributes."""
        rows: Any = self._validated(numeric(X))
        try:
            given = targets(y, rows, name=type(self).__name__)
        except ValueError:
            self._refuse_words(y)
            raise
        check_magnitude(rows, columns=getattr(self, "feature_names_in_", None))
        check_magnitude(given, name="y")
        if given.ndim == 2 and (self._is_student() or self._has_counts()):
            if given.shape[1] > 1:
                raise ValueError(
                    f'noise="{self.noise}" needs a single target, and y has {given.shape[1]} columns: fit a model for '
                    "each"
                )
            warn("A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=4)
            given = given[:, 0]
        weight = np.ones(len(rows)) if sample_weight is None else self._weights(sample_weight, rows)
        if self._has_counts():
            require_counts(np.where(weight > 0, given, np.nan), mean=self.mean)
        table, self.train_index_ = TrainingTable.of(
            rows, given, weight, self.noise, standardize=self.standardize, mean=self.mean
        )
        self.X_train_, self.y_train_, self.weight_ = table.X, table.y, table.weight
        self.center_, self.scale_, self.known_noise_ = table.center, table.scale, table.row_noise
        self.row_sums_ = None

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, column_groups: Any) -> None:
        """Fit to rows in memory."""
        self._keep_table(X, y, sample_weight)
        self._keep_groups(column_groups)
        self._choose_method()
        self._held_objective = self._held_predictor = None
        rng = generator(self.random_state)
        with one_blas_thread() if len(self.X_train_) <= FEW else nullcontext():
            curvature = self._learn(rng, from_data=self.standardize, n_subset=self._n_subset())
            self.draws_, self.thetas_, self.theta_weights_ = None, self.theta_[None], np.ones(1)
            integrated = None
            if self.hyperparameters == "sample" and self.theta_names_:
                self._sample_hyperparameters(rng)
            elif self.hyperparameters == "integrate" and self.theta_names_:
                integrated = self._integrate_hyperparameters(curvature)
            self._finish(integrated)

    def _possible_methods(self) -> tuple[tuple[str, ...], str]:
        known = known_noise(self.noise)
        if known is not None and not np.all(known) and not self.learn_additional_noise:
            return ("exact", "state_space"), "a noise variance of zero"
        if self._has_bound():
            return ("exact", "state_space", "inducing"), f'noise="{self.noise}"'
        return tuple(REPRESENTATIONS), ""

    def _table(self) -> TrainingTable:
        return TrainingTable(
            self.X_train_, self.y_train_, self.weight_, self.center_, self.scale_, self.known_noise_, self.mean,
            *self._representation_settings(),
        )  # fmt: skip

    @property
    def _single(self) -> bool:
        """Whether y has one column."""
        return self.y_train_.ndim == 1

    def _make_objective(
        self, kernel: Kernel
    ) -> GaussianObjective | HeteroscedasticObjective | StudentObjective | CountObjective:
        table = self._table()
        if self._has_counts():
            return table.count_objective(kernel, hyperpriors=self.hyperpriors)
        if self._is_student():
            return table.student_objective(kernel, hyperpriors=self.hyperpriors)
        if self._has_bound():
            noise_kernel = self._named_kernel(self._default_kernel())
            return table.heteroscedastic_objective(kernel, noise_kernel, hyperpriors=self.hyperpriors)
        fixed = self.hyperparameters == "fixed"
        additional = self.learn_additional_noise
        return table.objective(kernel, self.noise, additional=additional, fixed=fixed, hyperpriors=self.hyperpriors)

    def _integrate_hyperparameters(self, curvature: Array | None) -> float | None:
        """Replace the maximum by weighted points around it and return the integrated evidence; None for many rows."""
        objective = self._objective()
        n = next((n for rows, n, _ in _POINTS if objective.n_rows <= rows), 1)
        if n == 1 or self._has_bound() or not self.hyperpriors or self._rows_in_parts is not None:
            return None
        if curvature is None or not np.isfinite(curvature).all():
            curvature = curvature_at(objective.log_posterior, self.theta_)
        found = integrate(objective.log_posterior_value, self.theta_, curvature, n, skewed=n == _POINTS[0][1])
        self.thetas_, self.theta_weights_ = found.points, found.weights
        return found.log_value

    def _sample_hyperparameters(self, rng: np.random.Generator) -> None:
        """Chains from around the maximum; `theta_` becomes the mean of their draws."""
        found = sample_hyperparameters(
            self._objective(),
            self.theta_,
            variance_factor=self._table().variance_factor,
            n_draws=int(self.n_draws),
            rng=rng,
        )
        self.draws_, self.thetas_, self.theta_ = found.draws, found.thetas, found.center
        self.theta_weights_ = np.full(len(found.thetas), 1 / len(found.thetas))
        self.result_ = Result(self.draws_.converged, self.draws_.n_evaluations, self.draws_.message)
        if not self.draws_.converged:
            warn(self.draws_.message, ConvergenceWarning, stacklevel=4)

    def _finish(self, integrated: float | None) -> None:
        """What follows from the hyperparameters; `integrated` is the log evidence averaged over them, if it is."""
        objective, table = self._objective(), self._table()
        bound = self._keep_noise()
        kernel, factor = objective.kernel_at(self.theta_), table.variance_factor
        self.kernel_ = factor * kernel if factor != 1.0 else kernel
        variance = self.noise_levels_[0] * t_variance(self.noise_df_) * self.scale_**2
        self.noise_variance_ = float(variance[0]) if self._single else variance
        self.tails_ = (Tails(),) * len(self.scale_)
        process = self._predictor().processes[0]
        if self.tails == "learn" and self._learns_noise():
            self.tails_ = self._predictor().learned_tails()
            self._held_predictor = self._make_predictor(self._predictor().processes)
        if integrated is not None:
            self._keep_few_points()
        self._report_jitter()
        if self.draws_ is None:
            # No number stands for the evidence of all draws.
            values = [value for value in (integrated, bound, process.log_evidence) if value is not None]
            self.log_evidence_ = table.in_units_of_y(values[0])
            method = objective.rows.evidence_method if bound is None else "elbo"
            self.evidence_method_ = "laplace" if integrated is not None and method == "exact" else method
            names = self._feature_names()
            self.evidence_base_ = process_base(
                self._first_kernel(),
                mean=self.mean,
                slopes=[names[j] for j in table.basis.columns],
                standardize=self.standardize and not self._has_counts(),
                learned="" if self.hyperparameters == "fixed" else MAXIMISED if integrated is None else INTEGRATED,
                noise_known=self._has_counts()
                or (known_noise(self.noise) is not None and not self.learn_additional_noise),
                several=not self._single,
            )
            if self._has_counts():
                self.evidence_base_ = self.evidence_base_.replace("intercept", "intercept of the log rate")
            if math.isfinite(self.noise_df_):
                # Outliers don't change how y is standardised.
                self.evidence_base_ = self.evidence_base_.replace("mean of y", "median of y").replace(
                    "variance of y", "interquartile range of y"
                )

    def _keep_noise(self) -> float | None:
        """The noise, as fitted attributes; returns the lower bound that takes the place of the evidence, or None.

        `noise_levels_` are average variances, or the squared scale of Student-t noise. Counts are replaced by
        `train_targets_`, normal observations of the log rate.
        """
        objective, index = self._objective(), self._table().merged.index
        self.noise_process_, self.noise_df_, bound = None, math.inf, None
        count, self.train_targets_ = objective.observations.count, None
        if isinstance(objective, CountObjective):
            found = objective.sites_at(self.theta_, self.y_train_, self.weight_, index)
            self.train_targets_, self.train_noise_, bound, ending = found
            self.noise_levels_ = np.array([float((1.0 / self.train_noise_).sum() / self.weight_.sum())])
            if not ending.converged:
                self.result_ = replace(self.result_, converged=False, message=ending.message)
                warn(ending.message, ConvergenceWarning, stacklevel=5)
            return bound
        if isinstance(objective, StudentObjective):
            likelihood = objective.noise(self.theta_)
            self.train_noise_, bound = objective.noise_at(self.theta_)
            self.noise_levels_, self.noise_df_ = np.array([likelihood.scale**2]), likelihood.df
            return bound
        if isinstance(objective, HeteroscedasticObjective):
            noise, bound, self.noise_process_ = objective.noise_at(self.theta_, self.method)
            noises = [noise]
        else:
            noise = objective.noise_at(self.theta_)
            noises = [objective.noise_at(theta) for theta in self.thetas_]
        self.noise_levels_ = np.array([float(np.average(each, weights=count)) for each in noises])
        self.train_noise_ = noise[index]
        return bound

    def _keep_few_points(self) -> None:
        """Leave out points of the hyperparameters that change predictions by next to nothing."""
        most = next((most for rows, _, most in _POINTS if len(self.X_train_) <= rows), _POINTS[-1][2])
        predictor = self._predictor()
        if most < len(predictor.processes):
            kept, self.theta_weights_ = predictor.few(most)
            self.thetas_, self.noise_levels_ = self.thetas_[kept], self.noise_levels_[kept]
            self._held_predictor = self._make_predictor(tuple(predictor.processes[k] for k in kept))
        message = f"{self.result_.message}; predictions average over {len(self.thetas_)} sets of hyperparameters"
        self.result_ = replace(self.result_, message=message)

    def _report_jitter(self) -> None:
        """Say in the result's message that the covariance needed jitter, and warn if it isn't negligible."""
        message, advice = self._predictor().jitter_report()
        if message:
            self.result_ = replace(self.result_, message=f"{self.result_.message}; {message}")
        if advice:
            warn(f"{message}, {advice}", FitWarning, stacklevel=5)

    def _predictor(self) -> Predictor:
        """Made from fitted attributes, and made again after the model was loaded."""
        held = getattr(self, "_held_predictor", None)
        if held is None:
            # In one thread where it is quicker, so that a loaded model predicts exactly what the fitted one did.
            with one_blas_thread() if len(self.X_train_) <= FEW else nullcontext():
                held = self._held_predictor = self._make_predictor(self._processes())
        return held

    def _processes(self) -> tuple[Process, ...]:
        """The conditioned process, or one for each point or draw of the hyperparameters."""
        table = self._table()
        kernel = self._standard_kernel()
        observations = table.observations(kernel)
        sums: RowSums | None = getattr(self, "row_sums_", None)
        if sums is not None:
            assert self.inducing_points_ is not None
            posterior = sums.posterior(features_of(kernel, self.inducing_points_), table.basis)
            every = Group(np.arange(len(self.X_train_)), np.zeros(1, dtype=np.intp))
            return (Process(observations, kernel, self.train_noise_, ((every, posterior),)),)
        if table.points is None:
            observations = observations.adapted(kernel)
        if self._has_counts():
            assert self.train_targets_ is not None
            observations = sites_of(observations, self.train_targets_)
        if len(self.thetas_) == 1:
            return (observations.condition(kernel, self.train_noise_),)
        objective, index = self._objective(), table.merged.index
        return tuple(
            observations.condition(objective.kernel_at(theta), objective.noise_at(theta)[index])
            for theta in self.thetas_
        )

    def _standard_kernel(self) -> Kernel:
        """`kernel_` in the units of standardised targets."""
        factor = self._table().variance_factor
        return self.kernel_ if factor == 1.0 else (1.0 / factor) * self.kernel_

    def _make_predictor(self, processes: tuple[Process, ...]) -> Predictor:
        weights, noise, kind = self.theta_weights_, self.noise_levels_, Predictor
        if self._has_counts():
            noise, kind = np.array([self.train_noise_.min()]), CountPredictor
        return kind(
            processes, weights, noise, self.noise_process_, self.noise_df_, self.center_, self.scale_, self.tails_
        )

    def _mode_process(self, purpose: str) -> Process:
        """The process at the most probable hyperparameters."""
        if self.draws_ is not None:
            raise ValueError(
                f"{purpose} needs a single set of hyperparameters, and these were sampled: fit with "
                'hyperparameters="optimize"'
            )
        return self._predictor().processes[0]
