"""The compiled sampler over models beside its plain twin."""

import numpy as np
import pytest
from tests.reference import logistic_models
from tests.reference import sampler as plain
from tests.reference.twins import Twin, compares

from credo.sparse import _chain_jit as gibbs
from credo.sparse import _factors_jit as factors
from credo.sparse._chain import Chain, _models, first_ladder, label_problem, own_rows, shared_columns, slab_problem
from credo.sparse._chain_jit import neighbours
from credo.sparse._design import DEPENDENT
from credo.sparse._models import ModelPrior
from credo.sparse._slabs import slab_of

SLABS = {"bic": {}, "g": {}, "zellner-siow": {}, "normal": {"slab_variance": 0.7}}


def data(seed=0, n=30, d=7):
    """Two columns that are nearly one, and two that are; all of unit length, like the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=n)
    X[:, 5] = X[:, 2]
    y = X[:, 0] - 0.6 * X[:, 2] + rng.normal(size=n)
    X, y = X - X.mean(axis=0), y - y.mean()
    return X / np.linalg.norm(X, axis=0), y / np.linalg.norm(y)


def chain(X, y, name="g", inclusion=0.3, *, starts=((),), seed=3, **options):
    slab = slab_of(name, len(y), y @ y, X.shape[1], **options)
    prior, largest = ModelPrior(X.shape[1], inclusion), int(min(X.shape[1], slab.max_size))
    columns = shared_columns(X, y, ridge=slab.ridge, yy=float(y @ y), least=DEPENDENT)
    ladder, log_prior = first_ladder(X.shape[1], slab, largest), prior.log_prob(np.arange(largest + 1))
    problem = slab_problem(own_rows(columns), slab, log_prior)
    made = Chain(problem, ladder, largest, X.shape[1], starts, np.random.default_rng(seed))
    for i in range(len(starts)):
        factors.build(made.problem.columns, one(made, i))
        neighbours(made.problem.columns, made.problem.target, one(made, i))
    return made, slab, prior


def one(made, i=0):
    return factors.replica(made.replicas, i)


def check_factored(m, X, y, ridge):
    k = int(m.size[0])
    R, u, s, r = plain.factored(X, y, m.members[:k], ridge)
    # The factor is unique but for the signs of its rows.
    sign = np.sign(np.diagonal(m.R)[:k])
    for ours, theirs in ((m.R[:k, :k], R), (m.u[:k, None], u[:, None])):
        np.testing.assert_allclose(sign[:, None] * ours, theirs, atol=1e-12)
    np.testing.assert_allclose(m.T[:k, :k] @ m.R[:k, :k].T, np.eye(k), atol=1e-12)
    Q, n, members = m.Q[:k, : len(y) + k], len(y), m.members[:k]
    np.testing.assert_allclose(Q @ Q.T, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(Q[:, :n].T @ m.R[:k, :k], X[:, members], atol=1e-12)
    np.testing.assert_allclose(Q[:, n:].T @ m.R[:k, :k], np.sqrt(np.broadcast_to(ridge, k)) * np.eye(k), atol=1e-12)
    outside = ~m.inside
    np.testing.assert_allclose(m.s[outside], s[outside], atol=1e-12)
    np.testing.assert_allclose(m.r[outside], r[outside], atol=1e-12)


@compares(factors.build, factors.insert, factors.remove)
@pytest.mark.parametrize("options", [{}, {"name": "normal", "slab_variance": 0.5}], ids=["no ridge", "ridge"])
def test_flips_keep_what_would_be_made_from_scratch(options):
    X, y = data()
    made, slab, _ = chain(X, y, **options)
    m = one(made)
    for j in (3, 0, 6, 1, 4, 0, 3, 2, 4, 6, 1, 2, 0):
        before = set(m.members[: m.size[0]].tolist())
        (factors.remove if j in before else factors.insert)(made.problem.columns, m, j)
        assert set(m.members[: m.size[0]].tolist()) == before ^ {j} == set(np.flatnonzero(m.inside).tolist())
        check_factored(m, X, y, slab.ridge)


def test_insert_and_remove_undo_each_other_and_building_anew_changes_nothing():
    X, y = data()
    made, _, _ = chain(X, y, starts=((0, 3, 4),))
    m = one(made)
    s, r, Q = m.s.copy(), m.r.copy(), m.Q[:3].copy()
    factors.insert(made.problem.columns, m, 6)
    factors.remove(made.problem.columns, m, 6)
    for _ in range(2):
        for ours, before in ((m.s, s), (m.r, r), (m.Q[:3], Q)):
            np.testing.assert_allclose(ours, before, atol=1e-12)
        factors.build(made.problem.columns, m)


def test_a_model_of_dependent_columns_is_built_without_them():
    X, y = data()
    made, _, _ = chain(X, y, starts=((2, 4, 5),))
    assert set(one(made).members[: one(made).size[0]].tolist()) == {2, 4}


@compares(factors.remainder)
def test_a_remainder_has_its_digits_where_little_is_left():
    """Of x + εz, z orthogonal to all, ε remains; a difference of squares would have lost it at ε = 1e-8."""
    X, y = data()
    z = y - X @ np.linalg.lstsq(X, y)[0]
    X[:, 5] = X[:, 0] + X[:, 3] + 1e-7 * z / np.linalg.norm(z)
    length = np.linalg.norm(X[:, 5])
    made, _, _ = chain(X, y, starts=((0, 3),))
    m = one(made)
    square = factors.remainder(made.problem.columns, m, 5, np.empty(m.Q.shape[1]), np.empty(2))
    assert square == pytest.approx((1e-7 / length) ** 2, rel=1e-7)
    assert abs(m.s[5] / square - 1.0) > 1e-3, "the difference of squares has fewer digits"


@compares(neighbours)
@pytest.mark.parametrize("name", SLABS)
@pytest.mark.parametrize("model", [(), (4,), (4, 2, 0)], ids=str)
def test_neighbours(name, model):
    X, y = data()
    X[:, 3] = X[:, 0] + 1e-6 * X[:, 3]
    made, slab, prior = chain(X, y, name, starts=(model,), **SLABS[name])
    joints, here = plain.neighbours(X, y, model, slab, prior)
    assert np.isinf(joints[5]) == (name != "normal" and 2 in model)
    np.testing.assert_allclose(one(made).log_joint, joints, atol=1e-7)
    assert one(made).here[0] == pytest.approx(here, abs=1e-9)


@compares(factors.replica, gibbs.flip_rates, gibbs.draw_column, gibbs.add_inclusions, gibbs.log_swap_odds)
def test_steps_and_swaps():
    X, y = data()
    made, slab, prior = chain(X, y, starts=((1, 3), (0, 2)))
    replicas = [one(made, i) for i in range(2)]
    there = [(*plain.neighbours(X, y, model, slab, prior), model) for model in ((1, 3), (0, 2))]
    odds = np.empty(7)
    for beta in (0.0, 0.3, 1.0):
        ladder = gibbs.Ladder(np.array([1.0, beta]), np.ones(2, int), np.arange(2), 0.1, np.zeros((1, 2)))
        total, top = gibbs.flip_rates(made.problem.target, replicas[0], beta, 0.1, odds)
        rates, p_in = plain.flip_rates(*there[0], beta, 0.1)
        assert np.log(total) + top == pytest.approx(np.log(rates.sum()), abs=1e-9)
        for uniform in (0.0, 0.2, 0.55, 0.9, 0.999):
            found = gibbs.draw_column(replicas[0], odds, np.exp(-top), 0.1, uniform * total)
            assert found == plain.draw_column(rates, uniform)
        included = np.zeros(7)
        gibbs.add_inclusions(replicas[0], odds, np.exp(-top), 1.0 / rates.sum(), included)
        np.testing.assert_allclose(included, p_in / rates.sum(), rtol=1e-9)
        ours = gibbs.log_swap_odds(made.problem.target, *replicas, ladder, 0, odds)
        assert ours == pytest.approx(plain.log_swap_odds(*there, 1.0, beta, 0.1), abs=1e-9)


def test_columns_of_several_blocks():
    """1100 columns, which are processed in three blocks; at β = 1, where the reference doesn't matter."""
    X, y = data(d=1100)
    made, slab, prior = chain(X, y, inclusion=0.01, starts=((1, 1050, 600),))
    m, odds = one(made), np.empty(1100)
    for j in (1099, 3, 600):
        (factors.remove if m.inside[j] else factors.insert)(made.problem.columns, m, j)
        check_factored(m, X, y, 0.0)
    neighbours(made.problem.columns, made.problem.target, m)
    joints, here = plain.neighbours(X, y, (1, 1050, 1099, 3), slab, prior)
    np.testing.assert_allclose(m.log_joint, joints, atol=1e-8)
    total, top = gibbs.flip_rates(made.problem.target, m, 1.0, 0.001, odds)
    rates, _ = plain.flip_rates(joints, here, (1, 1050, 1099, 3), 1.0, 0.001)
    assert np.log(total) + top == pytest.approx(np.log(rates.sum()), abs=1e-8)
    grid = np.linspace(0.0, 0.9999, 200)
    found = [gibbs.draw_column(m, odds, np.exp(-top), 0.001, uniform * total) for uniform in grid]
    assert found == [plain.draw_column(rates, uniform) for uniform in grid]
    assert min(found) < 512 and max(found) > 1023
    assert gibbs.draw_column(m, odds, np.exp(-top), 0.001, 2.0 * total) == 1099, "beyond the last, by rounding"


