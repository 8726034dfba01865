"""The controls of a model: sliders, choices and toggles, and the values that they accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from credo.app.lab.playground._problem import Domain, is_number, rounded
from credo.app.lab.refused import Refused

# Sliders in units of the plot accept values outside their range by this factor: learned ones, and those of shared
# links.
RANGE_FACTOR = 1000.0


@dataclass(frozen=True)
class Control:
    """One control of a model; see `slider`, `choice` and `toggle`."""

    id: str
    label: str
    kind: str
    default: Any
    help: str = ""
    scale: str = "linear"
    low: float = 0.0
    high: float = 1.0
    step: float = 0.0
    unit: str = ""
    choices: tuple[tuple[Any, str], ...] = ()
    when: Mapping[str, Sequence[Any]] | None = None
    tasks: tuple[str, ...] | None = None
    learnable: bool = False
    curve: bool = False
    digits: int = 2
    more: Mapping[str, Any] = field(default_factory=dict)

    def on(self, domain: Domain, task: str) -> Control:
        """The control for a plot: a range with a unit is relative to the width (x) or the height (y) of the plot."""
        reach = max(domain.width, domain.height) if task == "classification" else domain.width
        size = {"x": reach, "y": domain.height, "y²": domain.height**2}.get(self.unit, 1.0)
        if self.scale != "log":
            return replace(self, tasks=None)
        default = None if self.default is None else rounded(size * self.default, self.digits)
        return replace(
            self, low=rounded(size * self.low, 2), high=rounded(size * self.high, 2), default=default, tasks=None
        )

    def json(self) -> dict[str, Any]:
        """The control as the page gets it."""
        shown: dict[str, Any] = {"id": self.id, "label": self.label, "kind": self.kind, "default": self.default}
        shown |= {"learnable": self.learnable, "curve": self.curve, "help": self.help}
        if self.kind == "slider":
            shown |= {"scale": self.scale, "min": self.low, "max": self.high, "step": self.step}
        if self.unit:
            shown["unit"] = self.unit
        if self.choices:
            shown["choices"] = [{"value": value, "label": label} for value, label in self.choices]
        if self.when:
            shown["when"] = {name: list(values) for name, values in self.when.items()}
        if self.tasks:
            shown["tasks"] = list(self.tasks)
        return shown | dict(self.more)

    def resolve(self, value: Any) -> Any:
        """The value in the form that a model uses; raises `Refused` outside the control's range."""
        if self.kind == "toggle":
            if not isinstance(value, bool):
                raise Refused(f"{self.label} ({self.id}) must be true or false.")
            return value
        if self.kind == "choice":
            for known, _ in self.choices:
                if value == known and isinstance(value, bool) == isinstance(known, bool):
                    return known
            options = ", ".join(str(known) for known, _ in self.choices)
            raise Refused(f"{self.label} ({self.id}) must be one of {options}.")
        return self._number(value)

    def _number(self, value: Any) -> float:
        if not is_number(value):
            raise Refused(f"{self.label} ({self.id}) must be a number.")
        low, high = self.bounds
        if not low * (1 - 1e-9) - 1e-12 <= value <= high * (1 + 1e-9) + 1e-12:
            raise Refused(f"{self.label} ({self.id}) must lie between {low:g} and {high:g}; it is {value:g}.")
        whole = self.scale == "linear" and self.step >= 1
        return float(round(value)) if whole else rounded(float(value))

    @property
    def bounds(self) -> tuple[float, float]:
        """The values that are accepted."""
        wide = RANGE_FACTOR if self.unit and self.scale == "log" else 1.0
        return self.low / wide, self.high * wide

    def clipped(self, value: float) -> float:
        """The nearest accepted value."""
        low, high = self.bounds
        return rounded(min(max(value, low), high))


def slider(id: str, label: str, low: float, high: float, default: float, *, step: float = 0.0, **more: Any) -> Control:
    """A slider over a linear scale; with `scale="log"` over a logarithmic one."""
    return Control(id, label, "slider", default, low=low, high=high, step=step, **more)


def log_slider(id: str, label: str, low: float, high: float, default: float, **more: Any) -> Control:
    """A slider over a logarithmic scale."""
    return slider(id, label, low, high, default, scale="log", **more)


def choice(id: str, label: str, choices: Sequence[tuple[Any, str]], default: Any = None, **more: Any) -> Control:
    """A list of choices; the first is the default unless another is given."""
    return Control(id, label, "choice", choices[0][0] if default is None else default, choices=tuple(choices), **more)


def toggle(id: str, label: str, default: bool = False, **more: Any) -> Control:
    """A check box."""
    return Control(id, label, "toggle", default, **more)


def resolve(controls: Sequence[Control], given: Any) -> dict[str, Any]:
    """Every control's value: as given, or its default."""
    if not isinstance(given, Mapping):
        raise Refused("The settings must be an object of names and values.")
    known = {control.id: control for control in controls}
    for name in given:
        if name not in known:
            raise Refused(f"This model has no setting {str(name)[:40]!r}; it has {', '.join(known) or 'none'}.")
    return {id: control.resolve(given.get(id, control.default)) for id, control in known.items()}
