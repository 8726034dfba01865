"""A preparation and an estimator as one model of tables, and predictions as data frames.

The summary of a linear estimator is in the units of the columns before they were standardized:

    y = b + Σ wⱼ (xⱼ − cⱼ)/sⱼ  =  (b − Σ wⱼcⱼ/sⱼ) + Σ (wⱼ/sⱼ) xⱼ
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from numbers import Real
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import ClassifierTags, RegressorTags, Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from credo.core.estimator import (
    INTERCEPT,
    Curve,
    Description,
    Effect,
    FittedState,
    column_names,
    describe,
    effects_of,
    has_column_names,
    in_words,
    is_sparse,
    linear_effects,
    unmasked,
)
from credo.core.frames import Table
from credo.core.notices import collected, warn
from credo.distributions import Bernoulli, Categorical, Distribution, Support
from credo.ensemble import ExposureRegressor
from credo.metrics import final_step, point, predictive
from credo.tables.columns import as_frame, has_names
from credo.tables.encoders import Levels, Numbers, Outside, Scale, Texts
from credo.tables.errors import pandas
from credo.tables.events import Event
from credo.tables.gaps import Gaps
from credo.tables.groups import Groups, for_new
from credo.tables.preparation import Alternatives, Preparation, WithoutExposure
from credo.tables.shift import Shift
from credo.tables.target import class_order, split_target

_SCALED = ("estimate", "sd", "lower", "upper")


def in_original_units(model: Any, preparation: Preparation | WithoutExposure, *, level: float) -> Table:
    """The model's summary table, with coefficients per unit of each prepared column."""
    estimator = final_step(model)
    if not hasattr(estimator, "summary"):
        raise AttributeError(f"{type(estimator).__name__} has no summary")
    names = [str(name) for name in preparation.get_feature_names_out()]
    table = estimator.summary(level=level)
    if not has_column_names(estimator):
        table = _named(table, _last_names(model, names))
    if not preparation.standardize:
        return table
    if np.ndim(getattr(estimator, "coef_", ())) == 2 and estimator is model:
        return _of_classes(table, estimator, preparation)
    parameters = list(table.columns.get("parameter", ()))
    weights = parameters[1:] if parameters[:1] == ["intercept"] else parameters
    # With many columns, a summary may leave some out.
    place = {name: j for j, name in enumerate(names)}
    whole = np.shape(getattr(estimator, "coef_", ())) == (len(names),) and place.keys() >= set(weights)
    if estimator is not model or not whole:
        note = "coefficients refer to standardized columns, (x − mean)/sd"
        return replace(table, notes=(*table.notes, note))
    columns = {name: list(values) for name, values in table.columns.items()}
    start, scale = len(parameters) - len(weights), preparation.scale_[[place[name] for name in weights]]
    for name in _known({name: values[start:] for name, values in columns.items()}):
        columns[name][start:] = list(np.asarray(columns[name][start:], dtype=np.float64) / scale)
    if start:
        origin = -preparation.center_ / preparation.scale_
        _move_intercept(columns, estimator, origin, level)
    return replace(table, columns=columns)


def _of_classes(table: Table, estimator: Any, preparation: Preparation | WithoutExposure) -> Table:
    """Coefficients of classes in the units of the columns; a changed intercept has only an estimate."""
    coef = np.asarray(estimator.coef_)
    n_scores, n_names = coef.shape
    with_level = len(table) == n_scores * (n_names + 1)
    if not with_level and len(table) != coef.size:
        return table
    columns = {name: list(values) for name, values in table.columns.items()}
    for name in _known(columns):
        values = np.reshape(np.asarray(columns[name], dtype=np.float64), (n_scores, -1))
        values[:, with_level:] /= preparation.scale_
        if with_level:
            moved = coef @ (preparation.center_ / preparation.scale_)
            values[:, 0] = values[:, 0] - moved if name == "estimate" else np.where(moved == 0, values[:, 0], np.nan)
        columns[name] = values.ravel().tolist()
    for name in {"z", "p"} & columns.keys() if with_level else ():
        columns[name][:: n_names + 1] = [np.nan] * n_scores
    return replace(table, columns=columns)


