"""The report of classes: facts against independent numbers, sentences, and the page."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score, roc_auc_score

from credo.distributions import Bernoulli, Categorical
from credo.linear import BayesianLogisticRegression, LinearDiscriminant, LogisticRegression, Perceptron
from credo.metrics import forecast
from credo.metrics.calibration import Calibration, Confidence, class_calibration, confidence
from credo.plots.probabilities import area
from credo.selection import Gap, HeldOut
from credo.study.facts import Classes, Facts, Folds, accuracy_sentence, loss_sentence, reliability_sentence
from credo.study.report import _leaderboard as leaderboard
from credo.study.report._classes import confusion_sentence, unlikely_sentence
from credo.study.report._curves import curves
from credo.study.report._surprises import least_probable
from credo.tables import Preparation, TableModel

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


def calibration(held):
    return class_calibration(held.y, held.dist)


def test_confidence_is_standard_normal_where_probabilities_are_honest():
    found = [confidence((held := honest(300)).y, held.dist).z for _ in range(200)]
    assert abs(np.mean(found)) < 0.25 and 0.82 < np.std(found) < 1.18


def test_too_sure_and_too_unsure_are_told_apart():
    sure, unsure = calibration(honest(2000, power=2.0)), calibration(honest(2000, power=0.5))
    assert sure.confidence.z < -3 and "overconfident" in reliability_sentence(sure)
    assert unsure.confidence.z > 3 and "underconfident" in reliability_sentence(unsure)
    assert (sure.verdict, unsure.verdict) == ("overconfident", "underconfident")
    assert "no sign of miscalibration" in reliability_sentence(calibration(honest(500)))
    assert "too few to judge calibration" in reliability_sentence(calibration(honest(10)))


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
    fact = Calibration(error, 0.003, z, Confidence(5574, 5500, 0.986, right))
    assert fact.verdict == verdict
    answer = reliability_sentence(fact)
    assert ("no sign" in answer) == (verdict == "")
    if verdict == "slightly miscalibrated":
        assert "differ by 0.90 percentage points on average (0.30 expected by chance)" in answer
        assert answer.endswith("too little to matter for most uses.")


def test_the_board_flags_what_the_answer_says():
    held = honest(2000, power=2.0)
    fact = calibration(held)
    assert fact.verdict == "overconfident" and leaderboard._flag("calibration_error", held) == "overconfident"
    assert "no sign" not in reliability_sentence(fact)


def test_the_error_that_chance_leaves_is_that_of_honest_probabilities():
    found = [calibration(bits(400)) for _ in range(200)]
    assert np.mean([fact.error for fact in found]) == pytest.approx(np.mean([fact.chance for fact in found]), rel=0.08)
    assert sum(not fact.by_chance for fact in found) <= 10
    assert not calibration(bits(400, shift=0.15)).by_chance


def test_the_confusion_is_scikit_learns():
    held = honest(200)
    counts = confusion_matrix(held.y, held.dist.mode, labels=CLASSES)
    wrong = counts - np.diag(np.diag(counts))
    actual, named = np.unravel_index(wrong.argmax(), wrong.shape)
    recall = np.diag(counts) / counts.sum(axis=1)
    facts = Facts("oak", "", "", "y", Folds(200, 200, 5, False), classes=Classes(held, 1.0, None, None))
    said = confusion_sentence(facts)
    assert said.startswith(f"{wrong.sum()} rows were misclassified.")
    assert f"{CLASSES[actual]} predicted as {CLASSES[named]} ({wrong.max()} rows)" in said
    worst = int(recall.argmin())
    found = float(re.search(rf"Recall of {CLASSES[worst]}: ([\d.]+) %", said)[1])
    assert found == pytest.approx(100 * recall[worst], abs=0.05)
    precision = precision_score(held.y, held.dist.mode, labels=CLASSES, average=None)[worst]
    assert facts.classes.weakest.precision == pytest.approx(precision)


def test_the_threshold_has_the_highest_f1_score():
    p = RNG.beta(0.3, 3.0, size=400)
    held = HeldOut((RNG.uniform(size=400) < p).astype(int), Bernoulli(p))
    found = Classes(held, 1.0, None, None).weakest
    assert (found.label, found.actual) == (1, held.y.sum())
    assert found.recall == pytest.approx(recall_score(held.y, p > 0.5))
    scores = {t: f1_score(held.y, p >= t) for t in p}
    assert scores[found.threshold.probability] == pytest.approx(max(scores.values()))
    at = p >= found.threshold.probability
    assert found.threshold[1:] == pytest.approx((recall_score(held.y, at), precision_score(held.y, at)))


def test_the_area_is_scikit_learns():
    held = bits(150)
    value, error = area(*forecast(held.y, held.dist).event)
    assert value == pytest.approx(roc_auc_score(held.y, held.dist.probs))
    assert 0.01 < error < 0.06


def test_unlikely_labels_are_counted_and_expected():
    said = unlikely_sentence(HeldOut(np.array([1, 0, 0, 1] * 25), Bernoulli([0.02, 0.01, 0.5, 0.99] * 25)))
    # 25 times 0.02 + 0.01 + 0.01.
    assert "In 25 rows" in said and "about 1 would be expected" in said


def test_the_accuracy_says_what_a_guess_reaches():
    text = accuracy_sentence(Confidence(100, 95, 0.94, 0.3), ("ham", 0.8))
    assert "95 % (95 of 100); always predicting ham, the most frequent class, gives 80 %." in text
    assert "0.200; the baseline, which always predicts the class freq" in loss_sentence(0.2, 0.51, Gap(0.3, 0.05))
    assert "no better than the baseline" in loss_sentence(0.6, 0.51, Gap(-0.1, 0.05))
    assert "infinite" in loss_sentence(np.inf, 0.51, Gap(-np.inf, np.nan))


def test_surprises_are_the_rows_whose_label_was_held_unlikely():
    held = honest(100)
    found = least_probable(held, pd.DataFrame({"x": np.arange(100.0)}))
    own = held.dist.probs[np.arange(100), np.searchsorted(CLASSES, held.y)]
    first = int(own.argmin())
    assert found.lines[0][:3] == (str(first + 1), held.y[first], held.dist.mode[first])
    assert not least_probable(honest(10), pd.DataFrame({"x": np.arange(10.0)})).lines


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    columns = {"warmth": rng.normal(size=120), "rain": rng.normal(size=120)}
    return pd.DataFrame({**columns, "soil": rng.choice(["sand", "clay"], 120)})


def text(page):
    plain = re.sub(r"<style>.*?</style>|<svg.*?</svg>", " ", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", plain).split()).replace("\u202f", " ")


def test_a_page_of_two_classes(frame, make_page):
    y = np.where(frame["warmth"] + 0.7 * np.random.default_rng(1).normal(size=120) > 0, "bloom", "bare")
    page = make_page(frame, y, {"lda": LinearDiscriminant(), "bayes": BayesianLogisticRegression()})
    words = text(page)
    for key in ("reliability", "roc", "confusion"):
        assert f'id="figure-{key}"' in page
    assert "How well are bloom and bare separated?" in words
    assert "Log loss lower is better Brier score lower is better Accuracy higher is better" in words
    assert "baseline Always the class frequencies" in words and "always predicting" in words
    assert re.search("(Most influential|Clearest effect).{0,60}warmth", words)
    assert "Root mean squared" not in words and "RMSE" not in words
    assert re.search(r"y target 0 b\w+: \d+ %, b\w+: \d+ %", words)


def test_coefficients_of_a_bayesian_model_speak_of_log_odds(frame, make_page):
    y = np.where(frame["warmth"] + 0.7 * np.random.default_rng(1).normal(size=120) > 0, 1, 0)
    page = make_page(frame, y, {"bayes": BayesianLogisticRegression()}, target="bloom")
    assert 'id="figure-coefficients"' in page
    assert "Clearest effect" in text(page) and "the probability of bloom = 1 rises with warmth" in text(page)
    assert "Change in the log odds of bloom = 1 when" in text(page)


def test_a_page_of_three_classes_draws_every_class(frame, make_page, pictures):
    y = np.array(["low", "middle", "high"])[np.digitize(frame["warmth"], [-0.5, 0.5])]
    page = make_page(frame, y, {"log": LogisticRegression(1.0)})
    assert 'id="figure-roc"' not in page and 'id="figure-confusion"' in page
    curve = page[page.index('id="figure-curve-0"') :].split("</figure>")[0]
    # A line for each class, in its own colour and dashes; the key names all of them.
    assert len(re.findall(r"stroke-width: 1.6", curve)) == 3
    key = page[page.index('<p class="key">') :].split("</p>")[0]
    assert all(f"</svg>{name}<" in key for name in ("low", "middle", "high"))
    assert re.search("Most likely: low up to .*, middle up to .*, then high", text(curve))
    assert "class probabilities" in text(page)


def test_two_measured_inputs_have_their_plane(frame, make_page, pictures):
    y = np.where(frame["warmth"] + frame["rain"] > 0, "wet <b>", "dry")
    page = make_page(frame[["warmth", "rain"]], y, {"lda": LinearDiscriminant()})
    assert 'id="figure-regions"' in page
    # The shades are a picture inside the page, and the page lets in no other.
    assert "img-src data:" in page and 'href="data:image/png;base64,' in page
    assert "<b>" not in page


def test_the_probability_has_a_curve_along_each_input(frame, make_page):
    rng = np.random.default_rng(1)
    y = np.where(frame["warmth"] + 0.7 * rng.normal(size=120) > 0, "bloom", "bare")
    page = make_page(frame, y, {"bayes": BayesianLogisticRegression()})
    words = text(page)
    assert page.count('id="figure-curve-') == 3
    assert "The probability of bloom of bayes (fitted to all rows) along one input" in words
    assert "interval of the probability" in words
    assert re.search(r"[Rr]ises (from \d[\d.]* % )?to \d[\d.]* %", words)
    plain = text(make_page(frame, y, {"log": LogisticRegression(1.0)}))
    assert "Effect of each input" in plain and "Band:" not in plain


def test_curves_are_the_probabilities_that_the_model_gives(frame):
    y = np.array(["low", "middle", "high"])[np.digitize(frame["warmth"] + frame["rain"], [-0.5, 0.5])]
    model = TableModel(Preparation(standardize=True), BayesianLogisticRegression(prior_precision=1.0), "y").fit(
        frame, y
    )
    (curve,) = curves(model, frame, [7], [["rain"]])
    table = frame.iloc[[7] * len(curve.x)].assign(rain=curve.x)
    np.testing.assert_allclose(curve.mean, model.predict_proba(table), rtol=1e-9)
    assert curve.classes == ("high", "low", "middle")
    assert ((curve.lower < curve.mean) & (curve.mean < curve.upper)).all()


@pytest.mark.parametrize("estimator", [BayesianLogisticRegression(), LinearDiscriminant()])
def test_a_table_of_one_measured_input_has_one_figure_of_the_probability_along_it(frame, estimator, make_page):
    y = np.where(frame["warmth"] > 0.2, "bloom", "bare")
    page = make_page(frame[["warmth"]], y, {"model": estimator})
    assert page.count('id="figure-curve-') == 1 and re.search("[Rr]ises (from|to) ", page)
    assert ("Band: 95" in page) == hasattr(estimator, "proba_interval")


def test_a_model_without_probabilities_has_its_line_and_the_page_says_why(frame, make_page):
    y = np.where(frame["warmth"] + 0.5 * np.random.default_rng(2).normal(size=120) > 0, "bloom", "bare")
    words = text(make_page(frame, y, {"lda": LinearDiscriminant(), "perceptron": Perceptron(5, random_state=0)}))
    assert re.search(r"perceptron Perceptron — — \d\d[\d.]* % — ", words)
    assert "perceptron predicts labels without probabilities (it has no predict_dist)" in words
    alone = text(make_page(frame, y, {"perceptron": Perceptron(5, random_state=0)}))
    assert "No model beat the baseline" in alone and re.search(r"perceptron Perceptron — — \d\d", alone)


def test_of_many_classes_the_most_frequent_are_drawn_in_the_same_colours_everywhere(make_page, pictures):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300)})
    y = np.array([f"c{place}" for place in np.digitize(frame["x"], np.linspace(-1.5, 1.5, 9))])
    page = make_page(frame, y, {"lda": LinearDiscriminant()})
    key = page[page.index('<p class="key">') :].split("</p>")[0]
    names, counts = np.unique(y, return_counts=True)
    assert len(names) == 10
    frequent = sorted(names[np.argsort(-counts, kind="stable")[:8]])
    assert re.findall(r"</svg>(c\d)<", key) == frequent
    # Eight colours, and lines without marks, as in the figures; levels are drawn as marks.
    assert len(set(re.findall(r'stroke="(#\w+)"', key))) == 8 and "fill=" not in key
    page = make_page(frame.round(), y, {"lda": LinearDiscriminant()})
    key = page[page.index('<p class="key">') :].split("</p>")[0]
    assert len(set(re.findall(r'fill="(#\w+)"', key))) == 8 and "stroke=" not in key
    assert len(set(re.findall(r'<path d="(M[^"]+Z)"', key))) == 7
    page = make_page(frame, y, {"lda": LinearDiscriminant()})
    assert "2 more classes are not drawn." in text(page)
    for i in range(2):
        curve = page[page.index(f'id="figure-curve-{i}"') :].split("</figure>")[0]
        assert len(re.findall(r"stroke-width: 1.6", curve)) == 8
