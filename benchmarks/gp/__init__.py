"""Gaussian processes beside what LAPACK alone needs, and beside scikit-learn, GPy, GPyTorch, GPflow, celerite2 and
tinygp where installed.

``CREDO_DATA``, a folder with yacht.csv, energy.csv and their splits, adds the lines on real tables.
"""

import warnings

from benchmarks.gp import draws, evidence, fits, inducing, kriging, memory, series, tables
from benchmarks.harness import Line, quick


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    suites = [evidence, memory, draws, series, kriging, fits, *([] if quick() else [inducing, tables])]
    return [line for suite in suites for line in suite.run()]
