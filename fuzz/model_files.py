"""Forge model files, load them and ask the models: an answer or an error in words, never a crash.

Every case runs in a worker process with bounded memory, a bounded time and, with `NUMBA_BOUNDSCHECK=1`, compiled code
that checks its indices. A case is known by its seed: `python -m fuzz.model_files --case 17` runs one and shows the
trace.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.forging import Saved, at_random, each_field

# A worker may take so much address space, and a case so many seconds.
MEMORY, SECONDS = 4 * 2**30, 20
# Columns of a table to predict for that a forged model may ask for.
_WIDEST = 400_000
# What a case may come to; anything else is a finding.
FINE = {"answer", "refused", "error"}
_PYTHON = (AttributeError, TypeError, LookupError, ArithmeticError, AssertionError)


def outcome(path: Path, X: np.ndarray) -> str:
    """What loading a file and asking its model comes to."""
    from credo.io import ModelFileError, load

    try:
        model = load(path)
    except ModelFileError:
        return "refused"
    worst = "answer"
    for ask in _questions(model, X):
        try:
            if not _is_finite(ask()):
                worst = "not finite"
        except (ModelFileError, ValueError):
            worst = "error" if worst == "answer" else worst
    return worst


def _questions(model: Any, X: np.ndarray) -> Iterator[Any]:
    """What is asked of a model: predictions for as many columns as it says and as there were, and updates."""
    tables = [X]
    width = getattr(model, "n_features_in_", X.shape[1])
    if isinstance(width, int) and 0 < width <= _WIDEST and width != X.shape[1]:
        tables.append(np.ones((3, width)))
    for table in tables:
        for name in ("predict", "predict_proba", "decision_function", "transform", "predict_dist"):
            if callable(getattr(type(model), name, None)):
                yield lambda name=name, table=table: getattr(model, name)(table)
    if callable(getattr(model, "summary", None)):
        yield lambda: _printed(model)
    if hasattr(type(model), "classes_") or hasattr(model, "classes_"):
        return
    for name in ("update", "partial_fit"):
        if callable(getattr(type(model), name, None)):
            yield lambda name=name: getattr(model, name)(X[:4], np.arange(4.0)).predict(X)


def _printed(model: Any) -> float:
    """A summary only formats what is there; it may fail in any words, but may not crash."""
    with contextlib.suppress(Exception):
        str(model.summary())
    return 0.0


def _is_finite(answer: Any) -> bool:
    from credo.distributions import Distribution

    if isinstance(answer, Distribution):
        answer = answer.probs if hasattr(answer, "probs") else answer.mean
    if hasattr(answer, "to_numpy"):
        answer = answer.to_numpy()
    if isinstance(answer, list):
        return all(map(_is_finite, answer))
    array = np.asarray(answer)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def cases(folder: Path) -> Iterator[tuple[str, Any]]:
    """Every field of every saved model of a folder, forged."""
    for path in sorted(folder.glob("*.credo")):
        for what, make in each_field(Saved(path.read_bytes())):
            yield f"{path.stem}, {what}", make


def random_case(folder: Path, seed: int) -> tuple[str, bytes]:
    paths = sorted(folder.glob("*.credo"))
    rng = np.random.default_rng(seed)
    contents = [path.read_bytes() for path in paths]
    k = int(rng.integers(len(paths)))
    what, content = at_random(contents[k], contents, rng)
    return f"{paths[k].stem}, {what}", content


def _work(folder: Path, numbers: Sequence[int], *, systematic: bool, seconds: float) -> None:
    """In the worker: one line a case, said before it begins and after it ended."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    X = np.load(folder / "X.npy")
    listed = list(cases(folder)) if systematic else None
    target = folder / f"forged-{os.getpid()}"
    until = time.monotonic() + seconds
    for number in numbers:
        if time.monotonic() > until or (listed is not None and number >= len(listed)):
            break
        what, content = random_case(folder, number) if listed is None else listed[number]
        target.write_bytes(content if isinstance(content, bytes) else content())
        print("case", number, what, flush=True)
        # Its default action ends the process, whatever compiled code is at.
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            found = outcome(target, X)
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            found = f"{type(error).__name__} {str(error)[:100]!r} at {Path(last.filename).name}:{last.lineno}"
            # Python's own complaint about a senseless value is safe, if unclear. Compiled code says this of an index.
            if isinstance(error, _PYTHON) and str(error) != "index is out of bounds":
                found = f"unclear {found}"
        signal.setitimer(signal.ITIMER_REAL, 0)
        print("came", number, found, flush=True)


