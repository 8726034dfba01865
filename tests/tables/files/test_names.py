"""Model files name classes by their rooms, so that code may move and grow without losing old files."""

import json
import re
from dataclasses import dataclass, field
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.contracts.estimators import fitted, regressors

from credo.core import params
from credo.features import Polynomial
from credo.linear import BayesianLinearRegression
from credo.tables import ModelFileError, TableModel, load, save
from credo.tables.files.classes import class_named

X = np.random.default_rng(0).normal(size=(30, 2))
Y = X @ [1.0, -2.0] + np.random.default_rng(1).normal(size=30)


def table():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "dose": [*rng.normal(size=59), None],
            "smoker": rng.choice(["yes", "no"], size=60),
            "town": rng.choice(["Bonn", "Ulm", "Trier"], size=60),
            "seen": pd.date_range("2024-01-01", periods=60),
            "remark": [
                " ".join(rng.choice(["pale", "tired", "well", "in", "pain", "again", "today"], 6)) for _ in range(60)
            ],
            "growth": rng.normal(size=60),
        }
    )


TABLE_MODELS = [
    TableModel(None, BayesianLinearRegression(), "growth"),
    TableModel(None, make_pipeline(Polynomial(degree=2), BayesianLinearRegression()), "growth"),
]


def names_in(node):
    """The class names of a state tree."""
    if isinstance(node, list):
        for item in node:
            yield from names_in(item)
    elif isinstance(node, dict):
        for tag, content in node.items():
            # A parameter may be called "estimator" too; a class and its members stand in a list.
            if tag in ("estimator", "value") and isinstance(content, list) and isinstance(content[0], str):
                yield content[0]
            if tag == "records":
                yield from (name for name, _, _ in content)
            yield from names_in(content)


@pytest.mark.parametrize("model", [*regressors(variants=False), *TABLE_MODELS], ids=repr)
def test_files_name_rooms_and_never_private_modules(model, tmp_path):
    model = clone(model).fit(table()) if isinstance(model, TableModel) else fitted(model, X, Y)
    save(model, tmp_path / "model.credo")
    with ZipFile(tmp_path / "model.credo") as archive:
        state = json.loads(archive.read("state.json"))
    names = [name for name in names_in(state) if not name.startswith("sklearn.")]
    assert f"credo.{type(model).__module__.split('.')[1]}.{type(model).__name__}" in names
    for name in names:
        assert re.fullmatch(r"credo(\.core)?(\.[A-Za-z]\w*){2}", name)


def test_all_kinds_of_columns_were_looked_at(tmp_path):
    save(TableModel(None, BayesianLinearRegression(), "growth").fit(table()), tmp_path / "model.credo")
    with ZipFile(tmp_path / "model.credo") as archive:
        names = set(names_in(json.loads(archive.read("state.json"))))
    assert {"credo.tables.Numbers", "credo.tables.Days", "credo.tables.Levels", "credo.tables.Texts"} <= names


def at_home(kind):
    """The class as if a private module of a room defined it."""
    kind.__module__ = "credo.core.params._somewhere"
    class_named.cache_clear()
    return kind


def holding(value):
    model = StandardScaler()
    model.value_ = value
    return model


def test_a_class_that_its_room_hides_is_refused(tmp_path):
    @dataclass(frozen=True)
    class Secret:
        value: int

    with pytest.raises(
        ModelFileError, match=r"value_ can't .*can't be imported as credo\.core\.params\.Secret; import it"
    ):
        save(holding(at_home(Secret)(1)), tmp_path / "model.credo")


def test_a_field_that_came_later_takes_its_default(monkeypatch, tmp_path):
    @dataclass(frozen=True)
    class Span:
        low: float

    monkeypatch.setattr(params, "Span", at_home(Span), raising=False)
    save(holding(Span(1.5)), tmp_path / "model.credo")

    @dataclass(frozen=True)
    class Longer:
        low: float
        high: float = np.inf
        marks: list[int] = field(default_factory=list)

    monkeypatch.setattr(params, "Span", at_home(Longer))
    assert load(tmp_path / "model.credo").value_ == Longer(1.5, np.inf, [])

    @dataclass(frozen=True)
    class Demanding:
        low: float
        unit: str

    monkeypatch.setattr(params, "Span", at_home(Demanding))
    with pytest.raises(ModelFileError, match=r"credo\.core\.params\.Span lacks fields .*needs: \['unit'\]"):
        load(tmp_path / "model.credo")


class Box:
    """A value that is no dataclass and tells its fields."""

    def __init__(self, *sides):
        self.sides = sides

    def to_fields(self):
        return {"sides": np.array(self.sides)}

    @classmethod
    def from_fields(cls, fields):
        return cls(*fields["sides"])


def test_values_that_tell_their_fields_are_carried(monkeypatch, tmp_path):
    monkeypatch.setattr(params, "Box", at_home(Box), raising=False)
    save(holding([Box(0.1, 0.2), Box()]), tmp_path / "model.credo")
    full, empty = load(tmp_path / "model.credo").value_
    assert type(full) is Box
    assert full.sides == (0.1, 0.2)
    assert empty.sides == ()


def test_a_value_without_fields_is_no_value(monkeypatch, tmp_path):
    class Plain:
        pass

    monkeypatch.setattr(params, "Plain", at_home(Plain), raising=False)
    with pytest.raises(ModelFileError, match=r"value_ can't be saved in a model file"):
        save(holding(Plain()), tmp_path / "model.credo")


def test_estimators_are_found_in_their_rooms(monkeypatch, tmp_path):
    class Moved(BaseEstimator):
        pass

    monkeypatch.setattr(params, "Moved", at_home(Moved), raising=False)
    save(Moved(), tmp_path / "model.credo")
    Moved.__module__ = "credo.core.params._elsewhere"
    assert type(load(tmp_path / "model.credo")) is Moved
