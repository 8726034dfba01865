"""The models of a study, from simple to complex, and which tables each one takes.

The order in which they are fitted, and how long they take, is in `portfolio`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import credo

BASELINE, AVERAGE = "baseline", "average"
# The models of times until an event.
OF_TIMES = ("log-normal", "weibull")
# What follows the name of a model of a transformed target.
SUFFIXES = {"log": "-log", "box-cox": "-power", "yeo-johnson": "-power"}
# Up to this many rows Gaussian processes keep all covariances, as `GPRegressor(method="auto")` does.
EXACT_ROWS = 5000


@dataclass(frozen=True)
class Times:
    """A time column: its index among the prepared columns, range, step and cycles, in prepared units.

    `cycles` are periods that the table covers at least twice.
    """

    column: int
    span: float
    step: float
    cycles: tuple[float, ...] = ()


@dataclass(frozen=True)
class Size:
    """Numbers of rows, prepared columns, table columns behind these, and classes (0 for regression).

    `times` is given if the rows are in time order. `counts` is whether the target has counts, and `zeros` is how many
    rows have a zero if it is never negative. `order` has classes on a scale, from the lowest. `exposure` is the
    position of the exposure among the prepared columns; `columns` and `inputs` don't count it. `is_time` is whether the
    target has times until an event, which may be censored.
    """

    rows: int
    columns: int
    inputs: int = 0
    classes: int = 0
    times: Times | None = None
    counts: bool = False
    zeros: int = 0
    order: tuple[Any, ...] = ()
    exposure: int | None = None
    is_time: bool = False

    @property
    def task(self) -> str:
        """ "regression" or "classification"."""
        return "classification" if self.classes else "regression"

    @property
    def has_lengthscales(self) -> bool:
        """Whether the rows determine a length scale for each input; a label carries less information than a number."""
        return (self.inputs or self.columns) <= min(50, self.rows / (30 if self.classes else 3))


Limit = Callable[[Size], str | None]


@dataclass(frozen=True)
class ModelSpec:
    """A model by name: how it is made for a table, and its limits, each of which says why a table is refused, or None.

    `compiled` are the modules that numba compiles on first use. `default` is whether it takes part if no models are
    named. A `transformable` model may predict a transformed target.

    Examples
    --------
    >>> from credo.study import MODELS
    >>> from credo.study.catalogue import Size
    >>> spec = next(spec for spec in MODELS["regression"] if spec.name == "linear")
    >>> spec.make(Size(rows=100, columns=3))
    LinearRegression()
    """

    name: str
    build: Callable[[Size], Any]
    limits: tuple[Limit, ...] = ()
    compiled: tuple[str, ...] = ()
    transformable: bool = True
    default: bool = True
    transformation: Any = "identity"

    @property
    def plain_name(self) -> str:
        """The name of the model of the target itself."""
        return self.name.removesuffix(SUFFIXES.get(self.transformation, ""))

    def limit(self, size: Size) -> str | None:
        """Why a table of this size can't be used, or None."""
        return next(filter(None, (limit(size) for limit in self.limits)), None)

    def make(self, size: Size) -> Any:
        """An unfitted estimator for a prepared table of this size."""
        model = self.build(size)
        if self.transformation != "identity":
            # A forecast may leave the range of the targets.
            tails: Any = "linear" if size.times is None else "continue"
            model = credo.TransformedTarget(model, transformation=self.transformation, extrapolation=tails)
        return model if size.exposure is None else credo.ensemble.ExposureRegressor(model, column=size.exposure)

    def transformed(self, kind: str) -> ModelSpec:
        """The same model of a transformed target, as in "linear-log"."""
        return replace(self, name=self.name + SUFFIXES[kind], transformation=kind)


def names(task: str | None = None) -> tuple[str, ...]:
    """The names of the models of a task, or of both; without the baseline, which is always compared."""
    specs = [spec for kind in (MODELS if task is None else (task,)) for spec in MODELS[kind]]
    return (*dict.fromkeys(spec.name for spec in specs if spec.name != BASELINE), AVERAGE)


