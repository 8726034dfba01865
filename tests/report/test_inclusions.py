"""Which inputs matter: inclusion probabilities by the columns of the table, stand-ins for each other, sentences."""

import re
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from credo.io import Preparation, TableModel
from credo.linear import LinearRegression, LogisticRegression
from credo.report import _inclusion_sentences as words
from credo.report import render
from credo.report._assumption import assumption
from credo.report._effects import effects, kept
from credo.report._inclusion_figure import inclusion_figure
from credo.report._inclusions import Inclusions, grouped, inclusions
from credo.report._stand_ins import Either
from credo.selection import compare
from credo.sparse import (
    LassoCV,
    LassoPath,
    SparseLogisticRegression,
    SpikeSlabClassifier,
    SpikeSlabRegressor,
)
from credo.subsets import ModelPosterior


def made_up(subsets, d):
    """A posterior of these subsets and their probabilities."""
    probability = np.array(list(subsets.values()))
    inclusion = np.array([sum(p for subset, p in subsets.items() if j in subset) for j in range(d)])
    return ModelPosterior(inclusion, tuple(subsets), probability, np.zeros(len(subsets)), 0.0)


def fitted(estimator, frame, y):
    return TableModel(Preparation(standardize=True), estimator, "y").fit(frame, y)


def test_a_column_of_levels_is_in_if_any_of_them_is():
    found = grouped("s", ["soil", "soil", "warmth"], made_up({(0,): 0.3, (1, 2): 0.3, (0, 1): 0.3, (): 0.1}, 3))
    assert found.names == ["soil", "warmth"]
    # 0.3 + 0.3 + 0.3, where the levels' own 0.6 and 0.6 would add to more than one.
    assert found.values.tolist() == pytest.approx([0.9, 0.3])


def test_what_the_listed_subsets_leave_out_stays_between_the_bounds():
    """A walk lists the subsets it visited: the columns' own probabilities are better known than these."""
    listed = ModelPosterior(np.array([0.4, 0.5, 0.2]), ((0, 1), (0,)), np.array([0.1, 0.1]), np.zeros(2), 0.0)
    found = grouped("s", ["soil", "soil", "warmth"], listed)
    # Half of what is listed has both levels of the soil; at least 0.5 of all, and at most 0.9, must have one.
    assert found.values.tolist() == pytest.approx([0.5, 0.2])
    assert found.values[0] == listed.any_of([0, 1])
    listed = ModelPosterior(np.array([0.4, 0.5]), ((0,),), np.array([0.3]), np.zeros(1), 0.0)
    assert grouped("s", ["soil", "soil"], listed).values.tolist() == pytest.approx([0.9])


def test_what_is_in_together_agrees_with_the_bars():
    """Of listed subsets that hold a part of the posterior, 0.86 and 0.25 leave 0.11 beside the 1 of either."""
    listed = ModelPosterior(
        np.array([0.86, 0.25]), ((0,), (1,), (0, 1)), np.array([0.6, 0.08, 0.07]), np.zeros(3), 0.0
    )  # fmt: skip
    (group,) = grouped("s", ["a", "b"], listed).either
    assert group.one == listed.any_of([0, 1])
    assert group.both == pytest.approx(0.86 + 0.25 - group.one)


def test_copies_share_their_probability_and_either_will_do():
    found = grouped("s", list("abc"), made_up({(0,): 0.55, (1,): 0.4, (0, 1): 0.03, (2,): 0.02}, 3))
    assert [(group.names, round(group.one, 6), round(group.both, 6)) for group in found.either] == [
        (["a", "b"], 0.98, 0.03)
    ]
    three = grouped(
        "s", list("abcd"), made_up({(0, 3): 0.16, (0,): 0.18, (1, 3): 0.16, (1,): 0.17, (2, 3): 0.16, (2,): 0.17}, 4)
    )
    assert [group.names for group in three.either] == [["a", "b", "c"]]


def test_listed_subsets_that_hold_little_make_no_group():
    """One of a and b is in all that are listed; all together they are in with 0.6 at most."""
    listed = ModelPosterior(np.array([0.4, 0.2]), ((0,), (1,)), np.array([0.02, 0.01]), np.zeros(2), 0.0)
    assert grouped("s", ["a", "b"], listed).either == []


