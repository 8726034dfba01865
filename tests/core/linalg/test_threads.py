"""The limit on the BLAS' threads."""

import os
import subprocess
import sys

OVERLAPPING = """
from threading import Barrier, Thread
from threadpoolctl import threadpool_info
from credo.core.linalg import one_blas_thread

def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

before = blas_threads()
first_in, second_in, first_out, second_out = Barrier(2), Barrier(2), Barrier(2), Barrier(2)
inside = []

def first():
    with one_blas_thread():
        first_in.wait()
        second_in.wait()
    first_out.wait()
    second_out.wait()

def second():
    first_in.wait()
    with one_blas_thread():
        second_in.wait()
        first_out.wait()
        inside.append(blas_threads())
    second_out.wait()

threads = [Thread(target=first), Thread(target=second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert inside == [[1] * len(before)], inside
assert blas_threads() == before, blas_threads()
"""


def test_limits_that_overlap_in_two_threads_are_lifted_by_the_last():
    """In a process of its own, because the tests' BLAS may have one thread anyway."""
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", OVERLAPPING], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
