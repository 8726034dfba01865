"""Trees and boosted stumps in plain NumPy: every split tried, every row followed."""

import numpy as np
from tests.reference.twins import Twin

from credo.trees import _jit
from credo.trees.stump import SortedColumns


def find_leaves(left, right, feature, threshold, missing_left, X):
    def follow(row, node=0):
        if left[node] < 0:
            return node
        value = row[feature[node]]
        goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
        return follow(row, left[node] if goes_left else right[node])

    return np.array([follow(row) for row in X])


def pruned(left, right, risk, alpha):
    kept = left.copy()

    def best(node):
        """The smallest cost of the subtree below a node; collapses it where it isn't worth its leaves."""
        if left[node] < 0:
            return risk[node] + alpha
        split = best(left[node]) + best(right[node])
        if split < (risk[node] + alpha) * (1 - 1e-12):
            return split
        kept[node] = -1
        return risk[node] + alpha

    best(0)
    return kept


def best_split(order, last, code, weight, n_classes, by_error):
    """By the definition of the impurity: Σ over the sides of W (1 − Σ p²), or of W (1 − max p)."""
    found, least = (-1, -1), np.inf
    for j in range(len(order)):
        for place in np.flatnonzero(last[j, :-1]):
            cost = 0.0
            for side in (order[j, : place + 1], order[j, place + 1 :]):
                w = np.bincount(code[side], weight[side], minlength=n_classes)
                cost += w.sum() - w.max() if by_error else w.sum() - (w**2).sum() / w.sum()
            if cost < least - 1e-12:
                found, least = (j, place), cost
    return found


def boost_stumps(
    order, last, X, code, weight, n_classes, by_error, start, stop, feature, threshold, label, error, kept
):
    """Freund & Schapire's rule with Zhu et al.'s term for more classes."""
    for m in range(start, stop):
        if len(kept):
            kept[m] = weight
        j, place = best_split(order, last, code, weight, n_classes, by_error)
        cut = X[order[j, place : place + 2], j].mean()
        sides = [X[:, j] <= cut, X[:, j] > cut]
        feature[m], threshold[m] = j, cut
        label[m] = [np.bincount(code[s], weight[s], minlength=n_classes).argmax() for s in sides]
        wrong = np.where(sides[0], label[m, 0], label[m, 1]) != code
        error[m] = weight[wrong].sum() / weight.sum()
        if error[m] <= 1e-15:
            error[m] = 0.0
            return m + 1
        if error[m] >= 1 - 1 / n_classes - 1e-12:
            return m + 1
        alpha = np.log((1 - error[m]) / error[m]) + np.log(n_classes - 1)
        weight *= np.exp(alpha * wrong)
        weight /= weight.sum()
    return stop


def vote(feature, threshold, label, alpha, X, F):
    for m in range(len(feature)):
        said = np.where(X[:, feature[m]] <= threshold[m], label[m, 0], label[m, 1])
        F += alpha[m] * (said[:, None] == np.arange(F.shape[1]))


RNG = np.random.default_rng(0)
# A tree of depth three, and risks that fall by different amounts.
LEFT, RIGHT = np.array([1, 3, 5, -1, -1, -1, 7, -1, -1]), np.array([2, 4, 6, -1, -1, -1, 8, -1, -1])
FEATURE, CUTS = np.array([0, 1, 2, 0, 0, 0, 1, 0, 0]), RNG.normal(size=9)
RISK = np.array([1.0, 0.4, 0.5, 0.1, 0.2, 0.2, 0.25, 0.1, 0.1])
ROWS = np.where(RNG.random((60, 3)) < 0.2, np.nan, RNG.normal(size=(60, 3)))


def table(n_classes, decimals, n=40):
    X = RNG.normal(size=(n, 3)).round(decimals)
    columns = SortedColumns.of(X)
    weight = RNG.random(n)
    return columns.order, columns.last, X, RNG.integers(0, n_classes, size=n), weight / weight.sum()


def rounds(n_classes, by_error, kept, n_rounds=6):
    order, last, X, code, weight = table(n_classes, 8)
    state = np.zeros(n_rounds, dtype=np.intp), np.zeros(n_rounds), np.zeros((n_rounds, 2), dtype=np.intp)
    more = np.zeros(n_rounds), np.zeros((n_rounds if kept else 0, len(X)))
    return order, last, X, code, weight, n_classes, by_error, 0, n_rounds, *state, *more


def splits(n_classes, decimals, by_error):
    order, last, _, code, weight = table(n_classes, decimals)
    return order, last, code, weight, n_classes, by_error


# A perfect stump in the first round.
PERFECT = rounds(2, False, True)
PERFECT[3][:] = PERFECT[2][:, 1] > 0.1

LABELS = np.column_stack([FEATURE, 2 - FEATURE])
BOOSTED = [PERFECT, rounds(2, False, True), rounds(3, False, False), rounds(2, True, False)]
TWINS = [
    Twin(_jit.find_leaves, find_leaves, [(LEFT, RIGHT, FEATURE, CUTS, CUTS > 0, ROWS)]),
    Twin(_jit.pruned, pruned, [(LEFT, RIGHT, RISK, alpha) for alpha in (0.0, 0.06, 0.15, 0.25, 0.5)]),
    Twin(_jit.best_split, best_split, [splits(k, d, e) for k in (2, 3, 5) for d in (1, 8) for e in (False, True)]),
    Twin(_jit.boost_stumps, boost_stumps, BOOSTED, rtol=1e-9, atol=1e-14),
    Twin(_jit.vote, vote, [(FEATURE, CUTS, LABELS, RISK, RNG.normal(size=(20, 3)), np.zeros((20, 3)))]),
]
