"""Comparisons against loops written out by hand, and what happens when a model fails."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse, stats
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from credo.core.notices import warn
from credo.distributions import Normal
from credo.linear import BayesianLinearRegression, LinearRegression
from credo.metrics import point, predictive
from credo.selection import Comparison, HeldOut, Score, compare, gap


class Average(BaseEstimator):
    """Predicts the mean and the spread of what it has seen."""

    def fit(self, X, y):
        self.mean_, self.std_ = np.mean(y), np.std(y) + 1.0
        return self

    def predict_dist(self, X):
        n = np.shape(X)[0]
        return Normal(np.full(n, self.mean_), np.full(n, self.std_))


class Witness(Average):
    """Predicts 1 for rows that it was fitted on and 0 for others, told apart by their first column."""

    def fit(self, X, y):
        self.seen_ = set(np.asarray(X)[:, 0].tolist())
        return self

    def predict_dist(self, X):
        return Normal([float(x in self.seen_) for x in np.asarray(X)[:, 0].tolist()], np.ones(len(X)))


class Constant(Average):
    """Predicts zero, exactly as sure of it as the outcomes are large."""

    def fit(self, X, y):
        self.mean_, self.std_ = 0.0, np.abs(y).max()
        return self


class Broken(Average):
    """Fails in the fit on all `n_all` rows, in every fit, or predicts no number."""

    def __init__(self, n_all=None, nan=False):
        self.n_all = n_all
        self.nan = nan

    def fit(self, X, y):
        if not self.nan and self.n_all in (None, len(y)):
            raise RuntimeError("the matrix\nis singular")
        return super().fit(X, y)

    def predict_dist(self, X):
        return _NotANumber(np.zeros(len(X)), np.ones(len(X))) if self.nan else super().predict_dist(X)


class _NotANumber(Normal):
    def _log_prob(self, y):
        return np.full(len(y), np.nan)


class Noisy(Average):
    """Predicts by a draw."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        super().fit(X, y)
        self.mean_ += np.random.default_rng(self.random_state).normal()
        return self


@pytest.fixture
def table():
    rng = np.random.default_rng(11)
    X = np.column_stack([np.arange(24.0), rng.normal(size=24)])
    return X, 0.5 * X[:, 0] + rng.normal(size=24)


def test_leave_one_out_equals_the_loop_by_hand(table):
    X, y = table
    comparison = compare({"average": Average()}, X, y, cv=len(y), random_state=0)
    rest = [np.delete(y, i) for i in range(len(y))]
    oracle = stats.norm([r.mean() for r in rest], [r.std() + 1 for r in rest])
    held = comparison.held_out["average"]
    np.testing.assert_array_equal(held.y, y)
    np.testing.assert_allclose(held.dist.mean, oracle.mean(), rtol=1e-12)
    np.testing.assert_allclose(held.dist.std, oracle.std(), rtol=1e-12)
    np.testing.assert_allclose(held.dist.interval(0.95), oracle.interval(0.95), rtol=1e-10)
    np.testing.assert_allclose(held.dist.cdf(y), oracle.cdf(y), rtol=1e-10)
    np.testing.assert_allclose(held.log_score, oracle.logpdf(y), rtol=1e-10)
    score = comparison["average"].held_out
    assert score["log_score"] == pytest.approx(oracle.logpdf(y).mean())
    assert score["rmse"] == pytest.approx(np.sqrt(np.mean((y - oracle.mean()) ** 2)))
    assert score["coverage"] == pytest.approx(np.mean(np.abs(y - oracle.mean()) <= 1.959964 * oracle.std()))
    z = (y - oracle.mean()) / oracle.std()
    crps = oracle.std() * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert score["crps"] == pytest.approx(crps.mean())


@pytest.mark.parametrize("cv", [2, 5, 24, 100])
def test_no_row_is_predicted_by_a_model_that_saw_it(table, cv):
    comparison = compare({"witness": Witness()}, *table, cv=cv)
    assert not comparison.held_out["witness"].dist.mean.any()
    assert comparison.fitted["witness"].seen_ == set(table[0][:, 0])


def test_folds_are_shuffled_and_nearly_equal():
    y = np.repeat([0.0, 1.0], 50)
    held = compare({"average": Average()}, np.zeros((100, 1)), y, cv=2, random_state=1).held_out["average"]
    # Unshuffled halves would predict 1 for the zeros and 0 for the ones.
    assert np.abs(held.dist.mean - 0.5).max() < 0.25
    assert np.unique(held.dist.mean).size == 2


