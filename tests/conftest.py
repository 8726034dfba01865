"""Tests that compile the same functions run in one process, which saves compiling them in each.

The two groups come first, one for each of two processes, and take about as long to compile; the other tests find the
code in the cache.
"""

import gc
import re
from functools import partial

import pytest
from _pytest.doctest import DoctestModule

# To look for garbage among what is imported and collected, which stays, takes half a minute in all.
gc.disable()

# By the path and the name of a test.
GROUPS = {
    "subsets": re.compile(r"tests/sparse|SpikeSlab|spike.slab|inclusion"),
    "others": re.compile(r"Lasso|ElasticNet|SparseLogistic|coordinate|/gp/|GP|kernels"),
}


# Their modules have fixtures that take seconds, so that a module runs in one process.
SHARED = re.compile(r"tests/(app/cli|study|core/parts|selection|test_readme)")


# The tests of these read the same fitted models, so that the tests of a model run in one process.
CONTRACTS = re.compile(r"tests/contracts/test_(?:classifiers|regressors).*?\[.*?([A-Z]\w+)\(")


def group_of(nodeid):
    """The group, the module where its tests share fixtures, or the model; None for a test that may run anywhere."""
    if group := next((name for name, pattern in GROUPS.items() if pattern.search(nodeid)), None):
        return group
    if SHARED.match(nodeid):
        return nodeid.split("::")[0]
    model = CONTRACTS.match(nodeid)
    return model and model[1]


def pytest_collection_modifyitems(items):
    order = [*GROUPS]

    def place(item):
        group = group_of(item.nodeid)
        return order.index(group) if group in order else len(order) + (group is None)

    items.sort(key=place)


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def light_studies(request):
    """Studies whose dear models search, grow and boost less: what a model can do is tested in its own package."""
    if not re.match(r"tests/(app/cli|study)/", request.node.nodeid):
        yield
        return
    from credo.study import _estimators

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"RESTARTS": 0, "TREES": 20, "EXPERTS": 2}.items():
            patch.setattr(_estimators, name, value)
        for name in ("BoostedTreesRegressor", "BoostedTreesClassifier"):
            patch.setattr(_estimators, name, partial(getattr(_estimators, name), max_rounds=20))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Tests have no docstring examples; to look for them takes seconds in each process."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Not `xdist_group`, which pytest-xdist 3.8 ignores under pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid) or nodeid

    return Grouped(config, log)
