"""Tests that compile the same functions run in one process, which saves compiling them in each.

The two groups come first, one for each of two processes, and take about as long to compile; the other tests find the
code in the cache.
"""

import re

import pytest

# By the path and the name of a test.
GROUPS = {
    "subsets": re.compile(r"subsets|SpikeSlab|spike.slab|inclusion"),
    "others": re.compile(
        r"[pP]erceptron|LMS|test_lms|penalized|Lasso|ElasticNet|SparseLogistic|coordinate|/gp/|GP|kernels"
    ),
}


def pytest_collection_modifyitems(items):
    order = {}
    for item in items:
        group = next((name for name, pattern in GROUPS.items() if pattern.search(item.nodeid)), None)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
        order[item] = [*GROUPS, None].index(group)
    items.sort(key=order.__getitem__)
