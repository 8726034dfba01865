"""What numba has not compiled yet is known, and compiled by fits to a small table."""

import importlib.util
import sys
from contextlib import nullcontext
from types import ModuleType

from credo.study import MODELS, compiling
from credo.study.engine import needs_compiling

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
    assert needs_compiling("credo.trees._jit")
    assert module.double(2.0) == 4.0
    assert not needs_compiling("credo.trees._jit")


def test_what_can_not_be_told_is_not_claimed(monkeypatch):
    monkeypatch.setitem(sys.modules, "credo.trees._jit", ModuleType("_jit"))
    assert not needs_compiling("credo.trees._jit")


def test_models_are_named_when_they_are_done_even_if_they_fail(capsys):
    compiling.main(["0", "linear", "linear-log", "nonsense"])
    compiling.main(["3", "discriminant"])
    assert capsys.readouterr().out.split() == ["linear", "linear-log", "nonsense", "discriminant"]


def test_fits_to_the_small_table_succeed(monkeypatch):
    """Otherwise nothing would be compiled, and nobody would notice."""
    passed = []
    monkeypatch.setattr(compiling, "suppress", lambda *_: nullcontext())
    monkeypatch.setattr("sys.stdout.write", passed.append)
    for n_classes, task in ((0, "regression"), (2, "classification")):
        compiled = [spec.name for spec in MODELS[task] if spec.compiled and spec.name != "gp-heteroscedastic"]
        compiling.main([str(n_classes), *compiled])
        assert [line.strip() for line in passed[-len(compiled) :]] == compiled
