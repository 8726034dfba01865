"""The least-mean-squares rule: the textbook's updates, least squares in the limit, and nothing that diverges."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from credo.core.estimator import ConvergenceWarning, FitWarning
from credo.linear import LMSRegression
from credo.linear._jit import lms_pass


def table(n=300, p=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1
    return X, X @ np.linspace(-2, 3, p) + 4 + noise * rng.normal(size=n)


def least_squares(X, y, weight=None):
    """Weights and intercept by the SVD of the centred and scaled table."""
    root = np.sqrt(np.ones(len(y)) if weight is None else weight)
    mean, scale = np.average(X, axis=0, weights=root**2), X.std(axis=0)
    level = np.average(y, weights=root**2)
    w = np.linalg.lstsq((X - mean) / scale * root[:, None], (y - level) * root, rcond=None)[0] / scale
    return w, level - mean @ w


def test_many_repeats_in_strides_agree_with_one_by_one():
    X, y = table(5, 2)
    ends = []
    for counts in ([10_000.0] * 5, [2500.0] * 20):
        w, average, track = np.zeros(3), np.zeros(3), np.array([0.0, np.nan])
        order = np.repeat(np.arange(5), len(counts) // 5)
        lms_pass(X, y, np.array(counts), order, w, average, track, 1e-4, 1.0, 0.0, True, 1.0, np.inf)
        ends.append(np.r_[w, average])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-3)


# The rule of the book


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_fixed_step_is_bishop_3_23_on_the_columns_as_they_are(fit_intercept):
    X, y = table(50)
    model = LMSRegression(0.02, n_epochs=3, shuffle=False, fit_intercept=fit_intercept, random_state=0).fit(X, y)
    w = np.zeros(4)
    for _ in range(3):
        for row, target in zip(np.column_stack([X, np.full(50, float(fit_intercept))]), y, strict=True):
            w = w + 0.02 * (target - w @ row) * row
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], w, rtol=1e-10, atol=1e-12)
    stream = LMSRegression(0.02, fit_intercept=fit_intercept, random_state=0)
    for _ in range(3):
        for part in (slice(0, 7), slice(7, 50)):
            stream.partial_fit(X[part], y[part])
    np.testing.assert_allclose(stream.coef_, model.coef_, rtol=1e-10)


@pytest.mark.parametrize("step", [1.0, 100.0, 1e300])
def test_too_large_steps_are_refused_in_words(step):
    X, y = table()
    with pytest.raises(ValueError, match=r"step=.* is too large for these rows: .* below 0\.\d+, or step='auto'"):
        LMSRegression(step).fit(X, y)
    stream = LMSRegression(step, random_state=0)
    with pytest.raises(ValueError, match="too large"):
        stream.partial_fit(X, y)


def test_the_step_that_is_called_safe_is_safe():
    X, y = table()
    safe = 2 / (1 + (X**2).sum(axis=1)).max()
    model = LMSRegression(0.99 * safe, average=True, n_epochs=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="with a fixed step, decrease it"):
        model.fit(X, y)
    assert not model.result_.converged
    w, b = least_squares(X, y)
    assert np.abs(np.r_[model.coef_ - w, model.intercept_ - b]).max() < 0.5


# Least squares in the limit


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_passes_converge_to_least_squares(average, shuffle):
    X, y = table()
    w, b = least_squares(X, y)
    model = LMSRegression(average=average, shuffle=shuffle, random_state=0).fit(X, y)
    assert model.result_.converged and model.n_iter_ < 50
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], np.r_[w, b], rtol=1e-5)
    sharper = LMSRegression(average=average, shuffle=shuffle, tol=1e-12, random_state=0).fit(X, y)
    np.testing.assert_allclose(np.r_[sharper.coef_, sharper.intercept_], np.r_[w, b], rtol=1e-9)


def test_diabetes_with_its_nearly_collinear_columns():
    X, y = load_diabetes(return_X_y=True)
    w, b = least_squares(X, y)
    model = LMSRegression(random_state=0).fit(X, y)
    assert np.linalg.norm(model.coef_ - w) < 1e-4 * np.linalg.norm(w)
    rss = np.sum((y - X @ w - b) ** 2)
    assert model.noise_std_ == pytest.approx(np.sqrt(rss / (len(y) - 11)), rel=1e-8)


def test_heavy_tails_do_not_bend_the_solution():
    # Rows beyond the cap on the step must count in full in the end, not as normalised LMS would have it.
    rng = np.random.default_rng(4)
    X = rng.standard_t(1.5, size=(500, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * X[:, 0] ** 2 + rng.standard_t(2, size=500)
    w, b = least_squares(X, y)
    model = LMSRegression(random_state=0).fit(X, y)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], np.r_[w, b], rtol=1e-4)


def test_without_intercept():
    X, y = table()
    model = LMSRegression(fit_intercept=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-5)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("scales", [(1e-8,) * 3, (1e8,) * 3, (1e-8, 1.0, 1e8), (1e-69, 1.0, 1e69)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_units_of_the_columns_and_the_target_do_not_matter(scales, offset):
    X, y = table()
    model = LMSRegression(random_state=0).fit(X, y)
    scaled = LMSRegression(random_state=0).fit(X * scales, y * 1e5 + offset)
    np.testing.assert_allclose(scaled.coef_ * scales, model.coef_ * 1e5, rtol=1e-6)
    np.testing.assert_allclose(scaled.predict(X * scales), model.predict(X) * 1e5 + offset, rtol=1e-6)


def test_fewer_rows_than_columns_are_fitted_exactly():
    X, y = table(10, 30)
    model = LMSRegression(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-5)
    # The residuals of an exact fit say nothing; the errors made on the way do.
    assert model.noise_std_ > 0.1


def test_running_out_of_passes_is_said():
    X, y = load_diabetes(return_X_y=True)
    model = LMSRegression(n_epochs=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 2 passes .* above tol=1e-07.: increase n_epochs"):
        model.fit(X, y)
    assert not model.result_.converged and model.result_.n_iter == model.n_iter_ == 2


# Weights and the order of rows


def test_row_order_and_repeats_do_not_show_in_fit():
    X, y = table(80)
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 4, 80)
    repeated = rng.permutation(np.repeat(np.arange(80), counts))
    for settings in ({}, {"average": True}, {"fit_intercept": False}, {"n_epochs": 1}, {"step": 0.01, "n_epochs": 4}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            weighted = LMSRegression(random_state=0, **settings).fit(X, y, sample_weight=counts)
            copied = LMSRegression(random_state=0, **settings).fit(X[repeated], y[repeated])
        np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-9)
        assert weighted.noise_std_ == pytest.approx(copied.noise_std_, rel=1e-7)
        assert weighted.n_seen_ == copied.n_seen_ == counts.sum()


@pytest.mark.parametrize("settings", [{}, {"average": True}, {"step": 0.01}])
def test_whole_weights_are_repeats_in_a_row_in_a_stream(settings):
    X, y = table(90)
    counts = np.random.default_rng(6).integers(0, 4, 90)
    weighted, copied = LMSRegression(random_state=0, **settings), LMSRegression(random_state=0, **settings)
    for start in (0, 30, 60):
        part = slice(start, start + 30)
        weighted.partial_fit(X[part], y[part], sample_weight=counts[part])
        copied.partial_fit(np.repeat(X[part], counts[part], axis=0), np.repeat(y[part], counts[part]))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-9)
    assert weighted.noise_std_ == pytest.approx(copied.noise_std_, rel=1e-9)


def test_fractional_weights_give_weighted_least_squares():
    X, y = table()
    weight = np.random.default_rng(7).uniform(0.01, 3.0, len(y))
    model = LMSRegression(random_state=0).fit(X, y, sample_weight=weight)
    w, b = least_squares(X, y, weight)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], np.r_[w, b], rtol=1e-5)


# Streams


def stream(model, n_batches=100, size=50, noise=1.0, seed=0, scale=lambda b: 1.0, w=(1.0, -2.0, 0.5), b=3.0):
    rng = np.random.default_rng(seed)
    for k in range(n_batches):
        X = rng.normal(size=(size, 3)) * scale(k)
        model.partial_fit(X, X @ w + b + noise * rng.normal(size=size))
    return model


def error(model, w=(1.0, -2.0, 0.5), b=3.0):
    return np.linalg.norm(np.r_[model.coef_ - w, model.intercept_ - b])


def test_a_stream_ends_near_least_squares():
    # Least squares on these 50 000 rows errs by √(4/50 000) = 0.009 on average.
    assert error(stream(LMSRegression(random_state=0), 100, 500)) < 0.15
    assert error(stream(LMSRegression(average=True, random_state=0), 100, 500)) < 0.03


def test_averaging_helps_on_noisy_streams():
    last = [error(stream(LMSRegression(random_state=0), 40, noise=5.0, seed=s)) for s in range(4)]
    averaged = [error(stream(LMSRegression(average=True, random_state=0), 40, noise=5.0, seed=s)) for s in range(4)]
    assert np.mean(averaged) < 0.5 * np.mean(last)


def test_noise_of_a_stream_is_learned_and_covers():
    model = stream(LMSRegression(average=True, random_state=0), 200, noise=2.0)
    assert model.noise_std_ == pytest.approx(2.0, rel=0.05)
    X = np.random.default_rng(9).normal(size=(4000, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + 2.0 * np.random.default_rng(10).normal(size=4000)
    lower, upper = model.predict_dist(X).interval(0.9)
    # Three standard deviations of a binomial share: 3 √(0.9·0.1/4000) = 0.014.
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("size", [1, 50])
@pytest.mark.parametrize("jump", [1e-6, 1e6, 1e65])
def test_a_stream_whose_scale_jumps_does_not_diverge(size, jump):
    model = stream(
        LMSRegression(average=True, random_state=0),
        200 // size + 40,
        size,
        0.1,
        scale=lambda k: jump if k >= 20 else 1.0,
    )
    assert np.isfinite([*model.coef_, model.intercept_, model.noise_std_]).all()
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 0.5], atol=1.0)


def test_rows_one_by_one_in_unlike_units():
    rng = np.random.default_rng(0)
    model, w = LMSRegression(average=True, random_state=0), np.array([1.0, 2e-6, 3e5])
    for _ in range(500):
        x = rng.normal(size=(1, 3)) / w + 1e3
        model.partial_fit(x, x @ w + rng.normal(size=1))
    np.testing.assert_allclose(model.coef_, w, rtol=0.1)


def test_partial_fit_goes_on_where_fit_ended():
    X, y = table(2000)
    model = LMSRegression(average=True, random_state=0).fit(X[:1000], y[:1000])
    for start in range(1000, 2000, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert model.n_seen_ == 2000
    # Least squares on as many rows errs by √(E‖(X'X)⁻¹‖) ≈ √(7/2000) = 0.06.
    assert error(model, np.linspace(-2, 3, 3), 4.0) < 0.18


def test_memory_of_a_stream_does_not_grow():
    def numbers(model):
        return sum(np.size(value) for name, value in vars(model).items() if name.endswith("_"))

    assert numbers(stream(LMSRegression(random_state=0), 2)) == numbers(stream(LMSRegression(random_state=0), 20))


def test_a_refused_batch_leaves_the_model_as_it_was():
    model = stream(LMSRegression(random_state=0), 3)
    before = {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_") and name != "result_"}
    with pytest.raises(ValueError, match="outside the range"):
        model.partial_fit([[1e-200] * 3, [-1e-200] * 3], [1.0, -1.0])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan] * 3], [1.0])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit([[1.0]], [1.0])
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)


# What is said


def test_one_row_has_no_noise_to_speak_of():
    model = LMSRegression(random_state=0).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[5.0, 5.0]]).tolist() == [3.0]
    with pytest.raises(ValueError, match="the noise can't be estimated from one observation"):
        model.predict_dist([[1.0, 2.0]])
    assert np.isfinite(model.partial_fit([[2.0, 2.0]], [4.0]).noise_std_)


def test_predictive_is_normal_with_the_noise():
    X, y = table()
    model = LMSRegression(random_state=0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(std, np.full(len(X), model.noise_std_))
    np.testing.assert_allclose(mean, X @ model.coef_ + model.intercept_, rtol=1e-9)
    assert not hasattr(model, "log_evidence_")
    with pytest.raises(ValueError, match="use return_std"):
        model.predict(X, return_cov=True)


def test_summary_and_result_are_sentences():
    X, y = table()
    model = LMSRegression(random_state=0).fit(X, y)
    text = str(model.summary())
    assert "intercept" in text and "x2" in text and "for standard errors use LinearRegression" in text
    assert "observations in 2 batches" in stream(LMSRegression(random_state=0), 2).result_.message


def test_same_seed_same_weights_and_other_seed_same_solution():
    X, y = table()
    model = LMSRegression(random_state=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, clone(model).fit(X, y).coef_)
    np.testing.assert_allclose(LMSRegression(random_state=2).fit(X, y).coef_, model.coef_, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"step": "fast"}, "step must be one of 'auto'; got 'fast'"),
     ({"step": -0.1}, "step must be a positive finite number; got -0.1"),
     ({"n_epochs": 0}, "n_epochs must be a whole number of at least 1; got 0"),
     ({"tol": -1.0}, "tol must be a finite number that is not negative; got -1.0"),
     ({"average": "yes"}, "average must be one of True, False; got 'yes'")],
)  # fmt: skip
def test_wrong_arguments_are_named(settings, message):
    X, y = table(20)
    for learn in (LMSRegression(random_state=0, **settings).fit, LMSRegression(random_state=0, **settings).partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(X, y)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_random_states_of_every_kind(kind):
    X, y = table()
    first, again = (LMSRegression(0.01, n_epochs=2, random_state=kind(4)).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, again.coef_)
    seeded, other = (LMSRegression(0.01, n_epochs=2, random_state=seed).fit(X, y) for seed in (4, 5))
    assert (seeded.coef_ != other.coef_).any()
    if kind is np.random.default_rng:
        np.testing.assert_array_equal(seeded.coef_, first.coef_)
    with pytest.raises(ValueError, match=r"random_state must be .* got 'dice'"):
        LMSRegression(random_state="dice").fit(X, y)


def test_the_summary_has_no_spread_and_checks_its_level():
    model = LMSRegression(random_state=0).fit(*table())
    assert set(model.summary().columns["sd"]) == {None}
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        model.summary(level=95)
