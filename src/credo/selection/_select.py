"""The selection rule, and the sentence that gives the reason.

1. A model must beat the baseline: a better log score and an RMSE (or accuracy) that is no worse, one of them by more
   than one standard error. If none does, the baseline is selected.
2. The leader has the best held-out log score. If another model's RMSE is lower by a tenth or more (its accuracy
   clearly higher), the two scores contradict each other, and the best CRPS (Brier score) decides.
3. Models are tied with the leader if the paired difference of their log scores is negligible, or small and within one
   standard error (half of one where the leader is at least as good on every measure). Of these the simplest is
   selected, the one named first.
4. A model whose calibration is rejected, by enough to matter, is passed over if a calibrated one is left that doesn't
   predict much worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Bernoulli, Categorical
from credo.metrics import brier, crps, forecast, pit, point
from credo.metrics._calibration_test import ALARM, class_calibration, coverage_test, uniformity
from credo.selection._gap import CLEAR, gap

BASELINE = "baseline"

# An error smaller by less than this factor contradicts nothing.
_LOWER = 0.9
# Coverage of 95 % intervals, and the largest difference between a stated and an observed probability, that matter.
_COVERAGE_OFF, _DISTANCE = 0.03, 0.08
# Leads that are small: of log scores, and of log losses, absolutely or as a share of the leader's.
_SMALL_SCORE, _SMALL_LOSS, _SMALL_SHARE = 0.05, 0.01, 0.2
# Of many rows even this is more than a standard error, and still of no use to anyone.
_NEGLIGIBLE = 0.002
# A calibrated model that predicts this much worse, in nats a row, is no alternative.
_MUCH_WORSE = 0.25
# A model with an RMSE this many times larger is no alternative to one that is not calibrated.
_FAR_LARGER = 1.5
_LISTED = 4
_SPELLED = ("", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True)
class Selection:
    """The model to use, the models that are statistically tied with the leader, and why.

    `why` follows the model's name in `reason`; `notes` are further remarks on the choice.
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
    """One model's held-out predictions, with what the rule needs."""

    name: str
    y: NDArray[Any]
    dist: Any
    scores: Mapping[str, float]

    @cached_property
    def is_classifier(self) -> bool:
        return isinstance(self.dist, Bernoulli | Categorical)

    @cached_property
    def log_score(self) -> NDArray[np.float64]:
        """Log predictive density, or probability, of each row."""
        return self.dist.log_prob(self.y)

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """Squared error of each row, or 1 where the label is wrong."""
        if self.is_classifier:
            found = forecast(self.y, self.dist)
            return (found.named != found.codes).astype(np.float64)
        return (self.y - point(self.dist)) ** 2

    @property
    def losses(self) -> NDArray[np.float64]:
        """Every measure, lower is better: log score, error, and the score that is proper and in units of y."""
        name, measure = ("brier", brier) if self.is_classifier else ("crps", crps)
        third = self.scores[name] if name in self.scores else measure(self.y, self.dist)
        return np.array([-self.log_score.mean(), self.errors.mean(), third])

    @cached_property
    def is_rejected(self) -> bool:
        """Whether it is miscalibrated by more than chance, and by enough to matter."""
        if self.is_classifier:
            return class_calibration(self.y, self.dist).verdict in ("too sure", "too unsure", "off")
        if len(self.y) < 20:
            return False
        lower, upper = self.dist.interval(0.95)
        covered = coverage_test((lower <= self.y) & (self.y <= upper))
        outside = covered.inside < covered.low or covered.inside > covered.high
        if outside and abs(covered.inside / covered.n - 0.95) > _COVERAGE_OFF:
            return True
        shape = uniformity(pit(self.y, self.dist))
        return shape.distance > _DISTANCE and shape.bars.p < ALARM

    @property
    def fault(self) -> str:
        """What is wrong with the calibration of a rejected model."""
        if self.is_classifier:
            verdict = class_calibration(self.y, self.dist).verdict
            return {"too sure": "it is overconfident", "too unsure": "it is underconfident"}.get(
                verdict, "its probabilities are not calibrated"
            )
        lower, upper = self.dist.interval(0.95)
        share = float(np.mean((lower <= self.y) & (self.y <= upper)))
        if abs(share - 0.95) <= _COVERAGE_OFF:
            return "its predictive distributions are not calibrated"
        return f"its 95 % intervals are too {'narrow' if share < 0.95 else 'wide'}"

    def beats(self, other: Candidate) -> bool:
        """Whether it has the better log score, and an error that isn't larger (of labels, not clearly)."""
        if not self.log_score.mean() > other.log_score.mean():
            return False
        lost = gap(self.errors, other.errors)
        return lost.mean <= 0 or (self.is_classifier and not lost.mean > CLEAR * lost.error)

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
        """Whether the other's RMSE is lower by a tenth (of labels, its accuracy clearly higher)."""
        if self.is_classifier and not gap(self.errors, other.errors).clear:
            return False
        return other.rmse < _LOWER * self.rmse


