"""What linear models with uncertain coefficients share: confidence intervals and the summary table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, t_variance
from credo.estimator import Regressor, interval_level
from credo.frames import Intervals, Table
from credo.learning.linear_posterior import Posterior

Array = NDArray[np.float64]


class LinearModel(Regressor):
    """A linear model whose coefficients have Student-t (or, with infinite degrees of freedom, normal) distributions.

    A subclass gives the scales of coefficients and intercept (`_scales`), their degrees of freedom (`_df`), and the
    summary's `_title` and `_notes`.
    """

    coef_: Array
    intercept_: float
    fit_intercept: bool

    _title: str

    def confint(self, level: float = 0.95) -> Intervals:
        """Central intervals of the intercept, if there is one, and of each coefficient, in this order.

        Returns
        -------
        Intervals
            Prints as a table with the names of the parameters and converts to a frame (`to_frame()`), or to an array of
            shape (n_parameters, 2) by `np.asarray`; `confint()["age"]` is one interval. Infinite for a coefficient that
            the data don't determine.
        """
        check_is_fitted(self)
        level = interval_level(level)
        self._require_noise()
        names, estimate, scale = self._parameters()
        ends = self._ends(estimate, scale, level)
        return Intervals.of(names, ends, level)

    def summary(self, *, level: float = 0.95) -> Table:
        """Estimate, standard deviation and interval of each parameter, and notes about the fit."""
        check_is_fitted(self)
        level = interval_level(level)
        names, estimate, scale = self._parameters()
        ends = self._ends(estimate, scale, level)
        columns: dict[str, Any] = {"parameter": names, "estimate": list(estimate), **self._spread(estimate, scale)}
        return Table(
            self._title,
            {**columns, "lower": list(ends[:, 0]), "upper": list(ends[:, 1])},
            notes=(f"intervals at {100 * level:g} %", *self._notes()),
        )

    def _parameters(self) -> tuple[list[str], Array, Array]:
        """Names, estimates and scales; the intercept comes first."""
        names, estimate, (scale, intercept_scale) = self._feature_names(), self.coef_, self._scales()
        if not self.fit_intercept:
            return names, estimate, scale
        return ["intercept", *names], np.append(self.intercept_, estimate), np.append(intercept_scale, scale)

    def _ends(self, estimate: Array, scale: Array, level: float) -> Array:
        # The upper tail's probability keeps its digits where 1 − tail would lose them; nan without degrees of freedom.
        df = self._df()
        half = stats.t.isf((1 - level) / 2, df if df > 0 else np.nan) * scale
        return np.column_stack([estimate - half, estimate + half])

    def _spread(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """The columns between estimate and interval."""
        return {"sd": list(scale * np.sqrt(t_variance(self._df())))}

    def _scales(self) -> tuple[Array, float]:
        raise NotImplementedError

    def _df(self) -> float:
        raise NotImplementedError

    def _notes(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _require_noise(self) -> None:
        """Raise an error if the noise can't be estimated."""


class PosteriorModel(LinearModel):
    """A linear model with a `Posterior` of its coefficients."""

    coef_std_: Array
    intercept_std_: float
    posterior_: Posterior

    def _keep_posterior(self, posterior: Posterior) -> None:
        self.posterior_, self.coef_, self.intercept_ = posterior, posterior.coef, posterior.intercept
        self.coef_std_, self.intercept_std_ = posterior.std()

    def _mean(self, rows: Array) -> Array:
        return self.posterior_.mean(rows)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        """N(mᵀx + b, β⁻¹ + xᵀSx) at each row (Bishop 3.58); Student-t if the noise is integrated out or estimated, and
        a mixture if the prior precision is integrated out too."""
        self._require_noise()
        return self.posterior_.predictive(rows, latent=latent)

    def _covariance(self, rows: Array) -> Array:
        self._require_noise()
        return self.posterior_.covariance(rows)

    def _scales(self) -> tuple[Array, float]:
        """Of a single distribution; those of a mixture are the root mean squares of its components'."""
        square = self.posterior_.weights @ self.posterior_.parameters()[1]
        return np.sqrt(square[1:]), float(np.sqrt(square[0]))

    def _df(self) -> float:
        return self.posterior_.df

    def _ends(self, estimate: Array, scale: Array, level: float) -> Array:
        if len(self.posterior_.weights) == 1:
            return super()._ends(estimate, scale, level)
        return np.column_stack(self.posterior_.marginals(intercept=self.fit_intercept).interval(level))

    def _spread(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        return {"sd": [*([self.intercept_std_] if self.fit_intercept else []), *self.coef_std_]}