def test_inputs_that_come_and_go_by_themselves_are_no_stand_ins():
    """Two of 0.8 each have a probability of 0.96 that one is in, without a word about each other."""
    apart = {(0, 1): 0.64, (0,): 0.16, (1,): 0.16, (): 0.04}
    assert grouped("s", ["a", "b"], made_up(apart, 2)).either == []
    together = {(0, 1): 0.9, (): 0.1}
    assert grouped("s", ["a", "b"], made_up(together, 2)).either == []


def told(values, either=(), **more):
    return Inclusions("spike-slab", [f"x{i}" for i in range(len(values))], np.asarray(values), list(either), **more)


def say(values, either=(), *, linear=True, **more):
    return words.inclusions(told(values, either, **more), linear=linear)


def test_the_sentence_has_four_kinds_of_inputs():
    assert say([0.999, 0.5, 0.08]) == (
        "Of the three inputs, x0 almost certainly matters (95 % or more); x1 is uncertain (50 %); x2 probably doesn't "
        "(below 25 %)."
    )
    assert say([0.95, 0.97, 0.94, 0.25, 0.2499, 0.1]) == (
        "Of the six inputs, x1 and x0 almost certainly matter (95 % or more); x2 probably does (94 %); x3 is uncertain "
        "(25 %); x4 and x5 probably don't (below 25 %)."
    )
    assert say([0.99, *[0.1] * 12]).endswith("(95 % or more); the other 12 probably don't (below 25 %).")
    assert say([0.5, 0.1], linear=False) == (
        "Of the two inputs in linear models, none almost certainly matters; x0 is uncertain (50 %); x1 probably "
        "doesn't "
        "(below 25 %)."
    )


def test_a_number_never_stands_on_the_other_side_of_its_boundary():
    """0.247 is "probably out (below 25 %)": as 25 % it would not be."""
    assert "x1 is uncertain (74.9 %)" in say([0.99, 0.7496, 0.1])
    shown = inclusion_figure(told([0.9496, 0.247, 0.25, 0.43]), best="s", linear=True).svg
    assert all(f">{text}<" in shown for text in ("94.9 %", "24.7 %", "25 %", "43 %")) and ">95 %<" not in shown


def test_the_sentence_of_all_and_of_none():
    assert say([1.0, 0.99]) == "Both inputs almost certainly matter (95 % or more)."
    assert say([1.0, 0.99, 0.97]) == "All three inputs almost certainly matter (95 % or more)."
    assert say([0.1, 0.2]) == "Neither of the two inputs is likely to matter (each below 25 %)."
    assert say([0.1] * 5) == "None of the five inputs is likely to matter (each below 25 %)."


def test_those_that_stand_in_for_each_other_are_told_once():
    text = say([0.999, 0.6, 0.38, 0.1], [Either(["x1", "x2"], 0.98, 0.004)])
    assert text == (
        "Of the four inputs, x0 almost certainly matters (95 % or more); either of x1 and x2 is enough (at "
        "least one: 98 %); x3 probably doesn't (below 25 %)."
    )
    text = say([0.999, 0.5, 0.3, 0.2], [Either(["x1", "x2", "x3"], 0.97, 0.03)])
    assert "any one of x1, x2 and x3 is enough (at least one: 97 %; several: 3 %)" in text
    assert "undecided" not in text and "probably" not in text


def test_a_search_that_has_not_settled_says_so():
    assert say([0.97, 0.1], settled=False, error=0.123).endswith(
        "has not converged: these probabilities are approximate (± 12 percentage points or worse)."
    )
    assert say([0.1, 0.1], settled=False, wide=True).endswith("has not converged: these probabilities are approximate.")
    assert "rough" not in say([0.97, 0.1])


