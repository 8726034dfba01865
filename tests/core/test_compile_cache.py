"""Compiled code: on machines without a folder for numba's cache, and with numba's compiler switched off."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import credo

# All compiled functions are made by the same decorator; this one compiles quickly.
SCRIPT = """
import numpy as np
from credo.core.linalg.conditional_jit import symmetric_products
W = np.empty((1, 3))
symmetric_products(0, 1, np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]]), W)
print(W.tolist())
print(symmetric_products.stats.cache_path)
"""

PLAIN = """
import importlib, pkgutil
import numpy as np
import credo
from credo import kernels

for module in pkgutil.walk_packages(credo.__path__, "credo."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
rng = np.random.default_rng(0)
X, t = rng.normal(size=(16, 2)), np.arange(12.0)[:, None]
y, label = X[:, 0] + 0.1 * rng.normal(size=16), X[:, 0] + 0.3 * rng.normal(size=16) > 0
brief = {"max_evaluations": 1, "n_restarts": 0}
for model, rows, target in [
    (credo.GPRegressor(kernel=kernels.Matern32(), **brief), X, y),
    (credo.GPRegressor(kernel=kernels.Matern52(), method="state_space", **brief), t, np.sin(t[:, 0])),
    (credo.DecisionTreeRegressor(), X, y),
    (credo.BoostedTreesClassifier(max_rounds=3), X, label),
    (credo.AdaBoostClassifier(n_rounds=2), X, label),
    (credo.LassoCV(n_alphas=5), X, y),
    (credo.SpikeSlabRegressor(), X, y),
    (credo.SpikeSlabRegressor(search="gibbs", n_draws=10, random_state=0), X, y),
    (credo.SpikeSlabClassifier(n_draws=10, random_state=0), X, label),
]:
    assert np.isfinite(model.fit(rows, target).predict(rows)).all(), model
from credo.core.linalg.conditional_jit import symmetric_products
print(type(symmetric_products).__name__)
"""


def run(script, environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(os.name != "posix", reason="folders without a place to write are made by POSIX means")
def test_without_a_folder_for_the_cache_code_is_compiled_in_memory(tmp_path):
    """Nobody can write to the folders of this copy of the package, and the environment has no home."""
    package = tmp_path / "lib" / "credo"
    shutil.copytree(Path(credo.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        # Where a file has its name, the folder of caches can't be made; the superuser passes over permissions.
        (folder / "__pycache__").write_text("")
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
    bare = kept | nowhere | {"PYTHONPATH": str(package.parent)}
    assert run(SCRIPT, bare) == ["[[3.0, 11.0, 10.0]]", "None"]


def test_everything_runs_without_the_compiler():
    assert run(PLAIN, os.environ | {"NUMBA_DISABLE_JIT": "1"}) == ["function"]
