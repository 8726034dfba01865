"""The penalty by cross-validation: scikit-learn's errors on the same folds, and laws of the folds of our own."""

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn import exceptions
from sklearn import linear_model as sk
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, cross_val_predict

from credo.core.estimator import FitWarning
from credo.core.folds import systematic_folds
from credo.sparse import Lasso, LassoCV
from credo.sparse.cross_validation import HeldOutLosses


def table(n=80, p=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    return X, X[:, :3] @ [1.0, -0.7, 0.3] + 3 + rng.normal(size=n)


@pytest.mark.parametrize("shape", [(80, 15), (60, 120)])
def test_equals_scikit_learn_on_the_same_folds(shape):
    X, y = table(*shape)
    folds = KFold(4, shuffle=True, random_state=1)
    other = sk.LassoCV(cv=folds, tol=1e-10, max_iter=10**6, alphas=60).fit(X, y)
    ours = LassoCV(cv=folds, n_alphas=60).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, other.alphas_, rtol=1e-10)
    # Where the error is smallest, and where least squares would reproduce the targets.
    best = np.argmin(other.mse_path_.mean(axis=1))
    np.testing.assert_allclose(ours.mse_path_[best], other.mse_path_[best], rtol=2e-3)
    np.testing.assert_allclose(ours.mse_path_, other.mse_path_, rtol=0.1)
    assert ours.alpha_ == pytest.approx(other.alpha_)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-4)


def test_it_is_the_lasso_at_the_chosen_alpha():
    X, y = table()
    model = LassoCV().fit(X, y)
    single = Lasso(alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, single.coef_, atol=1e-7)
    assert model.selected_ == single.selected_
    assert model.mse_[np.argmin(model.mse_)] == model.mse_[np.flatnonzero(model.alphas_ == model.alpha_)[0]]


