"""The report's sentences: each says what some facts mean for this data, and no more than they show."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from credo.report._effects import Effects
from credo.report._facts import ALARM, ALARM_Z, Correlation, Coverage, Pattern, Uniformity
from credo.report._numbers import about, count, listing, number, p_value, several, spelled, whole_percent
from credo.selection import Gap

# An effect of about three standard deviations, as a multiple of the width of its 95 % interval.
_STRONG = 0.75
# Fewer rows than this can't show a pattern that is worth a sentence.
_FEW = 20


def winner(best: str, *, n_models: int, n_failed: int, n_tied: int, target: str) -> str:
    """Which model is taken: the best, or the simplest of `n_tied` that chance alone could have put in this order."""
    failed = f" {capital(several(n_failed, 'more model', spell=True))} could not be fitted." if n_failed else ""
    if n_models == 1:
        return f"{best} is the only model that was fitted.{failed}"
    if n_tied == 1:
        return f"{best} predicts {target} best of the {spelled(n_models)} models compared, by a clear margin.{failed}"
    both = "both models predict" if n_models == 2 else f"all {spelled(n_models)} models predict"
    some = f"{spelled(n_tied)} of {spelled(n_models)} models predict"
    return (
        f"{best} is the model to take: {both if n_tied == n_models else some} {target} about equally well on held-out "
        f"rows, as far as chance lets us tell, and it is the simplest of them.{failed}"
    )


def error(rmse: float, guess: float | None, *, clear: bool, target: str) -> str:
    """How far off the predictions are, and what a guess without the columns would reach.

    `clear` says whether the difference is more than chance would explain.
    """
    off = f"On rows that it had not seen, its root mean squared error is {number(rmse)} in units of {target}"
    if guess is None or not math.isfinite(rmse):
        return f"{off}."
    saved = 1 - rmse / guess
    if saved >= 0.01:
        gain = f"so the columns remove {whole_percent(saved)} of the error"
        verdict = gain if clear else "a difference that chance alone could explain"
        return f"{off}; that of always guessing the mean is {number(guess)}, {verdict}."
    verdict = "about the same as" if saved > -0.01 else "worse than"
    return f"{off}, {verdict} that of always guessing the mean ({number(guess)}): the columns are of no help here."


def coverage(fact: Coverage, shape: Uniformity | None = None) -> str:
    """Whether the 95 % intervals held what they promised.

    `shape` knows whether most of them are too wide all the same.
    """
    share = fact.inside / fact.n
    if fact.low <= fact.inside <= fact.high:
        verdict = "about what it should be"
    elif fact.inside < fact.low and shape is not None and shape.too_wide:
        verdict = "too few, though most of the intervals are wider than they need be"
    elif fact.inside < fact.low:
        verdict = "slightly too few" if share > 0.93 else "too few, so the intervals are too narrow"
    else:
        verdict = "slightly too many" if share < 0.97 else "too many, so the intervals could be narrower"
    bounds = count(fact.low) if fact.low == fact.high else f"{count(fact.low)}–{count(fact.high)}"
    return (
        f"{count(fact.inside)} of {several(fact.n, 'held-out row')} fell inside their 95 % interval: "
        f"{verdict} (chance allows {bounds})."
    )


def agreement(r2: float | None, fact: Coverage, *, target: str) -> str:
    """What the predicted-versus-actual figure shows."""
    missed = fact.n - fact.inside
    bars = (
        f"{count(missed) if missed else 'None'} of the {several(fact.n, 'bar')} "
        f"{'misses' if missed == 1 else 'miss'} the diagonal; "
        f"95 % intervals should miss about {about(0.05 * fact.n)}."
    )
    if r2 is None:
        return bars
    share = whole_percent(r2) if r2 > 0 else "none"
    return (
        f"The predictions account for {share} of the variance of {target} in rows that the model had not seen. {bars}"
    )


def calibration(fact: Uniformity) -> str:
    """What the PIT histogram shows."""
    if fact.n < _FEW:
        return f"With {several(fact.n, 'row')} the bars can't tell honest uncertainty from any other."
    test = f"chi-square test of the bars, {p_value(fact.bars.p)}"
    signs = _departures(fact)
    if not signs and fact.bars.are_level:
        return (
            f"The bars are as level as {several(fact.n, 'row')} can show ({test}): "
            "no sign that the stated uncertainty is wrong."
        )
    if not signs:
        signs = [f"the bars are less level than chance allows ({test})"]
    points = 100 * fact.distance
    close = ", too little to matter for most uses" if points < 2 else ""
    return (
        f"{capital('; and '.join(signs))}. Stated and observed probabilities differ by up to "
        f"{number(points, digits=2)} percentage points{close}."
    )


def _departures(fact: Uniformity) -> list[str]:
    signs = [_width(fact)] if fact.too_wide or fact.too_narrow else []
    if abs(fact.bias) > ALARM_Z:
        side, verdict = ("above", "low") if fact.bias > 0 else ("below", "high")
        share = fact.above if fact.bias > 0 else 1 - fact.above
        signs.append(
            f"{whole_percent(share)} of the observations lie {side} the middle of their predictive "
            f"distributions: the predictions tend to be too {verdict}"
        )
    return signs


def _width(fact: Uniformity) -> str:
    """Whether the distributions are too wide, too narrow, or too wide for most rows and too narrow for some."""
    if not fact.too_wide:
        return (
            "too many observations fell in the tails of their predictive distributions: the model is surer than it "
            "should be"
        )
    if not fact.too_narrow:
        return (
            "too many observations fell near the middle of their predictive distributions: the model is less sure "
            "than it could be"
        )
    outer = 1 - fact.coverage.inside / fact.coverage.n
    text = (
        f"{whole_percent(fact.central)} of the observations fell in the middle half of their predictive distributions, "
        f"where 50 % should, and {whole_percent(outer)} in the outermost 5 %"
    )
    if fact.central > 0.5:
        return f"{text}: the stated uncertainty is too wide for most rows and too narrow for some"
    return f"{text}: too wide for some rows and too narrow for others"


def residuals(fact: Pattern, left: NDArray[np.float64], *, useful: bool) -> str:
    """What the residuals show: only patterns for which there is evidence.

    The mean of the other folds is low where the held-out fold is high, so a model that predicts next to
    nothing (not `useful`) shows a falling level without being wrong; then the level is left out.
    """
    size = np.abs(left)
    half = (
        f"Half of the predictions are off by less than {number(float(np.median(size)))}, "
        f"the worst by {number(float(size.max()))}."
    )
    if fact.n < _FEW:
        return f"With {several(fact.n, 'row')} no pattern could be told from chance. {half}"
    signs = _patterns(fact, useful=useful)
    if not signs:
        return (
            "No pattern: neither the residuals' level nor their size changes with the predicted value "
            f"as far as {several(fact.n, 'row')} can show. {half}"
        )
    return f"{capital('; '.join(signs))}. {half}"


def _patterns(fact: Pattern, *, useful: bool) -> list[str]:
    signs = []
    if useful and fact.level.p < ALARM:
        direction, verdict = ("rise", "too close to the middle") if fact.level.rho > 0 else ("fall", "too extreme")
        signs.append(
            f"the residuals {direction} with the predicted value ({_rank(fact.level)}): the predictions are {verdict}"
        )
    if fact.bend.p < ALARM:
        signs.append(
            f"towards both ends the actual values lie {'above' if fact.bend.rho > 0 else 'below'} the "
            f"predictions ({_rank(fact.bend)}): there is a curve that this model doesn't follow"
        )
    if fact.size.p < ALARM:
        signs.append(
            f"the errors {'grow' if fact.size.rho > 0 else 'shrink'} with the predicted value "
            f"({_rank(fact.size)}): one noise level for all rows doesn't describe them"
        )
    return signs


def inputs(fact: Effects, *, best: str, target: str, names: list[str]) -> str:
    """Which inputs matter most and in which direction, for the headline."""
    sure = np.flatnonzero(fact.sure)
    if not len(sure):
        return f"No single input of {fact.model} has a coefficient that can be told from zero."
    # Of many columns one or the other excludes zero by chance: beside surer ones, that is no headline.
    strong = sure[fact.strength[sure] >= _STRONG]
    sure = strong if len(strong) else sure
    surest = sure[np.argsort(-fact.strength[sure], kind="stable")][:4]
    up = [names[i] for i in surest if fact.estimate[i] > 0]
    down = [names[i] for i in surest if fact.estimate[i] < 0]
    ways = [f"{way} with {listing(group)}" for way, group in (("rises", up), ("falls", down)) if group]
    loose = [name for name, known in zip(names, np.isfinite(fact.upper - fact.lower), strict=True) if not known]
    most = "What matters most" if len(sure) > 1 or loose else "What matters"
    most += "" if fact.model == best else f" in {fact.model}"
    fixed = ", the other inputs held fixed" if len(names) > 1 else ""
    rest = f" These rows don't determine the coefficients of {listing(loose, at_most=3)}." if loose else ""
    return f"{most}: {target} {' and '.join(ways)}{fixed}.{rest}"


def coefficients(fact: Effects, *, best: str, names: list[str], shown: int) -> str:
    """Which coefficients can be told from zero, and whose they are when not those of the model that is taken."""
    n, sure = len(fact.names), np.flatnonzero(fact.sure)
    if len(sure):
        every = "both" if n == 2 else f"all {spelled(n)}"
        some = every if len(sure) == n else f"{spelled(len(sure))} of the {spelled(n)}"
        which = "the one coefficient" if n == 1 else f"{some} coefficients"
        have = "has a 95 % interval that excludes" if len(sure) == 1 else "have 95 % intervals that exclude"
        groups = [
            f"{listing([names[i] for i in group], at_most=8)} ({word})"
            for group, word in (
                (sure[fact.estimate[sure] > 0], "upward"),
                (sure[fact.estimate[sure] < 0], "downward"),
            )
            if len(group)
        ]
        text = f"{which} {have} zero: {'; '.join(groups)}."
    elif n == 1:
        text = "the one coefficient has a 95 % interval that includes zero."
    else:
        which = "neither of the two" if n == 2 else f"none of the {spelled(n)}"
        text = f"{which} coefficients has a 95 % interval that excludes zero."
    text = capital(text) if fact.model == best else f"In {fact.model}, {text}"
    if n >= _FEW and len(sure):
        text += f" If no column mattered, about {about(0.05 * n)} would by chance."
    loose = n - fact.known
    if loose:
        weight = "coefficient is" if loose == 1 else "coefficients are"
        text += f" {capital(spelled(loose))} {weight} not determined by these rows."
    if shown < fact.known:
        text += f" Shown are the {spelled(shown)} that are largest compared with their uncertainty."
    return text


def lead(best: str, second: str, fact: Gap, *, what: str = "log score") -> str:
    """The first two of the leaderboard, compared row by row."""
    if fact.mean == 0 and fact.error == 0:
        return f"{best} and {second} give the same predictions."
    if not (math.isfinite(fact.mean) and math.isfinite(fact.error)):
        return f"{best} and {second} can't be compared row by row, since a {what} is not finite."
    verdict = "more than chance alone would explain" if fact.clear else "chance alone could explain it"
    return (
        f"{best} is ahead of {second} by {number(fact.mean, digits=2)} in {what} per row "
        f"(standard error {number(fact.error, digits=2)}): {verdict}."
    )


def reference(ahead: float, *, classes: bool = False) -> str:
    """What a log score is worth that is so far ahead of guessing the mean, or the shares of the classes."""
    guess, what = ("the shares of the classes", "labels") if classes else ("always guessing the mean", "values")
    if not math.isfinite(ahead):
        return ""
    if ahead <= 0:
        return f"No model's log {'loss' if classes else 'score'} beats that of {guess}."
    times = number(math.exp(min(ahead, 700.0)), digits=3 if ahead < 0.1 else 2)
    return (
        f"Compared with {guess}, the best model makes the observed {what} {times} times "
        "as probable (geometric mean over the rows)."
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
        return f"Of the {spelled(len(logs))} models with an evidence, {first} has the largest, {lead} above {second}."
    if first == top:
        return f"The evidence, for which no row is held out, is largest for {first} as well, {lead} above {second}."
    return f"The evidence, for which no row is held out, is largest for {first} instead, {lead} above {second}."


def surprise(furthest: float, n: int) -> str:
    """Whether the furthest row is further than the furthest of so many normal ones would be.

    Of n values the furthest is exceeded in size by one in n on average: Φ⁻¹(1 − 1/2n).
    """
    expected = float(ndtri(1 - 0.5 / n))
    return (
        f"Among {count(n)} normally distributed rows the furthest would be about {expected:.1f} standard "
        f"deviations off; here it is {furthest:.1f}."
    )


def _rank(fact: Correlation) -> str:
    return f"Spearman ρ = {number(fact.rho, digits=2)}, {p_value(fact.p)}"


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]
