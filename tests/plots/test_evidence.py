import math

import numpy as np
import pytest
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

from credo import GPRegressor
from credo.core.linalg import NotPositiveDefiniteError
from credo.kernels import RBF, Periodic
from credo.plots import evidence_surface

LEVELS = [-100.0, -30.0, -10.0, -3.0, -1.0]


class Landscape(BaseEstimator):
    """A model whose log evidence is the higher of two cones in (length scale, noise): a summit and a lower top."""

    SUMMIT, SECOND = np.log([2.0, 0.1]), np.log([0.5, 1.0])

    def __init__(self, drop=4.0, hole=False):
        self.drop, self.hole = drop, hole
        self.n_features_in_ = 1
        self.kernel_, self.noise_variance_ = RBF(2.0), 0.1
        self.theta_ = np.array([math.log(2.0), 0.0, math.log(0.1)])
        self.theta_names_ = ["kernel.lengthscale", "kernel.variance", "noise"]

    def fit(self, X, y):
        return self

    def log_evidence(self, theta, *, gradient=True):
        assert not gradient
        place = np.asarray(theta)[[0, 2]]
        if self.hole and place[0] > math.log(20.0):
            raise NotPositiveDefiniteError("no")
        depths = [8 * np.sum((place - top) ** 2) + lower for top, lower in ((self.SUMMIT, 0), (self.SECOND, self.drop))]
        return 12.5 - min(depths) - theta[1] ** 2


@pytest.fixture
def ax():
    return Figure().subplots()


def lines_of(ax):
    (drawn,) = [part for part in ax.collections if isinstance(part, QuadContourSet) and not part.filled]
    return drawn


