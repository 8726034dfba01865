"""What is expected of hyperparameters before they are learned."""

import numpy as np
import pytest

from credo.gp import GPClassifier
from credo.kernels import RBF, Periodic, White

SPREADS = np.array([1e-3, 1.0, 1e4])


def center(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0) * SPREADS
    model = GPClassifier(kernel, inference="laplace", hyperparameters="fixed").fit(X, np.arange(80) % 2)
    return model._objective().hyperprior


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF([1.0, 1.0, 1.0]), np.sqrt(3) * SPREADS),
        (RBF([1.0, 1.0]).on([1, 2]), np.sqrt(2) * SPREADS[1:]),
        (RBF([1.0, 1.0]).on(slice(0, 2)), np.sqrt(2) * SPREADS[:2]),
        (RBF().on(0), SPREADS[:1]),
        (RBF([1.0, 1.0]).on([2, 0]).exp(), np.sqrt(2) * SPREADS[[2, 0]]),
    ],
)
def test_length_scales_begin_at_the_spread_of_their_own_columns(kernel, expected):
    np.testing.assert_allclose(np.exp(center(kernel).center[: len(expected)]), expected, rtol=1e-10)


def test_what_nothing_is_known_of_begins_where_it_was_put():
    prior = center(Periodic(0.7, period=12.0) + White(0.3))
    np.testing.assert_allclose(np.exp(prior.center), [0.7, 12.0, 1.0, 0.3])
    assert np.isinf(prior.width[[0, 1, 3]]).all()


def test_fixed_entries_have_no_place():
    assert len(center(RBF([1.0, 1.0, 1.0]).fix("lengthscale")).center) == 1


def test_bounds_stand_in_for_a_prior():
    kernel = RBF(2.0).with_bounds("lengthscale", 1.5, 10.0).on(1)
    prior = center(kernel)
    # The spread, 1, lies outside of the bounds: the search starts at the kernel's own value.
    assert prior.center[0] == pytest.approx(kernel.tree.flatten()[0])
    wide = center(RBF(2.0).with_bounds("lengthscale", 0.1, 10.0).on(1))
    assert np.isinf(wide.width[0]) and wide.center[0] == pytest.approx(0.0, abs=1e-9)
