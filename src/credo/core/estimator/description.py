"""What a reader needs to know about a fitted model, in one form for all models: `model.describe()`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from credo.core.estimator.names import column_names
from credo.core.frames import Table

Array = NDArray[np.float64]

COEFFICIENT, INTERCEPT, PARAMETER = "coefficient", "intercept", "parameter"
# Draws for comparing two rows: they give the 2.5 % quantile to a quarter of a per cent.
_N_DRAWS = 4000
# Words of class names that keep their capital letter.
_PROPER = {"Bayesian", "Gaussian", "Lasso"}


class Effect(NamedTuple):
    """A fitted number and its interval.

    `kind` is "coefficient" (change of the prediction, or of the log odds, per unit of a column), "intercept" or
    "parameter". `lower` and `upper` are None if the model has no interval, and infinite for a coefficient that the data
    don't determine.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9])
    >>> [(effect.name, round(effect.estimate, 2), effect.kind) for effect in model.describe().effects]
    [('intercept', 0.06, 'intercept'), ('x0', 0.96, 'coefficient')]
    """

    name: str
    estimate: float
    lower: float | None = None
    upper: float | None = None
    kind: str = PARAMETER


@dataclass(frozen=True)
class Evidence:
    """A log evidence, the method that gave it, what it conditions on (see `evidence_base`), and its standard error.

    Examples
    --------
    >>> from credo import GPRegressor
    >>> GPRegressor(noise=0.1, hyperparameters="fixed").fit([[0.0], [1.0]], [1.0, 2.0]).posterior_.evidence.method
    'exact'
    """

    value: float
    method: str | None = None
    base: str | None = None
    error: float = 0.0


@dataclass(frozen=True)
class Curve:
    """The fitted function without noise, or the class probabilities, at rows of a table.

    `prepare` turns these rows into those that `model` takes.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.5])
    >>> mean, lower, upper = model.describe().curve.band([[1.0]])
    >>> mean.round(2), bool(lower < mean < upper)
    (array([1.05]), True)
    """

    model: Any
    prepare: Callable[[Any], Any] = field(default=lambda rows: rows)

    def band(self, rows: Any, level: float = 0.95) -> tuple[Array, Array, Array]:
        """Mean, lower and upper end at each row; for classes with a column for each of them.

        Without an interval the ends equal the mean. The interval of a probability may not contain its mean.
        """
        rows = self.prepare(rows)
        if hasattr(self.model, "predict_proba"):
            mean = np.asarray(self.model.predict_proba(rows))
            ends = self.model.proba_interval(rows, level) if hasattr(self.model, "proba_interval") else (mean, mean)
            return mean, np.asarray(ends[0]), np.asarray(ends[1])
        try:
            dist = self.model.predict_dist(rows, latent=True)
        except ValueError:  # a point estimate, or no residual degrees of freedom
            mean = np.asarray(self.model.predict(rows))
            return mean, mean, mean
        lower, upper = dist.interval(level)
        return np.asarray(dist.mean), np.asarray(lower), np.asarray(upper)

    def draws(self, rows: Any, n: int, *, random_state: Any = None) -> Array:
        """Functions drawn from the posterior at the rows, shape (n, n_rows)."""
        # `sample` of a process, `sample_functions` of a linear model.
        draw = getattr(self.model, "sample", None) or getattr(self.model, "sample_functions", None)
        if draw is None:
            raise TypeError(f"a {type(self.model).__name__} can't draw functions")
        return np.asarray(draw(self.prepare(rows), n, random_state=random_state))

    def difference(self, rows: Any, level: float = 0.95) -> tuple[float, float] | None:
        """The interval of f(second row) − f(first row), or of log odds; None if their covariance isn't known.

        With more rows it is the mean of f, or of the log odds, over the second half of them minus that over the first.
        All rows share the uncertainty of the function's level, so bands around each are wider than this interval.
        """
        rows, tail = self.prepare(rows), (1 - level) / 2
        if hasattr(self.model, "sample_functions"):
            draws = np.asarray(self.model.sample_functions(rows, _N_DRAWS, random_state=0))
            if draws.ndim != 2:
                return None
            low, high = np.quantile(draws @ _contrast(draws.shape[1]), (tail, 1 - tail)).tolist()
            return low, high
        try:
            _, cov = self.model.predict(rows, return_cov=True)
        except (TypeError, ValueError):  # a classifier, or a regression without covariances
            return None
        dist = self.model.predict_dist(rows, latent=True)
        # Noise is on the diagonal of cov only, and the variances of the function are known.
        weight = _contrast(len(cov))
        variance = weight @ (cov - np.diag(np.diag(cov)) + np.diag(np.asarray(dist.var))) @ weight
        lower, upper = dist.interval(level)
        half = float(np.mean((upper - lower) / (2 * np.asarray(dist.std)))) * np.sqrt(max(variance, 0.0))
        middle = float(np.asarray(dist.mean) @ weight)
        return (middle - half, middle + half) if np.isfinite(half) else None


def _contrast(n: int) -> Array:
    """The weights of n values in the mean of the second half minus that of the first."""
    return np.repeat([-2.0 / n, 2.0 / n], n // 2)


@dataclass(frozen=True)
class Description:
    """What `model.describe()` returns.

    Parameters
    ----------
    words : what the model is, as a short phrase
    equation : its form, in plain characters
    settings : the constructor's arguments as pairs of name and text
    columns : the names of the columns that the model was fitted to
    effects : the fitted numbers, with intervals if the model has them
    inputs : how much each column matters by the model's own measure, as pairs of name and value; empty without one
    measure : what that measure is
    noise : the standard deviation of the noise, in units of y, if the model estimates one
    transform : the name of the transformation of y, whose units the effects have; empty without one
    members : the models that this one combines, as pairs of name and weight
    subsets : the posterior over subsets of the columns, if there is one
    selects : whether the fit sets coefficients to zero
    curve : the fitted function, or None if the model predicts only points
    terms : the functions that add up to the fitted one, of an additive model (`credo.additive.TermCurve`)
    classes : the labels that a classifier predicts
    evidence : the log evidence, if the model has one
    outcome : how the fit ended
    data : the training rows and their targets (for classes the indices in `classes`), if the model stores them

    Examples
    --------
    >>> from credo.sparse import SpikeSlabRegressor
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [4.0, 1.0], [5.0, 0.0]]
    >>> found = SpikeSlabRegressor().fit(X, [0.1, 0.9, 2.1, 2.9, 4.1, 5.0]).describe()
    >>> found.words, found.measure, [name for name, value in found.inputs if value > 0.5]
    ('Spike and slab regression', 'inclusion probability', ['x0'])
    """

    words: str
    equation: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    inputs: tuple[tuple[str, float], ...] = ()
    measure: str = ""
    noise: float | None = None
    transform: str = ""
    members: tuple[tuple[str, float], ...] = ()
    subsets: Any = None
    selects: bool = False
    curve: Curve | None = None
    terms: tuple[Any, ...] = ()
    classes: tuple[Any, ...] = ()
    evidence: Evidence | None = None
    outcome: str = ""
    data: tuple[Array, Array] | None = None

    def coefficients(self) -> tuple[Array, Array, Array]:
        """Estimates and the ends of their intervals, a row for each score and a column for each column of the table.

        The ends are NaN without intervals. A model without coefficients has no rows.
        """
        found = [effect for effect in self.effects if effect.kind == COEFFICIENT]
        shape = (len(found) // max(len(self.columns), 1), len(self.columns))
        parts = ([effect[i] for effect in found] for i in (1, 2, 3))
        estimate, lower, upper = (np.array(part, dtype=np.float64).reshape(shape) for part in parts)
        return estimate, lower, upper

    @property
    def settings_text(self) -> str:
        """The settings on one line."""
        return ", ".join(f"{name}={text}" for name, text in self.settings)


def describe(model: Any, *, level: float = 0.95) -> Description:
    """The description of any fitted model: its own, that of a pipeline's last step, or its name and settings.

    Examples
    --------
    >>> from credo.core.estimator import describe
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> describe(DecisionTreeRegressor(max_depth=2).fit([[0.0], [1.0]], [0.0, 1.0])).words
    'Decision tree regressor'
    """
    if isinstance(model, Pipeline):
        *before, (_, last) = model.steps
        inner = describe(last, level=level)
        curve = inner.curve and Curve(last, model[:-1].transform)
        settings = tuple((f"{name}: {key}", text) for name, step in before for key, text in settings_of(step))
        return replace(inner, words=in_words(model), settings=settings + inner.settings, curve=curve)
    if hasattr(model, "best_estimator_"):
        return describe(model.best_estimator_, level=level)
    if hasattr(model, "describe"):
        return model.describe(level=level)
    columns = tuple(column_names(model)) if hasattr(model, "n_features_in_") else ()
    classes = tuple(np.asarray(getattr(model, "classes_", ())).tolist())
    curve = Curve(model) if hasattr(model, "predict_proba") else None
    return Description(in_words(model), "", settings_of(model), columns, classes=classes, curve=curve)


def in_words(model: Any) -> str:
    """What a fitted model is, as a short phrase: the `words` of its description alone.

    Examples
    --------
    >>> from credo.core.estimator import in_words
    >>> from sklearn.linear_model import LinearRegression
    >>> in_words(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]))
    'Linear regression'
    """
    if isinstance(model, Pipeline):
        before = " and ".join(words_of(type(step).__name__).lower() for _, step in model.steps[:-1])
        return f"{in_words(model[-1])} after {before}" if before else in_words(model[-1])
    if hasattr(model, "best_estimator_"):
        return in_words(model.best_estimator_)
    return str(model._words()) if hasattr(model, "_words") else words_of(type(model).__name__)


def final_step(model: Any) -> Any:
    """The final estimator inside Pipelines and fitted searches, which has the coefficients and the evidence.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.metrics import final_step
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> final_step(pipeline).coef_.round(2)
    array([1.22])
    """
    if isinstance(model, Pipeline):
        return final_step(model[-1])
    if hasattr(model, "best_estimator_"):
        return final_step(model.best_estimator_)
    return model


def evidence_of(model: Any) -> Evidence | None:
    """The log evidence of a fitted model, or of the last step of a pipeline or search; None if it has none.

    Examples
    --------
    >>> from credo import BayesianLinearRegression
    >>> from credo.core.estimator import evidence_of
    >>> model = BayesianLinearRegression().fit([[0.0], [1.0], [2.0]], [0.1, 0.9, 2.1])
    >>> evidence_of(model).value == model.log_evidence_
    True
    """
    model = model if hasattr(model, "log_evidence_") else final_step(model)
    if not hasattr(model, "log_evidence_"):
        return None
    method, base = getattr(model, "evidence_method_", None), getattr(model, "evidence_base_", None)
    error = float(getattr(model, "log_evidence_error_", 0.0))
    return Evidence(float(model.log_evidence_), method, base, error if np.isfinite(error) else 0.0)


def data_of(model: Any) -> tuple[Array, Array] | None:
    """The training rows that a model stores, with their targets or class indices; None if it stores none."""
    targets = getattr(model, "codes_", getattr(model, "y_train_", None))
    if targets is None or not hasattr(model, "X_train_"):
        return None
    return np.asarray(model.X_train_), np.asarray(targets)


def class_scores(model: Any, rows: Any) -> tuple[bool, Array]:
    """Whether any classifier has probabilities, and scores (n_rows, n_classes), the highest of which is predicted.

    Examples
    --------
    >>> from credo import Perceptron
    >>> from credo.core.estimator import class_scores
    >>> model = Perceptron().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> has_probabilities, scores = class_scores(model, [[0.5]])
    >>> has_probabilities, model.classes_[scores.argmax(axis=1)]
    (False, array(['low'], dtype='<U4'))
    """
    if hasattr(model, "predict_proba"):
        return True, np.asarray(model.predict_proba(rows), dtype=np.float64)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(rows), dtype=np.float64)
        if scores.ndim == 1:
            return False, np.column_stack([-scores, scores])
        if scores.shape[1] == len(model.classes_):
            return False, scores
    said = np.asarray(model.predict(rows))
    return False, (said[:, None] == np.asarray(model.classes_)[None, :]).astype(np.float64)


def words_of(name: str) -> str:
    """The words of a class name.

    >>> words_of("BayesianLinearRegression"), words_of("LMSRegression")
    ('Bayesian linear regression', 'LMS regression')
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+", name)
    text = " ".join(part if part in _PROPER or part.isupper() else part.lower() for part in parts)
    return text[:1].upper() + text[1:]


