"""The coefficients of models that select columns, as `credo show` lists them."""

from __future__ import annotations

from typing import Any

# A summary of more columns than this leaves out weights that are zero, and with them what it knows of the columns.
_WHOLE = 30
# What these tables are called: their rows come in an order of their own, and those behind count less.
INCLUSIONS, WEIGHTS = "Columns by inclusion probability", "Nonzero coefficients"
IN_ORDER, BEHIND = (INCLUSIONS, WEIGHTS), ", less important than these"


def chosen(fitted: Any) -> Any:
    """The coefficients in the units of the table, the most important first; None if the model doesn't select columns.

    With inclusion probabilities for spike and slab; for penalized models with many columns, the nonzero ones.
    """
    import numpy as np

    from credo.frames import Table

    inner, preparation = getattr(fitted, "estimator_", None), getattr(fitted, "preparation_", None)
    inclusion = getattr(inner, "inclusion_probabilities_", None)
    if inner is None or preparation is None or (inclusion is None and not hasattr(inner, "selected_")):
        return None
    names = [str(name) for name in preparation.get_feature_names_out()]
    if inclusion is None and len(names) <= _WHOLE:
        return None
    coef = np.atleast_2d(inner.coef_)
    # y = b + Σ wⱼ (xⱼ − cⱼ)/sⱼ.
    scale = np.asarray(preparation.scale_ if preparation.standardize else np.ones(len(names)))
    center = np.asarray(preparation.center_ if preparation.standardize else np.zeros(len(names)))
    level = np.atleast_1d(inner.intercept_) - coef @ (center / scale)
    strength = np.abs(coef).max(axis=0) if inclusion is None else np.asarray(inclusion)
    order = np.argsort(-strength, kind="stable")
    order = order[: np.count_nonzero(strength)] if inclusion is None else order
    labels = [""] if len(coef) == 1 else [f"{label}: " for label in inner.classes_]
    # Of several classes, each column's weights stand together.
    columns: dict[str, list[Any]] = {
        "parameter": [f"{label}{name}" for name in ("intercept", *(names[j] for j in order)) for label in labels],
        "estimate": np.vstack([level, (coef / scale)[:, order].T]).ravel().tolist(),
    }
    if inclusion is None:
        zero = f"{len(order):,} of {len(names):,} columns have a nonzero coefficient"
        return Table(WEIGHTS, columns, (zero, inner.result_.message))
    columns["sd"] = [None, *(np.atleast_2d(inner.coef_std_)[0] / scale)[order].tolist()]
    columns["inclusion"] = [1.0, *inclusion[order].tolist()]
    notes = (
        "inclusion: posterior probability that the coefficient is not zero; estimate and sd are averages over all "
        "subsets",
        inner.result_.message,
    )
    return Table(INCLUSIONS, columns, notes)
