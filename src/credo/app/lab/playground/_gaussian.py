"""Evidences by their parts: ln N(y | 0, C) of Gaussian models, and the BIC."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from credo.app.lab.playground._model import Evidence
from credo.app.lab.playground._problem import Array
from credo.core.linalg import factorize
from credo.selection import bic


def gaussian_evidence(C: Array, y: Array) -> Evidence:
    """−½ yᵀC⁻¹y (fit) − ½ ln|C| (complexity) − n/2 ln 2π (constant)  (Rasmussen & Williams 2.30)."""
    if not len(y):
        return Evidence(0.0, parts=(("fit", 0.0), ("complexity", 0.0), ("constant", 0.0)))
    factor = factorize(C)
    half = factor.half_solve(y)
    parts = (
        ("fit", -0.5 * float(half @ half)),
        ("complexity", -0.5 * factor.logdet),
        ("constant", -0.5 * len(y) * math.log(2 * math.pi)),
    )
    return Evidence(sum(value for _, value in parts), parts=parts)


def bic_evidence(estimator: Any, reason: str = "") -> Evidence:
    """The BIC of a model without an evidence; the reason is given where it isn't finite."""
    value, fit = float(bic(estimator)), -2 * float(estimator.log_likelihood_)
    if not math.isfinite(value):
        return Evidence(None, reason)
    parts = (("−2 log likelihood", fit), ("parameters · ln n", value - fit))
    return Evidence(value, parts=parts, method="bic", label="BIC (smaller is better)")


def expected_fit(log_likelihood: Callable[[Array], Array], mean: Array, std: Array) -> float:
    """Σ E ln p(y | f) over independent normal f, by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    values = log_likelihood(mean[:, None] + std[:, None] * nodes)
    return float((values @ weights).sum() / math.sqrt(2 * math.pi))
