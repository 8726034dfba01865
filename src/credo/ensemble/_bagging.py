"""What bagged regressors and classifiers share: fits to bootstrap samples in parallel, and the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from credo import deadlines
from credo.ensemble._base import MetaEstimator, take_columns
from credo.ensemble._bootstrap import Bag, Resampling, fit_bag
from credo.ensemble._diagnosis import Diagnosis
from credo.ensemble._held_out import held_out_points
from credo.ensemble._members import check_members, result_of, survivors
from credo.estimator import Classifier, choice, has_weight, positive_integer
from credo.frames import Table
from credo.linalg import one_blas_thread
from credo.seeds import generator

Array = NDArray[np.float64]

OUT_OF_BAG = "rows out of bag"


class Bagging(MetaEstimator):
    """What bagged regressors and classifiers share."""

    estimators_: list[Any]
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

    def _check_state(self) -> None:
        super()._check_state()
        check_members(self.estimators_, self.classes_ if isinstance(self, Classifier) else None)

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
        self._forget()
        n_members = positive_integer("n_estimators", self.n_estimators)
        self._check_arguments()
        rows, target, weight = self._training(X, y, sample_weight)
        (rows,) = indexable(rows)
        bags = self._bags(rows, target, weight, n_members)
        attempts = [bag.attempt for bag in bags]
        self.estimators_ = [one.model for one in survivors(attempts)]
        self.result_ = result_of(attempts)
        take_columns(self, self.estimators_[0])
        # Attributes have a row for each given one, also for those of weight zero.
        used = has_weight(sample_weight, len(target))
        kept = [bag for bag in bags if bag.attempt.error is None]
        self._out_of_bag(kept, target, weight, np.flatnonzero(used), len(used))
        return self

    def diagnosis(
        self, X: Any = None, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Diagnosis:  # fmt: skip
        """The errors of the members and of their average, out of bag.

        Each row is predicted by those members only whose sample doesn't contain it, about 37 % of them. A member knows
        fewer distinct rows than a model fitted to the table, so that averaging always looks good beside the members.
        Given the training rows, a single model is fitted in five folds as well, and the verdict compares with that.

        Parameters
        ----------
        X, y, sample_weight : as passed to `fit`, optional
        """
        check_is_fitted(self)
        if self.diagnosis_ is None:
            raise ValueError("every row is in all samples, so that nothing is out of bag: use more rows or members")
        if X is None or y is None:
            return self.diagnosis_
        rows, target, weight = self._same_rows(X, y, sample_weight)
        classes = getattr(self, "classes_", None)
        single = held_out_points(self._inner(), rows, target, weight, classes)
        used = has_weight(sample_weight, len(target))
        committee = self._errors(self._oob_points()[used], target)
        return self.diagnosis_.beside(self._errors(single, target), committee, weight)

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

    def _bags(self, X: Any, y: NDArray[Any], weight: Array | None, n_members: int) -> list[Bag]:
        classes = getattr(self, "classes_", None)
        resampling, deadline = Resampling.of(len(y), weight), deadlines.current()
        generators, inner = generator(self.random_state).spawn(n_members), self._inner()
        jobs = (
            delayed(fit_bag)(f"member {i}", inner, X, y, resampling, rng, classes, deadline)
            for i, rng in enumerate(generators)
        )
        # Compiled code and LAPACK release Python's lock; a Dask or process backend of the caller comes first.
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
        """Squared errors, or whether the most probable label is wrong; NaN where there is no prediction."""
        raise NotImplementedError


def average(values: Array, share: Array) -> float:
    """The weighted mean; NaN without values."""
    return float(np.average(values, weights=share)) if len(values) else float("nan")
