"""The compiled loops over logistic models, restated in the plainest NumPy."""

from functools import cache as cached

import numpy as np
from scipy.special import expit, log_expit
from tests.reference.twins import Twin

from credo.sparse._models import ModelPrior
from credo.sparse.logistic import _laplace_jit, _sampler_jit


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


def flip_odds(ZT, members, y, weight, precision, theta, L, log_prior, out):
    """About what p(γ | y) is multiplied by when a column flips, for all columns.

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
    out[:] = np.exp(out)


def evaluated(data, members):
    """ln p(y | γ), the odds of all flips, the mode and the factor of the curvature there."""
    ZT, y, weight, level_precision, precision, log_prior = data
    theta, L, odds = np.zeros(len(members) + 1), np.empty((len(members) + 1,) * 2), np.empty(len(ZT))
    value = laplace(ZT, members, y, weight, level_precision, precision, theta, L)[0]
    flip_odds(ZT, members, y, weight, precision, theta, L, log_prior, odds)
    return value, odds, theta, L


def run_steps(data, cache, state, count, blind, swaps, uniforms, included, moved, trace):
    """Metropolis–Hastings over subsets; returns how many were evaluated."""
    d, members = len(data.ZT), frozenset(np.flatnonzero(state.inside).tolist())

    @cached
    def look(model):
        value, r, *_ = evaluated(data, np.array(sorted(model), dtype=np.int64))
        return value + data.log_prior[len(model)], r

    def chances(r):
        return (1 - blind) * (r / (1 + r)) / (r / (1 + r)).sum() + blind / d

    def entering(r, model):
        outside = ~np.isin(np.arange(d), list(model))
        return np.where(outside, (1 - blind) * r / r[outside].sum() + blind / outside.sum(), 0.0)

    for t, u in enumerate(uniforms):
        inside = np.isin(np.arange(d), list(members))
        height, r = look(members)
        flip, moved[t], trace[t] = r / (1 + r), -1, height - data.log_prior[len(members)]
        included += np.where(inside, 1 - flip, flip)
        if u[0] < swaps:
            if not 0 < len(members) < d:
                continue
            out = sorted(members)[int(u[1] * len(members))]
            q = entering(look(members - {out})[1], members - {out})
            others = np.where(np.arange(d) == out, 0.0, q)
            j = int(np.searchsorted(np.cumsum(others), u[2] * (1 - q[out])))
            there = look(members ^ {out, j})[0]
            if np.log(u[3]) < there - height + np.log(q[out] / (1 - q[j])) - np.log(q[j] / (1 - q[out])):
                members, moved[t] = members ^ {out, j}, (out, j)
            continue
        j = int(u[2] * d) if u[1] < blind else int(np.searchsorted(np.cumsum(flip), u[2] * flip.sum()))
        there, back = look(members ^ {j})
        error = (expit(there - height) - flip[j]) / (chances(r)[j] * (1 - swaps))
        included[j] += -error if inside[j] else error
        if np.log(u[3]) < there - height + np.log(chances(back)[j] / chances(r)[j]):
            members, moved[t, 0] = members ^ {j}, j
    return look.cache_info().currsize


def posterior(inclusion, n=40, d=5):
    rng = np.random.default_rng(4)
    Z, weight = rng.normal(size=(n, d)), rng.integers(1, 4, size=n) * 1.0
    y = (Z[:, 0] + rng.logistic(size=n) > 0).astype(float)
    return _sampler_jit.Posterior(Z.T.copy(), y, weight, 0.01, 0.5, ModelPrior(d, inclusion).log_prob(np.arange(d + 1)))


def steps(inclusion, n_steps=120):
    data, rng = posterior(inclusion), np.random.default_rng(3)
    keys, inside = rng.integers(0, 2**64, size=5, dtype=np.uint64), np.isin(np.arange(5), [1, 2])
    # Room for all 32 models in a table that is half full.
    cache = _sampler_jit.Cache(np.zeros(64, dtype=np.uint64), np.full(64, -1), np.empty(32), np.empty((32, 5)))
    rest = rng.random((n_steps, 4)), np.zeros(5), np.empty((n_steps, 2), dtype=np.int64), np.empty(n_steps)
    return data, cache, _sampler_jit.State(inside, np.zeros(6), keys), 0, 0.05, 0.25, *rest


DATA, MODELS = posterior((1.0, 1.0)), [np.array(m, dtype=np.int64) for m in ((), (0,), (4, 1, 2), (0, 1, 2, 3, 4))]
TWINS = [
    Twin(
        _laplace_jit.laplace,
        laplace,
        [(DATA.ZT, m, *DATA[1:5], np.zeros(len(m) + 1), np.zeros((len(m) + 1,) * 2)) for m in MODELS],
        rtol=1e-8,
        atol=1e-7,
    ),
    Twin(
        _laplace_jit.flip_odds,
        flip_odds,
        [(DATA.ZT, m, *DATA[1:3], 0.5, *evaluated(DATA, m)[2:], DATA.log_prior, np.empty(5)) for m in MODELS],
        rtol=1e-6,
    ),
    # What is cached, and from where modes are searched, isn't compared.
    Twin(_sampler_jit.run_steps, run_steps, [steps(0.3), steps((1.0, 1.0))], rtol=1e-5, ignore=(1, 2)),
]
