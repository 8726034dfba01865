"""The process that learns settings: one JSON request a line in, one JSON answer a line out."""

from __future__ import annotations

import json
import os
import signal
import sys
from time import monotonic
from typing import Any

import numpy as np

from credo.app.lab.playground._catalogue import MODELS
from credo.app.lab.playground._model import Settings
from credo.app.lab.playground._problem import Domain, Problem, as_points
from credo.app.lab.playground._warm_up import warm_up_learning
from credo.core.deadlines import TimeUp, until
from credo.core.notices import collected, on_one_line


def encode(problem: Problem, model: str, settings: Settings, seconds: float) -> dict[str, Any]:
    """A request to learn, as JSON."""
    domain = {"x": problem.domain.x, "y": problem.domain.y}
    points = {"task": problem.task, "points": problem.points.tolist(), "domain": domain}
    return {**points, "model": model, "settings": settings, "seconds": seconds}


def learn(request: dict[str, Any]) -> dict[str, Any]:
    """The learned settings and notes about them, or why there are none."""
    points = as_points(request["points"], request["task"])
    domain = Domain(tuple(request["domain"]["x"]), tuple(request["domain"]["y"]))
    problem, model = Problem(request["task"], points, domain), MODELS[request["model"]]
    with collected() as warnings, until(monotonic() + request["seconds"]):
        try:
            settings, notes = model.learn(problem, request["settings"])
        except TimeUp:
            return {"settings": None, "notes": [f"Learning took more than {request['seconds']:.0f} seconds."]}
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return {"settings": None, "notes": [f"Nothing was learned: {on_one_line(error)}"]}
    return {"settings": settings, "notes": [*notes, *(" ".join(str(each).split()) for each in warnings)]}


class _Stop(BaseException):
    """The server doesn't need the answer any more."""


class _Interruptible:
    """Learning that the signal SIGUSR1 stops; at other times the signal does nothing."""

    def __init__(self) -> None:
        self._learning = False
        if hasattr(signal, "SIGUSR1"):
            signal.signal(signal.SIGUSR1, self._stop)

    def _stop(self, number: int, frame: Any) -> None:
        if self._learning:
            self._learning = False
            raise _Stop

    def learn(self, request: dict[str, Any]) -> dict[str, Any]:
        """As `learn`, or nothing if it was stopped."""
        try:
            self._learning = True
            return learn(request)
        except _Stop:
            return {"settings": None, "notes": ["Stopped."]}
        finally:
            self._learning = False


def main() -> None:
    """Answer requests until the input ends, with less priority than the server."""
    interruptible = _Interruptible()
    if hasattr(os, "nice"):
        os.nice(5)
    warm_up_learning()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # What a library prints must not get between the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        answers.write(json.dumps(interruptible.learn(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
