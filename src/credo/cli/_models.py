"""The models by their short names on the command line."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import click

# Simplest first: of models that the held-out rows can't tell apart, the first is taken.
NAMES = ("linear", "ridge", "bayes", "polynomial", "lms")

# The square map turns p columns into p (p + 3) / 2 features, and the fit costs their square times the rows.
MAX_POLYNOMIAL_FEATURES = 1_000
MAX_POLYNOMIAL_CELLS = 20_000_000


def model_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The value of `--models` as names; None when the choice is left to the size of the table."""
    if value is None:
        return None
    names = tuple(dict.fromkeys(name.strip().lower() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter(f"name at least one of {', '.join(NAMES)}.")
    for name in names:
        if name not in NAMES:
            nearest = get_close_matches(name, NAMES, n=1, cutoff=0.4)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise click.BadParameter(f"there is no model {name!r}.{hint} Choose from {', '.join(NAMES)}.")
    return names


def estimators(names: tuple[str, ...] | None, shape: tuple[int, int]) -> tuple[dict[str, Any], list[str]]:
    """Unfitted estimators by name for a prepared table of this shape, and notes about what was left out."""
    every, reason = _every(), too_wide(shape)
    if names is None:
        kept = [name for name in NAMES if name != "polynomial" or reason is None]
        return {name: every[name] for name in kept}, [] if reason is None else [f"polynomial was left out: {reason}."]
    if "polynomial" in names and reason is not None:
        raise ValueError(f"the model 'polynomial' can't be used here: {reason}; leave it out of --models")
    return {name: every[name] for name in NAMES if name in names}, []


def short_name(estimator: Any) -> str | None:
    """The name on the command line of an estimator that is made of the same classes, or None."""
    kinds = [type(step) for step in steps(estimator)]
    return next((name for name, known in _every().items() if [type(step) for step in steps(known)] == kinds), None)


def steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline; anything else is one step."""
    return [step for _, step in getattr(estimator, "steps", [])] or [estimator]


def _every() -> Mapping[str, Any]:
    from sklearn.pipeline import make_pipeline

    from credo.features import Polynomial
    from credo.linear import BayesianLinearRegression, LinearRegression, LMSRegression, Ridge

    return {
        "linear": LinearRegression(),
        "ridge": Ridge(alpha="loo"),
        "bayes": BayesianLinearRegression(),
        "polynomial": make_pipeline(Polynomial(degree=2), BayesianLinearRegression()),
        "lms": LMSRegression(),
    }


def too_wide(shape: tuple[int, int]) -> str | None:
    """Why quadratic features are too many for a table of this shape, or None."""
    rows, columns = shape
    features = columns * (columns + 3) // 2
    if features > MAX_POLYNOMIAL_FEATURES or features * rows > MAX_POLYNOMIAL_CELLS:
        return f"{columns} columns would make {features} quadratic features for {rows} rows"
    return None
