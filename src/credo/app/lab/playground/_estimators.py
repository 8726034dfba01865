"""What models of one estimator have in common: its predictions, its source, and powers of two inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.app.lab.playground._mathml import (
    Math,
    call,
    fraction,
    index,
    joined,
    number,
    power,
    row,
    symbol,
    times,
    total,
    words,
)
from credo.app.lab.playground._model import Band, Fitted, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem
from credo.app.lab.playground._source import names, prediction, source
from credo.features import Polynomial

_SHOWN = 6


class RegressorFit(Fitted):
    """A regressor of the input itself."""

    latent = False

    def __init__(self, problem: Problem, settings: Settings, estimator: Any) -> None:
        self.problem, self.settings = problem, settings
        self.estimator = estimator.fit(problem.X, problem.y)

    def band(self, grid: Array) -> Band:
        latent = self.estimator.predict_dist(grid, latent=True) if self.latent else None
        return Band.of(self.estimator.predict_dist(grid), latent)

    def code(self) -> list[str]:
        return [f"model = {source(self.estimator)}", "model.fit(x, y)", *prediction("grid")]

    def imports(self) -> set[str]:
        return names(self.estimator)


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

    def imports(self) -> set[str]:
        return {"Polynomial"} if self.degree > 1 else set()

    @property
    def names(self) -> list[str]:
        """What the columns are."""
        found = self._basis.get_feature_names_out(["u1", "u2"]) if self.degree > 1 else ["u1", "u2"]
        return [str(name).replace("u1", "u₁").replace("u2", "u₂") for name in found]

    def sum(self, intercept: float, coefficients: Array) -> Math:
        """The linear function with its first numbers."""
        terms = [number(intercept)]
        for weight, powers in zip(coefficients[:_SHOWN], self._powers(), strict=False):
            terms.append(times(number(float(weight)), row(*powers)))
        if len(coefficients) > _SHOWN:
            terms.append(words("…"))
        return total(*terms)

    def _powers(self) -> list[list[Math]]:
        made = []
        for degree in range(1, self.degree + 1):
            for second in range(degree + 1):
                both = ((1, degree - second), (2, second))
                made.append([_power(axis, exponent) for axis, exponent in both if exponent])
        return made

    def where(self) -> Math:
        """How the inputs are scaled."""
        parts: list[Math] = []
        for axis, (center, half) in enumerate(zip(self.domain.center, self.domain.half, strict=True), start=1):
            x = index(symbol("x"), number(axis))
            scaled = fraction(total(x, number(-center, 8)) if center else x, number(half))
            parts.append(row(index(symbol("u"), number(axis)), "=", scaled))
        return joined(parts)


def _power(axis: int, exponent: int) -> Math:
    base = index(symbol("u"), number(axis))
    return base if exponent == 1 else power(base, number(exponent))


class ClassifierFit(Fitted):
    """A classifier of the two inputs, or of powers of them."""

    def __init__(self, problem: Problem, settings: Settings, estimator: Any, plane: Plane | None = None) -> None:
        self.problem, self.settings, self.plane = problem, settings, plane
        self.estimator = estimator.fit(self.inputs(problem.X), problem.target)

    def inputs(self, X: Array) -> Array:
        """The columns that the estimator gets."""
        return X if self.plane is None else self.plane.features(X)

    @property
    def _has_probabilities(self) -> bool:
        return hasattr(self.estimator, "predict_proba")

    def probabilities(self, rows: Array) -> Array:
        if self._has_probabilities:
            return self.estimator.predict_proba(self.inputs(rows))
        found = self.estimator.predict(self.inputs(rows))
        return np.asarray(found[:, None] == self.estimator.classes_, dtype=np.float64)

    def code(self) -> list[str]:
        before = [] if self.plane is None else self.plane.code()
        X, rows = ("X", "rows") if self.plane is None else ("features(X)", "features(rows)")
        if self._has_probabilities:
            last = f"probability = model.predict_proba({rows})"
        else:
            last = f"probability = 1.0 * (model.predict({rows})[:, None] == model.classes_)"
        return [*before, f"model = {source(self.estimator)}", f"model.fit({X}, labels)", last]

    def imports(self) -> set[str]:
        return names(self.estimator) | (set() if self.plane is None else self.plane.imports())

    @property
    def is_binary(self) -> bool:
        return len(self.problem.labels) == 2

    def chance(self) -> Math:
        """P(class = the last of two), or of any class."""
        label = number(self.problem.labels[-1]) if self.is_binary else symbol("k")
        return call("P", row("class", "=", label))
