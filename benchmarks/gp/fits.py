"""Full fits beside the peers: time, and the evidence reached."""

import sys
from collections.abc import Callable

import numpy as np

from benchmarks.gp import peers
from benchmarks.harness import Line, faster, installed, quick, times_of

# Module, contestant, and how much faster we want to be with so many rows; at 3000 rows one of them is enough, because
# each takes minutes.
PEERS: dict[str, tuple[str, Callable[..., peers.End], dict[int, float]]] = {
    "scikit-learn": ("sklearn", peers.scikit_learn, {500: 1.0, 1000: 8.0, 3000: 12.0}),
    "GPy": ("GPy", peers.gpy, {500: 1.0, 1000: 2.5}),
    "GPyTorch": ("gpytorch", peers.gpytorch, {500: 1.0, 1000: 1.0}),
}


def run() -> list[Line]:
    rivals = {name: peer for name, peer in PEERS.items() if installed(peer[0], f"fits by {name}")}
    return [line for n in ((500,) if quick() else (1000, 3000)) for line in fits(n, rivals)]


def fits(n: int, peers_here: dict[str, tuple[str, Callable[..., peers.End], dict[int, float]]]) -> list[Line]:
    """Lines of time for each peer, and one of the evidence beside the best of all."""
    rivals = {name: (climb, wanted[n]) for name, (_, climb, wanted) in peers_here.items() if n in wanted}
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
    times |= times_of({name: contestant(name, climb) for name, (climb, _) in rivals.items()}, rounds=0)
    reached = {name: end.log_evidence(X, y) for name, end in ends.items()}
    lines = []
    for name, (_, factor) in rivals.items():
        gap = reached[name] - reached["credo"]
        quality = f"{name}'s log evidence {gap:+.2f}"
        lines.append(faster(f"fit + predict 1000, N={n} D=8", times, name, factor, quality=quality))
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
