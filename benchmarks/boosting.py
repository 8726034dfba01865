"""AdaBoost with stumps beside scikit-learn, on ESL's sphere and on a million rows; boosted trees beside LightGBM."""

import os
import subprocess
import sys
import warnings
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness import Line, below, faster, installed, quick, times_of
from credo.ensemble import AdaBoostClassifier
from credo.trees import BoostedTreesRegressor

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
    return [*sphere(), *trees()] if quick() else [*sphere(), *trees(), *million()]


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


def trees() -> list[Line]:
    """Boosted trees with their distribution, beside LightGBM and CatBoost, which stop early on a fifth of the rows.

    Several members and a learned spread are more work than their single fit. The errors of all three are shown.
    """
    rng = np.random.default_rng(0)
    lines = []
    for n, limit in ((1000, 2.5), (10_000, 5.0)) if quick() else ((1000, 2.5), (10_000, 5.0), (100_000, 10.0)):
        X = rng.normal(size=(n + 2000, 20))
        f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
        y = f + 0.5 * rng.normal(size=n + 2000)
        models = {"credo": BoostedTreesRegressor().fit(X[:n], y[:n]), **_rivals(X[:n], y[:n])}
        errors = {name: float(np.sqrt(np.mean((m.predict(X[n:]) - f[n:]) ** 2))) for name, m in models.items()}
        quality = "error of f " + ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
        start = process_time()
        BoostedTreesRegressor().fit(X[:n], y[:n])
        seconds, start = process_time() - start, process_time()
        models["credo"].predict_dist(X[:1000])
        predicting = process_time() - start
        case = f"Boosted trees, n={n} d=20"
        lines += [
            below(f"{case}, CPU seconds", seconds, limit, quality=quality),
            below(f"{case}, CPU seconds of 1000 predictions", predicting, 0.1),
        ]
    return lines


def _rivals(X: Any, y: Any) -> dict[str, Any]:
    """LightGBM and CatBoost where they are installed, stopped early on the last fifth of the rows."""
    found: dict[str, Any] = {}
    cut = len(y) - len(y) // 5
    held = (X[cut:], y[cut:])
    if installed("lightgbm", "boosted trees"):
        import lightgbm

        stop = lightgbm.early_stopping(30, verbose=False)
        model = lightgbm.LGBMRegressor(n_estimators=1000, n_jobs=1, verbose=-1)
        found["lightgbm"] = model.fit(X[:cut], y[:cut], eval_set=[held], callbacks=[stop])
    if installed("catboost", "boosted trees"):
        import catboost

        options = {"iterations": 1000, "early_stopping_rounds": 30, "thread_count": 1, "allow_writing_files": False}
        model = catboost.CatBoostRegressor(verbose=0, **options)
        found["catboost"] = model.fit(X[:cut], y[:cut], eval_set=held)
    return found


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
