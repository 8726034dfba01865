"""Kernel-weighted averages of the training rows: Nadaraya–Watson regression and soft nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.deadlines import check
from credo.core.estimator import Classifier, Regressor, Result, nonnegative, positive
from credo.core.fields import Axes, Finite, Inner, NonNegative, Positive, Squarable
from credo.core.frames import Table
from credo.core.params import Parameter
from credo.distributions import Distribution, Normal
from credo.kernel_machines._rows import blocks, cross, distances, sample
from credo.kernels import RBF, Kernel, require_kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Bandwidths tried over the whole range, before those around the best.
_N_BANDWIDTHS = 30
# Pairs of rows weighted for each bandwidth; with more, an even sample of rows is left out.
_MAX_PAIRS = 4_000_000


@dataclass(frozen=True)
class Neighbours:
    """Training rows and their weights: the weighted averages of values v, with kernel values as weights.

    m(x) = Σ pᵢ vᵢ,    pᵢ = wᵢ k(x, xᵢ) / Σ wⱼ k(x, xⱼ)
    """

    rows: Annotated[Array, Axes("n d")]
    weight: Annotated[Array, Axes("n"), Positive]

    def averages(
        self, kernel: Kernel, X: Array, values: Array, *, own: Index | None = None
    ) -> tuple[Array, Array, Array]:
        """m(x) for each column of `values`, Σp² over observations, and the kernel mass Σ w k(x, xᵢ).

        If `own` gives the positions of X among the training rows, one observation is left out at each. If all kernel
        values underflow, the rows nearest in Euclidean distance share the weight, and the mass is zero.
        """
        means, square, mass = np.empty((len(X), values.shape[1])), np.empty(len(X)), np.empty(len(X))
        for part in blocks(len(X), len(self.rows)):
            rows = X[part]
            k = _kernel_values(kernel, rows, self.rows)
            places = np.empty(0, dtype=np.intp) if own is None else own[part]
            # Each row's own entry, and its weight without one observation; a weight below one is left out whole.
            mine, left = (np.arange(len(places)), places), np.maximum(self.weight[places] - 1.0, 0.0)
            k[mine] *= left > 0
            largest = k.max(axis=1)
            lost = largest < 1e-300
            if lost.any():
                away = distances(rows, self.rows)
                away[mine] = np.where(left > 0, away[mine], np.inf)
                k[lost] = (away <= (1 + 1e-12) * away.min(axis=1, keepdims=True))[lost]
            k /= np.where(lost, 1.0, largest)[:, None]
            weighted = k * self.weight
            weighted[mine] = k[mine] * left
            total = weighted.sum(axis=1)
            means[part] = weighted @ values / total[:, None]
            square[part] = np.einsum("ij,ij->i", weighted, k) / total**2
            mass[part] = np.where(lost, 0.0, largest * total)
        return means, square, mass


def _kernel_values(kernel: Kernel, X: Array, Z: Array) -> Array:
    values = cross(kernel, X, Z)
    least = float(values.min(initial=0.0))
    if least < 0 or not np.isfinite(values).all():
        raise ValueError(
            f"the kernel's values are used as weights, but {kernel!r} gives "
            f"{f'{least:.3g}' if least < 0 else 'infinite values'} between some of them: use a kernel that is never "
            "negative, such as credo.kernels.RBF()"
        )
    return values


@dataclass(frozen=True)
class Bandwidth:
    """A kernel scaled by the bandwidth, the factor, the result, and the path if it was chosen by leave-one-out."""

    kernel: Kernel
    factor: float
    result: Result
    tried: Array | None = None
    losses: Array | None = None

    @classmethod
    def chosen(cls, kernel: Kernel | None, factor: float | str, rows: Array, loss: Callable[[Kernel], float]) -> Self:
        """The given factor of all free length scales, or the one with the smallest loss."""
        kernel = RBF() if kernel is None else require_kernel(kernel)
        cross(kernel, rows[:1], rows[:1])  # raises an error if the rows don't suit it
        paths = [
            path
            for path in kernel.tree.paths
            if path.rpartition(".")[2] == "lengthscale"
            and isinstance(leaf := kernel.tree[path], Parameter)
            and not leaf.fixed
        ]

        def scaled(factor: float) -> Kernel:
            return kernel.with_params(**{path.replace(".", "__"): kernel.params[path] * factor for path in paths})

        if not isinstance(factor, str):
            factor = positive("bandwidth", factor)
            if factor != 1.0 and not paths:
                raise ValueError(
                    f"bandwidth={factor!r} multiplies length scales, and {kernel!r} has no free one: leave it at 1"
                )
            return cls(scaled(factor), factor, Result(True, 1, "bandwidth fixed"))
        if factor != "loo":
            raise ValueError(f'bandwidth must be a number or "loo"; got {factor!r}')
        if not paths:
            return cls(kernel, 1.0, Result(True, 0, "the kernel has no free length scale and was used as it is"))
        distinct = np.unique(rows, axis=0)
        away = distances(sample(distinct, 200), distinct)
        if not away.any():
            return cls(kernel, 1.0, Result(True, 0, "all rows are equal, so the bandwidth has no effect"))

        def losses(factors: Array) -> list[float]:
            found = []
            for each in factors:
                check()
                found.append(loss(scaled(float(each))))
            return found

        # From equal weights of all rows to the nearest row alone.
        scales = np.concatenate([np.ravel(kernel.params[path]) for path in paths])
        nearest = np.where(away > 0, away, np.inf).min(axis=1)
        narrow = 0.1 * float(np.median(nearest[np.isfinite(nearest)])) / scales.max()
        tried = np.geomspace(30.0 * away.max() / scales.min(), narrow, _N_BANDWIDTHS)
        found = losses(tried)
        best = _first_smallest(found)
        ends = tried[max(best - 1, 0)], tried[min(best + 1, _N_BANDWIDTHS - 1)]
        closer = np.setdiff1d(np.geomspace(*ends, 11), tried)
        tried, path = np.concatenate([tried, closer]), np.array(found + losses(closer))
        order = np.argsort(-tried)
        tried, path = tried[order], path[order]
        best = _first_smallest(path)
        message = "bandwidth chosen by exact leave-one-out"
        if best == 0:
            message = "the largest bandwidth tried was best: under this kernel the inputs say little about the target"
        elif best == len(tried) - 1:
            message = "the smallest bandwidth tried was best: predictions are those of the nearest rows"
        return cls(scaled(tried[best]), float(tried[best]), Result(True, len(tried), message), tried, path)


def _first_smallest(losses: ArrayLike) -> int:
    """The first, and so the smoothest, of those that are equal up to rounding."""
    return int(np.flatnonzero(losses <= np.min(losses) * (1.0 + 1e-10))[0])


def _left_out_rows(n_rows: int) -> Index:
    return sample(np.arange(n_rows), max(500, _MAX_PAIRS // n_rows))


class NadarayaWatson(Regressor):
    """The locally weighted mean of the targets: m(x) = Σ k(x, xᵢ) yᵢ / Σ k(x, xᵢ) (Nadaraya 1964; Watson 1964).

    With p the normalised weights, a new observation has the normal distribution of mean m(x) and variance σ²(x)(1 +
    Σp²): the noise is the locally weighted mean of the squared leave-one-out residuals, each divided by its own 1 + Σp²
    (Fan & Yao 1998), shrunk to their overall mean with the weight of two residuals, and σ²(x) Σp² is the variance of
    m(x). Far from all rows, where all kernel values underflow, m(x) is the target of the nearest row. There the
    variance grows to that of all observations about m(x): with N the kernel mass at x, in units of a tenth of its 5 %
    quantile over the training rows, it replaces the local variance with weight exp(−N).

    Parameters
    ----------
    kernel : Kernel, optional
        Never negative. By default `RBF()`, whose length scale then is the bandwidth (columns should be in comparable
        units, as after StandardScaler).
    bandwidth : float or "loo", default "loo"
        Factor of the kernel's free length scales; "loo" uses the one with the smallest exact leave-one-out error, among
        30 between the distances of nearest and of farthest rows and 10 more around the best. In tables above 2000 rows
        only an evenly spaced sample of rows is left out.

    Attributes
    ----------
    kernel_ : the kernel with the bandwidth in it
    bandwidth_ : the factor used
    bandwidths_, loo_errors_ : the path of mean squared leave-one-out errors (for "loo"), largest bandwidth first
    noise_std_ : root of the mean noise variance over the rows
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
    neighbours_: Annotated[Neighbours, Inner(n="n", d="d")]
    # The targets less their mean, and their noise variances.
    values_: Annotated[Array, Axes("n 2")]
    y_mean_: Annotated[float, Finite]
    y_std_: Annotated[float, Finite, Squarable]
    mass_unit_: float

    _title = "Nadaraya–Watson kernel regression"
    _equation = "f(x) = Σ k(x, xᵢ) yᵢ / Σ k(x, xᵢ)"

    def __init__(self, kernel: Kernel | None = None, *, bandwidth: float | Literal["loo"] = "loo") -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; sample weights multiply the kernel values."""
        self._reset()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(rows)) if weight is None else weight
        data = Neighbours(rows.copy(), weight.copy())
        # Relative to the mean, for accuracy.
        y_mean = float(np.average(target, weights=weight))
        values = np.column_stack([target - y_mean, np.zeros(len(target))])
        own = _left_out_rows(len(rows))

        def left_out(kernel: Kernel, own: Index) -> tuple[Array, Array, Array]:
            means, square, mass = data.averages(kernel, rows[own], values, own=own)
            return values[own, 0] - means[:, 0], square, mass

        def loss(kernel: Kernel) -> float:
            return float(np.average(left_out(kernel, own)[0] ** 2, weights=weight[own]))

        found = Bandwidth.chosen(self.kernel, self.bandwidth, rows, loss)
        self.kernel_, self.bandwidth_, self.result_ = found.kernel, found.factor, found.result
        if found.tried is not None and found.losses is not None:
            self.bandwidths_, self.loo_errors_ = found.tried, found.losses
        self.noise_std_ = self.mass_unit_ = np.nan
        if len(rows) > 1 or weight[0] > 1:
            error, square, mass = left_out(self.kernel_, np.arange(len(rows)))
            values[:, 1] = error**2 / (1.0 + square)
            self.noise_std_ = float(np.sqrt(np.average(values[:, 1], weights=weight)))
            order = np.argsort(mass, kind="stable")
            low = mass[order][np.argmax(np.cumsum(weight[order]) >= 0.05 * weight.sum())]
            self.mass_unit_ = max(0.1 * float(low), 1e-300)
        self.y_mean_, self.y_std_ = y_mean, float(np.sqrt(np.average(values[:, 0] ** 2, weights=weight)))
        self.neighbours_, self.values_ = data, values
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel, bandwidth and noise, without intervals."""
        check_is_fitted(self)
        lines = [("bandwidth", self.bandwidth_), *self.kernel_.entries(self._feature_names())]
        lines.append(("noise sd", self.noise_std_))
        notes = (f"kernel {self.kernel_!r}", self.result_.message)
        return Table.of_estimates("Nadaraya-Watson regression", lines, notes=notes)

    def _mean(self, rows: Array) -> Array:
        return self.y_mean_ + self.neighbours_.averages(self.kernel_, rows, self.values_)[0][:, 0]

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        if np.isnan(self.noise_std_):
            raise ValueError("the noise can't be estimated from a single observation: use more rows")
        means, square, mass = self.neighbours_.averages(self.kernel_, rows, self.values_)
        pooled, count = self.noise_std_**2, 1.0 / square
        # The mean over all rows counts as much as two neighbours, which may agree by chance.
        noise = (count * means[:, 1] + 2.0 * pooled) / (count + 2.0)
        far = np.exp(-mass / self.mass_unit_)
        overall = self.y_std_**2 + means[:, 0] ** 2
        elsewhere = np.minimum(pooled, overall)
        variance = (1.0 - far) * noise * square + far * (overall - elsewhere)
        if not latent:
            variance += (1.0 - far) * noise + far * elsewhere
        return Normal(self.y_mean_ + means[:, 0], np.sqrt(variance))


