"""Figures of models and their predictions, each drawn by a function on one pair of axes.

    draw(data, *, ax=None) -> Axes

Without `ax` a new pyplot figure is made. matplotlib's own settings stay as they are, and figures may be drawn in
several threads. Colours are safe for colour-blind readers, and what is marked by colour is also marked by shape.

Members:

    held-out numbers      `predicted_vs_actual`, `residuals`, `over_time`, `calibration` (PIT histogram)
    held-out classes      `reliability`, `roc`, `confusion`
    functions             `band` (a model of one input), `prior_draws` (a kernel), `next_points` (where to measure),
                          `bagged_curves` (the members of an ensemble and their average)
    classifiers           `decision_regions` (two inputs), `sigmoid` (one input), `losses` (of the margin)
    trees, boosting       `tree`, `adaboost_rounds` (several Axes)
    coefficients          `coefficients`, `coefficient_path` (lasso), `weight_posterior` (two weights)
    hyperparameters       `evidence_surface`, `relevances`, `relevance_trace`
    kernel search         `components` (several Axes)
    combined models       `expert_regions` (mixture of experts), `weights_by_rows` (averaged models)
    posterior of subsets  `inclusions`, `model_scores`, `top_models`, `coefficient_density` (several Axes)
    anything              `bars`, `style` (a context), `svg` (a figure as text for a web page), `shorten` (long names)

Sentences about statistics belong to `report`, scores to `metrics`.
"""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError("credo.plots draws with matplotlib, which is not installed: pip install 'credo[plots]'")

from credo.plots._band import bagged_curves, band, components, prior_draws
from credo.plots._bars import bars, coefficients, relevance_trace, relevances, weight_posterior
from credo.plots._classes import confusion, sigmoid
from credo.plots._ensembles import adaboost_rounds, expert_regions, losses, weights_by_rows
from credo.plots._evidence import evidence_surface
from credo.plots._held_out import calibration, over_time, predicted_vs_actual, residuals
from credo.plots._inclusion import coefficient_density, inclusions, model_scores, top_models
from credo.plots._next import next_points
from credo.plots._path import coefficient_path, tree
from credo.plots._probabilities import reliability, roc
from credo.plots._regions import decision_regions
from credo.plots._style import shorten, style
from credo.plots._svg import svg

__all__ = [
    "adaboost_rounds", "bagged_curves", "band", "bars", "calibration", "coefficient_density",
    "coefficient_path", "coefficients", "components", "confusion", "decision_regions", "evidence_surface",
    "expert_regions", "inclusions", "losses", "model_scores", "next_points", "over_time", "predicted_vs_actual",
    "prior_draws",
    "relevance_trace", "relevances", "reliability", "residuals", "roc", "shorten", "sigmoid", "style", "svg",
    "top_models", "tree", "weight_posterior", "weights_by_rows",
]  # fmt: skip
