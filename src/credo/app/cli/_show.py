"""`credo show`."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import click

from credo.app.cli._options import debug_option, existing_file, json_option
from credo.app.cli._screen import Screen
from credo.study._catalogue import short_name, steps

# Of more columns or parameters than this, only a selection is shown.
MANY = 20
# A summary of more columns than this leaves out weights that are zero, and with them what it knows of the columns.
_WHOLE = 30
# Titles of tables whose rows are already sorted by importance.
INCLUSIONS, WEIGHTS = "Columns by inclusion probability", "Nonzero coefficients"
IN_ORDER, BEHIND = (INCLUSIONS, WEIGHTS), ", less important than these"


@click.command(short_help="Show the contents of a model file.")
@click.argument("model", type=existing_file)
@click.option("--all", "everything", is_flag=True, help="List all columns and parameters.")
@json_option
@debug_option
def show(model: str, everything: bool, as_json: bool) -> None:
    """Show a model file written by `credo fit` or credo.save: type, columns and parameters.

    For a Gaussian process: the effect and length scale of each input. For spike and slab: the inclusion probability of
    each column. Of a long list of parameters only those that are largest relative to their intervals are shown; without
    intervals, those with the largest effect.
    """
    from credo.tables import load

    screen = Screen(as_json=as_json)
    with screen.notes_for_warnings():
        fitted = load(model)
    facts, columns, inputs = _facts(fitted), _columns(fitted), _inputs(fitted)
    table = _selected_columns(fitted)
    table = _summary(fitted) if table is None else table
    screen.json({"file": model, **facts, "columns": columns, "inputs": _plain(inputs), "parameters": _plain(table)})
    for name, value in facts.items():
        if value is not None:
            screen.say(f"{name.replace('_', ' '):<16} {_text(name, value)}")
    screen.say(f"{'columns':<16} {_listed(columns) if everything or len(columns) <= MANY else _counted(columns)}")
    # Effects and length scales are the parameters of a Gaussian process in the units of the table.
    for shown in (inputs, table if inputs is None or everything else None):
        if shown is not None:
            screen.say()
            screen.say(str(_readable(shown, _steps(fitted), everything=everything)))


def _facts(fitted: Any) -> dict[str, Any]:
    from credo.metrics import final_step

    estimator = getattr(fitted, "estimator_", fitted)
    inner = final_step(estimator)
    return {
        "model": ", then ".join(type(step).__name__ for step in steps(estimator)),
        "name": short_name(estimator),
        "target": getattr(fitted, "target", None),
        "classes": _classes(inner),
        "log_evidence": getattr(inner, "log_evidence_", None),
        "log_evidence_error": _error(inner),
        "evidence_method": getattr(inner, "evidence_method_", None),
        "evidence_base": getattr(inner, "evidence_base_", None),
        "noise_sd": _noise(inner),
        "fit": getattr(getattr(inner, "result_", None), "message", None),
    }


def _error(inner: Any) -> float | None:
    """The standard error of the log evidence where it was estimated by sampling."""
    error = float(getattr(inner, "log_evidence_error_", 0.0))
    return error if 0.0 < error < math.inf else None


def _classes(inner: Any) -> list[Any] | None:
    labels = getattr(inner, "classes_", None)
    return None if labels is None else labels.tolist()


def _text(name: str, value: Any) -> str:
    """A fact as text."""
    if name == "log_evidence":
        return f"{value:.2f}"
    if name == "log_evidence_error":
        return f"± {value:.1g}"
    if name == "noise_sd":
        return f"{value:.4g}"
    if name == "classes":
        some = ", ".join(map(str, value[:MANY]))
        return some if len(value) <= MANY else f"{len(value)}: {some}, …"
    return str(value)


def _noise(inner: Any) -> float | None:
    """The noise standard deviation of a Gaussian process, if it is constant."""
    import numpy as np

    variance = getattr(inner, "noise_variance_", None)
    return float(np.sqrt(variance)) if variance is not None and np.ndim(variance) == 0 else None


def _inputs(fitted: Any) -> Any:
    """The effects and length scales of a Gaussian process, the strongest first; None without length scales.

    Length scales are in the units of the prepared columns.
    """
    import numpy as np

    from credo.core.frames import Table
    from credo.metrics import final_step

    estimator = getattr(fitted, "estimator_", fitted)
    relevance = getattr(final_step(estimator), "relevance_", None)
    preparation = getattr(fitted, "preparation_", None)
    if relevance is None or preparation is None or estimator is not final_step(estimator):
        return None
    spread = np.asarray(preparation.scale_ if preparation.standardize else 1.0)
    # A classifier merges equal rows; their weights are their numbers.
    weight = getattr(estimator, "weight_", None)
    center = np.average(estimator.X_train_, axis=0, weights=weight)
    spread = spread * np.sqrt(np.average((estimator.X_train_ - center) ** 2, axis=0, weights=weight))
    effect, notes = _effects(estimator, preparation.sources())
    order = np.argsort(-(np.asarray(relevance) if effect is None else effect), kind="stable")
    names = [str(name) for name in preparation.get_feature_names_out()]
    columns = {
        "input": [names[i] for i in order],
        **({} if effect is None else {"effect": effect[order].tolist()}),
        "nonlinearity": np.asarray(relevance)[order].tolist(),
        "length scale": (spread / np.asarray(relevance))[order].tolist(),
    }
    notes += [
        "nonlinearity: standard deviation / length scale of an input",
        "length scale: distance over which the function changes noticeably, in units of the input",
    ]
    return Table("Inputs by their effect on the predictions", columns, tuple(notes))


def _effects(estimator: Any, origins: list[str]) -> tuple[Any, list[str]]:
    """How much each prepared column's input changes the predictions, and an explanation."""
    import warnings

    import numpy as np

    from credo.metrics import influence

    classes = hasattr(estimator, "classes_")
    spread = np.inf if classes else float(np.std(estimator.y_train_))
    with warnings.catch_warnings():
        # The rows of the fit come without column names, which gives a warning.
        warnings.simplefilter("ignore")
        predict = estimator.predict_proba if classes else estimator.predict
        found = influence(predict, np.asarray(estimator.X_train_), origins, spread=spread)
    if found is None:
        return None, []
    value = {name: found.values[i] for i, members in enumerate(found.members) for name in members}
    what = "class probabilities change" if classes else "prediction changes"
    notes = [f"effect: how much the {what} over one standard deviation of the input, or with another value"]
    for members in found.together:
        some = ", ".join(members[:MANY])
        notes.append(f"{some} vary together in the data; the effect is that of changing all of them")
    return np.array([value[name] for name in origins]), notes


