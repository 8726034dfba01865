"""Why a model predicts what it does: the contribution of each column of the table, or of each term, to a prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import Description, describe, is_sparse
from credo.core.frames import Table
from credo.core.notices import collected
from credo.core.wording import number, trimmed
from credo.ensemble import ExposureRegressor, TransformedTarget
from credo.metrics import Influence, shapley
from credo.metrics import influence as influence_of
from credo.tables import TableModel
from credo.tables.columns import as_frame
from credo.tables.errors import pandas

Array = NDArray[np.float64]

# The most rows among which the background is chosen, and the most and fewest in it: with m rows, the contribution of a
# linear effect differs from that beside the whole table by at most about 1/√m standard deviations (scikit-learn's
# diabetes: 0.09 with 100 rows, 0.13 with 10). Their number times that of the inputs is limited, because both multiply
# the predictions.
_CANDIDATES, _MOST, _FEWEST, _PRODUCT = 2000, 100, 10, 2500
# Influences aren't computed for more columns, or from more prepared cells, and from a sample of more rows.
_MOST_COLUMNS, _MOST_CELLS, _INFLUENCE_ROWS = 100, 10**7, 5000


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each input adds to the predictions of some rows: Shapley values.

    The prediction is `base`, the mean prediction over the background, plus the contributions of the row. All prepared
    columns of an input, such as the levels of a category or the words of a text, count together. For an additive model
    they are its terms, exactly, and `base` is the average over the training rows; with a link or a transformed target
    they add up on that scale.

    Attributes
    ----------
    rows : tuple
        The labels of the rows.
    outputs : tuple of str
        What is explained in each row: the target, or the probability of the predicted class, as p(spam); for an
        additive model the sum of the terms, as log odds of spam.
    inputs : tuple of str
    cells : tuple of tuples
        The values of the inputs in each row.
    contributions, errors : arrays of shape (n_rows, n_inputs)
        The contributions with their standard errors, which are zero if exact.
    base, predictions : arrays of shape (n_rows,)
    n_background : int
        How many rows the row is compared with; 0 for an additive model.
    responses : tuple of str
        The predictions in units of the target, if the contributions have others.
    known : tuple of str
        What the prediction becomes in each row if the model knows other rows of the same unit, such as a patient.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import analyze
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> study = analyze(frame, "growth", models=["linear"], progress=False)
    >>> print(study.explain(pd.DataFrame({"dose": [11.0]})).table())
    Contributions to the prediction
    input  value  contribution
    dose      11        11.308
    Row 0: predicted growth 23.31, which is 11.31 above 12, the average prediction for 12 rows.
    The contributions add up to the difference. They are associations, not causes.
    """

    rows: tuple[Any, ...]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    contributions: Array
    errors: Array
    base: Array
    predictions: Array
    n_background: int
    responses: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def table(self) -> Table:
        """Inputs, their values and contributions, the largest of each row first."""
        places = [(i, j) for i, row in enumerate(self.contributions) for j in np.argsort(-np.abs(row), kind="stable")]
        several, sampled = len(self.rows) > 1, bool(self.errors.any())
        columns = {
            "row": [self.rows[i] if several else None for i, _ in places],
            "input": [self.inputs[j] for _, j in places],
            "value": [_cell(self.cells[i][j]) for i, j in places],
            "contribution": [float(self.contributions[place]) for place in places],
            "standard error": [float(self.errors[place]) if sampled else None for place in places],
        }
        added = "The contributions add up to the difference. They are associations, not causes."
        return Table("Contributions to the prediction", columns, (*map(self._sentence, range(len(self.rows))), added))

    def _sentence(self, i: int) -> str:
        gap = self.contributions[i].sum()
        where = f"{_four(abs(gap))} {'below' if gap < 0 else 'above'} {_four(self.base[i])}, " if gap else ""
        response = f" ({self.responses[i]})" if self.responses and self.responses[i] else ""
        average = f"prediction for {self.n_background} rows" if self.n_background else "over the training rows"
        return (
            f"Row {self.rows[i]}: predicted {self.outputs[i]} {_four(self.predictions[i])}{response}, which is "
            f"{where}the average {average}.{self.known[i] if self.known else ''}"
        )

    def waterfall(self, row: int = 0, *, ax: Any = None) -> Any:
        """The steps from the average prediction to that of a row, by its place among those explained, as a figure."""
        from credo.plots import waterfall  # noqa: PLC0415, needs the extra `plots`

        return waterfall(
            self.inputs,
            self.contributions[row],
            base=float(self.base[row]),
            errors=self.errors[row],
            values=[_cell(cell) for cell in self.cells[row]],
            label=f"predicted {self.outputs[row]}",
            ax=ax,
        )


