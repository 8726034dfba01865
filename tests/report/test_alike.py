"""Inputs that say the same: copies have one probability, and weighted sums of each other are told together."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from credo.io import Preparation, TableModel
from credo.report import _inclusion_sentences as words
from credo.report._alike import Copies, Sums, alike
from credo.report._inclusion_figure import _draw, inclusion_figure
from credo.report._inclusions import Inclusions, grouped, inclusions
from credo.report._stand_ins import Either, Some
from credo.sparse import LassoPath, SpikeSlabClassifier, SpikeSlabRegressor
from credo.subsets import ModelPosterior

RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))
Y = (2 * X["a"] - X["b"] + RNG.normal(size=N)).to_numpy()
LABELS = np.where(Y + 2 * RNG.logistic(size=N) > 0, "yes", "no")
THREE = X.assign(a_copy=X["a"], a_third=32 + 1.8 * X["a"])
SUM = X.assign(a_plus_b=X["a"] + X["b"])


def looked_at(frame, y):
    """What the report finds, with the estimator."""
    kind = (
        SpikeSlabClassifier("beta-binomial") if y.dtype.kind == "U" else SpikeSlabRegressor("beta-binomial", slab="g")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableModel(Preparation(standardize=True), kind, "y").fit(frame, y)
    return inclusions({"spike-slab": model}, frame, y), model.estimator_


def sentence(found):
    return words.inclusions(found, linear=True)


@pytest.mark.parametrize("y", [Y, LABELS], ids=["numbers", "classes"])
def test_copies_are_one_input_that_is_in_if_any_of_them_is(y):
    found, estimator = looked_at(THREE, y)
    assert found.names == ["a", "b", "c"] and found.n_inputs == 5
    assert found.values[0] == pytest.approx(estimator.inclusion_of([0, 3, 4]), abs=1e-9)
    # By themselves none of them is sure.
    assert estimator.inclusion_probabilities_[[0, 3, 4]].max() < 0.65
    text = sentence(found)
    assert "Of the five inputs, a (or its copies a_copy and a_third)" in text
    assert "almost certainly matter" in text.split(";")[0] and "a_copy" not in "".join(text.split(";")[1:])
    assert found.assumed.shares[0] > found.assumed.shares[1]
    assert ">a or a_copy or a_third<" in inclusion_figure(found, best="s", linear=True).svg


def test_columns_of_which_one_is_the_sum_of_others_are_told_together():
    found, estimator = looked_at(SUM, Y)
    (group,) = found.some
    assert (group.names, group.rank, group.needed, found.either) == (["a", "b", "a_plus_b"], 2, 2, [])
    # At most two are in, so that P(two) = Σ p − P(one or more).
    places = [0, 1, 3]
    both = estimator.inclusion_probabilities_[places].sum() - estimator.inclusion_of(places)
    assert group.share == pytest.approx(both, abs=1e-9)
    assert sentence(found).startswith(
        "Of the four inputs, two of a, b and a_plus_b almost certainly matter (over 99 %): any two of them "
        "determine all "
        "three, so the data can't tell which; c "
    )
    # Another assumption changes nothing about them.
    assert "change c considerably" in words.swayed(found)


def test_copies_and_sums_go_together():
    found, estimator = looked_at(SUM.assign(a_copy=X["a"]), Y)
    assert found.values[0] == pytest.approx(estimator.inclusion_of([0, 4]), abs=1e-9) == pytest.approx(0.8, abs=1e-3)
    assert "two of a (or its copy a_copy), b and a_plus_b almost certainly matter" in sentence(found)


def test_beside_what_is_sure_the_rest_of_a_sum_is_told_together():
    """Of classes all three can be in; a and its copy surely are, so that b and the sum tell the same."""
    found, estimator = looked_at(SUM.assign(a_copy=X["a"]), LABELS)
    (group,) = found.some
    assert (group.names, group.rank, group.given) == (["b", "a_plus_b"], 1, ("a",))
    assert group.share == pytest.approx(estimator.inclusion_of([1, 3]), abs=1e-9)
    assert "it is uncertain whether any of b and a_plus_b matters (" in sentence(found)
    assert "): given a, either of them determines the other; c is uncertain" in sentence(found)


@pytest.mark.parametrize("y", [Y, LABELS], ids=["numbers", "classes"])
def test_near_copies_are_one_input_as_long_as_the_rows_do_not_tell_them_apart(y):
    near = X.assign(a_near=X["a"] + 0.01 * np.cos(9 * X["c"]))
    found, _ = looked_at(near, y)
    assert "a (or its near copy a_near)" in sentence(found)
    # What they differ in is what matters.
    other, _ = looked_at(near, 300 * (near["a"] - near["a_near"]).to_numpy() + 0.1 * np.sin(np.arange(N)))
    assert other.copies == [] and "a and a_near almost certainly matter" in sentence(other)


def test_levels_that_are_copies_make_their_columns_copies():
    soil = RNG.choice(["sand", "clay", "peat"], size=N)
    other = pd.Series(soil).map({"sand": "S", "clay": "C", "peat": "P"}).to_numpy()
    rows = Preparation(standardize=True).fit(frame := X.assign(soil=soil, code=other, half=soil == "clay"))
    found = alike(rows.transform(frame), rows.inputs())
    assert found.copies == (Copies(("soil", "code")),)
    # That the mark of one level is among the levels of the soil is nothing of this kind.
    assert found.sums == ()


def test_sums_that_share_an_input_have_one_rank():
    rows = X.assign(d=X["a"] + X["b"], e=X["a"] - X["c"], flat=1.0).to_numpy()
    (group,) = alike(rows, list("abcdef")).sums
    assert group == Sums(("a", "b", "c", "d", "e"), 3) and np.linalg.matrix_rank(rows[:, :5]) == 3


def posterior(subsets, d):
    inclusion = np.array([sum(p for subset, p in subsets.items() if j in subset) for j in range(d)])
    return ModelPosterior(inclusion, tuple(subsets), np.array(list(subsets.values())), np.zeros(len(subsets)), 0.0)


@pytest.mark.parametrize(
    ("subsets", "told"),
    [
        ({(0, 1): 0.5, (0, 2): 0.3, (1, 2): 0.2}, "two of a, b and s almost certainly matter (over 99 %): any two"),
        (
            {(0,): 0.5, (1,): 0.2, (2,): 0.2, (): 0.1},
            "at least one of a, b and s probably matters (90 %), most likely a (50 %): any two of them "
            "determine all three, "
            "so the data can hardly tell which",
        ),
        (
            {(0,): 0.36, (1,): 0.31, (2,): 0.31, (): 0.02},
            "at least one of a, b and s almost certainly matters (98 %): any two of them determine all three, "
            "so the data can "
            "hardly tell which",
        ),
        (
            {(0,): 0.2, (1,): 0.2, (2,): 0.2, (): 0.4},
            "none almost certainly matters; it is uncertain whether any of a, b and s matters (60 %): any two "
            "of them determine",
        ),
        ({(0,): 0.05, (1,): 0.05, (2,): 0.05, (): 0.85}, "None of the three inputs is likely to matter"),
        # The rows tell them apart.
        ({(0,): 0.96, (0, 1): 0.02, (0, 2): 0.02}, "a almost certainly matters (95 % or more); b and s probably don't"),
        ({(0,): 0.6, (): 0.39, (1, 2): 0.01}, "a is uncertain (60 %); b and s probably don't"),
    ],
)  # fmt: skip
def test_so_many_of_a_sum_as_are_almost_surely_in_are_said_to_matter(subsets, told):
    found = grouped("s", list("abs"), posterior(subsets, 3), sums=[Sums(("a", "b", "s"), 2)])
    assert told in sentence(found)


def test_one_of_two_that_is_likelier_is_said_to_be():
    found = Inclusions("s", ["Po1", "Po2", "x"], np.array([0.84, 0.27, 0.99]), [Either(["Po1", "Po2"], 0.9999, 0.11)])
    assert sentence(found) == (
        "Of the three inputs, x almost certainly matters (95 % or more); one of Po1 and Po2 almost certainly matters "
        "(over 99 %; both: 11 %), more likely Po1 (84 %) than Po2 (27 %)."
    )


def test_larger_sums_are_said_as_such():
    names = list("abcde")
    found = Inclusions("s", names, np.full(5, 0.6), [], [Some(names, 3, 3, 0.98)])
    assert sentence(found) == (
        "Of the five inputs, three of a, b, c, d and e almost certainly matter (98 %): some of them are linear "
        "combinations of "
        "the others, so the data can't tell which."
    )


def test_brackets_join_the_bars_of_a_group_below_each_other():
    found = Inclusions(
        "s", ["a", "x", "b", "y"], np.array([0.7, 0.6, 0.3, 0.1]), [Either(["a", "b"], 0.98, 0.02)],
    )  # fmt: skip
    shown = inclusion_figure(found, best="s", linear=True)
    places = [shown.svg.index(f">{name}<") for name in "abxy"]
    assert places == sorted(places), "a and b stand below each other"
    assert ">one in:<" in shown.svg and "A bracket joins inputs" in shown.reading
    plain = inclusion_figure(Inclusions("s", found.names, found.values, []), best="s", linear=True)
    assert "in:<" not in plain.svg and "bracket" not in plain.reading


def test_copies_count_in_what_is_said_of_many():
    names = [f"x{i}" for i in range(8)]
    copies = [Copies(("x7", "x8", "a very long name of a column"))]
    found = Inclusions("s", names, np.array([0.99, *[0.1] * 7]), [], copies=copies)
    assert sentence(found) == (
        "Of the ten inputs, x0 almost certainly matters (95 % or more); the other nine probably don't (below 25 %)."
    )
    assert ">x7 or 2 copies<" in inclusion_figure(found, best="s", linear=True).svg


def test_the_name_of_the_axis_stands_below_its_middle_beside_the_lasso():
    path = LassoPath(np.array([2.0, 0.02]), np.array([[0.0, 1.0], [0.0, 0.5]]), np.zeros(2))
    for either in ([], [Either(["a", "b"], 0.98, 0.02)]):
        ax = Figure().subplots()
        _draw(ax, Inclusions("s", ["a", "b"], np.array([0.7, 0.3]), either, path=path))
        x = ax.xaxis.label.get_position()[0]
        assert x * ax.get_xlim()[1] == pytest.approx(0.5)