def _plain(table: Any) -> dict[str, list[Any]] | None:
    return None if table is None else {name: list(values) for name, values in table.columns.items()}


def _columns(fitted: Any) -> list[dict[str, str]]:
    """The columns that the model uses, with their kinds if known."""
    preparation = getattr(fitted, "preparation_", None)
    if preparation is not None:
        return [{"name": str(column.name), "kind": column.kind} for column in preparation.columns_]
    return [{"name": str(name), "kind": "numeric"} for name in getattr(fitted, "feature_names_in_", ())]


def _listed(columns: list[dict[str, str]]) -> str:
    return ", ".join(f"{column['name']} ({column['kind']})" for column in columns)


def _counted(columns: list[dict[str, str]]) -> str:
    """How many columns of each kind there are, the most frequent kind first."""
    counts = Counter(column["kind"] for column in columns).most_common()
    return f"{len(columns):,}: " + ", ".join(f"{count:,} {kind}" for kind, count in counts)


def _summary(fitted: Any) -> Any:
    """The table of parameters; a Pipeline doesn't forward `summary`, and a transformer has none."""
    from credo.metrics import final_step

    return next((m.summary() for m in (fitted, final_step(fitted)) if hasattr(m, "summary")), None)


def _steps(fitted: Any) -> Any:
    """The change of each column by which parameters are compared; None if the columns are unknown.

    One standard deviation of a numeric column; 1 for indicators of words and levels.
    """
    import numpy as np

    preparation = getattr(fitted, "preparation_", None)
    if preparation is None or not preparation.standardize:
        return None
    kinds = {str(column.name): column.kind for column in preparation.columns_}
    measured = [kinds.get(name) in ("numeric", "date") for name in preparation.sources()]
    return np.where(measured, np.asarray(preparation.scale_), 1.0)


