"""The perceptron in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from credo.core.estimator import (
    Absent,
    Classifier,
    ConvergenceWarning,
    Result,
    check_shapes,
    choice,
    has_weight,
    merge_equal_rows,
    positive_integer,
)
from credo.core.frames import Table
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.kernel_machines._neighbours import blocks, cross, median_distance
from credo.kernel_machines.perceptron_jit import POCKET, TIME, dual_perceptron_pass
from credo.kernels import RBF, Kernel, require_kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Of the median distance between rows: classes are narrower than the table.
_DEFAULT_SCALE = 0.5
# Numbers that are kept: 256 MB, all rows of a table of 5700.
_KEPT = 32_000_000
# Rows that are computed together.
_TOGETHER = 32
_NO_PROBABILITIES = (
    "KernelPerceptron has no probabilities, only scores: use decision_function, or SoftNeighborsClassifier or "
    "GPClassifier for probabilities"
)


class KernelPerceptron(Classifier):
    """The dual perceptron: f(x) = Σ αᵢ yᵢ k(xᵢ, x), where αᵢ counts the mistakes made on row i.

    Rows are visited one after the other; if yᵢ f(xᵢ) ≤ 0, αᵢ increases by one (Rosenblatt 1958; Aizerman, Braverman &
    Rozonoer 1964). That is the perceptron on the kernel's features. It stops when no row is misclassified, after at
    most (R/γ)² mistakes if the features lie within R and a margin of γ separates the classes (Novikoff 1962). If that
    doesn't happen within `n_epochs`, it warns and keeps `solution`.

    There is no intercept; `kernel + 1.0` adds one. More than two classes have one f each, and the largest
    decides; a mistake raises f of the right class and lowers that of its strongest rival (Kesler's construction: Duda,
    Hart & Stork 2001, §5.12), which for two classes is the rule above. There are no probabilities.

    Parameters
    ----------
    kernel : Kernel, optional
        By default an RBF whose length scale is half the median distance between distinct rows (columns should then be
        in comparable units, as after StandardScaler).
    n_epochs : int, default 50
        The most passes over the rows.
    solution : "average" or "pocket", default "average"
        What to keep if mistakes remain: the mean of f over all visits (Freund & Schapire 1999), which generalises
        better where classes overlap, or the f that had the fewest mistakes (Gallant 1990).
    class_weight : mapping from label to factor, or "balanced", optional
    shuffle : bool, default True
        Visit the rows in a new random order each epoch; equal rows are then merged, so that the result depends neither
        on the order of the table nor on whether a row is repeated or weighted. False keeps the table's order, and
        merges equal rows that follow one another.
    random_state : int, Generator, RandomState or None, default None
        Seed of the order of visits.

    Attributes
    ----------
    mistakes_ : how often each training row was misclassified when visited (merged rows share it)
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
    >>> model.result_.message
    'converged after 1 epoch and 4 updates'
    """

    kernel_: Kernel
    support_: Index
    support_vectors_: Array
    dual_coef_: Array
    mistakes_: Index

    def _check_state(self) -> None:
        super()._check_state()
        n_classes = len(self.classes_)
        sizes = {"d": self.n_features_in_, "k": n_classes}
        check_shapes(self, sizes, support_vectors_="n d", dual_coef_="n" if n_classes == 2 else "n k", support_="n")

    predict_proba = Absent(_NO_PROBABILITIES)
    predict_log_proba = Absent(_NO_PROBABILITIES)
    predict_dist = Absent(_NO_PROBABILITIES)

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_epochs: int = 50,
        solution: Literal["average", "pocket"] = "average",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_epochs = n_epochs
        self.solution = solution
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row, one after the other."""
        n_epochs = positive_integer("n_epochs", self.n_epochs)
        choice("solution", self.solution, ("average", "pocket"))
        choice("shuffle", self.shuffle, (True, False))
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        weight = np.ones(len(rows)) if weight is None else weight
        self.kernel_ = (
            RBF(_DEFAULT_SCALE * median_distance(rows)) if self.kernel is None else require_kernel(self.kernel)
        )
        rng = generator(self.random_state) if self.shuffle else None
        if self.shuffle:
            first, which, weight = merge_equal_rows(np.column_stack([rows, codes]), weight)
        else:
            first, which, weight = merge_consecutive(rows, codes, weight)
        outcome = train(self.kernel_, rows[first], codes[first], weight, n_epochs=n_epochs, rng=rng)
        self.mistakes_ = np.zeros(_num_samples(X), dtype=np.int64)
        self._keep(outcome, rows, first, which, np.flatnonzero(has_weight(sample_weight, len(self.mistakes_))))
        self.result_ = _result(outcome, self.solution, weight.sum(), contradictory(rows, codes))
        if not self.result_.converged:
            warn(self.result_.message, ConvergenceWarning, stacklevel=2)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """f at each row, above zero where the second of two classes is predicted; one column a class where more."""
        rows = self._predict_rows(X)
        parts = [
            cross(self.kernel_, rows[part], self.support_vectors_) @ self.dual_coef_
            for part in blocks(len(rows), len(self.support_vectors_))
        ]
        return np.concatenate(parts)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label of the largest score of each row; the first of equals."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel and numbers of support rows and epochs, without intervals."""
        check_is_fitted(self)
        lines: list[tuple[str, Any]] = [
            *self.kernel_.entries(self._feature_names()),
            ("rows", len(self.mistakes_)),
            ("support rows", len(self.support_)),
            ("epochs", self.result_.n_iter),
        ]
        return Table.of_estimates("Kernel perceptron", lines, notes=(f"kernel {self.kernel_!r}", self.result_.message))

    def _keep(self, outcome: PerceptronFit, rows: Array, first: Index, which: Index, place: Index) -> None:
        """Set what predicts, and `mistakes_`; `rows` stand at `place` in the training table."""
        dual = outcome.average if outcome.wrong and self.solution == "average" else outcome.pocket
        used = np.flatnonzero((dual != 0).any(axis=0))
        self.support_ = place[first[used]]
        self.support_vectors_ = rows[first[used]]
        self.dual_coef_ = dual[1, used] if len(dual) == 2 else np.ascontiguousarray(dual[:, used].T)
        self.mistakes_[place] = outcome.mistakes[which]