def test_the_same_seed_gives_the_same_comparison(table):
    models = {"noisy": Noisy(), "line": LinearRegression(), "again": LinearRegression()}
    first, second = (compare(models, *table, random_state=4) for _ in range(2))
    for name in models:
        np.testing.assert_array_equal(first.held_out[name].log_score, second.held_out[name].log_score)
    assert first.fitted["noisy"].mean_ == second.fitted["noisy"].mean_
    np.testing.assert_array_equal(first.held_out["line"].log_score, first.held_out["again"].log_score)
    other = compare(models, *table, random_state=5)
    assert not np.array_equal(other.held_out["line"].log_score, first.held_out["line"].log_score)


def test_of_models_too_close_to_call_the_first_named_is_taken(table):
    X, y = table
    narrow = {"average": Average(), "line": LinearRegression(), "same line": LinearRegression()}
    comparison = compare(narrow, X, y, random_state=0)
    assert comparison.tied == ["line", "same line"] and comparison.selected == "line"
    turned = compare(dict(reversed(narrow.items())), X, y, random_state=0)
    assert turned.selected == "same line" and {score.name for score in turned.scores[-2:]} == {"average", "baseline"}


def test_a_clear_lead_needs_no_order():
    """Row by row the second model is 0.1 worse, give or take 0.02: five standard errors of 25 rows."""
    gap = np.tile([0.08, 0.12, 0.1, 0.06, 0.14], 5)
    # The log density of a standard normal is −½ z² + a constant.
    held = {
        name: HeldOut(np.sqrt(2 * shift), Normal(0 * gap, 1 + 0 * gap)) for name, shift in [("b", gap), ("a", 0 * gap)]
    }
    comparison = Comparison([Score("a"), Score("b")], held)
    assert comparison.tied == ["a"] and comparison.selected == "a"


def ahead(mean, spread):
    """Two models of 25 rows whose log scores differ by `mean`, give or take `spread`, named the worse one first."""
    shift = mean + spread * np.tile([-1.0, 1.0, 0.0, -1.0, 1.0], 5)
    # The log density of a standard normal is −½ z² + a constant.
    base = 3.0 + 0 * shift
    held = {
        name: HeldOut(np.sqrt(2 * (base + down)), Normal(0 * base, 1 + 0 * base))
        for name, down in [("simple", shift), ("rich", 0 * shift)]
    }
    return Comparison([Score("rich"), Score("simple")], held)


def test_the_gap_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 40))
    found = gap(first, second)
    assert found.mean / found.error == pytest.approx(stats.ttest_rel(first, second).statistic)


def test_an_outcome_held_impossible_is_a_clear_loss_and_equal_infinities_are_none():
    infinite = np.full(5, np.inf)
    assert gap(infinite, infinite).mean == 0.0
    assert not gap(infinite, infinite).clear
    assert gap(np.zeros(5), np.array([0.0, 0.0, -np.inf, 0.0, 0.0])).clear
    assert not gap(np.array([np.inf, 0.0]), np.array([0.0, np.inf])).clear


class Pointwise(BaseEstimator):
    """Predicts a number and no distribution."""

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


def test_a_regressor_without_distributions_has_its_rmse_and_dashes(table):
    X, y = table
    models = {"seven": Pointwise(7.0), "zero": Pointwise(), "average": Average(), "broken": Broken()}
    comparison = compare(models, X, y, random_state=0)
    assert [score.name for score in comparison.scores] == ["baseline", "average", "seven", "zero", "broken"]
    assert comparison["zero"].held_out == {"rmse": pytest.approx(np.sqrt(np.mean(y**2)))}
    assert comparison.selected == "baseline"
    assert set(comparison.held_out) == {"baseline", "average"}
    assert set(comparison.fitted) == {"baseline", "average", "seven", "zero"}
    assert comparison.measures == ("log_score", "rmse", "crps", "coverage")
    assert comparison.table().columns["log score"][2:] == [None, None, None]
    assert (
        "zero predicts numbers without uncertainty (it has no predict_dist): no log score, CRPS or "
        "95 % coverage." in comparison.notes
    )
    # Both are worse than the mean of the other rows; a number that is close to each row is not.
    assert compare({"zero": Pointwise(), "seven": Pointwise(7.0)}, X, y).selected == "baseline"
    close = compare({"zero": Pointwise(), "seven": Pointwise(7.0)}, X, 7.0 + 1e-9 * y)
    assert close.selected in ("baseline", "seven")


