"""Whether averaging paid: the error of the members, of their average, and how much the members err together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.selection import Gap

Array = NDArray[np.float64]

# A smaller change of the error is called no difference, however certain it is.
_SMALL = 0.01


@dataclass(frozen=True)
class Diagnosis:
    """Errors of the members of a committee and of the committee itself, on rows that they weren't fitted to.

    For numbers, errors are squared, y being the observed target, noise included. For classes they are Brier scores, and
    there are error rates. With M members whose errors have the mean correlation ρ,
    E_COM = E_AV/M + (1 − 1/M) ρ E_AV (Bishop 2006, section 14.2).

    Attributes
    ----------
    member_error : E_AV, the mean error of the members
    committee_error : E_COM, the error of their average (or vote)
    uncorrelated_error : E_AV/M, what the committee's error would be if the members' errors were uncorrelated
    correlation : mean correlation of the errors of two members, about zero
    member_error_rate, committee_error_rate : of classifiers, otherwise None
    single_error : error, or error rate, of one model fitted to the rows themselves and held out in five folds; None
        where it was not computed
    gain, gain_std_error : by how much the committee's error (of classifiers, its error rate) is lower than that of the
        single model or, where that is None, than that of the members; and its standard error over the rows
    n_members : number of members that predict a row, on average
    n_rows : number of rows
    rows : which rows these are
    """

    member_error: float
    committee_error: float
    uncorrelated_error: float
    correlation: float
    member_error_rate: float | None
    committee_error_rate: float | None
    gain: float
    gain_std_error: float
    n_members: float
    n_rows: int
    rows: str
    single_error: float | None = None

    @property
    def verdict(self) -> str:
        """One sentence: whether the average is better than a single model or, if that is unknown, than its members."""
        member = self.member_error if self.member_error_rate is None else self.member_error_rate
        after = self.committee_error if self.committee_error_rate is None else self.committee_error_rate
        before, whose = (member, "a member") if self.single_error is None else (self.single_error, "a single model")
        what = "mean squared error" if self.member_error_rate is None else "error rate"
        numbers = f"{what} {before:.3g} of {whose}, {after:.3g} of the average"
        margin = f"difference {self.gain:.2g} ± {self.gain_std_error:.1g}"
        if not Gap(self.gain, self.gain_std_error).clear or abs(self.gain) <= _SMALL * before:
            return f"No clear difference: {numbers} ({margin})."
        if self.gain < 0:
            return f"Averaging made it worse: {numbers} ({margin})."
        return f"Averaging paid: {numbers} ({margin}), {self.gain / before:.0%} less."

    def beside(self, single: Array, committee: Array, weight: Array | None) -> Diagnosis:
        """With the errors of a single model for comparison, paired with those of the committee row by row."""
        used = np.isfinite(single) & np.isfinite(committee)
        gain, error = _mean_and_error((single - committee)[used], None if weight is None else weight[used])
        mean = _mean_and_error(single[used], None if weight is None else weight[used])[0]
        return replace(self, single_error=mean, gain=gain, gain_std_error=error)

    def __str__(self) -> str:
        kind = "mean squared error" if self.member_error_rate is None else "Brier score"
        lines = [
            f"{self.n_rows} {self.rows}, {self.n_members:.3g} members each",
            f"E_AV    {self.member_error:.5g}  {kind} of a member, on average",
            f"E_COM   {self.committee_error:.5g}  of the committee",
            f"E_AV/M  {self.uncorrelated_error:.5g}  if the members' errors were uncorrelated",
            f"mean correlation of the members' errors {self.correlation:.3f}",
        ]
        if self.member_error_rate is not None:
            lines.append(
                f"error rate {self.member_error_rate:.4g} of a member, {self.committee_error_rate:.4g} of the committee"
            )
        return "\n".join([*lines, self.verdict])


class ErrorSums:
    """Sums over the members, for each row, of errors and their squares; members may leave out rows.

    An error is a number, or a vector with an entry for each class.
    """

    def __init__(self, n_rows: int, width: int) -> None:
        self.count = np.zeros(n_rows)
        self.total = np.zeros((n_rows, width))
        self.squares = np.zeros(n_rows)
        self.wrong = np.zeros(n_rows)

    def add(self, rows: NDArray[np.intp], error: Array, wrong: Array | None = None) -> None:
        """The errors of one member, (n_rows, width), and whether its labels are wrong."""
        self.count[rows] += 1
        self.total[rows] += error
        self.squares[rows] += np.einsum("ij,ij->i", error, error)
        if wrong is not None:
            self.wrong[rows] += wrong

    def diagnosis(self, weight: Array | None, rows: str, committee_wrong: Array | None = None) -> Diagnosis | None:
        """None if no row has a prediction."""
        used = np.flatnonzero(self.count)
        if not len(used):
            return None
        m = self.count[used]
        share = np.ones(len(used)) if weight is None else weight[used]
        share = share / share.sum()
        total = np.einsum("ij,ij->i", self.total[used], self.total[used])
        member, committee = self.squares[used] / m, total / m**2
        several = m > 1
        pairs = np.where(several, (total - self.squares[used]) / np.where(several, m * (m - 1), 1.0), 0.0)
        average = float(share @ member)
        alone = float(share[several] @ member[several])
        gains = member - committee
        rates: tuple[float | None, float | None] = None, None
        if committee_wrong is not None:
            wrong = self.wrong[used] / m
            gains = wrong - committee_wrong[used]
            rates = float(share @ wrong), float(share @ committee_wrong[used])
        gain, error = _mean_and_error(gains, share)
        return Diagnosis(
            member_error=average,
            committee_error=float(share @ committee),
            uncorrelated_error=float(share @ (member / m)),
            correlation=float(share @ pairs) / alone if alone > 0 else float("nan"),
            member_error_rate=rates[0],
            committee_error_rate=rates[1],
            gain=gain,
            gain_std_error=error,
            n_members=float(share @ m),
            n_rows=len(used),
            rows=rows,
        )


def _mean_and_error(values: Array, weight: Array | None) -> tuple[float, float]:
    """The weighted mean and its standard error."""
    share = np.ones(len(values)) if weight is None else weight
    share = share / share.sum()
    mean = float(share @ values)
    if len(values) < 2:
        return mean, float("nan")
    # Values are squared errors already, whose squares might overflow.
    spread = share * (values - mean)
    size = float(np.abs(spread).max()) or 1.0
    return mean, size * float(np.sqrt(np.sum((spread / size) ** 2)))


def diagnosis_of_numbers(means: Iterable[Array], y: Array, weight: Array | None, rows: str) -> Diagnosis:
    """Of members that all predict all rows."""
    sums, every = ErrorSums(len(y), 1), np.arange(len(y))
    for mean in means:
        sums.add(every, (mean - y)[:, None])
    found = sums.diagnosis(weight, rows)
    assert found is not None
    return found


def diagnosis_of_classes(
    tables: Iterable[Array], codes: NDArray[np.intp], weight: Array | None, rows: str
) -> Diagnosis:
    """Of members that all predict all rows; `codes` are the columns of the right labels."""
    every, found = np.arange(len(codes)), list(tables)
    sums = ErrorSums(len(codes), found[0].shape[1])
    for table in found:
        error = table.copy()
        error[every, codes] -= 1.0
        sums.add(every, error, (table.argmax(axis=1) != codes).astype(np.float64))
    wrong = np.mean(found, axis=0).argmax(axis=1) != codes
    diagnosis = sums.diagnosis(weight, rows, wrong.astype(np.float64))
    assert diagnosis is not None
    return diagnosis
