"""Plain NumPy twins of compiled functions.

A module of `tests/reference` exports `TWINS`, one `Twin` for each compiled function: a plain function of the same
arguments, which changes the same arrays and returns the same, and the arguments of some calls. `test_twins.py` calls
both with copies of the arguments, compares what they return and every array among the arguments, and fails for a
public function of a `*_jit` module that has no twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Twin:
    """A compiled function, its plain counterpart, and the arguments of the calls to compare.

    Parameters
    ----------
    parts : bool
        Whether the compiled function is a loop(start, step, …) over rows: it is called in two parts whose results add
        up, and the calls and the plain function leave out start and step.
    ignore : sequence of int
        Arguments that aren't compared, such as memory that the compiled function uses for itself.
    """

    compiled: Callable[..., Any]
    plain: Callable[..., Any]
    calls: Sequence[tuple[Any, ...]]
    parts: bool = False
    rtol: float = 1e-12
    atol: float = 0.0
    ignore: Sequence[int] = ()

    def run(self, *arguments: Any) -> Any:
        """What the compiled function returns."""
        if not self.parts:
            return self.compiled(*arguments)
        first, second = (self.compiled(start, 2, *arguments) for start in (0, 1))
        return None if first is None else first + second
