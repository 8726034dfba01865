"""The note about compiling appears when numba's cache is empty, and only then."""

import importlib.util
import sys
from types import ModuleType

from credo.study.engine import compiles

SOURCE = """
from numba import njit

@njit(cache=True)
def double(x):
    return x + x
"""


def test_an_empty_cache_is_noticed_and_a_full_one_too(tmp_path, monkeypatch):
    # A tiny module stands in for the loops of trees, with numba's own cache in a fresh folder.
    path = tmp_path / "_jit.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("credo.trees._jit", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "credo.trees._jit", module)
    spec.loader.exec_module(module)
    assert compiles("credo.trees._jit")
    assert module.double(2.0) == 4.0
    assert not compiles("credo.trees._jit")


def test_what_can_not_be_told_is_not_claimed(monkeypatch):
    monkeypatch.setitem(sys.modules, "credo.trees._jit", ModuleType("_jit"))
    assert not compiles("credo.trees._jit")
