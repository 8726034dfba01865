"""Kernels as sums of products: the page's value, the kernel of Credo, and its equation."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from credo.app.lab.playground._controls import Control, log_slider
from credo.app.lab.playground._mathml import (
    Math,
    brackets,
    call,
    fraction,
    index,
    joined,
    number,
    power,
    row,
    sign,
    symbol,
    times,
    words,
)
from credo.app.lab.playground._problem import UNIT, Domain, Refused
from credo.kernels import RBF, Constant, Exponential, Kernel, Linear, Matern32, Matern52, Periodic, RationalQuadratic

TERMS, FACTORS = 3, 3
Terms = list[list[dict[str, Any]]]

STATIONARY: dict[str, tuple[Any, str]] = {
    "RBF": (RBF, "Squared exponential (RBF)"),
    "Matern52": (Matern52, "Matérn 5/2"),
    "Matern32": (Matern32, "Matérn 3/2"),
    "Exponential": (Exponential, "Exponential (Matérn 1/2)"),
}


@dataclass(frozen=True)
class KernelControl(Control):
    """The control that puts a kernel together with + and ×."""

    domain: Domain = UNIT
    two_inputs: bool = False

    def parameters(self) -> dict[str, list[Control]]:
        """The parameters of each kernel."""
        return kernel_parameters(self.domain, two_inputs=self.two_inputs)

    def json(self) -> dict[str, Any]:
        labels = {**{name: label for name, (_, label) in STATIONARY.items()}, **_OTHERS}
        kernels = [
            {"name": name, "label": labels[name], "parameters": [control.json() for control in parameters]}
            for name, parameters in self.parameters().items()
        ]
        return super().json() | {"kernels": kernels, "max_terms": TERMS, "max_factors": FACTORS}

    def resolve(self, value: Any) -> Terms:
        if not isinstance(value, list) or not 1 <= len(value) <= TERMS:
            raise Refused(f"The kernel must be a list of 1 to {TERMS} terms.")
        known = self.parameters()
        return [self._term(term, known) for term in value]

    def _term(self, term: Any, known: dict[str, list[Control]]) -> list[dict[str, Any]]:
        if not isinstance(term, list) or not 1 <= len(term) <= FACTORS:
            raise Refused(f"A term of the kernel must be a list of 1 to {FACTORS} factors.")
        return [self._factor(factor, known, first=i == 0) for i, factor in enumerate(term)]

    def _factor(self, factor: Any, known: dict[str, list[Control]], *, first: bool) -> dict[str, Any]:
        if not isinstance(factor, Mapping) or not isinstance(factor.get("name"), str) or factor["name"] not in known:
            raise Refused(f"A factor of the kernel must have a name among {', '.join(known)}.")
        controls = {control.id: control for control in known[factor["name"]]}
        for name in factor:
            if name != "name" and name not in controls:
                raise Refused(f"The kernel {factor['name']} has no parameter {str(name)[:40]!r}.")
        made = {"name": factor["name"]}
        for id, control in controls.items():
            default = control.default if first else control.more.get("factor_default", control.default)
            # A second length scale may be left out.
            given = factor.get(id, default)
            if given is not None or id != "lengthscale2":
                made[id] = control.resolve(given)
        return made


_OTHERS = {
    "RationalQuadratic": "Rational quadratic",
    "Periodic": "Periodic",
    "Linear": "Linear",
    "Constant": "Constant",
}


def kernel_control(domain: Domain, *, two_inputs: bool) -> KernelControl:
    """The kernel control of a task, by default one squared exponential."""
    bare = KernelControl("kernel", "Kernel", "kernel", None, domain=domain, two_inputs=two_inputs)
    default = {control.id: control.default for control in bare.parameters()["RBF"] if control.id != "lengthscale2"}
    help = "Terms are added, factors within a term are multiplied."
    return replace(bare, default=[[{"name": "RBF", **default}]], learnable=True, curve=True, help=help)


def kernel_parameters(domain: Domain, *, two_inputs: bool) -> dict[str, list[Control]]:
    """The sliders of each kernel, with ranges that fit the plot."""
    reach = max(domain.width, domain.height) if two_inputs else domain.width
    scale = {"learnable": True, "curve": True}
    length = log_slider("lengthscale", "Length scale", reach / 200, 5 * reach, reach / 8, unit="x", **scale)
    lengths = [length]
    if two_inputs:
        lengths.append(
            replace(
                length, id="lengthscale2", label="Length scale of x₂", default=None,
                help="Leave it out to use one length scale for both inputs.",
            )
        )  # fmt: skip
    typical = 4.0 if two_inputs else (domain.height / 4) ** 2
    unit = "" if two_inputs else "y²"
    widest = 100.0 if two_inputs else 1000.0
    variance = log_slider(
        "variance", "Variance", typical / 1000, typical * widest, typical, unit=unit, **scale,
        more={"factor_default": 1.0},
    )  # fmt: skip
    if two_inputs:
        variance = replace(variance, low=1e-3, high=1e3)
    waves = log_slider("lengthscale", "Length scale", 0.05, 20, 1.0, help="In units of the period's phase.", **scale)
    shape = log_slider("shape", "Shape", 0.05, 50, 1.0, help="Large: like the squared exponential.", **scale)
    period = log_slider("period", "Period", reach / 100, 2 * reach, reach / 4, unit="x", **scale)
    known = {name: [*lengths, variance] for name in STATIONARY}
    return known | {
        "RationalQuadratic": [*lengths, shape, variance],
        "Periodic": [period, waves, variance],
        "Linear": [variance],
        "Constant": [variance],
    }


def make_kernel(terms: Terms, domain: Domain, *, two_inputs: bool) -> Kernel:
    """The kernel of Credo."""
    made = ((_make(factor, domain, two_inputs=two_inputs) for factor in term) for term in terms)
    return reduce(operator.add, (reduce(operator.mul, factors) for factors in made))


def _make(factor: dict[str, Any], domain: Domain, *, two_inputs: bool) -> Kernel:
    name, variance = factor["name"], factor["variance"]
    if name == "Constant":
        return Constant(variance)
    if name == "Linear":
        center, half = list(domain.center), list(domain.half)
        return Linear(variance, center=center if two_inputs else center[0], scale=half if two_inputs else half[0])
    lengthscale = factor["lengthscale"]
    if factor.get("lengthscale2") is not None:
        lengthscale = [lengthscale, factor["lengthscale2"]]
    if name == "Periodic":
        return Periodic(lengthscale, period=factor["period"], variance=variance)
    if name == "RationalQuadratic":
        return RationalQuadratic(lengthscale, shape=factor["shape"], variance=variance)
    return STATIONARY[name][0](lengthscale, variance=variance)


def learned_terms(terms: Terms, kernel: Kernel, controls: dict[str, list[Control]]) -> Terms:
    """The terms with the parameters of a fitted kernel of the same structure."""
    leaves = iter(_leaves(kernel))
    return [[{**factor, **_parameters(next(leaves), controls[factor["name"]])} for factor in term] for term in terms]


def _parameters(leaf: Kernel, controls: list[Control]) -> dict[str, float]:
    known = {control.id: control for control in controls}
    if isinstance(leaf, Constant):
        return {"variance": known["variance"].clipped(leaf.value)}
    found: dict[str, float] = {}
    for name, value in leaf.params.items():
        entries = np.ravel(value).tolist()
        found[name] = known[name].clipped(entries[0])
        if name == "lengthscale" and len(entries) > 1:
            found["lengthscale2"] = known["lengthscale2"].clipped(entries[1])
    return found


def _leaves(kernel: Kernel) -> list[Kernel]:
    terms = getattr(kernel, "terms", None)
    return [kernel] if terms is None else [leaf for term in terms for leaf in _leaves(term)]


def parameter_control(control: KernelControl, terms: Terms, path: str) -> tuple[Control, float]:
    """The slider and the present value at a path such as "kernel.0.1.lengthscale"."""
    parts = path.split(".")
    if len(parts) == 4 and parts[0] == "kernel" and parts[1].isdecimal() and parts[2].isdecimal():
        i, j = int(parts[1]), int(parts[2])
        if i < len(terms) and j < len(terms[i]):
            factor = terms[i][j]
            for each in control.parameters()[factor["name"]]:
                if each.id == parts[3] and factor.get(each.id) is not None:
                    return each, factor[each.id]
    raise Refused(f"There is no kernel parameter {path[:60]!r}.")


def with_parameter(terms: Terms, path: str, value: float) -> Terms:
    """The terms with another value at a path."""
    _, i, j, name = path.split(".")
    return [
        [{**factor, name: value} if (a, b) == (int(i), int(j)) else factor for b, factor in enumerate(term)]
        for a, term in enumerate(terms)
    ]


def kernel_equation(terms: Terms) -> Math:
    """k(r) with its numbers."""
    return joined([times(*map(_factor_equation, term)) for term in terms], sign("+"))


def _factor_equation(factor: dict[str, Any]) -> Math:
    variance, name = number(factor["variance"]), factor["name"]
    if name == "Constant":
        return variance
    if name == "Linear":
        return times(variance, row("u", Math("<msup><mi>u</mi><mo>′</mo></msup>", "u′")))
    if factor.get("lengthscale2") is not None:
        scales = (("1", factor["lengthscale"]), ("2", factor["lengthscale2"]))
        ratios = [fraction(index(symbol("r"), words(axis)), number(value)) for axis, value in scales]
        return times(variance, call(words(name), *ratios))
    r, length = symbol("r"), number(factor["lengthscale"])
    ratio = fraction(r, length)
    if name == "RBF":
        below = row(number(2), sign("·"), power(length, number(2)))
        return times(variance, call("exp", row(sign("−"), fraction(power(r, number(2)), below))))
    if name == "Exponential":
        return times(variance, call("exp", row(sign("−"), ratio)))
    if name == "Periodic":
        angle = fraction(row("π", r), number(factor["period"]))
        wave = row(number(2), power(symbol("sin"), number(2)), brackets(angle))
        return times(variance, call("exp", row(sign("−"), fraction(wave, power(length, number(2))))))
    if name == "RationalQuadratic":
        shape = number(factor["shape"])
        below = row(number(2), sign("·"), shape, sign("·"), power(length, number(2)))
        base = brackets(row(number(1), sign("+"), fraction(power(r, number(2)), below)))
        return times(variance, power(base, row(sign("−"), shape)))
    return times(variance, call(words("Matérn 3/2" if name == "Matern32" else "Matérn 5/2"), ratio))
