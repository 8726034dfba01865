"""Data sets: those that scikit-learn and statsmodels ship, and CSV files of a folder, some with published splits."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.harness import skipped

MOST_ROWS, N_FOLDS, SEED = 1000, 5, 0


@dataclass(frozen=True)
class Table:
    """A table with its target: numbers, or classes as 0, 1, …"""

    name: str
    task: str
    X: pd.DataFrame
    y: np.ndarray
    # One row for each of the table, one column for each published split; True in the test set.
    tests: np.ndarray | None = None

    def splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to fit and rows to predict: the published splits where there are some, otherwise five random folds."""
        if self.tests is not None:
            return ((np.flatnonzero(~test), np.flatnonzero(test)) for test in self.tests.T)
        kind = KFold if self.task == "regression" else StratifiedKFold
        return kind(N_FOLDS, shuffle=True, random_state=SEED).split(self.X, self.y)


@dataclass(frozen=True)
class Source:
    """Where a table is, its target, columns that aren't inputs, how many rows to use, and how many of its published
    splits; with these, all rows."""

    task: str
    target: str
    without: tuple[str, ...] = ()
    rows: int = MOST_ROWS
    shipped: Callable[[], pd.DataFrame] | None = None
    n_splits: int = 0

    def table(self, name: str, folder: Path | None) -> Table:
        frame = self.shipped() if self.shipped else pd.read_csv(_file(folder, name))
        frame = frame.drop(columns=list(self.without))
        tests = None
        if self.n_splits:
            tests = pd.read_csv(_file(folder, f"{name}_splits")).to_numpy()[:, : self.n_splits] == 1
        else:
            frame = frame.dropna().sample(frac=1.0, random_state=SEED).head(self.rows).reset_index(drop=True)
        y = frame.pop(self.target).to_numpy()
        y = y.astype(float) if self.task == "regression" else np.unique(y, return_inverse=True)[1]
        return Table(name, self.task, frame, y, tests)


def _file(folder: Path | None, name: str) -> Path:
    if folder is None:
        raise FileNotFoundError("it needs --data DIR")
    found = next((file for file in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if file.exists()), None)
    if found is None:
        raise FileNotFoundError(f"{folder} has no {name}.csv")
    return found


def _sklearn(name: str, **options: Any) -> Callable[[], pd.DataFrame]:
    return lambda: getattr(datasets, f"load_{name}")(as_frame=True, **options).frame


def _statsmodels(name: str) -> Callable[[], pd.DataFrame]:
    return lambda: import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _regression(target: str, *without: str, shipped: Callable[[], pd.DataFrame] | None = None) -> Source:
    return Source("regression", target, without, shipped=shipped)


def _published(target: str, n_splits: int) -> Source:
    """All rows, and the first few splits of NAME_splits.csv, as many as the processor allows."""
    return Source("regression", target, n_splits=n_splits)


def _classes(target: str, *without: str, rows: int = MOST_ROWS, shipped: Any = None) -> Source:
    return Source("classification", target, without, rows, shipped)


# The smallest first.
SETS = {
    "hald": _regression("Y"),
    "longley": _regression("TOTEMP", shipped=_statsmodels("longley")),
    "stackloss": _regression("STACKLOSS", shipped=_statsmodels("stackloss")),
    "scotland": _regression("YES", shipped=_statsmodels("scotland")),
    "uscrime": _regression("y"),
    "statecrime": _regression("murder", shipped=_statsmodels("statecrime")),
    "ccard": _regression("AVGEXP", shipped=_statsmodels("ccard")),
    "prostate": _regression("lpsa", "train"),
    "mcycle": _regression("accel"),
    "airpassengers": _regression("passengers"),
    "grunfeld": _regression("invest", shipped=_statsmodels("grunfeld")),
    "engel": _regression("foodexp", shipped=_statsmodels("engel")),
    "yacht": _published("resistance", 20),
    "sunspots_yearly": _regression("sunspots"),
    "diabetes": _regression("target", shipped=_sklearn("diabetes", scaled=False)),
    "energy": _published("Y1_heating", 20),
    "concrete": _published("strength_mpa", 10),
    "wine_red": _published("quality", 5),
    "kin8nm": _published("y", 2),
    "protein": _published("RMSD", 1),
    "spector": _classes("GRADE", shipped=_statsmodels("spector")),
    "iris": _classes("target", shipped=_sklearn("iris")),
    "wine": _classes("target", shipped=_sklearn("wine")),
    "sonar": _classes("class"),
    "ionosphere": _classes("class"),
    "banana": _classes("class", "ratsch_split1_train", rows=400),
    "ripley_synth": _classes("yc", "set", rows=400),
    "breast_cancer": _classes("target", shipped=_sklearn("breast_cancer")),
    "digits": _classes("target", rows=400, shipped=_sklearn("digits")),
}


def load(names: Iterable[str], folder: Path | None = None) -> Iterator[Table]:
    """The named tables; a line about those that aren't there."""
    for name in names:
        try:
            yield SETS[name].table(name, folder)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            skipped(name, str(error))
