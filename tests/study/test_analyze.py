"""`credo.analyze`: what it takes, what it gives back, and that it touches nothing else."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

import credo

MODELS = ["linear", "bayes"]


@pytest.fixture(scope="module")
def study(analyze, houses):
    return analyze(houses, "price", models=MODELS)


def board(study):
    return {score.name: dict(score.held_out) for score in study.comparison.scores}


def test_scores_are_those_of_least_squares_on_the_same_folds(study, houses):
    X = pd.get_dummies(houses.drop(columns="price"), drop_first=True).astype(float)
    y = houses["price"].to_numpy()
    errors = np.empty(len(y))
    for train, test in study.data.splits(3, 0)[0]:
        errors[test] = y[test] - LinearRegression().fit(X.iloc[train], y[train]).predict(X.iloc[test])
    assert board(study)["linear"]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    assert set(board(study)) == {"baseline", *MODELS, "average"}


@pytest.mark.parametrize("form", ["dict", "arrays", "polars", "pyarrow", "csv", "parquet"])
def test_every_form_of_a_table_gives_the_same_study(analyze, study, houses, tmp_path, form):
    if form == "dict":
        data = houses.to_dict(orient="list")
    elif form == "arrays":
        data = {name: houses[name].to_numpy() for name in houses}
    elif form == "polars":
        data = pytest.importorskip("polars").DataFrame(houses.to_dict(orient="list"))
    elif form == "pyarrow":
        data = pytest.importorskip("pyarrow").table(houses.to_dict(orient="list"))
    else:
        data = tmp_path / f"houses.{form}"
        if form == "parquet":
            pytest.importorskip("pyarrow")
        (houses.to_csv if form == "csv" else houses.to_parquet)(data, index=False)
    found = analyze(data, "price", models=MODELS)
    for name, scores in board(study).items():
        assert board(found)[name] == pytest.approx(scores, rel=1e-6)
    assert found.selected == study.selected


def test_the_frame_of_the_caller_is_left_alone(analyze, houses):
    before = houses.copy()
    analyze(houses, "price", models="linear")
    pd.testing.assert_frame_equal(houses, before)


def test_text_and_html_have_the_leaderboard_and_the_reason(study):
    text, html = repr(study), study._repr_html_()
    for part in ("baseline", "linear", "bayes", "RMSE", f"Selected: {study.selected}."):
        assert part in text and part in html
    assert text.startswith("price: 90 rows, 3 columns")
    assert "<table" in html and str(study) == text


def test_a_model_by_its_name(study, houses):
    assert study.model is study[study.selected]
    direct = study["linear"].predict(houses)
    assert np.corrcoef(direct, houses["price"])[0, 1] > 0.95
    with pytest.raises(KeyError, match=r"there is no fitted model 'gp'; choose from .*'linear'"):
        study["gp"]


def test_predictions_are_a_frame_with_the_index_of_the_rows(study, houses):
    rows = houses.drop(columns="price").iloc[[5, 3, 8]]
    found = study.predict(rows, level=0.8)
    assert list(found) == ["mean", "std", "lower", "upper", "outside"]
    assert found.index.tolist() == [5, 3, 8]
    lower, upper = study.model.predict_dist(rows).interval(0.8)
    np.testing.assert_allclose(found["lower"], lower)
    np.testing.assert_allclose(found["upper"], upper)
    np.testing.assert_allclose(study.predict(rows, name="bayes")["mean"], study["bayes"].predict(rows))
    assert (study.predict(rows)["upper"] > found["upper"]).all()


def test_predictions_of_classes_are_probabilities(analyze, houses):
    frame = houses.assign(kind=np.where(houses["price"] > houses["price"].median(), "dear", "cheap"))
    found = analyze(frame.drop(columns="price"), "kind", models="logistic").predict(frame.drop(columns="price").head(4))
    assert list(found) == ["predicted", "p(cheap)", "p(dear)", "outside"]
    np.testing.assert_allclose(found["p(cheap)"] + found["p(dear)"], 1.0)


def test_rows_outside_the_training_range_are_flagged(study):
    rows = pd.DataFrame({"size": [50.0, 5000.0, 50.0], "age": [10.0, 10.0, 10.0], "colour": ["red", "red", "mauve"]})
    with pytest.warns(credo.tables.TableWarning, match="'mauve'"):
        outside = study.predict(rows)["outside"].tolist()
    assert outside[0] == "" and "size" in outside[1] and "colour" in outside[2]


def test_held_out_predictions_have_their_rows(study, houses):
    held = study.held_out("bayes")
    assert held["row"].tolist() == list(range(1, 91))
    assert held["actual"].tolist() == houses["price"].tolist()
    rmse = np.sqrt(np.mean((held["actual"] - held["mean"]) ** 2))
    assert rmse == pytest.approx(board(study)["bayes"]["rmse"])


def test_influence_is_how_far_inputs_move_the_predictions(study):
    columns = study.influence("linear").columns
    effect = dict(zip(*columns.values(), strict=True))
    # 3 a unit of the size, whose standard deviation is 10; 2 a year, 8.4 years; 20 for a third of the rows.
    assert columns["input"][0] == "size"
    assert effect["size"] == pytest.approx(30, rel=0.3)
    assert effect["age"] == pytest.approx(17, rel=0.3)
    assert set(columns["input"]) == {"size", "age", "colour"}


def test_a_saved_model_predicts_the_same(study, houses, tmp_path):
    study.save(tmp_path / "model.credo")
    study.save(tmp_path / "bayes.credo", "bayes")
    for file, name in (("model.credo", study.selected), ("bayes.credo", "bayes")):
        loaded = credo.load(tmp_path / file)
        np.testing.assert_array_equal(loaded.predict(houses), study[name].predict(houses))
        np.testing.assert_array_equal(loaded.predict_dist(houses).std, study[name].predict_dist(houses).std)


def test_the_report_is_one_page(study, tmp_path):
    study.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "price" in page and "</html>" in page


def test_one_model_may_be_a_string(analyze, houses):
    assert set(board(analyze(houses, "price", models="linear"))) == {"baseline", "linear"}


@pytest.mark.parametrize(("models", "nearest"), [("liner", "linear"), (["linear", "bays"], "bayes")])
def test_a_wrong_model_suggests_the_nearest(analyze, houses, models, nearest):
    with pytest.raises(ValueError, match=f"Did you mean '{nearest}'"):
        analyze(houses, "price", models=models)


def test_a_wrong_target_is_named(analyze, houses):
    with pytest.raises(ValueError, match="'prise'"):
        analyze(houses, "prise", models="linear")


def test_the_seed_decides_the_folds(analyze, houses, study):
    assert board(analyze(houses, "price", models=MODELS)) == board(study)
    assert board(analyze(houses, "price", models=MODELS, random_state=1)) != board(study)


def test_two_studies_in_two_threads_are_those_of_one_after_the_other(analyze, houses):
    other = houses.assign(price=houses["price"] ** 2 / 100, constant=1.0)
    tables, models = {"first": houses, "second": other}, ["linear", "spike-slab"]
    alone = {name: analyze(table, "price", models=models) for name, table in tables.items()}
    together = {}

    def work(name):
        together[name] = analyze(tables[name], "price", models=models)

    threads = [threading.Thread(target=work, args=(name,)) for name in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, study in alone.items():
        assert board(together[name]) == board(study)
        assert [note.text for note in together[name].notes] == [note.text for note in study.notes]
    assert any("constant" in note.text for note in alone["second"].notes)
    assert not any("constant" in note.text for note in together["first"].notes)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_notes_are_values_and_no_warning_escapes(analyze, houses, task):
    # A copy and a constant are worth a word from several models.
    frame = houses.assign(cm=100 * houses["size"], constant=1).head(45)
    if task == "classification":
        frame["price"] = np.where(frame["price"] > frame["price"].median(), "dear", "cheap")
    models = {
        "regression": ["linear", "spike-slab", "lasso", "polynomial", "gp"],
        "classification": ["logistic", "spike-slab", "bayes-logistic", "discriminant"],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = analyze(frame, "price", models=models[task], time=None)
    assert all(score.error is None for score in study.comparison.scores), board(study)
    texts = " ".join(note.text for note in study.notes)
    assert "constant" in texts and "cm" in texts


def test_folds_are_as_many_as_asked_for(analyze, houses):
    study = analyze(houses, "price", models="linear", folds=4)
    sizes = [len(test) for _, test in study.data.splits(4, 0)[0]]
    assert study.comparison.n_folds == 4
    assert sorted(sizes) == sorted(len(test) for _, test in KFold(4).split(houses))


def test_an_unknown_option_is_an_error_that_names_the_nearest(houses):
    with pytest.raises(TypeError, match="no option 'fold': did you mean 'folds'"):
        credo.analyze(houses, "price", fold=2)
    with pytest.raises(TypeError, match=r"no option 'nonsense': choose from models, .*folds"):
        credo.analyze(houses, "price", nonsense=3)
