"""Lasso and elastic net: optimality, gaps, other routes to the same weights, and bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as sk

from credo.core.estimator import ConvergenceWarning
from credo.core.notices import collected
from credo.linear import LinearRegression, Ridge
from credo.sparse import ElasticNet, Lasso, LassoCV


def table(n=60, p=20, seed=0, n_signals=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)) / np.sqrt(p)) + rng.normal(size=p)
    w = np.zeros(p)
    w[:n_signals] = [2.0, -1.5, 1.0, -0.5][:n_signals]
    return X, X @ w + 3 + 0.5 * rng.normal(size=n)


def objective(model, X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    ratio = getattr(model, "l1_ratio", 1.0)
    w, rest = model.coef_, y - X @ model.coef_ - model.intercept_
    penalty = model.alpha * (ratio * np.abs(w).sum() + 0.5 * (1 - ratio) * w @ w)
    return 0.5 * weight @ rest**2 / weight.sum() + penalty


def assert_optimal(model, X, y, weight=None, tol=1e-4):
    """Subgradient conditions: the slope is α ρ sign(w) where w isn't zero, else at most α ρ; residuals sum to 0."""
    weight = np.ones(len(y)) if weight is None else weight
    ratio, w = getattr(model, "l1_ratio", 1.0), model.coef_
    rest = weight * (y - X @ w - model.intercept_) / weight.sum()
    slope = (X - np.average(X, axis=0, weights=weight)).T @ rest - model.alpha * (1 - ratio) * w
    l1, active = model.alpha * ratio, w != 0
    size = np.sqrt(np.average(np.square(X - np.average(X, axis=0, weights=weight)), axis=0, weights=weight))
    scale = tol * (1e-300 + size) * np.std(y)
    assert (np.abs(slope) <= l1 + scale).all()
    assert (np.abs(slope - l1 * np.sign(w))[active] <= scale[active]).all()
    if model.fit_intercept:
        assert abs(rest.sum()) < 1e-10 * np.abs(y).max()


MODELS = [
    Lasso(alpha=0.1),
    Lasso(alpha=0.01),
    Lasso(alpha=0.1, fit_intercept=False),
    ElasticNet(alpha=0.1, l1_ratio=0.5),
    ElasticNet(alpha=0.3, l1_ratio=0.05),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)
SHAPES = {"tall": (60, 20), "wide": (40, 300), "few rows": (3, 5), "one column": (30, 1), "large": (500, 250)}


@each
@pytest.mark.parametrize(
    ("shape", "kind"),
    [*((shape, np.array) for shape in SHAPES), ("tall", sparse.csr_matrix), ("wide", sparse.csc_array)],
)
def test_the_weights_are_optimal_and_the_gap_is_met(model, shape, kind):
    shape = SHAPES[shape]
    X, y = table(*shape, n_signals=min(4, shape[1]))
    center = bool(model.fit_intercept)
    model.fit(kind(X), y)
    if center:
        assert_optimal(model, X, y)
    assert model.result_.converged and 0 <= model.dual_gap_ <= 1e-8 * np.sum((y - center * y.mean()) ** 2) / len(y)


@each
@pytest.mark.parametrize("shape", [(60, 20), (40, 300)])
def test_equals_scikit_learn(model, shape):
    X, y = table(*shape)
    options = {"alpha": model.alpha, "fit_intercept": model.fit_intercept, "tol": 1e-14, "max_iter": 10**6}
    ratio = getattr(model, "l1_ratio", 1.0)
    other = sk.ElasticNet(l1_ratio=ratio, **options).fit(X, y)
    model = type(model)(**{**model.get_params(), "tol": 1e-14}).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(other.intercept_, abs=1e-6)


