"""What estimators have in common that average over subsets of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.frames import Table
from credo.subsets._model_posterior import Model, ModelPosterior
from credo.subsets._report import models_table

Array = NDArray[np.float64]


class OverSubsets:
    """Beside an estimator's base class; it writes down the posterior that its search found."""

    posterior_: ModelPosterior
    inclusion_probabilities_: Array

    @property
    def models_(self) -> Table:
        check_is_fitted(self)
        return models_table(self.posterior_, self._feature_names())  # type: ignore[attr-defined]

    def sample_functions(self, X: ArrayLike, n: int = 1, *, random_state: Any = None) -> Array:
        """Draws of f (of log odds, for classes) at the rows, shape (n, n_samples); each is one plane, of one subset."""
        rows = self._predict_rows(X)  # type: ignore[attr-defined]
        coefs, intercepts = self.sample_coefficients(n, random_state=random_state)  # type: ignore[attr-defined]
        return np.asarray(coefs @ rows.T) + intercepts[:, None]

    def _write_down(
        self, found: ModelPosterior, *, median: Model, copies: Sequence[Model], method: str, base: str
    ) -> None:
        """The posterior, the median model and copies in terms of the table's columns, and what is read off them."""
        self.posterior_ = found
        self.inclusion_probabilities_ = found.inclusion
        self.map_model_, self.median_model_, self.best_subsets_ = found.map_model, median, found.best_by_size
        self.copies_ = tuple(copies)
        self.log_evidence_, self.evidence_method_, self.evidence_base_ = found.log_mass, method, base
        self.log_evidence_error_ = float(found.diagnostics.get("log_mass_error", 0.0))
