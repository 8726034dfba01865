"""Additive models: sums of curves, lines, factors and random effects, with their variances by the evidence.

    g(E y) = b + Σ_k f_k(x),    f_k = B_k w_k,    w_k ~ N(0, τ_k² I)

A `Term` becomes blocks of basis functions (`terms`), and each block has a variance τ². For normal noise the Gram matrix
of all basis functions is all that is needed of the rows: τ² maximizes the restricted likelihood (REML), whose first and
second derivatives are exact. For other families of targets it is Laplace's approximation of the evidence, with exact
derivatives too. A random effect is a factor with a learned variance, so that lme4's models are special cases. With
`zeros=True`, a second model says whether a target is zero, and with `order=…` classes have cumulative logits.

Members: `AdditiveRegressor`, `AdditiveClassifier`; `smooth`, `linear`, `factor`, `random` and `pair`, which make terms;
`Term`; `TermCurve`, a term on a grid with intervals and simultaneous bands. What does not belong here: likelihoods,
which are in `likelihoods`, and the kinds of a table's columns.
"""

from credo.additive._posterior import AdditivePosterior as AdditivePosterior
from credo.additive._posterior import TermCurve
from credo.additive.classifier import AdditiveClassifier
from credo.additive.regressor import AdditiveRegressor
from credo.additive.terms import Block as Block
from credo.additive.terms import Cycle as Cycle
from credo.additive.terms import Indicators as Indicators
from credo.additive.terms import Levels as Levels
from credo.additive.terms import Line as Line
from credo.additive.terms import SideBySide as SideBySide
from credo.additive.terms import Spline as Spline
from credo.additive.terms import Term, factor, linear, pair, random, smooth

__all__ = [
    "AdditiveClassifier", "AdditiveRegressor", "Term", "TermCurve", "factor", "linear", "pair", "random", "smooth",
]  # fmt: skip
