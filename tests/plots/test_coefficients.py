import numpy as np
import pytest
from matplotlib.figure import Figure

from credo.plots import coefficients


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def draw(names, estimates, half, **options):
    estimates, half = np.asarray(estimates), np.asarray(half)
    ax = Figure().subplots()
    return coefficients(names, estimates, lower=estimates - half, upper=estimates + half, ax=ax, **options)


def test_order_is_by_estimate_over_uncertainty_not_by_size():
    ax = draw(["large but vague", "small but sure", "negative"], [10.0, 0.1, -3.0], [20.0, 0.01, 1.0])
    assert labels(ax) == ["small but sure", "negative", "large but vague"]


def test_units_do_not_change_the_order():
    rng = np.random.default_rng(0)
    estimates, half, units = rng.normal(size=8), rng.uniform(0.1, 2, size=8), 10.0 ** rng.integers(-5, 6, size=8)
    names = list("abcdefgh")
    assert labels(draw(names, estimates, half)) == labels(draw(names, estimates * units, half * units))


def test_filled_means_that_the_interval_excludes_zero():
    ax = draw(["sure", "unsure"], [2.0, 0.5], [1.0, 1.0])
    filled, hollow = (line for line in ax.lines if line.get_marker() == "o")
    assert filled.get_xydata().tolist() == [[2.0, 0.0]]
    assert hollow.get_xydata().tolist() == [[0.5, 1.0]]
    assert filled.get_markerfacecolor() != hollow.get_markerfacecolor()


def test_coefficients_without_an_estimate_are_left_out_and_undetermined_ones_say_so():
    ax = draw(["a", "b", "c"], [1.0, np.nan, 2.0], [1.0, 1.0, np.inf])
    assert labels(ax) == ["a", "c"]
    assert [(text.get_text(), text.xy) for text in ax.texts] == [("not determined", (0.0, 1))]
    assert sum(len(line.get_xdata()) for line in ax.lines if line.get_marker() == "o") == 1
    assert labels(draw(["a", "c"], [1.0, 2.0], [1.0, np.inf], max_rows=1)) == ["a"]


def test_a_surely_zero_coefficient_comes_last():
    assert labels(draw(["zero", "some"], [0.0, 0.1], [0.0, 5.0])) == ["some", "zero"]


def test_names_are_cleaned_and_shortened():
    long = "x" * 200 + "=level"
    text = labels(draw(["$\\alpha$", "two\nlines", long], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0]))
    assert text[:2] == ["$\\alpha$", "two lines"]
    assert len(text[2]) <= 28
    assert text[2].endswith("=level")


def test_errors_say_what_is_missing():
    with pytest.raises(ValueError, match="there are 1 names for 2 estimates"):
        draw(["a"], [1.0, 2.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="no coefficient has a finite estimate and interval"):
        draw(["a"], [np.nan], [1.0])
