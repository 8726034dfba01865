"""What a log evidence conditions on, so that only evidences of one kind are compared."""

from __future__ import annotations

from typing import Any

FLAT = "flat prior"
JEFFREYS = "prior 1/σ²"
MAXIMISED = "maximised"
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

    An improper prior has no constant of its own, a maximum is larger than an average, and a prior that is scaled by the
    variance of y has seen y. Each of these adds a constant that only models of the same base share, so that a
    difference of log evidences is a log Bayes factor within one base alone. In all of Credo a flat intercept has the
    density one, and σ² under 1/σ² is integrated over dσ²/σ².

    Parameters
    ----------
    intercept, slopes, noise, noise_prior, kernel, hyperparameters : str
        How each was dealt with; empty where it was given, has a proper prior, or doesn't exist.
    class_weight : as given to a classifier; weighted labels are other data.

    Examples
    --------
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
