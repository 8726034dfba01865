"""Rules of the source tree that no linter checks: where some operations may be used, sizes of files, docstrings."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import credo

SOURCE = Path(credo.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted(path.parent for path in SOURCE.glob("*/__init__.py"))
NESTED = sorted(path.parent for path in SOURCE.glob("*/*/__init__.py"))
UNNAMES = {"utils", "helpers", "misc", "common"}


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of every file."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def package_of(path: Path) -> str:
    first, *rest = path.relative_to(SOURCE).parts
    return rest[0].removesuffix(".py") if first in {"app", "core"} else first


def imported(nodes: list[ast.AST]) -> set[str]:
    """Dotted names of everything that a module imports, members included."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def words(nodes: list[ast.AST]) -> tuple[set[str], set[str]]:
    """Every name that the code uses, and every attribute."""
    return (
        {node.id for node in nodes if isinstance(node, ast.Name)},
        {node.attr for node in nodes if isinstance(node, ast.Attribute)},
    )


def test_some_operations_are_used_in_one_package_only():
    found = []
    for path, tree in trees().items():
        nodes = [*ast.walk(tree)]
        names, package = imported(nodes), package_of(path)
        roots, (called, attributes) = {name.split(".")[0] for name in names}, words(nodes)
        rules = {
            "scipy.optimize only in core": any(name.startswith("scipy.optimize") for name in names)
            and path.relative_to(SOURCE).parts[0] != "core",
            "numba only in core.numba": "numba" in roots and not path.stem.endswith("_jit") and package != "numba",
            "matplotlib only in plots": "matplotlib" in roots and package != "plots",
            "Cholesky only in linalg": {"cholesky", "cho_factor", "dpotrf"} & (called | attributes)
            and package != "linalg",
            "no serialized code": {"pickle", "marshal", "dill", "cloudpickle", "joblib"} & roots,
            "no evaluated text": {"eval", "exec"} & called,
        }
        found += [f"{path.relative_to(SOURCE)}: {rule}" for rule, broken in rules.items() if broken]
    assert not found, "\n".join(found)


def test_no_package_imports_what_is_private_to_another():
    found = []
    for path, tree in trees().items():
        own = ["credo", *path.relative_to(SOURCE).parts[:-1]]
        for name in imported([*ast.walk(tree)]):
            parts = name.split(".")
            private = [i for i, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
            # What is in a package that the importing module isn't in; credo._version is everybody's.
            if parts[0] == "credo" and any(i > 1 and parts[:i] != own[:i] for i in private[:1]):
                found.append(f"{path.relative_to(SOURCE)}: {name}")
    assert not found, "\n".join(found)


def test_functions_stay_small_and_files_say_what_they_are():
    found = []
    for path, tree in trees().items():
        name = path.relative_to(SOURCE)
        found += [
            f"{name}: {part} says nothing"
            for part in UNNAMES & {part.strip("_") for part in name.with_suffix("").parts}
        ]
        found += [] if ast.get_docstring(tree) else [f"{name} has no docstring"]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", [*PACKAGES, *NESTED], ids=lambda path: path.name)
def test_every_package_has_a_docstring_and_exports(package):
    module = import_module(".".join(("credo", *package.relative_to(SOURCE).parts)))
    assert len(module.__doc__.split()) >= 15, "the docstring of a package states equations, contract and members"
    exported = getattr(module, "__all__", [])
    assert len(exported) == len(set(exported)) and all(hasattr(module, name) for name in exported)


def test_the_top_level_table_lists_what_the_packages_export():
    assert sorted(credo._PACKAGES) == [path.name for path in PACKAGES]
    for package, names in credo._MEMBERS.items():
        assert set(names) <= set(import_module(f"credo.{package}").__all__)
        assert all(getattr(credo, name) is not None for name in names)
    for package in ("gp", "kernel_machines", "linear", "sparse"):
        assert set(credo._MEMBERS[package]) == set(import_module(f"credo.{package}").__all__)
    with pytest.raises(AttributeError, match="credo has no member 'Nonsense'"):
        credo.Nonsense
