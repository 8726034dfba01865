"""Tables at the edge: units beyond all measure, targets without noise or without variation, few rows, many columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tests.sparse.test_spike_slab import SLABS, data, each_slab

from credo.core.estimator import FitWarning
from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor
from credo.sparse._design import Design
from credo.sparse._models import ModelPrior

UNITS = [(1e-65, 1.0), (1e65, 1.0), (1.0, 1e-65), (1e65, 1e-65), (1e-65, 1e65)]


@each_slab
@pytest.mark.parametrize(("y_unit", "x_unit"), UNITS)
def test_units_beyond_all_measure_change_nothing(options, y_unit, x_unit):
    if "slab_variance" in options:
        options = {**options, "slab_variance": 0.5 * (y_unit / x_unit) ** 2, "noise_variance": 0.6 * y_unit**2}
    plain = {key: value if key in ("slab", "g") else {"slab_variance": 0.5, "noise_variance": 0.6}[key]
             for key, value in options.items()}  # fmt: skip
    X, y = data(20, 4)
    one, two = SpikeSlabRegressor(**plain).fit(X, y), SpikeSlabRegressor(**options).fit(X * x_unit, y * y_unit)
    assert_allclose(two.inclusion_probabilities_, one.inclusion_probabilities_, rtol=1e-9)
    assert_allclose(two.coef_ * (x_unit / y_unit), one.coef_, rtol=1e-8)
    assert_allclose(two.coef_std_ * (x_unit / y_unit), one.coef_std_, rtol=1e-8)
    assert_allclose(two.predict_dist(X * x_unit).std / y_unit, one.predict_dist(X).std, rtol=1e-8)


def test_numbers_of_extreme_size_are_refused():
    X, y = data(20, 3)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"the largest absolute value in column b of X is \S*e\+20\d, outside"):
        SpikeSlabRegressor().fit(table * [1, 1e200, 1], y)
    with pytest.raises(ValueError, match=r"the largest absolute value in column a of X is \S*e-\d+, outside"):
        SpikeSlabRegressor().fit(table * [1e-200, 1, 1], y)
    with pytest.raises(ValueError, match=r"the largest absolute value in y is .*e-150"):
        SpikeSlabRegressor().fit(table, y * 1e-150)


@each_slab
@pytest.mark.parametrize("value", [0.0, 3.0, -1e-69])
def test_a_target_that_does_not_vary_is_said(options, value):
    X, _ = data(12, 3)
    with pytest.warns(FitWarning, match=r"y is constant \(.* up to rounding\): there is nothing"):
        model = SpikeSlabRegressor(**options).fit(X, np.full(12, value))
    with pytest.warns(FitWarning, match="y is constant"):
        other = SpikeSlabRegressor(**options).fit(X, np.full(12, value + 1.0))
    # Nothing but priors and columns decides.
    assert_allclose(model.inclusion_probabilities_, other.inclusion_probabilities_, rtol=1e-6)
    assert_allclose(model.predict(X), value, rtol=1e-12)
    assert (model.predict_dist(X).std > 0).all()


@pytest.mark.parametrize("options", SLABS[:4], ids=str)
def test_a_target_that_columns_reproduce_is_said(options):
    X, _ = data(30, 5)
    table = pd.DataFrame(X, columns=list("abcde"))
    with pytest.warns(FitWarning, match="columns b, d reproduce y exactly, up to rounding, so the noise"):
        model = SpikeSlabRegressor(**options).fit(table, 3 + 2 * X[:, 1] - X[:, 3])
    assert model.map_model_ == (1, 3)
    assert_allclose(
        model.predict(table), 3 + 2 * X[:, 1] - X[:, 3], rtol=0.05 if options["slab"] == "g" else 1e-9, atol=0.2
    )


def test_close_fits_keep_their_digits():
    """What is left of y, a share of 1e-18 of its square, is still least squares'."""
    rng = np.random.default_rng(0)
    X, e = rng.normal(size=(30, 3)), rng.normal(size=30)
    left = e - np.column_stack([np.ones(30), X]) @ np.linalg.lstsq(np.column_stack([np.ones(30), X]), e)[0]
    for size in (1e-7, 1e-9):
        y = X[:, 0] + size * left
        model = SpikeSlabRegressor(0.3).fit(X, y)
        rest = size**2 * (left @ left) / np.sum((y - y.mean()) ** 2)
        expected = -15 * np.log(rest) - 0.5 * np.log(30) + np.log(0.3 / 0.7)
        empty, alone = model.log_scores([[], [0]])
        assert_allclose(alone - empty, expected, rtol=1e-6)
        assert_allclose(model.posterior_.log_evidence[0] + np.log(0.3 * 0.7**2), alone, rtol=1e-6)


