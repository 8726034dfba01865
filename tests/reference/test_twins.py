"""Every compiled function equals plain NumPy; `twins.py` says how to compare one."""

import ast
from copy import deepcopy
from importlib import import_module
from inspect import getsource
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import credo

HERE, SOURCE = Path(__file__).parent, Path(credo.__file__).parent
MODULES = [
    import_module(f"tests.reference.{path.stem}") for path in sorted(HERE.glob("*.py")) if path != Path(__file__)
]
TWINS = [twin for module in MODULES for twin in getattr(module, "TWINS", [])]
TESTS = [test for module in MODULES for test in vars(module).values() if hasattr(test, "compiled")]


def compiled_functions():
    for path in sorted(SOURCE.rglob("*_jit.py")):
        module = import_module("credo." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
        for name, value in vars(module).items():
            if hasattr(value, "py_func") and value.__module__ == module.__name__ and not name.startswith("_"):
                yield value


def functions_used(test):
    """The functions that a test refers to in its body, or in other functions of its module that it uses."""
    found, new, scope = set(), [test], test.__globals__
    while new:
        (definition,) = ast.parse(getsource(new.pop())).body
        for node in ast.walk(ast.Module(definition.body, [])):
            value = scope.get(node.id) if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                value = getattr(scope.get(node.value.id), node.attr, None)
            if (isinstance(value, FunctionType) or hasattr(value, "py_func")) and value not in found:
                found.add(value)
                new += [value] if getattr(value, "__globals__", None) is scope else []
    return found


def test_every_compiled_function_is_compared():
    compared = {twin.compiled for twin in TWINS}.union(*(test.compiled for test in TESTS))
    assert [function for function in compiled_functions() if function not in compared] == []


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_a_test_calls_what_it_compares(test):
    assert test.__name__.startswith("test_") and test.__module__.split(".")[-1].startswith("test_")
    assert set(test.compiled) <= functions_used(test)


def assert_equal(found, expected, twin):
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other, twin)
    elif expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected, rtol=twin.rtol, atol=twin.atol)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.compiled.__name__)
def test_a_compiled_function_equals_its_twin(twin):
    assert twin.calls
    for arguments in twin.calls:
        ours, plain = deepcopy(arguments), deepcopy(arguments)
        assert_equal(twin.run(*ours), twin.plain(*plain), twin)
        compared = [i for i in range(len(ours)) if i not in twin.ignore]
        assert_equal(tuple(ours[i] for i in compared), tuple(plain[i] for i in compared), twin)