def settings_of(model: Any) -> tuple[tuple[str, str], ...]:
    """The constructor's arguments as text, each on one line."""
    return tuple((name, " ".join(repr(value).split())) for name, value in model.get_params(deep=False).items())


def effects_of(table: Table, columns: Sequence[str] = ()) -> tuple[Effect, ...]:
    """The rows of a summary; `columns` are the names of those with coefficients.

    Examples
    --------
    >>> from credo.core.estimator import effects_of
    >>> from credo.core.frames import Table
    >>> effects_of(Table("Line", {"parameter": ["dose"], "estimate": [2.0]}), ["dose"])
    (Effect(name='dose', estimate=2.0, lower=None, upper=None, kind='coefficient'),)
    """
    known = set(columns)
    rows = zip(*(table.columns.get(key) or [None] * len(table) for key in Effect._fields[1:4]), strict=True)
    names = [str(name) for name in table.columns.get("parameter", ())]
    return tuple(
        Effect(name, float(estimate), *_ends(lower, upper), _kind(name, known))
        for name, (estimate, lower, upper) in zip(names, rows, strict=True)
    )


def _ends(lower: Any, upper: Any) -> tuple[float | None, float | None]:
    """The ends of an interval; None for both if one is unknown."""
    if lower is None or upper is None or np.isnan(lower) or np.isnan(upper):
        return None, None
    return float(lower), float(upper)


