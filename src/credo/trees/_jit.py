"""Compiled loops over trees and stumps; `tests/reference/trees.py` has them in plain NumPy.

Loops over single numbers compile in a fraction of the time that operations on whole arrays need.
"""

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Splits whose gains differ by less than this share are equal, and the first of them is taken.
TIE = 1e-12


@njit(inline="always")
def _leaf(
    node: int, left: Index, right: Index, feature: Index, threshold: Array, missing_left: NDArray[np.bool_], x: Array
) -> int:
    """The leaf below a node for a row x: left where x ≤ threshold. A leaf has no left child: left < 0."""
    while left[node] >= 0:
        value = x[feature[node]]
        goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
        node = left[node] if goes_left else right[node]
    return node


@njit(nogil=True, cache=True)
def find_leaves(
    left: Index, right: Index, feature: Index, threshold: Array, missing_left: NDArray[np.bool_], X: Array
) -> Index:
    """The leaf of each row of X, from the first node on."""
    found = np.empty(X.shape[0], dtype=np.intp)
    for i in range(X.shape[0]):
        found[i] = _leaf(0, left, right, feature, threshold, missing_left, X[i])
    return found


@njit(nogil=True, cache=True)
def add_trees(
    left: Index,
    right: Index,
    feature: Index,
    threshold: Array,
    missing_left: NDArray[np.bool_],
    subset: Index,
    left_codes: NDArray[np.uint8],
    root: Index,
    value: Array,
    X: Array,
    F: Array,
) -> None:
    """Add the value of each row's leaf in every tree to F: tree t belongs to column t modulo the columns of F.

    Where subset ≥ 0, x is a code, and goes left if its bit in that row of `left_codes` is 1; codes beyond 255 are
    missing values.
    """
    n_outputs = F.shape[1]
    for i in range(X.shape[0]):
        for t in range(len(root)):
            node = root[t]
            while left[node] >= 0:
                x, s = X[i, feature[node]], subset[node]
                goes_left = x <= threshold[node]
                if np.isnan(x) or (s >= 0 and not 0.0 <= x < 256.0):
                    goes_left = missing_left[node]
                elif s >= 0:
                    goes_left = (left_codes[s, int(x) >> 3] >> (int(x) & 7)) & 1 == 1
                node = left[node] if goes_left else right[node]
            F[i, t % n_outputs] += value[node]


@njit(nogil=True, cache=True)
def pruned(left: Index, right: Index, risk: Array, alpha: float) -> Index:
    """The left children of the subtree with the smallest Σ risk of its leaves + alpha · number of leaves; −1 in leaves.

    Children have larger indices than their parents, so that one pass from the last node to the first decides.
    """
    kept, best = left.copy(), risk + alpha
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            split = best[left[node]] + best[right[node]]
            if split < best[node] * (1.0 - TIE):
                best[node] = split
            else:
                kept[node] = -1
    return kept


