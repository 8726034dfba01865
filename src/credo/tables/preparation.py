"""`Preparation`, a scikit-learn transformer of frames.

Predictions for rows with unknown levels average over the levels of the training data:

    p(y | x) = Σ_k w_k p(y | x with level k)

For one unknown column, w are the training frequencies of its levels. If several columns of a row are unknown, their
levels are replaced together by combinations that occur in the training data. There are at most 30 terms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_n_features, _check_sample_weight, check_is_fitted

from credo.core.estimator import FittedState, center_and_scale, named_by, positive_integer
from credo.core.fields import Axes, If, NonNegative, NotEmpty, Positive, Size
from credo.core.notices import collected, warn
from credo.core.wording import plural, quoted, shown
from credo.distributions import Bernoulli, Categorical, Distribution, Mixture
from credo.tables.columns import (
    amounts,
    as_frame,
    finite_columns,
    has_names,
    missing_columns,
    present_mask,
    signs_of,
    unique_names,
    without_words,
)
from credo.tables.effects import FoldEffects, effect_names, level_effects, plain_target, scores
from credo.tables.encoders import Days, Encoder, Levels, Numbers, Outside, Texts
from credo.tables.errors import ColumnError, TableWarning, nearest
from credo.tables.kinds import KINDS, SYNONYMS, Column, Form, days_since
from credo.tables.learn import Learner
from credo.tables.shift import Counts, Shift, shift
from credo.tables.time_order import may_be_time, regular_times

Array = NDArray[np.float64]

# Quantiles that bound the bulk of a column, and how many standard deviations beyond it a value may lie.
_BULK_QUANTILES, _MARGIN_STDS = (0.001, 0.999), 8.0


def _bounds(dense: Array, exempt: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The lowest and highest value that each column may have; infinite for exempt columns."""
    low, high = np.quantile(dense, _BULK_QUANTILES, axis=0)
    # Halves, because the difference of two huge numbers may overflow.
    margin = np.maximum(high / 2 - low / 2, _MARGIN_STDS * center_and_scale(dense)[1] / 2)
    # In a column with two values, the rare one is not an outlier.
    least, most = dense.min(axis=0), dense.max(axis=0)
    two = ((dense == least) | (dense == most)).all(axis=0)
    low, high = np.where(two, least, low), np.where(two, most, high)
    margin = np.where(two, np.where(least < most, _MARGIN_STDS * (most / 2 - least / 2), np.inf), margin)
    with np.errstate(over="ignore"):
        return np.where(exempt, -np.inf, low - 2 * margin), np.where(exempt, np.inf, high + 2 * margin)


def _clip_notes(dense: Array, lower: Array, upper: Array, names: list[str], index: Any) -> list[str]:
    """A sentence for each column with values that are set to a bound."""
    notes = []
    far = (dense < lower) | (dense > upper)
    for j in np.flatnonzero(far.any(axis=0)):
        rows = np.flatnonzero(far[:, j])
        value = dense[rows[0], j]
        notes.append(
            f"Column {names[j]!r}: {plural(len(rows), 'value')} far outside the others (row {_place(index[rows[0]])}: "
            f"{shown(value)}) counted as {shown(upper[j] if value > upper[j] else lower[j])}."
        )
    return notes


def _place(label: Any) -> Any:
    """The number of a row, counted from 1, or its label."""
    return int(label) + 1 if isinstance(label, int | np.integer) else label


Codes = NDArray[np.intp]

