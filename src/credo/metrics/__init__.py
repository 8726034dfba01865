"""How good predictive distributions are, measured on outcomes that the model did not see.

    log score   (1/n) Σ ln p(yᵢ | xᵢ)                         higher is better
    CRPS        (1/n) Σ ∫ (Fᵢ(t) − 1{t ≥ yᵢ})² dt             lower is better, in the units of y
    coverage    (1/n) Σ 1{lowerᵢ ≤ yᵢ ≤ upperᵢ}                should equal the level of the interval
    PIT         Fᵢ(yᵢ)                                         should be uniform on (0, 1)

    of classes:
    Brier       (1/n) Σ Σₖ (pᵢₖ − 1{yᵢ = k})²                 lower is better (half of it for two classes)
    accuracy    (1/n) Σ 1{yᵢ is the likeliest class}          higher is better
    calibration mean |probability − observed share|           should be what chance leaves

Log score, CRPS and Brier are proper scores: nobody gains by reporting a distribution that they don't believe
(Gneiting and Raftery 2007). Coverage and PIT say in which way a distribution is wrong.

Contract: every function takes the outcomes `y`, then a distribution with one row for each outcome, as
`predict_dist` returns it. `forecast` reads the classes and their probabilities off one. `scorer` turns a score into a
scikit-learn scorer, greater is better, and `predictive` is the one place that knows how to ask a model (also a
Pipeline or a fitted search) for its distribution; `point` is its best single number. `influence` measures how much
each input moves the predictions, in their own units.

Not here: splitting into folds and comparing models (`credo.selection`), pictures (`credo.plots`), and
the formulas of the single distributions (`credo.distributions`).
"""

from credo.metrics._calibration import calibration_curve, coverage, pit
from credo.metrics._classes import Forecast, accuracy, brier, calibration_error, forecast, groups
from credo.metrics._influence import Influence, influence
from credo.metrics._predictive import NoDistribution, final_step, point, predictive
from credo.metrics._scorer import Scorer, scorer
from credo.metrics._scores import crps, log_score, rmse

__all__ = [
    "Forecast",
    "Influence",
    "NoDistribution",
    "Scorer",
    "accuracy",
    "brier",
    "calibration_curve",
    "calibration_error",
    "coverage",
    "crps",
    "final_step",
    "forecast",
    "groups",
    "influence",
    "log_score",
    "pit",
    "point",
    "predictive",
    "rmse",
    "scorer",
]
