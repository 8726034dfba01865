"""The selection rule, with the sentence that gives the reason, and paired differences between scores.

1. A model must beat the baseline: a better log score and an RMSE (or accuracy) that is no worse, one of them by more
   than one standard error. If the log score is clearly better, an RMSE that is larger by less than a tenth, and not
   clearly, is no worse. If no model beats the baseline, the baseline is selected.
2. The leader has the best held-out log score. If another model's RMSE is lower by a tenth or more, and clearly
   (its accuracy clearly higher), the two scores contradict each other, and the best CRPS (Brier score) decides; but not
   in favour of an overconfident model over a leader that isn't and whose lead in log score is clear.
3. Models are tied with the leader if the paired difference of their log scores is negligible, or small and within one
   standard error (half of one if the leader is at least as good on every measure), and their RMSE isn't clearly lower
   by a tenth or more. The simplest of these is selected, the one named first.
   For rows in time order, models whose intervals for later times are too narrow compared with their held-out errors
   are excluded first.
4. A model whose calibration is rejected, by enough to matter, is passed over if there is a calibrated one that doesn't
   predict much worse. If its intervals are not too narrow, or it is underconfident, the calibrated one must predict
   about as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Bernoulli, Categorical
from credo.metrics import brier, crps, forecast, pit, point
from credo.metrics.calibration import ALARM, MIN_CALIBRATION_ROWS, class_calibration, coverage_test, uniformity

# A mean difference of more standard errors than this is called clear; by chance this happens about once in 20 times.
CLEAR_STD_ERRORS = 2.0


@dataclass(frozen=True)
class Gap:
    """Mean difference of held-out scores, first − second, with its standard error over the rows.

    Examples
    --------
    >>> from credo.selection import Gap
    >>> Gap(mean=0.12, error=0.02).clear, Gap(mean=0.01, error=0.02).clear
    (True, False)
    """

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the difference is larger than two standard errors.

        An infinite difference is clear too: one of the models gave an outcome probability zero.

        >>> Gap(0.30, 0.16).clear, Gap(0.35, 0.16).clear, Gap(float("inf"), float("nan")).clear
        (False, True, True)
        """
        return bool(np.isinf(self.mean) or abs(self.mean) > CLEAR_STD_ERRORS * self.error)


def gap(first: NDArray[np.float64], second: NDArray[np.float64]) -> Gap:
    """The paired difference of two models' scores, row by row.

    Equal scores have difference zero, even if they are infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.selection import gap
    >>> found = gap(np.array([1.0, 3.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    >>> found.mean, round(found.error, 4)
    (1.0, 0.5774)
    """
    difference = np.zeros(len(first))
    np.subtract(first, second, out=difference, where=first != second)
    with np.errstate(invalid="ignore"):
        mean = float(difference.mean())
        error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else float("nan")
    return Gap(mean, error)


BASELINE = "baseline"
# The forecast by the last value, for rows in time order.
NAIVE = "naive"

# An RMSE contradicts the log score if it is smaller than this factor times the other.
_RMSE_RATIO = 0.9
# Smaller deviations of the coverage of 95 % intervals from 0.95, and of PIT values from uniform, don't matter.
_MIN_COVERAGE_ERROR, _MIN_PIT_DISTANCE = 0.03, 0.08
# Small leads, in nats per row: in log score, and in log loss, absolute or relative to the leader's.
_SMALL_SCORE, _SMALL_LOSS, _SMALL_LOSS_SHARE = 0.05, 0.01, 0.2
# A lead in nats per row that doesn't matter, even if it exceeds a standard error.
_NEGLIGIBLE_LEAD = 0.002
# A calibrated model is no alternative if its log score is this much lower, in nats per row, or its RMSE this many times
# larger.
_MAX_SCORE_LOSS, _MAX_RMSE_RATIO = 0.25, 1.5
_CLASS_FAULTS = {
    "overconfident": "it is overconfident",
    "underconfident": "it is underconfident",
    "miscalibrated": "its probabilities are not calibrated",
}
_SPELLED = ("", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True)
class Selection:
    """The model to use, the models that are statistically tied with the leader, and why.

    `why` follows the model's name in `reason`; `notes` are further remarks on the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression, LinearRegression, compare
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.tile([0.1, -0.2, 0.3, -0.1], 5)
    >>> models = {"line": LinearRegression(), "bayes": BayesianLinearRegression()}
    >>> comparison = compare(models, X, y, cv=4, random_state=0)
    >>> comparison.selection.name, comparison.selection.reason
    ('line', 'Selected: line. Two models are statistically tied (line, bayes); it is the simplest.')
    """

    name: str
    tied: Sequence[str]
    why: str
    notes: Sequence[str] = ()

    @property
    def reason(self) -> str:
        """The selected model and why, in a sentence or two."""
        return f"Selected: {self.name}. {self.why}"