@njit(nogil=True, cache=True)
def best_split(
    order: NDArray[np.int32], last: NDArray[np.bool_], code: Index, weight: Array, n_classes: int, by_error: bool
) -> tuple[int, int]:
    """The column and the place in its order after which to split the rows; −1, −1 where every column is constant.

    `order[j]` has the rows by the values of column j, and `last[j]` marks the last of equal values. The split has the
    least weighted Gini impurity, or the least weighted error. The decrease of the impurity is Σ_k S_k²/(A(W − A)) for
    S_k = a_k − A p_k: a_k are the class weights on the left, A their sum, p_k the shares of the classes in all rows and
    W the total weight. Fractions are compared without dividing. Two classes have S_1 = −S_0.
    """
    n = len(code)
    total, share, low = np.zeros(n_classes), np.zeros(n_classes), np.zeros(n_classes)
    W = 0.0
    for i in range(n):
        total[code[i]] += weight[i]
        W += weight[i]
    for k in range(n_classes):
        share[k] = total[k] / W
    pair = np.empty((n, 2))
    for i in range(n):
        pair[i, 0], pair[i, 1] = weight[i], weight[i] * ((code[i] == 1) - share[1])
    column, place, best, best_bottom = -1, -1, -1.0, 1.0
    for j in range(order.shape[0]):
        A, S1 = 0.0, 0.0
        for k in range(n_classes):
            low[k] = 0.0
        for p in range(n - 1):
            i = order[j, p]
            A += pair[i, 0]
            if n_classes == 2 and not by_error:
                S1 += pair[i, 1]
                top = S1 * S1
            else:
                low[code[i]] += weight[i]
                top = 0.0
                if last[j, p] and by_error:
                    most_left, most_right = 0.0, 0.0
                    for k in range(n_classes):
                        most_left, most_right = max(most_left, low[k]), max(most_right, total[k] - low[k])
                    top = most_left + most_right
                elif last[j, p]:
                    for k in range(n_classes):
                        top += (low[k] - A * share[k]) ** 2
            if last[j, p]:
                bottom = 1.0 if by_error else A * (W - A)
                if bottom > 0.0 and top * best_bottom > best * bottom * (1.0 + TIE):
                    column, place, best, best_bottom = j, p, top, bottom
    return column, place


@njit(nogil=True, cache=True)
def boost_stumps(
    order: NDArray[np.int32],
    last: NDArray[np.bool_],
    X: Array,
    code: Index,
    weight: Array,
    n_classes: int,
    by_error: bool,
    start: int,
    stop: int,
    feature: Index,
    threshold: Array,
    label: Index,
    error: Array,
    kept: Array,
) -> int:
    """Rounds `start` to `stop` of AdaBoost (SAMME: Zhu, Zou, Rosset & Hastie 2009), in place; returns the rounds done.

    A round fits a stump (feature, threshold, and the class with the most weight on each side), measures its weighted
    error ε and multiplies the weights of the rows that it gets wrong by (1 − ε)/ε · (K − 1); the weights then sum to
    one. The last round is one without error, or one that is no better than chance, ε ≥ 1 − 1/K.
    Where `kept` has rows, the weights with which each round starts are written there.
    """
    n = len(code)
    above = np.empty(n, dtype=np.uint8)
    for m in range(start, stop):
        if kept.shape[0] > 0:
            for i in range(n):
                kept[m, i] = weight[i]
        j, place = best_split(order, last, code, weight, n_classes, by_error)
        cut = np.finfo(np.float64).max
        if j >= 0:
            a, b = X[order[j, place], j], X[order[j, place + 1], j]
            cut = 0.5 * a + 0.5 * b
            cut = a if cut >= b else cut
        j = max(j, 0)
        votes = np.zeros((2, n_classes))
        for i in range(n):
            above[i] = 1 if X[i, j] > cut else 0
            votes[above[i], code[i]] += weight[i]
        wrong, total = 0.0, 0.0
        for side in range(2):
            label[m, side] = 0
            for k in range(1, n_classes):
                if votes[side, k] > votes[side, label[m, side]]:
                    label[m, side] = k
            for k in range(n_classes):
                total += votes[side, k]
                wrong += votes[side, k] if k != label[m, side] else 0.0
        feature[m], threshold[m], error[m] = j, cut, wrong / total
        if error[m] <= 0.0 or error[m] >= 1.0 - 1.0 / n_classes - TIE:
            return m + 1
        factor, total = (1.0 - error[m]) / error[m] * (n_classes - 1.0), 0.0
        for i in range(n):
            if code[i] != label[m, above[i]]:
                weight[i] *= factor
            total += weight[i]
        for i in range(n):
            weight[i] /= total
    return stop


@njit(nogil=True, cache=True)
def vote(feature: Index, threshold: Array, label: Index, alpha: Array, X: Array, F: Array) -> None:
    """Add the weight alpha of each stump to the class that it gives to a row: F has a column for each class."""
    for i in range(X.shape[0]):
        for m in range(len(feature)):
            F[i, label[m, 1 if X[i, feature[m]] > threshold[m] else 0]] += alpha[m]
