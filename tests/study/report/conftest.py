"""Small substitutes for a prepared table and its models, and pages of real ones."""

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeRegressor

from credo.distributions import Normal
from credo.linear import LinearRegression
from credo.selection import Comparison, HeldOut, Score, compare
from credo.study.report import render
from credo.tables import Preparation as TablePreparation
from credo.tables import TableModel


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
    """The arguments of `render` for y = 3 x₀ − 2 x₁ + noise, with predictions as good as they can be."""
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
        "title": f"What predicts {target}?",
        "sheet_notes": ("The separator is a semicolon.",),
        "preparation": preparation,
        "comparison": Comparison(scores, good),
        "models": {"bayes": model, "ridge": model},
        "target": target,
        "frame": frame,
        "y": y,
        "seed": 0,
    }
    return {**arguments, **changes}


@pytest.fixture(scope="session")
def make_case() -> Any:
    return case


@pytest.fixture
def make_held_out() -> Any:
    return held_out


def real(frame: pd.DataFrame, y: Any, models: dict[str, Any], *, target: str = "y", cv: Any = 3) -> dict[str, Any]:
    """The arguments of `render` for fitted models."""
    tables = {name: TableModel(TablePreparation(standardize=True), model, target) for name, model in models.items()}
    comparison = compare(tables, frame, y, cv=cv, random_state=0)
    return {
        "title": "t", "sheet_notes": (), "preparation": TablePreparation(standardize=True).fit(frame), "frame": frame,
        "comparison": comparison, "target": target, "models": comparison.fitted, "y": y, "seed": 0,
    }  # fmt: skip


@pytest.fixture(scope="session")
def make_real() -> Any:
    return real


@pytest.fixture(scope="session")
def make_page() -> Any:
    return lambda *args, **options: render(**real(*args, **options))


@pytest.fixture
def pictures() -> None:
    """For tests that look at the pictures of a page."""


@pytest.fixture(autouse=True)
def drawn_but_not_rendered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the figures of pages without rendering them, which takes most of the time of a page."""

    def svg(draw: Any, *, prefix: str, label: str, size: tuple[float, float] = (4.7, 3.0)) -> str:
        draw(Figure(figsize=size).subplots())
        return f'<svg role="img" aria-label="{escape(label, quote=True)}" id="{prefix}"></svg>'

    if "pictures" not in request.fixturenames:
        monkeypatch.setattr("credo.plots.svg", svg)
