"""Bagging of any regressor or classifier, with the spread of predictions calibrated on rows out of bag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from credo.core import deadlines
from credo.core.estimator import (
    Classifier,
    Description,
    Regressor,
    choice,
    class_probabilities,
    has_weight,
    in_words,
    positive_integer,
    take_columns,
)
from credo.core.fields import Axes, Finite, Inner, NonNegative, NotEmpty
from credo.core.frames import Table
from credo.core.learning.ascent import maximize
from credo.core.linalg import one_blas_thread
from credo.core.seeds import generator
from credo.distributions import Distribution, Normal
from credo.ensemble._base import (
    MetaEstimator,
    dist_of,
    labelled_rows,
    mixture_of,
    result_of,
    successful,
    target_rows,
    variance_parts,
)
from credo.ensemble._diagnosis import Diagnosis, ErrorSums
from credo.ensemble._held_out import Bag, Resampling, fit_bag, held_out_points
from credo.ensemble.calibration import Calibration
from credo.metrics import point
from credo.trees import DecisionTreeClassifier, DecisionTreeRegressor

Array = NDArray[np.float64]

# Limits and prior of the logarithms of both factors and of the added noise, which is in units of the root mean squared
# error out of bag. The limits keep the likelihood finite if a member predicts targets exactly, such as whole numbers.
_LOW, _HIGH = np.log([1 / 3, 1 / 3, 0.1]), np.log([3.0, 3.0, 3.0])
_CENTER, _PRIOR_SD = np.log([1.0, 1.0, 0.3]), np.array([0.5, 0.5, 1.0])


@dataclass(frozen=True)
class OutOfBag:
    """Predictions for rows that members weren't fitted to: an entry for each pair of row and member, sorted by rows.

    `error` is y minus the mean of the row's members, `gap` the prediction of a member minus that mean, and `std` its
    standard deviation. `start` has the first entry of each row, `weight` the weight of each row, and `order` the index
    of each entry in the concatenated predictions of the members.
    """

    rows: NDArray[np.intp]
    start: NDArray[np.intp]
    order: NDArray[np.intp]
    error: Array
    gap: Array
    std: Array
    weight: Array

    @classmethod
    def of(cls, bags: Sequence[Bag], y: Array, weight: Array | None) -> OutOfBag:
        """All rows that some member leaves out; members that predict numbers only have standard deviations of 0."""
        rows = np.concatenate([bag.rows for bag in bags])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        start = np.flatnonzero(np.diff(rows, prepend=-1))
        seen, count = rows[start], np.diff(start, append=len(rows))
        predicted = np.concatenate([bag.predicted for bag in bags])[order]
        mean = np.repeat(np.add.reduceat(predicted, start) / count, count) if len(rows) else predicted
        own = np.concatenate([np.zeros(len(bag.rows)) if bag.std is None else bag.std for bag in bags])[order]
        share = np.ones(len(seen)) if weight is None else weight[seen]
        return cls(seen, start, order, y[rows] - mean, predicted - mean, own, share)

    @property
    def count(self) -> NDArray[np.intp]:
        """How many members leave out each row."""
        return np.diff(self.start, append=len(self.error))

    def sums(self, values: Array) -> Array:
        """The sum of the entries of each row."""
        return np.add.reduceat(values, self.start) if len(values) else np.empty(0)

    def log_means(self, values: Array) -> Array:
        """ln of the mean of exp(value) for each row; `values` are concatenated over the members."""
        return np.logaddexp.reduceat(values[self.order], self.start) - np.log(self.count) if len(values) else values

    def some(self) -> OutOfBag:
        """About 2000 rows, evenly spaced."""
        used = np.arange(len(self.rows)) % max(1, len(self.rows) // 2000) == 0
        count = self.count[used]
        kept = np.repeat(used, self.count)
        start = np.cumsum(count) - count
        order, error, gap, std = (values[kept] for values in (self.order, self.error, self.gap, self.std))
        return OutOfBag(self.rows[used], start, order, error, gap, std, self.weight[used])

    @property
    def size(self) -> float:
        """The root mean squared error of the means of the members; 0 without any row."""
        if not len(self.rows):
            return 0.0
        return float(np.sqrt(np.average(self.error[self.start] ** 2, weights=self.weight)))

    def log_score(self, within: float, between: float, noise: float) -> tuple[Array, Array]:
        """The log density of each row's target under the mixture of normals, and its gradient by the logs of all three.

        ln (1/m) Σ_m N(error | between · gap_m, (within · std_m)² + noise²)
        """
        shift, own = between * self.gap, (within * self.std) ** 2
        variance = own + noise**2
        squares = (self.error - shift) ** 2 / variance
        each = -0.5 * (squares + np.log(2 * np.pi * variance))
        top = np.maximum.reduceat(each, self.start)
        share = np.exp(each - np.repeat(top, self.count))
        total = self.sums(share)
        share /= np.repeat(total, self.count)
        slopes = (
            (squares - 1) * own / variance,
            (self.error - shift) * shift / variance,
            (squares - 1) * noise**2 / variance,
        )
        return top + np.log(total / self.count), np.column_stack([self.sums(share * slope) for slope in slopes])

    def best(self, *, calibrate: bool) -> tuple[float, float, float]:
        """The factors within and between members and the added noise with the highest log score.

        Without `calibrate`, both factors are 1.
        """
        part, unit = self.some(), self.size
        free = np.array([calibrate, calibrate, True], dtype=np.float64)
        units = np.array([1.0, 1.0, unit])

        def objective(theta: Array) -> tuple[float, Array]:
            used = np.clip(theta, _LOW, _HIGH)
            score, slope = part.log_score(*units * np.exp(used))
            gap = (used - _CENTER) / _PRIOR_SD
            inside = free * ((theta > _LOW) & (theta < _HIGH))
            return float(part.weight @ score - 0.5 * gap @ gap), inside * (part.weight @ slope - gap / _PRIOR_SD)

        found = maximize(objective, _CENTER, tolerance=1e-8, max_evaluations=60).vector
        within, between, noise = units * np.exp(np.clip(found, _LOW, _HIGH))
        return float(within), float(between), float(noise)


OUT_OF_BAG = "rows out of bag"


class Bagging(MetaEstimator):
    """Base of bagged regressors and classifiers."""

    estimators_: Annotated[list[Any], NotEmpty]
    oob_score_: float
    oob_log_score_: float
    diagnosis_: Diagnosis | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        calibrate: Literal["oob"] | None = "oob",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = get_tags(self._inner()).classifier_tags
        return tags

    def _estimators(self) -> list[Any]:
        return [self._inner()]

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a clone of the estimator to each bootstrap sample.

        A member that fails is left out, with a warning.

        Parameters
        ----------
        X : whatever the estimator takes
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Rows are drawn in proportion to their weights.
        """
        self._reset()
        n_members = positive_integer("n_estimators", self.n_estimators)
        self._check_arguments()
        rows, target, weight = self._training(X, y, sample_weight)
        (rows,) = indexable(rows)
        bags = self._bags(rows, target, weight, n_members)
        attempts = [bag.attempt for bag in bags]
        self.estimators_ = [one.model for one in successful(attempts)]
        self.result_ = result_of(attempts)
        take_columns(self, self.estimators_[0])
        # Attributes have an entry for each given row, even for those of weight zero.
        used = has_weight(sample_weight, len(target))
        kept = [bag for bag in bags if bag.attempt.error is None]
        self._out_of_bag(kept, target, weight, np.flatnonzero(used), len(used))
        return self

    def diagnosis(
        self, X: Any = None, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Diagnosis:  # fmt: skip
        """The errors of the members and of their average, out of bag.

        Each row is predicted only by members whose sample doesn't contain it, about 37 % of them. Members are fitted to
        fewer distinct rows than a model of the whole table, so averaging always looks good compared with them. If the
        training rows are given, a single model is also fitted in five folds, and the verdict compares with that.

        Parameters
        ----------
        X, y, sample_weight : as passed to `fit`, optional
        """
        check_is_fitted(self)
        if self.diagnosis_ is None:
            raise ValueError("every row is in all samples, so none is out of bag: use more rows or members")
        if X is None or y is None:
            return self.diagnosis_
        rows, target, weight = self._same_rows(X, y, sample_weight)
        classes = self._labels
        single = held_out_points(self._inner(), rows, target, weight, classes)
        used = has_weight(sample_weight, len(target))
        committee = self._errors(self._oob_points()[used], target)
        return self.diagnosis_.compared_with(self._errors(single, target), committee, weight)

    def _same_rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Any, Any, Array | None]:
        """The rows of the fit, validated again."""
        n_rows, n_fitted = len(np.asarray(y)), len(self._oob_points())
        if n_rows != n_fitted:
            raise ValueError(f"diagnosis takes the training rows, of which there are {n_fitted}; got {n_rows}")
        return clone(self)._training(X, y, sample_weight)

    def summary(self, *, level: float = 0.95) -> Table:
        """Errors and scores, out of bag."""
        check_is_fitted(self)
        lines: list[tuple[str, Any]] = [("members", len(self.estimators_)), *self._scores()]
        notes = [self.result_.message]
        if self.diagnosis_ is not None:
            found = self.diagnosis_
            lines += [
                ("E_AV, mean error of the members", found.member_error),
                ("E_COM, error of their average", found.committee_error),
                ("E_AV/M, if errors were uncorrelated", found.uncorrelated_error),
                ("mean correlation of errors", found.correlation),
            ]
            notes.append(found.verdict)
        name = type(self._inner()).__name__
        return Table.of_estimates(f"Bagging of {name}, out of bag", lines, notes=notes)

    _equation = "p(y | x) = mean of pₘ(y | x) over bootstrap samples"

    def describe(self, *, level: float = 0.95) -> Description:
        share = 1.0 / len(self.estimators_)
        members = tuple((str(m), share) for m in range(len(self.estimators_)))
        return replace(super().describe(level=level), members=members)

    def _words(self) -> str:
        return f"Bagging of {len(self.estimators_)} models: {in_words(self.estimators_[0])}"

    def _bags(self, X: Any, y: NDArray[Any], weight: Array | None, n_members: int) -> list[Bag]:
        classes = self._labels
        resampling, deadline = Resampling.of(len(y), weight), deadlines.current()
        generators, inner = generator(self.random_state).spawn(n_members), self._inner()
        jobs = (
            delayed(fit_bag)(f"member {i}", inner, X, y, resampling, rng, classes, deadline)
            for i, rng in enumerate(generators)
        )
        # Threads are enough, because compiled code and LAPACK release the GIL; a backend set by the caller wins.
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads")
        if parallel.n_jobs in (None, 1):
            bags = parallel(jobs)
        else:
            with one_blas_thread():
                bags = parallel(jobs)
        if any(bag is None for bag in bags):
            raise deadlines.TimeUp
        return list(bags)

    def _inner(self) -> Any:
        raise NotImplementedError

    def _check_arguments(self) -> None:
        """Raise an error for wrong constructor arguments."""
        if self.calibrate is not None:
            choice("calibrate", self.calibrate, ("oob",))

    def _training(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Any, Any, Array | None]:
        raise NotImplementedError

    def _out_of_bag(
        self, bags: Sequence[Bag], y: Any, weight: Array | None, given: NDArray[np.intp], n_given: int
    ) -> None:
        raise NotImplementedError

    def _scores(self) -> list[tuple[str, float]]:
        raise NotImplementedError

    def _oob_points(self) -> Array:
        raise NotImplementedError

    def _errors(self, points: Array, y: Any) -> Array:
        """Squared errors, or whether the most probable label is wrong; NaN without a prediction."""
        raise NotImplementedError


