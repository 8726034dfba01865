"""A table as coordinate descent sees it: weighted, centred, and in the shape in which it came."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from credo.learning.coordinate.gap import Standing

Array = NDArray[np.float64]


_EPS = float(np.finfo(np.float64).eps)
# Squared means of a sparse column, beside its variance, beyond which half of its digits are lost.
_OFFSET = 1e8


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse array or matrix."""
    return bool(sp.issparse(X))


@dataclass(frozen=True)
class Rows:
    """√ω(X − x̄) and √ω(y − ȳ), of which only the second is stored.

    `root` is √ω, `total` the sum of the weights ω, `squares` the squared lengths of the centred, weighted columns; 0
    where a column is constant to rounding error. Without intercept the means are 0.
    """

    X: Any
    target: Array
    root: Array
    total: float
    x_mean: Array
    y_mean: float
    squares: Array
    weighted: bool

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, *, center: bool) -> Self:
        """The rows of a dense array or a CSC matrix."""
        n_samples, n_features = X.shape
        omega = np.ones(n_samples) if weight is None else weight
        total = float(omega.sum())
        x_mean, y_mean = np.zeros(n_features), 0.0
        if center:
            x_mean, y_mean = np.asarray(omega @ X) / total, float(omega @ y) / total
            y_mean += float(omega @ (y - y_mean)) / total
        squares = _squares(X, omega) - total * x_mean**2
        if center:
            _repair(X, omega, total, x_mean, squares)
            _refuse_offsets(X, total, x_mean, squares)
        root = np.sqrt(omega)
        return cls(X, root * (y - y_mean), root, total, x_mean, y_mean, squares, weight is not None)

    @cached_property
    def yy(self) -> float:
        """‖√ω(y − ȳ)‖²."""
        return float(self.target @ self.target)

    def slopes(self, residual: Array) -> Array:
        """The inner product of each centred, weighted column with a residual."""
        pull = self.root * residual if self.weighted else residual
        return np.asarray(self.X.T @ pull) - pull.sum() * self.x_mean

    def standing(self, residual: Array) -> Standing:
        """What the duality gap needs to know of a centred residual."""
        return Standing(self.slopes(residual), float(residual @ residual), float(residual @ self.target))

    def columns(self, members: NDArray[np.intp]) -> Array:
        """Some centred, weighted columns, as the rows of a new array."""
        found = self.X[:, members]
        columns = np.ascontiguousarray((found.toarray() if is_sparse(found) else found).T)
        columns -= self.x_mean[members, None]
        if self.weighted:
            columns *= self.root
        columns[self.squares[members] == 0.0] = 0.0
        return columns

    def gram(self) -> Array:
        """XᵀX of the centred, weighted columns."""
        if is_sparse(self.X):
            scaled = sp.diags_array(self.root) @ self.X if self.weighted else self.X
            K = (scaled.T @ scaled).toarray() - self.total * np.outer(self.x_mean, self.x_mean)
        elif not self.weighted and (self.total * self.x_mean**2 <= 1e3 * self.squares).all():
            # Means that are no larger than this beside the spread cost three digits of sixteen.
            K = self.X.T @ self.X
            K -= self.total * np.outer(self.x_mean, self.x_mean)
        else:
            centred = self.X - self.x_mean
            centred *= self.root[:, None]
            K = centred.T @ centred
        flat = self.squares == 0.0
        K[flat], K[:, flat] = 0.0, 0.0
        return np.ascontiguousarray(K)

    def steepest(self) -> float:
        """max_j |x_jᵀy|, the smallest ℓ₁ penalty at which all weights are zero."""
        slopes = np.abs(self.slopes(self.target))
        return float(slopes[self.squares > 0.0].max(initial=0.0))

    def residual(self, w: Array) -> Array:
        """y − Xw of the centred, weighted rows."""
        active = np.flatnonzero(w)
        fitted = np.asarray(self.X[:, active] @ w[active]) - float(self.x_mean[active] @ w[active])
        return self.target - self.root * fitted

    def part(self, members: NDArray[np.intp]) -> Self:
        """The same rows with some of the columns."""
        return replace(self, X=self.X[:, members], x_mean=self.x_mean[members], squares=self.squares[members])

    def intercept(self, w: Array) -> float:
        """The constant that goes with the weights."""
        return self.y_mean - float(self.x_mean @ w)


def _squares(X: Any, omega: Array) -> Array:
    if is_sparse(X):
        return np.asarray(omega @ X.power(2))
    return np.einsum("i,ij,ij->j", omega, X, X) if (omega != 1).any() else np.einsum("ij,ij->j", X, X)


def _repair(X: Any, omega: Array, total: float, x_mean: Array, squares: Array) -> None:
    """Means and squares of columns whose spread is small beside their mean, from the differences, in place."""
    for j in np.flatnonzero(squares <= 1e-4 * total * x_mean**2):
        column = X[:, [j]]
        column = (column.toarray() if is_sparse(column) else column).ravel()
        x_mean[j] += float(omega @ (column - x_mean[j])) / total
        rest = float(omega @ (column - x_mean[j]) ** 2)
        squares[j] = rest if rest > (8 * _EPS * x_mean[j]) ** 2 * total else 0.0


def _refuse_offsets(X: Any, total: float, x_mean: Array, squares: Array) -> None:
    """A sparse table is centred only in thought, which costs the digits that mean and spread don't share."""
    if not is_sparse(X):
        return
    lost = (squares > 0.0) & (total * x_mean**2 > _OFFSET * squares)
    if lost.any():
        j = int(np.argmax(lost))
        raise ValueError(
            f"column {j} of the sparse X lies around {x_mean[j]:.3g} and varies by {(squares[j] / total) ** 0.5:.2g} "
            "only, too little for a table that can't be centred: subtract the column's mean, or pass X.toarray()"
        )
