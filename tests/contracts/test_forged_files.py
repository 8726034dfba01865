"""No field of a model file, whatever is put into it, makes a loaded model crash or read memory that isn't its own.

Every exported estimator is fitted to a small table and saved. Each of its fields is then given values that it never
has, with checksums that are right, and the model is loaded and asked in a process whose compiled code checks its
indices. The long version, which changes anything at random, is `python -m fuzz.model_files`.
"""

import numpy as np
import pytest
from fuzz.forging import Saved, replaced
from fuzz.model_files import run, save_models, special_models, table, table_models
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from tests.contracts.estimators import classifiers, exported_classes, regressors

import credo
from credo.core.fields import field_types, is_a, parameter_types
from credo.features import Polynomial
from credo.gp import GPClassifier, GPRegressor
from credo.kernels import RBF, Periodic
from credo.linear import BayesianLinearRegression, LMSRegression, Ridge
from credo.sparse import SpikeSlabRegressor
from credo.tables import ModelFileError, Preparation, load
from credo.tables.files import encoding as encode

X, y, labels = table()


@pytest.mark.parametrize("step", [46, pytest.param(1, marks=pytest.mark.slow)])
def test_every_field_of_every_model(step, tmp_path):
    """One setting of each class, and special kernels and inference.

    The quick run takes every 46th field, and only the whole one compiles code that checks its indices.
    """
    kinds, models = set(), [*special_models(), *table_models()]
    for model in [*regressors(), *classifiers()]:
        if type(model) not in kinds:
            kinds.add(type(model))
            models.append(model)
    save_models(tmp_path, models)
    n, findings, counts = run(tmp_path, range(0, 10**6, step), systematic=True, cache=tmp_path if step == 1 else None)
    assert n > 250 and counts["refused"] > 75 and counts["answer"] > 75
    assert [(what, found) for _, what, found in findings if not _overflows(what, found)] == []


def _overflows(what, found):
    """Numbers near the largest double may overflow, and powers leave the range of a transformation."""
    huge = what.endswith(("huge", "1e+300")) or ".power:" in what
    # What scikit-learn's clone refuses raises errors of Python: safe, if unclear.
    known = "Cannot clone" in found
    return (huge and found.startswith(("not finite", "unclear ZeroDivisionError", "unclear OverflowError"))) or (
        known and found.startswith("unclear")
    )


def forged(model, tmp_path, **fields):
    """The model with other values for these attributes, saved and loaded."""
    path = tmp_path / "model.credo"
    credo.save(model, path)
    saved = Saved.of(path.read_bytes())
    state = saved.state
    for name, value in fields.items():
        place = ("estimator", 2, name)
        node = state["estimator"][2][name]
        if isinstance(value, np.ndarray):
            path.write_bytes(saved.with_array(node["array"], value).content())
            return load(path)
        state = replaced(state, place, value)
    path.write_bytes(saved.with_state(state).content())
    return load(path)


def save_unchecked(model, path, monkeypatch):
    """Save a model without the checks by which `save` refuses what `load` would."""
    with monkeypatch.context() as patch:
        patch.setattr(encode, "check", lambda value: None)
        credo.save(model, path)


def load_with(owner, name, value, model, tmp_path, monkeypatch):
    """Load the model with another value for a field of one of its frozen attributes."""
    object.__setattr__(owner, name, value)
    save_unchecked(model, tmp_path / "model.credo", monkeypatch)
    return load(tmp_path / "model.credo")


@pytest.mark.parametrize("width", [0, -1, 2, 7, 400_000, 2**62, True])
def test_more_columns_than_the_training_rows_have(width, tmp_path):
    one = X[:, :1]
    options = {"hyperparameters": "fixed"}
    for kernel in (RBF(1.0), Periodic(1.0), RBF(1.0).on(0) + Periodic(1.0)):
        for model in (
            GPRegressor(kernel, noise=0.1, mean="zero", **options).fit(one, y),
            GPClassifier(kernel, **options).fit(one, labels),
        ):
            with pytest.raises(ModelFileError, match=r"n_features_in_|posterior_ is of size"):
                forged(model, tmp_path, n_features_in_=width)


@pytest.mark.parametrize(("noise", "df"), [("student", 2.0), ("student", -1.0)])
def test_degrees_of_freedom_that_the_noise_can_t_have(noise, df, tmp_path, monkeypatch):
    model = GPRegressor(RBF(1.0), noise=noise, hyperparameters="fixed").fit(X[:, :1], y)
    with pytest.raises(ModelFileError, match="df must be more than 2"):
        load_with(model.posterior_.noise, "df", df, model, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["last_", "average_"])
@pytest.mark.parametrize("length", [1, 2, 4, 100])
def test_weights_of_another_number_of_columns(name, length, tmp_path):
    model = LMSRegression(random_state=0).fit(X, y)
    with pytest.raises(ModelFileError, match=f"{name} has shape"):
        forged(model, tmp_path, **{name: np.zeros(length)})


@pytest.mark.parametrize("name", ["q", "y_mean", "rss"])
def test_a_summary_of_targets_that_no_targets_have(name, tmp_path, monkeypatch):
    """Updates would divide by a noise precision of zero."""
    model = BayesianLinearRegression().fit(X, y)
    found = model.posterior_.spectrum
    object.__setattr__(found, name, getattr(found, name) * 0.0 + 1e300)
    save_unchecked(model, tmp_path / "model.credo", monkeypatch)
    with pytest.raises(ModelFileError, match="must be smaller than the targets"):
        load(tmp_path / "model.credo")


