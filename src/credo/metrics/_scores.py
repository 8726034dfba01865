"""Proper scoring rules for predictive distributions, and the error of their means."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions import Distribution
from credo.metrics._outcomes import average, numbers, outcomes
from credo.metrics._predictive import point


def log_score(y: ArrayLike, dist: Distribution, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean log predictive density of the outcomes; higher is better.

    (1/n) Σ ln p(yᵢ | xᵢ), in nats. It is −∞ if any outcome has density zero.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Distribution with n_samples rows
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> from credo.metrics import log_score
    >>> round(log_score([0.0, 1.0], Normal([0.0, 0.0], [1.0, 1.0])), 4)
    -1.1689
    """
    values = outcomes(y, dist)
    return average(dist.log_prob(values), sample_weight)


def crps(y: ArrayLike, dist: Distribution, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean continuous ranked probability score; lower is better, in the units of y.

    ``∫ (F(t) − 1{t ≥ y})² dt = E|Y − y| − ½ E|Y − Y′|``: the mean absolute error of a distribution. For a
    point mass it is the absolute error.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Distribution with n_samples rows
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> from credo.metrics import crps
    >>> round(crps([0.0], Normal([0.0], [1.0])), 4)
    0.2337
    """
    values = outcomes(y, dist)
    return average(dist.crps(values), sample_weight)


def rmse(y: ArrayLike, prediction: Distribution | ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root mean squared error of the predicted means; lower is better, in the units of y.

    Parameters
    ----------
    y : array of shape (n_samples,)
    prediction : Distribution or array of shape (n_samples,)
        Predictive distributions, of which the means are used (the median of one without a mean), or predicted values.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.metrics import rmse
    >>> rmse([1.0, 2.0], [1.0, 4.0])
    1.4142135623730951
    """
    y = numbers(y, name="y")
    mean = numbers(point(prediction) if isinstance(prediction, Distribution) else prediction, name="prediction")
    if len(mean) != len(y):
        raise ValueError(f"y has {len(y)} values and there are {len(mean)} predictions; they must match")
    if len(y) == 0:
        raise ValueError("y is empty: a score needs at least one outcome")
    error = y - mean
    # Scaled by the largest error, so that squares of huge or tiny errors stay numbers.
    scale = float(np.max(np.abs(error)))
    return scale * average((error / scale) ** 2, sample_weight) ** 0.5 if scale > 0 else 0.0
