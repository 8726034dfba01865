"""`credo fit` that is stopped at any moment or out of disk space: no file is lost or left half-written.

python -m fuzz.commands --seconds 60 --seed 0
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import sleep

import numpy as np

from credo.tables import load
from fuzz.run import Failure, main

_OUTPUTS = ("model.credo", "report.html", "leaderboard.csv", "held_out.csv")
_OLD = b"from an earlier run"


def _table(rng: np.random.Generator, path: Path) -> None:
    x = rng.normal(size=(60, 2))
    y = x[:, 0] + 0.1 * rng.normal(size=60)
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(x, y, strict=True)))


def one(rng: np.random.Generator) -> Counter[str]:
    """One run, with random options, that is interrupted, ended, or can't write more than some bytes to a file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _table(rng, folder / "table.csv")
        out = folder / "out"
        out.mkdir()
        for output in _OUTPUTS:
            (out / output).write_bytes(_OLD)
        what = str(rng.choice(["interrupt", "end", "full disk"]))
        most = int(rng.choice([100, 3000, 20_000, 100_000])) if what == "full disk" else None
        options = ["--folds", str(rng.integers(2, 8)), "--seed", str(rng.integers(100)), "--time", "5"]
        options += [flag for flag in ("--json", "--shuffle", "--quiet") if rng.random() < 0.3]
        options += ["--keep", "all"] if rng.random() < 0.3 else []
        kind = f"{what}: {_run(folder, options, what, most, wait=float(rng.uniform(0, 8)))}"
        _check(out)
        return Counter({kind: 1})


def _run(folder: Path, options: list[str], what: str, most: int | None, *, wait: float) -> str:
    """Run the command; what came of it."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if most is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [sys.executable, "-m", "credo", "fit", "table.csv", "--target", "y", "--models", "linear,bayes"]
    # Compiled functions can't be written to their cache where a file may hold only so many bytes.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--out", "out", *options], cwd=folder, env=environment, preexec_fn=prepare,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        if most is None:
            sleep(wait)
            process.send_signal(signal.SIGINT if what == "interrupt" else signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failure(f"the command did not end within two minutes after: {what}") from None
    if "Traceback" in errors and process.returncode not in (-signal.SIGINT, -signal.SIGTERM, 130, 143):
        raise Failure(f"a traceback: {errors[-1500:]}")
    return "finished" if process.returncode == 0 else "stopped"


def _check(out: Path) -> None:
    """Every output is whole: all are new, apart from a report that could not be written, or all are old."""
    contents = {name: (out / name).read_bytes() for name in _OUTPUTS}
    if contents["model.credo"] == _OLD:
        changed = [name for name, content in contents.items() if content != _OLD]
        if changed:
            raise Failure(f"new files beside an old model: {changed}")
    else:
        load(out / "model.credo")
        if not contents["held_out.csv"].endswith(b"\n") or contents["leaderboard.csv"].count(b"\n") < 2:
            raise Failure("a table beside the model is half-written")
    report = contents["report.html"]
    if report != _OLD and not report.rstrip().endswith(b"</html>"):
        raise Failure("the report is half-written")


if __name__ == "__main__":
    main(one, __doc__, limit=150.0)
