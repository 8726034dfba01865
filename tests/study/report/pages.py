"""Small substitutes for the studies of tables, and their pages."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from credo.distributions import Normal
from credo.linear import LinearRegression
from credo.selection import Comparison, HeldOut, Score, compare
from credo.study import Dataset, Note, Study, report
from credo.study.catalogue import Size
from credo.tables import Preparation as TablePreparation
from credo.tables import TableModel


def study_of(
    *,
    comparison: Comparison,
    models: dict[str, Any],
    frame: pd.DataFrame,
    y: Any,
    preparation: TablePreparation,
    target: str,
    sheet_notes: Any = (),
    notes: Any = (),
    source: str = "table",
    selected: str = "",
    reason: str = "",
) -> Study:
    """A study with these parts, without the engine."""
    table = [note if isinstance(note, Note) else Note(note) for note in sheet_notes]
    run = [note if isinstance(note, Note) else Note(note) for note in (*notes, *comparison.notes)]
    size = Size(len(y), frame.shape[1])
    data = Dataset(source, target, comparison.task, frame, np.asarray(y), preparation, None, size, None, None, table)
    found = replace(comparison, fitted={k: model for k, model in models.items() if isinstance(model, TableModel)})
    selected, reason = selected or found.selected, reason or found.reason
    return Study(data, found, selected, reason, [*run, *table], 0, None)  # type: ignore[arg-type]


def study_of_model(model: TableModel, frame: pd.DataFrame, y: Any) -> Study:
    """The study of a single model, without held-out rows."""
    task = "classification" if np.asarray(y).dtype.kind in "OU" else "regression"
    comparison = Comparison([Score("model")], {}, task=task)
    return study_of(
        comparison=comparison, models={"model": model}, frame=frame, y=y, preparation=model.preparation_, target="y",
        selected="model", reason="-",
    )  # fmt: skip


def render(*, date: str | None = None, **parts: Any) -> str:
    """The page of a study with these parts."""
    return report.render(study_of(**parts), date=date)


def held_out(y: np.ndarray, mean: np.ndarray, std: np.ndarray | float) -> HeldOut:
    return HeldOut(y, Normal(mean, np.broadcast_to(std, y.shape).astype(float)))


def score(name: str, held: HeldOut, evidence: float | None = None) -> Score:
    lower, upper = held.dist.interval(0.95)
    measured = {
        "log_score": float(held.log_score.mean()),
        "rmse": float(np.sqrt(np.mean((held.y - held.dist.mean) ** 2))),
        "crps": float(np.mean(held.dist.crps(held.y))),
        "coverage": float(np.mean((lower <= held.y) & (held.y <= upper))),
    }
    return Score(
        name,
        held_out=measured,
        log_evidence=evidence,
        evidence_method=None if evidence is None else "exact",
        seconds=0.02,
    )


def case(
    n: int = 200,
    p: int = 4,
    *,
    names: list[str] | None = None,
    target: str = "yield",
    failed: tuple[str, ...] = (),
    coefficients: bool = True,
    seed: int = 0,
    **changes: Any,
) -> dict[str, Any]:
    """The parts of a study of y = 3 x₀ − 2 x₁ + noise, with predictions as good as they can be."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = 3 * X[:, 0] - (2 * X[:, 1] if p > 1 else 0)
    y = 10 + signal + rng.normal(size=n)
    frame = pd.DataFrame(X, columns=names or [f"x{i}" for i in range(p)])
    preparation = TablePreparation(standardize=True).fit(frame)
    good = {
        "baseline": held_out(y, np.full(n, y.mean()), y.std()),
        "bayes": held_out(y, 10 + signal, 1.0),
        "ridge": held_out(y, 10 + 0.9 * signal, 1.1),
    }
    scores = [score("bayes", good["bayes"], -321.5), score("ridge", good["ridge"]), score("baseline", good["baseline"])]
    scores += [Score(name, error="the design has no column that varies (in fold 1 of 5)") for name in failed]
    estimator = LinearRegression() if coefficients else DecisionTreeRegressor(max_depth=2)
    model = TableModel(TablePreparation(standardize=True), estimator, target).fit(frame, y)
    arguments = {
        "sheet_notes": ("The separator is a semicolon.",),
        "preparation": preparation,
        "comparison": Comparison(scores, good),
        "models": {"bayes": model, "ridge": model},
        "target": target,
        "frame": frame,
        "y": y,
    }
    return {**arguments, **changes}


def real(frame: pd.DataFrame, y: Any, models: dict[str, Any], *, target: str = "y", cv: Any = 3) -> dict[str, Any]:
    """The parts of a study of fitted models."""
    tables = {name: TableModel(TablePreparation(standardize=True), model, target) for name, model in models.items()}
    comparison = compare(tables, frame, y, cv=cv, random_state=0)
    return {
        "preparation": TablePreparation(standardize=True).fit(frame), "frame": frame,
        "comparison": comparison, "target": target, "models": comparison.fitted, "y": y,
    }  # fmt: skip
