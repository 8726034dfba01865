"""Tests that compile the same functions run in one process, which saves compiling them in each."""

import re

import pytest

# By the path and the name of a test. Each takes seconds to compile; the rest of the compiled code takes less.
GROUPS = {
    "subsets": re.compile(r"subsets|SpikeSlab|spike.slab|inclusion"),
    "perceptrons": re.compile(r"[pP]erceptron|LMS|test_lms"),
    "lasso": re.compile(r"penalized|Lasso|ElasticNet|SparseLogistic|coordinate"),
}


def pytest_collection_modifyitems(items):
    for item in items:
        group = next((name for name, pattern in GROUPS.items() if pattern.search(item.nodeid)), None)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
