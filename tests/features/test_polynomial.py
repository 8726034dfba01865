"""Monomials: scikit-learn's columns, exact names, and an axis that double precision can carry."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial import polynomial as P
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from credo.core.estimator import FitWarning
from credo.features import Polynomial


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 3))


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_columns_and_names_are_those_of_scikit_learn(X, degree):
    ours, theirs = Polynomial(degree).fit(X), PolynomialFeatures(degree, include_bias=False).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-14)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


def test_constant_column_comes_first_on_request(X):
    ours = Polynomial(3, include_constant=True).fit(X)
    np.testing.assert_allclose(ours.transform(X), PolynomialFeatures(3).fit_transform(X), rtol=1e-14)
    assert list(ours.get_feature_names_out()) == list(PolynomialFeatures(3).fit(X).get_feature_names_out())


def test_pure_powers_without_interactions(X):
    basis = Polynomial(3, interactions=False).fit(X)
    np.testing.assert_allclose(basis.transform(X), np.hstack([X, X**2, X**3]), rtol=1e-15)
    assert list(basis.get_feature_names_out(["a", "b", "c"])[[0, 3, 8]]) == ["a", "a^2", "c^3"]


@pytest.mark.parametrize("interactions", [True, False])
@pytest.mark.parametrize(("lowest", "degree"), [(2, 2), (2, 4), (3, 4), (4, 4)])
def test_lowest_degree_drops_columns_and_nothing_else(X, lowest, degree, interactions):
    part = Polynomial(degree, min_degree=lowest, interactions=interactions).fit(X)
    whole = Polynomial(degree, interactions=interactions).fit(X)
    names = list(whole.get_feature_names_out())
    kept = [names.index(name) for name in part.get_feature_names_out()]
    np.testing.assert_array_equal(part.transform(X), whole.transform(X)[:, kept])
    degrees = [sum(int(k or 1) for _, k in re.findall(r"(x\d)(?:\^(\d))?", name)) for name in names]
    assert kept == [i for i, d in enumerate(degrees) if d >= lowest]


def test_quadratic_map_of_the_course():
    # (x₁², x₁x₂, x₂²): a circle becomes a plane.
    basis = Polynomial(2, min_degree=2).fit([[1.0, 2.0]])
    np.testing.assert_array_equal(basis.transform([[3.0, 5.0]]), [[9.0, 15.0, 25.0]])
    assert list(basis.get_feature_names_out()) == ["x0^2", "x0 x1", "x1^2"]


def test_degree_ten_on_years_recovers_the_polynomial():
    rng = np.random.default_rng(1)
    years = np.linspace(1900, 2000, 101)
    weights = rng.normal(size=11)
    t = (years - 1950) / 50
    model = make_pipeline(Polynomial(10), LinearRegression())
    model.fit(pd.DataFrame({"year": years}), P.polyval(t, weights))
    np.testing.assert_allclose(model[-1].coef_, weights[1:], rtol=1e-8)
    between = np.linspace(1900, 2000, 777)
    truth = P.polyval((between - 1950) / 50, weights)
    fitted = model.predict(pd.DataFrame({"year": between}))
    assert np.abs(fitted - truth).max() < 1e-8 * np.abs(truth).max()
    assert model[0].get_feature_names_out()[2] == "((year-1950)/50)^3"


def test_raw_powers_of_years_do_lose_the_answer():
    # The reason for scale="auto": without it the same fit keeps no digit of the weights.
    years = np.linspace(1900, 2000, 101)[:, None]
    Phi = Polynomial(10, scale=False, include_constant=True).fit_transform(years)
    assert np.linalg.matrix_rank(Phi / np.linalg.norm(Phi, axis=0)) < 11


@pytest.mark.parametrize(
    ("low", "high", "degree", "raw"),
    [(-9, -3, 10, True), (-8.781464495, -3.13200249, 10, True), (1900, 2000, 3, True),
     (1900, 2000, 10, False), (0, 1, 10, True), (-1e6, 1e6, 10, True),
     (0, 1e40, 5, False), (0, 1e-40, 5, False), (-1, 1, 10, True)],
)  # fmt: skip
def test_axis_is_mapped_only_when_it_must_be(low, high, degree, raw):
    basis = Polynomial(degree).fit(np.linspace(low, high, 50)[:, None])
    assert (basis.centers_[0] == 0 and basis.half_ranges_[0] == 1) == raw


def test_each_column_is_judged_by_itself():
    X = np.column_stack([np.linspace(1900, 2000, 40), np.linspace(-2, 2, 40) ** 3])
    basis = Polynomial(10, interactions=False).fit(X)
    assert list(basis.get_feature_names_out(["year", "dose"])[:4]) == [
        "((year-1950)/50)", "dose", "((year-1950)/50)^2", "dose^2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high"), [(1900.37, 2003.12), (-7.001, -6.999), (1e9, 1e9 + 3), (-5, 5e-7), (1e-9, 3e-9)]
)
def test_scaled_names_are_exact_formulas(low, high):
    x = np.linspace(low, high, 20)
    basis = Polynomial(3, scale=True).fit(x[:, None])
    name = basis.get_feature_names_out(["v"])[2]
    shift, half = re.fullmatch(r"\(\(v([+-][\d.e+-]+)\)/([\d.e+-]+)\)\^3", name).groups()
    t = (x + float(shift)) / float(half)
    np.testing.assert_allclose(basis.transform(x[:, None])[:, 2], t**3, rtol=1e-13)
    # Rounding to short names costs nothing: the axis still ends at about ±1.
    assert 0.97 < np.abs(t).max() < 1.01


def test_scale_true_of_a_constant_column_is_zero_and_finite():
    np.testing.assert_array_equal(Polynomial(2, scale=True).fit_transform([[3.0], [3.0]]), np.zeros((2, 2)))


@pytest.mark.parametrize("interactions", [True, False])
def test_absurd_widths_are_refused_at_once(interactions):
    X = np.zeros((2, 2000))
    with pytest.raises(
        ValueError, match=r"Polynomial of degree 60 on 2000 columns makes [\d,]+ columns.*lower the degree"
    ):
        Polynomial(60, interactions=interactions).fit(X)


def test_width_that_is_announced_is_the_width_that_comes():
    for p, degree, lowest in product((1, 2, 4), (1, 3), (1, 2)):
        if lowest <= degree:
            basis = Polynomial(degree, min_degree=lowest).fit(np.ones((2, p)))
            assert basis.transform(np.ones((2, p))).shape[1] == len(basis.get_feature_names_out())


def test_overflow_is_an_error_in_words():
    with pytest.raises(ValueError, match=r"row 1 overflows at degree 3: column x0 is 1e\+200 there; scale='auto' maps"):
        Polynomial(3, scale=False).fit_transform([[1.0], [1e200]])
    with pytest.raises(ValueError, match="far outside the training range"):
        Polynomial(3).fit([[1.0], [2.0]]).transform([[1e200]])
    assert np.isfinite(Polynomial(3).fit_transform([[1.0], [1e200]])).all()


def test_hopeless_degree_is_said():
    with pytest.warns(FitWarning, match="degree 50 are numerically collinear even on"):
        Polynomial(50).fit(np.linspace(0, 1, 20)[:, None])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"degree": 0}, "degree must be a whole number of at least 1; got 0"),
     ({"degree": 2.5}, "degree must be a whole number"),
     ({"min_degree": 3}, "min_degree must not be above degree, 2; got 3"),
     ({"scale": "yes"}, "scale must be one of 'auto', True, False; got 'yes'"),
     ({"interactions": None}, "interactions must be one of True, False")],
)  # fmt: skip
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Polynomial(**arguments).fit(np.ones((3, 2)))


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"interactions": False}, {"min_degree": 2}])
def test_inside_the_training_range_the_rule_for_extrapolation_changes_nothing(X, options):
    plain, safe = Polynomial(3, **options).fit(X), Polynomial(3, extrapolation="linear", **options).fit(X)
    np.testing.assert_array_equal(safe.transform(X), plain.transform(X))
    between = np.random.default_rng(8).uniform(X.min(axis=0), X.max(axis=0), size=(20, 3))
    np.testing.assert_array_equal(safe.transform(between), plain.transform(between))


@pytest.mark.parametrize("constant", [True, False])
def test_beyond_the_range_polynomials_continue_along_their_tangent(X, constant):
    safe = Polynomial(4, extrapolation="linear", include_constant=constant).fit(X)
    plain = Polynomial(4, include_constant=constant).fit(X)
    outside = X * 20
    edge = np.clip(outside, X.min(axis=0), X.max(axis=0))
    way, h = outside - edge, 1e-6
    # The slope of each term in the direction away from the edge, by finite differences.
    slope = (plain.transform(edge + h * way) - plain.transform(edge - h * way)) / (2 * h)
    np.testing.assert_allclose(safe.transform(outside), plain.transform(edge) + slope, rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(safe.transform(outside)[:, constant : constant + 3], outside, rtol=1e-13)
    # No jump and no bend at the edge.
    np.testing.assert_allclose(safe.transform(edge + 1e-9 * way), safe.transform(edge), atol=1e-5)


def test_columns_with_two_values_have_no_powers_on_request():
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50)])
    names = Polynomial(2, binary_powers=False).fit(rows).get_feature_names_out()
    assert names.tolist() == ["x0", "x1", "x0^2", "x0 x1"]
    assert Polynomial(2).fit(rows).get_feature_names_out().tolist() == [*names, "x1^2"]
    spread = Polynomial(2, binary_powers=False, extrapolation="linear").fit(rows)
    np.testing.assert_allclose(spread.transform(rows)[:, 3], rows[:, 0] * rows[:, 1])


@pytest.mark.parametrize("n_wild", [0, 1])
def test_wild_values_do_not_ruin_predictions(n_wild):
    # A length of 58.9 among lengths up to 10, as in a well-known table of diamonds; a second one may be in the fit.
    rng = np.random.default_rng(5)
    x = rng.uniform(4, 10, size=(300, 1))
    y = 2.0 * x[:, 0] ** 3 + rng.normal(size=300)
    x[:n_wild] = 31.8
    error = {}
    for rule in ("continue", "linear"):
        model = make_pipeline(Polynomial(3, extrapolation=rule), LinearRegression()).fit(x, y)
        error[rule] = abs(model.predict([[58.9]])[0] - 2000)
    assert error["linear"] < 0.1 * error["continue"]


def test_rare_levels_and_skewed_columns_are_no_outliers():
    rare, doses = np.zeros(1000), np.geomspace(1, 2.0**19, 1000)
    rare[0] = 1.0
    safe = Polynomial(2, extrapolation="linear").fit(np.column_stack([rare, doses]))
    assert safe.high_[0] == 1.0
    assert safe.high_[1] > 0.9 * 2.0**19
    few = Polynomial(2, extrapolation="linear").fit([[0.0], [1.0], [50.0]])
    assert (few.low_[0], few.high_[0]) == (0.0, 50.0)


def test_an_unknown_rule_for_extrapolation_raises(X):
    with pytest.raises(ValueError, match="extrapolation must be"):
        Polynomial(2, extrapolation="clip").fit(X)
