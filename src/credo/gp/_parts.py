"""Fitting a regressor to a table in parts: hyperparameters from a sample of the rows, the posterior from all."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from credo.core.estimator import named
from credo.core.parts import Parts
from credo.gp._regressor_core import RegressorCore
from credo.gp._row_sums import RowSums, features_of, independent_points, row_sums, survey
from credo.gp._training import known_noise


class RegressorInParts(RegressorCore):
    """A regressor that can be fitted to a table in parts, of which it then has `row_sums_`, and a sample as rows."""

    @property
    def _accepts_parts(self) -> bool:  # type: ignore[override]
        return not any(self._refused_in_parts().values())

    def _fit_parts(self, parts: Parts, column_groups: Any) -> None:
        """Fit to a sample of the rows, then condition the process on all of them."""
        caller = type(self).__name__
        found = survey(caller, parts)
        rows, (y, weight) = found.sample.rows, found.sample.extra
        if found.names is not None:
            rows = named(rows, found.names)
        if found.is_complete:
            self._fit_rows(rows, y, weight, column_groups)
            return
        self._check_in_parts(found.n_rows)
        self._rows_in_parts = found.n_rows
        self._fit_rows(rows, y, weight, column_groups)
        kernel, noise, table = self._standard_kernel(), float(self.train_noise_[0]), self._table()
        assert self.inducing_points_ is not None
        self.inducing_points_ = independent_points(kernel, self.inducing_points_)
        features, scale = features_of(kernel, self.inducing_points_), float(self.scale_[0])
        self.row_sums_ = sums = row_sums(
            caller, parts, features, table.basis, center=float(self.center_[0]), scale=scale, noise=noise
        )
        value = sums.posterior(features, table.basis).log_evidence + sums.copies(noise)
        dimensions = sums.weight - table.basis(self.X_train_[:1]).shape[1]
        self.log_evidence_ = value - dimensions * math.log(scale)
        self._held_predictor = self._held_objective = None
        message = (
            f"{self.result_.message}; hyperparameters from a random sample of {len(y):,} rows, the posterior from all"
        )
        self.result_ = replace(self.result_, message=message)

    def _check_in_parts(self, n_rows: int) -> None:
        """Raise an error where the arguments need more of the rows than sums."""
        for what, is_refused in self._refused_in_parts().items():
            if is_refused:
                raise ValueError(
                    f"{what} needs all rows in memory, and the table comes in parts with {n_rows:,} rows: use "
                    'method="inducing" with noise="learn", or fit to a sample of the rows'
                )

    def _refused_in_parts(self) -> dict[str, bool]:
        known = known_noise(self.noise)
        return {
            f'method="{self.method}"': self.method not in ("auto", "inducing"),
            f'noise="{self.noise}"': self._has_bound(),
            "a noise variance of zero, or one for each row": isinstance(known, np.ndarray) or known == 0.0,
            "learn_additional_noise=True": self.learn_additional_noise,
            'hyperparameters="sample"': self.hyperparameters == "sample",
        }

    def _has_sums(self) -> bool:
        return getattr(self, "row_sums_", None) is not None

    def _n_observations(self) -> float:
        sums: RowSums | None = getattr(self, "row_sums_", None)
        return float(self.weight_.sum()) if sums is None else sums.weight
