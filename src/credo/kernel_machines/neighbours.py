"""Nadaraya–Watson regression: locally weighted means, with the bandwidth by exact leave-one-out.

Classification by kernel-weighted votes of all training rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import Classifier, Regressor, check_places, check_positive, check_shapes, nonnegative
from credo.core.frames import Table
from credo.distributions import Distribution, Normal
from credo.kernel_machines._neighbours import Index, Neighbours, Spread, blocks, checked_kernel, choose
from credo.kernels import Kernel

Array = NDArray[np.float64]


class NadarayaWatson(Regressor):
    """The locally weighted mean of the targets: m(x) = Σ k(x, xᵢ) yᵢ / Σ k(x, xᵢ) (Nadaraya 1964; Watson 1964).

    With p the normalised weights, a new observation has the normal distribution of mean m(x) and variance σ²(x)(1 +
    Σp²): the noise is the locally weighted mean of the squared leave-one-out residuals, each divided by its own 1 + Σp²
    (Fan & Yao 1998), shrunk to their overall mean with the weight of two residuals, and σ²(x) Σp² = σ²(x) Σk²/(Σk)² is
    the variance of m(x).

    Weights are computed in logs, so that far from all rows the nearest ones determine the prediction. Where a kernel is
    exactly zero, the rows nearest in Euclidean distance share the weight: m(x) is then the target of the nearest row,
    or the mean of equally near ones. There the variance grows to that of all observations about m(x): with N the kernel
    mass at x, in units of a tenth of its 5 % quantile over the training rows, it replaces the local variance with
    weight exp(−N).

    Parameters
    ----------
    kernel : Kernel, optional
        Never negative. By default `RBF()`, whose length scale then is the bandwidth (columns should be in comparable
        units, as after StandardScaler).
    bandwidth : float or "loo", default "loo"
        Factor of the kernel's free length scales; "loo" uses the one with the smallest exact
        leave-one-out error, among 30 between the distances of nearest and of farthest rows and 10 more around the best.
        In tables above 2000 rows only an evenly spaced sample of rows is left out.

    Attributes
    ----------
    kernel_ : the kernel with the bandwidth in it
    bandwidth_ : the factor used
    bandwidths_, loo_errors_ : the path of mean squared leave-one-out errors (for "loo"), largest bandwidth first
    noise_std_ : root of the mean noise variance over the rows
    neighbours_ : training rows, targets and weights
    result_ : how the bandwidth was chosen

    Examples
    --------
    >>> import numpy as np
    >>> from credo.kernel_machines import NadarayaWatson
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = NadarayaWatson(bandwidth=0.5).fit(X, [0.0, 1.0, 5.0])
    >>> model.predict([[0.5], [1000.0]]).round(3)
    array([0.541, 5.   ])
    """

    bandwidth_: float
    bandwidths_: Array
    loo_errors_: Array
    noise_std_: float
    kernel_: Kernel
    neighbours_: Neighbours
    spread_: Spread | None

    def _check_state(self) -> None:
        super()._check_state()
        n, width = self.neighbours_.rows.shape
        if width != self.n_features_in_ or (self.spread_ is not None and len(self.spread_.variances) != n):
            raise ValueError("neighbours_ or spread_ belongs to another table")

    def __init__(self, kernel: Kernel | None = None, *, bandwidth: float | Literal["loo"] = "loo") -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        rows, target, weight = self._training_rows(X, y, sample_weight)
        kernel = checked_kernel(self.kernel, rows)
        data = Neighbours(rows.copy(), target.copy(), np.ones(len(rows)) if weight is None else weight.copy())
        choice = choose(kernel, self.bandwidth, data, data.square_error)
        for name in ("bandwidths_", "loo_errors_"):
            self.__dict__.pop(name, None)
        if choice.bandwidths is not None and choice.losses is not None:
            self.bandwidths_, self.loo_errors_ = choice.bandwidths, choice.losses
        self.kernel_, self.bandwidth_, self.result_ = choice.kernel, choice.bandwidth, choice.result
        self.neighbours_ = data
        self.spread_ = None if data.alone else Spread.of(data, self.kernel_)
        self.noise_std_ = float(np.sqrt(self.spread_.pooled)) if self.spread_ is not None else np.nan
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel, bandwidth and noise, without intervals."""
        check_is_fitted(self)
        lines: list[tuple[str, Any]] = [
            ("bandwidth", self.bandwidth_),
            *self.kernel_.entries(self._feature_names()),
            ("noise sd", self.noise_std_),
        ]
        return Table.of_estimates(
            "Nadaraya-Watson regression", lines, notes=(f"kernel {self.kernel_!r}", self.result_.message)
        )

    def _mean(self, rows: Array) -> Array:
        parts = [
            self.neighbours_.mean(self.neighbours_.shares(self.kernel_, rows[part])[0])
            for part in blocks(len(rows), len(self.neighbours_.rows))
        ]
        return np.concatenate(parts)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        if self.spread_ is None:
            raise ValueError("the noise can't be estimated from a single observation: use more rows")
        mean, variance = np.empty(len(rows)), np.empty(len(rows))
        for part in blocks(len(rows), len(self.neighbours_.rows)):
            shares, mass = self.neighbours_.shares(self.kernel_, rows[part])
            mean[part] = self.neighbours_.mean(shares)
            square = self.neighbours_.square(shares)
            of_mean, noise = self.spread_.squares(shares, square, mass, mean[part])
            variance[part] = of_mean if latent else of_mean + noise
        return Normal(mean, np.sqrt(variance))


