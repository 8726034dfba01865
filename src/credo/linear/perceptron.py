"""The perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import (
    Absent,
    ConvergenceWarning,
    LinearClassifier,
    Result,
    merge_equal_rows,
    positive_integer,
)
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.linear._jit import perceptron_pass
from credo.linear._separable import separable

Array = NDArray[np.float64]

_NO_PROBABILITIES = (
    "the perceptron has scores (decision_function) but no probabilities: use LogisticRegression or LinearDiscriminant, "
    "or scikit-learn's CalibratedClassifierCV around it"
)

# Up to this many entries, a linear program decides whether the classes are separable.
_DECIDED_ENTRIES = 1_000_000
_VERDICTS = {
    True: "The classes are linearly separable: increase n_epochs, or standardize the columns.",
    False: "The classes are not linearly separable, so it can't converge: use LogisticRegression, or other features.",
    None: (
        "It can't converge unless the classes are linearly separable: use LogisticRegression, or increase n_epochs and "
        "standardize the columns."
    ),
}


class Perceptron(LinearClassifier):
    """The perceptron: w ← w + yφ for each misclassified row φ = (x, 1), y = ±1 (Bishop 4.55).

    If the classes are linearly separable with margin γ, it stops after at most (R/γ)² mistakes, where R is the largest
    norm of φ (Novikoff 1962). Otherwise it never converges: the fit then warns and keeps the weights with the smallest
    training error seen (the pocket algorithm: Gallant 1990). More than two classes have a weight vector each; a mistake
    moves that of the label towards φ and that of the predicted class away from it (multiclass perceptron, not
    one-vs-rest).

    Standardize columns of different units first, for example with StandardScaler.

    Parameters
    ----------
    n_epochs : int, default 200
        Maximum number of passes over the rows.
    fit_intercept : bool, default True
    shuffle : bool, default True
        Whether each pass visits the rows in a new random order; identical rows are then merged, so neither the order of
        the rows nor whether a row is repeated or weighted matters. False keeps the given order.
    class_weight : "balanced", dict or None, default None
    random_state : None, int, Generator or RandomState, default None

    Attributes
    ----------
    coef_ : coefficients, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : intercepts, (1,) or (n_classes,)
    mistakes_ : number of mistakes in each pass; the last is 0 if the fit converged
    row_mistakes_ : number of mistakes on each training row of positive weight (on the first of identical rows)
    training_error_ : weighted training error
    n_iter_, result_ : number of passes and convergence

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
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        n_epochs = positive_integer("n_epochs", self.n_epochs)
        given, labels, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        rng = generator(self.random_state)
        weight = np.ones(len(given)) if weight is None else weight
        first = np.arange(len(given))
        if self.shuffle:
            first, _, weight = merge_equal_rows(np.column_stack([given, labels]), weight)
        # Writable, because numba compiles again for read-only arrays.
        rows, codes, weight = np.ascontiguousarray(given[first]), labels[first], np.require(weight, requirements=["W"])
        n_scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        W, best = np.zeros((2, n_scores, rows.shape[1] + 1))
        counts, mistakes = np.zeros(len(rows), dtype=np.int64), []
        # Error of the pocket, the longest run without mistakes, and the current run.
        track = np.array([np.inf, 0.0, 0.0])
        for _ in range(n_epochs):
            order = rng.permutation(len(rows)) if self.shuffle else np.arange(len(rows))
            bias = float(self.fit_intercept)
            mistakes.append(perceptron_pass(rows, codes, weight, order, W, bias, best, track, counts))
            if not mistakes[-1]:
                best = W
                break
        if not np.isfinite(best).all():
            raise ValueError("the weights overflow double precision: rescale the columns of X")
        self.coef_, self.intercept_ = best[:, :-1].copy(), best[:, -1].copy()
        self.mistakes_, self.n_iter_ = np.array(mistakes), len(mistakes)
        self.row_mistakes_ = np.zeros(len(given), dtype=np.int64)
        self.row_mistakes_[first] = counts
        self.training_error_ = float(track[0] / weight.sum()) if mistakes[-1] else 0.0
        self.result_ = self._outcome(rows, codes)
        return self

    def _notes(self) -> tuple[str, ...]:
        made = f"{int(self.mistakes_.sum())} mistakes in {self.n_iter_} passes"
        return f"{made}; training error {self.training_error_:.4g}", self.result_.message

    def _outcome(self, rows: Array, codes: NDArray[np.intp]) -> Result:
        total = int(self.mistakes_.sum())
        if self.mistakes_[-1] == 0:
            return Result(True, self.n_iter_, f"converged after {total} mistakes: the training rows are separated")
        exists = None
        if rows.size <= _DECIDED_ENTRIES:
            exists = separable(rows, codes, n_classes=len(self.classes_), intercept=bool(self.fit_intercept))
        message = (
            f"did not converge in {self.n_iter_} passes. {_VERDICTS[exists]} The best weights seen are kept, with a "
            f"training error of {100 * self.training_error_:.3g} %"
        )
        warn(message, ConvergenceWarning, stacklevel=3)
        return Result(False, self.n_iter_, message)
