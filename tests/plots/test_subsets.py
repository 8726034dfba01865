"""Figures of a posterior over subsets: scores, likeliest models, inclusions and coefficients."""

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.integrate import trapezoid

from credo import Ridge
from credo.core.estimator import FitWarning
from credo.plots import coefficient_density, inclusions, model_scores, svg
from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor

RNG = np.random.default_rng(3)
X = pd.DataFrame(RNG.normal(size=(40, 5)), columns=["rain", "wind", "sun", "noise", "frost"])
X["frost"] += 0.8 * X["rain"]
Y = X.to_numpy() @ [1.0, -0.5, 0.3, 0.0, 0.0] + RNG.normal(size=40)
D = X.shape[1]


@pytest.fixture
def ax():
    return Figure(figsize=(6, 5)).subplots()


@pytest.fixture(scope="module")
def model():
    return SpikeSlabRegressor(0.3).fit(X, Y)


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def bic_scores(pi):
    """ln p(γ) − BIC/2 of every subset, by least squares; a constant apart from the log posterior."""
    scores = {}
    for subset in chain.from_iterable(combinations(range(D), k) for k in range(D + 1)):
        rows = np.column_stack([np.ones(len(Y)), X.to_numpy()[:, list(subset)]])
        rest = np.sum((Y - rows @ np.linalg.lstsq(rows, Y, rcond=None)[0]) ** 2)
        n, k = len(Y), len(subset)
        scores[subset] = -0.5 * (n * np.log(rest) + k * np.log(n)) + k * np.log(pi) + (D - k) * np.log1p(-pi)
    total = np.logaddexp.reduce(list(scores.values()))
    return {subset: score - total for subset, score in scores.items()}


def line(ax):
    (found,) = [part for part in ax.lines if part.get_linestyle() == "-" and len(part.get_xdata()) > 2]
    return found.get_xydata()


def bests(ax):
    (found,) = [part for part in ax.lines if part.get_label() == "best of its size (the number)"]
    return found.get_xydata()


def test_scores_are_those_of_all_models_in_order(ax, model):
    model_scores(model, ax=ax)
    expected = np.sort(list(bic_scores(0.3).values()))[::-1]
    np.testing.assert_array_equal(line(ax)[:, 0], np.arange(1, 2**D + 1))
    np.testing.assert_allclose(line(ax)[:, 1], expected, atol=1e-6)
    assert ax.get_xlabel() == "all 32 models, most probable first"


def test_the_best_of_each_size_is_marked_at_its_rank(ax, model):
    model_scores(model, ax=ax)
    scores = bic_scores(0.3)
    order = sorted(scores.values(), reverse=True)
    best = [max(score for subset, score in scores.items() if len(subset) == k) for k in range(D + 1)]
    np.testing.assert_allclose(bests(ax)[:, 1], best, atol=1e-6)
    np.testing.assert_array_equal(bests(ax)[:, 0], [1 + order.index(score) for score in best])
    sizes = {text.xy: int(text.get_text()) for text in ax.texts}
    assert set(sizes.values()) == set(range(D + 1))
    assert all(abs(best[size] - height) < 1e-6 for (_, height), size in sizes.items())


def test_numbers_of_close_marks_stand_apart():
    # Nearly the same evidence for each column: the best models of neighbouring sizes lie close together.
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 14))
    ax = model_scores(SpikeSlabRegressor().fit(Z, Z @ np.linspace(0.2, 0.5, 14) + rng.normal(size=60)))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 8 < len({text.get_text() for text in ax.texts}) == len(boxes)
    marks = ax.transData.transform(bests(ax))
    apart = np.abs(marks[:, None, 0] - marks[None, :, 0]) + np.eye(15) * 1e3
    assert apart.min() < 11 * ax.figure.dpi / 72, "two marks are nearer than a number is wide"
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[k + 1 :])
        assert not any(box.contains(*mark) for mark in marks)


@pytest.mark.parametrize("slab", ["g", "zellner-siow", "normal"])
def test_marks_lie_on_the_line_for_every_slab(ax, slab):
    model_scores(SpikeSlabRegressor("beta-binomial", slab=slab, n_models=3).fit(X, Y), ax=ax)
    heights = dict(line(ax))
    for rank, height in bests(ax):
        assert heights[rank] == pytest.approx(height, abs=1e-5)


def test_nine_tenths_of_the_posterior_are_shaded(ax, model):
    model_scores(model, ax=ax)
    scores = np.sort(list(bic_scores(0.3).values()))[::-1]
    enough = 1 + int(np.flatnonzero(np.cumsum(np.exp(scores)) >= 0.9)[0])
    assert ax.get_legend().get_texts()[0].get_text() == f"90 % of the posterior: {enough} models"


