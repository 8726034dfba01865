"""Small models in files, and servers of them."""

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

import credo
from credo.app.serve import Limits, ServedModel, application
from credo.distributions import Support
from credo.tables import Preparation, TableModel
from credo.tables.groups import Groups


def plants(n=80):
    """A table with every kind of column; only doses are missing here and there."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.uniform(10, 60, n).round(1),
            "soil": rng.choice(["sand", "clay", "peat"], n, p=[0.5, 0.3, 0.2]),
            "wet": rng.choice(["yes", "no"], n),
            "day": rng.permutation(pd.date_range("2024-01-01", periods=n).strftime("%d.%m.%Y")),
            "dose": np.where(np.arange(n) % 9 == 0, np.nan, rng.normal(size=n)),
            "plant_id": rng.permutation(n) + 1000,
        }
    )
    table["growth"] = 0.1 * table.age + (table.soil == "clay") + rng.normal(size=n)
    table["size"] = np.where(table.growth > table.growth.median(), "tall", "<img onerror=alert(1)>")
    return table


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The path of each model file."""
    folder, table = tmp_path_factory.mktemp("models"), plants()
    X = np.random.default_rng(1).normal(size=(30, 3))
    models = {
        "growth": TableModel(Preparation(standardize=True), credo.LinearRegression(), "growth").fit(
            table.drop(columns="size")
        ),
        "size": TableModel(Preparation(standardize=True), credo.LogisticRegression(), "size").fit(
            table.drop(columns="growth")
        ),
        "plain": credo.BayesianLinearRegression().fit(X, X[:, 0] + 0.1 * X[:, 1]),
    }
    models["visits"] = TableModel(
        Preparation(kinds={"plant_id": "identifier"}), credo.LinearRegression(), "growth", Support(low=0.0)
    ).fit(table[["age", "plant_id", "growth"]])
    models["visits"].groups = Groups.of("plant_id", [1000, 1000, 1001, 1001, 1002], [1.5, 1.7, -1.2, -1.0, 0.1])
    for name, model in models.items():
        credo.save(model, folder / f"{name}.credo")
    return {name: folder / f"{name}.credo" for name in models}


@pytest.fixture(scope="session")
def served(files):
    """The loaded model of each file."""
    return {name: ServedModel.open(path) for name, path in files.items()}


@pytest.fixture
def client(served):
    """A client of the server of a model: client("growth", max_rows=3)."""
    made = []

    def make(name, token=None, raising=True, **limits):
        app = application(served[name], limits=Limits(**limits), token=token)
        made.append(TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=raising))
        return made[-1]

    yield make
    for one in made:
        one.close()


ROW = {"age": 30.5, "soil": "clay", "wet": "yes", "day": "03.02.2024", "dose": 0.5}
