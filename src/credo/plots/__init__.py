"""Figures of models and their predictions, each drawn by a function on one pair of axes.

    draw(data, *, ax=None) -> Axes

Without `ax` a new pyplot figure is made. matplotlib's own settings stay as they are, and figures may be drawn in
several threads. Colors are safe for color-blind readers, and color is never the only distinction.

Members:

    held-out numbers      `predicted_vs_actual`, `residuals`, `calibration` (PIT histogram)
    held-out classes      `reliability`, `roc`, `confusion`
    functions             `band` (a model of one input), `next_points` (where to measure)
    classifiers           `decision_regions` (two inputs), `sigmoid` (one input)
    trees, boosting       `tree`, `adaboost_rounds` (several Axes)
    coefficients          `coefficients`, `coefficient_path` (lasso), `weight_posterior` (two weights)
    which inputs matter   `importances`, `inclusions`, `waterfall` (one prediction)
    hyperparameters       `evidence_surface`
    additive models       `terms` (several Axes)
    kernel search         `components` (several Axes)
    combined models       `expert_regions` (mixture of experts)
    posterior of subsets  `model_scores`, `coefficient_density` (several Axes)
    anything              `bars`, `style` (a context), `svg` (a figure as text for a web page), `shorten` (long names)

Figures of models read `model.describe()`. Sentences about statistics belong to `credo.study`, scores to
`credo.metrics`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

if find_spec("matplotlib") is None:
    raise ImportError("credo.plots draws with matplotlib, which is not installed: pip install 'credo[plots]'")

from credo.core.lazy import lazy
from credo.plots._band import band
from credo.plots._bars import bars, coefficients, importances, waterfall
from credo.plots._held_out import calibration, predicted_vs_actual, residuals
from credo.plots._regions import decision_regions
from credo.plots._svg import svg
from credo.plots.class_rows import confusion, sigmoid
from credo.plots.probabilities import reliability, roc
from credo.plots.styling import shorten, style

if TYPE_CHECKING:
    from credo.plots._components import components
    from credo.plots._ensembles import adaboost_rounds, expert_regions
    from credo.plots._evidence import evidence_surface, weight_posterior
    from credo.plots._inclusion import coefficient_density, inclusions, model_scores
    from credo.plots._next import next_points
    from credo.plots._path import coefficient_path, tree
    from credo.plots._survival import survival
    from credo.plots._terms import terms

__all__ = [
    "adaboost_rounds", "band", "bars", "calibration", "coefficient_density", "coefficient_path", "coefficients",
    "components", "confusion", "decision_regions", "evidence_surface", "expert_regions", "importances",
    "inclusions", "model_scores", "next_points", "predicted_vs_actual",
    "reliability", "residuals", "roc", "shorten", "sigmoid", "style", "survival", "svg", "terms", "tree",
    "waterfall", "weight_posterior",
]  # fmt: skip

# Only the figures of a model import it.
__getattr__ = lazy(
    __name__,
    {
        "_components": ("components",),
        "_ensembles": ("adaboost_rounds", "expert_regions"),
        "_evidence": ("evidence_surface", "weight_posterior"),
        "_inclusion": ("coefficient_density", "inclusions", "model_scores"),
        "_next": ("next_points",),
        "_path": ("coefficient_path", "tree"),
        "_survival": ("survival",),
        "_terms": ("terms",),
    },
)
