import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression, Perceptron

from credo import GPClassifier
from credo.kernels import RBF
from credo.linear.bayes_logistic import BayesianLogisticRegression
from credo.plots import sigmoid

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-4, 6, size=60))
Y = np.where(RNG.random(60) < 1 / (1 + np.exp(1 - X)), "yes", "no")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def plain():
    return LogisticRegression().fit(X[:, None], Y)


def line(ax, label):
    (found,) = [part for part in ax.lines if part.get_label() == label]
    return found.get_xydata()


def test_the_curve_is_the_models_probability(ax, plain):
    sigmoid(plain, X, Y, ax=ax)
    x, p = line(ax, "probability").T
    np.testing.assert_allclose(p, plain.predict_proba(x[:, None])[:, 1])
    assert x[0] < X.min() and x[-1] > X.max()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "probability of yes")


def test_the_band_is_the_models_interval(ax):
    model = BayesianLogisticRegression().fit(X[:, None], Y)
    sigmoid(model, X, Y, level=0.8, ax=ax)
    x = line(ax, "probability")[:, 0]
    (band,) = [part for part in ax.collections if part.get_label() == "80 % interval"]
    corners = {tuple(point) for point in np.round(band.get_paths()[0].vertices, 9)}
    for end in model.proba_interval(x[:, None], 0.8):
        assert {tuple(point) for point in np.round(np.column_stack([x, end[:, 1]]), 9)} <= corners


def test_a_model_without_an_interval_has_no_band(ax, plain):
    sigmoid(plain, X, Y, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["probability", "no", "yes"]


def test_the_crossing_of_one_half_is_marked(ax, plain):
    sigmoid(plain, X, Y, ax=ax)
    crossing = -plain.intercept_[0] / plain.coef_[0, 0]
    (dashes,) = [part for part in ax.collections if isinstance(part, LineCollection)]
    ((start, end),) = dashes.get_segments()
    np.testing.assert_allclose([start, end], [[crossing, 0.0], [crossing, 0.5]], atol=1e-3)


def test_observations_stand_outside_the_scale_on_their_side(ax, plain):
    sigmoid(plain, X, Y, ax=ax)
    for label, side in (("no", -1), ("yes", 1)):
        places, heights = line(ax, label).T
        np.testing.assert_allclose(places, X[label == Y])
        assert (side * (heights - 0.5) > 0.5).all()
        assert np.ptp(heights) > 0
        low, high = ax.get_ylim()
        assert low < heights.min() and heights.max() < high


def test_a_process_crosses_more_than_once_and_shows_what_it_keeps(ax):
    x = np.linspace(0, 6, 40)
    model = GPClassifier(RBF(1.0, variance=9.0), hyperparameters="fixed").fit(x[:, None], np.sin(2 * x) > 0)
    sigmoid(model, target="above", ax=ax)
    (marks,) = [part for part in ax.lines if part.get_marker() == "o" and (part.get_ydata() == 0.5).all()]
    np.testing.assert_allclose(marks.get_xdata(), np.pi * np.arange(4) / 2, atol=0.15)
    assert len(line(ax, "above = True")) + len(line(ax, "above = False")) == 40


def test_a_curve_that_never_crosses_has_no_mark(ax, plain):
    sigmoid(plain, [20.0, 30.0], ["yes", "yes"], ax=ax)
    assert not ax.texts and not [part for part in ax.collections if isinstance(part, LineCollection)]


def test_other_models_are_refused_in_words(ax, plain):
    wide = LogisticRegression().fit(np.column_stack([X, X]), Y)
    with pytest.raises(ValueError, match=r"this LogisticRegression has 2\. Two columns are drawn by decision_regions"):
        sigmoid(wide, X, Y, ax=ax)
    with pytest.raises(TypeError, match="a Perceptron has none"):
        sigmoid(Perceptron().fit(X[:, None], Y), X, Y, ax=ax)
    many = LogisticRegression().fit(X[:, None], np.arange(60) % 3)
    with pytest.raises(ValueError, match="sigmoid draws two classes; this LogisticRegression has 3"):
        sigmoid(many, X, Y, ax=ax)
    with pytest.raises(ValueError, match="keeps no training rows"):
        sigmoid(plain, ax=ax)
    with pytest.raises(ValueError, match="level"):
        sigmoid(plain, X, Y, level=1.5, ax=ax)