def _kind(name: str, columns: set[str]) -> str:
    # With several classes the name of the class comes first, as in "oak: height".
    last = name if name in columns else name.partition(": ")[2] or name
    return INTERCEPT if last == "intercept" else COEFFICIENT if last in columns else PARAMETER


def linear_effects(
    columns: Sequence[str],
    coef: Any,
    intercept: Any = None,
    *,
    classes: Any = (),
    intervals: tuple[Array, Array] | None = None,
) -> tuple[Effect, ...]:
    """The effects of coefficients of shape (n_scores, n_columns) or (n_columns,), in the order of a summary.

    Examples
    --------
    >>> from credo.core.estimator import linear_effects
    >>> [effect.name for effect in linear_effects(["dose", "age"], [2.0, 0.0], 1.0)]
    ['intercept', 'dose', 'age']
    """
    coef, found = np.atleast_2d(coef), []
    prefixes = [""] if len(coef) == 1 else [f"{label}: " for label in classes]
    lower, upper = (None, None) if intervals is None else intervals
    for k, (prefix, row) in enumerate(zip(prefixes, coef, strict=True)):
        if intercept is not None:
            found.append(Effect(f"{prefix}intercept", float(np.ravel(intercept)[k]), kind=INTERCEPT))
        for j, (name, value) in enumerate(zip(columns, row.tolist(), strict=True)):
            low, high = (None, None) if lower is None or upper is None else (float(lower[j]), float(upper[j]))
            found.append(Effect(f"{prefix}{name}", value, low, high, COEFFICIENT))
    return tuple(found)
