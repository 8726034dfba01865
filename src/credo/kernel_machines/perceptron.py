"""The perceptron in the feature space of a kernel."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import Classifier, ConvergenceWarning, Result, UnavailableMethod, positive_integer
from credo.core.fields import Axes
from credo.core.frames import Table
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.kernel_machines._rows import blocks, cross, finite_gram, median_distance
from credo.kernels import RBF, Kernel, require_kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_NO_PROBABILITIES = (
    "KernelPerceptron has no probabilities, only scores: use decision_function, or SoftNeighborsClassifier or "
    "GPClassifier for probabilities"
)


class KernelPerceptron(Classifier):
    """The dual perceptron: f(x) = Σ αᵢ yᵢ k(xᵢ, x), where αᵢ counts the mistakes made on row i.

    Rows are visited one after the other; if yᵢ f(xᵢ) ≤ 0, αᵢ increases by one (Rosenblatt 1958; Aizerman, Braverman &
    Rozonoer 1964). That is the perceptron on the kernel's features. It stops when no row is misclassified, after at
    most (R/γ)² mistakes if the features lie within R and a margin of γ separates the classes (Novikoff 1962). If that
    doesn't happen within `n_epochs`, it warns and keeps the mean of f over all visits (Freund & Schapire 1999).

    There is no intercept; `kernel + 1.0` adds one. More than two classes have one f each, and the largest
    decides; a mistake raises f of the right class and lowers that of its strongest rival (Kesler's construction: Duda,
    Hart & Stork 2001, §5.12), which for two classes is the rule above. There are no probabilities.

    Parameters
    ----------
    kernel : Kernel, optional
        By default an RBF whose length scale is half the median distance between distinct rows (columns should then be
        in comparable units, as after StandardScaler).
    n_epochs : int, default 50
        Maximum number of passes over the rows, each in a new random order.
    random_state : int, Generator, RandomState or None, default None

    Attributes
    ----------
    mistakes_ : how often each training row was misclassified when visited
    support_ : indices of the training rows with nonzero coefficients
    support_vectors_ : those rows
    dual_coef_ : their αᵢyᵢ, shape (n_support,); with more than two classes (n_support, n_classes)
    kernel_ : the kernel used
    result_ : whether the perceptron converged

    Examples
    --------
    >>> import numpy as np
    >>> from credo.kernel_machines import KernelPerceptron
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = KernelPerceptron(random_state=0).fit(X, ["same", "same", "differ", "differ"])
    >>> model.predict(X + 0.1)
    array(['same', 'same', 'differ', 'differ'], dtype='<U6')
    """

    kernel_: Kernel
    support_: Annotated[Index, Axes("n")]
    support_vectors_: Annotated[Array, Axes("n d")]
    dual_coef_: Annotated[Array, Axes("n | n c")]
    mistakes_: Index

    predict_proba = UnavailableMethod(_NO_PROBABILITIES)
    predict_log_proba = UnavailableMethod(_NO_PROBABILITIES)
    predict_dist = UnavailableMethod(_NO_PROBABILITIES)

    _title = "Kernel perceptron"
    _equation = "score(x) = Σ aᵢ k(x, xᵢ)"

    def __init__(self, kernel: Kernel | None = None, *, n_epochs: int = 50, random_state: Any = None) -> None:
        self.kernel = kernel
        self.n_epochs = n_epochs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model; memory grows with the square of the number of rows."""
        n_epochs = positive_integer("n_epochs", self.n_epochs)
        rows, codes, _ = self._training_rows(X, y)
        rng = generator(self.random_state)
        self.kernel_ = RBF(0.5 * median_distance(rows)) if self.kernel is None else require_kernel(self.kernel)
        K = finite_gram(self.kernel_, rows)
        # f of each class at all rows, its coefficients, and their sum over visits.
        F, dual, total = (np.zeros((len(rows), len(self.classes_))) for _ in range(3))
        self.mistakes_ = np.zeros(len(rows), dtype=np.int64)
        epochs, wrong, signs = 0, True, np.array([1.0, -1.0])
        while wrong and epochs < n_epochs:
            wrong = False
            for visit, i in enumerate(rng.permutation(len(rows)), epochs * len(rows)):
                scores, code = F[i].copy(), codes[i]
                own, scores[code] = scores[code], -np.inf
                rival = scores.argmax()
                if own <= scores[rival]:
                    F[:, [code, rival]] += np.outer(K[i], signs)
                    dual[i, [code, rival]] += signs
                    # Weighted by the visits before it: the mean over all visits is dual − total / visits.
                    total[i, [code, rival]] += visit * signs
                    self.mistakes_[i] += 1
                    wrong = True
            epochs += 1
        if wrong:
            dual -= total / (epochs * len(rows))
        self.support_ = np.flatnonzero((dual != 0).any(axis=1))
        self.support_vectors_ = rows[self.support_]
        self.dual_coef_ = dual[self.support_, 1] if dual.shape[1] == 2 else dual[self.support_]
        message = f"converged after {epochs} passes and {self.mistakes_.sum()} mistakes"
        if wrong:
            message = (
                f"did not converge in {epochs} passes and averages f over all visits: the kernel can't separate the "
                "classes, or only by a narrow margin. Try a larger n_epochs, a shorter length scale, or a model that "
                "expects overlap, such as SoftNeighborsClassifier or GPClassifier"
            )
            warn(message, ConvergenceWarning, stacklevel=2)
        self.result_ = Result(not wrong, epochs, message)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """f at each row, positive if the second of two classes is predicted; with more, one column for each class."""
        rows = self._predict_rows(X)
        parts = [
            cross(self.kernel_, rows[part], self.support_vectors_) @ self.dual_coef_
            for part in blocks(len(rows), len(self.support_vectors_))
        ]
        return np.concatenate(parts)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label with the largest score of each row; the first if several are equal."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel and numbers of support rows and passes, without intervals."""
        check_is_fitted(self)
        lines: list[tuple[str, Any]] = [
            *self.kernel_.entries(self._feature_names()),
            ("rows", len(self.mistakes_)),
            ("support rows", len(self.support_)),
            ("passes", self.result_.n_iter),
        ]
        return Table.of_estimates("Kernel perceptron", lines, notes=(f"kernel {self.kernel_!r}", self.result_.message))
