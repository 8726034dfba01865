"""Whether averaging helped: the errors of the members and of their average, and the correlation of errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.selection import Gap

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Diagnosis:
    """Errors of the members of a committee and of the committee itself, on rows that they weren't fitted to.

    For regression, errors are squared differences from the observed targets, noise included. For classes they are Brier
    scores, and there are error rates. With M members whose errors have the mean correlation ρ,
    E_COM = E_AV/M + (1 − 1/M) ρ E_AV (Bishop 2006, section 14.2).

    Attributes
    ----------
    member_error : E_AV, the mean error of the members
    committee_error : E_COM, the error of their average (or vote)
    uncorrelated_error : E_AV/M, the committee's error if the members' errors were uncorrelated
    correlation : mean correlation of the errors of two members, about zero
    member_error_rate, committee_error_rate : for classifiers, otherwise None
    single_error : error, or error rate, of one model fitted to the rows themselves and held out in five folds; None
        if it was not computed
    gain, gain_std_error : by how much the committee's error (for classifiers, its error rate) is lower than that of the
        single model or, if that is None, than that of the members; and its standard error over the rows
    n_members : number of members that predict a row, on average
    n_rows : number of rows
    rows : which rows these are

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BaggingRegressor, LinearRegression
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> model = BaggingRegressor(LinearRegression(), n_estimators=5, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> found = model.diagnosis()
    >>> found.member_error > found.committee_error > found.uncorrelated_error
    True
    >>> round(found.correlation, 1)  # of the members' errors: averaging linear models gains little
    1.0
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
        # A change of less than 1 % counts as no difference, even if it is certain.
        if not Gap(self.gain, self.gain_std_error).clear or abs(self.gain) <= 0.01 * before:
            return f"No clear difference: {numbers} ({margin})."
        if self.gain < 0:
            return f"Averaging hurt: {numbers} ({margin})."
        return f"Averaging helped: {numbers} ({margin}), {self.gain / before:.0%} less."

    def compared_with(self, single: Array, committee: Array, weight: Array | None) -> Diagnosis:
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
    """Sums of the members' predictions for rows that they weren't fitted to; members may leave out rows.

    `truth` are the targets or, with a number of classes, the columns of the right labels.
    """

    def __init__(self, truth: NDArray[Any], n_classes: int | None = None) -> None:
        n = len(truth)
        self.truth, self.classifies = truth, n_classes is not None
        # Predicted numbers are summed relative to the targets, so that no digits are lost.
        self.target = np.zeros((n, 1)) if n_classes is None else np.eye(n_classes)[truth]
        self.count, self.squares, self.wrong = np.zeros(n), np.zeros(n), np.zeros(n)
        self.total = np.zeros_like(self.target)

    def add(self, predicted: Array, rows: Any = slice(None)) -> None:
        """Add one member's predictions for these rows: numbers, or a table of class probabilities."""
        values = predicted if self.classifies else (predicted - self.truth[rows])[:, None]
        error = values - self.target[rows]
        self.count[rows] += 1
        self.total[rows] += values
        self.squares[rows] += np.einsum("ij,ij->i", error, error)
        if self.classifies:
            self.wrong[rows] += predicted.argmax(axis=1) != self.truth[rows]

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether a row has any prediction."""
        return self.count > 0

    def mean(self) -> Array:
        """The average of the members, (n_rows, width); numbers are relative to the targets; NaN without predictions."""
        return self.total / np.where(self.seen, self.count, np.nan)[:, None]

    def committee_wrong(self) -> Array:
        """Whether the most probable label of the average is wrong."""
        return (self.total.argmax(axis=1) != self.truth).astype(np.float64)

    def diagnosis(self, weight: Array | None, rows: str) -> Diagnosis | None:
        """None if no row has a prediction."""
        used = np.flatnonzero(self.seen)
        if not len(used):
            return None
        m, squares = self.count[used], self.squares[used]
        share = np.ones(len(used)) if weight is None else weight[used]
        share = share / share.sum()
        error = self.total[used] - m[:, None] * self.target[used]
        total = np.einsum("ij,ij->i", error, error)
        member, committee = squares / m, total / m**2
        several = m > 1
        pairs = np.where(several, (total - squares) / np.where(several, m * (m - 1), 1.0), 0.0)
        alone = float(share[several] @ member[several])
        gains = member - committee
        rates: tuple[float | None, float | None] = None, None
        if self.classifies:
            wrong, committee_wrong = self.wrong[used] / m, self.committee_wrong()[used]
            gains, rates = wrong - committee_wrong, (float(share @ wrong), float(share @ committee_wrong))
        gain, std_error = _mean_and_error(gains, share)
        return Diagnosis(
            member_error=float(share @ member),
            committee_error=float(share @ committee),
            uncorrelated_error=float(share @ (member / m)),
            correlation=float(share @ pairs) / alone if alone > 0 else float("nan"),
            member_error_rate=rates[0],
            committee_error_rate=rates[1],
            gain=gain,
            gain_std_error=std_error,
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
