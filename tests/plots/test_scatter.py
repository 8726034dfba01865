import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from credo.distributions import Normal
from credo.plots import predicted_vs_actual, residuals


@pytest.fixture
def ax():
    return Figure(figsize=(4.7, 3.0)).subplots()


def points(ax):
    """Line collections by label: x and y of everything that has a name in the key."""
    return {line.get_label(): line.get_xydata() for line in ax.lines if not line.get_label().startswith("_")}


def test_rows_inside_and_outside_their_interval_are_told_apart(ax):
    y = np.array([0.0, 1.0, 2.0, 3.0])
    dist = Normal([0.1, 1.1, 5.0, 2.9], [0.5, 0.5, 0.5, 0.5])
    drawn = points(predicted_vs_actual(y, dist, ax=ax))
    assert drawn["outside"].tolist() == [[2.0, 5.0]]
    assert drawn["inside its 95 % interval"].tolist() == [[0.0, 0.1], [1.0, 1.1], [3.0, 2.9]]


def test_bars_are_the_interval_of_the_distribution(ax):
    y, dist = np.array([0.0, 1.0]), Normal([0.0, 1.0], [1.0, 2.0])
    predicted_vs_actual(y, dist, level=0.8, ax=ax)
    bars = next(line for line in ax.lines if len(line.get_xydata()) == 6).get_ydata().reshape(2, 3)
    lower, upper = dist.interval(0.8)
    np.testing.assert_allclose(bars[:, 0], lower)
    np.testing.assert_allclose(bars[:, 1], upper)
    assert np.isnan(bars[:, 2]).all()


def test_arrays_of_means_need_no_interval(ax):
    predicted_vs_actual([1.0, 2.0], [1.5, 2.5], ax=ax)
    assert ax.get_legend() is None


@pytest.mark.parametrize("draw", [predicted_vs_actual, residuals])
def test_many_rows_are_thinned_to_the_same_choice_every_time(draw):
    rng = np.random.default_rng(0)
    y = rng.normal(size=5_000)
    first, second = (draw(y, 0.5 * y, max_points=100, ax=Figure().subplots()) for _ in range(2))
    dots = [next(line for line in ax.lines if line.get_marker() == "o").get_xydata() for ax in (first, second)]
    assert len(dots[0]) == 100
    np.testing.assert_array_equal(*dots)


def test_rows_that_are_not_finite_are_left_out(ax):
    residuals([1.0, np.nan, 3.0], [1.0, 2.0, np.inf], ax=ax)
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    assert dots.get_xydata().tolist() == [[1.0, 0.0]]


def test_the_trend_of_residuals_is_their_mean_among_neighbours(ax):
    rng = np.random.default_rng(1)
    mean = rng.uniform(0, 10, size=2_000)
    left = np.sin(mean) + 0.01 * rng.normal(size=2_000)
    line = points(residuals(mean + left, mean, ax=ax))["mean"]
    assert len(line) == 12
    # Twelve groups of width 0.83 flatten the sine by at most 1 − sinc(0.42) ≈ 3 %.
    np.testing.assert_allclose(line[:, 1], np.sin(line[:, 0]), atol=0.05)


def test_few_rows_get_no_trend(ax):
    y = np.arange(59.0)
    assert residuals(y, y + np.tile([1.0, -1.0], 30)[:59], ax=ax).get_legend() is None


def test_a_constant_target_is_drawn(ax):
    dist = Normal(np.full(5, 3.0), np.zeros(5))
    predicted_vs_actual(np.full(5, 3.0), dist, ax=ax)
    low, high = ax.get_xlim()
    assert low < 3.0 < high


def test_endless_bars_do_not_squeeze_the_data(ax):
    y = np.linspace(0.0, 1.0, 10)
    predicted_vs_actual(y, y, interval=(y - 1e9, y + 1e9), ax=ax)
    assert np.ptp(ax.get_ylim()) < 5.0


def test_names_are_never_read_as_formulas(ax):
    predicted_vs_actual([1.0, 2.0], [1.0, 2.0], name="$\\frac{", ax=ax)
    ax.figure.draw_without_rendering()
    assert ax.get_xlabel() == "actual $\\frac{"


def test_the_style_is_not_left_behind():
    before = dict(mpl.rcParams)
    residuals([1.0, 2.0], [1.5, 1.5], ax=Figure().subplots())
    assert dict(mpl.rcParams) == before


def test_without_axes_a_new_figure_is_made():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    ax = residuals([1.0, 2.0], [1.5, 1.5])
    assert ax.figure is pyplot.gcf()
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("y", "prediction", "words"),
    [
        ([[1.0]], [1.0], r"y must be one-dimensional; got an array of shape \(1, 1\)"),
        ([1.0, 2.0], [1.0], "prediction must have one value for each of the 2 rows; got 1"),
        ([np.nan], [1.0], "there is nothing to draw: no row has finite values"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(y, prediction, words):
    with pytest.raises(ValueError, match=words):
        predicted_vs_actual(y, prediction, ax=Figure().subplots())
