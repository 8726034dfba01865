"""The figures of held-out classes: probabilities, ranking, mistakes, and regions where there are two inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from credo import plots
from credo.io.preparation.scale import is_sparse
from credo.plots import shorten
from credo.report import _class_facts as facts
from credo.report import _class_sentences as sentences
from credo.report._figures import Figure, figure
from credo.report._inputs import sources, with_names
from credo.selection import HeldOut

_SQUARE = (4.7, 3.7)
# The side of a confusion matrix grows with its classes, up to what a page holds.
_INCHES_A_CLASS, _TALLEST = 0.34, 9.0
_MAX_POINTS = 500


def held_out_figures(held: HeldOut, *, target: str) -> list[Figure]:
    """Reliability, ROC of two classes, and confusion of the selected model."""
    found = facts.predicted(held)
    names = [facts.called(label, target) for label in found.classes.tolist()]
    n_classes, table = len(names), found.table
    # Names may be shortened to the same: then the labels themselves stand in the picture.
    shown = names if len(set(names)) == n_classes else found.classes.tolist()
    y = [shown[code] for code in found.codes]
    of = f"of {names[1]}" if n_classes == 2 else "of the predicted class"
    figures = [
        figure(
            "reliability",
            "Are the probabilities calibrated?",
            lambda ax: plots.reliability(y, table, classes=shown, ax=ax),
            sentences.reliability(facts.calibration(held)),
            f"Held-out rows grouped by the predicted probability {of}: observed frequency with its 95 % interval. "
            "Calibrated: on the diagonal.",
            size=_SQUARE,
        )
    ]
    if n_classes == 2:
        figures.append(
            figure(
                "roc",
                f"How well are {names[1]} and {names[0]} separated?",
                lambda ax: plots.roc(y, table, classes=shown, ax=ax),
                sentences.area(*facts.area(held), first=names[0], second=names[1]),
                "ROC curve: true against false positive rate for every threshold. Guessing: the diagonal. Perfect: "
                " the upper left corner.",
                size=_SQUARE,
            )
        )
    side = min(_TALLEST, max(_SQUARE[1], 1.6 + _INCHES_A_CLASS * n_classes))
    figures.append(
        figure(
            "confusion",
            "Which classes are confused?",
            lambda ax: plots.confusion(held.y, found.classes[found.named], classes=found.classes.tolist(), ax=ax),
            sentences.confusion(facts.confusion(held, target)),
            "Confusion matrix of held-out rows: actual class (rows) by predicted class (columns), shaded by the share "
            "of the row. Correct predictions are on the diagonal.",
            size=(max(_SQUARE[0], side), side),
        )
    )
    return figures


def regions_figure(model: Any, frame: Any, y: NDArray[Any], *, target: str) -> Figure | None:
    """The probabilities over two measured inputs, where the model has no others."""
    columns = sources(model)
    if columns is None or len(columns) != 2 or len(set(columns)) != 2:
        return None
    X = model.preparation_.transform(frame)
    if is_sparse(X) or min(len(np.unique(column)) for column in X.T) < 3:
        return None
    names = [shorten(name) for name in model.preparation_.get_feature_names_out()]
    plane = _Natural(model, X, [facts.called(label, target) for label in model.classes_.tolist()])
    labels = plane.classes_[np.searchsorted(model.classes_, y)]
    return figure(
        "regions",
        "Where are the decision boundaries?",
        lambda ax: plots.decision_regions(plane, plane.rows, labels, names=names, max_points=_MAX_POINTS, ax=ax),
        sentences.regions(*names),
        "Model fitted to all rows. Stronger colour: higher probability of that class. Line: two classes equally "
        "probable. Marks: the rows.",
        size=_SQUARE,
    )


def line_figure(model: Any, frame: Any, y: NDArray[Any], *, target: str, answer: str) -> Figure:
    """The probability of the second class along the only input, which is measured."""
    name = shorten(model.preparation_.get_feature_names_out()[0])
    called = [facts.called(label, target) for label in model.classes_.tolist()]
    axis = _Natural(model, model.preparation_.transform(frame), called)
    labels = axis.classes_[np.searchsorted(model.classes_, y)]
    has_band = hasattr(axis.estimator, "proba_interval")
    band = " Band: 95 % interval." if has_band else ""
    return figure(
        "line",
        f"How does the probability change with {name}?",
        lambda ax: plots.sigmoid(axis, axis.rows, labels, name=name, max_points=_MAX_POINTS, ax=ax),
        answer,
        f"Model fitted to all rows, which are drawn below 0 or above 1 by their class.{band} The predicted class "
        "changes at 0.5.",
    )


class _Natural(ClassifierMixin, BaseEstimator):
    """A fitted estimator of prepared columns, asked in their units before they were scaled, with named classes."""

    def __init__(self, model: Any, X: Any, names: list[str]) -> None:
        self.estimator, preparation = model.estimator_, model.preparation_
        scaled = preparation.standardize
        self.n_features_in_ = X.shape[1]
        self.center = np.asarray(preparation.center_) if scaled else np.zeros(self.n_features_in_)
        self.scale = np.asarray(preparation.scale_) if scaled else np.ones(self.n_features_in_)
        # Names may be shortened to the same: then the labels themselves stand in the picture.
        self.classes_ = np.array(names) if len(set(names)) == len(names) else model.classes_
        self.rows = np.asarray(X) * self.scale + self.center

    def fit(self) -> Any:
        """Nothing to learn."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """The class probabilities at rows in their own units."""
        return np.asarray(self.estimator.predict_proba(self._rows(rows)))

    @available_if(lambda self: hasattr(self.estimator, "proba_interval"))
    def proba_interval(self, rows: Any, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends of their intervals."""
        lower, upper = self.estimator.proba_interval(self._rows(rows), level)
        return lower, upper

    def _rows(self, rows: Any) -> Any:
        return with_names(self.estimator, (np.asarray(rows) - self.center) / self.scale)
