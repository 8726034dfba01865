"""The compiled visit of all subsets, restated in plain NumPy."""

import heapq
from itertools import permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.reference import slabs as plain_slabs
from tests.reference.twins import Twin, compares

from credo.sparse import _enumerate_jit as _jit
from credo.sparse import _slabs_jit
from credo.sparse._slabs import slab_of

SLABS = {
    "bic": {},
    "g": {"g": 9.0},
    "zellner-siow": {},
    "normal": {"slab_variance": 0.5, "noise_variance": 0.8},
    "normal integrated": {"slab_variance": 0.5, "noise_variance": None},
}


def slab(name, *, n=20.0, yy=1.0, d=6):
    return slab_of(name.split()[0], n, yy, d, **SLABS[name])


def triangle(d, *, seed=0, rows=20):
    rng = np.random.default_rng([d, seed])
    table = rng.normal(size=(rows, d + 1))
    table[:, -1] += table[:, :2].sum(axis=1)
    return np.linalg.qr(table / np.linalg.norm(table, axis=0), mode="r")


def drop(T, j):
    """What is left of T without column j, made triangular: any orthogonal transformation will do."""
    return np.linalg.qr(T[j:, j + 1 :], mode="r")


def keep(T, j):
    return T[j + 1 :, j + 1 :]


@compares(
    _slabs_jit.log_evidence,
    _slabs_jit.log_evidences,
    _slabs_jit.shrinkage,
    _slabs_jit.spread,
)
@pytest.mark.parametrize("name", SLABS)
def test_evidence_and_moments_equal_their_twins(name):
    prior, d, kind, options = slab(name, yy=2.3), 18, name.split()[0], SLABS[name]
    f, cases = prior.formula(d), [(0, 1.0), *product([1, 4, 18], [1.0, 0.7, 1e-3, 1e-11])]
    for k, one_minus_r2 in cases:
        expected = plain_slabs.log_evidence(kind, 20.0, 2.3, k, one_minus_r2, 0.37 * (k > 0), **options)
        assert_allclose(_slabs_jit.log_evidence(f, k, one_minus_r2, 0.37 * (k > 0)), expected, rtol=1e-8)
        first, second = plain_slabs.shrinkage(kind, 20.0, k, one_minus_r2, **options)
        assert_allclose(_slabs_jit.shrinkage(f, k, one_minus_r2), [1 - first, first, second], rtol=1e-7, atol=1e-9)
        if one_minus_r2 > 1e-4:
            expected = plain_slabs.spread(kind, 20.0, 2.3, k, one_minus_r2, **options)
            assert_allclose(_slabs_jit.spread(f, k, one_minus_r2), expected, rtol=1e-6, atol=1e-9)
    k, one_minus_r2 = np.array(cases).T
    one_by_one = [_slabs_jit.log_evidence(f, int(size), left, 0.1) for size, left in cases]
    out = np.empty(len(k))
    _slabs_jit.log_evidences(f, k.astype(np.int64), one_minus_r2, np.full(len(k), 0.1), out)
    assert_array_equal(out, one_by_one)
    assert_allclose(prior.score(k.astype(int), one_minus_r2, 0.1), out, rtol=1e-12)
    assert np.isneginf(_slabs_jit.log_evidence(prior.formula(40), 19, 0.5, 0.0)) == (kind != "normal")


@compares(_jit.drop, _jit.keep)
@pytest.mark.parametrize("j", [0, 1, 4])
def test_drop_and_keep_leave_the_right_triangle(j):
    T = np.zeros((7, 6, 6))
    T[j] = triangle(5)
    _jit.drop(T, j)
    # Triangles of the same Gram matrix differ by the signs of their rows.
    left, plain = T[j + 1, j + 1 :, j + 1 :], drop(T[j], j)
    assert_allclose(np.abs(np.triu(left)), np.abs(np.triu(plain)), atol=1e-13)
    assert_allclose(np.triu(left).T @ np.triu(left), T[j, j:, j + 1 :].T @ T[j, j:, j + 1 :], atol=1e-13)
    _jit.keep(T, j)
    assert_array_equal(np.triu(T[j + 1, j + 1 :, j + 1 :]), np.triu(keep(T[j], j)))


def sift(values, places, value, place):
    heap = list(zip(values, places, strict=True))
    heapq.heapreplace(heap, (value, place))
    values[:], places[:] = zip(*heap, strict=True)


