"""The Kalman filter and smoother of a kernel in state-space form, over rows sorted in time.

Rows are taken in chunks. The filter stores the state before each chunk, and the smoother runs from the last chunk to
the first, filtering each chunk again: memory is a few numbers per row and the states of one chunk. New rows are
inserted into their chunk as rows without data, so that a prediction costs one chunk and not the whole series.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.core.deadlines import check
from credo.core.inference import markov_jit, markov_small_jit
from credo.kernels.markov import MarkovForm

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Limits of a chunk: rows, and numbers in the covariances stored for it.
_MAX_CHUNK_ROWS, _CHUNK_ENTRIES = 4096, 2**19
# Gaps are looked up in a table if at most this share of them is distinct, judged by the first ones.
_MAX_DISTINCT_SHARE, _SAMPLED_GAPS = 0.25, 4096
_NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Timeline:
    """Sorted times, and the gap before each: in a table of distinct ones at `places`, if many are equal."""

    times: Array
    gaps: Array
    distinct: Array | None = None
    places: Index | None = None

    @classmethod
    def of(cls, times: Array) -> Timeline:
        # The last gap leads to a row that doesn't exist.
        gaps = np.diff(times, prepend=times[:1], append=times[-1:])
        if len(np.unique(gaps[:_SAMPLED_GAPS])) <= _MAX_DISTINCT_SHARE * min(len(gaps), _SAMPLED_GAPS):
            distinct, places = np.unique(gaps, return_inverse=True)
            if len(distinct) <= _MAX_DISTINCT_SHARE * len(gaps):
                return cls(times, gaps, distinct, places.ravel().astype(np.intp))
        return cls(times, gaps)

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def ones(self) -> Array:
        return np.ones(len(self))


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows that follow each other: their transitions, with one more that leads to the row after them.

    A and Q are empty if the filter computes them itself.
    """

    form: MarkovForm
    times: Array
    gaps: Array
    A: Array
    Q: Array
    begins: bool
    places: Index | None = None

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def which(self) -> Index:
        """The row of A and Q for each row, and for the one after them."""
        return np.arange(len(self.gaps)) if self.places is None else self.places

    @cached_property
    def g(self) -> Array:
        return self.form.observation(self.times)


