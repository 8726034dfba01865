"""`credo serve` before it listens: wrong usage and wrong files. What it answers is tested in tests/serve."""

import pickle
import socket

import pytest
from click.testing import CliRunner

import credo
from credo.app.cli._group import credo as command


def run(*arguments):
    return CliRunner().invoke(command, ["serve", *map(str, arguments)], prog_name="credo")


@pytest.fixture
def model(tmp_path):
    credo.save(credo.LinearRegression().fit([[0.0], [1.0], [2.0], [4.0]], [0.0, 1.0, 2.5, 4.0]), tmp_path / "m.credo")
    return tmp_path / "m.credo"


def test_only_model_files_are_loaded(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps({"a": 1}))
    done = run(path)
    assert done.exit_code == 1 and "Error: " in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    "estimator", [credo.Preparation(), credo.Perceptron(random_state=0)], ids=["no model", "no distribution"]
)
def test_what_predicts_no_distribution_is_refused(tmp_path, estimator):
    path = tmp_path / "other.credo"
    credo.save(estimator.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]), path)
    done = run(path)
    assert done.exit_code == 1 and "can't be served" in done.stderr


def test_an_address_in_use(model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(model, "--port", port)
    assert done.exit_code == 1 and f"can't listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize("name", ["a/b", "..", "", "a b", "ü"])
def test_names_that_fit_in_no_address(model, name):
    done = run(model, "--name", name)
    assert done.exit_code == 1 and "can't be part of an address" in done.stderr


@pytest.mark.parametrize("option", [["--port", "70000"], ["--max-rows", "0"], ["--timeout", "0"], ["--timeout", "x"]])
def test_wrong_usage(model, option):
    assert run(model, *option).exit_code == 2


def test_a_file_that_is_not_there(tmp_path):
    assert run(tmp_path / "none.credo").exit_code == 2
