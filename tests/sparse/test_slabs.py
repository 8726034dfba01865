"""Evidences of single subsets, against densities and integrals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from tests.sparse.oracle import evidence

from credo.sparse._slabs import bic_slab, g_slab, normal_slab, shrinkage_moments, slab_of

OPTIONS = {
    "bic": [{}],
    "g": [{"g": 12.0}, {"g": 0.3}],
    "zellner-siow": [{}],
    "normal": [{"slab_variance": 0.7, "noise_variance": 1.3}, {"slab_variance": 2.5, "noise_variance": None}],
}
CASES = [(name, options) for name, group in OPTIONS.items() for options in group]


def data(k, n=14, seed=0):
    rng = np.random.default_rng([seed, k])
    X = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-1, 2, size=k) + 3
    return X, 2 + X.sum(axis=1) * 0.3 + rng.normal(size=n)


def statistics(X, y, ridge):
    Z, z = X - X.mean(axis=0), y - y.mean()
    A = Z.T @ Z + ridge * np.eye(X.shape[1])
    b = Z.T @ z
    return z @ z, b @ np.linalg.solve(A, b) if len(b) else 0.0, np.linalg.slogdet(A)[1]


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_evidence_equals_the_integral(name, options, k):
    X, y = data(k)
    yy = statistics(X, y, 0.0)[0]
    slab = slab_of(name, len(y), yy, 5, **options)
    _, q, logdet = statistics(X, y, slab.ridge)
    assert_allclose(slab.score(k, 1.0 - q / yy, logdet), evidence(X, y, name, **options), rtol=1e-8)


@pytest.mark.parametrize(("name", "g"), [("bic", None), ("g", None), ("zellner-siow", None)], ids=str)
def test_arrays_are_scored_one_by_one(name, g):
    slab = slab_of(name, 30, 7.0, 4, g=g)
    k = np.array([0, 1, 5, 20, 28, 29, 40])
    rest = np.array([1.0, 0.9, 1e-3, 0.5, 1e-9, 0.5, 0.5])
    together = slab.score(k, rest)
    assert_allclose(together, [slab.score(size, left) for size, left in zip(k, rest, strict=True)])
    assert np.isneginf(together[-2:]).all() and np.isfinite(together[:-2]).all()


def test_zellner_siow_by_splines_is_the_quadrature():
    slab = slab_of("zellner-siow", 47.0, 2.0, 4)
    for k in (1, 7, 30, 45):
        x = np.array([0.0, 1e-6, 0.013, 0.4, 2.7, 13.1, 40.0])
        exact = shrinkage_moments(47.0, k, x)[0] + 23.0 * x
        assert_allclose(slab.score(np.full(len(x), k), np.exp(-x)) - slab.log_null, exact, atol=1e-8)


def test_shrinkage_rule_has_the_moments_of_the_integral():
    n, k, rest = 20, 3, 0.35
    prior = stats.invgamma(0.5, scale=n / 2)

    def density(t):
        g = np.exp(t)
        return np.exp(0.5 * (n - 1 - k) * np.log1p(g) - 0.5 * (n - 1) * np.log1p(g * rest) + prior.logpdf(g) + t)

    total = quad(density, -8, 40, limit=500)[0]
    laws = slab_of("zellner-siow", n, 1.0, 4).posteriors(k, rest)[0]
    assert_allclose(sum(weight for weight, *_ in laws), 1.0)
    for power in range(1, 6):
        value = quad(lambda t, p=power: density(t) * (1 + np.exp(-t)) ** -p, -8, 40, limit=500)[0] / total
        assert_allclose(sum(weight * shrink**power for weight, shrink, *_ in laws), value, rtol=1e-8)


def test_what_g_may_be():
    for d, g, expected in [(4, None, 30.0), (4, "n", 30.0), (4, "max", 30.0), (8, "max", 64.0), (8, 7, 7.0)]:
        assert slab_of("g", 30, 1.0, d, g=g) == g_slab(30.0, 1.0, expected)
    for bad in ("large", -1.0, 0, True):
        with pytest.raises(ValueError, match="g must be"):
            slab_of("g", 30, 1.0, 8, g=bad)
    with pytest.raises(ValueError, match="slab must be one of"):
        slab_of("cauchy", 30, 1.0, 8)
    with pytest.raises(ValueError, match="slab_variance must be a positive"):
        slab_of("normal", 30, 1.0, 8, slab_variance=-1.0)
    with pytest.raises(ValueError, match="noise_variance must be a positive"):
        slab_of("normal", 30, 1.0, 8, noise_variance=0.0)


def test_only_a_proper_prior_bears_as_many_columns_as_rows():
    for slab in (bic_slab(10, 1.0), g_slab(10, 1.0, 10.0), slab_of("zellner-siow", 10, 1.0, 4)):
        assert np.isfinite(slab.score(8, 0.1)) and np.isneginf(slab.score(9, 0.1))
    assert np.isfinite(normal_slab(10, 1.0, 1.0, None).score(50, 0.1, 3.0))
    assert np.isneginf(slab_of("g", 10, 1.0, 4, g=10.0, n_rows=6).score(5, 0.1))
