"""The steps from the average to a prediction: where they start and end, and that every text can be read."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from credo.plots import waterfall
from credo.plots.styling import distinct


@pytest.fixture
def ax():
    return Figure(figsize=(6.0, 4.0), layout="constrained").subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_each_bar_starts_where_the_last_one_ended(ax):
    waterfall(["a", "b", "c"], [1.0, -3.0, 0.5], base=10.0, ax=ax)
    bars = ax.patches
    assert labels(ax) == ["average", "b", "a", "c", "prediction"]
    assert [bar.get_x() for bar in bars] == [10.0, 7.0, 8.0]
    assert [bar.get_width() for bar in bars] == [-3.0, 1.0, 0.5]
    assert [text.get_text() for text in ax.texts] == ["10.00", "−3.00", "+1.00", "+0.50", "8.50"]
    assert bars[0].get_facecolor() != bars[1].get_facecolor() == bars[2].get_facecolor()


def test_the_smallest_steps_are_one(ax):
    steps = np.array([5.0, 0.1, 0.2, -3.0, 0.3])
    waterfall(list("abcde"), steps, base=0.0, errors=np.full(5, 0.04), max_rows=3, label="price", ax=ax)
    assert labels(ax) == ["average", "a", "d", "3 other inputs", "prediction"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([5.0, -3.0, 0.6])
    assert ax.texts[3].get_text() == "+0.60 ± 0.12" and ax.texts[4].get_text() == "2.60"


def test_an_error_below_the_last_digit_is_left_out(ax):
    waterfall(["a", "b"], [100.0, 20.0], base=0.0, errors=[0.2, 3.0], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["0", "+100", "+20 ± 3", "120"]


@pytest.mark.parametrize("scale", [1e-9, 0.01, 1.0, 1e4, 1e12])
@pytest.mark.parametrize("sign", [-1, 1])
def test_no_text_overlaps_another_or_a_bar(ax, scale, sign):
    rng = np.random.default_rng(0)
    names = [f"concentration of the {part} reagent in the vessel" for part in ("first", "second", "third")]
    steps = sign * scale * np.abs(rng.normal(size=12)) * np.where(rng.random(12) < 0.3, -1, 1)
    waterfall(
        [*names, *"abcdefghi"], steps, base=3 * scale, errors=np.full(12, 0.02 * scale), values=[1.23456] * 12, ax=ax
    )
    figure = ax.figure
    FigureCanvasAgg(figure).draw()
    texts = [text.get_window_extent() for text in [*ax.texts, *ax.get_yticklabels()]]
    boxes = [*texts, *(bar.get_window_extent() for bar in ax.patches)]
    for i, one in enumerate(texts):
        assert figure.bbox.x0 - 1 <= one.x0 and one.x1 <= figure.bbox.x1 + 1
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_long_names_stay_apart():
    long = ["mean of the left " + middle + " at the end of the day" for middle in ("hand", "foot")]
    assert len(set(distinct(long, width=12))) == 2
    # What differs is in the middle of a text that is too long to show.
    hidden = ["x" * 50 + letter + "y" * 50 for letter in "ab"]
    assert [name[-4:] for name in distinct(hidden, width=12)] == [" (1)", " (2)"]
    assert distinct(["a", "b"], width=12) == ["a", "b"]


def test_values_of_inputs_are_shown(ax):
    waterfall(["a", "b", "c"], [3.0, 2.0, 1.0], base=0.0, values=[1.23456, None, "red"], ax=ax)
    assert labels(ax)[1:4] == ["a = 1.235", "b = (missing)", "c = red"]


def test_what_cannot_be_drawn_is_said(ax):
    for names, steps in (([], []), (["a"], [np.inf])):
        with pytest.raises(ValueError, match="at least one contribution, and all numbers finite"):
            waterfall(names, steps, base=0.0, ax=ax)