@each
@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
def test_weights_are_copies(model, kind):
    X, y = table(40, 60)
    weight = np.resize([1, 3, 2, 0, 1], 40)
    weighted = type(model)(**model.get_params()).fit(kind(X), y, sample_weight=weight)
    repeated = type(model)(**model.get_params()).fit(kind(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-7)
    assert weighted.noise_std_ == pytest.approx(repeated.noise_std_, rel=1e-7)
    if model.fit_intercept:
        assert_optimal(weighted, X, y, weight.astype(float))


@each
def test_sparse_equals_dense(model):
    X, y = table(50, 30)
    X[np.abs(X) < 0.8] = 0.0
    model = type(model)(**{**model.get_params(), "tol": 1e-13})
    dense = model.fit(X, y).coef_
    np.testing.assert_allclose(model.fit(sparse.csc_array(X), y).coef_, dense, atol=1e-6)
    many = np.tile(X, (40, 1))
    # Many rows: the sparse table goes through a Gram matrix as well.
    np.testing.assert_allclose(model.fit(sparse.csr_array(many), np.tile(y, 40)).coef_, dense, atol=1e-6)


@each
@pytest.mark.parametrize("shape", [(60, 20), (40, 300)])
def test_the_gap_bounds_the_distance_from_the_optimum(model, shape):
    X, y = table(*shape)
    params = model.get_params()
    best = objective(type(model)(**{**params, "tol": 1e-14}).fit(X, y), X, y)
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        rough = type(model)(**{**params, "tol": tol}).fit(X, y)
        assert -1e-12 <= objective(rough, X, y) - best <= rough.dual_gap_ + 1e-12


def test_the_gap_is_that_of_the_shrunken_residual():
    X, y = table()
    X = np.hstack([X, X])
    ours = Lasso(alpha=0.05, tol=1e-2).fit(X, y)
    w, yc, Xc = ours.coef_, y - y.mean(), X - X.mean(axis=0)
    rest = yc - Xc @ w
    share = min(1.0, 0.05 * 60 / np.abs(Xc.T @ rest).max())
    plain = 0.5 * (1 + share**2) * rest @ rest + 0.05 * 60 * np.abs(w).sum() - share * rest @ yc
    assert ours.dual_gap_ == pytest.approx(plain / 60, rel=1e-6)


def test_an_orthogonal_design_has_soft_thresholds():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 6)))[0] * np.sqrt(30)
    y = Q @ [3.0, -2.0, 0.5, 0.05, 0.0, -0.2]
    model = Lasso(alpha=0.3, fit_intercept=False).fit(Q, y)
    np.testing.assert_allclose(model.coef_, [2.7, -1.7, 0.2, 0.0, 0.0, 0.0], atol=1e-4)


# Stamey et al. (1989), as the eight columns of ten men: lcavol, lweight, age, lbph, svi, lcp, gleason, pgg45; lpsa.
PROSTATE = np.array(
    [
        [-0.5798, 2.7695, 50, -1.3863, 0, -1.3863, 6, 0, -0.4308],
        [-0.9943, 3.3196, 58, -1.3863, 0, -1.3863, 6, 0, -0.1625],
        [-0.5108, 2.6912, 74, -1.3863, 0, -1.3863, 7, 20, -0.1625],
        [-1.2040, 3.2828, 58, -1.3863, 0, -1.3863, 6, 0, -0.1625],
        [0.7514, 3.4324, 62, -1.3863, 0, -1.3863, 6, 0, 0.3716],
        [-1.0498, 3.2288, 50, -1.3863, 0, -1.3863, 6, 0, 0.7655],
        [0.7372, 3.4735, 64, 0.6152, 0, -1.3863, 6, 0, 0.7655],
        [0.6931, 3.5395, 58, 1.5369, 0, -1.3863, 6, 0, 0.8544],
        [-0.7765, 3.5395, 47, -1.3863, 0, -1.3863, 6, 0, 1.0473],
        [0.2231, 3.2445, 63, -1.3863, 0, -1.3863, 6, 0, 1.0473],
    ]
)


def test_a_small_table_with_constant_columns():
    X, y = PROSTATE[:, :-1], PROSTATE[:, -1]
    model = Lasso(alpha=0.05, tol=1e-12).fit(X, y)
    assert_optimal(model, X, y)
    assert model.coef_[4] == 0 and model.coef_[5] == 0, "svi and lcp are constant among these men"
    other = sk.Lasso(alpha=0.05, tol=1e-14, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-6)


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
def test_constant_columns_have_no_weight(kind):
    X, y = table()
    X[:, 3], X[:, 4], X[:, 5] = 1e8, 0.1, 0.0
    model = Lasso(alpha=0.01).fit(kind(X), y)
    assert (model.coef_[3:6] == 0).all()
    without = Lasso(alpha=0.01).fit(np.delete(X, [3, 4, 5], axis=1), y)
    np.testing.assert_allclose(np.delete(model.coef_, [3, 4, 5]), without.coef_, atol=1e-5)


