"""The Kalman filter and smoother of a kernel in state-space form, over rows sorted in time.

Rows are taken in chunks. The filter keeps the state before each chunk, and the smoother runs from the last chunk to the
first, filtering each once more: memory is that of a few numbers per row and of one chunk's states. New rows are rows
without data among those of their chunk, so that a prediction costs one chunk and not the whole series.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.inference import markov_jit, markov_small_jit
from credo.kernels.markov import MarkovForm

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Largest number of rows in a chunk, and of numbers in the covariances that are kept for one.
_CHUNK, _KEPT = 2048, 2**19
# Gaps are looked up in a table where at most this share of them is distinct, judged by the first few.
_DISTINCT, _FIRST = 0.25, 4096
# States of a single block up to this size are held in registers.
_SMALL = 3


@dataclass(frozen=True, eq=False)
class Timeline:
    """Sorted times, and their gaps: each in a table of distinct ones at `places` if many are equal, else in order."""

    times: Array
    gaps: Array
    distinct: Array | None = None
    places: Index | None = None

    @classmethod
    def of(cls, times: Array) -> Timeline:
        gaps = np.diff(times, prepend=times[:1])
        if len(np.unique(gaps[:_FIRST])) <= _DISTINCT * min(len(gaps), _FIRST):
            distinct, places = np.unique(gaps, return_inverse=True)
            if len(distinct) <= _DISTINCT * len(gaps):
                return cls(times, gaps, distinct, places.ravel().astype(np.intp))
        return cls(times, gaps)

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows that follow each other: their transitions, with one more that leads to the row after them."""

    which: Index
    gaps: Array
    A: Array
    Q: Array
    g: Array

    def __len__(self) -> int:
        return len(self.gaps)


