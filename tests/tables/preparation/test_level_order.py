"""Levels that have an order are kept in it."""

import numpy as np
import pandas as pd
import pytest

import credo
from credo.tables import Preparation
from credo.tables.encoders import in_order

SCALES = [
    "1. < HS Grad|2. HS Grad|3. Some College|4. College Grad|5. Advanced Degree",
    "1. <=Good|2. >=Very Good",
    "Fair|Good|Very Good|Premium|Ideal",
    "poor|fair|good|very good|excellent",
    "low|medium|high",
    "Very Low|Low|High|Very High",
    "small|medium|large",
    "never|rarely|sometimes|often|always",
    "Strongly disagree|Disagree|Neutral|Agree|Strongly agree",
    "StronglyDisagree|Disagree|Agree|StronglyAgree",
    "Much worse|worse|average|better|Much better",
    "mild|moderate|severe",
    "XS|S|M|L|XL|XXL",
    "S|M|L",
    "Jan|Feb|Mar|Apr|Dec",
    "January|February|October",
    "Mon|Tue|Wed|Sun",
    "Monday|Thursday|Sunday",
    "0-9|10-19|20-29|100-109",
    "18-24|25-34|35-44|45-54|55-64|65+",
    "<18|18-24|25 and over",
    "under 5 years|5-9 years|10+ years",
    "$20K-$40K|$40K-$100K|>$100K",
    "(0, 10]|(10, 20]|(20, 100]",
    "1,000-1,999|2,000-2,999",
    "1st class|2nd class|3rd class",
    "first|second|third",
    "Grade 2|Grade 9|Grade 10",
    "Q1|Q2|Q3|Q4",
    "child|adult",
    "no|perhaps|yes",
    "No|Not sure|Yes",
    "no|partly|yes",
]
NOT_SCALES = [
    "M|S",
    "F|M",
    "Adelie|Chinstrap|Gentoo",
    "clay|peat|sand",
    "may|should",
    "2-1|3-0|0-3",
    "good|reason",
    "<1Mo|1-3Mo|1-2Yr",
    "1. East Coast|2. Dover|3. Morelia",
]


@pytest.mark.parametrize("text", SCALES)
def test_scales_are_recognised_in_any_order(text):
    levels = text.split("|")
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(levels).tolist()
        assert in_order(shuffled) == (levels, True)


@pytest.mark.parametrize("text", NOT_SCALES)
def test_other_levels_are_no_scale(text):
    assert not in_order(text.split("|"))[1]


@pytest.mark.parametrize("text", ["1. White|2. Black|3. Asian|10. Other", "4|6|8|10", "Zone 2|Zone 10", "2|3.5|10"])
def test_numbers_give_an_order_without_a_scale(text):
    levels = text.split("|")
    assert in_order(levels[::-1]) == (levels, False)


def test_a_preparation_keeps_the_order():
    sizes = ["large"] * 5 + ["small"] * 9 + ["medium"] * 3
    preparation = Preparation().fit({"size": sizes, "site": ["b", "a", "c", "a"] * 4 + ["a"]})
    size, site = preparation.columns_
    assert (size.levels, size.ordered) == (("small", "medium", "large"), True)
    assert (site.levels, site.ordered) == (("a", "b", "c"), False)
    assert preparation.get_feature_names_out().tolist() == ["size=medium", "size=large", "site=b", "site=c"]
    everything = Preparation(drop_reference=False).fit({"size": sizes})
    assert everything.get_feature_names_out().tolist() == ["size=small", "size=medium", "size=large"]


LIKERT = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


def test_answers_beside_a_scale_have_columns_of_their_own():
    said = [*LIKERT * 4, "agree", "agree", "no answer", "no answer", "Don’t know"]
    frame = pd.DataFrame({"q": said})
    preparation = Preparation().fit(frame)
    assert preparation.get_feature_names_out().tolist() == ["q", "q=Don’t know", "q=no answer"]
    assert preparation.columns_[0].levels == (*LIKERT, "Don’t know", "no answer") and preparation.columns_[0].ordered
    assert any("a scale from 'strongly disagree' to 'strongly agree'" in note for note in preparation.notes_)
    mean = np.mean([*range(5)] * 4 + [3, 3])
    new = pd.DataFrame({"q": [*LIKERT, "no answer", "Don’t know"]})
    expected = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0], [mean, 0, 1], [mean, 1, 0]]
    np.testing.assert_allclose(preparation.transform(new), expected)
    # An unseen answer counts as the average of the others, and so does a gap.
    with pytest.warns(UserWarning, match="treated as an average"):
        other = preparation.transform(pd.DataFrame({"q": ["often", None]}))
    np.testing.assert_allclose(other, [[mean, 1 / 25, 2 / 25]] * 2)
    assert preparation.outside(pd.DataFrame({"q": ["often", "agree", "no answer"]})).rows.tolist() == [
        True,
        False,
        False,
    ]


def test_gaps_of_a_scale_have_the_average_place_and_a_mark():
    preparation = Preparation().fit(pd.DataFrame({"q": ["low", "high", "medium", "refused"] * 5 + [None] * 5}))
    assert preparation.get_feature_names_out().tolist() == ["q", "q=refused", "q is missing"]
    np.testing.assert_allclose(preparation.transform(pd.DataFrame({"q": [None, "high"]})), [[1, 0, 1], [2, 0, 0]])


@pytest.mark.parametrize("name", ["linear", "additive", "forest"])
def test_models_of_a_scale_are_saved_and_described(tmp_path, name):
    rng = np.random.default_rng(0)
    place = rng.integers(0, 6, 120)
    frame = pd.DataFrame({"q": np.array([*LIKERT, "no answer"])[place], "y": place % 5 + 0.1 * rng.normal(size=120)})
    frame["x"] = rng.normal(size=120)
    study = credo.analyze(frame, "y", models=[name], folds=3, progress=False)
    study.save(tmp_path / "model.credo")
    new = pd.DataFrame({"q": ["agree", "no answer", "often"], "x": 0.0})
    with pytest.warns(UserWarning, match="treated as an average"):
        found = credo.load(tmp_path / "model.credo").predict(new)
    np.testing.assert_allclose(found[:2], [3.0, 0.0], atol=0.3)
    study.report(tmp_path / "report.html")
    assert study.model.describe().words


def test_an_ordered_categorical_says_its_order():
    kind = pd.CategoricalDtype(["zebra", "ant", "moose"], ordered=True)
    column = Preparation().fit(pd.DataFrame({"c": pd.Series(["ant", "moose", "zebra", "ant"], dtype=kind)})).columns_[0]
    assert (column.levels, column.ordered) == (("zebra", "ant", "moose"), True)


@pytest.mark.parametrize("levels", [["1. White", "2. Black"], ["1st", "2nd", "3rd"], ["2xl", "3xl", "xl"]])
def test_numbered_levels_have_no_unit(levels):
    assert not any("unit" in note for note in Preparation().fit({"c": levels * 10}).notes_)


def test_years_are_written_without_a_comma_or_a_point():
    preparation = Preparation().fit({"x": [1.0, 2.0, 3.0], "year": [2007.0] * 3})
    assert preparation.columns_[1].detail == "always 2007"
    gaps = Preparation().fit({"year": [2003.0, 2007.0, None, 2009.0]})
    assert any("2007" in note and "2,007" not in note and "2007.0" not in note for note in gaps.notes_)


def test_long_levels_are_no_scale_and_take_no_time():
    levels = ["a" + " " * 50_000 + "x", "1" + " " * 50_000 + "x", "b" * 50_000, "1" * 50_000 + "x"]
    assert in_order(levels) == (sorted(levels), False)