def explain(model: Any, rows: Any, background: Any, *, n_pairs: int = 4, seed: int = 0) -> Explanation:
    """What each column adds to the predictions of some rows, compared with the rows of a table.

    An additive model is explained by its terms, without the background. What is explained is the mean that the model
    predicts for a new unit, before it is limited to the possible values of the target.

    Parameters
    ----------
    model : fitted model of tables
    rows, background : data frames with the columns that were fitted
        At most 100 rows of the background are used, spread evenly over its predictions.
    n_pairs : int, default 4
        As in `credo.metrics.shapley`.
    seed : int, default 0

    Examples
    --------
    >>> import pandas as pd
    >>> from credo import LinearRegression
    >>> from credo.study import explain
    >>> from credo.tables import TableModel
    >>> frame = pd.DataFrame({"dose": [0.0, 1.0, 2.0], "soil": ["clay", "sand", "clay"], "y": [0.0, 2.0, 1.0]})
    >>> model = TableModel(None, LinearRegression(), "y").fit(frame)
    >>> explain(model, frame.tail(1), frame).contributions.round(2)
    array([[ 0.5, -0.5]])
    """
    given, table = as_frame(rows), as_frame(background)
    unit = model.groups.column if isinstance(model, TableModel) and model.groups is not None else None
    if unit in given.columns:
        of_new = explain(model, given.drop(columns=unit), table, n_pairs=n_pairs, seed=seed)
        return replace(of_new, known=_of_known_units(model, given))
    description = describe(model)
    exact = _of_terms(model, description, given) if isinstance(model, TableModel) else None
    if exact is not None:
        return exact
    classes = description.classes
    if classes and description.curve is None:
        raise ValueError("this classifier has no class probabilities, which could be explained")
    preparation = model.preparation_ if isinstance(model, TableModel) else None
    names = given.columns.tolist()
    if preparation is not None:
        used = {encoder.name for encoder in preparation.encoders_}
        names = [name for name in preparation.feature_names_in_ if name in used]
        # Dates as one type, however they are written in the two tables.
        with collected():
            newer, older = preparation.with_dates(given)[names], preparation.with_dates(table)[names]
    else:
        newer, older = given, table[names]
    # A date that is counted from an earlier one keeps its distance if that one is replaced.
    related = {} if preparation is None else preparation.related_dates()
    if preparation is not None and preparation.exposure is not None:
        # As in a fit, rows without exposure are left out.
        older = older[pandas().to_numeric(older[preparation.exposure], errors="coerce") > 0]
    if len(older) < 2:
        raise ValueError(
            "the background has fewer than two rows; give a table to compare with, such as the training data"
        )
    limited = model
    if isinstance(model, TableModel):
        model = model.unlimited()
    ask = model.predict_proba if classes else model.predict
    with collected():
        older = _spread(ask, older, len(names), seed)
        pool = pandas().concat([newer, older], ignore_index=True)
        # Cells are told apart by the row they come from.
        own, others = (
            np.repeat(part[:, None], len(names), axis=1) for part in np.split(np.arange(len(pool)), [len(newer)])
        )

        def predict(places: NDArray[np.intp]) -> Any:
            cells = {name: pool[name].array.take(places[:, j]) for j, name in enumerate(names)}
            for later, earlier in related.items():
                lag = (pool[later] - pool[earlier]).array.take(places[:, names.index(later)])
                cells[later] = cells[earlier] + lag
            return ask(pandas().DataFrame(cells, columns=names))

        found = shapley(predict, own, others, names, n_pairs=n_pairs, random_state=seed)
    values, errors, base, predictions = found.values, found.errors, np.asarray(found.base), found.predictions
    target = model.target if isinstance(model, TableModel) else None
    outputs = (str(target or "value"),) * len(own)
    if classes:
        best = predictions.argmax(axis=1)
        i = np.arange(len(best))
        values, errors, base, predictions = values[i, :, best], errors[i, :, best], base[best], predictions[i, best]
        outputs = tuple(f"p({classes[place]})" for place in best)
    return Explanation(
        tuple(given.index.tolist()),
        outputs,
        found.names,
        tuple(given[names].itertuples(index=False, name=None)),
        values,
        errors,
        np.broadcast_to(base, predictions.shape),
        predictions,
        len(others),
        () if classes else _limited(limited, given, predictions),
    )


def influence(model: TableModel, frame: Any, *, spread: float) -> Influence | None:
    """How much each column changes the predictions; None if the table is too large.

    `spread` is the standard deviation of the target, or infinite for classes.
    """
    preparation, estimator = model.preparation_, model.estimator_
    columns, found = preparation.sources(), describe(estimator)
    if len(set(columns)) > _MOST_COLUMNS or len(frame) < 2 or found.curve is None:
        return None
    if len(frame) > _INFLUENCE_ROWS:
        frame = frame.iloc[np.sort(np.random.default_rng(0).permutation(len(frame))[:_INFLUENCE_ROWS])]
    X = preparation.transform(frame)
    if X.shape[0] * X.shape[1] > _MOST_CELLS:
        return None
    predict = estimator.predict_proba if found.classes else estimator.predict
    rows = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    return influence_of(lambda part: predict(model.for_estimator(part)), rows, columns, spread=spread)


