"""Logistic models on subsets of the columns, and the posterior over the subsets.

    p(y = 1 | x, γ) = σ(b + Σ_{j∈γ} w_j z_j),    w_j ~ N(0, v),    b ~ N(0, 10²)

with z_j column j, made to have mean 0 and variance 1. `ClassTask` finds the mode of a model and Laplace's approximation
of its evidence; `enumerate_class_models` looks at all subsets and `walk_classes` walks over them; a `ClassAverage` of
modes predicts. What several chains say together is the business of `credo.subsets.walk`, and the estimator's door and
words that of `SpikeSlabClassifier`.
"""

from credo.subsets.logistic_models._average import ClassAverage
from credo.subsets.logistic_models._enumerate import enumerate_class_models
from credo.subsets.logistic_models._modes import ClassTask, Standard
from credo.subsets.logistic_models.walk import walk_classes

__all__ = ["ClassAverage", "ClassTask", "Standard", "enumerate_class_models", "walk_classes"]