class Chain:
    """A kernel's process at the rows of a timeline."""

    def __init__(self, form: MarkovForm, timeline: Timeline) -> None:
        self.form, self.timeline = form, timeline
        self.starts = np.concatenate([[0], np.cumsum(form.sizes)]).astype(np.intp)
        self.size = int(self.starts[-1])
        self.step = int(np.clip(_KEPT // self.size**2, 64, _CHUNK))
        self._small = len(form.terms) == 1 and not form.terms[0].centers and self.size <= _SMALL

    @property
    def n_chunks(self) -> int:
        return -(-len(self.timeline) // self.step)

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """A and Q for each distinct gap, and at the end those of the start: A = 0, Q = P."""
        assert self.timeline.distinct is not None
        A, Q = self.form.transitions(self.timeline.distinct)
        return np.vstack([A, np.zeros_like(A[:1])]), np.vstack([Q, self.form.covariance()])

    def rows(self, chunk: int) -> slice:
        """The rows of a chunk."""
        return slice(chunk * self.step, min((chunk + 1) * self.step, len(self.timeline)))

    def stretch(self, chunk: int) -> Stretch:
        """The transitions of a chunk."""
        rows, line = self.rows(chunk), self.timeline
        after = slice(rows.start, rows.stop + 1)
        if line.places is None:
            following = line.times[rows.stop] if rows.stop < len(line) else line.times[-1]
            return self._between(line.times[rows], line.gaps[rows], following, begins=chunk == 0)
        which = line.places[after]
        if rows.stop == len(line):
            which = np.append(which, 0)
        A, Q = self._table
        if chunk == 0:
            which = which.copy()
            which[0] = len(A) - 1
        return Stretch(which, line.gaps[rows], A, Q, self.form.observation(line.times[rows]))

    def stretch_with(self, chunk: int, times: Array) -> tuple[Stretch, NDArray[np.bool_], Index]:
        """A chunk with new times, sorted, among its own; which rows are new, and the order of both together.

        The new times are those from the chunk's first row to the first of the next.
        """
        rows, line = self.rows(chunk), self.timeline
        both = np.concatenate([line.times[rows], times])
        order = np.argsort(both, kind="stable")
        both = both[order]
        previous = line.times[rows.start - 1] if chunk else both[0]
        following = line.times[rows.stop] if rows.stop < len(line) else both[-1]
        made = self._between(both, np.diff(both, prepend=previous), following, begins=chunk == 0)
        return made, order >= rows.stop - rows.start, order

    def _between(self, times: Array, gaps: Array, following: float, *, begins: bool) -> Stretch:
        A, Q = self.form.transitions(np.append(gaps, following - times[-1]))
        if begins:
            A[0], Q[0] = 0.0, self.form.covariance()
        return Stretch(np.arange(len(A)), gaps, A, Q, self.form.observation(times))

    def _leading(self, part: Stretch) -> tuple[object, ...]:
        """The first arguments of the compiled loops."""
        if self._small:
            return (0.0,) * self.size, (0.0,) * self.size**2
        return self.general(part)

    def general(self, part: Stretch) -> tuple[Array, Array, Array]:
        """The first arguments of the loops for any number of blocks."""
        return self.starts, part.g, np.empty((self.size + 3, self.size))

    def filter_rows(self, part: Stretch, data: Data, m: Array, S: Array, *, keep: bool) -> Kept:
        """Filter a stretch of rows; m and S are moved to its end."""
        n, size, count = len(part), self.size, data.Z.shape[1]
        kept_n = n if keep else 0
        out = Kept(
            np.empty((n, count)), np.empty(n), np.empty((kept_n, size * size)), np.empty((kept_n, size, count))
        )
        loop = markov_small_jit.small_forward if self._small else markov_jit.forward
        loop(*self._leading(part), part.which, part.A, part.Q, data.a, data.b, data.Z, m, S, *out.arrays())
        return out

    def smooth_rows(
        self, part: Stretch, data: Data, kept: Kept, rho: Array, N: Array, signs: Array, count: float, slopes: Slopes,
        *, keep: bool = False,
    ) -> Marginals:  # fmt: skip
        """Smooth a stretch of rows that was filtered; rho and N are moved to its start, and slopes added to."""
        out = Marginals.empty(*kept.E.shape, self.size if keep else 0)
        loop = markov_small_jit.small_backward if self._small else markov_jit.backward
        loop(
            *self._leading(part), part.which, part.gaps, part.A, part.Q, data.a, data.b, *kept.arrays(), rho, N, signs,
            count, *out.arrays(), *slopes.arrays(),
        )  # fmt: skip
        return out

    def multiply(self, v: Array) -> Array:
        """K v, for columns v."""
        out, P = np.zeros_like(v), self.form.covariance()
        for loop, chunks in [
            (markov_jit.multiply_forward, range(self.n_chunks)),
            (markov_jit.multiply_backward, range(self.n_chunks - 1, -1, -1)),
        ]:
            z = np.zeros((self.size, v.shape[1]))
            for chunk in chunks:
                rows, part = self.rows(chunk), self.stretch(chunk)
                loop(*self.general(part), part.which, part.A, P, v[rows], z, out[rows])
        return out


@dataclass(frozen=True, eq=False)
class Data:
    """What is known of each row: (z, a, b), as `markov_jit` has it; a column of Z for each target."""

    Z: Array
    a: Array
    b: Array

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
class Kept:
    """What the filter gives for each row: E, q, and predicted covariances and means where they are kept."""

    E: Array
    q: Array
    S: Array
    m: Array

    def arrays(self) -> tuple[Array, ...]:
        return self.E, self.q, self.S, self.m


@dataclass(frozen=True, eq=False)
class Marginals:
    """C⁻¹z, the diagonal of C⁻¹, mean and variance of f, and where they are kept the vectors Nk, for each row."""

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
    """Derivatives by the generator, the diffusion and the log variance of each block, as flat blocks."""

    by_generator: Array
    by_diffusion: Array
    by_scale: Array

    @classmethod
    def zero(cls, form: MarkovForm) -> Slopes:
        size = int((form.sizes**2).sum())
        return cls(np.zeros(size), np.zeros(size), np.zeros(len(form.sizes)))

    def arrays(self) -> tuple[Array, ...]:
        return self.by_generator, self.by_diffusion, self.by_scale

    def by_parameters(self, form: MarkovForm) -> Array:
        """The derivatives by all parameters of the kernel."""
        ends = np.cumsum(form.sizes**2)[:-1]
        blocks = [
            [part.reshape(size, size) for part, size in zip(np.split(flat, ends), form.sizes, strict=True)]
            for flat in (self.by_generator, self.by_diffusion)
        ]
        return form.pullback(*blocks, self.by_scale)
