from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

from credo import GPRegressor
from credo.kernels import RBF
from credo.plots import relevance_trace, relevances
from credo.plots._style import spread


class Stub(BaseEstimator):
    """A model of which only the relevances are known."""

    def __init__(self, relevance=None, trace=None, names=None):
        self.n_features_in_ = np.shape(relevance if trace is None else trace)[-1]
        if relevance is not None:
            self.relevance_ = np.asarray(relevance)
        if trace is not None:
            self.relevance_trace_ = np.asarray(trace)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def fit(self, X, y):
        return self


@pytest.fixture
def ax():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_the_relevances_largest_first(ax):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1], columns=["useless", "strong", "weak"])
    y = np.sin(0.3 * X["strong"]) + 2 * X["weak"]
    model = GPRegressor().fit(X, y)
    relevances(model, ax=ax)
    widths = [bar.get_width() for bar in ax.containers[0]]
    by_name = dict(zip(X.columns, model.relevance_, strict=True))
    assert widths == sorted(model.relevance_, reverse=True)
    assert [by_name[name] for name in labels(ax)] == widths
    assert labels(ax)[0] == "strong"
    # The first row is at the top.
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_a_model_without_a_length_scale_for_each_column_is_refused(ax):
    model = GPRegressor(RBF(1.0), hyperparameters="fixed").fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0])
    for draw in (relevances, relevance_trace):
        with pytest.raises(ValueError, match=r"this GPRegressor has no relevance_.*one length scale for each column"):
            draw(model, ax=ax)


def test_values_that_do_not_fit_the_columns_are_refused(ax):
    model = Stub([1.0, 2.0])
    model.n_features_in_ = 3
    with pytest.raises(ValueError, match=r"a finite value for each of the 3 columns; got shape \(2,\)"):
        relevances(model, ax=ax)
    with pytest.raises(ValueError, match="finite value"):
        relevances(Stub([1.0, np.nan]), ax=ax)


def test_the_trace_has_a_line_for_each_input_on_a_log_axis(ax):
    trace = np.exp(np.random.default_rng(1).normal(size=(9, 3)).cumsum(axis=0))
    relevance_trace(Stub(trace=trace), ax=ax)
    assert ax.get_yscale() == "log"
    drawn = {tuple(line.get_ydata()) for line in ax.lines}
    assert drawn == {tuple(column) for column in trace.T}
    assert all(line.get_xdata().tolist() == list(range(9)) for line in ax.lines)


def test_the_trace_of_a_process_ends_at_its_relevances(ax):
    X = np.random.default_rng(2).normal(size=(30, 2))
    model = GPRegressor(random_state=0).fit(X, np.sin(2 * X[:, 0]) + 0.01 * X[:, 1])
    relevance_trace(model, ax=ax)
    assert all(len(line.get_xdata()) == len(model.relevance_trace_) > 2 for line in ax.lines)
    np.testing.assert_allclose(sorted(line.get_ydata()[-1] for line in ax.lines), sorted(model.relevance_), rtol=1e-6)
    assert [text.get_text() for text in ax.texts] == ["x0", "x1"]


def test_lines_are_labelled_at_their_right_ends_in_their_order(ax):
    trace = np.array([[1.0, 1.0, 1.0, 1.0], [0.5, 2.0, 0.001, 0.51]])
    relevance_trace(Stub(trace=trace, names=["a", "b", "c", "d"]), max_labels=3, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["b", "d", "a"]
    heights = [text.xyann[1] for text in ax.texts]
    assert heights == sorted(heights, reverse=True)
    # What each label points to is the end of its line.
    low, high = np.log(ax.get_ylim())
    expected = (np.log([2.0, 0.51, 0.5]) - low) / (high - low)
    np.testing.assert_allclose([text.xy[1] for text in ax.texts], expected)


def test_labels_of_lines_that_end_together_do_not_overlap():
    figure = Figure(figsize=(5, 3), dpi=100)
    names = [f"input number {i}" for i in range(8)]
    model = Stub(trace=np.vstack([np.ones(8), np.linspace(1, 1.01, 8)]), names=names)
    ax = relevance_trace(model, ax=figure.subplots())
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == 8
    assert all(lower.y1 <= upper.y0 + 3 for lower, upper in pairwise(boxes))


def test_a_trace_of_one_step_shows_points(ax):
    relevance_trace(Stub(trace=[[1.0, 0.5]]), ax=ax)
    assert all(line.get_marker() == "o" for line in ax.lines)


def test_a_relevance_of_zero_has_no_place_on_a_log_axis(ax):
    with pytest.raises(ValueError, match="must be positive to be drawn on a log axis"):
        relevance_trace(Stub(trace=[[1.0, 0.0]]), ax=ax)


@pytest.mark.parametrize("seed", range(5))
def test_spreading_keeps_the_order_the_gap_and_the_mean(seed):
    rng = np.random.default_rng(seed)
    places = np.sort(rng.uniform(size=12))[::-1]
    moved = spread(places, 0.05)
    assert (-np.diff(moved) >= 0.05 - 1e-12).all()
    np.testing.assert_allclose(moved.mean(), places.mean())
    roomy = np.linspace(1, 0, 5)
    np.testing.assert_allclose(spread(roomy, 0.05), roomy)
