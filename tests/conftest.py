"""What all tests share: less work for Python's garbage collector, and studies whose dear models search less."""

import gc
import re
from functools import partial

import pytest
from _pytest.doctest import DoctestModule

# To look for garbage among what is imported and collected, which stays, takes half a minute in all.
gc.disable()


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
    from credo.study import estimators as _estimators

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