def _readable(table: Any, steps: Any, *, everything: bool) -> Any:
    """The table without empty columns; of a long one only the intercept and the most important rows."""
    columns = {name: list(values) for name, values in table.columns.items() if not all(map(_is_empty, values))}
    if everything or len(table) <= MANY:
        return replace(table, columns=columns)
    rows, order = (list(range(MANY + 1)), BEHIND) if table.title in IN_ORDER else _first(columns, steps)
    more = f"… and {len(table) - len(rows):,} more{order}; --all shows every one"
    kept = {name: [values[i] for i in rows] for name, values in columns.items()}
    return replace(table, columns=kept, notes=(more, *table.notes))


def _first(columns: dict[str, list[Any]], steps: Any) -> tuple[list[int], str]:
    """The rows to show, the most significant or those of the largest effect, and a phrase for the others."""
    import numpy as np

    named = [str(name) for name in next(iter(columns.values()))]
    if "estimate" not in columns:
        return list(range(MANY)), ""
    first = [0] if named[0] == "intercept" else []
    estimate = np.abs(np.asarray(columns["estimate"], dtype=np.float64))
    if {"lower", "upper"} <= columns.keys():
        lower, upper = (np.asarray(columns[name], dtype=np.float64) for name in ("lower", "upper"))
        with np.errstate(all="ignore"):
            strength, word = np.nan_to_num(estimate / (upper - lower), nan=-1.0), ", less significant than these"
    else:
        strength, word = estimate * _each(steps, named), ", with smaller effects"
    others = [i for i in range(len(named)) if i not in first and not named[i].endswith(": intercept")]
    order = sorted(others, key=lambda i: -strength[i])
    return [*first, *order[:MANY]], word


def _each(steps: Any, named: list[str]) -> Any:
    """The step of each parameter: an intercept and the columns, once or for each class."""
    import numpy as np

    if steps is None or len(named) % (len(steps) + 1):
        return np.ones(len(named))
    return np.tile([1.0, *steps], len(named) // (len(steps) + 1))


def _is_empty(value: Any) -> bool:
    """None, or not a number."""
    return value is None or (isinstance(value, float) and value != value)


def _selected_columns(fitted: Any) -> Any:
    """The coefficients in the units of the table, the most important first; None if the model doesn't select columns.

    With inclusion probabilities for spike and slab; for penalized models with many columns, the nonzero ones.
    """
    import numpy as np

    from credo.core.frames import Table

    inner, preparation = getattr(fitted, "estimator_", None), getattr(fitted, "preparation_", None)
    inclusion = getattr(inner, "inclusion_probabilities_", None)
    if inner is None or preparation is None or (inclusion is None and not hasattr(inner, "selected_")):
        return None
    names = [str(name) for name in preparation.get_feature_names_out()]
    if inclusion is None and len(names) <= _WHOLE:
        return None
    coef = np.atleast_2d(inner.coef_)
    # y = b + Σ wⱼ (xⱼ − cⱼ)/sⱼ.
    scale = np.asarray(preparation.scale_ if preparation.standardize else np.ones(len(names)))
    center = np.asarray(preparation.center_ if preparation.standardize else np.zeros(len(names)))
    level = np.atleast_1d(inner.intercept_) - coef @ (center / scale)
    strength = np.abs(coef).max(axis=0) if inclusion is None else np.asarray(inclusion)
    order = np.argsort(-strength, kind="stable")
    order = order[: np.count_nonzero(strength)] if inclusion is None else order
    labels = [""] if len(coef) == 1 else [f"{label}: " for label in inner.classes_]
    # Of several classes, each column's weights stand together.
    columns: dict[str, list[Any]] = {
        "parameter": [f"{label}{name}" for name in ("intercept", *(names[j] for j in order)) for label in labels],
        "estimate": np.vstack([level, (coef / scale)[:, order].T]).ravel().tolist(),
    }
    if inclusion is None:
        zero = f"{len(order):,} of {len(names):,} columns have a nonzero coefficient"
        return Table(WEIGHTS, columns, (zero, inner.result_.message))
    columns["sd"] = [None, *(np.atleast_2d(inner.coef_std_)[0] / scale)[order].tolist()]
    columns["inclusion"] = [1.0, *inclusion[order].tolist()]
    notes = (
        "inclusion: posterior probability that the coefficient is not zero; estimate and sd are averages over all "
        "subsets",
        inner.result_.message,
    )
    return Table(INCLUSIONS, columns, notes)
