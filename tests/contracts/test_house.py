"""Rules of the source tree that no linter checks: where some operations may be used, sizes of files, docstrings."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import credo

SOURCE = Path(credo.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted(path.parent for path in SOURCE.glob("*/__init__.py"))
UNNAMES = {"utils", "helpers", "misc", "common"}

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def imported(tree: ast.AST) -> set[str]:
    """Dotted names of everything that a module imports, members included."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def words(tree: ast.AST) -> set[str]:
    """Every attribute and name that the code uses."""
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@each_file
def test_some_operations_are_used_in_one_package_only(path):
    tree = ast.parse(path.read_text())
    names, used = imported(tree), words(tree)
    if package_of(path) not in {"learning", "inference"}:
        assert not [name for name in names if name.startswith("scipy.optimize")], "optimisers live in learning"
    if not path.stem.endswith("_jit"):
        assert not [name for name in names if name.split(".")[0] == "numba"], "numba lives in _jit modules"
    if package_of(path) != "plots":
        assert not [name for name in names if name.split(".")[0] == "matplotlib"], "matplotlib lives in plots"
    if package_of(path) != "linalg":
        assert not {"cholesky", "cho_factor", "dpotrf"} & used, "Cholesky lives in linalg"
    assert not {"pickle", "marshal", "dill", "cloudpickle", "joblib"} & {name.split(".")[0] for name in names}
    assert not {"eval", "exec"} & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@each_file
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400, "split files above 400 lines"
    assert not UNNAMES & {part.removesuffix(".py").strip("_") for part in path.relative_to(SOURCE).parts}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= 60, f"{node.name} has {length} lines; split functions above 60"


@each_file
def test_every_module_has_a_docstring(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_package_has_a_docstring_and_exports(package):
    module = import_module(f"credo.{package.name}")
    assert len(module.__doc__.split()) >= 15, "the docstring of a package states equations, contract and members"
    if package.name != "cli":
        assert len(module.__all__) == len(set(module.__all__))
        assert all(hasattr(module, name) for name in module.__all__)


def test_the_top_level_table_lists_what_the_packages_export():
    assert sorted(credo._PACKAGES) == sorted({path.name for path in PACKAGES} - {"cli"} | {"sparse"})
    for package, names in credo._MEMBERS.items():
        assert set(names) <= set(import_module(f"credo.{package}").__all__)
        assert all(getattr(credo, name) is not None for name in names)
    for package in ("distributions", "features", "gp", "kernel_machines", "linear"):
        assert set(credo._MEMBERS[package]) == set(import_module(f"credo.{package}").__all__)
    with pytest.raises(AttributeError, match="credo has no member 'Nonsense'"):
        credo.Nonsense
