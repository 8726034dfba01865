"""AdaBoost with stumps beside scikit-learn, on ESL's sphere, and on a million rows."""

import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Line, below, faster, quick, times_of
from credo.ensemble import AdaBoostClassifier

# In a process of its own, so that the peak of memory is that of the fit; resource counts kilobytes.
_LARGE = """
import resource, time
import numpy as np
from credo.ensemble import AdaBoostClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(1_000_000, 20))
y = (np.square(X[:, :10]).sum(axis=1) > 9.34).astype(int)
AdaBoostClassifier(n_rounds=2).fit(X[:1000], y[:1000])
start = time.perf_counter()
AdaBoostClassifier(n_rounds=100).fit(X, y)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    return sphere() if quick() else [*sphere(), *million()]


def sphere(n: int = 20_000, n_rounds: int = 400) -> list[Line]:
    """ESL 10.2: y = sign(Σx² − 9.34) for ten normal columns."""
    from sklearn.ensemble import AdaBoostClassifier as Peer

    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(n, 10)), rng.normal(size=(20_000, 10))
    y, truth = (np.square(part).sum(axis=1) > 9.34 for part in (X, new))
    if quick():
        n_rounds = 100
    plain = AdaBoostClassifier(n_rounds=n_rounds, calibrate=False)
    calibrated, peer = AdaBoostClassifier(n_rounds=n_rounds), Peer(n_estimators=n_rounds, random_state=0)

    def fit(model: Any) -> Any:
        return lambda: model.fit(X, y)

    times = times_of({"credo": fit(plain), "calibrated": fit(calibrated)}, rounds=3)
    times |= times_of({"scikit-learn": fit(peer)}, rounds=0)
    errors = [100 * (1 - model.score(new, truth)) for model in (plain, calibrated, peer)]
    names = ("credo", "credo calibrated", "scikit-learn")
    quality = "test error " + ", ".join(f"{name} {error:.2f} %" for name, error in zip(names, errors, strict=True))
    case = f"AdaBoost, {n_rounds} stumps, n={n} d=10"
    return [
        faster(case, times, "scikit-learn", 25.0, quality=quality),
        faster(f"{case}, with calibration", times, "scikit-learn", 10.0, ours="calibrated", quality=quality),
        below(
            f"{case}, difference of test errors", abs(errors[0] - errors[2]), 0.5, unit="%", yardstick="half a point"
        ),
    ]


def million() -> list[Line]:
    """n = 10⁶, d = 20, 100 rounds, calibration included."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", _LARGE]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seconds, memory = map(float, done.stdout.split())
    case = "AdaBoost, 100 stumps, n=1000000 d=20"
    return [
        below(f"{case}, seconds", seconds, 60.0),
        below(f"{case}, peak memory", memory, 2.0, unit="GB", yardstick="2 GB"),
    ]
