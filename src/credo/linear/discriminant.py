"""Linear discriminant analysis: normal classes with a common covariance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse as sp
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import FitWarning, LinearClassifier, Result
from credo.core.linalg import column_norms, constant_columns
from credo.core.notices import warn
from credo.linear._rows import graded_axes, means

Array = NDArray[np.float64]


class LinearDiscriminant(LinearClassifier):
    """Linear discriminant analysis: normal classes with a common covariance Σ, fitted in closed form.

        ln p(k|x) = wₖᵀx + bₖ + const,    wₖ = Σ⁻¹μₖ,    bₖ = −½ μₖᵀΣ⁻¹μₖ + ln πₖ             (Bishop 4.68–4.70)

    Σ is the pooled covariance within the classes, by maximum likelihood (n in the denominator, Bishop 4.78). With two
    classes, the score is the log odds of the second, w = Σ⁻¹(μ₂ − μ₁). Equivalent to scikit-learn's
    `LinearDiscriminantAnalysis`.

    Parameters
    ----------
    shrinkage : None, "auto" or float in [0, 1], default None
        λ of (1 − λ)Σ + λ diag(Σ), that is, shrinkage towards the identity of columns divided by their pooled standard
        deviation within the classes, so that the units of the columns don't matter. "auto" estimates λ by the formula
        of Ledoit & Wolf (2004), which suits tables with few rows. With None, a singular Σ is inverted on its span only
        (the pseudo-inverse in the same standardized units), with a warning: directions without variation within the
        classes are ignored. If no column varies within any class, rows are assigned to the nearest mean, with a
        warning.
    priors : array of shape (n_classes,), optional
        πₖ in the order of `classes_`; by default the relative frequencies of the classes.
    class_weight : "balanced", dict or None, default None
        Factors by which the sample weights of each class are multiplied.

    Attributes
    ----------
    coef_ : coefficients, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : intercepts, (1,) or (n_classes,)
    means_ : μₖ, (n_classes, n_features)
    covariance_ : the shrunk Σ, computed on each access
    scale_ : pooled standard deviation of each column within the classes (over all rows if that is zero)
    priors_ : πₖ
    shrinkage_, rank_ : λ, and the rank of Σ before shrinkage
    log_likelihood_ : log likelihood of the labels given the rows, comparable with `LogisticRegression`
    n_parameters_, n_observations_ : number of parameters of the log odds, and sum of the sample weights
    result_ : outcome of the fit

    Examples
    --------
    >>> from credo.linear import LinearDiscriminant
    >>> model = LinearDiscriminant().fit([[0.0], [2.0], [3.0], [5.0]], ["a", "a", "b", "b"])
    >>> model.coef_, model.intercept_  # (4 − 1)/σ² with σ² = 1, and zero log odds halfway
    (array([[3.]]), array([-7.5]))
    """

    _title = "Linear discriminant"

    fit_intercept = True
    means_: Array
    priors_: Array
    shrinkage_: float
    rank_: int
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float
    scale_: Array
    # Σ before shrinkage is D `axes_` diag(axis_std_²) `axes_`ᵀ D with D = diag(scale_).
    axes_: Array
    axis_std_: Array

    def __init__(
        self,
        shrinkage: float | Literal["auto"] | None = None,
        *,
        priors: ArrayLike | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.priors = priors
        self.class_weight = class_weight

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        self._check_shrinkage()
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        weight = np.ones(len(rows)) if weight is None else weight
        mass = np.asarray(np.bincount(codes, weight), dtype=np.float64)
        self.n_observations_ = float(mass.sum())
        self.priors_ = self._checked_priors(mass)
        self.means_ = _class_means(rows, codes, weight, mass)
        inner = rows - self.means_[codes]
        self.scale_, varies = _within_scale(rows, inner, weight)
        inner = np.where(varies, inner / self.scale_, 0.0)
        origin, size = np.zeros(rows.shape[1]), np.abs(rows).max(axis=0) / self.scale_
        _, singular, self.axes_ = graded_axes(inner, weight, center=origin, size=size)
        self.axis_std_, self.rank_ = singular / np.sqrt(self.n_observations_), len(singular)
        if not self.rank_:
            self.axes_, self.axis_std_ = _points(rows, weight, len(mass))
        self.shrinkage_ = self._amount(inner, weight)
        self._set_coefficients()
        table = self._log_probabilities(rows)
        self.log_likelihood_ = float(weight @ table[np.arange(len(rows)), codes])
        self.n_parameters_ = (len(mass) - 1) * (rows.shape[1] + 1)
        self.result_ = self._outcome()
        return self

    @property
    def covariance_(self) -> Array:
        check_is_fitted(self)
        cov = (1 - self.shrinkage_) * (self.axes_ * self.axis_std_**2) @ self.axes_.T
        cov[np.diag_indices(len(cov))] += self.shrinkage_ * self._mean_variance()
        return cov * np.outer(self.scale_, self.scale_)

    def _mean_variance(self) -> float:
        """tr Σ/p in standardized units: the share of the columns that vary within the classes."""
        return float(np.square(self.axis_std_).sum()) / self.n_features_in_

    def _set_coefficients(self) -> None:
        """Coefficients and intercepts, relative to the mean of the means so that a large offset loses no digits."""
        middle = self.priors_ @ self.means_
        centred_means = self.means_ - middle
        solved = self._solve(centred_means.T).T
        level = np.log(self.priors_) - 0.5 * np.einsum("kj,kj->k", centred_means, solved) - solved @ middle
        if len(self.classes_) == 2:
            self.coef_ = solved[1:] - solved[:1]
            # The score at the midpoint of the means is the log ratio of the priors.
            halfway = 0.5 * (self.means_[0] + self.means_[1])
            self.intercept_ = np.log(self.priors_[1:] / self.priors_[:1]) - self.coef_ @ halfway
        else:
            self.coef_, self.intercept_ = solved, level

    def _solve(self, B: Array) -> Array:
        """Σ⁻¹B with the shrunk Σ; the pseudo-inverse without shrinkage."""
        B = B / self.scale_[:, None]
        inside = self.axes_.T @ B
        floor = self.shrinkage_ * self._mean_variance()
        variance = (1 - self.shrinkage_) * np.square(self.axis_std_) + floor
        out = self.axes_ @ (inside / variance[:, None])
        if floor > 0:
            out += (B - self.axes_ @ inside) / floor
        return out / self.scale_[:, None]

    def _check_shrinkage(self) -> None:
        value = self.shrinkage
        if value is None or (isinstance(value, str) and value == "auto"):
            return
        if isinstance(value, str | bool) or not 0 <= value <= 1:
            raise ValueError(f'shrinkage must be None, "auto" or a number from 0 to 1; got {value!r}')

    def _amount(self, inner: Array, weight: Array) -> float:
        if self.shrinkage is None:
            return 0.0
        return _ledoit_wolf(inner, weight) if isinstance(self.shrinkage, str) else float(self.shrinkage)

    def _checked_priors(self, mass: Array) -> Array:
        if self.priors is None:
            return mass / mass.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != mass.shape or not (priors > 0).all() or not np.isclose(priors.sum(), 1.0):
            raise ValueError(
                f"priors must be {len(mass)} positive numbers that sum to one, in the order of the classes "
                f"{self.classes_.tolist()}; got {self.priors!r}"
            )
        return priors

    def _notes(self) -> tuple[str, ...]:
        priors = ", ".join(f"{label} {prior:.4g}" for label, prior in zip(self.classes_, self.priors_, strict=True))
        return f"priors: {priors}; shrinkage {self.shrinkage_:.4g}", self.result_.message

    def _outcome(self) -> Result:
        if not self.rank_:
            message = (
                "no column varies within a class, so the covariance can't be estimated: rows are assigned to the "
                "nearest class mean in standardized units, and the predicted probabilities are not meaningful"
            )
            warn(message, FitWarning, stacklevel=3)
            return Result(True, 1, message)
        if self.rank_ == self.n_features_in_ or self.shrinkage_ > 0:
            return Result(True, 1, "solved directly")
        message = (
            f"the within-class covariance of the {self.n_features_in_} columns is singular (rank {self.rank_}): its "
            'pseudo-inverse is used. Set shrinkage="auto" for a better-conditioned estimate'
        )
        warn(message, FitWarning, stacklevel=3)
        return Result(True, 1, message)


def _class_means(X: Array, codes: NDArray[np.intp], weight: Array, mass: Array) -> Array:
    """Weighted means of the classes, corrected for rounding errors in a second pass."""
    member = sp.csr_array((weight / mass[codes], (codes, np.arange(len(X)))), shape=(len(mass), len(X)))
    means = np.asarray(member @ X)
    return means + np.asarray(member @ (X - means[codes]))


def _within_scale(X: Array, inner: Array, weight: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Pooled standard deviation of each column within the classes, and whether it is more than rounding error.

    A column without variation within the classes is scaled by its deviation over all rows, or else by its size.
    """
    total = float(weight.sum())
    root = np.sqrt(weight)[:, None]
    size = np.abs(X).max(axis=0)
    within = column_norms(inner * root)
    varies = ~constant_columns(within, size, total)
    overall = column_norms((X - means(X, weight)) * root)
    scale = np.where(varies, within, np.where(constant_columns(overall, size, total), 0.0, overall)) / np.sqrt(total)
    return np.where(scale > 0, scale, np.where(size > 0, size, 1.0)), varies


