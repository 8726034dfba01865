"""Forge model files, load them and ask the models: an answer or an error in words, never a crash.

Every case runs in a worker process with bounded memory, a bounded time and compiled code that checks its indices. A
case is known by its seed: `python -m fuzz.model_files --case 17` runs one and shows the trace.
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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from fuzz.forging import Saved, at_random, each_field

# A worker may take so much address space, and a case so many seconds of the processor: a busy machine is no finding.
MEMORY, SECONDS = 4 * 2**30, 20
# Columns of a table to predict for that a forged model may ask for.
_WIDEST = 400_000
# What a case may come to; anything else is a finding.
FINE = {"answer", "refused", "error"}
_PYTHON = (AttributeError, TypeError, LookupError, ArithmeticError, AssertionError)
# One forged model of so many goes through a file, the others straight to the decoder, which is several times as fast.
_THROUGH_A_FILE = 32


def outcome(make: Callable[[], Any], X: Any) -> str:
    """What loading a model and asking it comes to."""
    from credo.tables import ModelFileError

    try:
        model = make()
    except ModelFileError:
        return "refused"
    worst = "answer"
    for ask in _questions(model, X):
        try:
            if not _is_finite(ask()):
                worst = "not finite"
        except ValueError:
            worst = "error" if worst == "answer" else worst
    return worst


def loaded(forged: Saved | bytes, path: Path, *, through_a_file: bool = True) -> Any:
    """The model of a forged file."""
    from credo.tables import ModelFileError, load
    from credo.tables.files.encoding import Decoder

    if isinstance(forged, Saved):
        if not through_a_file:
            decoder = Decoder(forged.members.__getitem__)
            # Only arrays that were changed are read from their bytes.
            decoder._arrays |= {
                number: forged.arrays[number].copy() for number in forged.arrays.keys() - forged.changed
            }
            model = decoder.decode(forged.state)
            if not isinstance(model, BaseEstimator):
                raise ModelFileError("its state is not a model")
            return model
        forged = forged.content()
    path.write_bytes(forged)
    return load(path)


def _questions(model: Any, X: Any) -> Iterator[Any]:
    """What is asked of a model: predictions for as many columns as it says and as there were, and updates."""
    tables = [X]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        width = getattr(model, "n_features_in_", X.shape[1])
        if isinstance(width, int) and 0 < width <= _WIDEST and width != X.shape[1]:
            tables.append(np.ones((3, width)))
    for table in tables:
        for name in ("predict", "predict_proba", "decision_function", "transform", "predict_dist", "outside"):
            if callable(getattr(type(model), name, None)):
                yield lambda name=name, table=table: getattr(model, name)(table) if hasattr(model, name) else 0.0
    for name in ("summary", "get_feature_names_out"):
        if callable(getattr(type(model), name, None)):
            yield lambda name=name: _printed(getattr(model, name))
    if hasattr(type(model), "classes_") or hasattr(model, "classes_"):
        return
    for name in ("update", "partial_fit"):
        if callable(getattr(type(model), name, None)):
            yield lambda name=name: getattr(model, name)(X[:4], np.arange(4.0)).predict(X)


def _printed(show: Callable[[], Any]) -> float:
    """A summary only formats what is there; it may fail in any words, but may not crash."""
    with contextlib.suppress(Exception):
        str(show())
    return 0.0


def _is_finite(answer: Any) -> bool:
    from credo.distributions import Distribution

    if isinstance(answer, Distribution):
        answer = answer.probs if hasattr(answer, "probs") else answer.mean
    if hasattr(answer, "to_numpy"):
        answer = answer.to_numpy()
    if hasattr(answer, "toarray"):
        answer = answer.toarray()
    if isinstance(answer, list):
        return all(map(_is_finite, answer))
    array = np.asarray(answer)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], Saved]]]:
    """Every field of every saved model of a folder, forged."""
    for stem, saved in read(folder):
        for what, make in each_field(saved):
            yield f"{stem}, {what}", make


@cache
def read(folder: Path) -> list[tuple[str, Saved]]:
    """The saved models of a folder."""
    return [(path.stem, Saved.of(path.read_bytes())) for path in sorted(folder.glob("*.credo"))]


def random_case(folder: Path, seed: int) -> tuple[str, Saved | bytes]:
    rng = np.random.default_rng(seed)
    models = read(folder)
    stem, saved = models[rng.integers(len(models))]
    what, forged = at_random(saved, [other for _, other in models], rng)
    return f"{stem}, {what}", forged


@cache
def rows_for(stem: str) -> Any:
    """What the model of a file is asked about: a table, texts, or two columns of numbers."""
    kind = stem.partition("-")[2]
    return {"TableModel": frame, "Preparation": frame, "Words": texts}.get(kind, lambda: table()[0])()


def _work(folder: Path, numbers: Sequence[int], *, systematic: bool, seconds: float) -> None:
    """In the worker: one line a case, said before it begins and after it ended."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    listed = list(cases(folder)) if systematic else None
    target = folder / f"forged-{os.getpid()}"
    until = time.monotonic() + seconds
    for number in numbers:
        if time.monotonic() > until or (listed is not None and number >= len(listed)):
            break
        what, forged = random_case(folder, number) if listed is None else listed[number]
        forged = forged() if callable(forged) else forged
        print("case", number, what, flush=True)
        # Its default action ends the process, whatever compiled code is at.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, 30 * SECONDS)
        try:
            make = partial(loaded, forged, target, through_a_file=number % _THROUGH_A_FILE == 0)
            found = outcome(make, rows_for(what.partition(",")[0]))
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            found = f"{type(error).__name__} {str(error)[:100]!r} at {Path(last.filename).name}:{last.lineno}"
            # Python's own complaint about a senseless value is safe, if unclear. Compiled code says this of an index.
            if isinstance(error, _PYTHON) and str(error) != "index is out of bounds":
                found = f"unclear {found}"
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        print("came", number, found.replace("\n", " "), flush=True)


