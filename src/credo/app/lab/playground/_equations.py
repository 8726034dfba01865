"""Equations in a plain notation, which is also shown as text, converted to MathML.

w_j ∼ N(0, 2^2)     (a + b)/c is a fraction     "words" stay as they are     a new line begins a new equation
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from html import escape

_TOKENS = re.compile(r'"([^"]*)"|(\d+(?:\.\d+)?)|([^\W\d_]+)|(\s+)|(.)')
_WORDS, _NUMBER, _NAME, _SPACE, _SIGN = range(1, 6)
_THIN = '<mspace width="0.17em"/>'
NO_BREAK = "\N{NO-BREAK SPACE}"


def number(value: float, digits: int = 3) -> str:
    """A number to a few digits, with a proper minus sign.

    >>> number(-0.000012345), number(1200.0)
    ('−1.23×10^−5', '1200')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "?"
    short = f"{value:.{digits}g}"
    if "e" not in short or 1e-3 <= abs(value) < 1e5:
        short = f"{float(short):.10g}"
    else:
        mantissa, exponent = short.split("e")
        short = f"{mantissa}×10^{int(exponent)}"
    return short.replace("-", "−")


def total(terms: Iterable[str]) -> str:
    """A sum whose negative terms are subtracted.

    >>> total(["1", "−2 x"])
    '1 − 2 x'
    """
    return " + ".join(terms).replace("+ −", "− ")


def shown(equation: str) -> dict[str, str]:
    """The equation as the page gets it.

    >>> shown("y = x^2/2")["text"]
    'y = x^2/2'
    """
    lines = equation.split("\n")
    cells = "".join(f"<mtr><mtd><mrow>{_Parser(line).row()}</mrow></mtd></mtr>" for line in lines)
    table = f'<mtable displaystyle="true">{cells}</mtable>'
    markup = f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{table}</math>'
    return {"mathml": markup, "text": "; ".join(lines).replace('"', "")}


class _Parser:
    """Reads one line from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = [(found.lastindex or 0, found[found.lastindex or 0]) for found in _TOKENS.finditer(text)]
        self.tokens.append((0, ""))
        self.place = 0

    def row(self) -> str:
        """The markup up to the end or a closing bracket."""
        made: list[str] = []
        after_operand = False
        while (token := self.tokens[self.place]) not in ((0, ""), (_SIGN, ")")):
            if token[0] == _SPACE:
                self.place += 1
                if after_operand and self._is_operand():
                    made.append(_THIN)
                continue
            after_operand = self._is_operand()
            part, bare = self._scripted()
            while self._takes("/"):
                part = bare = f"<mfrac>{bare}{self._scripted()[1]}</mfrac>"
            made.append(part)
        return "".join(made)

    def _is_operand(self) -> bool:
        kind, text = self.tokens[self.place]
        return kind in (_WORDS, _NUMBER, _NAME) or text == "("

    def _takes(self, sign: str) -> bool:
        found = self.tokens[self.place] == (_SIGN, sign)
        self.place += found
        return found

    def _scripted(self) -> tuple[str, str]:
        """A part with its sub- and superscripts, and the same without brackets around it."""
        part, bare = self._atom()
        while self.tokens[self.place] in ((_SIGN, "^"), (_SIGN, "_")):
            tag = "msup" if self._takes("^") else "msub"
            self.place += tag == "msub"
            minus = "<mo>−</mo>" if self._takes("−") else ""
            script = self._atom()[1]
            part = bare = f"<{tag}>{part}{f'<mrow>{minus}{script}</mrow>' if minus else script}</{tag}>"
        return part, bare

    def _atom(self) -> tuple[str, str]:
        kind, text = self.tokens[self.place]
        self.place += 1
        if text == "(":
            # In a row of its own, so that a first minus is a sign and not a difference.
            inner = f"<mrow>{self.row()}</mrow>"
            self.place += 1
            return f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>", inner
        if kind == _WORDS:
            # Browsers drop ordinary spaces at the ends.
            made = f"<mtext>{escape(text).replace(' ', NO_BREAK)}</mtext>"
        elif kind == _NAME:
            upright = ' mathvariant="normal"' if len(text) == 1 and text.isupper() else ""
            made = f"<mi{upright}>{text}</mi>"
        else:
            made = f"<mn>{text}</mn>" if kind == _NUMBER else f"<mo>{escape(text)}</mo>"
        return made, made
