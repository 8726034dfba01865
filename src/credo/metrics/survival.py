"""The Kaplan–Meier estimate of a survival function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from credo.core.estimator import truth_values

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """The probability S(t) of a time longer than t, a step function that falls at each time with an event.

    Attributes
    ----------
    time : array of shape (n_times,)
        The times of events, ascending.
    survival : array of shape (n_times,)
        S from each of these times until the next.
    std_error : array of shape (n_times,)
        Its standard error, by Greenwood's formula.
    at_risk, events : arrays of shape (n_times,)
        How many rows have a time of at least this, and how many have an event at it.

    Examples
    --------
    >>> from credo.metrics import kaplan_meier
    >>> found = kaplan_meier([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    >>> found.time, found.survival
    (array([1., 3., 4.]), array([0.75 , 0.375, 0.   ]))
    >>> found.median
    3.0
    """

    time: Array
    survival: Array
    std_error: Array
    at_risk: Array
    events: Array

    @property
    def median(self) -> float:
        """The first time at which S is at most one half; infinite if there is none."""
        # The product of many factors is one half only up to rounding.
        reached = np.flatnonzero(self.survival <= 0.5 * (1.0 + len(self.time) * np.finfo(float).eps))
        return float(self.time[reached[0]]) if len(reached) else np.inf

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of an interval for S at each time, S·exp(±z·se/S), at most 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.where(self.survival > 0, ndtri(0.5 + level / 2) * self.std_error / self.survival, 0.0)
        return self.survival * np.exp(-width), np.minimum(self.survival * np.exp(width), 1.0)


def kaplan_meier(time: ArrayLike, event: ArrayLike) -> KaplanMeier:
    """The Kaplan–Meier estimate S(t) = Π (1 − dᵢ/nᵢ) over the times tᵢ ≤ t of events.

    Of the nᵢ rows with a time of at least tᵢ, dᵢ have an event at tᵢ. Its variance is S² Σ dᵢ/(nᵢ(nᵢ − dᵢ))
    (Greenwood). Equivalent to `survfit(Surv(time, event) ~ 1)` of R's survival.

    Parameters
    ----------
    time : array of shape (n_samples,)
    event : array of shape (n_samples,)
        Whether the event was observed at this time (true or 1); the other times (false or 0) are known to be longer.

    Examples
    --------
    >>> from credo.metrics import kaplan_meier
    >>> kaplan_meier([5.0, 8.0, 8.0], [True, True, False]).at_risk
    array([3., 2.])
    """
    times = np.asarray(time, dtype=np.float64)
    if times.ndim != 1 or times.shape != np.shape(event) or not np.isfinite(times).all():
        raise ValueError(
            f"time and event must be one finite number and one truth value for each row; got {times.shape}"
        )
    observed = truth_values("event", event)
    known = np.unique(times[observed])
    at_risk: Array = np.float64(len(times)) - np.searchsorted(np.sort(times), known)
    events = np.bincount(np.searchsorted(known, times[observed]), minlength=len(known)).astype(np.float64)
    survival: Array = np.cumprod(1.0 - events / at_risk, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        std_error = survival * np.sqrt(np.cumsum(events / (at_risk * (at_risk - events))))
    return KaplanMeier(known, survival, np.where(survival > 0, std_error, 0.0).astype(np.float64), at_risk, events)
