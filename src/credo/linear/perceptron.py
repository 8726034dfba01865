"""The perceptron."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import ConvergenceWarning, LinearClassifier, Result, UnavailableMethod, positive_integer
from credo.core.notices import warn
from credo.core.seeds import generator

Array = NDArray[np.float64]

_NO_PROBABILITIES = (
    "the perceptron has scores (decision_function) but no probabilities: use LogisticRegression or LinearDiscriminant, "
    "or scikit-learn's CalibratedClassifierCV around it"
)


class Perceptron(LinearClassifier):
    """The perceptron: w ← w + yφ for each misclassified row φ = (x, 1), y = ±1 (Bishop 4.55).

    If the classes are linearly separable with margin γ, it stops after at most (R/γ)² mistakes, where R is the largest
    norm of φ (Novikoff 1962). Otherwise it never converges: the fit then warns and keeps the weights with the smallest
    training error after a pass (the pocket algorithm: Gallant 1990). More than two classes have a weight vector each; a
    mistake moves that of the label towards φ and that of the predicted class away from it (multiclass perceptron, not
    one-vs-rest).

    Standardize columns of different units first, for example with StandardScaler.

    Parameters
    ----------
    n_epochs : int, default 200
        Maximum number of passes over the rows, each in a new random order.
    fit_intercept : bool, default True
    random_state : None, int, Generator or RandomState, default None

    Attributes
    ----------
    coef_ : coefficients, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : intercepts, (1,) or (n_classes,)
    mistakes_ : number of mistakes in each pass; the last is 0 if the fit converged
    training_error_ : share of the training rows that are misclassified
    n_iter_, result_ : number of passes and convergence

    Examples
    --------
    >>> from credo.linear import Perceptron
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 0, 0, 1]  # AND
    >>> model = Perceptron(random_state=0).fit(X, y)
    >>> model.predict(X), int(model.mistakes_[-1])
    (array([0, 0, 0, 1]), 0)
    """

    _title = "Perceptron"

    mistakes_: NDArray[np.int64]
    training_error_: float
    n_iter_: int

    predict_proba = UnavailableMethod(_NO_PROBABILITIES)
    predict_log_proba = UnavailableMethod(_NO_PROBABILITIES)
    predict_dist = UnavailableMethod(_NO_PROBABILITIES)

    def __init__(self, n_epochs: int = 200, *, fit_intercept: bool = True, random_state: Any = None) -> None:
        self.n_epochs = n_epochs
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model."""
        n_epochs = positive_integer("n_epochs", self.n_epochs)
        rows, codes, _ = self._training_rows(X, y)
        rng = generator(self.random_state)
        phi = np.column_stack([rows, np.full(len(rows), float(self.fit_intercept))])
        # Two classes have opposite weights: those of the second are Bishop's w.
        W = np.zeros((len(self.classes_), phi.shape[1]))
        mistakes: list[int] = []
        fewest, best = len(phi) + 1, W
        while len(mistakes) < n_epochs and (not mistakes or mistakes[-1]):
            mistakes.append(0)
            for i in rng.permutation(len(phi)):
                scores = W @ phi[i]
                own, scores[codes[i]] = scores[codes[i]], -np.inf
                rival = scores.argmax()
                if own <= scores[rival]:
                    W[codes[i]] += phi[i]
                    W[rival] -= phi[i]
                    mistakes[-1] += 1
            wrong = int(((phi @ W.T).argmax(axis=1) != codes).sum())
            if wrong < fewest or not mistakes[-1]:
                fewest, best = wrong, W.copy()
        if not np.isfinite(best).all():
            raise ValueError("the weights overflow double precision: rescale the columns of X")
        best = best[1:] if len(best) == 2 else best
        self.coef_, self.intercept_ = best[:, :-1].copy(), best[:, -1].copy()
        self.mistakes_, self.n_iter_, self.training_error_ = np.array(mistakes), len(mistakes), fewest / len(phi)
        if mistakes[-1]:
            message = (
                f"did not converge in {n_epochs} passes; the best weights seen are kept, with a training error of "
                f"{100 * self.training_error_:.3g} %. It can't converge unless the classes are linearly separable: use "
                "LogisticRegression, or increase n_epochs and standardize the columns"
            )
            warn(message, ConvergenceWarning, stacklevel=2)
        else:
            message = f"converged after {sum(mistakes)} mistakes: the training rows are separated"
        self.result_ = Result(not mistakes[-1], self.n_iter_, message)
        return self

    def _notes(self) -> tuple[str, ...]:
        made = f"{int(self.mistakes_.sum())} mistakes in {self.n_iter_} passes"
        return f"{made}; training error {self.training_error_:.4g}", self.result_.message
