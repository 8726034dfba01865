import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.integrate import trapezoid
from sklearn.metrics import roc_auc_score, roc_curve

from credo.distributions import Bernoulli, Categorical
from credo.plots import roc
from credo.plots.probabilities import area


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def ranked():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=200)
    # Rounded, so that there are ties within and between the classes.
    return y, np.round(1 / (1 + np.exp(-(1.5 * y - 0.7 + rng.normal(size=200)))), 1)


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_and_its_area_are_scikit_learns(ax, ranked):
    y, p = ranked
    roc(y, p, ax=ax)
    alarms, hits, _ = roc_curve(y, p)
    curve = ax.lines[1].get_xydata()
    # The same broken line, whichever points of its straight parts are kept.
    for x, other in ((alarms, curve[:, 0]), (hits, curve[:, 1])):
        assert {round(value, 9) for value in other} <= {round(value, 9) for value in x}
    np.testing.assert_allclose(trapezoid(curve[:, 1], curve[:, 0]), roc_auc_score(y, p))
    assert entries(ax)[0].startswith(f"{roc_auc_score(y, p):.3f} ± ")


def test_the_standard_error_is_delongs_from_all_pairs(ranked):
    y, p = ranked
    event, other = p[y == 1], p[y == 0]
    wins = (event[:, None] > other) + 0.5 * (event[:, None] == other)
    by_event, by_other = wins.mean(axis=1), wins.mean(axis=0)
    variance = by_event.var(ddof=1) / len(event) + by_other.var(ddof=1) / len(other)
    np.testing.assert_allclose(area(p, y == 1), (wins.mean(), np.sqrt(variance)))


def test_the_standard_error_is_the_spread_of_the_area():
    """Binormal scores of AUC Φ(1/√2): the error that is told, against that of 2000 samples."""
    rng = np.random.default_rng(2)
    happened = np.arange(80) < 30
    drawn = [area(happened + rng.normal(size=80), happened) for _ in range(2000)]
    values, errors = np.array(drawn).T
    assert values.mean() == pytest.approx(0.7602, abs=0.005)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.06)


def test_all_predictions_equal_is_the_diagonal(ax):
    roc([0, 1, 1, 0], [0.3] * 4, ax=ax)
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [[0, 0], [1, 1]])
    assert entries(ax) == ["0.500"]


def test_a_perfect_ranking_has_no_error_to_tell(ax):
    roc(["no", "no", "yes"], [0.1, 0.2, 0.3], ax=ax)
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [[0, 0], [0, 1], [1, 1]])
    assert entries(ax) == ["1.000"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "false positive rate (share of no)",
        "true positive rate (share of yes)",
    )


def test_several_models_have_a_curve_each(ax, ranked):
    y, p = ranked
    roc(y, {"good": p, "bad": Bernoulli(1 - p), "same": np.column_stack([1 - p, p])}, ax=ax)
    value = roc_auc_score(y, p)
    assert [entry.split(" ±")[0] for entry in entries(ax)] == [
        f"good: {value:.3f}", f"bad: {1 - value:.3f}", f"same: {value:.3f}",
    ]  # fmt: skip
    styles = {(line.get_color(), str(line.get_linestyle()), line._dash_pattern[1] and 1) for line in ax.lines[1:]}
    assert len(styles) == 3


def test_each_of_several_classes_against_the_rest(ax):
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b", "c"], size=90)
    table = rng.dirichlet(np.ones(4), size=90)
    roc(y, Categorical(table, classes=["a", "b", "c", "d"]), ax=ax)
    expected = [f"{k}: {roc_auc_score(y == k, table[:, i]):.3f}" for i, k in enumerate("abc")]
    # d has no rows, and so no curve.
    assert [entry.split(" ±")[0] for entry in entries(ax)] == expected


def test_a_class_of_one_row_has_an_area_without_error(ax):
    roc([0, 0, 0, 1], [0.1, 0.5, 0.2, 0.3], ax=ax)
    assert entries(ax) == ["0.667"]


@pytest.mark.parametrize(
    ("y", "prediction", "options", "message"),
    [
        ([1, 1], [0.2, 0.3], {}, "needs two classes, but every label in y is 1"),
        ([0, 0], [0.2, 0.3], {}, "needs two classes, but every label in y is 0"),
        ([0, 0], [[0.2, 0.3, 0.5]] * 2, {}, "needs two classes, but every label in y is 0"),
    ],
)
def test_what_has_no_curve_is_said(ax, y, prediction, options, message):
    with pytest.raises(ValueError, match=message):
        roc(y, prediction, ax=ax, **options)
