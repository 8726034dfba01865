"""Options that are one of a few strings: annotations, documentation and validation name the same ones."""

import inspect
import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from tests.contracts.estimators import MEMBERS, exported_classes

from credo.core.estimator import Classifier, Regressor

X = np.column_stack([np.linspace(0.0, 1.0, 30), np.tile([1.0, 2.0, 3.0], 10)])
# Settings with which an option is looked at.
NEEDED = {"SpikeSlabRegressor.g": {"slab": "g"}}


def _words(annotation: Any) -> set[str]:
    """The strings of all literals in an annotation."""
    if get_origin(annotation) is Literal:
        return {word for word in get_args(annotation) if isinstance(word, str)}
    return set().union(*map(_words, get_args(annotation)))


def _options() -> list[Any]:
    """Class, name and strings of every constructor's argument."""
    return [
        pytest.param(kind, name, _words(annotation), id=f"{kind.__name__}.{name}")
        for kind in exported_classes()
        for name, annotation in get_type_hints(kind.__init__).items()
        if name in inspect.signature(kind).parameters
    ]


OPTIONS = _options()


@pytest.mark.parametrize(("kind", "name", "words"), OPTIONS)
def test_documentation_names_the_options(kind: type, name: str, words: set[str]) -> None:
    lines = re.findall(r"^([\w, ]+) : (.+)$", inspect.getdoc(kind) or "", re.MULTILINE)
    documented = [text for names, text in lines if name in names.split(", ")]
    if documented and not documented[0].startswith("as in") and name != "token_pattern":
        assert set(re.findall(r'"([^"]+)"', documented[0])) == words


@pytest.mark.parametrize(("kind", "name", "words"), [option for option in OPTIONS if option.values[2]])
def test_another_word_is_refused_with_those_allowed(kind: type, name: str, words: set[str]) -> None:
    members = MEMBERS.get(kind.__name__, {})
    # Conformal's method is that of classifiers.
    task = Classifier if issubclass(kind, Classifier) or (members and name == "method") else Regressor
    model = kind(**members.get(task, {}), **NEEDED.get(f"{kind.__name__}.{name}", {}))
    y = X.sum(axis=1)
    with pytest.raises(ValueError, match=name) as caught:
        model.set_params(**{name: "another"}).fit(X, np.where(y > 2.5, "b", "a") if task is Classifier else y)
    assert set(re.findall(r"""["']([^"']+)["']""", str(caught.value))) - {"another"} == words
