"""What a kernel search found: the fitted model, its additive components, and a description in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import Normal
from credo.frames import Table
from credo.gp import GPRegressor
from credo.kernels import Kernel, Linear, Sum
from credo.linalg import Factor, factorize
from credo.selection._kernel_moves import base, column_of, terms_of
from credo.selection._kernel_words import Axis, words

Array = NDArray[np.float64]

# The most rows of the printed table of steps.
_SHOWN = 15


@dataclass(frozen=True)
class Step:
    """A kernel that a round of the search tried, with its log evidence and the same minus (k/2) ln n.

    The kernel is in units of the standard deviation of y, the evidence that of the rows that were searched.

    Examples
    --------
    >>> from credo.kernels import RBF
    >>> from credo.selection import Step
    >>> Step(round=1, kernel=RBF(1.0), log_evidence=-20.0, score=-24.6).score
    -24.6
    """

    round: int
    kernel: Kernel
    log_evidence: float
    score: float


@dataclass(frozen=True)
class Component:
    """A term of the kernel, what it is in words, and its share of the variance of y: cov(f, y)/var(y).

    The shares of all components and of the residuals add up to one.

    Examples
    --------
    >>> from credo.kernels import Linear
    >>> from credo.selection import Component
    >>> Component(Linear(), "a linear function of x", 0.42).percent
    '42 %'
    """

    kernel: Kernel
    words: str
    share: float

    @property
    def percent(self) -> str:
        """The share in per cent."""
        if abs(self.share) < 0.001:
            return "less than 0.1 %"
        return f"{100 * self.share:.2g} %" if self.share < 0.99 else f"{100 * self.share:.3g} %"

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it depends on."""
        return tuple(dict.fromkeys(column_of(factor) for term in terms_of(self.kernel) for factor in term))


@dataclass(frozen=True)
class KernelSearch:
    """What `search_kernel` found.

    Attributes
    ----------
    kernel : the kernel, in the units of X and y
    model : GPRegressor with this kernel, fitted on all rows
    components : the terms of the kernel, largest share of the variance first
    noise_std : standard deviation of the noise
    description : what was found, in sentences
    steps : every kernel that was tried
    seconds : duration of search and fit

    Examples
    --------
    >>> import numpy as np
    >>> from credo import search_kernel
    >>> x = np.arange(12.0)
    >>> found = search_kernel(x[:, None], 2 * x + np.sin(x**2))
    >>> found.components[0].words, found.decompose([[20.0]])[0].mean.round(0)
    ('a rising linear trend', array([29.]))
    """

    kernel: Kernel
    model: GPRegressor
    components: tuple[Component, ...]
    noise_std: float
    description: str
    steps: tuple[Step, ...]
    seconds: float

    @property
    def table(self) -> Table:
        """The steps, best first."""
        steps = sorted(self.steps, key=lambda step: -step.score)
        return Table(
            "Kernels tried",
            {
                "round": [step.round for step in steps],
                "log evidence": [step.log_evidence for step in steps],
                "penalised": [step.score for step in steps],
                "kernel": [repr(step.kernel) for step in steps],
            },
            most=_SHOWN,
        )

    def decompose(self, X: ArrayLike) -> list[Normal]:
        """The posterior distribution of each component at the rows of X, without noise.

        Each averages zero over the training rows. Their means and a constant add up to ``model.predict(X)``.
        """
        rows = self.model._predict_rows(X)
        return [self._decomposition.component(component.kernel, rows) for component in self.components]

    @cached_property
    def _decomposition(self) -> _Decomposition:
        return _Decomposition.of(self.model)

    def __str__(self) -> str:
        parts = Table(
            "Components",
            {
                "share of variance": [component.percent for component in self.components],
                "component": [component.words for component in self.components],
                "kernel": [repr(component.kernel) for component in self.components],
            },
        )
        tried = f"{len(self.steps)} kernels tried in {self.seconds:.1f} s; .table has them"
        return "\n\n".join([self.description, *([str(parts)] if self.components else []), tried])


@dataclass(frozen=True)
class _Decomposition:
    """f_c | y for each term c of a kernel: mean k_cᵀα, α = C⁻¹(y − β), β the constant of a flat prior."""

    X: Array
    factor: Factor
    alpha: Array
    by_constant: Array
    constant_variance: float

    @classmethod
    def of(cls, model: GPRegressor) -> _Decomposition:
        C = model.kernel_.gram(model.X_train_)
        C[np.diag_indices_from(C)] += model.train_noise_ * model.scale_[0] ** 2 / model.weight_
        factor = factorize(C)
        by_constant = factor.solve(np.ones(len(C)))
        variance = 1.0 / float(by_constant.sum())
        beta = float(by_constant @ model.y_train_) * variance
        return cls(model.X_train_, factor, factor.solve(model.y_train_ - beta), by_constant, variance)

    def component(self, kernel: Kernel, rows: Array) -> Normal:
        # Minus the average over the training rows, which no data tell from the constant.
        cross, average = kernel.cross(self.X, rows), kernel.gram(self.X).mean(axis=0)
        variance = kernel.diagonal(rows) - 2.0 * cross.mean(axis=0) + average.mean()
        cross -= average[:, None]
        half = self.factor.half_solve(cross)
        # The second part is that of the unknown constant (Rasmussen & Williams 2.42).
        variance -= np.einsum("ij,ij->j", half, half)
        variance += (cross.T @ self.by_constant) ** 2 * self.constant_variance
        return Normal(cross.T @ self.alpha, np.sqrt(np.maximum(variance, 0.0)))


def result_of(model: GPRegressor, steps: Sequence[Step], *, seconds: float, out_of_time: bool) -> KernelSearch:
    """The components of a fitted model in words."""
    kernel, y = model.kernel_, model.y_train_
    terms = _merged(kernel) if terms_of(kernel) else []
    axes = [Axis.of(name, model.X_train_[:, j]) for j, name in enumerate(model._feature_names())]
    decomposition, weight = _Decomposition.of(model), model.weight_ / model.weight_.sum()
    centered = y - weight @ y
    variance = float(weight @ centered**2)
    components = []
    for term in terms:
        mean = decomposition.component(term, model.X_train_).mean
        share = float(weight @ (centered * mean)) / variance if variance else 0.0
        components.append(Component(term, words(term, axes, model.X_train_, mean), share))
    components.sort(key=lambda component: -component.share)
    noise = float(np.sqrt(model.noise_variance_))
    text = _description(components, noise)
    if out_of_time:
        text += " The search ran out of time, so there may be more to find."
    return KernelSearch(kernel, model, tuple(components), noise, text, tuple(steps), seconds)


def _merged(kernel: Kernel) -> list[Kernel]:
    """The terms, with polynomials in the same column summed up, because data hardly tell their parts apart."""
    groups: dict[object, list[Kernel]] = {}
    for i, term in enumerate(kernel.terms if isinstance(kernel, Sum) else [kernel]):
        columns = {column_of(factor) for factor in terms_of(term)[0] if isinstance(base(factor), Linear)}
        polynomial = all(isinstance(base(factor), Linear) for factor in terms_of(term)[0]) and len(columns) == 1
        groups.setdefault(f"column {columns}" if polynomial else i, []).append(term)
    return [Sum(*group) if len(group) > 1 else group[0] for group in groups.values()]


def _description(components: Sequence[Component], noise_std: float) -> str:
    if not components:
        return f"No structure found beyond noise, which has a standard deviation of {noise_std:.3g}."
    parts = [f"{component.words} ({component.percent} of the variance)" for component in components]
    return f"y is {', plus '.join(parts)}. The noise has a standard deviation of {noise_std:.3g}."