class Chain:
    """A kernel's process at the rows of a timeline."""

    def __init__(self, form: MarkovForm, timeline: Timeline) -> None:
        self.form, self.timeline = form, timeline
        self.starts = np.concatenate([[0], np.cumsum(form.sizes)]).astype(np.intp)
        self.size = int(self.starts[-1])
        term = form.terms[0]
        # A single block of up to three components without a polynomial is held in registers.
        self.small = len(form.terms) == 1 and not term.centers and self.size <= 3
        # The filter computes the transitions of a single Matérn process itself.
        self.fused = self.small and [part.order for part in term.components] == [self.size]
        self.step = int(np.clip(_CHUNK_ENTRIES // self.size**2, 64, _MAX_CHUNK_ROWS))

    @property
    def n_chunks(self) -> int:
        return -(-len(self.timeline) // self.step)

    def rows(self, chunk: int) -> slice:
        """The rows of a chunk."""
        return slice(chunk * self.step, min((chunk + 1) * self.step, len(self.timeline)))

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """A and Q for each distinct gap, and at the end those of the start: A = 0, Q = P."""
        assert self.timeline.distinct is not None
        A, Q = self.form.transitions(self.timeline.distinct)
        return np.vstack([A, np.zeros_like(A[:1])]), np.vstack([Q, self.form.covariance()])

    @cached_property
    def _whole(self) -> Segment:
        """The transitions of all rows, if there are few."""
        line = self.timeline
        A, Q = self.form.transitions(line.gaps)
        A[0], Q[0] = 0.0, self.form.covariance()
        return Segment(self.form, line.times, line.gaps, A, Q, begins=True)

    def segment(self, rows: slice) -> Segment:
        """The transitions of some rows."""
        line = self.timeline
        if self.n_chunks == 1 and line.places is None:
            return self._whole
        gaps = line.gaps[rows.start : rows.stop + 1]
        if line.places is None or self.fused:
            return self._between(line.times[rows], gaps, begins=rows.start == 0)
        which = line.places[rows.start : rows.stop + 1]
        if rows.start == 0:
            which = np.append(len(line.distinct), which[1:])  # type: ignore[arg-type]
        return Segment(self.form, line.times[rows], gaps, *self._table, begins=rows.start == 0, places=which)

    def segment_with(self, rows: slice, times: Array) -> tuple[Segment, NDArray[np.bool_], Index]:
        """Rows with new times among them; which are new, and the order of both together.

        The new times are those from the first row to the one after the last.
        """
        line = self.timeline
        both = np.concatenate([line.times[rows], times])
        order = np.argsort(both, kind="stable")
        both = both[order]
        previous = line.times[rows.start - 1] if rows.start else both[0]
        following = line.times[rows.stop] if rows.stop < len(line) else both[-1]
        gaps = np.diff(both, prepend=previous, append=following)
        return self._between(both, gaps, begins=rows.start == 0), order >= rows.stop - rows.start, order

    def _between(self, times: Array, gaps: Array, *, begins: bool) -> Segment:
        if self.fused:
            A = Q = np.empty((0, self.size**2))
        else:
            A, Q = self.form.transitions(gaps)
            if begins:
                A[0], Q[0] = 0.0, self.form.covariance()
        return Segment(self.form, times, gaps, A, Q, begins)

    def tabulated(self, rows: slice) -> Segment:
        """The transitions of some rows, for loops that don't compute them."""
        part = self.segment(rows)
        if len(part.A):
            return part
        A, Q = self.form.transitions(part.gaps)
        return Segment(self.form, part.times, part.gaps, A, Q, part.begins)

    def general(self, part: Segment) -> tuple[Index, Array, Array]:
        """The first arguments of the loops for any number of blocks."""
        return self.starts, part.g, np.empty((self.size + 3, self.size))

    def filter_rows(
        self, part: Segment, data: Data, m: Array, S: Array, before: ChunkStates | None = None
    ) -> FilteredRows:
        """Filter a segment of rows; m and S are moved to its end.

        The states before every few rows are stored in `before`, or all of them in the result.
        """
        n, size, count = len(part), self.size, data.Z.shape[1]
        kept_n = n if before is None else 0
        A, Q, computes = part.A, part.Q, not len(part.A)
        if computes and before is None:
            A, Q = np.empty((n + 1, size * size)), np.empty((n + 1, size * size))
        if before is None:
            before = ChunkStates.empty(0, size, count)
        E, q = np.empty((n, count)), np.empty(n)
        kept_S, kept_m = np.empty((kept_n, size * size)), np.empty((kept_n, size, count))
        which = _NO_ROWS if computes else part.which
        common = (which, A, Q, data.a, data.b, data.Z, m, S, E, q, kept_S, kept_m)
        if self.small:
            term = self.form.terms[0]
            rate = term.components[0].rate if computes else 0.0
            logdet = markov_small_jit.small_forward(
                *self._zeros, rate, term.variance, part.begins, self.step, before.m, before.S, part.gaps, *common
            )
        else:
            for stored, state in zip((before.m, before.S), (m, S), strict=True):
                stored[:1] = state
            logdet = markov_jit.forward(*self.general(part), *common)
        return FilteredRows(A, Q, E, q, kept_S, kept_m, logdet)

    def smooth_rows(
        self, part: Segment, data: Data, kept: FilteredRows, rho: Array, N: Array, weights: Weights, slopes: Slopes,
        *, keep: bool = False,
    ) -> Marginals:  # fmt: skip
        """Smooth a segment of rows that was filtered; rho and N are moved to its start, and slopes added to."""
        out = Marginals.empty(len(kept.E), kept.E.shape[1], self.size if keep else 0)
        common = (
            part.which, part.gaps, kept.A, kept.Q, data.a, data.b, kept.E, kept.q, kept.S, kept.m, rho, N,
            weights.signs, weights.count, *out.arrays(), *slopes.arrays(),
        )  # fmt: skip
        if self.small:
            markov_small_jit.small_backward(*self._zeros, *common)
        else:
            markov_jit.backward(*self.general(part), *common)
        return out

    @property
    def _zeros(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Tuples of zeros of the size of a state and of its covariance, which give compiled code the size."""
        return (0.0,) * self.size, (0.0,) * self.size**2

    def multiply(self, v: Array) -> Array:
        """K v, for columns v."""
        out, P = np.zeros_like(v), self.form.covariance()
        for loop, chunks in [
            (markov_jit.multiply_forward, range(self.n_chunks)),
            (markov_jit.multiply_backward, range(self.n_chunks - 1, -1, -1)),
        ]:
            z = np.zeros((self.size, v.shape[1]))
            for chunk in chunks:
                rows = self.rows(chunk)
                part = self.tabulated(rows)
                loop(*self.general(part), part.which, part.A, P, v[rows], z, out[rows])
        return out


@dataclass(frozen=True, eq=False)
class Data:
    """What is known of each row: (z, a, b), as `markov_jit` has it; a column of Z for each target."""

    Z: Array
    a: Array
    b: Array

    def __post_init__(self) -> None:
        # Loops are compiled for this layout only; for read-only arrays they would be compiled again.
        for name in ("Z", "a", "b"):
            object.__setattr__(self, name, np.require(getattr(self, name), requirements=["C", "W"]))

    def part(self, rows: slice) -> Data:
        return Data(self.Z[rows], self.a[rows], self.b[rows])

    def transformed(self, transform: Array) -> Data:
        """With the columns Z·transform."""
        return Data(self.Z @ transform, self.a, self.b)

    def with_new(self, order: Index) -> Data:
        """With rows without data after the others, in this order."""
        n, more = len(self.a), len(order) - len(self.a)
        Z = np.vstack([self.Z, np.zeros((more, self.Z.shape[1]))])
        a, b = np.zeros(n + more), np.ones(n + more)
        a[:n], b[:n] = self.a, self.b
        return Data(Z[order], a[order], b[order])


@dataclass(frozen=True, eq=False)
class ChunkStates:
    """The mean and covariance of the state before each chunk."""

    m: Array
    S: Array

    @classmethod
    def empty(cls, n: int, size: int, columns: int) -> ChunkStates:
        return cls(np.empty((n, size, columns)), np.empty((n, size, size)))


@dataclass(frozen=True, eq=False)
class FilteredRows:
    """The filter's output: e for each row, or e√q if states aren't stored, q, predicted states, and Σ ln q."""

    A: Array
    Q: Array
    E: Array
    q: Array
    S: Array
    m: Array
    logdet: float


@dataclass(frozen=True, eq=False)
class Weights:
    """Derivatives are those of Σⱼ signsⱼ·(−½zⱼᵀC⁻¹zⱼ) − ½ count ln|C|; a count of zero leaves them out."""

    signs: Array
    count: float


@dataclass(frozen=True, eq=False)
class Marginals:
    """C⁻¹z, the diagonal of C⁻¹, mean and variance of f, and the vectors Nk if they are stored, for each row."""

    alpha: Array
    inverse: Array
    mean: Array
    variance: Array
    half: Array

    @classmethod
    def empty(cls, n: int, columns: int, size: int = 0) -> Marginals:
        half = np.empty((n if size else 0, size))
        return cls(np.empty((n, columns)), np.empty(n), np.empty((n, columns)), np.empty(n), half)

    def arrays(self) -> tuple[Array, ...]:
        return self.alpha, self.inverse, self.mean, self.variance, self.half


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives by the generator, the diffusion, P and the log variance of each block, as flat blocks."""

    by_generator: Array
    by_diffusion: Array
    by_covariance: Array
    by_scale: Array

    @classmethod
    def zero(cls, form: MarkovForm) -> Slopes:
        size = int((form.sizes**2).sum())
        # Few kernels change P; for the others nothing is summed.
        changes = any(True for term in form.terms for _ in term.covariances())
        return cls(np.zeros(size), np.zeros(size), np.zeros(size * changes), np.zeros(len(form.sizes)))

    def arrays(self) -> tuple[Array, ...]:
        return self.by_generator, self.by_diffusion, self.by_covariance, self.by_scale

    def by_parameters(self, form: MarkovForm) -> Array:
        """The derivatives by all parameters of the kernel."""
        ends = np.cumsum(form.sizes**2)[:-1]
        by_generator, by_diffusion, by_covariance = (
            [part.reshape(size, size) for part, size in zip(np.split(flat, ends), form.sizes, strict=True)]
            for flat in (self.by_generator, self.by_diffusion, np.resize(self.by_covariance, len(self.by_generator)))
        )
        return form.pullback(by_generator, by_diffusion, by_covariance, self.by_scale)


@dataclass(frozen=True, eq=False)
class Filtered:
    """The filter's result: whitened columns L⁻¹Z for C = LLᵀ, q and ln|C|, and the states before each chunk."""

    chain: Chain
    data: Data
    white: Array
    q: Array
    logdet: float
    before: ChunkStates

    def refiltered(self, chunk: int, transform: Array) -> tuple[Segment, Data, FilteredRows]:
        """A chunk with its states kept, for the columns Z·transform."""
        rows = self.chain.rows(chunk)
        part, data = self.chain.segment(rows), self.data.part(rows).transformed(transform)
        kept = self.chain.filter_rows(part, data, self.before.m[chunk] @ transform, self.before.S[chunk].copy())
        return part, data, kept

    def smooth(self, transform: Array, weights: Weights) -> Smoothed:
        """The smoother for the columns Z·transform."""
        chain, n, columns = self.chain, len(self.q), transform.shape[1]
        out = Marginals.empty(n, columns)
        rho, N = np.zeros((chain.size, columns)), np.zeros((chain.size, chain.size))
        slopes = Slopes.zero(chain.form)
        after = np.empty((chain.n_chunks, *rho.shape)), np.empty((chain.n_chunks, *N.shape))
        for chunk in range(chain.n_chunks - 1, -1, -1):
            after[0][chunk], after[1][chunk] = rho, N
            found = chain.smooth_rows(*self.refiltered(chunk, transform), rho, N, weights, slopes)
            for whole, own in zip(out.arrays()[:-1], found.arrays()[:-1], strict=True):
                whole[chain.rows(chunk)] = own
        check()
        return Smoothed(self, transform, out, slopes, *after)

    def gains(self) -> Array:
        """k = Sh for each row."""
        none = np.empty((self.data.Z.shape[1], 0))
        parts = [self.refiltered(chunk, none) for chunk in range(self.chain.n_chunks)]
        return np.concatenate([_gains(self.chain, part, kept) for part, _, kept in parts])

    def color(self, white: Array, gains: Array) -> Array:
        """Lz for columns z."""
        chain, out, m = self.chain, np.empty_like(white), np.zeros((self.chain.size, white.shape[1]))
        for chunk in range(chain.n_chunks):
            rows = chain.rows(chunk)
            part = chain.tabulated(rows)
            markov_jit.color_forward(
                *chain.general(part), part.which, part.A, gains[rows], self.q[rows], white[rows], m, out[rows]
            )
        return out


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The smoother's result, with what later rows say of the first state after each chunk (rho, N)."""

    filtered: Filtered
    transform: Array
    at_rows: Marginals
    slopes: Slopes
    rho: Array
    N: Array

    def at(self, times: Array) -> tuple[Array, Array]:
        """Mean (n, columns) and variance of f at new times, in any order."""
        mean, variance = np.empty((len(times), self.transform.shape[1])), np.empty(len(times))
        for visit in self._visits(times, everywhere=False):
            mean[visit.places] = visit.found.mean[visit.new]
            variance[visit.places] = visit.found.variance[visit.new]
        return mean, np.maximum(variance, 0.0)

    def covariance(self, times: Array, others: Array | None = None) -> Array:
        """The covariance of f between new times, or between these and others (de Jong 1989).

        For a < b it is kₐᵀΦᵀ(h − Nk)_b, with Φ the transition between the predicted states given the rows between.
        """
        chain = self.filtered.chain
        both = times if others is None else np.concatenate([times, others])
        n, d = len(both), chain.size
        order, size, phi = np.empty(n, dtype=np.intp), 0, np.eye(d)
        gains, rests, phis = np.empty((n, d)), np.zeros((n, d)), np.empty((n, d, d))
        for visit in self._visits(both, everywhere=True):
            part, kept, new = visit.part, visit.kept, visit.new
            end = markov_jit.joint_transitions(
                *chain.general(part), part.which, kept.A, visit.data.a, kept.q, kept.S, new, phi, phis, size
            )
            order[size:end] = visit.places
            gains[size:end] = _gains(chain, part, kept)[new]
            rests[size:end, chain.starts[:-1]] = part.g[new]
            rests[size:end] -= visit.found.half[new]
            size = end
        return _joined(order, gains, rests, phis, len(times) if others is not None else None)

    def _visits(self, times: Array, *, everywhere: bool) -> Iterator[_Visit]:
        """The chunks that new times fall into, with these among their rows; `everywhere` also those between."""
        filtered, chain = self.filtered, self.filtered.chain
        order = np.argsort(times, kind="stable")
        chunks = np.maximum(np.searchsorted(chain.timeline.times, times[order], side="right") - 1, 0) // chain.step
        weights, none = Weights(np.empty(0), 0.0), Slopes.zero(chain.form)
        for chunk in range(chunks[0], chunks[-1] + 1) if everywhere else np.unique(chunks).tolist():
            places = order[np.searchsorted(chunks, chunk) : np.searchsorted(chunks, chunk, side="right")]
            rows = chain.rows(chunk)
            part, new, among = chain.segment_with(rows, times[places])
            data = filtered.data.part(rows).transformed(self.transform).with_new(among)
            m, S = filtered.before.m[chunk] @ self.transform, filtered.before.S[chunk].copy()
            kept = chain.filter_rows(part, data, m, S)
            rho, N = self.rho[chunk].copy(), self.N[chunk].copy()
            found = chain.smooth_rows(part, data, kept, rho, N, weights, none, keep=everywhere)
            yield _Visit(part, data, kept, found, new, places)


@dataclass(frozen=True, eq=False)
class _Visit:
    """A chunk with new rows: which rows are new, and their positions among the requested times."""

    part: Segment
    data: Data
    kept: FilteredRows
    found: Marginals
    new: NDArray[np.bool_]
    places: Index


def filtered(chain: Chain, data: Data) -> Filtered:
    """The filter over all rows: at once if compiled code can, else chunk by chunk."""
    n, count = data.Z.shape
    m, S = np.zeros((chain.size, count)), np.zeros((chain.size, chain.size))
    before = ChunkStates.empty(chain.n_chunks, chain.size, count)
    if chain.small:
        kept = chain.filter_rows(chain.segment(slice(0, n)), data, m, S, before)
        return Filtered(chain, data, kept.E, kept.q, kept.logdet, before)
    white, q, logdet = np.empty((n, count)), np.empty(n), 0.0
    for chunk in range(chain.n_chunks):
        rows, own = chain.rows(chunk), slice(chunk, chunk + 1)
        part = ChunkStates(before.m[own], before.S[own])
        kept = chain.filter_rows(chain.segment(rows), data.part(rows), m, S, part)
        white[rows], q[rows], logdet = kept.E, kept.q, logdet + kept.logdet
        check()
    return Filtered(chain, data, white, q, logdet, before)


def _gains(chain: Chain, part: Segment, kept: FilteredRows) -> Array:
    """k = Sh for each row."""
    S = kept.S.reshape(-1, chain.size, chain.size)
    return np.einsum("ib,ibp->ip", part.g, S[:, chain.starts[:-1]])


def _joined(order: Index, gains: Array, rests: Array, phis: Array, n_rows: int | None) -> Array:
    """The covariances from what each time, sorted, has: between all times, or between the first `n_rows` and the rest.

    `order` has the position of each sorted time among the requested times.
    """
    n = len(order)
    is_row = np.ones(n, dtype=bool) if n_rows is None else order < n_rows
    is_other = is_row if n_rows is None else ~is_row
    row, column = order, order - (n_rows or 0)
    out = np.empty((int(is_row.sum()), int(is_other.sum())))
    carried = np.empty_like(gains)
    for b in range(n):
        carried[:b] = carried[:b] @ phis[b].T
        carried[b] = gains[b]
        own = carried[: b + 1] @ rests[b]
        if is_other[b]:
            out[row[: b + 1][is_row[: b + 1]], column[b]] = own[is_row[: b + 1]]
        if is_row[b]:
            out[row[b], column[: b + 1][is_other[: b + 1]]] = own[is_other[: b + 1]]
    return out
