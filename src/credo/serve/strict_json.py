"""JSON without ambiguity: what clients send is parsed strictly, and what they get is valid for every parser."""

from __future__ import annotations

import json
from collections import Counter
from http import HTTPStatus
from typing import Any, NoReturn

import numpy as np

# An integer of more digits isn't a finite float.
_MAX_DIGITS = 310


class Refused(Exception):
    """A request that is answered with an error: status, sentence, and the cells that are the reason.

    `problems` are objects with row (1 is the first), column and problem; row and column may be null.
    """

    def __init__(
        self, status: int, error: str, problems: list[dict[str, Any]] | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.problems, self.retry_after = status, error, problems or [], retry_after


def parse(body: bytes) -> Any:
    """The value of a JSON text; `Refused` with 400 if it isn't one, or repeats a name in an object.

    >>> parse(b'[{"x": 1.5}]')
    [{'x': 1.5}]
    """
    try:
        return json.loads(
            body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer
        )
    except RecursionError:
        _refuse("the JSON text is nested too deeply")
    except UnicodeDecodeError as error:
        _refuse(f"the body isn't UTF-8: byte {error.start} can't be decoded")
    except json.JSONDecodeError as error:
        _refuse(f"the body isn't JSON: {error.msg} (line {error.lineno}, column {error.colno})")


def _refuse(sentence: str) -> NoReturn:
    raise Refused(HTTPStatus.BAD_REQUEST, sentence) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = Counter(name for name, _ in pairs).most_common(1)[0][0]
        _refuse(f"an object has the name {repeated[:100]!r} more than once")
    return found


def _no_constant(name: str) -> NoReturn:
    _refuse(f"{name} isn't JSON; a missing value is null")


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        _refuse(f"an integer has {len(digits)} digits")
    return int(digits)


def dump(value: Any) -> bytes:
    """The value as ASCII JSON; arrays become lists, and numbers that aren't finite null.

    >>> dump({"std": np.array([1.0, np.inf])})
    b'{"std": [1.0, null]}'
    """
    return json.dumps(value, default=plain, allow_nan=False).encode("ascii")


def plain(value: Any) -> Any:
    """An array or a NumPy number in JSON types."""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            cells = np.asarray(value).astype(object)
            cells[~np.isfinite(value)] = None
            return cells.tolist()
        return value.tolist()
    return str(value)
