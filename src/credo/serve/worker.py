"""One thread that computes predictions, with a bounded queue and a time limit.

One, because a model's predictions are not promised to be safe in several threads at once; answers about health and
metrics don't wait for it. A thread can't be stopped from outside: a task is given a function to call between its steps,
which raises an exception when the time is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from threading import Event
from typing import TypeVar

from credo.serve.strict_json import Refused

Result = TypeVar("Result")


class Worker:
    """Runs tasks one after the other.

    Parameters
    ----------
    seconds : float
        The time that a task may take, the wait for others included; then it is refused with 504.
    max_waiting : int, default 64
        With more tasks, the next is refused with 503 and a Retry-After header.
    """

    def __init__(self, seconds: float, max_waiting: int = 64) -> None:
        self.seconds, self.max_waiting = seconds, max_waiting
        self.n_tasks = 0
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="credo-predict")

    async def run(self, task: Callable[[Callable[[], None]], Result]) -> Result:
        """What the task returns; it is called with the function that checks the time."""
        if self.n_tasks > self.max_waiting:
            error = f"{self.n_tasks} requests are waiting; try again later"
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, error, retry_after=1)
        over = Event()

        def check() -> None:
            if over.is_set():
                raise TimeoutError

        def work() -> Result:
            check()
            return task(check)

        self.n_tasks += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._finished)
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            error = f"no prediction within {self.seconds:g} seconds; send fewer rows"
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, error) from None
        finally:
            # After an answer this has no effect; a client that has gone needs none.
            over.set()

    def close(self) -> None:
        """Wait for the task that runs, and forget the others."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _finished(self, future: asyncio.Future[Result]) -> None:
        self.n_tasks -= 1
        if not future.cancelled():
            # A task whose time was over has nobody who takes its exception.
            future.exception()