def test_one_standard_error_is_the_largest_alpha_within_it():
    X, y = table()
    least, simple = LassoCV().fit(X, y), LassoCV(rule="one-standard-error").fit(X, y)
    assert simple.alpha_ > least.alpha_ and len(simple.selected_) <= len(least.selected_)
    best = np.argmin(simple.mse_)
    bound = simple.mse_[best] + simple.mse_std_error_[best]
    place = np.flatnonzero(simple.alphas_ == simple.alpha_)[0]
    assert simple.mse_[place] <= bound and (simple.mse_[:place] > bound).all()
    # Folds of equal size: the textbook's standard error of their mean.
    plain = simple.mse_path_.std(axis=1, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(simple.mse_std_error_, plain, rtol=1e-10)


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_weights_are_copies_and_the_order_of_rows_doesn_t_show(kind, random_state):
    X, y = table(40, 6)
    weight = np.resize([1, 3, 2, 0, 1], 40)
    model = LassoCV(n_alphas=30, random_state=random_state)
    weighted = model.fit(kind(X), y, sample_weight=weight)
    path, alpha, coef = weighted.mse_, weighted.alpha_, weighted.coef_
    order = np.random.default_rng(0).permutation(weight.sum())
    repeated = LassoCV(n_alphas=30, random_state=random_state).fit(
        kind(np.repeat(X, weight, axis=0)[order]), np.repeat(y, weight)[order]
    )  # fmt: skip
    np.testing.assert_allclose(repeated.mse_, path, rtol=1e-3)
    assert repeated.alpha_ == pytest.approx(alpha)
    np.testing.assert_allclose(repeated.coef_, coef, atol=1e-7)


def test_random_state_shuffles_the_folds():
    X, y = table(43)
    place = np.argsort(np.argsort(y))
    for _, held in systematic_folds(X, y, 5, random_state=1):
        # One of each five neighbours in the order of y.
        assert np.bincount(place[held] // 5, minlength=9)[:8].tolist() == [1] * 8
    paths = [LassoCV(n_alphas=20, random_state=seed).fit(X, y).mse_path_ for seed in (None, None, 0, 0, 1)]
    assert np.array_equal(paths[0], paths[1]) and np.array_equal(paths[2], paths[3])
    assert not np.allclose(paths[0], paths[2]) and not np.allclose(paths[2], paths[4])


def test_folds_share_the_rows_evenly():
    X, y = table(43)
    folds = systematic_folds(np.vstack([X, X[:5]]), np.append(y, y[:5]), 5)
    held = np.concatenate([held for _, held in folds])
    np.testing.assert_array_equal(np.sort(held), np.arange(48))
    for train, held in folds:
        assert not set(train) & set(held) and len(train) + len(held) == 48
        assert {i + 43 for i in held if i < 5} == {i for i in held if i >= 43}, "equal rows are in one fold"
        assert abs(np.mean(y[held[held < 43]]) - y.mean()) < 0.5


def uneven(n=120):
    """A wide column that tells little sets the range of penalties, and narrow ones that tell much pay all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1000.0, 1.0, 1.0, 1.0]
    return X, X @ [0.001, 1.0, -1.0, 0.5] + 0.5 * rng.normal(size=n)


END = "held-out error is smallest at the smallest penalty tried: decrease eps, .* or use a model without this penalty"


def test_a_penalty_at_the_end_of_the_range_is_said():
    X, y = uneven()
    with pytest.warns(FitWarning, match=END) as caught:
        model = LassoCV().fit(X, y)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert model.alpha_ == model.alphas_[-1] and model.result_.converged
    assert model.result_.message.endswith(str(caught[0].message)) and str(caught[0].message) in str(model.summary())
    with pytest.warns(FitWarning, match=END):
        LassoCV(alphas=[2.0, 0.5, 0.2]).fit(X, y)
    # The advice is good: smaller penalties have a smaller error, and nothing is left to say.
    with warnings.catch_warnings(action="error"):
        wider = LassoCV(eps=1e-6).fit(X, y)
    assert wider.mse_.min() < model.mse_.min() * (1 - 2e-3)


def test_the_end_is_not_mentioned_where_nothing_is_to_be_gained():
    with warnings.catch_warnings(action="error"):
        LassoCV().fit(*table())
        # Every column counts, and rows are many: the end is best, by less than the errors are known to.
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 3))
        model = LassoCV().fit(X, X.sum(axis=1) + rng.normal(size=3000))
        assert model.alpha_ == model.alphas_[-1] and model.mse_[-30] > model.mse_[-1]
        # A single penalty is no range, and that of the other rule isn't at the end.
        LassoCV(alphas=[1.0]).fit(*uneven())
        careful = LassoCV(alphas=[0.3, 0.01, 0.003, 0.001], rule="one-standard-error").fit(*uneven())
        assert careful.alpha_ > careful.alphas_[-1]


def test_folds_have_to_agree_that_the_error_falls():
    alphas, share = np.array([4.0, 2.0, 1.0]), np.ones(3)
    fall = np.array([[0.5, 0.45, 0.4], [0.3, 0.2, 0.1], [0.4, 0.3, 0.2]])
    assert HeldOutLosses.of(fall, share).suggests_smaller(2, alphas) and not HeldOutLosses.of(
        fall, share
    ).suggests_smaller(1, alphas)
    # The same fall on the whole, but all of it in one fold: as far as one can tell there is none.
    alone = HeldOutLosses.of([[0.5, 0.45, 0.45], [0.3, 0.2, 0.25], [0.4, 0.3, 0.0]], share)
    assert alone.mean == pytest.approx(HeldOutLosses.of(fall, share).mean) and np.argmin(alone.mean) == 2
    assert not alone.suggests_smaller(2, alphas)
    # Where the penalty fell to a ten thousandth at once, hardly anything is left to gain.
    assert not HeldOutLosses.of(fall, share).suggests_smaller(2, np.array([2e4, 1e4, 1.0]))


def test_few_rows_and_one():
    X, y = table(3)
    assert LassoCV().fit(X, y).mse_path_.shape[1] == 3
    with pytest.raises(ValueError, match="at least 2 different rows, but all are one sample"):
        LassoCV().fit(X[[0, 0]], y[[0, 0]])


def test_given_folds_see_rows_of_weight_zero():
    X, y = table(30)
    weight = np.resize([1.0, 0.0, 2.0], 30)
    splits = list(KFold(3).split(X))
    model = LassoCV(cv=splits).fit(X, y, sample_weight=weight)
    used = np.flatnonzero(weight)
    kept = [(np.flatnonzero(np.isin(used, a)), np.flatnonzero(np.isin(used, b))) for a, b in splits]
    other = LassoCV(cv=kept).fit(X[used], y[used], sample_weight=weight[used])
    np.testing.assert_allclose(model.mse_, other.mse_, rtol=1e-10)


def test_the_summary_tells_the_error():
    model = LassoCV().fit(*table())
    assert "rule 'min'" in str(model.summary())
    assert f"noise sd {model.noise_std_:.4g} (root of the held-out error) with 80 degrees of freedom" in str(
        model.summary()
    )


@pytest.mark.parametrize("rule", ["min", "one-standard-error"])
def test_the_predictive_distribution_is_that_of_the_held_out_errors(rule):
    X, y = table(41)
    folds = KFold(4, shuffle=True, random_state=1)
    model = LassoCV(cv=folds, rule=rule).fit(X, y)
    told = cross_val_predict(sk.Lasso(model.alpha_, tol=1e-10, max_iter=10**6), X, y, cv=folds)
    # Folds of different sizes: each row counts the same. The paths over the folds are followed to some digits.
    scale = np.sqrt(np.mean((y - told) ** 2))
    assert model.noise_std_ == pytest.approx(scale, rel=1e-3) and model.dof_ == 41
    lower, upper = model.predict_dist(X).interval(0.9)
    np.testing.assert_allclose(upper - model.predict(X), model.noise_std_ * stats.t.ppf(0.95, 41), rtol=1e-9)
    np.testing.assert_allclose(upper - lower, 2 * (upper - model.predict(X)), rtol=1e-9)


def test_rows_count_once_among_the_degrees_of_freedom_and_by_their_weight():
    X, y = table(30)
    weight = np.resize([1, 2, 0], 30)
    weighted = LassoCV(n_alphas=20).fit(X, y, sample_weight=weight)
    repeated = LassoCV(n_alphas=20).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.dof_ == repeated.dof_ == 30
    assert weighted.noise_std_ == pytest.approx(repeated.noise_std_, rel=1e-3)
    twice = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    assert LassoCV(cv=twice, n_alphas=20).fit(X, y).dof_ == 30
    some = ShuffleSplit(n_splits=2, test_size=5, random_state=0)
    assert LassoCV(cv=some, n_alphas=20).fit(X, y).dof_ == 10


def wide(rng, n):
    X = rng.normal(size=(n, 60))
    return X, 2 * X[:, 3] - X[:, 7] + 0.5 * rng.normal(size=n)


def test_intervals_cover_fresh_rows_of_a_wide_table():
    share, residual = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = wide(rng, 25)
        model = LassoCV(n_alphas=20).fit(X, y)
        fresh, truth = wide(rng, 400)
        lower, upper = model.predict_dist(fresh).interval(0.9)
        share.append(np.mean((lower <= truth) & (truth <= upper)))
        left = 25 - 1 - np.count_nonzero(model.coef_)
        sd = np.sqrt(np.sum((y - model.predict(X)) ** 2) / left) if left > 0 else 0.0
        residual.append(np.mean(np.abs(truth - model.predict(fresh)) <= stats.norm.ppf(0.95) * sd))
    # A table's share has a standard deviation of 0.08, and so their mean one of 0.02.
    assert 0.83 < np.mean(share) < 0.95
    assert np.mean(residual) < 0.8, "what the residuals leave isn't enough"


def test_as_many_weights_as_rows_can_bear_leave_a_distribution():
    rng = np.random.default_rng(10)
    X, y = wide(rng, 25)
    model = LassoCV(alphas=[1e-3]).fit(X, y)
    assert np.count_nonzero(model.coef_) == 24, "no residual is left"
    with pytest.raises(ValueError, match="25 rows and 24 nonzero coefficients leave no degrees of freedom"):
        Lasso(model.alpha_).fit(X, y).predict_dist(X)
    dist = model.predict_dist(X)
    assert np.isfinite(dist.std).all() and (dist.std > 0.3).all()
    with pytest.raises(ValueError, match="LassoCV is a point estimate"):
        model.predict_dist(X, latent=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "two-standard-errors"}, "rule must be one of 'min', 'one-standard-error'"),
        ({"cv": 1}, "cv must be at least 2 folds; got 1"),
        ({"cv": 0}, "cv must be a whole number"),
        ({"cv": [(np.arange(40), np.arange(40, 80))]}, "gives 1 folds"),
        ({"alphas": [-1.0]}, "alphas must be one or more finite numbers, not negative"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        LassoCV(**options).fit(*table())


def correlated(n=150, p=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sqrt(0.99) * rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, p))
    return X, X[:, ::20] @ rng.normal(size=10) + rng.normal(size=n)


def test_strongly_correlated_columns_converge():
    """Coordinate descent alone would not in 100,000 passes."""
    X, y = correlated()
    model = LassoCV(cv=3, n_alphas=8, eps=1e-4).fit(X, y)
    assert model.result_.converged and "converged" in model.result_.message
    # The errors of fits to the folds that are solved far more closely.
    exact = LassoCV(cv=3, n_alphas=8, eps=1e-4, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.mse_, exact.mse_, rtol=1e-3)


def engine_simulator(seed=3):
    """Columns that are functions of three states, without noise, with a copy and a constant."""
    rng = np.random.default_rng(seed)
    grids = np.arange(1, 10) / 9, np.linspace(0.95, 1, 21), np.linspace(0.975, 1, 11)
    speed, a, b = (grid.ravel() for grid in np.meshgrid(*grids))
    columns = [speed, speed**1.1]
    for _ in range(11):
        c, d, e, f = rng.normal(size=4) * [1, 1, 3, 3]
        wear = c * (1 - a) + d * (1 - b) + e * (1 - a) * (1 - b) + f * speed * (1 - a) ** 2
        column = speed ** rng.uniform(0.5, 3.5) * (1 + wear)
        columns.append(np.round(column / column.std(), 4))
    X = np.column_stack([*columns, columns[4], np.full(len(a), 288.0)])
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), a


def test_a_table_without_noise_converges():
    X, y = engine_simulator()
    target = y - y.mean()
    alpha = 1e-4 * np.abs(X.T @ target).max() / len(y)
    model = Lasso(alpha).fit(X, y)
    assert model.result_.converged
    # The duality gap from the rows, with the rescaled residual as dual point.
    r = y - model.predict(X)
    dual = r * min(1.0, alpha * len(y) / np.abs(X.T @ r).max())
    primal = r @ r / 2 + alpha * len(y) * np.abs(model.coef_).sum()
    assert primal - (target @ target - (target - dual) @ (target - dual)) / 2 < 1e-8 * target @ target
    with warnings.catch_warnings():
        warnings.simplefilter("error", exceptions.ConvergenceWarning)
        assert LassoCV(cv=3, n_alphas=20, eps=1e-4).fit(X, y).result_.converged


def nearly_singular(n=3000, condition=1e9):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n, 12))
    X = states * np.geomspace(1.0, 1.0 / condition, 12) @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, states[:, 5] + 0.3 * states[:, 8] + 1e-3 * rng.normal(size=n)


def test_columns_beyond_double_precision_give_one_warning_with_the_reason():
    X, y = nearly_singular()
    with pytest.warns(Warning) as caught:
        model = LassoCV(cv=3, n_alphas=20, eps=1e-7).fit(X, y)
    (only,) = caught
    assert issubclass(only.category, exceptions.ConvergenceWarning)
    assert "remove columns that nearly repeat others" in str(only.message)
    assert not model.result_.converged
    with pytest.warns(exceptions.ConvergenceWarning, match=r"only rounding errors are left .* remove such columns"):
        Lasso(alpha=model.alpha_).fit(X, y)


def test_paths_that_do_not_converge_are_said():
    with pytest.warns(exceptions.ConvergenceWarning, match="fits to the training folds did not converge.*max_iter"):
        model = LassoCV(max_iter=3).fit(*correlated())
    assert not model.result_.converged and "did not converge" in model.result_.message


def test_least_squares_may_be_on_the_grid():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 4))
    model = LassoCV(alphas=[1.0, 0.1, 0.0]).fit(X, X @ [1.0, -1.0, 2.0, 0.5] + 0.1 * rng.normal(size=80))
    assert model.alpha_ == 0.0 and model.result_.converged
