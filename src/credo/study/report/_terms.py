"""The curves of an additive model: what it predicts along one input, with its other terms at their average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.core.estimator import describe
from credo.core.wording import datum, listing, percent, whole_percent
from credo.plots import shorten
from credo.study.report._curves import MAX_CURVES, Curve
from credo.study.report._pieces import pieces
from credo.tables.encoders import Days

MAX_TERMS = 2 * MAX_CURVES


@dataclass(frozen=True)
class Terms:
    """The curves of an additive model, and which model it is.

    `weight` is its weight if it has the largest in the selected average, otherwise 0. `pairs` are the needed pairs of
    columns with their shares of the explained variance, `idle` the terms that aren't needed, `paired` those of them
    whose columns are needed in a pair. The curves are those of the mean of the target if `of_mean`, else its median.
    """

    model: str
    weight: float
    curves: list[Curve]
    pairs: list[str]
    idle: list[str]
    n_left: int = 0
    paired: tuple[str, ...] = ()
    of_mean: bool = False

    def caption(self, best: str, *, what: str) -> str:
        """What the figures show, and of which model."""
        whose = ""
        if self.weight:
            whose = f", which has the largest weight ({percent(round(self.weight, 2))}) in {best}"
        elif self.model != best:
            whose = f", which is statistically tied with {best}"
        said = [
            f"The curves of {self.model} (fitted to all rows){whose}: {what} along one input, with its other terms at "
            "their average. Dark band: 95 % interval at each point. Light band: 95 % interval of the whole curve; the "
            "sentences tell the fewest rises and falls that fit into it. All figures share one y-axis unless stated "
            "otherwise; the largest share of the explained variance comes first."
        ]
        if self.n_left:
            said.append(f"{self.n_left} with smaller shares are not shown.")
        if self.pairs:
            said.append(f"What two inputs add together is not shown: {listing(self.pairs, at_most=6)}.")
        if self.paired:
            said.append(f"Needed only in pairs: {listing(self.paired, at_most=8)}.")
        if self.idle:
            said.append(f"Not needed beside the others, by the evidence: {listing(self.idle, at_most=8)}.")
        return " ".join([*said, "Associations, not causes."])


def terms(best: str, tied: Sequence[str], models: Mapping[str, Any]) -> Terms | None:
    """Those of the selected model, of the model with the largest weight in it, or of one that is tied with it.

    None if none of these is an additive model of a single function with curves that are needed.
    """
    members = dict(describe(models[best]).members) if best in models else {}
    largest = max(members, key=lambda name: members[name], default="")
    for name in dict.fromkeys([best, largest, *tied]):
        found = describe(models[name]).terms if name in models else ()
        ordered = sorted((term for term in found if term.response is not None), key=lambda term: -term.share)
        needed = [term for term in ordered if term.is_needed]
        alone = [term for term in needed if len(term.points) == 1]
        together = [term for term in needed if len(term.points) > 1]
        if alone:
            partners = _partners(models[name], together)
            idle = [term for term in ordered if not term.is_needed]
            paired = [len(term.points) == 1 and next(iter(term.points)) in partners for term in idle]
            return Terms(
                name,
                members[name] if name == largest else 0.0,
                [
                    replace(_curve(models[name], term), partners=partners.get(next(iter(term.points)), ()))
                    for term in alone[:MAX_TERMS]
                ],
                [f"{shorten(term.words)} ({whole_percent(max(term.share, 0.0))})" for term in together],
                [shorten(term.words) for term, is_paired in zip(idle, paired, strict=True) if not is_paired],
                max(0, len(alone) - MAX_TERMS),
                tuple(shorten(term.words) for term, is_paired in zip(idle, paired, strict=True) if is_paired),
                of_mean="of the mean" in alone[0].unit,
            )
    return None


def _partners(model: Any, pairs: Sequence[Any]) -> dict[str, tuple[str, ...]]:
    """The columns of the table with which each prepared column, or group of them, is in a pair."""
    origins, found = model.preparation_.origins(), dict[str, tuple[str, ...]]()
    for pair in pairs:
        for name in pair.points:
            others = [shorten(origins[other]) for other in pair.points if other != name]
            found[name] = tuple(dict.fromkeys([*found.get(name, ()), *others]))
    return found


def _curve(model: Any, term: Any) -> Curve:
    """A term in units of the target."""
    ((name, values),) = term.points.items()
    ends, band = term.interval(), term.band()
    mean, lower, upper = (term.response(part) for part in (term.mean, *ends))
    outer = tuple(term.response(part) for part in band)
    if term.is_of_levels:
        ticks = [datum(value) if isinstance(value, float) else shorten(value, width=12) for value in values.tolist()]
        flat = _levels_agree(term, band)
        return Curve(name, name, np.arange(len(mean), dtype=np.float64), mean, lower, upper, ticks, flat)
    days = {one.names()[0]: one for one in model.preparation_.encoders_ if isinstance(one, Days) and one.value}
    x, encoder = np.asarray(values, dtype=np.float64), days.get(name)
    if encoder is not None:
        x = (encoder.dates(x) - np.datetime64("1970-01-01", "us")) / np.timedelta64(1, "D")
    own = pieces(x, term.mean, *band)
    label = name if encoder is None else encoder.name
    title = f"{label} (cycle)" if term.kind == "cycle" else label
    return Curve(title, title, x, mean, lower, upper, dates=encoder is not None, pieces=tuple(own), outer=outer)


def _levels_agree(term: Any, band: Any) -> bool:
    """Whether the levels may all have the same effect: by the difference of two, or the band of more."""
    if len(term.mean) != 2:
        return bool(band[0].max() <= band[1].min())
    way = np.array([-1.0, 1.0])
    z = float((term.interval()[1] - term.mean).max() / max(term.std.max(), 1e-300))
    return bool(abs(way @ term.mean) <= z * np.sqrt(max(way @ term.covariance @ way, 0.0)))
