"""Tables with several rows for each patient, and what is said about them."""

import re

import numpy as np
import pandas as pd
import pytest

import credo
from credo.study import dataset
from credo.study.checks import repeated_units
from credo.study.facts import Folds
from credo.tables import ColumnError

RNG = np.random.default_rng(0)
N = 96


@pytest.fixture
def visits():
    """Eight visits of twelve patients, whose group and age don't change."""
    patient = np.repeat(np.arange(12), 8)
    return pd.DataFrame(
        {
            "case": 4601 + patient,
            "visit": np.tile(np.arange(8), 12),
            "group": np.array(["a", "b"])[patient % 2],
            "age": 40 + patient % 5,
            "weight": RNG.normal(size=N),
        }
    )


def test_columns_that_depend_on_another_one_show_units(visits):
    assert repeated_units(visits) == ("case", ["group", "age"])
    for name in ("patient_id", "PatientID", "subject"):
        assert repeated_units(visits.rename(columns={"case": name})[[name, "visit", "weight"]]) == (name, [])
    trees = visits.rename(columns={"case": "tree"})[["tree", "visit", "group", "weight"]]
    assert repeated_units(trees) == ("tree", ["group"])


def test_a_named_unit_with_equal_columns_may_have_two_rows(visits):
    """As in a trial of patients with two visits, of which some have no outcome."""
    two = visits[visits["visit"] < 2].rename(columns={"case": "patient"})
    assert repeated_units(two) == ("patient", ["age"])
    assert repeated_units(two.iloc[:-3]) == ("patient", ["age"])
    assert repeated_units(two.rename(columns={"patient": "case"})) is None
    assert repeated_units(two[["patient", "visit", "weight"]]) is None


def test_ordinary_tables_have_none(visits):
    assert repeated_units(visits[["case", "visit", "weight"]]) is None
    # Few units, one row each, missing values, or agreement by chance.
    assert repeated_units(visits.assign(case=visits["case"] % 3)) is None
    assert repeated_units(visits.assign(case=np.arange(N))) is None
    assert repeated_units(visits.assign(case=visits["case"].where(visits["visit"] > 0))) is None
    rare = pd.DataFrame({"k": np.repeat(np.arange(32), 3), "flag": np.arange(N) < 3, "x": RNG.normal(size=N)})
    assert repeated_units(rare) is None


def test_the_note_says_what_the_scores_are_about(visits):
    notes = [note.text for note in dataset(visits, "weight").notes if note.important]
    assert any("Values of 'case' have several rows, with equal 'group', 'age'" in text for text in notes)


@pytest.fixture(scope="module")
def growth():
    """Twenty patients, whose levels differ more than their visits."""
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(20), 6)
    weight = 60 + 8 * rng.normal(size=20)[patient] + 0.5 * np.tile(np.arange(6), 20) + rng.normal(size=120)
    return pd.DataFrame({"patient": 500 + patient, "visit": np.tile(np.arange(6), 20), "weight": weight})


@pytest.fixture(scope="module")
def of_patients(analyze, growth):
    return analyze(growth, "weight", models=["linear", "forest"], time=None)


def test_all_rows_of_a_unit_are_held_out_together(of_patients, growth):
    data = of_patients.data
    assert data.unit == "patient" and "patient" not in data.preparation.sources()
    for train, test in data.splits(None, 0)[0]:
        assert not set(growth["patient"].iloc[train]) & set(growth["patient"].iloc[test])
    assert "values of patient, with all their rows, were shuffled" in of_patients.facts.folds.method
    assert not any("Left out column 'patient'" in note.text for note in of_patients.notes)


