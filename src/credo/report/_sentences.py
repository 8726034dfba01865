"""The report's sentences: each says what some facts mean for this data, and no more than they show."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from credo.report._effects import Effects
from credo.report._facts import ALARM, ALARM_Z, Correlation, Coverage, Pattern, Uniformity
from credo.report._numbers import about, count, listing, number, p_value, percent, several, spelled, whole_percent
from credo.selection import Gap

# An effect of about three standard deviations, as a multiple of the width of its 95 % interval.
_STRONG = 0.75
# Fewer rows than this can't show a pattern that is worth a sentence.
_FEW = 20


def error(rmse: float, baseline: float | None, *, clear: bool, target: str) -> str:
    """The RMSE beside that of the baseline; `clear` says whether the difference is more than chance would explain."""
    off = f"RMSE on held-out rows: {number(rmse)}"
    if baseline is None or not math.isfinite(rmse):
        return f"{off}."
    saved, other = 1 - rmse / baseline, f"the baseline, which always predicts the mean, has {number(baseline)}"
    if saved >= 0.01:
        verdict = "" if clear else ", a difference that chance could explain"
        return f"{off}; {other}. The model removes {whole_percent(saved)} of its error{verdict}."
    verdict = "no smaller than" if saved > -0.01 else "larger than"
    return f"{off}, {verdict} that of the baseline, which always predicts the mean ({number(baseline)})."


def coverage(fact: Coverage, shape: Uniformity | None = None) -> str:
    """Whether the 95 % intervals hold 95 % of the rows.

    `shape` knows whether most of them are too wide all the same.
    """
    share = fact.inside / fact.n
    bounds = count(fact.low) if fact.low == fact.high else f"{count(fact.low)}–{count(fact.high)}"
    if fact.low <= fact.inside <= fact.high:
        off = "" if shape is None else "wider" if shape.too_wide else "narrower" if shape.too_narrow else ""
        more = f". Intervals of lower levels are {off} than they should be" if off else ""
        verdict = f"as expected ({bounds}){more}"
    elif fact.inside < fact.low and shape is not None and shape.too_wide:
        verdict = f"fewer than expected ({bounds}), although most intervals are wider than necessary"
    elif fact.inside < fact.low:
        what = "slightly overconfident" if share > 0.93 else "overconfident: treat its intervals as too narrow"
        verdict = f"fewer than expected ({bounds}); the model is {what}"
    else:
        what = "slightly underconfident" if share < 0.97 else "underconfident: its intervals are wider than necessary"
        verdict = f"more than expected ({bounds}); the model is {what}"
    return (
        f"Coverage: {count(fact.inside)} of {several(fact.n, 'held-out row')} ({percent(share)}) are inside their 95 % "
        f"interval, {verdict}."
    )


def agreement(r2: float | None, fact: Coverage, *, target: str) -> str:
    """What the predicted-versus-actual figure shows."""
    missed = fact.n - fact.inside
    bars = (
        f"{count(missed) if missed else 'None'} of {several(fact.n, 'interval')} "
        f"{'misses' if missed == 1 else 'miss'} the actual value; about {about(0.05 * fact.n)} should."
    )
    if r2 is None:
        return bars
    share = whole_percent(r2) if r2 > 0 else "none"
    return f"The predictions explain {share} of the variance of {target} in held-out rows. {bars}"


def calibration(fact: Uniformity) -> str:
    """What the PIT histogram shows."""
    if fact.n < _FEW:
        return f"{several(fact.n, 'row')} are too few to judge calibration."
    test = f"chi-square test, {p_value(fact.bars.p)}"
    signs = _departures(fact)
    if not signs and fact.bars.are_flat:
        return f"No sign of miscalibration in {several(fact.n, 'row')} ({test})."
    if not signs:
        signs = [f"the bars are less even than chance allows ({test})"]
    points = 100 * fact.distance
    close = ", too little to matter for most uses" if points < 2 else ""
    return (
        f"{'. '.join(capital(sign) for sign in signs)}. Predicted and observed probabilities differ by up to "
        f"{number(points, digits=2)} percentage points{close}."
    )


def _departures(fact: Uniformity) -> list[str]:
    signs = [_width(fact)] if fact.too_wide or fact.too_narrow else []
    if abs(fact.bias) > ALARM_Z:
        side, verdict = ("above", "low") if fact.bias > 0 else ("below", "high")
        share = fact.above if fact.bias > 0 else 1 - fact.above
        signs.append(
            f"biased: {whole_percent(share)} of the observations are {side} the median of their predictive "
            f"distributions, so predictions tend to be too {verdict}"
        )
    return signs


def _width(fact: Uniformity) -> str:
    """Whether the distributions are too wide, too narrow, or too wide for most rows and too narrow for some."""
    if not fact.too_wide:
        return "overconfident: too many observations are in the tails of their predictive distributions"
    if not fact.too_narrow:
        return "underconfident: too many observations are near the middle of their predictive distributions"
    outer = 1 - fact.coverage.inside / fact.coverage.n
    text = (
        f"{whole_percent(fact.central)} of the observations are in the middle half of their predictive distributions "
        f"(50 % expected) and {whole_percent(outer)} in the outermost 5 %"
    )
    if fact.central > 0.5:
        return f"{text}: intervals are too wide for most rows and too narrow for some"
    return f"{text}: intervals are too wide for some rows and too narrow for others"


def residuals(fact: Pattern, left: NDArray[np.float64], *, useful: bool) -> str:
    """What the residuals show: only patterns for which there is evidence.

    The mean of the other folds is low where the held-out fold is high, so a model that predicts next to
    nothing (not `useful`) shows a falling trend without being wrong; then the trend is left out.
    """
    size = np.abs(left)
    half = f"Half of the errors are below {number(float(np.median(size)))}; the largest is {number(float(size.max()))}."
    if fact.n < _FEW:
        return f"{several(fact.n, 'row')} are too few to show a pattern. {half}"
    signs = _patterns(fact, useful=useful)
    if not signs:
        return f"No clear trend: mean and spread of the residuals don't change with the prediction. {half}"
    return f"{'. '.join(capital(sign) for sign in signs)}. {half}"


def _patterns(fact: Pattern, *, useful: bool) -> list[str]:
    signs = []
    if useful and fact.level.p < ALARM:
        way, verdict = ("rise", "too close to the mean") if fact.level.rho > 0 else ("fall", "too extreme")
        signs.append(f"residuals {way} with the prediction ({_rank(fact.level)}): predictions are {verdict}")
    if fact.bend.p < ALARM:
        side = "above" if fact.bend.rho > 0 else "below"
        signs.append(
            f"at both ends the actual values are {side} the predictions ({_rank(fact.bend)}): the model misses some "
            "curvature"
        )
    if fact.size.p < ALARM:
        way = "grow" if fact.size.rho > 0 else "shrink"
        signs.append(f"errors {way} with the prediction more than the intervals do ({_rank(fact.size)})")
    return signs


def inputs(fact: Effects, *, best: str, target: str, names: list[str]) -> str:
    """Which inputs matter most and in which direction, for the headline."""
    sure = np.flatnonzero(fact.sure)
    if not len(sure):
        return f"No coefficient of {fact.model} differs clearly from zero."
    # Of many columns one or the other excludes zero by chance: beside surer ones, that is no headline.
    strong = sure[fact.strength[sure] >= _STRONG]
    sure = strong if len(strong) else sure
    surest = sure[np.argsort(-fact.strength[sure], kind="stable")][:4]
    up = [names[i] for i in surest if fact.estimate[i] > 0]
    down = [names[i] for i in surest if fact.estimate[i] < 0]
    ways = [f"{way} with {listing(group)}" for way, group in (("rises", up), ("falls", down)) if group]
    loose = [name for name, known in zip(names, np.isfinite(fact.upper - fact.lower), strict=True) if not known]
    whose = "" if fact.model == best else f" in {fact.model}"
    fixed = ", other inputs held fixed" if len(names) > 1 else ""
    rest = f" These rows don't determine the coefficients of {listing(loose, at_most=3)}." if loose else ""
    return f"Clearest effect{'s' * (len(surest) > 1)}{whose}: {target} {' and '.join(ways)}{fixed}.{rest}"


def coefficients(fact: Effects, *, best: str, names: list[str], shown: int) -> str:
    """Which coefficients differ clearly from zero, and of which model they are if not of the selected one."""
    n, sure = len(fact.names), np.flatnonzero(fact.sure)
    if len(sure):
        every = "both" if n == 2 else f"all {spelled(n)}"
        some = every if len(sure) == n else f"{spelled(len(sure))} of the {spelled(n)}"
        which = "the only coefficient" if n == 1 else f"{some} coefficients"
        have = "has a 95 % interval that excludes" if len(sure) == 1 else "have 95 % intervals that exclude"
        groups = [
            f"{listing([names[i] for i in group], at_most=8)} ({word})"
            for group, word in (
                (sure[fact.estimate[sure] > 0], "positive"),
                (sure[fact.estimate[sure] < 0], "negative"),
            )
            if len(group)
        ]
        text = f"{which} {have} zero: {'; '.join(groups)}."
    elif n == 1:
        text = "the only coefficient has a 95 % interval that includes zero."
    else:
        which = "neither of the two" if n == 2 else f"none of the {spelled(n)}"
        text = f"{which} coefficients has a 95 % interval that excludes zero."
    text = capital(text) if fact.model == best else f"In {fact.model}, {text}"
    if n >= _FEW and len(sure):
        text += f" If no input had an effect, about {about(0.05 * n)} would do so by chance."
    loose = n - fact.known
    if loose:
        weight = "coefficient is" if loose == 1 else "coefficients are"
        text += f" {capital(spelled(loose))} {weight} not determined by these rows."
    if shown < fact.known:
        text += f" The figure shows the {spelled(shown)} that are largest relative to their uncertainty."
    return text


def lead(best: str, second: str, fact: Gap, *, what: str = "log score") -> str:
    """The first two of the leaderboard, compared row by row."""
    if fact.mean == 0 and fact.error == 0:
        return f"{best} and {second} give the same predictions."
    if not (math.isfinite(fact.mean) and math.isfinite(fact.error)):
        return f"{best} and {second} can't be compared row by row, because a {what} is not finite."
    verdict = "a clear difference" if fact.clear else "within two standard errors, so chance could explain it"
    return (
        f"{best} leads {second} by {number(fact.mean, digits=2)} in {what} per row "
        f"(standard error {number(fact.error, digits=2)}): {verdict}."
    )


def reference(top: str, ahead: Gap, *, classes: bool = False) -> str:
    """What the log score of a model is worth that is so far ahead of the baseline."""
    if not math.isfinite(ahead.mean) or ahead.mean <= 0:
        return ""
    times = number(math.exp(min(ahead.mean, 700.0)), digits=3 if ahead.mean < 0.1 else 2)
    verdict = "" if ahead.clear else ", a difference that chance could explain"
    return (
        f"{top} makes the observed {'labels' if classes else 'values'} {times} times as probable as the baseline does "
        f"(geometric mean over the rows){verdict}."
    )


def evidence(logs: Mapping[str, float], top: str) -> str:
    """Whether the evidence, which holds no rows out, prefers the same model as the held-out log score does.

    `logs` are the log evidences of the models that have one, `top` is the model of the best held-out log score.
    """
    if len(logs) < 2:
        return ""
    first, second = sorted(logs, key=lambda name: -logs[name])[:2]
    lead = number(logs[first] - logs[second], digits=2)
    if top not in logs:
        return f"Of {spelled(len(logs))} models with a log evidence, {first} has the largest, {lead} above {second}."
    also = "also" if first == top else "instead"
    return f"The log evidence, which needs no held-out rows, {also} favours {first}, by {lead} over {second}."


def _rank(fact: Correlation) -> str:
    return f"Spearman ρ = {number(fact.rho, digits=2)}, {p_value(fact.p)}"


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]
