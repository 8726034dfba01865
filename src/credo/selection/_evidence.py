"""Posterior model probabilities among models with the same evidence base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

if TYPE_CHECKING:
    from credo.selection._comparison import Score


def weighed(scores: Sequence[Score]) -> list[Score]:
    """The scores with p(model | data) ∝ evidence, within each base; a model alone in its base has none."""
    evidence = {score.name: score.log_evidence for score in scores}
    probability: dict[str, float] = {}
    for base, names in _groups(scores).items():
        logs = np.array([evidence[name] for name in names], dtype=np.float64)
        if base is not None and len(names) > 1 and np.isfinite(logs).all():
            probability |= zip(names, softmax(logs).tolist(), strict=True)
    return [replace(score, model_probability=probability.get(score.name)) for score in scores]


def base_notes(scores: Sequence[Score]) -> list[str]:
    """A note on which models share a base, if there is more than one."""
    found = _groups(scores)
    if len(found) < 2:
        return []
    parts = [f"{', '.join(names)} ({_words(base, alone=len(names) == 1)})" for base, names in found.items()]
    return [f"Log evidences and model probabilities are comparable only within one evidence base: {'; '.join(parts)}."]


def _groups(scores: Sequence[Score]) -> dict[str | None, list[str]]:
    """The models that have a log evidence, by its base, in the order of the scores."""
    found: dict[str | None, list[str]] = {}
    for score in scores:
        if score.log_evidence is not None:
            found.setdefault(score.evidence_base, []).append(score.name)
    return found


def _words(base: str | None, *, alone: bool) -> str:
    if base is None:
        return "no evidence_base_, so no probability"
    return base.replace(";", ",") + (", no other model, so no probability" if alone else "")
