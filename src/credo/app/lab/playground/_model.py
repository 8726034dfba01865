"""The base class of the playground's models: controls, a Credo estimator, and what is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from credo.app.lab.playground._bases import Design, Plane
from credo.app.lab.playground._controls import Control, resolve
from credo.app.lab.playground._problem import Array, Domain, Problem
from credo.app.lab.playground._source import prediction, shift, source
from credo.core.linalg import factorize
from credo.distributions import Distribution
from credo.selection import bic

LEVEL = 0.95
OCCAM = "Occam term, −½ ln|C|"
Settings = dict[str, Any]
Bars = tuple[str, list[str], Any]


@dataclass(frozen=True)
class Band:
    """A function with its intervals: of new observations and of the function itself (None if there are none)."""

    mean: Array
    interval: tuple[Array, Array] | None = None
    latent: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, predicted: Distribution, latent: Distribution | None = None, offset: float = 0.0) -> Band:
        """From predictive distributions of y and, if there is one, of f; the offset is added."""
        pairs = [None if each is None else each.interval(LEVEL) for each in (predicted, latent)]
        shifted = [None if pair is None else (pair[0] + offset, pair[1] + offset) for pair in pairs]
        return cls(np.asarray(predicted.mean) + offset, *shifted)


@dataclass(frozen=True)
class Evidence:
    """A log evidence and the parts that sum to it, or the reason why there is none."""

    value: float | None
    reason: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    method: str = "exact"
    label: str = "log evidence"


@dataclass(frozen=True)
class Next:
    """The input to measure next."""

    at: tuple[float, ...]
    amount: float
    measure: str
    why: str

    @classmethod
    def largest(cls, rows: Array, amount: Array, measure: str, why: str) -> Next:
        """The row with the largest amount."""
        at = int(np.argmax(amount))
        return cls(tuple(rows[at].tolist()), float(amount[at]), measure, why)

    @classmethod
    def widest(cls, rows: Array, spread: Array) -> Next:
        """The row at which the function is most uncertain."""
        return cls.largest(rows, spread, "std", "The standard deviation of the function is largest here.")


class Model:
    """One tab of the playground; an instance is the model of some settings on the points of a problem.

    A model declares what the page can show for each task, its controls and its estimator. Members that it doesn't have
    return None.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    shows: ClassVar[dict[str, tuple[str, ...]]]
    declared: ClassVar[tuple[Control, ...]] = ()
    # With fewer points there is a note instead of a fit.
    least: ClassVar[int] = 1
    no_evidence: ClassVar[str] = "This model has no prior over functions, so it has no evidence."
    learned_note: ClassVar[str] = ""
    has_probabilities: ClassVar[bool] = True
    # Whether the function itself has an interval, and whether the middle of the plot is subtracted from y.
    latent: ClassVar[bool] = False
    centered: ClassVar[bool] = False

    def __init__(self, problem: Problem, settings: Settings, *, learning: bool = False) -> None:
        self.problem, self.settings, self.learning = problem, settings, learning
        self.offset = problem.domain.offset if self.centered else 0.0

    @classmethod
    def controls(cls, task: str, domain: Domain) -> list[Control]:
        """The controls of a task, with ranges that fit the plot."""
        return [control.on(domain, task) for control in cls.declared if task in (control.tasks or (task,))]

    def make(self) -> Any:
        """The estimator with these settings, or one that learns them."""
        raise NotImplementedError

    def learned(self) -> Settings:
        """The learned settings, by control."""
        raise NotImplementedError

    def equation(self) -> str:
        """The equation with its numbers, in the notation of `_equations`."""
        raise NotImplementedError

    @cached_property
    def basis(self) -> Design | Plane | None:
        """The functions of the inputs that the estimator gets; None for the inputs themselves."""
        return None

    @cached_property
    def estimator(self) -> Any:
        """The estimator, fitted if there are points."""
        if not self.problem.n:
            return self.make()
        target = self.problem.target
        return self.make().fit(self.features(self.problem.X), target - self.offset if self.offset else target)

    def features(self, X: Array) -> Array:
        """The columns that the estimator gets."""
        return X if self.basis is None else self.basis.features(X)

    @property
    def has_interval(self) -> bool:
        return True

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user of the page."""
        return ()

    def band(self, grid: Array) -> Band:
        """The function over a column of inputs (regression)."""
        rows = self.features(grid)
        if not self.has_interval:
            return Band(self.estimator.predict(rows))
        latent = self.estimator.predict_dist(rows, latent=True) if self.latent else None
        return Band.of(self.estimator.predict_dist(rows), latent, self.offset)

    def probabilities(self, rows: Array) -> Array:
        """Class probabilities, one column for each class that occurs; without them, 1 for the predicted class."""
        if self.has_probabilities:
            return self.estimator.predict_proba(self.features(rows))
        found = self.estimator.predict(self.features(rows))
        return np.asarray(found[:, None] == self.estimator.classes_, dtype=np.float64)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array | None:
        """Functions from the posterior or the prior, one in each row."""
        return None

    def parts(self, grid: Array) -> list[tuple[str, Array]]:
        """Functions whose sum is the mean, by name (regression)."""
        return []

    def evidence(self) -> Evidence:
        """The log evidence with its parts."""
        return Evidence(None, self.no_evidence)

    def equivalent_kernel(self, at: float) -> Array | None:
        """The weight of each training target in the prediction at an input."""
        return None

    def next(self, rows: Array) -> Next | None:
        """Which of the rows to measure next."""
        return None

    def bars(self) -> Bars | None:
        """Title, labels and values of a bar chart."""
        return None

    def weights(self) -> Array | None:
        """A weight of each point, drawn as its size."""
        return None

    def scores(self, rows: Array) -> Array | None:
        """A function of two classes that is 0 on their boundary, if there are no probabilities."""
        if self.has_probabilities or not self.is_binary:
            return None
        return np.asarray(self.estimator.decision_function(self.features(rows)), dtype=np.float64)

    def cut(self) -> tuple[int, float] | None:
        """The input and the value at which the last learner splits, drawn as a line."""
        return None

    def code(self) -> list[str]:
        """Python lines that make the same model and predict; `_source.program` puts imports and points before them."""
        regression = self.problem.task == "regression"
        x, y, rows = ("x", "y", "grid") if regression else ("X", "labels", "rows")
        before = [] if self.basis is None else self.basis.code()
        if self.basis is not None:
            x, rows = f"features({x})", f"features({rows})"
        if not regression:
            found = f"1.0 * (model.predict({rows})[:, None] == model.classes_)"
            last = [f"probability = {f'model.predict_proba({rows})' if self.has_probabilities else found}"]
        else:
            last = prediction(rows, self.offset) if self.has_interval else [f"mean = model.predict({rows})"]
        return [*before, f"model = {source(self.estimator)}", f"model.fit({x}, {shift(y, self.offset, '-')})", *last]

    @property
    def is_binary(self) -> bool:
        return len(self.problem.labels) == 2

    @property
    def signs(self) -> Array:
        """The labels of two classes as −1 and 1."""
        return np.where(self.problem.y == self.problem.labels[-1], 1.0, -1.0)

    @classmethod
    def resolve(cls, problem: Problem, given: Any) -> Settings:
        """Every control's value, checked."""
        return resolve(cls.controls(problem.task, problem.domain), given)

    @classmethod
    def learn(cls, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        """Settings with the learnable ones learned from the points, and notes about it."""
        known = {control.id: control for control in cls.controls(problem.task, problem.domain)}
        found = cls(problem, settings, learning=True).learned()
        return {**settings, **{id: known[id].clipped(value) for id, value in found.items()}}, [cls.learned_note]

    def with_value(self, control: str, value: Any) -> Model:
        """The model with another value of one control, for a curve."""
        return type(self)(self.problem, {**self.settings, control: value})


def gaussian_evidence(C: Array, y: Array) -> Evidence:
    """−½ yᵀC⁻¹y (fit) − ½ ln|C| (Occam term) − n/2 ln 2π (constant)  (Rasmussen & Williams 2.30)."""
    if not len(y):
        return Evidence(0.0, parts=(("fit", 0.0), (OCCAM, 0.0), ("constant", 0.0)))
    factor = factorize(C)
    half = factor.half_solve(y)
    parts = (
        ("fit", -0.5 * float(half @ half)),
        (OCCAM, -0.5 * factor.logdet),
        ("constant", -0.5 * len(y) * math.log(2 * math.pi)),
    )
    return Evidence(sum(value for _, value in parts), parts=parts)


def bic_evidence(estimator: Any, reason: str = "") -> Evidence:
    """−BIC/2, which approximates the log evidence of a model that has none; the reason is given if it isn't finite."""
    value, fit = -0.5 * float(bic(estimator)), float(estimator.log_likelihood_)
    if not math.isfinite(value):
        return Evidence(None, reason)
    parts = (("log likelihood", fit), ("−½ parameters · ln n", value - fit))
    return Evidence(value, parts=parts, method="bic", label="−BIC/2 (approximates the log evidence)")


def expected_fit(log_likelihood: Callable[[Array], Array], mean: Array, std: Array) -> float:
    """Σ E ln p(y | f) over independent normal f, by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    values = log_likelihood(mean[:, None] + std[:, None] * nodes)
    return float((values @ weights).sum() / math.sqrt(2 * math.pi))
