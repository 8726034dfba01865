"""`analyze`: from a table to a study."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.folds import Split
from credo.core.wording import listing
from credo.distributions import Recalibrated, Support
from credo.metrics import pit
from credo.selection import Comparison, gap
from credo.selection.comparing import comparison_of
from credo.selection.trial import Part, SavedTrials, Trial
from credo.study.catalogue import AVERAGE, BASELINE, SUFFIXES, chosen
from credo.study.data import Dataset, Note, dataset
from credo.study.display import display
from credo.study.engine import Engine, Report
from credo.study.large import fitted_to_all, names_in_parts
from credo.study.study import Study, absurd_notes, too_good_notes
from credo.study.units import KnownUnits
from credo.tables import read_table
from credo.tables.gaps import Gaps, gains, scaled, scales_of_others
from credo.tables.groups import normal_scores

TIME = 60.0


def analyze(
    data: Any,
    target: str,
    *,
    models: Sequence[str] | str | None = None,
    time: float | None = TIME,
    folds: int | None = None,
    task: str | None = None,
    select: str | None = None,
    time_order: bool | None = None,
    kinds: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    keep_sentinels: bool = False,
    support: Support | tuple[float, float] | str = "auto",
    groups: str | bool | None = None,
    weight: str | None = None,
    exposure: str | None = None,
    event: str | None = None,
    random_state: int = 0,
    progress: bool = True,
    continue_from: Study | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    **reading: Any,
) -> Study:
    """Compare models on a table and select the one to use.

    Parameters
    ----------
    data : data frame (pandas, polars, pyarrow), dict of columns, or path of a CSV, Parquet, Excel or JSON lines file
    target : str
        The column to predict; numbers or classes.
    models : sequence of str, optional
        Names of models; by default all that suit the table and fit into the time.
    time : float or None, default 60
        Time budget in seconds, a quarter of it for scores and report; None for no limit. It starts when the table is
        read, and compiling isn't charged to it. Models are fitted in the order of what they usually gain in a second,
        and those that don't fit into the budget are named in the notes.
    folds : int, optional
        Number of folds. By default 5, or for a table of more than 3,000 rows a single set of held-out rows, a fifth of
        them and at most 5,000.
    task : {"regression", "classification"}, optional
        By default inferred from the target.
    select : str, optional
        The model to select, regardless of the scores.
    time_order : bool, optional
        False holds out rows at random even if the table is in time order; by default each fold of such a table is
        predicted from the rows before it.
    kinds : mapping of column name to kind, optional
        Overrides the detected kind of a column: "number", "category", "text" or "date".
    drop : sequence of str, optional
        Columns to leave out.
    keep_sentinels : bool, default False
        Whether numbers that code missing values, such as a repeated −999 among values from 0 to 30, are used as
        numbers; by default they count as missing, and a note names them.
    support : {"auto", "real"}, pair of numbers or Support, default "auto"
        The possible values of a target of numbers, which no prediction leaves: "auto" takes what the values show, such
        as whole numbers, or numbers that are never negative; "real" allows all numbers, and (1, 7) those from 1 to 7,
        whole ones if those of the table are.
    groups : str or bool, optional
        The column of units that have several rows each, such as patients: all rows of a unit are held out together, and
        the column is no input. Predictions for a known unit use what its other rows say. By default such a column is
        recognized, unless the rows are in time order; False holds out single rows. A requested one takes precedence
        over the order of time.
    weight : str, optional
        The column of weights: a row of weight 2 counts as two equal rows when a model is fitted.
    exposure : str, optional
        The column of positive numbers to which the target is proportional, such as the policies or years behind a
        number of claims. Models of counts have its logarithm as an offset; others predict the target per unit of it,
        weighted by it. New rows need it too.
    event : str, optional
        For a target of times until an event: the column that says whether it was observed, with two values such as 0
        and 1, or as "status=dead" the value of rows in which it was. The other times are right-censored, known to be
        longer. Models are "log-normal" and "weibull".
    random_state : int, default 0
        Seed of the folds and of the models.
    progress : bool, default True
        Whether to show a live leaderboard on stderr.
    continue_from : Study, optional
        An earlier study of the same table, with the same folds and seed: its models are kept, and those that it did
        not run are fitted.
    engine : {"local", "dask"}, default "local"
        A Parquet file that takes more than 1 GiB or a quarter of the memory is read in parts: columns are prepared and
        models compared on a random sample of the rows, and the selected model is fitted to all of them. "dask" reads
        any Parquet file in parts, and fits by the current Dask client, or by processes on this machine.
    scheduler : str, optional
        The address of a Dask scheduler.
    **reading
        Options of `credo.tables.read_table` for a path.

    Returns
    -------
    Study

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import analyze
    >>> x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    >>> y = [0.1, 1.9, 4.2, 5.8, 8.1, 9.9, 12.2, 13.8, 16.1, 17.9]
    >>> study = analyze(pd.DataFrame({"dose": x, "growth": y}), "growth", models=["linear"], progress=False)
    >>> study.selected
    'linear'
    >>> study.predict(pd.DataFrame({"dose": [4.5]})).round(1)["mean"].tolist()
    [9.0]
    """
    _check_options(reading)
    prepared = dataset(
        data,
        target,
        task=task,
        reading=reading,
        time_order=time_order,
        kinds=kinds,
        drop=drop,
        keep_sentinels=keep_sentinels,
        support=support,
        groups=groups,
        weight=weight,
        exposure=exposure,
        event=event,
        engine=engine,
    )
    with display(enabled=progress) as report:
        return run(
            prepared,
            models=models,
            time=time,
            folds=folds,
            select=select,
            seed=random_state,
            report=report,
            engine=engine,
            scheduler=scheduler,
            continue_from=continue_from,
        )


def run(
    data: Dataset,
    *,
    models: Sequence[str] | str | None = None,
    time: float | None = TIME,
    folds: int | None = None,
    select: str | None = None,
    seed: int = 0,
    report: Report | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    continue_from: Study | SavedTrials | None = None,
) -> Study:
    """Fit the models to a data set and select one of them; see `analyze` for the arguments.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import dataset, run
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> study = run(dataset(frame, "growth"), models=["linear", "bayes"], folds=3)
    >>> sorted(score.name for score in study.comparison.scores)
    ['average', 'baseline', 'bayes', 'linear']
    """
    names = [models] if isinstance(models, str) else models
    if data.whole is not None and names is None:
        names = names_in_parts(data.size)
    specs, notes = chosen(data.size, names, data.transformation)
    allowed = {*(spec.name for spec in specs), AVERAGE}
    if select is not None and select not in allowed:
        raise ValueError(f"select={select!r} is not among the models: {', '.join(sorted(allowed))}")
    if data.transformation != "identity" and names is None:
        notes.append(_transformation_note(data))
    splits, fold_notes = data.splits(folds, seed)
    saved = continue_from.saved if isinstance(continue_from, Study) else continue_from
    key = f"{data.fingerprint} {_digest(data, splits)} {seed}"
    if saved is not None:
        kept = [record["name"] for record in saved.trials_ if record["name"] != BASELINE]
        if not set(kept) <= allowed:
            both = [*(spec.name for spec in specs if spec.name != BASELINE), *kept]
            specs, _ = chosen(data.size, both, data.transformation)
    work = Engine(data, specs, splits, seed, time, report)
    if saved is not None:
        work.resume(saved, key)
    trials = work.run(with_average=len(specs) > 2)
    if not work.has_model:
        failed = [f"{trial.name}: {trial.error}." for trial in trials if trial.error is not None]
        raise ValueError(" ".join(["no model was finished.", *failed, *_not_run_notes(work)]))
    saved = SavedTrials.of(key, [trial for trial in trials if trial.name != AVERAGE])
    gaps = _learn_gaps(data, trials)
    found = comparison_of(trials, [*notes, *fold_notes], n_folds=len(splits), in_order=data.time is not None)
    fitted = {trial.name: work.table_model(trial) for trial in trials if trial.error is None}
    for name, widths in gaps.items():
        fitted[name].gaps = widths
    left_out = tuple(note for note in found.notes if not note.startswith(BASELINE))
    found = replace(
        found, notes=left_out, fitted=fitted, not_run=work.not_run, groups=data.unit or "", order=data.size.order,
        exposure=data.exposure or "",
    )  # fmt: skip
    selected = found.selected if select is None else select
    if selected not in fitted:
        why = found[selected].error if any(s.name == selected for s in found.scores) else work.not_run.get(selected)
        raise ValueError(f"the model {selected!r} was not finished: {why}")
    units, unit_notes, part_notes = None, list[str](), list[str]()
    if data.unit is not None and data.task == "regression" and data.event is None:
        units = KnownUnits(work, found.held_out)
        known = units.learn(selected, fitted[selected])
        unit_notes = [] if known is None else [known.sentence]
    if data.whole is not None:
        model, part_notes = fitted_to_all(
            fitted[selected], data.whole, weight=data.weight_column, engine=engine, scheduler=scheduler
        )
        found = replace(found, fitted={**fitted, selected: model})
    every = _notes(work, found, selected, [*part_notes, *unit_notes])
    study = Study(data, found, found.selected, found.reason, every, seed, saved, units)
    return study if select is None else study.select(select)


def _notes(work: Engine, found: Comparison, selected: str, important: Sequence[str]) -> tuple[Note, ...]:
    """All notes of a study, the important ones first."""
    data = work.data
    return (
        *(note for note in data.notes if note.important),
        *(Note(text, important=True, on_board=True) for text in important),
        *(Note(text, important=True) for text in too_good_notes(found, selected, data.target)),
        *(
            Note(text, important=work.interrupted, on_board=True)
            for text in [*work.notes, *_part_notes(work), *_not_run_notes(work)]
        ),
        *(Note(text, on_board=True) for text in absurd_notes(found)),
        *(note for note in data.notes if not note.important),
        *map(Note, _of_several_models(found.notes, found.fitted)),
        *map(Note, _option_notes(found.notes, found.fitted)),
    )


def _learn_gaps(data: Dataset, trials: Sequence[Trial]) -> dict[str, Gaps]:
    """Scale the held-out predictions of each missing pattern where that raises a model's log score.

    The mean gain must be larger than its standard error, as for the map that calibrates the average. That map is for
    all patterns together: if scales do better without it, the average loses it.
    """
    missing, gaps = data.preparation.missing(data.frame), dict[str, Gaps]()
    if data.task == "classification" or not missing.any():
        return gaps
    for trial in trials:
        held = None if trial.error is not None else trial.held_out()
        if held is None:
            continue
        options = [trial]
        if all(isinstance(dist, Recalibrated) for _, dist in trial.parts):
            plain = replace(trial)
            plain.replace_parts([(rows, dist.base) for rows, dist in trial.parts])  # type: ignore[attr-defined]
            options.append(plain)
        found = [_scaled(option, missing) for option in options]
        weight = held.weight
        best = max(found, key=lambda one: float(np.average(one[0], weights=weight)))
        lead = gap(best[0], held.log_score, weight)
        if lead.mean > lead.error:
            _, gaps[trial.name], parts = best
            trial.replace_parts(parts)
            if best is not found[0]:
                trial.fitted = copy(trial.fitted)
                trial.fitted.calibration_ = None
    return gaps


def _scaled(trial: Trial, missing: NDArray[np.bool_]) -> tuple[NDArray[np.float64], Gaps, list[Part]]:
    """The log scores of the held-out rows, each with the scale that the other rows of its pattern show; the scales of
    all rows; and the scaled distributions."""
    held = trial.held_out()
    assert held is not None
    own, scores = missing[held.rows], normal_scores(pit(held.y, held.dist, random_state=0))
    scale = scales_of_others(own, scores)
    parts = [(rows, scaled(dist, scale[np.searchsorted(held.rows, rows)])) for rows, dist in trial.parts]
    return held.log_score + gains(scores, scale), Gaps.of(own, scores), parts


def _digest(data: Dataset, splits: Sequence[Split]) -> str:
    """A hash of what the fits and their scores depend on besides the columns: folds, weights, possible values."""
    found = hashlib.sha256(repr((data.support, data.exposure, data.happened, len(splits))).encode())
    for rows in (*(test for _, test in splits), *(() if data.weight is None else (data.weight,))):
        found.update(repr(rows.shape).encode() + np.ascontiguousarray(rows).tobytes())
    return found.hexdigest()[:16]


def _part_notes(work: Engine) -> list[str]:
    """One sentence about the models that learned from a part of the rows."""
    by_rows: dict[int, list[str]] = {}
    for name, rows in work.learned_from.items():
        by_rows.setdefault(rows, []).append(name)
    each = [f"{listing(names)} learned from {rows:,} rows" for rows, names in by_rows.items()]
    return [f"{'; '.join(each)}: more would not have been finished in time."] if each else []


def _of_several_models(notes: Sequence[str], models: Mapping[str, Any]) -> list[str]:
    """The notes, those that several models share as one: "linear and linear-log: …"."""
    names: dict[str, list[str]] = {}
    for note in notes:
        name, colon, text = note.partition(": ")
        known = colon and name in models
        names.setdefault(text if known else note, []).extend([name] if known else [])
    return [f"{listing(own)}: {text}" if own else text for text, own in names.items()]


def _not_run_notes(work: Engine) -> list[str]:
    """One sentence about the models that are not on the leaderboard."""
    waiting = [spec.name for spec in work.specs if spec.name not in work.trials]
    if work.interrupted and waiting:
        return [f"Stopped by Ctrl-C before these models were fitted: {', '.join(waiting)}."]
    if not work.not_run:
        return []
    by_reason: dict[str, list[str]] = {}
    for name, reason in work.not_run.items():
        by_reason.setdefault(reason, []).append(name)
    each = "; ".join(f"{listing(names)} ({reason})" for reason, names in by_reason.items())
    return [f"Not run: {each}. Allow more time with time=… (--time SECONDS, or --time none)."]


def _transformation_note(data: Dataset) -> str:
    kinds = {"log": "the logarithm", "box-cox": "a Box–Cox transformation"}
    kind = kinds.get(data.transformation, "a Yeo–Johnson transformation")
    return (
        f"{data.target!r} is skewed, and {kind} of it is easier to predict: models whose names end in "
        f"{SUFFIXES[data.transformation]} predict that. All scores are on the scale of {data.target!r} itself."
    )


def _check_options(given: Mapping[str, Any]) -> None:
    """Raise an error that names the nearest option if `read_table` doesn't have one of those given."""
    of_table, own = (
        [name for name, option in signature(function).parameters.items() if option.kind is option.KEYWORD_ONLY]
        for function in (read_table, analyze)
    )
    for name in given:
        if name not in of_table:
            nearest = get_close_matches(name, [*own, *of_table], n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"choose from {', '.join([*own, *of_table])}"
            raise TypeError(f"analyze has no option {name!r}: {hint}")


def _option_notes(notes: Sequence[str], models: Mapping[str, Any]) -> list[str]:
    """Where a model's message advises to set one of its options, that this is done in Python."""
    named: list[str] = []
    for name, model in models.items():
        text = " ".join(note for note in notes if note.startswith((f"{name}:", f"{name},")))
        options = {key.rpartition("__")[2] for key in model.get_params()}
        named += [word for word in re.findall(r"\w+_\w+|\w+(?==)", text) if word in options]
    if not named:
        return []
    listed = ", ".join(dict.fromkeys(named))
    return [f"Options of the models ({listed}) can be set in Python only, where a model is fitted by itself."]
