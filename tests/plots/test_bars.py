import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from credo.plots import bars


@pytest.fixture
def ax():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_the_values_largest_first(ax):
    bars(["a", "b", "c"], [0.5, 123.4, 3.0], label="gain", ax=ax)
    assert labels(ax) == ["b", "c", "a"]
    assert [bar.get_width() for bar in ax.containers[0]] == [123.4, 3.0, 0.5]
    assert [text.get_text() for text in ax.texts] == ["123", "3", "0.50"]
    assert ax.get_xlabel() == "gain"
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_a_tenth_of_the_largest_or_less_is_hollow(ax):
    bars(["a", "b", "c"], [1.0, 0.101, 0.099], ax=ax)
    faces = [to_hex(bar.get_facecolor()) for bar in ax.containers[0]]
    assert faces[0] == faces[1] != faces[2] == "#ffffff"


def test_what_is_left_out_is_counted(ax):
    bars([f"x{i}" for i in range(500)], np.arange(500.0), max_rows=2, label="gain", ax=ax)
    assert labels(ax) == ["x499", "x498"]
    assert ax.get_xlabel() == "gain\nthe 2 largest of 500"


def test_values_below_zero_go_to_the_left_and_fit(ax):
    bars(["a", "b"], [1.0, -2.0], ax=ax)
    low, high = ax.get_xlim()
    assert low < -2 and high > 1
    bars(["a"], [0.0], ax=ax)
    assert ax.get_xlim()[1] > 0


def test_what_cannot_be_drawn_is_said(ax):
    for values, message in (([1.0], "one value for each of the 2 rows; got 1"), ([1.0, np.nan], "all must be finite")):
        with pytest.raises(ValueError, match=message):
            bars(["a", "b"], values, ax=ax)
    with pytest.raises(ValueError, match="at least one value"):
        bars([], [], ax=ax)
