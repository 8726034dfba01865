"""Posterior draws of hyperparameters by NUTS, from overdispersed starting points, with convergence diagnostics.

The objective is the one that `hyperparameters` maximizes: a log density of the flat, unconstrained vector, and its
gradient. nutpie, an optional extra, runs the chains; ArviZ's formulas compare them.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.learning.ascent import Objective
from credo.core.seeds import generator


def extra(module: str, purpose: str) -> Any:
    """A module of an optional library; `purpose` is what can't be done without it."""
    try:
        # Importing ArviZ warns about its next version.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError:
        name = module.split(".")[0].replace("_", "-")
        raise ImportError(f"{purpose} needs {name}: pip install 'credo[mcmc]'") from None


Array = NDArray[np.float64]

# Limits of Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), section 4.
_R_HAT = 1.01


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
        Rank-normalized split R-hat, and the effective sample sizes for the center and for the 5 % and 95 % quantiles
        (Vehtari et al., 2021).
    n_evaluations : int
        Evaluations of the objective, including tuning.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import sample
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
        """n draws evenly spaced over all chains, or all if there are fewer: shape (n, n_parameters)."""
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
                f"R-hat of {self.names[worst]} is {r_hat[worst]:.2f} (should be at most {_R_HAT}): increase "
                "n_draws, or use narrower priors if there are several modes"
            )
        ess = np.fmin(self.ess_bulk, self.ess_tail)
        ess = np.where(np.isnan(ess), 0.0, ess)
        least, wanted = int(np.argmin(ess)), 100 * self.n_chains
        # The effective size means nothing while the chains disagree.
        if ess[least] < wanted and not found:
            longer = 50 * math.ceil(self.n_draws * wanted / max(ess[least], 1.0) / 50)
            found.append(
                f"the effective sample size of {self.names[least]} is {ess[least]:.0f} (should be {wanted}): "
                f"set n_draws to about {longer}"
            )
        # The bias of 0.5 % is far below the Monte-Carlo error of 400 effective draws.
        allowed = 0.005 * self.divergent.size
        if self.n_divergent > allowed:
            found.append(
                f"{self.n_divergent} of {self.divergent.size} steps diverged (at most {allowed:.0f} are acceptable): "
                "use narrower priors"
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


def scatter(
    objective: Objective,
    modes: ArrayLike,
    *,
    n_chains: int = 4,
    metric: ArrayLike | None = None,
    random_state: Any = None,
) -> Array:
    """Overdispersed starting points, one for each chain, around one or several maxima in turn.

    Their spread is twice that of the posterior described by the metric; a point where the objective is −∞ is moved
    halfway back to its maximum until it is finite.

    Parameters
    ----------
    objective : callable(vector) -> value, gradient
    modes : array of shape (n_parameters,) or (n_modes, n_parameters)
    n_chains : int, default 4
    metric : array of shape (n_parameters, n_parameters), optional
        A root of the inverse curvature, as for `sample`; by default every parameter has standard deviation 1.
    random_state : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import scatter
    >>> def objective(vector):
    ...     return (-float(vector.sum()), -np.ones(1)) if vector[0] > 0 else (-np.inf, np.zeros(1))
    >>> starts = scatter(objective, [0.1], random_state=0)
    >>> starts.shape, bool((starts > 0).all())
    ((4, 1), True)
    """
    maxima = np.atleast_2d(np.asarray(modes, dtype=np.float64))
    root = np.eye(maxima.shape[1]) if metric is None else np.asarray(metric, dtype=np.float64)
    # Overdispersed, as R-hat requires.
    steps = 2.0 * generator(random_state).normal(size=(n_chains, maxima.shape[1])) @ root.T
    starts = np.empty_like(steps)
    for chain, step in enumerate(steps):
        maximum = maxima[chain % len(maxima)]
        starts[chain] = maximum + step
        for _ in range(20):
            if math.isfinite(_finite(objective, starts[chain])[0]):
                break
            starts[chain] = 0.5 * (starts[chain] + maximum)
    return starts


def sample(
    objective: Objective,
    starts: ArrayLike,
    *,
    names: Sequence[str],
    n_draws: int = 500,
    n_tune: int = 150,
    metric: ArrayLike | None = None,
    target_accept: float = 0.8,
    n_jobs: int = 1,
    random_state: Any = None,
) -> Draws:
    """Draws from the density whose log is the objective, by NUTS (Hoffman & Gelman, 2014).

    Parameters
    ----------
    objective : callable(vector) -> value, gradient
        A log density on the whole real space, known up to a constant. A step to where the value is −∞, or either
        isn't finite, is rejected and counts as divergent.
    starts : array of shape (n_chains, n_parameters)
        Starting point of each chain, as `scatter` makes them. They should be overdispersed for R-hat to be informative.
    names : sequence of str
        Names of the parameters.
    n_draws, n_tune : int, default 500 and 150
        For each chain: draws that are kept, and tuning steps before them.
    metric : array of shape (n_parameters, n_parameters), optional
        The chains move in u, with vector = start + metric·u; a root of the inverse curvature at the
        maximum. On Gaussian-process posteriors it gave three times as many effective draws per evaluation.
    target_accept : float, default 0.8
        Target acceptance rate; values closer to 1 give shorter steps, which helps against divergences.
    n_jobs : int, default 1
        Number of chains that run at the same time. More than one needs a thread-safe objective; the draws are the same.
    random_state : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import sample
    >>> def objective(vector):
    ...     return -0.5 * float(vector @ vector), -vector
    >>> draws = sample(objective, [[2.0], [-2.0]], names=["a"], n_draws=400, random_state=0)
    >>> draws.values.shape, draws.converged
    ((2, 400, 1), True)
    """
    points = np.array(starts, dtype=np.float64)
    for number, point in enumerate(points):
        if not math.isfinite(_finite(objective, point)[0]):
            raise ValueError(
                f"the log density isn't finite at the start of chain {number}, {point.round(4).tolist()}: "
                "use starting points from `scatter`"
            )
    if n_draws < 4:
        raise ValueError(f"n_draws must be at least 4; got {n_draws!r}")
    root = np.eye(points.shape[1]) if metric is None else np.asarray(metric, dtype=np.float64)
    nutpie = extra("nutpie", "sampling hyperparameters")
    # At most 2⁸ − 1 evaluations for a draw; in good coordinates it takes 3 to 15.
    settings = {"draws": n_draws, "tune": n_tune, "target_accept": target_accept, "maxdepth": 8}
    seeds = generator(random_state).integers(2**63, size=len(points)).tolist()
    chains = [_Chain(objective, point, root) for point in points]
    # Even a single job runs in a thread: in the main thread, nutpie would handle a keyboard interrupt by returning the
    # draws so far.
    with ThreadPoolExecutor(n_jobs, thread_name_prefix="credo-chains") as pool:
        try:
            list(pool.map(lambda chain, seed: chain.run(nutpie, seed=seed, **settings), chains, seeds))
        except BaseException:
            for chain in chains:
                chain.stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return _draws(chains, tuple(names))


class _Chain:
    """One chain, in u with vector = start + root·u."""

    def __init__(self, objective: Objective, start: Array, root: Array) -> None:
        self.objective, self.start, self.root = objective, start, root
        self.n_evaluations = 0
        self.stopped = False
        self.error: Exception | None = None

    def run(self, nutpie: Any, *, seed: int, **settings: Any) -> None:
        """Run the sampler and keep the draws."""
        n = len(self.start)
        model = nutpie.compiled_pyfunc.from_pyfunc(
            n,
            lambda: self.density,
            lambda *_: lambda u: {"u": u},
            [np.dtype(np.float64)],
            [(n,)],
            ["u"],
            make_initial_point_fn=lambda _: np.zeros(n),
        )
        trace = nutpie.sample(model, chains=1, cores=1, seed=seed, progress_bar=False, **settings)
        if self.error is not None:
            raise self.error
        self.values = self.start + trace.posterior["u"].values[0] @ self.root.T
        self.log_density = trace.sample_stats["logp"].values[0]
        self.divergent = trace.sample_stats["diverging"].values[0]

    def density(self, u: Array) -> tuple[float, Array]:
        """The log density for nutpie. After an error all steps are rejected, and the error is raised at the end."""
        if self.stopped:
            return -math.inf, np.zeros_like(u)
        self.n_evaluations += 1
        try:
            value, gradient = _finite(self.objective, self.start + self.root @ u)
        except Exception as error:
            self.error, self.stopped = error, True
            return -math.inf, np.zeros_like(u)
        slope = self.root.T @ gradient
        if not u.any():
            # nutpie takes its first scales from the gradient at the start; a zero would make one infinite.
            slope = np.copysign(np.maximum(np.abs(slope), 0.1), slope)
        return value, slope


def _draws(chains: Sequence[_Chain], names: tuple[str, ...]) -> Draws:
    """The chains with their diagnostics."""
    stats = extra("arviz_stats.base", "judging chains").array_stats
    values = np.stack([chain.values for chain in chains])
    axes = {"chain_axis": 0, "draw_axis": 1}
    # A chain that never moved has no variance to divide by; `converged` treats the NaN as a failure.
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = stats.rhat(values, **axes)
        ess_bulk = stats.ess(values, **axes)
        ess_tail = stats.ess(values, method="tail", prob=(0.05, 0.95), **axes)
    return Draws(
        values=values,
        names=names,
        log_density=np.stack([chain.log_density for chain in chains]),
        divergent=np.stack([chain.divergent for chain in chains]),
        r_hat=np.asarray(r_hat, dtype=np.float64),
        ess_bulk=np.asarray(ess_bulk, dtype=np.float64),
        ess_tail=np.asarray(ess_tail, dtype=np.float64),
        n_evaluations=sum(chain.n_evaluations for chain in chains),
    )


def _finite(objective: Objective, vector: Array) -> tuple[float, Array]:
    """Value and gradient, the value −∞ unless both are finite."""
    value, gradient = objective(vector)
    gradient = np.asarray(gradient, dtype=np.float64)
    if not (math.isfinite(value) and np.isfinite(gradient).all()):
        return -math.inf, np.zeros_like(vector)
    return float(value), gradient
