"""Kernels as sums of products: the page's value, the kernel of Credo, and its equation."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from credo import kernels
from credo.app.lab.playground._controls import Control, log_slider
from credo.app.lab.playground._equations import number
from credo.app.lab.playground._problem import Domain
from credo.app.lab.refused import Refused
from credo.kernels import Constant, Kernel, Linear, Product, Sum

MAX_TERMS, MAX_FACTORS = 3, 3
Terms = list[list[dict[str, Any]]]

_MORE: dict[str, Any] = {"learnable": True, "curve": True}
_LENGTH = log_slider("lengthscale", "Length scale", 1 / 200, 5, 1 / 8, unit="x", **_MORE)
_LENGTHS = (
    _LENGTH,
    replace(
        _LENGTH, id="lengthscale2", label="Length scale of x₂", default=None, tasks=("classification",),
        help="Leave it out to use one length scale for both inputs.",
    ),
)  # fmt: skip
# In regression in units of the squared height of the plot; the function of a classifier has no unit.
_FACTOR: dict[str, Any] = {"more": {"factor_default": 1.0}, **_MORE}
_VARIANCE = (
    log_slider("variance", "Variance", 1 / 16000, 1000 / 16, 1 / 16, unit="y²", tasks=("regression",), **_FACTOR),
    log_slider("variance", "Variance", 1e-3, 1e3, 4.0, tasks=("classification",), **_FACTOR),
)
_SHAPE = log_slider("shape", "Shape", 0.05, 50, 1.0, help="Large: like the squared exponential.", **_MORE)
_WAVES = log_slider("lengthscale", "Length scale", 0.05, 20, 1.0, help="In units of the period's phase.", **_MORE)
_PERIOD = log_slider("period", "Period", 1 / 100, 2, 1 / 4, unit="x", **_MORE)


@dataclass(frozen=True)
class Shape:
    """A kernel of the page: its class, label and parameters, and its equation in r apart from the variance."""

    kind: Any
    label: str
    controls: tuple[Control, ...]
    equation: str


STATIONARY = {
    kind.__name__: Shape(kind, label, (*_LENGTHS, *_VARIANCE), equation)
    for kind, label, equation in (
        (kernels.RBF, "Squared exponential (RBF)", "exp(−r^2/(2 · {lengthscale}^2))"),
        (kernels.Matern52, "Matérn 5/2", '"Matérn 5/2"(r/{lengthscale})'),
        (kernels.Matern32, "Matérn 3/2", '"Matérn 3/2"(r/{lengthscale})'),
        (kernels.Exponential, "Exponential (Matérn 1/2)", "exp(−r/{lengthscale})"),
    )
}
_RATIONAL = "(1 + r^2/(2 · {shape} · {lengthscale}^2))^(−{shape})"
_WAVE = "exp(−(2 sin^2((π r)/{period}))/{lengthscale}^2)"
KERNELS = STATIONARY | {
    "RationalQuadratic": Shape(
        kernels.RationalQuadratic, "Rational quadratic", (*_LENGTHS, _SHAPE, *_VARIANCE), _RATIONAL
    ),
    "Periodic": Shape(kernels.Periodic, "Periodic", (_PERIOD, _WAVES, *_VARIANCE), _WAVE),
    "Linear": Shape(Linear, "Linear", _VARIANCE, "u u′"),
    "Constant": Shape(Constant, "Constant", _VARIANCE, ""),
}


@dataclass(frozen=True)
class KernelControl(Control):
    """The control that puts a kernel together with + and ×; by default one squared exponential."""

    known: Mapping[str, list[Control]] = field(default_factory=dict)

    def on(self, domain: Domain, task: str) -> KernelControl:
        known = {
            name: [control.on(domain, task) for control in shape.controls if task in (control.tasks or (task,))]
            for name, shape in KERNELS.items()
        }
        default = {control.id: control.default for control in known["RBF"] if control.default is not None}
        return replace(self, known=known, default=[[{"name": "RBF", **default}]])

    def json(self) -> dict[str, Any]:
        known = [
            {"name": name, "label": KERNELS[name].label, "parameters": [control.json() for control in controls]}
            for name, controls in self.known.items()
        ]
        return super().json() | {"kernels": known, "max_terms": MAX_TERMS, "max_factors": MAX_FACTORS}

    def resolve(self, value: Any) -> Terms:
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_TERMS:
            raise Refused(f"The kernel must be a list of 1 to {MAX_TERMS} terms.")
        return [self._term(term) for term in value]

    def _term(self, term: Any) -> list[dict[str, Any]]:
        if not isinstance(term, list) or not 1 <= len(term) <= MAX_FACTORS:
            raise Refused(f"A term of the kernel must be a list of 1 to {MAX_FACTORS} factors.")
        return [self._factor(factor, first=i == 0) for i, factor in enumerate(term)]

    def _factor(self, factor: Any, *, first: bool) -> dict[str, Any]:
        known = self.known
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

    def clipped(self, value: Any) -> Any:
        known = self.known
        return [
            [
                factor | {c.id: c.clipped(factor[c.id]) for c in known[factor["name"]] if factor.get(c.id)}
                for factor in term
            ]
            for term in value
        ]


KERNEL = KernelControl(
    "kernel", "Kernel", "kernel", None, help="Terms are added, factors within a term are multiplied.", **_MORE
)


def make_kernel(terms: Terms, domain: Domain, *, two_inputs: bool) -> Kernel:
    """The kernel of Credo."""
    made = ((_make(factor, domain, two_inputs=two_inputs) for factor in term) for term in terms)
    return reduce(operator.add, (reduce(operator.mul, factors) for factors in made))


def _make(factor: dict[str, Any], domain: Domain, *, two_inputs: bool) -> Kernel:
    name, given = factor["name"], {id: value for id, value in factor.items() if id != "name"}
    if name == "Constant":
        return Constant(given["variance"])
    if name == "Linear":
        center, half = list(domain.center), list(domain.half)
        return Linear(**given, center=center if two_inputs else center[0], scale=half if two_inputs else half[0])
    second = given.pop("lengthscale2", None)
    if second is not None:
        given["lengthscale"] = [given["lengthscale"], second]
    made: Kernel = KERNELS[name].kind(**given)
    return made


def learned_terms(terms: Terms, kernel: Kernel) -> Terms:
    """The terms with the parameters of a fitted kernel of the same structure."""
    leaves = iter(_leaves(kernel))
    return [[{**factor, **_parameters(next(leaves))} for factor in term] for term in terms]


def _parameters(leaf: Kernel) -> dict[str, float]:
    if isinstance(leaf, Constant):
        return {"variance": leaf.value}
    found = {name: np.ravel(value).tolist() for name, value in leaf.params.items()}
    second = {"lengthscale2": found["lengthscale"][1]} if len(found.get("lengthscale", ())) > 1 else {}
    return {name: values[0] for name, values in found.items()} | second


def _leaves(kernel: Kernel) -> list[Kernel]:
    return [leaf for term in kernel.terms for leaf in _leaves(term)] if isinstance(kernel, Sum | Product) else [kernel]


def parameter_control(control: KernelControl, terms: Terms, path: str) -> tuple[Control, float]:
    """The slider and the present value at a path such as "kernel.0.1.lengthscale"."""
    parts = path.split(".")
    if len(parts) == 4 and parts[0] == "kernel" and parts[1].isdecimal() and parts[2].isdecimal():
        i, j = int(parts[1]), int(parts[2])
        if i < len(terms) and j < len(terms[i]):
            factor = terms[i][j]
            for each in control.known[factor["name"]]:
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


def kernel_equation(terms: Terms) -> str:
    """k(r) with its numbers."""
    return " + ".join(" ".join(map(_factor_equation, term)) for term in terms)


def _factor_equation(factor: dict[str, Any]) -> str:
    values = {id: number(value) for id, value in factor.items() if id != "name" and value is not None}
    if "lengthscale2" in values:
        scales = f"r_1/{values['lengthscale']}, r_2/{values['lengthscale2']}"
        return f'{values["variance"]} "{factor["name"]}"({scales})'
    return f"{values['variance']} {KERNELS[factor['name']].equation.format(**values)}".strip()