@dataclass(frozen=True)
class Candidate:
    """One model's held-out predictions, with the quantities of the rule."""

    name: str
    y: NDArray[Any]
    dist: Any
    scores: Mapping[str, float]
    # Why its forecasts of later times can't be trusted, or empty.
    narrow_ahead: str = ""

    @cached_property
    def is_classifier(self) -> bool:
        return isinstance(self.dist, Bernoulli | Categorical)

    @cached_property
    def log_score(self) -> NDArray[np.float64]:
        """Log predictive density, or probability, of each row."""
        return self.dist.log_prob(self.y)

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """Squared error of each row, or 1 if the label is wrong."""
        if self.is_classifier:
            found = forecast(self.y, self.dist)
            return (found.predicted != found.codes).astype(np.float64)
        # The mean of a transformed target may be so large that its square overflows.
        with np.errstate(over="ignore"):
            return (self.y - point(self.dist)) ** 2

    @property
    def losses(self) -> NDArray[np.float64]:
        """Every measure, lower is better: negative log score, error, and CRPS or Brier score."""
        name, measure = ("brier", brier) if self.is_classifier else ("crps", crps)
        third = self.scores[name] if name in self.scores else measure(self.y, self.dist)
        return np.array([-self.log_score.mean(), self.errors.mean(), third])

    @property
    def is_rejected(self) -> bool:
        """Whether it is miscalibrated by more than chance, and by enough to matter."""
        return bool(self.fault)

    @cached_property
    def fault(self) -> str:
        """What is wrong with the calibration of a model that is rejected; otherwise empty."""
        if self.is_classifier:
            return _CLASS_FAULTS.get(class_calibration(self.y, self.dist).verdict, "")
        if len(self.y) < MIN_CALIBRATION_ROWS:
            return ""
        lower, upper = self.dist.interval(0.95)
        covered = coverage_test((lower <= self.y) & (self.y <= upper))
        excess = covered.inside / covered.n - 0.95
        is_off = abs(excess) > _MIN_COVERAGE_ERROR and not covered.low <= covered.inside <= covered.high
        if not is_off:
            shape = uniformity(pit(self.y, self.dist))
            if shape.distance <= _MIN_PIT_DISTANCE or shape.bars.p >= ALARM:
                return ""
        too = "narrow" if excess < 0 else "wide"
        return f"its 95 % intervals are too {too}" if is_off else "its predictive distributions are not calibrated"

    @property
    def is_cautious(self) -> bool:
        """Whether 95 % intervals of a number contain at least that share, or more labels are correct than promised."""
        if self.is_classifier:
            return self.fault == _CLASS_FAULTS["underconfident"]
        lower, upper = self.dist.interval(0.95)
        return bool(np.mean((lower <= self.y) & (self.y <= upper)) >= 0.95)

    @property
    def is_overconfident(self) -> bool:
        """Whether it is miscalibrated, and not because its intervals are too wide."""
        return self.is_rejected and not self.is_cautious

    def beats(self, other: Candidate) -> bool:
        """Whether its log score is better and its error not larger.

        For labels, not clearly larger. For numbers, with a clearly better log score, less than a tenth and not clearly.
        """
        if not self.log_score.mean() > other.log_score.mean():
            return False
        lost = gap(self.errors, other.errors)
        if lost.mean <= 0:
            return True
        if lost.mean > CLEAR_STD_ERRORS * lost.error:
            return False
        return self.is_classifier or (self.clearly_leads(other) and other.rmse > _RMSE_RATIO * self.rmse)

    def clearly_leads(self, other: Candidate) -> bool:
        """Whether the paired difference of log scores is more than chance would explain."""
        lead = gap(self.log_score, other.log_score)
        return lead.mean > 0 and lead.clear

    def is_no_worse_than(self, other: Candidate) -> bool:
        """Whether it is at least as good on every measure."""
        return bool((self.losses <= other.losses).all())

    @cached_property
    def rmse(self) -> float:
        """Root mean squared error, or the root of the share of wrong labels."""
        return float(np.sqrt(self.errors.mean()))

    def is_contradicted_by(self, other: Candidate) -> bool:
        """Whether the other's RMSE is lower by a tenth, and clearly (for labels: its accuracy is clearly higher)."""
        return other.rmse < _RMSE_RATIO * self.rmse and gap(self.errors, other.errors).clear


