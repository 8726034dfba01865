from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from credo.plots import coefficient_path
from credo.sparse import Lasso, LassoCV, LassoPath, lasso_path

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 5)), columns=["rain", "wind", "sun", "noise", "frost"])
Y = X.to_numpy() @ [2.0, -1.0, 0.5, 0.0, 0.0] + RNG.normal(size=60)


@pytest.fixture
def ax():
    return Figure(figsize=(6, 4)).subplots()


@pytest.fixture(scope="module")
def model():
    return LassoCV().fit(X, Y)


def curves(ax):
    """Lines of weights, without the one at zero and the marks."""
    return [line for line in ax.lines if len(line.get_xdata()) > 2]


def marks(ax):
    return {line.get_label(): line.get_xdata()[0] for line in ax.lines if not line.get_label().startswith("_")}


def names(ax):
    return [text.get_text() for text in ax.texts]


def test_lines_are_the_weights_against_the_penalty(ax):
    path = lasso_path(X, Y)
    coefficient_path(path, ax=ax)
    drawn = {tuple(np.nan_to_num(line.get_ydata())) for line in curves(ax)}
    assert drawn == {tuple(row) for row in path.coefs if row.any()}
    assert all(line.get_xdata() is path.alphas or (line.get_xdata() == path.alphas).all() for line in curves(ax))
    assert ax.get_xscale() == "log"
    # From the strongest penalty to the weakest.
    assert ax.get_xlim() == (path.alphas.max(), path.alphas.min())


def test_a_weight_is_drawn_from_the_zero_before_it_enters(ax):
    path = LassoPath(np.array([8.0, 4.0, 2.0, 1.0]), np.array([[0.0, 0.0, 0.0, 3.0]]), np.zeros(4))
    (line,) = curves(coefficient_path(path, ax=ax))
    np.testing.assert_array_equal(line.get_ydata(), [np.nan, np.nan, 0.0, 3.0])


def test_rows_make_their_own_path_with_the_names_of_their_columns(ax):
    coefficient_path(X, Y, ax=ax)
    last = lasso_path(X, Y).coefs[:, -1]
    assert names(ax) == [X.columns[j] for j in np.argsort(-last)]
    coefficient_path(X.to_numpy(), Y, names=list("abcde"), ax=(other := Figure().subplots()))
    assert sorted(names(other)) == list("abcde")


def test_a_name_stands_at_the_height_at_which_its_line_ends(ax):
    path = lasso_path(X, Y)
    coefficient_path(path, names=X.columns, ax=ax)
    low, high = ax.get_ylim()
    by_name = dict(zip(X.columns, path.coefs[:, -1], strict=True))
    for text in ax.texts:
        assert low + text.xy[1] * (high - low) == pytest.approx(by_name[text.get_text()])


def test_the_two_rules_are_marked_where_the_model_has_them(ax, model):
    coefficient_path(X, Y, model=model, ax=ax)
    simple = LassoCV(rule="one-standard-error").fit(X, Y)
    found = marks(ax)
    assert found == {
        f"within one standard error ({np.count_nonzero(simple.coef_)} weights)": pytest.approx(simple.alpha_),
        f"least held-out error ({np.count_nonzero(model.coef_)} weights)": pytest.approx(model.alpha_),
    }
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(found)


def test_of_many_columns_the_largest_at_the_models_penalty_are_named(ax):
    wide = RNG.normal(size=(50, 300))
    y = wide[:, :3] @ [4.0, 3.0, 2.0] + RNG.normal(size=50)
    model = LassoCV().fit(wide, y)
    coefficient_path(wide, y, model=model, max_labels=3, ax=ax)
    assert set(names(ax)) == {f"x{j}" for j in np.argsort(-np.abs(model.coef_))[:3]} == {"x0", "x1", "x2"}
    inside = int((lasso_path(wide, y, alphas=model.alphas_).coefs != 0).any(axis=1).sum())
    assert ax.get_xlabel() == f"penalty α\nin gray: {inside - 3} more weights that leave zero, of 300 columns"


def colors(ax):
    return {text.get_text(): text.get_color() for text in ax.texts}


def test_names_do_not_overlap_and_are_no_more_than_find_room():
    figure = Figure(figsize=(5, 1.6), dpi=100)
    path = LassoPath(np.array([1.0, 0.1]), np.column_stack([np.zeros(40), np.linspace(1, 1.1, 40)]), np.zeros(2))
    ax = coefficient_path(path, max_labels=40, ax=figure.subplots())
    figure.canvas.draw()
    places = [text.xyann[1] for text in ax.texts]
    assert 3 <= len(places) < 15
    assert places[0] <= 1 and places[-1] >= 0
    # Each is as high as its words, without the line that leads to it.
    height = max(Text.get_window_extent(text).height for text in ax.texts) / ax.bbox.height
    assert all(upper - lower > height for upper, lower in pairwise(places))


def test_a_path_of_one_penalty_shows_points(ax):
    coefficient_path(LassoPath(np.array([1.0]), np.array([[2.0], [0.0]]), np.zeros(1)), ax=ax)
    assert [line.get_ydata().tolist() for line in ax.lines if line.get_marker() == "o"] == [[2.0]]


# Models are fitted in the test: what is fitted while tests are collected is compiled in every process.
@pytest.mark.parametrize(
    ("case", "error", "message"),
    [
        (lambda cv: ((X,), {}), ValueError, r"needs their targets: coefficient_path\(X, y\)"),
        (lambda cv: ((X, Y), {"names": ["a"]}), ValueError, "there are 1 names for the 5 columns"),
        (
            lambda cv: ((Lasso(0.1).fit(X, Y),), {}),
            TypeError,
            r"a Lasso keeps no path.*coefficient_path\(X, y, model=model\)",
        ),
        (lambda cv: ((X, Y), {"model": Lasso(0.1).fit(X, Y)}), TypeError, "model must be a LassoCV.*got Lasso"),
        (lambda cv: ((X.iloc[:, :2], Y), {"model": cv}), ValueError, "the path has 2 columns and the model 5"),
    ],
)
def test_what_cannot_be_drawn_is_said(ax, model, case, error, message):
    args, options = case(model)
    with pytest.raises(error, match=message):
        coefficient_path(*args, ax=ax, **options)
