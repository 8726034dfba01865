"""What all tests share: less work for Python's garbage collector, and studies whose dear models search less."""

import gc
import re

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
    light = {"n_restarts": 0, "n_estimators": 20, "max_experts": 2, "max_rounds": 20}
    with pytest.MonkeyPatch.context() as patch:
        make_with(patch, light)
        yield


def make_with(patch, options):
    """Let studies set these options of their models, where they have them."""
    from credo.study import ModelSpec

    make = ModelSpec.make

    def changed(spec, size):
        model = make(spec, size)
        places = {place: place.rpartition("__")[2] for place in model.get_params()}
        return model.set_params(**{place: options[name] for place, name in places.items() if name in options})

    patch.setattr(ModelSpec, "make", changed)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Tests have no docstring examples; to look for them takes seconds in each process."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]
