import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from credo import GPClassifier
from credo.kernels import RBF
from credo.plots import decision_regions
from credo.plots._regions import mixture
from credo.plots.class_rows import color

RNG = np.random.default_rng(0)
CENTERS = np.array([[0.0, 0.0], [3.0, 0.5], [1.0, 3.0]])


def blobs(n_classes, n_columns=2):
    y = np.repeat(np.arange(n_classes), 20)
    X = RNG.normal(size=(len(y), n_columns))
    X[:, :2] += CENTERS[y]
    return X, y


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def two():
    X, y = blobs(2)
    return GaussianNB().fit(X, y), X, y


@pytest.fixture(scope="module")
def three():
    X, y = blobs(3)
    y = np.array(["ant", "bee", "cow"])[y]
    return GaussianNB().fit(X, y), X, y


def contours(ax):
    return {
        float(level): path.vertices
        for part in ax.collections
        if isinstance(part, QuadContourSet)
        for level, path in zip(part.levels, part.get_paths(), strict=True)
        if len(path.vertices)
    }


def grid(ax, n):
    """The centres of the image's pixels."""
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    half = (right - left) / n / 2, (top - bottom) / n / 2
    across = np.linspace(left + half[0], right - half[0], n)
    up = np.linspace(bottom + half[1], top - half[1], n)
    return np.column_stack([part.ravel() for part in np.meshgrid(across, up)])


def test_the_shades_are_the_models_probabilities(ax, two):
    model, X, y = two
    decision_regions(model, X, y, n=30, ax=ax)
    expected = mixture(model.predict_proba(grid(ax, 30))).reshape(30, 30, 4)
    np.testing.assert_allclose(ax.images[0].get_array(), expected)


def test_the_lines_lie_at_their_probabilities(ax, two):
    model, X, y = two
    decision_regions(model, X, y, n=200, ax=ax)
    drawn = contours(ax)
    # The boundary is where the lead of the second class is zero.
    assert sorted(drawn) == [0.0, 0.9]
    for level, vertices in drawn.items():
        np.testing.assert_allclose(model.predict_proba(vertices).max(axis=1), level or 0.5, atol=0.01)


def test_the_shades_are_pale_at_one_half_and_of_either_colour_beyond():
    middle, first, second = mixture(np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]]))
    assert middle[3] == 0.0 and first[3] == second[3] != 0
    np.testing.assert_allclose([first[:3], second[:3]], [to_rgb(color(0)), to_rgb(color(1))], atol=0.01)


def test_classes_differ_in_shape_and_colour(ax, three):
    model, X, y = three
    decision_regions(model, X, y, n=20, ax=ax)
    marks = {line.get_label(): line for line in ax.lines if line.get_marker() != "None"}
    assert list(marks) == ["ant", "bee", "cow"]
    assert len({line.get_marker() for line in marks.values()}) == 3
    assert len({line.get_color() for line in marks.values()}) == 3
    for label, line in marks.items():
        np.testing.assert_allclose(line.get_xydata(), X[y == label])


def test_boundaries_of_several_classes_are_where_two_lead(ax, three):
    model, X, y = three
    decision_regions(model, X, y, n=200, ax=ax)
    for place in (part for part in ax.collections if part.levels.tolist() == [0.0]):
        table = np.sort(model.predict_proba(np.vstack([path.vertices for path in place.get_paths()])), axis=1)
        assert np.median(table[:, 2] - table[:, 1]) < 0.01
    assert [text.get_text() for text in ax.get_legend().get_texts()][3:] == ["probability 0.9", "boundary"]
    at = contours(ax)[0.9]
    np.testing.assert_allclose(model.predict_proba(at).max(axis=1), 0.9, atol=0.02)


def test_colours_are_mixed_by_probability():
    certain, none, half = mixture(np.array([[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]]))
    np.testing.assert_allclose(certain[:3], to_rgb(color(1)))
    np.testing.assert_allclose(half[:3], np.mean([to_rgb(color(0)), to_rgb(color(1))], axis=0))
    assert certain[3] > half[3] > none[3] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_perceptron_shows_its_regions(ax, n_classes):
    X, y = blobs(n_classes)
    model = Perceptron().fit(X, y)
    decision_regions(model, X, y, n=40, ax=ax)
    shades = ax.images[0].get_array()
    assert len(np.unique(shades[..., 3])) == 1
    expected = np.array([to_rgb(color(k)) for k in model.predict(grid(ax, 40))])
    np.testing.assert_allclose(shades[..., :3].reshape(-1, 3), expected)
    assert list(contours(ax)) == [0.0]


