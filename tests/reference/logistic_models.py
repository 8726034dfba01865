"""The compiled loops over logistic models, restated in the plainest NumPy.

`laplace` is Newton's method by NumPy's solver. `flip_odds` takes one Newton step in the larger model, and the ratio of
Savage and Dickey for the smaller ones. `run_steps` is Metropolis–Hastings over subsets, without a cache.
"""

from functools import cache

import numpy as np
from scipy.special import expit, log_expit


def laplace(Z, y, weight, prior):
    """ln p(y | γ), the mode and the curvature of a logistic model with a column of ones in front of Z."""
    phi = np.column_stack([np.ones(len(y)), Z])
    theta = np.zeros(phi.shape[1])
    for _ in range(50):
        p = expit(phi @ theta)
        H = (phi * (weight * p * (1 - p))[:, None]).T @ phi + np.diag(prior)
        step = np.linalg.solve(H, phi.T @ (weight * (y - p)) - prior * theta)
        theta = theta + step / max(1.0, np.abs(step).max())
    side = np.where(y > 0.5, 1.0, -1.0)
    height = float(weight @ log_expit(side * (phi @ theta)) - 0.5 * prior @ theta**2)
    return height + 0.5 * np.log(prior).sum() - 0.5 * np.linalg.slogdet(H)[1], theta, H


def flip_odds(Z, members, y, weight, precision, theta, H, log_prior):
    """About what p(γ | y) is multiplied by when a column flips, for all columns."""
    k = len(members)
    phi = np.column_stack([np.ones(len(y)), Z[:, members]])
    p = expit(phi @ theta)
    W, cov, logs = weight * p * (1 - p), np.linalg.inv(H), np.empty(Z.shape[1])
    for j in range(Z.shape[1]):
        z = Z[:, j]
        if j in members:
            place = 1 + list(members).index(j)
            s2 = cov[place, place]
            logs[j] = -0.5 * np.log(precision * s2) - 0.5 * theta[place] ** 2 / s2 + log_prior[k - 1] - log_prior[k]
            continue
        # The gradient of the larger model at (θ, 0) is zero but for its last entry.
        bordered = np.block([[H, (phi.T @ (W * z))[:, None]], [(W * z) @ phi, W @ z**2 + precision]])
        gradient = np.append(np.zeros(k + 1), z @ (weight * (y - p)))
        step = np.linalg.solve(bordered, gradient)
        volume = np.linalg.slogdet(bordered)[1] - np.linalg.slogdet(H)[1] - np.log(precision)
        logs[j] = 0.5 * gradient @ step - 0.5 * volume + log_prior[k + 1] - log_prior[k]
    return np.exp(logs)


def run_steps(Z, y, weight, precisions, log_prior, members, blind, swaps, uniforms):
    """The model before each step, and the sum of the estimates of p(γ_j = 1 | the others, y)."""
    d = Z.shape[1]

    @cache
    def look(model):
        columns = sorted(model)
        prior = np.array([precisions[0], *[precisions[1]] * len(columns)])
        value, theta, H = laplace(Z[:, columns], y, weight, prior)
        return value + log_prior[len(columns)], flip_odds(Z, columns, y, weight, precisions[1], theta, H, log_prior)

    def chances(r):
        return (1 - blind) * (r / (1 + r)) / (r / (1 + r)).sum() + blind / d

    def entering(r, model):
        outside = ~np.isin(np.arange(d), list(model))
        return np.where(outside, (1 - blind) * r / r[outside].sum() + blind / outside.sum(), 0.0)

    members, models, included = frozenset(members), [], np.zeros(d)
    for u in uniforms:
        inside = np.isin(np.arange(d), list(members))
        models.append(tuple(sorted(members)))
        height, r = look(members)
        flip = r / (1 + r)
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
                members ^= {out, j}
            continue
        j = int(u[2] * d) if u[1] < blind else int(np.searchsorted(np.cumsum(flip), u[2] * flip.sum()))
        there, back = look(members ^ {j})
        error = (expit(there - height) - flip[j]) / (chances(r)[j] * (1 - swaps))
        included[j] += -error if inside[j] else error
        if np.log(u[3]) < there - height + np.log(chances(back)[j] / chances(r)[j]):
            members ^= {j}
    return models, included
