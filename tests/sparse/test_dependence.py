"""Columns that say the same: found, named, and with the probabilities that the words claim."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from tests.sparse.oracle import evidence, subsets

from credo.core.estimator import FitWarning
from credo.sparse._design import DEPENDENT, dependence_of, is_dependent, residual_norms
from credo.sparse._models import ModelPrior
from credo.sparse.spike_slab import SpikeSlabRegressor
from credo.sparse.spike_slab_classifier import SpikeSlabClassifier

IMPROPER = [{"slab": "bic"}, {"slab": "g"}, {"slab": "zellner-siow"}]
PROPER = [{"slab": "normal"}, {"slab": "normal", "slab_variance": 0.5, "noise_variance": 0.8}]
ORACLE = [
    {"slab": "bic"}, {"slab": "g", "g": 9.0}, {"slab": "zellner-siow"},
    {"slab": "normal", "slab_variance": 0.5, "noise_variance": 0.8}, {"slab": "normal", "slab_variance": 0.5},
]  # fmt: skip


def rank(table):
    """Of a matrix of whole numbers, without rounding."""
    rows = [[Fraction(int(value)) for value in row] for row in table]
    found = 0
    for column in range(table.shape[1]):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            share = rows[i][column] / rows[found][column]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def dependent_table(seed, *, n=None, d=None):
    """Whole numbers: copies, combinations and constants among them."""
    rng = np.random.default_rng([5, seed])
    n, d = n or int(rng.integers(3, 14)), d or int(rng.integers(2, 6))
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    for j in range(d):
        kind = rng.integers(5)
        if kind == 0 and j > 0:
            X[:, j] = rng.integers(1, 4) * X[:, rng.integers(j)] + rng.integers(-5, 5)
        elif kind == 1 and j > 1:
            a, b = rng.choice(j, 2, replace=False)
            X[:, j] = X[:, a] - 2 * X[:, b] + 1
        elif kind == 2:
            X[:, j] *= 1000
        elif kind == 3 and j == 2:
            X[:, j] = 7
    return X, 0.5 * X[:, 0] + rng.normal(size=n)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("options", ORACLE, ids=str)
def test_dependent_tables_are_weighed_as_by_brute_force(options):
    options = dict(options)
    name = options.pop("slab")
    for seed in range(8):
        X, y = dependent_table(seed)
        n, prior = len(y), [0.3, "beta-binomial"][seed % 2]
        vary = [j for j in range(X.shape[1]) if np.ptp(X[:, j])]
        centred = n * X - X.sum(axis=0)
        models = [tuple(vary[i] for i in subset) for subset in subsets(len(vary))]
        log_prior = ModelPrior.of(prior, len(vary)).log_prob

        def score(model, X=X, y=y, centred=centred, log_prior=log_prior):
            if name != "normal" and (len(model) > len(y) - 2 or rank(centred[:, model]) < len(model)):
                return -np.inf
            return evidence(X[:, model], y, name, **{"noise_variance": None, **options}) + log_prior(len(model))

        scores = np.array([score(model) for model in models])
        share = np.exp(scores - logsumexp(scores))
        model = SpikeSlabRegressor(prior, slab=name, n_models=3, **options).fit(X, y)
        assert_allclose(model.log_evidence_, logsumexp(scores), rtol=1e-7)
        inside = np.array([[j in subset for subset in models] for j in range(X.shape[1])])
        assert_allclose(model.inclusion_probabilities_, inside @ share, atol=1e-7)
        assert_allclose(model.log_scores(models), scores, rtol=1e-7, atol=1e-7)
        group = vary[:3]
        assert_allclose(model.inclusion_of(group), inside[group].any(axis=0) @ share, atol=1e-7)


def test_what_is_found_are_circuits_and_copies():
    """Sets of columns that are named depend, none of their parts does, and nothing that depends goes unnamed."""
    for seed in range(60):
        X, _ = dependent_table(seed, n=9, d=6)
        X = X[:, np.ptp(X, axis=0) > 0]
        centred = len(X) * X - X.sum(axis=0)
        found = dependence_of(X - X.mean(axis=0))
        for group in found.copies:
            assert all(rank(centred[:, pair]) == 1 for pair in combinations(group, 2))
        for circuit in found.combinations:
            assert len(circuit) > 2 and rank(centred[:, circuit]) == len(circuit) - 1
            assert all(rank(centred[:, part]) == len(part) for part in combinations(circuit, len(circuit) - 1))
        extra = sum(len(group) - 1 for group in found.copies)
        assert rank(centred) == X.shape[1] - extra - len(found.combinations)


def test_near_copies_are_grouped_across_blocks(monkeypatch):
    monkeypatch.setattr("credo.sparse._design._BLOCK_COLUMNS", 4)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 11))
    X[:, 9] = 3 * X[:, 2] + 0.01 * rng.normal(size=40)
    X[:, 10] = -X[:, 2]
    X[:, 3] = X[:, 1] + 1e-3 * rng.normal(size=40)
    X[:, 8] = X[:, 7] + 0.2 * rng.normal(size=40)
    found = dependence_of(X - X.mean(axis=0))
    assert found.copies == ((2, 10),) and found.near == ((1, 3), (2, 9, 10)) and not found.combinations


def test_all_levels_of_a_category_depend():
    rng = np.random.default_rng(0)
    level = rng.integers(4, size=50)
    X = np.column_stack([rng.normal(size=50), *(level == k for k in range(4))]).astype(float)
    names = ["weight", "north", "east", "south", "west"]
    with pytest.warns(FitWarning, match="columns north, east, south, west are linearly dependent"):
        model = SpikeSlabRegressor().fit(pd.DataFrame(X, columns=names), X[:, 0] + rng.normal(size=50))
    scores = model.log_scores([names[1:], *combinations(names[1:], 3)])
    assert np.isneginf(scores[0])
    assert_allclose(scores[1:], scores[1], rtol=1e-10)


def test_what_is_left_is_the_distance_to_the_span_of_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    X /= np.linalg.norm(X, axis=0)
    left = residual_norms(np.linalg.qr(X, mode="r"))
    for j in range(5):
        others = np.delete(X, j, axis=1)
        rest = X[:, j] - others @ np.linalg.lstsq(others, X[:, j])[0]
        assert_allclose(left[j], np.linalg.norm(rest))
    assert is_dependent(np.linalg.qr(X, mode="r"), np.full(5, left.min() + 1e-9))
    assert not is_dependent(np.linalg.qr(X, mode="r"), np.full(5, left.min() - 1e-9))
    assert is_dependent(np.ones((1, 2)), np.full(2, DEPENDENT)) and not is_dependent(np.empty((0, 0)), np.empty(0))


@pytest.mark.parametrize("options", IMPROPER, ids=str)
@pytest.mark.parametrize("n_copies", [2, 3])
def test_copies_have_the_column_s_odds_times_their_number(options, n_copies):
    """Each copy may stand for the column, with the prior odds of one; the rest is as without the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = 0.4 * X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=30)
    wide = np.column_stack([X, *(X[:, 0] * 10.0**k - k for k in range(1, n_copies))])
    alone = SpikeSlabRegressor(0.3, **options).fit(X, y).inclusion_probabilities_[0]
    with pytest.warns(FitWarning, match="are identical .* they share the inclusion probability"):
        model = SpikeSlabRegressor(0.3, **options).fit(wide, y)
    group = [0, *range(3, 2 + n_copies)]
    each = model.inclusion_probabilities_[group]
    assert_allclose(each, each[0], rtol=1e-9)
    together = model.inclusion_of(group)
    assert_allclose(together, each.sum(), rtol=1e-12)
    assert_allclose(together / (1 - together), n_copies * alone / (1 - alone), rtol=1e-9)


