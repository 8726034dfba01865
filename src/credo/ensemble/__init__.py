"""Models made of other models.

    transformed target    g(y) = f(x) + ε,   p(y | x) = p(g(y) | x) g'(y)
    conformal             y = μ_k(x) + r_i,   r_i a residual of a held-out row

Contract: an estimator of this package takes estimators, pipelines included, and fits clones of them. It predicts
distributions of y itself, so that its held-out scores are comparable with those of any model.

Members: `TransformedTarget`, a regressor of the log or another transformation of y, and `choose_transform`, which
selects the transformation by held-out log scores; `Conformal`, which gives any regressor a predictive distribution and
any classifier calibrated probabilities (`Residuals`, `Calibration`: what it keeps).

Not here: the transformations and the distributions that they lead to (`credo.distributions`), comparing models
(`credo.selection`).
"""

from credo.ensemble._calibration import Calibration
from credo.ensemble._choice import choose_transform
from credo.ensemble._conformal import Conformal
from credo.ensemble._residuals import Residuals
from credo.ensemble._target import TransformedTarget

__all__ = ["Calibration", "Conformal", "Residuals", "TransformedTarget", "choose_transform"]