def test_the_error_of_a_short_walk_is_its_own():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(40, 30))).add_prefix("x")
    y = frame["x0"].to_numpy() + rng.normal(size=40)
    walker = SpikeSlabRegressor("beta-binomial", search="gibbs", n_draws=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(walker, frame, y)
    found = inclusions({"spike-slab": model}, frame, y)
    assert not found.settled and not found.either
    assert found.error == model.estimator_.posterior_.diagnostics["inclusion_error"].max() > 0


def test_of_more_inputs_than_rows_none_is_needed_by_itself():
    assert say([0.99, *[0.01] * 1998], wide=True).endswith(
        "(95 % or more); none of the other 1,998 has a high inclusion probability (each below 25 %)."
    )
    assert say([0.01] * 40, wide=True) == "None of the 40 inputs has an inclusion probability above 25 %."


def test_the_probability_beforehand_is_that_of_the_law():
    """By enumeration of all subsets of four columns, two of which are levels of the soil."""
    origins = ["soil", "wind", "soil", "rain"]
    for setting in (0.2, "beta-binomial", (1, 4)):
        found = assumption(setting, origins)
        subsets = [subset for k in range(5) for subset in combinations(range(4), k)]
        weight = np.exp([float(found.law.log_prob(len(subset))) for subset in subsets])
        shares = [
            sum(w for w, subset in zip(weight, subsets, strict=True) if any(origins[j] == name for j in subset))
            for name in ("soil", "wind", "rain")
        ]
        assert found.shares.tolist() == pytest.approx(shares)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("beta-binomial", "every number of included inputs is equally probable"),
        ((1, 10), "a few inputs are expected to matter"),
        ((2, 3), "about 4 of the ten inputs are expected to matter"),
        (0.5, "each input is included with probability 50 %, independently of the others"),
    ],
)
def test_what_was_assumed_in_words(setting, text):
    assert words.held(assumption(setting, [f"x{i}" for i in range(10)])) == text


def test_an_assumption_is_told_where_another_would_move_a_probability():
    """Odds of one to twelve are a probability below which four times the prior odds don't reach a quarter."""
    assumed = assumption("beta-binomial", ["x0", "x1", "x2"])
    assert words.swayed(told([0.99, 0.34, 0.05], assumed=assumed)) == (
        "Prior: every number of included inputs is equally probable. Another prior could change x1 considerably."
    )
    assert words.swayed(told([0.99, 0.93, 1 / 13 - 1e-6], assumed=assumed)) == ""
    assert words.swayed(told([0.99, 0.92, 1 / 13 + 1e-6], assumed=assumed)).endswith("change x1 and x2 considerably.")
    clear = inclusion_figure(told([0.99, 0.99, 0.01], assumed=assumed), best="s", linear=True)
    assert "prior probability (50 %): every number" in clear.reading and "Another prior" not in clear.answer


def test_many_names_are_cut_short():
    assert "x0, x1, x2, x3, x4, x5 and 3 more almost certainly matter" in say([*[0.99] * 9, 0.1])


def test_weights_that_are_left():
    assert words.kept("lasso", ["a", "b"], 5) == "Two of five coefficients are non-zero in lasso: a and b."
    assert words.kept("lasso", ["a"], 12) == "One of 12 coefficients is non-zero in lasso: a."
    assert words.kept("lasso", [f"x{i}" for i in range(9)], 12) == (
        "Nine of 12 coefficients are non-zero in lasso; the largest are those of x0, x1, x2, x3, x4 and x5."
    )
    assert words.kept("lasso", ["a", "b"], 2) == "Both coefficients of lasso are non-zero."
    assert words.kept("lasso", ["a"], 1) == "The only coefficient of lasso is non-zero."
    assert words.kept("lasso", [], 2).startswith("Every coefficient of lasso is zero")


@pytest.fixture(scope="module")
def farm():
    rng = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame(
        {
            "warmth": rng.normal(20, 5, size=n),
            "soil": rng.choice(["sand", "clay", "peat"], size=n),
            "wind": rng.gamma(2.0, 3.0, size=n),
        }
    )
    frame["fahrenheit"] = 1.8 * frame["warmth"] + 32
    y = 2 * frame["warmth"] - 6 * (frame["soil"] == "peat") + rng.normal(0, 2, size=n)
    return frame, y.to_numpy()


