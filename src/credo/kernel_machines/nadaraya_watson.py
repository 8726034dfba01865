"""Nadaraya–Watson regression: locally weighted means, with the bandwidth by exact leave-one-out."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, Normal
from credo.estimator import Regressor
from credo.frames import Table
from credo.kernel_machines._bandwidth import checked_kernel, choose
from credo.kernel_machines._neighbours import Neighbours, Spread
from credo.kernel_machines._rows import blocks
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
