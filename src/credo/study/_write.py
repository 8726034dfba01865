"""The files of a study."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.io import save

if TYPE_CHECKING:
    from credo.study._study import Study

MODEL, REPORT, LEADERBOARD, HELD_OUT, INCLUSIONS = (
    "model.credo", "report.html", "leaderboard.csv", "held_out.csv", "inclusions.csv",
)  # fmt: skip
OUTPUTS = (MODEL, REPORT, LEADERBOARD, HELD_OUT, INCLUSIONS)


def write(study: Study, folder: Path, *, keep_all: bool = False) -> list[str]:
    """Write model, leaderboard, held-out predictions and report into a folder; returns notes about missing files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from credo.study import analyze, write
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> study = analyze(frame, "growth", models=["linear"], progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(study, Path(folder))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['held_out.csv', 'leaderboard.csv', 'model.credo', 'report.html']
    """
    notes = []
    study.save(folder / MODEL)
    write_records(study.comparison.records(), folder / LEADERBOARD)
    study.held_out().to_csv(folder / HELD_OUT, index=False)
    inclusions = study.inclusions()
    if inclusions:
        write_records(inclusions, folder / INCLUSIONS)
    if keep_all:
        for name, model in study.comparison.fitted.items():
            save(model, folder / f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)}.credo")
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        notes.append(f"No report was written: it needs {' and '.join(missing)} (pip install 'credo[report]').")
    else:
        # An error in the report must not lose the models, which took the time of the run.
        try:
            study.report(folder / REPORT)
        except Exception as error:
            notes.append(
                f"No report was written ({type(error).__name__}: {error}). The model and the tables are complete; "
                "please report this as a bug."
            )
    return notes


def write_records(records: list[dict[str, Any]], path: Path) -> None:
    """Write records as CSV, numbers in full precision, None as an empty cell."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def inclusions(models: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs by their inclusion probability, the largest first, from the spike-and-slab model.

    Empty without such a model. A categorical column is included if any of its levels is; the words of a text are listed
    one by one. Copies share their probability: `with_copies` is the probability that the input or a copy of it is
    included.
    """
    for name, model in models.items():
        # The model inside a model of a transformed target.
        estimator = getattr(model.estimator_, "estimator_", model.estimator_)
        if hasattr(estimator, "inclusion_probabilities_"):
            places: dict[str, list[int]] = {}
            for place, title in enumerate(model.preparation_.inputs()):
                places.setdefault(title, []).append(place)
            records = [
                {
                    "name": title,
                    "inclusion_probability": _any_of(own, estimator),
                    "with_copies": _any_of(_with_copies(own, estimator.copies_), estimator),
                    "model": name,
                }
                for title, own in places.items()
            ]
            return sorted(records, key=lambda record: (-record["with_copies"], -record["inclusion_probability"]))
    return []


def _any_of(places: list[int], estimator: Any) -> float:
    # For a single column it is known; computing it anew for thousands of words would be slow.
    one = len(places) == 1
    return float(estimator.inclusion_probabilities_[places[0]] if one else estimator.posterior_.any_of(places))


def _with_copies(places: list[int], copies: Any) -> list[int]:
    """Prepared columns together with all their copies.

    >>> _with_copies([0, 1], [(1, 4), (2, 3)])
    [0, 1, 4]
    """
    return sorted({*places, *(j for group in copies if not set(places).isdisjoint(group) for j in group)})