def _known(columns: dict[str, list[Any]]) -> list[str]:
    """The columns of the summary to rescale; a model without standard deviations has None in theirs."""
    return [name for name in _SCALED if name in columns and None not in columns[name]]


def _last_names(model: Any, names: list[str]) -> list[str]:
    """The names of the columns that reach the last step of a pipeline, if its steps provide them."""
    if isinstance(model, Pipeline):
        with suppress(AttributeError, ValueError):
            return [str(name) for name in model[:-1].get_feature_names_out(names)]
    return names


def _named(table: Table, names: list[str]) -> Table:
    """Column names instead of x0, x1, …, which an estimator uses if an earlier step dropped the names."""
    parameters = list(table.columns.get("parameter", ()))
    plain = {f"x{j}": name for j, name in enumerate(names)}
    # With more than two classes, each has its own, as in "oak: x3".
    parts = [str(parameter).rpartition(": ") for parameter in parameters]
    named = [f"{label}{colon}{plain.get(last, last)}" for label, colon, last in parts]
    return replace(table, columns={**table.columns, "parameter": named} if named else table.columns)


def _move_intercept(columns: dict[str, list[Any]], estimator: Any, origin: NDArray[np.float64], level: float) -> None:
    """Replace the intercept's row by the distribution of f where every prepared column is zero."""
    rows = origin[None, :]
    if has_column_names(estimator):
        rows = pandas().DataFrame(rows, columns=column_names(estimator))
    moved = dict.fromkeys(("sd", "lower", "upper", "t", "p"), np.nan)
    moved["estimate"] = mean = float(estimator.predict(rows)[0])
    # An estimator without intervals in its table has none for the moved intercept either; and without residual
    # degrees of freedom there is no distribution.
    if "upper" in columns:
        with suppress(ValueError), collected():
            dist = estimator.predict_dist(rows, latent=True)
            (lower,), (upper,) = dist.interval(level)
            below = float(dist.cdf(0.0)[0])
            # The ratio of sd to the width of the interval is the same in every row of the table.
            if columns["upper"][0] is None:
                sd = float(dist.std[0])
            else:
                old_half = columns["upper"][0] - columns["estimate"][0]
                sd = columns["sd"][0] * (upper - mean) / old_half if old_half > 0 else 0.0
            moved |= {"sd": sd, "lower": lower, "upper": upper, "p": 2.0 * min(below, 1.0 - below)}
            moved["t"] = mean / sd if sd > 0 else np.nan
    for name, value in moved.items():
        if name in columns and columns[name][0] is not None:
            columns[name][0] = float(value)


# Entries (800 MB) of a dense copy of sparse rows, for an estimator that doesn't accept sparse ones.
_MAX_DENSE_ENTRIES = 10**8
# A prediction doesn't depend on a value that moves it by less than this share of its standard deviation, or a
# probability by less than this; so many rows are tried.
_NEGLIGIBLE, _CHECKED_ROWS = 0.01, 20


def _predicts_classes(model: TableModel) -> bool:
    return model.estimator is not None and is_classifier(model.estimator)


def _of_estimator(name: str, doc: str) -> Any:
    """A property of the fitted estimator inside, or of the last step of a pipeline."""

    def read(model: TableModel) -> Any:
        fitted = vars(model).get("estimator_")
        inner = None if fitted is None else final_step(fitted)
        if inner is None or not hasattr(inner, name):
            raise AttributeError(f"this TableModel has no {name}: its estimator doesn't have it, or isn't fitted")
        return getattr(inner, name)

    return property(read, doc=doc)


