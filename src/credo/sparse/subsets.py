"""Subsets without a posterior: one column after the other, judged by the BIC."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, check_X_y

from credo.estimator import positive_integer
from credo.frames import Table
from credo.sparse._design import Design
from credo.sparse._fit import solve
from credo.sparse._models import Model
from credo.sparse._report import model_words
from credo.sparse._slabs import Bic

Array = NDArray[np.float64]

# A column of which less is left beside those chosen is a combination of them.
_DEPENDENT = 1e-9
# Gains of the BIC below this are rounding.
_GAIN = 1e-9


@dataclass(frozen=True)
class Selection:
    """The columns that were chosen, and the way there.

    Attributes
    ----------
    selected : tuple of column indices
        The subset with the smallest BIC.
    order : tuple of column indices
        Columns as forward selection took them in.
    bic, r2 : arrays of shape (len(order) + 1,)
        Of the subsets of the first 0, 1, 2, … columns of the order.
    names : tuple of str
    """

    selected: Model
    order: Model
    bic: Array
    r2: Array
    names: tuple[str, ...]

    def table(self) -> Table:
        """The way there, step by step."""
        return Table(
            "Forward selection",
            {
                "size": list(range(len(self.bic))),
                "column": [None, *(self.names[j] for j in self.order)],
                "R2": self.r2.tolist(),
                "BIC": self.bic.tolist(),
            },
            notes=(f"smallest BIC: {model_words(self.selected, self.names)}",),
        )


def forward_selection(
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    max_size: int | None = None,
    polish: bool = True,
) -> Selection:
    """Take in, one after the other, the column that explains most of what is left; stop where the BIC is smallest.

    A step costs O(nd). `polish` then adds, drops and swaps single columns as long as the BIC falls: a local maximum of
    p(y | γ) under equal prior probabilities, for tables of more columns than `SpikeSlabRegressor` can enumerate.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
        A weight of k is the same as k copies of the row.
    max_size : int, optional
        The most columns to take in; by default no more than half as many as there are rows, for the BIC is worth
        nothing where columns are as many as rows.
    polish : bool, default True

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 200))
    >>> y = 2.0 * X[:, 17] - X[:, 90] + 0.5 * rng.normal(size=80)
    >>> forward_selection(X, y, max_size=5).order[:2]
    (17, 90)
    """
    columns = getattr(X, "columns", None)
    rows, target = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    weight = None if sample_weight is None else _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
    names = [f"x{j}" for j in range(rows.shape[1])] if columns is None else [str(name) for name in columns]
    design = Design.of(rows, target, weight)
    most = max(int((design.n - 1) // 2), 1) if max_size is None else positive_integer("max_size", max_size)
    most = int(min(most, Bic(design.n, design.yy).most, len(design.kept)))
    order, rests = _forward(design, most)
    bic = np.array([_bic(design, k, rest) for k, rest in enumerate(rests)])
    chosen = set(order[: int(np.argmin(bic))])
    if polish:
        chosen = _polish(design, chosen, most)
    return Selection(
        selected=tuple(sorted(int(design.kept[j]) for j in chosen)),
        order=tuple(int(design.kept[j]) for j in order),
        bic=bic,
        r2=1.0 - np.array(rests),
        names=tuple(names),
    )


def _bic(design: Design, k: int, rest: float) -> float:
    return -2.0 * float(Bic(design.n, design.yy).score(k, rest))


def _forward(design: Design, most: int) -> tuple[list[int], list[float]]:
    """Columns in the order of greatest gain, and the share of the target that is left after each."""
    X, y = design.X.copy(), design.y.copy()
    order: list[int] = []
    rests = [1.0]
    while len(order) < most:
        square = np.einsum("ij,ij->j", X, X)
        square[order] = 0.0
        gain = np.where(square > _DEPENDENT, (y @ X) ** 2 / np.where(square > _DEPENDENT, square, 1.0), -1.0)
        best = int(np.argmax(gain))
        if gain[best] < 0:
            break
        direction = X[:, best] / np.linalg.norm(X[:, best])
        X -= np.outer(direction, direction @ X)
        y -= direction * (direction @ y)
        order.append(best)
        rests.append(solve(design, _placed(design, order))[2])
    return order, rests


def _polish(design: Design, chosen: set[int], most: int) -> set[int]:
    """Add, drop or swap one column at a time, always the best such step, until none lowers the BIC."""
    value = _bic(design, len(chosen), solve(design, _placed(design, chosen))[2])
    while True:
        best = min((_neighbour(design, chosen, out, most) for out in [None, *sorted(chosen)]), key=lambda pair: pair[0])
        if best[0] >= value - _GAIN:
            return chosen
        value, chosen = best


def _neighbour(design: Design, chosen: set[int], out: int | None, most: int) -> tuple[float, set[int]]:
    """The best subset that has one column less (or none less) and one column more (or none more)."""
    kept = chosen - {out}
    base = sorted(kept)
    Q = np.linalg.qr(design.X[:, base])[0] if base else np.empty((len(design.y), 0))
    X, y = design.X - Q @ (Q.T @ design.X), design.y - Q @ (Q.T @ design.y)
    offset = max(design.yy - float(design.y @ design.y), 0.0)
    rest = (float(y @ y) + offset) / design.yy
    best = (_bic(design, len(base), rest), kept)
    if len(base) >= most:
        return best
    square = np.einsum("ij,ij->j", X, X)
    square[base] = 0.0
    gain = np.where(square > _DEPENDENT, (y @ X) ** 2 / np.where(square > _DEPENDENT, square, 1.0), -1.0)
    more = int(np.argmax(gain)) if len(gain) else 0
    if len(gain) and gain[more] > 0:
        bigger = kept | {more}
        value = _bic(design, len(bigger), solve(design, _placed(design, bigger))[2])
        best = min(best, (value, bigger), key=lambda pair: pair[0])
    return best


def _placed(design: Design, columns: set[int] | list[int]) -> Model:
    return tuple(int(design.kept[j]) for j in sorted(columns))