def test_a_seed_that_the_user_set_is_kept(table):
    models = {"a": Noisy(random_state=1), "pipe": make_pipeline(StandardScaler(), Noisy())}
    comparison = compare(models, *table, random_state=4)
    assert comparison.fitted["a"].random_state == 1
    assert comparison.fitted["pipe"][-1].random_state is not None
    assert models["pipe"][-1].random_state is None


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: pd.DataFrame(X, columns=["a", "b"], index=np.arange(24)[::-1] + 100),
        lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        lambda X: X.tolist(),
        sparse.csr_array,
    ],
    ids=["pandas", "polars", "lists", "sparse"],
)
def test_every_kind_of_table_gives_the_same_answer(table, convert):
    X, y = table
    models = {"bayes": BayesianLinearRegression()}
    expected = compare(models, X, y, random_state=0).held_out["bayes"]
    found = compare(models, convert(X), pd.Series(y, index=np.arange(24)[::-1]), random_state=0)
    assert found.scores[0].error is None
    np.testing.assert_allclose(found.held_out["bayes"].dist.mean, expected.dist.mean, rtol=1e-6)
    np.testing.assert_allclose(found.held_out["bayes"].dist.interval(), expected.dist.interval(), rtol=1e-5)


def test_the_fit_on_all_rows_brings_the_evidence(table):
    X, y = table
    pipe = make_pipeline(StandardScaler(), BayesianLinearRegression())
    comparison = compare({"pipe": pipe, "bayes": BayesianLinearRegression(), "line": LinearRegression()}, X, y)
    score = {score.name: score for score in comparison.scores}
    direct = BayesianLinearRegression().fit(X, y)
    assert score["bayes"].log_evidence == pytest.approx(direct.log_evidence_, rel=1e-12)
    assert score["bayes"].evidence_method == direct.evidence_method_
    inner = BayesianLinearRegression().fit(StandardScaler().fit_transform(X), y)
    assert score["pipe"].log_evidence == pytest.approx(inner.log_evidence_, rel=1e-9)
    assert score["line"].log_evidence is None
    assert all(s.seconds > 0 for s in comparison.scores)
    np.testing.assert_allclose(comparison.fitted["bayes"].coef_, direct.coef_, rtol=1e-12)
    with pytest.raises(NotFittedError):
        check_is_fitted(pipe)


def test_a_line_beats_the_average_on_a_line(table):
    comparison = compare({"average": Average(), "line": LinearRegression()}, *table, random_state=0)
    assert comparison.selected == "line"
    assert [score.name for score in comparison.scores] == ["line", "baseline", "average"]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Broken(), "RuntimeError: the matrix is singular (in fold 1 of 5)"),
        (Broken(n_all=24), "RuntimeError: the matrix is singular (on all rows)"),
        (Broken(nan=True), "rows are not finite, the first is row"),
        (StandardScaler(), "StandardScaler has no predict_dist"),
    ],
)
def test_a_model_that_fails_has_a_line_and_the_others_go_on(table, broken, words):
    comparison = compare({"broken": broken, "average": Average(), "line": LinearRegression()}, *table)
    failed = comparison.scores[-1]
    assert failed.name == "broken"
    assert words in failed.error
    assert failed.held_out == {}
    assert failed.seconds is None
    assert comparison.selected == "line"
    assert set(comparison.held_out) == set(comparison.fitted) == {"baseline", "average", "line"}
    assert any(note.startswith("broken failed: ") for note in comparison.table().notes)


def test_when_all_fail_the_best_says_why(table):
    comparison = compare({"broken": Broken()}, *table)
    with pytest.raises(ValueError, match=r"no model could be fitted\. broken: RuntimeError: the matrix is singular"):
        comparison.selected


def test_a_model_that_holds_an_outcome_impossible_ranks_last_but_is_no_failure(table):
    class Certain(Average):
        def predict_dist(self, X):
            return Normal(np.zeros(len(X)), np.zeros(len(X)))

    comparison = compare({"certain": Certain(), "average": Average(), "broken": Broken()}, *table, random_state=0)
    assert {score.name for score in comparison.scores[:2]} == {"baseline", "average"}
    assert [score.name for score in comparison.scores[2:]] == ["certain", "broken"]
    assert comparison["certain"].held_out["log_score"] == -np.inf


