"""Sparse X: every estimator either takes it or says what to do, and the documentation lists which is which."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from tests.contracts.estimators import classifiers, regressors

from credo.core.notices import collected
from credo.linear import LogisticRegression

PAGE = (Path(__file__).parents[2] / "docs" / "sparse-input.md").read_text()
TAKEN, REFUSED = (set(re.findall(r"`([A-Z]\w+)`", part)) for part in PAGE.split("These need a dense array"))
MODELS = {type(model).__name__: model for model in [*regressors(), *classifiers()][::-1]}
# It takes what its members take.
MODELS["BaggingClassifier"].set_params(estimator=LogisticRegression())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_sparse_rows_are_taken_or_refused_as_documented(name):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 4), density=0.5, rng=rng, format="csr")
    target = np.asarray(X.sum(axis=1)).ravel() + 0.1 * rng.normal(size=30)
    model = MODELS[name]
    y = (target > np.median(target)).astype(int) if hasattr(model, "predict_proba") or "Perc" in name else target
    if getattr(model, "_accepts_sparse", False):
        with collected():
            predicted = model.fit(X, y).predict(X)
            dense = model.fit(X.toarray(), y).predict(X.toarray())
        np.testing.assert_allclose(predicted, dense, rtol=1e-6, atol=1e-8)
        assert name in TAKEN
    else:
        with pytest.raises(TypeError, match=rf"{name} needs a dense array: pass X.toarray\(\)"):
            model.fit(X, y)
        assert name in REFUSED