def run(
    folder: Path, numbers: range, *, systematic: bool = False, seconds: float = 1e9, cache: Path | None = None
) -> tuple[int, list[tuple[int, str, str]], Counter[str]]:
    """How many cases ran, those that came to anything but an answer or an error in words, and a count of outcomes."""
    until, first = time.monotonic() + seconds, numbers.start
    findings: list[tuple[int, str, str]] = []
    counts: Counter[str] = Counter()
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if cache is not None:
        # Compiled code that doesn't check its indices must not be found here.
        environment["NUMBA_CACHE_DIR"] = str(cache)
    while first < numbers.stop and time.monotonic() < until:
        left = until - time.monotonic()
        bounds = (str(part) for part in (first, numbers.stop, numbers.step, int(systematic), left))
        command = [sys.executable, "-m", "fuzz.model_files", "--worker", str(folder), *bounds]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        names: dict[int, str] = {}
        for line in done.stdout.splitlines():
            word, number, rest = [*line.split(" ", 2), "", ""][:3]
            if word == "case":
                names[int(number)] = rest
            elif word == "came":
                counts[rest if rest in {*FINE, "not finite"} else rest.split(" ")[0]] += 1
                if rest not in FINE:
                    findings.append((int(number), names[int(number)], rest))
        if done.returncode == 0:
            break
        if not names:
            raise RuntimeError(f"the worker could not begin: {done.stderr[-2000:]}")
        last = max(names)
        counts["crash"] += 1
        findings.append((last, names[last], f"ended by signal {-done.returncode}: {done.stderr[-300:]}"))
        first = last + numbers.step
    return sum(counts.values()), findings, counts


def save_models(folder: Path, models: Sequence[Any], X: np.ndarray, y: np.ndarray, labels: np.ndarray) -> None:
    """A fitted file of each, and the table that they're asked about."""
    import credo

    np.save(folder / "X.npy", X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, model in enumerate(models):
            target = labels if getattr(model, "_estimator_type", "") == "classifier" or _is_classifier(model) else y
            credo.save(model.fit(X, target), folder / f"{k:02d}-{type(model).__name__}.credo")


def _is_classifier(model: Any) -> bool:
    from sklearn.base import is_classifier

    return bool(is_classifier(model))


def table(n: int = 14) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two columns, a target and labels of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = X[:, 0] - X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    return X, y, np.array(["no", "yes"])[(y > np.median(y)).astype(int)]


def special_models() -> list[Any]:
    """Kernels and settings whose files hold what those of plain models don't."""
    from credo import kernels
    from credo.gp import GPClassifier, GPRegressor
    from credo.kernel_machines import KernelRidge, NadarayaWatson

    fixed = {"hyperparameters": "fixed"}
    return [
        GPRegressor(kernels.RBF(1.0), noise=0.1, mean="zero", **fixed),
        GPRegressor(kernels.Periodic(1.0) + kernels.RBF(1.0).on(0) * kernels.Linear(), **fixed),
        GPRegressor(kernels.Matern52([1.0, 2.0], groups=[0, 1]).exp() + kernels.Polynomial(2), mean="linear", **fixed),
        GPRegressor(kernels.RationalQuadratic(1.0).on([0, 1]), noise="heteroscedastic", **fixed),
        GPClassifier(kernels.RBF(1.0), **fixed),
        GPClassifier(
            kernels.Categorical() * kernels.Matern32(1.0), inference="mcmc", n_draws=20, random_state=0, **fixed
        ),
        KernelRidge(kernels.Periodic(1.0) + kernels.White(0.1)),
        NadarayaWatson(kernels.Exponential(1.0).on(slice(0, 1)), bandwidth=1.0),
    ]


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        folder, *numbers, systematic, seconds = sys.argv[2:]
        _work(Path(folder), range(*map(int, numbers)), systematic=systematic == "1", seconds=float(seconds))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--systematic", action="store_true", help="every field in turn, in place of random changes")
    parser.add_argument("--case", type=int, help="run one random case in this process and show its trace")
    options = parser.parse_args()
    from tests.contracts.estimators import classifiers, regressors

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_models(folder, [*special_models(), *regressors(), *classifiers()], *table())
        if options.case is not None:
            what, content = random_case(folder, options.case)
            (folder / "forged").write_bytes(content)
            print(what)
            print(outcome(folder / "forged", np.load(folder / "X.npy")))
            return 0
        cache = Path(tempfile.gettempdir()) / f"credo-boundscheck-{os.getuid()}"
        first = 0 if options.systematic else options.seed * 10**7
        n, findings, counts = run(
            folder, range(first, first + 10**7), systematic=options.systematic, seconds=options.seconds, cache=cache
        )
    print(f"{n} forged model files: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    for number, what, found in findings:
        print(f"  case {number} ({what}): {found}")
    return int(any(not found.startswith(("unclear", "not finite")) for _, _, found in findings))


if __name__ == "__main__":
    sys.exit(main())
