"""Linear models y = b + wᵀx + noise, and classifiers by linear scores, with what they know about w.

    LinearRegression          least squares = maximum likelihood; t intervals
    LMSRegression             the same limit, one sample at a time
    Ridge                     min ‖y − b − Xw‖² + α‖w‖²; α by exact leave-one-out
    BayesianLinearRegression  w ~ N(m₀, α⁻¹I), noise N(0, β⁻¹); posterior, predictive, evidence

    BaselineRegressor, BaselineClassifier  the mean, or the class frequencies: what other models have to beat

    LeastSquaresClassifier    least squares on indicators of the classes
    Perceptron                w ← w + yφ at each mistake
    LinearDiscriminant        normal classes with one covariance: log odds linear in x, in closed form
    LogisticRegression        max Σ ln σ(y(b + wᵀx)) − (α/2)‖w‖²; softmax for more classes
    BayesianLogisticRegression  w ~ N(0, α⁻¹I), Laplace's approximation; moderated probabilities, evidence

Least squares works on a centred and scaled design through QR. The penalised models share one decomposition,
the `Spectrum` of the centred data, which is at once the sufficient statistic of a stream and the place where
every α costs O(p). The classifiers share their scores (`LinearClassifier`), and those with logits the maximum of their
likelihood by Newton's method, one pass over the rows a step.

`Solution`, `Posterior`, `LogitPosterior`, `Spectrum` and `Path` are what fitted models, and so model files, hold: their
names here are part of the file format. Non-linear functions of x come from `credo.features`; sparse weights live in
`credo.sparse`.
"""

from credo.linear._design import Solution as Solution
from credo.linear._logits import LogitPosterior as LogitPosterior
from credo.linear._posterior import Posterior as Posterior
from credo.linear._spectrum import Spectrum as Spectrum
from credo.linear._spectrum import summarize
from credo.linear.baseline import BaselineClassifier, BaselineRegressor
from credo.linear.bayes import BayesianLinearRegression
from credo.linear.bayes_logistic import BayesianLogisticRegression
from credo.linear.discriminant import LinearDiscriminant
from credo.linear.least_squares import LinearRegression
from credo.linear.least_squares_classifier import LeastSquaresClassifier
from credo.linear.lms import LMSRegression
from credo.linear.logistic import LogisticRegression
from credo.linear.logistic import Path as Path
from credo.linear.perceptron import Perceptron
from credo.linear.ridge import Ridge, ridge_path
from credo.linear.summary import RowSummary

__all__ = [
    "BaselineClassifier",
    "BaselineRegressor",
    "BayesianLinearRegression",
    "BayesianLogisticRegression",
    "LMSRegression",
    "LeastSquaresClassifier",
    "LinearDiscriminant",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "Ridge",
    "RowSummary",
    "ridge_path",
    "summarize",
]
