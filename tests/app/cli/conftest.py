"""A small table on disk, and the command run in this process or in one of its own."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.conftest import make_with

from credo.app.cli._group import credo


@pytest.fixture(scope="session")
def frame():
    rng = np.random.default_rng(2)
    size, age = rng.normal(50, 10, size=80), rng.uniform(1, 30, size=80)
    colour = np.array(["red", "green", "blue"])[rng.integers(3, size=80)]
    price = 3 * size - 2 * age + 20 * (colour == "red") + rng.normal(0, 5, size=80)
    return pd.DataFrame({"size": size, "age": age, "colour": colour, "price": price}).round(3)


@pytest.fixture
def data(tmp_path, frame):
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def run():
    """The command in this process: result.exit_code, .stdout, .stderr."""

    def invoke(*arguments, input=None):
        return CliRunner().invoke(credo, [str(argument) for argument in arguments], input=input)

    return invoke


@pytest.fixture
def spawn():
    """The command in a process of its own, as a Popen; without the extra `report`, whose figures take seconds."""
    hidden = "import sys; sys.modules['jinja2'] = sys.modules['matplotlib'] = None"
    code = f"{hidden}; from credo.app.cli import main; main()"

    def start(*arguments, **environment):
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            # A run in the background ignores interrupts, and so would its children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    return start


@pytest.fixture
def without_report(monkeypatch):
    """Let `credo fit` find the report's libraries missing: drawing takes seconds."""
    monkeypatch.setattr("credo.study.study.find_spec", lambda name: None)


@pytest.fixture
def short_searches(monkeypatch):
    """Models that search for a moment only: enough where a test asks whether they run, not where they end."""
    make_with(monkeypatch, {"max_evaluations": 10, "n_alphas": 10})


@pytest.fixture(scope="session")
def fitted_run(tmp_path_factory, frame):
    """One run of `credo fit` with its report: the folder of its outputs, and what it printed."""
    folder = tmp_path_factory.mktemp("fitted")
    frame.to_csv(folder / "houses.csv", index=False)
    options = ["--target", "price", "--models", "linear,bayes", "--out", str(folder)]
    result = CliRunner().invoke(credo, ["fit", str(folder / "houses.csv"), *options])
    assert result.exit_code == 0, result.stderr
    return folder, result


@pytest.fixture(scope="session")
def fitted(fitted_run):
    """The folder of that run."""
    return fitted_run[0]
