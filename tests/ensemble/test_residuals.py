"""The distribution of residuals: extremes."""

import warnings

import numpy as np
import pytest

from credo.ensemble._residuals import Residuals


@pytest.mark.parametrize("size", [1e-250, 1e-100, 1e-12])
def test_residuals_beside_which_all_others_vanish_have_a_finite_shape(size):
    values = np.concatenate([[-1e65, 1e65], 1e65 * size * np.arange(-5.0, 6.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        shape = Residuals(values, np.zeros(13, dtype=np.intp), np.ones(13)).shape()
    assert np.isfinite(shape.points).all() and (np.diff(shape.points) > 0).all()