def heaps(size=20, n=80):
    """A heap of the largest values of a stream, with each of the next values that is larger than its smallest."""
    stream = np.random.default_rng(0).normal(size=n)
    values, places = np.sort(stream[:size]), np.argsort(stream[:size])
    for place in range(size, n):
        if stream[place] > values[0]:
            yield values.copy(), places.copy(), stream[place], place
            sift(values, places, stream[place], place)


def explore(R, prior, log_prior, log_scale):
    """Subset after subset, each by its own least squares."""
    d = len(R) - 1
    found = []
    for bits in product([0, 1], repeat=d):
        chosen = np.flatnonzero(bits)
        A = R[:, chosen].T @ R[:, chosen]
        b = R[:, chosen].T @ R[:, -1]
        beta = np.linalg.solve(A, b) if len(b) else b
        one_minus_r2 = 1 - b @ beta
        k = len(chosen)
        logdet = np.linalg.slogdet(A)[1] + log_scale[chosen].sum()
        value = log_prior[k] + float(prior.score(k, one_minus_r2, logdet))
        mean, square, noise = np.zeros(d), np.zeros((d, d)), 0.0
        for weight, shrink, df, scale in prior.posteriors(k, one_minus_r2)[0] if value > -np.inf else []:
            inflation = 1 if np.isinf(df) else df / (df - 2)
            mean[chosen] += weight * shrink * beta
            part = shrink**2 * np.outer(beta, beta) + scale * inflation * shrink * np.linalg.inv(A)
            square[np.ix_(chosen, chosen)] += weight * part
            noise += weight * scale * inflation
        found.append((value, np.array(bits), one_minus_r2, noise, mean, square))
    return found


def run(R, prior, log_prior, log_scale, *, depth=0, unit=0.0, least=None):
    d = len(R) - 1
    least = np.full(d, 1e-9) if least is None else least
    problem = _jit.Problem(R, least, log_scale, prior.formula(d), log_prior)
    totals, scores = [], np.full(2**d, -np.inf)
    for prefix in range(2**depth):
        T = np.zeros((d + 1, d + 1, d + 1))
        T[0] = R
        sums = _jit.Sums(
            np.zeros((2, d + 1)), np.zeros((2, d + 1, 5)), np.zeros((2, d + 1, 2, d)), np.zeros((2, d + 1, d, d)),
            np.full(4, -np.inf), np.full(4, -1), np.full(d + 1, np.inf), np.full(d + 1, -1), scores,
        )  # fmt: skip
        end = _jit.explore(prefix, depth, T, problem, unit, sums)
        parts = sums.counts, sums.masses[0, 0], sums.means[0, 0, 0], sums.squares[0, 0]
        totals.append([part * np.exp(end) for part in parts])
    top, best = (sums.top, sums.top_place), (sums.best, sums.best_place)
    return [sum(parts) for parts in zip(*totals, strict=True)], scores, top, best


@compares(_jit.explore)
@pytest.mark.parametrize("name", SLABS)
def test_explore_equals_its_twin(name):
    d = 6
    R, log_prior, log_scale = triangle(d), np.linspace(-1, -4, d + 1), np.linspace(0, 1, d)
    prior = slab(name)
    plain = explore(R, prior, log_prior, log_scale)
    values, bits, rests, noises, means, squares = map(np.array, zip(*plain, strict=True))
    weight, sizes = np.exp(values), bits.sum(axis=1)
    expected = np.tensordot(weight, squares, axes=1)
    for depth in (3, 0):
        (counts, masses, mean, square), scores, top, best = run(R, prior, log_prior, log_scale, depth=depth)
        assert_allclose(scores, values, rtol=1e-9)
        assert_allclose([masses[0], masses[4]], [weight.sum(), weight @ noises], rtol=1e-8)
        assert_allclose(counts[0, :d], weight @ bits, rtol=1e-8)
        assert_allclose(counts[1], np.bincount(sizes, weight), rtol=1e-8)
        assert_allclose(mean, weight @ means, rtol=1e-6)
        assert_allclose(np.tril(square), np.tril(expected), rtol=1e-6, atol=1e-12 * weight.sum())
    assert_allclose(np.sort(top[0]), np.sort(values)[-4:], rtol=1e-9)
    assert_allclose(best[0], [rests[sizes == k].min() for k in range(d + 1)], rtol=1e-9)


def test_units_of_the_sums_are_changed_where_weights_outgrow_them():
    R, log_prior, log_scale = triangle(5), np.zeros(6), np.zeros(5)
    prior = slab("g")
    usual = run(R, prior, log_prior, log_scale)[0]
    shifted = run(R, prior, log_prior, log_scale, unit=-1000.0)[0]
    for a, b in zip(usual, shifted, strict=True):
        assert_allclose(a, b, rtol=1e-12)


