"""Learning settings, at most two models at a time; a page's newer request stops its older one."""

from __future__ import annotations

import threading
from time import monotonic

import numpy as np

from credo.app.lab.playground._model import Model, Settings
from credo.app.lab.playground._problem import Problem
from credo.app.lab.refused import Refused
from credo.core.deadlines import TimeUp, until
from credo.core.notices import collected, on_one_line

SECONDS, MAX_LEARNERS = 15.0, 2


class Learners:
    """The requests to learn of all pages."""

    def __init__(self) -> None:
        self._lock, self._slots = threading.Lock(), threading.Semaphore(MAX_LEARNERS)
        self._stops: dict[str, threading.Event] = {}

    def learn(
        self, page: str, problem: Problem, model: type[Model], settings: Settings, seconds: float = SECONDS
    ) -> tuple[Settings, list[str]]:
        """Learned settings and notes; raises `Refused` if a newer request of the page arrives."""
        stop = threading.Event()
        with self._lock:
            older = self._stops.get(page)
            if page:
                self._stops[page] = stop
        if older is not None:
            older.set()
        if not self._slots.acquire(timeout=SECONDS):
            raise Refused("Too many models are learning; try again when they are done.", 409)
        try:
            return _learned(problem, model, settings, seconds, stop)
        finally:
            self._slots.release()
            with self._lock:
                if self._stops.get(page) is stop:
                    del self._stops[page]


def _learned(
    problem: Problem, model: type[Model], settings: Settings, seconds: float, stop: threading.Event
) -> tuple[Settings, list[str]]:
    with collected() as warnings, until(monotonic() + seconds, stop.is_set):
        try:
            learned, notes = model.learn(problem, settings)
        except TimeUp:
            if stop.is_set():
                raise Refused("A newer request replaced this one.", 409) from None
            return settings, [f"Learning took more than {seconds:.0f} seconds; the settings are unchanged."]
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return settings, [f"Nothing was learned: {on_one_line(error)}"]
    return learned, [*notes, *(" ".join(str(each).split()) for each in warnings)]
