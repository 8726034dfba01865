"""KernelRidge against Ridge on explicit features, scikit-learn, brute-force leave-one-out and its limits."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as SkKernelRidge

from credo import kernels
from credo.core.estimator import FitWarning
from credo.kernel_machines import KernelRidge
from credo.linear import LinearRegression, Ridge


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 3 + 0.2 * rng.normal(size=30)


def square_features(X):
    """φ with φ(x)ᵀφ(z) = (1 + xᵀz)² for two columns."""
    a, b = X.T
    root = np.sqrt(2.0)
    return np.column_stack([np.ones(len(X)), root * a, root * b, a**2, b**2, root * a * b])


MAPS = {
    "linear": (kernels.Linear(), lambda X: X),
    "scaled": (kernels.Linear([0.5, 3.0]), lambda X: X * np.sqrt([0.5, 3.0])),
    "polynomial": (kernels.Polynomial(2), square_features),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_samples", [30, 4], ids=["tall", "wide"])
def test_equals_ridge_on_explicit_features(table, name, intercept, n_samples):
    kernel, features = MAPS[name]
    (X, y), new = (part[:n_samples] for part in table), np.random.default_rng(1).normal(size=(9, 2)) * 3
    weight = np.linspace(0.5, 3.0, n_samples)
    dual = KernelRidge(kernel, alpha=0.3, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    primal = Ridge(0.3, fit_intercept=intercept).fit(features(X), y, sample_weight=weight)
    np.testing.assert_allclose(dual.predict(new), primal.predict(features(new)), rtol=1e-11, atol=1e-11)
    assert dual.noise_std_ == pytest.approx(primal.noise_std_, rel=1e-10)
    assert dual.dof_ == pytest.approx(primal.dof_, rel=1e-10)
    for latent in (True, False):
        ours = dual.predict_dist(new, latent=latent)
        theirs = primal.predict_dist(features(new), latent=latent)
        np.testing.assert_allclose(ours.interval(0.9), theirs.interval(0.9), rtol=1e-9, atol=1e-9)
    if dual.dof_ > 2:
        cov, expected = dual.predict(new, return_cov=True)[1], primal.predict(features(new), return_cov=True)[1]
        np.testing.assert_allclose(cov, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


def test_equals_scikit_learn_and_the_formula(table):
    X, y = table
    kernel, weight = kernels.RBF(0.8), np.linspace(0.5, 2.0, len(y))
    ours = KernelRidge(kernel, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(ours.dual_coef_, np.linalg.solve(kernel.gram(X) + 0.1 * np.eye(30), y), rtol=1e-9)
    assert ours.intercept_ == 0
    gamma = 1 / (2 * 0.8**2)
    for extra in ({}, {"sample_weight": weight}):
        theirs = SkKernelRidge(alpha=0.1, kernel="rbf", gamma=gamma).fit(X, y, **extra)
        again = KernelRidge(kernel, alpha=0.1).fit(X, y, **extra)
        np.testing.assert_allclose(again.predict(X + 0.3), theirs.predict(X + 0.3), rtol=1e-9)


def test_is_the_gaussian_process_of_the_same_ratio(table):
    """Mean, latent variance and covariance by the textbook's formulas (Rasmussen & Williams 2.25, 2.26)."""
    X, y = table
    new, kernel, alpha = X[:7] + 0.4, kernels.Matern32(1.2), 0.05
    model = KernelRidge(kernel, alpha=alpha).fit(X, y)
    K, k = kernel.gram(X) + alpha * np.eye(30), kernel.cross(new, X)
    cov = (kernel.gram(new) - k @ np.linalg.solve(K, k.T)) * model.noise_std_**2 / alpha
    np.testing.assert_allclose(model.predict(new), k @ np.linalg.solve(K, y), rtol=1e-10)
    inflation = model.dof_ / (model.dof_ - 2)
    np.testing.assert_allclose(model.predict_dist(new, latent=True).var, inflation * np.diag(cov), rtol=1e-8)
    expected = inflation * (cov + model.noise_std_**2 * np.eye(7))
    np.testing.assert_allclose(model.predict(new, return_cov=True)[1], expected, rtol=1e-8, atol=1e-10)
    residual = y - model.predict(X)
    gamma = np.trace(np.linalg.solve(K, kernel.gram(X)))
    assert model.effective_parameters_ == pytest.approx(gamma)
    assert model.noise_std_**2 == pytest.approx(residual @ residual / (30 - gamma))


