"""What a run measured, with the machine and the versions, as JSON and as the page `docs/benchmarks.md`."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness import SKIPPED, Line

LIBRARIES = (
    "credo", "numpy", "scipy", "numba", "scikit-learn", "GPy", "gpflow", "gpytorch", "torch", "tinygp", "jax",
    "celerite2", "gpboost", "celer", "skglm", "statsmodels", "ngboost", "mapie",
)  # fmt: skip

_HEAD = """# Benchmarks

Made by `make bench`; don't edit. Times are medians over rounds in which the libraries take turns in one process. A
ratio below 1 means that Credo is faster. The column "quality" says what each reached, because speed that changes the
answer doesn't count.
"""


def record(suites: Mapping[str, Sequence[Line]]) -> dict[str, Any]:
    """Everything about a run as one JSON value."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
        "skipped": sorted(set(SKIPPED)),
        "suites": {title: [asdict(line) for line in lines] for title, lines in suites.items()},
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
        "cores": os.cpu_count(),
        "memory": round(memory),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def page(run: Mapping[str, Any]) -> str:
    """The page of a recorded run."""
    place, parts = run["machine"], [_HEAD]
    parts.append(
        f"Measured on {run['date']}: {place['processor']}, {place['cores']} cores, {place['memory']} GiB, "
        f"{place['system']}, Python {place['python']}; "
        + ", ".join(f"{name} {found}" for name, found in run["versions"].items())
        + ".\n"
    )
    for title, lines in run["suites"].items():
        parts.append(f"## {title}\n\n| case | Credo | compared with | | ratio | target | quality |")
        parts.append("|---|---|---|---|---|---|---|")
        parts += [_row(line) for line in lines]
        parts.append("")
    if run["skipped"]:
        parts.append("## Not in this run\n\n" + "\n".join(f"- {what}" for what in run["skipped"]) + "\n")
    return "\n".join(parts)


def _row(line: Mapping[str, Any]) -> str:
    unit = f" {line['unit']}" if line["unit"] else ""
    target = line["target"] + ("" if line["met"] else ", **missed**")
    ratio = line["ours"] / line["theirs"] if line["theirs"] else float("nan")
    cells = (
        line["case"].strip(),
        f"{line['ours']:.3g}{unit}",
        line["yardstick"],
        f"{line['theirs']:.3g}{unit}",
        f"{ratio:.2f}",
        target,
        line["quality"],
    )
    return "| " + " | ".join(cells) + " |"


def write(run: Mapping[str, Any], numbers: Path, text: Path | None) -> None:
    """The JSON file, and the page where one is wanted."""
    numbers.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if text is not None:
        text.write_text(page(run), "utf-8")
