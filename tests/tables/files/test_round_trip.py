"""What goes into a model file comes out of it, bit for bit."""

import json
import struct

import numpy as np
import pandas as pd
import pytest
from fuzz.forging import Saved
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from credo import __version__
from credo.core.estimator import Result
from credo.core.frames import Table
from credo.features import Polynomial, Words
from credo.linear import BayesianLinearRegression, LinearRegression, Ridge
from credo.tables import Preparation, TableModel, describe, load, save
from credo.tables.files.archive import n_values

floats = st.one_of(
    st.floats(),
    # NaNs with a payload and of either sign.
    st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack(">d", struct.pack(">Q", bits))[0]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**63, 2**3000),
    floats,
    st.text(st.characters(), max_size=8),
    st.sampled_from([np.float64(0.1), np.float32(-0.0), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True)]),
    st.sampled_from([np.str_("añ"), np.str_(""), np.datetime64("2024-02-29"), np.timedelta64(5, "s"), np.float16(1)]),
    st.sampled_from([slice(None, 3, 2), float, np.float64, np.dtype(">f4"), Result(True, 3, "done")]),
)
dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.unicode_string_dtypes(endianness="?", max_len=5),
    hnp.datetime64_dtypes(endianness="?"),
    hnp.timedelta64_dtypes(endianness="?"),
)
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
nested = st.recursive(
    st.one_of(scalars, arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
        st.dictionaries(st.one_of(st.integers(), st.text(max_size=3), st.none()), inner, max_size=4),
    ),
    max_leaves=12,
)


