"""Minimizing a function that is costly to evaluate, and perhaps noisy, over a box."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats.qmc import Sobol
from sklearn.base import clone

from credo.core.estimator import positive_integer
from credo.core.linalg import one_blas_thread
from credo.core.seeds import generator
from credo.gp.acquisition import LogImprovement, LogSuccess, ascend
from credo.gp.regressor import GPRegressor
from credo.kernels import Matern52

Array = NDArray[np.float64]

# Hyperparameters are fitted at every step up to this many points, and afterwards whenever the number of points has
# grown by this factor since the last fit.
_REFIT_POINTS, _REFIT_GROWTH = 10, 1.2
# Candidates over the whole box (a power of two, in which Sobol points are balanced) and around each of the best points
# so far, and how many of either kind start a local search.
_N_WIDE, _N_NEAR, _N_CENTERS, _N_STARTS = 1024, 64, 3, 2
# Points of the unit cube closer than the first are the same; of those closer than the second, only one is measured.
_SAME_DISTANCE, _MIN_DISTANCE = 1e-9, 1e-3
_SCALES = ("log", "integer")


@dataclass(frozen=True)
class Best:
    """The point with the smallest posterior mean among those measured.

    `x`, `y` and `index` are the point, the value measured there, and its row in the history; `mean` and `std` are the
    model's prediction of the function there, without noise.
    """

    x: Array
    y: float
    index: int
    mean: float
    std: float


@dataclass(frozen=True)
class History:
    """All measurements in order: points `X`, values `y` (NaN if one failed), and the smallest value so far."""

    X: Array
    y: Array
    running_minimum: Array


@dataclass(frozen=True)
class Box:
    """A box and its map to the unit cube: linear, by the logarithm, or in steps of whole numbers."""

    low: Array
    high: Array
    log: NDArray[np.bool_]
    integer: NDArray[np.bool_]
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, bounds: Any) -> Box:
        """From a list of (low, high) or a dict of name -> (low, high), each optionally with a scale as third entry."""
        names = tuple(str(name) for name in bounds) if isinstance(bounds, Mapping) else None
        entries = list(bounds.values() if isinstance(bounds, Mapping) else bounds)
        if not entries:
            raise ValueError("bounds is empty: give a (low, high) pair for each dimension")
        sides = [_side(f"bounds of {_title(names, i)}", entry) for i, entry in enumerate(entries)]
        low, high, scales = zip(*sides, strict=True)
        scale = np.array(scales)
        return cls(np.array(low), np.array(high), scale == "log", scale == "integer", names)

    @property
    def n_dims(self) -> int:
        return len(self.low)

    def unit(self, X: Array) -> Array:
        """Points of the box as points of the unit cube; whole numbers sit in the middle of their cells."""
        low, width = self._ends()
        return np.clip((self._transformed(X) - low) / width, 0.0, 1.0)

    def natural(self, U: Array) -> Array:
        """Points of the unit cube as points of the box."""
        low, width = self._ends()
        flat = low + U * width
        with np.errstate(over="ignore"):
            X = np.where(self.log, np.exp(flat), np.where(self.integer, np.round(flat), flat))
        return np.clip(X, self.low, self.high)

    def snapped(self, U: Array) -> Array:
        """The nearest points of the unit cube whose integer dimensions are whole numbers in the box."""
        return self.unit(self.natural(U)) if self.integer.any() else U

    def rows(self, X: Any) -> Array:
        """X as points inside the box, a single point as one row; named dimensions take a mapping too."""
        if isinstance(X, Mapping) and self.names is not None:
            if set(map(str, X)) != set(self.names):
                raise ValueError(f"X must name the dimensions {', '.join(self.names)}; it has {list(X)}")
            X = np.column_stack([np.atleast_1d(X[name]) for name in self.names])
        columns = getattr(X, "columns", None)
        if self.names is not None and columns is not None and [str(c) for c in columns] != list(self.names):
            raise ValueError(f"X must have the columns {', '.join(self.names)} in this order; it has {list(columns)}")
        rows = np.asarray(X, dtype=np.float64)
        rows = rows[None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != self.n_dims:
            raise ValueError(f"X must have shape (n, {self.n_dims}), a column for each dimension; got {rows.shape}")
        slack = 1e-9 * (self.high - self.low)
        bad = ~((rows >= self.low - slack) & (rows <= self.high + slack)) | (self.integer & (rows != np.round(rows)))
        if bad.any():
            i, d = (int(k) for k in np.argwhere(bad)[0])
            kind = "a whole number" if self.integer[d] else "a number"
            raise ValueError(
                f"row {i} of X has {rows[i, d]:.6g} for {_title(self.names, d)}, which must be {kind} from "
                f"{self.low[d]:.6g} to {self.high[d]:.6g}: leave the row out, or make a Minimizer with wider bounds"
            )
        return np.clip(rows, self.low, self.high)

    def title(self) -> str:
        """The dimensions with their bounds, for messages."""
        return ", ".join(
            f"{_title(self.names, d)} in [{self.low[d]:.6g}, {self.high[d]:.6g}]" for d in range(self.n_dims)
        )

    def _ends(self) -> tuple[Array, Array]:
        margin = np.where(self.integer, 0.5, 0.0)
        low, high = self._transformed(self.low) - margin, self._transformed(self.high) + margin
        return low, high - low

    def _transformed(self, X: Array) -> Array:
        return np.where(self.log, np.log(np.where(self.log, X, 1.0)), X)


def _title(names: Sequence[str] | None, i: int) -> str:
    return f"dimension {i}" if names is None else names[i]


def _side(name: str, entry: Any) -> tuple[float, float, str]:
    """Low, high and scale of one dimension."""
    try:
        low, high, *scale = entry
        low, high = float(low), float(high)
    except (TypeError, ValueError):
        raise ValueError(f'{name} must be a pair (low, high), or (low, high, "log"); got {entry!r}') from None
    if scale and (len(scale) > 1 or scale[0] not in _SCALES):
        raise ValueError(f'{name} may end in "log" or "integer", and nothing else; got {entry!r}')
    if not (math.isfinite(low) and math.isfinite(high) and low < high and math.isfinite(high - low)):
        raise ValueError(f"{name} must be finite, with low below high; got ({low:.6g}, {high:.6g})")
    if scale == ["log"] and low <= 0:
        raise ValueError(f"{name} must be positive for a logarithmic scale; got ({low:.6g}, {high:.6g})")
    if scale == ["integer"] and (low != round(low) or high != round(high)):
        raise ValueError(f"{name} must be whole numbers for an integer scale; got ({low:.6g}, {high:.6g})")
    return low, high, scale[0] if scale else "linear"


class Minimizer:
    """Minimizes a costly, perhaps noisy function over a box, by a Gaussian process and expected improvement.

    The first points are a scrambled Sobol design. Each further point maximizes the log expected improvement on the
    smallest posterior mean so far. Points from `ask` whose values aren't known yet count as measured, with the values
    that the model predicts for them (the kriging believer of Ginsbourger et al. 2010). So several points asked for at
    once spread over the box.

    Parameters
    ----------
    bounds : list of (low, high), or dict of name -> (low, high)
        A third entry "log" searches that dimension by its logarithm; "integer" searches whole numbers.
    model : GPRegressor, optional
        Fitted to points of the unit cube: length scales are in fractions of the box. By default a Matérn-5/2 kernel
        with one length scale for each dimension, and learned noise. For a function without
        noise, use ``GPRegressor("matern52", noise=0.0)``.
    n_initial : "auto" or int, default "auto"
        Number of points to measure before the model chooses. "auto" is twice the number of dimensions plus two.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    best_ : Best, the best point so far, with the model's prediction there
    model_ : the fitted GPRegressor, on the unit cube
    history_ : History, all points and values

    Notes
    -----
    To continue later, save `history_.X` and `history_.y` and pass them to `tell` of a new Minimizer.

    Examples
    --------
    >>> from credo.gp.minimizer import Minimizer
    >>> search = Minimizer({"dose": (0.0, 10.0)}, random_state=0)
    >>> for _ in range(9):
    ...     x = search.ask()
    ...     search = search.tell(x, (x[:, 0] - 3.0) ** 2)
    >>> search.best_.x.round(1)
    array([3.])
    """

    def __init__(
        self, bounds: Any, *, model: GPRegressor | None = None, n_initial: str | int = "auto", random_state: Any = None
    ) -> None:
        self.bounds = bounds
        self.model = model
        self.n_initial = n_initial
        self.random_state = random_state
        if model is not None and not isinstance(model, GPRegressor):
            raise TypeError(f"model must be a GPRegressor; got {model!r}")
        self._box = Box.of(bounds)
        n_dims = self._box.n_dims
        self._n_initial = 2 * n_dims + 2 if n_initial == "auto" else positive_integer("n_initial", n_initial)
        self._rng = generator(random_state)
        self._design = Sobol(n_dims, scramble=True, seed=self._rng.spawn(1)[0])
        self._drawn: list[Array] = []
        self._X, self._pending = np.empty((0, n_dims)), np.empty((0, n_dims))
        self._y = np.empty(0)
        self._fitted: GPRegressor | None = None
        self._n_known = self._n_learned = 0

    def __repr__(self) -> str:
        told = f"{len(self._y)} points told"
        best = f", best y={self.best_.y:.6g}" if np.isfinite(self._y).any() and self._fitted is not None else ""
        return f"<Minimizer over {self._box.title()}: {told}{best}>"

    def ask(self, n: int = 1) -> Array:
        """The n points to measure next: shape (n, n_dims). Pass their values to `tell`, NaN for failed ones."""
        chosen = []
        for _ in range(positive_integer("n", n)):
            n_good = int(np.isfinite(self._y).sum())
            first = n_good < 2 or n_good + len(self._pending) < self._n_initial
            # For many small matrices, BLAS threads would only wait for each other.
            with one_blas_thread():
                row = self._design_row() if first else self._best_row()
            chosen.append(row)
            self._pending = np.vstack([self._pending, row])
        return self._box.natural(np.array(chosen))

    def tell(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add measured values, at points from `ask` or any others.

        A value that isn't finite is a failed measurement: the model ignores it, and points near it become less likely.
        """
        rows, values = self._box.rows(X), np.atleast_1d(np.asarray(y, dtype=np.float64))
        if values.shape != (len(rows),):
            raise ValueError(f"y must hold one value for each of the {len(rows)} points; got shape {values.shape}")
        self._X = np.vstack([self._X, rows])
        self._y = np.append(self._y, np.where(np.isfinite(values), values, np.nan))
        for row in self._box.unit(rows):
            waiting = _apart(self._pending, row, _SAME_DISTANCE)
            # A point that was asked for twice stays pending until it is measured twice.
            self._pending = np.delete(self._pending, np.flatnonzero(~waiting)[:1], axis=0)
        return self

    def minimize(self, f: Callable[[Array], float], n_evaluations: int) -> Best:
        """Ask, evaluate f at the point (an array of n_dims numbers) and tell, n_evaluations times; returns `best_`.

        If f can fail, let it return NaN; an exception ends the search, which can be continued afterwards.
        """
        for _ in range(positive_integer("n_evaluations", n_evaluations)):
            x = self.ask()
            try:
                value = float(f(x[0]))
            except BaseException:
                self._pending = self._pending[_apart(self._pending, self._box.unit(x)[0], _SAME_DISTANCE)]
                raise
            self.tell(x, [value])
        return self.best_

    @property
    def history_(self) -> History:
        with np.errstate(invalid="ignore"):
            return History(self._X.copy(), self._y.copy(), np.fmin.accumulate(self._y))

    @property
    def model_(self) -> GPRegressor:
        good = np.isfinite(self._y)
        if not good.any():
            raise ValueError("no finite value is known yet: measure the points from ask, and pass their values to tell")
        U, y = self._box.unit(self._X[good]), self._y[good]
        if self._fitted is None or self._n_known < len(y):
            self._fitted = self._learn(self._fitted, U, y)
            self._n_known = len(y)
        return self._fitted

    @property
    def best_(self) -> Best:
        good = np.flatnonzero(np.isfinite(self._y))
        dist = self.model_.predict_dist(self._box.unit(self._X[good]), latent=True)
        i = int(np.argmin(dist.mean))
        index = int(good[i])
        return Best(self._X[index].copy(), float(self._y[index]), index, float(dist.mean[i]), float(dist.std[i]))

    def _learn(self, model: GPRegressor | None, U: Array, y: Array) -> GPRegressor:
        """Fit the hyperparameters if there are few points or many new ones; otherwise update at the old ones."""
        if model is not None and len(y) > _REFIT_POINTS and len(y) < _REFIT_GROWTH * self._n_learned:
            try:
                return deepcopy(model).update(U[self._n_known :], y[self._n_known :])
            except ValueError:
                # New points repeat old ones of a function without noise, or the noise varies from row to row.
                pass
        self._n_learned = len(y)
        # No restarts, because new points soon lead to another fit; the acquisition surface needs a single process.
        default = GPRegressor(Matern52(np.ones(U.shape[1])), hyperparameters="optimize", tails="normal", n_restarts=0)
        model = clone(default if self.model is None else self.model)
        if model.random_state is None:
            model.set_params(random_state=self._rng.spawn(1)[0])
        return model.fit(U, y)

    def _design_row(self) -> Array:
        if not self._drawn:
            # A Sobol sequence is balanced in powers of two: 8 points first, then the number doubles.
            m = max(int(self._design.num_generated), 8)
            self._drawn = list(self._design.random(1 << (m - 1).bit_length()))
        return self._box.snapped(self._drawn.pop(0))

    def _best_row(self) -> Array:
        """Where the expected improvement is largest, given all values and the pending points."""
        model = self._believing()
        surfaces: list[LogImprovement | LogSuccess] = [LogImprovement(model)]
        U, good = self._box.unit(self._X), np.isfinite(self._y)
        if not good.all():
            surfaces.append(LogSuccess(U[good], U[~good]))
        candidates = self._box.snapped(self._candidates(model))
        values = np.sum([surface.values(candidates) for surface in surfaces], axis=0)
        groups = np.split(np.arange(len(candidates)), [_N_WIDE])
        starts = np.concatenate([group[np.argsort(-values[group], kind="stable")[:_N_STARTS]] for group in groups])
        ends = self._box.snapped(np.array([ascend(surfaces, candidates[i]) for i in starts]))
        candidates = np.vstack([ends, candidates])
        values = np.append(np.sum([surface.values(ends) for surface in surfaces], axis=0), values)
        ranked = candidates[np.argsort(-values, kind="stable")]
        taken = np.vstack([self._pending, U[~good]])
        return next((row for row in ranked if _apart(taken, row, _MIN_DISTANCE).all()), ranked[0])

    def _believing(self) -> GPRegressor:
        """The model given its own predictions as the values of the pending points."""
        model = self.model_
        if not len(self._pending):
            return model
        good = np.isfinite(self._y)
        believer = GPRegressor(
            model.kernel_, mean=model.mean, noise=model.noise_variance_, standardize=False, hyperparameters="fixed"
        )
        return believer.fit(
            np.vstack([self._box.unit(self._X[good]), self._pending]),
            np.append(self._y[good], model.predict(self._pending)),
        )

    def _candidates(self, model: GPRegressor) -> Array:
        """Points over the whole cube, and at random distances around the best so far."""
        n_dims = self._box.n_dims
        wide = Sobol(n_dims, scramble=True, seed=self._rng).random(_N_WIDE)
        means = model.predict(model.X_train_)
        centers = np.repeat(model.X_train_[np.argsort(means, kind="stable")[:_N_CENTERS]], _N_NEAR, axis=0)
        width = 10.0 ** self._rng.uniform(-3.5, -0.5, size=(len(centers), 1))
        return np.vstack([wide, np.clip(centers + width * self._rng.normal(size=centers.shape), 0.0, 1.0)])


def _apart(rows: Array, row: Array, distance: float) -> NDArray[np.bool_]:
    """Which rows are further than a distance from this one, in some dimension."""
    return np.abs(rows - row).max(axis=1, initial=0.0) > distance