def run(
    folder: Path, numbers: range, *, systematic: bool = False, seconds: float = 1e9, cache: Path | None = None
) -> tuple[int, list[tuple[int, str, str]], Counter[str]]:
    """How many cases ran, those that came to anything but an answer or an error in words, and a count of outcomes.

    `cache` is a folder for compiled code that checks its indices; without one it doesn't.
    """
    until, first = time.monotonic() + seconds, numbers.start
    findings: list[tuple[int, str, str]] = []
    counts: Counter[str] = Counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if cache is not None:
        # Compiled code that doesn't check its indices must not be found here.
        environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
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


def save_models(folder: Path, models: Sequence[Any]) -> None:
    """A fitted file of each."""
    import credo

    X, y, labels = table()
    for k, model in enumerate(models):
        path = folder / f"{k:02d}-{type(model).__name__}.credo"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if type(model).__name__ in ("TableModel", "Preparation", "Words"):
                model.fit(rows_for(path.stem), labels if is_classifier(model) else y)
            else:
                model.fit(X, labels if is_classifier(model) else y)
            credo.save(model, path)


def table(n: int = 14) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two columns, a target and labels of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = X[:, 0] - X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    return X, y, np.array(["no", "yes"])[(y > np.median(y)).astype(int)]


def frame() -> Any:
    """A table of the same rows with a column of every kind."""
    import pandas as pd

    X, n = table()[0], len(table()[0])
    columns = {
        "number": X[:, 0],
        "gaps": np.where(np.arange(n) % 5 == 2, np.nan, X[:, 1]),
        "level": [["red", "green", "blue"][i % 3] for i in range(n)],
        "answer": [["yes", "no"][i % 2] for i in range(n)],
        "when": [f"2024-0{1 + i % 9}-11" for i in range(n)],
        "said": texts(),
    }
    return pd.DataFrame(columns)


def texts() -> list[str]:
    words = ["rain", "sun", "wind", "hail", "snow", "at noon", "in the evening"]
    return [f"{words[i % 7]} and {words[i * i % 5]} with number {i} of a longer report" for i in range(14)]


