"""The search for a kernel: what it finds in made-up series, its words, and its additive decomposition."""

from time import monotonic, process_time

import numpy as np
import pandas as pd
import pytest

import credo
from credo.core.deadlines import TimeUp, until
from credo.gp import GPRegressor
from credo.kernels import RBF, Linear, Matern32, Periodic, ZeroMeanPeriodic
from credo.selection import _kernel_search, search_kernel
from credo.selection._kernel_moves import Axis, Column, joined, likely_periods, terms_of, words
from credo.selection._kernel_search import result_of

YEARS = np.linspace(2000.0, 2006.0, 61)
TREND_AND_CYCLE = 2.0 * (YEARS - 2000) + 1.5 * np.sin(2 * np.pi * YEARS)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"when": YEARS})
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel_search, "_TRIAL_EVALUATIONS", 10)
        patch.setattr(_kernel_search, "_N_FINALISTS", 2)
        y = TREND_AND_CYCLE + 0.2 * rng.normal(size=61)
        result = search_kernel(frame, y, budget=600, progress=lambda *given: said.append(given))
    return result, said


def test_a_trend_and_a_yearly_cycle_are_found_and_named(found):
    result, said = found
    text = [component.words for component in result.components]
    assert any("rising" in each and "trend" in each for each in text)
    assert any("a yearly cycle" in each for each in text)
    assert result.noise_std == pytest.approx(0.2, rel=0.3)
    assert all(component.words in result.description for component in result.components)
    # The penalty: half of ln n for each parameter, one and a half for a period.
    step = max(result.steps, key=lambda step: step.score)
    n_periods = sum(name.endswith("period") for name in step.kernel.names)
    penalty = 0.5 * np.log(61) * (len(step.kernel.names) + 2 * n_periods)
    assert step.log_evidence - step.score == pytest.approx(penalty)
    assert step.score == result.table.columns["penalized"][0]
    # The rows searched are all rows, so the final fit can't be worse.
    assert result.model.log_evidence_ > step.log_evidence - 0.5
    assert said[0][0].startswith("round 1") and said[-1][0] == "fit on all rows" and said[0][2] == 600
    assert result.description in str(result) and "kernels tried" in str(result)


def test_components_and_a_constant_add_up_to_the_prediction(found):
    result = found[0]
    rows = pd.DataFrame({"when": np.linspace(1999.0, 2008.0, 40)})
    parts = result.decompose(rows)
    rest = result.model.predict(rows) - sum(part.mean for part in parts)
    np.testing.assert_allclose(rest, rest[0], atol=1e-6)
    fitted = result.model.predict(pd.DataFrame({"when": YEARS}))
    y = result.model.y_train_
    residuals = np.cov(y - fitted, y)[0, 1] / y.var(ddof=1)
    assert sum(component.share for component in result.components) + residuals == pytest.approx(1.0)


def test_the_variance_of_a_component_by_joint_gaussian_conditioning():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(12, 1)), np.array([[0.3], [2.0]])
    kernel = RBF(0.7, variance=2.0) + Matern32(2.0, variance=0.5)
    model = GPRegressor(kernel, hyperparameters="fixed", standardize=False, noise=0.1).fit(X, np.sin(X[:, 0]))
    part = result_of(model, (), seconds=0.0, out_of_time=False)
    X = model.X_train_
    dists = dict(zip([c.kernel for c in part.components], part.decompose(Z), strict=True))
    # A flat constant is one of a huge variance.
    C = kernel.gram(X) + 1e6 + 0.1 * np.eye(12)
    # Components minus their average over the training rows.
    centered = np.hstack([np.eye(2), np.full((2, 12), -1 / 12)])
    for own in kernel.terms:
        prior = own.gram(np.vstack([Z, X]))
        gain = centered @ np.linalg.solve(C, prior[2:]).T
        np.testing.assert_allclose(dists[own].mean, gain @ model.y_train_, atol=1e-5)
        cov = centered @ prior @ centered.T - gain @ prior[2:] @ centered.T
        np.testing.assert_allclose(dists[own].std, np.sqrt(np.diag(cov)), atol=1e-5)


def test_noise_has_no_structure():
    y = np.random.default_rng(3).normal(size=40)
    result = search_kernel(np.arange(40.0)[:, None], y)
    assert result.components == ()
    assert result.description.startswith("No structure found beyond noise, which has a standard deviation of ")
    assert result.noise_std == pytest.approx(y.std(), rel=0.1)
    np.testing.assert_allclose(result.model.predict([[3.0], [99.0]]), y.mean())


def test_each_of_several_columns_gets_its_own_component():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(60, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel_search, "_TRIAL_EVALUATIONS", 8)
        patch.setattr(_kernel_search, "_MAX_ROUNDS", 1)
        result = search_kernel(X, 0.5 * X[:, 1] + 0.1 * rng.normal(size=60))
    (component,) = result.components
    assert component.columns == (1,)
    assert component.words == "a rising linear trend in x1"


