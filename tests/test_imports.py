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


def test_a_fit_with_its_report_imports_only_its_models(tmp_path):
    """Beside these only `ensemble`, which averages them and chooses the transformation of the target."""
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["x,z,y", *(f"{x},{x * x % 11},{x % 7 + x}" for x in range(40))]))
    argv = ["credo", "fit", str(table), "--target", "y", "--models", "linear,bayes", "--out", str(tmp_path / "out")]
    code = COMMAND.format(argv=argv) + 'print("LOADED", *(name for name in sys.modules if name.startswith("credo.")))'
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").exists() and "average" in done.stdout
    found = done.stdout.split("LOADED", 1)[1].split()
    packages = {name.split(".")[1] for name in found}
    models = {"linear", "sparse", "additive", "kernel_machines", "gp", "trees", "ensemble", "mixtures"}
    assert packages & models == {"linear", "ensemble"} and not packages & {"kernels", "likelihoods"}
    members = {"baseline", "bayes", "least_squares", "ridge", "discriminant", "logistic", "bayes_logistic", "lms"}
    assert members & {name.split(".")[-1] for name in found if name.startswith("credo.linear.")} == {
        "baseline", "bayes", "least_squares",
    }  # fmt: skip
    assert not {"bagging", "adaboost", "conformal", "mixture_of_experts"} & {name.split(".")[-1] for name in found}


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
