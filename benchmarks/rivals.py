"""Credo beside other whole systems: the same rows, one core and the same CPU time for each; writes `docs/rivals.md`.

Each fit is a process of its own. Results are appended to a CSV file with a line for each table and system; what has a
line isn't run again, so that a run of hours can be stopped and continued.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tables import CLASSIFICATION, HALVES, JUDGE, REGRESSION, Table, tables

DOCS = Path(__file__).parents[1] / "docs"
SECONDS = 60.0
# A process is killed after this many times the budget in CPU seconds, or in seconds on a busy machine.
_KILLED_CPU, _KILLED = 3, 15
# Boosting stops when this many rounds have not improved the predictions of a fifth of the training rows.
_VALIDATION, _PATIENCE, _MOST_ROUNDS = 0.2, 50, 2000
# The share of the budget after which boosting isn't fitted a second time, to all training rows.
_NO_REFIT = 0.4
# Probabilities below this count as this; a standard deviation is at least this share of the target's.
_LEAST_PROBABILITY, _LEAST_STD = 1e-6, 1e-3
_PREDICTED = 1000
FIELDS = (
    "table", "task", "rows", "columns", "half", "system", "version", "log_score", "crps", "rmse", "coverage",
    "accuracy", "auc", "n_test", "cpu", "predict_1000", "status", "detail",
)  # fmt: skip
# The measures of the summary, and whether higher is better.
MEASURES = {
    REGRESSION: {"log_score": True, "crps": False, "rmse": False},
    CLASSIFICATION: {"log_score": True, "accuracy": True},
}
_LARGE = 5000
Row = dict[str, Any]
# From a frame to a predictive distribution of its rows, and a word about the model.
Predict = Callable[[pd.DataFrame], Any]
Fit = Callable[["Job"], tuple[Predict, str]]


@dataclass(frozen=True)
class Job:
    """The training rows of a table, and the CPU seconds."""

    table: Table
    train: pd.DataFrame
    seconds: float

    @property
    def inputs(self) -> pd.DataFrame:
        return self.train.drop(columns=self.table.target)

    @property
    def y(self) -> np.ndarray:
        return self.train[self.table.target].to_numpy()

    @property
    def classes(self) -> bool:
        return self.table.task == CLASSIFICATION

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows to fit and those that decide when boosting stops: the last ones of a series."""
        from sklearn.model_selection import train_test_split

        rows = np.arange(len(self.train))
        if self.table.series:
            n = int((1 - _VALIDATION) * len(rows))
            return rows[:n], rows[n:]
        strata = self.y if self.classes else None
        try:
            found = train_test_split(rows, test_size=_VALIDATION, random_state=0, stratify=strata)
        except ValueError:
            found = train_test_split(rows, test_size=_VALIDATION, random_state=0)
        return found[0], found[1]

    def normal(self, mean: Any, std: Any) -> Any:
        from credo.distributions import Normal

        return Normal(np.asarray(mean, float), np.maximum(std, _LEAST_STD * np.std(self.y)) + np.zeros(len(mean)))


def _categorical(probs: Any, classes: Any) -> Any:
    from credo.distributions import Categorical

    probs = np.asarray(probs, float)
    return Categorical(probs / probs.sum(axis=1, keepdims=True), classes=np.asarray(classes).astype(str))


class _Encoder:
    """Numbers as they are, dates as days, months and hours, and everything else as categories of the training rows."""

    def __init__(self, frame: pd.DataFrame, most_levels: int | None = None) -> None:
        self.levels: dict[str, pd.Index] = {}
        for name, column in self._with_dates(frame).items():
            if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
                self.levels[name] = column.dropna().astype(str).value_counts().index[:most_levels].sort_values()

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        found = {}
        for j, (name, column) in enumerate(self._with_dates(frame).items()):
            if name in self.levels:
                text = column.astype(object).where(column.notna(), None).map(str, na_action="ignore")
                column = pd.Categorical(text, categories=self.levels[name])
            found[f"c{j}"] = column
        return pd.DataFrame(found, index=frame.index)

    @staticmethod
    def _with_dates(frame: pd.DataFrame) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, column in frame.items():
            if pd.api.types.is_datetime64_any_dtype(column):
                found[f"{name} day"] = (column - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1)
                found[f"{name} month"], found[f"{name} hour"] = column.dt.month, column.dt.hour
            else:
                found[str(name)] = column
        return found


