"""Credo: regression and classification with calibrated uncertainty.

Every public name of the packages below can be imported from here as well. It is loaded on first use, so that
``import credo`` stays fast. Of names that two packages share (``Polynomial`` and ``Categorical`` are kernels as well),
the one here isn't the kernel.

>>> import credo
>>> credo.Normal(0.0, 1.0).interval(0.95)[1].round(2)
np.float64(1.96)
"""

from importlib import import_module
from typing import Any

from credo._version import __version__

# Public names by the package that defines them. A test compares this table with each package's `__all__`.
_MEMBERS = {
    package: names.split()
    for package, names in {
        "additive": "AdditiveClassifier AdditiveRegressor",
        "distributions": """
            Bernoulli BoxCox Categorical Distribution Empirical Mixture MultivariateNormal Normal
            PoissonLogNormal Recalibrated StudentT Tabulated TabulatedScale Transform Transformed YeoJohnson
            t_variance
        """,
        "ensemble": """
            AdaBoostClassifier BaggingClassifier BaggingRegressor Committee Conformal Diagnosis
            MixtureOfExpertsClassifier MixtureOfExpertsRegressor ModelAverage TransformedTarget choose_transform
        """,
        "features": "Fourier Polynomial Radial Sigmoid",
        "gp": "GPClassifier GPRegressor Minimizer Paths expected_improvement log_expected_improvement",
        "kernel_machines": "KernelPerceptron KernelRidge NadarayaWatson SoftNeighborsClassifier",
        "kernels": """
            RBF Constant Cosine Exponential Harmonic Linear Matern32 Matern52 Periodic RationalQuadratic White
            ZeroMeanPeriodic check_kernel from_function
        """,
        "linear": """
            BaselineClassifier BaselineRegressor BayesianLinearRegression BayesianLogisticRegression
            LMSRegression LeastSquaresClassifier LinearDiscriminant LinearRegression LogisticRegression
            NaiveForecast Perceptron Ridge RowSummary ridge_path summarize
        """,
        "metrics": """
            accuracy brier calibration_curve calibration_error coverage crps log_score pit predictive rmse rps
            scorer
        """,
        "mixtures": "GaussianMixture StudentTMixture average_densities",
        "selection": "KernelSearch bic compare description_length search_kernel",
        "sparse": """
            ElasticNet Lasso LassoCV LassoPath Selection SparseLogisticRegression SparseLogisticRegressionCV
            SpikeSlabClassifier SpikeSlabRegressor forward_selection hard_threshold lasso_path soft_threshold
        """,
        "study": "Study analyze audit look",
        "trees": """
            BoostedTreesClassifier BoostedTreesRegressor DecisionStump DecisionTreeClassifier
            DecisionTreeRegressor
        """,
        "tables": "Preparation TableModel load read_table save",
        "core.estimator": "ConvergenceWarning FitWarning",
        "core.parts": "read_parquet",
        "_version": "show_versions",
    }.items()
}
_PACKAGES = (
    "additive", "app", "core", "distributions", "ensemble", "features", "gp", "kernel_machines", "kernels",
    "likelihoods", "linear", "metrics", "mixtures", "plots", "selection", "sparse", "study", "tables", "trees",
)  # fmt: skip
_HOME = {name: package for package, names in reversed(_MEMBERS.items()) for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"credo.{_HOME[name]}"), name)
    elif name in _PACKAGES:
        value = import_module(f"credo.{name}")
    else:
        raise AttributeError(f"credo has no member {name!r}; see dir(credo) for what there is")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_PACKAGES})
