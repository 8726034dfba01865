"""What runs measured, with the machine and the versions, as JSON and as the page `docs/benchmarks.md`.

Each suite has its own date, machine, versions and load, so that suites can be run one at a time and on different days:
a run replaces the suites that it ran and keeps the others.
"""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness import Line
from benchmarks.pictures import draw_speed, speed

LIBRARIES = (
    "credo", "numpy", "scipy", "numba", "scikit-learn", "GPy", "gpflow", "tensorflow", "gpytorch", "torch", "tinygp",
    "jax", "celerite2", "gpboost", "celer", "skglm", "statsmodels", "ngboost", "mapie", "interpret-core",
)  # fmt: skip

_HEAD = "# Benchmarks\n"
_PICTURE = "![Ratios of times for each suite; left of the line Credo is faster](images/benchmarks.png)\n"

_HOW = """## How this was measured

Made by `make bench`; don't edit. Times are medians over rounds in which the libraries take turns in one process, after
a warm-up round. Exceptions, which favor Credo: whole fits of Gaussian processes by scikit-learn, GPy and
GPyTorch, scikit-learn's AdaBoost, R's BMS and mgcv, and whole fits of explainable boosting machines run once, because
they take long; Credo's fit beside them is its second. A ratio below 1 means that Credo is faster. The last column says
what each reached, because speed that changes the answer doesn't count. [Accuracy and calibration on real
data](honesty.md) and [time and memory against rows](which-method.md) have pages of their own.
"""

_RUN = """## Run it

```
make bench-quick                            # the small cases, in less than five minutes
make bench                                  # all of them, in about half an hour
.venv-bench/bin/python -m benchmarks linear # one suite; --json FILE and --page FILE keep what other suites measured
make bench-honesty DATA=folder              # accuracy and calibration, an hour and a half
```

The other libraries are installed into `.venv-bench`, and GPflow, which needs an older NumPy, into
`.venv-bench-gpflow`; what can't be installed is skipped by name. R's BMS and mgcv are used where
`Rscript` finds them, and real tables of additive models where the folder `$DATA` has them. Close other programs first:
the load at the start of each suite is recorded.
"""


def circumstances() -> dict[str, Any]:
    """Today, this machine, and the versions of all libraries that are installed."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
    }


def machine() -> dict[str, Any]:
    """Processor, cores, memory in GiB, and Python."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0.0
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": round(memory),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def record(lines: Sequence[Line], skipped: Sequence[str], load: float) -> dict[str, Any]:
    """Everything about a suite that ran now; `load` is that of the machine before it."""
    return circumstances() | {
        "load": round(load, 2),
        "skipped": list(dict.fromkeys(skipped)),
        # NumPy's numbers aren't JSON's.
        "lines": [
            asdict(line) | {"ours": float(line.ours), "theirs": float(line.theirs), "met": bool(line.met)}
            for line in lines
        ],
    }


def merged(old: Mapping[str, Any], title: str, suite: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    """The suites of a file with one of them replaced; a suite that was skipped as a whole replaces nothing."""
    if title in old and not suite["lines"]:
        return dict(old)
    found = {**old, title: suite}
    return {name: found[name] for name in (*order, *found) if name in found}


def page(suites: Mapping[str, Any]) -> str:
    """The page of the recorded suites."""
    sentences = speed(suites)
    parts = [_HEAD, sentences, _PICTURE] if sentences else [_HEAD]
    for title, suite in suites.items():
        if suite["lines"]:
            parts.append(
                f"## {title}\n\nMeasured on {suite['date']}; load of the machine before: {suite['load']:.1f}.\n"
            )
            parts.append("| case | Credo | compared with | ratio | target | quality |\n|---|---|---|---|---|---|")
            parts += [*map(_row, suite["lines"]), ""]
    missing = list(dict.fromkeys(what for suite in suites.values() for what in suite["skipped"]))
    if missing:
        parts.append("## Not in these runs\n\n" + "\n".join(f"- {what}" for what in missing) + "\n")
    places: dict[str, list[str]] = {}
    for title, suite in suites.items():
        if suite["lines"]:
            places.setdefault(origin(suite), []).append(title)
    if places:
        parts.append("## Machine and versions\n")
    parts += [f"{', '.join(titles)}: {place}" for place, titles in places.items()]
    return "\n".join([*parts, _HOW, _RUN])


def origin(run: Mapping[str, Any]) -> str:
    """A sentence about machine and versions."""
    place = run["machine"]
    return (
        f"{place['processor']}, {place['cores']} core{'' if place['cores'] == 1 else 's'}, {place['memory']} GiB, "
        f"{place['system']}, Python {place['python']}; "
        + ", ".join(f"{name} {found}" for name, found in run["versions"].items())
        + ".\n"
    )


def _row(line: Mapping[str, Any]) -> str:
    unit = f" {line['unit']}" if line["unit"] else ""
    target = line["target"] + ("" if line["met"] else ", **missed**")
    ratio = f"{line['ours'] / line['theirs']:.2f}" if line["theirs"] else "–"
    cells = (
        line["case"].strip(),
        f"{line['ours']:.3g}{unit}",
        f"{line['yardstick']}: {line['theirs']:.3g}{unit}",
        ratio,
        target,
        line["quality"],
    )
    return "| " + " | ".join(cells) + " |"


def read(numbers: Path) -> dict[str, Any]:
    """The suites of a file, none if there is no file."""
    return json.loads(numbers.read_text("utf-8"))["suites"] if numbers.exists() else {}


def write(suites: Mapping[str, Any], numbers: Path, text: Path | None) -> None:
    """The JSON file, and the page where one is wanted."""
    numbers.write_text(json.dumps({"suites": suites}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if text is not None:
        text.write_text(page(suites), "utf-8")
        if speed(suites):
            draw_speed(suites, text.parent / "images" / "benchmarks.png")