@dataclass(frozen=True)
class _Boosted:
    """A model fitted to four fifths of the training rows, their own predictions of the rest, and one fitted to all."""

    early: Any
    model: Any
    X_val: pd.DataFrame
    y_val: np.ndarray
    detail: str

    @property
    def rmse(self) -> float:
        return float(np.sqrt(np.mean((self.early.predict(self.X_val) - self.y_val) ** 2)))


def _boosted(job: Job, encode: Callable, fit: Callable, rounds: Callable[[Any], int], seconds: float) -> _Boosted:
    """The number of rounds is found on a fifth of the training rows; then a fit to all of them, if there is time.

    `fit(X, y, validation, None)` stops early, `fit(X, y, None, rounds)` doesn't.
    """
    X, y, start = encode(job.inputs), job.y, time.process_time()
    train, val = job.parts()
    early = model = fit(X.iloc[train], y[train], (X.iloc[val], y[val]), None)
    best = max(rounds(early), 1)
    detail = f"{best} rounds"
    if time.process_time() - start < _NO_REFIT * seconds:
        model = fit(X, y, None, best)
    else:
        detail += " of four fifths of the rows"
    return _Boosted(early, model, X.iloc[val], y[val], detail)


def _predicting(job: Job, encode: Callable, found: _Boosted) -> tuple[Predict, str]:
    """Class probabilities, or a normal distribution with the RMSE of the validation rows."""
    model = found.model
    if job.classes:
        return lambda frame: _categorical(model.predict_proba(encode(frame)), model.classes_), found.detail
    std = found.rmse
    return lambda frame: job.normal(model.predict(encode(frame)), std), found.detail


def lightgbm(job: Job) -> tuple[Predict, str]:
    """Learning rate 0.05, early stopping; a normal distribution with the RMSE of the validation rows."""
    import lightgbm as lgb

    end = time.process_time() + 0.7 * job.seconds

    def out_of_time(env: Any) -> None:
        if time.process_time() > end:
            raise lgb.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    def fit(X: Any, y: Any, val: Any, n: int | None) -> Any:
        kind = lgb.LGBMClassifier if job.classes else lgb.LGBMRegressor
        model = kind(n_estimators=n or _MOST_ROUNDS, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)
        if val is None:
            return model.fit(X, y)
        return model.fit(X, y, eval_set=[val], callbacks=[lgb.early_stopping(_PATIENCE, verbose=False), out_of_time])

    encode = _Encoder(job.inputs)
    found = _boosted(job, encode, fit, lambda model: model.best_iteration_ or _MOST_ROUNDS, job.seconds)
    return _predicting(job, encode, found)