@pytest.mark.parametrize("value", [5e-324, 1e300])
def test_units_whose_squares_leave_double_precision(value, tmp_path, monkeypatch):
    model = GPRegressor(RBF(1.0), hyperparameters="fixed").fit(X, y)
    with pytest.raises(ModelFileError, match="scale must be a number whose square is positive"):
        load_with(model.posterior_.data, "scale", np.array([value]), model, tmp_path, monkeypatch)
    with pytest.raises(ModelFileError, match="noise_std_ must be of a size that can be squared"):
        forged(LMSRegression().fit(X, y), tmp_path, noise_std_=value)


def test_columns_of_a_subset_model_that_are_named_twice(tmp_path, monkeypatch):
    model = SpikeSlabRegressor(slab="g").fit(X, y)
    model.design_.kept[:] = 0
    save_unchecked(model, tmp_path / "model.credo", monkeypatch)
    with pytest.raises(ModelFileError, match="kept must be increasing"):
        load(tmp_path / "model.credo")


def test_an_entry_of_another_type_is_named(tmp_path, monkeypatch):
    model = GPRegressor(RBF(1.0), hyperparameters="fixed").fit(X, y)
    with pytest.raises(ModelFileError, match="its GPRegressor has 'yes' for draws_, which is of another type"):
        forged(model, tmp_path, draws_="yes")
    with pytest.raises(ModelFileError, match="index must contain whole numbers from 0 to 13"):
        load_with(model.posterior_.data, "index", np.full(14, 10**6), model, tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", exported_classes(), ids=lambda kind: kind.__name__)
def test_annotations_can_be_read(kind):
    assert all(name.endswith("_") for name in field_types(kind))
    assert parameter_types(kind).keys() == set(kind._get_param_names())


def test_a_fitted_attribute_that_a_file_lacks_is_named(tmp_path):
    path = tmp_path / "model.credo"
    for model in (Ridge().fit(X, y), Polynomial().fit(X), Preparation(standardize=True).fit(X)):
        credo.save(model, path)
        saved = Saved.of(path.read_bytes())
        for name in saved.state["estimator"][2]:
            rest = {key: value for key, value in saved.state["estimator"][2].items() if key != name}
            path.write_bytes(saved.with_state(replaced(saved.state, ("estimator", 2), rest)).content())
            try:
                loaded = load(path)
                loaded.predict_dist(X) if hasattr(loaded, "predict") else loaded.transform(X)
            # A NotFittedError is a ValueError; an AttributeError or a TypeError isn't.
            except ValueError as error:
                assert isinstance(error, ModelFileError) or name in str(error)
    unfitted = Ridge()
    assert not hasattr(unfitted, "coef_")
    with pytest.raises(NotFittedError, match=r"this Ridge .*has no coef_"):
        _ = unfitted.coef_
    with pytest.raises(AttributeError, match="nonsense"):
        _ = unfitted.nonsense


def test_a_parameter_of_another_type_is_named(tmp_path):
    path = tmp_path / "model.credo"
    credo.save(Polynomial(2).fit(X), path)
    saved = Saved.of(path.read_bytes())
    path.write_bytes(saved.with_state(replaced(saved.state, ("estimator", 1, "degree"), "two")).content())
    with pytest.raises(ModelFileError, match="its Polynomial has 'two' for degree"):
        load(path)


@pytest.mark.parametrize("junk", ["x", 5, [], {"dict": {}}, {"type": "int"}])
def test_what_is_not_an_estimator_inside_an_unfitted_one_is_named(junk, tmp_path):
    """An unfitted estimator has no state to check, and its tags need those of what it holds."""
    path, inner = tmp_path / "model.credo", ("estimator", 1, "estimator")
    nested = credo.BaggingRegressor(Ridge(), n_estimators=2, calibrate=None)
    for model, place in [
        (credo.BaggingRegressor(nested, n_estimators=2, calibrate=None), inner),
        (credo.Conformal(nested, cv=2, random_state=0), inner),
        (
            credo.ModelAverage([("one", nested), ("two", Ridge())], random_state=0),
            ("estimator", 1, "estimators", 0, "tuple", 1),
        ),
    ]:
        credo.save(model, path)
        saved = Saved.of(path.read_bytes())
        for forged_place in (place, (*place, *inner)):
            path.write_bytes(saved.with_state(replaced(saved.state, forged_place, junk)).content())
            with pytest.raises(ModelFileError, match=r"for estimators?, which is not an estimator"):
                load(path)


def test_types_of_values():
    for value, hint in [(1, float), (np.float64(1), float), (None, int | None), ((1, 2), tuple[int, ...])]:
        assert is_a(value, hint)
    for value, hint in [(True, int), ("1", float), (1.5, int), ((1, "a"), tuple[int, ...]), ([1], tuple[int, ...])]:
        assert not is_a(value, hint)
    assert is_a(True, bool) and is_a(1, bool) and not is_a(2, bool)
    assert is_a(np.zeros(2), NDArray[np.float64]) and is_a(np.arange(2), NDArray[np.intp])
    assert not is_a(np.zeros(2), NDArray[np.intp]) and not is_a([0.0], NDArray[np.float64])