def same(a, b):
    """Equality of type and of every bit."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape and a.dtype.byteorder == b.dtype.byteorder
        if a.dtype == object:
            return all(same(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True))
        return a.tobytes() == b.tobytes() and a.flags.f_contiguous == b.flags.f_contiguous
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack(">d", a) == struct.pack(">d", b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if sparse.issparse(a):
        return a.shape == b.shape and same(parts(a), parts(b))
    if hasattr(a, "get_params"):
        return same(vars(a), vars(b))
    return a == b


def parts(matrix):
    return [matrix.data, matrix.indices, matrix.indptr]


def carried(value, folder):
    """The value after a trip through a file, as an attribute of a model."""
    model = StandardScaler()
    model.value_ = value
    save(model, folder / "model.credo")
    return load(folder / "model.credo").value_


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@settings(max_examples=40, deadline=None)
@given(value=nested)
def test_nested_state_survives(value, folder):
    assert same(value, carried(value, folder))


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_survives(order, folder):
    array = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    assert carried(array, folder).flags[f"{order}_CONTIGUOUS"]


def test_a_strided_view_survives_as_its_values(folder):
    array = np.arange(20.0)[::3]
    np.testing.assert_array_equal(carried(array, folder), array)


def test_loaded_arrays_can_be_written_to(folder):
    array = carried(np.arange(3.0), folder)
    array[0] = 7.0
    assert array[0] == 7.0


def test_one_array_in_two_places_stays_one_array(folder):
    array = np.arange(3.0)
    first, second = carried([array, array], folder)
    assert first is second


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_matrices_survive(kind, index, folder):
    matrix = getattr(sparse, kind)(sparse.random_array((5, 7), density=0.4, rng=np.random.default_rng(0)))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    assert same(matrix, carried(matrix, folder))


def test_arrays_of_words_survive(folder):
    names = np.array([["age", None], ["größe", 3.5], [np.nan, True]], dtype=object)
    assert same(names, carried(names, folder))


def test_values_of_credo_survive(folder):
    table = Table("Weights", {"parameter": ["slope"], "estimate": [2.0]}, notes=("n",))
    assert carried(table, folder) == table


X = np.random.default_rng(3).normal(size=(30, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * np.random.default_rng(4).normal(size=30)
TRANSFORMERS = [
    StandardScaler(),
    MinMaxScaler(),
    RobustScaler(),
    PolynomialFeatures(2),
    PowerTransformer(),
    PCA(2, random_state=0),
    SimpleImputer(add_indicator=True),
    Polynomial(2, extrapolation="linear"),
    FeatureUnion([("a", StandardScaler()), ("b", PolynomialFeatures(2))]),
    Pipeline([("scale", StandardScaler()), ("none", "passthrough"), ("pca", PCA(2))]),
    ColumnTransformer([("s", StandardScaler(), [0, 1])], remainder="passthrough"),
    ColumnTransformer([("s", StandardScaler(), slice(0, 2)), ("d", "drop", [2])]),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda model: type(model).__name__)
def test_transformers_give_the_same_bits_after_loading(transformer, folder):
    rows = np.where(X > 2, np.nan, X) if isinstance(transformer, SimpleImputer) else X
    transformer.fit(rows)
    save(transformer, folder / "model.credo")
    again = load(folder / "model.credo")
    assert transformer.transform(rows).tobytes() == again.transform(rows).tobytes()
    assert list(again.get_feature_names_out()) == list(transformer.get_feature_names_out())


def test_one_hot_of_words_in_a_column_transformer(folder):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": ["a", "b", "a"]})
    transformer = ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), ["c"])], remainder=StandardScaler())
    transformer.fit(frame)
    save(transformer, folder / "model.credo")
    again = load(folder / "model.credo")
    np.testing.assert_array_equal(again.transform(frame), transformer.transform(frame))


def test_words_give_the_same_bits_after_loading(folder):
    model = Words().fit(["free money now", "see you now"])
    save(model, folder / "model.credo")
    assert same(model.transform(["you see money"]), load(folder / "model.credo").transform(["you see money"]))


@pytest.mark.parametrize("model", [LinearRegression(), Ridge("loo"), BayesianLinearRegression()], ids=str)
def test_estimators_predict_the_same_bits_after_loading(model, folder):
    model.fit(X, y)
    save(model, folder / "model.credo")
    again = load(folder / "model.credo")
    before, after = model.predict_dist(X), again.predict_dist(X)
    assert before.mean.tobytes() == after.mean.tobytes() and before.std.tobytes() == after.std.tobytes()
    assert str(again.summary()) == str(model.summary())


def test_unfitted_models_and_their_parameters_survive(folder):
    pipeline = Pipeline([("poly", Polynomial(3)), ("model", Ridge(alpha=0.1))])
    save(pipeline, folder / "model.credo")
    assert repr(load(folder / "model.credo")) == repr(pipeline)


def test_a_wish_for_frames_survives(folder):
    pytest.importorskip("pandas")
    model = StandardScaler().set_output(transform="pandas").fit(X)
    save(model, folder / "model.credo")
    assert list(load(folder / "model.credo").transform(X).columns) == ["x0", "x1", "x2"]


def test_scratch_is_not_carried(folder):
    model = StandardScaler().fit(X)
    model._scratch = "gone"
    model.note = "gone"
    save(model, folder / "model.credo")
    again = load(folder / "model.credo")
    assert not hasattr(again, "_scratch") and not hasattr(again, "note")


def test_equal_models_are_equal_files(folder):
    for name in ("a", "b"):
        save(StandardScaler().fit(X), folder / name)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_describe_reads_the_manifest(folder):
    pd = pytest.importorskip("pandas")
    model = LinearRegression().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    save(model, folder / "model.credo")
    page = describe(folder / "model.credo")
    assert (page.class_name, page.feature_names) == ("credo.linear.LinearRegression", ("a", "b", "c"))
    assert page.credo_version == __version__ and page.target is None
    assert page.n_bytes < (folder / "model.credo").stat().st_size


def test_lists_of_dataclasses_of_several_classes(folder):
    table = Table("t", {"a": [1]})
    for values in (
        [Result(True, 3, "done"), Result(False, 2**60, ""), Result(True, -1, "more")],
        [Result(True, 3, "done"), table, Result(True, 3, "done")],
        {"one": Result(True, 1, "x"), "two": table, "three": Result(1, 1, "")},
    ):
        model = StandardScaler()
        model.values_ = values
        save(model, folder / "model.credo")
        loaded = load(folder / "model.credo").values_
        # Unlike ==, it tells 1 from True.
        assert repr(loaded) == repr(values)


def test_a_file_holds_few_values_for_each_column_of_a_wide_table(folder):
    """Of 4.2 million that a file may hold, so that a table of 100,000 columns has room."""
    n_columns, rng = 300, np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, n_columns))).add_prefix("x")
    frame["soil"], frame["x7"] = rng.choice(["sand", "clay"], 30), [None, *range(29)]
    model = TableModel(Preparation(standardize=True, clip=True), Ridge()).fit(frame, rng.normal(size=30))
    save(model, folder / "model.credo")
    state = json.dumps(Saved.of((folder / "model.credo").read_bytes()).state, separators=(",", ":")).encode()
    assert n_values(state) < 30 * n_columns
    loaded = load(folder / "model.credo")
    assert loaded.preparation_.columns_ == model.preparation_.columns_
    assert loaded.preparation_.forms_ == model.preparation_.forms_
    assert [*map(vars, loaded.preparation_.encoders_[:-1])] == [*map(vars, model.preparation_.encoders_[:-1])]
    assert (loaded.predict(frame) == model.predict(frame)).all()
