"""Fits on hard data: small tables with copies, dependent columns, extreme scales, weights and missing values.

    python -m fuzz.fits --seconds 60 --seed 0

Every exported estimator, with its variants, has to answer with finite numbers or with an error in words, without a
RuntimeWarning, and within the time limit of one fit. Fits run in a process of their own, which is ended and started
again where a fit takes longer. Each finding is printed with the seed that repeats it: `--only SEED`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from functools import cache

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import has_fit_parameter
from tests.contracts.estimators import classifiers, regressors

from credo.core.estimator import FitWarning
from credo.core.linalg import NotPositiveDefiniteError

# What the interpreter, NumPy or LAPACK would say; an error in words says what to do instead.
_BARE = (
    "zero-size array",
    "could not be broadcast",
    "not aligned",
    "array must not contain",
    "out of bounds",
    "SVD did",
)
# Seconds that compiling may take.
_COMPILING = 180.0


@cache
def models():
    return [*regressors(), *classifiers()]


def _column(rng, before):
    """A column of a random kind, which may depend on those before it."""
    n, j = before.shape
    kinds = [
        lambda: rng.normal(size=n),
        lambda: rng.integers(0, 3, size=n),
        lambda: np.full(n, rng.normal()),
        lambda: (rng.random(n) < 0.2).astype(float),
        lambda: 1e6 + 1e-9 * rng.normal(size=n),
        lambda: rng.standard_t(0.3, size=n).clip(-1e100, 1e100),
        lambda: before[:, rng.integers(j)],
        lambda: before @ rng.normal(size=j),
        lambda: before[:, rng.integers(j)] + 1e-9 * rng.normal(size=n),
    ]
    return kinds[int(rng.integers(len(kinds) if j else 6))]()


def table(rng):
    """A random X that is hard in some way."""
    n, p = int(rng.integers(2, 13)), int(rng.integers(1, 6))
    if rng.random() < 0.1:
        n = int(rng.integers(13, 40))
    X = np.empty((n, p))
    for j in range(p):
        X[:, j] = _column(rng, X[:, :j])
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, size=n)]
    how = rng.random()
    if how < 0.2:
        X = X * 10.0 ** rng.uniform(-300, 300)
    elif how < 0.3:
        X = X * 10.0 ** rng.uniform(-200, 200, size=p)
    elif how < 0.4:
        X[rng.integers(n), rng.integers(p)] = rng.choice([-1, 1]) * 10.0 ** rng.uniform(-300, 308)
    return np.clip(X, -1.7e308, 1.7e308)


def targets(rng, X):
    kind, n = int(rng.integers(5)), len(X)
    size = np.abs(X).max() or 1.0
    line = (X / size) @ rng.normal(size=X.shape[1])
    y = [rng.normal(size=n), line, np.full(n, rng.normal()), line + 0.1 * rng.normal(size=n), rng.integers(0, 2, n)]
    y = np.asarray(y[kind], dtype=float)
    if rng.random() < 0.2:
        y[rng.integers(n)] = 10.0 ** rng.uniform(-10, 10)
    if rng.random() < 0.2:
        y = y * 10.0 ** rng.uniform(-300, 300)
    return y


def labels(rng, X):
    kind, n, k = int(rng.integers(4)), len(X), int(rng.integers(2, 5))
    if kind == 0:
        return rng.integers(0, k, size=n)
    if kind == 1:
        return (X[:, 0] > np.median(X[:, 0])).astype(int)
    if kind == 2:
        return np.arange(n) % k
    return (np.arange(n) == 0).astype(int)


def weights(rng, n):
    kind = int(rng.integers(10))
    if kind < 5:
        return None
    return [
        rng.integers(0, 4, size=n).astype(float),
        rng.random(n),
        np.full(n, 10.0 ** rng.uniform(-300, 90)),
        10.0 ** rng.uniform(-8, 8, size=n),
        np.where(np.arange(n) == 0, 1e12, 1.0),
    ][kind - 5]


def problem(seed):
    """The model, its data, and whether a value was made missing."""
    rng = np.random.default_rng(seed)
    everyone = models()
    model = clone(everyone[int(rng.integers(len(everyone)))])
    X = table(rng)
    y = targets(rng, X) if is_regressor(model) else labels(rng, X)
    if rng.random() < 0.15:
        # Each row with every label, or with several targets.
        X, y = np.vstack([X, X]), np.concatenate([y, np.roll(y, 1)])
    weight = weights(rng, len(X))
    if rng.random() < 0.08:
        bad = [None, np.nan, np.inf][int(rng.integers(3))]
        if rng.random() < 0.5:
            y = np.array(y, dtype=object)
            y[rng.integers(len(y))] = bad
        else:
            X = X.astype(object)
            X[rng.integers(len(X)), rng.integers(X.shape[1])] = bad
    return model, X, y, weight


def attempt(seed):
    """What is wrong with the answer to this seed: kind and text; None where nothing is."""
    model, X, y, weight = problem(seed)
    name = type(model).__name__
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            takes_weights = weight is not None and has_fit_parameter(model, "sample_weight")
            model.fit(X, y, sample_weight=weight) if takes_weights else model.fit(X, y)
            wrong = _checked(model, np.asarray(X, dtype=float))
        except NotPositiveDefiniteError:
            wrong = None
        except np.linalg.LinAlgError as error:
            wrong = f"LinAlgError: {error}"
        except ValueError as error:
            text = str(error)
            wrong = f"bare ValueError: {text[:120]}" if any(part in text for part in _BARE) else None
            if wrong is None:
                return "refused", name, text
        except Exception as error:
            wrong = f"{type(error).__name__}: {str(error)[:120]}"
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning) and wrong is None:
            wrong = f"RuntimeWarning: {warning.message} ({warning.filename.rpartition('/')[2]}:{warning.lineno})"
        elif not issubclass(warning.category, FitWarning | RuntimeWarning) and wrong is None:
            wrong = f"{warning.category.__name__}: {str(warning.message)[:120]}"
    return ("wrong" if wrong else "answered"), name, wrong or ""


def _checked(model, X):
    """What isn't finite in the answers of a fitted model."""
    if is_regressor(model):
        parts = {"predict": model.predict(X)}
        dist = model.predict_dist(X)
        # A Student-t of one degree of freedom or fewer has neither mean nor standard deviation, but quantiles.
        for part, values in {"median": dist.quantile(0.5), "upper": dist.quantile(0.9)}.items():
            if np.isnan(values).any():
                return f"NaN in {part}"
    elif not hasattr(model, "predict_proba"):
        parts = {"decision_function": model.decision_function(X)}
    else:
        parts = {"predict_proba": model.predict_proba(X)}
        if not np.allclose(parts["predict_proba"].sum(axis=1), 1.0):
            return "probabilities don't sum to one"
    parts["evidence"] = getattr(model, "log_evidence_", 0.0)
    parts["coef_"] = getattr(model, "coef_", 0.0)
    return next((f"{part} isn't finite" for part, values in parts.items() if not np.isfinite(values).all()), None)


