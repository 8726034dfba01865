"""The report of classes: facts against independent numbers, sentences, and the page."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

from credo.distributions import Bernoulli, Categorical
from credo.io import Preparation, TableModel
from credo.linear import BayesianLogisticRegression, LinearDiscriminant, LogisticRegression, Perceptron
from credo.report import _class_facts as facts
from credo.report import _class_sentences as sentences
from credo.report import _leaderboard as leaderboard
from credo.report import render
from credo.report._classification import _weights_figure, surprises
from credo.report._curves import curves, probability
from credo.report._effects import weights
from credo.selection import Gap, HeldOut, compare

RNG = np.random.default_rng(6)
CLASSES = np.array(["ash", "elm", "oak"])


def honest(n, *, power=1.0):
    """Labels that come as the probabilities say; of a power above one the probabilities are too sure."""
    table = RNG.dirichlet([0.5, 0.5, 0.5], size=n)
    codes = (table.cumsum(axis=1) < RNG.uniform(size=(n, 1))).sum(axis=1)
    stated = table**power
    return HeldOut(CLASSES[codes], Categorical(stated / stated.sum(axis=1, keepdims=True), classes=CLASSES))


def bits(n, *, shift=0.0):
    p = RNG.uniform(size=n)
    y = (RNG.uniform(size=n) < p).astype(int)
    return HeldOut(y, Bernoulli(np.clip(p + shift, 0.001, 0.999)))


def test_confidence_is_standard_normal_where_probabilities_are_honest():
    found = [facts.confidence(honest(300)).z for _ in range(300)]
    assert abs(np.mean(found)) < 0.2 and 0.85 < np.std(found) < 1.15


def test_too_sure_and_too_unsure_are_told_apart():
    sure, unsure = facts.calibration(honest(2000, power=2.0)), facts.calibration(honest(2000, power=0.5))
    assert sure.confidence.z < -3 and "overconfident" in sentences.confidence(sure)
    assert unsure.confidence.z > 3 and "underconfident" in sentences.confidence(unsure)
    assert (sure.verdict, unsure.verdict) == ("overconfident", "underconfident")
    assert "no sign of miscalibration" in sentences.confidence(facts.calibration(honest(500)))
    assert "too few to judge calibration" in sentences.confidence(facts.calibration(honest(10)))


@pytest.mark.parametrize(
    ("error", "z", "right", "verdict"),
    [
        (0.003, 0.5, 0.2, ""),
        (0.009, 5.0, 0.2, "slightly miscalibrated"),
        (0.05, 5.0, 0.2, "miscalibrated"),
        (0.003, 0.5, -4.0, "overconfident"),
    ],
)
def test_answer_board_and_picture_share_one_judgement(error, z, right, verdict):
    # 0.9 points off where chance makes 0.3, and labels as sure as they are right: the page once said both yes and no.
    fact = facts.Calibration(error, 0.003, z, facts.Confidence(5574, 5500, 0.986, right))
    assert fact.verdict == verdict
    answer, picture = sentences.confidence(fact), sentences.reliability(fact)
    assert ("no sign" in answer) == ("no sign" in picture) == (verdict == "")
    if verdict == "slightly miscalibrated":
        assert answer.endswith(
            "differ by 0.90 percentage points on average (0.30 expected by chance), too little to matter for most uses."
        )


def test_the_board_flags_what_the_answer_says():
    held = bits(3000, shift=0.15)
    fact = facts.calibration(held)
    assert fact.verdict == "overconfident" and leaderboard._calibrated(held) == "overconfident"
    assert "no sign" not in sentences.confidence(fact) + sentences.reliability(fact)


def test_the_error_that_chance_leaves_is_that_of_honest_probabilities():
    found = [facts.calibration(bits(400)) for _ in range(200)]
    assert np.mean([fact.error for fact in found]) == pytest.approx(np.mean([fact.chance for fact in found]), rel=0.08)
    assert sum(not fact.by_chance for fact in found) <= 10
    assert not facts.calibration(bits(400, shift=0.15)).by_chance


def test_the_confusion_is_scikit_learns():
    held = honest(200)
    fact = facts.confusion(held)
    counts = confusion_matrix(held.y, held.dist.mode, labels=CLASSES)
    np.testing.assert_allclose(fact.recall, np.diag(counts) / counts.sum(axis=1))
    wrong = counts - np.diag(np.diag(counts))
    assert (fact.wrong, fact.times) == (wrong.sum(), wrong.max())
    said = sentences.confusion(fact)
    assert f"{fact.actual} predicted as {fact.named}, {fact.times} times" in said


def test_the_area_is_scikit_learns():
    held = bits(150)
    area, error = facts.area(held)
    assert area == pytest.approx(roc_auc_score(held.y, held.dist.probs))
    assert 0.01 < error < 0.06


def test_unlikely_labels_are_counted_and_expected():
    held = HeldOut(np.array([1, 0, 0, 1]), Bernoulli([0.02, 0.01, 0.5, 0.99]))
    fact = facts.unlikely(held)
    assert (fact.n, fact.smallest) == (1, 0.02)
    assert fact.expected == pytest.approx(0.02 + 0.01 + 0.01)
    assert (
        "In one row the actual class had a probability of at most 5 %; if the probabilities were right, about none"
        in sentences.unlikely(fact)
    )


def test_the_accuracy_says_what_a_guess_reaches():
    text = sentences.accuracy(facts.Confidence(100, 95, 0.94, 0.3), ("ham", 0.8))
    assert "95 % (95 of 100); always predicting ham, the most frequent class, gives 80 %." in text
    assert "0.200; the baseline, which always predicts the class freq" in sentences.loss(0.2, 0.51, Gap(0.3, 0.05))
    assert "no better than the baseline" in sentences.loss(0.6, 0.51, Gap(-0.1, 0.05))
    assert "infinite" in sentences.loss(np.inf, 0.51, Gap(-np.inf, np.nan))


def test_surprises_are_the_rows_whose_label_was_held_unlikely():
    held = honest(100)
    found = surprises(held, pd.DataFrame({"x": np.arange(100.0)}))
    own = held.dist.probs[np.arange(100), np.searchsorted(CLASSES, held.y)]
    first = int(own.argmin())
    assert found.lines[0][:3] == (str(first + 1), held.y[first], held.dist.mode[first])
    assert surprises(honest(10), pd.DataFrame({"x": np.arange(10.0)})).lines == []


@pytest.mark.parametrize(("label", "name"), [("spam", "spam"), (1, "passed = 1"), (True, "passed = True")])
def test_classes_are_called_by_their_word_or_with_the_target(label, name):
    assert facts.called(label, "passed") == name


def case(y, estimators, frame, target="kind"):
    models = {name: TableModel(Preparation(standardize=True), each, target) for name, each in estimators.items()}
    comparison = compare(models, frame, y, random_state=0)
    preparation = Preparation(standardize=True).fit(frame)
    return {
        "title": f"What predicts {target}?", "sheet_notes": (), "preparation": preparation, "comparison": comparison,
        "models": comparison.fitted, "target": target, "frame": frame, "y": y, "seed": 0,
    }  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    columns = {"warmth": rng.normal(size=120), "rain": rng.normal(size=120)}
    return pd.DataFrame({**columns, "soil": rng.choice(["sand", "clay"], 120)})


def text(page):
    plain = re.sub(r"<style>.*?</style>|<svg.*?</svg>", " ", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", plain).split()).replace("\u202f", " ")


def test_a_page_of_two_classes(frame):
    y = np.where(frame["warmth"] + 0.7 * np.random.default_rng(1).normal(size=120) > 0, "bloom", "bare")
    page = render(**case(y, {"lda": LinearDiscriminant(), "bayes": BayesianLogisticRegression()}, frame))
    words = text(page)
    for key in ("reliability", "roc", "confusion"):
        assert f'id="figure-{key}"' in page
    assert "How well are bloom and bare separated?" in words
    assert "Log loss lower is better Brier score lower is better Accuracy higher is better" in words
    assert "baseline Always the class frequencies" in words and "always predicting" in words
    assert re.search("(Most influential|Clearest effect).{0,60}warmth", words)
    assert "Root mean squared" not in words and "RMSE" not in words
    assert re.search(r"kind target 0 b\w+: \d+ %, b\w+: \d+ %", words)


def test_coefficients_of_a_bayesian_model_speak_of_log_odds(frame):
    y = np.where(frame["warmth"] + 0.7 * np.random.default_rng(1).normal(size=120) > 0, 1, 0)
    page = render(**case(y, {"bayes": BayesianLogisticRegression()}, frame, target="bloom"))
    assert 'id="figure-coefficients"' in page
    assert "Clearest effect" in text(page) and "the probability of bloom = 1 rises with warmth" in text(page)
    assert "Change in the log odds of bloom = 1 when" in text(page)


def test_a_page_of_three_classes_draws_every_class(frame):
    y = np.array(["low", "middle", "high"])[np.digitize(frame["warmth"], [-0.5, 0.5])]
    page = render(**case(y, {"log": LogisticRegression(1.0)}, frame))
    assert 'id="figure-roc"' not in page and 'id="figure-confusion"' in page
    curve = page[page.index('id="figure-curve-0"') :].split("</figure>")[0]
    # A line for each class, in its own colour and dashes; the key names all of them.
    assert len(re.findall(r"stroke-width: 1.6", curve)) == 3
    key = page[page.index('<p class="key">') :].split("</p>")[0]
    assert all(f"</svg>{name}<" in key for name in ("low", "middle", "high"))
    assert re.search("Most likely: low up to .*, middle up to .*, then high", text(curve))
    assert "class probabilities" in text(page)


def test_two_measured_inputs_have_their_plane(frame):
    y = np.where(frame["warmth"] + frame["rain"] > 0, "wet <b>", "dry")
    page = render(**case(y, {"lda": LinearDiscriminant()}, frame[["warmth", "rain"]]))
    assert 'id="figure-regions"' in page
    # The shades are a picture inside the page, and the page lets in no other.
    assert "img-src data:" in page and 'href="data:image/png;base64,' in page
    assert "<b>" not in page


def test_words_that_count_are_named():
    said = [f"{'win cash' if i % 2 else 'see you'} {'now' if i % 3 else 'soon'} number {i}" for i in range(80)]
    table = pd.DataFrame({"text": said})
    y = np.where(np.arange(80) % 2, "spam", "ham")
    arguments = case(y, {"log": LogisticRegression(1.0)}, table)
    found = weights(arguments["models"]["log"], table)
    strongest = {found.names[i]: found.classes[i] for i in found.order[:4]}
    assert strongest == {"win": "spam", "cash": "spam", "see": "ham", "you": "ham"}
    words = text(render(**arguments))
    assert re.search(
        r"Largest coefficients: the words “\w+”, .*? for (ham|spam); the words? “\w+”.*? for (ham|spam)\.", words
    )


def test_weights_count_by_what_they_move_over_the_rows():
    """Of three inputs of 0 and 1, the rare one has the largest weight and the smallest spread; one has no weight."""
    rng = np.random.default_rng(0)
    rows = (rng.uniform(size=(400, 3)) < [0.5, 0.02, 0.5]).astype(float)
    table = pd.DataFrame(rows, columns=["often", "rare", "idle"])
    y = np.where(rows[:, 0] + 3 * rows[:, 1] + rng.normal(0, 0.3, size=400) > 0.5, "spam", "ham")
    model = TableModel(Preparation(), LogisticRegression(1.0), "y").fit(table, y)
    model.estimator_.coef_ = np.array([[2.0, 5.0, 0.0]])
    found = weights(model, table)
    np.testing.assert_allclose(found.values, [2 * rows[:, 0].std(), 5 * rows[:, 1].std(), 0.0])
    assert found.order.tolist() == [0, 1] and found.classes[:2] == ["spam", "spam"]
    shown = _weights_figure(found, "y")
    assert shown.question == "What moves the predictions?"
    assert ">idle" not in shown.svg and shown.answer.endswith("2 of 3 coefficients are non-zero, all shown.")
    model.estimator_.coef_ = np.zeros((1, 3))
    assert weights(model, table) is None


def test_a_weight_against_one_of_three_classes_is_one_for_the_others(frame):
    y = np.array(["low", "middle", "high"])[np.digitize(frame["warmth"], [-0.5, 0.5])]
    model = TableModel(Preparation(), LogisticRegression(1.0), "y").fit(frame[["warmth", "rain"]], y)
    model.estimator_.coef_ = np.array([[-3.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    found = weights(model, frame)
    assert found.values[0] == pytest.approx(frame["warmth"].std(ddof=0)) and found.classes[0] != model.classes_[0]
    assert found.order.tolist() == [0]


@pytest.mark.parametrize(
    ("left", "n", "text"),
    [
        (57, 2000, "57 of 2,000 coefficients are non-zero; the 20 largest are shown."),
        (57, 57, "The 20 largest of 57 coefficients are shown."),
        (3, 57, "3 of 57 coefficients are non-zero, all shown."),
        (4, 4, "All 4 coefficients are shown."),
    ],
)
def test_how_many_weights_are_drawn(left, n, text):
    assert sentences.drawn(left, n, at_most=20) == text


def test_words_and_columns_are_told_apart():
    said = sentences.weights(["0800", "ac", "dose", "you"], ["spam", "spam", "spam", "ham"], [True, True, False, True])
    assert said == "Largest coefficients: dose and the words “0800” and “ac” for spam; the word “you” for ham."


def test_the_probability_has_a_curve_along_each_input(frame):
    rng = np.random.default_rng(1)
    y = np.where(frame["warmth"] + 0.7 * rng.normal(size=120) > 0, "bloom", "bare")
    page = render(**case(y, {"bayes": BayesianLogisticRegression()}, frame))
    words = text(page)
    assert page.count('id="figure-curve-') == 3
    assert "The probability of bloom of bayes (fitted to all rows) along one input" in words
    assert "interval of the probability" in words
    assert re.search(r"Rises from \d[\d.]* % to \d[\d.]* %\.", words)
    plain = text(render(**case(y, {"log": LogisticRegression(1.0)}, frame)))
    assert "Effect of each input" in plain and "Band:" not in plain


def test_curves_are_the_probabilities_that_the_model_gives(frame):
    y = np.array(["low", "middle", "high"])[np.digitize(frame["warmth"] + frame["rain"], [-0.5, 0.5])]
    model = TableModel(Preparation(standardize=True), BayesianLogisticRegression(), "y").fit(frame, y)
    (curve,) = curves(model, frame, 7, [["rain"]], ask=probability)
    table = frame.iloc[[7] * len(curve.x)].assign(rain=curve.x)
    np.testing.assert_allclose(curve.mean, model.predict_proba(table), rtol=1e-9)
    assert curve.classes == ("high", "low", "middle")
    assert ((curve.lower < curve.mean) & (curve.mean < curve.upper)).all()


@pytest.mark.parametrize("estimator", [BayesianLogisticRegression(), LinearDiscriminant()])
def test_a_table_of_one_measured_input_has_one_figure_of_the_probability_along_it(frame, estimator):
    y = np.where(frame["warmth"] > 0.2, "bloom", "bare")
    page = render(**case(y, {"model": estimator}, frame[["warmth"]]))
    assert 'id="figure-line"' in page and 'id="figure-curve-' not in page
    assert "How does the probability change with warmth?" in page and "Rises from" in page
    assert ("Band: 95" in page) == hasattr(estimator, "proba_interval")


def test_a_model_without_probabilities_has_its_line_and_the_page_says_why(frame):
    y = np.where(frame["warmth"] + 0.5 * np.random.default_rng(2).normal(size=120) > 0, "bloom", "bare")
    words = text(render(**case(y, {"lda": LinearDiscriminant(), "perceptron": Perceptron()}, frame)))
    assert re.search(r"perceptron Perceptron — — \d\d[\d.]* % — ", words)
    assert "perceptron predicts labels without probabilities (it has no predict_dist)" in words
    alone = text(render(**case(y, {"perceptron": Perceptron()}, frame)))
    assert "Nothing beat guessing." in alone and re.search(r"perceptron Perceptron — — \d\d", alone)


def test_equal_input_makes_equal_bytes(frame):
    y = np.where(frame["warmth"] > 0, "bloom", "bare")
    first, second = (
        render(**case(y, {"log": LogisticRegression(1.0)}, frame, target="t")).split('<h2 id="made-title">')[0]
        for _ in range(2)
    )
    strip = re.compile(r"<td class=\"num\">[^<]*</td>\s*</tr>")
    assert strip.sub("", first) == strip.sub("", second)


def test_of_many_classes_the_most_frequent_are_drawn_in_the_same_colours_everywhere():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300)})
    y = np.array([f"c{place}" for place in np.digitize(frame["x"], np.linspace(-1.5, 1.5, 9))])
    page = render(**case(y, {"lda": LinearDiscriminant()}, frame))
    key = page[page.index('<p class="key">') :].split("</p>")[0]
    names, counts = np.unique(y, return_counts=True)
    assert len(names) == 10
    frequent = sorted(names[np.argsort(-counts, kind="stable")[:8]])
    assert re.findall(r"</svg>(c\d)<", key) == frequent
    assert "2 more classes are not drawn." in text(page)
    for i in range(2):
        curve = page[page.index(f'id="figure-curve-{i}"') :].split("</figure>")[0]
        assert len(re.findall(r"stroke-width: 1.6", curve)) == 8
