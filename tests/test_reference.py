"""Every public name of the API reference has an example that can be copied; `--doctest-modules` runs it."""

import ast
import builtins
import doctest
import inspect
import runpy
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString

REFERENCE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "_ext" / "reference.py"))


@pytest.mark.parametrize("package", [*REFERENCE["FOR_USERS"], *REFERENCE["FOR_DEVELOPERS"]])
def test_every_public_name_has_an_example(package):
    module = import_module(f"credo.{package}")
    described = {name: value for name in module.__all__ if is_described(value := getattr(module, name))}
    assert described
    lacking = [name for name, value in described.items() if not has_example(value)]
    assert not lacking, f"these need an example (>>>) in a section Examples: {', '.join(lacking)}"
    unknown = {name: found for name, value in described.items() if (found := undefined(value))}
    assert not unknown, f"the examples should import what they use: {unknown}"


def is_described(value) -> bool:
    """Whether it is a class or a function of Credo's; constants and names of types have no docstring of their own."""
    return inspect.isclass(value) or (callable(value) and str(value.__module__).startswith("credo"))


def has_example(value) -> bool:
    return any(line.startswith(">>> ") for line in NumpyDocString(inspect.getdoc(value) or "")["Examples"])


def undefined(value) -> set[str]:
    """Names that the example of a docstring uses and neither imports nor defines."""
    code = "".join(example.source for example in doctest.DocTestParser().get_examples(value.__doc__))
    defined, used = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.alias):
            defined.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else defined).add(node.id)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            defined.add(node.name)
    return used - defined