@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_by_brute_force(table, intercept):
    X, y = table
    kernel, alphas = kernels.RBF(0.9), [1e-4, 0.1, 3.0]
    model = KernelRidge(kernel, alpha="loo", alphas=alphas, fit_intercept=intercept).fit(X, y)
    assert list(model.alphas_) == [3.0, 0.1, 1e-4]
    for alpha, error in zip(model.alphas_, model.loo_errors_, strict=True):
        left_out = [
            y[i]
            - KernelRidge(kernel, alpha=alpha, fit_intercept=intercept)
            .fit(np.delete(X, i, 0), np.delete(y, i))
            .predict(X[i : i + 1])[0]
            for i in range(len(y))
        ]
        assert error == pytest.approx(np.mean(np.square(left_out)), rel=1e-7)
    assert model.alpha_ == model.alphas_[np.argmin(model.loo_errors_)]


def test_leave_one_out_with_fractional_weights_leaves_the_row_out(table):
    X, y = table
    weight = np.linspace(0.2, 1.0, len(y))
    model = KernelRidge(kernels.RBF(), alpha="loo", alphas=[0.2]).fit(X, y, sample_weight=weight)
    errors = []
    for i in range(len(y)):
        rest = KernelRidge(kernels.RBF(), alpha=0.2)
        rest.fit(np.delete(X, i, 0), np.delete(y, i), sample_weight=np.delete(weight, i))
        errors.append((y[i] - rest.predict(X[i : i + 1])[0]) ** 2)
    assert model.loo_errors_[0] == pytest.approx(np.average(errors, weights=weight), rel=1e-8)


@pytest.mark.parametrize("options", [{"alpha": 0.1}, {"alpha": "loo"}, {"alpha": "loo", "fit_intercept": True}])
def test_weights_are_copies(table, options):
    X, y = table
    weight = np.resize([1, 3, 2, 0], len(y))
    weighted = KernelRidge(**options).fit(X, y, sample_weight=weight)
    repeated = KernelRidge(**options).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert weighted.kernel_ == repeated.kernel_
    assert weighted.alpha_ == pytest.approx(repeated.alpha_)
    new = X + 0.3
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), rtol=1e-7)
    np.testing.assert_allclose(weighted.predict_dist(new).std, repeated.predict_dist(new).std, rtol=1e-7)
    if options["alpha"] == "loo":
        # At the smallest penalties the rounding of the eigenvalues shows.
        ample = weighted.alphas_ > 1e-11 * weighted.alphas_[0]
        np.testing.assert_allclose(weighted.loo_errors_[ample], repeated.loo_errors_[ample], rtol=1e-7)
        np.testing.assert_allclose(weighted.loo_errors_, repeated.loo_errors_, rtol=1e-4)


def test_the_path_beats_a_poor_penalty_on_new_rows():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(0, 6, size=(80, 1)), np.linspace(0.2, 5.8, 100)[:, None]
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=80)
    chosen = KernelRidge(alpha="loo").fit(X, y)
    error = np.sqrt(np.mean((chosen.predict(new) - np.sin(new[:, 0])) ** 2))
    assert error < 0.1 and chosen.noise_std_ == pytest.approx(0.2, rel=0.2)
    for alpha in (1e-9, 1e3):
        other = KernelRidge(alpha=alpha).fit(X, y).predict(new)
        assert np.sqrt(np.mean((other - np.sin(new[:, 0])) ** 2)) > 2 * error
    smallest = KernelRidge(alpha="loo", alphas=[1e5, 1e6]).fit(X, y)
    largest = KernelRidge(alpha="loo", alphas=[1e-8, 1e-9]).fit(X, y)
    assert (
        "smallest alpha was selected" in smallest.result_.message
        and "largest alpha was selected" in largest.result_.message
    )


