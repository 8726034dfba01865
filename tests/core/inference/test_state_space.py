"""Gaussian processes of one column in linear time: what the contract suite doesn't reach."""

import time
import warnings

import numpy as np
import pytest

from credo.core.estimator import FitWarning
from credo.core.inference import Dense, StateSpace, choose, cost_remark, markov, representation
from credo.core.linalg import NotPositiveDefiniteError, one_blas_thread
from credo.gp import GPRegressor
from credo.kernels import RBF, Exponential, Linear, Matern32, Matern52, Periodic

RNG = np.random.default_rng(7)
KERNELS = [Matern32(0.6), Matern52(0.8, variance=2.0), Exponential(1.3) + Linear(0.2)]
NEW = np.array([[-5.0], [0.1], [0.1], [3.333], [9.0], [40.0]])


def constant(rows):
    return np.ones((len(rows), 1))


def both(kernel, X, Y, noise):
    return [kind(X).prior(kernel).observe(Y, noise, constant) for kind in (Dense, StateSpace)]


def assert_equal(exact, found, rtol=1e-8):
    np.testing.assert_allclose(found.log_evidence, exact.log_evidence, rtol=rtol)
    np.testing.assert_allclose(found.gradient().by_kernel, exact.gradient().by_kernel, rtol=1e-6, atol=1e-6)
    for one, other in zip(found.left_out(), exact.left_out(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.covariance(NEW), exact.covariance(NEW), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.expected(NEW), exact.expected(NEW), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("regular", [False, True])
def test_rows_in_many_chunks_equal_the_dense_matrix(monkeypatch, kernel, regular):
    """Unsorted rows with repeated times, or equal gaps, whose transitions are looked up; new rows between chunks."""
    monkeypatch.setattr(markov, "_MAX_CHUNK_ROWS", 64)
    X = np.linspace(0, 10, 201)[:, None] if regular else RNG.uniform(0, 10, size=(201, 1))
    if not regular:
        X[7], X[8] = X[20], X[20]
    Y = np.sin(X) + 0.3 * RNG.normal(size=(201, 2))
    assert_equal(*both(kernel, X, Y, RNG.uniform(0.05, 0.2, 201)))


def test_gaps_from_tiny_to_huge_and_almost_no_noise():
    """The oracle eliminates the same matrix in extended precision."""
    X = np.cumsum([0.0, 1e-9, 1e-5, 1.0, 1e-3, 1e8, 0.5, 1e-7])[:, None]
    Y = np.linspace(-1, 1, 8)[:, None]
    kernel = Matern32(1.0)
    found = StateSpace(X).prior(kernel).observe(Y, 1e-6)
    r = np.sqrt(np.longdouble(3)) * np.abs(X - X.T).astype(np.longdouble)
    L, value = (1 + r) * np.exp(-r) + 1e-6 * np.eye(8), np.longdouble(0)
    y = Y[:, 0].astype(np.longdouble)
    for i in range(8):
        value += y[i] ** 2 / L[i, i] + np.log(2 * np.pi * L[i, i])
        factor = L[i + 1 :, i] / L[i, i]
        y[i + 1 :] -= factor * y[i]
        L[i + 1 :, i:] -= np.outer(factor, L[i, i:])
    assert found.log_evidence == pytest.approx(float(-0.5 * value), rel=1e-9)
    assert np.isfinite(found.gradient().by_kernel).all() and (found.variance >= 0).all()


def test_values_without_noise_at_close_times_keep_their_digits():
    """f at 0 and h determines f′ to about h: a difference quotient predicts beyond, where a matrix is singular."""
    for h in (1e-2, 1e-5, 1e-8):
        posterior = StateSpace(np.array([[0.0], [h]])).prior(Matern52(1.0)).observe(np.array([[0.0], [h]]), 0.0)
        assert posterior.jitter == 0.0
        assert posterior.expected(np.array([[1e-3]]))[0, 0] == pytest.approx(1e-3, rel=0.01)


def test_repeated_times_without_noise_get_a_jitter():
    X, Y = np.array([[0.0], [1.0], [1.0]]), np.array([[0.0], [1.0], [1.0]])
    posterior = StateSpace(X).prior(Matern32(1.0)).observe(Y, 0.0)
    assert 0 < posterior.jitter <= 1e-11
    assert posterior.expected(np.array([[1.0]]))[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_a_hundred_thousand_rows_have_the_evidence_of_an_autoregression():
    """Exponential kernels at equal gaps are AR(1) processes, whose density without noise is elementary."""
    n, gap = 100_000, 0.01
    phi = np.exp(-gap)
    y = np.empty(n)
    y[0] = RNG.normal()
    shocks = np.sqrt(1 - phi**2) * RNG.normal(size=n)
    for i in range(1, n):
        y[i] = phi * y[i - 1] + shocks[i]
    innovation = y[1:] - phi * y[:-1]
    expected = -0.5 * (
        y[0] ** 2 + innovation @ innovation / (1 - phi**2) + n * np.log(2 * np.pi) + (n - 1) * np.log(1 - phi**2)
    )
    posterior = StateSpace(gap * np.arange(n)[:, None]).prior(Exponential(1.0)).observe(y[:, None], 0.0)
    assert posterior.log_evidence == pytest.approx(expected, rel=1e-9)


def test_what_has_no_state_space_form_is_named():
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match=r"RBF\(lengthscale=1\) has no state-space form.*Matern32"):
        StateSpace(X).prior(RBF()).observe(X, 0.1).log_evidence
    with pytest.raises(ValueError, match="single column, such as a time, and X has 2"):
        StateSpace(np.zeros((4, 2)))
    with pytest.raises(NotPositiveDefiniteError, match="more than 100 harmonics"):
        StateSpace(X).prior(Periodic(0.01)).observe(X, 0.1).log_evidence


def test_auto_chooses_by_size_shape_and_kernel():
    long, wide = np.zeros((2000, 1)), np.zeros((2000, 2))
    assert choose("auto", long, Matern32())[0] == "state_space"
    quasi = Matern32(9.0) * Periodic() + Matern32()
    assert choose("auto", np.zeros((20_000, 1)), quasi)[0] == "state_space"
    for X, kernel in [
        (long[:500], quasi),
        (long[:40], Matern32()),
        (wide, Matern32().on(0)),
        (long, RBF()),
        (long, Matern32() + RBF()),
    ]:
        assert choose("auto", X, kernel) == ("exact", "")
    assert choose("exact", long, Matern32()) == ("exact", "")
    assert isinstance(representation("state_space", long[:5], RBF()), StateSpace)


def test_the_first_rows_of_a_search_are_neighbours_and_far_apart():
    X = RNG.permutation(1000.0 * np.arange(5000))[:, None]
    order = StateSpace(X).search_order(np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(5000))
    times = np.sort(X[order[:400], 0])
    gaps = np.diff(times)
    assert (gaps == 1000.0).sum() > 150 and np.ptp(times) > 4e6


@pytest.mark.parametrize(
    ("n", "kernel"),
    [
        (60, Matern32(9.0) * Periodic() + Matern32()),
        (500, Matern32(9.0) * Periodic() + Matern32()),
        (500, Matern52()),
        (500, Matern52() + Matern32(3.0) * Exponential()),
        (1500, Periodic()),
    ],
    ids=repr,
)
def test_auto_does_not_choose_the_slower_method(n, kernel):
    """By CPU time of the evidence and its gradient; near the point where both take the same time, either will do."""
    rng = np.random.default_rng(0)
    X, Y = np.sort(rng.uniform(0, 20, n))[:, None], rng.normal(size=(n, 1))

    def seconds(method):
        rows, times = representation(method, X, kernel), []
        for _ in range(4):
            start = time.process_time()
            posterior = rows.prior(kernel).observe(Y, 0.1)
            assert np.isfinite(posterior.log_evidence) and np.isfinite(posterior.gradient().by_kernel).all()
            times.append(time.process_time() - start)
        return min(times)

    with one_blas_thread():
        costs = {method: seconds(method) for method in ("exact", "state_space")}
    assert costs[choose("auto", X, kernel)[0]] < 2.0 * min(costs.values())


def test_a_method_that_takes_ten_times_as_long_says_so():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 20, 100))[:, None]
    y = np.sin(6 * x[:, 0]) + 0.1 * rng.normal(size=100)
    quasi = Matern32(9.0) * Periodic(period=1.0).fix() + Matern32()
    settings = {"n_restarts": 0, "max_evaluations": 3, "hyperparameters": "optimize", "random_state": 0}
    with pytest.warns(FitWarning, match=r'method="state_space" takes about \d+ times as long as method="exact"'):
        model = GPRegressor(quasi, method="state_space", **settings).fit(x, y)
    assert "times as long" in model.result_.message
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        assert GPRegressor(quasi, **settings).fit(x, y).method_ == "exact"
    X = np.zeros((3000, 1))
    assert 'method="exact" takes about' in cost_remark("exact", X, Matern32())
    for method, rows, kernel in [("exact", X[:200], Matern32()), ("exact", X, RBF()), ("vecchia", X, Matern32())]:
        assert cost_remark(method, rows, kernel) == ""
