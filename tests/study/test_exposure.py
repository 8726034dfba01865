"""Tables of totals with an exposure."""

import numpy as np
import pandas as pd
import pytest

import credo
from credo.study import audit, dataset, explain
from credo.study.report._inputs import inputs


@pytest.fixture(scope="module")
def claims():
    """Claims of groups of policies, whose rate depends on an age class and a region."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame({
        "age": rng.choice(["young", "middle", "old"], size=n), "region": rng.choice(list("ABCD"), size=n),
        "policies": np.round(np.exp(rng.normal(5, 1.2, size=n))) + 1,
    })  # fmt: skip
    rate = 0.1 * np.exp(0.6 * (table["age"] == "young") - 0.3 * (table["region"] == "B"))
    return table.assign(claims=rng.poisson(table["policies"] * rate))


@pytest.fixture(scope="module")
def study(claims, analyze):
    models = ["linear", "additive", "counts"]
    return analyze(claims, "claims", models=models, exposure="policies", time=None)


def test_an_exposure_beats_an_input(claims, study, analyze):
    """The best possible log score is that of Poisson variables with the true means."""
    plain = analyze(claims, "claims", models=["linear", "additive"], time=None).comparison
    assert study.selected == "counts"
    for name in ("linear", "additive"):
        with_it, without = study.comparison[name].held_out, plain[name].held_out
        assert with_it["rmse"] < 0.75 * without["rmse"] and with_it["log_score"] > without["log_score"] + 0.3
    # Poisson noise alone has this root mean square.
    assert study.comparison["counts"].held_out["rmse"] < 1.2 * np.sqrt(claims["claims"].mean())


def test_predictions_are_proportional_to_it(claims, study):
    rows = claims.head(5)
    for name in ("baseline", "linear", "additive", "counts", "average"):
        once, thrice = (study.predict(rows.assign(policies=k * rows["policies"]), name=name) for k in (1, 3))
        # A model of all numbers gives part of its probability to negative ones, which become zero.
        np.testing.assert_allclose(thrice["mean"], 3 * once["mean"], rtol=0.03)
        assert (thrice["upper"] < 3 * once["upper"]).all()
    far = rows.assign(policies=1e6)
    assert (study.predict(far)["outside"] == "").all()


def test_new_rows_need_it(claims, study):
    with pytest.raises(ValueError, match="the table has no column 'policies'"):
        study.predict(claims.drop(columns="policies"))
    for value, found in ((np.nan, "missing"), (0.0, "0.0"), (-2.0, "-2.0")):
        odd = claims.head(3).assign(policies=[5.0, value, 7.0])
        with pytest.raises(
            ValueError, match=rf"the exposure 'policies' must be a positive number.* is {found} in row 2"
        ):
            study.predict(odd)


def test_a_row_is_compared_with_those_that_have_it(claims, study):
    full = explain(study["linear"], claims.iloc[[1]], claims.iloc[1:])
    part = explain(
        study["linear"], claims.iloc[[1]], claims.assign(policies=claims["policies"].where(claims.index > 0))
    )
    np.testing.assert_array_equal(part.contributions, full.contributions)


def test_what_is_said_about_it(claims, study, tmp_path):
    assert any("proportional to the exposure 'policies'" in note.text for note in study.notes)
    said = " ".join(study.facts.performance)
    assert "the baseline, which always predicts a constant claims per policies, has" in said
    explained = study.explain(claims.head(2))
    assert explained.outputs[0] == "log of the mean per policies" and "policies" not in explained.inputs
    # The contributions are of the log rate.
    rate = np.exp(explained.base + explained.contributions.sum(axis=1))
    np.testing.assert_allclose(rate * claims["policies"].head(2), study.predict(claims.head(2))["mean"], rtol=0.01)
    assert set(study.explain(claims.head(2), name="linear").inputs) == {"age", "region", "policies"}
    coefficients = study["linear"].summary().columns
    assert "policies" not in coefficients["parameter"] and coefficients["estimate"][0] == pytest.approx(0.1, abs=0.03)
    study.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "constant claims per policies" in page and "could not be" not in page


def test_it_has_no_curve_among_the_effects(claims, analyze):
    """Predictions are proportional to it: "no clear effect", as of an input without a coefficient, would be false."""
    study = analyze(claims, "claims", models=["linear"], exposure="policies", time=None).select("linear")
    known = inputs(study, n_rows=len(claims), spread=claims["claims"].std())
    assert {curve.name for curve in known.curves} == {"age", "region"} and not known.failures


def test_model_files_keep_it(claims, study, tmp_path):
    study.save(tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(loaded.predict(claims), study.model.predict(claims))
    assert audit(loaded, claims).overall.hits > 0.85


def test_which_models_take_part(claims, analyze):
    """A hurdle doesn't know that zeros are rarer with a larger exposure."""
    data = dataset(
        claims.assign(claims=np.where(np.arange(120) % 2, 0, claims["claims"])), "claims", exposure="policies"
    )
    names = {spec.name for spec in credo.study.catalogue.chosen(data.size, None)[0]}
    assert "counts" in names and "hurdle" not in names and not any(name.endswith("-power") for name in names)
    with pytest.raises(ValueError, match="doesn't depend on the exposure"):
        analyze(data.frame.assign(claims=data.y), "claims", exposure="policies", models=["hurdle"])


def test_rows_without_exposure(claims):
    none = claims.assign(policies=np.where(np.arange(120) < 4, 0.0, claims["policies"]))
    data = dataset(none, "claims", exposure="policies")
    assert len(data.y) == 116
    assert any("Left out 4 rows whose exposure 'policies' is zero or missing" in note.text for note in data.notes)
    for arguments, message in (
        ({"exposure": "claims"}, "is the target"),
        ({"exposure": "age"}, "must be a positive number"),
        ({"exposure": "polices"}, "did you mean 'policies'"),
        ({"exposure": "policies", "task": "classification"}, "for totals such as counts"),
    ):
        with pytest.raises(ValueError, match=message):
            dataset(claims, "claims", **arguments)
