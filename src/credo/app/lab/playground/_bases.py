"""Basis functions of one input, evenly spread over the plot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.app.lab.playground._controls import Control, choice, log_slider, slider
from credo.app.lab.playground._mathml import Math, call, fraction, number, power, row, sign, symbol, times, total, words
from credo.app.lab.playground._problem import Array, Domain, rounded
from credo.app.lab.playground._source import source
from credo.features import Fourier, Polynomial, Radial, Sigmoid, Step

BASES = (
    ("polynomial", "Polynomial"),
    ("radial", "Radial (Gaussian bumps)"),
    ("fourier", "Fourier (sines and cosines)"),
    ("sigmoid", "Sigmoid (smooth steps)"),
    ("step", "Step"),
)
_SHOWN = 6


def basis_controls(domain: Domain, *, degree: int = 3, lowest: int = 0) -> list[Control]:
    """The choice of a basis and the controls of each."""
    width = domain.width
    return [
        choice("basis", "Basis", BASES, help="The functions of x that the model adds up."),
        slider(
            "degree", "Degree", lowest, 15, degree, step=1, when={"basis": ["polynomial"]}, curve=True,
            help="Highest power of x, which is scaled to run from −1 to 1 over the plot.",
        ),
        slider(
            "functions", "Number of functions", 1, 30, 9, step=1, curve=True,
            when={"basis": ["radial", "fourier", "sigmoid", "step"]}, help="Spread evenly over the plot.",
        ),
        log_slider(
            "width", "Width", width / 100, width, width / 8, unit="x", curve=True,
            when={"basis": ["radial", "sigmoid"]},
            help="Standard deviation of a bump, or length over which a smooth step rises.",
        ),
        log_slider(
            "period", "Period", width / 10, 4 * width, width, unit="x", when={"basis": ["fourier"]}, curve=True,
            help="Period of the slowest sine.",
        ),
    ]  # fmt: skip


@dataclass(frozen=True)
class Design:
    """The basis of some settings on a domain; `constant` puts a column of ones first."""

    settings: Any
    domain: Domain
    constant: bool = True

    @property
    def kind(self) -> str:
        return str(self.settings["basis"])

    @property
    def is_constant(self) -> bool:
        """Whether the constant is the only function: a polynomial of degree 0."""
        return self.kind == "polynomial" and self.settings["degree"] == 0

    @property
    def centers(self) -> list[float]:
        """Centres or thresholds; steps are between them, so that each splits the plot."""
        count, (low, high) = int(self.settings["functions"]), self.domain.x
        if self.kind == "step":
            inner = np.linspace(low, high, count + 2)[1:-1]
        else:
            inner = np.linspace(low, high, count) if count > 1 else np.array([(low + high) / 2])
        digits = 4 + len(str(int(abs(max(low, high, key=abs)))))
        return [rounded(center, digits) + 0.0 for center in inner.tolist()]

    @cached_property
    def transformer(self) -> Any:
        """The transformer of Credo, not fitted."""
        given = self.settings
        if self.kind == "polynomial":
            return Polynomial(int(given["degree"]), scale=False)
        if self.kind == "radial":
            return Radial(self.centers, width=given["width"])
        if self.kind == "fourier":
            return Fourier(int(given["functions"]), period=given["period"])
        if self.kind == "sigmoid":
            return Sigmoid(self.centers, slope=rounded(1 / given["width"]))
        return Step(self.centers)

    @cached_property
    def _fitted(self) -> Any:
        return self.transformer.fit(np.array(self.domain.x)[:, None])

    @property
    def mapped(self) -> tuple[float, float] | None:
        """Centre and half-width of the map to −1, …, 1 that powers need; None where x is used as it is."""
        if self.kind != "polynomial":
            return None
        center, half = self.domain.center[0], self.domain.half[0]
        return None if (center, half) == (0.0, 1.0) else (center, half)

    def features(self, x: Array) -> Array:
        """The design matrix of a column of inputs."""
        ones = np.ones((len(x), 1))
        if self.is_constant:
            return ones if self.constant else ones[:, :0]
        if self.mapped is not None:
            x = (x - self.mapped[0]) / self.mapped[1]
        columns: Array = self._fitted.transform(x)
        return np.column_stack([ones, columns]) if self.constant else columns

    @property
    def names(self) -> list[str]:
        """What each column is, without the constant."""
        if self.is_constant:
            return []
        if self.kind == "polynomial":
            u = "x" if self.mapped is None else "u"
            return [u if d == 1 else f"{u}^{d}" for d in range(1, int(self.settings["degree"]) + 1)]
        if self.kind == "fourier":
            return [f"{wave} {k}" for k in range(1, int(self.settings["functions"]) + 1) for wave in ("cos", "sin")]
        return [f"{'<' if self.kind == 'step' else ''}{center:.4g}" for center in self.centers]

    def code(self) -> list[str]:
        """Lines that define `features`."""
        body = "x" if self.mapped is None else _mapped_source(*self.mapped)
        if self.is_constant:
            return ["def features(x):", "    return np.ones((len(x), 1))", ""]
        low, high = self.domain.x
        first = f"basis = {source(self.transformer)}.fit([[{low!r}], [{high!r}]])"
        inner = f"basis.transform({body})"
        made = f"np.column_stack([np.ones(len(x)), {inner}])" if self.constant else inner
        return [first, "", "", "def features(x):", f"    return {made}", "", ""]

    def imports(self) -> set[str]:
        return set() if self.is_constant else {type(self.transformer).__name__}

    def equation(self, coefficients: Array) -> Math:
        """w₀ + w₁φ₁(x) + … with the largest numbers filled in; the constant is the first coefficient."""
        function = self._functions()
        terms = [number(float(coefficients[0]))]
        terms += [times(number(float(w)), phi) for w, phi in zip(coefficients[1:], function, strict=False)]
        if len(coefficients) > len(terms):
            terms.append(words("…"))
        return total(*terms)

    def _functions(self) -> list[Math]:
        """The first few functions of x."""
        x = symbol("x")
        if self.kind == "polynomial":
            u = x if self.mapped is None else symbol("u")
            return [u if d == 1 else power(u, number(d)) for d in range(1, _SHOWN + 1)]
        if self.kind == "fourier":
            turn = [row(number(2 * k), symbol("π"), symbol("x"), sign("/"), number(self.settings["period"]))
                    for k in range(1, _SHOWN // 2 + 1)]  # fmt: skip
            return [call(wave, angle) for angle in turn for wave in ("cos", "sin")]
        shown = [number(center, 6) for center in self.centers[:_SHOWN]]
        if self.kind == "step":
            return [row(number(1), sign("["), x, sign("<"), center, sign("]")) for center in shown]
        name = "φ" if self.kind == "radial" else "σ"
        width = number(self.settings["width"])
        return [call(name, fraction(_shifted(x, center), width)) for center in shown]

    def where(self) -> Math | None:
        """The meaning of symbols in the equation."""
        if self.mapped is not None and not self.is_constant:
            center, half = self.mapped
            return row("u", "=", fraction(_shifted(symbol("x"), number(center, 8)), number(half)))
        if self.kind == "radial":
            exponent = row(sign("−"), power(symbol("t"), number(2)), sign("/"), number(2))
            return row(call("φ", "t"), sign("="), call("exp", exponent))
        return None


def _shifted(x: Math, center: Math) -> Math:
    if center.text == "0":
        return x
    negative = center.text.startswith("−")
    bare = Math(center.markup.replace("−", "", 1), center.text[1:]) if negative else center
    return row(x, sign("+" if negative else "−"), bare)


def _mapped_source(center: float, half: float) -> str:
    shifted = "x" if center == 0 else f"(x - {center!r})" if center > 0 else f"(x + {-center!r})"
    return shifted if half == 1.0 else f"{shifted} / {half!r}"
