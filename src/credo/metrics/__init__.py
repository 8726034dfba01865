"""Scores and calibration of predictive distributions on held-out outcomes.

    log score   (1/n) Σ ln p(yᵢ | xᵢ)                         higher is better
    CRPS        (1/n) Σ ∫ (Fᵢ(t) − 1{t ≥ yᵢ})² dt             lower is better, in the units of y
    coverage    (1/n) Σ 1{lowerᵢ ≤ yᵢ ≤ upperᵢ}                should equal the level of the interval
    PIT         Fᵢ(yᵢ)                                         should be uniform on (0, 1)

    for classes:
    Brier       (1/n) Σ Σₖ (pᵢₖ − 1{yᵢ = k})²                 lower is better (half of it for two classes)
    accuracy    (1/n) Σ 1{yᵢ is the likeliest class}          higher is better
    calibration mean |probability − observed share|           should be explained by chance

Log score, CRPS and Brier score are proper scoring rules: the true distribution has the best expected score
(Gneiting and Raftery 2007). Coverage and PIT show in which way a distribution is miscalibrated.

Contract: every function takes the outcomes `y`, then a distribution with one row for each outcome, as `predict_dist`
returns it. `forecast` extracts classes and probabilities. `scorer` turns a score into a scikit-learn scorer, greater is
better, and `predictive` returns the predictive distribution of any model, also of a Pipeline or a fitted search;
`point` is its mean or median. `influence` measures how much each input changes the predictions, in their own units;
`shapley` how much each contributes to a single prediction. `kaplan_meier` estimates the distribution of times of which
some are censored.

Not here: splitting into folds and comparing models (`credo.selection`), figures (`credo.plots`), and
the formulas of the single distributions (`credo.distributions`).
"""

from credo.core.estimator import NoDistribution, final_step, point, predictive
from credo.metrics._classes import Forecast, Scorer, accuracy, brier, calibration_error, forecast, groups, rps, scorer
from credo.metrics._scores import crps, log_score, rmse
from credo.metrics._shapley import ShapleyValues, shapley
from credo.metrics.calibration import calibration_curve, coverage, pit
from credo.metrics.sensitivity import Influence, influence
from credo.metrics.survival import KaplanMeier, kaplan_meier

__all__ = [
    "Forecast", "Influence", "KaplanMeier", "NoDistribution", "Scorer", "ShapleyValues", "accuracy", "brier",
    "calibration_curve", "calibration_error", "coverage", "crps", "final_step", "forecast", "groups", "influence",
    "kaplan_meier", "log_score", "pit", "point", "predictive", "rmse", "rps", "scorer", "shapley",
]  # fmt: skip