def chosen(
    size: Size, models: Sequence[str] | None, transformation: str = "identity"
) -> tuple[list[ModelSpec], list[str]]:
    """The named models, or all that take part by default, and notes about those that can't use the table.

    `transformation` is the one under which the target is easiest to predict: if no models are named, those that can
    predict the transformed target do.
    """
    known = list(MODELS[size.task])
    if models is None and size.is_time:
        known = [spec for spec in known if spec.name in (BASELINE, *OF_TIMES)]
    if models is not None:
        _check_names(models, size.task)
        power = transformation if SUFFIXES.get(transformation) == "-power" else "yeo-johnson"
        kinds = ("log", power) if size.task == "regression" else ()
        known = [spec for spec in _varied(known, *kinds) if spec.name in (BASELINE, *models)]
        if AVERAGE in models and len(known) < 3:
            raise ValueError(f"{AVERAGE} averages the other models: name at least two of them")
    else:
        every = _varied(known, transformation)
        # Besides models of the transformed target, those of the target itself add less than 0.01 nats to the average on
        # 10 of 11 tables of `benchmarks/portfolio.py`. Its line is there because readers know its coefficients.
        replaced = {spec.plain_name for spec in every if spec.transformation != "identity"} - {"linear"}
        known = [spec for spec in every if spec.default and spec.name not in replaced]
    reasons = {spec.name: reason for spec in known if (reason := spec.limit(size)) is not None}
    if size.is_time:
        reasons |= {spec.name: _CENSORED for spec in known if spec.name not in (BASELINE, *OF_TIMES)}
    if models is not None and reasons:
        name, reason = next(iter(reasons.items()))
        raise ValueError(f"the model {name!r} can't be used for this table: {reason}")
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason not in _UNREMARKABLE:
            by_reason.setdefault(reason, []).append(name)
    notes = [f"Not used: {', '.join(left)} ({reason})." for reason, left in by_reason.items()]
    return [spec for spec in known if spec.name not in reasons], notes


def _varied(specs: Sequence[ModelSpec], *kinds: str) -> list[ModelSpec]:
    """Each model followed by those of the transformed targets."""
    kinds = tuple(kind for kind in kinds if kind != "identity")
    return [
        one
        for spec in specs
        for one in (spec, *(spec.transformed(kind) for kind in kinds if spec.transformable and spec.name != BASELINE))
    ]


def _variants() -> list[str]:
    """The names of the models of numbers, and of those of transformed targets."""
    return [spec.name for spec in _varied(MODELS["regression"], "log", "yeo-johnson") if spec.name != BASELINE]


def known_name(name: str, task: str | None = None) -> str:
    """The name if there is such a model; otherwise an error that suggests the nearest."""
    every, variants = names(task), _variants()
    if name in every or name in variants:
        return name
    nearest = get_close_matches(name, (*every, *variants), n=1, cutoff=0.4)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"there is no model {name!r}.{hint} Choose from {', '.join(every)}.")


def _check_names(models: Sequence[str], task: str) -> None:
    every, variants = names(task), _variants()
    for name in models:
        known_name(name)
        if name not in every and not (task == "regression" and name in variants):
            what = "numbers" if task == "regression" else "classes"
            raise ValueError(
                f"the model {name!r} doesn't predict {what}, and the target has {what}: choose from "
                f"{', '.join(every)}, or set the task"
            )


# Limits: why a table can't be used.

_NO_TIME, _NO_CYCLE = "the rows are not in time order", "no cycle of the rows is known"
_NO_COUNTS, _NO_ZEROS = "the target has no counts", "fewer than 30 targets are zero, or fewer than 30 above zero"
_NO_SCALE = "the classes are not on a scale"
_NO_EVENT, _CENSORED = "no event=… (--event NAME) is given", "it doesn't take censored times"
_WITH_EXPOSURE = "its probability of a zero doesn't depend on the exposure"
# No note mentions these: most tables aren't in time order, and most targets are no counts.
_UNREMARKABLE = (_NO_TIME, _NO_CYCLE, _NO_COUNTS, _NO_ZEROS, _NO_SCALE, _NO_EVENT)


def _in_time_order(size: Size) -> str | None:
    return _NO_TIME if size.times is None else None


def _with_a_cycle(size: Size) -> str | None:
    return _NO_CYCLE if size.times is None or not size.times.cycles else None


def _of_counts(size: Size) -> str | None:
    return None if size.counts else _NO_COUNTS


def _of_zeros(size: Size) -> str | None:
    return None if 30 <= size.zeros <= size.rows - 30 else _NO_ZEROS


def _without_exposure(size: Size) -> str | None:
    return None if size.exposure is None else _WITH_EXPOSURE


def _with_events(size: Size) -> str | None:
    return None if size.is_time else _NO_EVENT


def _on_a_scale(size: Size) -> str | None:
    return None if len(size.order) > 2 else _NO_SCALE


