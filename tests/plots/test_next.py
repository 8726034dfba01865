import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure

from credo import GPRegressor, LinearRegression
from credo.gp.acquisition import expected_improvement
from credo.kernels import RBF
from credo.plots import next_points

POOL = np.linspace(0, 10, 51)[:, None]


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def line():
    x = np.array([0.0, 1.0, 2.0, 3.0, 7.0, 9.5])
    return GPRegressor(RBF(1.5), noise=0.01, hyperparameters="fixed").fit(x[:, None], np.sin(x))


@pytest.fixture(scope="module")
def plane():
    X = pd.DataFrame(np.random.default_rng(0).uniform(size=(12, 2)), columns=["acid", "heat"])
    return GPRegressor(RBF([0.4, 0.6]), noise=0.01, hyperparameters="fixed").fit(X, X["acid"] ** 2 - X["heat"])


def marks(axes):
    (found,) = [part for part in axes.lines if part.get_marker() == "D"]
    return found.get_xydata()


def curve(strip):
    (found,) = [part for part in strip.lines if part.get_marker() != "D"]
    return found.get_xydata()


def test_the_strip_is_the_standard_deviation_of_f(ax, line):
    next_points(line, POOL, n=3, ax=ax)
    strip = ax.child_axes[0]
    x, sd = curve(strip).T
    np.testing.assert_allclose(sd, line.predict_dist(x[:, None], latent=True).std)
    assert (strip.get_ylabel(), ax.get_ylabel()) == ("sd of f", "y")
    assert strip.get_xlim() == ax.get_xlim() == (0.0, 10.0)


def test_the_suggested_points_are_the_models_in_their_order(ax, line):
    next_points(line, POOL, n=3, ax=ax)
    chosen = POOL[line.suggest(POOL, 3), 0]
    found = marks(ax.child_axes[0])
    np.testing.assert_allclose(found[:, 0], chosen)
    np.testing.assert_allclose(found[:, 1], line.predict_dist(chosen[:, None], latent=True).std)
    assert [(text.get_text(), text.xy[0]) for text in ax.texts] == [(str(i + 1), chosen[i]) for i in range(3)]
    upright = [part.get_xdata()[0] for part in ax.lines if len(part.get_xdata()) == 2 and np.ptp(part.get_xdata()) == 0]
    assert sorted(upright) == sorted(chosen)


def test_observations_are_shown_above_the_strip(ax, line):
    next_points(line, POOL, ax=ax)
    (data,) = [part for part in ax.lines if part.get_label() == "data"]
    assert sorted(data.get_xdata()) == sorted(line.X_train_[:, 0])
    strip_height = ax.child_axes[0].get_position().height / ax.get_position().height
    bottom, top = ax.get_ylim()
    heights = (data.get_ydata() - bottom) / (top - bottom)
    assert heights.min() > 0.3 > strip_height
    assert heights.max() < 1
    assert min(ax.get_yticks()) >= bottom + 0.3 * (top - bottom)


def test_improvement_is_drawn_and_its_largest_is_suggested(ax, line):
    next_points(line, POOL, criterion="improvement", name="cost", ax=ax)
    strip = ax.child_axes[0]
    x, score = curve(strip).T
    np.testing.assert_allclose(score, expected_improvement(line, x[:, None]))
    values = expected_improvement(line, POOL)
    np.testing.assert_allclose(marks(strip), [[POOL[np.argmax(values), 0], values.max()]])
    (best,) = [part for part in ax.lines if part.get_label() == "best so far"]
    assert best.get_ydata()[0] == pytest.approx(line.predict(line.X_train_).min())
    assert (strip.get_ylabel(), ax.get_ylabel()) == ("expected\nimprovement", "cost")


@pytest.mark.parametrize("criterion", ["variance", "improvement"])
def test_the_map_is_the_criterion_over_both_columns(ax, plane, criterion):
    pool = pd.DataFrame(np.random.default_rng(1).uniform(-0.2, 1.2, size=(80, 2)), columns=["acid", "heat"])
    n = 3 if criterion == "variance" else 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next_points(plane, pool, n=n, criterion=criterion, ax=ax)
    (drawn,) = [part for part in ax.collections if isinstance(part, QuadContourSet)]

    def score(rows):
        if criterion == "improvement":
            return expected_improvement(plane, rows)
        return plane.predict_dist(rows, latent=True).std

    mesh = pd.DataFrame(np.random.default_rng(2).uniform(0, 1, size=(200, 2)), columns=["acid", "heat"])
    truth = score(mesh)
    shade = np.searchsorted(drawn.levels, truth) - 1
    # Each point lies in the shade between the levels around its value, but for those next to an edge.
    clear = np.abs(truth[:, None] - drawn.levels).min(axis=1) > 0.05 * np.diff(drawn.levels)[0]
    assert clear.sum() > 40
    for point, index in zip(mesh.to_numpy()[clear], shade[clear], strict=True):
        assert inside(drawn.get_paths()[index], point)
    np.testing.assert_allclose(
        marks(ax), pool.to_numpy()[plane.suggest(pool, 3) if n == 3 else [np.argmax(score(pool))]]
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("acid", "heat")


def inside(path, point):
    """Whether a point is inside a region with holes: its rings around the point are odd in number."""
    starts = [*np.flatnonzero(path.codes == path.MOVETO), len(path.codes)]
    rings = [path.vertices[a:b] for a, b in pairwise(starts)]
    return sum(type(path)(ring).contains_point(point) for ring in rings) % 2 == 1


def test_points_come_from_the_pool_and_the_map_ends_with_it(ax, plane):
    pool = np.array([[0.0, 0.0], [2.0, 3.0]])
    next_points(plane, pd.DataFrame(pool, columns=["acid", "heat"]), ax=ax)
    np.testing.assert_allclose(marks(ax), [[2.0, 3.0]])
    assert ax.get_xlim()[1] == 2.0
    assert ax.get_ylim()[1] == 3.0


def test_what_cannot_be_drawn_is_refused_in_words(ax, line):
    wide = GPRegressor(RBF(), noise=0.1, hyperparameters="fixed").fit(np.eye(3), [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"models of one or two columns; this one has 3\. model\.suggest\(X_pool, n\)"):
        next_points(wide, np.eye(3), ax=ax)
    with pytest.raises(ValueError, match=r"the model's 1 columns; got shape \(4, 2\)"):
        next_points(line, np.zeros((4, 2)), ax=ax)
    with pytest.raises(ValueError, match="criterion must be one of 'variance', 'improvement'; got 'luck'"):
        next_points(line, POOL, criterion="luck", ax=ax)
    with pytest.raises(ValueError, match=r"expected improvement suggests one point at a time.*got n=2"):
        next_points(line, POOL, n=2, criterion="improvement", ax=ax)
    with pytest.raises(ValueError, match="n is 60, but the pool has only 51 rows"):
        next_points(line, POOL, n=60, ax=ax)
    with pytest.raises(TypeError, match="a model that suggests points, as GPRegressor does"):
        next_points(LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0]), POOL, ax=ax)
