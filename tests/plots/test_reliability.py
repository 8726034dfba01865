import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.stats import beta
from sklearn.calibration import calibration_curve

from credo.distributions import Bernoulli, Categorical
from credo.plots import reliability
from credo.plots.styling import ACCENT, ALERT


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def honest():
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 0.9, size=600)
    return (rng.random(600) < p).astype(int), p


def groups(ax):
    """Mean prediction and observed share of each group, from the line through all of them."""
    return ax.lines[1].get_xydata()


def bars(ax):
    """The intervals' ends by the place of their group."""
    segments = [s for c in ax.collections for s in c.get_segments()]
    return np.array(sorted((s[0, 0], s[0, 1], s[1, 1]) for s in segments))


def heights(ax):
    return [int(bar.get_height()) for bar in ax.child_axes[0].patches]


def test_the_groups_are_scikit_learns(ax, honest):
    y, p = honest
    reliability(y, p, ax=ax)
    share, mean = calibration_curve(y, p, n_bins=10)
    np.testing.assert_allclose(groups(ax), np.column_stack([mean, share]))


def test_the_strip_counts_the_rows(ax, honest):
    y, p = honest
    reliability(y, Bernoulli(p), n_bins=4, ax=ax)
    assert heights(ax) == np.histogram(p, bins=4, range=(0, 1))[0].tolist()
    assert ax.child_axes[0].get_xlim() == ax.get_xlim() == (0.0, 1.0)


def test_the_bars_are_jeffreys_intervals(ax):
    # Groups of 10 rows with 0, 3 and 10 events.
    p = np.repeat([0.1, 0.5, 0.9], 10)
    y = np.repeat([0, 1, 0, 1], [10, 3, 7, 10])
    reliability(y, p, n_bins=3, level=0.9, ax=ax)
    expected = [
        (0.1, 0.0, beta.ppf(0.95, 0.5, 10.5)),
        (0.5, beta.ppf(0.05, 3.5, 7.5), beta.ppf(0.95, 3.5, 7.5)),
        (0.9, beta.ppf(0.05, 10.5, 0.5), 1.0),
    ]
    np.testing.assert_allclose(bars(ax), expected)
    assert ax.get_legend().get_texts()[0].get_text() == "observed, with 90 % interval"


def test_an_honest_model_has_few_marks_and_a_boastful_one_many(ax, honest):
    y, p = honest
    reliability(y, p, ax=ax)
    boast = 1 / (1 + ((1 - p) / p) ** 4)
    other = reliability(y, boast, ax=Figure().subplots())

    def missed(drawn):
        marks = [line for line in drawn.lines if line.get_marker() == "o" and to_hex(line.get_color()) == ALERT]
        return sum(len(line.get_xdata()) for line in marks)

    assert missed(ax) <= 1
    assert missed(other) >= 4


def test_marks_are_filled_where_the_interval_holds_the_diagonal(ax):
    reliability(np.repeat([0, 1, 0, 1], [5, 5, 10, 10]), np.repeat([0.45, 0.99], [10, 20]), n_bins=2, ax=ax)
    drawn = {to_hex(line.get_color()): line for line in ax.lines if line.get_marker() == "o"}
    np.testing.assert_allclose(drawn[ACCENT].get_xydata(), [[0.45, 0.5]])
    np.testing.assert_allclose(drawn[ALERT].get_xydata(), [[0.99, 0.5]])
    assert drawn[ALERT].get_markerfacecolor() == "#ffffff"


def test_of_several_classes_the_likeliest_is_drawn(ax):
    table = [[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.2, 0.15, 0.65], [0.9, 0.05, 0.05]]
    reliability(["a", "c", "c", "a"], Categorical(table, classes=["a", "b", "c"]), n_bins=4, ax=ax)
    np.testing.assert_allclose(groups(ax), [[0.65, 2 / 3], [0.9, 1.0]])
    assert heights(ax) == [0, 0, 3, 1]
    assert ax.get_xlabel() == "probability of the predicted class"


def test_bins_follow_the_number_of_rows(honest):
    y, p = honest
    for rows, bins in ((60, 5), (600, 10), (6000, 20)):
        drawn = reliability(np.resize(y, rows), np.resize(p, rows), ax=Figure().subplots())
        assert len(heights(drawn)) == bins


@pytest.mark.parametrize("probs", [[0.3, 0.3, 0.3], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.5, 0.5]])
@pytest.mark.parametrize("n_bins", [1, 2, 10, "auto"])
def test_equal_predictions_make_one_group(probs, n_bins):
    drawn = reliability([0, 1, 1], probs, n_bins=n_bins, ax=Figure().subplots())
    np.testing.assert_allclose(groups(drawn), [[probs[0], 2 / 3]])
    assert sum(heights(drawn)) == max(heights(drawn)) == 3


def test_one_class_may_be_absent(ax):
    reliability(["no", "no"], [0.1, 0.2], classes=["no", "yes"], n_bins=1, ax=ax)
    np.testing.assert_allclose(groups(ax), [[0.15, 0.0]])


@pytest.mark.parametrize("n_bins", ["many", 0, 2.5])
def test_other_bins_are_refused(ax, n_bins):
    with pytest.raises((ValueError, TypeError), match="n_bins"):
        reliability([0, 1], [0.1, 0.2], n_bins=n_bins, ax=ax)