@each_slab
def test_three_rows_have_an_answer(options):
    X, y = data(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = SpikeSlabRegressor(**options).fit(X, y)
    assert_allclose(model.posterior_.probability.sum(), 1.0)
    if options["slab"] != "normal":
        # One row is for the mean, one for the noise: single columns are all that three rows bear.
        assert sorted(model.posterior_.models) == [(), (0,), (1,)]
        assert "2 columns and 3 rows: models of more than 1 column have no evidence" in model.result_.message
    lower, upper = model.predict_dist(X).interval(0.9)
    assert np.isfinite(lower).all() and np.isfinite(upper).all() and (lower < upper).all()


def test_wide_tables_are_answered_with_a_word():
    X, y = data(8, 10)
    model = SpikeSlabRegressor(0.1, slab="g").fit(X, y)
    assert "10 columns and 8 rows: models of more than 6 columns have no evidence" in model.result_.message
    with pytest.warns(FitWarning, match=r"the BIC is valid only for .* overfits.* prior_inclusion=\(1, 10\)"):
        SpikeSlabRegressor().fit(X, y)


def test_what_the_words_about_the_bic_advise_helps():
    rng = np.random.default_rng(0)
    wrong = {"bic": 0.0, "g": 0.0, "zellner-siow": 0.0}
    for _ in range(6):
        X = rng.normal(size=(16, 14))
        y = 3 * X[:, 0] + rng.normal(size=16)
        with pytest.warns(FitWarning, match='Use slab="g" or "zellner-siow" with prior_inclusion="beta-binomial"'):
            wrong["bic"] += SpikeSlabRegressor().fit(X, y).inclusion_probabilities_[1:].sum() / 6
        for slab in ("g", "zellner-siow"):
            model = SpikeSlabRegressor("beta-binomial", slab=slab).fit(X, y)
            assert model.inclusion_probabilities_[0] > 0.9
            wrong[slab] += model.inclusion_probabilities_[1:].sum() / 6
    # Of thirteen columns of noise the BIC takes in most, for there are nearly as many columns as rows.
    assert wrong["bic"] > 6.5 and wrong["g"] < 3 and wrong["zellner-siow"] < 3


def test_columns_that_do_not_vary_leave_one_model():
    with pytest.warns(FitWarning):
        model = SpikeSlabRegressor(search="gibbs").fit(np.ones((30, 3)), np.arange(30.0))
    assert model.map_model_ == () and model.predict(np.ones((1, 3)))[0] == pytest.approx(14.5)


@each_slab
def test_close_fits_have_laws_that_scale_with_their_noise(options):
    """A tenth of the noise is a tenth of every width, down to what a double can tell; but fixed slabs shrink."""
    rng = np.random.default_rng(0)
    X, e = rng.normal(size=(40, 3)), rng.normal(size=40)
    found = []
    for level in (1e-3, 1e-7, 1e-9):
        model = SpikeSlabRegressor(1e-3, **options).fit(X, 2 * X[:, 0] + level * e)
        law = model.predict_dist(X[:1])
        ends, own = law.interval(0.68), model.coefficient(0).interval(0.68)
        widths = [model.coef_std_[0], model.intercept_std_, law.std[0], (ends[1] - ends[0])[0], own[1] - own[0]]
        scales = options["slab"] in ("bic", "zellner-siow")
        found.append(np.array(widths) / (level if scales else 1.0))
    assert_allclose(found[1], found[0], rtol=1e-3)
    assert_allclose(found[2], found[0], rtol=1e-3)


def test_few_rows_and_many_expected_columns_are_said():
    with pytest.warns(
        FitWarning, match="2 rows leave 1 degree of freedom for the noise; intervals use 3, .* too narrow"
    ):
        SpikeSlabRegressor(slab="g").fit([[1.0], [2.0]], [0.0, 1.0])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    with pytest.warns(
        FitWarning, match=r"prior_inclusion=0.5 expects 30 of 60 columns in the model, which 40 rows can hardly"
    ):
        SpikeSlabClassifier(n_draws=50, random_state=0).fit(X, rng.normal(size=40) > 0)
    told = r"prior_inclusion=\(1.0, 1.0\) expects 30 of 60 columns .* use prior_inclusion=\(1, 60\)"
    with pytest.warns(FitWarning, match=told):
        SpikeSlabClassifier("beta-binomial", n_draws=50, random_state=0).fit(X, rng.normal(size=40) > 0)
    assert not ModelPrior(60, (1.0, 1.0)).messages(40) and not ModelPrior(30, (1.0, 1.0)).messages(40, beta=True)
    with pytest.raises(ValueError, match=r"slab_variance=1e\+22 is out of range"):
        SpikeSlabClassifier(slab_variance=1e22).fit(X[:, :4], X[:, 0] > 0)
    model = SpikeSlabClassifier().fit(X[:, :4], X[:, 0] + rng.normal(size=40) > 0)
    assert_allclose(model.predict_proba(np.full((1, 4), 1e308)).sum(), 1.0)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("seed", range(2))
def test_nearly_copies_that_reproduce_weighted_rows(seed):
    """Nine rows that count as more, and columns each of which differs from the one before by a billionth or more: eight
    of them leave nothing of y but rounding errors, by which no model may be chosen."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(9, 9)) * 10.0 ** -rng.uniform(0, 8, size=9), axis=1) + rng.normal(size=(9, 1))
    y, weight = X[:, 0] + 0.3 * rng.normal(size=9), rng.uniform(0.5, 4.0, size=9)
    assert Design.of(X, y, weight).n_rows == 9
    assert Design.of(X, y, weight).one_minus_r2(range(8)) == 0.0
    # Of seven columns, some of y is left.
    assert Design.of(X[:, :7], y, weight).n_rows == np.inf
    fits = [
        SpikeSlabRegressor(0.1, slab="g", search=search, n_draws=2000, random_state=seed).fit(
            X, y, sample_weight=weight
        )
        for search in ("enumerate", "gibbs")
    ]
    one, other = (fit.posterior_ for fit in fits)
    assert max(map(len, one.models + other.models)) <= 7
    gap = np.abs(one.inclusion - other.inclusion)
    assert (gap <= 4 * other.diagnostics["inclusion_error"]).all()
    assert one.log_mass - 0.1 < other.log_mass < one.log_mass + 1e-6
