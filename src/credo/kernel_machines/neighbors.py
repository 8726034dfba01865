"""Kernel-weighted averages of the training rows: Nadaraya–Watson regression and soft nearest neighbors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.deadlines import check
from credo.core.estimator import Classifier, Estimator, Regressor, Result, nonnegative, positive
from credo.core.fields import Axes, Finite, Inner, NonNegative, Positive, Squarable
from credo.core.frames import Table
from credo.core.linalg import weighted_quantiles
from credo.core.params import Parameter
from credo.distributions import Distribution, Normal
from credo.kernel_machines._rows import blocks, cross, distances, sample
from credo.kernels import RBF, Kernel, require_kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

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
            k = _kernel_values(kernel, X[part], self.rows)
            weight = np.tile(self.weight, (len(k), 1))
            if own is not None:
                weight[np.arange(len(k)), own[part]] = np.maximum(self.weight[own[part]] - 1.0, 0.0)
                k[weight == 0] = 0.0
            largest = k.max(axis=1)
            lost = largest < 1e-300
            if lost.any():
                away = np.where(weight[lost] > 0, distances(X[part][lost], self.rows), np.inf)
                k[lost] = away <= (1 + 1e-12) * away.min(axis=1, keepdims=True)
            k /= np.where(lost, 1.0, largest)[:, None]
            weight *= k
            total = weight.sum(axis=1)
            means[part] = weight @ values / total[:, None]
            square[part] = np.einsum("ij,ij->i", weight, k) / total**2
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


class _Smoother(Estimator):
    """What both models have: a kernel, and its bandwidth by leave-one-out."""

    kernel: Kernel | None
    bandwidth: float | Literal["loo"]

    kernel_: Kernel
    bandwidth_: float
    bandwidths_: Array
    loo_losses_: Array
    neighbours_: Annotated[Neighbours, Inner(n="n", d="d")]

    def _choose_bandwidth(self, rows: Array, loss: Callable[[Kernel], float]) -> None:
        """Multiply all free length scales by the given factor, or by the one with the smallest loss."""
        kernel = RBF() if self.kernel is None else require_kernel(self.kernel)
        cross(kernel, rows[:1], rows[:1])  # raises an error if the rows don't suit it
        scales = {
            path.replace(".", "__"): kernel.params[path]
            for path in kernel.tree.paths
            if path.rpartition(".")[2] == "lengthscale"
            and isinstance(leaf := kernel.tree[path], Parameter)
            and not leaf.fixed
        }

        def scaled(factor: float) -> Kernel:
            return kernel.with_params(**{path: scale * factor for path, scale in scales.items()})

        def losses(factors: Array) -> list[float]:
            found = []
            for factor in factors.tolist():
                check()
                found.append(loss(scaled(factor)))
            return found

        if self.bandwidth != "loo":
            factor = _number_or_loo("bandwidth", self.bandwidth, positive)
            self.result_ = Result(True, 1, "bandwidth fixed")
            if factor != 1.0 and not scales:
                raise ValueError(
                    f"bandwidth={factor!r} multiplies length scales, and {kernel!r} has no free one: leave it at 1"
                )
        elif not scales:
            factor, message = 1.0, "the kernel has no free length scale and was used as it is"
            self.result_ = Result(True, 0, message)
        elif not (away := distances(sample(distinct := np.unique(rows, axis=0), 200), distinct)).any():
            factor, self.result_ = 1.0, Result(True, 0, "all rows are equal, so the bandwidth has no effect")
        else:
            # From equal weights of all rows to the nearest row alone, then closer around the best.
            lengths = np.concatenate([np.ravel(scale) for scale in scales.values()])
            nearest = np.where(away > 0, away, np.inf).min(axis=1)
            narrow = 0.1 * float(np.median(nearest[np.isfinite(nearest)])) / lengths.max()
            tried = np.geomspace(30.0 * away.max() / lengths.min(), narrow, 30)
            found = losses(tried)
            best = _first_smallest(found)
            closer = np.setdiff1d(np.geomspace(tried[max(best - 1, 0)], tried[min(best + 1, 29)], 11), tried)
            tried, path = np.concatenate([tried, closer]), np.array(found + losses(closer))
            order = np.argsort(-tried)
            self.bandwidths_, self.loo_losses_ = tried[order], path[order]
            best = _first_smallest(self.loo_losses_)
            message = "bandwidth chosen by exact leave-one-out"
            if best == 0:
                message = (
                    "the largest bandwidth tried was best: under this kernel the inputs say little about the target"
                )
            elif best == len(tried) - 1:
                message = "the smallest bandwidth tried was best: predictions are those of the nearest rows"
            factor, self.result_ = float(self.bandwidths_[best]), Result(True, len(tried), message)
        self.kernel_, self.bandwidth_ = scaled(factor), factor

    def _summary(self, title: str, lines: list[tuple[str, float]]) -> Table:
        check_is_fitted(self)
        lines = [("bandwidth", self.bandwidth_), *self.kernel_.entries(self._feature_names()), *lines]
        return Table.of_estimates(title, lines, notes=(f"kernel {self.kernel_!r}", self.result_.message))


def _number_or_loo(name: str, value: Any, check: Callable[[str, Any], float]) -> float:
    if isinstance(value, str):
        raise ValueError(f'{name} must be a number or "loo"; got {value!r}')
    return check(name, value)


def _first_smallest(losses: ArrayLike) -> int:
    """The first, and so the smoothest, of those that are equal up to rounding."""
    return int(np.flatnonzero(losses <= np.min(losses) * (1.0 + 1e-10))[0])


def _left_out_rows(n_rows: int) -> Index:
    return sample(np.arange(n_rows), max(500, _MAX_PAIRS // n_rows))


class NadarayaWatson(_Smoother, Regressor):
    """The locally weighted mean of the targets: m(x) = Σ k(x, xᵢ) yᵢ / Σ k(x, xᵢ) (Nadaraya 1964; Watson 1964).

    A new observation is normal about m(x) with variance σ²(x)(1 + Σp²), where p are the normalized weights and σ²(x)
    Σp² is the variance of m(x). σ² is the locally weighted mean of squared leave-one-out residuals, each divided by its
    own 1 + Σp² (Fan & Yao 1998), shrunk to their overall mean with the weight of two residuals. Far from all rows m(x)
    is the target of the nearest row, and the variance grows to that of all observations about m(x): it replaces the
    local variance with weight exp(−N), N the kernel mass at x in units of a tenth of its 5 % quantile over the rows.

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
    kernel_, bandwidth_ : the kernel with the bandwidth in it, and the factor used
    bandwidths_, loo_losses_ : the path of mean squared leave-one-out errors (for "loo"), largest bandwidth first
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

    noise_std_: float
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

        def loss(kernel: Kernel) -> float:
            error = values[own, 0] - data.averages(kernel, rows[own], values, own=own)[0][:, 0]
            return float(np.average(error**2, weights=weight[own]))

        self._choose_bandwidth(rows, loss)
        self.noise_std_ = self.mass_unit_ = np.nan
        if len(rows) > 1 or weight[0] > 1:
            means, square, mass = data.averages(self.kernel_, rows, values, own=np.arange(len(rows)))
            values[:, 1] = (values[:, 0] - means[:, 0]) ** 2 / (1.0 + square)
            self.noise_std_ = float(np.sqrt(np.average(values[:, 1], weights=weight)))
            self.mass_unit_ = max(0.1 * float(weighted_quantiles(mass, weight, 0.05)), 1e-300)
        self.y_mean_, self.y_std_ = y_mean, float(np.sqrt(np.average(values[:, 0] ** 2, weights=weight)))
        self.neighbours_, self.values_ = data, values
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel, bandwidth and noise, without intervals."""
        check_is_fitted(self)
        return self._summary("Nadaraya-Watson regression", [("noise sd", self.noise_std_)])

    def _mean(self, rows: Array) -> Array:
        return self.y_mean_ + self.neighbours_.averages(self.kernel_, rows, self.values_)[0][:, 0]

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        if np.isnan(self.noise_std_):
            raise ValueError("the noise can't be estimated from a single observation: use more rows")
        means, square, mass = self.neighbours_.averages(self.kernel_, rows, self.values_)
        pooled, count = self.noise_std_**2, 1.0 / square
        # The mean over all rows counts as much as two neighbors, which may agree by chance.
        noise = (count * means[:, 1] + 2.0 * pooled) / (count + 2.0)
        far = np.exp(-mass / self.mass_unit_)
        overall = self.y_std_**2 + means[:, 0] ** 2
        elsewhere = np.minimum(pooled, overall)
        variance = (1.0 - far) * noise * square + far * (overall - elsewhere)
        if not latent:
            variance += (1.0 - far) * noise + far * elsewhere
        return Normal(self.y_mean_ + means[:, 0], np.sqrt(variance))


class SoftNeighborsClassifier(_Smoother, Classifier):
    """Class probabilities from kernel-weighted votes of all training rows.

        p(c | x) = (V_c + a π_c) / (Σ V + a),    V_c = Σ k(x, xᵢ) over the rows of class c

    Without `smoothing` a this is Nadaraya–Watson regression of the classes' indicators, and Bayes' rule with kernel
    density estimates of the classes. The pseudo-count a is distributed over the classes by their frequencies π, by
    Laplace's rule (n_c + 1)/(n + K): no class has probability 0, and far from all rows, where V vanishes, the
    probabilities tend to π. With a = 0 the nearest rows determine the prediction there.

    Parameters
    ----------
    kernel, bandwidth
        As of `NadarayaWatson`; "loo" uses the bandwidth with the smallest leave-one-out log loss.
    smoothing : float or "loo", default "loo"
        The pseudo-count a, in units of the kernel: with `RBF()`, a number of rows at x itself. "loo" uses the value
        with the smallest leave-one-out log loss at each bandwidth, among 16 from 10 to 1/(n + 1) times the median row's
        sum of weights of the other rows.

    Attributes
    ----------
    kernel_, bandwidth_, smoothing_ : the kernel with the bandwidth in it, and the values used
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

    indicators_: Annotated[Array, Axes("n c")]
    class_prior_: Annotated[Array, Axes("c")]
    smoothing_: Annotated[float, Finite, NonNegative]

    _title = "Kernel-weighted nearest neighbors"
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
        fixed = None if self.smoothing == "loo" else _number_or_loo("smoothing", self.smoothing, nonnegative)
        counts, own = weight @ indicators, _left_out_rows(len(rows))
        gone = np.minimum(weight[own], 1.0)
        prior = (counts[codes[own]] + 1.0 - gone) / (counts.sum() + len(counts) - gone)

        def left_out(kernel: Kernel) -> tuple[float, float]:
            """The mean log loss of the rows, each left out, and the smoothing: that given, or the best."""
            shares, _, mass = data.averages(kernel, rows[own], indicators, own=own)
            share, seen = shares[np.arange(len(own)), codes[own]], mass > 0
            candidates = np.array([fixed])
            if fixed is None:
                # By the rule of succession, N observations that agree leave 1/(N + 1) for other classes.
                typical = weighted_quantiles(mass[seen], weight[own][seen], 0.5) if seen.any() else 1.0
                candidates = np.maximum(typical * np.geomspace(10.0, 1.0 / (1.0 + counts.sum()), 16), 1e-300)
            votes = [_voted(mass, a) for a in candidates]
            with np.errstate(divide="ignore"):
                losses = [-np.log(voted * share + (1.0 - voted) * prior) @ weight[own] for voted in votes]
            best = _first_smallest(losses)
            return losses[best] / weight[own].sum(), float(candidates[best])

        self._choose_bandwidth(rows, lambda kernel: left_out(kernel)[0])
        self.smoothing_ = left_out(self.kernel_)[1]
        self.neighbours_, self.indicators_ = data, indicators
        self.class_prior_ = (counts + 1.0) / (counts.sum() + len(counts))
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel, bandwidth, class frequencies and leave-one-out log loss, without intervals."""
        check_is_fitted(self)
        shares = zip(self.classes_, self.class_prior_.tolist(), strict=True)
        lines = [("smoothing", self.smoothing_), *((f"frequency of {label}", share) for label, share in shares)]
        if hasattr(self, "loo_losses_"):
            lines.append(("leave-one-out log loss", float(self.loo_losses_.min())))
        return self._summary("Soft neighbors", lines)

    def _probabilities(self, rows: Array) -> Array:
        shares, _, mass = self.neighbours_.averages(self.kernel_, rows, self.indicators_)
        voted = _voted(mass, self.smoothing_)[:, None]
        return voted * shares + (1.0 - voted) * self.class_prior_


def _voted(mass: Array, smoothing: float) -> Array:
    """The share of p that comes from the votes."""
    return mass / (mass + smoothing) if smoothing > 0 else np.ones_like(mass)
