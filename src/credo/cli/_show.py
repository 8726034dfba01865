"""`credo show`."""

from typing import Any

import click

from credo.cli._options import debug_option, existing_file, json_option
from credo.cli._screen import Screen


@click.command(short_help="Say what a model file holds.")
@click.argument("model", type=existing_file)
@json_option
@debug_option
def show(model: str, as_json: bool) -> None:
    """Say what MODEL holds, a file that `credo fit` or credo.save wrote: kind, columns and parameters."""
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
    screen.say(f"{'columns':<16} " + ", ".join(f"{column['name']} ({column['kind']})" for column in columns))
    if table is not None:
        screen.say()
        screen.say(str(table))


def _facts(fitted: Any) -> dict[str, Any]:
    from credo.metrics import final_step

    inner = final_step(getattr(fitted, "estimator_", fitted))
    return {
        "model": type(inner).__name__,
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


def _summary(fitted: Any) -> Any:
    """The table of parameters; a Pipeline doesn't hand on `summary`, and a transformer has none."""
    from credo.metrics import final_step

    return next((m.summary() for m in (fitted, final_step(fitted)) if hasattr(m, "summary")), None)
