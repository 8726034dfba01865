"""What goes to stdout, what to stderr, and how numbers look."""

import json
import re
import warnings

import numpy as np
import pytest

from credo.app.cli._screen import Screen, cells, plain, size
from credo.distributions import Normal
from credo.selection import MEASURES, Comparison, HeldOut, Score
from credo.study.catalogue import names
from credo.study.report._leaderboard import head


def held(log_score):
    """Four held-out rows of a model, of which only their log scores count here: −½ ln 2π − ln σ where y is the mean."""
    std = np.exp(-np.array(log_score) - 0.5 * np.log(2 * np.pi))
    return HeldOut(np.zeros(4), Normal(np.zeros(4), std))


def line(name, log_score, rmse, crps, coverage, log_evidence, evidence_method, seconds):
    measured = {"log_score": log_score, "rmse": rmse, "crps": crps, "coverage": coverage}
    return Score(name, measured, log_evidence, evidence_method, seconds=seconds)


BOARD = Comparison(
    [
        line("bayes", -5.42051, 54.6493, 30.9, 0.959, -2403.907, "exact", 0.0041),
        line("[bold]odd", -6.0, 123456.7, 0.00123, 1.0, None, None, 2.0),
        Score("lms", error="it diverged"),
    ],
    {"[bold]odd": held([-9.0, -5.0, -5.0, -5.0]), "bayes": held([-5.4, -5.4, -5.4, -5.48])},
)


@pytest.fixture
def terminal(monkeypatch):
    """Colours as on a terminal, of the usual width."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


def test_a_leaderboard_without_a_terminal_is_plain_lines(capsys):
    Screen().leaderboard(BOARD, "[bold]odd")
    out, err = capsys.readouterr()
    assert err == ""
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["bayes", "-5.4205", "54.65", "30.90", "95.9", "%", "-2403.91", "0.004"]
    assert lines[2][:4] == ["[bold]odd", "-6.0000", "123457", "0.001230"]
    assert lines[3] == ["lms", "—", "—", "—", "—", "—", "failed"]
    assert out.splitlines()[4] == "lms failed: it diverged"
    assert "\x1b" not in out


def test_table_terminal_and_report_call_a_score_by_one_name(capsys):
    Screen().leaderboard(BOARD, "[bold]odd")
    header = " ".join(capsys.readouterr().out.splitlines()[0].split())
    keys = ("log_score", "rmse", "crps", "coverage", "log_evidence", "seconds")
    assert header == " ".join(["model", *(MEASURES[key].short for key in keys)])
    assert [measure.title.lower() for measure in head(BOARD)] == [MEASURES[key].title.lower() for key in keys]
    assert {MEASURES[key].title for key in keys} <= set(BOARD.table().columns)


def test_a_terminal_gets_colours_and_the_selected_model_stands_out(capsys, terminal):
    Screen().leaderboard(BOARD, "[bold]odd")
    out = capsys.readouterr().out
    assert re.search(r"\x1b\[1;32m\[bold\]odd", out)
    assert not re.search(r"\x1b\[1;32mbayes", out)
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in out.splitlines()) <= 80


def test_no_color_takes_the_colours_away(capsys, terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    Screen().leaderboard(BOARD, "[bold]odd")
    out = capsys.readouterr().out
    assert "bayes" in out
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", out)


def test_json_keeps_lines_for_people_off_stdout(capsys):
    screen = Screen(as_json=True)
    screen.say("hello")
    screen.leaderboard(BOARD, "[bold]odd")
    screen.note("a note")
    screen.json({"value": 1})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"value": 1}
    assert err == "a note\n"


def test_quiet_says_nothing(capsys):
    screen = Screen(quiet=True)
    screen.say("hello")
    screen.note("a note")
    screen.leaderboard(BOARD, "[bold]odd")
    assert capsys.readouterr() == ("", "")


def test_warnings_become_notes_each_one_once(capsys):
    with pytest.raises(KeyError), Screen().notes_for_warnings():
        for _ in range(3):
            warnings.warn("the column 'x' is odd", UserWarning, stacklevel=1)
        raise KeyError
    assert capsys.readouterr() == ("", "Note: the column 'x' is odd\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "—"), (0.0, "0"), (1.0, "1.000"), (999.96, "1000.0"), (5e-5, "5.000e-05"), (2e9, "2.000e+09")],
)
def test_sizes_have_four_digits(value, text):
    assert size(value) == text


def test_a_score_of_minus_infinity_is_shown_as_such():
    assert cells(line("certain", -np.inf, 1.0, 1.0, 0.5, None, None, 0.1), ["log_score"])[1] == "-inf"


def test_plain_values_are_strict_json():
    value = {"a": np.float64(1.5), "b": [np.inf, np.nan, None], "c": np.arange(2), "d": np.bool_(True), 3: "x"}
    assert plain(value) == {"a": 1.5, "b": [None, None, None], "c": [0, 1], "d": True, "3": "x"}
    json.dumps(plain(value), allow_nan=False)


def test_names_from_files_do_not_steer_the_terminal(capsys):
    screen = Screen()
    screen.say("\x1b[2Jcolumn\r\x07\tgrün\n")
    screen.note("\x9b31m")
    assert capsys.readouterr() == ("\\x1b[2Jcolumn\\r\\x07\tgrün\n\n", "\\x9b31m\n")


@pytest.mark.parametrize(("width", "last"), [(24, "log score"), (40, "CRPS"), (80, "seconds")])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_numbers(width, last, capsys, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    Screen().leaderboard(BOARD, "[bold]odd")
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width
    header = next(line for line in out.splitlines() if "model" in line)
    assert header.split("  ")[-1].strip().endswith(last)


@pytest.mark.parametrize("name", [*names("regression"), "kernel-ridge-power"])
def test_every_model_has_room_for_its_seconds_on_a_terminal_of_80_columns(name, capsys, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    score = line(name, -5.42051, 54620.31, 30.95, 0.9621, -12403.91, "exact", 112.038)
    Screen().leaderboard(Comparison([score], {name: held([-5.42051] * 4)}), name)
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "112.038" in out
    assert name in out


@pytest.mark.parametrize("name", names("classification"))
def test_so_has_every_classifier(name, capsys, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    measured = {"log_loss": 0.63816, "brier": 0.21436, "accuracy": 0.9667, "calibration_error": 0.1242}
    score = Score(name, measured, -12403.91, "laplace", seconds=112.038)
    Screen().leaderboard(Comparison([score], {name: held([-0.6] * 4)}, task="classification"), name)
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "0.6382" in out and "96.7 %" in out and "112.038" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_ascii_so_that_every_stdout_can_hold_it(capsys):
    record = {"größe": "→ \udcff"}
    Screen(as_json=True).json(record)
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == record