def select(candidates: Sequence[Candidate]) -> Selection:
    """Select one of the candidates, which are ordered by simplicity; "baseline" is the one to beat."""
    baseline = next((c for c in candidates if c.name == BASELINE), None)
    others = [c for c in candidates if c is not baseline]
    eligible = better = [c for c in others if baseline is None or c.beats(baseline)]
    measure = "log loss" if candidates[0].is_classifier else "log score"
    if not eligible:
        assert baseline is not None
        guess = "the class frequencies" if baseline.is_classifier else "the mean"
        error = "accuracy is lower" if baseline.is_classifier else "RMSE is no smaller"
        likelier = [c for c in others if c.log_score.mean() > baseline.log_score.mean()]
        why = f"No model predicts better than always guessing {guess}."
        if likelier:
            why = f"No model beats always guessing {guess}: where the {measure} is better, the {error}."
        return Selection(BASELINE, [BASELINE], why)
    leader, notes = _leader(eligible)
    if notes:
        eligible = [c for c in eligible if not c.is_contradicted_by(leader)]
    pool = [*([] if baseline is None else [baseline]), *eligible]
    tied = [c for c in pool if c is leader or (_ties_as_baseline(c, leader) if c is baseline else _ties(c, leader))]
    chosen, passed_over = _calibrated(tied, eligible, leader)
    names = [c.name for c in tied]
    if chosen.name == BASELINE:
        return Selection(BASELINE, names, "No model is clearly better than guessing, on these rows.", notes)
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
        error = "accuracy" if chosen.is_classifier else "RMSE"
        why = f"It is the only model that beats guessing by both {measure} and {error}."
    elif notes:
        why = f"The scores disagree, and it has the best {'Brier score' if chosen.is_classifier else 'CRPS'}."
    elif len(tied) == 1:
        clear = all(leader.clearly_leads(c) for c in pool if c is not leader)
        why = f"It has the best held-out {measure}" + (", by a clear margin." if clear else ".")
    else:
        count = _SPELLED[len(tied)] if len(tied) < len(_SPELLED) else str(len(tied))
        listed = f" ({', '.join(names)})" if len(names) <= _LISTED else ""
        why = f"{count} models are statistically tied{listed}; it is the simplest."
    return Selection(chosen.name, names, why, notes)


def _ties(other: Candidate, leader: Candidate) -> bool:
    """Whether the leader's lead is within one standard error and small, and not on every measure.

    A single row to which a model gave almost no probability makes a lead of one standard error, whatever its size: so a
    lead has to be small as well.
    """
    lead = gap(leader.log_score, other.log_score)
    loss = -float(leader.log_score.mean()) if leader.is_classifier else 0.0
    small = max(_SMALL_LOSS, _SMALL_SHARE * loss) if leader.is_classifier else _SMALL_SCORE
    if lead.mean <= _NEGLIGIBLE:
        return True
    if not (lead.mean <= lead.error and lead.mean <= small) or leader.rmse < _LOWER * other.rmse:
        return False
    return not (lead.mean > 0.5 * lead.error and leader.is_no_worse_than(other))


def _ties_as_baseline(baseline: Candidate, leader: Candidate) -> bool:
    """Whether the leader's lead over guessing is no more than one standard error, in log score and in error.

    Among several models one is often a little better than guessing by chance, on every measure.
    """
    leads = gap(leader.log_score, baseline.log_score), gap(baseline.errors, leader.errors)
    return all(np.isfinite(lead.mean) and not lead.mean > lead.error for lead in leads)


def _leader(eligible: Sequence[Candidate]) -> tuple[Candidate, list[str]]:
    """The model with the best log score, or where another's errors contradict it the best one by the third score.

    The third score, CRPS or Brier, is proper as the log score is and bounded by the errors as the RMSE is.
    """
    leader = max(eligible, key=lambda c: c.log_score.mean())
    rivals = [c for c in eligible if leader.is_contradicted_by(c)]
    if not rivals:
        return leader, []
    rival = min(rivals, key=lambda c: c.losses[1])
    winner = min(eligible, key=lambda c: c.losses[2])
    scores = ("log loss", "accuracy", "Brier score") if leader.is_classifier else ("log score", "RMSE", "CRPS")
    if winner is leader:
        return leader, []
    note = (
        f"The scores disagree: {leader.name} has the best {scores[0]}, {rival.name} the best {scores[1]}. The "
        f"{scores[2]}, which depends on both, is best for {winner.name}."
    )
    return winner, [note]


def _calibrated(
    tied: Sequence[Candidate], eligible: Sequence[Candidate], leader: Candidate
) -> tuple[Candidate, Candidate | None]:
    """The simplest tied model whose calibration holds; else the best such model; and which leader was passed over."""
    good = [c for c in tied if c.name == BASELINE or not c.is_rejected]
    if good:
        return good[0], None
    calibrated = [c for c in eligible if not c.is_rejected]
    near = [c for c in calibrated if leader.log_score.mean() - c.log_score.mean() < _MUCH_WORSE
            and c.rmse < _FAR_LARGER * leader.rmse]  # fmt: skip
    if near:
        return max(near, key=lambda c: c.log_score.mean()), leader
    return tied[0] if tied[0].name != BASELINE else leader, None