MAX_TERMS = 30
# Terms are predicted together up to this many rows: an ensemble's call for few rows is mostly overhead.
_MAX_ROWS_TOGETHER = 2000


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The rows with unknown levels, and each as it would be in term k of the average.

    `weights` has shape (n_unknown_rows, n_terms); `matrices` yields the prepared rows term by term, several
    terms in each matrix.
    """

    rows: Codes
    weights: Array
    matrices: Callable[[], Iterator[Any]]

    def parts(self, predict: Callable[[Any], Any]) -> Iterator[Any]:
        """The predictions of each term, without warnings, which were given for the original rows."""
        for matrix in self.matrices():
            with collected():
                found = predict(matrix)
            starts = range(0, matrix.shape[0], len(self.rows))
            yield from (found[start : start + len(self.rows)] for start in starts)

    def average(self, base: NDArray[Any], parts: Iterable[NDArray[Any]]) -> Array:
        """Predicted numbers, those of rows with unknown levels averaged over the terms."""
        result = np.array(base, dtype=np.float64)
        total = np.zeros_like(result[self.rows])
        for weight, part in zip(self.weights.T, parts, strict=True):
            total += weight.reshape(-1, *[1] * (total.ndim - 1)) * part
        result[self.rows] = total
        return result

    def mixture(self, base: Distribution, parts: Iterable[Distribution]) -> Distribution:
        """The predictive distribution of all rows, a mixture in rows with unknown levels."""
        components = list(parts)
        if isinstance(base, Bernoulli):
            return Bernoulli(self.average(base.probs, (part.probs for part in components)))  # type: ignore[attr-defined]
        if isinstance(base, Categorical):
            probs = self.average(base.probs, (part.probs for part in components))  # type: ignore[attr-defined]
            return Categorical(probs, base.classes)
        place = np.zeros(len(base), dtype=np.intp)
        place[self.rows] = np.arange(len(self.rows))
        weights = np.zeros((len(base), 1 + len(components)))
        weights[:, 0] = 1.0
        weights[self.rows] = np.column_stack([np.zeros(len(self.rows)), self.weights])
        return Mixture([base, *(part[place] for part in components)], weights)


def representatives(codes: list[Codes], weight: Array) -> tuple[Codes, Array]:
    """At most 30 combinations of codes that represent all rows, a column for each variable, and their weights.

    Up to 30 distinct combinations have their exact frequencies. Otherwise an even sample of the rows, sorted by their
    codes, is used, so that every code nearly keeps its frequency.
    """
    key = np.zeros(len(weight), dtype=np.intp)
    for column in codes:
        # Compressed after every column, so that the keys of many columns don't overflow.
        _, key = np.unique(key * (column.max() + 1) + column, return_inverse=True)
    _, first = np.unique(key, return_index=True)
    share = np.bincount(key, weights=weight) / weight.sum()
    if len(share) > MAX_TERMS:
        levels = (np.arange(MAX_TERMS) + 0.5) / MAX_TERMS
        taken = np.minimum(np.searchsorted(np.cumsum(share), levels), len(share) - 1)
        picked, counts = np.unique(taken, return_counts=True)
        first, share = first[picked], counts / MAX_TERMS
    return np.column_stack([column[first] for column in codes]), np.asarray(share)


def terms(encoders: list[Levels], codes: list[Codes], joint: Codes, joint_weights: Array) -> tuple[list[Codes], Array]:
    """Replacements of the unknown codes of rows that have at least one, and their weights, each (n_rows, n_terms).

    `codes` and the first result have an array for every encoder; `joint` holds the combinations of the training data,
    a column for every encoder.
    """
    unknown = np.column_stack([column == e.unknown for column, e in zip(codes, encoders, strict=True)])
    alone = [representatives([np.arange(e.n_known)], e.frequencies()) for e in encoders]
    several = unknown.sum(axis=1) > 1
    # The largest number of alternatives that any row may have.
    n_terms = max([len(joint), *(len(shares) for _, shares in alone)])
    weights = np.zeros((len(unknown), n_terms))
    weights[several, : len(joint)] = joint_weights
    replaced = []
    for j, (column, (levels, shares)) in enumerate(zip(codes, alone, strict=True)):
        table = np.repeat(column[:, None], n_terms, axis=1)
        both, only = np.flatnonzero(unknown[:, j] & several), np.flatnonzero(unknown[:, j] & ~several)
        # A row with fewer terms is padded with its first, with weight zero.
        for rows, choice in ((both, joint[:, j]), (only, levels[:, 0])):
            table[rows] = np.concatenate([choice, np.repeat(choice[:1], n_terms - len(choice))])
        weights[only, : len(shares)] = shares
        replaced.append(table)
    return replaced, weights


_NONE = np.empty((0, 0), dtype=np.intp), np.empty(0)
_NOT_READ: Mapping[str, NDArray[np.float64]] = {}


class Preparation(FittedState, TransformerMixin, BaseEstimator):
    """Turn the columns of a table into numbers, and note what was done.

    Categories become 0/1 columns for all levels except the most frequent, the reference: a coefficient is the
    difference from it, which is identified even under least squares and a flat prior. (With a column for every
    level, only differences of coefficients are identified, and the interval of each reflects the prior.)
    A category with more than `max_levels` levels has one column: the effect of its level on the target, an intercept
    that is shrunken towards zero where rows are few. If `fit` gets no target, rare levels share a column instead.
    A level that was not seen in `fit` counts as "other" if rare levels share a column. Otherwise its columns hold the
    average of the codings of the levels, weighted by their training frequencies. Both give a warning.

    Parameters
    ----------
    standardize : bool, default False
        Whether every column is scaled to mean 0 and standard deviation 1, so that one prior suits all coefficients.
        Columns of words are scaled but not centered, which keeps them sparse.
    clip : bool, default False
        Whether numbers far outside the bulk of the training rows are set to a bound, so that one extreme value
        can't determine a fit or a prediction. The bounds are the quantiles 0.1 % and 99.9 %, widened by their
        distance or by eight standard deviations, whichever is larger; `notes_` name the values. Dates are not clipped.
    kinds : mapping of column name to kind or Form, optional
        Overrides the detected kind of a column: "number" ("numeric"), "category" ("categorical"), "text" or "date", or
        "identifier" to leave it out. The `forms_` of a fitted preparation make another read its rows in the same way:
        part of a table, such as a fold of cross-validation, may lack the one cell that distinguishes yes, no and maybe
        from yes and no.
    keep_sentinels : bool, default False
        Whether numbers that code missing values, such as a repeated −999 among values from 0 to 30, are used as
        numbers. By default they count as missing, and `notes_` name them; in a column whose kind is given they don't.
    na_words : sequence of str, optional
        Words that count as missing, as for `read_table`.
    exposure : str, optional
        A column of positive numbers, such as time or population, that is neither scaled nor clipped and comes after all
        others but those of words; other values raise an error.
    drop_reference : bool, default True
        Whether the most frequent level of a category has no column.
    max_levels : int, default 30
        Maximum number of columns of one category; with more levels, it has one column with their effects on the target,
        or without a target, rarer levels share one.
    max_words : int, default 1000
        Maximum number of words of one text column.

    Attributes
    ----------
    columns_ : list of Column
        Name, kind, n_missing, n_distinct and a detail of each column of the table; for categories, the levels in
        order (low, medium, high) and whether they are `ordered`.
    forms_ : dict of column name to Form
        How the cells of each column were read.
    notes_ : list of str
        Sentences about what was left out, filled in or decided.
    gap_notes_ : dict of column name to str
        Those of `notes_` about missing values.
    center_, scale_ : arrays of shape (n_features_out,)
        Only with `standardize`: the values subtracted and divided by.
    lower_, upper_ : arrays of shape (n_features_out,)
        Only with `clip`: the bounds; infinite for columns that aren't clipped.
    counts_ : Counts
        How many training rows have values in certain ranges, each level and each word, to compare new rows with; None
        if rows are in time order.
    combinations_, combination_weights_ : arrays of shape (n_combinations, n_categorical) and (n_combinations,)
        Combinations of levels, as codes, that represent those of the training data.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import Preparation
    >>> table = pd.DataFrame({"age": [30, None, 50], "eyes": ["blue", "brown", "brown"]})
    >>> preparation = Preparation().fit(table)
    >>> preparation.get_feature_names_out().tolist()
    ['age', 'eyes=blue']
    >>> preparation.transform(table)
    array([[30.,  1.],
           [40.,  0.],
           [50.,  0.]])
    """

    columns_: list[Column]
    forms_: dict[str, Form]
    notes_: list[str]
    gap_notes_: dict[str, str]
    encoders_: Annotated[list[Encoder], NotEmpty]
    center_: Annotated[NDArray[np.float64], Axes("d"), If("standardize")]
    scale_: Annotated[NDArray[np.float64], Axes("d"), Positive, If("standardize")]
    lower_: Annotated[NDArray[np.float64], Axes("d", finite=False), If("clip")]
    upper_: Annotated[NDArray[np.float64], Axes("d", finite=False), If("clip")]
    counts_: Counts | None
    combinations_: Annotated[NDArray[np.intp], Axes("N C")]
    combination_weights_: Annotated[NDArray[np.float64], Axes("N"), NonNegative]
    n_features_in_: Annotated[int, Size("p")]
    feature_names_in_: Annotated[NDArray[Any], Axes("p")]

    def __init__(
        self,
        *,
        standardize: bool = False,
        clip: bool = False,
        kinds: Mapping[str, str | Form] | None = None,
        keep_sentinels: bool = False,
        na_words: Sequence[str] = (),
        exposure: str | None = None,
        drop_reference: bool = True,
        max_levels: int = 30,
        max_words: int = 1000,
    ) -> None:
        self.standardize = standardize
        self.clip = clip
        self.kinds = kinds
        self.keep_sentinels = keep_sentinels
        self.na_words = na_words
        self.exposure = exposure
        self.drop_reference = drop_reference
        self.max_levels = max_levels
        self.max_words = max_words

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _sizes(self) -> dict[str, int]:
        return {"d": len(self.get_feature_names_out()), "C": len(self._categories())}

    def _check_state(self) -> None:
        # Columns that aren't clipped have infinite bounds.
        if self.clip and not (self.lower_ <= self.upper_).all():
            raise ValueError("lower_ must not be above upper_")
        most = np.array([encoder.unknown for encoder in self._categories()])
        codes = self.combinations_
        if len(most) and not (len(codes) and ((codes >= 0) & (codes <= most)).all()):
            raise ValueError("combinations_ must hold codes of levels")
        if self.counts_ is not None and not self.counts_.match(self.encoders_):
            raise ValueError("counts_ must be those of the encoders")

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the columns' kinds, levels, medians and scales.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), dict of columns, or array
        y : array of shape (n_rows,), optional
            The target: numbers, or classes as text. Used only for categories of more than `max_levels` levels.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows in medians, frequencies, means and standard deviations.
        """
        self._fit(without_words(as_frame(X), self.na_words), y, sample_weight)
        return self

    def _fit(self, table: Any, y: Any, sample_weight: ArrayLike | None) -> dict[str, NDArray[np.float64]]:
        """Learn the columns; returns the numbers and days that were read, of the rows with a weight, and effects."""
        if len(table) == 0 or table.shape[1] == 0:
            raise ColumnError(f"the table is empty: {len(table)} rows and {table.shape[1]} columns")
        weight = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
        target = None if y is None else self._proportional(table, y)[weight > 0]
        table, weight = table[weight > 0], weight[weight > 0]
        if len(table) == 0:
            raise ValueError("every sample_weight is zero, so there is nothing to fit")
        forced = self._forced_forms(table.columns.tolist())
        max_levels = max(2, positive_integer("max_levels", self.max_levels))
        max_words = positive_integer("max_words", self.max_words)
        learner = Learner(
            max_levels, max_words, self.drop_reference, weight, signs_of(table), keep_sentinels=self.keep_sentinels,
            effects=() if target is None or target.ndim > 1 else effect_names(target),
        )  # fmt: skip
        learner.learn_all(table, forced)
        if not learner.encoders:
            left_out = " ".join(learner.notes)
            raise ColumnError(f"there is no usable column, with n_samples = {len(table)}. {left_out}")
        self.columns_, self.forms_ = learner.columns, learner.forms
        self.notes_, self.gap_notes_ = learner.notes, learner.gap_notes
        # Columns of words, which are sparse, come after all others.
        self.encoders_ = sorted(learner.encoders, key=lambda one: (isinstance(one, Texts), one.name == self.exposure))
        _mark_times(self.encoders_, table, learner.values)
        _relate_dates(self.encoders_, learner.values)
        self.n_features_in_ = table.shape[1]
        self.feature_names_in_ = np.array(table.columns.tolist(), dtype=object)
        with collected():
            if learner.many and target is not None:
                learner.values |= self._learn_effects(learner.many, target, table, weight, learner.values)
            categories = self._categories()
            codes = [encoder.codes(table[encoder.name]) for encoder in categories]
            self.combinations_, self.combination_weights_ = representatives(codes, weight) if codes else _NONE
            in_order = any(isinstance(encoder, Numbers | Days) and encoder.times for encoder in self.encoders_)
            self.counts_ = None if in_order else Counts.of(self.encoders_, table)
            if self.clip or self.standardize:
                self._learn_scales(self._dense(table, learner.values), self._words(table), weight, table.index)
        return learner.values

    def _learn_effects(
        self, many: list[str], y: NDArray[Any], table: Any, weight: Array, read: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Learn the effects of categories with many levels; returns those for the rows, by cross-fitting."""
        found = self._fold_effects(table, y)
        own = np.concatenate([np.arange(place.start, place.stop) for place in found.places])
        others = np.delete(self._dense(table, read), own, axis=1)
        effects, without = level_effects(found.codes, found.sizes, scores(y), others, weight)
        learned = dict(zip(many, effects, strict=True))
        self.encoders_ = [
            encoder.with_effects(learned[encoder.name]) if isinstance(encoder, Levels) and encoder.name in learned
            else encoder for encoder in self.encoders_
        ]  # fmt: skip
        return dict(zip(many, without, strict=True))

    def fold_effects(self, X: Any, y: Any) -> FoldEffects | None:
        """What replaces the effects of levels by those that the training rows of a split show; None without any."""
        check_is_fitted(self)
        found = self._fold_effects(as_frame(X), self._proportional(as_frame(X), y))
        return found if found.places else None

    def _proportional(self, table: Any, y: Any) -> NDArray[Any]:
        """The target of the effects of levels, per unit of the exposure if there is one."""
        target = plain_target(y)
        return target if self.exposure is None else target / amounts(table, self.exposure, what="exposure")

    def _fold_effects(self, table: Any, y: NDArray[Any]) -> FoldEffects:
        places = [(one, slice(*own)) for one, own in self._places() if isinstance(one, Levels) and one.effect_names]
        with collected():
            codes = [encoder.codes(table[encoder.name]) for encoder, _ in places]
        sizes, dense = [encoder.n_known + 1 for encoder, _ in places], self._places()[-1][1][1] if places else 0
        return FoldEffects([own for _, own in places], codes, sizes, y, dense)

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, and transform the same rows; warnings are in `notes_`.

        The effects of levels in these rows are those of other rows: unlike `transform`, whose effects of all rows have
        seen their targets.
        """
        table = without_words(as_frame(X), self.na_words)
        read = self._fit(table, y, sample_weight)
        with collected():
            return self._matrix(table, read if sample_weight is None else self._expanded(read, table, sample_weight))

    def _expanded(self, read: Mapping[str, Array], table: Any, sample_weight: ArrayLike) -> dict[str, Array]:
        """The effects of levels in all rows, of which those without a weight weren't fitted."""
        kept, found = _check_sample_weight(sample_weight, table, dtype=np.float64) > 0, {}
        for encoder in self._categories():
            if encoder.effect_names:
                found[encoder.name] = encoder.matrix(table[encoder.name])
                found[encoder.name][kept] = read[encoder.name]
        return found

    def transform(self, X: Any) -> Any:
        """The rows as numbers: a float64 array, or a CSR array if a column is text.

        Parameters
        ----------
        X : data frame with the columns that were fitted, in any order; others are ignored with a warning

        Raises
        ------
        ColumnError
            If a column is missing, or holds a value of another kind than in `fit`; the message names the row.
        """
        table = self._table(X)
        known = set(self.feature_names_in_)
        extra = [name for name in table.columns.tolist() if name not in known]
        if extra:
            warn(TableWarning(f"ignored columns that are not in the training data: {quoted(extra)}"), stacklevel=2)
        signs = signs_of(table)
        for encoder in self.encoders_:
            if isinstance(encoder, Numbers) and (changed := encoder.changed_sign(signs, table)) is not None:
                warn(TableWarning(changed), stacklevel=2)
        return self._matrix(table)

    def with_dates(self, X: Any) -> Any:
        """The table with its dates as datetime64, so that other preparations needn't parse them.

        >>> table = {"day": ["31.1.2024", "29.2.2024", "31.3.2024"], "load": [1.0, 3.0, 2.0]}
        >>> Preparation().fit(table).with_dates(table)["day"].dt.month.tolist()
        [1, 2, 3]
        """
        table = self._table(X)
        days = [encoder for encoder in self.encoders_ if isinstance(encoder, Days)]
        return table.assign(**{encoder.name: encoder.timestamps(table[encoder.name]) for encoder in days})

    def missing(self, X: Any) -> NDArray[np.bool_]:
        """Which cells are missing, of the columns in which cells of the training data are.

        >>> table = {"age": [30, None, 50], "eyes": ["blue", "brown", "brown"]}
        >>> Preparation().fit(table).missing({"age": [None, 20], "eyes": [None, "blue"]})
        array([[ True],
               [False]])
        """
        table = self._table(X)
        missing = np.zeros((len(table), 0), dtype=bool)
        for encoder in self.encoders_:
            if not isinstance(encoder, Texts) and encoder.had_missing:
                column = table[encoder.name]
                gone = ~present_mask(column) if isinstance(encoder, Levels) else ~np.isfinite(encoder.values(column))
                missing = np.column_stack([missing, gone])
        return missing

    def related_dates(self) -> dict[str, str]:
        """The columns of dates that are counted from an earlier date of their row, with that column."""
        check_is_fitted(self)
        dates = [encoder for encoder in self.encoders_ if isinstance(encoder, Days)]
        return {encoder.name: encoder.since for encoder in dates if encoder.since is not None}

    def outside(self, X: Any, *, unused: Collection[str] = ()) -> Outside:
        """Which rows lie outside the training data, and why.

        A number or a date is outside if it is beyond the range of the training rows by more than a tenth of the
        range's width, or in a column of times (see `time_column`) by more than all of it: until then it is a forecast.
        A category is outside if its level was not seen in `fit`.

        Parameters
        ----------
        X : data frame with the columns that were fitted
        unused : names of columns to ignore

        Returns
        -------
        Outside
            `.rows` (a boolean array), `.reasons` (a text for each row), `.columns` and `.note()`.

        Examples
        --------
        >>> preparation = Preparation().fit({"year": list(range(1871, 1971)), "flow": [1.0, 2.0] * 50})
        >>> found = preparation.outside({"year": [1900, 1972, 3000], "flow": [1.0, 1.5, 2.0]})
        >>> found.rows.tolist(), found.reasons[2]
        ([False, False, True], 'year = 3000 (training: 1871 to 1970)')
        >>> found.forecasts
        {'year': '1 row with year 1972 to 1972 (training: 1871 to 1970)'}
        """
        table = self._table(X)
        # Predictions are proportional to an exposure.
        used = [encoder for encoder in self.encoders_ if encoder.name not in (*unused, self.exposure)]
        found = {encoder.name: encoder.outside(table[encoder.name]) for encoder in used}
        ahead = {e.name: e.forecast(table[e.name]) for e in used if isinstance(e, Numbers | Days)}
        reasons: list[list[str]] = [[] for _ in range(len(table))]
        for rows, texts in found.values():
            for i, text in zip(rows.tolist(), texts, strict=True):
                reasons[i].append(text)
        counts = {name: len(rows) for name, (rows, _) in found.items() if len(rows)}
        is_outside = np.array([bool(parts) for parts in reasons], dtype=bool)
        forecasts = {name: phrase for name, phrase in ahead.items() if phrase is not None}
        return Outside(is_outside, ["; ".join(parts) for parts in reasons], counts, forecasts)

    def shift(self, X: Any, *, units: int | None = None) -> Shift | None:
        """Whether new rows, as a whole, are like the training rows, and in which columns they differ.

        With probability 99 % no column is named if both are random samples of the same population. Rows in time order
        resemble those next to them, which such a comparison takes for a difference: then the result is None.

        Parameters
        ----------
        X : data frame with the columns that were fitted
        units : int, optional
            The number of independent units, such as patients, if the training data have several rows of each; X should
            have one row of each.

        Examples
        --------
        >>> seen = Preparation().fit({"dose": [i % 50 / 10 for i in range(100)], "age": [i % 40 for i in range(100)]})
        >>> seen.shift({"dose": [3 + i / 20 for i in range(40)], "age": list(range(40))}).note()
        'As a whole, the 40 rows differ from the training rows (dose above 2.4: 100 %, training 50 %; p < 0.001).'
        """
        table = self._table(X)
        if self.counts_ is None:
            return None
        with collected():
            return shift(self.encoders_, self.counts_, table, units=units)

    def with_known(self, X: Any, name: str) -> Any:
        """Each prepared row with the values of other rows in one column: every known level, or the usual number."""
        table, encoder = self._table(X), self.encoder(name)
        if isinstance(encoder, Texts):
            raise ColumnError(f"column {name!r} is text: its words can't be replaced by a usual one")
        own = {place.name: slice(*at) for place, at in self._places()}[name]
        known = encoder.coding()[: encoder.n_known] if isinstance(encoder, Levels) else encoder.usual()
        rows = np.repeat(np.arange(len(table)), len(known))
        with collected():
            dense, words = self._dense(table)[rows], self._words(table)
        dense[:, own] = np.tile(known, (len(table), 1))
        return self._scaled(dense, None if words is None else words[rows], table.index[rows])

    def encoder(self, name: str) -> Encoder:
        """The encoder of a column that is in use, such as `Days`, whose `dates` can label an axis."""
        check_is_fitted(self)
        known = {encoder.name: encoder for encoder in self.encoders_}
        if name not in known:
            raise ColumnError(missing_columns([name], list(known)))
        return known[name]

    def alternatives(self, X: Any) -> Alternatives | None:
        """The rows with unknown levels, and the alternatives that their predictions average over; None without such
        rows.

        A level is unknown if it was not seen in `fit` and there is no column "other", or if it is missing and none was
        missing in `fit`.
        """
        table, categories = self._table(X), self._categories()
        with collected():
            codes = [encoder.codes(table[encoder.name]) for encoder in categories]
        unknown = [column == encoder.unknown for column, encoder in zip(codes, categories, strict=True)]
        rows = np.flatnonzero(np.any(unknown, axis=0)) if codes else np.empty(0, dtype=np.intp)
        if not len(rows):
            return None
        unknown_codes = [column[rows] for column in codes]
        replaced, weights = terms(categories, unknown_codes, self.combinations_, self.combination_weights_)
        return Alternatives(rows, weights, lambda: self._alternative_rows(table.iloc[rows], replaced))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of each prepared column."""
        check_is_fitted(self)
        names = [name for encoder in self.encoders_ for name in encoder.names()]
        return np.array(unique_names(names)[0], dtype=object)

    def sources(self) -> list[str]:
        """The column of the table that each prepared column comes from."""
        check_is_fitted(self)
        return [str(encoder.name) for encoder in self.encoders_ for _ in encoder.names()]

    def inputs(self) -> list[str]:
        """The input that each prepared column belongs to: a column of the table, or one word of a text column.

        >>> table = {"soil": ["sand", "clay", "peat", "sand"], "said": ["rain at noon", "no rain", "hail", "at noon"]}
        >>> Preparation(kinds={"said": "text"}).fit(table).inputs()[:3]
        ['soil', 'soil', 'said: at']
        """
        names = self.get_feature_names_out().tolist()
        texts = {str(encoder.name) for encoder in self.encoders_ if isinstance(encoder, Texts)}
        return [str(name if column in texts else column) for name, column in zip(names, self.sources(), strict=True)]

    @property
    def exposure_column(self) -> int | None:
        """The position of the exposure among the prepared columns; None without one."""
        return None if self.exposure is None else self.sources().index(self.exposure)

    def groups(self) -> list[str]:
        """A label for each prepared column: the levels of one column, or the words of one text, share theirs."""
        check_is_fitted(self)
        labels: list[str] = []
        for encoder in self.encoders_:
            if isinstance(encoder, Days):
                labels += encoder.groups()
            else:
                names = encoder.names()
                joint = isinstance(encoder, Texts) or (isinstance(encoder, Levels) and not encoder.is_numeric)
                labels += [str(encoder.name)] * len(names) if joint else names
        return labels

    def origins(self) -> dict[str, str]:
        """The column of the table that each column, prepared column and group of prepared columns is from."""
        sources = self.sources()
        names = (sources, map(str, self.get_feature_names_out()), self.groups())
        return {label: source for labels in names for label, source in zip(labels, sources, strict=True)}

    def _forced_forms(self, names: list[str]) -> dict[str, Form]:
        kinds: dict[str, Any] = {
            **(self.kinds or {}),
            **dict.fromkeys([self.exposure] if self.exposure else [], "number"),
        }
        if unknown := sorted(kinds.keys() - set(names)):
            raise ColumnError(f"kinds: {missing_columns(unknown, names)}")
        forms = {
            name: kind if isinstance(kind, Form) else Form(SYNONYMS.get(kind, kind)) for name, kind in kinds.items()
        }
        for name, form in forms.items():
            if form.kind not in KINDS:
                near = nearest(str(form.kind), [*KINDS, *SYNONYMS], most=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                choices = "number, category, text, date or identifier (which leaves it out)"
                raise ValueError(f"column {name!r} can't be read as {form.kind!r}{hint}; choose from {choices}")
        return forms

    def _table(self, X: Any) -> Any:
        """New rows as a frame that has the columns in use."""
        check_is_fitted(self)
        table = without_words(as_frame(X), self.na_words)
        if not has_names(X):
            _check_n_features(self, table, reset=False)
        present = set(table.columns.tolist())
        missing = [encoder.name for encoder in self.encoders_ if encoder.name not in present]
        if missing:
            raise ColumnError(missing_columns(missing, table.columns.tolist()))
        return table

    def _categories(self) -> list[Levels]:
        return [encoder for encoder in self.encoders_ if isinstance(encoder, Levels)]

    def _learn_scales(self, dense: Array, words: Any, weight: Array, index: Any) -> None:
        """Learn bounds, means and standard deviations; columns of words, which are 0 or 1, have no bounds."""
        n_words = 0 if words is None else words.shape[1]
        if self.clip:
            exempt = np.array([
                isinstance(encoder, Days) or encoder.name == self.exposure
                for encoder, own in self._places()
                for _ in range(*own)
            ])  # fmt: skip
            lower, upper = _bounds(dense, exempt)
            self.notes_ += _clip_notes(dense, lower, upper, self.get_feature_names_out().tolist(), index)
            dense = np.clip(dense, lower, upper)
            self.lower_ = np.pad(lower, (0, n_words), constant_values=-np.inf)
            self.upper_ = np.pad(upper, (0, n_words), constant_values=np.inf)
        if self.standardize:
            center, scale = center_and_scale(dense, weight)
            if self.exposure is not None:
                center[self.exposure_column], scale[self.exposure_column] = 0.0, 1.0
            mean = np.zeros(0) if words is None else np.asarray(weight @ words) / weight.sum()
            # For zeros and ones with mean m, sd² = m(1 − m).
            spread = np.sqrt(mean * np.maximum(1.0 - mean, 0.0))
            self.center_ = np.pad(center, (0, n_words))
            self.scale_ = np.concatenate([scale, np.where(spread > 0, spread, 1.0)])

    def _places(self) -> list[tuple[Encoder, tuple[int, int]]]:
        """The encoders of dense columns, with the start and stop of their columns."""
        dense = [encoder for encoder in self.encoders_ if not isinstance(encoder, Texts)]
        ends = np.cumsum([0, *(len(encoder.names()) for encoder in dense)]).tolist()
        return list(zip(dense, pairwise(ends), strict=True))

    def _dense(self, table: Any, read: Mapping[str, NDArray[np.float64]] = _NOT_READ) -> Array:
        """The columns that aren't words; `read` holds values that were read before."""
        places = self._places()
        plain = {encoder.name for encoder, _ in places if isinstance(encoder, Numbers) and encoder.is_plain}
        names, values = finite_columns(table, plain)
        unchanged = dict(zip(names, values.T, strict=True))
        block = np.empty((len(table), places[-1][1][1] if places else 0), order="F")
        for encoder, (start, end) in places:
            name = encoder.name
            if name == self.exposure:
                block[:, start] = amounts(table, name, what="exposure")
            elif name in unchanged:
                block[:, start] = unchanged[name]
            elif isinstance(encoder, Days) and encoder.since is not None:
                earlier = self._since(encoder, table, read)
                block[:, start:end] = encoder.filled(_read(encoder, table, read), earlier)
            elif isinstance(encoder, Numbers | Days) and name in read:
                block[:, start:end] = encoder.filled(read[name])
            elif isinstance(encoder, Levels) and name in read:
                block[:, start:end] = read[name]
            else:
                block[:, start:end] = encoder.matrix(table[name])
        return block

    def _since(self, encoder: Days, table: Any, read: Mapping[str, Array]) -> Array:
        """The date of each row from which another is counted, as days since the origin of that one."""
        other = self.encoder(str(encoder.since))
        assert isinstance(other, Days)
        return _read(other, table, read) + days_since(np.array([other.origin], "datetime64[us]"), _stamp(encoder))

    def _words(self, table: Any) -> Any:
        """The columns of words as a CSR array; None if no column is text."""
        texts = [encoder.matrix(table[encoder.name]) for encoder in self.encoders_ if isinstance(encoder, Texts)]
        return sparse.csr_array(sparse.hstack(texts, format="csr")) if texts else None

    def _alternative_rows(self, table: Any, codes: list[NDArray[np.intp]]) -> Iterator[Any]:
        """The prepared rows with the codes of each term in their categorical columns, several terms at once."""
        with collected():
            dense, words = self._dense(table), self._words(table)
        n_rows, n_terms = codes[0].shape
        places = [(encoder, slice(*own)) for encoder, own in self._places() if isinstance(encoder, Levels)]
        for start in range(0, n_terms, step := max(1, _MAX_ROWS_TOGETHER // n_rows)):
            together = slice(start, min(start + step, n_terms))
            count = together.stop - start
            block = np.tile(dense, (count, 1))
            for (encoder, own), chosen in zip(places, codes, strict=True):
                block[:, own] = encoder.coding()[chosen[:, together].T.ravel()]
            repeated = None if words is None else sparse.vstack([words] * count, format="csr")
            yield self._scaled(block, repeated, np.tile(table.index, count))

    def _matrix(self, table: Any, read: Mapping[str, NDArray[np.float64]] = _NOT_READ) -> Any:
        return self._scaled(self._dense(table, read), self._words(table), table.index)

    def _scaled(self, dense: Array, words: Any, index: Any) -> Any:
        """All columns, clipped and standardized; columns of words are not centered, which keeps them sparse."""
        width = dense.shape[1]
        if self.clip:
            dense = np.clip(dense, self.lower_[:width], self.upper_[:width])
        if self.standardize:
            with np.errstate(over="ignore"):
                result = (dense - self.center_[:width]) / self.scale_[:width]
            if not np.isfinite(result).all():
                row, column = np.argwhere(~np.isfinite(result))[0].tolist()
                place = f"column {self.get_feature_names_out()[column]!r}, row {_place(index[row])}"
                far = f"{shown(dense[row, column])} is too far from the training data for double precision"
                raise ColumnError(f"{place}: {far}; correct it, or leave the field empty")
            dense, words = result, words if words is None else words @ sparse.diags_array(1.0 / self.scale_[width:])
        if words is None:
            return named_by(np.ascontiguousarray(dense), self)
        return named_by(sparse.csr_array(sparse.hstack([sparse.csr_array(dense), words], format="csr")), self)


class WithoutExposure:
    """A fitted preparation without the column of its exposure: the columns whose effects a model learns."""

    def __init__(self, preparation: Preparation) -> None:
        self.preparation, self.standardize = preparation, preparation.standardize
        self.encoders_ = [one for one in preparation.encoders_ if one.name != preparation.exposure]
        self.columns_ = [one for one in preparation.columns_ if one.name != preparation.exposure]
        self._kept = np.flatnonzero(np.array(preparation.sources()) != preparation.exposure)
        if self.standardize:
            self.center_, self.scale_ = preparation.center_[self._kept], preparation.scale_[self._kept]

    def get_feature_names_out(self) -> NDArray[Any]:
        """The names of the prepared columns."""
        return self.preparation.get_feature_names_out()[self._kept]

    def sources(self) -> list[str]:
        """The column of the table that each comes from."""
        return [self.preparation.sources()[j] for j in self._kept]

    def inputs(self) -> list[str]:
        """The input that each belongs to."""
        return [self.preparation.inputs()[j] for j in self._kept]

    def transform(self, X: Any) -> Any:
        """The rows as numbers."""
        return self.preparation.transform(X)[:, self._kept]


def _mark_times(encoders: list[Encoder], table: Any, read: Mapping[str, NDArray[np.float64]]) -> None:
    """Mark the columns of times, in which a value beyond the training rows is a forecast."""
    kinds = dict(zip(table.columns.tolist(), (dtype.kind for dtype in table.dtypes), strict=True))
    for place, encoder in enumerate(encoders):
        name = encoder.name
        if not isinstance(encoder, Numbers | Days) or not may_be_time(name, is_number=kinds[name] in "iuf"):
            continue
        if isinstance(encoder, Numbers) and (encoder.words is not None or kinds[name] == "m"):
            continue
        values = read[name] if name in read else encoder.values(table[name])
        if regular_times(name, values, encoder.origin if isinstance(encoder, Days) else None) is not None:
            encoders[place] = replace(encoder, times=True)


def _read(encoder: Days, table: Any, read: Mapping[str, Array]) -> Array:
    return read[encoder.name] if encoder.name in read else encoder.values(table[encoder.name])


def _stamp(encoder: Days) -> np.datetime64:
    return np.datetime64(encoder.origin, "us")


def _relate_dates(encoders: list[Encoder], read: Mapping[str, Array]) -> None:
    """Count dates from the earliest date of their row if this varies less than they do.

    A linear predictor is as flexible as before, and the difference is a column of its own. Columns of times, which
    forecasts need, stay.
    """
    dates = [encoder for encoder in encoders if isinstance(encoder, Days) and encoder.value]
    if len(dates) < 2:
        return
    days = {one.name: read[one.name] + (_stamp(one) - _stamp(dates[0])) / np.timedelta64(1, "D") for one in dates}
    first = min(days, key=lambda name: float(np.nanmedian(days[name])))
    for one in dates:
        gap = days[one.name] - days[first]
        known = np.isfinite(gap)
        if one.name == first or one.times or known.sum() < 2:
            continue
        if np.var(gap[known]) < np.var(days[one.name][known]) and np.ptp(gap[known]) > 0:
            related = replace(one, since=first, lag=float(np.median(gap[known])))
            encoders[encoders.index(one)] = related
