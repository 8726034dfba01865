"""What `noise=` stands for: a value, of which strings and variances are short forms."""

import numpy as np
import pytest
from sklearn.base import clone

from credo import load, save
from credo.gp import Gaussian, GPRegressor, Heteroscedastic, Poisson, StudentT
from credo.kernels import Matern52

RNG = np.random.default_rng(3)
X = np.sort(RNG.uniform(0, 6, size=(30, 1)), axis=0)
Y = RNG.poisson(np.exp(1 + np.sin(X[:, 0]))).astype(float)
EACH = RNG.uniform(0.2, 0.6, 30)


def fitted(noise, **arguments):
    return GPRegressor(Matern52(1.0), noise=noise, hyperparameters="optimize", n_restarts=0, random_state=0).set_params(
        **arguments
    )


@pytest.mark.parametrize(
    ("short", "value"),
    [
        ("learn", Gaussian()),
        ("student", StudentT()),
        ("poisson", Poisson()),
        ("heteroscedastic", Heteroscedastic()),
        (0.4, Gaussian(0.4)),
        (EACH, Gaussian(EACH)),
    ],
    ids=["learn", "student", "poisson", "heteroscedastic", "known", "of each row"],
)
def test_a_short_form_is_the_value(short, value, tmp_path):
    model, other = fitted(short).fit(X, Y), clone(fitted(value)).fit(X, Y)
    assert other.log_evidence_ == model.log_evidence_ and other.noise_variance_ == model.noise_variance_
    assert str(other.summary()) == str(model.summary())
    np.testing.assert_array_equal(other.predict_dist(X).std, model.predict_dist(X).std)
    save(other, tmp_path / "model.credo")
    again = load(tmp_path / "model.credo")
    assert type(again.noise) is type(value)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("value", [-0.1, np.inf, [0.1, -0.2], [[0.1]], "normal"])
def test_variances_that_no_noise_has(value):
    with pytest.raises(ValueError, match="noise"):
        Gaussian(value)
