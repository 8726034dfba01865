import numpy as np
import pytest
from matplotlib.figure import Figure

from credo.ensemble import AdaBoostClassifier
from credo.linear import LogisticRegression
from credo.plots import adaboost_rounds, reliability

X = np.random.default_rng(0).normal(size=(80, 2))
Y = np.where(np.square(X).sum(axis=1) > 1.4, "out", "in")


@pytest.fixture(scope="module")
def model():
    return AdaBoostClassifier(n_rounds=20, calibrate=False, keep_weights=True, random_state=0).fit(X, Y)


def test_the_areas_of_the_dots_are_the_weights(model):
    panels = adaboost_rounds(model, X, Y, rounds=[1, 5, 12], n=15, ax=Figure().subplots())
    for panel, m in zip(panels, (1, 5, 12), strict=True):
        for dots, label in zip(panel.collections[-2:], ("in", "out"), strict=True):
            np.testing.assert_allclose(dots.get_offsets(), X[label == Y])
            expected = np.minimum(12 * 80 * model.weights_[m - 1][label == Y], 260)
            np.testing.assert_allclose(dots.get_sizes(), expected, rtol=1e-9)
        assert panel.get_title() == f"round {m}: error {model.errors_[m - 1]:.2f}"


def test_the_regions_are_those_of_the_votes_so_far(model):
    (panel,) = adaboost_rounds(model, X, Y, rounds=[7], n=25, ax=Figure().subplots())
    image = panel.images[0].get_array()
    assert len(np.unique(image.reshape(-1, 4), axis=0)) == 2
    assert len(adaboost_rounds(model, X, Y, n=10, ax=Figure().subplots())) == 6


def test_the_reliability_of_probabilities_improves_by_calibration():
    """The share of groups whose interval misses the diagonal, in held-out rows of ESL's sphere."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3400, 10))
    labels = (np.square(rows).sum(axis=1) > 9.34).astype(int)
    missed = []
    for calibrate in (False, True):
        model = AdaBoostClassifier(n_rounds=200, calibrate=calibrate, random_state=0).fit(rows[:400], labels[:400])
        ax = reliability(labels[400:], model.predict_dist(rows[400:]), ax=Figure().subplots())
        line = next((line for line in ax.lines if line.get_label() == "interval misses the diagonal"), None)
        missed.append(0 if line is None else len(line.get_xdata()))
    assert missed[1] <= missed[0] - 4


def test_bad_rounds_and_models_are_refused_in_words(model):
    with pytest.raises(ValueError, match=r"rounds must be whole numbers from 1 to 20, .* got \[21\]"):
        adaboost_rounds(model, X, Y, rounds=[21])
    with pytest.raises(ValueError, match="a LogisticRegression has no rounds"):
        adaboost_rounds(LogisticRegression(alpha=1.0).fit(X, Y), X, Y)