def select(candidates: Sequence[Candidate]) -> Selection:
    """Select one of the candidates, which are ordered by simplicity; "baseline" is the one to beat.

    Those whose intervals are too narrow for later times are passed over if others are left.
    """
    kept = [c for c in candidates if not c.narrow_ahead]
    if len(kept) == len(candidates) or not any(c.name != BASELINE for c in kept):
        return _select(candidates)
    found = _select(kept)
    score = next(c.log_score.mean() for c in kept if c.name == found.name)
    better = [c for c in candidates if c.narrow_ahead and c.log_score.mean() > score]
    if not better:
        return found
    best = max(better, key=lambda c: c.log_score.mean())
    also = f" (and so are those of {', '.join(c.name for c in better if c is not best)})" if len(better) > 1 else ""
    why = f"{best.name} has the better log score, but {best.narrow_ahead}{also}. Of the other models: {found.why}"
    return replace(found, why=why)


def _select(candidates: Sequence[Candidate]) -> Selection:
    baseline = next((c for c in candidates if c.name == BASELINE), None)
    others = [c for c in candidates if c is not baseline]
    eligible = better = [c for c in others if baseline is None or c.beats(baseline)]
    measure = "log loss" if candidates[0].is_classifier else "log score"
    if not eligible:
        assert baseline is not None
        guess = "the class frequencies" if baseline.is_classifier else "the mean"
        error = "accuracy is lower" if baseline.is_classifier else "RMSE is no smaller"
        likelier = [c for c in others if c.log_score.mean() > baseline.log_score.mean()]
        why = f"No model predicts better than the baseline, which always predicts {guess}."
        if likelier:
            why = f"No model beats the baseline ({guess}): where the {measure} is better, the {error}."
        return Selection(BASELINE, [BASELINE], why)
    leader, notes = _leader(eligible)
    if notes:
        eligible = [c for c in eligible if not c.is_contradicted_by(leader)]
    pool = [*([] if baseline is None else [baseline]), *eligible]
    tied = [c for c in pool if c is leader or (_ties_as_baseline(c, leader) if c is baseline else _ties(c, leader))]
    chosen, passed_over = _calibrated(tied, eligible, leader)
    names = [c.name for c in tied]
    if chosen.name == BASELINE:
        return Selection(BASELINE, names, "No model is clearly better than the baseline on these rows.", notes)
    if passed_over:
        why = (
            f"{passed_over.name} has the better {measure}, but {passed_over.fault}; {chosen.name} is the best model "
            "whose calibration is not rejected."
        )
    elif chosen.is_rejected and any(not c.is_rejected for c in eligible):
        why = f"It has the best held-out {measure}, although {chosen.fault}; the calibrated models predict worse."
    elif len(candidates) == 1:
        why = "It is the only model."
    elif len(better) == 1 < len(others):
        assert baseline is not None
        error, worse = ("accuracy", "lower") if chosen.is_classifier else ("RMSE", "larger")
        both = chosen.rmse <= baseline.rmse
        how = f"both {measure} and {error}" if both else f"{measure} without a clearly {worse} {error}"
        why = f"It is the only model that beats the baseline by {how}."
    elif notes:
        why = f"The scores disagree, and it has the best {'Brier score' if chosen.is_classifier else 'CRPS'}."
    elif len(tied) == 1:
        clear = all(leader.clearly_leads(c) for c in pool if c is not leader)
        why = f"It has the best held-out {measure}{_among(others, leader)}"
        why += ", by a clear margin." if clear else "."
    else:
        count = _SPELLED[len(tied)] if len(tied) < len(_SPELLED) else str(len(tied))
        listed = f" ({', '.join(names)})" if len(names) <= 4 else ""
        calibrated = "" if chosen is tied[0] else " whose calibration is not rejected"
        why = f"{count} models{_among(others, leader)} are statistically tied{listed}; it is the simplest{calibrated}."
    return Selection(chosen.name, names, why, notes)