def test_a_known_unit_is_predicted_from_its_other_rows(of_patients, growth, tmp_path):
    frame = of_patients.predict(growth.assign(patient=growth["patient"].where(growth["visit"] > 2, 999)))
    known = frame["known patient"].to_numpy()
    np.testing.assert_array_equal(known, growth["visit"] > 2)
    width = (frame["upper"] - frame["lower"]).to_numpy()
    assert width[known].mean() < 0.4 * width[~known].mean()
    error = np.abs(frame["mean"] - growth["weight"]).to_numpy()
    assert error[known].mean() < 0.4 * error[~known].mean()
    (note,) = [note.text for note in of_patients.notes if "A known one is predicted" in note.text]
    scores = of_patients.known
    assert scores.known.rmse < 0.4 * scores.new.rmse and scores.known.coverage > 0.9
    assert all(f"RMSE {one.rmse:.3g}" in note for one in (scores.new, scores.known))
    of_patients.save(tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(loaded.predict(growth), of_patients.model.predict(growth))


def test_the_interval_of_a_new_unit_is_beside_that_of_a_known_one(of_patients, growth):
    rows = growth.iloc[[3, 4]].assign(patient=[500, 999])
    both, new = of_patients.predict(rows, level=0.8), of_patients.predict(rows.drop(columns="patient"), level=0.8)
    np.testing.assert_array_equal(both["new_lower"], new["lower"])
    np.testing.assert_array_equal(both["new_upper"], new["upper"])
    assert both["lower"].iloc[0] > both["new_lower"].iloc[0] and "new_lower" not in new
    assert both["lower"].iloc[1] == pytest.approx(both["new_lower"].iloc[1])


def test_a_level_that_the_model_has_learned_is_not_counted_twice(analyze):
    """Each patient has a blood value of its own, from which a flexible model learns its level."""
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(60), 4)
    blood = rng.normal(size=60)
    level = np.sin(3 * blood) + 0.5 * rng.normal(size=60)
    table = pd.DataFrame({"patient": patient, "blood": blood[patient], "visit": np.tile(np.arange(4), 60)})
    table["y"] = level[patient] + 0.1 * rng.normal(size=240)
    last = table["visit"] == 3
    study = analyze(table[~last], "y", models=["gp"], groups="patient", time=None)
    found = study.predict(table[last]), study.predict(table[last].drop(columns="patient"))
    known, alone = (np.sqrt(np.mean((frame["mean"] - table["y"][last]) ** 2)) for frame in found)
    assert known < 1.05 * alone
    assert study.known.known.log_score >= study.known.alone.log_score


def test_all_units_of_a_table_with_one_held_out_part_are_known(analyze):
    rng = np.random.default_rng(4)
    patient = np.repeat(np.arange(800), 4)
    table = pd.DataFrame({"patient": patient, "x": rng.normal(size=3200)})
    table["y"] = table["x"] + 2 * rng.normal(size=800)[patient] + rng.normal(size=3200)
    study = analyze(table, "y", models=["linear"], groups="patient", folds=None)
    assert study.facts.folds.n_parts == 1 and len(study.model.groups.names) == 800
    # The intraclass correlation and the error of a row given three others, by the formulas of a random intercept.
    assert study.model.groups.correlation == pytest.approx(0.8, abs=0.03)
    assert study.known.known.rmse == pytest.approx(np.sqrt(1 + 4 / (1 + 3 * 4)), rel=0.05)
    assert study.known.new.rmse == pytest.approx(np.sqrt(5), rel=0.1)


def test_a_class_that_only_one_unit_has_is_not_scored(analyze, growth):
    rare = np.where(growth["patient"] == 503, "rare", np.where(growth["weight"] > 60, "heavy", "light"))
    study = analyze(growth.assign(weight=rare), "weight", models=["logistic"], groups="patient")
    assert any("6 held-out rows are not scored (classes: 'rare')" in note.text for note in study.notes)
    assert "p(rare)" in study.predict(growth.head(2)) and len(study.comparison.held_out["logistic"].y) == 114


def test_new_units_are_covered(analyze):
    """In ten tables, 91 to 98 % of the 95 % intervals for new patients hold."""
    inside = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        patient = np.repeat(np.arange(60), 4)
        x = rng.normal(size=240)
        y = 50 + 2 * x + 3 * rng.normal(size=60)[patient] + rng.normal(size=240)
        table = pd.DataFrame({"patient": patient, "x": x, "y": y})
        frame = analyze(table[patient < 30], "y", models=["linear"], time=None).predict(table[patient >= 30])
        assert not frame["known patient"].any()
        actual = y[patient >= 30]
        inside.append(((frame["lower"] <= actual) & (actual <= frame["upper"])).mean())
    assert 0.91 <= np.mean(inside) <= 0.98


