"""Which inputs matter: inclusion probabilities by the columns of the table, groups of inputs, and sentences."""

import re
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from credo.linear import LinearRegression, LogisticRegression
from credo.sparse import (
    LassoCV,
    ModelPosterior,
    ModelPrior,
    SparseLogisticRegression,
    SpikeSlabClassifier,
    SpikeSlabRegressor,
)
from credo.sparse.spike_slab import Subsets
from credo.study.report._inclusions import (
    Alternatives,
    Inclusions,
    grouped,
    inclusion_figure,
    inclusion_sentence,
    inclusions,
    prior_sentence,
    prior_text,
)
from credo.tables import Preparation, TableModel

RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))
Y = (2 * X["a"] - X["b"] + RNG.normal(size=N)).to_numpy()
LABELS = np.where(Y + 2 * RNG.logistic(size=N) > 0, "yes", "no")
SUM = X.assign(a_plus_b=X["a"] + X["b"])


def fitted(estimator, frame, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TableModel(Preparation(standardize=True), estimator, "y").fit(frame, y)


def found_in(frame, y):
    """What the report finds, with the estimator."""
    estimator = (
        SpikeSlabClassifier("beta-binomial") if y.dtype.kind == "U" else SpikeSlabRegressor("beta-binomial", slab="g")
    )
    model = fitted(estimator, frame, y)
    return inclusions({"spike-slab": model}, len(frame)), model.estimator_


def posterior(subsets, d):
    """A posterior with these subsets and their probabilities."""
    inclusion = np.array([sum(p for subset, p in subsets.items() if j in subset) for j in range(d)])
    return told(
        ModelPosterior(inclusion, tuple(subsets), np.array(list(subsets.values())), np.zeros(len(subsets)), 0.0)
    )


def told(listed, setting=0.5):
    """A posterior as a model describes it."""
    return Subsets(listed, ModelPrior.of(setting, len(listed.inclusion)), (), True)


def made(values, alternatives=(), **more):
    names = [f"x{i}" for i in range(len(values))]
    return Inclusions("spike-slab", names, np.asarray(values), list(alternatives), **more)


def say(found, *, linear=True):
    return inclusion_sentence(found, linear=linear)


def figure(found):
    return inclusion_figure(found, best="spike-slab", linear=True)


@pytest.mark.parametrize("y", [Y, LABELS], ids=["numbers", "classes"])
def test_copies_are_one_input_that_is_included_if_any_of_them_is(y, pictures):
    found, estimator = found_in(X.assign(a_copy=X["a"], a_third=32 + 1.8 * X["a"]), y)
    assert found.names == ["a", "b", "c"] and found.n_of(found.names) == 5
    assert found.values[0] == pytest.approx(estimator.inclusion_of([0, 3, 4]), abs=1e-9)
    # By themselves none of them is certain.
    assert estimator.inclusion_probabilities_[[0, 3, 4]].max() < 0.65
    text = say(found)
    assert "Of the five inputs, a (or its copies a_copy and a_third)" in text and text.count("a_copy") == 1
    assert found.prior_shares[0] > found.prior_shares[1]
    assert "Copies of an input share one bar" in figure(found).reading


def test_a_column_of_levels_is_included_if_any_of_them_is():
    found = grouped("s", ["soil", "soil", "warmth"], posterior({(0,): 0.3, (1, 2): 0.3, (0, 1): 0.3, (): 0.1}, 3))
    assert found.names == ["soil", "warmth"]
    # 0.3 + 0.3 + 0.3, where the levels' own 0.6 and 0.6 would add to more than one.
    assert found.values.tolist() == pytest.approx([0.9, 0.3])


def test_incomplete_lists_of_subsets_agree_with_the_bounds():
    """A sampler lists the subsets it visited: the probabilities of single columns are better known than these."""
    listed = ModelPosterior(np.array([0.4, 0.5, 0.2]), ((0, 1), (0,)), np.array([0.1, 0.1]), np.zeros(2), 0.0)
    found = grouped("s", ["soil", "soil", "warmth"], told(listed))
    assert found.values.tolist() == pytest.approx([0.5, 0.2]) and found.values[0] == listed.any_of([0, 1])
    listed = ModelPosterior(np.array([0.4, 0.5]), ((0,),), np.array([0.3]), np.zeros(1), 0.0)
    assert grouped("s", ["soil", "soil"], told(listed)).values.tolist() == pytest.approx([0.9])
    listed = ModelPosterior(
        np.array([0.86, 0.25]), ((0,), (1,), (0, 1)), np.array([0.6, 0.08, 0.07]), np.zeros(3), 0.0
    )  # fmt: skip
    (group,) = grouped("s", ["a", "b"], told(listed)).alternatives
    assert group.one == listed.any_of([0, 1]) and group.both == pytest.approx(0.86 + 0.25 - group.one)
    # One of a and b is in all that are listed; but at least one is included with probability 0.6 at most.
    listed = ModelPosterior(np.array([0.4, 0.2]), ((0,), (1,)), np.array([0.02, 0.01]), np.zeros(2), 0.0)
    assert grouped("s", ["a", "b"], told(listed)).alternatives == []


def test_alternatives_exclude_each_other():
    (group,) = grouped("s", list("abc"), posterior({(0,): 0.55, (1,): 0.4, (0, 1): 0.03, (2,): 0.02}, 3)).alternatives
    assert group.names == ["a", "b"] and (group.one, group.both) == pytest.approx((0.98, 0.03))
    three = {(0, 3): 0.16, (0,): 0.18, (1, 3): 0.16, (1,): 0.17, (2, 3): 0.16, (2,): 0.17}
    assert [each.names for each in grouped("s", list("abcd"), posterior(three, 4)).alternatives] == [["a", "b", "c"]]
    # Two independent inputs of 0.8 have a probability of 0.96 that one is included.
    for subsets in ({(0, 1): 0.64, (0,): 0.16, (1,): 0.16, (): 0.04}, {(0, 1): 0.9, (): 0.1}):
        assert grouped("s", ["a", "b"], posterior(subsets, 2)).alternatives == []


def test_the_sentence_has_four_kinds_of_inputs():
    text = say(made([0.95, 0.97, 0.94, 0.25, 0.2499, 0.1]))
    parts = (
        "x1 and x0 almost certainly",
        "x2 probably matters (94 %)",
        "x3 is uncertain (25 %)",
        "x4 and x5 probably don't",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert say(made([0.99, *[0.1] * 12])).endswith("the other 12 probably don't matter (below 25 %).")
    assert "x0, x1, x2, x3, x4, x5 and 3 more almost" in say(made([*[0.99] * 9, 0.1]))
    linear = say(made([0.5, 0.1]), linear=False)
    assert "in linear models" in linear and "none has an inclusion probability of 95 % or more" in linear
    assert say(made([1.0, 0.99])).startswith("Both inputs") and say(made([1.0] * 3)).startswith("All three inputs")
    assert say(made([0.1, 0.2])).startswith("Neither of the two") and say(made([0.1] * 5)).startswith(
        "None of the five"
    )
    wide = made([0.99, *[0.01] * 1998], wide=True)
    assert "none of the other 1,998 has a high inclusion probability" in say(wide)


def test_probabilities_are_not_rounded_across_a_boundary(pictures):
    assert "x1 is uncertain (74.9 %)" in say(made([0.99, 0.7496, 0.1]))


def test_groups_are_named_once():
    text = say(made([0.999, 0.6, 0.38, 0.1], [Alternatives(["x1", "x2"], 0.98, 0.004)]))
    assert "either of x1 and x2 is enough (at least one: 98 %); x3 probably doesn't" in text and text.count("x1") == 1
    text = say(made([0.999, 0.5, 0.3, 0.2], [Alternatives(["x1", "x2", "x3"], 0.97, 0.03)]))
    assert "any one of x1, x2 and x3 is enough (at least one: 97 %; several: 3 %)" in text
    text = say(made([0.84, 0.27, 0.99], [Alternatives(["x0", "x1"], 0.9999, 0.11)]))
    assert "(at least one: over 99 %; both: 11 %)" in text


def test_a_search_that_has_not_converged():
    assert "(± 12 percentage points or worse)" in say(made([0.97, 0.1], converged=False, error=0.123))
    frame = pd.DataFrame(RNG.normal(size=(40, 30))).add_prefix("x")
    y = frame["x0"].to_numpy() + RNG.normal(size=40)
    model = fitted(SpikeSlabRegressor("beta-binomial", search="gibbs", n_draws=20, random_state=0), frame, y)
    found = inclusions({"spike-slab": model}, len(frame))
    assert not found.converged and not found.alternatives and "has not converged" in say(found)
    assert found.error == model.estimator_.posterior_.diagnostics["inclusion_error"].max() > 0


@pytest.mark.parametrize("setting", [0.2, "beta-binomial", (1, 4)])
def test_the_prior_of_an_input_by_enumeration(setting):
    """Of all subsets of four columns, two of which are levels of the soil."""
    origins = ["soil", "wind", "soil", "rain"]
    listed = ModelPosterior(np.full(4, 0.5), ((0,),), np.ones(1), np.zeros(1), 0.0)
    found = grouped("s", origins, told(listed, setting))
    subsets = [subset for k in range(5) for subset in combinations(range(4), k)]
    weight = np.exp([float(found.prior.log_prob(len(subset))) for subset in subsets])
    shares = [
        sum(w for w, subset in zip(weight, subsets, strict=True) if any(origins[j] == name for j in subset))
        for name in ("soil", "wind", "rain")
    ]
    assert found.prior_shares.tolist() == pytest.approx(shares)


@pytest.mark.parametrize(
    ("setting", "text"),
    [("beta-binomial", "every number"), ((1, 10), "a few"), ((2, 3), "about 4 of the ten"), (0.5, "probability 50 %")],
)
def test_the_prior_in_words(setting, text):
    prior = ModelPrior.of(setting, 10)
    assert text in prior_text(made([0.5] * 10, prior=prior, prior_shares=np.full(10, prior.mean)))


def test_inputs_that_another_prior_would_move():
    """Below odds of one to twelve, four times the prior odds don't reach a quarter."""
    prior = {"prior": ModelPrior.of("beta-binomial", 3), "prior_shares": np.full(3, 0.5)}
    assert "could change x1 considerably" in prior_sentence(made([0.99, 0.34, 0.05], **prior))
    assert prior_sentence(made([0.99, 0.93, 1 / 13 - 1e-6], **prior)) == ""
    assert "change x1 and x2 consid" in prior_sentence(made([0.99, 0.92, 1 / 13 + 1e-6], **prior))
    clear = figure(made([0.99, 0.99, 0.01], **prior))
    assert "prior probability (50 %): every number" in clear.reading and "Another prior" not in clear.answer


@pytest.fixture(scope="module")
def farm():
    rng = np.random.default_rng(3)
    n = 120
    columns = {"warmth": rng.normal(20, 5, size=n), "soil": rng.choice(["sand", "clay", "peat"], size=n)}
    frame = pd.DataFrame({**columns, "wind": rng.gamma(2.0, 3.0, size=n)})
    frame["fahrenheit"] = 1.8 * frame["warmth"] + 32
    y = 2 * frame["warmth"] - 6 * (frame["soil"] == "peat") + rng.normal(0, 2, size=n)
    return frame, y.to_numpy()


def test_columns_levels_and_copies(farm, pictures):
    frame, y = farm
    model = fitted(SpikeSlabRegressor("beta-binomial", slab="g"), frame, y)
    linear = fitted(LinearRegression(), frame, y)
    found = inclusions({"linear": linear, "spike-slab": model}, len(frame))
    assert (found.model, found.names) == ("spike-slab", ["warmth", "soil", "wind"])
    # Copies share the probability equally; together they are certain.
    alone = dict(zip(model.preparation_.inputs(), model.estimator_.inclusion_probabilities_, strict=True))
    assert (alone["warmth"], alone["fahrenheit"]) == pytest.approx((0.5, 0.5), abs=1e-6)
    assert found.values[0] == pytest.approx(1.0, abs=1e-6) and found.values[1] > 0.99 and found.values[2] < 0.25
    shown = inclusion_figure(found, best="linear", linear=True)
    assert "warmth (or its copy fahrenheit)" in shown.answer and "by spike-slab," in shown.reading
    assert inclusions({"linear": linear}, len(frame)) is None
    one = frame[["warmth"]]
    assert inclusions({"spike-slab": fitted(SpikeSlabRegressor(), one, y)}, len(one)) is None


def test_words_of_a_text_count_one_by_one():
    said = ["win", "prize", "lunch", "noon", "rain", "hail"]
    rng = np.random.default_rng(0)
    text = [f"{' '.join(rng.choice(said, size=3, replace=False))} no {i}" for i in range(80)]
    y = np.where([("win" in words) ^ (rng.uniform() < 0.05) for words in text], "spam", "ham")
    found, _ = found_in(pd.DataFrame({"text": text, "dose": rng.normal(size=80)}), y)
    assert "dose" in found.names and len(found.names) > 3
    assert "win" in found.names[found.order[0]] and found.values.max() > 0.95


def sections(page):
    answer = page[page.index('<section id="answer"') : page.index('<section id="leaderboard"')]
    return answer, re.findall(r"<h3>(.*?)</h3>", page)


def test_the_page_says_which_inputs_matter_whichever_model_is_selected(farm, make_page):
    frame, y = farm
    frame = frame.drop(columns="fahrenheit")
    models = {"linear": LinearRegression(), "spike-slab": SpikeSlabRegressor("beta-binomial", slab="g", n_models=1)}
    answer, questions = sections(make_page(frame, y, models, cv=2))
    assert "almost certainly matter" in answer and "Selected: <strong>linear" in answer
    assert questions.count("Which inputs matter?") == 1 and "How large are the effects?" in questions
    answer, questions = sections(make_page(frame, y, {"lasso": LassoCV()}, cv=2))
    assert "non-zero" in answer and questions.count("Which inputs matter?") == 1
    label = np.where(y > np.median(y), "high", "low")
    models = {"spike-slab": SpikeSlabClassifier("beta-binomial"), "sparse": SparseLogisticRegression(0.02)}
    answer, questions = sections(make_page(frame[["warmth", "wind"]], label, models, cv=2))
    assert "warmth almost certainly matters (95\u202f% or more); wind" in answer
    assert questions.count("Which inputs matter?") == 1


def test_without_inclusion_probabilities_the_page_counts_the_coefficients_of_a_sparse_model(make_page):
    rng = np.random.default_rng(2)
    said = ["win", "prize", "lunch", "noon", "rain", "hail"]
    text = [" ".join(rng.choice(said, size=3, replace=False)) for _ in range(120)]
    y = np.where([("win" in words) ^ (rng.uniform() < 0.02) for words in text], "spam", "ham")
    frame = pd.DataFrame({"text": [f"{words} no {i}" for i, words in enumerate(text)]})
    models = {"logistic": LogisticRegression(), "sparse-logistic": SparseLogisticRegression(0.05)}
    sentence = r"\w+ of \w+ coefficients (is|are) non-zero in sparse-logistic[^.]*“win”[^.]*\."
    # In the summary and below the figure.
    assert len(re.findall(sentence, make_page(frame, y, models, cv=2))) == 2
    models["spike-slab"] = SpikeSlabClassifier("beta-binomial")
    assert not re.search(sentence, make_page(frame, y, models, cv=2))
