"""Predictions compared with the outcomes of new rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import credo
from credo.linear import BayesianLogisticRegression, LinearRegression
from credo.study._audit import tail
from credo.tables import Preparation, TableModel


def table(rng, n):
    frame = pd.DataFrame({"dose": rng.normal(size=n), "soil": rng.choice(["clay", "peat", "sand"], n)})
    frame["wet"] = rng.choice(["yes", "no"], n)
    frame.loc[rng.random(n) < 0.3, "dose"] = np.nan
    frame["growth"] = 2 * frame["dose"].fillna(0.0) + rng.normal(size=n)
    frame["sick"] = np.where(rng.random(n) < 1 / (1 + np.exp(-frame["growth"])), "yes", "no")
    return frame


def of_numbers(frame):
    return TableModel(Preparation(standardize=True), LinearRegression(), "growth").fit(frame.drop(columns="sick"))


def of_classes(frame):
    return TableModel(Preparation(standardize=True), BayesianLogisticRegression(), "sick").fit(
        frame.drop(columns="growth")
    )


@pytest.mark.parametrize("make", [of_numbers, of_classes])
def test_false_alarms_of_levels_and_evidence(make):
    rng, n_tables = np.random.default_rng(0), 60
    model = make(table(rng, 20_000))
    found = [
        credo.audit(model, table(rng, 400).drop(columns={"growth", "sick"} - {model.target})) for _ in range(n_tables)
    ]
    limit = stats.binom.ppf(0.995, n_tables, 0.01)
    assert sum(any(one.differs for one in audit.levels) for audit in found) <= limit
    assert sum(audit.is_alarm for audit in found) <= limit
    assert sum(not audit.overall.low <= audit.overall.hits <= audit.overall.high for audit in found) <= limit
    names = {one.name for one in found[0].levels}
    assert names == {"dose missing", "soil = clay", "soil = peat", "soil = sand", "wet = yes", "wet = no"}


def test_a_level_that_changed_is_named():
    rng = np.random.default_rng(1)
    model, new = of_numbers(table(rng, 2000)), table(rng, 600).drop(columns="sick")
    new["growth"] += 1.0 * (new["soil"] == "peat")
    found = credo.audit(model, new)
    assert {one.name for one in found.levels if one.differs} >= {"soil = peat"}
    assert not any(one.differs for one in found.levels if one.name in ("soil = clay", "soil = sand"))
    assert found.table.columns["level"][0] == "soil = peat"
    assert found.is_alarm and "an alarm" in str(found) and "shift       none found in 3 columns" in str(found)


def test_probabilities_that_are_off():
    rng = np.random.default_rng(2)
    model, new = of_classes(table(rng, 2000)), table(rng, 600).drop(columns="growth")
    wrong = (new["wet"] == "yes") & (rng.random(600) < 0.5)
    found = credo.audit(model, new.assign(sick=new["sick"].mask(wrong, "yes")))
    assert any(one.differs for one in found.levels) and found.is_alarm and found.overall.bias > 0.05
    assert "accuracy" in str(found) and "log loss" in str(found)


def test_least_squares_has_no_bias_on_its_own_rows():
    """The mean residual is zero, and so is its rounding error."""
    frame = table(np.random.default_rng(5), 300)
    assert ", bias 0 (actual minus predicted)" in str(credo.audit(of_numbers(frame), frame))
    shares = credo.audit(of_classes(frame), frame)
    assert ", bias 0.0 percentage points (observed share minus probability)" in str(shares)


def test_rows_without_an_outcome_and_unknown_classes_are_left_out():
    rng = np.random.default_rng(3)
    model, new = of_classes(table(rng, 300)), table(rng, 40).drop(columns="growth")
    new["sick"] = new["sick"].astype(object)
    new.loc[0, "sick"], new.loc[1, "sick"] = None, "perhaps"
    found = credo.audit(model, new)
    assert found.n_rows == 38 and found.levels == []
    assert "1 row whose 'sick' is missing" in found.notes[0] and "no class that the model knows" in found.notes[1]
    one = credo.audit(model, new[new["sick"] == "yes"])
    assert one.overall.rows == (new["sick"] == "yes").sum()


def test_counts_have_intervals_that_contain_more():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=800)})
    frame["visits"] = rng.poisson(np.exp(0.3 * frame["x"]))
    model = credo.analyze(frame[:500], "visits", models=["counts"], folds=2, progress=False)["counts"]
    found = credo.audit(model, frame[500:])
    assert found.overall.expected > 0.96 and found.overall.low <= found.overall.hits and not found.is_alarm


def test_what_can_t_be_audited():
    with pytest.raises(ValueError, match="needs a model of tables with a target"):
        credo.audit(LinearRegression(), pd.DataFrame({"x": [1.0]}))
    model = of_numbers(table(np.random.default_rng(5), 50))
    with pytest.raises(ValueError, match="growth"):
        credo.audit(model, pd.DataFrame({"dose": [1.0], "soil": ["clay"], "wet": ["yes"]}))
    with pytest.raises(ValueError, match="no row has a 'growth'"):
        credo.audit(model, pd.DataFrame({"dose": [1.0], "soil": ["clay"], "wet": ["yes"], "growth": [np.nan]}))


def test_the_poisson_binomial_distribution_by_enumeration():
    p = np.array([0.01, 0.2, 0.5, 0.9, 0.7])
    bits = (np.arange(32)[:, None] >> np.arange(5)) & 1
    law = np.bincount(bits.sum(axis=1), weights=np.prod(np.where(bits, p, 1 - p), axis=1))
    for k in range(6):
        expected = min(1.0, 2 * min(law[: k + 1].sum(), law[k:].sum()))
        assert tail(np.arange(5) < k, p)[0] == pytest.approx(expected, rel=1e-9)
    low, high = (stats.binom.ppf(q, 300, 0.95) for q in (0.005, 0.995))
    assert tail(np.ones(300, dtype=bool), np.full(300, 0.95))[1:] == (low, high)
