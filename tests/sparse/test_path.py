"""The path: the same weights as single fits, scikit-learn's grid, gaps that are met."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model as sk

from credo.core.estimator import ConvergenceWarning
from credo.linear import LinearRegression, Ridge
from credo.sparse import ElasticNet, Lasso, lasso_path


def table(n=60, p=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    X[rng.random(X.shape) < 0.3] = 0.0
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + 3 + 0.5 * rng.normal(size=n)


def gaps(X, y, path):
    """Duality gaps of (1/2n)‖y − Xw‖² + α‖w‖₁ for centred rows, relative to ‖y‖²/n, by their definition."""
    X, y = X - X.mean(axis=0), y - y.mean()
    found = []
    for alpha, w in zip(path.alphas, path.coefs.T, strict=True):
        rest, l1 = y - X @ w, alpha * len(y)
        theta = rest * min(1.0, l1 / np.abs(X.T @ rest).max())
        primal, dual = 0.5 * rest @ rest + l1 * np.abs(w).sum(), 0.5 * y @ y - 0.5 * np.sum((y - theta) ** 2)
        found.append((primal - dual) / (y @ y))
    return np.array(found)


SHAPES = [(60, 20), (40, 200), (300, 40)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
def test_every_gap_is_met_and_told(shape, kind, tol):
    X, y = table(*shape)
    path = lasso_path(kind(X), y, n_alphas=30, tol=tol)
    assert path.coefs.shape == (shape[1], 30) and path.alphas.shape == path.dual_gaps.shape == (30,)
    true = gaps(X, y, path)
    assert (true <= tol * (1 + 1e-6)).all()
    yy = np.sum((y - y.mean()) ** 2) / len(y)
    np.testing.assert_allclose(path.dual_gaps / yy, true, rtol=1e-4, atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
def test_the_path_is_single_fits(shape, l1_ratio):
    X, y = table(*shape)
    weight = np.resize([1.0, 2.0, 0.5, 0.0], len(y))
    alphas, coefs, _ = lasso_path(X, y, n_alphas=12, tol=1e-14, l1_ratio=l1_ratio, sample_weight=weight)
    for alpha, w in zip(alphas[1::3], coefs.T[1::3], strict=True):
        single = Lasso(alpha=alpha) if l1_ratio == 1 else ElasticNet(alpha=alpha, l1_ratio=l1_ratio)
        np.testing.assert_allclose(w, single.fit(X, y, sample_weight=weight).coef_, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_scikit_learn(shape):
    X, y = table(*shape)
    ours = lasso_path(X, y, n_alphas=15, tol=1e-14)
    alphas, coefs, _ = sk.lasso_path(X - X.mean(axis=0), y - y.mean(), alphas=15, tol=1e-14, max_iter=10**6)
    np.testing.assert_allclose(ours.alphas, alphas, rtol=1e-10)
    np.testing.assert_allclose(ours.coefs, coefs, atol=1e-6)
    plain = lasso_path(X, y, alphas=[0.3, 0.1], fit_intercept=False, tol=1e-14)
    _, coefs, _ = sk.lasso_path(X, y, alphas=[0.3, 0.1], tol=1e-14, max_iter=10**6)
    np.testing.assert_allclose(plain.coefs, coefs, atol=1e-6)


def test_it_begins_with_nothing_and_grows():
    X, y = table()
    path = lasso_path(X, y, eps=1e-2)
    assert not path.coefs[:, 0].any() and path.coefs[:, 5].any()
    assert path.alphas[-1] == pytest.approx(1e-2 * path.alphas[0])
    # The residual sum of squares can only fall along the path, and ‖w‖₁ only grow.
    exact = lasso_path(X, y, n_alphas=30, tol=1e-12)
    assert (np.diff(np.abs(exact.coefs).sum(axis=0)) >= -1e-6).all()


def test_given_alphas_come_largest_first():
    X, y = table()
    np.testing.assert_array_equal(lasso_path(X, y, alphas=[0.1, 0.5, 0.2]).alphas, [0.5, 0.2, 0.1])


def test_a_constant_target_has_no_weights():
    X, _ = table()
    path = lasso_path(X, np.full(60, 7.0), n_alphas=5)
    assert not path.coefs.any() and not path.dual_gaps.any()


def test_a_gap_that_is_not_met_is_said():
    X, y = table(40, 200)
    with pytest.warns(ConvergenceWarning, match=r"\d+ of 10 fits did not converge .* above tol=1e-10"):
        lasso_path(X, y, n_alphas=10, tol=1e-10, max_iter=1)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_frame_gives_its_names(kind):
    frames = pytest.importorskip(kind)
    X, y = table(p=3)
    frame = frames.DataFrame(dict(zip(["rain", "wind", "sun"], X.T, strict=True)))
    assert lasso_path(frame, y).names == ["rain", "wind", "sun"]
    assert lasso_path(X, y).names == ["x0", "x1", "x2"]


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_names_can_be_given(kind):
    X, y = table(p=3)
    assert lasso_path(kind(X), y, names=("rain", "wind", "sun")).names == ["rain", "wind", "sun"]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert lasso_path(frame, y, names=frame.columns[::-1]).names == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["rain", "wind"], "names has 2 entries, but X has 3 columns"),
        (["rain", "wind", "rain"], "names must be different, but 'rain'"),
        ("abc", "names must be a sequence of 3 names"),
    ],
)
def test_bad_names_are_refused_in_words(names, message):
    with pytest.raises(ValueError, match=message):
        lasso_path(*table(p=3), names=names)


def test_it_prints_in_a_line():
    X, y = table()
    path = lasso_path(X, y, alphas=[0.5, 0.25, 0.125])
    used = len(set(np.nonzero(path.coefs)[0]))
    gap = f"{path.dual_gaps.max():.2g}"
    told = f"LassoPath(3 alphas from 0.5 to 0.125; 20 columns, {used} nonzero; largest dual gap {gap})"
    assert str(path) == repr(path) == told
    assert str(lasso_path(X[:, :1], y, alphas=[100.0])).startswith("LassoPath(alpha 100; 1 column, 0 nonzero;")


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_intercepts_and_predictions_are_those_of_single_fits(fit_intercept, kind):
    X, y = table()
    path = lasso_path(kind(X), y, alphas=[0.5, 0.05], tol=1e-14, fit_intercept=fit_intercept)
    for k, alpha in enumerate(path.alphas):
        single = Lasso(alpha=alpha, fit_intercept=fit_intercept, tol=1e-14).fit(X, y)
        assert path.intercepts[k] == pytest.approx(single.intercept_, abs=1e-6)
        np.testing.assert_allclose(path.predict(kind(X))[:, k], single.predict(X), atol=1e-5)
    with pytest.raises(ValueError, match="X has 3 columns, but the path was fitted with 20"):
        path.predict(X[:, :3])


def test_a_path_is_a_tuple_of_three():
    X, y = table()
    path = lasso_path(X, y, n_alphas=3)
    alphas, coefs, dual_gaps = path
    assert alphas is path.alphas and coefs is path.coefs and dual_gaps is path.dual_gaps and len(path) == 3


def test_one_alpha_one_row_and_columns_of_zeros():
    X, y = table()
    path = lasso_path(X, y, n_alphas=1)
    assert not path.coefs.any() and path.intercepts[0] == pytest.approx(y.mean())
    single = lasso_path(X[:1], y[:1], n_alphas=2)
    assert not single.coefs.any() and single.intercepts == pytest.approx([y[0], y[0]])
    weight = np.where(np.arange(60) == 5, 2.0, 0.0)
    assert lasso_path(X, y, n_alphas=2, sample_weight=weight).intercepts == pytest.approx([y[5], y[5]])
    for kind in (np.array, sparse.csr_array):
        assert not lasso_path(kind(np.zeros((60, 3))), y, n_alphas=2).coefs.any()


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
@pytest.mark.parametrize("scale", [1e-65, 1e65])
def test_the_largest_and_smallest_numbers_that_are_accepted(kind, scale):
    X, y = table()
    plain = lasso_path(X, y, n_alphas=5, tol=1e-12).coefs
    for of_X, of_y in [(scale, 1.0), (1.0, scale), (1 / scale, scale)]:
        path = lasso_path(kind(X * of_X), y * of_y, n_alphas=5, tol=1e-12)
        np.testing.assert_allclose(path.coefs / of_y * of_X, plain, atol=1e-6)


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_numbers_of_extreme_size_are_refused(kind, scale):
    X, y = table()
    far = X.copy()
    far[:, 2] *= scale
    with pytest.raises(ValueError, match=r"in column 2 of X is .*e.150, .* divide it by its standard"):
        lasso_path(kind(far), y)
    with pytest.raises(ValueError, match=r"largest absolute value in y is .* change the unit of y"):
        lasso_path(kind(X), y * scale)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alphas": [0.1, -0.1]}, "alphas must be one or more finite numbers, not negative"),
        ({"alphas": []}, "alphas must be one or more finite numbers, not negative"),
        ({"alphas": [np.nan, 1.0]}, "alphas must be one or more finite numbers, not negative"),
        ({"alphas": ["x"]}, "alphas must be one or more finite numbers, not negative"),
        ({"eps": 1.0}, "eps must lie between 0 and 1"),
        ({"n_alphas": 0}, "n_alphas must be a whole number"),
        ({"tol": -1.0}, "tol must be a positive finite number"),
        ({"l1_ratio": 0.0}, "l1_ratio=0 has no default alphas.*pass alphas"),
        ({"sample_weight": np.zeros(60)}, "at least one non-zero number"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        lasso_path(*table(), **options)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[0.0], [np.nan]], [0.0, 1.0], "lasso_path does not accept missing values"),
        (np.empty((0, 1)), [], "required by lasso_path"),
        ([[0.0], [1.0]], None, "lasso_path"),
    ],
)
def test_what_is_refused_is_refused_in_the_name_of_the_function(X, y, words):
    with pytest.raises(ValueError, match=words) as refused:
        lasso_path(X, y)
    assert "ElasticNet" not in str(refused.value)


def test_the_ends_of_a_path_are_least_squares_and_ridge():
    X, y = table()
    path = lasso_path(X, y, alphas=[0.1, 0.0], tol=1e-12)
    np.testing.assert_allclose(path.coefs[:, 1], LinearRegression().fit(X, y).coef_, rtol=1e-8)
    path = lasso_path(X, y, alphas=[1.0, 0.1], l1_ratio=0.0)
    for alpha, coef in zip(path.alphas, path.coefs.T, strict=True):
        np.testing.assert_allclose(coef, Ridge(alpha * len(y)).fit(X, y).coef_, rtol=1e-8)