def test_votes_of_pairs_fall_back_on_the_labels(ax):
    X, y = blobs(3)
    model = SVC(decision_function_shape="ovo").fit(np.vstack([X, X - 9]), np.concatenate([y, y + 3]))
    decision_regions(model, X, y, n=15, ax=ax)
    expected = np.array([to_rgb(color(k)) for k in model.predict(grid(ax, 15))])
    np.testing.assert_allclose(ax.images[0].get_array()[..., :3].reshape(-1, 3), expected)


def test_other_columns_are_held_at_their_medians_and_the_figure_says_so(ax):
    X, y = blobs(2, n_columns=4)
    X[:, 3] += 10
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = GaussianNB().fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decision_regions(model, frame, y, columns=["d", "b"], n=12, ax=ax)
    plane = grid(ax, 12)
    rows = np.tile(np.median(X, axis=0), (len(plane), 1))
    rows[:, [3, 1]] = plane
    expected = mixture(GaussianNB().fit(X, y).predict_proba(rows))
    np.testing.assert_allclose(ax.images[0].get_array().reshape(-1, 4), expected)
    medians = np.median(X, axis=0)
    assert ax.get_xlabel() == f"d\nat medians: a = {medians[0]:.3g}, c = {medians[2]:.3g}"
    assert ax.get_ylabel() == "b"
    np.testing.assert_allclose(ax.lines[0].get_xydata(), X[y == 0][:, [3, 1]])


def test_many_held_columns_are_counted(ax):
    X, y = blobs(2, n_columns=8)
    decision_regions(GaussianNB().fit(X, y), X, y, columns=(0, 1), n=5, ax=ax)
    assert ax.get_xlabel() == "x0\nthe 6 other columns at their medians"


def test_a_process_shows_the_observations_it_keeps(ax):
    X, y = blobs(2)
    model = GPClassifier(RBF(1.0), hyperparameters="fixed", inference="laplace").fit(X, np.where(y, "on", "off"))
    decision_regions(model, n=15, ax=ax)
    for place, label in enumerate(("off", "on")):
        (line,) = [line for line in ax.lines if line.get_label() == label]
        assert {tuple(row) for row in line.get_xydata()} == {tuple(row) for row in X[y == place]}
    np.testing.assert_allclose(ax.images[0].get_array().reshape(-1, 4), mixture(model.predict_proba(grid(ax, 15))))


def test_rows_with_missing_values_are_left_out(ax, two):
    model, X, y = two
    holed = X.copy()
    holed[0, 0] = np.nan
    decision_regions(model, holed, y, n=10, ax=ax)
    assert len(ax.lines[0].get_xydata()) == (y == 0).sum() - 1


def test_one_sure_side_has_no_boundary(ax):
    X, y = blobs(2)
    model = GaussianNB().fit(X, y)
    decision_regions(model, X[:3] - 50, y[:3], n=10, ax=ax)
    assert not contours(ax)


def test_labels_are_called_by_the_name_of_their_series(ax, two):
    model, X, y = two
    decision_regions(model, X, pd.Series(y, name="yc"), n=5, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["yc = 0", "yc = 1"]


@pytest.mark.parametrize(
    ("n_columns", "options", "message"),
    [
        (1, {}, "plane of two columns, but the model has 1: sigmoid draws those"),
        (3, {}, "plane of two columns, but the model has 3: select two by columns="),
        (3, {"columns": (0, 0)}, r"columns must be two different columns; got \(0, 0\)"),
        (3, {"columns": "ab"}, "columns must be two columns, by name or index; got 'ab'"),
        (3, {"columns": (0, 3)}, "the model has no column 3; it has 3: x0, x1, x2"),
        (3, {"columns": ("x0", "z")}, "the model has no column 'z'"),
        (2, {"n": 1}, "n must be at least 2"),
    ],
)
def test_what_is_no_plane_is_said(ax, n_columns, options, message):
    X = RNG.normal(size=(20, n_columns))
    model = GaussianNB().fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match=message):
        decision_regions(model, X, ax=ax, **options)


def test_rows_and_labels_that_do_not_fit_are_refused(ax, two):
    model, X, y = two
    for args, message in (
        ((), "a GaussianNB keeps no training rows: give the rows to draw"),
        ((None, y), "labels need their rows"),
        ((X[:, :1],), r"the model's 2 columns; got shape \(40, 1\)"),
        ((X, y[:3]), "one label for each of the 40 rows; got 3"),
        ((X, y + 1), "y holds 2 in row 20, which is none of the classes 0, 1"),
        ((X * np.nan,), "no row of X is finite"),
        (([["a", "b"]],), "the rows must be numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            decision_regions(model, *args, ax=ax)
    with pytest.raises(NotFittedError):
        decision_regions(GaussianNB(), X, ax=ax)
