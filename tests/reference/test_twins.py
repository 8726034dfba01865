"""Every compiled function equals plain NumPy; `twins.py` says how to compare one."""

from copy import deepcopy
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType

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


def names(code):
    """The names that a function uses, inner functions and comprehensions included."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*map(names, inner))


def names_called(test):
    """The names that a test uses, or a function of its module that it uses."""
    found, new = set(), names(test.__code__)
    while new:
        found |= new
        inner = [value for value in map(test.__globals__.get, new) if isinstance(value, FunctionType)]
        new = set().union(*(names(function.__code__) for function in inner)) - found
    return found


def test_every_compiled_function_is_compared():
    compared = {twin.compiled for twin in TWINS}.union(*(test.compiled for test in TESTS))
    assert [function for function in compiled_functions() if function not in compared] == []


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_a_test_calls_what_it_compares(test):
    assert test.__name__.startswith("test_") and test.__module__.split(".")[-1].startswith("test_")
    assert {function.__name__ for function in test.compiled} <= names_called(test)


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