def histogram_boosting(job: Job) -> tuple[Predict, str]:
    """scikit-learn's, early stopping; a normal distribution with the RMSE of the validation rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    def fit(X: Any, y: Any, val: Any, n: int | None) -> Any:
        kind = HistGradientBoostingClassifier if job.classes else HistGradientBoostingRegressor
        model = kind(max_iter=n or 500, early_stopping=val is not None, n_iter_no_change=20, random_state=0)
        return model.fit(X, y) if val is None else model.fit(X, y, X_val=val[0], y_val=val[1])

    encode = _Encoder(job.inputs, most_levels=250)
    return _predicting(job, encode, _boosted(job, encode, fit, lambda model: model.n_iter_, job.seconds))


_UNCERTAIN = "RMSEWithUncertainty"


def catboost(job: Job) -> tuple[Predict, str]:
    """Default settings, early stopping; numbers with two losses: RMSE for the means, and one that learns the spread.

    The spread is the learned one or the RMSE of the validation rows, whichever gives these the higher log score.
    """
    from catboost import CatBoostClassifier, CatBoostRegressor

    encoder = _Encoder(job.inputs)

    def encode(frame: pd.DataFrame) -> pd.DataFrame:
        found = encoder(frame)
        for name, column in found.items():
            if isinstance(column.dtype, pd.CategoricalDtype):
                found[name] = column.astype(object).where(column.notna(), "missing")
        return found

    def boosted(kind: Any, seconds: float, **loss: Any) -> _Boosted:
        end = time.process_time() + 0.7 * seconds
        options = {"thread_count": 1, "verbose": False, "allow_writing_files": False, "random_seed": 0, **loss}

        class OutOfTime:
            def after_iteration(self, info: Any) -> bool:
                return time.process_time() < end

        def fit(X: Any, y: Any, val: Any, n: int | None) -> Any:
            cats = [name for name in X.columns if X[name].dtype == object]
            model = kind(iterations=n or 1000, cat_features=cats, **options)
            if val is None:
                return model.fit(X, y)
            model.fit(X, y, eval_set=val, early_stopping_rounds=_PATIENCE, callbacks=[OutOfTime()])
            # By default it depends on the number of rounds.
            options["learning_rate"] = model.get_all_params()["learning_rate"]
            return model

        return _boosted(job, encode, fit, lambda model: (model.get_best_iteration() or 0) + 1, seconds)

    if job.classes:
        return _predicting(job, encode, boosted(CatBoostClassifier, job.seconds))
    means = boosted(CatBoostRegressor, job.seconds / 2)
    spread = boosted(CatBoostRegressor, job.seconds / 2, loss_function=_UNCERTAIN)

    def learned(model: Any, X: Any) -> Any:
        return np.sqrt(model.predict(X, prediction_type=_UNCERTAIN)[:, 1])

    at_val = means.early.predict(means.X_val)
    both = [job.normal(at_val, std) for std in (learned(spread.early, means.X_val), means.rmse)]
    better, plain = (np.mean(dist.log_prob(means.y_val)) for dist in both)
    if better <= plain:
        return _predicting(job, encode, means)

    def predict(frame: pd.DataFrame) -> Any:
        X = encode(frame)
        return job.normal(means.model.predict(X), learned(spread.model, X))

    return predict, f"{means.detail}, spread by {spread.detail}"


def autogluon(job: Job) -> tuple[Predict, str]:
    """Preset medium_quality, metric RMSE or log loss; a normal distribution with the RMSE of its validation rows."""
    from autogluon.tabular import TabularPredictor

    kind = "regression" if not job.classes else "binary" if len(set(job.y)) == 2 else "multiclass"
    metric = "log_loss" if job.classes else "root_mean_squared_error"
    predictor = TabularPredictor(
        job.table.target, problem_type=kind, eval_metric=metric, path=str(Path.cwd() / "autogluon"), verbosity=0
    )
    predictor.fit(job.train, presets="medium_quality", time_limit=job.seconds, num_cpus=1, num_gpus=0)
    board = predictor.leaderboard(display=False).set_index("model")
    detail = f"{predictor.model_best} of {', '.join(board.index)}"
    if job.classes:

        def probabilities(frame: pd.DataFrame) -> Any:
            found = predictor.predict_proba(frame)
            return _categorical(found.to_numpy(), found.columns)

        return probabilities, detail
    std = float(-board.loc[predictor.model_best, "score_val"])
    return lambda frame: job.normal(predictor.predict(frame).to_numpy(), std), detail


def credo(job: Job) -> tuple[Predict, str]:
    """`analyze` with the time as its budget; the distribution of the selected model."""
    from credo.metrics import predictive
    from credo.study import analyze

    study = analyze(job.train, job.table.target, time=job.seconds, task=job.table.task, progress=False)
    return lambda frame: predictive(study.model, frame), study.selected


SYSTEMS: dict[str, Fit] = {
    "Credo": credo,
    "AutoGluon": autogluon,
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "histogram boosting": histogram_boosting,
}
_PACKAGES = {"AutoGluon": "autogluon.tabular", "histogram boosting": "scikit-learn"}


def possible(table: Table, dist: Any) -> Any:
    """A predicted number, limited to the possible values of the target, so that all log scores are on one scale.

    Credo's predictions are limited already, to what its training rows show; those of the others to what all rows show.
    """
    from credo.distributions import Limited
    from credo.tables import target_support

    if table.task == CLASSIFICATION or isinstance(dist, Limited):
        return dist
    return target_support(table.frame[table.target].to_numpy()).limit(dist)


def scores(task: str, y: np.ndarray, dist: Any) -> Row:
    """Means over the test rows: log score and CRPS in the units of y, RMSE, coverage of the 95 % intervals."""
    from sklearn.metrics import roc_auc_score

    from credo.metrics import forecast, point

    if task == REGRESSION:
        lower, upper = dist.interval(0.95)
        return {
            "log_score": np.mean(dist.log_prob(y)),
            "crps": np.mean(dist.crps(y)),
            "rmse": np.sqrt(np.mean((point(dist) - y) ** 2)),
            "coverage": np.mean((lower <= y) & (y <= upper)),
        }
    found = forecast(y, dist)
    labels = np.asarray(found.classes).astype(str)
    right = labels[np.argmax(found.table, axis=1)] == y
    row = {"log_score": np.mean(np.log(np.maximum(found.actual, _LEAST_PROBABILITY))), "accuracy": np.mean(right)}
    if len(labels) == 2 and len(set(y)) == 2:
        row["auc"] = roc_auc_score(y == labels[1], found.table[:, 1])
    return row


def _cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def measured(table: Table, system: str, seconds: float) -> Row:
    """Fit a system to the training rows of a table and score its predictions of the others."""
    train, test = table.split()
    job = Job(table, train, seconds)
    start = _cpu()
    predict, detail = SYSTEMS[system](job)
    row: Row = {"cpu": _cpu() - start, "detail": detail}
    inputs = test.drop(columns=table.target)
    y = test[table.target].to_numpy()
    row |= scores(table.task, y, possible(table, predict(inputs))) | {"n_test": len(test)}
    many = inputs.sample(_PREDICTED, replace=True, random_state=0, ignore_index=True)
    start = _cpu()
    predict(many)
    return row | {"predict_1000": _cpu() - start}


def _child(name: str, system: str, seconds: float) -> None:
    """Measure one system and print the result, in a process of its own.

    The clocks that time limits use count CPU seconds, so that a busy machine doesn't shorten the budget.
    """
    begin, origin = time.time(), time.process_time()
    time.time = lambda: begin + time.process_time() - origin  # type: ignore[assignment]
    time.monotonic = time.perf_counter = time.process_time  # type: ignore[assignment]
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found = measured(tables(names=[name])[0], system, seconds)
    Path("result.json").write_text(json.dumps(found, default=float), "utf-8")


def run(table: Table, system: str, seconds: float) -> Row:
    """The line of one table and system; what is killed or fails says so in `status`."""
    frame = table.frame
    row: Row = {"table": table.name, "task": table.task, "rows": len(frame), "columns": frame.shape[1] - 1}
    row |= {"half": table.half, "system": system, "version": _version(system)}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    root = Path(__file__).parents[1]
    limit = f"ulimit -t {int(_KILLED_CPU * seconds) + 30}; exec"
    command = [sys.executable, "-m", "benchmarks.rivals", "--child", table.name, system, "--seconds", str(seconds)]
    with TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                ["sh", "-c", f'{limit} "$@"', "sh", *command],
                cwd=folder,
                env=os.environ | threads | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
                capture_output=True,
                text=True,
                timeout=_KILLED * seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return row | {"status": f"killed after {_KILLED * seconds:g} s"}
        result = Path(folder) / "result.json"
        if result.exists():
            return row | {"status": "ok"} | json.loads(result.read_text("utf-8"))
    if done.returncode < 0 or done.returncode > 128:
        return row | {"status": f"killed after {_KILLED_CPU * seconds:g} CPU s"}
    reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return row | {"status": f"failed: {reason[:200]}"}


def _version(system: str) -> str:
    from importlib.metadata import version

    return version(_PACKAGES.get(system, system.lower()))


def read(path: Path) -> pd.DataFrame:
    """All results; the last line of a table and system counts."""
    if not path.exists():
        return pd.DataFrame(columns=list(FIELDS))
    return pd.read_csv(path).drop_duplicates(["table", "system"], keep="last").reset_index(drop=True)


def append(path: Path, row: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        short = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()}
        writer.writerow(short)


def complete(found: pd.DataFrame) -> pd.DataFrame:
    """The lines of the tables on which every system was run."""
    n = found["system"].nunique()
    return found[found.groupby("table")["system"].transform("nunique") == n]


def ranks(found: pd.DataFrame, task: str) -> pd.DataFrame:
    """The rank of each system on each table, by each measure; what failed is last, and ties share a rank."""
    own = found[found["task"] == task]
    parts = {}
    for measure, higher in MEASURES[task].items():
        values = own.pivot(index="table", columns="system", values=measure).astype(float)
        worst = -np.inf if higher else np.inf
        parts[measure] = values.fillna(worst).rank(axis=1, ascending=not higher)
    return pd.concat(parts, axis=1)


def summary(found: pd.DataFrame, task: str) -> pd.DataFrame:
    """A line for each system: mean ranks, pooled coverage of numbers, and median seconds."""
    mean = ranks(found, task).mean().unstack(0)
    by = found[found["task"] == task].assign(ok=lambda frame: frame["status"] == "ok").groupby("system")
    if task == REGRESSION:
        inside = found.assign(inside=found["coverage"] * found["n_test"]).dropna(subset=["inside"]).groupby("system")
        mean["coverage"] = 100 * inside["inside"].sum() / inside["n_test"].sum()
    mean["cpu"], mean["predict_1000"] = by["cpu"].median(), by["predict_1000"].median()
    mean["failed"] = by.size() - by["ok"].sum()
    return mean.sort_values("log_score")


def behind(found: pd.DataFrame, ours: str = "Credo") -> pd.DataFrame:
    """Tables of 5,000 rows or more: RMSE over the best of the others, or the difference of log losses; worst first."""
    lines = []
    for name, own in found[found["rows"] >= _LARGE].groupby("table"):
        task, measure = own["task"].iloc[0], "rmse" if own["task"].iloc[0] == REGRESSION else "log_score"
        values = own.set_index("system")[measure].astype(float)
        if ours not in values or values.drop(ours).isna().all():
            continue
        others = values.drop(ours)
        best = others.idxmin() if task == REGRESSION else others.idxmax()
        gap = values[ours] / others[best] - 1 if task == REGRESSION else others[best] - values[ours]
        lines.append({"table": name, "task": task, "rows": own["rows"].iloc[0], "best": best, "gap": gap})
    columns = ["table", "task", "rows", "best", "gap"]
    return pd.DataFrame(lines, columns=columns).sort_values(["task", "gap"], ascending=[False, False])


_METHOD = """## How it was measured

