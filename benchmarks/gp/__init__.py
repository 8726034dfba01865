"""Gaussian processes beside what LAPACK alone needs, and beside scikit-learn, GPy, GPyTorch, GPflow, celerite2 and
tinygp where installed.

``CREDO_DATA``, a folder with yacht.csv, energy.csv and their splits, adds the lines on real tables. ``CREDO_QUICK=1``
leaves out the full fits beside the peers, which take minutes, and ``CREDO_SIZES="1000"`` says with how many rows.
"""

import os
import warnings

from benchmarks.gp import draws, evidence, fits, inducing, kriging, memory, series, tables
from benchmarks.timing import Line


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    quick = bool(os.environ.get("CREDO_QUICK"))
    return [
        *evidence.run(),
        *memory.run(),
        *draws.run(),
        *tables.run(),
        *inducing.run(),
        *series.run(),
        *kriging.run(),
        *([] if quick else fits.run()),
    ]
