"""A regressor of a transformed target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, Identity, Mixture, Normal, StudentT, Transform, Transformed
from credo.ensemble._base import MetaEstimator, fit_arguments, latent_dist, take_columns, target_rows
from credo.ensemble._choice import KINDS, choose_transform, distinct_rows, fitted_transform
from credo.estimator import Regressor, Result, nonnegative
from credo.frames import Table
from credo.linear import BayesianLinearRegression
from credo.metrics import final_step, point, predictive

Array = NDArray[np.float64]

# With fewer degrees of freedom the variance of a Student-t is infinite or hardly determined.
_MIN_DF = 3.0


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
    margin : float, optional
        Limits the predicted mean of g(y) to the range of the training targets, widened on both sides by this share of
        its width; by default there is no limit. An inverse such as exp amplifies extrapolation: 0.1 prevents a
        prediction a hundred times larger than any target for one unusual row.
    random_state : int, Generator or None, default None
        Shuffles the folds of "auto".

    Attributes
    ----------
    transformation_ : Transform
    limits_ : lowest and highest predicted mean of g(y)
    estimator_ : the fitted estimator of g(y)
    log_evidence_, evidence_method_, evidence_base_ : those of the estimator, if it has them; the log evidence is that
        of y, including Σ ln g'(y), and a learned transformation counts as maximised
    result_ : convergence of the estimator's fit

    Notes
    -----
    `predict` returns the mean of y, not g⁻¹ of the mean of g(y): for the log of a normal that is exp(μ + σ²/2). A
    Student-t distribution of g(y) is replaced by the normal one with the same mean and variance, because exp of a
    Student-t has no mean. With fewer than three degrees of freedom it is kept, and `predict` returns the median. With
    `latent=True`, `predict_dist` is the distribution of g⁻¹(f(x)), the median of y given f.

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
    limits_: tuple[float, float]

    def __init__(
        self,
        estimator: Any = None,
        *,
        transformation: Transform | Literal["auto", "log", "box-cox", "yeo-johnson", "identity"] = "auto",
        margin: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.transformation = transformation
        self.margin = margin
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.transformation in ("log", "box-cox") or (
            isinstance(self.transformation, Transform) and self.transformation.domain[0] >= 0
        )
        return tags

    def _check_state(self) -> None:
        super()._check_state()
        if not isinstance(self.estimator, BaseEstimator | None) or not hasattr(self.estimator_, "predict"):
            raise ValueError("estimator and estimator_ must be estimators")

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
            A weight of k is the same as k copies of the row.
        column_groups : sequence of labels, optional
            Passed to an estimator whose `fit` takes it, such as `GPRegressor`.
        """
        self._forget()
        rows, target, weight = target_rows(self, X, y, sample_weight)
        counts = np.ones(len(target)) if weight is None else weight
        transform = self._transform(rows, target, counts)
        estimator = clone(self._estimators()[0])
        z = transform.forward(target)
        self.estimator_ = estimator.fit(rows, z, **fit_arguments(estimator, weight, column_groups))
        self.transformation_ = transform
        margin = np.inf if self.margin is None else nonnegative("margin", self.margin) * float(np.ptp(z))
        self.limits_ = float(z.min()) - margin, float(z.max()) + margin
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
        evidence = (f"log evidence of y {self.log_evidence_:.2f}",) if hasattr(self, "log_evidence_") else ()
        return replace(
            table,
            title=f"{table.title}, target transformed: {self.transformation_.name}",
            notes=(*table.notes, *evidence, "estimates and the notes above are on the transformed scale"),
        )

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
        inner = final_step(self.estimator_)
        self.result_ = getattr(inner, "result_", Result(True, 1, "the estimator doesn't say how its fit ended"))
        if not hasattr(inner, "log_evidence_"):
            return
        self.log_evidence_ = float(inner.log_evidence_) + jacobian
        self.evidence_method_ = inner.evidence_method_
        if hasattr(inner, "evidence_base_"):
            self.evidence_base_ = inner.evidence_base_
            if not isinstance(self.transformation_, Identity):
                # A transformation that was learned from y is maximised like any other parameter.
                learned = isinstance(self.transformation, str) and self.transformation not in ("log", "identity")
                self.evidence_base_ += f"; transformation: {self.transformation_.name}" + ", maximised" * learned

    def _mean(self, rows: Any) -> Array:
        return point(self._dist(rows, latent=False))

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        base = latent_dist(self.estimator_, rows) if latent else predictive(self.estimator_, rows)
        if isinstance(self.transformation_, Identity):
            return base
        return Transformed(_limited_normal(base, self.limits_), self.transformation_)


def _limited_normal(dist: Distribution, limits: tuple[float, float]) -> Distribution:
    """Normal distributions with means inside the limits; Student-t ones become normal, of the same mean and variance.

    The inverse of a transformation such as exp makes the mean of a Student-t infinite, whatever its degrees of freedom.
    """
    if isinstance(dist, Mixture):
        return Mixture([_limited_normal(part, limits) for part in dist.components], dist.weights)
    if isinstance(dist, Normal) or (isinstance(dist, StudentT) and (dist.df >= _MIN_DF).all()):
        return Normal(np.clip(dist.mean, *limits), dist.std)
    return dist
