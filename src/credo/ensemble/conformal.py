"""Predictive distributions for any regressor from held-out residuals, calibrated probabilities for any classifier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from credo.core import deadlines
from credo.core.estimator import (
    Result,
    choice,
    class_probabilities,
    has_weight,
    in_words,
    is_predictor,
    is_sparse,
    numeric,
    take_columns,
)
from credo.core.fields import Axes, If, Indices, Inner, NotEmpty, Positive, Where
from credo.core.folds import equal_rows, group_folds, pairs_of_folds, splits
from credo.core.frames import Table
from credo.distributions import Distribution, Normal, Tabulated, TabulatedScale
from credo.distributions import distribution as valid
from credo.distributions.tabulated import quantiles
from credo.ensemble._base import Ensemble, fit_arguments
from credo.ensemble._held_out import held_out_points
from credo.ensemble.calibration import METHODS, Calibration, choose_calibration
from credo.linear import BayesianLinearRegression, LinearRegression

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# More residuals than this are replaced by as many of their quantiles.
MAX_RESIDUALS = 2000


def _without_gaps(fold: Index) -> bool:
    return len(np.unique(fold)) == fold.max() + 1


@dataclass(frozen=True)
class Residuals:
    """Held-out residuals (in units of the learned spread, if any), with the fold of each and its weight.

    The points of a new row are μ_k(x) + s_k(x) · residual for every residual, with k its fold.
    """

    values: Annotated[Array, Axes("n")]
    fold: Annotated[Index, Axes("n"), Indices(10**6), Where(_without_gaps, "numbers of which each has a residual")]
    weight: Annotated[Array, Axes("n"), Positive]

    @classmethod
    def of(cls, values: Array, fold: Index, weight: Array) -> Self:
        """Residuals, or quantiles of them within each fold if they are many."""
        if len(values) <= MAX_RESIDUALS:
            return cls(values, fold, weight)
        parts = []
        for k in np.unique(fold):
            own = np.flatnonzero(fold == k)
            own = own[np.argsort(values[own], kind="stable")]
            count = max(1, round(MAX_RESIDUALS * weight[own].sum() / weight.sum()))
            level = (np.cumsum(weight[own]) - weight[own] / 2) / weight[own].sum()
            kept = np.interp((np.arange(count) + 0.5) / count, level, values[own])
            parts.append((kept, np.full(count, k), np.full(count, weight[own].sum() / count)))
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def _sizes(self) -> dict[str, int]:
        return {"e": self.n_folds}

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.fold.max(initial=-1)) + 1

    def moments(self, center: Array, spread: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the points of each row; both arguments are of shape (n_folds, n_rows)."""
        total = np.bincount(self.fold, self.weight)
        mean = np.bincount(self.fold, self.weight * self.values) / total
        var = np.bincount(self.fold, self.weight * (self.values - mean[self.fold]) ** 2) / total
        share = (total / total.sum())[:, None]
        middle = center + spread * mean[:, None]
        loc = (share * middle).sum(axis=0)
        return loc, np.sqrt((share * (spread**2 * var[:, None] + (middle - loc) ** 2)).sum(axis=0))


