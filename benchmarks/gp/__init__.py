"""Gaussian processes beside what LAPACK alone needs, and beside scikit-learn, GPy, GPyTorch, GPBoost, celerite2 and
tinygp where installed."""

import warnings

from benchmarks.gp import draws, evidence, fits, inducing, kriging, memory, series
from benchmarks.harness import Line, quick


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    suites = [evidence, memory, draws, series, kriging, fits, *([] if quick() else [inducing])]
    return [line for suite in suites for line in suite.run()]
