"""Greedy search for a kernel made of sums and products of base kernels (Duvenaud et al. 2013)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.deadlines import TimeUp, check, until
from credo.core.frames import Table
from credo.core.learning.ascent import maximize
from credo.core.linalg import Factor, factorize, one_blas_thread, parallel_map
from credo.core.notices import collected
from credo.core.seeds import generator
from credo.distributions import Normal
from credo.gp import GPRegressor
from credo.kernels import RBF, Constant, Kernel, Linear, Periodic, Sum
from credo.selection._kernel_moves import (
    Axis,
    Column,
    Terms,
    base,
    changes,
    column_of,
    detrended,
    direction,
    form,
    is_line,
    is_long,
    joined,
    likely_periods,
    terms_of,
    words,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A kernel that a round of the search tried, with its log evidence and the same minus (k/2) ln n.

    The kernel is in units of the standard deviation of y, the evidence that of the rows that were searched.

    Examples
    --------
    >>> from credo.kernels import RBF
    >>> from credo.selection import Step
    >>> Step(round=1, kernel=RBF(1.0), log_evidence=-20.0, score=-24.6).score
    -24.6
    """

    round: int
    kernel: Kernel
    log_evidence: float
    score: float


@dataclass(frozen=True)
class Component:
    """A term of the kernel, its description in words, and its share of the variance of y: cov(f, y)/var(y).

    The shares of all components and of the residuals add up to one.

    Examples
    --------
    >>> from credo.kernels import Linear
    >>> from credo.selection import Component
    >>> Component(Linear(), "a linear function of x", 0.42).percent
    '42 %'
    """

    kernel: Kernel
    words: str
    share: float

    @property
    def percent(self) -> str:
        """The share in per cent."""
        if abs(self.share) < 0.001:
            return "less than 0.1 %"
        return f"{100 * self.share:.2g} %" if self.share < 0.99 else f"{100 * self.share:.3g} %"

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it depends on."""
        return tuple(dict.fromkeys(column_of(factor) for term in terms_of(self.kernel) for factor in term))


@dataclass(frozen=True)
class KernelSearch:
    """The result of `search_kernel`.

    Attributes
    ----------
    kernel : the kernel, in the units of X and y
    model : GPRegressor with this kernel, fitted on all rows
    components : the terms of the kernel, largest share of the variance first
    noise_std : standard deviation of the noise
    description : the components in sentences
    steps : every kernel that was tried
    seconds : duration of search and fit

    Examples
    --------
    >>> import numpy as np
    >>> from credo import search_kernel
    >>> x = np.arange(12.0)
    >>> found = search_kernel(x[:, None], 2 * x + np.sin(x**2))
    >>> found.components[0].words, found.decompose([[20.0]])[0].mean.round(0)
    ('a rising linear trend', array([29.]))
    """

    kernel: Kernel
    model: GPRegressor
    components: tuple[Component, ...]
    noise_std: float
    description: str
    steps: tuple[Step, ...]
    seconds: float

    @property
    def table(self) -> Table:
        """The steps, best first."""
        steps = sorted(self.steps, key=lambda step: -step.score)
        return Table(
            "Kernels tried",
            {
                "round": [step.round for step in steps],
                "log evidence": [step.log_evidence for step in steps],
                "penalized": [step.score for step in steps],
                "kernel": [repr(step.kernel) for step in steps],
            },
            most=15,
        )

    def decompose(self, X: ArrayLike) -> list[Normal]:
        """The posterior distribution of each component at the rows of X, without noise.

        Each averages zero over the training rows. Their means and a constant add up to ``model.predict(X)``.
        """
        rows = self.model._predict_rows(X)
        return [self._decomposition.component(component.kernel, rows) for component in self.components]

    @cached_property
    def _decomposition(self) -> _Decomposition:
        return _Decomposition.of(self.model)

    def __str__(self) -> str:
        parts = Table(
            "Components",
            {
                "share of variance": [component.percent for component in self.components],
                "component": [component.words for component in self.components],
                "kernel": [repr(component.kernel) for component in self.components],
            },
        )
        tried = f"{len(self.steps)} kernels tried in {self.seconds:.1f} s; .table has them"
        return "\n\n".join([self.description, *([str(parts)] if self.components else []), tried])


@dataclass(frozen=True)
class _Decomposition:
    """f_c | y for each term c of a kernel: mean k_cᵀα, α = C⁻¹(y − β), β the constant of a flat prior."""

    X: Array
    factor: Factor
    alpha: Array
    by_constant: Array
    constant_variance: float

    @classmethod
    def of(cls, model: GPRegressor) -> _Decomposition:
        C = model.kernel_.gram(model.X_train_)
        C[np.diag_indices_from(C)] += model.posterior_.noise.rows[0] * model.scale_[0] ** 2 / model.weight_
        factor = factorize(C)
        by_constant = factor.solve(np.ones(len(C)))
        variance = 1.0 / float(by_constant.sum())
        beta = float(by_constant @ model.y_train_) * variance
        return cls(model.X_train_, factor, factor.solve(model.y_train_ - beta), by_constant, variance)

    def component(self, kernel: Kernel, rows: Array) -> Normal:
        # Minus the average over the training rows, which can't be distinguished from the constant.
        cross, average = kernel.cross(self.X, rows), kernel.gram(self.X).mean(axis=0)
        variance = kernel.diagonal(rows) - 2.0 * cross.mean(axis=0) + average.mean()
        cross -= average[:, None]
        half = self.factor.half_solve(cross)
        # The second part is due to the unknown constant (Rasmussen & Williams 2.42).
        variance -= np.einsum("ij,ij->j", half, half)
        variance += (cross.T @ self.by_constant) ** 2 * self.constant_variance
        return Normal(cross.T @ self.alpha, np.sqrt(np.maximum(variance, 0.0)))


def result_of(model: GPRegressor, steps: Sequence[Step], *, seconds: float, out_of_time: bool) -> KernelSearch:
    """The components of a fitted model in words."""
    kernel, y = model.kernel_, model.y_train_
    terms = _merged(kernel) if terms_of(kernel) else []
    axes = [Axis.of(name, model.X_train_[:, j]) for j, name in enumerate(model._feature_names())]
    decomposition, weight = _Decomposition.of(model), model.weight_ / model.weight_.sum()
    centered = y - weight @ y
    variance = float(weight @ centered**2)
    components = []
    for term in terms:
        mean = decomposition.component(term, model.X_train_).mean
        share = float(weight @ (centered * mean)) / variance if variance else 0.0
        components.append(Component(term, words(term, axes, model.X_train_, mean), share))
    components.sort(key=lambda component: -component.share)
    noise = float(np.sqrt(model.noise_variance_))
    text = _description(components, noise)
    if out_of_time:
        text += " The search ran out of time, so there may be more to find."
    return KernelSearch(kernel, model, tuple(components), noise, text, tuple(steps), seconds)


def _merged(kernel: Kernel) -> list[Kernel]:
    """The terms; polynomials in the same column are summed, because data hardly distinguish their parts."""
    groups: dict[object, list[Kernel]] = {}
    for i, term in enumerate(kernel.terms if isinstance(kernel, Sum) else [kernel]):
        columns = {column_of(factor) for factor in terms_of(term)[0] if isinstance(base(factor), Linear)}
        polynomial = all(isinstance(base(factor), Linear) for factor in terms_of(term)[0]) and len(columns) == 1
        groups.setdefault(f"column {columns}" if polynomial else i, []).append(term)
    return [Sum(*group) if len(group) > 1 else group[0] for group in groups.values()]


def _description(components: Sequence[Component], noise_std: float) -> str:
    if not components:
        return f"No structure found beyond noise, which has a standard deviation of {noise_std:.3g}."
    parts = [f"{component.words} ({component.percent} of the variance)" for component in components]
    return f"y is {', plus '.join(parts)}. The noise has a standard deviation of {noise_std:.3g}."


Progress = Callable[[str, float, float], None]

# The search uses at most this many rows; with one column, consecutive ones in this many blocks.
_MAX_ROWS, _N_BLOCKS = 300, 6
# Evaluations of the evidence for every kernel that is tried, and for the best few of each round.
_TRIAL_EVALUATIONS, _FINAL_EVALUATIONS, _N_FINALISTS = 15, 50, 4
_MAX_ROUNDS = 12


@dataclass(frozen=True)
class _Candidate:
    """A kernel in units of standardized targets, its noise variance, log evidence, and the same minus a penalty."""

    terms: Terms
    kernel: Kernel
    noise: float
    log_evidence: float
    score: float


def search_kernel(
    X: ArrayLike,
    y: ArrayLike,
    *,
    budget: float = 60.0,
    progress: Progress | None = None,
    random_state: Any = None,
) -> KernelSearch:
    """Find a kernel for a table: sums and products of base kernels, chosen greedily by evidence.

    Starting from noise alone, each round tries every kernel that is one step away: another term (linear, smooth, rough,
    smooth at several scales, or periodic, on one column), another factor of a term, a factor exchanged or removed. The
    best one by

        ln p(y | X, θ̂) − (k/2) ln n

    is kept, until none is better by two nats. A period counts as three parameters in k, because its standard error
    falls with n to the power of 3/2. Candidates for periods come from Lomb–Scargle periodograms. With more than 300
    rows, the search uses a part of them, and the result is fitted on all rows.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    budget : float, default 60
        Seconds for the search. When they are over, the best kernel so far is used; its fit on all rows isn't counted.
    progress : callable(text, seconds, budget), optional
        Called before each round and each comparison of its best kernels.
    random_state : int, Generator or None, default None
        Chooses the rows of a large table of several columns.

    Returns
    -------
    KernelSearch

    References
    ----------
    Duvenaud, Lloyd, Grosse, Tenenbaum & Ghahramani (2013), Structure discovery in nonparametric regression through
    compositional kernel search, ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import search_kernel
    >>> x = np.arange(30.0)
    >>> found = search_kernel(x[:, None], 2 * x + np.sin(x**2))
    >>> print(found.description)
    y is a rising linear trend (99.8 % of the variance). The noise has a standard deviation of 0.712.
    """
    if not (isinstance(budget, int | float) and budget > 0):
        raise ValueError(f"budget must be a positive number of seconds; got {budget!r}")
    with collected():
        # Validates the table, and is the model without any structure.
        noise_only = GPRegressor(Constant(1.0).fix(), hyperparameters="optimize", n_restarts=0).fit(X, y)
    if noise_only.y_train_.ndim != 1:
        raise ValueError("search_kernel needs a single target: call it for each column of y")
    begin = monotonic()
    search = _Search(noise_only, begin, float(budget), progress, generator(random_state))
    try:
        with until(begin + budget):
            search.run()
    except TimeUp:
        # A deadline set by the caller isn't handled here.
        check()
        search.stop()
    model = noise_only
    if search.best.terms:
        search.tell("fit on all rows")
        with collected():
            model = GPRegressor(
                search.best.kernel, hyperparameters="optimize", n_restarts=0, max_evaluations=_FINAL_EVALUATIONS
            ).fit(X, y)
    return result_of(model, tuple(search.steps), seconds=monotonic() - begin, out_of_time=search.out_of_time)


class _Search:
    """The state of a search: the best candidate, and the steps so far."""

    def __init__(
        self, model: GPRegressor, begin: float, budget: float, progress: Progress | None, rng: np.random.Generator
    ) -> None:
        self._begin, self._budget, self._progress = begin, budget, progress
        self.out_of_time = False
        # All kernels are tried with one representation, which must suit any of them.
        objective = model._make_objective(model.posterior_.data, RBF())
        n = objective.n_rows
        rows = _searched_rows(objective.observations.X, rng) if n > _MAX_ROWS else np.arange(n)
        self._objective = objective.subset(rows)
        self._X, self._y = self._objective.observations.X, self._objective.observations.Y[:, 0]
        every = (Column.of(self._X, self._y, j) for j in range(self._X.shape[1]))
        self._columns = [column for column in every if column.spread > 0]
        self._seen: set[Any] = set()
        self._tried: list[_Candidate] = []
        # ln p of y from that of standardized targets; the flat mean takes one dimension.
        self._unit = -(len(rows) - 1) * math.log(float(model.scale_[0]))
        variance = float(np.var(self._y)) or 1.0
        self.best = self._climb([], 0.9 * variance)
        self.steps = [self._step(0, self.best)]

    def tell(self, text: str) -> None:
        if self._progress is not None:
            self._progress(text, monotonic() - self._begin, self._budget)

    def stop(self) -> None:
        """Keep the best kernel of the round that the deadline ended."""
        self.out_of_time = True
        self._keep(max(self._tried, key=lambda trial: trial.score, default=self.best))

    def _keep(self, candidate: _Candidate) -> bool:
        """Make a candidate the best one if it is better by two nats of penalized evidence; whether it is."""
        better = candidate.score > self.best.score + 2.0
        self.best = candidate if better else self.best
        return better

    def run(self) -> None:
        """Rounds until none improves."""
        if not np.ptp(self._y):
            return
        for number in range(1, _MAX_ROUNDS + 1):
            starts = self._starts()
            self._tried.clear()
            self.tell(f"round {number}: {len(starts)} kernels, best so far {self.best.kernel!r}")
            with one_blas_thread(), collected():
                trials = parallel_map(partial(self._climb, noise=self.best.noise), starts)
                trials.sort(key=lambda trial: -trial.score)
                self.tell(f"round {number}: the best {_N_FINALISTS} of {len(starts)}")
                best = _distinct(trials)[:_N_FINALISTS]
                finals = parallel_map(lambda trial: self._climb(trial.terms, trial.noise, _FINAL_EVALUATIONS), best)
            self.steps += [self._step(number, trial) for trial in [*finals, *trials[len(finals) :]]]
            if not finals or not self._keep(max(finals, key=lambda final: final.score)):
                break
        self._continue_trends()

    def _continue_trends(self) -> None:
        """Add lines to long smooth terms that rise or fall, unless the evidence is against it.

        Beyond the data a stationary term returns to its mean, while the evidence for an additional line is about
        neutral.
        """
        for column in self._columns:
            x, terms = self._X[:, column.index], self.best.terms
            long = [term for term in terms if is_long(term, column)]
            if not long or any(is_line(term, column) for term in terms):
                continue
            if direction(x, self._mean_of(long)):
                with_line = self._climb([*terms, [column.line(column.middle)]], self.best.noise, _FINAL_EVALUATIONS)
                self.steps.append(self._step(self.steps[-1].round + 1, with_line))
                # A trend that rises or falls gets a line, unless that costs more than a nat.
                if with_line.log_evidence > self.best.log_evidence - 1.0:
                    self.best = with_line

    def _starts(self) -> list[Terms]:
        """The kernels to try next, without those of earlier rounds."""
        cycles = [term for term in self.best.terms if any(isinstance(base(factor), Periodic) for factor in term)]
        rest = self._y - self._mean_of(cycles)
        periods = {
            column.index: likely_periods(x := self._X[:, column.index], detrended(x, rest)) for column in self._columns
        }
        found = list(changes(self.best.terms, self._columns, periods, noise=self.best.noise))
        fresh = [terms for terms in found if _key(terms) not in self._seen]
        self._seen |= {_key(terms) for terms in fresh}
        return fresh

    def _climb(self, terms: Terms, noise: float, max_evaluations: int = _TRIAL_EVALUATIONS) -> _Candidate:
        """The kernel after a limited number of evaluations of the evidence, started at that noise variance."""
        objective = replace(self._objective, kernel=joined(terms, self._columns), noise=noise)
        end = maximize(objective, objective.tree.flatten(), tolerance=1e-7, max_evaluations=max_evaluations)
        kernel, noise = objective.kernel_at(end.vector), float(objective.noise_at(end.vector)[0])
        own = objective.evidence(end.vector, gradient=False)[0] if math.isfinite(end.value) else -math.inf
        n_parameters = sum(3 if name.endswith("period") else 1 for name in kernel.names)
        penalty = 0.5 * n_parameters * math.log(len(self._y))
        candidate = _Candidate(terms_of(kernel), kernel, noise, own, own - penalty)
        self._tried.append(candidate)
        return candidate

    def _mean_of(self, terms: Terms) -> Array:
        """The posterior mean of some terms of the best kernel."""
        if not terms:
            return np.zeros(len(self._y))
        C = self.best.kernel.gram(self._X)
        C[np.diag_indices_from(C)] += self.best.noise
        return joined(terms, self._columns).gram(self._X) @ factorize(C).solve(self._y - self._y.mean())

    def _step(self, number: int, candidate: _Candidate) -> Step:
        return Step(number, candidate.kernel, candidate.log_evidence + self._unit, candidate.score + self._unit)


def _searched_rows(X: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """With one column, blocks of neighbors, which keep short and long distances; with several, random rows."""
    n, n_columns = X.shape
    if n_columns > 1:
        return np.sort(rng.permutation(n)[:_MAX_ROWS])
    size = _MAX_ROWS // _N_BLOCKS
    starts = np.linspace(0, n - size, _N_BLOCKS).astype(int)
    chosen = np.unique((starts[:, None] + np.arange(size)).ravel())
    return np.sort(np.argsort(X[:, 0], kind="stable")[chosen])


def _key(terms: Terms) -> Any:
    """Kernels of the same form and, to a few per cent, the same periods."""
    periods = [base(factor).params.get("period") for term in terms for factor in term]
    return form(terms), tuple(sorted(round(20 * math.log(float(period))) for period in periods if period))


def _distinct(trials: Sequence[_Candidate]) -> list[_Candidate]:
    """The first candidate of each form with the same periods."""
    first: dict[Any, _Candidate] = {}
    for trial in trials:
        first.setdefault(_key(trial.terms), trial)
    return list(first.values())
