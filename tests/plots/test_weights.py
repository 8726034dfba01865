import numpy as np
import pandas as pd
import pytest
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from scipy.special import log_expit
from scipy.stats import chi2, multivariate_normal, multivariate_t

from credo import BayesianLinearRegression, Ridge
from credo.linear.bayes_logistic import BayesianLogisticRegression
from credo.plots import weight_posterior
from credo.plots._evidence import ellipse

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) @ np.array([[1.0, 0.7, 0.0], [0.0, 0.7, 0.0], [0.0, 0.0, 1.0]])
Y = (X @ [1.0, -0.5, 0.2] + RNG.logistic(size=40) > 0).astype(int)


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def model():
    return BayesianLogisticRegression(0.5).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)


def rings(ax):
    return [line.get_xydata() for line in ax.lines if len(line.get_xdata()) > 100]


def test_the_ellipses_are_the_laws_contours(ax, model):
    weight_posterior(model, ("c", "a"), ax=ax)
    chosen = [2, 0]
    mode, cov = model.coef_[0, chosen], model.coef_cov_[np.ix_(chosen, chosen)]
    assert len(rings(ax)) == 2
    for ring, level in zip(rings(ax), (0.5, 0.9), strict=True):
        away = ring - mode
        square = np.einsum("ni,ij,nj->n", away, np.linalg.inv(cov), away)
        np.testing.assert_allclose(square, chi2.ppf(level, 2))
    (mark,) = [line for line in ax.lines if line.get_label() == "mode"]
    np.testing.assert_allclose(mark.get_xydata(), [mode])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("weight of c", "weight of a")


@pytest.mark.parametrize("df", [np.inf, 5.0])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_an_ellipse_holds_its_share_of_draws(df, level):
    mode, scale = np.array([1.0, -2.0]), np.array([[2.0, 0.9], [0.9, 0.7]])
    if np.isinf(df):
        draws, cov = multivariate_normal(mode, scale, seed=1).rvs(20000), scale
    else:
        draws, cov = multivariate_t(mode, scale, df=df, seed=1).rvs(20000), scale * df / (df - 2)
    ring = ellipse(mode, cov, level, df=df)
    radius = (ring.T - mode)[0] @ np.linalg.solve(scale, (ring.T - mode)[0])
    inside = np.einsum("ni,ij,nj->n", draws - mode, np.linalg.inv(scale), draws - mode) <= radius
    assert inside.mean() == pytest.approx(level, abs=0.012)


def test_a_conjugate_model_has_a_students_ellipses(ax):
    model = BayesianLinearRegression(1.0, noise_precision="conjugate").fit(X[:8], X[:8] @ [1.0, 2.0, 3.0] + Y[:8])
    weight_posterior(model, levels=[0.9], ax=ax)
    df, scale = model.posterior_.df, model.coef_cov_[:2, :2] * (1 - 2 / model.posterior_.df)
    law = multivariate_t(model.coef_[:2], scale, df=df)
    heights = law.logpdf(rings(ax)[0])
    np.testing.assert_allclose(heights, heights[0])
    draws = law.rvs(20000, random_state=0)
    assert (law.logpdf(draws) >= heights[0]).mean() == pytest.approx(0.9, abs=0.01)


def test_zero_is_left_out_where_the_ellipse_would_vanish(ax):
    y = X @ [100.0, 0.0, 0.0] + 0.1 * RNG.normal(size=40)
    weight_posterior(BayesianLinearRegression().fit(X, y), ax=ax)
    assert ax.get_xlim()[0] > 90
    assert ax.get_ylim()[0] < 0 < ax.get_ylim()[1]


def test_the_exact_posterior_lies_at_the_same_depths(ax):
    signs = 2 * Y[:14] - 1
    rows = X[:14, :2]

    def log_posterior(w):
        return log_expit(signs * (w @ rows.T)).sum(axis=1) - 0.1 * (w**2).sum(axis=1)

    model = BayesianLogisticRegression(0.2, fit_intercept=False).fit(rows, Y[:14])
    weight_posterior(model, log_posterior=log_posterior, ax=ax)
    (drawn,) = [part for part in ax.collections if isinstance(part, QuadContourSet)]
    np.testing.assert_allclose(drawn.levels, np.log([0.1, 0.5]))
    top = log_posterior(model.coef_)[0]
    for level, path in zip(drawn.levels, drawn.get_paths(), strict=True):
        np.testing.assert_allclose(log_posterior(path.vertices) - top, level, atol=0.02)
        # Closed, inside the axes.
        assert ax.get_xlim()[0] < path.vertices[:, 0].min() and path.vertices[:, 0].max() < ax.get_xlim()[1]
        assert ax.get_ylim()[0] < path.vertices[:, 1].min() and path.vertices[:, 1].max() < ax.get_ylim()[1]


def test_weights_of_several_classes_are_named_by_both(ax):
    model = BayesianLogisticRegression().fit(X, np.array(["u", "v", "w"])[np.arange(40) % 3])
    weight_posterior(model, (1, 5), ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("weight of u: x1", "weight of v: x2")
    (mark,) = [line for line in ax.lines if line.get_label() == "mode"]
    np.testing.assert_allclose(mark.get_xydata(), [[model.coef_[0, 1], model.coef_[1, 2]]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair": (0, 3)}, "the model has no weight 3; it has 3: a, b, c"),
        ({"pair": ("a", 0)}, "pair must be two different weights"),
        ({"pair": (0, 1, 2)}, "pair must be two weights, by name or index"),
        ({"levels": ()}, "nothing to draw: levels is empty"),
        ({"levels": (50,)}, "level"),
        ({"names": ["a"]}, "names must name the two weights"),
        ({"log_posterior": lambda w: 0.0}, r"one value for each of the \d+ weights of shape \(n, 2\)"),
    ],
)
def test_other_arguments_are_refused(ax, model, options, message):
    with pytest.raises(ValueError, match=message):
        weight_posterior(model, ax=ax, **options)


def test_a_model_without_a_posterior_is_refused(ax):
    with pytest.raises(TypeError, match="needs coef_ and coef_cov_, as BayesianLogisticRegression has them; a Ridge"):
        weight_posterior(Ridge().fit(X, Y), ax=ax)
