"""The compiled walk over models beside its plain twin."""

import numpy as np
import pytest
from tests.reference import model_walk as plain

from credo.sparse._model_prior import ModelPrior
from credo.sparse._slabs import slab_of
from credo.sparse.walk import _jit
from credo.sparse.walk._chain import TRIES, Chain, Target
from credo.sparse.walk._columns import Columns

SLABS = {
    "bic": {},
    "g": {},
    "zellner-siow": {},
    "normal": {"slab_variance": 0.7},
}


def data(seed=0, n=30, d=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=n)
    X[:, 5] = X[:, 2]
    y = X[:, 0] - 0.6 * X[:, 2] + rng.normal(size=n)
    return X - X.mean(axis=0), y - y.mean()


def chain(X, y, ridge, *, start=(), slab=None, prior=None):
    slab = slab_of("g", len(y), y @ y, X.shape[1]) if slab is None else slab
    prior = ModelPrior(X.shape[1], 0.3) if prior is None else prior
    largest = int(min(X.shape[1], slab.most))
    target = Target(slab, prior.log_prob(np.arange(largest + 1)))
    return Chain(Columns.of(X, y, ridge=ridge), target, start=start)


def check_factored(walker, X, y, ridge):
    members = walker.members[: walker.k]
    R, V, u, s, r = plain.factored(X, y, members, ridge)
    k = walker.k
    # The factor is unique but for the signs of its rows.
    sign = np.sign(np.diagonal(walker.R)[:k])
    np.testing.assert_allclose(sign[:, None] * walker.R[:k, :k], R, atol=1e-10)
    np.testing.assert_allclose(sign[:, None] * walker.V[:k], V, atol=1e-10)
    np.testing.assert_allclose(sign * walker.u[:k], u, atol=1e-10)
    np.testing.assert_allclose(walker.s, s, atol=1e-10)
    np.testing.assert_allclose(walker.r, r, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_flip_keeps_what_insert_and_remove_would_make_from_scratch(ridge):
    X, y = data()
    walker = chain(X, y, ridge)
    for j in (3, 0, 6, 1, 4, 0, 3, 2, 4, 6, 1, 2, 0):
        before = set(walker.model)
        walker.k = _jit.flip(*walker._arrays(), j)
        assert set(walker.model) == before ^ {j} and set(walker.members[: walker.k].tolist()) == set(walker.model)
        check_factored(walker, X, y, ridge)


def test_insert_and_remove_undo_each_other():
    X, y = data()
    walker = chain(X, y, 0.0, start=(0, 3, 4))
    s, r, V = walker.s.copy(), walker.r.copy(), walker.V[:3].copy()
    arrays = walker.V, walker.R, walker.u, walker.s, walker.r
    _jit.insert(*arrays, 3, 6, X[:, 6] @ X)
    _jit.remove(*arrays, 4, 3)
    for ours, before in ((walker.s, s), (walker.r, r), (walker.V[:3], V)):
        np.testing.assert_allclose(ours, before, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_flips(ridge):
    X, y = data()
    walker = chain(X, y, ridge, start=(4, 2, 0))
    gain, scale = np.empty(7), np.empty(7)
    arrays = walker.R, walker.u, walker.s, walker.r, walker.members[: walker.k], walker.columns.least
    _jit.flips(*arrays, gain, scale)
    q, logdet = plain.statistics(X, y, {4, 2, 0}, ridge)
    for j in range(7):
        there = plain.statistics(X, y, {4, 2, 0} ^ {j}, ridge)
        if there is None:
            assert j == 5 and scale[j] == 0.0
        else:
            assert q + gain[j] == pytest.approx(there[0], abs=1e-9)
            assert logdet + np.log(scale[j]) == pytest.approx(there[1], abs=1e-9)


def test_choose():
    rng = np.random.default_rng(1)
    members = {1, 3}
    inside = np.isin(np.arange(6), list(members))
    for uniform in (0.0, 0.2, 0.55, 0.9, 0.999):
        logs = rng.normal(size=6) * 5
        logs[4] = -np.inf
        expected = plain.choose(logs.copy(), 0.3, members, 0.1, uniform)
        included = np.zeros(6)
        flipped, weight = _jit.choose(logs, 0.3, inside, 0.1, uniform, np.empty(6), included)
        assert flipped == expected[0] and weight == pytest.approx(expected[1], rel=1e-12)
        np.testing.assert_allclose(logs, expected[2], atol=1e-12)
        np.testing.assert_allclose(included, weight * expected[2], atol=1e-12)


@pytest.mark.parametrize("name", SLABS)
@pytest.mark.parametrize("inclusion", [0.3, (1.0, 1.0)], ids=str)
def test_stroll(name, inclusion):
    X, y = data()
    slab = slab_of(name, len(y), y @ y, X.shape[1], **SLABS[name])
    prior = ModelPrior(X.shape[1], inclusion)
    walker = chain(X, y, slab.ridge, start=(6,), slab=slab, prior=prior)
    uniforms, included = np.random.default_rng(2).random(300), np.zeros(7)
    flipped, trace = walker.advance(uniforms, included)
    columns, weights, sums = plain.stroll(X, y, {6}, slab, prior, TRIES / 7, uniforms)
    np.testing.assert_array_equal(flipped, columns)
    np.testing.assert_allclose(trace[:, 2], weights, rtol=1e-7)
    np.testing.assert_allclose(included, sums, rtol=1e-7)


def test_rows_of_inner_products_are_made_when_they_are_not_kept(monkeypatch):
    X, y = data()
    uniforms = np.random.default_rng(3).random(100)
    kept = chain(X, y, 0.0).advance(uniforms, np.zeros(7))
    monkeypatch.setattr("credo.sparse.walk._columns._KEPT_ENTRIES", 0)
    made = chain(X, y, 0.0)
    assert not len(made.columns.gram)
    for ours, theirs in zip(made.advance(uniforms, np.zeros(7)), kept, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
