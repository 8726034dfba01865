"""Additive models beside R's mgcv, where Rscript is found, and explainable boosting machines; and large tables.

Times are CPU seconds, of R without its start. Tables of others are looked for in the folder $DATA.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Line, at_most, below, faster, installed, quick, skipped
from credo.additive import AdditiveRegressor, random, smooth
from credo.core.parts import read_parquet

Array = np.ndarray

# Gu & Wahba's functions, mgcv's gamSim(1): three curves and one that is zero.
CURVES: list[Callable[[Array], Array]] = [
    lambda x: 2 * np.sin(np.pi * x),
    lambda x: np.exp(2 * x),
    lambda x: 0.2 * x**11 * (10 * (1 - x)) ** 6 + 10 * (10 * x) ** 3 * (1 - x) ** 10,
    lambda x: 0.0 * x,
]
_SCRIPT = """
suppressMessages(library(mgcv))
args <- commandArgs(TRUE)
d <- read.csv(args[1])
if (!is.null(d$site)) d$site <- factor(d$site)
model <- eval(parse(text = args[2]))
cpu <- sum(system.time(found <- model(d))[1:2])
cat(cpu, sum(found$edf), sqrt(found$sig2), as.character(packageVersion("mgcv")))
"""
# The tables of the folder, with their targets.
TABLES = {
    "concrete.csv": "strength_mpa", "energy.csv": "Y1_heating", "yacht.csv": "resistance", "diabetes.csv": "y",
    "wine_red.csv": "quality", "kin8nm.csv.gz": "y",
}  # fmt: skip


def run() -> list[Line]:
    lines = [*curves(), counts()]
    if not quick():
        lines += [*bands(), *million(), *boosting_machines()]
    return [line for line in lines if line is not None]


def table(n_rows: int, n_columns: int, seed: int = 0) -> tuple[Array, Array]:
    """Uniform columns, the curves in turn, and noise of standard deviation 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    return X, sum(CURVES[j % 4](X[:, j]) for j in range(n_columns)) + 2.0 * rng.normal(size=n_rows)


def cpu_seconds(job: Callable[[], Any], rounds: int = 5) -> float:
    """The median over rounds, after one that doesn't count."""
    times = []
    for _ in range(rounds + 1):
        start = process_time()
        job()
        times.append(process_time() - start)
    return float(np.median(times[1:]))


def mgcv(frame: pd.DataFrame, model: str) -> tuple[float, float, float, str] | None:
    """CPU seconds, effective degrees of freedom, noise and version of a fit by R; None if it can't."""
    if shutil.which("Rscript") is None:
        skipped("R's mgcv", "there is no Rscript")
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.to_csv(path, index=False)
        command = ["Rscript", "-e", _SCRIPT, str(path), f"function(d) {model}"]
        limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, env=os.environ | limits
        )
    if done.returncode:
        skipped("R's mgcv", "Rscript has no package mgcv")
        return None
    cpu, edf, sigma, version = done.stdout.split()
    return float(cpu), float(edf), float(sigma), f"mgcv {version}"


def curves() -> list[Line | None]:
    """Sums of curves of uniform columns, without a search for pairs, which mgcv hasn't either."""
    found: list[Line | None] = []
    cases = [(2_000, 10, "gam", 20.0), (10_000, 10, "gam", 20.0), (100_000, 4, "bam", 1.0)]
    for n_rows, n_columns, function, factor in cases[:1] if quick() else cases:
        X, y = table(n_rows, n_columns)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_columns)]).assign(y=y)
        formula = "y ~ " + " + ".join(f"s(x{j})" for j in range(n_columns))
        option = 'method = "REML"' if function == "gam" else "discrete = TRUE"
        theirs = mgcv(frame, f"{function}({formula}, data = d, {option})")
        if theirs is None:
            continue
        model = AdditiveRegressor(family="gaussian", pairs=0)
        ours = cpu_seconds(partial(model.fit, X, y))
        yardstick = f"{theirs[3]} {function}({option})"
        times = {"credo": ours, yardstick: theirs[0]}
        quality = (
            f"noise {model.noise_std_:.4f} and {theirs[2]:.4f}; effective degrees of freedom "
            f"{1 + model.dof_.sum():.1f} of 21 a curve and {theirs[1]:.1f} of 9"
        )
        case = f"sum of {n_columns} curves, n={n_rows}, CPU"
        found.append(
            at_most(case, times, yardstick, 1.0, quality=quality)
            if factor == 1.0
            else faster(case, times, yardstick, factor, quality=quality)
        )
    return found


def counts() -> Line | None:
    """Repeated counts with exposure: two curves and an effect of sites, the negative binomial family."""
    rng, n_rows, n_sites = np.random.default_rng(0), 2_000, 40
    site, hours = rng.integers(n_sites, size=n_rows), rng.uniform(0.5, 5.0, size=n_rows)
    age, dose = rng.uniform(20, 80, size=n_rows), rng.uniform(0, 10, size=n_rows)
    eta = 0.6 * np.sin(age / 8) + 0.02 * (dose - 5) ** 2 + rng.normal(0, 0.5, size=n_sites)[site] - 0.5
    y = rng.poisson(rng.gamma(3.0, np.exp(eta) * hours / 3.0))
    frame = pd.DataFrame({"y": y, "age": age, "dose": dose, "site": [f"s{k}" for k in site], "hours": hours})
    formula = 'y ~ s(age, k = 20) + s(dose, k = 20) + s(site, bs = "re") + offset(log(hours))'
    theirs = mgcv(frame, f'gam({formula}, family = nb(), data = d, method = "REML")')
    if theirs is None:
        return None
    model = AdditiveRegressor([smooth("age"), smooth("dose"), random("site")], family="negative_binomial")
    ours = cpu_seconds(lambda: model.fit(frame, y, exposure=hours))
    quality = f"effective degrees of freedom {1 + model.dof_.sum():.1f} and {theirs[1]:.1f}"
    times = {"credo": ours, theirs[3]: theirs[0]}
    return faster(f"counts with exposure at {n_sites} sites, n={n_rows}, CPU", times, theirs[3], 10.0, quality=quality)


