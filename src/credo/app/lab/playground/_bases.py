"""Basis functions of one input, evenly spread over the plot, and powers of two inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.app.lab.playground._controls import choice, log_slider, slider
from credo.app.lab.playground._equations import number, total
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
_N_SHOWN = 6


# The choice of a basis and the controls of each.
CONTROLS = (
    choice("basis", "Basis", BASES, help="The functions of x that the model adds up."),
    slider(
        "degree", "Degree", 0, 15, 3, step=1, when={"basis": ["polynomial"]}, curve=True,
        help="Highest power of x, which is scaled to run from −1 to 1 over the plot.",
    ),
    slider(
        "functions", "Number of functions", 1, 30, 9, step=1, curve=True,
        when={"basis": ["radial", "fourier", "sigmoid", "step"]}, help="Spread evenly over the plot.",
    ),
    log_slider(
        "width", "Width", 0.01, 1, 1 / 8, unit="x", curve=True, when={"basis": ["radial", "sigmoid"]},
        help="Standard deviation of a bump, or length over which a smooth step rises.",
    ),
    log_slider(
        "period", "Period", 0.1, 4, 1, unit="x", when={"basis": ["fourier"]}, curve=True,
        help="Period of the slowest sine.",
    ),
)  # fmt: skip


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
        """Centers or thresholds; steps are between them, so that each splits the plot."""
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
        """Center and half-width of the map to −1, …, 1 that powers need; None if x is used as it is."""
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

    def equation(self, coefficients: Array) -> str:
        """w₀ + w₁φ₁(x) + … with the first numbers filled in; the constant is the first coefficient."""
        return _weighted(coefficients, self._functions())

    def _functions(self) -> list[str]:
        """The first few functions of x."""
        if self.kind == "polynomial":
            u = "x" if self.mapped is None else "u"
            return [u if d == 1 else f"{u}^{d}" for d in range(1, _N_SHOWN + 1)]
        if self.kind == "fourier":
            period, turns = number(self.settings["period"]), range(1, _N_SHOWN // 2 + 1)
            return [f"{wave}(({2 * k} π x)/{period})" for k in turns for wave in ("cos", "sin")]
        shown = [number(center, 6) for center in self.centers[:_N_SHOWN]]
        if self.kind == "step":
            return [f"1[x < {center}]" for center in shown]
        name, width = "φ" if self.kind == "radial" else "σ", number(self.settings["width"])
        return [f"{name}({shifted('x', center)}/{width})" for center in shown]

    def where(self) -> list[str]:
        """The meaning of symbols in the equation."""
        if self.mapped is not None and not self.is_constant:
            return [f"u = {shifted('x', number(self.mapped[0], 8))}/{number(self.mapped[1])}"]
        return ["φ(t) = exp(−t^2/2)"] if self.kind == "radial" else []


@dataclass(frozen=True)
class Plane:
    """All powers and products of two inputs up to a degree; each input runs from −1 to 1 over the plot."""

    degree: int
    domain: Domain

    @cached_property
    def _basis(self) -> Polynomial:
        return Polynomial(self.degree, scale=False).fit([[-1.0, -1.0], [1.0, 1.0]])

    def features(self, X: Array) -> Array:
        """The columns of a linear classifier."""
        scaled = (X - self.domain.center) / self.domain.half
        return scaled if self.degree == 1 else self._basis.transform(scaled)

    def code(self) -> list[str]:
        """Lines that define `features`."""
        scaled = f"(X - {list(self.domain.center)!r}) / {list(self.domain.half)!r}"
        if self.degree == 1:
            return ["def features(X):", f"    return {scaled}", "", ""]
        first = f"basis = Polynomial({self.degree}, scale=False).fit([[-1.0, -1.0], [1.0, 1.0]])"
        return [first, "", "", "def features(X):", f"    return basis.transform({scaled})", "", ""]

    @property
    def names(self) -> list[str]:
        """What the columns are."""
        found = self._basis.get_feature_names_out(["u1", "u2"]) if self.degree > 1 else ["u1", "u2"]
        return [str(name).replace("u1", "u₁").replace("u2", "u₂") for name in found]

    def equation(self, coefficients: Array) -> str:
        """The linear function with its first numbers; the constant is the first coefficient."""
        powers = [(d - second, second) for d in range(1, self.degree + 1) for second in range(d + 1)][:_N_SHOWN]
        terms = [((1, first), (2, second)) for first, second in powers]
        return _weighted(coefficients, [" ".join(_power(*each) for each in term if each[1]) for term in terms])

    def where(self) -> list[str]:
        """How the inputs are scaled."""
        scales = enumerate(zip(self.domain.center, self.domain.half, strict=True), start=1)
        return [", ".join(f"u_{j} = {shifted(f'x_{j}', number(c, 8))}/{number(half)}" for j, (c, half) in scales)]


def _power(axis: int, exponent: int) -> str:
    return f"u_{axis}" if exponent == 1 else f"u_{axis}^{exponent}"


def _weighted(coefficients: Array, functions: list[str]) -> str:
    """The constant and the first weighted functions."""
    first, *others = coefficients.tolist()
    terms = [number(first), *(f"{number(w)} {phi}" for w, phi in zip(others, functions, strict=False))]
    return total([*terms, "…"] if len(coefficients) > len(terms) else terms)


def shifted(x: str, center: str) -> str:
    """x less a center, in brackets unless that is zero."""
    return x if center == "0" else f"({total([x, f'−{center}'.replace('−−', '')])})"


def _mapped_source(center: float, half: float) -> str:
    shifted = "x" if center == 0 else f"(x - {center!r})" if center > 0 else f"(x + {-center!r})"
    return shifted if half == 1.0 else f"{shifted} / {half!r}"
