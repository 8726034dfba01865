import numpy as np
import pytest
from matplotlib.figure import Figure

from credo.distributions import Normal
from credo.plots import band


@pytest.fixture
def ax():
    return Figure().subplots()


def test_the_band_is_the_interval_in_the_order_of_x(ax):
    x = np.array([2.0, 0.0, 1.0])
    dist = Normal(3 * x, 1 + x)
    band(x, dist, level=0.5, ax=ax)
    (path,) = ax.collections[0].get_paths()
    order = np.argsort(x)
    lower, upper = (end[order] for end in dist.interval(0.5))
    corners = {tuple(np.round(point, 9)) for point in path.vertices}
    assert {tuple(np.round(point, 9)) for point in zip(x[order], lower, strict=True)} <= corners
    assert {tuple(np.round(point, 9)) for point in zip(x[order], upper, strict=True)} <= corners
    assert ax.lines[0].get_xdata().tolist() == [0.0, 1.0, 2.0]


def test_data_and_draws_are_labelled_once(ax):
    x = np.linspace(0, 1, 4)
    band(x, Normal(x, np.ones(4)), data=([0.5], [0.4]), draws=np.zeros((7, 4)), ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["95 % interval", "draws", "mean", "data"]
    assert len(ax.lines) == 7 + 2


def test_draws_of_another_length_are_refused(ax):
    x = np.linspace(0, 1, 4)
    with pytest.raises(ValueError, match=r"draws must have .* each of the 4 points; got \(2, 3\)"):
        band(x, Normal(x, np.ones(4)), draws=np.zeros((2, 3)), ax=ax)


def test_an_array_is_no_distribution_and_the_words_say_what_is(ax):
    x = np.linspace(0, 1, 4)
    with pytest.raises(TypeError, match=r"band draws a distribution, as model\.predict_dist.*got a ndarray.*Normal"):
        band(x, 2 * x, ax=ax)
    with pytest.raises(ValueError, match="one row for each of the 4 points; got 3"):
        band(x, Normal(np.zeros(3), 1.0), ax=ax)