def _enough_rows(size: Size) -> str | None:
    return f"{size.rows:,} rows are fewer than 30" if size.rows < 30 else None


def _few_squares(size: Size) -> str | None:
    """The square map turns p columns into p (p + 3)/2 features, and a fit costs their square times the rows."""
    features = size.columns * (size.columns + 3) // 2
    if features > 1000 or features * size.rows > 2e7:
        return f"{size.columns:,} columns would give {features:,} quadratic features, too many for {size.rows:,} rows"
    return None


def _few_columns(size: Size) -> str | None:
    return f"{size.columns:,} columns are more than 20,000" if size.columns > 20_000 else None


def _dense(size: Size) -> str | None:
    if size.rows * size.columns > 1e8:
        return f"{size.rows:,} rows × {size.columns:,} columns are too many for a dense table"
    return None


def _few_lengthscales(size: Size) -> str | None:
    if not size.has_lengthscales:
        return f"{size.inputs or size.columns:,} length scales of the noise are too many for {size.rows:,} rows"
    return None


def _two_classes(size: Size) -> str | None:
    return f"it needs two classes, and there are {size.classes:,}" if size.classes > 2 else None


def _square_matrices(size: Size) -> str | None:
    """Four n × n matrices must fit into memory."""
    needed, there = 32 * size.rows**2, memory()
    if there is not None and needed > there:
        return f"matrices of {size.rows:,} × {size.rows:,} numbers need {needed / 1e9:.0f} GB of memory"
    return None


def _few_basis_functions(size: Size) -> str | None:
    """Four square matrices of the basis functions of all columns must fit into memory."""
    from credo.additive.terms import N_KNOTS  # noqa: PLC0415, `credo --help` needs only the names of the models

    n_functions = size.columns * (N_KNOTS + 1)
    needed, there = 32 * n_functions**2, memory()
    if there is not None and needed > there:
        return (
            f"curves of {size.columns:,} columns have {n_functions:,} basis functions, whose matrices need "
            f"{needed / 1e9:.0f} GB of memory"
        )
    return None