@compares(gibbs.run_rounds)
@pytest.mark.parametrize(
    ("name", "inclusion"), [("bic", 0.3), ("g", (1.0, 1.0)), ("zellner-siow", 0.3), ("normal", 0.3)]
)
def test_run_rounds(name, inclusion):
    X, y = data()
    starts, betas, strides = ((6,), (), (1, 2)), np.array([1.0, 0.4, 0.0]), np.array([3, 2, 2])
    made, slab, prior = chain(X, y, name, inclusion, starts=starts, **SLABS[name])
    ladder = gibbs.Ladder(betas, strides, np.arange(3), 0.1, np.zeros((2, 2)))
    uniforms = np.random.default_rng(2).random((24, 17))
    record = gibbs.Record(np.ones((72, 2)), np.empty((72, 7), dtype=np.int64), np.zeros(7))
    arguments = made.problem, made.replicas, ladder, record, uniforms, 0
    assert gibbs.run_rounds(*arguments) == (24, 72)
    visited, weights, included, last = plain.run_rounds(X, y, starts, slab, prior, betas, strides, 0.1, uniforms)
    assert [tuple(sorted(row[row >= 0].tolist())) for row in record.models] == visited
    np.testing.assert_allclose(record.trace[:, 1], weights, rtol=1e-7)
    np.testing.assert_allclose(record.included, included, rtol=1e-7)
    assert [tuple(np.flatnonzero(made.replicas.inside[i]).tolist()) for i in ladder.holder] == last
    assert (ladder.rejected[:, 1] == 12).all() and (ladder.rejected[:, 0] < 12).all()


