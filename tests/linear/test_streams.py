"""What a stream may not do in silence, and what its first row may claim."""

import numpy as np
import pytest

from credo import BayesianLinearRegression, LMSRegression


@pytest.mark.parametrize("model", [BayesianLinearRegression(), LMSRegression(random_state=0)])
def test_the_intercept_can_not_change_in_midstream(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + 5
    y = X @ [1.0, 2.0] + 3
    model.partial_fit(X[:15], y[:15]).set_params(fit_intercept=False)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="fit_intercept was True for the rows seen so far and is False now"):
        model.partial_fit(X[15:], y[15:])
    np.testing.assert_array_equal(model.coef_, before)
    model.set_params(fit_intercept=True).partial_fit(X[15:], y[15:])
    model.set_params(fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("target", [3.0, 0.0])
def test_one_row_of_a_conjugate_stream_knows_little(target):
    """Beside a flat intercept it says nothing: its evidence is ln 1, and its noise a guess from the size of y."""
    model = BayesianLinearRegression(noise_precision="conjugate").partial_fit([[1.0, 2.0]], [target])
    assert model.log_evidence_ == pytest.approx(0.0, abs=1e-12)
    lower, upper = model.predict_dist([[1.0, 2.0]]).interval(0.95)
    assert upper[0] - lower[0] > 0.5
