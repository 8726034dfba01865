"""Figures of a posterior over subsets: scores, likeliest models, inclusions and coefficients."""

from itertools import chain, combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.integrate import trapezoid

from credo import Ridge
from credo.core.estimator import FitWarning
from credo.plots import coefficient_density, inclusions, model_scores, svg, top_models
from credo.plots._inclusion import entrances
from credo.sparse import LassoPath, SpikeSlabClassifier, SpikeSlabRegressor, lasso_path

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
    assert len({text.get_text() for text in ax.texts}) == len(boxes) == 15
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
    (panel,) = coefficient_density(model, ["flat"], ax=Figure().subplots())
    assert not panel.lines and panel.patches[0].get_height() == 1.0


def test_bars_of_the_top_models_are_their_probabilities_above_their_columns(ax, model):
    top_models(model, n=6, ax=ax)
    panel = ax.child_axes[0]
    np.testing.assert_allclose([bar.get_height() for bar in panel.patches], model.posterior_.probability[:6])
    rows = labels(ax)
    cells = {(round(bar.get_y() + 0.38), round(bar.get_x() + 0.38)) for bar in ax.patches}
    for k, subset in enumerate(model.posterior_.models[:6]):
        assert {rows[i] for i, j in cells if j == k} == {X.columns[j] for j in subset}
    order = [model.inclusion_probabilities_[list(X.columns).index(name)] for name in rows]
    assert order == sorted(order, reverse=True)
    share = 100 * model.posterior_.probability[:6].sum()
    assert ax.get_xlabel().startswith(f"the top 6 models ({share:.3g} % of the posterior)")
    # The bars stand over the columns of the table, and above it.
    assert panel.get_xlim() == ax.get_xlim()
    ax.figure.draw_without_rendering()
    top_row = ax.transData.transform((0, -0.5))[1]
    assert panel.get_window_extent().y0 > top_row


def test_columns_that_do_not_fit_are_counted(ax, model):
    used = {j for subset in model.posterior_.models[:6] for j in subset}
    top_models(model, n=6, max_rows=2, ax=ax)
    assert len(labels(ax)) == 2
    expected = f"{D - 2} more columns, {len(used) - 2} of which one of them has"
    assert ax.get_xlabel().splitlines()[1] == expected
    top_models(model, n=1, ax=(one := Figure().subplots()))
    left = D - len(model.map_model_)
    assert one.get_xlabel().splitlines()[1] == f"{left} more columns that none of them has"


def test_a_model_without_columns_is_a_bar_over_nothing(ax):
    noise = SpikeSlabRegressor(0.01).fit(X, np.random.default_rng(9).normal(size=40))
    top_models(noise, n=1, ax=ax)
    assert not ax.patches
    assert ax.child_axes[0].patches[0].get_height() == noise.posterior_.probability[0]


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


def test_a_path_shows_where_each_column_enters(ax, model):
    path = lasso_path(X, Y, eps=0.2)
    inclusions(model, path=path, ax=ax)
    panel = ax.child_axes[0]
    assert panel.get_xlabel() == "enters the lasso at α / α max"
    shares = dict(zip(X.columns, entrances(path), strict=True))
    expected = {row: shares[name] for row, name in enumerate(labels(ax)) if shares[name] > 0}
    inside, never = panel.lines
    assert dict(zip(inside.get_ydata(), inside.get_xdata(), strict=True)) == expected
    assert 0 < len(expected) < D
    assert len(never.get_xdata()) == D - len(expected)
    assert max(never.get_xdata()) < 0.2
    assert panel.get_ylim() == ax.get_ylim()


def test_entrances_agree_with_the_correlations_that_decide_them():
    # Orthonormal columns enter at their own correlation with the target.
    rows = RNG.normal(size=(30, 4))
    Q, _ = np.linalg.qr(rows - rows.mean(axis=0))
    y = RNG.normal(size=30)
    y -= y.mean()
    grid = np.geomspace(1, 1e-3, 2000)
    correlation = np.abs(Q.T @ y) / 30
    path = lasso_path(Q, y, alphas=grid * correlation.max() * 1.0001, tol=1e-10)
    np.testing.assert_allclose(entrances(path), correlation / correlation.max(), rtol=5e-3)