def test_duplicated_columns_have_the_weight_of_one():
    X, y = table()
    once, twice = Lasso(alpha=0.1).fit(X, y), Lasso(alpha=0.1).fit(np.hstack([X, X]), y)
    np.testing.assert_allclose(twice.coef_[:20] + twice.coef_[20:], once.coef_, atol=1e-4)
    shared = ElasticNet(alpha=0.1, tol=1e-12).fit(np.hstack([X, X]), y).coef_
    np.testing.assert_allclose(shared[:20], shared[20:], atol=1e-5)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_columns_and_target(scale):
    X, y = table()
    plain = Lasso(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(Lasso(alpha=0.1 * scale).fit(X, y * scale).coef_, plain.coef_ * scale, rtol=1e-6)
    np.testing.assert_allclose(Lasso(alpha=0.1 * scale).fit(X * scale, y).coef_, plain.coef_ / scale, rtol=1e-6)
    one = X.copy()
    one[:, 2] *= scale
    assert Lasso(alpha=0.1).fit(one, y).result_.converged


def test_means_far_from_zero_cost_no_weights():
    X, y = table(200, 30)
    plain = Lasso(alpha=0.05).fit(X, y)
    moved = Lasso(alpha=0.05).fit(X + 1e6, y + 1e6)
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-6)


def test_everything_is_zero_from_alpha_max_on():
    X, y = table()
    largest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    for alpha in (largest * (1 + 1e-9), 10 * largest):
        model = Lasso(alpha=alpha).fit(X, y)
        assert not model.coef_.any() and model.intercept_ == pytest.approx(y.mean()) and model.selected_ == []
    assert Lasso(alpha=0.999 * largest).fit(X, y).coef_.any()


def test_a_warm_start_saves_passes():
    X, y = table(100, 200)
    model = Lasso(alpha=0.05, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert cold > 0 and model.fit(X, y).n_iter_ == 0
    assert model.set_params(alpha=0.049).fit(X, y).n_iter_ < cold
    assert model.fit(X[:, :7], y).coef_.shape == (7,)


def test_names_and_summary():
    pd = pytest.importorskip("pandas")
    X, y = table(100, 40)
    names = [f"gene {j}" for j in range(40)]
    model = Lasso(alpha=0.3).fit(pd.DataFrame(X, columns=names), y)
    assert model.selected_ == [names[j] for j in np.flatnonzero(model.coef_)]
    parameters = model.summary().columns["parameter"]
    assert parameters[0] == "intercept" and set(parameters[1:]) == set(model.selected_)
    assert f"{len(model.selected_)} of 40 columns" in str(model.summary())


def test_predictions_are_normal_with_the_noise_of_the_residuals():
    X, y = table(2000, 5)
    model = Lasso(alpha=0.001).fit(X, y)
    dist = model.predict_dist(X)
    assert model.noise_std_ == pytest.approx(0.5, rel=0.05)
    np.testing.assert_allclose(dist.std, model.noise_std_)
    lower, upper = dist.interval(0.9)
    assert ((lower < y) & (y < upper)).mean() == pytest.approx(0.9, abs=0.02)
    with pytest.raises(ValueError, match=r"latent=True is not available: use SpikeSlabRegressor"):
        model.predict_dist(X, latent=True)
    tight = Lasso(alpha=1e-6).fit(X[:5], y[:5])
    with pytest.raises(ValueError, match=r"leave no degrees of freedom .* a larger alpha"):
        tight.predict_dist(X)


def test_a_gap_that_is_not_met_is_said():
    X, y = table(40, 300)
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 2 iterations .* increase max_iter or tol"):
        model = Lasso(alpha=0.001, max_iter=2).fit(X, y)
    assert not model.result_.converged and model.dual_gap_ > 1e-8


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Lasso(alpha=-1.0), "alpha must be a finite number that is not negative; got -1.0"),
        (Lasso(alpha=np.nan), "alpha must be a finite number that is not negative; got nan"),
        (Lasso(tol=0.0), "tol must be a positive finite number"),
        (Lasso(max_iter=0), "max_iter must be a whole number"),
        (ElasticNet(l1_ratio=1.5), "l1_ratio must be at most 1"),
    ],
    ids=repr,
)
def test_bad_arguments_are_refused_in_words(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*table())


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix, sparse.csc_array])
def test_columns_that_hardly_vary_around_their_offset(offset, kind):
    X = np.random.default_rng(0).normal(size=(60, 20))
    y = X[:, 0] - X[:, 1]
    far = X.copy()
    far[:, :5] += offset
    # Around an offset a number keeps fewer digits, and these are what the fit sees.
    seen = far.copy()
    seen[:, :5] -= offset
    plain, model = Lasso(0.1).fit(seen, y), Lasso(0.1).fit(kind(far), y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-9)
    np.testing.assert_allclose(model.predict(kind(far)), plain.predict(seen), atol=1e-15 * offset + 1e-9)


