"""Predictions for known units, such as patients: what the held-out rows of a unit say about its others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from credo.core.wording import number, percent
from credo.distributions import REAL_LINE, Limited
from credo.metrics import pit, point, rmse
from credo.selection import Comparison, HeldOut
from credo.study.data import Dataset
from credo.tables import TableModel
from credo.tables.groups import Groups, given_others, group_codes, normal_scores


def with_groups(
    data: Dataset, fitted: Mapping[str, TableModel], found: Comparison, selected: str
) -> tuple[dict[str, TableModel], list[str]]:
    """The models with the units that they know, and a note about how well the selected one predicts these."""
    models = dict(fitted)
    notes: list[str] = []
    if data.unit is None or data.task == "classification":
        return models, notes
    for name, model in models.items():
        held = found.held_out.get(name)
        if held is None:
            continue
        scores = normal_scores(pit(held.y, held.dist, random_state=0))
        model.groups = Groups.of(data.unit, data.units[held.rows], scores)
        if name == selected:
            notes.append(_note(data.unit, held, model.groups.correlation, scores, data.units[held.rows]))
    return models, notes


def _note(unit: str, held: HeldOut, rho: float, scores: np.ndarray, labels: np.ndarray) -> str:
    """Errors and intervals for known units, from the other rows of each, beside those for new ones."""
    if not rho:
        return (
            f"The rows of one {unit!r} have no more in common than the inputs explain: predictions for known and new "
            "ones are the same."
        )
    support, base = REAL_LINE, held.dist
    if isinstance(base, Limited):
        support, base = base.support, base.base
    dist = support.limit(given_others(base, rho, scores, group_codes(labels)))
    (low, high), (new_low, new_high) = dist.interval(0.95), held.dist.interval(0.95)
    inside = float(np.mean((low <= held.y) & (held.y <= high)))
    width = float(np.mean(high - low) / np.mean(new_high - new_low))
    return (
        f"Scores are about a new {unit!r} (RMSE {number(rmse(held.y, point(held.dist)))}). A known one is predicted "
        f"from its other rows as well: RMSE {number(rmse(held.y, point(dist)))}, 95 % intervals {percent(width)} as "
        f"wide, of which {percent(inside)} contain the value. Intervals of coefficients, effects and inclusion "
        "probabilities take rows to be independent: for inputs that are equal within a unit they are too optimistic."
    )
