"""The estimators behind the cards."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.pipeline import make_pipeline

from credo.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    Conformal,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    ModelAverage,
    TransformedTarget,
)
from credo.features import Polynomial
from credo.gp import GPClassifier, GPRegressor
from credo.kernel_machines import KernelRidge, NadarayaWatson, SoftNeighborsClassifier
from credo.kernels import RBF, Kernel, Matern32, Matern52, Periodic
from credo.linear import (
    BaselineClassifier,
    BaselineRegressor,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    LinearDiscriminant,
    LinearRegression,
    LMSRegression,
    LogisticRegression,
    NaiveForecast,
    Ridge,
)
from credo.sparse import LassoCV, SparseLogisticRegressionCV, SpikeSlabClassifier, SpikeSlabRegressor
from credo.study.catalogue import AVERAGE
from credo.study.size import EXACT_ROWS, Size
from credo.trees import BoostedTreesClassifier, BoostedTreesRegressor, DecisionTreeClassifier, DecisionTreeRegressor

# Every fold pays for the restarts; with half as many, the best of several maxima of the evidence is often missed.
RESTARTS = 4
# Inducing points of processes of many rows, so that all folds take a minute or two, and fewer for labels; columns up to
# which there are better methods.
POINTS, LABEL_POINTS, FEW_COLUMNS = 200, 150, 3
# The penalty of logistic regression is a prior under which the log odds of a row of p standardized columns have this
# standard deviation: p/α = 5². It keeps the weights finite where the classes are linearly separable.
LOG_ODDS_STD = 5.0
# The length scale of a trend in time, in spans of the rows.
_TREND_SPANS = 5.0
# How far beyond the range of the targets, as a share of it, a model of a transformed target may predict.
MARGIN, FORECAST_MARGIN = 0.1, 2.0
# Steps of the sampling of subsets of many columns.
STEPS = 5000
# With as many rows, a learned spread takes no further fits, in the folds either.
SPREAD_ROWS = 1500
# Trees of a forest.
TREES = 100
# The most experts of a mixture.
EXPERTS = 4


def make(name: str, size: Size, transformation: Any = "identity") -> Any:
    """The unfitted estimator of a card for a prepared table of this size."""
    estimator = (_classifiers(size) if size.classes else _regressors(size))[name]
    if transformation == "identity":
        return estimator
    # A forecast may leave the range of the targets.
    margin = MARGIN if size.times is None else FORECAST_MARGIN
    return TransformedTarget(estimator, transformation=transformation, margin=margin)


def _regressors(size: Size) -> dict[str, Any]:
    many, times = size.rows >= SPREAD_ROWS, size.times
    return {
        "baseline": BaselineRegressor(),
        "naive": NaiveForecast(0 if times is None else times.column),
        "naive-season": NaiveForecast(
            0 if times is None else times.column, period=max(times.cycles) if times and times.cycles else None
        ),
        "linear": LinearRegression(),
        "ridge": Ridge(alpha="loo"),
        "bayes": BayesianLinearRegression(),
        "lasso": LassoCV(),
        "spike-slab": SpikeSlabRegressor(_inclusion(size), slab="zellner-siow", n_draws=STEPS),
        "polynomial": make_pipeline(_squares(), BayesianLinearRegression()),
        "lms": LMSRegression(),
        "nadaraya-watson": NadarayaWatson(),
        "kernel-ridge": KernelRidge(alpha="loo", fit_intercept=True),
        # A kernel given by name gets one length scale for each column in `fit`; folds may differ in their columns.
        "gp": GPRegressor(None if size.has_lengthscales else RBF(), **_scale(size, RESTARTS)),
        "gp-matern": GPRegressor("matern52" if size.has_lengthscales else Matern52(), **_scale(size, RESTARTS)),
        "gp-heteroscedastic": GPRegressor(noise="heteroscedastic", **_scale(size, RESTARTS)),
        "gp-time": GPRegressor(None if times is None else _in_time(size), mean="linear", **_scale_in_time(size)),
        "experts": MixtureOfExpertsRegressor(max_experts=EXPERTS),
        "forest": BaggingRegressor(DecisionTreeRegressor(pruning=0.0, max_features=1 / 3), n_estimators=TREES),
        "boosting": Conformal(
            # Many rows take longer: half of the rounds, each twice as large, predict about as well.
            BoostedTreesRegressor(learning_rate=0.2, max_rounds=150) if many else BoostedTreesRegressor(),
            cv=5,
            spread="learn" if many else None,
        ),
        AVERAGE: ModelAverage([("linear", LinearRegression())], weights="stacking"),
    }


def _classifiers(size: Size) -> dict[str, Any]:
    return {
        "baseline": BaselineClassifier(),
        "discriminant": LinearDiscriminant(shrinkage="auto"),
        "logistic": LogisticRegression(alpha=size.columns / LOG_ODDS_STD**2),
        "bayes-logistic": BayesianLogisticRegression(),
        "sparse-logistic": SparseLogisticRegressionCV(),
        "spike-slab": SpikeSlabClassifier(
            _inclusion(size),
            search="enumerate" if size.enumerates else "gibbs",
            # With more columns than rows the chain needs longer to mix, and its models are smaller.
            n_draws=4000 if size.columns > size.rows else 1000,
        ),
        "polynomial": make_pipeline(Polynomial(degree=2, extrapolation="linear"), BayesianLogisticRegression()),
        "neighbours": SoftNeighborsClassifier(),
        "gp": GPClassifier(
            None if size.has_lengthscales else RBF(), **_scale(size, RESTARTS if size.classes == 2 else 0)
        ),
        "experts": MixtureOfExpertsClassifier(max_experts=EXPERTS),
        "adaboost": AdaBoostClassifier(early_stopping=True),
        "forest": BaggingClassifier(DecisionTreeClassifier(pruning=0.0, max_features="sqrt"), n_estimators=TREES),
        "boosting": Conformal(BoostedTreesClassifier(), cv=5),
        AVERAGE: ModelAverage([("logistic", LogisticRegression())], weights="stacking"),
    }


def _scale(size: Size, n_restarts: int) -> dict[str, Any]:
    """Arguments of a Gaussian process: of many rows, fewer inducing points than by default and a single start.

    A method that is named is the same in all folds.
    """
    if size.rows <= EXACT_ROWS:
        return {"n_restarts": n_restarts}
    method = "auto" if size.columns <= FEW_COLUMNS else "inducing"
    return {"method": method, "n_inducing": LABEL_POINTS if size.classes else POINTS, "n_restarts": 0}


def _scale_in_time(size: Size) -> dict[str, Any]:
    """Arguments of a process in time. It starts from the kernel's values, and restarts find no higher evidence.

    With many harmonics of its cycles, the state-space form takes longer than inducing points.
    """
    found = _scale(size, 0)
    return found | {"method": "inducing"} if size.rows > EXACT_ROWS and size.columns == 1 else found


def _in_time(size: Size) -> Kernel:
    """A trend, cycles of changing shape, short-term deviations, and the other columns.

    Beside a linear mean with flat priors, a Matérn-3/2 process of a length scale far beyond the rows is an integrated
    random walk, the local linear trend of structural time series (and a cubic smoothing spline): it continues the last
    slope, and its variance grows as the cube of the horizon. A process of a learned length scale returns to the mean.
    """
    times = size.times
    assert times is not None
    at = [times.column]
    trend = Matern32(_TREND_SPANS * times.span).fix("lengthscale")
    kernel: Kernel = trend.on(at) + 0.1 * Matern32(4 * times.step).on(at)
    for period in times.cycles:
        cycle = Periodic(1.0, period=period).fix("period") * Matern52(times.span).fix("variance")
        kernel = kernel + 0.3 * cycle.on(at)
    others = [j for j in range(size.columns) if j != times.column]
    return kernel + 0.3 * RBF(np.ones(len(others))).on(others) if others else kernel


def _inclusion(size: Size) -> Literal["beta-binomial"] | tuple[float, float]:
    """The prior over subsets: beta-binomial, or with more columns than rows one that expects few.

    With many columns, a beta-binomial prior gives as much probability to models that reproduce the target with half as
    many columns as rows as to all others.
    """
    return (1.0, float(size.columns)) if size.columns > size.rows else "beta-binomial"


def _squares() -> Polynomial:
    """Quadratic terms that continue as straight lines beyond the training range."""
    return Polynomial(degree=2, extrapolation="linear")
