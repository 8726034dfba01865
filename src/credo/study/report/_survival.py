"""Held-out predictions of times until an event: sentences and figures."""

from __future__ import annotations

import numpy as np

from credo import plots
from credo.core.wording import number, percent, plural
from credo.distributions import RightCensored
from credo.metrics import KaplanMeier, kaplan_meier
from credo.metrics.calibration import ALARM
from credo.study.facts import Numbers, calibration_sentence
from credo.study.report._figure import Figure, figure

# Points of the predicted curve.
_N_POINTS = 100


def event_sentence(found: Numbers, *, target: str) -> str:
    """How many events were observed, and the median time."""
    curve, n = _curve(found), len(found.held.y)
    half = f"half of the rows have a longer {target} than {number(curve.median)}"
    if not np.isfinite(curve.median):
        last = float(curve.time[-1])
        half = f"{percent(float(curve.survival[-1]))} of the rows have a longer {target} than {number(last)}"
    return (
        f"The event was observed in {int(curve.events.sum()):,} of {plural(n, 'row')}; {half} (Kaplan–Meier estimate)."
    )


def survival_figures(found: Numbers, *, target: str) -> list[Figure]:
    """The Kaplan–Meier curve beside the predictions, and their calibration."""
    held = found.held
    dist, curve = held.held.dist, _curve(found)
    assert isinstance(dist, RightCensored)
    times = np.linspace(0.0, float(held.y.max()), _N_POINTS)
    longer = np.array([float(np.mean(1.0 - dist.base.cdf(time))) for time in times])
    lower, upper = curve.interval(0.95)
    at = np.interp(curve.time, times, longer)
    inside = float(np.mean((lower <= at) & (at <= upper)))
    verdict = f"The average of the predictions is inside the 95 % band at {percent(inside)} of the times of events."
    shape = held.uniformity
    return [
        figure(
            "survival",
            "How long until the event?",
            lambda ax: plots.survival(curve, predicted=(times, longer), name=target, ax=ax),
            verdict,
            "The share of rows with a longer time, by the Kaplan–Meier estimate with its 95 % band, which takes "
            "censored rows into account; and the average of the held-out predictions.",
        ),
        figure(
            "calibration",
            "Are the intervals calibrated?",
            lambda ax: plots.calibration(held.pit, bins=len(shape.bars.counts), level=1 - ALARM, ax=ax),
            calibration_sentence(shape),
            "Flat: calibrated. U-shaped: overconfident. Hump: underconfident. Slope: biased. A censored row is at a "
            "random place above the probability of its time. With a calibrated model, all bars stay between the dashed "
            "lines in 99 % of cases.",
        ),
    ]


def _curve(found: Numbers) -> KaplanMeier:
    dist = found.held.held.dist
    assert isinstance(dist, RightCensored)
    return kaplan_meier(found.held.y, np.isinf(dist.limit))
