"""The compiled loop that puts rows in maximin order, each with the largest distance to those before it.

Rows are the leaves of a balanced binary tree. A node has the box around its rows and the largest distance of them to a
row that is chosen already. Following the largest distance from the root leads to the next row; a box that is no nearer
to it than that node's largest distance has no row whose distance it could reduce. So the order is exact, and a step
visits only rows about the new one, O(n log n) in all for few columns (Schäfer, Katzfuss & Owhadi 2021 use a heap).
"""

from numpy import empty, intp

from credo.core.numba import njit

_FAST = {"contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=_FAST)
def maximin(points, low, high, first, most, distance, order):
    """Fill `order` with positions in `points`, and return how many were found.

    Parameters
    ----------
    points : array of shape (n_leaves·size, n_columns)
        The rows, leaf by leaf.
    low, high : arrays of shape (2·n_leaves, n_columns)
        The boxes of all nodes: the root at 1, the halves of node i at 2i and 2i + 1.
    first : int
        The position that begins the order.
    most : int
        The loop stops after this many distances. Copies of chosen rows aren't chosen.
    distance : array of shape (n_leaves·size,)
        ∞, or −1 for a position that doesn't count. On return, the squared distance to the nearest row of the order,
        and −1 for those in it.
    """
    n_leaves = len(low) // 2
    size, n_columns = len(points) // n_leaves, points.shape[1]
    farthest = empty(len(low))
    for node in range(len(low) - 1, 0, -1):
        if node >= n_leaves:
            start = (node - n_leaves) * size
            farthest[node] = distance[start : start + size].max()
        else:
            farthest[node] = max(farthest[2 * node], farthest[2 * node + 1])
    waiting, visited = empty(len(low), dtype=intp), empty(len(low), dtype=intp)
    chosen, n_computed, count = first, 0, 0
    while True:
        order[count] = chosen
        count += 1
        distance[chosen] = -1.0
        row = points[chosen]
        waiting[0], n_waiting, n_visited = 1, 1, 0
        while n_waiting:
            n_waiting -= 1
            node = waiting[n_waiting]
            gap = 0.0
            for d in range(n_columns):
                outside = max(low[node, d] - row[d], row[d] - high[node, d], 0.0)
                gap += outside * outside
            if gap >= farthest[node]:
                continue
            if node < n_leaves:
                visited[n_visited] = node
                n_visited += 1
                waiting[n_waiting], waiting[n_waiting + 1] = 2 * node, 2 * node + 1
                n_waiting += 2
                continue
            start, largest = (node - n_leaves) * size, -1.0
            n_computed += size
            for i in range(start, start + size):
                gap = 0.0
                for d in range(n_columns):
                    gap += (points[i, d] - row[d]) ** 2
                distance[i] = min(distance[i], gap)
                largest = max(largest, distance[i])
            farthest[node] = largest
        for i in range(n_visited - 1, -1, -1):
            node = visited[i]
            farthest[node] = max(farthest[2 * node], farthest[2 * node + 1])
        if farthest[1] <= 0.0 or n_computed >= most:
            return count
        node = 1
        while node < n_leaves:
            node = 2 * node if farthest[2 * node] == farthest[node] else 2 * node + 1
        chosen = (node - n_leaves) * size
        while distance[chosen] < farthest[node]:
            chosen += 1
