"""An additive model of one input: a straight line and the deviation from it, each with a variance of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.additive.terms import N_KNOTS, Line, Spline, line, spline
from credo.app.lab.playground._bases import shifted
from credo.app.lab.playground._controls import log_slider
from credo.app.lab.playground._equations import number, total
from credo.app.lab.playground._linear import NOISE, BayesianLinear
from credo.app.lab.playground._problem import Array, Domain, rounded
from credo.gp import GPRegressor
from credo.kernels import Constant, Linear


@dataclass(frozen=True)
class LineAndCurve:
    """1, x and splines of x with evenly spread knots, each times the standard deviation of its weights."""

    domain: Domain
    constant_std: float
    line_std: float
    curve_std: float

    @cached_property
    def _places(self) -> Array:
        return np.linspace(*self.domain.x, N_KNOTS + 1)[:, None]

    @cached_property
    def line(self) -> Line:
        found = line(0, self._places)
        assert found is not None
        return found

    @cached_property
    def spline(self) -> Spline:
        found = spline(0, self._places, N_KNOTS)
        assert found is not None
        return found

    def functions(self, x: Array) -> Array:
        """The functions themselves: a constant, the line, and the splines."""
        return np.column_stack([np.ones(len(x)), self.line(x), self.spline(x)])

    def features(self, x: Array) -> Array:
        """The columns of a linear model whose weights are N(0, 1)."""
        scales = [self.constant_std, self.line_std, *[self.curve_std] * self.spline.width]
        return self.functions(x) * scales

    @property
    def names(self) -> list[str]:
        """What each column is, without the constant."""
        return ["line", *(f"curve {j}" for j in range(1, self.spline.width + 1))]

    def code(self) -> list[str]:
        """Lines that define `features`."""
        low, high = self.domain.x
        return [
            "from credo.additive.terms import line, spline",
            f"places = np.linspace({low!r}, {high!r}, {N_KNOTS + 1})[:, None]",
            f"straight, curved = line(0, places), spline(0, places, {N_KNOTS})",
            "", "",
            "def features(x):",
            f"    parts = [{self.constant_std!r} * np.ones((len(x), 1)), {self.line_std!r} * straight(x), "
            f"{self.curve_std!r} * curved(x)]",
            "    return np.hstack(parts)",
            "", "",
        ]  # fmt: skip


class Additive(BayesianLinear):
    """A line and a curve with given variances, or those with the highest evidence; without points the prior."""

    id, name = "additive", "Additive"
    declared = (
        log_slider(
            "line_std", "Scale of the line", 1e-3, 10, 1 / 4, digits=1, unit="y", learnable=True, curve=True,
            help="Prior standard deviation of how far the line rises over one standard deviation of x.",
        ),
        log_slider(
            "curve_std", "Scale of the curve", 1e-3, 10, 1 / 4, digits=1, unit="y", learnable=True, curve=True,
            help="Prior standard deviation of the deviation from the line.",
        ),
        NOISE,
    )  # fmt: skip
    learned_note = "The variances of line, curve and noise have the highest evidence that was found."
    # The scales are in the columns.
    prior_std = 1.0

    @cached_property
    def basis(self) -> LineAndCurve:  # type: ignore[override]
        constant = rounded(self.problem.domain.height / 4, 3)
        return LineAndCurve(self.problem.domain, constant, self.settings["line_std"], self.settings["curve_std"])

    def learned(self) -> dict[str, Any]:
        # The same prior over functions, as a kernel with a variance for each part.
        basis, rest = self.basis, slice(2, 2 + self.basis.spline.width)
        kernel = (
            Constant(basis.constant_std**2).fix("value")
            + Linear(basis.line_std**2).on(1)
            + Linear(basis.curve_std**2).on(rest)
        )
        model = GPRegressor(
            kernel, mean="zero", standardize=False, hyperpriors=False, method="exact", n_restarts=3, random_state=0
        )
        found = model.fit(basis.functions(self.problem.X), self.problem.y - self.offset)
        variances = [value for name, value in found.kernel_.params.items() if name.startswith("linear")]
        line_std, curve_std, noise = np.sqrt([*variances, found.noise_variance_]).tolist()
        return {"line_std": line_std, "curve_std": curve_std, "noise": noise}

    def parts(self, grid: Array) -> list[tuple[str, Array]]:
        """The line, and the deviation from it about the middle of the plot."""
        each = self.features(grid) * (self.estimator.coef_ if self.problem.n else 0.0)
        return [
            ("line", each[:, :2].sum(axis=1) + self.offset),
            ("deviation from the line", each[:, 2:].sum(axis=1) + self.offset),
        ]

    def equation(self) -> str:
        values, basis = self.coefficients(), self.basis
        b, a = number(values[0] * basis.constant_std + self.offset), number(values[1] * basis.line_std)
        line_std, curve_std, noise = (number(self.settings[each]) for each in ("line_std", "curve_std", "noise"))
        u = f"u = {shifted('x', number(basis.line.center, 8))}/{number(basis.line.scale)}"
        return "\n".join([
            f"f(x) = {total([b, f'{a} u', '∑ w_j φ_j(x)'])}", u,
            f"a ∼ N(0, {line_std}^2), w_j ∼ N(0, {curve_std}^2)",
            f"y ∼ N(f(x), {noise}^2)",
        ])  # fmt: skip