def test_intervals_cover_when_the_prior_is_right():
    """300 functions from the process itself: the binomial sd of a share of 0.9 is 0.017."""
    rng, kernel = np.random.default_rng(6), kernels.RBF(0.5, variance=2.0)
    X = rng.uniform(0, 3, size=(40, 1))
    draws = kernel.sample(X, 300, random_state=2)
    inside = []
    for f in draws:
        y = f + rng.normal(size=40)
        lower, upper = KernelRidge(kernel, alpha=1.0).fit(X[1:], y[1:]).predict_dist(X[:1]).interval(0.9)
        inside.append(lower[0] <= y[0] <= upper[0])
    assert np.mean(inside) == pytest.approx(0.9, abs=0.06)


def test_far_away_it_is_the_prior(table):
    X, y = table
    for intercept in (False, True):
        model = KernelRidge(kernels.RBF(), alpha=0.2, fit_intercept=intercept).fit(X, y)
        dist = model.predict_dist([[1e9, -1e9]], latent=True)
        prior = model.noise_std_ * np.sqrt(1 / 0.2)
        spread = dist.std[0] / np.sqrt(model.dof_ / (model.dof_ - 2))
        assert spread == pytest.approx(prior, rel=0.3) and spread >= prior * (1 - 1e-12)
        assert dist.mean[0] == pytest.approx(model.intercept_, rel=1e-12, abs=1e-300)


def test_a_row_far_away_doesn_t_spoil_the_others(table):
    X, y = table
    model = KernelRidge(kernels.RBF(), alpha=0.2).fit(X, y)
    together = model.predict_dist(np.concatenate([X, [[1e300, -1e300]]]))
    np.testing.assert_allclose(together.mean[:-1], model.predict(X), rtol=1e-10)
    np.testing.assert_allclose(together.std[:-1], model.predict_dist(X).std, rtol=1e-10)


def test_white_noise_in_the_kernel_is_a_larger_penalty(table):
    """New rows share no noise with the training rows, also where they are equal, in any batch."""
    X, y = table
    noisy = KernelRidge(kernels.RBF() + kernels.White(0.3), alpha=0.2).fit(X, y)
    plain = KernelRidge(kernels.RBF(), alpha=0.5).fit(X, y)
    np.testing.assert_allclose(noisy.predict(X), plain.predict(X), rtol=1e-10)
    np.testing.assert_allclose(noisy.predict(X[:1]), plain.predict(X)[:1], rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_don_t_matter(table, scale):
    X, y = table
    plain = KernelRidge(alpha="loo", fit_intercept=True).fit(X, y)
    other = KernelRidge(alpha="loo", fit_intercept=True).fit(X * scale, y / scale)
    np.testing.assert_allclose(other.predict(X * scale) * scale, plain.predict(X), rtol=1e-7)
    np.testing.assert_allclose(other.predict_dist(X * scale).std * scale, plain.predict_dist(X).std, rtol=1e-6)


def test_duplicates_and_contradictions():
    X = np.zeros((6, 2))
    model = KernelRidge(fit_intercept=True).fit(X, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert model.predict(X[:1])[0] == pytest.approx(3.5)
    assert model.noise_std_ == pytest.approx(np.std([1, 2, 3, 4, 5, 6], ddof=1))
    assert KernelRidge(alpha="loo", fit_intercept=True).fit(X, np.arange(6.0)).predict(X[:1])[0] == pytest.approx(2.5)


@pytest.mark.parametrize("alpha", [1.0, "loo"])
def test_constant_target(table, alpha):
    X, _ = table
    model = KernelRidge(alpha=alpha, fit_intercept=True).fit(X, np.full(30, 7.0))
    np.testing.assert_allclose(model.predict(X * 100), 7.0, rtol=1e-12)
    assert (model.predict_dist(X).std < 1e-10).all()


@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_few_rows(table, n_samples):
    X, y = (part[:n_samples] for part in table)
    plain = KernelRidge(kernels.RBF(), alpha=1.0).fit(X, y)
    assert np.isfinite(plain.predict(X)).all()
    lower, upper = plain.predict_dist(X).interval(0.9)
    assert (lower < upper).all() and np.isfinite([lower, upper]).all()
    free = KernelRidge(alpha="loo", fit_intercept=True).fit(X, y)
    assert np.isfinite(free.predict(X)).all()
    if n_samples == 1:
        assert free.predict([[5.0, 5.0]])[0] == pytest.approx(y[0])
        with pytest.raises(ValueError, match="1 rows and alpha=1 leave no residuals to estimate the noise from"):
            free.predict_dist(X)


def test_no_penalty_interpolates_or_is_least_squares(table):
    X, y = table
    with pytest.warns(FitWarning, match="alpha is 0"):
        model = KernelRidge(kernels.Exponential(), alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)
    with pytest.raises(ValueError, match="use more rows, or a larger alpha"):
        model.predict_dist(X)
    with pytest.warns(FitWarning, match="use a positive alpha"):
        line = KernelRidge(kernels.Linear(), alpha=0.0, fit_intercept=True).fit(X, y)
    plain = LinearRegression().fit(X, y)
    np.testing.assert_allclose(line.predict(X), plain.predict(X), rtol=1e-10)
    np.testing.assert_allclose(line.predict_dist(X).std, plain.predict_dist(X).std, rtol=1e-10)


def test_small_blocks_give_the_same_answer(table, monkeypatch):
    X, y = table
    model = KernelRidge(alpha=0.1).fit(X, y)
    whole = model.predict_dist(X)
    monkeypatch.setattr("credo.kernel_machines._rows.BLOCK_ENTRIES", 100)
    parts = model.predict_dist(X)
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-10)
    np.testing.assert_allclose(parts.std, whole.std, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), whole.mean, rtol=1e-10)


