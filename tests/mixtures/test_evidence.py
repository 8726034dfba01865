"""The Laplace evidence against exact integrals, importance sampling and finite differences; averages of densities."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm
from scipy.special import expit, gammaln, logsumexp, multigammaln

from credo.core.learning.em import best_ascent
from credo.mixtures import Components, GaussianMixture, StudentTMixture, average_densities
from credo.mixtures._mixture import Prior, Problem, curvature, log_evidence

TIGHT = {"tol": 1e-11, "max_iter": 5000}


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def robust(X):
    """With median zero and the interquartile range of a standard normal, in whose units the prior is given."""
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
    return (X - middle) / ((high - low) / 1.349)


def normal_inverse_wishart(X, kappa, dof, scale):
    """ln p(X) in closed form (Murphy 2007, eq. 266), with prior mean zero."""
    n, d = X.shape
    S = scale * np.eye(d) + X.T @ X - n**2 / (n + kappa) * np.outer(X.mean(axis=0), X.mean(axis=0))
    return (
        -0.5 * n * d * np.log(np.pi)
        + multigammaln((dof + n) / 2, d)
        - multigammaln(dof / 2, d)
        + 0.5 * dof * d * np.log(scale)
        - 0.5 * (dof + n) * np.linalg.slogdet(S)[1]
        + 0.5 * d * np.log(kappa / (kappa + n))
    )


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("n", [60, 500])
def test_one_normal_component_against_the_closed_form(d, n):
    X = robust(np.random.default_rng(0).normal(size=(n, d)) @ np.tri(d))
    error = GaussianMixture(random_state=0, **TIGHT).fit(X).log_evidence_ - normal_inverse_wishart(
        X, 0.01, d + 2.0, 1.0
    )
    assert abs(error) < 5.0 * d**2 / n
    diagonal = GaussianMixture(covariance="diag", random_state=0, **TIGHT).fit(X)
    exact = sum(normal_inverse_wishart(X[:, [j]], 0.01, 3.0, 1.0) for j in range(d))
    assert diagonal.log_evidence_ == pytest.approx(exact, abs=2.0 * d / n)


def test_one_cauchy_component_against_quadrature():
    x = robust(stats.t(2).rvs((60, 1), random_state=0))
    mu, t = np.meshgrid(np.linspace(-1.5, 1.5, 301), np.linspace(-4, 3, 301), indexing="ij")
    # The inverse Wishart prior of one column, with respect to t = ln σ².
    log_joint = stats.invgamma.logpdf(np.exp(t), 1.5, scale=0.5) + t + stats.norm.logpdf(mu, 0, np.exp(t / 2) / 0.1)
    log_joint += sum(stats.cauchy.logpdf(each, mu, np.exp(t / 2)) for each in x[:, 0])
    exact = logsumexp(log_joint) + np.log(3 / 300 * 7 / 300)
    assert StudentTMixture(df=1, random_state=0, **TIGHT).fit(x).log_evidence_ == pytest.approx(exact, abs=0.05)


def two_groups(n=120):
    rng = np.random.default_rng(0)
    return standardized(np.concatenate([rng.normal(-2, 1, n), rng.normal(3, 0.7, n // 2)])[:, None])


def mode(x, k, df, full=True, d=1):
    problem = Problem(x, np.ones(len(x)), k, Prior.weak(k, d, full=full), full, df)
    start = problem.at(problem.start(np.random.default_rng(0)))
    return problem, best_ascent([start], problem.step, max_iter=20000, goal=1e-14 * len(x), n_short=0).end


@pytest.mark.parametrize("df", [np.inf, 1.0, None], ids=["normal", "Cauchy", "learned df"])
def test_two_components_against_importance_sampling(df):
    """In one column, all five (seven) parameters drawn from a Student-t around one mode; the modes number 2!."""
    problem, fit = mode(two_groups(), 2, df)
    H, parts = curvature(problem, fit), fit.parts
    rng, n, size = np.random.default_rng(0), 3000, len(H)
    root = np.linalg.inv(np.linalg.cholesky(H)).T
    z = rng.standard_normal((n, size)) / np.sqrt(rng.chisquare(6, n) / 6)[:, None]
    proposal = stats.multivariate_t(np.zeros(size), np.eye(size), df=6).logpdf(z) + 0.5 * np.linalg.slogdet(H)[1]
    step = z @ root.T
    own = step[:, :-1].reshape(n, 2, -1)
    sigma = parts.roots[:, 0, 0]
    mu, s = parts.means[:, 0] + sigma * own[..., 0], sigma * np.exp(own[..., 1] / 2)
    nu = parts.df * np.exp(own[..., 2]) if df is None else np.full(own.shape[:2], parts.df)
    first = expit(np.log(parts.weights[0] / parts.weights[1]) + step[:, -1])
    weights = np.stack([first, 1 - first], axis=1)
    family = stats.norm(mu[:, None], s[:, None]) if df == np.inf else stats.t(nu[:, None], mu[:, None], s[:, None])
    rows = logsumexp(np.log(weights)[:, None] + family.logpdf(problem.X), axis=2).sum(axis=1)
    # Each density by the coordinates: the logit, u with dμ = σ du, ln σ² and ln ν.
    prior = np.log(weights).sum(axis=1) + np.log(sigma).sum() + gammaln(3)
    prior += stats.norm.logpdf(mu, 0, 10 * s).sum(axis=1)
    prior += (stats.invgamma.logpdf(s**2, 1.5, scale=0.5 / 4) + np.log(s**2)).sum(axis=1)
    prior += (stats.gamma.logpdf(nu, 2, scale=10) + np.log(nu)).sum(axis=1) if df is None else 0.0
    exact = logsumexp(rows + prior - proposal) - np.log(n)
    assert log_evidence(problem, fit) == pytest.approx(exact, abs=0.25)


def moved(parts, step, *, learns):
    """The components at local coordinates: u and E of each, ln ν if learned, and the logits against the last weight."""
    k, d = parts.means.shape
    i, j = np.tril_indices(d, -1) if parts.is_full else ((), ())
    width = 2 * d + len(i) + learns
    logits = np.log(parts.weights)
    logits[:-1] += step[k * width :]
    means, roots, df = parts.means.copy(), parts.roots.copy(), parts.df.copy()
    for c, own in enumerate(step[: k * width].reshape(k, width)):
        E = np.diag(own[d : 2 * d])
        E[i, j] = E[j, i] = own[2 * d : 2 * d + len(i)]
        root = parts.roots[c] if parts.is_full else np.diag(parts.roots[c])
        means[c] += root @ own[:d]
        S = np.linalg.cholesky(root @ expm(E) @ root.T)
        roots[c] = S if parts.is_full else np.diag(S)
        df[c] *= np.exp(own[-1]) if learns else 1.0
    weights = np.exp(logits - logsumexp(logits))
    return Components(weights, means, roots, df)


@pytest.mark.parametrize("df", [np.inf, 3.0, None], ids=["normal", "t", "learned df"])
@pytest.mark.parametrize("full", [True, False], ids=["full", "diag"])
def test_the_curvature_is_that_of_finite_differences(df, full):
    rng = np.random.default_rng(0)
    X = standardized(np.vstack([stats.t(4).rvs((40, 2), random_state=rng), rng.normal(3, 1, (25, 2))]))
    problem, fit = mode(X, 2, df, full, d=2)
    H, step = curvature(problem, fit), 1e-3

    def value(*moves):
        point = np.zeros(len(H))
        for place, size in moves:
            point[place] += size
        return problem.at(moved(fit.parts, point, learns=df is None)).value

    for a in range(len(H)):
        for b in (a, (3 * a + 1) % len(H)):
            corners = [(p, q, value((a, p * step), (b, q * step))) for p in (1, -1) for q in (1, -1)]
            found = -sum(p * q * v for p, q, v in corners) / (4 * step**2)
            assert found == pytest.approx(H[a, b], rel=2e-3, abs=5e-3)


def test_an_average_of_densities_is_the_sum_over_families():
    x = stats.t(3).rvs((30, 1), random_state=0)
    models = {
        "one": GaussianMixture(1, random_state=0),
        "two": GaussianMixture(2, random_state=0),
        "cauchy": StudentTMixture(1, df=1, random_state=0),
    }
    prior = np.array([0.5, 0.2, 0.3])
    average = average_densities(models, x, prior=prior)
    evidence = np.array([m.fit(x).log_evidence_ for m in models.values()])
    joint = np.exp(evidence - evidence.max()) * prior
    np.testing.assert_allclose(average.weights, joint / joint.sum(), rtol=1e-9)
    assert average.log_evidence == pytest.approx(np.log(joint.sum()) + evidence.max())
    density = sum(w * np.exp(m.score_samples(x)) for w, m in zip(average.weights, models.values(), strict=True))
    np.testing.assert_allclose(np.exp(average.score_samples(x)), density, rtol=1e-9)
    rows, family = average.sample(50, random_state=0)
    assert rows.shape == (50, 1) and set(family.tolist()) <= {0, 1, 2}


def test_one_family_wins_as_rows_grow():
    rng = np.random.default_rng(0)
    side = rng.random(400) < 0.5
    x = np.where(
        side, stats.cauchy.rvs(-3, 0.5, 400, random_state=rng), stats.cauchy.rvs(3, 0.5, 400, random_state=rng)
    )
    models = {"normal": GaussianMixture(2, random_state=0), "Cauchy": StudentTMixture(2, df=1, random_state=0)}
    weights = [average_densities(models, x[:n, None]).weights[1] for n in (8, 40, 400)]
    assert weights[0] < 0.999 and weights[2] > 0.999999 and weights[0] < weights[2]
    y = np.where(side, rng.normal(-3, 0.5, 400), rng.normal(3, 0.5, 400))
    assert average_densities(models, y[:, None]).weights[0] > 0.999999


def test_families_that_do_not_compare_are_refused():
    x = np.random.default_rng(0).normal(size=(20, 1))
    with pytest.raises(ValueError, match="the evidence of 'b' has the base"):
        average_densities([("a", GaussianMixture()), ("b", GaussianMixture(prior=None))], x)
    with pytest.raises(ValueError, match="prior must have 1 positive"):
        average_densities([("a", GaussianMixture())], x, prior=[0.5])
    with pytest.raises(ValueError, match="at least one"):
        average_densities([], x)


def test_names_of_averaged_densities():
    x = np.random.default_rng(0).normal(size=(20, 1))
    models = {"a": GaussianMixture(random_state=0), "b": StudentTMixture(df=1, random_state=0)}
    named = average_densities(models, x, prior={"b": 0.9, "a": 0.1})
    np.testing.assert_array_equal(named.weights, average_densities(models, x, prior=[0.1, 0.9]).weights)
    with pytest.raises(ValueError, match=r"prior must name the models \['a', 'b'\]; got \['a', 'c'\]"):
        average_densities(models, x, prior={"a": 0.5, "c": 0.5})
    with pytest.raises(ValueError, match="names of the models must differ"):
        average_densities([("a", GaussianMixture()), ("a", StudentTMixture())], x)
