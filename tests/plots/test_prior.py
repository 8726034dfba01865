import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import norm

from credo.kernels import RBF, Linear, Matern32
from credo.plots import prior_draws


@pytest.fixture
def ax():
    return Figure().subplots()


def curves(ax):
    return [line for line in ax.lines if len(line.get_xdata()) > 2]


def test_the_lines_are_the_kernels_own_draws_in_the_order_of_x(ax):
    kernel = 2.0 * Matern32(0.7)
    x = np.array([3.0, 0.0, 1.0, 2.0])
    prior_draws(kernel, x[:, None], n=4, random_state=3, ax=ax)
    drawn = curves(ax)
    np.testing.assert_array_equal(drawn[0].get_xdata(), [0, 1, 2, 3])
    expected = kernel.sample(np.arange(4.0)[:, None], 4, random_state=3)
    np.testing.assert_allclose([line.get_ydata() for line in drawn], expected, atol=1e-9)


def test_the_band_is_the_priors_own(ax):
    kernel = Linear(0.5) + RBF(1.0, variance=2.0)
    x = np.linspace(-2, 3, 11)
    prior_draws(kernel, x, level=0.9, ax=ax)
    vertices = ax.collections[0].get_paths()[0].vertices
    for sign in (-1, 1):
        for place, deviation in zip(x, np.sqrt(0.5 * x**2 + 2.0), strict=True):
            gaps = np.abs(vertices - [place, sign * norm.ppf(0.95) * deviation]).max(axis=1)
            assert gaps.min() < 1e-9


def test_two_numbers_are_an_interval(ax):
    (line,) = curves(prior_draws(RBF(), (-1.0, 4.0), n=1, ax=ax))
    x = line.get_xdata()
    assert (x[0], x[-1]) == (-1.0, 4.0)
    assert len(x) >= 200


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((3, 2)), r"along one column; X has 2"),
        ([1.0, 1.0], r"an interval \(low, high\) or finite points that differ"),
        ([1.0], r"an interval \(low, high\)"),
        ([0.0, np.nan, 2.0], "finite points"),
    ],
)
def test_places_that_cannot_be_drawn_are_refused(ax, X, words):
    with pytest.raises(ValueError, match=words):
        prior_draws(RBF(), X, ax=ax)


def test_other_things_than_kernels_are_refused(ax):
    with pytest.raises(TypeError, match=r"from a kernel such as credo\.kernels\.RBF.*kernel_; got a str"):
        prior_draws("rbf", ax=ax)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1; got 0"):
        prior_draws(RBF(), n=0, ax=ax)
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        prior_draws(RBF(), level=95, ax=ax)
