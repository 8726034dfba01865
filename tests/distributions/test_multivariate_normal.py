"""The joint normal: scipy and block formulas as oracles, laws of probability, singular covariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from credo.distributions import MultivariateNormal, Normal

seeds = st.integers(0, 10_000)


def random_normal(seed: int, n: int = 4, *, rank: int | None = None) -> MultivariateNormal:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, rank or n))
    ridge = 0.0 if rank else 0.1
    return MultivariateNormal(rng.normal(size=n), root @ root.T + ridge * np.eye(n))


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_log_density_equals_scipy(seed: int) -> None:
    dist = random_normal(seed)
    x = np.random.default_rng(seed).normal(size=(5, 4))
    expected = stats.multivariate_normal(dist.mean, dist.cov).logpdf(x)
    np.testing.assert_allclose(dist.log_prob(x), expected, rtol=1e-9)
    assert dist.log_prob(x[0]) == pytest.approx(expected[0], rel=1e-9)


def test_independent_coordinates_are_normals() -> None:
    mean, std, x = np.array([0.0, 5.0, -1e5]), np.array([1e-9, 2.0, 1e9]), np.array([1e-9, 4.0, 0.0])
    joint = MultivariateNormal(mean, np.diag(std**2))
    np.testing.assert_allclose(joint.log_prob(x), Normal(mean, std).log_prob(x).sum(), rtol=1e-13)
    np.testing.assert_allclose(joint.std, std)
    np.testing.assert_allclose(joint.var, std**2)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_condition_equals_the_precision_form(seed: int) -> None:
    """Bishop 2.73 and 2.75: Λ_aa is the inverse of the conditional covariance, the mean is μ_a − Λ_aa⁻¹Λ_ab d."""
    dist, known, rest = random_normal(seed, 5), np.array([3, 0]), np.array([1, 2, 4])
    values = np.random.default_rng(seed).normal(size=2)
    precision = np.linalg.inv(dist.cov)
    inner = np.linalg.inv(precision[np.ix_(rest, rest)])
    given_ = dist.condition(known, values)
    np.testing.assert_allclose(given_.cov, inner, rtol=1e-6, atol=1e-8)
    shift = inner @ precision[np.ix_(rest, known)] @ (values - dist.mean[known])
    np.testing.assert_allclose(given_.mean, dist.mean[rest] - shift, rtol=1e-6, atol=1e-8)


@given(seeds, st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_chain_rule(seed: int, n_known: int) -> None:
    """log p(a, b) = log p(b) + log p(a | b)."""
    dist = random_normal(seed)
    rng = np.random.default_rng(seed)
    known, x = rng.permutation(4)[:n_known], rng.normal(size=4)
    rest = np.setdiff1d(np.arange(4), known)
    chain = dist.marginal(known).log_prob(x[known]) + dist.condition(known, x[known]).log_prob(x[rest])
    np.testing.assert_allclose(chain, dist.log_prob(x), rtol=1e-8, atol=1e-8)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_conditions_commute(seed: int) -> None:
    dist = random_normal(seed)
    at_once = dist.condition([1, 3], [0.5, -1.0])
    in_turn = dist.condition(3, -1.0).condition(1, 0.5)
    np.testing.assert_allclose(at_once.mean, in_turn.mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(at_once.cov, in_turn.cov, rtol=1e-7, atol=1e-8)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_affine_maps_compose_and_contain_marginals(seed: int) -> None:
    dist = random_normal(seed)
    rng = np.random.default_rng(seed)
    A, B, b, c = rng.normal(size=(3, 4)), rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=2)
    once, twice = dist.affine(B @ A, B @ b + c), dist.affine(A, b).affine(B, c)
    np.testing.assert_allclose(once.mean, twice.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(once.cov, twice.cov, rtol=1e-9, atol=1e-9)
    chosen, marginal = dist.affine(np.eye(4)[[2, 0]]), dist.marginal([2, 0])
    np.testing.assert_allclose(chosen.mean, marginal.mean)
    np.testing.assert_allclose(chosen.cov, marginal.cov)
    np.testing.assert_array_equal(marginal.cov, dist.cov[np.ix_([2, 0], [2, 0])])


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_a_linear_observation_is_the_kalman_update(seed: int) -> None:
    """Stack x with y = Hx + noise and condition on y: the textbook gain (Rauch–Tung–Striebel's first half)."""
    x, noise = random_normal(seed, 3), MultivariateNormal(np.zeros(2), 0.3 * np.eye(2))
    H, y = np.random.default_rng(seed).normal(size=(2, 3)), np.array([1.0, -2.0])
    stacked = x.affine(np.vstack([np.eye(3), H])) + noise.affine(np.vstack([np.zeros((3, 2)), np.eye(2)]))
    posterior = stacked.condition([3, 4], y)
    gain = x.cov @ H.T @ np.linalg.inv(H @ x.cov @ H.T + 0.3 * np.eye(2))
    np.testing.assert_allclose(posterior.mean, x.mean + gain @ (y - H @ x.mean), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(posterior.cov, x.cov - gain @ H @ x.cov, rtol=1e-6, atol=1e-7)


def test_sums_are_of_independent_vectors() -> None:
    a, b = random_normal(1), random_normal(2)
    np.testing.assert_array_equal((a + b).mean, a.mean + b.mean)
    np.testing.assert_allclose((a + b).cov, a.cov + b.cov, rtol=1e-15)
    difference = a + b.affine(-np.eye(4))
    np.testing.assert_allclose(difference.cov, a.cov + b.cov, rtol=1e-15)
    with pytest.raises(ValueError, match="can't add vectors of 4 and 2 coordinates"):
        a + b.marginal([0, 1])
    with pytest.raises(TypeError):
        a + 1.0


@pytest.mark.parametrize("method", ["cholesky", "eigh"])
@pytest.mark.parametrize("rank", [None, 2])
def test_samples_have_the_moments(method: str, rank: int | None) -> None:
    """Within six standard errors; the variance of a sample covariance is (c_ii c_jj + c_ij²)/n."""
    dist, n = random_normal(3, rank=rank), 20_000
    draws = dist.sample(n, random_state=0, method=method)  # type: ignore[arg-type]
    assert draws.shape == (n, 4)
    assert (np.abs(draws.mean(axis=0) - dist.mean) <= 6 * dist.std / np.sqrt(n)).all()
    error = np.sqrt((np.outer(dist.var, dist.var) + dist.cov**2) / n)
    assert (np.abs(np.cov(draws.T) - dist.cov) <= 6 * error).all()
    np.testing.assert_array_equal(draws[:1], dist.sample(n, random_state=0, method=method)[:1])  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["cholesky", "eigh"])
def test_samples_of_a_singular_covariance_stay_on_its_support(method: str) -> None:
    """x₂ = x₀ + x₁ exactly, and x₃ is a constant."""
    base = MultivariateNormal([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])
    dist = base.affine([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], [0.0, 0.0, 0.0, 7.0])
    draws = dist.sample(100, random_state=1, method=method)  # type: ignore[arg-type]
    np.testing.assert_allclose(draws[:, 2], draws[:, 0] + draws[:, 1], atol=1e-12)
    np.testing.assert_array_equal(draws[:, 3], 7.0)
    assert np.isfinite(dist.log_prob(draws)).all()
    assert dist.log_prob(draws[0] + [0.0, 0.0, 0.1, 0.0]) == -np.inf
    assert dist.log_prob(draws[0] + [0.0, 0.0, 0.0, 0.1]) == -np.inf


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_singular_log_density_equals_scipy(seed: int) -> None:
    dist = random_normal(seed, rank=2)
    x = dist.sample(3, random_state=seed)
    oracle = stats.multivariate_normal(dist.mean, dist.cov, allow_singular=True)
    # scipy's own test of the support is tighter than the rounding of samples, so the density is spelled out.
    values, vectors = np.linalg.eigh(dist.cov)
    z = (x - dist.mean) @ vectors[:, 2:] / np.sqrt(values[2:])
    expected = -0.5 * ((z**2).sum(axis=1) + np.log(values[2:]).sum() + 2 * np.log(2 * np.pi))
    np.testing.assert_allclose(dist.log_prob(x), expected, rtol=1e-6)
    np.testing.assert_allclose(dist.log_prob(dist.mean), oracle.logpdf(dist.mean), rtol=1e-6)


def test_a_factor_by_luck_is_none() -> None:
    """Rounding lets some singular matrices through Cholesky; their density must not depend on that."""
    for seed in range(200):
        n = 2 + seed % 25
        dist = random_normal(seed, n, rank=n - 1)
        x = dist.sample(1, random_state=seed)[0]
        off = np.linalg.eigh(dist.cov)[1][:, 0]
        assert np.isfinite(dist.log_prob(x)) and dist.log_prob(x + 0.1 * off) == -np.inf


def test_units_don_t_decide_what_is_singular() -> None:
    """Rank two in each of three units: metres, nanometres, gigametres."""
    units = np.array([1.0, 1e9, 1e-9])
    plain = MultivariateNormal(0.0, [[2.0, 0.5, 2.5], [0.5, 1.0, 1.5], [2.5, 1.5, 4.0]])
    scaled = MultivariateNormal(0.0, plain.cov * np.outer(units, units))
    draws = scaled.sample(200, random_state=0, method="eigh") / units
    np.testing.assert_allclose(draws[:, 2], draws[:, 0] + draws[:, 1], atol=1e-9)
    assert np.isfinite(scaled.log_prob(draws * units)).all()
    assert (draws.std(axis=0) > 0.5).all()


def test_point_mass() -> None:
    point = MultivariateNormal([1.0, 2.0], np.zeros((2, 2)))
    np.testing.assert_array_equal(point.sample(3, random_state=0), [[1.0, 2.0]] * 3)
    assert point.log_prob([1.0, 2.0]) == 0.0 and point.log_prob([1.0, 2.1]) == -np.inf


def test_conditions_on_singular_blocks() -> None:
    dist = MultivariateNormal([0.0, 0.0, 0.0], [[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    both, one = dist.condition([0, 1], [0.8, 0.8]), dist.condition(0, 0.8).marginal(1)
    np.testing.assert_allclose(both.mean, one.mean)
    np.testing.assert_allclose(both.cov, one.cov)
    with pytest.raises(ValueError, match="these values are impossible: cov is singular"):
        dist.condition([0, 1], [0.8, -0.8])
    twin = dist.condition(0, 0.8)
    assert twin.std[0] == 0.0 and twin.mean[0] == pytest.approx(0.8)


def test_what_is_determined_has_variance_zero_not_below() -> None:
    dist = random_normal(5, 6, rank=3)
    rest = dist.condition([0, 1, 2], dist.sample(1, random_state=0)[0, :3])
    np.testing.assert_array_equal(rest.cov, 0.0)
    np.testing.assert_array_equal(dist.affine(np.zeros((1, 6))).var, 0.0)
    sums = MultivariateNormal(0.0, [[1.0, 1.0], [1.0, 1.0]]).affine([1.0, -1.0])
    assert sums.var.tolist() == [0.0]


def test_indices_are_numpy_s() -> None:
    dist = random_normal(7)
    for index in (1, -3, slice(1, 2), [1], np.array([False, True, False, False])):
        assert dist.marginal(index).mean.tolist() == [dist.mean[1]]
        np.testing.assert_allclose(dist.condition(index, 0.3).mean, dist.condition(1, 0.3).mean)
    np.testing.assert_array_equal(dist.condition([], []).cov, dist.cov)
    assert len(dist) == 4 and len(dist.marginal([0, 0])) == 2


def test_immutable_and_readable() -> None:
    cov = np.eye(2)
    dist = MultivariateNormal(0.0, cov)
    cov[0, 0] = 9.0
    assert dist.cov[0, 0] == 1.0 and dist.mean.tolist() == [0.0, 0.0]
    with pytest.raises(AttributeError, match="is immutable"):
        dist.mean = np.ones(2)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        dist.cov[0, 0] = 2.0
    assert repr(dist) == "MultivariateNormal(mean=[0., 0.], std=[1., 1.])"
    assert len(MultivariateNormal(1.0, 4.0)) == 1


def test_bad_input_is_refused_in_words() -> None:
    cases = [
        ([0.0, 0.0], np.ones((2, 3)), r"cov must be a square matrix of at least one row; got shape \(2, 3\)"),
        ([0.0, 0.0, 0.0], np.eye(2), r"mean has the shape \(3,\), but cov is 2×2"),
        ([0.0, np.nan], np.eye(2), "mean must not contain NaN; got nan at index 1"),
        ([0.0, np.inf], np.eye(2), "mean must be finite; got inf at index 1"),
        (0.0, [[1.0, np.nan], [0.0, 1.0]], r"cov must not contain NaN; got nan at index \(0, 1\)"),
        (0.0, [[1.0, 0.5], [0.2, 1.0]], r"cov must be symmetric; got 0.5 at index \(0, 1\)"),
        (0.0, [[1.0, 0.0], [0.0, -1.0]], "the diagonal of cov must not be negative; got -1.0 at index 1"),
    ]
    for mean, cov, message in cases:
        with pytest.raises(ValueError, match=message):
            MultivariateNormal(mean, cov)
    impossible = MultivariateNormal(0.0, [[1.0, 2.0], [2.0, 1.0]])
    for attempt in (impossible.sample, lambda: impossible.log_prob([0.0, 0.0])):
        with pytest.raises(ValueError, match="not positive semidefinite: its correlations have the eigenvalue -1"):
            attempt()


def test_bad_arguments_are_refused_in_words() -> None:
    dist = random_normal(0)
    with pytest.raises(ValueError, match="at least one row"):
        dist.marginal([])
    with pytest.raises(IndexError, match="indices don't match 4 coordinates"):
        dist.marginal(4)
    with pytest.raises(ValueError, match=r"indices must not repeat; got \[1, 1\]"):
        dist.condition([1, 1], [0.0, 0.0])
    with pytest.raises(ValueError, match="all coordinates are given"):
        dist.condition(slice(None), np.zeros(4))
    with pytest.raises(ValueError, match=r"values must have the shape \(2,\), as indices have; got \(3,\)"):
        dist.condition([0, 1], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"A must have the shape \(k, 4\); got \(2, 3\)"):
        dist.affine(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"b must have the shape \(2,\), as A has rows; got \(3,\)"):
        dist.affine(np.ones((2, 4)), np.ones(3))
    with pytest.raises(ValueError, match=r'method must be "cholesky" or "eigh"; got \'svd\''):
        dist.sample(method="svd")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"x must have the shape \(4,\) or \(m, 4\); got \(3,\)"):
        dist.log_prob(np.zeros(3))
    with pytest.raises(ValueError, match=r"x must be finite; got inf at index 0"):
        dist.log_prob([np.inf, 0.0, 0.0, 0.0])