def test_real_columns_levels_and_copies(farm):
    frame, y = farm
    model = fitted(SpikeSlabRegressor("beta-binomial", slab="g"), frame, y)
    found = inclusions({"linear": fitted(LinearRegression(), frame, y), "spike-slab": model}, frame, y)
    assert (found.model, found.names) == ("spike-slab", ["warmth", "soil", "wind"])
    share = dict(zip(found.names, found.values, strict=True))
    assert share["soil"] > 0.99 and share["wind"] < 0.25
    # A copy has no evidence of its own: half of the certainty each, and all of it for the two together.
    alone = dict(zip(model.preparation_.inputs(), model.estimator_.inclusion_probabilities_, strict=True))
    assert alone["warmth"] == pytest.approx(0.5, abs=1e-6) and alone["fahrenheit"] == pytest.approx(0.5, abs=1e-6)
    assert share["warmth"] == pytest.approx(1.0, abs=1e-6) and found.n_inputs == 4
    shown = inclusion_figure(found, best="linear", linear=True)
    assert "warmth (or its copy fahrenheit)" in shown.answer and "by spike-slab," in shown.reading
    assert all(f">{name}<" in shown.svg for name in ("warmth or fahrenheit", "soil", "wind"))
    # The lasso stands beside it: an input by the largest weight of its levels and copies.
    assert "at which the lasso includes it" in shown.svg and "at which the lasso includes an input" in shown.reading
    assert found.path.names == found.names and (found.path.coefs[:2, -1] > 0).all()


def test_a_path_says_nothing_of_penalties_below_its_last():
    path = LassoPath(np.array([2.0, 0.02]), np.array([[0.0, 1.0], [0.0, 0.0]]), np.zeros(2))
    shown = inclusion_figure(told([0.9, 0.1], path=path), best="s", linear=True)
    assert ">not by 1 %<" in shown.svg and "share of the largest penalty" in shown.svg and "never" not in shown.svg
    path = LassoPath(path.alphas, np.array([[0.0, 1.0], [0.0, 0.5]]), np.zeros(2))
    assert "not by" not in inclusion_figure(told([0.9, 0.1], path=path), best="s", linear=True).svg


def test_a_single_input_and_models_of_one_answer_have_no_inclusions(farm):
    frame, y = farm
    assert inclusions({"linear": fitted(LinearRegression(), frame, y)}, frame, y) is None
    one = frame[["warmth"]]
    assert inclusions({"spike-slab": fitted(SpikeSlabRegressor(), one, y)}, one, y) is None


def test_many_inputs_show_the_likeliest():
    found = Inclusions("spike-slab", [f"g{i}" for i in range(300)], np.linspace(1.0, 0.0, 300), [])
    shown = inclusion_figure(found, best="spike-slab", linear=True)
    assert ">g0<" in shown.svg and ">g19<" in shown.svg and ">g20<" not in shown.svg
    assert "280 more, at most 93.3 %" in shown.svg


def test_words_of_a_text_count_one_by_one():
    rng = np.random.default_rng(0)
    said = ["win", "prize", "lunch", "noon", "rain", "hail"]
    text = [f"{' '.join(rng.choice(said, size=3, replace=False))} no {i}" for i in range(80)]
    y = np.where([("win" in words) ^ (rng.uniform() < 0.05) for words in text], "spam", "ham")
    frame = pd.DataFrame({"text": text, "dose": rng.normal(size=80)})
    model = fitted(SpikeSlabClassifier("beta-binomial"), frame, y)
    found = inclusions({"spike-slab": model}, frame, y)
    assert "dose" in found.names and len(found.names) > 3
    assert "win" in found.names[found.order[0]] and found.values.max() > 0.95


def test_intervals_of_spike_and_slab_are_those_of_both(farm):
    frame, y = farm
    model = fitted(SpikeSlabRegressor("beta-binomial", slab="g"), frame.drop(columns="fahrenheit"), y)
    found = effects({"spike-slab": model}, frame)
    table = model.estimator_.summary(level=0.95)
    zero = np.asarray(table.columns["lower"][1:]) == np.asarray(table.columns["upper"][1:])
    assert (found.estimate[zero] == 0).all() and not found.sure[zero].any()
    sure = {name for name, clear in zip(found.names, found.sure, strict=True) if clear}
    assert "warmth" in sure and "wind" not in sure
    assert np.isfinite(found.strength).all()


