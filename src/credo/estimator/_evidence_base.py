"""What a log evidence conditions on; only evidences with the same conditions can be compared."""

from __future__ import annotations

from typing import Any

FLAT = "flat prior"
JEFFREYS = "prior 1/σ²"
MAXIMISED = "maximised"
INTEGRATED = "integrated"
SCALED = "scaled by the variance of y"


def evidence_base(
    *,
    intercept: str = "",
    slopes: str = "",
    noise: str = "",
    noise_prior: str = "",
    kernel: str = "",
    hyperparameters: str = "",
    class_weight: Any = None,
) -> str:
    """Everything that keeps a log evidence from being the log density of y under proper priors, in one line.

    An improper prior has an arbitrary constant, a maximum is larger than an average, and a prior that is scaled by the
    variance of y depends on y. Models of the same base share these, so that differences of their log evidences are log
    Bayes factors; those of models of different bases aren't. A flat prior on an intercept has density one, and the
    prior 1/σ² is integrated over dσ²/σ², in all of Credo.

    Parameters
    ----------
    intercept, slopes, noise, noise_prior, kernel, hyperparameters : str
        How each was treated; empty if it was given, has a proper prior, or doesn't exist.
    class_weight : as passed to a classifier; weighted labels are different data.

    Examples
    --------
    >>> from credo.estimator import FLAT, MAXIMISED, evidence_base
    >>> evidence_base(intercept=FLAT, noise=MAXIMISED)
    'intercept: flat prior; noise variance: maximised'
    >>> evidence_base()
    'proper priors'
    """
    weights = "" if class_weight is None else class_weight if isinstance(class_weight, str) else f"{class_weight!r}"
    parts = {
        "intercept": intercept,
        "slopes": slopes,
        "noise variance": noise,
        "noise prior": noise_prior,
        "kernel": kernel,
        "hyperparameters": hyperparameters,
        "class weights": weights,
    }
    return "; ".join(f"{name}: {how}" for name, how in parts.items() if how) or "proper priors"
