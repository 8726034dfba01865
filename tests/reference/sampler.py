"""Weighted tempered Gibbs sampling over models, restated in the plainest NumPy.

Factors, which the compiled functions update, are computed from scratch, and every neighbour is evaluated by itself.
"""

from itertools import combinations

import numpy as np
from scipy.special import comb, logsumexp

from credo.sparse._design import DEPENDENT


def lengthened(X, ridge):
    """Columns with √ridge below them, each in a row of its own."""
    return np.vstack([X, np.sqrt(ridge) * np.eye(X.shape[1])])


def factored(X, y, members, ridge):
    """R, u = Qᵀy, s and r of a model, from its columns in their order; the diagonal of R is positive."""
    rows, target = lengthened(X, ridge), np.append(y, np.zeros(X.shape[1]))
    Q, R = np.linalg.qr(rows[:, members])
    sign = np.sign(np.diag(R))
    Q, R = Q * sign, R * sign[:, None]
    left = rows - Q @ (Q.T @ rows)
    V, u = Q[: len(X)].T @ X, Q.T @ target
    return R, u, (X * X).sum(axis=0) + ridge - (V * V).sum(axis=0), left.T @ (target - Q @ u)


def statistics(X, y, members, ridge):
    """The share of y that a model leaves, and ln|A|; None where its columns are dependent."""
    part, k = X[:, sorted(members)], len(members)
    if ridge == 0 and k:
        unit = part / np.linalg.norm(part, axis=0)
        if k > len(y) or np.linalg.svd(unit, compute_uv=False)[-1] < DEPENDENT:
            return None
    rows, target = lengthened(part, ridge), np.append(y, np.zeros(k))
    Q, R = np.linalg.qr(rows)
    left = target - Q @ (Q.T @ target)
    return float(left @ left / (y @ y)), 2.0 * float(np.log(np.abs(np.diag(R))).sum())


def log_joint(X, y, members, slab, prior):
    """ln p(γ)p(y | γ); −∞ without evidence."""
    found = statistics(X, y, members, slab.ridge)
    if found is None or len(members) > slab.max_size:
        return -np.inf
    return float(slab.score(len(members), *found) + prior.log_prob(len(members)))


def reference(members, d):
    """ln p₀(γ): all sizes are equally likely, and all models of a size."""
    return -np.log(d + 1.0) - np.log(comb(d, len(members)))


def tempered(joint, members, d, beta):
    """ln p_β(γ)."""
    return (1.0 - beta) * reference(members, d) + beta * joint if joint > -np.inf else -np.inf


def neighbours(X, y, members, slab, prior):
    """ln p(γ)p(y | γ) of all models that differ by one column, and of the model itself."""
    return (
        np.array([log_joint(X, y, set(members) ^ {j}, slab, prior) for j in range(X.shape[1])]),
        log_joint(X, y, set(members), slab, prior),
    )


def flip_rates(joints, here, members, beta, exploration):
    """The rate of each column, (p + exploration) over the conditional probability of its present value; and p."""
    d = len(joints)
    logs = np.array([tempered(joint, set(members) ^ {j}, d, beta) for j, joint in enumerate(joints)])
    with np.errstate(over="ignore"):
        change = 1.0 / (1.0 + np.exp(tempered(here, members, d, beta) - logs))
    p_in = np.where(np.isin(np.arange(d), list(members)), 1.0 - change, change)
    return np.where(np.isinf(joints), 0.0, (p_in + exploration) / (1.0 - change)), p_in


def draw_column(rates, uniform):
    """The column that flips."""
    return int(np.searchsorted(np.cumsum(rates), uniform * rates.sum(), side="right"))


def log_swap_odds(one, other, high, low, exploration):
    """The log acceptance odds of a swap; replicas are (joints, here, members), with the density p_β Z_β."""

    def density(replica, beta):
        rates, _ = flip_rates(*replica, beta, exploration)
        return tempered(replica[1], replica[2], len(replica[0]), beta) + np.log(rates.sum())

    return density(other, high) + density(one, low) - density(one, high) - density(other, low)


def run_rounds(X, y, models, slab, prior, betas, strides, exploration, uniforms):
    """Models at β = 1 with their weights, the sums of inclusion, and models by temperature at the end."""
    models, visited, weights, included = [set(model) for model in models], [], [], np.zeros(X.shape[1])

    def at(model):
        return *neighbours(X, y, model, slab, prior), model

    for number, row in enumerate(uniforms):
        drawn = iter(row)
        for level, stride in enumerate(strides):
            for _ in range(stride):
                rates, p_in = flip_rates(*at(models[level]), betas[level], exploration)
                if level == 0:
                    visited.append(tuple(sorted(models[0])))
                    weights.append(1.0 / rates.sum())
                    included += p_in / rates.sum()
                models[level] = models[level] ^ {draw_column(rates, next(drawn))}
                # The second number of a step accepts flips of approximate rates.
                next(drawn)
        rest = list(drawn)
        for level in range(number % 2, len(betas) - 1, 2):
            pair = at(models[level]), at(models[level + 1])
            if np.log(rest[level]) < log_swap_odds(*pair, *betas[level : level + 2], exploration):
                models[level], models[level + 1] = models[level + 1], models[level]
    return visited, np.array(weights), included, [tuple(sorted(model)) for model in models]


def enumerated(X, y, slab, prior):
    """Every model, one by one: inclusion probabilities, log mass, and log posterior but for a constant."""
    d, heights = X.shape[1], {}
    for k in range(d + 1):
        for model in combinations(range(d), k):
            value = log_joint(X, y, model, slab, prior)
            if value > -np.inf:
                heights[model] = value
    logs = np.array(list(heights.values()))
    mass = float(logsumexp(logs))
    share = np.exp(logs - mass)
    included = np.array([share[[j in model for model in heights]].sum() for j in range(d)])
    return included, mass, heights
