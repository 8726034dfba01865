"""Compiled estimators on machines where numba finds no folder for its cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import credo

SCRIPT = """
import numpy as np
from credo.linalg import update_jit as _jit
from credo.sparse import Lasso
X = np.random.default_rng(0).normal(size=(30, 3))
print(Lasso(alpha=0.01).fit(X, X @ [1.0, -1.0, 0.5]).coef_.round(1).tolist())
import credo.learning.coordinate._jit as loops
print(loops.gram_descent.stats.cache_path)
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
    coefficients, path = run(bare | {"TMPDIR": str(temporary)})
    assert coefficients == "[1.0, -1.0, 0.5]"
    (folder,) = temporary.glob("credo-numba-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.startswith(str(folder)) and any(Path(path).glob("*gram_descent*.nbi"))


@pytest.mark.skipif(os.name != "posix", reason="folders without a place to write are made by POSIX means")
def test_a_folder_that_others_can_write_to_is_not_trusted(bare, tmp_path):
    temporary = tmp_path / "tmp"
    folder = temporary / f"credo-numba-{os.getuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    coefficients, path = run(bare | {"TMPDIR": str(temporary)})
    assert (coefficients, path) == ("[1.0, -1.0, 0.5]", "None")
    assert not list(folder.iterdir())
