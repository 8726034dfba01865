"""Pictures of predictions, each a function of arrays or distributions that draws on one pair of axes.

    draw(data, *, ax=None) -> Axes

Without `ax` a new pyplot figure is made. The style is applied while drawing and never left behind; threads take
turns, so that figures may be drawn in several of them. Colours are safe for colour-blind readers, every figure
has one accent, and what is marked by colour is marked by shape as well.

Members: `predicted_vs_actual`, `residuals`, `over_time`, `calibration` (PIT histogram), `coefficients`, `band` (a
model of one input, with functions drawn from it); for Gaussian processes `prior_draws` (what a kernel believes),
`relevances` and `relevance_trace` (which inputs matter, and how the search found out), `evidence_surface` (over two
hyperparameters) and `next_points` (where to measure); for sparse models `coefficient_path` (along the penalty of the
lasso), and of a posterior over subsets `inclusions`, `model_scores`, `top_models` and `coefficient_density` (many
Axes); for classifiers `decision_regions` (over two inputs), `sigmoid` (along one), `weight_posterior` (two weights of a
Bayesian linear model), and of held-out labels `reliability`, `roc` and `confusion`; `bars` (values by name), `style`
(the context all of them draw in), `svg` (a figure as text for a web page) and `shorten` (names that fit). Statistics
that are reported in words belong to `report`, scores to `metrics`.
"""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError("credo.plots draws with matplotlib, which is not installed: pip install 'credo[plots]'")

from credo.plots._band import band, prior_draws
from credo.plots._bars import bars, coefficients
from credo.plots._confusion import confusion
from credo.plots._evidence import evidence_surface
from credo.plots._held_out import calibration, over_time, predicted_vs_actual, residuals
from credo.plots._inclusion import coefficient_density, inclusions
from credo.plots._labels import shorten
from credo.plots._models import model_scores, top_models
from credo.plots._next import next_points
from credo.plots._path import coefficient_path
from credo.plots._probabilities import reliability, roc
from credo.plots._regions import decision_regions
from credo.plots._relevance import relevance_trace, relevances
from credo.plots._sigmoid import sigmoid
from credo.plots._style import style
from credo.plots._svg import svg
from credo.plots._weights import weight_posterior

__all__ = [
    "band",
    "bars",
    "calibration",
    "coefficient_density",
    "coefficient_path",
    "coefficients",
    "confusion",
    "decision_regions",
    "evidence_surface",
    "inclusions",
    "model_scores",
    "next_points",
    "over_time",
    "predicted_vs_actual",
    "prior_draws",
    "relevance_trace",
    "relevances",
    "reliability",
    "residuals",
    "roc",
    "shorten",
    "sigmoid",
    "style",
    "svg",
    "top_models",
    "weight_posterior",
]
