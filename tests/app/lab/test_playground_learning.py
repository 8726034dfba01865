"""Learning in other processes: learned settings, requests that are replaced, and processes that end."""

import json
import os
import signal
import threading
from time import monotonic, sleep

import numpy as np
import pytest

from credo.app.lab.playground._answer import Want, answer
from credo.app.lab.playground._catalogue import MODELS
from credo.app.lab.playground._learning import LOST, Dropped, Learners
from credo.app.lab.playground._problem import Domain, Problem
from credo.app.lab.playground._worker import encode, learn

LEARNED = [(id, task) for id, model in MODELS.items() for task, shows in model.shows.items() if "learn" in shows]


def problem(task="regression", n=25):
    rng = np.random.default_rng(0)
    if task == "regression":
        x = rng.uniform(0, 1, n)
        return Problem(task, np.column_stack([x, np.sin(6 * x) + rng.normal(0, 0.1, n)]), Domain())
    X = rng.normal(size=(n, 2))
    labels = X[:, 0] + 0.5 * rng.normal(size=n) > 0
    return Problem(task, np.column_stack([X, labels]), Domain((-2.0, 2.0), (-2.0, 2.0)))


@pytest.mark.parametrize(("id", "task"), LEARNED)
def test_learned_settings_are_settings(id, task):
    asked, model = problem(task), MODELS[id]
    before = model.settings(asked, {})
    request = json.loads(json.dumps(encode(asked, id, before, 20.0)))
    found = learn(request)
    assert found["settings"] is not None and found["notes"], found
    assert model.settings(asked, found["settings"]) == found["settings"]
    assert answer(asked, model, found["settings"], Want(grid=5))[task] is not None
    fixed = {control.id for control in model.controls(task, asked.domain) if not control.learnable}
    assert all(found["settings"][name] == before[name] for name in fixed)


@pytest.mark.parametrize("id", ["gp", "bayes_linear"])
def test_learning_maximizes_the_evidence(id):
    asked, model = problem(), MODELS[id]
    found = learn(encode(asked, id, model.settings(asked, {}), 20.0))["settings"]
    top = model.log_evidence(asked, found)
    for factor in (0.9, 1.1):
        assert model.log_evidence(asked, {**found, "noise": factor * found["noise"]}) < top
    if id == "gp":
        for name in ("lengthscale", "variance"):
            for factor in (0.9, 1.1):
                value = factor * found["kernel"][0][0][name]
                changed = model.with_value(found, f"kernel.0.0.{name}", value)
                assert model.log_evidence(asked, changed) < top


def test_learning_has_a_deadline():
    asked = problem(n=300)
    found = learn(encode(asked, "gp", MODELS["gp"].settings(asked, {}), 0.0))
    assert found["settings"] is None and "seconds" in found["notes"][0]


def test_a_newer_request_replaces_the_older_one_and_a_killed_process_is_noticed():
    kernel = [[{"name": "RBF"}, {"name": "Periodic"}], [{"name": "Matern52"}], [{"name": "RationalQuadratic"}]]
    long, short, model = problem(n=500), problem(), MODELS["gp"]
    learners, outcome = Learners(), []

    def learn_long():
        try:
            outcome.append(learners.learn("page", long, "gp", model.settings(long, {"kernel": kernel})))
        except Dropped as error:
            outcome.append(error)

    def started():
        thread = threading.Thread(target=learn_long)
        thread.start()
        _wait(lambda: learners._running)
        sleep(0.3)
        return thread

    try:
        # The process is started and used once before anything is timed.
        learners.learn("other", short, "ridge", MODELS["ridge"].settings(short, {}))
        (process,) = learners._idle
        thread = started()
        learned, notes = learners.learn("page", short, "bayes_linear", MODELS["bayes_linear"].settings(short, {}))
        thread.join(20)
        assert isinstance(outcome[0], Dropped) and "newer" in str(outcome[0])
        assert notes == ["Prior and noise have the highest evidence."] and learned["noise"] < 0.2
        # The same process served all three.
        assert learners._idle == [process]
        thread = started()
        os.kill(process._process.pid, signal.SIGKILL)
        thread.join(20)
        assert outcome[1] == (model.settings(long, {"kernel": kernel}), [LOST]) and not learners._idle
    finally:
        learners.close()
    with pytest.raises(Dropped, match="Too many"):
        learners.learn("page", short, "gp", model.settings(short, {}))


def _wait(condition, seconds=20.0):
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end
        sleep(0.02)