def average(values: Array, share: Array) -> float:
    """The weighted mean; NaN without values."""
    return float(np.average(values, weights=share)) if len(values) else float("nan")


class BaggingRegressor(Bagging, Regressor):
    """The average of one regressor fitted to many bootstrap samples of the rows.

        p(y | x) = (1/M) Σ_m N(y | μ(x) + b (μ_m(x) − μ(x)), w² σ_m(x)² + s²),    μ(x) = (1/M) Σ_m μ_m(x)

    Each sample has as many rows as the table, drawn with replacement. μ_m and σ_m are mean and standard deviation of
    member m. The variance of a prediction is the mean variance within members, w² mean σ_m² + s², plus the variance
    between their means, b² var μ_m (`variance_parts`).

    The plain mixture of the members, w = b = 1 and s = 0, is too wide if they overfit: the error of an average is
    smaller than the differences between members. So w, b and s maximize the log score out of bag; s is at least a tenth
    of the root mean squared error there.

    Parameters
    ----------
    estimator : regressor, optional
        Any regressor or pipeline; by default a tree that isn't pruned, `DecisionTreeRegressor(pruning=0.0)`. If it
        predicts no distribution, σ_m = 0, and s is the standard deviation of the noise.
    n_estimators : int, default 50
        M.
    calibrate : "oob" or None, default "oob"
        None leaves the spread as it is: the predictive distribution is the mixture of the members' own, which may be
        skewed or have heavy tails. This is also done if a member has no finite standard deviation. For members
        without a distribution, only s is learned.
    n_jobs : int, optional
        Number of members fitted in parallel by joblib, in threads unless `joblib.parallel_config` says otherwise. It
        doesn't change the result.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    estimators_ : the fitted members
    oob_prediction_, oob_std_ : arrays of shape (n_samples,), out of bag: mean and standard deviation for each row by
        the members whose sample doesn't contain it; NaN if there is none
    oob_score_, oob_log_score_ : R² and the mean log density, out of bag
    spread_factors_ : array [w, b], with w = 0 if members predict no distribution; None without calibration
    noise_std_ : s; None without calibration
    result_ : how the fits ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import BaggingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(200, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=200)
    >>> model = BaggingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> found = model.diagnosis()
    >>> bool(found.committee_error < found.member_error)
    True
    """

    oob_prediction_: Array
    oob_std_: Array
    spread_factors_: Annotated[Array | None, Axes("2"), NonNegative]
    noise_std_: Annotated[float | None, Finite, NonNegative]

    def variance_parts(self, X: Any) -> tuple[Array, Array]:
        """The variance of each row in two parts: the mean variance within members, and that between their means.

        Both are calibrated like the predictive distribution.
        """
        parts = self._parts(self._predict_rows(X), latent=False)
        return variance_parts(parts, np.full(len(parts), 1.0 / len(parts)))

    def _inner(self) -> Any:
        return DecisionTreeRegressor(pruning=0.0) if self.estimator is None else self.estimator

    def _training(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Any, Array, Array | None]:
        return target_rows(self, X, y, sample_weight)

    def _out_of_bag(
        self, bags: Sequence[Bag], y: Array, weight: Array | None, given: NDArray[np.intp], n_given: int
    ) -> None:
        sums = ErrorSums(y)
        for bag in bags:
            sums.add(bag.predicted, bag.rows)
        self.diagnosis_ = sums.diagnosis(weight, OUT_OF_BAG)
        seen = np.flatnonzero(sums.seen)
        error = sums.mean()[seen, 0]
        share = np.ones(len(seen)) if weight is None else weight[seen]
        outside = OutOfBag.of(bags, y, weight)
        log_score = self._learn_spread(outside, bags, y)
        within, between = (1.0, 1.0) if self.spread_factors_ is None else self.spread_factors_
        with np.errstate(invalid="ignore"):
            variance = (within * outside.std) ** 2 + (between * outside.gap) ** 2 + (self.noise_std_ or 0.0) ** 2
        self.oob_prediction_, self.oob_std_ = np.full(n_given, np.nan), np.full(n_given, np.nan)
        self.oob_prediction_[given[seen]] = y[seen] + error
        self.oob_std_[given[seen]] = np.sqrt(outside.sums(variance) / outside.count)
        self.oob_score_ = _r2(error, y[seen], share)
        self.oob_log_score_ = average(log_score, share)

    def _learn_spread(self, outside: OutOfBag, bags: Sequence[Bag], y: Array) -> Array:
        """Set the noise and the factors of the spread; returns the log density of each row out of bag."""
        self.noise_std_, self.spread_factors_ = None, None
        plain, calibrate = any(bag.std is None for bag in bags), self.calibrate is not None
        usable = outside.size > 0 and bool(np.isfinite(outside.std).all())
        if not plain and not (calibrate and usable):
            return outside.log_means(np.concatenate([bag.log_prob for bag in bags]))
        if not usable:
            self.noise_std_, self.spread_factors_ = 0.0 if len(outside.rows) else float(np.std(y)), np.array([0.0, 1.0])
            return np.full(len(outside.rows), np.inf)
        within, between, noise = outside.best(calibrate=calibrate)
        self.noise_std_, self.spread_factors_ = noise, np.array([0.0 if plain else within, between])
        return outside.log_score(within, between, noise)[0]

    def _scores(self) -> list[tuple[str, float]]:
        lines = [("R²", self.oob_score_), ("log score", self.oob_log_score_)]
        if self.spread_factors_ is None or self.noise_std_ is None:
            return lines
        own = [] if self._is_plain else [("w, factor within members", float(self.spread_factors_[0]))]
        return [
            *lines,
            *own,
            ("b, factor between members", float(self.spread_factors_[1])),
            ("noise sd", self.noise_std_),
        ]

    def _oob_points(self) -> Array:
        return self.oob_prediction_

    def _errors(self, points: Array, y: Array) -> Array:
        return (points - y) ** 2

    def _parts(self, rows: Any, *, latent: bool) -> list[Distribution]:
        plain = 0.0 if self._is_plain else None
        parts = [dist_of(model, rows, latent=latent, noise_std=plain) for model in self.estimators_]
        if self.spread_factors_ is None or self.noise_std_ is None:
            return parts
        means, stds = np.stack([part.mean for part in parts]), np.stack([part.std for part in parts])
        if not np.isfinite(stds).all():
            return parts
        within, between = self.spread_factors_
        center = means.mean(axis=0)
        stds = np.hypot(within * stds, 0.0 if latent else self.noise_std_)
        return [Normal(*one) for one in zip(center + between * (means - center), stds, strict=True)]

    @property
    def _needs_distributions(self) -> bool:
        return not self._is_plain

    @property
    def _is_plain(self) -> bool:
        """Whether members predict numbers only."""
        return self.spread_factors_ is not None and self.spread_factors_[0] == 0

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        parts = self._parts(rows, latent=latent)
        return mixture_of(parts, np.full(len(parts), 1.0 / len(parts)))

    def _mean(self, rows: Any) -> Array:
        if self._is_plain:
            return np.mean([model.predict(rows) for model in self.estimators_], axis=0)
        return point(self._dist(rows, latent=False))


