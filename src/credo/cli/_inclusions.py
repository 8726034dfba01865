"""How probable it is that each input matters, as `inclusions.csv` and `--json` have it."""

from collections.abc import Mapping, Sequence
from typing import Any


def inclusions(models: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs by the probability that they are in, the largest first, from the model that weighs all their subsets.

    None of them where there is no such model. A column of levels is in if any of them is, and the words of a text
    count one by one, as in the report. Copies share what one of them would have: `with_copies` is the probability that
    the input is in, or a copy of it.
    """
    for name, model in models.items():
        estimator = model.estimator_
        if hasattr(estimator, "inclusion_probabilities_"):
            records = [
                {
                    "name": title,
                    "inclusion_probability": _any_of(places, estimator),
                    "with_copies": _any_of(_with_copies(places, estimator.copies_), estimator),
                    "model": name,
                }
                for title, places in _places(model.preparation_).items()
            ]
            return sorted(records, key=lambda record: (-record["with_copies"], -record["inclusion_probability"]))
    return []


def _any_of(places: Sequence[int], estimator: Any) -> float:
    # Of a single column it is known, and thousands of words would each ask all models.
    one = len(places) == 1
    return float(estimator.inclusion_probabilities_[places[0]] if one else estimator.posterior_.any_of(places))


def _places(preparation: Any) -> dict[str, list[int]]:
    """The prepared columns of each input."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(preparation.inputs()):
        places.setdefault(name, []).append(place)
    return places


def _with_copies(places: Sequence[int], copies: Sequence[Sequence[int]]) -> list[int]:
    """Prepared columns with all copies of them.

    >>> _with_copies([0, 1], [(1, 4), (2, 3)])
    [0, 1, 4]
    """
    return sorted({*places, *(j for group in copies if not set(places).isdisjoint(group) for j in group)})
