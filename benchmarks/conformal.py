"""`Conformal` beside MAPIE: the same folds, base model and rows."""

import warnings

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from benchmarks.harness import Line, at_most, installed, quick, times_of
from credo.ensemble import Conformal

LEVEL, N_NEW = 0.9, 2000


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    if not installed("mapie", "conformal intervals by MAPIE"):
        return []
    return [*case("a linear model, n=2000", LinearRegression(), 2000), *case("a forest, n=500", _forest(), 500)]


def _forest() -> RandomForestRegressor:
    return RandomForestRegressor(100, random_state=0)


def case(name: str, base: object, n: int) -> list[Line]:
    """Fit and intervals of new rows by CV+ with five folds."""
    from mapie.regression import CrossConformalRegressor

    X, y = make_friedman1(n + N_NEW, noise=1.0, random_state=0)
    X, y, new, truth = X[:n], y[:n], X[n:], y[n:]
    ends: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    folds = KFold(5, shuffle=True, random_state=0)

    def ours() -> None:
        ends["Credo"] = Conformal(base, cv=folds, random_state=0).fit(X, y).predict_dist(new).interval(LEVEL)

    def theirs() -> None:
        model = CrossConformalRegressor(base, confidence_level=LEVEL, cv=folds, random_state=0).fit_conformalize(X, y)
        both = model.predict_interval(new)[1][:, :, 0]
        ends["MAPIE"] = both[:, 0], both[:, 1]

    times = times_of({"credo": ours, "MAPIE": theirs}, rounds=1 if quick() else 3)
    found = {
        who: f"{100 * np.mean((low <= truth) & (truth <= high)):.1f} %, width {np.mean(high - low):.2f}"
        for who, (low, high) in ends.items()
    }
    quality = "90 % intervals contain " + "; ".join(f"{who} {text}" for who, text in found.items())
    return [at_most(f"CV+ intervals around {name}", times, "MAPIE", 1.0, quality=quality)]