def bands(n_tables: int = 200, n_rows: int = 400) -> list[Line]:
    """The share of true curves that are inside their simultaneous 95 % bands everywhere."""
    inside = np.zeros((n_tables, 4), dtype=bool)
    for seed in range(n_tables):
        X, y = table(n_rows, 4, seed)
        model = AdditiveRegressor([smooth(j) for j in range(4)], family="gaussian").fit(X, y)
        for j, f in enumerate(CURVES):
            curve = model.curve(j)
            truth = f(curve.points[f"x{j}"]) - f(X[:, j]).mean()
            lower, upper = curve.band(0.95)
            inside[seed, j] = ((lower <= truth) & (truth <= upper)).all()
    share = 100 * inside.mean()
    each = ", ".join(f"{100 * one:.1f}" for one in inside.mean(axis=0))
    return [
        Line(
            f"simultaneous 95 % bands of {n_tables} tables of n={n_rows}: true curves inside", share, "nominal", 95.0,
            "93 to 97 %", 93 <= share <= 97, unit="%", quality=f"each curve: {each} %; the last is zero",
        )
    ]  # fmt: skip


def million() -> list[Line]:
    """A million rows of ten curves in a process of its own, from an array and from a Parquet file."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        X, y = table(1_000_000, 10)
        pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]).assign(y=y).to_parquet(path, row_group_size=50_000)
        for source in ("array", "Parquet"):
            command = [sys.executable, "-m", "benchmarks.additive", source, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            took = json.loads(done.stdout.splitlines()[-1])
            quality = f"{took['seconds']:.1f} s on the clock, noise {took['noise']:.4f}"
            case = f"10 curves and pairs, n=1000000, from {source}"
            found.append(below(f"{case}, CPU", took["cpu"], 20.0, quality=quality))
            found.append(below(f"{case}, peak memory", took["peak"], 2.0, unit="GB"))
    return found


def _fit_million(source: str, path: str) -> None:
    from time import perf_counter

    X, y = table(1_000_000, 10) if source == "array" else (None, None)
    clock, cpu = perf_counter(), process_time()
    model = AdditiveRegressor(family="gaussian")
    model.fit(X, y) if source == "array" else model.fit(read_parquet(path, target="y"))
    took = {"seconds": perf_counter() - clock, "cpu": process_time() - cpu, "noise": model.noise_std_}
    print(json.dumps(took | {"peak": 1024e-9 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def boosting_machines() -> list[Line]:
    """Held-out errors and times of real tables, in five folds."""
    folder = Path(os.environ.get("DATA", "../shared/data"))
    if not (folder / "concrete.csv").exists():
        skipped("additive models of real tables", f"$DATA, here {folder}, has no concrete.csv")
        return []
    beside = installed("interpret", "explainable boosting machines")
    found = []
    for name, target in TABLES.items():
        data = pd.read_csv(folder / name)
        X, y = data.drop(columns=target), data[target].to_numpy(dtype=float)
        case = f"{name.split('.')[0]} {len(y)} × {X.shape[1]}, additive with pairs"
        error, seconds, inside = held_out(lambda: AdditiveRegressor(family="gaussian"), X, y)
        if name == "concrete.csv":
            plain, _, _ = held_out(lambda: AdditiveRegressor(family="gaussian", pairs=0), X, y)
            found.append(below("concrete, no pairs", plain, 5.5, unit="RMSE", quality="mgcv 1.8-41 5.71"))
            found.append(below("concrete, pairs", error, 4.85, unit="RMSE"))
        if beside:
            from interpret.glassbox import ExplainableBoostingRegressor

            theirs, clock, _ = held_out(lambda: ExplainableBoostingRegressor(n_jobs=1, random_state=0), X, y)
            quality = f"RMSE {error:.4g} and {theirs:.4g}; 95 % intervals contain {100 * inside:.0f} %"
            times = {"credo": seconds, "interpret's EBM": clock}
            found.append(faster(f"{case}, CPU", times, "interpret's EBM", 10.0, quality=quality))
    return found


def held_out(make: Callable[[], Any], X: pd.DataFrame, y: Array) -> tuple[float, float, float]:
    """Root mean squared error over five folds, CPU seconds a fit, and the share of targets in their 95 % intervals."""
    fold = (7919 * np.arange(1, len(y) + 1)) % 5
    gaps, seconds, inside = np.empty(len(y)), [], np.zeros(len(y), dtype=bool)
    for k in range(5):
        train, start = fold != k, process_time()
        model = make().fit(X[train], y[train])
        seconds.append(process_time() - start)
        gaps[~train] = model.predict(X[~train]) - y[~train]
        if isinstance(model, AdditiveRegressor):
            lower, upper = model.predict_dist(X[~train]).interval(0.95)
            inside[~train] = (lower <= y[~train]) & (y[~train] <= upper)
    return float(np.sqrt(np.mean(gaps**2))), float(np.mean(seconds)), float(inside.mean())


if __name__ == "__main__":
    _fit_million(*sys.argv[1:])