def table_models() -> list[Any]:
    """Models of tables, preparations and features."""
    from credo import features
    from credo.linear import LogisticRegression, Ridge
    from credo.tables import Preparation, TableModel

    words = {"said": "text"}
    return [
        TableModel(Preparation(standardize=True, clip=True, kinds=words), Ridge()),
        TableModel(Preparation(), LogisticRegression(alpha=1.0)),
        TableModel(Preparation(standardize=True, kinds={"said": "identifier"}), Ridge()),
        Preparation(kinds=words),
        Preparation(standardize=True, clip=True, drop_reference=False, max_levels=2),
        *(kind() for kind in (features.Polynomial, features.Radial, features.Sigmoid, features.Step, features.Words)),
        features.Fourier(period=3.0),
    ]


def special_models() -> list[Any]:
    """Kernels and settings whose files hold what those of plain models don't."""
    from credo import kernels
    from credo.additive import AdditiveClassifier, AdditiveRegressor, linear, pair, smooth
    from credo.gp import GPClassifier, GPRegressor
    from credo.kernel_machines import KernelRidge, NadarayaWatson

    fixed = {"hyperparameters": "fixed"}
    return [
        GPRegressor(kernels.RBF(1.0), noise=0.1, mean="zero", **fixed),
        GPRegressor(kernels.Periodic(1.0) + kernels.RBF(1.0).on(0) * kernels.Linear(), **fixed),
        GPRegressor(kernels.Matern52([1.0, 2.0], groups=[0, 1]).exp() + kernels.Polynomial(2), mean="linear", **fixed),
        GPRegressor(kernels.RationalQuadratic(1.0).on([0, 1]), noise="heteroscedastic", **fixed),
        GPRegressor(kernels.RBF(1.0), noise="student", **fixed),
        GPRegressor(kernels.RBF(1.0), method="inducing", n_inducing=4, **fixed),
        GPRegressor(kernels.Matern32(1.0), method="vecchia", **fixed),
        GPClassifier(kernels.RBF(1.0), **fixed),
        GPClassifier(kernels.RBF(1.0), method="inducing", n_inducing=4, **fixed),
        GPClassifier(
            kernels.Categorical() * kernels.Matern32(1.0), inference="mcmc", n_draws=20, random_state=0, **fixed
        ),
        KernelRidge(kernels.Periodic(1.0) + kernels.White(0.1)),
        NadarayaWatson(kernels.Exponential(1.0).on(slice(0, 1)), bandwidth=1.0),
        AdditiveRegressor([smooth(0, cyclic=2.0), linear(1), pair(0, 1)], family="student"),
        AdditiveClassifier(family="ordinal", order=["no", "yes"]),
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
    parser.add_argument("--folder", type=Path, help="keep the saved models here, for the next run to begin with")
    parser.add_argument("--case", type=int, help="run one random case in this process and show its trace")
    options = parser.parse_args()
    from tests.contracts.estimators import classifiers, regressors

    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not any(folder.glob("*.credo")):
            folder.mkdir(exist_ok=True)
            save_models(folder, [*special_models(), *table_models(), *regressors(), *classifiers()])
        if options.case is not None:
            what, forged = random_case(folder, options.case)
            print(what)
            warnings.simplefilter("ignore")
            print(outcome(lambda: loaded(forged, folder / "forged"), rows_for(what.partition(",")[0])))
            return 0
        cache = Path(tempfile.gettempdir()) / f"credo-boundscheck-{os.getuid()}"
        first = 0 if options.systematic else options.seed * 10**7
        n, findings, counts = run(
            folder, range(first, first + 10**7), systematic=options.systematic, seconds=options.seconds, cache=cache
        )
    print(f"{n:,} forged model files: " + ", ".join(f"{count:,} {what}" for what, count in counts.most_common()))
    alike = defaultdict(list)
    for number, what, found in findings:
        alike[found if " at " not in found else f"{found.split()[0]} {found.rpartition(' at ')[2]}"].append(
            f"case {number} ({what}): {found}"
        )
    for those in sorted(alike.values(), key=len, reverse=True):
        print(f"{len(those):6,} times, as {those[0]}")
    # A forged coefficient of 1e308 has infinite predictions, rightly.
    return int(any(found != "not finite" for _, _, found in findings))


if __name__ == "__main__":
    sys.exit(main())
