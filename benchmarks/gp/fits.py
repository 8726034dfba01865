"""Full fits beside the peers: time, and the evidence reached."""

import sys
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks.gp import peers
from benchmarks.harness import Line, faster, quick, skipped, times_of

# Module, contestant, and how much faster we want to be at 1000 and at 3000 rows.
PEERS: dict[str, tuple[str, Callable[..., peers.End], dict[int, float]]] = {
    "scikit-learn": ("sklearn", peers.scikit_learn, {1000: 8.0, 3000: 12.0}),
    "GPy": ("GPy", peers.gpy, {1000: 2.5, 3000: 2.5}),
    "GPyTorch": ("gpytorch", peers.gpytorch, {}),
}


def run() -> list[Line]:
    installed = {}
    for name, (module, *_) in PEERS.items():
        if find_spec(module) is None:
            skipped(f"fits by {name}", "which isn't installed; `pip install .[bench]` brings the peers")
        else:
            installed[name] = PEERS[name]
    sizes = (500,) if quick() else (1000, 3000)
    return [line for n in sizes for line in fits(n, installed)]


def fits(n: int, rivals: dict[str, tuple[str, Callable[..., peers.End], dict[int, float]]]) -> list[Line]:
    """Lines of time for each peer, and one of the evidence beside the best of all."""
    X, y, new = task(n)
    ends: dict[str, peers.End] = {}

    def contestant(name: str, climb: Callable[..., peers.End]) -> Callable[[], None]:
        def once() -> None:
            print(f"fitting {n} rows with {name}", file=sys.stderr)
            ends[name] = climb(X, y, new)

        return once

    peers.credo(*task(300))
    times = times_of({"credo": contestant("credo", peers.credo)}, rounds=1)
    # Minutes each: once, without a warm-up.
    times |= times_of({name: contestant(name, climb) for name, (_, climb, _) in rivals.items()}, rounds=0)
    reached = {name: end.log_evidence(X, y) for name, end in ends.items()}
    lines = []
    for name, (_, _, wanted) in rivals.items():
        gap = reached[name] - reached["credo"]
        quality = f"{name}'s log evidence {gap:+.2f}"
        lines.append(faster(f"fit + predict 1000, N={n} D=8", times, name, wanted.get(n, 1.0), quality=quality))
    return [*lines, evidence(n, reached)]


def evidence(n: int, reached: dict[str, float]) -> Line:
    """Ours beside the best of the others; a tenth of a nat is a tie."""
    best = max((name for name in reached if name != "credo"), key=lambda name: reached[name], default="credo")
    met = reached["credo"] >= reached[best] - 0.1
    return Line(
        f"log evidence reached, N={n} D=8", reached["credo"], best, reached[best], "no worse", met, unit="nats"
    )  # fmt: skip


def task(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, standardised targets, and new rows: three of eight columns matter."""
    rng = np.random.default_rng(1)
    X, new = rng.uniform(-2, 2, size=(n, 8)), rng.uniform(-2, 2, size=(1000, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, (y - y.mean()) / y.std(), new
