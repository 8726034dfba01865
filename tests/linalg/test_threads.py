"""The limit on the BLAS' threads."""

from threading import Barrier, Thread

from threadpoolctl import threadpool_info

from credo.linalg import one_blas_thread


def _blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_limits_that_overlap_in_two_threads_are_lifted_by_the_last():
    before = _blas_threads()
    first_in, second_in, first_out = Barrier(2), Barrier(2), Barrier(2)
    inside = []

    def first():
        with one_blas_thread():
            first_in.wait()
            second_in.wait()
        first_out.wait()

    def second():
        first_in.wait()
        with one_blas_thread():
            second_in.wait()
            first_out.wait()
            inside.append(_blas_threads())

    threads = [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside == [[1] * len(before)]
    assert _blas_threads() == before