@pytest.mark.parametrize("inclusion", [0.3, (1.0, 1.0)], ids=str)
def test_steps_over_logistic_models(inclusion):
    data, prior = logistic_models.dataset(), ModelPrior(5, inclusion)
    ladder = gibbs.Ladder(np.ones(1), np.full(1, 10), np.zeros(1, dtype=np.int64), 0.2, np.zeros((0, 2)))
    problem = label_problem(data, prior.log_prob(np.arange(6)))
    made = Chain(problem, ladder, 5, 5, [(1, 2)], np.random.default_rng(0))
    uniforms = np.random.default_rng(3).random((20, 21))
    record = gibbs.Record(np.ones((200, 2)), np.empty((200, 5), dtype=np.int64), np.zeros(5))
    assert gibbs.run_rounds(made.problem, made.replicas, ladder, record, uniforms, 0) == (20, 200)
    models, weights, included = logistic_models.run_steps(data, prior, (1, 2), 0.2, uniforms[:, :-1].reshape(-1, 2))
    assert _models(record.models) == models and len(set(models)) > 5
    np.testing.assert_allclose(record.trace[:, 1], weights, rtol=1e-5)
    np.testing.assert_allclose(record.included, included, rtol=1e-5)


def test_rows_of_inner_products_are_replaced_when_not_all_are_stored(monkeypatch):
    X, y = data()
    kept = chain(X, y, starts=((),) * 12)[0].advance(100, np.zeros(7))
    monkeypatch.setattr("credo.sparse._chain._MAX_GRAM_ENTRIES", 0)
    monkeypatch.setattr("credo.sparse._chain._GRAM_CACHE_ENTRIES", 14)
    made = chain(X, y, starts=((),) * 12)[0]
    assert made.problem.columns.gram.shape == (2, 7)
    trace, models = made.advance(100, np.zeros(7))
    np.testing.assert_allclose(trace, kept[0], rtol=1e-9)
    assert models == kept[1]
    owners = made.problem.columns.owner
    np.testing.assert_array_equal(np.flatnonzero(made.problem.columns.row >= 0), np.sort(owners))
    np.testing.assert_allclose(made.problem.columns.gram, X[:, owners].T @ X, atol=1e-14)


TWINS = [
    Twin(factors.dot, lambda a, b, n: np.dot(a[:n], b[:n]), [(*np.random.default_rng(2).normal(size=(2, 50)), 33)])
]