def test_a_sparse_column_whose_mean_is_far_off_and_that_has_a_zero():
    X, y = table(400, 5)
    X[:, 2] = np.where(np.arange(400) == 17, 0.0, 1e6 + X[:, 2])
    for weight in (None, np.resize([1.0, 2.0], 400)):
        dense, thin = (Lasso(0.1).fit(kind(X), y, sample_weight=weight) for kind in (np.array, sparse.csc_array))
        np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-6, atol=1e-9)


def test_a_sparse_entry_that_is_stored_in_two_parts_is_their_sum():
    X, y = table(30, 4)
    data, row = np.tile(X.ravel() / 2, 2), np.tile(np.repeat(np.arange(30), 4), 2)
    order = np.argsort(np.tile(np.arange(4), 60), kind="stable")
    parts = sparse.csc_array((data[order], row[order], np.arange(0, 241, 60)), shape=X.shape)
    np.testing.assert_allclose(Lasso(0.1).fit(parts, y).coef_, Lasso(0.1).fit(X, y).coef_, atol=1e-9)


@pytest.mark.parametrize("model", [Lasso(alpha=0.1), ElasticNet(alpha=0.1), LassoCV()])
def test_a_spread_that_is_not_known_is_not_shown(model):
    X = np.random.default_rng(0).normal(size=(40, 3))
    table = model.fit(X, X[:, 0] + np.random.default_rng(1).normal(size=40)).summary()
    assert str(table).splitlines()[1].split() == ["parameter", "estimate"] and "—" not in str(table)


@pytest.mark.parametrize("shape", [(60, 8), (20, 45)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_penalty_is_least_squares_and_no_l1_penalty_is_ridge(shape, kind, fit_intercept):
    X, y = table(*shape)
    weight = np.arange(len(y)) % 3 + 1.0
    plain = LinearRegression(fit_intercept=fit_intercept)
    ridge = Ridge(0.3 * weight.sum(), fit_intercept=fit_intercept).fit(X, y, weight)
    with collected():
        plain.fit(X, y, weight)
        found = [Lasso(0.0, fit_intercept=fit_intercept), ElasticNet(0, l1_ratio=0.3, fit_intercept=fit_intercept)]
        for model in found:
            model.fit(kind(X), y, weight)
            np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-8, atol=1e-10)
            assert model.result_.converged and model.dof_ == pytest.approx(max(plain.dof_, 0), abs=1e-6)
        model = ElasticNet(0.3, l1_ratio=0.0, fit_intercept=fit_intercept).fit(kind(X), y, weight)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-8, atol=1e-10)
    assert model.result_.converged and model.dual_gap_ < 1e-12


def test_no_penalty_by_iterations_where_a_sparse_table_is_too_large_to_make_dense(monkeypatch):
    X, y = table(60, 8)
    monkeypatch.setattr("credo.core.learning.coordinate.descent._MAX_DENSE_ENTRIES", 0)
    for alpha in (0.0, 0.3):
        model = ElasticNet(alpha, l1_ratio=0.0).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(model.coef_, Ridge(60 * alpha).fit(X, y).coef_, rtol=1e-8)


def test_units_are_no_obstacle_without_a_penalty():
    X, y = table(60, 8)
    units = 10.0 ** np.arange(-8, 8, 2)
    np.testing.assert_allclose(Lasso(0.0).fit(X * units, y).coef_ * units, Lasso(0.0).fit(X, y).coef_, rtol=1e-8)