class TableModel(FittedState, BaseEstimator):
    """A model that takes tables: a preparation of columns, and an estimator of the prepared numbers.

    With a classifier inside, it has `classes_` and `predict_proba`, and `predict` gives labels. Predictions
    for rows with a level that is not in the training data average over the levels, weighted by their frequency.

    Parameters
    ----------
    preparation : Preparation, optional
        By default one that standardizes the columns.
    estimator : regressor or classifier
        A Credo estimator, or a pipeline that ends in one.
    target : str, optional
        Name of the predicted column. It is never used as a predictor.
    support : Support, optional
        The possible values of the target: predictions are distributions of these, so that no interval contains another.
    groups : Groups, optional
        The units with several rows each, such as patients, that are known: what their other rows say about a new one.
    gaps : Gaps, optional
        How much wider or narrower predictions are for rows with missing values.
    event : Event, optional
        For a target of times until an event: the column that says whether it was observed.

    Attributes
    ----------
    preparation_, estimator_ : the fitted clones
    log_evidence_, evidence_method_, evidence_base_, result_, classes_ : those of the estimator, if it has them
    log_likelihood_, n_parameters_, n_observations_ : likewise

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import Preparation, TableModel
    >>> from credo.linear import LinearRegression
    >>> table = pd.DataFrame({"dose": [1.0, 2.0, 3.0, 4.0], "growth": [2.1, 3.9, 6.1, 7.9]})
    >>> model = TableModel(Preparation(), LinearRegression(), "growth").fit(table)
    >>> model.predict(pd.DataFrame({"dose": [5.0]})).round(1)
    array([9.9])
    """

    preparation_: Preparation
    estimator_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        preparation: Preparation | None = None,
        estimator: Any = None,
        target: str | None = None,
        support: Support | None = None,
        groups: Groups | None = None,
        gaps: Gaps | None = None,
        event: Event | None = None,
    ) -> None:
        self.preparation = preparation
        self.estimator = estimator
        self.target = target
        self.support = support
        self.groups = groups
        self.gaps = gaps
        self.event = event

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        if _predicts_classes(self):
            inner = get_tags(self.estimator).classifier_tags
            tags.estimator_type, tags.classifier_tags = "classifier", inner or ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """One line, without the preparation, which may hold the form of every column."""
        named = "" if self.target is None else f", target={self.target!r}"
        return f"TableModel(estimator={' '.join(repr(self.estimator).split())[:N_CHAR_MAX]}{named})"

    def _check_state(self) -> None:
        """Raise a ValueError if state from a file can't be that of a fit."""
        width = getattr(self.estimator_, "n_features_in_", None)
        names = len(self.preparation_.get_feature_names_out())
        if not isinstance(self.estimator_, BaseEstimator) or not hasattr(self.estimator_, "predict"):
            raise ValueError("estimator_ can't predict")
        if is_classifier(self.estimator_) != _predicts_classes(self) or width not in (None, names):
            raise ValueError(f"estimator_ doesn't match preparation_, which gives {names} columns")

    def fit(self, X: Any, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the preparation and then the estimator.

        Parameters
        ----------
        X : data frame
        y : array of shape (n_rows,), optional
            The target; by default the column `target` of the frame, without rows in which it is missing.
        sample_weight : array of shape (n_rows,), optional
        """
        if self.estimator is None:
            raise ValueError("TableModel needs an estimator, as in TableModel(Preparation(), LinearRegression())")
        table, targets = self._split(as_frame(X), y)
        check_consistent_length(table, targets, None if isinstance(sample_weight, Real) else sample_weight)
        preparation = Preparation(standardize=True) if self.preparation is None else clone(self.preparation)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        events = {} if self.event is None else {"event": self.event.observed(as_frame(X).loc[table.index])}
        # Censored times say too little about the levels of a category.
        known = None if self.event is not None else targets.astype(str) if _predicts_classes(self) else targets
        rows = preparation.fit_transform(table, known, **weights)
        estimator = clone(self.estimator)
        rows = rows_for(estimator, rows, preparation.get_feature_names_out())
        start = perf_counter()
        groups = {"column_groups": preparation.groups()} if has_fit_parameter(estimator, "column_groups") else {}
        estimator.fit(rows, targets, **weights, **groups, **events)
        self._fit_seconds = perf_counter() - start
        self.preparation_, self.estimator_ = preparation, estimator
        self.n_features_in_ = preparation.n_features_in_
        self.feature_names_in_ = preparation.feature_names_in_
        return self

    @classmethod
    def of_fitted(
        cls,
        preparation: Preparation,
        estimator: Any,
        target: str | None,
        seconds: float,
        support: Support | None = None,
        event: Event | None = None,
    ) -> Self:
        """The model of a fitted preparation and an estimator that was fitted to its columns."""
        found = cls(clone(preparation), clone(estimator), target, support, event=event)
        found.preparation_, found.estimator_, found._fit_seconds = preparation, estimator, seconds
        found.n_features_in_, found.feature_names_in_ = preparation.n_features_in_, preparation.feature_names_in_
        return found

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predicted means, optionally with their spread; for a classifier, the most probable labels.

        Parameters
        ----------
        X : data frame with the columns that were fitted
        return_std, return_cov : bool, default False
            As in the estimator's `predict`.
        """
        if (return_std or return_cov) and _predicts_classes(self):
            raise ValueError("labels have no standard deviation; predict_proba gives the probability of each")
        rows, unknown = self._rows(X)
        if return_std or ((self._is_limited or self.groups or self.gaps) and not return_cov):
            dist = self._dist(rows, unknown, X)
            return (dist.mean, dist.std) if return_std else point(dist)
        if unknown is None:
            return self.estimator_.predict(rows, return_cov=True) if return_cov else self.estimator_.predict(rows)
        if return_cov:
            rows = "rows with levels that are not in the training data"
            raise ValueError(f"return_cov is not available for {rows}; use return_std=True or predict_dist")
        base = self.estimator_.predict(rows)
        if not _predicts_classes(self):
            return unknown.average(base, unknown.parts(self.estimator_.predict))
        if hasattr(self.estimator_, "predict_proba"):
            base[unknown.rows] = self.classes_[self._probabilities(rows, unknown)[unknown.rows].argmax(axis=1)]
        return base

    def predict_dist(self, X: Any) -> Distribution:
        """The predictive distribution of a new observation at each row.

        For a row with a level that is not in the training data, it is a mixture over the levels.
        """
        return self._dist(*self._rows(X), X)

    @available_if(_predicts_classes)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each label, in the order of `classes_`: shape (n_rows, n_classes)."""
        return self._probabilities(*self._rows(X))

    def outside(self, X: Any) -> Outside:
        """Which rows lie outside the training data, and why; see `Preparation.outside`.

        Columns on which the predictions of these rows don't depend are ignored.
        """
        check_is_fitted(self)
        table = self._without_target(as_frame(X)) if has_names(X) else as_frame(X)
        found = self.preparation_.outside(table)

        def is_unused(name: str) -> bool:
            rows = self.preparation_.encoder(name).outside(table[name])[0]
            return not self._depends_on(name, table.iloc[rows[:_CHECKED_ROWS]])

        unused = [name for name in found.columns if is_unused(name)]
        return self.preparation_.outside(table, unused=unused) if unused else found

    def shift(self, X: Any) -> Shift | None:
        """Whether new rows, as a whole, are like the training rows, and in which columns; see `Preparation.shift`.

        Columns on which the predictions don't depend are not named. Of units with several
        rows, such as patients, one row of each is compared.
        """
        check_is_fitted(self)
        table = self.one_of_each(self._without_target(as_frame(X)) if has_names(X) else as_frame(X))
        found = self.preparation_.shift(table, units=self.n_units)
        if found is None:
            return None
        some = table.iloc[np.linspace(0, len(table) - 1, min(len(table), _CHECKED_ROWS)).astype(np.intp)]
        return replace(found, differences=tuple(d for d in found.differences if self._depends_on(d.column, some)))

    @property
    def n_units(self) -> int | None:
        """The number of known units, such as patients; None if rows are their own units."""
        return None if self.groups is None else len(self.groups.names)

    def one_of_each(self, table: Any) -> Any:
        """The first row of each unit, such as a patient, whose rows are alike; all rows without such units."""
        if self.groups is None or self.groups.column not in table.columns:
            return table
        return table[~table[self.groups.column].astype(str).duplicated()]

    def _depends_on(self, name: str, rows: Any) -> bool:
        """Whether other known values of a column would change the predictions of rows."""
        # Words are judged together, and new texts have none of them.
        if isinstance(self.preparation_.encoder(name), Texts):
            return True
        with collected():
            known = self._numbers(self.for_estimator(self.preparation_.with_known(rows, name)))
            own = self._numbers(self.for_estimator(self.preparation_.transform(rows)))
        times = len(known) // len(own)
        unit = _NEGLIGIBLE * (1.0 if _predicts_classes(self) else np.repeat(own[:, -1:], times, axis=0))
        return bool((np.abs(known - np.repeat(own, times, axis=0)) > unit).any())

    def _numbers(self, rows: Any) -> NDArray[np.float64]:
        """What is predicted for prepared rows: the mean and the standard deviation, or the probabilities."""
        if _predicts_classes(self):
            return np.asarray(self.estimator_.predict_proba(rows), dtype=np.float64)
        dist = predictive(self.estimator_, rows)
        return np.column_stack([dist.mean, dist.std])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R² of the predictions; for a classifier, the accuracy."""
        measure = accuracy_score if _predicts_classes(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def summary(self, *, level: float = 0.95) -> Table:
        """The estimator's summary; coefficients are in the units of the prepared columns, before any scaling."""
        check_is_fitted(self)
        if not isinstance(self.estimator_, ExposureRegressor):
            return in_original_units(self.estimator_, self.preparation_, level=level)
        found = in_original_units(self.estimator_.estimator_, self.without_exposure, level=level)
        return replace(found, title=self._words())

    def describe(self, *, level: float = 0.95) -> Description:
        """The estimator's description, with effects in the units of the prepared columns; its curve takes tables."""
        check_is_fitted(self)
        found, inner = describe(self.estimator_, level=level), self.estimator_
        names = tuple(map(str, self.without_exposure.get_feature_names_out()))
        if isinstance(inner, ExposureRegressor):
            inner = inner.estimator_
        # The last step of a pipeline has columns of its own.
        columns = found.columns if isinstance(inner, Pipeline) else names
        effects = found.effects
        if found.selects:
            effects = self._unscaled(found, names)
        elif effects:
            effects = effects_of(self.summary(level=level), columns if len(found.coefficients()[0]) else ())
        own = found.curve
        curve = None if own is None else Curve(own.model, lambda table: own.prepare(self._rows(table)[0]))
        inputs = tuple(zip(columns, (value for _, value in found.inputs), strict=False))
        terms = found.terms if isinstance(inner, Pipeline) else tuple(map(self._in_table_units, found.terms))
        return replace(found, columns=columns, effects=effects, inputs=inputs, curve=curve, terms=terms)

    @property
    def without_exposure(self) -> Preparation | WithoutExposure:
        """The preparation without the column of the exposure, whose effect is known."""
        exposure = self.preparation_.exposure
        return self.preparation_ if exposure is None else WithoutExposure(self.preparation_)

    def _in_table_units(self, curve: Any) -> Any:
        """A term of an additive model as a function of the columns of the table, with levels in their order."""
        preparation, points, rug = self.preparation_, {}, curve.rug
        encoders = {one.name: one for one in preparation.encoders_}
        names, order = preparation.get_feature_names_out().tolist(), np.arange(len(curve.mean))
        for name, values in curve.points.items():
            encoder, points[name] = encoders.get(name), values
            if isinstance(encoder, Levels) and not isinstance(encoder, Scale):
                points[name] = np.where(values == "reference", encoder.reference or "other", values)
                place = {level: i for i, level in enumerate(encoder.order)}
                if len(curve.points) == 1:
                    order = np.argsort([place.get(level, len(place)) for level in points[name].tolist()], kind="stable")
            elif preparation.standardize and name in names:
                j = names.index(name)
                points[name], rug = (preparation.center_[j] + preparation.scale_[j] * part for part in (values, rug))
            if isinstance(encoder, Numbers) and encoder.words is not None and curve.is_of_levels:
                words = {number: word for word, number in encoder.words.items()}
                points[name] = np.array([words.get(round(value), value) for value in points[name].tolist()])
        points = {name: values[order] for name, values in points.items()}
        return replace(
            curve, points=points, rug=rug, mean=curve.mean[order], covariance=curve.covariance[np.ix_(order, order)]
        )

    def _words(self) -> str:
        return in_words(self.estimator_)

    def _unscaled(self, found: Description, names: tuple[str, ...]) -> tuple[Effect, ...]:
        """All coefficients of y = b + Σ wⱼ (xⱼ − cⱼ)/sⱼ in terms of x; a summary leaves out those that are zero."""
        scaled, preparation = self.preparation_.standardize, self.without_exposure
        n = len(names)
        scale, center = (preparation.scale_, preparation.center_) if scaled else (np.ones(n), np.zeros(n))
        coef, lower, upper = (part / scale for part in found.coefficients())
        level = np.array([effect.estimate for effect in found.effects if effect.kind == INTERCEPT])
        intervals = None if np.isnan(lower).any() or len(lower) > 1 else (lower[0], upper[0])
        labels = self.classes_ if len(coef) > 1 else ()
        return linear_effects(
            names, coef, level - coef @ center if len(level) else None, classes=labels, intervals=intervals
        )

    @property
    def fit_seconds(self) -> float | None:
        """How long the estimator's own fit took, without the preparation; None if the model was loaded from a file."""
        return vars(self).get("_fit_seconds")

    log_evidence_ = _of_estimator("log_evidence_", "The estimator's log evidence.")
    evidence_method_ = _of_estimator("evidence_method_", "How the log evidence was computed.")
    evidence_base_ = _of_estimator("evidence_base_", "What the log evidence conditions on.")
    result_ = _of_estimator("result_", "How the estimator's fit ended.")
    classes_ = _of_estimator("classes_", "The labels of a classifier.")
    log_likelihood_ = _of_estimator("log_likelihood_", "The log likelihood at the estimate.")
    n_parameters_ = _of_estimator("n_parameters_", "The number of free parameters.")
    n_observations_ = _of_estimator("n_observations_", "The number of observations, weights counted.")

    def unlimited(self) -> Self:
        """The same model of all real numbers, for which every unit is new."""
        return self.of_fitted(self.preparation_, self.estimator_, self.target, self.fit_seconds or 0.0)

    @property
    def _is_limited(self) -> bool:
        """Whether there are numbers that the target can't be."""
        return self.support is not None and not self.support.is_real_line and not _predicts_classes(self)

    def _dist(self, rows: Any, unknown: Alternatives | None, X: Any) -> Distribution:
        dist = predictive(self.estimator_, rows)
        if unknown is not None:
            dist = unknown.mixture(dist, unknown.parts(lambda part: predictive(self.estimator_, part)))
        if self.gaps is not None:
            dist = self.gaps.given(dist, self.preparation_.missing(self._without_target(as_frame(X))))
        if self.groups is not None and has_names(X) and self.groups.column in as_frame(X).columns:
            dist = self.groups.given(dist, as_frame(X)[self.groups.column])
        return self.support.limit(dist) if self.support is not None and self._is_limited else dist

    def _probabilities(self, rows: Any, unknown: Alternatives | None) -> NDArray[np.float64]:
        probs = np.asarray(self.estimator_.predict_proba(rows))
        return probs if unknown is None else unknown.average(probs, unknown.parts(self.estimator_.predict_proba))

    def _split(self, table: Any, y: ArrayLike | None) -> tuple[Any, Any]:
        if y is None:
            if self.target is None:
                advice = "give y, or name its column, as in TableModel(preparation, estimator, 'price')"
                raise ValueError(f"TableModel requires y to be passed, but the target y is None: {advice}")
            task = "classification" if _predicts_classes(self) else "regression"
            rest, targets, notes = split_target(table, self.target, task=task)
            rest = self._without_target(rest)
            for note in notes:
                warn(note, stacklevel=3)
            return rest, targets
        return self._without_target(table), np.asarray(unmasked(y, name="y"))

    def _without_target(self, table: Any) -> Any:
        known = {self.target, None if self.event is None else self.event.column}
        return table.drop(columns=[name for name in table.columns if name in known])

    def _rows(self, X: Any) -> tuple[Any, Alternatives | None]:
        """The prepared rows, and the alternatives for those with unknown levels."""
        check_is_fitted(self)
        table = self._without_target(as_frame(X)) if has_names(X) else X
        rows = self.for_estimator(self.preparation_.transform(table))
        found = self.preparation_.alternatives(table)
        if found is not None:
            matrices = found.matrices
            found = replace(found, matrices=lambda: map(self.for_estimator, matrices()))
        return rows, found

    def for_estimator(self, rows: Any) -> Any:
        return rows_for(self.estimator_, rows, self.preparation_.get_feature_names_out())


def rows_for(estimator: Any, rows: Any, names: NDArray[Any]) -> Any:
    """The rows as the estimator takes them: with names when dense, and dense when it can't take them sparse."""
    if not is_sparse(rows):
        return pandas().DataFrame(rows, columns=list(names))
    if get_tags(estimator).input_tags.sparse:
        return rows
    n_rows, n_columns = rows.shape
    if n_rows * n_columns > _MAX_DENSE_ENTRIES:
        size = f"{n_rows:,} rows of {n_columns:,} columns don't fit in memory"
        advice = "lower max_words of the preparation, or use an estimator that accepts sparse rows"
        raise ValueError(f"{type(estimator).__name__} needs dense rows, but {size}: {advice}")
    return pandas().DataFrame(rows.toarray(), columns=list(names))


def predictions(model: Any, rows: Any, *, level: float = 0.95, quantiles: Sequence[float] = ()) -> Any:
    """The predictions of a fitted model for the rows of a table, as a data frame.

    For numbers: mean, std, lower, upper, and the quantiles, such as q0.05. For classes: predicted, and a probability
    for each class, such as p(spam). A model that knows its training range also gives `outside`, which names values
    outside of it and is empty otherwise. If units such as patients have several rows, `known patient` says whether that
    of a row is known: then all these are predictions from its other rows too, and new_lower and new_upper are the
    interval of a new patient.
    """
    classes = final_step(model).classes_.tolist() if is_classifier(model) else ()
    dist = predictive(model, rows)
    frame = distribution_frame(dist, level=level, classes=classes, quantiles=quantiles)
    if isinstance(model, TableModel) and model.event is not None:
        # The mean of times depends on a tail that censored rows say little about.
        frame.insert(0, "median", dist.quantile(0.5))
    if isinstance(model, TableModel):
        if model.groups is not None and model.groups.column in as_frame(rows).columns:
            place = frame.columns.get_loc("upper") + 1
            for i, (name, end) in enumerate(
                zip(("new_lower", "new_upper"), for_new(dist).interval(level), strict=True)
            ):
                frame.insert(place + i, name, end)
            frame[f"known {model.groups.column}"] = model.groups.knows(as_frame(rows)[model.groups.column])
        frame["outside"] = model.outside(rows).reasons
    return frame.set_axis(rows.index, axis=0) if isinstance(rows, pandas().DataFrame) else frame


def table_predictions(
    model: Any, table: Any, *, level: float = 0.95, quantiles: Sequence[float] = (), start: int = 0
) -> Any:
    """The predictions for a table that was read, with the numbers of its rows and the columns that identify them.

    The target isn't used if the table has it; `start` rows were read before this part of the table.
    """
    known = isinstance(model, TableModel)
    frame = table.drop(columns=[model.target]) if known and model.target in table.columns else table
    found = predictions(model, frame, level=level, quantiles=quantiles)
    for column in reversed(model.preparation_.columns_ if known else []):
        if column.kind == "identifier" and column.name in frame.columns and column.name not in found.columns:
            found.insert(0, column.name, frame[column.name])
    found.insert(0, "row", [start + int(label) + 1 for label in frame.index])
    return found


def distribution_frame(dist: Any, *, level: float, classes: Sequence[Any] = (), quantiles: Sequence[float] = ()) -> Any:
    """A predictive distribution as columns of a data frame."""
    pd = pandas()
    if isinstance(dist, Bernoulli | Categorical):
        table = dist.probs if isinstance(dist, Categorical) else np.column_stack([1 - dist.probs, dist.probs])
        labels = np.asarray(classes or (dist.classes if isinstance(dist, Categorical) else (0, 1)))
        columns: dict[str, Any] = {"predicted": labels[table.argmax(axis=1)]}
        place = {label: k for k, label in enumerate(labels.tolist())}
        columns |= {f"p({label})": table[:, place[label]] for label in class_order(labels) or place}
        return pd.DataFrame(columns)
    lower, upper = dist.interval(level)
    columns = {"mean": point(dist), "std": dist.std, "lower": lower, "upper": upper}
    return pd.DataFrame(columns | {f"q{q:.12g}": dist.quantile(q) for q in quantiles})
