"""All subsets of the columns beside R's BMS, where Rscript and the package are present."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import Line, faster, skipped, times_of
from credo.sparse import SpikeSlabRegressor

# Zellner's prior with g = n, and every subset equally probable; the clock of R, without its start. Bytes are compiled
# by a first, smaller call.
_SCRIPT = """
suppressMessages(library(BMS))
args <- commandArgs(TRUE)
table <- read.csv(args[1])
subsets <- function(t) bms(t, g = "UIP", mprior = "uniform", mcmc = "enumerate", user.int = FALSE)
small <- subsets(table[, 1:6])
seconds <- system.time(found <- subsets(table))["elapsed"]
cat(seconds, coef(found, order.by.pip = FALSE)[, 1], as.character(packageVersion("BMS")))
"""
N_ROWS, N_COLUMNS = 200, 14


def run() -> list[Line]:
    if shutil.which("Rscript") is None:
        skipped("R's BMS", "there is no Rscript")
        return []
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    y = X[:, :4] @ [1.0, -1.0, 0.3, 0.15] + rng.normal(size=N_ROWS)
    model = SpikeSlabRegressor(slab="g", search="enumerate")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        names = ",".join(["y", *(f"x{j}" for j in range(N_COLUMNS))])
        np.savetxt(table, np.column_stack([y, X]), delimiter=",", header=names, comments="", fmt="%.17g")
        command = ["Rscript", "-e", _SCRIPT, str(table)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        skipped("R's BMS", "Rscript has no package BMS")
        return []
    seconds, *inclusion, version = done.stdout.split()
    times = times_of({"credo": lambda: model.fit(X, y)}, rounds=5) | {f"R's BMS {version}": float(seconds)}
    apart = np.abs(model.inclusion_probabilities_ - np.array(inclusion, dtype=float)).max()
    quality = f"inclusion probabilities differ by {apart:.0e}"
    case = f"spike and slab, all 2^{N_COLUMNS} subsets, n={N_ROWS}"
    return [faster(case, times, f"R's BMS {version}", 10.0, quality=quality)]
