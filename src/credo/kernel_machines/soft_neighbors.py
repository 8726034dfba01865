"""Classification by kernel-weighted votes of all training rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from credo.estimator import Classifier, Result, nonnegative
from credo.frames import Table
from credo.kernel_machines._bandwidth import choose, given, has_bandwidth, no_choice_message, scaled
from credo.kernel_machines._neighbours import Index, Neighbours
from credo.kernel_machines._rows import cross
from credo.kernel_machines._votes import Votes
from credo.kernels import RBF, Kernel, require_kernel

Array = NDArray[np.float64]


class SoftNeighborsClassifier(Classifier):
    """Class probabilities from kernel-weighted votes of all training rows.

        p(c | x) = (V_c + a π_c) / (Σ V + a),    V_c = Σ k(x, xᵢ) over the rows of class c

    Without `smoothing` a this is Nadaraya–Watson regression of the classes' indicators, and Bayes' rule with kernel
    density estimates of the classes. The pseudo-count a is distributed over the classes by their frequencies π, by
    Laplace's rule (n_c + 1)/(n + K): no class has probability 0, and far from all rows, where V vanishes, the
    probabilities tend to π. V is computed in logs; with a = 0 the nearest rows determine the prediction there.

    Parameters
    ----------
    kernel : Kernel, optional
        Never negative. By default `RBF()`, whose length scale then is the bandwidth (columns should be in comparable
        units, as after StandardScaler).
    bandwidth : float or "loo", default "loo"
        Factor of the kernel's free length scales; "loo" uses the one with the smallest exact
        leave-one-out log loss, among 30 between the distances of nearest and of farthest rows and 10 more around the
        best. In tables above 2000 rows only an evenly spaced sample of rows is left out.
    smoothing : float or "loo", default "loo"
        The pseudo-count a, in units of the kernel: with `RBF()`, a number of rows at x itself. "loo" uses the value
        with the smallest leave-one-out log loss at each bandwidth, among 16 from 10 to 1/(n + 1) times the median row's
        sum of weights of the other rows.
    class_weight : mapping from label to factor, or "balanced", optional
        Multiplies the votes and frequencies of the classes.

    Attributes
    ----------
    kernel_ : the kernel with the bandwidth in it
    bandwidth_, smoothing_ : the values used
    bandwidths_, loo_losses_ : the path of mean leave-one-out log losses (for "loo"), largest bandwidth first
    class_prior_ : π
    votes_ : training rows, classes and weights
    result_ : how the bandwidth was chosen

    Examples
    --------
    >>> import numpy as np
    >>> from credo.kernel_machines import SoftNeighborsClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = SoftNeighborsClassifier(bandwidth=0.5, smoothing=0.1).fit(X, ["a", "a", "b", "b"])
    >>> model.predict_proba([[1.0], [1.5], [1000.0]]).round(3)
    array([[0.865, 0.135],
           [0.5  , 0.5  ],
           [0.5  , 0.5  ]])
    """

    kernel_: Kernel
    votes_: Votes
    class_prior_: NDArray[np.float64]
    loo_losses_: NDArray[np.float64]
    smoothing_: float

    def _check_state(self) -> None:
        super()._check_state()
        if self.votes_.neighbours.rows.shape[1] != self.n_features_in_ or len(self.votes_.factors) != len(
            self.classes_
        ):
            raise ValueError("votes_ belongs to another table")

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        bandwidth: float | str = "loo",
        smoothing: float | str = "loo",
        class_weight: Any = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.smoothing = smoothing
        self.class_weight = class_weight

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        rows, codes, weight = self._training_rows(X, y, sample_weight)
        kernel = RBF() if self.kernel is None else require_kernel(self.kernel)
        # The kernel has its own words for rows that it doesn't fit.
        cross(kernel, rows[:1], rows[:1])
        data = Neighbours(rows.copy(), codes.astype(np.float64), np.ones(len(rows)) if weight is None else weight)
        votes = Votes(data, self._factors(data))
        for name in ("bandwidths_", "loo_losses_"):
            self.__dict__.pop(name, None)
        place = self._scale(kernel, votes)
        self.votes_, self.class_prior_ = votes, votes.prior
        fixed = self._fixed_smoothing()
        self.smoothing_ = float(np.exp(votes.left_out(self.kernel_, place).best()[0])) if fixed is None else fixed
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """ln p/(1 − p): of the second of two classes, shape (n_samples,); of every class where there are more."""
        table = self.predict_proba(X)
        # Sums of the other classes, since 1 − p would lose digits.
        rest = table @ (1.0 - np.eye(table.shape[1]))
        odds = np.log(table) - np.log(rest)
        return odds[:, 1] if table.shape[1] == 2 else odds

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel, bandwidth, class frequencies and leave-one-out log loss, without intervals."""
        check_is_fitted(self)
        lines: list[tuple[str, Any]] = [
            ("bandwidth", self.bandwidth_),
            ("smoothing", self.smoothing_),
            *self.kernel_.entries(self._feature_names()),
            *((f"frequency of {label}", float(p)) for label, p in zip(self.classes_, self.class_prior_, strict=True)),
        ]
        if hasattr(self, "loo_losses_"):
            lines.append(("leave-one-out log loss", float(self.loo_losses_.min())))
        names, estimates = zip(*lines, strict=True)
        return Table(
            "Soft neighbours",
            {"parameter": list(names), "estimate": list(estimates), "sd": [None] * len(lines)},
            notes=(f"kernel {self.kernel_!r}", self.result_.message),
        )

    def _probabilities(self, rows: Array) -> Array:
        return self.votes_.probabilities(self.kernel_, rows, self.smoothing_)

    def _factors(self, data: Neighbours) -> Array:
        """The factor of each class; "balanced" counts observations, so that a weight of k is k copies here too."""
        codes, n_classes = data.target.astype(np.intp), len(self.classes_)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            counts = np.bincount(codes, weights=data.weight)
            return counts.sum() / (n_classes * counts)
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise ValueError(f"class_weight must give positive finite factors; got {self.class_weight!r}")
        return np.asarray(factors, dtype=np.float64)

    def _fixed_smoothing(self) -> float | None:
        """The pseudo-count that was given, if one was."""
        if not isinstance(self.smoothing, str):
            return nonnegative("smoothing", self.smoothing)
        if self.smoothing != "loo":
            raise ValueError(f'smoothing must be a number or "loo"; got {self.smoothing!r}')
        return None

    def _scale(self, kernel: Kernel, votes: Votes) -> Index:
        """Set the bandwidth and the result; the places of rows that are worth leaving out."""
        fixed, data = self._fixed_smoothing(), votes.neighbours
        place = np.arange(len(data.rows))

        def loss(kernel: Kernel, place: Index) -> float:
            left_out = votes.left_out(kernel, place)
            return left_out.best()[1] if fixed is None else left_out.log_loss(np.log(fixed) if fixed else -np.inf)

        if not isinstance(self.bandwidth, str):
            self.bandwidth_ = given(kernel, self.bandwidth)
            self.result_ = Result(True, 1, "bandwidth fixed")
        elif self.bandwidth != "loo":
            raise ValueError(f'bandwidth must be a number or "loo"; got {self.bandwidth!r}')
        elif (choice := choose(kernel, data, loss) if has_bandwidth(kernel) else None) is None:
            self.bandwidth_ = 1.0
            self.result_ = Result(True, 0, no_choice_message(kernel))
        else:
            self.bandwidths_, self.loo_losses_, place = choice.bandwidths, choice.losses, choice.place
            self.bandwidth_ = float(choice.bandwidths[choice.best])
            self.result_ = Result(True, len(choice.bandwidths), choice.message(len(data.rows)))
        self.kernel_ = scaled(kernel, self.bandwidth_)
        return place