Made by `make bench-rivals`; don't edit. Each system is fitted to the same training rows of a table with {seconds:g}
seconds of CPU time on one core, and predicts the same held-out rows: a quarter, at most 10,000. The tables are those of
`benchmarks/tables.py` on which nothing in Credo was derived, in the order of a hash of their names.

- **Ranks** are means over the tables, 1 for the best; ties share a rank, and a system that fails is last.
- **Log score and CRPS** need a distribution. AutoGluon, LightGBM and histogram boosting predict numbers only; they get
  a normal distribution with the RMSE of their validation rows. So does CatBoost, unless its loss RMSEWithUncertainty
  learns a spread under which the validation rows have a higher log score. All of them are limited to the possible
  values of the target, as Credo's are: of counts and other whole numbers, every system's score is a probability.
- **Coverage** is the share of all held-out numbers inside the 95 % intervals.
- **Settings.** AutoGluon: preset medium_quality. LightGBM (learning rate 0.05), CatBoost and scikit-learn's histogram
  boosting: default settings, with the number of rounds found on a fifth of the training rows, then fitted to all.
- Tables in the order of time: the last quarter of the rows is predicted.
"""
_NAMES = {
    "log_score": "log score", "crps": "CRPS", "rmse": "RMSE", "accuracy": "accuracy", "coverage": "95 % intervals hold",
    "cpu": "CPU s (median)", "predict_1000": "s for 1,000 predictions", "failed": "failed",
}  # fmt: skip


def page(found: pd.DataFrame, seconds: float) -> str:
    """The page of results, from the CSV alone."""
    found = complete(found)
    parts = ["# Credo beside other systems\n", opening(found), "![Mean ranks of the systems](images/rivals.svg)\n"]
    for task, title in ((REGRESSION, "Numbers"), (CLASSIFICATION, "Classes")):
        own = found[found["task"] == task]
        if own.empty:
            continue
        lines = summary(found, task)
        shown = [[name, *(_cell(column, line[column]) for column in lines.columns)] for name, line in lines.iterrows()]
        parts += [f"## {title}\n", *_table(["", *(_NAMES[column] for column in lines.columns)], shown)]
    gaps = behind(found)
    if len(gaps):
        parts += [f"## Tables of {_LARGE:,} rows or more\n"]
        parts.append("Credo beside the best of the others; a negative difference is in Credo's favor.\n")
        shown = [[line.table, f"{line.rows:,}", line.best, _gap(line.task, line.gap)] for line in gaps.itertuples()]
        parts += _table(["table", "rows", "best of the others", "Credo's difference"], shown)
    parts += ["## All tables\n", "Log score, and RMSE or accuracy.\n", *_all(found), _METHOD.format(seconds=seconds)]
    versions = found.drop_duplicates("system").set_index("system")["version"]
    parts.append("Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".\n")
    return "\n".join(parts)


def opening(found: pd.DataFrame) -> str:
    """Which system has the best mean ranks, in a sentence for each task, and how often intervals hold."""
    said = []
    for task, what in ((REGRESSION, "numbers to predict"), (CLASSIFICATION, "classes")):
        own = found[found["task"] == task]
        if own.empty:
            continue
        leads = []
        for measure, mean in ranks(found, task).mean().groupby(level=0, sort=False):
            first, second = mean.droplevel(0).sort_values().iloc[:2].items()
            leads.append(f"by {_NAMES[measure]} {first[0]} ({first[1]:.2f}; next {second[0]}, {second[1]:.2f})")
        said.append(f"On {own['table'].nunique()} tables with {what}, the best mean ranks are: {', '.join(leads)}.")
        if task == REGRESSION:
            lines = summary(found, task)["coverage"]
            said.append(
                "95 % intervals hold " + ", ".join(f"{lines[name]:.1f} % ({name})" for name in lines.index) + "."
            )
    return "\n".join(said) + "\n"


def _all(found: pd.DataFrame) -> list[str]:
    systems = [name for name in SYSTEMS if name in set(found["system"])]
    shown = []
    for name, own in found.groupby("table"):
        lines, first = own.set_index("system"), own.iloc[0]
        second = "rmse" if first["task"] == REGRESSION else "accuracy"
        cells = [
            f"{line['log_score']:.3f}; {line[second]:.4g}" if line["status"] == "ok" else "failed"
            for line in (lines.loc[system] for system in systems)
        ]
        shown.append([str(name), f"{first['rows']:,}", *cells])
    return _table(["table", "rows", *systems], shown)


def _gap(task: str, gap: float) -> str:
    return f"{100 * gap:+.1f} % RMSE" if task == REGRESSION else f"{gap:+.4f} log loss"


def _cell(column: str, value: float) -> str:
    if column == "failed":
        return f"{value:.0f}"
    return f"{value:.1f} %" if column == "coverage" else f"{value:.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:], ""]


def draw(found: pd.DataFrame, path: Path) -> None:
    """Mean ranks as dots, a line for each measure, the best on the left."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "credo"
    found = complete(found)
    lines = [
        (f"{'numbers' if task == REGRESSION else 'classes'}: {_NAMES[measure]}", mean)
        for task in MEASURES
        if (found["task"] == task).any()
        for measure, mean in ranks(found, task).mean().groupby(level=0, sort=False)
    ]
    figure = Figure(figsize=(7.5, 0.55 * len(lines) + 1.2), layout="constrained")
    axes = figure.subplots()
    systems = [name for name in SYSTEMS if name in set(found["system"])]
    for place, system in enumerate(systems):
        x = [float(mean.xs(system, level=1).iloc[0]) for _, mean in lines]
        ours = system == "Credo"
        axes.plot(
            x, range(len(lines)), "o", color=f"C{place}", ms=9 if ours else 6, label=system, zorder=3 if ours else 2
        )
    axes.set_yticks(range(len(lines)), [label for label, _ in lines])
    axes.set_xlim(left=1)
    axes.margins(y=0.12)
    axes.invert_yaxis()
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("mean rank (1 is best)")
    figure.legend(loc="outside upper center", ncols=len(systems), frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="NAME")
    parser.add_argument("--tables", nargs="+", default=[], metavar="NAME", help="tables of either half")
    parser.add_argument("--half", choices=[*HALVES, "both"], default=JUDGE)
    parser.add_argument("--results", type=Path, default=DOCS / "rivals.csv", help="CSV file; lines are appended")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for rivals.md and images/rivals.svg")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU seconds for each fit")
    parser.add_argument("--again", action="store_true", help="run what has a line already, too")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page from the results")
    parser.add_argument("--child", nargs=2, metavar=("TABLE", "SYSTEM"), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    given = _parsed(arguments)
    if given.child:
        _child(*given.child, given.seconds)
        return 0
    done = set() if given.again else set(zip(*(read(given.results)[key] for key in ("table", "system")), strict=True))
    half = None if given.half == "both" or given.tables else given.half
    for table in [] if given.page else tables(half, given.tables):
        for system in given.systems:
            if (table.name, system) in done:
                continue
            row = run(table, system, given.seconds)
            append(given.results, row)
            shown = {key: row.get(key) for key in ("log_score", "rmse", "accuracy", "cpu")}
            cells = "  ".join(f"{key} {value:.4g}" for key, value in shown.items() if value is not None)
            print(f"{table.name} ({row['rows']:,} rows), {system}: {row['status']}  {cells}", flush=True)
    found = read(given.results)
    if given.half != "both":
        found = found[found["half"] == given.half]
    if len(found):
        draw(found, given.docs / "images" / "rivals.svg")
        (given.docs / "rivals.md").write_text(page(found, given.seconds), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