def _points(X: Array, weight: Array, n_classes: int) -> tuple[Array, Array]:
    """Axes and standard deviations, in standardized units, for classes without any variation within them."""
    total, n_features = float(weight.sum()), X.shape[1]
    x_mean = means(X, weight)
    norms = column_norms((X - x_mean) * np.sqrt(weight)[:, None])
    varies = ~constant_columns(norms, x_mean, total)
    if total <= n_classes or not varies.any():
        raise ValueError(
            f"no column varies within a class, in {len(X)} rows of {n_classes} classes with n_features={n_features}: "
            "the covariance can't be estimated. Use more rows than classes, or another classifier"
        )
    # A standard deviation so small that the distances to the means outweigh the priors.
    return np.eye(n_features)[:, varies], np.full(int(varies.sum()), 1e-4)


def _ledoit_wolf(inner: Array, weight: Array) -> float:
    """The λ of Ledoit & Wolf (2004) for standardized rows about their class means."""
    total, n_features = float(weight.sum()), inner.shape[1]
    squares = np.einsum("ij,ij->i", inner, inner)
    rows = inner * np.sqrt(weight)[:, None]
    # ‖S‖² from the smaller Gram matrix.
    gram = rows.T @ rows if len(rows) > n_features else rows @ rows.T
    norm = float(np.square(gram).sum()) / total**2
    trace = float(weight @ squares) / total
    spread = norm - trace**2 / n_features
    noise = (float(weight @ np.square(squares)) / total - norm) / total
    return min(noise / spread, 1.0) if spread > 0 else 1.0