def test_the_budget_ends_the_search_and_keeps_what_it_has():
    begin = process_time()
    result = search_kernel(YEARS[:, None], TREND_AND_CYCLE, budget=0.05)
    # Where nothing is compiled yet, that takes most of the time.
    assert process_time() - begin < 30.0
    assert "ran out of time" in result.description
    # A deadline of the caller is the caller's.
    with pytest.raises(TimeUp), until(monotonic() - 1.0):
        search_kernel(YEARS[:, None], TREND_AND_CYCLE, budget=0.05)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Linear(center=2003.0), "a rising linear trend"),
        (Linear(center=2003.0) * Linear(center=2003.0), "a rising quadratic trend"),
        (ZeroMeanPeriodic(period=1.003), "a yearly cycle"),
        (Periodic(period=1 / 12), "a monthly cycle"),
        (Periodic(period=11.1), "a cycle with a period of 11.1 years"),
        (Periodic(period=1.0) * RBF(40.0), "a yearly cycle whose shape drifts over about 40 years"),
        (Periodic(period=1.0) * Linear(center=1990.0), "a yearly cycle whose amplitude grows"),
        (Periodic(period=1.0) * Linear(center=2010.0), "a yearly cycle whose amplitude shrinks"),
        (RBF(4.0), "a smooth rising trend that bends over about 4 years"),
        (Matern32(0.7), "irregular variation over about 0.7 years"),
        (RBF(0.1), "smooth short-term deviations that last about 0.1 years"),
        (
            Periodic(period=1.0) * RBF(80.0) * Linear(center=1990.0),
            "a yearly cycle whose shape drifts over much more than the range of when and whose amplitude grows",
        ),
    ],
)
def test_kernels_in_words(term, expected):
    assert words(term, [Axis.of("when", YEARS)], YEARS[:, None], YEARS - 2003) == expected


@pytest.mark.parametrize(
    ("name", "period", "expected"),
    [
        ("day", 365.25, "a yearly cycle"), ("days since start", 7.0, "a weekly cycle"),
        ("month", 12.0, "a yearly cycle"), ("hour", 24.0, "a daily cycle"),
        ("depth", 12.0, "a cycle with a period of 12"),
        ("quarter", 4.0, "a yearly cycle"),
    ],
)  # fmt: skip
def test_named_periods_by_the_unit_of_the_column(name, period, expected):
    assert Axis.of(name, np.arange(100.0)).cycle(period) == expected


def test_an_interaction_names_both_columns():
    axes = [Axis.of("year", YEARS), Axis.of("dose", np.arange(10.0))]
    X = np.column_stack([YEARS, np.linspace(0, 9, 61)])
    text = words(Periodic(period=1.0).on(0) * RBF(4.0).on(1), axes, X, YEARS)
    assert text == "a yearly cycle in year, which changes with dose (slow smooth variation over about 4)"


def test_periodograms_of_irregular_rows_show_the_period():
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 40, 90))
    best = likely_periods(x, np.sin(2 * np.pi * x / 3.7) + 0.3 * rng.normal(size=90))[0]
    assert best == pytest.approx(3.7, rel=0.03)
    assert likely_periods(x[:5], x[:5]) == []


def test_one_variance_of_a_product_is_free():
    X = np.column_stack([YEARS, YEARS**2])
    columns = [Column.of(X, TREND_AND_CYCLE, j) for j in range(2)]
    term = [2.0 * RBF(1.0).on(0), 3.0 * RBF(2.0).on(1), columns[0].line(2000.0)]
    kernel = joined([term], columns)
    assert [name for name in kernel.names if "variance" in name] == ["rbf.variance"]
    np.testing.assert_allclose(kernel.gram(X), (term[0] * term[1] * term[2]).gram(X))
    assert len(terms_of(kernel)) == 1 and len(terms_of(kernel)[0]) == 3


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[1.0], [2.0]], [1.0, 2.0], {"budget": 0}, "budget must be a positive number of seconds; got 0"),
        ([[1.0], [2.0]], [[1.0, 2.0], [2.0, 3.0]], {}, "single target"),
        ([[1.0], [np.nan]], [1.0, 2.0], {}, "NaN"),
        ([[1.0], [2.0]], ["a", "b"], {}, "."),
    ],
)
def test_bad_input_raises_errors(X, y, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        search_kernel(X, y, **options)


@pytest.mark.parametrize(
    ("X", "y"),
    [(np.arange(6.0)[:, None], np.ones(6)), (np.ones((6, 1)), np.arange(6.0)), ([[1.0], [2.0]], [1.0, 3.0])],
    ids=["constant target", "constant column", "two rows"],
)
def test_tables_without_anything_to_find(X, y):
    assert credo.search_kernel(X, y).components == ()


@pytest.mark.slow
def test_co2_has_a_trend_and_a_yearly_cycle_and_its_last_years_are_forecast():
    series = pytest.importorskip("statsmodels.datasets").co2.load_pandas().data["co2"].resample("MS").mean().dropna()
    x = (series.index.year + (series.index.dayofyear - 15) / 365.25).to_numpy(dtype=float)
    y, train = series.to_numpy(), x < x.max() - 10
    result = search_kernel(x[train, None], y[train], budget=300)
    assert "trend" in result.components[0].words
    assert any("a yearly cycle" in component.words for component in result.components)
    low, high = result.model.predict_dist(x[~train, None]).interval(0.95)
    assert 0.9 <= np.mean((low <= y[~train]) & (y[~train] <= high)) <= 1.0
