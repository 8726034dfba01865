"""Learning: learned settings, a deadline, and requests that are replaced."""

import json
import threading
from time import monotonic, sleep

import numpy as np
import pytest

from credo.additive import AdditiveRegressor, smooth
from credo.app.lab.playground._answer import Learners, Want, answer
from credo.app.lab.playground._catalogue import MODELS
from credo.app.lab.playground._problem import Domain, Problem
from credo.app.lab.refused import Refused

LEARNED = [(id, task) for id, models in MODELS.items() for task in models if "learn" in models[task].shows[task]]


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
    asked, model = problem(task), MODELS[id][task]
    before = model.resolve(asked, {})
    learned, notes = Learners().learn("", asked, model, before)
    assert notes and model.resolve(asked, json.loads(json.dumps(learned))) == learned
    assert answer(asked, model, learned, Want(grid=5))[task] is not None
    fixed = {control.id for control in model.controls(task, asked.domain) if not control.learnable}
    assert all(learned[name] == before[name] for name in fixed)


@pytest.mark.parametrize("id", ["gp", "bayes_linear", "additive"])
def test_learning_maximizes_the_evidence(id):
    asked, model = problem(), MODELS[id]["regression"]
    found, _ = Learners().learn("", asked, model, model.resolve(asked, {}))
    fitted = model(asked, found)
    top = fitted.evidence().value
    for factor in (0.9, 1.1):
        assert fitted.with_value("noise", factor * found["noise"]).evidence().value < top
    if id == "gp":
        for name in ("lengthscale", "variance"):
            for factor in (0.9, 1.1):
                value = factor * found["kernel"][0][0][name]
                assert fitted.with_value(f"kernel.0.0.{name}", value).evidence().value < top


def test_an_additive_model_learns_what_the_estimator_learns():
    # Points where the plot's basis has its places, so that both have the same basis; the constant is nearly free.
    x = np.linspace(0.0, 1.0, 21)
    y = 2.0 * x - 1.0 + 0.5 * np.sin(6 * x) + np.random.default_rng(0).normal(0, 0.1, 21)
    asked, model = Problem("regression", np.column_stack([x, y]), Domain()), MODELS["additive"]["regression"]
    found, _ = Learners().learn("", asked, model, model.resolve(asked, {}))
    theirs = AdditiveRegressor([smooth(0)], family="gaussian", hyperparameters="optimize").fit(x[:, None], y)
    expected = [*np.sqrt(theirs.variances_), theirs.noise_std_]
    np.testing.assert_allclose([found[name] for name in ("line_std", "curve_std", "noise")], expected, rtol=0.02)


def test_learning_has_a_deadline():
    asked, model = problem(n=300), MODELS["gp"]["regression"]
    before = model.resolve(asked, {})
    learned, notes = Learners().learn("", asked, model, before, seconds=0.0)
    assert learned == before and "seconds" in notes[0]


def test_a_newer_request_of_a_page_stops_the_older_one():
    kernel = [[{"name": "RBF"}, {"name": "Periodic"}], [{"name": "Matern52"}], [{"name": "RationalQuadratic"}]]
    long, short, model = problem(n=500), problem(), MODELS["gp"]["regression"]
    learners, outcome = Learners(), []

    def learn_long():
        try:
            outcome.append(learners.learn("page", long, model, model.resolve(long, {"kernel": kernel}), seconds=60.0))
        except Refused as error:
            outcome.append(error)

    thread = threading.Thread(target=learn_long)
    thread.start()
    _wait(lambda: "page" in learners._stops)
    sleep(0.3)
    other = MODELS["bayes_linear"]["regression"]
    learned, notes = learners.learn("page", short, other, other.resolve(short, {}))
    thread.join(20)
    assert isinstance(outcome[0], Refused) and "newer" in outcome[0].detail
    assert notes == ["Prior and noise have the highest evidence."] and learned["noise"] < 0.2
    assert not learners._stops


def _wait(condition, seconds=20.0):
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end
        sleep(0.02)