def test_models_of_a_walk_are_those_that_were_kept(ax):
    walked = SpikeSlabRegressor(search="gibbs", n_draws=300, n_models=7, random_state=0).fit(X, Y)
    model_scores(walked, ax=ax)
    np.testing.assert_allclose(line(ax)[:, 1], np.log(walked.posterior_.probability))
    share = 100 * walked.posterior_.probability.sum()
    assert ax.get_xlabel() == f"the 7 models kept, most probable first\ntogether {share:.3g} % of the posterior"
    assert bests(ax)[0].tolist() == [1.0, np.log(walked.posterior_.probability[0])]


def test_dependent_columns_leave_subsets_without_a_score(ax):
    twice = X.assign(again=2 * X["rain"], flat=1.0)
    with pytest.warns(FitWarning, match="identical"), pytest.warns(FitWarning, match="flat is constant"):
        model = SpikeSlabRegressor().fit(twice, Y)
    model_scores(model, ax=ax)
    # Of 64 subsets of six columns that vary, the 16 with both copies are no models.
    assert len(line(ax)) == 48
    panel = coefficient_density(model, "flat", ax=Figure().subplots())
    assert not panel.lines and panel.patches[0].get_height() == 1.0


def test_inclusion_bars_are_the_probabilities_in_order_with_the_prior(ax, model):
    inclusions(model, ax=ax)
    by_name = dict(zip(X.columns, model.inclusion_probabilities_, strict=True))
    widths = [bar.get_width() for bar in ax.containers[0]]
    assert widths == sorted(by_name.values(), reverse=True) == [by_name[name] for name in labels(ax)]
    (prior,) = [part for part in ax.lines if part.get_label() == "prior (0.3)"]
    assert list(prior.get_xdata()) == [0.3, 0.3]
    hollow = [to_hex(bar.get_facecolor()) == "#ffffff" for bar in ax.containers[0]]
    assert hollow == [width < 0.5 for width in widths]


@pytest.mark.parametrize(("prior", "mean"), [("beta-binomial", 0.5), ((1.0, 3.0), 0.25), (0.125, 0.125)])
def test_the_prior_is_the_mean_of_the_models(ax, prior, mean):
    inclusions(SpikeSlabRegressor(prior).fit(X, Y), ax=ax)
    assert f"prior ({mean:g})" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_spike_is_a_bar_at_zero_of_its_probability(model):
    for name, p in zip(X.columns, model.inclusion_probabilities_, strict=True):
        panel = coefficient_density(model, name, ax=Figure().subplots())
        (bar,) = panel.patches
        assert bar.get_height() == pytest.approx(1 - p)
        assert bar.get_x() + bar.get_width() / 2 == pytest.approx(0.0)
        low, high = panel.get_xlim()
        assert low < 0 < high


def test_the_curve_is_the_slabs_density_with_its_peak_at_the_inclusion(model):
    for j in range(X.shape[1]):
        panel = coefficient_density(model, j, ax=Figure().subplots())
        x, height = panel.lines[0].get_xydata().T
        assert height.max() == pytest.approx(model.inclusion_probabilities_[j])
        # Against draws that are not zero: means and spreads of the curve.
        draws = model.sample_coefficients(4000, random_state=j)[0][:, j]
        draws = draws[draws != 0]
        weight = height / trapezoid(height, x)
        assert trapezoid(weight * x, x) == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(len(draws)))
        spread = np.sqrt(trapezoid(weight * (x - draws.mean()) ** 2, x))
        assert spread == pytest.approx(draws.std(), rel=0.15)


def test_a_column_is_chosen_by_name_or_place(ax, model):
    assert coefficient_density(model, 0, ax=ax).get_xlabel() == "coefficient of rain"
    with pytest.raises(ValueError, match="the model has no column 'hail'"):
        coefficient_density(model, "hail", ax=ax)


def density(model, *, ax):
    return coefficient_density(model, 0, ax=ax)


def test_a_classifier_is_drawn_as_well():
    model = SpikeSlabClassifier().fit(X.iloc[:, :3], np.where(Y > 0, "wet", "dry"))
    for draw in (inclusions, model_scores, density):
        text = svg(lambda ax, draw=draw: draw(model, ax=ax), prefix="c", label="a classifier")
        assert "rain" in text or draw is model_scores


@pytest.mark.parametrize("draw", [inclusions, model_scores, density])
def test_other_models_have_no_posterior_over_subsets(ax, draw):
    with pytest.raises(TypeError, match="as SpikeSlabRegressor has it; a Ridge has none"):
        draw(Ridge().fit(X, Y), ax=ax)
