"""The compiled walk over models, restated in the plainest NumPy.

`build`, `insert` and `remove` keep a factored model, `replica` is one of several and `remainder` what a model leaves of
a column: here all is made from scratch. `neighbours` has every neighbour's evidence by itself; `pace`, `chosen`,
`count` and `exchange` follow the definitions, `raised` is what a lift of sizes (`beside`) makes of log posteriors, and
`tour` is one step after another.
"""

from itertools import combinations

import numpy as np
from scipy.special import comb, logsumexp

from credo.subsets._dependence import DEPENDENT


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


def height(X, y, members, slab, prior):
    """ln p(γ)p(y | γ) in two parts: that which doesn't, and that which does change with the power; −∞ and 0.

    At power zero all sizes are alike, and all models of a size.
    """
    (k, d), found = (len(members), X.shape[1]), statistics(X, y, members, slab.ridge)
    if found is None or k > slab.most:
        return -np.inf, 0.0
    still = -np.log(d + 1.0) - np.log(comb(d, k))
    return still, float(slab.score(k, *found) + prior.log_prob(k)) - still


def neighbours(X, y, members, slab, prior):
    """Both parts of all models that differ by one column, and of the model itself."""
    parts = [height(X, y, set(members) ^ {j}, slab, prior) for j in range(X.shape[1])]
    still, fit = np.array(parts).T
    return still, fit, height(X, y, set(members), slab, prior)


def pace(still, fit, here, inside, power, tries):
    """The rate of each column: (p + tries) over the conditional probability of its present value."""
    with np.errstate(over="ignore"):
        change = 1.0 / (1.0 + np.exp(here[0] + power * here[1] - (still + power * fit)))
    p_in = np.where(inside, 1.0 - change, change)
    return np.where(np.isinf(still), 0.0, (p_in + tries) / (1.0 - change)), p_in


def raised(still, fit, here, inside, lift):
    """The same neighbours where models are lifted by their sizes."""
    k = np.count_nonzero(inside)
    sizes = np.clip(np.where(inside, k - 1, k + 1), 0, len(lift) - 1)
    return still + lift[sizes], fit, (here[0] + lift[k], here[1]), inside


def chosen(rates, uniform):
    """The column that flips."""
    return int(np.searchsorted(np.cumsum(rates), uniform * rates.sum(), side="right"))


def count(rates, p_in, lift):
    """What a step adds to the sums of inclusion probabilities; these are as they are without the model's lift."""
    return p_in / rates.sum() * np.exp(-lift)


def exchange(one, other, high, low, tries, lifts):
    """The log odds of changing places; replicas are (still, fit, here, inside), with p_β Z_β for density, each power
    with its lift."""

    def density(replica, power, lift):
        there = raised(*replica, lift)
        rates, _ = pace(*there, power, tries)
        return there[2][0] + power * there[2][1] + np.log(rates.sum())

    return (
        density(other, high, lifts[0]) + density(one, low, lifts[1])
        - density(one, high, lifts[0]) - density(other, low, lifts[1])
    )  # fmt: skip


def tour(X, y, models, slab, prior, powers, strides, tries, lifts, uniforms):
    """Models at the whole power with their weights, the sums of inclusion, models by power at the end, and of each step
    at any power fit, log weight, size and the number of columns that can enter."""
    models, visited, weights, included = [set(model) for model in models], [], [], np.zeros(X.shape[1])
    heat = []

    def at(model):
        inside = np.isin(np.arange(X.shape[1]), list(model))
        return *neighbours(X, y, model, slab, prior), inside

    for number, row in enumerate(uniforms):
        drawn = iter(row)
        for level, stride in enumerate(strides):
            for _ in range(stride):
                there, size = at(models[level]), len(models[level])
                rates, _ = pace(*raised(*there, lifts[level]), powers[level], tries)
                lift, able = lifts[level][size], np.count_nonzero(np.isfinite(there[0]) & ~there[3])
                heat.append([there[2][1], -np.log(rates.sum()) - lift, size, able])
                if level == 0:
                    visited.append(tuple(sorted(models[0])))
                    weights.append(np.exp(-lift) / rates.sum())
                    included += count(rates, pace(*there, 1.0, tries)[1], lift)
                models[level] ^= {chosen(rates, next(drawn))}
        rest = list(drawn)
        for level in range(number % 2, len(powers) - 1, 2):
            pair, sides = (at(models[level]), at(models[level + 1])), slice(level, level + 2)
            if np.log(rest[level]) < exchange(*pair, *powers[sides], tries, lifts[sides]):
                models[level], models[level + 1] = models[level + 1], models[level]
    return visited, np.array(weights), included, [tuple(sorted(model)) for model in models], np.array(heat)


def enumerated(X, y, slab, prior):
    """Every model, one by one: inclusion probabilities, log mass, and log posterior but for a constant."""
    d, heights = X.shape[1], {}
    for k in range(d + 1):
        for model in combinations(range(d), k):
            value = sum(height(X, y, model, slab, prior))
            if value > -np.inf:
                heights[model] = value
    logs = np.array(list(heights.values()))
    mass = float(logsumexp(logs))
    share = np.exp(logs - mass)
    included = np.array([share[[j in model for model in heights]].sum() for j in range(d)])
    return included, mass, heights