class ConformalDist(TabulatedScale):
    """The smooth distribution of each row, with the intervals of CV+.

    The interval of level 1 − α goes from rank ⌊(n + 1) α/2⌋ to rank ⌈(n + 1)(1 − α/2)⌉ of the n sorted points of a row
    (Barber, Candès, Ramdas & Tibshirani 2021, with signed residuals). If there is no such rank, it ends at the smooth
    distribution's quantile, or at the extreme point if that is farther out.
    """

    residuals: Residuals
    center: Array
    spread: Array

    def __init__(self, residuals: Residuals, shape: Tabulated, center: Array, spread: Array) -> None:
        super().__init__(*residuals.moments(center, spread), shape)
        vars(self).update(residuals=residuals, center=valid.frozen(center), spread=valid.frozen(spread))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """The interval of CV+, which contains a new observation with probability near `level`: lower and upper ends."""
        tail = (1 - valid.fraction("level", level)) / 2
        n = self.residuals.weight.sum()
        # Up to rounding.
        low, high = np.floor((n + 1) * tail + 1e-9), np.ceil((n + 1) * (1 - tail) - 1e-9)
        lower, upper = self._ranked([max(low, 1.0), min(high, n)])
        ends = self.quantile([tail, 1 - tail])
        if low < 1:
            lower = np.minimum(lower, ends[:, 0])
        if high > n:
            upper = np.maximum(upper, ends[:, 1])
        return lower, upper

    def _ranked(self, ranks: list[float]) -> tuple[Array, Array]:
        """The points of these two ranks of each row; a point of weight w has w ranks."""
        values, fold, weight = self.residuals.values, self.residuals.fold, self.residuals.weight
        found = np.empty((2, len(self)))
        step = max(1, 2**21 // len(values))
        even = bool((weight == 1).all())
        for start in range(0, len(self), step):
            rows = slice(start, start + step)
            points = self.center[fold, rows] + self.spread[fold, rows] * values[:, None]
            if even:
                places = [int(rank) - 1 for rank in ranks]
                found[:, rows] = np.partition(points, places, axis=0)[places]
                continue
            order = np.argsort(points, axis=0)
            reached = np.cumsum(weight[order], axis=0)
            for i, rank in enumerate(ranks):
                place = np.minimum((reached < rank - 1e-9 * rank).sum(axis=0), len(values) - 1)
                found[i, rows] = np.take_along_axis(points, np.take_along_axis(order, place[None], axis=0), axis=0)[0]
        return found[0], found[1]

    def _take(self, rows: NDArray[Any]) -> Self:
        return type(self)(self.residuals, self.shape, self.center[:, rows], self.spread[:, rows])


# By default, up to this many distinct rows are held out one by one, and from this many on there are five folds instead
# of ten.
_MAX_LOO_ROWS, _MIN_FIVE_FOLD_ROWS = 20, 1000


class Conformal(Ensemble):
    """Adds a predictive distribution to any regressor, and calibrates any classifier, by held-out rows.

    **Regressors.** With r_i the residual of row i by the model μ_k that was fitted without its fold k, a new row x has
    the n points μ_k(x) + r_i (jackknife+ with one row per fold, otherwise CV+: Barber, Candès, Ramdas & Tibshirani
    2021). `interval(level)` takes order statistics of the points, with ranks corrected for n + 1. For any
    estimator and any distribution of the data, if rows are exchangeable, an interval of level 1 − α contains a new
    observation with a probability of at least 1 − 2α (less a term of order √(2/n) for few large folds), and in practice
    close to 1 − α.

    The other methods of the distribution (`log_prob`, `cdf`, `quantile`, `crps`, `sample`) come from a smooth one with
    the mean and standard deviation of the points and the shape of all residuals: a kernel density with power-law tails,
    so that no outcome is impossible. Its quantiles differ slightly from the ends of `interval`.
    `predict` gives the mean of the points: the average of the folds' models, corrected by the mean residual. With
    `latent=True`, `predict_dist` is normal with the jackknife's standard error, from the differences of these models.

    With `spread="learn"`, a second model s_k(x) of the size of residuals makes intervals wide where errors are large:
    the points are μ_k(x) + s_k(x) r_i / s_k(x_i). It is a Bayesian linear model of ``ln |residual|`` on the columns,
    if they are numbers, and on the prediction. It is fitted to the rows outside fold k, with residuals of models that
    were fitted without fold k too, so that the guarantee holds; this takes K (K − 1)/2 further fits. (From 1,000 rows
    on, fold k hardly changes the other residuals, so those of the folds' models are used, without further fits.)

    **Classifiers.** Probabilities of held-out rows choose between none, temperature scaling, a sigmoid and an isotonic
    map: the simplest whose held-out log loss is within one standard error of the best. It is applied to the estimator
    fitted to all rows (as scikit-learn's `CalibratedClassifierCV` with `ensemble=False` applies one of them). The
    sigmoid is softmax(a ln p + b), which for two classes is Platt's.

    Parameters
    ----------
    estimator : regressor or classifier, optional
        Any estimator or pipeline of scikit-learn or Credo; by default `LinearRegression()`. It is cloned.
    cv : int, splitter or pairs of rows, optional
        Which rows are held out together, each row once. By default ten random folds, five from 1,000 rows on, and with
        at most 20 rows (without `spread`) one row each. Rows with equal inputs share a fold.
    spread : None, "learn" or regressor, default None
        The model of the size of residuals; a regressor is fitted to ``ln |residual|`` on X.
    method : {"auto", "none", "temperature", "sigmoid", "isotonic"}, default "auto"
        How a classifier is calibrated.
    random_state : int, Generator or None, default None
        Shuffles the folds.

    Attributes
    ----------
    estimators_ : the fitted estimators, one for each fold; for a classifier, one fitted to all rows
    spreads_ : the models of the size of residuals, one for each fold; empty without `spread`
    residuals_ : held-out residuals, in units of the learned spread, with folds and weights
    calibration_ : a classifier's map of probabilities
    calibration_losses_ : the held-out log loss of each method tried
    classes_ : a classifier's labels

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import Conformal
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(100, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=100)
    >>> model = Conformal(RandomForestRegressor(10, random_state=0), cv=5, random_state=0).fit(X, y)
    >>> lower, upper = model.predict_dist(X).interval(0.9)
    >>> bool((lower < upper).all())
    True
    """

    estimators_: Annotated[list[Any], NotEmpty]
    spreads_: Annotated[list[Any], Axes("0 | e"), If("_predicts_classes", False)]
    spread_limits_: Annotated[Array, Axes("e 2"), If("_predicts_classes", False)]
    spread_by_columns_: bool
    residuals_: Annotated[Residuals, Inner(e="e"), If("_predicts_classes", False)]
    shape_: Tabulated
    calibration_: Annotated[Calibration, Inner(k="c"), If("_predicts_classes")]
    calibration_losses_: Array

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = None,
        spread: Literal["learn"] | Any = None,
        method: Literal["auto", "none", "temperature", "sigmoid", "isotonic"] = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.spread = spread
        self.method = method
        self.random_state = random_state

    def _estimators(self) -> list[Any]:
        return [LinearRegression() if self.estimator is None else self.estimator]

    def _sizes(self) -> dict[str, int]:
        return {"e": len(self.estimators_)}

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator without each fold, and keep the held-out residuals or probabilities.

        Parameters
        ----------
        X : whatever the estimator takes
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is equivalent to k copies of the row, if that holds for the estimator.
        """
        self._reset()
        choice("method", self.method, ("auto", *METHODS))
        if not is_predictor(self._estimators()[0]):
            raise ValueError(f"estimator must be a regressor or a classifier; got {self.estimator!r}")
        (X,) = indexable(X)
        rows, target, weight = self._training(X, y, sample_weight)
        counts = np.ones(len(target)) if weight is None else weight
        used = np.flatnonzero(has_weight(sample_weight, len(target)))
        fold = self._folds(rows, target) if self._is_number_of_folds else self._given_folds(X, y, used)
        if self._predicts_classes:
            self._fit_classes(rows, target, weight, counts, fold)
        else:
            self._fit_numbers(rows, target, weight, counts, fold)
        take_columns(self, self.estimators_[0])
        return self

    def _fit_numbers(self, X: Any, y: Array, weight: Array | None, counts: Array, fold: Index) -> None:
        base = self._estimators()[0]
        n_folds = int(fold.max()) + 1
        self.estimators_ = [_fitted(base, X, y, weight, fold != k) for k in range(n_folds)]
        residual = np.empty(len(y))
        for k, model in enumerate(self.estimators_):
            own = np.flatnonzero(fold == k)
            residual[own] = y[own] - _predicted(model, _safe_indexing(X, own))
        self.spreads_, self.spread_limits_ = [], np.zeros((n_folds, 2))
        if self.spread is not None:
            self._learn_spread(base, X, y, y - residual, weight, fold)
            for k in range(n_folds):
                own = np.flatnonzero(fold == k)
                residual[own] /= self._spread_of(k, _safe_indexing(X, own), y[own] - residual[own])
        self.residuals_ = Residuals.of(residual, fold, counts)
        self.shape_ = Tabulated.fitted(self.residuals_.values, self.residuals_.weight)
        learned = ", with a learned spread" if self.spreads_ else ""
        self.result_ = Result(True, n_folds, f"residuals of {len(y)} rows held out in {n_folds} folds{learned}")

    def _learn_spread(self, base: Any, X: Any, y: Array, held_out: Array, weight: Array | None, fold: Index) -> None:
        """Fit a model of ln |residual| for each fold, from residuals of models fitted without it and their own fold."""
        n_folds = int(fold.max()) + 1
        if isinstance(self.spread, str):
            choice("spread", self.spread, ("learn",))
        if n_folds < 3:
            raise ValueError(f"spread needs at least 3 folds, because it leaves out two at a time; got {n_folds}")
        center = np.zeros((n_folds, len(y)))
        if len(y) >= _MIN_FIVE_FOLD_ROWS:
            center[:] = held_out
        else:
            for k, other in combinations(range(n_folds), 2):
                model = _fitted(base, X, y, weight, (fold != k) & (fold != other))
                for without, held in ((k, other), (other, k)):
                    own = np.flatnonzero(fold == held)
                    center[without, own] = _predicted(model, _safe_indexing(X, own))
        size = np.abs(y - center)
        learned = isinstance(self.spread, str)
        table = _numbers(X, len(y)) if learned else None
        # In wider tables, the spread depends on the prediction only.
        self.spread_by_columns_ = table is not None and table.shape[1] <= 200
        for k in range(n_folds):
            used = np.flatnonzero(fold != k)
            (middle,) = quantiles(size[k, used], np.ones(len(used)) if weight is None else weight[used], [0.5])
            # A floor, so that residuals near zero don't dominate.
            small = 0.1 * float(middle) or 1.0
            target = np.log(size[k, used] + small)
            rows = self._spread_rows(_safe_indexing(X, used), center[k, used]) if learned else _safe_indexing(X, used)
            model = BayesianLinearRegression() if learned else clone(self.spread)
            model.fit(rows, target, **fit_arguments(model, None if weight is None else weight[used]))
            self.spreads_.append(model)
            inside = _predicted(model, rows)
            self.spread_limits_[k] = inside.min(), inside.max()

    def _spread_rows(self, X: Any, center: Array) -> Array:
        """The inputs of a learned spread: the prediction and, if they are numbers, the columns."""
        columns = [np.asarray(numeric(X), dtype=np.float64)] if self.spread_by_columns_ else []
        return np.column_stack([*columns, center])

    def _fit_classes(self, X: Any, y: NDArray[Any], weight: Array | None, counts: Array, fold: Index) -> None:
        if self.spread is not None:
            raise ValueError("spread is for regressors, not for classifiers")
        base = self._estimators()[0]
        model = _fitted(base, X, y, weight, np.ones(len(y), dtype=bool))
        codes = np.searchsorted(self.classes_, y)
        for k in np.unique(fold):
            if len(np.unique(y[fold != k])) < 2:
                raise ValueError(
                    f"only {y[fold != k][0].item()!r} is left if a fold is held out: calibration needs at least two "
                    "different rows of two classes each"
                )
        table = held_out_points(base, X, y, weight, self.classes_, pairs_of_folds(fold))
        self.estimators_ = [model]
        self.calibration_, self.calibration_losses_ = choose_calibration(table, codes, counts, fold, self.method)
        self.result_ = Result(
            True, int(fold.max()) + 1, f"calibration by {len(y)} held-out rows: {self.calibration_.method}"
        )

    def summary(self, *, level: float = 0.95) -> Table:
        """The held-out residuals, or the held-out log losses of the ways to calibrate."""
        check_is_fitted(self)
        if self._predicts_classes:
            tried = METHODS if self.method == "auto" else (self.method,)
            lines = [(f"log loss, {name}", float(x)) for name, x in zip(tried, self.calibration_losses_, strict=True)]
            return Table.of_estimates("Calibrated classifier", lines, notes=(self.result_.message,))
        found = self.residuals_
        share, order = found.weight / found.weight.sum(), np.argsort(found.values)
        mean = float(share @ found.values)
        height = np.cumsum(share[order])
        ends = found.values[order][
            np.minimum(np.searchsorted(height, [(1 - level) / 2, (1 + level) / 2]), len(order) - 1)
        ]
        lines = [
            ("folds", found.n_folds),
            ("mean residual", mean),
            ("std of residuals", float(np.sqrt(share @ (found.values - mean) ** 2))),
            (f"{100 * (1 - level) / 2:g} % quantile", float(ends[0])),
            (f"{100 * (1 + level) / 2:g} % quantile", float(ends[1])),
        ]
        unit = ("residuals are in units of the learned spread",) if self.spreads_ else ()
        return Table.of_estimates("Conformal regressor", lines, notes=(self.result_.message, *unit))

    _equation = "predictions of an estimator, with held-out errors as their distribution"

    def _words(self) -> str:
        how = "calibrated" if self._predicts_classes else "with conformal intervals"
        return f"{in_words(self.estimators_[0])}, {how}"

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        center = np.array([_predicted(model, rows) for model in self.estimators_])
        if latent:
            # The jackknife's standard error of a prediction (Tukey 1958), with folds in place of rows.
            return Normal(center.mean(axis=0), np.sqrt(len(center) - 1) * center.std(axis=0))
        spread = np.ones(center.shape)
        if self.spreads_:
            spread = np.array([self._spread_of(k, rows, center[k]) for k in range(len(self.spreads_))])
        return ConformalDist(self.residuals_, self.shape_, center, spread)

    def _probabilities(self, rows: Any) -> Array:
        return self.calibration_(class_probabilities(self.estimators_[0], rows, self.classes_))

    def _spread_of(self, k: int, rows: Any, center: Array) -> Array:
        """s_k(x), never beyond its range at the training rows."""
        used = self._spread_rows(rows, center) if isinstance(self.spread, str) else rows
        return np.exp(np.clip(_predicted(self.spreads_[k], used), *self.spread_limits_[k]))

    @property
    def _is_number_of_folds(self) -> bool:
        return self.cv is None or not (hasattr(self.cv, "split") or isinstance(self.cv, Iterable))

    def _given_folds(self, X: Any, y: ArrayLike, used: Index) -> Index:
        """The fold of each used row, from a splitter or from pairs, whose indices refer to all rows."""
        fold = np.full(_num_samples(X), -1)
        for k, (_, held) in enumerate(splits(X, np.asarray(y), self.cv, np.random.default_rng(0))[0]):
            fold[held] = k
        if (fold[used] < 0).any():
            raise ValueError(f"cv must hold out each row once; it never holds out row {used[np.argmin(fold[used])]}")
        return np.unique(fold[used], return_inverse=True)[1].ravel()

    def _folds(self, X: Any, y: NDArray[Any]) -> Index:
        """The fold of each row; those with equal inputs share one."""
        if len(y) < 2:
            raise ValueError(f"Conformal needs at least 2 rows, because it holds rows out; got {len(y)} sample")
        groups = equal_rows(X, len(y))
        n = int(groups.max()) + 1
        asked = self.cv
        if asked is None:
            asked = n if n <= _MAX_LOO_ROWS and self.spread is None else 10 if n < _MIN_FIVE_FOLD_ROWS else 5
            asked = 5 if self.spread is not None else asked
        if isinstance(asked, bool) or not isinstance(asked, int | np.integer) or (asked < 2 and n > 1):
            raise ValueError(f"cv must be a whole number of at least 2 folds, or a splitter; got {self.cv!r}")
        codes = np.searchsorted(self.classes_, y) if self._predicts_classes else np.zeros(len(y), dtype=np.intp)
        fold = group_folds(groups, codes, min(int(asked), n), self.random_state)
        return np.unique(fold, return_inverse=True)[1].ravel()


def _numbers(X: Any, n_rows: int) -> Array | None:
    """X as a table of finite numbers, if it is one."""
    if is_sparse(X):
        return None
    try:
        table = np.asarray(numeric(X), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return table if table.ndim == 2 and table.size and len(table) == n_rows and np.isfinite(table).all() else None


def _fitted(base: Any, X: Any, y: NDArray[Any], weight: Array | None, used: NDArray[np.bool_]) -> Any:
    deadlines.check()
    rows = np.flatnonzero(used)
    model = clone(base)
    part, whole = None if weight is None else weight[rows], len(rows) == len(y)
    return model.fit(X if whole else _safe_indexing(X, rows), y[rows], **fit_arguments(model, part))


def _predicted(model: Any, X: Any) -> Array:
    found = np.asarray(model.predict(X), dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError(f"{type(model).__name__} predicts numbers that are not finite, or several for each row")
    return found