def test_groups_are_chosen_or_turned_off(growth, analyze):
    assert dataset(growth, "weight", groups=False).unit is None
    assert dataset(growth, "weight", groups="visit").unit == "visit"
    with pytest.raises(TypeError, match="groups must be a column's name or False; got list"):
        dataset(growth, "weight", groups=["patient"])
    with pytest.raises(ColumnError, match="the table has no column 'clinic'"):
        dataset(growth, "weight", groups="clinic")
    with pytest.raises(ValueError, match="has only one value"):
        dataset(growth.assign(site=1), "weight", groups="site")
    sick = analyze(growth.assign(weight=growth["weight"] > 60), "weight", models=["logistic"], time=None)
    assert sick.data.unit == "patient" and "p(True)" in sick.predict(growth.head(3))


@pytest.mark.parametrize("name", ["linear", "forest"])
def test_an_explanation_says_what_is_known_about_the_unit(of_patients, growth, name):
    study = of_patients.select(name)
    rows = growth.iloc[[3, 4]].assign(patient=[500, 999])
    found, without = study.explain(rows), study.explain(rows.drop(columns="patient"))
    np.testing.assert_array_equal(found.contributions, without.contributions)
    assert not without.known and found.known[1] == ""
    predicted = study.predict(rows)["mean"].tolist()
    assert f"the other rows of patient 500 change it to {predicted[0]:.4g}." in str(found)
    np.testing.assert_allclose(found.predictions[1], predicted[1], rtol=0.02)


def test_the_page_says_what_the_column_of_units_is(of_patients, tmp_path):
    of_patients.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Left out column &#39;patient&#39;" not in page and "Left out column 'patient'" not in page
    assert re.search(r"patient</th>\s*<td>unit<span[^>]*>its rows are held out together", page)
    assert "mean log density" in page


def test_a_profile_names_units_with_repeated_times():
    """As `analyze` holds them out, where every date has a row of every shop."""
    day = pd.date_range("2022-01-03", periods=60).repeat(5)
    shops = pd.DataFrame({"day": day, "shop_id": [3, 5, 8, 9, 11] * 60, "size": [10, 20, 30, 40, 50] * 60})
    shops["sales"] = RNG.normal(size=300)
    assert credo.look(shops, "sales").groups == "shop_id" == dataset(shops, "sales").unit


@pytest.mark.parametrize("n_parts", [1, 5])
def test_held_out_units_are_named_in_the_methods(n_parts):
    folds = Folds(5000, 1000, n_parts, in_order=False, seed=0, groups="ward")
    assert "ward" in str(folds) and "ward" in folds.method


def test_a_row_without_a_unit_is_one_of_its_own(analyze, growth):
    gaps = growth.assign(patient=growth["patient"].where(growth.index % 7 > 0))
    study = analyze(gaps, "weight", models=["linear"], groups="patient", time=None)
    groups = study.data.groups
    assert len(np.unique(groups)) == 20 + gaps["patient"].isna().sum()
    assert set(study.model.groups.names) == {str(k) for k in range(500, 520)}
    assert study.predict(gaps)["known patient"].tolist() == gaps["patient"].notna().tolist()


def test_a_single_column_is_an_input(growth):
    assert dataset(growth[["patient", "weight"]], "weight", kinds={"patient": "category"}).unit is None


def test_requested_units_are_held_out_whole_also_in_time_order(growth):
    dated = growth.assign(date=pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d"))
    data = dataset(dated, "weight", groups="patient")
    for train, test in data.splits(None, 0)[0]:
        assert not set(dated["patient"].iloc[train]) & set(dated["patient"].iloc[test])
    assert not any("in the order of" in note.text for note in data.notes)
    with pytest.raises(ValueError, match="choose one"):
        dataset(dated, "weight", groups="patient", time_order=True)
