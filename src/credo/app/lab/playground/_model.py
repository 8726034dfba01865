"""What every model of the playground provides: its controls, and a fit that says what can be drawn of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from credo.app.lab.playground._controls import Control, resolve
from credo.app.lab.playground._mathml import Math
from credo.app.lab.playground._problem import Array, Domain, Problem
from credo.core.deadlines import check
from credo.distributions import Distribution

LEVEL = 0.95
Settings = dict[str, Any]


@dataclass(frozen=True)
class Band:
    """A function with its intervals: of new observations and of the function itself (None where there are none)."""

    mean: Array
    interval: tuple[Array, Array] | None = None
    latent: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, predicted: Distribution, latent: Distribution | None = None, offset: float = 0.0) -> Band:
        """From predictive distributions of y and, if there is one, of f."""
        band = cls(
            np.asarray(predicted.mean), predicted.interval(LEVEL), None if latent is None else latent.interval(LEVEL)
        )
        return band.shifted(offset) if offset else band

    def shifted(self, offset: float) -> Band:
        """The band of the function plus a constant."""
        pairs = [
            None if pair is None else (pair[0] + offset, pair[1] + offset) for pair in (self.interval, self.latent)
        ]
        return replace(self, mean=self.mean + offset, interval=pairs[0], latent=pairs[1])


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


class Fitted:
    """A model that was fitted to the points of a problem. Members that a model doesn't have return None."""

    # Why there is no evidence, for models without one.
    no_evidence = "This model has no prior over functions, so it has no evidence."

    @property
    def notes(self) -> tuple[str, ...]:
        """What the person at the page should know."""
        return ()

    def band(self, grid: Array) -> Band | None:
        """The function over a column of inputs (regression)."""
        return None

    def probabilities(self, rows: Array) -> Array | None:
        """Class probabilities, one column for each class that occurs."""
        return None

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array | None:
        """Functions from the posterior or the prior, one a row."""
        return None

    def evidence(self) -> Evidence:
        """The log evidence with its parts."""
        return Evidence(None, self.no_evidence)

    def equivalent_kernel(self, at: float) -> Array | None:
        """The weight of each training target in the prediction at an input."""
        return None

    def next(self, rows: Array) -> Next | None:
        """Which of the rows to measure next."""
        return None

    def equation(self) -> Math:
        """What is shown, with its numbers."""
        raise NotImplementedError

    def code(self) -> Sequence[str]:
        """Python lines that make the same model and predict; `_source.program` puts imports and points before them."""
        raise NotImplementedError

    def imports(self) -> set[str]:
        """The names of Credo that the code uses."""
        raise NotImplementedError

    def bars(self) -> tuple[str, list[str], Array] | None:
        """Title, labels and values of a bar chart."""
        return None

    def weights(self) -> Array | None:
        """A weight of each point, drawn as its size."""
        return None


class Model:
    """One tab of the playground."""

    id: ClassVar[str]
    name: ClassVar[str]
    # What the page can show, for each task that the model has.
    shows: ClassVar[dict[str, tuple[str, ...]]]
    # Fewer points than this are a note instead of a fit.
    least: ClassVar[int] = 1

    def controls(self, task: str, domain: Domain) -> list[Control]:
        """The controls of a task, with ranges that fit the plot."""
        return []

    def settings(self, problem: Problem, given: Any) -> Settings:
        """Every control's value, checked."""
        return resolve(self.controls(problem.task, problem.domain), given)

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        """The model of these settings, fitted to the points."""
        raise NotImplementedError

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        """Settings with the learnable ones learned from the points, and notes about it."""
        raise NotImplementedError

    def log_evidence(self, problem: Problem, settings: Settings) -> float:
        """What a curve over a setting shows."""
        raise NotImplementedError

    def curve(self, problem: Problem, settings: Settings, control: str, values: Sequence[float]) -> list[float]:
        """The log evidence at several values of one control; NaN where it can't be computed."""

        def at(value: float) -> float:
            check()
            try:
                return self.log_evidence(problem, self.with_value(settings, control, value))
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                return math.nan

        return [at(value) for value in values]

    def with_value(self, settings: Settings, control: str, value: float) -> Settings:
        """The settings with another value of one control, for a curve."""
        return {**settings, control: value}

    def catalogue(self, domain: Domain) -> dict[str, Any]:
        """The entry of the catalogue: controls of all tasks, marked where they belong to one task only."""
        by_task = {task: self.controls(task, domain) for task in self.shows}
        merged: list[dict[str, Any]] = []
        for task, controls in by_task.items():
            for control in controls:
                shared = all(control in others for others in by_task.values())
                shown = control.json() if shared else replace(control, tasks=(task,)).json()
                if shown not in merged:
                    merged.append(shown)
        return {
            "id": self.id,
            "name": self.name,
            "tasks": list(self.shows),
            "controls": merged,
            "shows": {task: list(shows) for task, shows in self.shows.items()},
        }
