"""The models by their short names on the command line."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import click

from credo.cli._sizes import Size, class_draws, enumerates, impossible, left_out, listing, patience

# By what they predict, simplest first: of models that the held-out rows can't tell apart, the first is taken.
REGRESSORS = (
    "linear", "ridge", "bayes", "lasso", "spike-slab", "polynomial", "lms", "nadaraya-watson", "kernel-ridge", "gp",
    "gp-matern",
)  # fmt: skip
CLASSIFIERS = (
    "discriminant", "logistic", "bayes-logistic", "sparse-logistic", "spike-slab", "polynomial", "neighbours", "gp",
)  # fmt: skip
NAMES = {"regression": REGRESSORS, "classification": CLASSIFIERS}
_PREDICTS = {"regression": "numbers", "classification": "classes"}

# Models whose loops numba compiles when they run for the first time, by the module of the loops.
COMPILED = {
    "lasso": "credo.learning.coordinate._jit",
    "sparse-logistic": "credo.learning.coordinate._jit",
    "spike-slab": "credo.sparse._jit",
    "lms": "credo.linear._jit",
    "nadaraya-watson": "credo.kernels._jit",
    "neighbours": "credo.kernels._jit",
    "kernel-ridge": "credo.kernels._jit",
    "gp": "credo.kernels._jit",
    "gp-matern": "credo.kernels._jit",
}
# Each fold searches anew, so that a start more is paid for several times; with half as many as this, a table whose
# evidence has several summits is found right only just.
RESTARTS = 4
# The penalty of logistic regression is a prior under which the log odds of a row of p standardised columns have this
# standard deviation: p/α = 5². It keeps weights finite where a plane separates the classes.
LOG_ODDS_STD = 5.0
# Walks over the subsets of many columns begin at random. Each fold has one: none goes on for as long as it takes.
WALK_SEED, DRAWS = 0, 5000
_PROCESSES = ("gp", "gp-matern")


def model_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The value of `--models` as names; None when the choice is left to the size of the table."""
    if value is None:
        return None
    every = tuple(dict.fromkeys(name for names in NAMES.values() for name in names))
    names = tuple(dict.fromkeys(name.strip().lower() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter(f"name at least one of {', '.join(every)}.")
    for name in names:
        if name not in every:
            nearest = get_close_matches(name, every, n=1, cutoff=0.4)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise click.BadParameter(f"there is no model {name!r}.{hint} Choose from {', '.join(every)}.")
    return names


def estimators(names: tuple[str, ...] | None, size: Size) -> tuple[dict[str, Any], list[str]]:
    """Unfitted estimators by name for a prepared table of this size, and notes about what its size means for them."""
    known = NAMES[size.task]
    if names is None:
        absent, notes = left_out(known, size)
        chosen = [name for name in known if name not in absent]
    else:
        _refuse_others(names, size)
        chosen = [name for name in known if name in names]
        notes = patience(chosen, size)
    every = _every(size)
    return {name: every[name] for name in chosen}, [*notes, *_shared(chosen, size)]


def _refuse_others(names: tuple[str, ...], size: Size) -> None:
    known = NAMES[size.task]
    for name in names:
        if name not in known:
            raise ValueError(
                f"the model {name!r} doesn't predict {_PREDICTS[size.task]}, which is what the target holds: choose "
                f"from {', '.join(known)}, or say what it holds with --task"
            )
        reason = impossible(name, size)
        if reason is not None:
            raise ValueError(f"the model {name!r} can't be used here: {reason}; leave it out of --models")


def short_name(estimator: Any) -> str | None:
    """The name on the command line of an estimator that is made of the same classes, or None."""
    made = _made_of(estimator)
    every = [*_every(Size(1, 1)).items(), *_every(Size(1, 1, classes=2)).items()]
    return next((name for name, known in every if _made_of(known) == made), None)


def steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline; anything else is one step."""
    return [step for _, step in getattr(estimator, "steps", [])] or [estimator]


def _every(size: Size) -> Mapping[str, Any]:
    return _classifiers(size) if size.task == "classification" else _regressors(size)


def _regressors(size: Size) -> Mapping[str, Any]:
    import numpy as np
    from sklearn.pipeline import make_pipeline

    from credo.features import Polynomial
    from credo.gp import GPRegressor
    from credo.kernel_machines import KernelRidge, NadarayaWatson
    from credo.kernels import RBF, Matern52
    from credo.linear import BayesianLinearRegression, LinearRegression, LMSRegression, Ridge
    from credo.sparse import LassoCV, SpikeSlabRegressor

    lengthscale = np.ones(size.columns) if size.has_lengthscales and size.steady else 1.0
    return {
        "linear": LinearRegression(),
        "ridge": Ridge(alpha="loo"),
        "bayes": BayesianLinearRegression(),
        "lasso": LassoCV(),
        "spike-slab": SpikeSlabRegressor(_inclusion(size), slab="g", n_draws=DRAWS, random_state=WALK_SEED),
        "polynomial": make_pipeline(Polynomial(degree=2), BayesianLinearRegression()),
        "lms": LMSRegression(),
        "nadaraya-watson": NadarayaWatson(),
        "kernel-ridge": KernelRidge(alpha="loo", fit_intercept=True),
        # Without a kernel each fold gets as many length scales as it has columns.
        "gp": GPRegressor(None if size.has_lengthscales else RBF(), n_restarts=RESTARTS),
        "gp-matern": GPRegressor(Matern52(lengthscale), n_restarts=RESTARTS),
    }


def _classifiers(size: Size) -> Mapping[str, Any]:
    from sklearn.pipeline import make_pipeline

    from credo.features import Polynomial
    from credo.gp import GPClassifier
    from credo.kernel_machines import SoftNeighborsClassifier
    from credo.kernels import RBF
    from credo.linear import BayesianLogisticRegression, LinearDiscriminant, LogisticRegression
    from credo.sparse import SparseLogisticRegressionCV, SpikeSlabClassifier

    return {
        "discriminant": LinearDiscriminant(shrinkage="auto"),
        "logistic": LogisticRegression(alpha=size.columns / LOG_ODDS_STD**2),
        "bayes-logistic": BayesianLogisticRegression("evidence"),
        "sparse-logistic": SparseLogisticRegressionCV(),
        "spike-slab": SpikeSlabClassifier(
            _inclusion(size),
            search="enumerate" if enumerates(size) else "gibbs",
            n_draws=class_draws(size),
            random_state=WALK_SEED,
        ),
        "polynomial": make_pipeline(Polynomial(degree=2), BayesianLogisticRegression("evidence")),
        "neighbours": SoftNeighborsClassifier(),
        "gp": GPClassifier(None if size.has_lengthscales else RBF(), n_restarts=RESTARTS),
    }


def _inclusion(size: Size) -> str | tuple[float, float]:
    """What is expected of columns beforehand: any share of them matters, or, of more than there are rows, a few.

    With any share as likely, models that reproduce the target with half as many columns as rows weigh as much as all
    others where columns are many.
    """
    return (1.0, float(size.columns)) if size.columns > size.rows else "beta-binomial"


def _shared(names: list[str], size: Size) -> list[str]:
    """A word about processes that have one length scale for all columns."""
    alike = [name for name in _PROCESSES if name in names and not size.has_lengthscales]
    if alike:
        return [
            f"{listing(alike, verb='use')} one length scale for all {size.columns:,} prepared columns, which are too "
            f"many for {size.rows:,} rows to give each its own."
        ]
    if "gp-matern" in names and not size.steady:
        return ["gp-matern uses one length scale for all columns, since some values are too rare to be in every fold."]
    return []


def _made_of(estimator: Any) -> list[str]:
    """The classes of an estimator's steps and of their kernels; the kernel of those that were given none is an RBF."""
    kinds = []
    for step in steps(estimator):
        kernel = getattr(step, "kernel", None)
        kinds.append(f"{type(step).__name__}({'RBF' if kernel is None else type(kernel).__name__})")
    return kinds
