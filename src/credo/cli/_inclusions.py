"""How probable it is that each input matters, as `inclusions.csv` and `--json` have it."""

from collections.abc import Mapping
from typing import Any


def inclusions(models: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs by the probability that they are in, the largest first, from the model that weighs all their subsets.

    None of them where there is no such model. A column of levels is in if any of them is, and the words of a text
    count one by one, as in the report.
    """
    for name, model in models.items():
        single = getattr(model.estimator_, "inclusion_probabilities_", None)
        if single is not None:
            any_of = model.estimator_.posterior_.any_of
            found = {
                title: float(single[places[0]] if len(places) == 1 else any_of(places))
                for title, places in _places(model.preparation_).items()
            }
            order = sorted(found, key=lambda title: -found[title])
            return [{"name": title, "inclusion_probability": found[title], "model": name} for title in order]
    return []


def _places(preparation: Any) -> dict[str, list[int]]:
    """The prepared columns of each input."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(preparation.inputs()):
        places.setdefault(name, []).append(place)
    return places
