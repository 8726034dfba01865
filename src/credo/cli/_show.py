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
    facts, columns, table = _facts(fitted), _columns(fitted), _summary(fitted)
    parameters = None if table is None else {name: list(values) for name, values in table.columns.items()}
    screen.json({"file": model, **facts, "columns": columns, "parameters": parameters})
    for name, value in facts.items():
        if value is not None:
            screen.say(f"{name.replace('_', ' '):<16} {value}")
    screen.say(f"{'columns':<16} {_listed(columns) if everything or len(columns) <= MANY else _counted(columns)}")
    if table is not None:
        screen.say()
        screen.say(str(_readable(table, everything=everything)))


def _facts(fitted: Any) -> dict[str, Any]:
    from credo.metrics import final_step

    estimator = getattr(fitted, "estimator_", fitted)
    inner = final_step(estimator)
    return {
        "model": ", then ".join(type(step).__name__ for step in steps(estimator)),
        "name": short_name(estimator),
        "target": getattr(fitted, "target", None),
        "log_evidence": getattr(inner, "log_evidence_", None),
        "evidence_method": getattr(inner, "evidence_method_", None),
        "fit": getattr(getattr(inner, "result_", None), "message", None),
    }


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

    n_rows = len(columns["parameter"])
    first = [0] if columns["parameter"][0] == "intercept" else []
    if not {"estimate", "lower", "upper"} <= columns.keys():
        return list(range(len(first) + MANY)), ""
    estimate, lower, upper = (np.asarray(columns[name], dtype=np.float64) for name in ("estimate", "lower", "upper"))
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(np.abs(estimate) / (upper - lower), nan=-1.0)
    others = np.arange(len(first), n_rows)
    return [*first, *others[np.argsort(-strength[others], kind="stable")][:MANY].tolist()], ", less sure than these"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value