def _of_known_units(model: TableModel, given: Any) -> tuple[str, ...]:
    """How the other rows of its unit change the prediction of each row, as sentences; empty for unknown units."""
    groups = model.groups
    assert groups is not None
    labels = given[groups.column].tolist()
    known = groups.knows(labels) & bool(groups.correlation)
    with collected():
        means = np.asarray(model.predict(given)).tolist()
    return tuple(
        f" This is for a new {groups.column}; the other rows of {groups.column} {label} change it to {_four(mean)}."
        if is_known else ""
        for label, is_known, mean in zip(labels, known.tolist(), means, strict=True)
    )  # fmt: skip


def _of_terms(model: TableModel, description: Description, given: Any) -> Explanation | None:
    """The terms of an additive model; None for other models, and for rows with unknown levels, which are averaged."""
    preparation = model.preparation_
    if not description.terms:
        return None
    with collected():
        if preparation.alternatives(given) is not None:
            return None
        rows = model.for_estimator(preparation.transform(given))
    estimator, per = model.estimator_, ""
    if isinstance(estimator, ExposureRegressor):
        rows, _ = estimator.separated(rows)
        estimator, per = estimator.estimator_, f" per {preparation.exposure}"
    if isinstance(estimator, TransformedTarget):
        estimator = estimator.estimator_
    units = list(dict.fromkeys(term.unit for term in description.terms))
    labels: list[Any] = [None] * len(given)
    if len(units) > 1:
        labels = np.asarray(model.predict(given)).tolist()
    terms = description.terms[: len(description.terms) // len(units)]
    parts = {label: _columns(estimator.explain(rows, label=label)) for label in dict.fromkeys(labels)}
    table = np.array([parts[label][i] for i, label in enumerate(labels)])
    base, contributions, f = table[:, 0], table[:, 1:-1], table[:, -1]
    unit, target = terms[0].unit, str(model.target or "value")
    outputs = [unit + per if label is None else f"log odds of {label} against the average class" for label in labels]
    if not unit:
        outputs = [f"{description.transform} of {target}{per}" if description.transform else target + per] * len(given)
    responses = list[str]()
    if description.classes:
        known = list(description.classes)
        shown = [known[-1] if label is None else label for label in labels]
        probs = model.predict_proba(given)
        responses = [f"p({label}) {_four(row[known.index(label)])}" for label, row in zip(shown, probs, strict=True)]
    elif unit or description.transform or per:
        responses = [f"{target} {_four(value)}" for value in model.predict(given).tolist()]
    else:
        responses = list(_limited(model, given, f))
    source = preparation.origins()
    columns = [[source[name] for name in term.points] for term in terms]
    return Explanation(
        tuple(given.index.tolist()), tuple(outputs), tuple(term.words for term in terms),
        tuple(tuple(_together(given.iloc[i], names) for names in columns) for i in range(len(given))),
        contributions, np.zeros_like(contributions), base, f, 0, tuple(responses),
    )  # fmt: skip


def _limited(model: Any, given: Any, predictions: Array) -> tuple[str, ...]:
    """What `predict` gives where the possible values of the target change the prediction; empty elsewhere."""
    if not isinstance(model, TableModel) or model.support is None:
        return ()
    with collected():
        shown = [_four(value) for value in np.asarray(model.predict(given)).tolist()]
    return tuple(
        "" if value == _four(plain) else f"{value} once limited to the possible values of {model.target}"
        for value, plain in zip(shown, predictions.tolist(), strict=True)
    )


def _columns(frame: Any) -> Array:
    return np.column_stack([np.asarray(frame[name], dtype=np.float64) for name in frame.columns])


def _together(row: Any, names: Sequence[str]) -> Any:
    """The cell of a column, or those of several as text."""
    cells = [row[name] for name in names]
    return cells[0] if len(cells) == 1 else ", ".join("–" if (c := _cell(cell)) is None else str(c) for cell in cells)


def _spread(ask: Callable[[Any], Any], table: Any, n_inputs: int, seed: int) -> Any:
    """Rows spread evenly over the predictions, so that their mean is near that of the whole table."""
    most = int(np.clip(_PRODUCT // n_inputs, _FEWEST, _MOST))
    rng = np.random.default_rng(seed)
    table = table.iloc[np.sort(rng.permutation(len(table))[:_CANDIDATES])]
    if len(table) <= most:
        return table
    order = np.argsort(np.asarray(ask(table)).reshape(len(table), -1)[:, 0], kind="stable")
    return table.iloc[order[(2 * np.arange(most) + 1) * len(table) // (2 * most)]]


def _four(value: float) -> str:
    """A number to four digits, without an exponent below a million."""
    return trimmed(number(value, digits=4))


def _cell(value: Any) -> Any:
    """A cell for reading; None if it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if pandas().isna(value):
        return None
    if isinstance(value, int | float):
        return value
    text = " ".join(str(value).split()).removesuffix(" 00:00:00")
    return text if len(text) <= 40 else f"{text[:39]}…"