def mark(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xydata()


def test_the_contours_are_the_evidence_below_its_maximum(ax):
    model = Landscape()
    evidence_surface(model, n=60, ax=ax)
    drawn = lines_of(ax)
    assert drawn.levels.tolist() == LEVELS
    for level, path in zip(drawn.levels, drawn.get_paths(), strict=True):
        depth = [model.log_evidence([math.log(x), 0.0, math.log(y)], gradient=False) - 12.5 for x, y in path.vertices]
        # Between two grid points, contours follow straight lines.
        np.testing.assert_allclose(np.median(depth), level, rtol=0.03)


def test_both_maxima_are_marked(ax):
    evidence_surface(Landscape(), n=41, ax=ax)
    np.testing.assert_allclose(mark(ax, "fitted"), [[2.0, 0.1]])
    np.testing.assert_allclose(mark(ax, "other maximum"), [[0.5, 1.0]], rtol=0.1)


def test_one_maximum_has_one_mark(ax):
    evidence_surface(Landscape(drop=1000.0), ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["nats below the maximum", "fitted"]


def test_the_axes_are_logarithmic_and_as_wide_as_the_span(ax):
    evidence_surface(Landscape(), n=5, span=10.0, ax=ax)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    np.testing.assert_allclose(ax.get_xlim(), [0.2, 20.0])
    np.testing.assert_allclose(ax.get_ylim(), [0.01, 1.0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length scale", "noise variance")


def test_parameters_are_chosen_by_name(ax):
    evidence_surface(Landscape(), ["noise", "kernel.variance"], n=5, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("noise variance", "variance")
    np.testing.assert_allclose(mark(ax, "fitted"), [[0.1, 1.0]])


def test_where_the_matrix_cannot_be_factored_nothing_is_drawn(ax):
    evidence_surface(Landscape(hole=True), n=30, ax=ax)
    assert max(path.vertices[:, 0].max() for path in lines_of(ax).get_paths() if len(path.vertices)) <= 20.0


@pytest.fixture(scope="module")
def process():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 6, size=(20, 2))
    # A scale of y far from one: standardised units would show.
    y = 50 * np.sin(X[:, 0]) + 10 * rng.normal(size=20)
    return GPRegressor(hyperpriors=False).fit(X, y)


def test_a_process_is_drawn_in_the_units_of_x_and_y(ax, process):
    evidence_surface(process, n=20, span=3.0, ax=ax)
    fitted = [process.kernel_.params["lengthscale"][0], process.noise_variance_]
    np.testing.assert_allclose(mark(ax, "fitted"), [fitted])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length scale of x0", "noise variance")
    drawn = lines_of(ax)
    place = [process.theta_names_.index(name) for name in ("kernel.lengthscale[0]", "noise")]
    for level, path in list(zip(drawn.levels, drawn.get_paths(), strict=True))[-2:]:
        assert len(path.vertices) > 10
        for vertex in path.vertices[::10]:
            theta = process.theta_.copy()
            theta[place] += np.log(vertex / fitted)
            depth = process.log_evidence(theta, gradient=False) - process.log_evidence_
            assert depth == pytest.approx(level, abs=0.1)


def test_a_variance_is_told_in_the_units_of_y(ax, process):
    evidence_surface(process, ["kernel.variance", "kernel.lengthscale[1]"], n=4, ax=ax)
    params = process.kernel_.params
    np.testing.assert_allclose(mark(ax, "fitted"), [[params["variance"], params["lengthscale"][1]]])


def test_parameters_of_a_composed_kernel_are_found_and_named(ax):
    x = np.linspace(0, 6, 15)
    kernel = RBF(1.0) + Periodic(period=2.0).fix("period")
    model = GPRegressor(kernel, hyperparameters="fixed").fit(x[:, None], 20 * np.sin(x) + np.cos(9 * x))
    evidence_surface(model, ["kernel.periodic.variance", "kernel.rbf.lengthscale"], n=4, ax=ax)
    params = model.kernel_.params
    np.testing.assert_allclose(mark(ax, "fitted"), [[params["periodic.variance"], params["rbf.lengthscale"]]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("periodic: variance", "rbf: length scale")


def test_a_kernel_that_gains_a_factor_keeps_its_parameters(ax):
    x = np.linspace(0, 3, 8)
    model = GPRegressor(RBF(0.7, variance=0.5).exp(), hyperparameters="fixed").fit(x[:, None], 20 * np.sin(x))
    evidence_surface(model, ["kernel.variance", "noise"], n=4, ax=ax)
    (variance,) = [value for path, value in model.kernel_.params.items() if path.endswith("variance")]
    np.testing.assert_allclose(mark(ax, "fitted"), [[variance, model.noise_variance_]])


def test_several_outputs_are_told_in_standardised_units(ax):
    x = np.linspace(0, 6, 12)
    y = np.column_stack([100 * np.sin(x), np.cos(x)])
    model = GPRegressor(RBF(1.0), hyperparameters="fixed").fit(x[:, None], y)
    evidence_surface(model, n=4, ax=ax)
    np.testing.assert_allclose(mark(ax, "fitted"), [np.exp(model.theta_[[0, 2]])])
    assert ax.get_ylabel() == "noise variance (y standardized)"


def test_varying_noise_is_drawn_by_its_level(ax):
    x = np.linspace(0, 6, 12)
    model = GPRegressor(RBF(1.0), noise="heteroscedastic", hyperparameters="fixed").fit(x[:, None], 30 * np.sin(x))
    evidence_surface(model, n=4, ax=ax)
    level = math.exp(model.theta_[model.theta_names_.index("noise.level")])
    np.testing.assert_allclose(mark(ax, "fitted"), [[1.0, level * (30 * np.sin(x)).var()]])


@pytest.mark.parametrize("wrong", [["noise"], ["noise", "noise"], ["noise", "nose"], "noise"])
def test_wrong_parameters_are_refused_with_the_right_ones(ax, wrong):
    with pytest.raises(
        ValueError, match=r"two different names out of kernel\.lengthscale, kernel\.variance, noise; got"
    ):
        evidence_surface(Landscape(), wrong, ax=ax)


@pytest.mark.parametrize("wrong", [1.0, 0.1, np.inf])
def test_wrong_spans_are_refused(ax, wrong):
    with pytest.raises(ValueError, match="span must be a factor above 1, as in 30"):
        evidence_surface(Landscape(), span=wrong, ax=ax)


def test_too_small_a_grid_and_too_few_parameters_are_refused(ax):
    with pytest.raises(ValueError, match=r"n must be at least 3.*got 2"):
        evidence_surface(Landscape(), n=2, ax=ax)
    model = GPRegressor(RBF(1.0).fix("variance", "lengthscale")).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=r"two free hyperparameters or more.*this GPRegressor has noise"):
        evidence_surface(model, ax=ax)


def bumps(*centers, size=41):
    x = np.linspace(-3, 3, size)
    return sum(h * np.exp(-2 * ((x[:, None] - a) ** 2 + (x - b) ** 2)) for a, b, h in centers)