def _result(outcome: PerceptronFit, solution: str, total: float, contradiction: bool) -> Result:
    """How the visits ended, in a sentence that says what to try if mistakes remain."""
    n_epochs, n_mistakes = outcome.n_epochs, int(outcome.mistakes.sum())
    epochs = f"{n_epochs} epoch{'s' if n_epochs > 1 else ''}"
    if not outcome.wrong:
        plural = "s" if n_mistakes > 1 else ""
        return Result(True, n_epochs, f"converged after {epochs} and {n_mistakes} update{plural}")
    reason = (
        "rows with equal inputs have different labels, which no function of the inputs can separate"
        if contradiction
        else "the kernel can't separate the classes, or only by a narrow margin: try a larger n_epochs, a shorter "
        "length scale, or a model that expects overlap, such as SoftNeighborsClassifier or GPClassifier"
    )
    kept = "averages f over all visits" if solution == "average" else "keeps the best f"
    return Result(
        False,
        n_epochs,
        f"the perceptron did not converge in {epochs} and {kept}: at best {outcome.wrong:g} of {total:g} rows were "
        f"misclassified; {reason}",
    )


class GramRows:
    """k(xᵢ, ·) at all training rows, for the rows i that were fetched; the oldest make room for new ones.

    `values[slot[i]]` is the row of i, and slot[i] is −1 where it isn't there.
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self._kernel, self._rows = kernel, rows
        n = len(rows)
        room = min(n, max(_TOGETHER, _KEPT // n))
        # Memory is taken only as rows are written.
        self.values = np.empty((room, n))
        self.slot = np.full(n, -1, dtype=np.intp)
        with np.errstate(over="ignore"):
            self.diagonal = kernel.diagonal(rows)
        self._owner = np.full(room, -1, dtype=np.intp)
        self._next = 0

    def fetch(self, index: Index) -> None:
        """Compute these rows, at most `_TOGETHER`."""
        room = len(self._owner)
        place = (self._next + np.arange(len(index))) % room
        old = self._owner[place]
        self.slot[old[old >= 0]] = -1
        block = cross(self._kernel, self._rows[index], self._rows)
        # What a row shares with itself alone, as the noise of White, is in the diagonal.
        block[np.arange(len(index)), index] = self.diagonal[index]
        if not np.isfinite(block).all():
            raise ValueError(
                f"{self._kernel!r} overflows for some of the rows: rescale the columns of X, "
                "for example with StandardScaler"
            )
        self.values[place], self._owner[place], self.slot[index] = block, index, place
        self._next = int(place[-1] + 1) % room


@dataclass(frozen=True)
class PerceptronFit:
    """The result: coefficients (n_classes, n_rows) of the average and of the pocket, and the number of updates.

    `wrong` is the weight of the rows that the pocket has wrong; where it is 0 the pocket holds the last coefficients.
    """

    average: Array
    pocket: Array
    mistakes: NDArray[np.int64]
    wrong: float
    n_epochs: int


def train(
    kernel: Kernel, rows: Array, codes: Index, weight: Array, *, n_epochs: int, rng: np.random.Generator | None
) -> PerceptronFit:
    """Visit the rows, in a new random order each epoch or, without a generator, in their own."""
    n_rows, n_classes = len(rows), int(codes.max()) + 1
    gram = GramRows(kernel, rows)
    F, dual, late, pocket = (np.zeros((n_classes, n_rows)) for _ in range(4))
    mistakes = np.zeros(n_rows, dtype=np.int64)
    track = np.array([0.0, weight.sum(), weight.sum()])
    order, place, epoch = np.arange(n_rows), 0, 0
    while place >= 0 and epoch < n_epochs:
        order = order if rng is None else rng.permutation(n_rows)
        epoch, place = epoch + 1, 0
        while 0 <= place < n_rows:
            place = dual_perceptron_pass(
                order, place, codes, weight, gram.diagonal, gram.values, gram.slot, F, dual, late, pocket, mistakes,
                track,
            )  # fmt: skip
            if 0 <= place < n_rows:
                gram.fetch(_wanted(order[place:], codes, F, gram.slot))
    return PerceptronFit(dual - late / track[TIME], pocket, mistakes, float(track[POCKET]), epoch)


def merge_consecutive(rows: Array, codes: Index, weight: Array) -> tuple[Index, Index, Array]:
    """As `estimator.merge_equal_rows`, but only equal rows that follow one another, in the order of the table."""
    table = np.column_stack([rows, codes])
    new = np.concatenate([[True], (table[1:] != table[:-1]).any(axis=1)])
    group = np.cumsum(new) - 1
    return np.flatnonzero(new), group, np.bincount(group, weights=weight).astype(np.float64)


def contradictory(rows: Array, codes: Index) -> bool:
    """Whether rows of equal inputs have different labels."""
    both = len(np.unique(np.column_stack([rows, codes]), axis=0))
    return both > len(np.unique(rows, axis=0))


def _wanted(ahead: Index, codes: Index, F: Array, slot: Any) -> Index:
    """The next rows that are mistaken as things stand and have no row of K; the first of `ahead` is one."""
    others = F[:, ahead]
    own = others[codes[ahead], np.arange(len(ahead))]
    others[codes[ahead], np.arange(len(ahead))] = -np.inf
    return ahead[(own <= others.max(axis=0)) & (slot[ahead] < 0)][:_TOGETHER]
