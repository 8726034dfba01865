"""Regions of experts, and weights of averaged models."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from credo.ensemble import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from credo.linear import LinearRegression
from credo.plots import expert_regions
from credo.plots.class_rows import color


@pytest.fixture
def ax():
    return Figure().subplots()


def test_curves_are_strong_where_the_gate_is_sure(ax):
    x = np.linspace(-1, 1, 60)
    frame, y = pd.DataFrame({"dose": x}), pd.Series(np.abs(x), name="effect")
    model = MixtureOfExpertsRegressor(2, n_restarts=1, random_state=0).fit(frame, y)
    expert_regions(model, frame, y, n=50, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "effect")
    curves = ax.collections[:2]
    gate = model.gate_proba(pd.DataFrame({"dose": [-1.0, 1.0]}))
    for j, curve in enumerate(curves):
        opacity = curve.get_colors()[:, 3]
        assert (opacity[0] > opacity[-1]) == (gate[0, j] > gate[1, j])
        middle = np.array(curve.get_segments())[10, 0]
        expected = model.expert_predictions(pd.DataFrame({"dose": [middle[0]]}))[0, j]
        assert middle[1] == pytest.approx(expected)
    marks = ax.collections[2:]
    assert sum(len(part.get_offsets()) for part in marks) == 60
    for j, part in enumerate(marks):
        np.testing.assert_allclose(np.median(part.get_facecolors(), axis=0)[:3], to_rgb(color(j)), atol=0.05)


def test_a_plane_has_the_colours_of_the_experts(ax):
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = MixtureOfExpertsClassifier(2, n_restarts=1, random_state=0).fit(X, y)
    expert_regions(model, X, y, columns=(0, 1), n=12, ax=ax)
    assert ax.images[0].get_array().shape == (12, 12, 4)
    assert "at medians: x2" in ax.get_xlabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["expert 0", "expert 1"]


def test_what_can_not_be_drawn_is_said(ax):
    X = np.arange(6.0)[:, None]
    with pytest.raises(TypeError, match="draws a mixture of experts"):
        expert_regions(LinearRegression().fit(X, X[:, 0]), X, X[:, 0], ax=ax)
    model = MixtureOfExpertsRegressor(1, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y must have a value for each of the 6 rows"):
        expert_regions(model, X, X[:3, 0], ax=ax)