@pytest.mark.parametrize("options", PROPER, ids=str)
def test_copies_under_a_proper_prior_may_be_in_together(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + rng.normal(size=30)
    with pytest.warns(FitWarning, match="columns x0, x2 are identical .*, so they share"):
        model = SpikeSlabRegressor(**options).fit(np.column_stack([X, X[:, 0]]), y)
    probability = dict(zip(model.models_.columns["columns"], model.models_.columns["probability"], strict=True))
    assert probability[0, 2] > 0.01
    assert_allclose(probability[0,], probability[2,], rtol=1e-9)
    without = probability[()] + probability[1,]
    assert_allclose(model.inclusion_of([0, 2]), 1 - without, rtol=1e-9)
    assert (model.inclusion_probabilities_[[0, 2]] < 1 - without).all()


def test_two_copies_under_a_wide_slab_are_one_column():
    """Two copies in a model are one column with twice the variance."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 1))
    y = x[:, 0] + rng.normal(size=30)
    with pytest.warns(FitWarning, match="identical"):
        both = SpikeSlabRegressor(slab="normal", slab_variance=1e22).fit(np.column_stack([x, x]), y)
    one = SpikeSlabRegressor(slab="normal", slab_variance=2e22).fit(x, y)
    gap = both.log_scores([(0, 1)])[0] - one.log_scores([(0,)])[0] - np.log(0.25 / 0.5)
    assert abs(gap) < 1e-4


def test_a_combination_is_said_and_shares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    table = pd.DataFrame(X, columns=["in", "out", "noise"]).assign(net=X[:, 0] - X[:, 1])
    y = X[:, 0] - X[:, 1] + rng.normal(size=40)
    words = "columns in, out, net are linearly dependent: "
    with pytest.warns(FitWarning, match=words + "leaving out any one of them gives the same fit"):
        model = SpikeSlabRegressor(slab="g").fit(table, y)
    scores = model.log_scores([["in", "out"], ["in", "net"], ["out", "net"], ["in", "out", "net"]])
    assert_allclose(scores[:3], scores[0], rtol=1e-12)
    assert np.isneginf(scores[3])
    assert words in model.result_.message
    with pytest.warns(FitWarning, match=words + "leaving out any one of them gives the same fit"):
        proper = SpikeSlabRegressor(slab="normal").fit(table, y)
    assert np.isfinite(proper.log_scores([["in", "out", "net"]])).all()


def test_near_copies_are_said_and_share():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    X = np.column_stack([x, x + 1e-3 * rng.normal(size=40), rng.normal(size=40)])
    with pytest.warns(FitWarning, match="columns x0, x1 are nearly identical .*: unless y distinguishes them"):
        model = SpikeSlabRegressor().fit(X, x + 0.5 * rng.normal(size=40))
    assert model.inclusion_of([0, 1]) > 0.999 > model.inclusion_probabilities_[:2].max() + 0.1


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("gap", [1e-5, 1e-7, 1e-8])
def test_what_two_columns_differ_by_is_found_in_any_order(gap):
    """y is the difference of two columns that are nearly the same, which is a third column as well."""
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(2, 40))
    X = np.column_stack([x, x + gap * e, e])
    y = e + 0.1 * rng.normal(size=40)
    pair = SpikeSlabRegressor(slab="g").fit(X[:, :2], y)
    assert pair.map_model_ == (0, 1) and pair.inclusion_of([0, 1]) > 1 - 1e-9
    # The pair and the third column explain the same.
    plain = SpikeSlabRegressor(slab="g").fit(X[:, [0, 2]], y)
    assert_allclose(pair.log_scores([(0, 1)]), plain.log_scores([(0, 1)]), rtol=1e-6)
    found = []
    for order in permutations(range(3)):
        model = SpikeSlabRegressor(slab="g").fit(X[:, order], y)
        found.append(model.inclusion_probabilities_[np.argsort(order)])
    assert np.ptp(found, axis=0).max() < 1e-6
    assert np.isneginf(SpikeSlabRegressor(slab="g").fit(X, y).log_scores([(0, 1, 2)])).all()


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
def test_offsets_that_take_most_digits_leave_copies_copies(offset):
    rng = np.random.default_rng(0)
    time = offset + 30 * rng.normal(size=40)
    X = np.column_stack([time, 32 + 1.8 * time, rng.normal(size=40), time - time.mean()])
    model = SpikeSlabRegressor(slab="g").fit(X, time - offset + 10 * rng.normal(size=40))
    assert_allclose(model.inclusion_probabilities_[[0, 1, 3]], 1 / 3, rtol=1e-3)
    assert "columns x0, x1, x3 are identical" in model.result_.message


def test_wide_tables_are_only_searched_for_copies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2500))
    X[:, 2400] = 2 * X[:, 5] + 1
    found = dependence_of(X - X.mean(axis=0))
    assert found.copies == ((5, 2400),) and not found.combinations


def test_many_groups_are_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 10))
    X = np.column_stack([X, X[:, :5], *(X[:, :1] * k for k in (2, 3, 4, 5))])
    found = dependence_of(X - X.mean(axis=0))
    (words,) = found.messages([f"c{j}" for j in range(19)])
    assert words.startswith("columns c0, c10, c15, c16, c17 and 1 more; columns c1, c11; columns c2, c12 (and 2 more ")


def test_columns_of_any_unit_are_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X -= X.mean(axis=0)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    scaled = X * np.array([1e-200, 1e200, 1.0, 1e-3])
    assert dependence_of(scaled) == dependence_of(X)
    assert dependence_of(X).combinations == ((0, 1, 3),)


def with_copy(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 2.0 * X[:, 0] - X[:, 1] + rng.normal(size=n)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("seed", [0, 55])
@pytest.mark.parametrize("slab", ["bic", "g", "normal"])
def test_one_of_the_copies_is_in_the_median_model(seed, slab):
    """Whichever side of one half rounding puts them on."""
    X, y = with_copy(seed)
    for versions in (2, 3):
        model = SpikeSlabRegressor(slab=slab).fit(np.column_stack([X, *[X[:, 0]] * (versions - 1)]), y)
        assert model.inclusion_of([0, *range(3, 2 + versions)]) > 0.99
        assert len({0, 3, 4}.intersection(model.median_model_)) == 1 and 1 in model.median_model_
        assert np.isfinite(model.log_scores([model.median_model_])).all()


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_the_median_model_is_not_dependent():
    X, y = with_copy(0)
    model = SpikeSlabRegressor(slab="g").fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)
    assert np.all(model.inclusion_probabilities_[[0, 1, 3]] > 0.5)
    assert len({0, 1, 3}.intersection(model.median_model_)) == 2
    assert np.isfinite(model.log_scores([model.median_model_])).all()


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_copies_of_a_classifier_s_median_model():
    X, y = with_copy(0)
    model = SpikeSlabClassifier(0.2).fit(np.column_stack([X, X[:, 0], X[:, 0]]), y > 0)
    assert model.inclusion_probabilities_[[0, 3, 4]].max() < 0.9 < model.inclusion_of([0, 3, 4])
    assert len({0, 3, 4}.intersection(model.median_model_)) == 1
