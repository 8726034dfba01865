"""The rounds of AdaBoost: for stumps in compiled code, for other learners one fit each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from credo.deadlines import check
from credo.ensemble._base import fit_arguments
from credo.estimator import check_shapes
from credo.seeds import generator, reseeded
from credo.trees import DecisionStump, Stumps
from credo.trees.stump import SortedColumns, boosted_stumps, chance

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Boosted:
    """Learners and the weights of their votes: `stumps` in arrays, or other learners in a list.

    `stopped` says why no round follows: "rounds" (all were run), "perfect" (a learner made no mistake) or "chance".
    """

    classes: NDArray[Any]
    alpha: Array
    stumps: Stumps | None
    learners: list[Any]
    stopped: str

    def check(self, n_features: int, classes: NDArray[Any]) -> None:
        """Raise a ValueError unless this can be the state of a model with these columns and classes."""
        check_shapes(self, alpha="m")
        if not np.array_equal(self.classes, classes):
            raise ValueError("boosted_ is of other classes")
        if len(self) != len(self.alpha) or self.stopped not in ("rounds", "perfect", "chance"):
            raise ValueError("boosted_ must have a weight for each learner")
        if self.stumps is not None and (
            self.stumps.feature.max() >= n_features or self.stumps.label.max() >= len(classes)
        ):
            raise ValueError("boosted_ has stumps of columns or classes that aren't there")
        if not all(hasattr(learner, "predict") for learner in self.learners):
            raise ValueError("boosted_ must have learners that predict")

    def __len__(self) -> int:
        return len(self.learners) if self.stumps is None else len(self.stumps)

    @property
    def total(self) -> float:
        """Σ α."""
        return float(self.alpha.sum())

    def first(self, n: int) -> Boosted:
        """The first n learners."""
        return self._part(0, n)

    def last(self) -> Boosted:
        """The last learner alone."""
        return self._part(len(self) - 1, len(self))

    def _part(self, start: int, stop: int) -> Boosted:
        stumps = None if self.stumps is None else self.stumps.part(start, stop)
        return replace(self, alpha=self.alpha[start:stop], stumps=stumps, learners=self.learners[start:stop])

    def votes(self, rows: Array, n_classes: int) -> Array:
        """F_k = Σ α_m 1[G_m(x) = k], shape (n_samples, n_classes)."""
        if self.stumps is not None:
            return self.stumps.votes(rows, self.alpha, n_classes)
        F = np.zeros((len(rows), n_classes))
        for m in range(len(self)):
            self._add(F, m, rows)
        return F

    def staged_votes(self, rows: Array, n_classes: int) -> Iterator[Array]:
        """F after each round."""
        F = np.zeros((len(rows), n_classes))
        for m in range(len(self)):
            if self.stumps is not None:
                F += self.stumps.part(m, m + 1).votes(rows, self.alpha[m : m + 1], n_classes)
            else:
                self._add(F, m, rows)
            yield F.copy()

    def _add(self, F: Array, m: int, rows: Array) -> None:
        said = np.asarray(self.learners[m].predict(rows))
        codes = np.minimum(np.searchsorted(self.classes, said), len(self.classes) - 1)
        if not np.array_equal(self.classes[codes], said):
            raise ValueError(f"learner {m} predicts labels that are none of the classes")
        F[np.arange(len(F)), codes] += self.alpha[m]

    def importances(self, n_features: int) -> Array:
        """The share of each column in the weights of the votes; stumps that don't split have none."""
        if self.stumps is None or not self.total:
            return np.zeros(n_features)
        splits = self.stumps.label[:, 0] != self.stumps.label[:, 1]
        share = np.bincount(self.stumps.feature, self.alpha * splits, minlength=n_features).astype(np.float64)
        return share / share.sum() if share.sum() > 0 else share


def boost(
    learner: Any,
    rows: Array,
    codes: Index,
    weight: Array,
    classes: NDArray[Any],
    *,
    n_rounds: int,
    keep: bool,
    random_state: Any = None,
) -> tuple[Boosted, Array, Array]:
    """Run the rounds: the learners, their weighted errors, and the row weights with which each round starts."""
    n_classes = len(classes)
    share = weight / weight.sum()
    stumps: Stumps | None = None
    learners: list[Any] = []
    if type(learner) is DecisionStump and learner.class_weight is None:
        stumps, errors, kept = boosted_stumps(
            SortedColumns.of(rows), codes, share, n_classes, criterion=learner.criterion, n_rounds=n_rounds, keep=keep
        )
    else:
        learners, errors, kept = _boosted_learners(
            learner, rows, codes, share, classes, n_rounds, keep, float(weight.sum()), random_state
        )
    found = Boosted(classes, _alphas(errors, n_classes), stumps, learners, "rounds")
    if errors[-1] <= 0.0:
        # A vote of infinite weight outweighs all others.
        return replace(found, stopped="perfect").last(), errors, kept
    if errors[-1] >= chance(n_classes):
        n = max(1, len(errors) - 1)
        return replace(found, stopped="chance").first(n), errors[:n], kept[:n]
    return found, errors, kept


def _alphas(errors: Array, n_classes: int) -> Array:
    """α = ln((1 − ε)/ε) + ln(K − 1); 1 for a learner without error, and 0 for one no better than chance."""
    inside = np.clip(errors, 1e-300, 1.0 - 1e-16)
    alpha = np.log1p(-inside) - np.log(inside) + np.log(n_classes - 1.0)
    return np.where(errors <= 0.0, 1.0, np.where(errors >= chance(n_classes), 0.0, alpha))


def _boosted_learners(
    learner: Any, rows: Array, codes: Index, share: Array, classes: NDArray[Any], n_rounds: int, keep: bool,
    total: float, random_state: Any,
) -> tuple[list[Any], Array, Array]:  # fmt: skip
    """One fit a round, with weights that sum to the number of observations."""
    labels, n_classes = classes[codes], len(classes)
    rng = generator(random_state)
    learners: list[Any] = []
    errors, kept = [], []
    for _ in range(n_rounds):
        check()
        kept += [share.copy()] if keep else []
        model = reseeded(clone(learner), rng)
        used = share > 0
        model.fit(rows[used], labels[used], **fit_arguments(model, share[used] * total))
        wrong = np.asarray(model.predict(rows)) != labels
        learners.append(model)
        errors.append(float(share[wrong].sum()))
        if errors[-1] <= 0.0 or errors[-1] >= chance(n_classes):
            break
        share = np.where(wrong, share * ((1.0 - errors[-1]) / errors[-1] * (n_classes - 1.0)), share)
        share = share / share.sum()
    return learners, np.array(errors), np.array(kept).reshape(len(kept), len(rows))
