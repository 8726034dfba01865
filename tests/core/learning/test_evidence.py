"""The precisions of largest evidence against a general optimiser, densities and limits."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.integrate import trapezoid

from credo.core.learning import EvidenceTerms, Gamma, log_evidence, log_evidence_gradient, maximize_precisions


def terms(seed=0, n=25, p=4, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.geomspace(1, 30, p)
    y = X @ (rng.normal(size=p) / np.geomspace(1, 30, p)) + noise * rng.normal(size=n)
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    q = U.T @ y
    return EvidenceTerms(s**2, q**2, float(y @ y - q @ q), float(n), 0.0), X, y


@pytest.mark.parametrize("seed", range(8))
def test_no_optimiser_finds_more(seed):
    data, _, _ = terms(seed)
    found = maximize_precisions(data, prior=None, noise=None)
    reached = log_evidence(data, prior=found.prior, noise=found.noise)
    for start in [(-6, -6), (0, 0), (6, 3), (-3, 6)]:
        other = optimize.minimize(
            lambda t: -log_evidence(data, prior=np.exp(t[0]), noise=np.exp(t[1])), start, method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 2000},
        )  # fmt: skip
        assert -other.fun <= reached + 1e-7
    assert np.abs(log_evidence_gradient(data, prior=found.prior, noise=found.noise)).max() < 1e-8


def test_log_evidence_is_a_density():
    data, X, y = terms()
    cov = np.eye(25) / 3 + X @ X.T / 0.7
    assert log_evidence(data, prior=0.7, noise=3.0) == pytest.approx(stats.multivariate_normal(cov=cov).logpdf(y))


def test_integrating_the_noise_out_is_an_average_over_it():
    """∫ N(y | β) Gamma(β) dβ by quadrature over ln β."""
    data, _, _ = terms()
    prior = Gamma(1.2, 0.8)
    t = np.linspace(-12, 8, 20001)
    logs = np.array([log_evidence(data, prior=0.7 * np.exp(v), noise=np.exp(v)) for v in t])
    logs += stats.gamma(1.2, scale=1 / 0.8).logpdf(np.exp(t)) + t
    average = logs.max() + np.log(trapezoid(np.exp(logs - logs.max()), t))
    assert log_evidence(data, prior=0.7, noise=prior) == pytest.approx(average, abs=1e-8)


@pytest.mark.parametrize("noise", [2.0, Gamma(1.0, 0.5)])
def test_the_ratio_alone_is_maximised(noise):
    data, _, _ = terms(3)
    found = maximize_precisions(data, prior=None, noise=noise)
    best = log_evidence(data, prior=found.prior, noise=noise)
    for factor in (0.9, 1.1, 1e-3, 1e3):
        assert log_evidence(data, prior=found.prior * factor, noise=noise) < best


def test_of_two_maxima_the_higher_is_taken():
    """Two groups of directions that want very different prior variances."""
    eigenvalues = np.concatenate([np.full(5, 1e6), np.full(5, 1e-3)])
    projections = np.concatenate([np.full(5, 3.0), np.full(5, 400.0)])
    data = EvidenceTerms(eigenvalues, projections, 30.0, 40.0, 0.0)
    found = maximize_precisions(data, prior=None, noise=1.0)
    grid = np.geomspace(1e-12, 1e12, 4001)
    heights = [log_evidence(data, prior=a, noise=1.0) for a in grid]
    assert log_evidence(data, prior=found.prior, noise=1.0) >= max(heights) - 1e-9
    peaks = sum(b > a and b > c for a, b, c in zip(heights, heights[1:], heights[2:], strict=False))
    assert (peaks > 1) == ("several local maxima" in found.message)
    assert peaks > 1


def test_ends_of_the_range_are_put_into_words():
    silent = EvidenceTerms(np.ones(3), np.full(3, 0.01), 10.0, 13.0, 0.0)
    assert "without any linear effect" in maximize_precisions(silent, prior=None, noise=None).message
    flat = EvidenceTerms(np.empty(0), np.empty(0), 10.0, 13.0, 0.0)
    assert "all columns are constant" in maximize_precisions(flat, prior=None, noise=None).message
    exact = EvidenceTerms(np.array([1.0, 100.0]), np.array([1.0, 100.0]), 1e-200, 2.0, 0.0)
    assert "noise goes to zero" in maximize_precisions(exact, prior=None, noise=None).message


def test_exact_targets_give_the_precision_of_their_weights():
    """Without noise the weights are known, and α is p/‖w‖² (Bishop 3.98 in the limit)."""
    eigenvalues, w = np.array([50.0, 40.0, 60.0]), np.array([1.0, -2.0, 0.5])
    data = EvidenceTerms(eigenvalues, eigenvalues * w**2, 1e-25, 49.0, 0.0)
    found = maximize_precisions(data, prior=None, noise=None)
    assert found.prior == pytest.approx(3 / (w @ w), rel=1e-9)
    assert not found.noiseless and found.n_iter > 0
    assert np.abs(log_evidence_gradient(data, prior=found.prior, noise=found.noise)).max() < 1e-8


@pytest.mark.parametrize("seed", range(60))
def test_the_maximum_is_global_for_spectra_of_several_levels(seed):
    """Groups of weights of unlike sizes make several maxima; a fine scan finds none higher."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 60, rng.integers(2, 4))
    eigenvalues = np.repeat(10 ** rng.uniform(-8, 8, len(sizes)), sizes)
    projections = np.repeat(10 ** rng.uniform(-4, 4, len(sizes)), sizes)
    data = EvidenceTerms(
        eigenvalues, projections, 10 ** rng.uniform(-6, 2), float(sizes.sum() + rng.integers(1, 40)), 0.0
    )
    found = maximize_precisions(data, prior=None, noise=None)
    reached = log_evidence(data, prior=found.prior, noise=found.noise)
    for ratio in np.geomspace(eigenvalues.min() * 1e-16, eigenvalues.max() * 1e9, 1500):
        noise = data.dof / data.misfit(ratio)
        assert log_evidence(data, prior=ratio * noise, noise=noise) <= reached + 1e-6
