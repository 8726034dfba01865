"""Bagging of classifiers: the average of their probabilities, or their vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.ensemble._bagging import OUT_OF_BAG, Bagging, average
from credo.ensemble._base import class_probabilities, labelled_rows
from credo.ensemble._bootstrap import Bag
from credo.ensemble._calibration import Calibration
from credo.ensemble._diagnosis import ErrorSums
from credo.estimator import Classifier, check_shapes, choice
from credo.trees import DecisionTreeClassifier

Array = NDArray[np.float64]


class BaggingClassifier(Bagging, Classifier):
    """The average of one classifier fitted to many bootstrap samples of the rows, or their majority vote.

        p(c | x) ∝ ((1/M) Σ_m p_m(c | x))^β,    or the share of members whose most probable class is c

    Bagging makes a good classifier better and a bad one worse: if a member is right with probability 0.4 at some x,
    independently of the others, the majority of many is always wrong there.

    Parameters
    ----------
    estimator : classifier, optional
        Any, pipelines included; by default a tree that isn't pruned, `DecisionTreeClassifier(pruning=0.0)`.
    n_estimators : int, default 50
        M.
    voting : {"soft", "hard"}, default "soft"
        The average of the members' probabilities, or their majority vote. Members without probabilities vote.
    calibrate : "oob" or None, default "oob"
        Averages of the probabilities of members that overfit are too close to 1/2. So they are raised to a power and
        normalized, p^β / Σ p^β, with the least log loss out of bag. None, or hard voting, leaves them as they are.
    n_jobs : int, optional
        How many members are fitted at once, by joblib: in threads, or as `joblib.parallel_config` says. The result
        doesn't depend on it.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    classes_ : the labels
    estimators_ : the fitted members
    oob_probabilities_ : array of shape (n_samples, n_classes), for each row by the members whose sample has no copy of
        it; NaN if there is none
    calibration_ : the map of averages to probabilities, whose `scaling.slope` is β
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
    calibration_: Calibration

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

    def _check_state(self) -> None:
        super()._check_state()
        check_shapes(self.calibration_.scaling, {"k": len(self.classes_)}, bias="k")

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
