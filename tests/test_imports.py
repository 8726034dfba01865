"""What gets imported when: a fast start is a matter of what is not loaded, not of a clock."""

import subprocess
import sys
from importlib import import_module

import pytest

import credo

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "polars", "matplotlib", "numba", "jinja2", "rich")

PROBE = """
import sys
{statement}
print("LOADED", *(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""

COMMAND = """
from credo.app.cli import main
sys.argv = {argv!r}
try:
    main()
except SystemExit as stop:
    assert stop.code == 0, stop.code
"""


def loaded(statement: str) -> list[str]:
    """The heavy packages that a fresh interpreter has loaded after the statement."""
    code = PROBE.format(statement=statement, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stderr.split("LOADED", 1)[1].split()


def test_the_probe_sees_what_is_loaded():
    assert loaded("import numpy") == ["numpy"]


def test_import_credo_loads_nothing_heavy():
    assert loaded("import credo; dir(credo); credo.__version__") == []


@pytest.mark.parametrize(
    "argv",
    [
        ["credo", "--help"],
        ["credo", "--version"],
        ["credo", "fit", "--help"],
        ["credo", "predict", "--help"],
        ["credo", "show", "--help"],
        ["credo", "demo", "--help"],
        ["credo", "serve", "--help"],
        ["credo", "lab", "--help"],
    ],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(argv):
    assert loaded(COMMAND.format(argv=argv)) == []


def test_a_study_imports_only_its_models():
    others = ("credo.gp", "credo.trees", "credo.sparse", "credo.kernel_machines", "credo.mixtures")
    code = f"""
import sys
from credo import analyze
table = {{"x": list(range(40)), "y": [x % 7 + x for x in range(40)]}}
study = analyze(table, "y", models=["linear", "ridge"], progress=False)
study.predict(table)
print(study.comparison.fitted.keys() >= {{"linear", "ridge", "average"}})
print(*(name for name in {others!r} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True"]


@pytest.mark.parametrize("package", sorted(credo._MEMBERS))
def test_the_table_of_public_names_is_true(package):
    home = import_module(f"credo.{package}")
    for name in credo._MEMBERS[package]:
        assert name in home.__all__
        assert credo._HOME[name] != package or getattr(credo, name) is getattr(home, name)


@pytest.mark.parametrize("package", credo._PACKAGES)
def test_every_package_is_there_and_has_a_plaque(package):
    home = getattr(credo, package)
    assert home.__doc__
    assert all(hasattr(home, name) for name in getattr(home, "__all__", ()))


def test_an_unknown_name_is_refused_in_words():
    with pytest.raises(AttributeError, match="credo has no member 'Norml'"):
        credo.Norml


@pytest.mark.parametrize("missing", ["click"])
def test_without_click_the_command_says_what_to_install(missing):
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom credo.app.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.strip() == "The credo command needs click and rich: pip install 'credo[cli]'"
    assert done.stdout == ""