def _r2(error: Array, y: Array, share: Array) -> float:
    if not len(y):
        return float("nan")
    spread = np.average((y - np.average(y, weights=share)) ** 2, weights=share)
    return float(1.0 - np.average(error**2, weights=share) / spread) if spread > 0 else float("nan")


class BaggingClassifier(Bagging, Classifier):
    """The average of one classifier fitted to many bootstrap samples of the rows, or their majority vote.

        p(c | x) ∝ ((1/M) Σ_m p_m(c | x))^β,    or the share of members whose most probable class is c

    Bagging makes a good classifier better and a bad one worse: if a member is right with probability 0.4 at some x,
    independently of the others, the majority of many is always wrong there.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier or pipeline; by default a tree that isn't pruned, `DecisionTreeClassifier(pruning=0.0)`.
    n_estimators : int, default 50
        M.
    voting : {"soft", "hard"}, default "soft"
        The average of the members' probabilities, or their majority vote. Members without probabilities vote.
    calibrate : "oob" or None, default "oob"
        Averages of the probabilities of members that overfit are too close to 1/2. So they are raised to a power and
        normalized, p^β / Σ p^β, with β minimizing the log loss out of bag. None, or hard voting, leaves them as they
        are.
    n_jobs : int, optional
        Number of members fitted in parallel by joblib, in threads unless `joblib.parallel_config` says otherwise. It
        doesn't change the result.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    classes_ : the labels
    estimators_ : the fitted members
    oob_probabilities_ : array of shape (n_samples, n_classes), for each row by the members whose sample has no copy of
        it; NaN if there is none
    calibration_ : the map from averages to probabilities, whose `scaling.slope` is β
    oob_score_, oob_log_score_ : accuracy and the mean log probability of the labels, out of bag
    result_ : how the fits ended

    Notes
    -----
    A sample that has only one class is drawn again. A member whose sample lacks a class gives it probability zero.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import BaggingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=200) > 0
    >>> model = BaggingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> found = model.diagnosis()
    >>> bool(found.committee_error_rate < found.member_error_rate)
    True
    """

    oob_probabilities_: Array
    calibration_: Annotated[Calibration, Inner(k="c")]

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        voting: Literal["soft", "hard"] = "soft",
        calibrate: Literal["oob"] | None = "oob",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator, n_estimators=n_estimators, calibrate=calibrate, n_jobs=n_jobs, random_state=random_state
        )
        self.voting = voting

    def _check_arguments(self) -> None:
        super()._check_arguments()
        choice("voting", self.voting, ("soft", "hard"))

    def _inner(self) -> Any:
        return DecisionTreeClassifier(pruning=0.0) if self.estimator is None else self.estimator

    def _training(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[Any], Array | None]:  # fmt: skip
        return labelled_rows(self, X, y, sample_weight)

    def _out_of_bag(
        self, bags: Sequence[Bag], y: NDArray[Any], weight: Array | None, given: NDArray[np.intp], n_given: int
    ) -> None:
        codes, n_classes = np.searchsorted(self.classes_, y), len(self.classes_)
        sums = ErrorSums(codes, n_classes)
        for bag in bags:
            sums.add(self._vote(bag.predicted), bag.rows)
        self.diagnosis_ = sums.diagnosis(weight, OUT_OF_BAG)
        table, seen = sums.mean(), sums.seen
        share = np.ones(len(y))[seen] if weight is None else weight[seen]
        method = "temperature" if self.calibrate and self.voting == "soft" and seen.any() else "none"
        self.calibration_ = Calibration.fit(method, table[seen], codes[seen], share)
        table[seen] = self.calibration_(table[seen])
        with np.errstate(divide="ignore"):
            log_probs = np.log(table[np.arange(len(y)), codes])[seen]
        self.oob_probabilities_ = np.full((n_given, n_classes), np.nan)
        self.oob_probabilities_[given] = table
        self.oob_score_ = 1.0 - average(sums.committee_wrong()[seen], share)
        self.oob_log_score_ = average(log_probs, share)

    def _scores(self) -> list[tuple[str, float]]:
        power = [("β, power of probabilities", self.calibration_.scaling.slope)] * (self.calibration_.method != "none")
        return [("accuracy", self.oob_score_), ("log score", self.oob_log_score_), *power]

    def _oob_points(self) -> Array:
        return self.oob_probabilities_

    def _errors(self, points: Array, y: NDArray[Any]) -> Array:
        known = ~np.isnan(points[:, 0])
        wrong = self.classes_[np.where(known[:, None], points, 0.0).argmax(axis=1)] != y
        return np.where(known, wrong.astype(np.float64), np.nan)

    def _vote(self, table: Array) -> Array:
        if self.voting == "soft":
            return table
        return (np.arange(table.shape[1]) == table.argmax(axis=1)[:, None]).astype(np.float64)

    def _probabilities(self, rows: Any) -> Array:
        total: Any = 0.0
        for model in self.estimators_:
            total = total + self._vote(class_probabilities(model, rows, self.classes_))
        return self.calibration_(total / len(self.estimators_))
