"""Regression of a transformed target, and the choice of the transformation by held-out log scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    Description,
    Regressor,
    Result,
    choice,
    describe,
    ending_of,
    evidence_of,
    in_words,
    merge_equal_rows,
    require_no_missing,
    take_columns,
)
from credo.core.frames import Table
from credo.core.learning.ascent import refined_maximum
from credo.core.linalg import weighted_quantiles
from credo.core.notices import collected
from credo.core.seeds import generator
from credo.distributions import (
    BoxCox,
    Distribution,
    Identity,
    LinearTails,
    Log,
    Mixture,
    Normal,
    StudentT,
    Transform,
    Transformed,
    YeoJohnson,
)
from credo.ensemble._base import MetaEstimator, fit_arguments, latent_dist, target_rows
from credo.linear import BayesianLinearRegression
from credo.metrics import final_step, point, predictive
from credo.selection import Gap

Array = NDArray[np.float64]

# The simplest first.
KINDS = ("identity", "log", "box-cox", "yeo-johnson")
_POSITIVE = ("log", "box-cox")
# With λ in this range, a normal distribution of g(y) gives y a finite mean and standard deviation.
_POWERS = np.linspace(0.0, 2.0, 41)
_MAX_ROWS, _MAX_COLUMNS, _N_FOLDS = 5000, 50, 5


def choose_transform(
    X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, random_state: Any = None
) -> Transform:
    """The simplest transformation of y with which a linear model predicts held-out targets about as well as with the
    best.

    Identity, log, Box–Cox and Yeo–Johnson are compared by the log score, on the scale of y, of a Bayesian linear model
    in five folds. The best is selected, or a simpler one whose mean score is lower by at most two standard errors of
    the paired differences (winsorized by one per cent on either side). Log and Box–Cox need positive targets. With
    fewer than 20 distinct rows or a constant y, the result is the identity.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        Columns that aren't numbers are left out, missing values become the column's mean, and with more than 50
        columns those whose ranks correlate most with the ranks of y are used.
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
        A weight of k is equivalent to k copies of the row.
    random_state : int, Generator or None, default None
        Chooses the folds and, if there are more than 5,000 distinct rows, a subsample of 5,000.

    Returns
    -------
    Transform

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import choose_transform
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> choose_transform(X, np.exp(X @ [1.0, -0.5] + 0.3 * rng.normal(size=200)), random_state=0).name
    'log'
    """
    target = np.asarray(require_no_missing(y), dtype=np.float64)
    weight = np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    rows, target, weight = distinct_rows(X, target, weight)
    if len(target) < 20 or np.ptp(target) == 0:
        return Identity()
    rng = generator(random_state)
    order = rng.permutation(len(target))[:_MAX_ROWS]
    folds = np.array_split(order, _N_FOLDS)
    kinds = [kind for kind in KINDS if target.min() > 0 or kind not in _POSITIVE]
    scores = {kind: _held_out(kind, rows, target, weight, folds) for kind in kinds}
    used = weight[np.concatenate(folds)]
    best = max(kinds, key=lambda kind: _gap(scores[kind], scores["identity"], used).mean)
    chosen = next(k for k in kinds if k == best or not _gap(scores[best], scores[k], used).clear)
    return fitted_transform(chosen, rows[order], target[order], weight[order])


def fitted_transform(kind: str, rows: Array, y: Array, weight: Array) -> Transform:
    """The transformation of that kind, with the λ of maximum likelihood for a linear model of g(y).

    Only y given x has to be normal, so skewness that the inputs explain needs no transformation. The profile log
    likelihood over coefficients and noise is −n/2 ln RSS(λ) + Σ ln g'(y) (Box & Cox 1964, section 3).
    """
    if kind in _POSITIVE and not y.min() > 0:
        raise ValueError(
            f"transformation={kind!r} needs positive targets, but the smallest is {y.min():.6g}: use "
            "transformation='yeo-johnson', which accepts any number, or 'auto'"
        )
    if kind == "identity":
        return Identity()
    if kind == "log":
        return Log()
    family: type[BoxCox] | type[YeoJohnson] = BoxCox if kind == "box-cox" else YeoJohnson
    size = float(np.median(np.abs(y[y != 0]))) if y.any() else 1.0
    # The unit only shifts and scales a Box–Cox transformation; Yeo–Johnson changes from linear to a power there.
    units = [size] if kind == "box-cox" else [size, size / 10, size / 100]
    families = [[family(float(power), unit) for power in _POWERS] for unit in units]
    profiles = np.array([_profile(candidates, rows, y, weight) for candidates in families])
    best = int(np.argmax(profiles.max(axis=1)))
    power = round(refined_maximum(_POWERS, profiles[best]), 2)
    return Log() if kind == "box-cox" and power == 0 else family(power, units[best])


def _profile(candidates: Sequence[Transform], rows: Array, y: Array, weight: Array) -> Array:
    """The profile log likelihood of each candidate, up to a constant."""
    z = np.column_stack([each.forward(y) for each in candidates])
    jacobian = np.array([weight @ each.log_derivative(y) for each in candidates])
    # The residuals are zero if the target is a linear function of the inputs.
    rss = np.maximum(_residual_squares(rows, z, weight), np.finfo(np.float64).tiny)
    return jacobian - weight.sum() / 2 * np.log(rss)


def distinct_rows(X: Any, y: Array, weight: Array) -> tuple[Array, Array, Array]:
    """The numeric columns of X, standardized, with y and weights; identical rows are merged and their weights added.

    So copies of a row are equivalent to its weight.
    """
    raw = _dense(X, len(y))
    # Missing values are equal to each other.
    table = np.column_stack([y, np.where(np.isfinite(raw), raw, np.inf)])
    first, _, counts = merge_equal_rows(table, weight)
    table = table[first]
    return _standardized(table[:, 1:], table[:, 0]), table[:, 0], counts


def _standardized(rows: Array, y: Array) -> Array:
    """Columns with mean zero and variance one; if many, those whose ranks correlate most with those of y."""
    known = np.isfinite(rows)
    n_known = np.maximum(known.sum(axis=0), 1)
    with np.errstate(all="ignore"):
        rows = np.where(known, rows, 0.0)
        rows = np.where(known, rows - rows.sum(axis=0) / n_known, 0.0)
        scale = np.sqrt((rows**2).sum(axis=0) / n_known)
        rows = (rows / scale)[:, (scale > 0) & np.isfinite(scale)]
    most = min(_MAX_COLUMNS, len(y) // 5)
    if rows.shape[1] <= most:
        return rows
    ranks = rankdata(y) - (len(y) + 1) / 2
    correlation = np.abs(ranks @ (rankdata(rows, axis=0) - (len(y) + 1) / 2))
    return rows[:, np.sort(np.argsort(-correlation, kind="stable")[:most])]


def _dense(X: Any, n_rows: int) -> Array:
    """The numeric columns of X; none if X isn't a table of numbers, for which the model itself raises an error.

    For a sparse X, the columns with the largest sums of absolute values are used.
    """
    if sparse.issparse(X):
        rows: Any = X
        largest = np.argsort(-np.asarray(abs(rows).sum(axis=0)).ravel(), kind="stable")[: 10 * _MAX_COLUMNS]
        X = rows.tocsc()[:, np.sort(largest)].toarray()
    elif nw.dependencies.is_into_dataframe(X):
        table = nw.from_native(X, eager_only=True)
        X = [series.to_numpy() for series in table.iter_columns() if series.dtype.is_numeric()]
        X = np.column_stack(X) if X else np.empty((n_rows, 0))
    try:
        rows = np.asarray(X)
        rows = rows.astype(np.float64) if rows.dtype.kind in "biufO" else np.empty((n_rows, 0))
    except (TypeError, ValueError):
        rows = np.empty((n_rows, 0))
    return rows if rows.ndim == 2 and len(rows) == n_rows else np.empty((n_rows, 0))


def _held_out(kind: str, rows: Array, y: Array, weight: Array, folds: list[NDArray[np.intp]]) -> Array:
    """The log density of each target under a model fitted to the other folds, in the order of the folds."""
    scores = []
    for i, test in enumerate(folds):
        train = np.concatenate([fold for j, fold in enumerate(folds) if j != i])
        transform = fitted_transform(kind, rows[train], y[train], weight[train])
        dist = _linear(rows, transform.forward(y[train]), weight, train, test)
        scores.append(Transformed(dist, transform).log_prob(y[test]))
    return np.concatenate(scores)


def _linear(rows: Array, z: Array, weight: Array, train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
    """The predictive distribution of a Bayesian linear model of z; without columns, its mean and standard deviation."""
    if rows.shape[1]:
        with collected():
            return BayesianLinearRegression().fit(rows[train], z, weight[train]).predict_dist(rows[test])
    mean = np.average(z, weights=weight[train])
    std = np.sqrt(np.average((z - mean) ** 2, weights=weight[train]))
    return Normal(np.full(len(test), mean), max(float(std), np.finfo(np.float64).tiny))


def _gap(first: Array, second: Array, weight: Array) -> Gap:
    """The mean difference of scores with its standard error, winsorized; a weight of k counts as k rows.

    Without winsorizing, a single mistyped input could outweigh all other rows.
    """
    with np.errstate(invalid="ignore"):
        difference = np.where(first == second, 0.0, first - second)
        difference = np.clip(difference, *weighted_quantiles(difference, weight, [0.01, 0.99]))
        mean = float(np.average(difference, weights=weight))
        square = float(np.average((difference - mean) ** 2, weights=weight))
    return Gap(mean, float(np.sqrt(square / max(weight.sum() - 1, 1.0))))


def _residual_squares(rows: Array, z: Array, weight: Array) -> Array:
    """The weighted residual sum of squares of each column of z, kept above rounding errors of z."""
    root = np.sqrt(weight)[:, None]
    basis, triangle = np.linalg.qr(root * np.column_stack([np.ones(len(rows)), rows]))
    size = np.abs(np.diagonal(triangle))
    basis = basis[:, size > 1e-10 * size.max()]
    centred = root * (z - np.average(z, axis=0, weights=weight))
    rest = centred - basis @ (basis.T @ centred)
    return np.maximum((rest**2).sum(axis=0), 1e-24 * (1e-300 + weight @ z**2))


class TransformedTarget(MetaEstimator, Regressor):
    """A model of a transformation of y that predicts y itself.

    `estimator` is fitted to g(y), and its predictive distribution is transformed back exactly:
    p(y | x) = p(g(y) | x) g'(y). Intervals of a log or Box–Cox model are positive. Held-out scores are comparable with
    those of models of y, because they are densities of y.

    Parameters
    ----------
    estimator : regressor, optional
        One with `predict_dist`, or a pipeline that ends in one; by default `BayesianLinearRegression()`. It is cloned.
    transformation : {"auto", "log", "box-cox", "yeo-johnson", "identity"} or Transform, default "auto"
        g. "log" and "box-cox" need positive targets. The λ of Box–Cox and Yeo–Johnson is the maximum likelihood
        estimate in [0, 2] for a linear model of g(y). "auto" selects the simplest transformation that predicts held-out
        targets as well as any: see `choose_transform`.
    extrapolation : {"continue", "linear"}, default "continue"
        Beyond the training targets g continues as it is, or as its tangent where its inverse gets steeper outwards
        (`credo.distributions.LinearTails`). An inverse such as exp amplifies extrapolation: "linear" prevents a
        prediction a thousand times larger than any target for one unusual row.
    random_state : int, Generator or None, default None
        Shuffles the folds of "auto".

    Attributes
    ----------
    transformation_ : Transform
    estimator_ : the fitted estimator of g(y)
    log_evidence_, evidence_method_, evidence_base_ : those of the estimator, if it has them; the log evidence is that
        of y, including Σ ln g'(y), and a learned transformation counts as maximized
    result_ : convergence of the estimator's fit

    Notes
    -----
    `predict` returns the mean of y, not g⁻¹ of the mean of g(y): for the log of a normal that is exp(μ + σ²/2). The
    exp of a Student-t distribution has no mean: unless the extrapolation is linear, one of g(y) with three degrees of
    freedom or more is replaced by the normal one with the same mean and variance, and otherwise `predict` returns the
    median. With `latent=True`, `predict_dist` is the distribution of g⁻¹(f(x)), the median of y given f.

    The image of a Box–Cox transformation is bounded. The predictive distributions are truncated to it; the log evidence
    ignores this.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import TransformedTarget
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> price = np.exp(3 + X @ [1.0, -0.5] + 0.3 * rng.normal(size=200))
    >>> model = TransformedTarget(random_state=0).fit(X, price)
    >>> model.transformation_.name
    'log'
    >>> bool((model.predict_dist(X).interval(0.95)[0] > 0).all())
    True
    """

    log_evidence_: float
    evidence_method_: str
    evidence_base_: str
    estimator_: Any
    transformation_: Transform

    def __init__(
        self,
        estimator: Any = None,
        *,
        transformation: Transform | Literal["auto", "log", "box-cox", "yeo-johnson", "identity"] = "auto",
        extrapolation: Literal["continue", "linear"] = "continue",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.transformation = transformation
        self.extrapolation = extrapolation
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.transformation in ("log", "box-cox") or (
            isinstance(self.transformation, Transform) and self.transformation.domain[0] >= 0
        )
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[Any] | None = None,
    ) -> Self:
        """Choose the transformation, then fit the estimator to g(y).

        Parameters
        ----------
        X : whatever the estimator takes
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is equivalent to k copies of the row.
        column_groups : sequence of labels, optional
            Passed to an estimator whose `fit` takes it, such as `GPRegressor`.
        """
        self._reset()
        rows, target, weight = target_rows(self, X, y, sample_weight)
        counts = np.ones(len(target)) if weight is None else weight
        choice("extrapolation", self.extrapolation, ("continue", "linear"))
        transform = self._transform(rows, target, counts)
        if self.extrapolation == "linear":
            transform = LinearTails.beyond(target, transform)
        estimator = clone(self._estimators()[0])
        z = transform.forward(target)
        self.estimator_ = estimator.fit(rows, z, **fit_arguments(estimator, weight, column_groups))
        self.transformation_ = transform
        take_columns(self, estimator)
        self._take_evidence(float(counts @ transform.log_derivative(target)))
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """The estimator's summary; its parameters are those of the transformed target."""
        check_is_fitted(self)
        inner = final_step(self.estimator_)
        table: Table = inner.summary(level=level)
        if isinstance(self.transformation_, Identity):
            return table
        own = evidence_of(self)
        evidence = () if own is None else (f"log evidence of y {own.value:.2f}",)
        return replace(
            table,
            title=f"{table.title}, target transformed: {self.transformation_.name}",
            notes=(*table.notes, *evidence, "estimates and the notes above are on the transformed scale"),
        )

    def describe(self, *, level: float = 0.95) -> Description:
        """That of the estimator; its effects are those of the transformed target."""
        inner = describe(self.estimator_, level=level)
        own = super().describe(level=level)
        same = isinstance(self.transformation_, Identity)
        return replace(
            inner,
            words=own.words,
            settings=own.settings,
            noise=inner.noise if same else None,
            transform="" if same else self.transformation_.name,
            curve=own.curve,
            terms=tuple(replace(term, response=self._response(term.response)) for term in inner.terms),
            evidence=own.evidence,
        )

    def _response(self, inner: Callable[[Array], Array] | None) -> Callable[[Array], Array] | None:
        """From a term of an additive model of g(y) to y."""
        transform = self.transformation_
        return None if inner is None else lambda f: transform.inverse(inner(f))

    def _words(self) -> str:
        what = "" if isinstance(self.transformation_, Identity) else f"; {self.transformation_.name} target"
        return f"{in_words(self.estimator_)}{what}"

    def _fitted(self) -> list[tuple[str, Any]]:
        return [("estimator_", self.estimator_)]

    def _estimators(self) -> list[Any]:
        return [BayesianLinearRegression() if self.estimator is None else self.estimator]

    def _transform(self, X: Any, y: Array, weight: Array) -> Transform:
        given = self.transformation
        if isinstance(given, Transform):
            lower, upper = given.domain
            outside = y[~((y > lower) & (y < upper))]
            if len(outside):
                raise ValueError(f"{given!r} needs targets between {lower:g} and {upper:g}; got {outside[0]:.6g}")
            return given
        if given == "auto":
            return choose_transform(X, y, sample_weight=weight, random_state=self.random_state)
        if given not in KINDS:
            raise ValueError(
                f"transformation must be 'auto', {', '.join(map(repr, KINDS))} or a Transform; got {given!r}"
            )
        return fitted_transform(given, *distinct_rows(X, y, weight))

    def _take_evidence(self, jacobian: float) -> None:
        """Set the estimator's result, and its evidence as that of a model of y."""
        self.result_ = ending_of(self.estimator_) or Result(True, 1, "the estimator has no result_")
        evidence = evidence_of(self.estimator_)
        if evidence is None:
            return
        self.log_evidence_, self.evidence_method_ = evidence.value + jacobian, evidence.method or "not stated"
        if evidence.base is not None:
            self.evidence_base_ = evidence.base
            if not isinstance(self.transformation_, Identity):
                # A transformation learned from y counts as maximized, like any other parameter.
                learned = isinstance(self.transformation, str) and self.transformation not in ("log", "identity")
                self.evidence_base_ += f"; transformation: {self.transformation_.name}" + ", maximized" * learned

    def _mean(self, rows: Any) -> Array:
        return point(self._dist(rows, latent=False))

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        base = latent_dist(self.estimator_, rows) if latent else predictive(self.estimator_, rows)
        if isinstance(self.transformation_, Identity):
            return base
        if self.extrapolation == "continue":
            base = _with_mean(base)
        return Transformed(base, self.transformation_)


def _with_mean(dist: Distribution) -> Distribution:
    """Student-t distributions become normal, of the same mean and variance: exp of any Student-t has no mean."""
    if isinstance(dist, Mixture):
        return Mixture([_with_mean(part) for part in dist.components], dist.weights)
    # With fewer degrees of freedom, the variance is infinite or very uncertain.
    if isinstance(dist, StudentT) and (dist.df >= 3.0).all():
        return Normal(dist.mean, dist.std)
    return dist
