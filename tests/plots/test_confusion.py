import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.metrics import confusion_matrix

from credo.distributions import Bernoulli, Categorical
from credo.plots import confusion
from credo.plots.styling import ACCENT, ALERT


@pytest.fixture
def ax():
    return Figure(figsize=(6, 6)).subplots()


def cells(ax):
    """The texts of the table by (row, column)."""
    found = {}
    for text in ax.texts:
        j, i = text.get_position()
        found[(i, j)] = text.get_text().splitlines()
    return found


def shades(ax):
    (mesh,) = [part for part in ax.collections if isinstance(part, QuadMesh)]
    n = int(np.sqrt(len(mesh.get_facecolor())))
    return mesh.get_facecolor().reshape(n, n, 4)


def test_the_counts_are_scikit_learns(ax):
    rng = np.random.default_rng(0)
    y, guess = rng.choice(["x", "a", "m"], size=(2, 80))
    confusion(y, guess, ax=ax)
    expected = confusion_matrix(y, guess, labels=["a", "m", "x"])
    assert {place: int(texts[0]) for place, texts in cells(ax).items()} == dict(np.ndenumerate(expected))
    shares = expected / expected.sum(axis=1, keepdims=True)
    assert {place: texts[1] for place, texts in cells(ax).items()} == {
        place: f"{100 * share:.0f} %" for place, share in np.ndenumerate(shares)
    }
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "m", "x"]
    totals = expected.sum(axis=1)
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        f"{name} ({n})" for name, n in zip("amx", totals, strict=True)
    ]


def test_shades_grow_with_the_share_and_mistakes_have_their_own_colour(ax):
    confusion([0, 0, 0, 0, 1], [0, 0, 0, 1, 1], ax=ax)
    drawn = shades(ax)
    assert [to_hex(drawn[0, 0]), to_hex(drawn[0, 1])] == [ACCENT, ALERT]
    np.testing.assert_allclose(drawn[..., 3] / drawn[1, 1, 3], [[0.75, 0.5], [0.0, 1.0]])


def test_empty_cells_stay_empty(ax):
    confusion([0, 1], [0, 1], ax=ax)
    assert set(cells(ax)) == {(0, 0), (1, 1)}


def test_the_order_is_the_one_that_is_said_and_a_class_may_be_absent(ax):
    confusion(["b", "a"], ["b", "b"], ["c", "b", "a"], ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["c (0)", "b (1)", "a (1)"]
    assert cells(ax) == {(1, 1): ["1", "100 %"], (2, 1): ["1", "100 %"]}
    assert np.isfinite(shades(ax)).all()


def test_a_distribution_predicts_its_mode(ax):
    confusion(["b", "a"], Categorical([[0.2, 0.8, 0.0], [0.6, 0.4, 0.0]], classes=["a", "b", "c"]), ax=ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    assert set(cells(ax)) == {(0, 0), (1, 1)}
    other = confusion([0, 1], Bernoulli([0.7, 0.7]), ax=Figure().subplots())
    assert set(cells(other)) == {(0, 1), (1, 1)}


@pytest.mark.parametrize(
    ("y", "guess", "classes", "message"),
    [
        ([0, 1], [0], None, "y has 2 labels and predicted has 1"),
        ([0, 1], [0, 2], [0, 1], "predicted holds 2 in row 1, which is none of the classes 0, 1"),
        ([0, 1], [0, 1], [0, 1, 1], "classes must differ"),
        ([0, 1], [[0.3, 0.7], [0.1, 0.9]], None, "predicted must hold one label for each row"),
        ([], [], None, "nothing to draw: y is empty"),
    ],
)
def test_what_makes_no_table_is_said(ax, y, guess, classes, message):
    with pytest.raises(ValueError, match=message):
        confusion(y, guess, classes, ax=ax)
