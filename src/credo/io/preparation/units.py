"""A linear estimator's summary in the units of the prepared columns, before they were standardised.

y = b + Σ wⱼ (xⱼ − cⱼ)/sⱼ  =  (b − Σ wⱼcⱼ/sⱼ) + Σ (wⱼ/sⱼ) xⱼ
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from credo.frames import Table
from credo.io.extras import pandas
from credo.io.preparation.transformer import Preparation
from credo.metrics import final_step
from credo.notices import collected

_SCALED = ("estimate", "sd", "lower", "upper")


def in_original_units(model: Any, preparation: Preparation, *, level: float) -> Table:
    """The model's summary table, with coefficients per unit of each prepared column."""
    estimator = final_step(model)
    if not hasattr(estimator, "summary"):
        raise AttributeError(f"{type(estimator).__name__} has no summary")
    names = [str(name) for name in preparation.get_feature_names_out()]
    table = estimator.summary(level=level)
    if not hasattr(estimator, "feature_names_in_"):
        table = _named(table, _last_names(model, names))
    if not preparation.standardize:
        return table
    if np.ndim(getattr(estimator, "coef_", ())) == 2 and estimator is model:
        return _of_classes(table, estimator, preparation)
    parameters = list(table.columns.get("parameter", ()))
    weights = parameters[1:] if parameters[:1] == ["intercept"] else parameters
    # A summary of many columns may leave some out.
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
        _move_intercept(columns, estimator, origin, level=level)
    return replace(table, columns=columns)


def _of_classes(table: Table, estimator: Any, preparation: Preparation) -> Table:
    """Coefficients of classes in the units of the columns; of a changed intercept only the estimate is known."""
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
    """The names of the columns that reach the last step of a pipeline, where its steps tell them."""
    if not isinstance(model, Pipeline):
        return names
    try:
        return [str(name) for name in model[:-1].get_feature_names_out(names)]
    except (AttributeError, ValueError):
        return names


def _named(table: Table, names: list[str]) -> Table:
    """Column names in place of x0, x1, …, which an estimator uses where an earlier step has dropped the names."""
    parameters = list(table.columns.get("parameter", ()))
    plain = {f"x{j}": name for j, name in enumerate(names)}
    # Of more than two classes each has its own, as in "oak: x3".
    parts = [str(parameter).rpartition(": ") for parameter in parameters]
    named = [f"{label}{colon}{plain.get(last, last)}" for label, colon, last in parts]
    return replace(table, columns={**table.columns, "parameter": named} if named else table.columns)


def _move_intercept(
    columns: dict[str, list[Any]], estimator: Any, origin: NDArray[np.float64], *, level: float
) -> None:
    """Replace the intercept's row by the distribution of f where every prepared column is zero."""
    names = getattr(estimator, "feature_names_in_", None)
    rows = origin[None, :] if names is None else pandas().DataFrame(origin[None, :], columns=list(names))
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
