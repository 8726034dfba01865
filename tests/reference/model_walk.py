"""The compiled loops of the walk over models, restated in the plainest NumPy.

`insert`, `remove` and `flip` keep a factored model; here it is made from scratch. `flips`, `choose` and `stroll` are
one step after another of weighted tempered Gibbs sampling, with every neighbour's evidence computed by itself.
"""

import numpy as np


def factored(X, y, members, ridge):
    """R, V, u, s and r of a model, from its columns in their order."""
    A = X[:, members].T @ X[:, members] + ridge * np.eye(len(members))
    R = np.linalg.cholesky(A).T if len(members) else np.zeros((0, 0))
    V = np.linalg.solve(R.T, X[:, members].T @ X) if len(members) else np.zeros((0, X.shape[1]))
    u = np.linalg.solve(R.T, X[:, members].T @ y) if len(members) else np.zeros(0)
    return R, V, u, (X * X).sum(axis=0) + ridge - (V * V).sum(axis=0), X.T @ y - V.T @ u


def statistics(X, y, members, ridge):
    """bᵀA⁻¹b and ln|A| of a model; None where its columns are dependent."""
    part = X[:, sorted(members)]
    A, b = part.T @ part + ridge * np.eye(part.shape[1]), part.T @ y
    if ridge == 0 and part.shape[1] and np.linalg.matrix_rank(part, tol=1e-6) < part.shape[1]:
        return None
    return float(b @ np.linalg.solve(A, b)), float(np.linalg.slogdet(A)[1])


def log_posteriors(X, y, members, slab, prior):
    """ln p(γ)p(y | γ) of all models that differ by one column, and of the model itself."""

    def height(model):
        found = statistics(X, y, model, slab.ridge)
        if found is None or len(model) > slab.most:
            return -np.inf
        return float(slab.log_evidence(len(model), *found) + prior.log_prob(len(model)))

    return np.array([height(set(members) ^ {j}) for j in range(X.shape[1])]), height(set(members))


def choose(logs, here, members, floor, uniform):
    """The column that flips, the model's weight, and the conditional inclusion probabilities."""
    inside = np.isin(np.arange(len(logs)), list(members))
    with np.errstate(over="ignore"):
        change = 1.0 / (1.0 + np.exp(here - logs))  # p(the other value | the rest)
    p_in = np.where(inside, 1.0 - change, change)
    rates = np.where(np.isinf(logs), 0.0, (p_in + floor) / (1.0 - change))
    return int(np.searchsorted(np.cumsum(rates), uniform * rates.sum())), 1.0 / rates.sum(), p_in


def stroll(X, y, members, slab, prior, floor, uniforms):
    """The flipped columns, the weights, and the weighted sum of conditional inclusion probabilities."""
    members, flipped, weights, included = set(members), [], [], np.zeros(X.shape[1])
    for uniform in uniforms:
        logs, here = log_posteriors(X, y, members, slab, prior)
        j, weight, p_in = choose(logs, here, members, floor, uniform)
        included += weight * p_in
        flipped.append(j)
        weights.append(weight)
        members ^= {j}
    return flipped, np.array(weights), included
