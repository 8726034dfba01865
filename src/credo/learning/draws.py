"""Posterior draws of hyperparameters, with convergence diagnostics."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.learning._extra import extra

Array = NDArray[np.float64]

# Limits of Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), section 4.
_R_HAT = 1.01
_ESS_PER_CHAIN = 100
# The acceptable share of divergent steps: their bias is then far below the Monte-Carlo error of 400 effective draws,
# which is 5 % of a standard deviation.
_DIVERGENT_SHARE = 0.005


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of several chains from one posterior, with convergence diagnostics.

    Parameters
    ----------
    values : array of shape (n_chains, n_draws, n_parameters)
    names : tuple of str
        One for each parameter; ``a[0]``, ``a[1]`` are entries of the vector ``a``.
    log_density : array of shape (n_chains, n_draws)
        The objective at each draw.
    divergent : bool array of shape (n_chains, n_draws)
        Whether the trajectory to a draw diverged.
    r_hat, ess_bulk, ess_tail : arrays of shape (n_parameters,)
        Rank-normalized split R-hat, and the effective sample sizes for the centre and for the 5 % and 95 % quantiles
        (Vehtari et al., 2021).
    n_evaluations : int
        Evaluations of the objective, including tuning.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import sample
    >>> def objective(z):
    ...     return -0.5 * float(z @ z), -z
    >>> draws = sample(objective, np.zeros((2, 1)), names=("z",), n_draws=100, n_tune=100, random_state=0)
    >>> draws.values.shape, draws.thinned(10).shape
    ((2, 100, 1), (10, 1))
    """

    values: Array
    names: tuple[str, ...]
    log_density: Array
    divergent: NDArray[np.bool_]
    r_hat: Array
    ess_bulk: Array
    ess_tail: Array
    n_evaluations: int

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.values.shape[0]

    @property
    def n_draws(self) -> int:
        """Number of draws per chain."""
        return self.values.shape[1]

    @property
    def n_divergent(self) -> int:
        """Number of divergent steps."""
        return int(self.divergent.sum())

    @property
    def converged(self) -> bool:
        """Whether the chains converged: R-hat ≤ 1.01, ESS ≥ 100 per chain, divergences ≤ 0.5 %."""
        return not self._problems()

    @property
    def message(self) -> str:
        """The diagnostics in a sentence, with what to do if the chains have not converged."""
        size = f"{self.n_chains} chains of {self.n_draws} draws"
        problems = self._problems()
        if problems:
            return f"{size} did not converge: {'; '.join(problems)}"
        some = f", {self.n_divergent} divergent" if self.n_divergent else ""
        least = min(self.ess_bulk.min(), self.ess_tail.min())
        return (
            f"converged; {size}, R-hat at most {self.r_hat.max():.3f}, effective sample size at least {least:.0f}{some}"
        )

    def thinned(self, n: int) -> Array:
        """n draws evenly spaced over all chains, or all if there are no more: shape (n, n_parameters)."""
        if n < 1:
            raise ValueError(f"n must be at least 1; got {n!r}")
        flat = self.values.reshape(-1, self.values.shape[2])
        n = min(int(n), len(flat))
        return flat[(2 * np.arange(n) + 1) * len(flat) // (2 * n)]

    def to_arviz(self) -> Any:
        """The draws for ArviZ: an InferenceData, or a DataTree from ArviZ 1.0 on."""
        az = extra("arviz", "exporting draws to ArviZ")
        posterior, dims, coords = _variables(self.names, self.values)
        groups = {"posterior": posterior, "sample_stats": {"diverging": self.divergent, "lp": self.log_density}}
        if hasattr(az, "InferenceData"):
            return az.from_dict(**groups, dims=dims, coords=coords)
        return az.from_dict(groups, dims=dims, coords=coords)

    def _problems(self) -> list[str]:
        """Problems of the draws, each with a remedy."""
        found = []
        # A chain that never moved has no R-hat.
        r_hat = np.where(np.isnan(self.r_hat), np.inf, self.r_hat)
        worst = int(np.argmax(r_hat))
        if r_hat[worst] > _R_HAT:
            found.append(
                f"R-hat of {self.names[worst]} is {r_hat[worst]:.2f} (should be at most {_R_HAT}): increase n_tune and "
                "n_draws, or use narrower priors if there are several modes"
            )
        ess = np.fmin(self.ess_bulk, self.ess_tail)
        ess = np.where(np.isnan(ess), 0.0, ess)
        least, wanted = int(np.argmin(ess)), _ESS_PER_CHAIN * self.n_chains
        # The effective size means nothing while the chains disagree.
        if ess[least] < wanted and not found:
            longer = 50 * math.ceil(self.n_draws * wanted / max(ess[least], 1.0) / 50)
            found.append(
                f"the effective sample size of {self.names[least]} is {ess[least]:.0f} (should be {wanted}): "
                f"set n_draws to about {longer}"
            )
        allowed = _DIVERGENT_SHARE * self.divergent.size
        if self.n_divergent > allowed:
            found.append(
                f"{self.n_divergent} of {self.divergent.size} steps diverged (at most {allowed:.0f} are acceptable): "
                "use narrower priors, or increase n_tune and target_accept"
            )
        return found


def _variables(names: Sequence[str], values: Array) -> tuple[dict[str, Array], dict[str, list[str]], dict[str, Any]]:
    """Variables by name, with the entries of a vector combined; their dimensions; and coordinates."""
    columns: dict[str, dict[int | None, int]] = {}
    for column, name in enumerate(names):
        entry = re.fullmatch(r"(.+)\[(\d+)\]", name)
        owner, number = (entry[1], int(entry[2])) if entry else (name, None)
        columns.setdefault(owner, {})[number] = column
    data: dict[str, Array] = {}
    dims: dict[str, list[str]] = {}
    coords: dict[str, Any] = {}
    for owner, entries in columns.items():
        if None in entries:
            data[owner] = values[:, :, entries[None]]
        else:
            data[owner] = values[:, :, list(entries.values())]
            dims[owner], coords[f"{owner}_entry"] = [f"{owner}_entry"], list(entries)
    return data, dims, coords
