"""How long a first fit takes, with nothing compiled: `python -m benchmarks.first_fit [CASE …] [--functions]`.

Every case runs in a process of its own on one core, with an empty folder for numba's cache, and once more with what
the first run has left there. Seconds of the CPU, imports included, are compared with the targets. `--functions` lists
what took longest to compile; each function includes those that it calls and that weren't compiled before.
"""

import os
import subprocess
import sys
import tempfile

DATA = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=300)
label = y > 0
t = np.sort(X[:, :1], axis=0)
import credo
"""
# Code and the most seconds that the first fit should take.
CASES = {
    "import credo": ("import credo", 0.05),
    "LinearRegression": (DATA + "credo.LinearRegression().fit(X, y)", None),
    "LassoCV": (DATA + "credo.LassoCV().fit(X, y)", 2.0),
    "SpikeSlabRegressor": (DATA + "credo.SpikeSlabRegressor().fit(X, y)", 3.0),
    "SpikeSlabClassifier": (DATA + "credo.SpikeSlabClassifier(random_state=0).fit(X, label)", None),
    "AdaBoostClassifier": (DATA + "credo.AdaBoostClassifier().fit(X, label)", 3.0),
    "BoostedTreesRegressor": (DATA + "credo.BoostedTreesRegressor().fit(X, y)", None),
    "AdditiveRegressor": (DATA + "credo.AdditiveRegressor().fit(X, y)", None),
    "GPRegressor": (DATA + "credo.GPRegressor(random_state=0).fit(X, y)", 4.0),
    "GPRegressor, state space": (
        DATA + "credo.GPRegressor(credo.Matern32(), method='state_space', random_state=0).fit(t, np.sin(3 * t[:, 0]))",
        5.0,
    ),
    "GPClassifier": (DATA + "credo.GPClassifier(random_state=0).fit(X, label)", 6.0),
}
RECORDED = """
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
{code}
starts, total = [], {{}}
for when, each in recorder.buffer:
    if each.is_start:
        starts.append(when)
    else:
        seconds, name = when - starts.pop(), each.data["dispatcher"].py_func.__qualname__
        total.setdefault(name, []).append((seconds, not starts))
print("compiled", len(total), "functions", sum(map(len, total.values())), "times")
for name, found in sorted(total.items(), key=lambda item: -sum(s for s, _ in item[1]))[:12]:
    print(f"    {{sum(s for s, _ in found):6.2f}} s  {{len(found)}}x  {{name}}")
"""


def seconds(code: str, cache: str) -> tuple[float, str]:
    """CPU seconds of a new process, and what it prints."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, done.stdout


def main() -> None:
    chosen = [name for name in CASES if not sys.argv[1:] or any(word in name for word in sys.argv[1:])] or list(CASES)
    print("| first fit, 300 rows of 5 columns | nothing compiled | compiled | target |\n|---|---|---|---|")
    for name in chosen:
        code, target = CASES[name]
        with tempfile.TemporaryDirectory() as cache:
            first, second = (seconds(code, cache)[0] for _ in range(2))
        print(f"| {name} | {first:.2f} s | {second:.2f} s | {f'{target:g} s' if target else ''} |", flush=True)
        if "--functions" in sys.argv:
            with tempfile.TemporaryDirectory() as cache:
                indented = "\n".join(f"    {line}" for line in code.splitlines())
                print(seconds(RECORDED.format(code=indented), cache)[1], end="", flush=True)


if __name__ == "__main__":
    main()
