"""`credo show`."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from credo.app.cli._options import debug_option, existing_file, json_option
from credo.app.cli._screen import Screen

if TYPE_CHECKING:
    from credo.core.estimator import Description
    from credo.core.frames import Table

# With more columns or parameters, only a selection is shown.
MAX_SHOWN = 20
# The kinds of effects; `credo.core.estimator` is imported only by the command itself.
COEFFICIENT, INTERCEPT = "coefficient", "intercept"


@click.command(short_help="Show the contents of a model file.")
@click.argument("model", type=existing_file)
@click.option("--all", "everything", is_flag=True, help="List all columns and parameters.")
@json_option
@debug_option
def show(model: str, everything: bool, as_json: bool) -> None:
    """Show a model file written by `credo fit` or credo.save: type, columns and parameters.

    For a Gaussian process: the effect and length scale of each input. For spike and slab: the inclusion probability of
    each column. If there are many parameters, only those that are largest relative to their intervals are shown;
    without intervals, those with the largest effect.
    """
    from credo.core.estimator import describe
    from credo.tables import TableModel, load

    screen = Screen(as_json=as_json)
    with screen.notes_for_warnings():
        fitted = load(model)
    prepared = fitted if isinstance(fitted, TableModel) else None
    found = describe(fitted)
    facts = _facts(found) | {"target": None if prepared is None else prepared.target}
    columns = (
        [{"name": name, "kind": "numeric"} for name in found.columns]
        if prepared is None
        else [
            {"name": str(one.name), "kind": "exposure" if one.name == prepared.preparation_.exposure else one.kind}
            for one in prepared.preparation_.columns_
        ]
    )
    inputs = None if prepared is None else _inputs(prepared)
    whole, shown = _parameters(found, _steps(prepared, found), everything=everything)
    screen.json({"file": model, **facts, "columns": columns, "inputs": _plain(inputs), "parameters": _plain(whole)})
    for name, value in facts.items():
        if value is not None:
            screen.say(f"{name.replace('_', ' '):<16} {_text(name, value)}")
    screen.say(f"{'columns':<16} {_listed(columns) if everything or len(columns) <= MAX_SHOWN else _counted(columns)}")
    # Effects and length scales are the parameters of a Gaussian process in the units of the table.
    for table in (inputs, shown if inputs is None or everything else None):
        if table is not None and len(table):
            screen.say()
            screen.say(str(table))


def _facts(found: Description) -> dict[str, Any]:
    evidence = found.evidence
    return {
        "model": found.words,
        "equation": found.equation or None,
        "classes": list(found.classes) or None,
        "log_evidence": None if evidence is None else evidence.value,
        "log_evidence_error": evidence.error if evidence is not None and evidence.error > 0 else None,
        "evidence_method": None if evidence is None else evidence.method,
        "evidence_base": None if evidence is None else evidence.base,
        "noise_sd": found.noise,
        "fit": found.outcome or None,
    }


def _text(name: str, value: Any) -> str:
    """A fact as text."""
    if name == "classes":
        some = ", ".join(map(str, value[:MAX_SHOWN]))
        return some if len(value) <= MAX_SHOWN else f"{len(value)}: {some}, …"
    forms = {"log_evidence": "{:.2f}", "log_evidence_error": "± {:.1g}", "noise_sd": "{:.4g}"}
    return forms.get(name, "{}").format(value)


def _inputs(model: Any) -> Table | None:
    """The effects and length scales of a Gaussian process, the strongest first; None without length scales."""
    import numpy as np

    from credo.core.estimator import describe
    from credo.core.frames import Table
    from credo.metrics import influence

    found, preparation = describe(model.estimator_), model.preparation_
    if found.data is None or found.curve is None or not found.inputs:
        return None
    rows, targets = found.data
    curve, origins = found.curve, preparation.sources()
    with warnings.catch_warnings():
        # The rows of the fit have no column names, which gives a warning.
        warnings.simplefilter("ignore")
        spread = np.inf if found.classes else float(np.std(targets))
        moved = influence(lambda part: curve.band(part)[0], rows, origins, spread=spread)
    nonlinear = np.array([value for _, value in found.inputs])
    columns: dict[str, Any] = {"input": list(map(str, preparation.get_feature_names_out()))}
    notes, order = [], np.argsort(-nonlinear, kind="stable")
    if moved is not None:
        value = {name: moved.values[i] for i, members in enumerate(moved.members) for name in members}
        columns["effect"] = [value[name] for name in origins]
        order = np.argsort(-np.array(columns["effect"]), kind="stable")
        what = "class probabilities change" if found.classes else "prediction changes"
        notes = [f"effect: how much the {what} over one standard deviation of the input, or with another value"]
        notes += [
            f"{', '.join(members[:MAX_SHOWN])} vary together in the data; the effect is that of changing all of them"
            for members in moved.together
        ]
    columns["nonlinearity"] = nonlinear.tolist()
    # Length scales in the units of the prepared columns.
    unit = rows.std(axis=0) * np.asarray(preparation.scale_ if preparation.standardize else 1.0)
    columns["length scale"] = (unit / nonlinear).tolist()
    notes += [
        "nonlinearity: standard deviation / length scale of an input",
        "length scale: distance over which the function changes noticeably, in units of the input",
    ]
    sorted_columns = {name: [values[i] for i in order] for name, values in columns.items()}
    return Table("Inputs by their effect on the predictions", sorted_columns, tuple(notes))


def _steps(model: Any, found: Description) -> Any:
    """The change of each column by which coefficients are compared: the standard deviation of numbers, otherwise 1."""
    import numpy as np

    if model is None or not model.preparation_.standardize or len(model.without_exposure.scale_) != len(found.columns):
        return np.ones(len(found.columns))
    kinds = {str(column.name): column.kind for column in model.preparation_.columns_}
    measured = [kinds.get(name) in ("numeric", "date") for name in model.without_exposure.sources()]
    return np.where(measured, np.asarray(model.without_exposure.scale_), 1.0)


def _parameters(found: Description, steps: Any, *, everything: bool) -> tuple[Table, Table]:
    """All effects, and those that are shown: with many of them, or a model that selects, the most important first."""
    from credo.core.frames import Table

    inclusion = dict(found.inputs) if found.subsets is not None else {}
    columns: dict[str, list[Any]] = {
        "parameter": [effect.name for effect in found.effects],
        "estimate": [effect.estimate for effect in found.effects],
        **({"inclusion": [inclusion.get(effect.name, 1.0) for effect in found.effects]} if inclusion else {}),
        "lower": [effect.lower for effect in found.effects],
        "upper": [effect.upper for effect in found.effects],
    }
    notes = [found.outcome]
    order, why = _ranked(found, inclusion, steps)
    if inclusion:
        notes.insert(0, "inclusion: posterior probability that the coefficient is not zero")
    elif found.selects:
        order = [i for i in order if found.effects[i].estimate or found.effects[i].kind == INTERCEPT]
        used = {found.effects[i].name.rpartition(": ")[2] for i in order if found.effects[i].kind == COEFFICIENT}
        notes.insert(0, f"{len(used):,} of {len(steps):,} columns have a nonzero coefficient")
    elif everything or len(found.effects) <= MAX_SHOWN:
        order = list(range(len(found.effects)))
    shown = order if everything else order[: MAX_SHOWN + 1]
    more = f"… and {len(order) - len(shown):,} more{why}; --all shows every one"
    parts = ((order if found.selects else range(len(found.effects)), notes), (shown, [more, *notes]))
    whole, some = (
        Table(found.words, {name: [values[i] for i in rows] for name, values in columns.items()}, tuple(said))
        for rows, said in (parts if len(shown) < len(order) else (parts[0], (shown, notes)))
    )
    return whole, some


def _ranked(found: Description, inclusion: dict[str, float], steps: Any) -> tuple[list[int], str]:
    """The effects with the most important coefficients first, and a phrase for those that are left out.

    A single intercept comes before them, those of several classes and other parameters after them.
    """
    import numpy as np

    places = [i for i, effect in enumerate(found.effects) if effect.kind == COEFFICIENT]
    if not places:
        return list(range(len(found.effects))), ""
    estimate, lower, upper = (part.ravel() for part in found.coefficients())
    if inclusion:
        size, why = np.array([inclusion[found.effects[i].name] for i in places]), ", less important than these"
    elif np.isnan(lower).all():
        size, why = np.abs(estimate) * np.tile(steps, len(estimate) // len(steps)), ", with smaller effects"
    else:
        with np.errstate(all="ignore"):
            size, why = np.nan_to_num(np.abs(estimate) / (upper - lower), nan=-1.0), ", less significant than these"
    level = [i for i, effect in enumerate(found.effects) if effect.name == INTERCEPT]
    ranked = [places[k] for k in np.argsort(-size, kind="stable")]
    rest = set(range(len(found.effects))) - set(places) - set(level)
    return [*level, *ranked, *sorted(rest)], why


def _plain(table: Table | None) -> dict[str, list[Any]] | None:
    return None if table is None else {name: list(values) for name, values in table.columns.items()}


def _listed(columns: list[dict[str, str]]) -> str:
    return ", ".join(f"{column['name']} ({column['kind']})" for column in columns)


def _counted(columns: list[dict[str, str]]) -> str:
    """How many columns of each kind there are, the most frequent kind first."""
    counts = Counter(column["kind"] for column in columns).most_common()
    return f"{len(columns):,}: " + ", ".join(f"{count:,} {kind}" for kind, count in counts)
