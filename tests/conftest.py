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


def group_of(nodeid):
    return next((name for name, pattern in GROUPS.items() if pattern.search(nodeid)), None)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: [*GROUPS, None].index(group_of(item.nodeid)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Not `xdist_group`, which pytest-xdist 3.8 ignores under pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid) or nodeid

    return Grouped(config, log)
