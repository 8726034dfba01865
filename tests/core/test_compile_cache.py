"""numba's cache of compiled code: on machines without a folder for it, and shared by several processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import credo
from credo.core.numba import njit

# All compiled functions are made by the same decorator; this one compiles quickly.
SCRIPT = """
import numpy as np
from credo.core.linalg.update_jit import update
U = np.eye(2)
update(U, np.array([[1.0, 2.0]]))
print((U.T @ U).round(9).tolist())
print(update.stats.cache_path)
"""


@pytest.fixture
def bare(tmp_path):
    """A copy of the package in whose folders nothing can be written, by nobody, and an environment without a home."""
    package = tmp_path / "lib" / "credo"
    shutil.copytree(Path(credo.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        # Where a file has its name, the folder of caches can't be made; the superuser passes over permissions.
        (folder / "__pycache__").write_text("")
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | nowhere | {"PYTHONPATH": str(package.parent)}


def run(environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(os.name != "posix", reason="folders without a place to write are made by POSIX means")
def test_code_is_kept_among_temporary_files_that_nobody_else_can_touch(bare, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    matrix, path = run(bare | {"TMPDIR": str(temporary)})
    assert matrix == "[[2.0, 2.0], [2.0, 5.0]]"
    (folder,) = temporary.glob("credo-numba-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.startswith(str(folder)) and any(Path(path).glob("*update*.nbi"))


@pytest.mark.skipif(os.name != "posix", reason="folders without a place to write are made by POSIX means")
def test_a_folder_that_others_can_write_to_is_not_trusted(bare, tmp_path):
    temporary = tmp_path / "tmp"
    folder = temporary / f"credo-numba-{os.getuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    matrix, path = run(bare | {"TMPDIR": str(temporary)})
    assert (matrix, path) == ("[[2.0, 2.0], [2.0, 5.0]]", "None")
    assert not list(folder.iterdir())


@njit(cache=True)
def doubled(x):
    return x + x


@njit(cache=True)
def _tripled(x):
    return 3 * x


@njit(cache=True)
def shifted(x):
    return _tripled(x) + 1


def test_python_can_not_call_what_has_no_wrapper_for_it():
    """numba itself crashes. The second function finds the code of both in the cache, or compiles it."""
    for function in (shifted, njit(cache=True)(shifted.py_func)):
        assert function(2) == 7
    with pytest.raises(TypeError, match="_tripled is called by compiled code only"):
        _tripled(2)


def fresh():
    """The function as another process finds it, with nothing compiled."""
    return njit(cache=True)(doubled.py_func)


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """The index and the data files of a function compiled for an integer and for a float, in this order."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    function = fresh()
    function(1)
    function(1.5)
    (index,) = tmp_path.rglob("*.nbi")
    return index, sorted(tmp_path.rglob("*.nbc"))


def test_cached_code_is_loaded(cached):
    function = fresh()
    assert function(1.5) == 3.0
    assert list(function.stats.cache_hits.values()) == [1]


def test_an_index_that_names_the_code_of_other_types_is_found_out(cached):
    """Two processes that compile at once for different types choose the same number for their data."""
    _, (integer, real) = cached
    real.write_bytes(integer.read_bytes())
    for hits in (0, 1):
        function = fresh()
        assert function(1.5) == 3.0
        assert sum(function.stats.cache_hits.values()) == hits


@pytest.mark.parametrize("part", ["index", "data"])
def test_a_damaged_cache_is_compiled_again(cached, part):
    index, (_, real) = cached
    damaged = index if part == "index" else real
    damaged.write_bytes(damaged.read_bytes()[:-20])
    function = fresh()
    assert function(1.5) == 3.0
    assert not function.stats.cache_hits