def test_few_rows_make_fewer_folds_with_a_note():
    X, y = np.arange(3.0)[:, None], np.arange(3.0)
    comparison = compare({"average": Average()}, X, y, cv=5)
    assert comparison.n_folds == 3
    assert comparison.notes == ("Using 3 folds instead of 5: there are only 3 rows.",)
    assert set(comparison.notes) < set(comparison.table().notes)


def test_warnings_of_the_fits_become_notes(table):
    class Worried(Average):
        def fit(self, X, y):
            if len(y) < 24 and X[:, 0].max() == 23 and X[:, 0].min() == 0:
                warn("a fold looks odd", UserWarning, stacklevel=2)
            return super().fit(X, y)

    class Careful(Average):
        def fit(self, X, y):
            warn(f"{len(y)} rows are few", UserWarning, stacklevel=2)
            return super().fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        comparison = compare({"worried": Worried(), "careful": Careful()}, *table, cv=4, random_state=0)
    assert "careful: 24 rows are few" in comparison.notes
    assert any(note.startswith("worried, in ") and "of 4 folds: a fold looks odd" in note for note in comparison.notes)


def test_progress_counts_every_fit_up_to_the_total(table):
    calls = []
    models = {"broken": Broken(), "average": Average()}
    compare(models, *table, cv=3, progress=lambda *call: calls.append(call))
    assert calls[:4] == [("baseline", done, 12) for done in range(4)]
    assert calls[4] == ("broken", 4, 12)
    assert calls[5:9] == [("average", done, 12) for done in (8, 9, 10, 11)]
    assert calls[-1] == ("", 12, 12)


def test_the_table_has_a_line_for_each_model(table):
    comparison = compare({"average": Average(), "broken": Broken()}, *table, cv=3)
    printed = comparison.table()
    assert sorted(printed.columns["model"][:2]) == ["average", "baseline"] and printed.columns["model"][2] == "broken"
    assert printed.columns["log score"][1:] == [comparison.scores[1].held_out["log_score"], None]
    assert "Held out in 3 folds" in str(printed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"models": {}}, "no models were given"),
        ({"cv": 1}, "cv must be a whole number of at least 2 folds.*; got 1"),
        ({"cv": 2.5}, "at least 2 folds.*; got 2.5"),
        ({"y": np.zeros(3)}, r"one value for each of the 24 rows of X; got shape \(3,\)"),
        ({"y": np.full(24, np.nan)}, "y has no value in row 0: NaN"),
        ({"X": np.zeros((1, 1)), "y": [1.0]}, "at least 2 rows, because it holds rows out; got 1"),
    ],
)
def test_bad_input_is_refused_in_words(table, arguments, words):
    X, y = table
    given = {"models": {"average": Average()}, "X": X, "y": y, **arguments}
    with pytest.raises(ValueError, match=words):
        compare(**given)


def test_a_distribution_without_a_mean_is_held_by_its_median():
    # Three rows leave a line one degree of freedom: Cauchy predictions, with a centre but no mean.
    X, y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0.0, 1.2, 1.9, 4.1])
    comparison = compare({"line": LinearRegression()}, X, y, cv=4)
    assert comparison.scores[0].error is None
    held = comparison.held_out["line"]
    for i in range(4):
        slope, level = np.polyfit(np.delete(X[:, 0], i), np.delete(y, i), 1)
        assert point(held.dist)[i] == pytest.approx(level + slope * X[i, 0])
    assert not np.isfinite(held.dist.std).any()
    assert np.isfinite([comparison.scores[0].held_out[name] for name in ("log_score", "rmse", "crps")]).all()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scales_whose_squares_are_no_numbers_keep_their_error(table, scale):
    X, y = table
    plain = compare({"average": Constant()}, X, y)["average"].held_out["rmse"]
    assert compare({"average": Constant()}, X, y * scale)["average"].held_out["rmse"] == pytest.approx(plain * scale)


def test_rows_of_one_group_stay_in_one_fold():
    rng = np.random.default_rng(0)
    groups = rng.integers(12, size=90)
    # A witness that finds a group's label among those it was fitted on says 1.
    comparison = compare({"w": Witness()}, groups[:, None].astype(float), np.zeros(90), groups=groups, random_state=0)
    assert comparison.n_folds == 5
    assert comparison.held_out["w"].dist.mean.max() == 0.0


