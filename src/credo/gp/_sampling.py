"""Hyperparameters drawn from their posterior, in natural units and as flat vectors for predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import interval_level
from credo.core.frames import Table
from credo.core.learning import Draws, sample, scatter
from credo.core.learning.ascent import metric_at
from credo.core.linalg import n_threads
from credo.gp._objective import GaussianObjective
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Predictions average over this many draws at most, and over fewer where their factors would take more bytes than this.
_MOST, _FEWEST, _BYTES = 64, 16, 4e8


@dataclass(frozen=True)
class Sampled:
    """All draws in natural units, the flat vectors that predictions average over, and the centre of all."""

    draws: Draws
    thetas: Array
    center: Array


def sample_hyperparameters(
    objective: GaussianObjective, mode: Array, *, variance_factor: float, n_draws: int, rng: np.random.Generator
) -> Sampled:
    """Draws by NUTS from starts around the mode.

    Parameters
    ----------
    variance_factor : float
        The ratio of a variance in the units of y to one of standardised targets.
    """
    density = objective.log_posterior
    metric = metric_at(density, mode)
    starts = scatter(density, mode, metric=metric, random_state=rng)
    draws = sample(
        density,
        starts,
        names=objective.tree.names,
        n_draws=n_draws,
        metric=metric,
        n_jobs=n_threads(),
        random_state=rng,
    )
    kept = int(np.clip(_BYTES / (8 * len(objective.observations.Y) ** 2), _FEWEST, _MOST))
    flat = draws.values.reshape(-1, draws.values.shape[2])
    natural = np.array([_natural(objective, vector, variance_factor) for vector in flat]).reshape(draws.values.shape)
    # R-hat and effective sizes depend on ranks, which a change of units doesn't change.
    return Sampled(replace(draws, values=natural), draws.thinned(kept), flat.mean(axis=0))


def _natural(objective: GaussianObjective, vector: Array, variance_factor: float) -> list[float]:
    """The entries of the vector in natural units, variances in those of y."""
    kernel, noise = objective.kernel_at(vector), objective.learned_noise(vector)
    values = objective.tree.unflatten(vector).natural
    values |= {f"kernel.{path}": value for path, value in (variance_factor * kernel).params.items()}
    values["noise"] = variance_factor * noise
    entries = []
    for name in objective.tree.names:
        path, _, entry = name.partition("[")
        entries.append(float(values[path][int(entry[:-1])] if entry else values[path]))
    return entries


def drawn_summary(draws: Draws, kernel: Kernel, columns: list[str], *, level: float) -> Table:
    """Mean, standard deviation and interval of each parameter, over all draws."""
    flat = draws.values.reshape(-1, draws.values.shape[2])
    tail = 0.5 * (1.0 - interval_level(level))
    lower, upper = np.quantile(flat, [tail, 1.0 - tail], axis=0)
    return Table(
        f"Gaussian process with sampled hyperparameters, around {kernel!r}",
        {
            "parameter": [_named(name, kernel, columns) for name in draws.names],
            "estimate": flat.mean(axis=0).tolist(),
            "sd": flat.std(axis=0, ddof=1).tolist(),
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "R-hat": draws.r_hat.tolist(),
            "ESS": np.fmin(draws.ess_bulk, draws.ess_tail).round().tolist(),
        },
        notes=(draws.message,),
    )


def _named(name: str, kernel: Kernel, columns: list[str]) -> str:
    """A parameter as the summary calls it, with the name of the column or group that an entry is for."""
    path, _, entry = name.partition("[")
    plain = "noise variance" if path == "noise" else path.removeprefix("kernel.")
    if not entry:
        return plain
    owners = kernel.owners(plain, columns)
    return f"{plain}[{entry}" if owners is None else f"{plain} of {owners[int(entry[:-1])]}"
