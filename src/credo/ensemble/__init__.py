"""Models made of other models.

    transformed target    g(y) = f(x) + ε,   p(y | x) = p(g(y) | x) g'(y)
    AdaBoost              F_k(x) = Σ α_m 1[G_m(x) = k],   p(k | x) = softmax(a F(x) + b)

Contract: an estimator of this package takes estimators, pipelines included, and fits clones of them. It predicts
distributions of y itself, so that its held-out scores are comparable with those of any model.

Members: `TransformedTarget`, a regressor of the log or another transformation of y, and `choose_transform`, which
selects the transformation by held-out log scores; `AdaBoostClassifier`, which boosts any classifier that takes weights.
`Boosted` and `VoteScale` are attributes of it: their names are part of the file format.

Not here: the transformations and the distributions that they lead to (`credo.distributions`), comparing models
(`credo.selection`).
"""

from credo.ensemble._adaboost import AdaBoostClassifier
from credo.ensemble._choice import choose_transform
from credo.ensemble._rounds import Boosted as Boosted
from credo.ensemble._target import TransformedTarget
from credo.ensemble._votes import VoteScale as VoteScale

__all__ = ["AdaBoostClassifier", "TransformedTarget", "choose_transform"]
