"""Every compiled function equals its plain twin; `twins.py` says how to give it one."""

from copy import deepcopy
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import credo

# Packages whose compiled functions are all here; those of the others are compared by tests of their own.
PACKAGES = ("inference", "kernel_machines", "kernels", "linalg")
HERE, SOURCE = Path(__file__).parent, Path(credo.__file__).parent
FILES = [path for path in sorted(HERE.glob("*.py")) if "\nTWINS = " in path.read_text() and path.stem != "test_twins"]
TWINS = [twin for path in FILES for twin in import_module(f"tests.reference.{path.stem}").TWINS]


def compiled_functions():
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*_jit.py")):
            module = import_module("credo." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
            for name, value in vars(module).items():
                if hasattr(value, "py_func") and value.__module__ == module.__name__ and not name.startswith("_"):
                    yield value


def test_every_compiled_function_has_a_twin():
    missing = {function.__name__ for function in compiled_functions()} - {twin.compiled.__name__ for twin in TWINS}
    assert not missing and TWINS


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.compiled.__name__)
def test_a_compiled_function_equals_its_twin(twin):
    assert twin.calls
    for arguments in twin.calls:
        ours, plain = deepcopy(arguments), deepcopy(arguments)
        found, expected = twin.run(*ours), twin.plain(*plain)
        assert (found is None) == (expected is None)
        pairs = [] if found is None else [(found, expected)]
        pairs += [pair for i, pair in enumerate(zip(ours, plain, strict=True)) if i not in twin.ignore]
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=twin.rtol, atol=twin.atol)
