"""Exit codes, and how errors reach a person."""

import subprocess
import sys

import click
import pytest

from credo import __version__
from credo.app.cli._group import sentence


def test_version(run):
    assert run("--version").stdout == f"credo {__version__}\n"


def test_help_lists_the_commands_in_the_order_of_their_use(run):
    result = run("--help")
    assert result.exit_code == 0
    places = [result.stdout.index(f"\n  {name} ") for name in ("fit", "predict", "explain", "show", "demo")]
    assert places == sorted(places)


def test_python_m_credo_is_the_command():
    done = subprocess.run([sys.executable, "-m", "credo", "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"credo {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [["fitt"], ["fit"], ["fit", "nowhere.csv", "--target", "y"], ["predict", "--level"], ["--nonsense"]],
)
def test_wrong_usage_exits_with_2(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("the table is empty"), "the table is empty"),
        (FileNotFoundError(2, "No such file", "a.csv"), "No such file: a.csv"),
        (OSError("can't write"), "can't write"),
        (MemoryError(), "not enough memory."),
        (ZeroDivisionError(), "unexpected ZeroDivisionError: no message. Run again with --debug for more."),
    ],
)
def test_an_error_becomes_a_sentence(error, words):
    assert sentence(error) == words


@pytest.fixture
def broken_show(monkeypatch):
    """Let `credo show` raise what a test wants."""

    def install(error):
        def fail():
            raise error

        monkeypatch.setattr("credo.app.cli._show.show", click.Command("show", callback=fail))

    return install


def test_ctrl_c_exits_with_130(run, broken_show):
    broken_show(KeyboardInterrupt())
    result = run("show")
    assert result.exit_code == 130
    assert "No partial files were left." in result.stderr


def test_a_traceback_is_shown_only_when_asked_for(run, broken_show):
    broken_show(RuntimeError("inner trouble"))
    result = run("show")
    assert result.exit_code == 1
    assert result.stderr == ("Error: unexpected RuntimeError: inner trouble. Run again with --debug for more.\n")
    result = run("--debug", "show")
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr


def test_a_mistyped_command_gets_a_suggestion(run):
    result = run("fitt", "table.csv")
    assert result.exit_code == 2 and "There is no command 'fitt'. Did you mean 'fit'?" in result.stderr
    assert "Choose from look, fit" in run("zzzz").stderr
