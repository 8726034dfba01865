"""The compiled loops over logistic models, restated in the plainest NumPy."""

from functools import cache as cached

import numpy as np
from scipy.special import expit, log_expit
from tests.reference.twins import Twin

from credo.sparse import _laplace_jit
from credo.sparse._laplace import Dataset
from credo.sparse._models import ModelPrior


def laplace(ZT, members, y, weight, level_precision, precision, theta, L):
    """ln p(y | γ), the mode and the factor of the curvature, by Newton's method; the last step has no length."""
    phi, prior = np.vstack([np.ones(len(y)), ZT[members]]).T, np.full(len(theta), precision)
    prior[0] = level_precision
    for _ in range(50):
        p = expit(phi @ theta)
        H = (phi * (weight * p * (1 - p))[:, None]).T @ phi + np.diag(prior)
        step = np.linalg.solve(H, phi.T @ (weight * (y - p)) - prior * theta)
        theta += step / max(1.0, np.abs(step).max())
    side = np.where(y > 0.5, 1.0, -1.0)
    height = float(weight @ log_expit(side * (phi @ theta)) - 0.5 * prior @ theta**2)
    L[:] = np.linalg.cholesky(H)
    return height + 0.5 * np.log(prior).sum() - 0.5 * np.linalg.slogdet(H)[1], 0.0


def log_flip_odds(ZT, members, y, weight, precision, theta, L, log_prior, out):
    """About what is added to ln p(γ | y) when a column flips, at most 4, for all columns.

    One Newton step in the larger model, and the ratio of Savage and Dickey for the smaller ones.
    """
    k, phi, H = len(members), np.vstack([np.ones(len(y)), ZT[members]]).T, L @ L.T
    p = expit(phi @ theta)
    W, cov = weight * p * (1 - p), np.linalg.inv(H)
    for j, z in enumerate(ZT):
        if j in members:
            place = 1 + list(members).index(j)
            s2 = cov[place, place]
            out[j] = -0.5 * np.log(precision * s2) - 0.5 * theta[place] ** 2 / s2 + log_prior[k - 1] - log_prior[k]
            continue
        # The gradient of the larger model at (θ, 0) is zero but for its last entry.
        bordered = np.block([[H, (phi.T @ (W * z))[:, None]], [(W * z) @ phi, W @ z**2 + precision]])
        gradient = np.append(np.zeros(k + 1), z @ (weight * (y - p)))
        step = np.linalg.solve(bordered, gradient)
        volume = np.linalg.slogdet(bordered)[1] - np.linalg.slogdet(H)[1] - np.log(precision)
        out[j] = 0.5 * gradient @ step - 0.5 * volume + log_prior[k + 1] - log_prior[k]
    out[:] = np.minimum(out, 4.0)


def evaluated(data, log_prior, members):
    """ln p(y | γ), the log odds of all flips, the mode and the factor of the curvature there."""
    theta, L, odds = np.zeros(len(members) + 1), np.empty((len(members) + 1,) * 2), np.empty(data.n_columns)
    value = laplace(data.ZT, members, data.y, data.weight, 0.01, 1 / data.variance, theta, L)[0]
    log_flip_odds(data.ZT, members, data.y, data.weight, 1 / data.variance, theta, L, log_prior, odds)
    return value, odds, theta, L


def run_steps(data, prior, start, exploration, uniforms):
    """Weighted steps with approximate rates: the models with their weights, and the sums of inclusion."""
    d, members, models, weights, included = data.n_columns, frozenset(start), [], [], np.zeros(data.n_columns)
    log_prior = prior.log_prob(np.arange(d + 1))

    @cached
    def look(model):
        value, gains, *_ = evaluated(data, log_prior, np.array(sorted(model), dtype=np.int64))
        inside, odds = np.isin(np.arange(d), list(model)), np.exp(gains)
        return value + log_prior[len(model)], odds, np.where(inside, 1.0, odds) + exploration * (1 + odds), inside

    for u in uniforms:
        height, odds, rates, inside = look(members)
        models.append(tuple(sorted(members)))
        weights.append(1 / rates.sum())
        flip = odds / (1 + odds)
        included += np.where(inside, 1 - flip, flip) / rates.sum()
        j = int(np.searchsorted(np.cumsum(rates), u[0] * rates.sum(), side="right"))
        there, _, back, _ = look(members ^ {j})
        error = expit(there - height) - flip[j]
        included[j] += (-error if inside[j] else error) / rates[j]
        if u[1] < np.exp(there - height) * back[j] / rates[j]:
            members = members ^ {j}
    return models, np.array(weights), included


def dataset(n=40, d=5):
    rng = np.random.default_rng(4)
    Z, weight = rng.normal(size=(n, d)), rng.integers(1, 4, size=n) * 1.0
    y = (Z[:, 0] + rng.logistic(size=n) > 0).astype(float)
    return Dataset(Z.T.copy(), y, weight, 2.0)


DATA, MODELS = dataset(), [np.array(m, dtype=np.int64) for m in ((), (0,), (4, 1, 2), (0, 1, 2, 3, 4))]
LOG_PRIOR, ROWS = ModelPrior(5, (1.0, 1.0)).log_prob(np.arange(6)), (DATA.y, DATA.weight)
TWINS = [
    Twin(
        _laplace_jit.laplace,
        laplace,
        [(DATA.ZT, m, *ROWS, 0.01, 0.5, np.zeros(len(m) + 1), np.zeros((len(m) + 1,) * 2)) for m in MODELS],
        rtol=1e-8,
        atol=1e-7,
    ),
    Twin(
        _laplace_jit.log_flip_odds,
        log_flip_odds,
        [(DATA.ZT, m, *ROWS, 0.5, *evaluated(DATA, LOG_PRIOR, m)[2:], LOG_PRIOR, np.empty(5)) for m in MODELS],
        rtol=1e-6,
    ),
]
