"""The distribution of residuals: extremes."""

import warnings

import numpy as np
import pytest

from credo.distributions import Tabulated


@pytest.mark.parametrize("size", [1e-315, 1e-12])
def test_residuals_beside_which_all_others_vanish_have_a_finite_shape(size):
    values = np.array([-1e65, 1e65, *(sign * i * 1e65 * size for i in range(1, 6) for sign in (1, -1))])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        shape = Tabulated.fitted(values, np.ones(12))
    assert np.isfinite(shape.points).all() and (np.diff(shape.points) > 0).all()
