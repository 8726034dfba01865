"""Sparse logistic regression with the penalty selected by cross-validation."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.estimator import ConvergenceWarning, FitWarning, choice, labels_of, positive, positive_integer
from credo.learning.coordinate import Labels, Rows, classify
from credo.notices import warn
from credo.penalized._folds import RULES, Fold, HeldOut, folds_of, marks, side_by_side, unfinished_words, weighty
from credo.penalized.logistic import PenalizedClassifier
from credo.penalized.path import penalties

Array = NDArray[np.float64]
Order = NDArray[np.intp]

# Losses on held-out rows are known to a few percent at best: this is enough for the paths over the folds.
_PATH_TOL = 1e-5
# And this on the way to the penalty that was chosen.
_WAY_TOL = 1e-3


class SparseLogisticRegressionCV(PenalizedClassifier):
    """Sparse logistic regression with α selected by cross-validation, refitted to all rows.

    All folds use one grid of α. If `cv` is an integer, the folds are stratified by class. Identical rows stay in one
    fold, so neither the order of the rows nor whether a row is repeated or weighted matters. A label with fewer rows
    than folds is scored only in folds whose training rows contain it.

    Parameters
    ----------
    cv : int, splitter or iterable of (training rows, held-out rows), default 5
    rule : "min" or "one-standard-error", default "min"
        The α with the smallest held-out log loss; or the largest α whose loss is within one standard error (over the
        folds) of the smallest, which selects fewer columns (Breiman et al. 1984).
    alphas : array, optional
        The grid of penalties, all positive; by default `n_alphas` values from the smallest α at which all coefficients
        are zero down to `eps` times that. The fit warns if the smallest value is selected and a smaller one would be
        better.
    n_alphas, eps : the default range, 100 and 1e-3
    fit_intercept, class_weight : as in `SparseLogisticRegression`; the weights count in the held-out loss as well
    tol : float, default 1e-7
        The final fit stops when the duality gap is at most tol times the mean log loss of the intercept-only model.
    max_iter : int, default 1000
        Maximum number of Newton iterations for one α. The fit warns if any fold's path did not converge.

    Attributes
    ----------
    alpha_ : the selected penalty
    alphas_ : the grid of penalties, largest first
    log_loss_path_ : mean log losses (natural) on held-out rows, (n_alphas, n_folds)
    log_loss_, log_loss_std_error_ : their means over the folds, by the folds' weights, and standard errors
    coef_, intercept_, selected_, dual_gap_, n_iter_, result_ : as in `SparseLogisticRegression`, of all rows

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse import SparseLogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = 2 * X[:, 3] - 2 * X[:, 7] + rng.logistic(size=200) > 0
    >>> SparseLogisticRegressionCV(rule="one-standard-error").fit(X, y).selected_
    ['x3', 'x7']
    """

    _title = "Sparse logistic regression, penalty by cross-validation"

    alphas_: Array
    log_loss_path_: Array
    log_loss_: Array
    log_loss_std_error_: Array

    def __init__(
        self,
        cv: Any = 5,
        *,
        rule: str = "min",
        alphas: ArrayLike | None = None,
        n_alphas: int = 100,
        eps: float = 1e-3,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-7,
        max_iter: int = 1000,
    ) -> None:
        self.cv = cv
        self.rule = rule
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.eps = eps
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        choice("rule", self.rule, RULES)
        positive("tol", self.tol)
        positive_integer("max_iter", self.max_iter)
        table, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        omega = np.ones(len(codes)) if weight is None else weight
        labels = Labels.of(codes, len(self.classes_), omega)
        rows = Rows.of(table, np.zeros(len(codes)), weight, center=bool(self.fit_intercept))
        largest = labels.steepest(rows, intercept=bool(self.fit_intercept)) / rows.total
        self.alphas_ = penalties(largest, self.alphas, n_alphas=self.n_alphas, eps=self.eps, zero=False)

        missed: list[int] = []

        def losses(fold: Fold) -> Array:
            loss, unfinished = self._losses(table, codes, omega, fold)
            missed.append(unfinished)
            return loss

        folds = self._folds(table, codes, omega, y, sample_weight)
        unseen = np.setdiff1d(np.arange(len(self.classes_)), codes[np.concatenate([held for _, held in folds])])
        if len(unseen):
            warn(
                f"label {self.classes_[unseen].tolist()[0]!r} is so rare that no held-out row with it could be scored, "
                "because the training folds must contain it too: the penalty is selected on the other labels",
                FitWarning,
                stacklevel=2,
            )
        held_out = HeldOut.of(
            side_by_side(losses, folds, table), np.array([omega[held].sum() for _, held in folds])
        )  # fmt: skip
        self.log_loss_path_, self.log_loss_ = held_out.path, held_out.mean
        self.log_loss_std_error_ = held_out.std_error
        place = held_out.place(self.rule)
        # The grid down to the choice leads there faster than a start from nothing.
        way = self._walk(rows, labels, self.alphas_[:place], tol=_WAY_TOL)
        last = deque(way, maxlen=1)
        start = (last[0].W, last[0].b) if last else None
        (verdict,) = self._walk(rows, labels, self.alphas_[place : place + 1], tol=self.tol, start=start)
        self._keep(verdict, labels, table, float(self.alphas_[place]))
        if any(missed):
            word = unfinished_words(sum(missed), len(folds) * len(self.alphas_), max(self.tol, _PATH_TOL))
            warn(word, ConvergenceWarning, stacklevel=2)
            self.result_ = replace(self.result_, converged=False, message=word)
        for word in held_out.words(place, self.alphas_):
            warn(word, FitWarning, stacklevel=2)
            self.result_ = replace(self.result_, message=f"{self.result_.message}; {word}")
        return self

    def _notes(self) -> tuple[str, ...]:
        place = int(np.flatnonzero(self.alphas_ == self.alpha_)[0])
        loss = f"held-out log loss {self.log_loss_[place]:.4g} ± {self.log_loss_std_error_[place]:.2g}"
        return f"{loss}, rule {self.rule!r}", *super()._notes()

    def _walk(
        self, rows: Rows, labels: Labels, alphas: Array, *, tol: float, start: tuple[Array, Array] | None = None
    ) -> Any:
        n_scores = labels.Y.shape[1]
        start = (np.zeros((n_scores, rows.X.shape[1])), np.zeros(n_scores)) if start is None else start
        return classify(
            rows,
            labels,
            alphas * rows.total,
            intercept=bool(self.fit_intercept),
            start=start,
            tol=tol,
            max_steps=int(self.max_iter),
        )

    def _losses(self, table: Any, codes: Order, omega: Array, fold: Fold) -> tuple[Array, int]:
        """Mean log loss on the held-out rows for each α, and the number of fits that did not converge."""
        train, held = fold
        known, place = np.unique(codes[train], return_inverse=True)
        labels = Labels.of(place, len(known), omega[train])
        told = Labels.of(np.searchsorted(known, codes[held]), len(known), omega[held])
        rows = Rows.of(table[train], np.zeros(len(train)), omega[train], center=bool(self.fit_intercept))
        shown = table[held]
        path = list(self._walk(rows, labels, self.alphas_, tol=max(self.tol, _PATH_TOL)))
        loss = np.array([told.odds(np.asarray(shown @ step.W.T) + step.b).loss for step in path])
        return loss / omega[held].sum(), sum(not step.converged for step in path)

    def _folds(self, table: Any, codes: Order, omega: Array, y: Any, sample_weight: Any) -> list[Fold]:
        """Folds whose training rows have two classes or more, and the held-out rows of which they know the labels."""
        given = labels_of(y)
        used = np.isin(given, self.classes_) & weighty(sample_weight, len(given))
        # Classes come in an order that has nothing to do with their names: by what is in their rows, then by weight.
        mark = marks(table)
        first = [mark[codes == k].min() for k in range(len(self.classes_))]
        turn = np.empty(len(first))
        turn[np.lexsort((np.bincount(codes, omega), first))] = np.arange(len(first))
        found = []
        for train, held in folds_of(self.cv, table, turn[codes], used, given):
            known = np.unique(codes[train])
            told = held[np.isin(codes[held], known)]
            if len(known) > 1 and len(told):
                found.append((train, told))
        if len(found) < 2:
            raise ValueError(
                f"cross-validation needs at least 2 folds with 2 classes among the training rows, but cv={self.cv!r} "
                f"gives {len(found)} (identical rows stay in one fold): use SparseLogisticRegression with a fixed alpha"
            )
        return found
