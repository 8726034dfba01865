"""What a comparison of models found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.frames import Table


@dataclass(frozen=True)
class Score:
    """One line of the leaderboard. All numbers are None when the model failed, and `error` says why.

    `log_score`, `rmse`, `crps` and `coverage` (of the 95 % interval) are held out; `log_evidence` and
    `seconds` are those of the fit on all rows.
    """

    name: str
    log_score: float | None = None
    rmse: float | None = None
    crps: float | None = None
    coverage: float | None = None
    log_evidence: float | None = None
    evidence_method: str | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class HeldOut:
    """Predictions of each row by the model that was fitted without the row's fold, in the order of the rows.

    `dist_mean` is the median where a distribution has no mean; `lower` and `upper` are the ends of the 95 %
    interval; `pit` is the mid-PIT, `log_score` the log predictive density of each outcome.
    """

    y: NDArray[np.float64]
    dist_mean: NDArray[np.float64]
    dist_std: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    pit: NDArray[np.float64]
    log_score: NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Comparison:
    """The scores of several models, best held-out log score first; failed ones last.

    Attributes
    ----------
    scores : list of Score
    held_out : dict of name to HeldOut
        Of the models that did not fail.
    fitted : dict of name to model
        The models that did not fail, fitted on all rows.
    notes : sequence of str
        What the user should know: warnings of the fits, a reduced number of folds.
    n_folds : int
    """

    scores: Sequence[Score]
    held_out: Mapping[str, HeldOut]
    fitted: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    n_folds: int = 5

    @property
    def tied(self) -> list[str]:
        """The models that the held-out rows can't tell from the top one, which is among them, in the order named.

        A model ties when its log score, compared row by row, is no more than one standard error below the top.
        """
        self._require_a_model()
        first = self.scores[0].name
        top = self.held_out[first].log_score
        tied = []
        for name, held in self.held_out.items():
            gap = np.subtract(top, held.log_score, out=np.zeros(len(top)), where=top != held.log_score)
            # An infinite gap has no standard error, and isn't a tie.
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if np.isfinite(gap).all() else -np.inf
            if name == first or gap.mean() <= error:
                tied.append(name)
        return tied

    @property
    def best(self) -> str:
        """The model to take: of those tied at the top, the one named first, so name the simplest first."""
        return self.tied[0]

    def _require_a_model(self) -> None:
        if not self.scores or self.scores[0].error is not None:
            by_error: dict[str | None, list[str]] = {}
            for score in self.scores:
                by_error.setdefault(score.error, []).append(score.name)
            reasons = "; ".join(f"{', '.join(names)}: {error}" for error, names in by_error.items())
            raise ValueError(f"no model could be fitted. {reasons}")

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def to_frame(self, *, backend: str | None = None) -> Any:
        """The leaderboard as a data frame."""
        return self.table().to_frame(backend=backend)

    def table(self) -> Table:
        """The leaderboard as a table that a person reads."""
        columns: dict[str, list[Any]] = {
            "model": [score.name for score in self.scores],
            "log score": [score.log_score for score in self.scores],
            "RMSE": [score.rmse for score in self.scores],
            "CRPS": [score.crps for score in self.scores],
            "95 % coverage": [score.coverage for score in self.scores],
            "log evidence": [score.log_evidence for score in self.scores],
            "evidence by": [score.evidence_method for score in self.scores],
            "seconds": [score.seconds for score in self.scores],
        }
        failed = [f"{score.name} failed. {score.error}" for score in self.scores if score.error is not None]
        return Table(f"Held out in {self.n_folds} folds", columns, (*failed, *self.notes))
