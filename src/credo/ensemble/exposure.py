"""Totals that are proportional to an exposure: models of the rate, or with the exposure as an offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import Description, Regressor, Result, describe, in_words, is_sparse
from credo.core.fields import Positive, Where
from credo.core.frames import Table
from credo.distributions import Affine, Distribution
from credo.ensemble._base import MetaEstimator, fit_arguments, latent_dist, target_rows
from credo.linear import BayesianLinearRegression
from credo.metrics import final_step, point, predictive

Array = NDArray[np.float64]


class ExposureRegressor(MetaEstimator, Regressor):
    """A model of totals that are proportional to a column of X, the exposure e: y = e·r(x) + noise.

    An estimator whose `fit` takes an exposure, such as an additive model of counts, uses it as an offset of its log
    link. Any other is fitted to the rate y/e. The total of e independent units has a variance proportional to e, and
    so has the noise here: rows have the weights e/ē with the mean exposure ē, and

        y | x ~ e·(m(x) + √(ē/e)·(R − m(x))),    R ~ the predictive distribution of a rate, m its mean

    Parameters
    ----------
    estimator : regressor, optional
        One with `predict_dist` that takes weights, or a pipeline that ends in one; by default
        `BayesianLinearRegression()`. It is cloned, and doesn't see the column of the exposure.
    column : int, default -1
        The position of the exposure among the columns of X, positive numbers.

    Attributes
    ----------
    estimator_ : the fitted estimator
    mean_exposure_ : ē
    log_evidence_, evidence_method_, evidence_base_ : of y, if the estimator has them
    result_ : convergence of the estimator's fit

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import ExposureRegressor
    >>> rng = np.random.default_rng(0)
    >>> age, holders = rng.uniform(20, 70, size=200), rng.integers(10, 2000, size=200)
    >>> claims = rng.poisson(holders * (0.3 - 0.003 * age))
    >>> model = ExposureRegressor().fit(np.column_stack([age, holders]), claims)
    >>> model.predict([[40.0, 100.0], [40.0, 1000.0]]).round()
    array([ 18., 180.])
    """

    log_evidence_: float
    evidence_method_: str
    evidence_base_: str
    estimator_: Annotated[Any, Where(lambda model: hasattr(model, "predict"), "an estimator that predicts")]
    mean_exposure_: Annotated[float, Positive]

    _equation = "E y = exposure * f(x)"

    def __init__(self, estimator: Any = None, *, column: int = -1) -> None:
        self.estimator = estimator
        self.column = column

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[Any] | None = None,
    ) -> Self:
        """Fit the estimator to the totals with their exposure, or to the rates.

        Parameters
        ----------
        X : whatever the estimator takes, with the column of the exposure
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is equivalent to k copies of the row.
        column_groups : sequence of labels, optional
            Passed to an estimator whose `fit` takes it.
        """
        self._reset()
        table, target, weight = target_rows(self, X, y, sample_weight)
        rows, exposure = self.separated(table)
        estimator = clone(self._estimators()[0])
        counts = np.ones(len(target)) if weight is None else weight
        self.mean_exposure_ = float(np.average(exposure, weights=counts))
        groups = None
        if column_groups is not None:
            groups = [label for j, label in enumerate(column_groups) if j != self.column % len(column_groups)]
        if takes_exposure(estimator):
            options = fit_arguments(estimator, weight, groups)
            self.estimator_ = estimator.fit(rows, target, exposure=exposure, **options)
            jacobian = 0.0
        else:
            share = exposure / self.mean_exposure_
            self.estimator_ = estimator.fit(rows, target / exposure, **fit_arguments(estimator, counts * share, groups))
            # p(y) = p(rate)/e, and of a rate the noise variance is divided by the weight.
            jacobian = float(counts @ (0.5 * np.log(share) - np.log(exposure)))
        self.n_features_in_ = rows.shape[1] + 1
        if hasattr(table, "columns"):
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
        self._take_evidence(jacobian)
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """The estimator's summary; its parameters are those of the rate."""
        check_is_fitted(self)
        table: Table = final_step(self.estimator_).summary(level=level)
        return replace(table, title=f"{table.title}, {self._how}")

    def describe(self, *, level: float = 0.95) -> Description:
        """That of the estimator; its effects and terms are those of the rate."""
        inner, own = describe(self.estimator_, level=level), super().describe(level=level)
        settings, curve, evidence = own.settings, own.curve, own.evidence
        return replace(inner, words=own.words, settings=settings, noise=None, curve=curve, evidence=evidence, data=None)

    def _words(self) -> str:
        return f"{in_words(self.estimator_)}, {self._how}"

    @property
    def _how(self) -> str:
        return "with the exposure as offset" if takes_exposure(self.estimator_) else "per unit of exposure"

    def _estimators(self) -> list[Any]:
        return [BayesianLinearRegression() if self.estimator is None else self.estimator]

    def _fitted(self) -> list[tuple[str, Any]]:
        return [("the estimator", self.estimator_)]

    def separated(self, X: Any) -> tuple[Any, Array]:
        """The columns of X without the exposure, and the exposure."""
        frame = hasattr(X, "columns")
        X = X if frame or is_sparse(X) else np.asarray(X)
        n_columns = X.shape[1] if len(X.shape) > 1 else 0
        if n_columns < 2 or not -n_columns <= self.column < n_columns:
            raise ValueError(
                f"column={self.column} must be the exposure's position in X, which also needs other columns; it has "
                f"{n_columns}"
            )
        j = self.column % n_columns
        names = list(X.columns) if frame else []
        own = X[names[j]] if frame else X[:, [j]].toarray()[:, 0] if is_sparse(X) else X[:, j]
        exposure = np.asarray(own, dtype=np.float64)
        bad = np.flatnonzero(~(np.isfinite(exposure) & (exposure > 0)))
        if len(bad):
            where = f"column {names[j]!r}" if frame else f"column {j}"
            raise ValueError(
                f"the exposure, {where} of X, must be a positive number; got {exposure[bad[0]]:g} in row {bad[0]}"
            )
        others = [i for i in range(n_columns) if i != j]
        return X[[names[i] for i in others]] if frame else X[:, others], exposure

    def _take_evidence(self, jacobian: float) -> None:
        inner = final_step(self.estimator_)
        self.result_ = getattr(inner, "result_", Result(True, 1, "the estimator has no result_"))
        if hasattr(inner, "log_evidence_"):
            self.log_evidence_ = float(inner.log_evidence_) + jacobian
            self.evidence_method_ = inner.evidence_method_
            of = "" if takes_exposure(inner) else "; of the rate"
            self.evidence_base_ = getattr(inner, "evidence_base_", "") + of

    def _mean(self, rows: Any) -> Array:
        return point(self._dist(rows, latent=False))

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        X, exposure = self.separated(rows)
        if takes_exposure(self.estimator_):
            return self.estimator_.predict_dist(X, latent=latent, exposure=exposure)
        if latent:
            return Affine(latent_dist(self.estimator_, X), 0.0, exposure)
        rate = predictive(self.estimator_, X)
        width = np.sqrt(self.mean_exposure_ / exposure)
        return Affine(rate, exposure * point(rate) * (1.0 - width), exposure * width)


def takes_exposure(estimator: Any) -> bool:
    """Whether an estimator has a log link that takes the exposure as an offset."""
    return bool(getattr(estimator, "_has_log_link", False))