class SoftNeighborsClassifier(Classifier):
    """Class probabilities from kernel-weighted votes of all training rows.

        p(c | x) = (V_c + a π_c) / (Σ V + a),    V_c = Σ k(x, xᵢ) over the rows of class c

    Without `smoothing` a this is Nadaraya–Watson regression of the classes' indicators, and Bayes' rule with kernel
    density estimates of the classes. The pseudo-count a is distributed over the classes by their frequencies π, by
    Laplace's rule (n_c + 1)/(n + K): no class has probability 0, and far from all rows, where V vanishes, the
    probabilities tend to π. With a = 0 the nearest rows determine the prediction there.

    Parameters
    ----------
    kernel : Kernel, optional
        Never negative. By default `RBF()`, whose length scale then is the bandwidth (columns should be in comparable
        units, as after StandardScaler).
    bandwidth : float or "loo", default "loo"
        Factor of the kernel's free length scales; "loo" uses the one with the smallest exact leave-one-out log loss,
        among 30 between the distances of nearest and of farthest rows and 10 more around the best. In tables above 2000
        rows only an evenly spaced sample of rows is left out.
    smoothing : float or "loo", default "loo"
        The pseudo-count a, in units of the kernel: with `RBF()`, a number of rows at x itself. "loo" uses the value
        with the smallest leave-one-out log loss at each bandwidth, among 16 from 10 to 1/(n + 1) times the median row's
        sum of weights of the other rows.

    Attributes
    ----------
    kernel_ : the kernel with the bandwidth in it
    bandwidth_, smoothing_ : the values used
    bandwidths_, loo_losses_ : the path of mean leave-one-out log losses (for "loo"), largest bandwidth first
    class_prior_ : π
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
    neighbours_: Annotated[Neighbours, Inner(n="n", d="d")]
    indicators_: Annotated[Array, Axes("n c")]
    class_prior_: Annotated[Array, Axes("c")]
    loo_losses_: Array
    smoothing_: Annotated[float, Finite, NonNegative]

    _title = "Kernel-weighted nearest neighbours"
    _equation = "p(class | x) ∝ Σ k(x, xᵢ) [yᵢ = class]"

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        bandwidth: float | Literal["loo"] = "loo",
        smoothing: float | Literal["loo"] = "loo",
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.smoothing = smoothing

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; sample weights multiply the votes."""
        self._reset()
        rows, codes, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(rows)) if weight is None else weight
        data, indicators = Neighbours(rows.copy(), weight.copy()), np.eye(len(self.classes_))[codes]
        if isinstance(self.smoothing, str) and self.smoothing != "loo":
            raise ValueError(f'smoothing must be a number or "loo"; got {self.smoothing!r}')
        fixed = None if isinstance(self.smoothing, str) else nonnegative("smoothing", self.smoothing)
        counts, own = weight @ indicators, _left_out_rows(len(rows))
        gone = np.minimum(weight[own], 1.0)
        prior = (counts[codes[own]] + 1.0 - gone) / (counts.sum() + len(counts) - gone)

        def left_out(kernel: Kernel) -> tuple[float, float]:
            """The mean log loss of the rows, each left out, and the smoothing: that given, or the best."""
            shares, _, mass = data.averages(kernel, rows[own], indicators, own=own)
            share = shares[np.arange(len(own)), codes[own]]
            candidates = _smoothings(mass, weight[own], counts.sum()) if fixed is None else np.array([fixed])
            with np.errstate(divide="ignore"):
                losses = [
                    float(np.average(-np.log(voted * share + (1.0 - voted) * prior), weights=weight[own]))
                    for voted in (_voted(mass, a) for a in candidates)
                ]
            best = _first_smallest(losses)
            return losses[best], float(candidates[best])

        found = Bandwidth.chosen(self.kernel, self.bandwidth, rows, lambda kernel: left_out(kernel)[0])
        self.kernel_, self.bandwidth_, self.result_ = found.kernel, found.factor, found.result
        if found.tried is not None and found.losses is not None:
            self.bandwidths_, self.loo_losses_ = found.tried, found.losses
        self.smoothing_ = left_out(self.kernel_)[1]
        self.neighbours_, self.indicators_ = data, indicators
        self.class_prior_ = (counts + 1.0) / (counts.sum() + len(counts))
        return self

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
        shares, _, mass = self.neighbours_.averages(self.kernel_, rows, self.indicators_)
        voted = _voted(mass, self.smoothing_)[:, None]
        return voted * shares + (1.0 - voted) * self.class_prior_


def _voted(mass: Array, smoothing: float) -> Array:
    """The share of p that comes from the votes."""
    return mass / (mass + smoothing) if smoothing > 0 else np.ones_like(mass)


def _smoothings(mass: Array, weight: Array, n_observations: float) -> Array:
    """Candidates for a, largest first, relative to the median row's kernel mass.

    The smallest is by the rule of succession: N observations that agree leave 1/(N + 1) for other classes.
    """
    order = np.argsort(mass, kind="stable")
    order = order[mass[order] > 0]
    reached = np.cumsum(weight[order])
    typical = mass[order][np.searchsorted(reached, 0.5 * reached[-1])] if len(order) else 1.0
    return np.maximum(typical * np.geomspace(10.0, 1.0 / (1.0 + n_observations), 16), 1e-300)