def test_a_path_of_other_columns_is_refused(ax, model):
    path = LassoPath(np.ones(1), np.zeros((2, 1)), np.zeros(1))
    with pytest.raises(ValueError, match="the path has 2 columns and the model 5"):
        inclusions(model, path=path, ax=ax)


def test_the_spike_is_a_bar_at_zero_of_its_probability(ax, model):
    panels = coefficient_density(model, ax=ax)
    assert [panel.get_title(loc="left") for panel in panels] == list(X.columns)
    for panel, p in zip(panels, model.inclusion_probabilities_, strict=True):
        (bar,) = panel.patches
        assert bar.get_height() == pytest.approx(1 - p)
        assert bar.get_x() + bar.get_width() / 2 == pytest.approx(0.0)
        low, high = panel.get_xlim()
        assert low < 0 < high


def test_the_curve_is_the_slabs_density_with_its_peak_at_the_inclusion(ax, model):
    for j, panel in enumerate(coefficient_density(model, ax=ax)):
        x, height = panel.lines[0].get_xydata().T
        assert height.max() == pytest.approx(model.inclusion_probabilities_[j])
        # Against draws that are not zero: means and spreads of the curve.
        draws = model.sample_coefficients(4000, random_state=j)[0][:, j]
        draws = draws[draws != 0]
        weight = height / trapezoid(height, x)
        assert trapezoid(weight * x, x) == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(len(draws)))
        spread = np.sqrt(trapezoid(weight * (x - draws.mean()) ** 2, x))
        assert spread == pytest.approx(draws.std(), rel=0.15)


def test_columns_may_be_chosen_and_their_number_is_limited(ax, model):
    assert [p.get_title(loc="left") for p in coefficient_density(model, ["sun", 0], ax=ax)] == ["sun", "rain"]
    panels = coefficient_density(model, max_panels=2, ax=(other := Figure().subplots()))
    likely = sorted(np.argsort(-model.inclusion_probabilities_)[:2])
    assert [panel.get_title(loc="left") for panel in panels] == [X.columns[j] for j in likely]
    assert other.get_xlabel().endswith("the 2 most probable of 5 columns")
    with pytest.raises(ValueError, match="the model has no column 'hail'"):
        coefficient_density(model, ["hail"], ax=ax)
    with pytest.raises(ValueError, match="nothing to draw: columns is empty"):
        coefficient_density(model, [], ax=ax)


@pytest.mark.parametrize(("width", "unit"), [(5.0, 300.0), (6.0, 0.01)])
def test_labels_of_neighbouring_panels_stand_apart(width, unit):
    rows = np.random.default_rng(5).normal(size=(40, 12))
    model = SpikeSlabRegressor(0.5).fit(rows, unit * (rows[:, :6].sum(axis=1) + RNG.normal(size=40)))
    figure = Figure(figsize=(width, 4), layout="constrained")
    panels = coefficient_density(model, ax=figure.subplots())
    figure.draw_without_rendering()
    for start in range(0, 12, 4):
        boxes = []
        for panel in panels[start : start + 4]:
            low, high = panel.get_xlim()
            seen = [text for text in panel.get_xticklabels() if low <= text.get_position()[0] <= high]
            assert seen
            boxes += [text.get_window_extent() for text in seen]
        gaps = [(right.x0 - left.x1) / figure.dpi * 72 for left, right in pairwise(boxes)]
        assert min(gaps) > 3.0


def test_a_classifier_is_drawn_as_well():
    model = SpikeSlabClassifier().fit(X.iloc[:, :3], np.where(Y > 0, "wet", "dry"))
    for draw in (inclusions, top_models, model_scores, coefficient_density):
        text = svg(lambda ax, draw=draw: draw(model, ax=ax), prefix="c", label="a classifier")
        assert "rain" in text or draw is model_scores


@pytest.mark.parametrize("draw", [inclusions, top_models, model_scores, coefficient_density])
def test_other_models_have_no_posterior_over_subsets(ax, draw):
    with pytest.raises(TypeError, match="as SpikeSlabRegressor has it; a Ridge has none"):
        draw(Ridge().fit(X, Y), ax=ax)