@compares(_jit.hold, _jit.merge)
def test_hold_and_merge_sum_over_both_fates_of_a_column():
    """Two columns: sums over {∅, {1}} are held, those over {{0}, {0, 1}} merged with them."""
    R = triangle(2)
    T = np.zeros((3, 3, 3))
    T[0] = R
    rng = np.random.default_rng(0)
    masses, means, squares = np.zeros((2, 3, 5)), np.zeros((2, 3, 2, 2)), np.zeros((2, 3, 2, 2))
    without, with_it = rng.uniform(size=5), rng.uniform(size=5)
    masses[0, 1], means[0, 1, :, 1], squares[0, 1, 1, 1] = without, [0.3, 0.2], 0.7
    _jit.hold(0, masses, means, squares)
    assert_array_equal(masses[1, 0], without)
    assert not masses[0, 1].any() and not means[0, 1].any() and not squares[0, 1].any()
    masses[0, 1], means[0, 1, :, 1], squares[0, 1, 1, 1] = with_it, [0.4, 0.5], 0.9
    _jit.merge(T, 0, masses, means, squares)
    p, u, c = R[0]
    assert_allclose(masses[0, 0], without + with_it)
    assert_allclose(means[0, 0, :, 1], [0.7, 0.7])
    assert_allclose(means[0, 0, :, 0], [(c * with_it[1] - u * 0.4) / p, (c * with_it[2] - u * 0.5) / p])
    assert_allclose(squares[0, 0, 1, 1], 1.6)
    assert_allclose(squares[0, 0, 1, 0], (c * 0.5 - u * 0.9) / p)
    assert_allclose(squares[0, 0, 0, 0], (c * c * with_it[2] + with_it[3] - 2 * c * u * 0.5 + u * u * 0.9) / p**2)


def test_dependent_columns_are_passed_over():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 4))
    table[:, 2] = table[:, 0]
    R = np.linalg.qr(table / np.linalg.norm(table, axis=0), mode="r")
    (counts, _, mean, _), scores, *_ = run(R, slab("bic"), np.zeros(4), np.zeros(3))
    assert_array_equal(np.isneginf(scores), [False] * 5 + [True] + [False] + [True])
    assert_allclose(counts[0, 0], counts[0, 2])
    assert_allclose(mean[0], mean[2])


def decided(R, bits):
    """T as `explore` has it at a subset, by its twin."""
    d = len(R) - 1
    T = np.zeros((d + 1, d + 1, d + 1))
    T[0] = R
    for j in range(d):
        T[j + 1, j + 1 :, j + 1 :] = keep(T[j], j) if bits[j] else drop(T[j], j)
    return T


def left(T, members):
    """The smallest distance of a member to the span of the others."""
    distances = []
    for j in members:
        others = T[0][:, members[members != j]]
        distances.append(np.linalg.norm(T[0][:, j] - others @ np.linalg.lstsq(others, T[0][:, j])[0]))
    return min(distances)


DECIDED = [(decided(triangle(6), bits), np.flatnonzero(bits)) for bits in product([0, 1], repeat=6) if any(bits)]
TWINS = [Twin(_jit.sift, sift, list(heaps())), Twin(_jit.left, left, DECIDED, rtol=1e-10)]


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_what_depends_does_so_in_any_order(order):
    """Of two columns that differ by 1e-7 of a third enough is left for 1e-9; not beside the third, nor for a fourth
    that wants 1e-6 to be left of all."""
    rng = np.random.default_rng(0)
    x, e, z, y = rng.normal(size=(4, 20))
    table, least = np.column_stack([x, x + 1e-7 * e, e + 1e-3 * rng.normal(size=20), z]), np.array([1e-9] * 3 + [1e-6])
    U = table / np.linalg.norm(table, axis=0)

    def left(j, others):
        return np.linalg.norm(U[:, j] - U[:, others] @ np.linalg.lstsq(U[:, others], U[:, j])[0])

    R = np.linalg.qr(np.column_stack([U[:, order], y / np.linalg.norm(y)]), mode="r")
    scores = run(R, slab("g"), np.zeros(5), np.zeros(4), least=least[list(order)])[1]
    for place in range(16):
        inside = [order[j] for j in range(4) if (place >> (3 - j)) & 1]
        remains = [left(j, [i for i in inside if i != j]) for j in inside]
        assert np.isneginf(scores[place]) == (min(remains, default=1.0) <= max(least[inside], default=0.0)), inside
    assert np.isneginf(scores).sum() == 3
