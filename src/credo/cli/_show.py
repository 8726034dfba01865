"""`credo show`."""

from collections import Counter
from dataclasses import replace
from typing import Any

import click

from credo.cli._models import short_name, steps
from credo.cli._options import debug_option, existing_file, json_option
from credo.cli._screen import Screen

# More columns or parameters than this are told in short.
MANY = 20


@click.command(short_help="Say what a model file holds.")
@click.argument("model", type=existing_file)
@click.option("--all", "everything", is_flag=True, help="List every column and parameter, however many.")
@json_option
@debug_option
def show(model: str, everything: bool, as_json: bool) -> None:
    """Say what MODEL holds, a file that `credo fit` or credo.save wrote: kind, columns and parameters.

    Of a long list of parameters the surest are shown, those that are largest compared with their intervals.
    """
    from credo.io import load

    screen = Screen(as_json=as_json)
    with screen.notes_for_warnings():
        fitted = load(model)
    facts, columns, table, inputs = _facts(fitted), _columns(fitted), _summary(fitted), _inputs(fitted)
    screen.json({"file": model, **facts, "columns": columns, "inputs": _plain(inputs), "parameters": _plain(table)})
    for name, value in facts.items():
        if value is not None:
            screen.say(f"{name.replace('_', ' '):<16} {_text(name, value)}")
    screen.say(f"{'columns':<16} {_listed(columns) if everything or len(columns) <= MANY else _counted(columns)}")
    # Length scales by relevance say what the parameters of a process say, in the units of the table.
    for shown in (inputs, table if inputs is None or everything else None):
        if shown is not None:
            screen.say()
            screen.say(str(_readable(shown, everything=everything)))


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
        "evidence_method": getattr(inner, "evidence_method_", None),
        "noise_sd": _noise(inner),
        "fit": getattr(getattr(inner, "result_", None), "message", None),
    }


def _classes(inner: Any) -> list[Any] | None:
    labels = getattr(inner, "classes_", None)
    return None if labels is None else labels.tolist()


def _text(name: str, value: Any) -> str:
    """A fact as a line shows it."""
    if name == "log_evidence":
        return f"{value:.2f}"
    if name == "noise_sd":
        return f"{value:.4g}"
    if name == "classes":
        some = ", ".join(map(str, value[:MANY]))
        return some if len(value) <= MANY else f"{len(value)}: {some}, …"
    return str(value)


def _noise(inner: Any) -> float | None:
    """The standard deviation of an observation around a process, where there is one for all."""
    import numpy as np

    variance = getattr(inner, "noise_variance_", None)
    return float(np.sqrt(variance)) if variance is not None and np.ndim(variance) == 0 else None


def _inputs(fitted: Any) -> Any:
    """The length scales of a process in the units of the prepared columns, by relevance; None where it has none."""
    import numpy as np

    from credo.frames import Table
    from credo.metrics import final_step

    estimator = getattr(fitted, "estimator_", fitted)
    relevance = getattr(final_step(estimator), "relevance_", None)
    preparation = getattr(fitted, "preparation_", None)
    if relevance is None or preparation is None or estimator is not final_step(estimator):
        return None
    spread = np.asarray(preparation.scale_ if preparation.standardize else 1.0)
    # Rows that a classifier has merged count as often as they came.
    weight = getattr(estimator, "weight_", None)
    center = np.average(estimator.X_train_, axis=0, weights=weight)
    spread = spread * np.sqrt(np.average((estimator.X_train_ - center) ** 2, axis=0, weights=weight))
    order = np.argsort(-np.asarray(relevance), kind="stable")
    names = [str(name) for name in preparation.get_feature_names_out()]
    columns = {
        "input": [names[i] for i in order],
        "relevance": np.asarray(relevance)[order].tolist(),
        "length scale": (spread / np.asarray(relevance))[order].tolist(),
    }
    note = "length scale: how far to go along an input until the function has changed its course"
    return Table("Inputs by relevance (standard deviation / length scale)", columns, (note,))


def _plain(table: Any) -> dict[str, list[Any]] | None:
    return None if table is None else {name: list(values) for name, values in table.columns.items()}


def _columns(fitted: Any) -> list[dict[str, str]]:
    """The columns that the model reads, with their kinds when it knows them."""
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
    """The table of parameters; a Pipeline doesn't hand on `summary`, and a transformer has none."""
    from credo.metrics import final_step

    return next((m.summary() for m in (fitted, final_step(fitted)) if hasattr(m, "summary")), None)


def _readable(table: Any, *, everything: bool) -> Any:
    """The table without columns that are empty, and of a long one the intercept and the surest rows."""
    columns = {name: list(values) for name, values in table.columns.items() if not all(map(_is_nan, values))}
    if everything or len(table) <= MANY:
        return replace(table, columns=columns)
    rows, order = _surest(columns)
    more = f"… and {len(table) - len(rows):,} more{order}; --all shows every one"
    kept = {name: [values[i] for i in rows] for name, values in columns.items()}
    return replace(table, columns=kept, notes=(more, *table.notes))


def _surest(columns: dict[str, list[Any]]) -> tuple[list[int], str]:
    """The rows to show and, where intervals tell which are surest, a word about the others."""
    import numpy as np

    named = next(iter(columns.values()))
    n_rows, first = len(named), [0] if named[0] == "intercept" else []
    if not {"estimate", "lower", "upper"} <= columns.keys():
        return list(range(len(first) + MANY)), ""
    estimate, lower, upper = (np.asarray(columns[name], dtype=np.float64) for name in ("estimate", "lower", "upper"))
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(np.abs(estimate) / (upper - lower), nan=-1.0)
    others = np.arange(len(first), n_rows)
    return [*first, *others[np.argsort(-strength[others], kind="stable")][:MANY].tolist()], ", less sure than these"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value
