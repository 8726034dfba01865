"""The perceptron: learning from mistakes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.estimator import Absent, FitWarning, LinearClassifier, Result, positive_integer
from credo.linear._jit import perceptron_pass
from credo.linear._separable import separable
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]

_NO_PROBABILITIES = (
    "the perceptron has scores (decision_function) but no probabilities: use LogisticRegression or LinearDiscriminant, "
    "or scikit-learn's CalibratedClassifierCV around it"
)

# Tables up to this size are asked by a linear program whether they are separable.
_DECIDED_ENTRIES = 1_000_000
_VERDICTS = {
    True: "A boundary separates the classes, but the rule hasn't found it: raise n_epochs, or standardise the columns.",
    False: "No boundary separates the classes, so the rule can't converge: use LogisticRegression, or other features.",
    None: (
        "The rule hasn't stopped, and can't converge unless a boundary separates the classes: use LogisticRegression, "
        "or raise n_epochs and standardise the columns."
    ),
}


class Perceptron(LinearClassifier):
    """A boundary found by mistakes: w ← w + yφ for each row φ = (x, 1) on the wrong side, y = ±1 (Bishop 4.55).

    On rows that a boundary with margin γ separates it stops after at most (R/γ)² mistakes, R being the longest φ
    (Novikoff 1962). On other data the rule never stops: then the fit says so, and keeps the weights that were seen to
    err least on all rows (the pocket algorithm: Gallant 1990). More than two classes have a weight vector each, of
    which a mistake moves two, the label's towards φ and the winner's away from it (the multiclass perceptron, not one
    against the rest).

    The rule works on X as it comes: bring columns of different units to one scale first, for example by StandardScaler.

    Parameters
    ----------
    n_epochs : int, default 200
        The most passes over the rows.
    fit_intercept : bool, default True
    shuffle : bool, default True
        Whether each pass visits the rows in a new random order; equal rows are then taken together, so that neither the
        order of the rows nor whether one is repeated or weighted shows. False keeps the given order.
    class_weight : "balanced", dict or None, default None
    random_state : None, int, Generator or RandomState, default 0

    Attributes
    ----------
    coef_ : weights, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : offsets, (1,) or (n_classes,)
    mistakes_ : the number of mistakes in each pass; the last is 0 where the rule has stopped
    row_mistakes_ : the mistakes made on each training row that carries weight (on the first of equal ones)
    training_error_ : weighted share of the training rows on the wrong side
    n_iter_, result_ : how the fit ended

    Examples
    --------
    >>> from credo.linear import Perceptron
    >>> model = Perceptron(shuffle=False).fit([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 0, 0, 1])  # AND
    >>> model.coef_, model.intercept_, model.mistakes_
    (array([[3., 2.]]), array([-4.]), array([2, 3, 3, 2, 2, 3, 2, 1, 0]))
    """

    _title = "Perceptron"

    mistakes_: NDArray[np.int64]
    row_mistakes_: NDArray[np.int64]
    training_error_: float
    n_iter_: int

    predict_proba = Absent(_NO_PROBABILITIES)
    predict_log_proba = Absent(_NO_PROBABILITIES)
    predict_dist = Absent(_NO_PROBABILITIES)

    def __init__(
        self,
        n_epochs: int = 200,
        *,
        fit_intercept: bool = True,
        shuffle: bool = True,
        class_weight: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_epochs = n_epochs
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table; a weight of k is the same as k copies of the row."""
        n_epochs = positive_integer("n_epochs", self.n_epochs)
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        rng = generator(self.random_state)
        rows = np.ascontiguousarray(rows)
        weight = np.ones(len(rows)) if weight is None else weight
        visits = np.arange(len(rows))
        if self.shuffle:
            visits, weight = merged(rows, codes, weight)
        n_scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        W, best = np.zeros((2, n_scores, rows.shape[1] + 1))
        counts, mistakes = np.zeros(len(rows), dtype=np.int64), []
        # Error in the pocket, the longest run without mistake, and the present run.
        track = np.array([np.inf, 0.0, 0.0])
        for _ in range(n_epochs):
            order = rng.permutation(visits) if self.shuffle else visits
            bias = float(self.fit_intercept)
            mistakes.append(perceptron_pass(rows, codes, weight, order, W, bias, best, track, counts))
            if not mistakes[-1]:
                best = W
                break
        if not np.isfinite(best).all():
            raise ValueError("the weights are beyond double precision: bring the columns of X to another unit")
        self.coef_, self.intercept_ = best[:, :-1].copy(), best[:, -1].copy()
        self.mistakes_, self.row_mistakes_, self.n_iter_ = np.array(mistakes), counts, len(mistakes)
        self.training_error_ = float(track[0] / weight[visits].sum()) if mistakes[-1] else 0.0
        self.result_ = self._outcome(rows, codes)
        return self

    def _notes(self) -> tuple[str, ...]:
        made = f"{int(self.mistakes_.sum())} mistakes in {self.n_iter_} passes"
        return f"{made}; training error {self.training_error_:.4g}", self.result_.message

    def _outcome(self, rows: Array, codes: NDArray[np.intp]) -> Result:
        total = int(self.mistakes_.sum())
        if self.mistakes_[-1] == 0:
            return Result(True, self.n_iter_, f"every row is on its side after {total} mistakes")
        exists = None
        if rows.size <= _DECIDED_ENTRIES:
            exists = separable(rows, codes, n_classes=len(self.classes_), intercept=bool(self.fit_intercept))
        message = (
            f"{_VERDICTS[exists]} The weights kept after {self.n_iter_} passes are the best seen, which put "
            f"{100 * self.training_error_:.3g} % of the rows on the wrong side"
        )
        warn(message, FitWarning, stacklevel=3)
        return Result(False, self.n_iter_, message)


def merged(rows: Array, codes: NDArray[np.intp], weight: Array) -> tuple[NDArray[np.intp], Array]:
    """Places of the different labelled rows in an order of their own, and weights with those of their equals added."""
    # Any fixed direction in general position tells different rows apart; equal rows stay equal.
    direction = np.cos(np.arange(1.0, rows.shape[1] + 1) ** 2)
    order = np.lexsort((codes, np.einsum("ij,j->i", rows, direction)))
    same = (codes[order[1:]] == codes[order[:-1]]) & (rows[order[1:]] == rows[order[:-1]]).all(axis=1)
    starts = np.flatnonzero(np.append(True, ~same))
    total = np.zeros_like(weight)
    total[order[starts]] = np.add.reduceat(weight[order], starts)
    return order[starts], total