def _work(seeds, answers):
    for seed in iter(seeds.get, None):
        answers.put(attempt(seed))


class Worker:
    """A process that tries one seed at a time, and is replaced where it takes too long."""

    def __init__(self):
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self):
        self._seeds, self._answers = self._context.SimpleQueue(), self._context.Queue()
        self._process = self._context.Process(target=_work, args=(self._seeds, self._answers), daemon=True)
        self._process.start()

    def attempt(self, seed, limit):
        self._seeds.put(seed)
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                return self._answers.get(timeout=0.5)
            except Exception:
                if not self._process.is_alive():
                    break
        died = not self._process.is_alive()
        self._process.kill()
        self._process.join()
        code = self._process.exitcode
        self._start()
        name = type(problem(seed)[0]).__name__
        return "wrong", name, f"process ended with {code}" if died else f"longer than {limit:g} s"

    def stop(self):
        self._seeds.put(None)
        self._process.join(5)
        self._process.kill()


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Fits on hard data.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each fit takes the next one")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one fit")
    parser.add_argument("--only", type=int, help="repeat this seed alone, in this process")
    parser.add_argument("--refusals", action="store_true", help="list the error messages too")
    asked = parser.parse_args(arguments)
    if asked.only is not None:
        model, X, y, weight = problem(asked.only)
        print(model, X, y, weight, sep="\n")
        print(attempt(asked.only))
        return 0
    worker, seed, counts, refusals = Worker(), asked.seed, Counter(), Counter()
    known, end = set(), time.monotonic() + asked.seconds
    while time.monotonic() < end:
        kind = repr(problem(seed)[0])
        # The first fit of a kind may have to compile its loops.
        outcome, name, text = worker.attempt(seed, asked.limit if kind in known else asked.limit + _COMPILING)
        known.add(kind)
        counts[outcome] += 1
        if outcome == "wrong":
            print(f"seed {seed}: {name}: {text}", flush=True)
        elif outcome == "refused":
            refusals[text[:60]] += 1
        seed += 1
    worker.stop()
    if asked.refusals:
        for text, times in refusals.most_common():
            print(f"{times:6d} {text}")
    answered, refused, wrong = (counts[outcome] for outcome in ("answered", "refused", "wrong"))
    print(f"{seed - asked.seed} fits: {answered} answered, {refused} refused in words, {wrong} wrong")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