def test_default_kernel_has_the_median_distance():
    X = np.array([[0.0], [1.0], [3.0], [3.0]])
    assert KernelRidge().fit(X, np.arange(4.0)).kernel_ == kernels.RBF(2.0)


def test_refitting_forgets_the_path(table):
    X, y = table
    model = KernelRidge(alpha="loo").fit(X, y).set_params(alpha=1.0).fit(X, y)
    assert not hasattr(model, "loo_errors_") and model.result_.message == "solved directly"


def test_summary_tells_kernel_penalty_and_noise(table):
    X, y = table
    table_ = KernelRidge(kernels.RBF([1.0, 2.0]), alpha="loo", fit_intercept=True).fit(X, y).summary()
    names = table_.columns["parameter"]
    assert {"intercept", "lengthscale of x0", "lengthscale of x1", "variance", "alpha", "noise sd"} <= set(names)
    at = names.index("noise sd")
    assert table_.columns["lower"][at] < table_.columns["estimate"][at] < table_.columns["upper"][at]
    assert "leave-one-out" in str(table_)


class Crooked(kernels.RBF):
    """Positive and negative eigenvalues."""

    def _fill(self, X, K, mode):
        K[...] = 1.0 - np.eye(len(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a finite number that is not negative; got -1.0"),
        ({"alpha": "cv"}, "alpha must be a number or \"loo\"; got 'cv'"),
        ({"alpha": "loo", "alphas": [-1.0]}, "alphas must be one or more finite numbers, not negative"),
        ({"kernel": "rbf"}, r"kernel must be a kernel such as credo.kernels.RBF\(\), or None; got 'rbf'"),
        ({"kernel": np.dot}, "credo.kernels.from_function"),
        ({"kernel": kernels.RBF([1.0, 2.0, 3.0])}, "3 length scales, but X has 4 columns"),
        ({"kernel": Crooked()}, "its Gram matrix has the eigenvalue -1; credo.kernels.check_kernel names"),
        ({"kernel": kernels.Polynomial(200)}, "overflows: rescale the columns"),
        ({"kernel": kernels.Polynomial(50)}, r"gives 1.01e\+200 for rows 0 and 0, whose square overflows: rescale"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((ValueError, TypeError, np.linalg.LinAlgError), match=message):
        KernelRidge(**arguments).fit(100 * np.eye(4), np.arange(4.0))


def test_tables_that_don_t_fit_are_refused():
    with pytest.raises(ValueError, match="X has 20001 rows, whose Gram matrix and eigenvectors would fill 13 GB"):
        KernelRidge(kernels.RBF()).fit(np.zeros((20001, 1)), np.zeros(20001))