def _among(others: Sequence[Candidate], leader: Candidate) -> str:
    """The models among which the leader is best, if others have a better log score."""
    if not any(c.log_score.mean() > leader.log_score.mean() for c in others):
        return ""
    return f" of those whose {'accuracy' if leader.is_classifier else 'RMSE'} is not clearly worse than the baseline's"


def _ties(other: Candidate, leader: Candidate) -> bool:
    """Whether the leader's lead is negligible, or small, within one standard error, and without a clearly lower error.

    A lead has to be small as well, because a single row of very low predictive density makes the standard error as
    large as the lead.
    """
    lead = gap(leader.log_score, other.log_score)
    loss = -float(leader.log_score.mean()) if leader.is_classifier else 0.0
    small = max(_SMALL_LOSS, _SMALL_LOSS_SHARE * loss) if leader.is_classifier else _SMALL_SCORE
    if lead.mean <= _NEGLIGIBLE_LEAD:
        return True
    if not (lead.mean <= lead.error and lead.mean <= small) or other.is_contradicted_by(leader):
        return False
    return not (lead.mean > 0.5 * lead.error and leader.is_no_worse_than(other))


def _ties_as_baseline(baseline: Candidate, leader: Candidate) -> bool:
    """Whether the leader's lead over the baseline is within one standard error, in log score and in error.

    Among several models, one is often slightly better than the baseline on every measure by chance.
    """
    leads = gap(leader.log_score, baseline.log_score), gap(baseline.errors, leader.errors)
    return all(np.isfinite(lead.mean) and not lead.mean > lead.error for lead in leads)


def _leader(eligible: Sequence[Candidate]) -> tuple[Candidate, list[str]]:
    """The model with the best log score; if the errors of another contradict it, the best by CRPS or Brier score.

    That score is proper like the log score, and dominated by the size of errors like the RMSE.
    """
    leader = max(eligible, key=lambda c: c.log_score.mean())
    rivals = [c for c in eligible if leader.is_contradicted_by(c)]
    if not rivals:
        return leader, []
    rival = min(rivals, key=lambda c: c.losses[1])
    winner = min(eligible, key=lambda c: c.losses[2])
    scores = ("log loss", "accuracy", "Brier score") if leader.is_classifier else ("log score", "RMSE", "CRPS")
    if winner is leader or (leader.clearly_leads(winner) and winner.is_overconfident and not leader.is_overconfident):
        return leader, []
    note = (
        f"The scores disagree: {leader.name} has the best {scores[0]}, {rival.name} the best {scores[1]}. The "
        f"{scores[2]}, which depends on both, is best for {winner.name}."
    )
    return winner, [note]


def _calibrated(
    tied: Sequence[Candidate], eligible: Sequence[Candidate], leader: Candidate
) -> tuple[Candidate, Candidate | None]:
    """The simplest tied model that is calibrated, or the best calibrated one, and the leader if it was passed over."""
    good = [c for c in tied if c.name == BASELINE or not c.is_rejected]
    if good:
        return good[0], None
    calibrated = [c for c in eligible if not c.is_rejected]
    # The log score already penalises intervals that are too wide.
    worse, larger = (_SMALL_SCORE, 1.0 / _RMSE_RATIO) if leader.is_cautious else (_MAX_SCORE_LOSS, _MAX_RMSE_RATIO)
    near = [c for c in calibrated if leader.log_score.mean() - c.log_score.mean() < worse
            and c.rmse < larger * leader.rmse]  # fmt: skip
    if near:
        return max(near, key=lambda c: c.log_score.mean()), leader
    return tied[0] if tied[0].name != BASELINE else leader, None
