"""What a model file can't carry is refused when it is saved, in words."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR

from credo.features import Custom
from credo.linear import BayesianLinearRegression, LinearRegression
from credo.tables import ModelFileError, save
from credo.tables.files.encoding import MAX_DEPTH


def holding(value):
    model = StandardScaler()
    model.value_ = value
    return model


def nest(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


CYCLE: list = []
CYCLE.append({"again": CYCLE})

REFUSED = [
    (Custom(np.sin), r"Custom\.function can't be saved .* function sin, but model files hold only data"),
    (Pipeline([("f", Custom(lambda X: X))]), r"Pipeline\.steps\[0\]\[1\]\.function can't .*<lambda>"),
    (FunctionTransformer(np.log), r"FunctionTransformer\.func can't .* function log"),
    (SVR(), r"can't hold sklearn\.svm\._classes\.SVR; they hold Credo's classes and these of scikit-learn: "),
    (Pipeline([("s", StandardScaler())], memory="cache"), r"Pipeline can't .* memory .* cache on this machine"),
    (holding(np.random.default_rng(0)), r"value_ can't .* random generator.*give a whole number as random_state"),
    (holding(np.random.RandomState(0)), r"value_ can't .* random generator"),
    (holding(1j), r"StandardScaler\.value_ can't be saved in a model file: it is a builtins\.complex"),
    (holding(b"bytes"), r"builtins\.bytes"),
    (holding({1, 2}), r"builtins\.set"),
    (holding(np.array([1j])), r"data type complex128"),
    (holding(np.array([(1, 2.0)], dtype="i4,f8")), r"data type \[\("),
    (holding(np.array([object()], dtype=object)), r"one of its items is a object; .* only text"),
    (holding(np.ma.masked_array([1.0], [True])), r"MaskedArray"),
    (holding([{"deep": (1, print)}]), r"value_\[0\]\['deep'\]\[1\] can't .* function print"),
    (holding(SVR), r"it is the class SVR itself"),
    (holding(CYCLE), r"nested more than 100 levels deep, or contains itself"),
    (holding(nest(MAX_DEPTH + 1)), r"nested more than 100 levels deep"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED, ids=[f"case{i}" for i in range(len(REFUSED))])
def test_refusals_name_the_place_and_the_reason(model, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        save(model, tmp_path / "model.credo")
    assert list(tmp_path.iterdir()) == []


def test_only_models_are_saved(tmp_path):
    with pytest.raises(ModelFileError, match="save needs a model; got a dict"):
        save({"a": 1}, tmp_path / "model.credo")


def test_estimators_from_elsewhere_are_refused_even_with_a_credo_name(tmp_path):
    class Ridge(StandardScaler):
        pass

    Ridge.__module__ = "credo.linear"
    with pytest.raises(ModelFileError, match=r"can't be saved .*can't be imported as credo\.linear\.Ridge; import it"):
        save(Ridge(), tmp_path / "model.credo")


def test_a_state_that_load_refuses_is_not_saved(tmp_path):
    """The file that was there before stays."""
    path = tmp_path / "model.credo"
    model = BayesianLinearRegression().fit([[0.0], [1.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 4.0])
    save(model, path)
    before = path.read_bytes()
    object.__setattr__(model.posterior_, "noise_variances", np.array([-1.0]))
    with pytest.raises(ModelFileError, match=r"posterior_ can't be saved in a model file: .* loaded: .*noise"):
        save(model, path)
    model = LinearRegression().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    model.coef_ = np.array([np.nan])
    with pytest.raises(ModelFileError, match=r"LinearRegression can't be saved .*: coef_ must be finite"):
        save(model, path)
    assert path.read_bytes() == before
