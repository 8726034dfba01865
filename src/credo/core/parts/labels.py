"""The class labels of a table in parts, and a sample of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import Classifier, is_sparse, labelled_rows
from credo.core.parts.parts import Chunk, Parts, RowSample

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelSurvey:
    """What must be known about labeled rows before the first step: the weight of each label, and a sample.

    Examples
    --------
    >>> from credo import LogisticRegression
    >>> from credo.core.parts import parts_of, survey_labels
    >>> parts = parts_of([([[1.0], [2.0]], ["a", "b"]), ([[3.0]], ["b"])])
    >>> found, _ = survey_labels(LogisticRegression(), parts, None)
    >>> found.totals["b"], found.sample.n_rows, found.sample.is_complete
    (2.0, 3, True)
    """

    totals: dict[Any, float]
    dtype: Any
    sample: RowSample

    def merge(self, other: LabelSurvey) -> LabelSurvey:
        text = {isinstance(label, str) for label in (*self.totals, *other.totals)}
        if len(text) > 1:
            raise ValueError("the labels in y are text in some parts and numbers in others: make them all of one type")
        labels = self.totals.keys() | other.totals.keys()
        return LabelSurvey(
            {label: self.totals.get(label, 0.0) + other.totals.get(label, 0.0) for label in labels},
            np.result_type(self.dtype, other.dtype),
            self.sample.merge(other.sample),
        )

    @property
    def classes(self) -> NDArray[Any]:
        return np.array(sorted(self.totals), dtype=self.dtype)


def survey_labels(model: Classifier, parts: Parts, class_weight: Any) -> tuple[LabelSurvey, Labels]:
    """The survey of all rows, in one pass, and their classes; the model gets classes and columns from it.

    Examples
    --------
    >>> from credo import LogisticRegression
    >>> from credo.core.parts import parts_of, survey_labels
    >>> model = LogisticRegression()
    >>> found, labels = survey_labels(model, parts_of([([[1.0]], ["a"]), ([[3.0]], ["b"])]), None)
    >>> model.classes_.tolist(), model.n_features_in_
    (['a', 'b'], 1)
    """
    caller, sparse = type(model).__name__, model._accepts_sparse
    found: LabelSurvey = parts.map_reduce(partial(_survey, caller=caller, sparse=sparse), LabelSurvey.merge)
    labels = Labels.of(model, found, class_weight)
    model.classes_, model.n_features_in_ = labels.classes, found.sample.rows.shape[1]
    if found.sample.names is not None:
        model.feature_names_in_, model.names_carried_ = np.array(found.sample.names, dtype=object), True
    return found, labels


def _survey(chunk: Chunk, *, caller: str, sparse: bool) -> LabelSurvey:
    rows, labels, weight, names = labelled_rows(caller, chunk.X, chunk.y, chunk.weight, sparse=sparse)
    weight = np.ones(len(labels)) if weight is None else weight
    found, codes = np.unique(labels, return_inverse=True)
    totals = dict(zip(found.tolist(), np.bincount(codes.ravel(), weight).tolist(), strict=True))
    keep = np.arange(len(labels))
    if is_sparse(rows):
        # Only rows that may be in the sample are made dense.
        keep = np.sort(np.random.default_rng(chunk.number).permutation(len(labels))[:1000])
        rows = rows[keep].toarray()
    kept = labels[keep], weight[keep]
    sample = RowSample.of(rows, *kept, number=chunk.number, names=names, n_rows=len(labels))
    return LabelSurvey(totals, labels.dtype, sample)


@dataclass(frozen=True)
class Labels:
    """The classes of a table in parts, the factor of each one's weights, and their total weights with it.

    Examples
    --------
    >>> from credo import LogisticRegression
    >>> from credo.core.parts import parts_of, survey_labels
    >>> parts = parts_of([([[1.0], [2.0]], ["a", "b"]), ([[3.0]], ["b"])])
    >>> _, labels = survey_labels(LogisticRegression(), parts, "balanced")
    >>> labels.classes.tolist(), labels.totals.tolist()
    (['a', 'b'], [1.5, 1.5])
    """

    caller: str
    classes: NDArray[Any]
    factors: Array
    totals: Array
    sparse: bool

    @classmethod
    def of(cls, model: Classifier, found: LabelSurvey, class_weight: Any) -> Labels:
        """The classes of positive weight."""
        caller, classes = type(model).__name__, found.classes
        totals, factors = np.array([found.totals[label] for label in classes.tolist()]), np.ones(len(classes))
        if class_weight is not None:
            model.classes_ = classes
            factors = model._class_factors(class_weight, classes, np.arange(len(classes)), totals)
        used = factors > 0
        if used.sum() < 2:
            every = f"every label is {classes[used].tolist()[0]!r}" if used.any() else "no row has any weight"
            raise ValueError(f"{caller} needs at least two classes, but {every} (1 class)")
        return cls(caller, classes[used], factors[used], (totals * factors)[used], model._accepts_sparse)

    def read(self, chunk: Chunk) -> tuple[Any, NDArray[np.intp], Array]:
        """The rows of a chunk, the class indices of their labels, and their weights."""
        rows, labels, weight, _ = labelled_rows(self.caller, chunk.X, chunk.y, chunk.weight, sparse=self.sparse)
        return self._coded(rows, labels, weight)

    def read_sample(self, sample: RowSample) -> tuple[Array, NDArray[np.intp], Array]:
        """The same for a sample of all rows."""
        labels, weight = sample.extra
        return self._coded(sample.rows, labels, np.asarray(weight, dtype=np.float64))

    def _coded(self, rows: Any, labels: NDArray[Any], weight: Array | None) -> tuple[Any, NDArray[np.intp], Array]:
        known = np.isin(labels, self.classes)
        codes = np.searchsorted(self.classes, labels[known])
        weight = self.factors[codes] if weight is None else weight[known] * self.factors[codes]
        return rows if known.all() else rows[known], codes, weight
