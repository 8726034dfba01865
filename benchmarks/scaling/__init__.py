"""Seconds and memory against the number of rows for every method, with fitted exponents, and the page made from them.

``python -m benchmarks.scaling`` measures, writes ``docs/scaling.json``, draws ``docs/images/scaling.png`` and writes
``docs/which-method.md``; ``--page`` makes the last two from the numbers that there are.
"""

from benchmarks.harness import Line, below
from benchmarks.scaling.measure import Curve, measure_all

# The steepest that time may grow with the rows, as a power of their number: what the method says, and a margin for
# parts that grow otherwise and for noise.
_STEEPEST = {"exact": 3.2, "default": 1.4}


def run() -> list[Line]:
    """The exponents of all methods."""
    curves, _ = measure_all()
    return [_line(curve) for curve in curves if len(curve.points) > 2]


def _line(curve: Curve) -> Line:
    limit = _STEEPEST["exact" if "exact" in curve.name else "default"]
    return below(f"{curve.name}: seconds ∝ n^", curve.exponent, limit, unit="", yardstick="the exponent")
