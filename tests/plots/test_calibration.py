import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import binom

from credo.plots import calibration


def bars(ax):
    return [bar for container in ax.containers for bar in container]


def heights(ax):
    return [bar.get_height() for bar in sorted(bars(ax), key=lambda bar: bar.get_x())]


def draw(pit, **options):
    return calibration(pit, ax=Figure().subplots(), **options)


def test_bars_count_the_rows():
    pit = np.array([0.0, 0.05, 0.5, 0.99, 1.0])
    assert heights(draw(pit, bins=10)) == [2, 0, 0, 0, 0, 1, 0, 0, 0, 2]


@pytest.mark.parametrize(("n", "bins"), [(5, 5), (49, 5), (50, 10), (999, 10), (1000, 20)])
def test_more_rows_get_more_bars(n, bins):
    assert len(bars(draw(np.linspace(0, 1, n)))) == bins


def test_the_range_is_binomial():
    ax = draw(np.linspace(0, 1, 200), bins=10, level=0.99)
    ends = sorted(line.get_ydata()[0] for line in ax.lines)
    # The central interval of binomial(200, 0.1) that one bar in a thousand leaves, and so one of ten in a hundred.
    assert binom.cdf(ends[1], 200, 0.1) - binom.cdf(ends[0] - 1, 200, 0.1) >= 0.999
    assert binom.cdf(ends[0] - 1, 200, 0.1) < 0.0005 <= binom.cdf(ends[0], 200, 0.1)


@pytest.mark.parametrize(("n", "bins", "level"), [(442, 10, 0.99), (2000, 20, 0.99), (300, 10, 0.9)])
def test_all_bars_of_an_honest_model_stay_in_the_range_as_often_as_it_says(n, bins, level):
    low, high = sorted(line.get_ydata()[0] for line in draw(np.linspace(0, 1, n), bins=bins, level=level).lines)
    counts = np.random.default_rng(0).multinomial(n, np.full(bins, 1 / bins), size=20_000)
    share = np.mean(((low <= counts) & (counts <= high)).all(axis=1))
    # Four standard errors of 20,000 draws below; not so wide that it would say little.
    assert level - 4 * np.sqrt(level * (1 - level) / 20_000) <= share < 1 - (1 - level) / 4


def test_bars_outside_the_range_are_marked_by_more_than_colour():
    narrow = np.concatenate([np.full(100, 0.01), np.full(100, 0.99), np.linspace(0, 1, 100)])
    ax = draw(narrow, bins=10)
    assert len(ax.containers[1]) >= 2
    assert all(bar.get_hatch() for bar in ax.containers[1])
    assert "outside" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_values_that_are_no_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"pit values are probabilities between 0 and 1; got 1\.5"):
        draw([0.5, 1.5])
    with pytest.raises(ValueError, match="pit has no finite value"):
        draw([np.nan])
