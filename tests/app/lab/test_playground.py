"""The playground's answers: their numbers against direct computation, their code, and points that models can't like."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from scipy.stats import multivariate_normal

from credo.app.lab.playground import _answer, router
from credo.app.lab.playground._catalogue import MODELS
from credo.app.lab.playground._controls import log_slider

TASKS = [(id, task) for id, models in MODELS.items() for task in models]
DOMAINS = {
    "regression": {"x": [0.0, 1.0], "y": [-2.0, 2.0]},
    "classification": {"x": [-2.0, 2.0], "y": [-2.0, 2.0]},
}


@pytest.fixture(scope="module")
def client():
    app = FastAPI()
    app.include_router(router)
    return TestClient(app)


def points(task, n=24, seed=0):
    rng = np.random.default_rng(seed)
    if task == "regression":
        x = rng.uniform(0, 1, n)
        return np.column_stack([x, np.sin(6 * x) + rng.normal(0, 0.2, n)]).tolist()
    X = rng.normal(size=(n, 2))
    return np.column_stack([X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0)]).tolist()


def ask(client, task, id, data, settings=None, domain=None, status=200, **want):
    body = {"task": task, "points": data, "domain": domain or DOMAINS[task], "want": {"grid": 12, **want}}
    reply = client.post("/api/playground/answer", json=body | {"model": {"id": id, "settings": settings or {}}})
    assert reply.status_code == status, reply.text
    return reply.json()


def test_every_model_shows_what_the_catalogue_says(client):
    entries = {entry["id"]: entry for entry in client.get("/api/playground/catalogue").json()["models"]}
    for id, task in TASKS:
        shows = entries[id]["shows"][task]
        found = ask(client, task, id, points(task), draws=3, cursor=0.4 if task == "regression" else None, next=True)
        assert set(found["settings"]) == {
            control["id"] for control in entries[id]["controls"] if task in control.get("tasks", [task])
        }
        assert (found["regression" if task == "regression" else "classification"]) is not None, id
        assert (found["evidence"]["value"] is not None) == ("evidence" in shows and id not in ("ridge", "lasso")), id
        assert found["evidence"]["value"] is not None or len(found["evidence"]["reason"].split()) > 4
        assert (found["equivalent_kernel"] is not None) == ("equivalent_kernel" in shows), id
        assert (found["next"] is not None) == ("next" in shows), id
        assert (found["weights"] is not None) == ("weights" in shows), id
        if task == "regression":
            assert bool(found["regression"]["draws"]) == ("draws" in shows), id
            assert np.all(np.array(found["regression"]["lower"]) <= found["regression"]["upper"]), id
        else:
            chances = np.array(found["classification"]["probability"])
            assert chances.shape == (found["classification"]["rows"], found["classification"]["columns"]) == (9, 12)
            assert chances.min() >= 0 and chances.max() <= 1
        markup = found["equation"]["mathml"]
        ElementTree.fromstring(markup.replace("&nbsp;", " "))
        assert "<math" in markup and " style=" not in markup and found["equation"]["text"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("id", "task"), TASKS)
def test_the_code_makes_the_same_model(client, id, task):
    shifted = {"x": [1950.0, 1990.0], "y": [300.0, 340.0]}
    data = points(task)
    if task == "regression":
        # Far from zero, so that offsets and scales must be in the code.
        data = [[1950 + 40 * x, 320 + 8 * y] for x, y in data]
    found = ask(client, task, id, data, domain=shifted if task == "regression" else None)
    space: dict = {}
    exec(found["code"].replace("print(", "str("), space)
    if task == "regression":
        np.testing.assert_allclose(space["mean"], found["regression"]["mean"], atol=1e-3)
        np.testing.assert_allclose(space["lower"], found["regression"]["lower"], atol=1e-3)
    else:
        expected = np.array(found["classification"]["probability"]).ravel()
        np.testing.assert_allclose(space["probability"][:, 1], expected, atol=6e-5)


@pytest.mark.parametrize("basis", ["polynomial", "radial", "fourier", "sigmoid", "step"])
def test_the_code_of_every_basis(client, basis):
    for id in ("least_squares", "bayes_linear"):
        found = ask(client, "regression", id, points("regression"), {"basis": basis, "functions": 4})
        space: dict = {}
        exec(found["code"], space)
        np.testing.assert_allclose(space["mean"], found["regression"]["mean"], atol=1e-4)


def test_the_code_of_a_sum_of_products(client):
    kernel = [
        [{"name": "RBF", "lengthscale": 0.2}, {"name": "Periodic", "period": 0.5}],
        [{"name": "Linear"}, {"name": "Constant", "variance": 0.5}],
        [{"name": "RationalQuadratic", "shape": 2.0}, {"name": "Matern32"}, {"name": "Exponential"}],
    ]
    found = ask(client, "regression", "gp", points("regression"), {"kernel": kernel})
    space: dict = {}
    exec(found["code"], space)
    np.testing.assert_allclose(space["mean"], found["regression"]["mean"], atol=1e-4)
    assert space["log_evidence"] == pytest.approx(found["evidence"]["value"], abs=1e-4)


def test_the_evidence_of_a_process_is_a_normal_density(client):
    data = np.array(points("regression"))
    found = ask(client, "regression", "gp", data.tolist(), {"noise": 0.2}, cursor=0.3)
    factor = found["settings"]["kernel"][0][0]
    gaps = data[:, :1] - data[:, 0]
    K = factor["variance"] * np.exp(-(gaps**2) / (2 * factor["lengthscale"] ** 2))
    C = K + 0.04 * np.eye(len(data))
    assert found["evidence"]["value"] == pytest.approx(multivariate_normal(cov=C).logpdf(data[:, 1]), abs=1e-4)
    parts = {part["label"]: part["value"] for part in found["evidence"]["parts"]}
    assert parts["fit"] == pytest.approx(-0.5 * data[:, 1] @ np.linalg.solve(C, data[:, 1]), rel=1e-5)
    assert parts["Occam term, −½ ln|C|"] == pytest.approx(-0.5 * np.linalg.slogdet(C)[1], rel=1e-5)
    assert sum(parts.values()) == pytest.approx(found["evidence"]["value"], abs=1e-4)
    weights = np.linalg.solve(
        C, factor["variance"] * np.exp(-((data[:, 0] - 0.3) ** 2) / (2 * factor["lengthscale"] ** 2))
    )
    np.testing.assert_allclose(found["equivalent_kernel"]["y"], weights[np.argsort(data[:, 0])], atol=1e-4)


def test_the_evidence_of_bayesian_regression_is_a_normal_density(client):
    data = np.array(points("regression"))
    settings = {"degree": 2, "prior_std": 2.0, "noise": 0.25}
    found = ask(client, "regression", "bayes_linear", data.tolist(), settings)
    u = (data[:, 0] - 0.5) / 0.5
    rows = np.column_stack([np.ones_like(u), u, u**2])
    C = 4.0 * rows @ rows.T + 0.0625 * np.eye(len(u))
    assert found["evidence"]["value"] == pytest.approx(multivariate_normal(cov=C).logpdf(data[:, 1]), abs=1e-4)
    assert sum(part["value"] for part in found["evidence"]["parts"]) == pytest.approx(
        found["evidence"]["value"], abs=1e-4
    )


def test_an_additive_model_without_a_curve_is_a_line(client):
    data = np.array(points("regression"))
    found = ask(client, "regression", "additive", data.tolist(), {"line_std": 0.5, "curve_std": 1e-5, "noise": 0.25})
    places = np.linspace(0, 1, 21)
    u = (data[:, 0] - 0.5) / places.std()
    # The constant has a quarter of the plot's height as its standard deviation.
    C = 1.0 + 0.25 * np.outer(u, u) + 0.0625 * np.eye(len(u))
    assert found["evidence"]["value"] == pytest.approx(multivariate_normal(cov=C).logpdf(data[:, 1]), abs=1e-4)
    line, deviation = (np.array(part["y"]) for part in found["regression"]["parts"])
    np.testing.assert_allclose(deviation, 0.0, atol=1e-6)
    np.testing.assert_allclose(line, found["regression"]["mean"], atol=1e-4)


def test_line_and_deviation_add_up_to_the_mean(client):
    shifted = {"x": [1950.0, 1990.0], "y": [300.0, 340.0]}
    data = [[1950 + 40 * x, 320 + 8 * y] for x, y in points("regression")]
    found = ask(client, "regression", "additive", data, domain=shifted)["regression"]
    line, deviation = (np.array(part["y"]) for part in found["parts"])
    # The deviation is drawn about the middle of the plot.
    np.testing.assert_allclose(line + deviation - 320, found["mean"], atol=1e-3)
    np.testing.assert_allclose(np.diff(line, 2), 0.0, atol=3e-3)
    assert np.ptp(np.diff(deviation, 2)) > 0.1


@pytest.mark.parametrize("id", ["least_squares", "ridge", "bayes_linear", "additive", "gp", "nadaraya_watson"])
def test_the_equivalent_kernel_times_the_targets_is_the_prediction(client, id):
    data = points("regression")
    found = ask(client, "regression", id, data, cursor=1.0, grid=2)
    order = np.argsort([x for x, _ in data])
    weights = np.array(found["equivalent_kernel"]["y"])
    y = np.array(data)[order, 1]
    if id == "ridge":
        assert weights.sum() == pytest.approx(1.0, abs=1e-4)
    assert weights @ y == pytest.approx(found["regression"]["mean"][-1], abs=2e-3)


@pytest.mark.parametrize("inference", ["laplace", "ep", "vi"])
def test_the_parts_of_an_approximate_evidence(client, inference):
    found = ask(client, "classification", "gp", points("classification"), {"inference": inference})["evidence"]
    fit, rest = (part["value"] for part in found["parts"])
    assert fit + rest == pytest.approx(found["value"], abs=1e-4)
    # The fit is a log probability of labels, and the other part is a penalty.
    assert fit < 0 and rest < 0 and found["method"] == {"vi": "elbo"}.get(inference, inference)


def test_the_parts_of_bayesian_logistic_regression(client):
    found = ask(client, "classification", "bayes_logistic", points("classification"), {"prior_std": 1e-2})["evidence"]
    fit, divergence = (part["value"] for part in found["parts"])
    # With so narrow a prior the weights stay zero and the intercept alone is learned: the fit is that of the shares of
    # the classes, less about half a nat for the intercept's variance.
    share = np.mean([label for *_, label in points("classification")])
    best = 24 * (share * math.log(share) + (1 - share) * math.log(1 - share))
    assert best - 1.0 < fit < best and -4 < divergence < 0


def test_adaboost_shows_the_weights_of_its_round(client):
    data = points("classification", 40)
    first = ask(client, "classification", "adaboost", data, {"round": 1})
    np.testing.assert_allclose(first["weights"], 1.0)
    errors = np.array(ask(client, "classification", "adaboost", data, {"round": 2})["bars"]["values"])
    second = np.array(ask(client, "classification", "adaboost", data, {"round": 2})["weights"])
    # Freund & Schapire: the points that the first learner got wrong have half of the weight in the second round.
    heavy = second > second.min() * (1 + 1e-9)
    assert heavy.mean() == pytest.approx(errors[0], abs=1e-6)
    assert second[heavy].sum() / second.sum() == pytest.approx(0.5, abs=1e-4)


def test_the_boundary_of_a_perceptron_is_where_its_function_is_zero(client):
    for id in ("perceptron", "kernel_perceptron"):
        found = ask(client, "classification", id, points("classification"))["classification"]
        score, label = np.array(found["score"]), np.array(found["probability"])
        assert ((score > 0) == (label > 0.5)).all() and len(np.unique(score)) > 50
        for row in np.where((np.diff(label, axis=1) != 0).any(axis=1))[0]:
            assert score[row].min() < 0 < score[row].max()
    assert ask(client, "classification", "logistic", points("classification"))["classification"]["score"] is None


def test_the_line_of_a_round_is_its_stump(client):
    data = np.array(points("classification", 40))
    found = ask(client, "classification", "adaboost", data.tolist(), {"round": 1})
    column, place = found["classification"]["cut"]
    # The first learner has the error that this split makes, one way around or the other.
    side, label = data[:, column] > place, data[:, 2] > 0
    error = np.mean([side[k] != label[k] for k in range(40)])
    assert min(error, 1 - error) == pytest.approx(found["bars"]["values"][0], abs=1e-6)
    learner = {"round": 3, "learner": "tree"}
    assert ask(client, "classification", "adaboost", data.tolist(), learner)["classification"]["cut"] is None


def test_varying_noise_follows_the_points(client):
    raw = client.get("/api/playground/dataset/motorcycle").json()
    model, data, domain = raw["model"], raw["points"], raw["domain"]
    found = ask(client, "regression", model["id"], data, model["settings"], domain=domain, grid=61)["regression"]
    width = np.subtract(found["upper"], found["lower"])
    assert width[5:10].max() < 0.5 * width[25:35].min()


def test_the_model_of_carbon_dioxide_has_a_yearly_cycle(client):
    raw = client.get("/api/playground/dataset/co2").json()
    found = ask(
        client, "regression", raw["model"]["id"], raw["points"], raw["model"]["settings"], raw["domain"], grid=400
    )
    x, mean = np.array(found["regression"]["x"]), np.array(found["regression"]["mean"])
    after = (x > 1981) & (x < 1984)
    # Three years after the last point: six turns of the curve.
    assert 5 <= np.count_nonzero(np.diff(np.sign(np.diff(mean[after])))) <= 9


def test_curves_pass_through_the_evidence(client):
    cases = [
        ("gp", "noise"),
        ("gp", "kernel.0.0.lengthscale"),
        ("bayes_linear", "prior_std"),
        ("bayes_linear", "degree"),
    ]
    for id, control in cases:
        found = ask(client, "regression", id, points("regression"), curve=control)
        curve, value = found["curve"], found["evidence"]["value"]
        x = np.log(curve["x"]) if curve["scale"] == "log" else np.array(curve["x"])
        at = math.log(curve["at"]) if curve["scale"] == "log" else curve["at"]
        near = np.interp(at, x, curve["y"])
        assert abs(near - value) < 0.05 * np.ptp(curve["y"]), (id, control)
    classes = ask(client, "classification", "bayes_logistic", points("classification"), curve="prior_std")
    assert len(classes["curve"]["y"]) == 20


def test_data_sets_are_reproducible_and_inside_their_domain(client):
    entries = client.get("/api/playground/catalogue").json()["datasets"]
    assert [entry["id"] for entry in entries] == ["sinusoid", "motorcycle", "co2", "ripley", "xor", "rings"]
    for entry in entries:
        path = f"/api/playground/dataset/{entry['id']}"
        found = client.get(path).json()
        assert found == client.get(path, params={"seed": 0}).json() != client.get(path, params={"seed": 1}).json()
        data, (low, high) = np.array(found["points"]), found["domain"]["x"]
        assert 20 <= len(data) <= 150 and np.all((data[:, 0] >= low) & (data[:, 0] <= high))
        low, high = found["domain"]["y"]
        assert np.mean((data[:, 1] >= low) & (data[:, 1] <= high)) > 0.97
    assert client.get("/api/playground/dataset/iris").status_code == 422


def test_sliders_follow_the_plot(client):
    wide = client.get("/api/playground/catalogue", params={"x0": 0, "x1": 60, "y0": -150, "y1": 100}).json()
    narrow = client.get("/api/playground/catalogue").json()

    def slider(catalogue, name):
        controls = next(each for each in catalogue["models"] if each["id"] == "bayes_linear")["controls"]
        return next(control for control in controls if control["id"] == name)

    assert slider(wide, "width")["max"] == 60 * slider(narrow, "width")["max"]
    assert slider(wide, "noise")["min"] == pytest.approx(250 / 3 * slider(narrow, "noise")["min"], rel=0.05)
    assert slider(wide, "degree") == slider(narrow, "degree")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": "clustering"}, "task"),
        ({"points": [[0.0, float("1e10")]]}, "points.0.1"),
        ({"points": [[0.0, 10**400]]}, "points.0.1"),
        ({"model": {"id": "gp", "settings": {"noise": 10**400}}}, "number"),
        ({"points": [[0.0]]}, "2 numbers"),
        ({"points": [[0.0, True]]}, "points.0.1"),
        ({"points": [[0.0, 0.0]] * 501}, "500"),
        ({"points": "no"}, "list"),
        ({"domain": {"x": [1.0, 0.0], "y": [0.0, 1.0]}}, "smaller to a larger"),
        ({"domain": {"x": [0.0], "y": [0.0, 1.0]}}, "domain.x"),
        ({"model": {"id": "forest"}}, "'forest'"),
        ({"model": {"id": "perceptron"}}, "no regression"),
        ({"model": {"id": "gp", "settings": {"speed": 1}}}, "'speed'"),
        ({"model": {"id": "gp", "settings": {"noise": -1}}}, "Noise"),
        ({"model": {"id": "gp", "settings": {"noise": "x"}}}, "number"),
        ({"model": {"id": "gp", "settings": {"kernel": [[{"name": "os"}]]}}}, "RBF"),
        ({"model": {"id": "gp", "settings": {"kernel": [[{"name": "RBF"}] * 4]}}}, "1 to 3"),
        ({"model": {"id": "gp", "settings": {"kernel": [[{"name": "RBF", "period": 1.0}]]}}}, "'period'"),
        ({"model": {"id": "gp", "settings": {"kernel": [[{"name": "RBF", "variance": None}]]}}}, "Variance"),
        ({"model": {"id": "ridge", "settings": {"basis": "wavelet"}}}, "Basis"),
        ({"model": {"id": "ridge", "settings": {"degree": 99}}}, "Degree"),
        ({"want": {"grid": 401}}, "grid"),
        ({"want": {"draws": 31}}, "draws"),
        ({"want": {"cursor": "left"}}, "cursor"),
        ({"want": {"curve": "kernel.0.0.period"}}, "kernel.0.0.period"),
        ({"want": {"curve": "kernel.9.x"}}, "kernel.9.x"),
        ({"want": {"fast": True}}, "want.fast"),
        ({"hello": 1}, "'hello'"),
        ({"model": {"id": "least_squares"}, "want": {"learn": True}}, "nothing to learn"),
    ],
)
def test_bad_requests_are_refused_by_a_sentence(client, change, words):
    body = {"task": "regression", "points": [[0.1, 0.2]], "domain": DOMAINS["regression"], "model": {"id": "gp"}}
    reply = client.post("/api/playground/answer", json=body | change)
    assert reply.status_code == 422
    assert words in reply.json()["detail"] and reply.json()["detail"].endswith(".")


def test_bodies_that_are_no_json_objects_are_refused(client):
    for content in (b"[]", b"null", b"3", b'{"task": NaN}', b"{"):
        reply = client.post("/api/playground/answer", content=content, headers={"content-type": "application/json"})
        assert reply.status_code == 422


def test_an_answer_that_takes_too_long_is_a_note(client, monkeypatch):
    monkeypatch.setattr(_answer, "SECONDS", 0.0)
    want = {"curve": "prior_std"}
    body = {"task": "classification", "points": [[0.1, 0.2, 0], [0.3, 0.1, 1]], "model": {"id": "bayes_logistic"}}
    reply = client.post("/api/playground/answer", json=body | {"want": want})
    assert reply.status_code == 200 and "seconds and was stopped" in reply.json()["notes"][0]


def degenerate(task):
    """Points that are hard on models, by name."""
    rng = np.random.default_rng(1)
    if task == "regression":
        cases = {
            "none": [],
            "one": [[0.5, 1.0]],
            "two": [[0.2, 1.0], [0.8, -1.0]],
            "same x": [[0.5, value] for value in (0.0, 1.0, 0.5, -0.3, 0.2)],
            "same y": [[value, 0.7] for value in (0.1, 0.3, 0.5, 0.8, 0.9)],
            "copies": [[0.3, 0.4]] * 12,
            "pairs": [[0.2, 0.1], [0.2, 0.1], [0.7, 0.5], [0.7, 0.5], [0.9, -0.5], [0.9, -0.4]],
            "far": [[0.1, 0.2], [0.5, 0.1], [0.9, 1e9], [-1e9, 0.3], [0.3, -1e9], [1e9, 0.0]],
            "tiny": [[5e-324, 0.0], [1e-310, 1e-323]],
            "many": points(task, 500),
        }
    else:
        line = np.linspace(-1, 1, 8)
        cases = {
            "none": [],
            "one class": [[0.0, 0.0, 1], [1.0, 1.0, 1]],
            "two": [[0.0, 0.0, 0], [1.0, 1.0, 1]],
            "same place": [[0.3, 0.3, label] for label in (0, 1, 0, 1, 1)],
            "same x": [[0.3, value, int(value > 0)] for value in line],
            "separable": [[value, rng.normal(), int(value > 0)] for value in line],
            "copies": [[0.0, 0.0, 0]] * 6 + [[1.0, 0.0, 2]] * 6,
            "three": [[*rng.normal(size=2), label] for label in (0, 1, 2) for _ in range(6)],
            "far": [[1e9, -1e9, 0], [0.0, 0.0, 1], [-1e9, 1e9, 0], [0.1, 0.2, 1], [0.3, 0.1, 0]],
            "many": points(task, 500),
        }
    return cases


@pytest.mark.parametrize(("id", "task"), TASKS)
def test_degenerate_points_give_notes(client, id, task):
    for name, data in degenerate(task).items():
        cursor = 0.5 if task == "regression" else None
        found = ask(client, task, id, data, draws=2, cursor=cursor, next=True)
        shown = found[task]
        assert shown is not None or found["notes"], (id, name)
        if (
            name in ("separable", "many", "pairs", "same y", "three")
            or (name == "none" and id in ("gp", "bayes_linear", "additive") and task == "regression")
            or (name == "two" and id in ("least_squares", "ridge", "lasso"))
        ):
            assert shown is not None, (id, name, found["notes"])
        if name == "three":
            maps = np.array(shown["probability"])
            assert shown["classes"] == 3 and maps.shape == (3, 9, 12)
            np.testing.assert_allclose(maps.sum(axis=0), 1.0, atol=3e-4)
        assert found["code"]
        compile(found["code"], "code", "exec")


def random_value(control, rng):
    """A value of a control's range."""
    if control["kind"] == "toggle":
        return bool(rng.integers(2))
    if control["kind"] == "choice":
        return control["choices"][rng.integers(len(control["choices"]))]["value"]
    if control["kind"] == "kernel":
        kernels = control["kernels"]
        shape = [int(rng.integers(1, 4)) for _ in range(rng.integers(1, 4))]
        return [[random_factor(kernels[rng.integers(len(kernels))], rng) for _ in range(n)] for n in shape]
    low, high = control["min"], control["max"]
    if control["scale"] == "log":
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    value = rng.uniform(low, high)
    return round(value) if control["step"] >= 1 else float(value)


def random_factor(kernel, rng):
    return {"name": kernel["name"]} | {each["id"]: random_value(each, rng) for each in kernel["parameters"]}


@pytest.mark.parametrize(("id", "task"), TASKS)
def test_random_settings_are_answered(client, id, task):
    entry = next(each for each in client.get("/api/playground/catalogue").json()["models"] if each["id"] == id)
    rng = np.random.default_rng(7)
    controls = [control for control in entry["controls"] if task in control.get("tasks", [task])]
    for _ in range(1 if id in ("bagging", "experts") else 2):
        settings = {control["id"]: random_value(control, rng) for control in controls}
        found = ask(client, task, id, points(task, int(rng.integers(3, 20)), 3), settings, draws=2, next=True)
        assert found[task] is not None or found["notes"], settings
        assert not re.search("nan|inf", found["equation"]["text"].replace("information", "")), settings


def test_learned_values_beyond_a_slider_are_accepted():
    control = log_slider("noise", "Noise", 0.1, 10.0, 1.0, unit="y")
    assert control.resolve(control.clipped(1e9)) == 10_000.0