# Candidates for the pseudo-count, of which the largest is so many times the typical sum of weights.
_CANDIDATES, _LARGEST = 16, 10.0
# Below it a pseudo-count would underflow.
_LEAST_LOG = -690.0


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

    bandwidth_: float
    bandwidths_: Array
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
        bandwidth: float | Literal["loo"] = "loo",
        smoothing: float | Literal["loo"] = "loo",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.smoothing = smoothing
        self.class_weight = class_weight

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        rows, codes, weight = self._training_rows(X, y, sample_weight)
        kernel = checked_kernel(self.kernel, rows)
        data = Neighbours(rows.copy(), codes.astype(np.float64), np.ones(len(rows)) if weight is None else weight)
        votes, fixed = Votes(data, self._factors(codes, weight)), self._fixed_smoothing()

        def loss(kernel: Kernel, place: Index) -> float:
            left_out = votes.left_out(kernel, place)
            return left_out.best()[1] if fixed is None else left_out.log_loss(_log(fixed))

        choice = choose(kernel, self.bandwidth, data, loss)
        for name in ("bandwidths_", "loo_losses_"):
            self.__dict__.pop(name, None)
        if choice.bandwidths is not None and choice.losses is not None:
            self.bandwidths_, self.loo_losses_ = choice.bandwidths, choice.losses
        self.kernel_, self.bandwidth_, self.result_ = choice.kernel, choice.bandwidth, choice.result
        self.votes_, self.class_prior_ = votes, votes.prior
        best = votes.left_out(self.kernel_, choice.place).best() if fixed is None else None
        self.smoothing_ = float(np.exp(best[0])) if best is not None else float(fixed or 0.0)
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
        return Table.of_estimates("Soft neighbours", lines, notes=(f"kernel {self.kernel_!r}", self.result_.message))

    def _probabilities(self, rows: Array) -> Array:
        return self.votes_.probabilities(self.kernel_, rows, self.smoothing_)

    def _factors(self, codes: Index, weight: Array | None) -> Array:
        """The factor of each class."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        factors = self._class_factors(self.class_weight, self.classes_[codes], codes, weight)
        if not (factors > 0).all():
            raise ValueError(f"class_weight must give positive finite factors; got {self.class_weight!r}")
        return np.asarray(factors, dtype=np.float64)

    def _fixed_smoothing(self) -> float | None:
        """The pseudo-count that was given, if one was."""
        if not isinstance(self.smoothing, str):
            return nonnegative("smoothing", self.smoothing)
        if self.smoothing != "loo":
            raise ValueError(f'smoothing must be a number or "loo"; got {self.smoothing!r}')
        return None


@dataclass(frozen=True)
class Votes:
    """Training rows whose targets are class indices, and the factor of each class.

        p(c | x) = (V_c + a π_c) / (Σ V + a),    V_c = g_c Σ wᵢ k(x, xᵢ) over the rows of class c

    g_c are the classes' factors and π_c ∝ g_c (n_c + 1) their frequencies by Laplace's rule of succession, never zero.
    Everything is relative to the largest weight, in logs: where V underflows, a π decides, and without a the nearest
    rows.
    """

    neighbours: Neighbours
    factors: Array

    def _check_state(self) -> None:
        sizes = check_shapes(self, factors="k")
        check_places(self.neighbours, "target", sizes["k"])
        check_positive(self, "factors", zero=True)

    @property
    def counts(self) -> Array:
        """Observations of each class."""
        counts = np.bincount(self._codes, weights=self.neighbours.weight, minlength=len(self.factors))
        return counts.astype(np.float64)

    @property
    def prior(self) -> Array:
        """π, the probabilities far from all rows."""
        prior = self.factors * (self.counts + 1.0)
        return prior / prior.sum()

    @property
    def _codes(self) -> Index:
        return self.neighbours.target.astype(np.intp)

    def probabilities(self, kernel: Kernel, X: Array, smoothing: float) -> Array:
        """p(c | x) for each row of X."""
        parts = []
        for part in blocks(len(X), len(self.neighbours.rows)):
            shares, mass = self._shares(kernel, X[part])
            voted, smoothed = _parts(mass, _log(smoothing))
            parts.append(voted[:, None] * shares + smoothed[:, None] * self.prior)
        return np.concatenate(parts)

    def left_out(self, kernel: Kernel, place: Index) -> LeftOut:
        """Leave-one-out probabilities of these training rows."""
        codes, share, mass = self._codes[place], np.empty(len(place)), np.empty(len(place))
        for part in blocks(len(place), len(self.neighbours.rows)):
            own = place[part]
            shares, mass[part] = self._shares(kernel, self.neighbours.rows[own], own=own)
            share[part] = shares[np.arange(len(own)), codes[part]]
        gone = np.minimum(self.neighbours.weight[place], 1.0)
        mine = self.factors[codes] * (self.counts[codes] + 1.0 - gone)
        every = (self.factors * (self.counts + 1.0)).sum() - self.factors[codes] * gone
        weight = self.neighbours.weight[place] * self.factors[codes]
        return LeftOut(share, mass, mine / every, weight, float(self.neighbours.weight.sum()))

    def _shares(self, kernel: Kernel, X: Array, *, own: Index | None = None) -> tuple[Array, Array]:
        """V_c / Σ V for each row of X, and ln Σ V."""
        of_rows, mass = self.neighbours.shares(kernel, X, own=own)
        shares = of_rows @ (self._codes[:, None] == np.arange(len(self.factors))) * self.factors
        total = shares.sum(axis=1)
        return shares / total[:, None], mass + np.log(total)


@dataclass(frozen=True)
class LeftOut:
    """Of rows that were left out: their own class's share, ln Σ V and π, and their weights; and the observations."""

    share: Array
    log_mass: Array
    prior: Array
    weight: Array
    n_observations: float

    def log_loss(self, log_smoothing: float) -> float:
        """The mean of −ln p of the rows' own classes."""
        voted, smoothed = _parts(self.log_mass, log_smoothing)
        with np.errstate(divide="ignore"):
            return float(np.average(-np.log(voted * self.share + smoothed * self.prior), weights=self.weight))

    def best(self) -> tuple[float, float]:
        """The ln a of the smallest loss, the largest of equals, and that loss."""
        logs = self._candidates()
        losses = np.array([self.log_loss(log) for log in logs])
        best = int(np.flatnonzero(losses <= losses.min() * (1.0 + 1e-10))[0])
        return float(logs[best]), float(losses[best])

    def _candidates(self) -> Array:
        """ln a, largest first, relative to the median row's sum of weights.

        The smallest is that of the rule of succession: N observations that agree leave 1/(N + 1) for the rest.
        """
        finite = np.flatnonzero(np.isfinite(self.log_mass))
        typical = 0.0
        if len(finite):
            order = finite[np.argsort(self.log_mass[finite], kind="stable")]
            reached = np.cumsum(self.weight[order])
            typical = float(self.log_mass[order][np.searchsorted(reached, 0.5 * reached[-1])])
        ratios = np.geomspace(_LARGEST, 1.0 / (1.0 + self.n_observations), _CANDIDATES)
        return np.maximum(typical + np.log(ratios), _LEAST_LOG)


def _log(smoothing: float) -> float:
    return float(np.log(smoothing)) if smoothing > 0 else -np.inf


def _parts(log_mass: Array, log_smoothing: float) -> tuple[Array, Array]:
    """How much of p comes from the votes, and how much from the pseudo-count."""
    if np.isneginf(log_smoothing):
        return np.ones_like(log_mass), np.zeros_like(log_mass)
    return expit(log_mass - log_smoothing), expit(log_smoothing - log_mass)
