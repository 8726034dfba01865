"""Equations as MathML and as plain text, made of symbols and numbers of the server only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Math:
    """A part of an equation: its MathML and the same as text."""

    markup: str
    text: str

    def json(self) -> dict[str, str]:
        """The equation as the page gets it."""
        markup = f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{self.markup}</math>'
        text = " ".join(self.text.split())
        return {"mathml": markup, "text": text.replace("( − ", "(−").replace("( ∑ ", "(∑ ")}


COMMA, _THIN = Math("<mo>,</mo>", ", "), Math('<mspace width="0.17em"/>', " ")


def number(value: float, digits: int = 3) -> Math:
    """A number to a few digits, with a proper minus sign.

    >>> number(-0.000012345).text, number(1200.0).text
    ('−1.23×10^−5', '1200')
    """
    if not math.isfinite(value):
        return sign("∞" if value > 0 else "−∞" if value < 0 else "?")
    short = f"{value:.{digits}g}"
    if "e" not in short or 1e-3 <= abs(value) < 1e5:
        text = f"{float(short):.10g}".replace("-", "−")
        return Math(f"<mn>{text}</mn>", text)
    mantissa, exponent = short.split("e")
    tens = power(Math("<mn>10</mn>", "10"), Math(f"<mn>{_minus(int(exponent))}</mn>", _minus(int(exponent))))
    return row(
        Math(f"<mn>{mantissa.replace('-', '−')}</mn>", mantissa.replace("-", "−")), Math("<mo>×</mo>", "×"), tens
    )


def symbol(name: str) -> Math:
    """A variable or the name of a function."""
    variant = ' mathvariant="normal"' if len(name) == 1 and name.isupper() else ""
    return Math(f"<mi{variant}>{escape(name)}</mi>", name)


def sign(name: str) -> Math:
    """An operator, with spaces around it in the text."""
    return Math(f"<mo>{escape(name)}</mo>", name if name in "()|[],!′" else f" {name} ")


def words(text: str) -> Math:
    """Words within an equation."""
    # Browsers drop ordinary spaces at either end.
    return Math(f"<mtext>{escape(text).replace(' ', NO_BREAK)}</mtext>", text)


def row(*parts: Math | str) -> Math:
    """Parts one after the other; a string is read as symbols and signs by its first character."""
    made = [_read(part) if isinstance(part, str) else part for part in parts]
    return Math(f"<mrow>{''.join(part.markup for part in made)}</mrow>", "".join(part.text for part in made))


def joined(parts: Sequence[Math | str], between: Math = COMMA) -> Math:
    """Parts one after the other, with something between them."""
    return row(*[piece for part in parts for piece in (between, part)][1:])


def power(base: Math, exponent: Math) -> Math:
    return Math(f"<msup>{_one(base)}{_one(exponent)}</msup>", f"{base.text}^{exponent.text}")


def index(base: Math, below: Math) -> Math:
    return Math(f"<msub>{_one(base)}{_one(below)}</msub>", f"{base.text}_{below.text}")


def fraction(above: Math, below: Math) -> Math:
    bottom = f"({below.text})" if any(sign in below.text for sign in "+−·/ ") else below.text
    top = f"({above.text})" if any(sign in above.text for sign in "+− ") else above.text
    return Math(f"<mfrac>{_one(above)}{_one(below)}</mfrac>", f"{top}/{bottom}")


def brackets(inner: Math) -> Math:
    return row(sign("("), inner, sign(")"))


def call(name: str | Math, *arguments: Math | str) -> Math:
    """A function with its arguments, f(x, y)."""
    return row(symbol(name) if isinstance(name, str) else name, brackets(joined(arguments)))


def total(*terms: Math) -> Math:
    """A sum whose negative terms are subtracted."""
    parts: list[Math] = []
    for term in terms:
        negative = term.text.startswith("−")
        positive = Math(term.markup.replace("−", "", 1), term.text[1:]) if negative else term
        if not parts:
            parts.append(term)
        else:
            parts += [sign("−" if negative else "+"), positive]
    return row(*parts) if parts else number(0.0)


def times(*factors: Math) -> Math:
    """A product, written side by side with a thin space."""
    return joined(factors, _THIN)


def lines(*equations: Math) -> Math:
    """Equations below one another."""
    cells = "".join(f"<mtr><mtd>{each.markup}</mtd></mtr>" for each in equations)
    table = f'<mtable displaystyle="true">{cells}</mtable>'
    return Math(table, "; ".join(each.text for each in equations))


def _read(text: str) -> Math:
    return symbol(text) if text[:1].isalpha() else sign(text)


def _one(part: Math) -> str:
    """One element: MathML's scripts and fractions take exactly two children."""
    return part.markup if part.markup.startswith(("<mi", "<mn", "<mrow", "<mo")) else f"<mrow>{part.markup}</mrow>"


def _minus(value: int) -> str:
    return str(value).replace("-", "−")
