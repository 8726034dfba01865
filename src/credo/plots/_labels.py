"""Names and numbers as they stand in a figure."""

import unicodedata
from typing import Any

from matplotlib.ticker import ScalarFormatter

_SUPERSCRIPTS = str.maketrans("-−0123456789", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shorten(name: Any, *, width: int = 32) -> str:
    """A name on one line of at most `width` characters, its middle replaced by an ellipsis when it is longer.

    The end is kept because that is where the name of an indicator column says which level it stands for.
    Control characters, which no web page may hold, become spaces.

    >>> shorten("concentration of the second reagent = high", width=24)
    'concentration o…t = high'
    >>> shorten("two\\nlines")
    'two lines'
    """
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in str(name))
    text = " ".join(text.split()) or "(no name)"
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1].rstrip()}…{text[-tail:].lstrip()}"


class PlainTicks(ScalarFormatter):
    """Tick labels without an offset to add in one's head, and a power of ten written as ×10⁶."""

    def __init__(self) -> None:
        super().__init__(useOffset=False, useMathText=False)
        self.set_powerlimits((-4, 5))

    def get_offset(self) -> str:
        # matplotlib writes 1e7 or 1e−7.
        power = super().get_offset().removeprefix("1e")
        return f"×10{power.translate(_SUPERSCRIPTS)}" if power else ""
