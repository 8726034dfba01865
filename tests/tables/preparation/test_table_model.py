"""A preparation and an estimator as one."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from credo.features import Polynomial
from credo.linear import BayesianLinearRegression, LinearRegression, LMSRegression, Ridge
from credo.sparse import Lasso, LassoCV, SpikeSlabRegressor
from credo.tables import ColumnError, Preparation, TableModel, TableWarning, describe, load, save

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(5)
N = 60
FRAME = pd.DataFrame({
    "size": RNG.normal(120, 40, N), "rooms": RNG.integers(1, 7, N), "town": RNG.choice(["ulm", "bonn", "kiel"], N),
    "built": pd.to_datetime("1990-01-01") + pd.to_timedelta(RNG.integers(0, 9000, N), unit="D"), "id": np.arange(N),
})  # fmt: skip
FRAME.loc[::7, "rooms"] = np.nan
PRICE = 3 * FRAME["size"] + 20 * FRAME["rooms"].fillna(3) + 50 * (FRAME["town"] == "ulm") + RNG.normal(0, 5, N)
PRICE = PRICE.to_numpy()
WORDS = [
    f"a {w} house near the {p} {i}"
    for i in range(5)
    for w in ("big", "old", "new")
    for p in ("sea", "lake", "wood", "road")
]


def fitted(estimator, *, standardize=True, frame=FRAME):
    return TableModel(Preparation(standardize=standardize), estimator, "price").fit(frame, PRICE)


def test_scikit_learn_s_checks():
    check_estimator(TableModel(Preparation(), Ridge()), on_skip=None)


def test_predictions_equal_the_two_steps_by_hand():
    model = fitted(BayesianLinearRegression())
    rows = Preparation(standardize=True).fit_transform(FRAME)
    by_hand = BayesianLinearRegression().fit(rows, PRICE)
    mean, std = model.predict(FRAME, return_std=True)
    np.testing.assert_allclose(mean, by_hand.predict(rows), rtol=1e-12)
    np.testing.assert_allclose(std, by_hand.predict_dist(rows).std, rtol=1e-12)
    np.testing.assert_allclose(model.predict(FRAME), mean, rtol=1e-13)
    np.testing.assert_allclose(model.predict(FRAME, return_cov=True)[1].diagonal() ** 0.5, std, rtol=1e-8)
    assert model.log_evidence_ == pytest.approx(by_hand.log_evidence_, rel=1e-10)
    assert model.evidence_method_ == by_hand.evidence_method_
    assert model.result_.converged


def test_standardising_changes_no_least_squares_prediction_and_no_weight():
    plain, scaled = (fitted(LinearRegression(), standardize=flag) for flag in (False, True))
    np.testing.assert_allclose(scaled.predict(FRAME), plain.predict(FRAME), rtol=1e-9)
    a, b = plain.summary(), scaled.summary()
    assert list(a.columns) == list(b.columns) and a.columns["parameter"] == b.columns["parameter"]
    for name in ("estimate", "sd", "t", "p", "lower", "upper"):
        np.testing.assert_allclose(b.columns[name], a.columns[name], rtol=1e-6, atol=1e-12, err_msg=name)


def test_the_summary_names_prepared_columns():
    names = fitted(Ridge()).summary().columns["parameter"]
    assert names[0] == "intercept"
    assert names[1:4] == ["size", "rooms", "rooms is missing"] and names[-1].startswith("built (days since 199")


def test_a_summary_without_degrees_of_freedom_has_no_intervals():
    few = FRAME[["size", "rooms"]].iloc[1:4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, scaled = (
            TableModel(Preparation(standardize=flag), LinearRegression()).fit(few, PRICE[1:4]).summary()
            for flag in (False, True)
        )
    np.testing.assert_allclose(scaled.columns["estimate"], plain.columns["estimate"], rtol=1e-8)
    assert np.isnan(scaled.columns["sd"]).all() and np.isnan(plain.columns["sd"]).all()


@pytest.mark.parametrize("estimator", [BayesianLinearRegression(), Ridge(), LMSRegression(random_state=0)], ids=str)
def test_weights_in_natural_units_reproduce_the_predictions(estimator):
    model = fitted(estimator)
    table = model.summary().columns
    rows = Preparation().fit_transform(FRAME)
    intercept, *weights = table["estimate"]
    np.testing.assert_allclose(rows @ weights + intercept, model.predict(FRAME), rtol=1e-9)
    assert (set(table["sd"]) == {None}) == isinstance(estimator, LMSRegression)


def test_text_goes_sparse_to_those_who_take_it_and_dense_to_the_others():
    frame = pd.DataFrame({"note": WORDS, "size": FRAME["size"]})
    ridge = fitted(Ridge(), frame=frame)
    names = ridge.summary().columns["parameter"]
    assert "note: sea" in names
    estimate = dict(zip(names, ridge.summary().columns["estimate"], strict=True))
    rows = Preparation().fit_transform(frame)
    weights = [estimate[name] for name in names[1:]]
    np.testing.assert_allclose(rows @ weights + estimate["intercept"], ridge.predict(frame), rtol=1e-9)
    lasso = fitted(Lasso(1e-3), frame=frame)
    assert lasso.estimator_.selected_ and set(lasso.estimator_.selected_) <= set(names[1:])
    dense = fitted(LinearRegression(), frame=frame)
    assert dense.predict(frame).shape == (N,)


def test_a_pipeline_inside_keeps_its_own_units_and_says_so():
    model = fitted(make_pipeline(Polynomial(2), BayesianLinearRegression()))
    assert np.isfinite(model.log_evidence_)
    assert model.predict_dist(FRAME).std.shape == (N,)
    table = model.summary()
    assert any("(x − mean)/sd" in note for note in table.notes)
    assert table.columns["parameter"][1] == "size" and "size rooms" in table.columns["parameter"]


def test_the_target_is_taken_from_the_frame_and_never_predicts():
    table = FRAME.assign(price=PRICE)
    model = TableModel(Preparation(), LinearRegression(), "price").fit(table)
    assert "price" not in model.preparation_.get_feature_names_out()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(table), model.predict(FRAME))
    table.loc[0, "price"] = np.nan
    with pytest.warns(UserWarning, match="Left out 1 row whose target 'price' is missing"):
        TableModel(Preparation(), LinearRegression(), "price").fit(table)


def test_wrong_columns_at_prediction():
    model = fitted(LinearRegression())
    with pytest.raises(ColumnError, match=r"no column 'size' \(did you mean 'Size'\?\)"):
        model.predict(FRAME.rename(columns={"size": "Size"}))
    with pytest.warns(UserWarning, match="ignored columns that are not in the training data: 'colour'"):
        model.predict(FRAME.assign(colour="red"))


def test_what_is_missing_is_said():
    with pytest.raises(ValueError, match="TableModel needs an estimator"):
        TableModel().fit(FRAME, PRICE)
    with pytest.raises(ValueError, match="give y, or name its column"):
        TableModel(None, LinearRegression()).fit(FRAME)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TableModel(None, LinearRegression()).fit(FRAME, PRICE[:-1])
    assert not hasattr(fitted(LinearRegression()), "log_evidence_")
    assert not hasattr(TableModel(None, BayesianLinearRegression()), "log_evidence_")


def test_scikit_learn_s_ways():
    model = TableModel(Preparation(), Ridge(), "price")
    assert clone(model).get_params()["estimator__alpha"] == 1.0
    assert cross_val_score(model, FRAME, PRICE, cv=3).min() > 0.9
    search = GridSearchCV(model, {"estimator__alpha": [0.1, 1.0]}, cv=3).fit(FRAME, PRICE)
    assert search.best_estimator_.predict(FRAME).shape == (N,)
    fitted_model = model.fit(FRAME, PRICE)
    assert model.preparation is not fitted_model.preparation_ and not hasattr(model.preparation, "columns_")


def test_integer_weights_equal_repeated_rows():
    frame = FRAME.drop(columns="id")
    weight = RNG.integers(1, 4, N)
    weighted = TableModel(None, Ridge()).fit(frame, PRICE, sample_weight=weight)
    repeated = TableModel(None, Ridge()).fit(frame.iloc[np.repeat(np.arange(N), weight)], np.repeat(PRICE, weight))
    np.testing.assert_allclose(weighted.predict(frame), repeated.predict(frame), rtol=1e-9)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge("loo"), BayesianLinearRegression()], ids=str)
@pytest.mark.parametrize("text", [False, True])
def test_saved_and_loaded_bit_for_bit(estimator, text, tmp_path):
    frame = FRAME.assign(note=WORDS) if text else FRAME
    model = fitted(estimator, frame=frame)
    save(model, tmp_path / "model.credo")
    again = load(tmp_path / "model.credo")
    before, after = model.predict_dist(frame), again.predict_dist(frame)
    assert before.mean.tobytes() == after.mean.tobytes() and before.std.tobytes() == after.std.tobytes()
    assert str(again.summary()) == str(model.summary())
    assert again.preparation_.notes_ == model.preparation_.notes_
    assert again.preparation_.columns_ == model.preparation_.columns_
    page = describe(tmp_path / "model.credo")
    assert page.target == "price" and page.feature_names == tuple(frame.columns)
    assert page.class_name == "credo.tables.TableModel"


def test_a_table_without_rows_is_refused_in_words():
    words = pd.DataFrame(
        {"k": list("aabbab"), "x": [1.0, 2.0, 4.0, 3.0, 7.0, 6.0], "y": [1.0, 2.0, 4.0, 1.0, 3.0, 2.0]}
    )
    model = TableModel(Preparation(), LinearRegression(), "y").fit(words)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(words[:0])


def test_forms_make_parts_of_a_table_be_read_alike(tmp_path):
    answers, days = ["yes", "no"] * 12, [f"{i % 12 + 1:02}/{i % 11 + 1:02}/2020" for i in range(24)]
    table = pd.DataFrame(
        {"answer": [*answers[:-1], "maybe"], "day": [*days[:-1], "31/12/2020"], "only": ["y", *"n" * 23]}
    )
    whole = Preparation().fit(table)
    part = Preparation(kinds=whole.forms_).fit(table[:-1])
    assert [column.kind for column in part.columns_] == [column.kind for column in whole.columns_]
    with pytest.warns(TableWarning, match="'maybe'"):
        last = dict(zip(part.get_feature_names_out(), part.transform(table[-1:])[0], strict=True))
    assert last["day (days since 2020-01-01)"] == 365
    # The one y is not among these rows: they are constant, and still no category.
    assert Preparation(kinds=whole.forms_).fit(table[1:]).columns_[2].kind == "constant"
    save(part, tmp_path / "part.credo")
    assert load(tmp_path / "part.credo").kinds == whole.forms_


def test_forms_that_do_not_fit_are_refused_in_words():
    forms = Preparation().fit(pd.DataFrame({"answer": ["yes", "no", "yes"]})).forms_
    with pytest.raises(ColumnError, match="column 'answer', row 2: 'maybe' is not one of"):
        Preparation(kinds=forms).fit(pd.DataFrame({"answer": ["yes", "maybe"]}))


def test_a_summary_that_leaves_weights_out_has_the_names_and_units_of_the_others():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(10, 5, size=(80, 40)), columns=[f"gene {j}" for j in range(40)])
    y = 2.0 * frame["gene 3"] - frame["gene 31"] + rng.normal(size=80)
    table = TableModel(Preparation(standardize=True), LassoCV(), "y").fit(frame, y).summary()
    weights = dict(zip(table.columns["parameter"], table.columns["estimate"], strict=True))
    assert len(weights) < 40 and "intercept" in weights
    assert weights["gene 3"] == pytest.approx(2.0, rel=0.1) and weights["gene 31"] == pytest.approx(-1.0, rel=0.1)
    assert not any("(x − mean)/sd" in note for note in table.notes)


def test_a_summary_of_sparse_rows_has_the_names_of_the_words():
    words = [f"word{j:02d}" for j in range(40)]
    rng = np.random.default_rng(1)
    inside = rng.random((300, 40)) < 0.5
    frame = pd.DataFrame(
        {"text": [" ".join(w for w, there in zip(words, row, strict=True) if there) for row in inside]}
    )
    y = 3.0 * inside[:, 7] + rng.normal(size=300)
    model = TableModel(Preparation(standardize=True, kinds={"text": "text"}), LassoCV(), "y").fit(frame, y)
    names = model.summary().columns["parameter"]
    assert any("word07" in name for name in names) and "x7" not in names


def test_intervals_of_spike_and_slab_are_in_natural_units():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(0, [100.0, 1e-3], size=(60, 2)), columns=["large", "small"])
    y = 0.02 * frame["large"] + 1000 * frame["small"] + rng.normal(size=60)
    table = TableModel(Preparation(standardize=True), SpikeSlabRegressor(), "y").fit(frame, y).summary()
    for estimate, lower, upper in list(zip(*(table.columns[c] for c in ("estimate", "lower", "upper")), strict=True))[
        1:
    ]:
        assert lower < estimate < upper


def test_words_that_count_as_missing_do_so_in_new_tables(tmp_path):
    """As `credo fit --na` is given them once, for the training table."""
    frame = pd.DataFrame({"year": ["2019", "2020", "n.k."] * 10, "site": ["a", "b", "n.k."] * 10, "y": np.arange(30.0)})
    model = TableModel(Preparation(na_words=("n.k.",), kinds={"year": "number"}), LinearRegression(), "y").fit(frame)
    gaps = frame.replace("n.k.", None)
    np.testing.assert_array_equal(model.predict(frame), model.predict(gaps))
    save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(load(tmp_path / "model.credo").predict(frame), model.predict(gaps))
    assert frame["site"].tolist().count("n.k.") == 10
