"""The maximin order of rows, by the distances to all of them."""

import numpy as np
from tests.reference.twins import Twin

from credo.core.inference import ordering_jit


def maximin(points, low, high, first, most, distance, order):
    """Without the tree; `most` is never reached here."""
    chosen, count = first, 0
    while True:
        order[count] = chosen
        count += 1
        np.minimum(distance, ((points - points[chosen]) ** 2).sum(axis=1), out=distance)
        distance[order[:count]] = -1.0
        chosen = np.argmax(distance)
        if distance[chosen] <= 0.0:
            return count


def tree(n_leaves, n_columns, *, unused=0, copies=False):
    """Leaves of three rows in the order of the first column, so that each node is a range."""
    rng = np.random.default_rng([n_leaves, n_columns])
    points = rng.normal(size=(3 * n_leaves, n_columns))
    points = points[np.argsort(points[:, 0])]
    if copies:
        points = np.repeat(points[::3], 3, axis=0)
    low, high = np.empty((2, 2 * n_leaves, n_columns))
    for node in range(1, 2 * n_leaves):
        level = node.bit_length() - 1
        own = np.split(points, 2**level)[node - 2**level]
        low[node], high[node] = own.min(axis=0), own.max(axis=0)
    low[0], high[0] = 0.0, 0.0
    distance = np.full(len(points), np.inf)
    distance[len(points) - unused :] = -1.0
    return points, low, high, 1, 10**9, distance, np.zeros(len(points), dtype=np.intp)


TWINS = [
    Twin(
        ordering_jit.maximin,
        maximin,
        [tree(1, 2), tree(2, 1), tree(16, 2), tree(32, 3, unused=5), tree(8, 6), tree(8, 2, copies=True)],
    ),
]