def test_folds_of_groups_are_level():
    sizes = np.random.default_rng(1).integers(1, 4, size=60)
    groups = np.repeat(np.arange(60), sizes)
    seen = []

    class Counting(Average):
        def fit(self, X, y):
            seen.append(len(y))
            return super().fit(X, y)

    compare({"c": Counting()}, np.zeros((len(groups), 1)), np.arange(float(len(groups))), groups=groups, random_state=0)
    # Dealt out in turn, the largest groups first, no two folds differ by more than one group.
    assert max(seen[:-1]) - min(seen[:-1]) <= 3


def test_groups_of_one_row_each_are_no_groups():
    X, y = np.arange(20.0)[:, None], np.arange(20.0) % 3
    plain, grouped = (compare({"a": Average()}, X, y, random_state=4, **more) for more in ({}, {"groups": range(20)}))
    np.testing.assert_array_equal(plain.held_out["a"].dist.mean, grouped.held_out["a"].dist.mean)


def test_few_groups_make_few_folds():
    comparison = compare({"a": Average()}, np.zeros((9, 1)), np.arange(9.0), groups=[0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert comparison.n_folds == 3
    assert comparison.notes == ("Using 3 folds instead of 5: there are only 3 groups.",)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, 2], "groups must have one label for each of the 4 rows of X; got shape (2,)"),
        (["a"] * 4, "groups has only one label; at least two groups are needed"),
    ],
)
def test_groups_that_can_not_be_used(groups, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        compare({"a": Average()}, np.zeros((4, 1)), np.arange(4.0), groups=groups)


def test_models_with_return_std_are_compared_by_their_normal_distributions():
    """BayesianRidge at its own precisions is the exact Gaussian predictive of BayesianLinearRegression at these."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=60)
    other = BayesianRidge().fit(X, y)
    ours = BayesianLinearRegression(other.lambda_, noise_precision=other.alpha_).fit(X, y)
    dist = predictive(other, X)
    np.testing.assert_allclose(dist.mean, ours.predict(X), atol=1e-8)
    # It leaves out the uncertainty of the intercept, 1/(nβ), and before 1.9 it didn't centre the columns either.
    rtol = 1e-8 if parse_version(sklearn.__version__) >= parse_version("1.9") else 0.05
    np.testing.assert_allclose(dist.var + 1 / (60 * other.alpha_), ours.predict_dist(X).var, rtol=rtol)
    both = {"ridge": BayesianRidge(), "pipeline": make_pipeline(StandardScaler(), BayesianRidge())}
    comparison = compare({**both, "ours": BayesianLinearRegression()}, X, y)
    scores = [comparison[name].held_out["log_score"] for name in ("ridge", "pipeline", "ours")]
    assert np.isfinite(scores).all() and max(scores) - min(scores) < 0.05


def test_splitters_of_scikit_learn_are_taken():
    rng = np.random.default_rng(7)
    X = np.arange(60.0)[:, None]
    y = X[:, 0] + rng.normal(size=60)
    comparison = compare({"line": LinearRegression()}, X, y, cv=TimeSeriesSplit(4))
    held = comparison.held_out["line"]
    splits = list(TimeSeriesSplit(4).split(X))
    np.testing.assert_array_equal(held.rows, np.concatenate([test for _, test in splits]))
    np.testing.assert_array_equal(held.y, y[held.rows])
    for train, test in splits:
        expected = LinearRegression().fit(X[train], y[train]).predict(X[test])
        np.testing.assert_allclose(held.dist.mean[np.searchsorted(held.rows, test)], expected)
    assert comparison.n_folds == 4 and comparison.selected == "line"
    with pytest.raises(ValueError, match="each row at most once"):
        compare({"line": LinearRegression()}, X, y, cv=ShuffleSplit(5, random_state=0))


def test_an_estimator_with_return_std_takes_part():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    held = compare({"ridge": BayesianRidge()}, X, y, cv=4, random_state=0).held_out["ridge"]
    _, std = BayesianRidge().fit(X[20:], y[20:]).predict(X[:20], return_std=True)
    assert stats.kstest(held.dist.cdf(y), "uniform").pvalue > 0.001
    assert held.dist.std.mean() == pytest.approx(std.mean(), rel=0.2)
