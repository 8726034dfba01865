"""Bases along each column's own axis: `Sigmoid`, `Fourier`, `Step`."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from credo.features import Fourier, Sigmoid, Step


@pytest.fixture
def X():
    return np.random.default_rng(0).gamma(2.0, size=(200, 2)) * [1.0, 100.0]


def test_sigmoid_formula(X):
    Phi = Sigmoid([0.5, 2.0], slope=3.0).fit_transform(X)
    expected = [1 / (1 + np.exp(-3 * (X[:, j] - c))) for j in (0, 1) for c in (0.5, 2.0)]
    np.testing.assert_allclose(Phi, np.column_stack(expected), rtol=1e-13)


def test_sigmoid_centres_are_quantiles_and_slopes_follow_their_gaps(X):
    basis = Sigmoid(3).fit(X)
    expected = np.quantile(X, [0.25, 0.5, 0.75], axis=0).T
    np.testing.assert_allclose(basis.centers_.reshape(2, 3), expected)
    np.testing.assert_allclose(basis.slopes_.reshape(2, 3)[:, 0], 2 / (expected[:, 2] - expected[:, 0]))
    assert Sigmoid(1).fit([[0.0], [4.0]]).slopes_[0] == pytest.approx(0.5)


def test_sigmoid_takes_centres_for_each_column(X):
    basis = Sigmoid([[0.0, 100.0], [1.0, 50.0]], slope=1.0).fit(X)
    assert basis.centers_.tolist() == [0.0, 1.0, 50.0, 100.0]
    assert basis.columns_.tolist() == [0, 0, 1, 1]
    assert list(basis.get_feature_names_out()) == [
        "sigmoid(x0-0)", "sigmoid(x0-1)", "sigmoid(x1-50)", "sigmoid(x1-100)",
    ]  # fmt: skip


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e8, 1e300])
def test_sigmoid_scale_of_the_axis_cancels(X, scale):
    X = X / np.abs(X).max()
    np.testing.assert_allclose(Sigmoid().fit_transform(X * scale), Sigmoid().fit_transform(X), rtol=1e-6)


def test_constant_columns_and_far_rows_stay_finite():
    X = np.full((5, 1), 7.0)
    for basis in (Sigmoid(), Fourier(), Fourier(sine=True)):
        assert np.isfinite(basis.fit(X).transform([[7.0], [-1e308], [1e308]])).all()


def test_fourier_with_a_given_period(X):
    basis = Fourier(2, period=[1.5, 12.0]).fit(X)
    w = 2 * np.pi / np.array([1.5, 12.0])
    expected = [f(k * w[j] * X[:, j]) for j in (0, 1) for k in (1, 2) for f in (np.cos, np.sin)]
    np.testing.assert_allclose(basis.transform(X), np.column_stack(expected), atol=1e-11)
    assert list(basis.get_feature_names_out(["a", "b"])[2:6]) == [
        "cos(2pi*2*a/1.5)", "sin(2pi*2*a/1.5)", "cos(2pi*b/12)", "sin(2pi*b/12)",
    ]  # fmt: skip


def test_fourier_learns_half_range_cosines():
    x = np.linspace(1900.0, 2000.0, 64)[:, None]
    basis = Fourier(4).fit(x)
    u = (x[:, 0] - 1900) / 100
    expected = np.column_stack([np.cos(np.pi * k * u) for k in range(1, 5)])
    np.testing.assert_allclose(basis.transform(x), expected, atol=1e-12)
    assert basis.get_feature_names_out(["year"])[1] == "cos(2pi*2*(year-1900)/200)"


def test_half_range_cosines_need_no_equal_ends():
    # The cosine coefficients of a smooth function fall as k⁻², those of its periodic continuation as k⁻¹.
    x = np.linspace(0.0, 1.0, 400)[:, None]
    error = {}
    for sine in (False, True):
        Phi = Fourier(20 // (1 + sine), sine=sine).fit_transform(x)
        error[sine] = np.abs(LinearRegression().fit(Phi, np.exp(x[:, 0])).predict(Phi) - np.exp(x[:, 0])).max()
    assert error[False] < 0.05 < error[True]


def test_fourier_repeats_after_its_period_to_rounding_error():
    x = np.arange(0, 86400, 3600.0)[:, None]
    basis = Fourier(3, period=86400).fit(x)
    np.testing.assert_allclose(basis.transform(x + 86400.0 * 20_000), basis.transform(x), atol=1e-13)


def test_step_is_strictly_below(X):
    basis = Step([2.5, 1.0]).fit(X)
    assert basis.transform([[1.0, 2.5]]).tolist() == [[0.0, 1.0, 0.0, 0.0]]
    assert list(basis.get_feature_names_out()) == ["x0<1", "x0<2.5", "x1<1", "x1<2.5"]


def test_learned_steps_split_the_rows_at_the_quantiles(X):
    share = Step(4).fit_transform(X).mean(axis=0)
    np.testing.assert_allclose(share.reshape(2, 4), [[0.2, 0.4, 0.6, 0.8]] * 2, atol=0.005)


def test_learned_steps_of_few_values_split_every_pair_of_them():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0], [1.0, 4.0]])
    basis = Step(9).fit(X)
    assert list(basis.get_feature_names_out()) == ["x0<0.5", "x1<1.5", "x1<3"]
    # A rare value isn't lost to ties.
    rare = np.r_[np.zeros(99), 1.0][:, None]
    assert Step(3).fit(rare).thresholds_.tolist() == [0.5]


def test_step_separates_neighbouring_doubles():
    low = 1.0
    high = np.nextafter(low, 2.0)
    assert Step(1).fit_transform([[low], [high]]).ravel().tolist() == [1.0, 0.0]
    assert Step(1).fit_transform([[-1e308], [1e308]]).ravel().tolist() == [1.0, 0.0]


def test_steps_fit_a_piecewise_constant_function_exactly():
    x = np.linspace(0, 1, 50)[:, None]
    y = np.where(x[:, 0] < 0.3, 2.0, np.where(x[:, 0] < 0.7, -1.0, 5.0))
    Phi = Step([0.3, 0.7]).fit_transform(x)
    np.testing.assert_allclose(LinearRegression().fit(Phi, y).predict(Phi), y, atol=1e-12)


@pytest.mark.parametrize(
    ("basis", "message"),
    [(Step(2.5), r"thresholds must be a number of points \(int\), a list .* such as \[2.5\].*got 2.5"),
     (Step(0), "thresholds must be a whole number of at least 1; got 0"),
     (Step([]), "thresholds must be"),
     (Step(["low"]), "thresholds must be"),
     (Step([np.inf]), "thresholds must be finite"),
     (Step([[1.0, 2.0, 3.0]]), r"thresholds of shape \(1, 3\) is for 3 columns, but X has 2"),
     (Sigmoid(-1), "centers must be a whole number of at least 1; got -1"),
     (Sigmoid("auto"), "centers must be"),
     (Sigmoid(slope=-1.0), "slope must be a positive finite number or 'auto'; got -1.0"),
     (Sigmoid(np.arange(60_000)), "Sigmoid makes 120,000 columns.*ask for fewer centers"),
     (Fourier(0), "n_frequencies must be a whole number of at least 1; got 0"),
     (Fourier(60_000), "Fourier on 2 columns makes 120,000 columns.*lower n_frequencies"),
     (Fourier(period=0), "period must be 'auto', a positive number, or one for each column; got 0"),
     (Fourier(period="year"), "period must be 'auto'"),
     (Fourier(period=[1.0, 2.0, 3.0]), "period has 3 numbers, but X has 2 columns"),
     (Fourier(sine="no"), "sine must be one of 'auto', True, False; got 'no'")],
)  # fmt: skip
def test_wrong_arguments_are_named(basis, message):
    with pytest.raises(ValueError, match=message):
        basis.fit(np.random.default_rng(0).normal(size=(2000, 2)))


def test_nothing_to_split_is_said():
    with pytest.raises(ValueError, match=r"every column is constant \(n_samples = 2\); give the thresholds as a list"):
        Step(3).fit([[1.0], [1.0]])
