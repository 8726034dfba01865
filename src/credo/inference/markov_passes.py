"""The two passes over all rows of a chain, forward and backward, and predictions between the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.inference import markov_jit
from credo.inference.markov import Before, Chain, Data, Kept, Marginals, Slopes, Stretch, Weights

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Filtered:
    """The filter's result: whitened columns L⁻¹Z for C = LLᵀ, q and ln|C|, and the states before each chunk."""

    chain: Chain
    data: Data
    white: Array
    q: Array
    logdet: float
    before: Before

    def refiltered(self, chunk: int, transform: Array) -> tuple[Stretch, Data, Kept]:
        """A chunk with its states kept, for the columns Z·transform."""
        rows = self.chain.rows(chunk)
        part, data = self.chain.stretch(rows), self.data.part(rows).transformed(transform)
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
            part, new, among = chain.stretch_with(rows, times[places])
            data = filtered.data.part(rows).transformed(self.transform).with_new(among)
            m, S = filtered.before.m[chunk] @ self.transform, filtered.before.S[chunk].copy()
            kept = chain.filter_rows(part, data, m, S)
            rho, N = self.rho[chunk].copy(), self.N[chunk].copy()
            found = chain.smooth_rows(part, data, kept, rho, N, weights, none, keep=everywhere)
            yield _Visit(part, data, kept, found, new, places)


@dataclass(frozen=True, eq=False)
class _Visit:
    """A chunk with new rows: which rows are new, and where they are among the times that were asked for."""

    part: Stretch
    data: Data
    kept: Kept
    found: Marginals
    new: NDArray[np.bool_]
    places: Index


def filtered(chain: Chain, data: Data) -> Filtered:
    """The filter over all rows: at once where compiled code does it all, else chunk by chunk."""
    n, count = data.Z.shape
    m, S = np.zeros((chain.size, count)), np.zeros((chain.size, chain.size))
    before = Before.empty(chain.n_chunks, chain.size, count)
    if chain.small:
        kept = chain.filter_rows(chain.stretch(slice(0, n)), data, m, S, before)
        return Filtered(chain, data, kept.E, kept.q, kept.logdet, before)
    white, q, logdet = np.empty((n, count)), np.empty(n), 0.0
    for chunk in range(chain.n_chunks):
        rows, own = chain.rows(chunk), slice(chunk, chunk + 1)
        part = Before(before.m[own], before.S[own])
        kept = chain.filter_rows(chain.stretch(rows), data.part(rows), m, S, part)
        white[rows], q[rows], logdet = kept.E, kept.q, logdet + kept.logdet
        check()
    return Filtered(chain, data, white, q, logdet, before)


def _gains(chain: Chain, part: Stretch, kept: Kept) -> Array:
    """k = Sh for each row."""
    S = kept.S.reshape(-1, chain.size, chain.size)
    return np.einsum("ib,ibp->ip", part.g, S[:, chain.starts[:-1]])


def _joined(order: Index, gains: Array, rests: Array, phis: Array, n_rows: int | None) -> Array:
    """The covariances from what each time, sorted, has: between all times, or between the first `n_rows` and the rest.

    `order` is where each sorted time is among the times that were asked for.
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