def test_weights_that_are_zero_are_not_kept():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(80, 6)), columns=list("abcdef"))
    y = 5 * frame["d"] - 2 * frame["b"] + rng.normal(size=80)
    lasso = fitted(LassoCV(rule="one-standard-error"), frame, y.to_numpy())
    found = kept({"linear": fitted(LinearRegression(), frame, y.to_numpy()), "lasso": lasso}, frame)
    assert found.model == "lasso" and found.names[:2] == ["d", "b"] and found.n_weights == 6
    assert len(found.names) == np.count_nonzero(lasso.estimator_.coef_)
    logistic = fitted(SparseLogisticRegression(0.1), frame, np.where(y > 0, "up", "down"))
    assert kept({"sparse": logistic}, frame).names[0] == "d"
    assert kept({"linear": fitted(LinearRegression(), frame, y.to_numpy())}, frame) is None


def page(models, frame, y):
    tables = {name: TableModel(Preparation(standardize=True), model, "y") for name, model in models.items()}
    found = compare(tables, frame, y, cv=2, random_state=0)
    text = render(
        title="?", sheet_notes=(), preparation=found.fitted[found.selected].preparation_, comparison=found,
        models=found.fitted, target="y", frame=frame, y=y, seed=0,
    )  # fmt: skip
    answer = text[text.index('<section id="answer"') : text.index('<section id="leaderboard"')]
    return found, answer, re.findall(r"<h3>(.*?)</h3>", text), text


def test_the_page_answers_which_inputs_matter_whoever_wins(farm):
    frame, y = farm
    models = {"linear": LinearRegression(), "spike-slab": SpikeSlabRegressor("beta-binomial", slab="g", n_models=1)}
    found, answer, questions, _ = page(models, frame.drop(columns="fahrenheit"), y)
    assert found.selected == "linear"
    assert "almost certainly matter" in answer and "What matters most" not in answer
    assert questions.count("Which inputs matter?") == 1 and "How large are the effects?" in questions


def test_the_page_of_a_lasso_counts_its_weights(farm):
    frame, y = farm
    _, answer, questions, _ = page({"lasso": LassoCV()}, frame.drop(columns="fahrenheit"), y)
    assert re.search(r"(coefficients (are|is) non-zero in lasso|coefficients of lasso are non-zero)", answer)
    assert questions.count("Which inputs matter?") == 1


def test_a_page_without_spike_and_slab_says_what_a_sparse_model_kept_whoever_wins():
    """In the answer and below the picture, by the words of the text, and never as a probability."""
    rng = np.random.default_rng(2)
    said = ["win", "prize", "lunch", "noon", "rain", "hail"]
    text = [" ".join(rng.choice(said, size=3, replace=False)) for _ in range(120)]
    y = np.where([("win" in words) ^ (rng.uniform() < 0.02) for words in text], "spam", "ham")
    frame = pd.DataFrame({"text": [f"{words} no {i}" for i, words in enumerate(text)]})
    models = {"logistic": LogisticRegression(), "sparse-logistic": SparseLogisticRegression(0.05)}
    found, answer, _, whole = page(models, frame, y)
    assert found.selected == "logistic"
    sentence = r"\w+ of \w+ coefficients (is|are) non-zero in sparse-logistic[^.]*“win”[^.]*\."
    assert re.search(sentence, answer) and len(re.findall(sentence, whole)) == 2
    assert "probab" not in re.search(sentence, whole)[0]
    # Where a model weighs all subsets, that says which inputs matter.
    models["spike-slab"] = SpikeSlabClassifier("beta-binomial")
    assert not re.search(sentence, page(models, frame, y)[3])


def test_the_page_of_classes_answers_too(farm):
    frame, y = farm
    label = np.where(y > np.median(y), "high", "low")
    models = {"spike-slab": SpikeSlabClassifier("beta-binomial"), "sparse": SparseLogisticRegression(0.02)}
    _, answer, questions, _ = page(models, frame[["warmth", "wind"]], label)
    assert "warmth almost certainly matters (95\u202f% or more); wind" in answer
    assert questions.count("Which inputs matter?") == 1
