"""Linear models y = b + wᵀx + noise and linear classifiers, with the uncertainty of their weights.

    LinearRegression          least squares = maximum likelihood; t intervals
    LMSRegression             the same by stochastic gradient descent, one sample at a time
    Ridge                     min ‖y − b − Xw‖² + α‖w‖²; α by exact leave-one-out
    BayesianLinearRegression  w ~ N(m₀, α⁻¹I), noise N(0, β⁻¹); posterior, predictive, evidence

    BaselineRegressor, BaselineClassifier  the mean, or the class frequencies, which other models should beat
    NaiveForecast             the last value, or that of the last season, of a series in time

    LeastSquaresClassifier    least squares on indicators of the classes
    Perceptron                w ← w + yφ at each mistake
    LinearDiscriminant        normal classes with one covariance: log odds linear in x, in closed form
    LogisticRegression        max Σ ln σ(y(b + wᵀx)) − (α/2)‖w‖²; softmax for several classes
    BayesianLogisticRegression  w ~ N(0, α⁻¹I), variational; averaged probabilities, evidence

`LinearRegression`, `Ridge` and `BayesianLinearRegression` are computed from one mergeable statistic, the `RowSummary`
of the centered rows (`core.parts`): `summarize(X, y)`, `merge`, `fit_summary`. `fit` does the same in one call. Ridge
and the Bayesian model decompose it once into a `Spectrum`, after which every penalty or precision costs O(p). The
classifiers share their scores (`LinearClassifier`), and those with logits an objective (`_softmax`) and its
maximization (`_ascent`).

`Solution`, `LogitPosterior` and `Path` are stored in model files: their names here are part of
the file format. What does not belong here: nonlinear functions of x (`credo.features`) and sparse weights
(`credo.sparse`).
"""

from typing import TYPE_CHECKING

from credo.core.lazy import lazy
from credo.core.parts import RowSummary, summarize

if TYPE_CHECKING:
    from credo.linear.baseline import BaselineClassifier, BaselineRegressor, NaiveForecast
    from credo.linear.bayes import BayesianLinearRegression
    from credo.linear.bayes_logistic import BayesianLogisticRegression
    from credo.linear.bayes_logistic import LogitPosterior as LogitPosterior
    from credo.linear.discriminant import LinearDiscriminant
    from credo.linear.least_squares import LinearRegression
    from credo.linear.least_squares import Solution as Solution
    from credo.linear.least_squares_classifier import LeastSquaresClassifier
    from credo.linear.lms import LMSRegression
    from credo.linear.logistic import LogisticRegression
    from credo.linear.logistic import Path as Path
    from credo.linear.perceptron import Perceptron
    from credo.linear.ridge import Ridge, ridge_path

__all__ = [
    "BaselineClassifier", "BaselineRegressor", "BayesianLinearRegression", "BayesianLogisticRegression",
    "LMSRegression", "LeastSquaresClassifier", "LinearDiscriminant", "LinearRegression", "LogisticRegression",
    "NaiveForecast", "Perceptron", "Ridge", "RowSummary", "ridge_path", "summarize",
]  # fmt: skip

# A regression needs no classifiers, whose variational bounds import `core.inference` and with it all kernels.
__getattr__ = lazy(
    __name__,
    {
        "baseline": ("BaselineClassifier", "BaselineRegressor", "NaiveForecast"),
        "bayes": ("BayesianLinearRegression",),
        "bayes_logistic": ("BayesianLogisticRegression", "LogitPosterior"),
        "discriminant": ("LinearDiscriminant",),
        "least_squares": ("LinearRegression", "Solution"),
        "least_squares_classifier": ("LeastSquaresClassifier",),
        "lms": ("LMSRegression",),
        "logistic": ("LogisticRegression", "Path"),
        "perceptron": ("Perceptron",),
        "ridge": ("Ridge", "ridge_path"),
    },
)
