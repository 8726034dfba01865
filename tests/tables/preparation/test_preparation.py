"""What columns become, and what is said about it."""

import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from credo.sparse import Lasso
from credo.tables import ColumnError, Preparation, TableWarning
from credo.tables.columns import sentinels

pd = pytest.importorskip("pandas")

N = 24
RNG = np.random.default_rng(0)


def kind(values, name="thing"):
    return Preparation().fit(pd.DataFrame({name: values, "other": RNG.normal(size=len(values))})).columns_[0].kind


def prepared(frame, **options):
    """Matrix by name of the prepared columns, and the notes."""
    preparation = Preparation(**options).fit(frame)
    matrix = preparation.transform(frame)
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    return dict(zip(preparation.get_feature_names_out(), dense.T, strict=True)), preparation.notes_


SENTENCES = [
    f"the {a} fox jumps over {b} dogs" for a in ("red", "tall", "old", "odd") for b in ("six", "lazy", "big", "my")
]
KINDS = [
    ("numeric", RNG.normal(size=N)),
    ("numeric", RNG.integers(0, 3, N)),
    ("numeric", [True, False] * (N // 2)),
    ("numeric", ["yes", "No"] * (N // 2)),
    ("numeric", [str(value) for value in RNG.normal(size=N)]),
    ("numeric", [Decimal("1.5"), 2, 2.5, np.float32(3)] * 6),
    ("numeric", pd.array([1, 2, None] * 8, dtype="Int64")),
    ("numeric", pd.to_timedelta(RNG.integers(0, 9, N), unit="h")),
    ("numeric", [*range(0, 90, 3), "abc"]),
    ("categorical", list("abc") * 8),
    ("categorical", pd.Categorical(list("abc") * 8)),
    ("categorical", ["yes", "no", "maybe"] * 8),
    ("categorical", ["a", "b", "c"]),
    ("categorical", [1, "a", 2.5, None] * 6),
    ("categorical", ["the fox jumps over dogs", "the dog jumps over no fox"] * 12),
    ("text", SENTENCES),
    ("date", pd.date_range("2020-01-01", periods=N)),
    ("date", pd.date_range("2020-01-01", periods=N, tz="Europe/Berlin")),
    ("date", [f"2020-01-{day:02d}" for day in range(1, N + 1)]),
    ("date", [f"2020-01-{day:02d}T12:30:00Z" for day in range(1, N + 1)]),
    ("date", [f"{day}.1.2020" for day in range(1, N + 1)]),
    ("date", [f"{day}/01/2020 08:15" for day in range(1, N + 1)]),
    ("date", [date(2020, 1, day) for day in range(1, N + 1)]),
    ("constant", [3.5] * N),
    ("constant", ["same"] * N),
    ("empty", [None] * N),
    ("empty", ["", " "] * (N // 2)),
    ("identifier", np.arange(1, N + 1)),
    ("identifier", [f"S{i:03d}" for i in range(N)]),
    ("identifier", [f"Jane Doe {i}" for i in range(N)]),
]


@pytest.mark.parametrize(("expected", "values"), KINDS, ids=[f"{k}{i}" for i, (k, _) in enumerate(KINDS)])
def test_kinds(expected, values):
    assert kind(values) == expected


@pytest.mark.parametrize("name", ["id", "ID", "PassengerId", "customer_id", "row", "case no", "sample"])
def test_names_that_say_identifier(name):
    assert kind(RNG.permutation(np.arange(1000, 1000 + N)), name) == "identifier"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("year", np.arange(1947, 1963)),
        ("time", np.arange(N)),
        ("x", np.arange(N)),
        ("acid", RNG.permutation(np.arange(1000, 1000 + N))),
        ("temperature", np.arange(20, 20 + N)),
        ("count", RNG.permutation(np.arange(N))),
        ("id", [1, 1, 2] * 8),
        ("dose", np.arange(5)),
    ],
)
def test_whole_numbers_that_are_no_identifiers(name, values):
    assert kind(values, name) == "numeric"


def test_a_part_of_the_rows_is_taken_for_the_same_as_all_of_them():
    """Folds of cross-validation must leave out the same columns."""
    rows = np.arange(1, 101)
    for fold in np.split(RNG.permutation(100), 5):
        assert kind(np.delete(rows, fold), "specimen") == kind(rows, "specimen") == "identifier"


def test_numbers_stay_in_their_units_and_gaps_are_marked():
    columns, notes = prepared(pd.DataFrame({"age": [30.0, np.nan, 50.0, 90.0] * 5, "b": [1, 2, 3, 5] * 5}))
    np.testing.assert_array_equal(columns["age"], [30, 50, 50, 90] * 5)
    np.testing.assert_array_equal(columns["age is missing"], [0, 1, 0, 0] * 5)
    np.testing.assert_array_equal(columns["b"], [1, 2, 3, 5] * 5)
    assert notes == [
        "Column 'age': 5 of 20 values are missing; replaced by the median 50, and marked in 'age is missing'."
    ]


def test_few_gaps_are_not_marked():
    """One row without an age would otherwise decide the prediction of everyone without an age."""
    frame = pd.DataFrame({"age": [30.0, np.nan, 50.0, 90.0], "c": ["u", "v", "u", None]})
    columns, notes = prepared(frame)
    assert list(columns) == ["age", "c=v"]
    np.testing.assert_array_equal(columns["age"], [30, 50, 50, 90])
    np.testing.assert_allclose(columns["c=v"], [0, 1, 0, 1 / 3])
    assert notes == [
        "Column 'age': 1 of 4 values is missing; replaced by the median 50.",
        "Column 'c': missing in 1 row; too few for a separate level, coded by the frequencies of the others.",
    ]


def test_equal_gaps_share_one_indicator():
    gap = [1.0, np.nan, 3.0, 7.0] * 5
    columns, notes = prepared(pd.DataFrame({"a": gap, "b": gap[::-1], "c": gap, "d": ["u", None, "v", "u"] * 5}))
    assert list(columns) == ["a", "a is missing", "b", "b is missing", "c", "d=v"]
    assert any("marked in 'a is missing' (the same rows)" in note for note in notes)
    assert notes[-1] == "Column 'd': missing in 5 rows; indicated by 'a is missing'."


def test_a_column_of_one_value_and_gaps_keeps_only_the_gaps():
    columns, notes = prepared(pd.DataFrame({"a": [2.0, None, 2.0], "b": [1, 2, 4]}))
    assert list(columns) == ["a is missing", "b"]
    assert "the others are all 2, so only 'a is missing' is used" in notes[0]


def test_categories_against_the_most_frequent_level():
    frame = pd.DataFrame({"c": ["b", "a", "b", None, "c"] * 5})
    columns, notes = prepared(frame)
    assert list(columns) == ["c=a", "c=c", "c is missing"]
    np.testing.assert_array_equal(
        np.column_stack(list(columns.values()))[:5], [[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]
    )
    assert notes == ["Column 'c': missing in 5 rows; treated as a separate level."]
    assert list(prepared(frame, drop_reference=False)[0]) == ["c=a", "c=b", "c=c", "c is missing"]


def test_rare_levels_share_a_column():
    values = ["a"] * 10 + ["b"] * 6 + list("cdefgh")
    columns, notes = prepared(pd.DataFrame({"v": values}), max_levels=3)
    assert list(columns) == ["v=b", "v=other"]
    assert columns["v=other"].sum() == 6
    assert "has 8 levels: the 2 most frequent" in notes[0]


def test_dates_count_days_from_the_first():
    columns, _ = prepared(pd.DataFrame({"when": ["2020-01-03", "2020-01-01", "2020-03-01"], "x": [1, 2, 4]}))
    np.testing.assert_array_equal(columns["when (days since 2020-01-01)"], [2, 0, 60])
    columns, _ = prepared(pd.DataFrame({"when": ["2020-01-01 06:00", "2020-01-02 12:00"]}))
    np.testing.assert_allclose(columns["when (days since 2020-01-01)"], [0.25, 1.5])


def test_day_and_month_that_could_be_exchanged_are_noted():
    _, notes = prepared(pd.DataFrame({"d": ["01/02/2020", "03/04/2020"]}))
    assert notes == [
        "Column 'd': dates like '01/02/2020' were read with the month first; write them as 2024-12-31 if that is wrong."
    ]
    columns, notes = prepared(pd.DataFrame({"d": ["13/02/2020", "14/02/2020"]}))
    assert notes == [] and next(iter(columns.values())).tolist() == [0, 1]


def test_text_becomes_sparse_words():
    frame = pd.DataFrame({"note": [*SENTENCES, None], "x": RNG.normal(size=17)})
    preparation = Preparation().fit(frame)
    matrix = preparation.transform(frame)
    assert isinstance(matrix, sparse.csr_array) and matrix.dtype == np.float64
    names = list(preparation.get_feature_names_out())
    fox, x = names.index("note: fox"), names.index("x")
    assert "note: the" in names and "note: six" in names
    np.testing.assert_array_equal(matrix[:, [fox]].toarray().ravel(), [1] * 16 + [0])
    np.testing.assert_array_equal(matrix[:, [x]].toarray().ravel(), frame["x"])
    assert len(names) == matrix.shape[1]


def test_a_word_of_every_text_is_no_column():
    columns, _ = prepared(pd.DataFrame({"note": SENTENCES}))
    assert "note: the" not in columns and "note: lazy" in columns


def test_what_is_left_out_is_said():
    frame = pd.DataFrame({"k": [1] * N, "e": [None] * N, "id": np.arange(N), "s": [f"u{i}" for i in range(N)]})
    frame["x"] = RNG.normal(size=N)
    columns, notes = prepared(frame)
    assert list(columns) == ["x"]
    assert notes == [
        "Left out column 'k': it has only one value (always 1).",
        "Left out column 'e': it has no values (no value in any row).",
        "Left out column 'id': it identifies the rows (unique whole numbers, and a name like an identifier).",
        "Left out column 's': it identifies the rows (text that differs in every row).",
    ]


def test_infinite_values_and_slips_count_as_missing_and_are_said():
    frame = pd.DataFrame({"a": [1.0, np.inf, 3.0], "b": [1, 2, 4]})
    with pytest.warns(TableWarning, match="1 infinite value treated as missing"):
        columns, notes = prepared(frame)
    np.testing.assert_array_equal(columns["a"], [1, 2, 3])
    assert notes[0] == "Column 'a': 1 infinite value treated as missing."
    frame = pd.DataFrame({"a": [*map(str, range(0, 60, 2)), "<1"], "b": RNG.normal(size=31)})
    columns, notes = prepared(frame)
    assert list(columns) == ["a", "b"] and columns["a"][-1] == 29.0
    assert "('<1' in row 31) treated as missing" in notes[0]


def test_truth_counts_as_one():
    columns, notes = prepared(pd.DataFrame({"a": ["Yes", "no", "YES"], "b": [True, False, False]}))
    np.testing.assert_array_equal(columns["a"], [1, 0, 1])
    np.testing.assert_array_equal(columns["b"], [1, 0, 0])
    assert notes == ["Column 'a': 'yes' is coded as 1 and 'no' as 0."]


def test_huge_integers_and_huge_floats():
    frame = pd.DataFrame({"i": [10**30, 1, 5], "f": [1e308, -1e308, 1.7e308]})
    columns, notes = prepared(frame, standardize=True)
    for values in columns.values():
        np.testing.assert_allclose([values.mean(), values.std()], [0, 1], atol=1e-12)
    assert "beyond 2^53 were rounded" in notes[0]


def test_kinds_can_be_overruled():
    frame = pd.DataFrame({"zip": [10, 20, 20, 30], "id": [4.0, 2.0, 8.0, 1.0]})
    columns, _ = prepared(frame, kinds={"zip": "categorical", "id": "identifier"})
    assert list(columns) == ["zip=10", "zip=30"]
    with pytest.raises(ValueError, match=r"column 'zip' can't be read as 'colour'; choose from number, .*"):
        Preparation(kinds={"zip": "colour"}).fit(frame)
    with pytest.raises(ColumnError, match=r"kinds: the table has no column 'zup' \(did you mean 'zip'\?\)"):
        Preparation(kinds={"zup": "text"}).fit(frame)
    with pytest.raises(ColumnError, match="row 1: 'a' is not a number"):
        Preparation(kinds={"c": "numeric"}).fit(pd.DataFrame({"c": ["a", "b", "c"]}))
    with pytest.raises(ColumnError, match="can't be read as dates"):
        Preparation(kinds={"c": "date"}).fit(pd.DataFrame({"c": ["a", "b", "c"]}))


def test_the_kinds_of_one_fit_can_be_given_to_the_next():
    frame = pd.DataFrame({"id": np.arange(N), "c": list("ab") * (N // 2), "x": RNG.normal(size=N), "k": 1})
    first = Preparation().fit(frame)
    kinds = {column.name: column.kind for column in first.columns_}
    again = Preparation(kinds=kinds).fit(frame.iloc[:5])
    assert list(again.get_feature_names_out()) == ["c=b", "x"]


def test_standardising_equals_scikit_learn_s():
    frame = pd.DataFrame({"a": RNG.normal(5, 3, N), "b": RNG.integers(0, 9, N), "c": list("xxyz") * 6})
    plain = Preparation().fit_transform(frame)
    preparation = Preparation(standardize=True)
    np.testing.assert_allclose(preparation.fit_transform(frame), StandardScaler().fit_transform(plain), atol=1e-12)
    np.testing.assert_allclose(
        preparation.transform(frame) * preparation.scale_ + preparation.center_, plain, atol=1e-12
    )


def test_words_are_scaled_and_not_centred():
    frame = pd.DataFrame({"note": SENTENCES, "x": RNG.normal(size=16)})
    plain = Preparation().fit_transform(frame)
    preparation = Preparation(standardize=True)
    matrix = preparation.fit_transform(frame)
    assert matrix.nnz == plain.nnz
    words = [j for j, name in enumerate(preparation.get_feature_names_out()) if name != "x"]
    assert np.all(preparation.center_[words] == 0)
    np.testing.assert_allclose(matrix.toarray()[:, words].std(axis=0), 1.0)


def test_integer_weights_equal_repeated_rows():
    frame = pd.DataFrame({"a": RNG.normal(size=N), "c": RNG.choice(list("xyz"), N)})
    frame.loc[::5, "a"] = np.nan
    weight = RNG.integers(0, 4, N)
    weighted = Preparation(standardize=True).fit(frame, sample_weight=weight)
    repeated = Preparation(standardize=True).fit(frame.iloc[np.repeat(np.arange(N), weight)])
    assert list(weighted.get_feature_names_out()) == list(repeated.get_feature_names_out())
    np.testing.assert_allclose(weighted.transform(frame), repeated.transform(frame), rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="zero"):
        Preparation().fit(frame, sample_weight=np.zeros(N))


def test_one_row():
    with pytest.raises(ColumnError, match="there is no usable column"):
        Preparation().fit(pd.DataFrame({"a": [1.0], "b": ["x"]}))


def test_scikit_learn_s_checks():
    check_estimator(Preparation(standardize=True), on_skip=None)


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame(index=[0, 1])])
def test_empty_tables(frame):
    with pytest.raises(ColumnError, match=r"the table is empty: \d rows and \d columns"):
        Preparation().fit(frame)


def test_what_is_no_table():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        Preparation().fit([1.0, 2.0])
    with pytest.raises(ColumnError, match=r"the columns of the dict don't form a table: .*same length"):
        Preparation().fit({"a": [1, 2], "b": [1]})
    with pytest.raises(TypeError, match="Sparse data was passed"):
        Preparation().fit(sparse.eye_array(3))
    with pytest.raises(ValueError, match="X has 1 features, but Preparation is expecting 2 features"):
        Preparation().fit(np.eye(2)).transform([[1.0]])


def test_nested_columns_are_refused_in_words():
    with pytest.raises(ColumnError, match="column 'a', row 1: a list"):
        Preparation().fit(pd.DataFrame({"a": [[1], [2, 3]], "b": [1, 2]}))


def test_arrays_dicts_polars_and_arrow_give_the_same_numbers():
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    data = {"x0": [1.0, None, 3.0], "x1": ["a", "b", "b"], "x2": [date(2020, 1, 1), date(2020, 1, 2), None]}
    expected = Preparation().fit_transform(pd.DataFrame(data))
    for table in (data, pl.DataFrame(data), pa.table(data)):
        np.testing.assert_array_equal(Preparation().fit_transform(table), expected)
    array = RNG.normal(size=(5, 2))
    np.testing.assert_array_equal(Preparation().fit_transform(array), array)


def test_scikit_learn_s_ways():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "c": list("xyx")})
    preparation = clone(Preparation(standardize=True)).set_output(transform="pandas")
    assert list(preparation.fit_transform(frame).columns) == ["a", "c=y"]
    assert make_pipeline(Preparation(), StandardScaler()).fit_transform(frame).shape == (3, 2)
    assert list(preparation.feature_names_in_) == ["a", "c"] and preparation.n_features_in_ == 2


cells = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.dates(), st.datetimes(),
    st.sampled_from(["yes", "no", "NA", "2020-01-02", "1.5", "a b c d", ""]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    columns=st.lists(st.lists(cells, min_size=12, max_size=12), min_size=1, max_size=3),
    repeats=st.sampled_from([1, 2]),
    standardize=st.booleans(),
)
def test_any_mixture_of_values_gives_finite_numbers_or_a_sentence(columns, repeats, standardize):
    frame = pd.DataFrame({f"c{j}": pd.Series(values * repeats, dtype=object) for j, values in enumerate(columns)})
    preparation = Preparation(standardize=standardize)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", TableWarning)
            matrix = preparation.fit_transform(frame)
            again = preparation.transform(frame.iloc[::-1])
    except ColumnError:
        return
    dense, reversed_rows = (m.toarray() if sparse.issparse(m) else m for m in (matrix, again))
    assert np.isfinite(dense).all() and dense.shape == (len(frame), len(preparation.get_feature_names_out()))
    np.testing.assert_array_equal(dense[::-1], reversed_rows)


FITTED = pd.DataFrame({
    "n": [1.0, 2.0, 4.0, 8.0], "c": list("aabc"), "b": ["yes", "no", "no", "yes"],
    "d": ["2020-01-01", "2020-01-05", "2020-02-01", "2020-02-02"],
})  # fmt: skip
ROW = {"n": 3.0, "c": "b", "b": "no", "d": "2020-01-02"}


def transformed(**changes):
    return Preparation().fit(FITTED).transform(pd.DataFrame([{**ROW, **changes}]))


def test_a_plain_row_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(transformed(), [[3, 1, 0, 0, 1]])
        np.testing.assert_array_equal(transformed(n="3", b=False, d=date(2020, 1, 2)), [[3, 1, 0, 0, 1]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": "abc"}, "column 'n', row 1: 'abc' is not a number; the model expects a number there"),
        ({"n": pd.Timestamp("2020-01-01")}, "column 'n', row 1: .* is not a number"),
        ({"b": "maybe"}, "column 'b', row 1: 'maybe' is not one of "),
        ({"d": "soon"}, "column 'd', row 1: 'soon' is not a date in the format"),
        ({"d": 5}, "column 'd', row 1: '5' is not a date"),
        ({"d": 20200102.0}, "column 'd', row 1: '20200102.0' is not a date"),
    ],
)
def test_values_that_can_t_be_what_was_fitted(changes, message):
    with pytest.raises(ColumnError, match=message):
        transformed(**changes)


@pytest.mark.parametrize(
    ("changes", "expected", "message"),
    [
        (
            {"c": "zebra"},
            [3, 0.25, 0.25, 0, 1],
            r"column 'c': 1 row has a level that is not in the training data \('zebra'\), treated as an average",
        ),
        ({"c": None}, [3, 0.25, 0.25, 0, 1], "column 'c': 1 missing value treated as an average .* none was missing"),
        ({"n": None}, [3, 1, 0, 0, 1], "column 'n': 1 missing value replaced by the median 3"),
        ({"n": -np.inf}, [3, 1, 0, 0, 1], "column 'n': 1 (infinite value treated as missing|missing value replaced)"),
        ({"d": None}, [3, 1, 0, 0, 17.5], "column 'd': 1 missing value replaced by the median 17.5"),
        ({"new": 1, "more": 2}, [3, 1, 0, 0, 1], "ignored columns that are not in the training data: 'new', 'more'"),
    ],
)
def test_values_that_were_not_seen_are_warned_about(changes, expected, message):
    with pytest.warns(TableWarning, match=message):
        np.testing.assert_array_equal(transformed(**changes), [expected])


def test_missing_columns_name_the_nearest():
    preparation = Preparation().fit(FITTED)
    with pytest.raises(
        ColumnError, match=r"the table has no column 'n' \(did you mean 'N'\?\); it has 'N', 'c', 'b', 'd'"
    ):
        preparation.transform(FITTED.rename(columns={"n": "N"}))
    with pytest.raises(ColumnError, match="the table has no columns 'b', 'd'; it has 'n', 'c'"):
        preparation.transform(FITTED[["n", "c"]])


def test_columns_that_were_left_out_need_not_be_there():
    frame = pd.DataFrame({"x": RNG.normal(size=N), "id": np.arange(N), "k": 1})
    preparation = Preparation().fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(preparation.transform(frame[["x"]]), preparation.transform(frame))


def test_order_of_columns_and_batching_do_not_matter():
    frame = FITTED.sample(frac=1, random_state=1)
    preparation = Preparation(standardize=True).fit(FITTED)
    whole = preparation.transform(frame[["d", "c", "n", "b"]])
    np.testing.assert_array_equal(whole, preparation.transform(frame))
    rows = [preparation.transform(frame.iloc[[i]])[0] for i in range(len(frame))]
    np.testing.assert_array_equal(whole, rows)


def test_categories_given_as_numbers_match_their_words():
    frame = pd.DataFrame({"c": [1, 2, 2, 3]})
    preparation = Preparation(kinds={"c": "categorical"}).fit(frame)
    expected = preparation.transform(frame)
    np.testing.assert_array_equal(preparation.transform(frame.astype(float)), expected)
    np.testing.assert_array_equal(preparation.transform(frame.astype(str)), expected)


def test_unseen_levels_join_the_rare_ones():
    words = ["a"] * 9 + ["b"] * 6 + ["c", "d", "e"]
    preparation = Preparation(max_levels=3).fit(pd.DataFrame({"c": words}))
    assert preparation.get_feature_names_out().tolist() == ["c=b", "c=other"]
    with pytest.warns(TableWarning, match=r"column 'c': 1 row .* \('zebra'\), treated as 'c=other'"):
        rows = preparation.transform(pd.DataFrame({"c": ["zebra", "a", "d"]}))
    assert rows.tolist() == [[0, 1], [0, 0], [0, 1]]


@pytest.mark.parametrize(("unit", "forms"), [("kg", "{} kg"), ("kg", "{}kg"), ("mg/l", "{} mg/l"), ("°C", "{} °C")])
def test_numbers_with_a_unit_are_numbers(unit, forms):
    values = [round(1 + i * 0.37, 2) for i in range(40)]
    table = pd.DataFrame({"weight": [*map(forms.format, values), *["unknown"] * 2], "x": np.sin(np.arange(42.0))})
    preparation = Preparation().fit(table)
    assert preparation.notes_[0] == f"Column 'weight' was read as numbers without the unit {unit!r}."
    assert preparation.transform(table)[:40, 0].tolist() == values
    assert preparation.transform(pd.DataFrame({"weight": [forms.format(3)], "x": [0.0]}))[0, 0] == 3.0


def test_units_of_one_quantity_are_converted():
    lengths = ["1.5 m", "20 cm", "2 m", "3 m", "0.004 km"]
    preparation = Preparation().fit(pd.DataFrame({"length": lengths * 4}))
    assert preparation.notes_[0] == "Column 'length' was read as numbers in m (from cm, km, m)."
    np.testing.assert_allclose(preparation.transform({"length": lengths})[:, 0], [1.5, 0.2, 2.0, 3.0, 4.0])
    # Rows in another unit than the training data, and without one.
    np.testing.assert_allclose(preparation.transform({"length": ["5 km", "7 km"]})[:, 0], [5000.0, 7000.0])
    assert preparation.transform({"length": [4.5]})[0, 0] == 4.5


def test_units_that_differ_make_levels():
    preparation = Preparation().fit(pd.DataFrame({"dose": ["5 mg", "10 ml", "20 mg"] * 8}))
    assert preparation.columns_[0].kind == "categorical"


def test_codes_among_numbers_make_a_category():
    rooms = [str(100 + i % 9) for i in range(58)] + ["c12", "c13"]
    preparation = Preparation().fit({"room": rooms, "x": np.sin(np.arange(60.0))})
    assert preparation.columns_[0].kind == "categorical"
    assert not any("is missing" in note or "treated as missing" in note for note in preparation.notes_)
    typed = Preparation().fit({"room": [*rooms[:58], "1o1", "-"], "x": np.sin(np.arange(60.0))})
    assert typed.columns_[0].kind == "numeric"


def test_one_bad_cell_names_itself_and_the_option_that_helps():
    cells = [*map(str, range(3, 15)), "n.v."]
    (note,) = Preparation().fit({"size": cells, "x": np.sin(np.arange(13.0))}).notes_[:1]
    assert "'size' is not numeric only because of 'n.v.' (row 13)" in note and "--na 'n.v.'" in note


TEMPERATURES = [4.0, 11.5, 19.0, 23.5, -8.0] * 9


@pytest.mark.parametrize("code", [-999.0, -9999, 999.9, -99])
def test_a_repeated_sentinel_counts_as_missing(code):
    table = pd.DataFrame({"t": [*TEMPERATURES, *[code] * 6], "x": np.sin(np.arange(51.0))})
    preparation = Preparation(standardize=True).fit(table)
    assert preparation.columns_[0].kind == "numeric"
    assert any(f"Column 't': {code:.15g} (6 rows) was treated as missing" in note for note in preparation.notes_)
    assert preparation.get_feature_names_out().tolist() == ["t", "t is missing", "x"]
    # A single new row is read in the same way, and so are the folds of a table whose forms are known.
    assert preparation.transform({"t": [code], "x": [0.0]})[0, 1] > 1
    fold = Preparation(kinds=preparation.forms_).fit(table[40:47])
    assert fold.transform({"t": [code], "x": [0.0]})[0, 0] == np.median(TEMPERATURES[40:])
    kept = Preparation(keep_sentinels=True).fit(table)
    assert kept.get_feature_names_out().tolist() == ["t", "x"]
    assert Preparation(kinds={"t": "number"}).fit(table).get_feature_names_out().tolist() == ["t", "x"]


@pytest.mark.parametrize(
    "values",
    [
        [*range(18, 98), 99, 99],  # ages
        [1, 2, 3, 4, 5, -999.0],  # once
        [5.0, 7.0, -500.0, -500.0, 6.0],  # not of the conventional form
        [-999.0, -999.0, 3.0, 3.0],  # one other value
        [9.0, 9.0, 1.0, 2.0, 3.0],
        [-9.0, -9.0, -12.0, 4.0],
        [-99.0, -99.0, 1500.0, -200.0],
    ],
)
def test_other_repeated_numbers_stay_numbers(values):
    values = np.array(values, dtype=float)
    assert sentinels(values) == []


def test_two_codes_of_one_column_are_both_found():
    assert sentinels(np.array([1.0, 2.0, 4.0, 3.0, -9.0, -9.0, 99.0, 99.0, -999.0, -999.0])) == [-999.0, -9.0, 99.0]


@pytest.mark.parametrize(
    "words", [["12a", "7b", "9c"], ["k1", "k2", "k3"], ["3 of 4", "1 of 4", "2 of 4"], ["A", "B", "C"]]
)
def test_codes_are_no_numbers_with_a_unit(words):
    assert not any("unit" in note for note in Preparation().fit(pd.DataFrame({"c": words * 8})).notes_)


def test_inputs_are_columns_and_the_words_of_a_text_one_by_one():
    table = pd.DataFrame(
        {
            "said": ["rain at noon", "no rain", "hail", "at noon"] * 5,
            "soil": ["sand", "clay", "peat", "sand"] * 5,
            "age": [30.0, None, 50.0, 20.0] * 5,
        }
    )
    found = Preparation(kinds={"said": "text"}).fit(table)
    names, sources, inputs = found.get_feature_names_out().tolist(), found.sources(), found.inputs()
    words = [name for name, source in zip(names, sources, strict=True) if source == "said"]
    assert len(words) > 1 and inputs == ["soil", "soil", "age", "age", *words]
    with pytest.raises(NotFittedError):
        Preparation().inputs()


def test_a_model_right_behind_it_calls_the_columns_by_their_names():
    table = pd.DataFrame({"soil": ["sand", "clay", "peat", "sand"] * 5, "age": np.arange(20.0)})
    model = make_pipeline(Preparation(), Lasso(0.01)).fit(table, table["age"] + (table["soil"] == "clay"))
    assert list(model[-1].feature_names_in_) == model[0].get_feature_names_out().tolist()
    assert "age" in model[-1].selected_


@pytest.mark.parametrize("last", ["9999-12-31", date(9999, 12, 31)], ids=["text", "typed"])
def test_the_last_day_of_the_calendar(last):
    """People write it for "never ends"; nanoseconds of 64 bits end in 2262."""
    first = "2024-01-01" if isinstance(last, str) else date(2024, 1, 1)
    table = pd.DataFrame({"until": [first, last] * 12, "x": np.arange(24.0)})
    found = Preparation().fit(table)
    assert found.columns_[0].kind == "date"
    # 7,975 years and a leap day in 97 of 400, counted by Python's calendar.
    assert found.transform(table)[:2, 0].tolist() == [0.0, float((date(9999, 12, 31) - date(2024, 1, 1)).days)]
    assert not found.outside(table).rows.any()
