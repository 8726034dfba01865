"""How compiled functions are compared with plain NumPy.

Every public function of a `*_jit` module has either of two comparisons, or `test_twins.py` fails. A module of
`tests/reference` lists in `TWINS` plain functions of the same arguments, which change the same arrays and return the
same; `test_twins.py` calls both with copies of the arguments, and compares what they return and all arguments. Where
that isn't enough, as for a factor that is unique but for signs, a test is marked with `compares`.
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


def compares(*compiled: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Marks a test, in a module test_*_jit.py, that calls these compiled functions and compares them itself."""

    def marked(test: Callable[..., None]) -> Callable[..., None]:
        test.compiled = compiled  # type: ignore[attr-defined]
        return test

    return marked
