"""Compile what models of a study need: `python -m credo.study.compiling N_CLASSES MODEL…` prints each when it is done.

Each model is fitted to a small random table, so that numba writes what it compiles into its cache.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from credo.study.catalogue import MODELS, SUFFIXES, Size, Times


def main(arguments: Sequence[str]) -> None:
    """Fit the named models; what fails here is reported by the study itself."""
    n_classes = int(arguments[0])
    rng, n_rows = np.random.default_rng(0), 60
    X = np.column_stack([np.linspace(-1.5, 1.5, n_rows), rng.normal(size=(n_rows, 2))])
    y = np.arange(n_rows) % n_classes if n_classes else X @ [1.0, 1.0, 0.0] + rng.normal(size=n_rows)
    size = Size(n_rows, 3, 3, n_classes, Times(0, 3.0, 3.0 / n_rows))
    known = {spec.name: spec for spec in MODELS[size.task]}
    warnings.simplefilter("ignore")
    for name in arguments[1:]:
        plain = next((name.removesuffix(suffix) for suffix in SUFFIXES.values() if name.endswith(suffix)), name)
        with suppress(Exception):
            model = known[plain].make(size).fit(X, y)
            model.predict_dist(X)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