def memory() -> int | None:
    """The memory of this machine in bytes; None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


# Estimators. `credo.GPRegressor` and the like are imported on first use, so that a study imports only its models.


def _process_options(size: Size, n_restarts: int) -> dict[str, Any]:
    """With many rows, a Gaussian process has fewer inducing points than by default and a single start."""
    if size.rows <= EXACT_ROWS:
        return {"n_restarts": n_restarts}
    method = "auto" if size.columns <= 3 else "inducing"
    return {"method": method, "n_inducing": 150 if size.classes else 200, "n_restarts": 0}


def _gp(size: Size) -> Any:
    # A kernel given by name gets one length scale for each column in `fit`.
    return credo.GPRegressor(None if size.has_lengthscales else credo.RBF(), **_process_options(size, 4))


def _gp_matern(size: Size) -> Any:
    kernel: Any = "matern52" if size.has_lengthscales else credo.Matern52()
    return credo.GPRegressor(kernel, **_process_options(size, 4))


def _gp_heteroscedastic(size: Size) -> Any:
    return credo.GPRegressor(noise="heteroscedastic", **_process_options(size, 4))


def _gp_classifier(size: Size) -> Any:
    kernel = None if size.has_lengthscales else credo.RBF()
    return credo.GPClassifier(kernel, **_process_options(size, 4 if size.classes == 2 else 0))


def _gp_time(size: Size) -> Any:
    """A trend, cycles of changing shape, short-term deviations, and the other columns.

    Beside a linear mean with flat priors, a Matérn-3/2 process whose length scale is far beyond the rows is an
    integrated random walk, the local linear trend of structural time series (and a cubic smoothing spline): it
    continues the last slope, and its variance grows as the cube of the horizon. A process with a learned length scale
    returns to the mean. It starts from these values; restarts find no higher evidence.
    """
    times = size.times
    assert times is not None
    at = [times.column]
    trend = credo.Matern32(5 * times.span).fix("lengthscale")
    kernel = trend.on(at) + 0.1 * credo.Matern32(4 * times.step).on(at)
    for period in times.cycles:
        cycle = credo.Periodic(1.0, period=period).fix("period") * credo.Matern52(times.span).fix("variance")
        kernel = kernel + 0.3 * cycle.on(at)
    others = [j for j in range(size.columns) if j != times.column]
    kernel = kernel + 0.3 * credo.RBF([1.0] * len(others)).on(others) if others else kernel
    options = _process_options(size, 0)
    if size.rows > EXACT_ROWS and size.columns == 1:
        # With many harmonics, the state-space form takes longer than inducing points.
        options["method"] = "inducing"
    return credo.GPRegressor(kernel, mean="linear", **options)


def _naive(size: Size) -> Any:
    return credo.NaiveForecast(size.times.column if size.times else 0)


def _naive_season(size: Size) -> Any:
    times = size.times
    return credo.NaiveForecast(times.column, period=max(times.cycles)) if times else credo.NaiveForecast()


def _inclusion(size: Size) -> Any:
    """The prior over subsets: beta-binomial, or with more columns than rows one that expects few.

    With many columns, a beta-binomial prior gives as much probability to models that reproduce the target with half as
    many columns as rows as to all others.
    """
    return (1.0, float(size.columns)) if size.columns > size.rows else "beta-binomial"


def _spike_slab(size: Size) -> Any:
    return credo.SpikeSlabRegressor(_inclusion(size), slab="zellner-siow", n_draws=5000)


def _spike_slab_classifier(size: Size) -> Any:
    search: Any = "enumerate" if 2.0 ** min(size.columns, 60) * size.rows <= 3e6 else "gibbs"
    # With more columns than rows the chain needs longer to mix, and its models are smaller.
    return credo.SpikeSlabClassifier(
        _inclusion(size), search=search, n_draws=4000 if size.columns > size.rows else 1000
    )


def _additive(size: Size) -> Any:
    """A term for every column, and for rows in time order also a curve for each cycle.

    The family is the normal one: for positive targets the gamma family that the evidence chooses predicts held-out rows
    worse than the normal one of the transformed target (log score −1.31 against .01 on yacht, −1.20 against −.66 on
    energy).
    """
    terms = _additive_terms(size)
    return credo.AdditiveClassifier(terms) if size.classes else credo.AdditiveRegressor(terms, family="gaussian")


def _counts(size: Size) -> Any:
    """Poisson or negative binomial, by the evidence."""
    return credo.AdditiveRegressor(_additive_terms(size))


def _hurdle(size: Size) -> Any:
    """A model of whether a target is zero, and one of the others: counts, or amounts such as earnings."""
    return credo.AdditiveRegressor(_additive_terms(size), family="auto" if size.counts else "gamma", zeros=True)


def _time(family: Any) -> Callable[[Size], Any]:
    """ln y = f(x) + noise, for times of which some are censored."""
    return lambda size: credo.AdditiveRegressor(_additive_terms(size), family=family)


def _baseline(size: Size) -> Any:
    return credo.AdditiveRegressor([]) if size.is_time else credo.BaselineRegressor()


def _ordinal(size: Size) -> Any:
    """Cumulative logits of ordered classes."""
    return credo.AdditiveClassifier(_additive_terms(size), order=list(size.order))


def _additive_terms(size: Size) -> Any:
    from credo.additive import smooth  # noqa: PLC0415

    times = size.times
    if times is None or not times.cycles:
        return None
    j = times.column
    return [smooth(j), *(smooth(j, cyclic=period) for period in times.cycles), "others"]


def _polynomial(size: Size) -> Any:
    """Quadratic terms that continue as straight lines beyond the training range."""
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415, `credo --help` needs only the names of the models

    model = credo.BayesianLogisticRegression() if size.classes else credo.BayesianLinearRegression()
    return make_pipeline(credo.Polynomial(degree=2, extrapolation="linear", binary_powers=False), model)


def _logistic(size: Size) -> Any:
    # A prior under which the log odds of a row of p standardized columns have a standard deviation of 5: p/α = 5².
    # It keeps the weights finite if the classes are linearly separable.
    return credo.LogisticRegression(alpha=size.columns / 25)


def _forest(size: Size) -> Any:
    if size.classes:
        return credo.BaggingClassifier(credo.DecisionTreeClassifier(pruning=0.0, max_features="sqrt"), n_estimators=100)
    return credo.BaggingRegressor(credo.DecisionTreeRegressor(pruning=0.0, max_features=1 / 3), n_estimators=100)


def _boosting_classifier(size: Size) -> Any:
    # Class probabilities gain from trees that differ more (benchmarks/boosting.py).
    return credo.BoostedTreesClassifier(max_leaves=16, max_features=0.5, l2=1.0)


_COORDINATE, _SUBSETS, _KERNELS, _TREES = (
    ("credo.core.learning.coordinate._jit",),
    ("credo.sparse._enumerate_jit",),
    ("credo.kernels._jit",),
    ("credo.trees._jit",),
)

# By task, from simple to complex: among models that are statistically tied, the first is selected. Those that aren't
# fitted by default add nothing to the average on 20 tables of `benchmarks/portfolio.py`.
MODELS: Mapping[str, tuple[ModelSpec, ...]] = {
    "regression": (
        ModelSpec(BASELINE, _baseline),
        ModelSpec("naive", _naive, (_in_time_order, _dense), transformable=False),
        ModelSpec("naive-season", _naive_season, (_with_a_cycle, _dense), transformable=False),
        ModelSpec("linear", lambda size: credo.LinearRegression()),
        ModelSpec("ridge", lambda size: credo.Ridge(alpha="loo")),
        ModelSpec("bayes", lambda size: credo.BayesianLinearRegression()),
        ModelSpec("lasso", lambda size: credo.LassoCV(), (), _COORDINATE),
        ModelSpec("spike-slab", _spike_slab, (_dense,), _SUBSETS),
        ModelSpec("additive", _additive, (_few_basis_functions, _dense)),
        ModelSpec("counts", _counts, (_of_counts, _few_basis_functions, _dense), transformable=False),
        ModelSpec("hurdle", _hurdle, (_of_zeros, _without_exposure, _few_basis_functions, _dense), transformable=False),
        *(
            ModelSpec(name, _time(family), (_with_events, _few_basis_functions, _dense), transformable=False)
            for name, family in zip(OF_TIMES, ("lognormal", "weibull"), strict=True)
        ),
        ModelSpec("polynomial", _polynomial, (_few_squares,)),
        ModelSpec("lms", lambda size: credo.LMSRegression(), (_few_columns,), default=False),
        ModelSpec(
            "nadaraya-watson", lambda size: credo.NadarayaWatson(), (_few_columns, _dense), _KERNELS, default=False
        ),
        ModelSpec(
            "kernel-ridge",
            lambda size: credo.KernelRidge(alpha="loo", fit_intercept=True),
            (_square_matrices, _dense),
            _KERNELS,
        ),
        ModelSpec("gp", _gp, (_dense,), _KERNELS),
        ModelSpec("gp-matern", _gp_matern, (_dense,), _KERNELS, default=False),
        ModelSpec(
            "gp-heteroscedastic", _gp_heteroscedastic, (_few_lengthscales, _dense), _KERNELS, transformable=False
        ),
        ModelSpec("gp-time", _gp_time, (_in_time_order, _dense), _KERNELS),
        ModelSpec(
            "experts",
            lambda size: credo.MixtureOfExpertsRegressor(max_experts=4),
            (_enough_rows, _dense, _few_squares),
            transformable=False,
        ),
        ModelSpec("forest", _forest, (_enough_rows, _dense), _TREES, transformable=False),
        ModelSpec(
            "boosting", lambda size: credo.BoostedTreesRegressor(), (_enough_rows, _dense), _TREES, transformable=False
        ),
    ),
    "classification": (
        ModelSpec(BASELINE, lambda size: credo.BaselineClassifier()),
        ModelSpec("discriminant", lambda size: credo.LinearDiscriminant(shrinkage="auto"), (_dense,)),
        ModelSpec("logistic", _logistic),
        ModelSpec("bayes-logistic", lambda size: credo.BayesianLogisticRegression(), (_few_columns,)),
        ModelSpec("sparse-logistic", lambda size: credo.SparseLogisticRegressionCV(), (), _COORDINATE),
        ModelSpec("spike-slab", _spike_slab_classifier, (_two_classes, _dense), _SUBSETS),
        ModelSpec("additive", _additive, (_few_basis_functions, _dense)),
        ModelSpec("ordinal", _ordinal, (_on_a_scale, _few_basis_functions, _dense)),
        ModelSpec("polynomial", _polynomial, (_few_squares,)),
        ModelSpec("neighbours", lambda size: credo.SoftNeighborsClassifier(), (_dense,), _KERNELS),
        ModelSpec("gp", _gp_classifier, (_dense,), _KERNELS),
        ModelSpec(
            "experts",
            lambda size: credo.MixtureOfExpertsClassifier(max_experts=4),
            (_enough_rows, _dense, _few_squares),
            transformable=False,
            default=False,
        ),
        ModelSpec("adaboost", lambda size: credo.AdaBoostClassifier(early_stopping=True), (_dense,), _TREES),
        ModelSpec("forest", _forest, (_enough_rows, _dense), _TREES),
        ModelSpec("boosting", _boosting_classifier, (_enough_rows, _dense), _TREES),
    ),
}
