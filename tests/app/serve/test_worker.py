"""The thread that predicts: order, time limit, full queue, shutdown."""

import asyncio
import threading
import time

import pytest

from credo.app.serve.inputs import Refused
from credo.app.serve.model import Worker


def test_tasks_run_one_at_a_time_in_their_order():
    worker, running, order = Worker(10.0), [], []

    def task(k):
        def work(check):
            running.append(threading.get_ident())
            assert len(running) == 1
            time.sleep(0.01)
            running.pop()
            order.append(k)
            return k

        return work

    async def all_of_them():
        return await asyncio.gather(*(worker.run(task(k)) for k in range(5)))

    assert asyncio.run(all_of_them()) == order == [0, 1, 2, 3, 4]
    worker.close()


def test_a_task_whose_time_is_over_is_told_and_the_next_one_runs():
    worker, told = Worker(0.1), threading.Event()

    def slow(check):
        for _ in range(500):
            time.sleep(0.01)
            try:
                check()
            except TimeoutError:
                told.set()
                raise

    async def both():
        with pytest.raises(Refused) as refusal:
            await worker.run(slow)
        assert refusal.value.status == 504
        while worker.n_tasks:
            await asyncio.sleep(0.01)
        return await worker.run(lambda check: "done")

    assert asyncio.run(both()) == "done" and told.is_set()
    worker.close()


def test_a_full_queue_is_refused_at_once_and_health_does_not_wait():
    worker, gate = Worker(10.0, max_waiting=2), threading.Event()

    async def fill():
        tasks = [asyncio.create_task(worker.run(lambda check: gate.wait(5))) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(Refused) as refusal:
            await worker.run(lambda check: None)
        gate.set()
        await asyncio.gather(*tasks)
        return refusal.value

    refused = asyncio.run(fill())
    assert refused.status == 503 and refused.retry_after == 1 and worker.n_tasks == 0
    worker.close()


def test_a_task_that_waited_too_long_never_starts():
    worker, ran = Worker(0.1), []

    async def run():
        blocked = asyncio.create_task(worker.run(lambda check: time.sleep(0.4)))
        await asyncio.sleep(0.02)
        with pytest.raises(Refused):
            await worker.run(lambda check: ran.append(1))
        with pytest.raises(Refused):
            await blocked
        await asyncio.sleep(0.6)

    asyncio.run(run())
    worker.close()
    assert ran == []


def test_exceptions_pass():
    worker = Worker(1.0)
    with pytest.raises(KeyError):
        asyncio.run(worker.run(lambda check: {}["x"]))
    worker.close()
