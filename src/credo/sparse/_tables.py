"""Tables and messages about a posterior over models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import FitWarning, interval_level
from credo.core.frames import Table
from credo.core.notices import warn
from credo.sparse._dependence import Dependence, lengths, named
from credo.sparse._design import EXACT, Design
from credo.sparse._models import Model, ModelPosterior, recommended_prior
from credo.sparse._slabs import LEAST_DF, Slab, bic, bic_slab

Array = NDArray[np.float64]

# Rows of a printed table.
_SHOWN = 50
# Characters of a printed subset, and how many of its column indices; and characters beside size, R² and BIC, so that
# lines have 80 characters.
_WIDTH, _PLACES, _NARROW = 60, 8, 48
# Compared to a column of unit length, the square of this is lost to rounding.
_ROUNDING = 1e-13


class _Places(tuple[int, ...]):
    """The column indices of a subset, abbreviated in print."""

    __slots__ = ()

    def __str__(self) -> str:
        if len(self) <= _PLACES:
            return super().__str__()
        return f"({', '.join(map(str, self[: _PLACES - 1]))}, … {len(self)} in all)"


class _Subset(str):
    """A subset by the names of its columns, abbreviated in print."""

    short: str

    def __str__(self) -> str:
        return self.short

    @classmethod
    def of(cls, model: Model, names: Sequence[str], *, width: int) -> Self:
        subset = cls(subset_name(model, names))
        subset.short = short_name(model, names, width=width)
        return subset


def models_table(posterior: ModelPosterior, names: Sequence[str]) -> Table:
    """The most probable models."""
    models = posterior.models
    shown = f"{100 * min(posterior.probability.sum(), 1.0):.4g} % of the posterior probability"
    if posterior.diagnostics.get("share_visited", 1.0) == 0.0:
        shown = "probabilities relative to the visited models, because the chains were too short to estimate the total"
    subsets = [_Subset.of(model, names, width=_WIDTH) for model in models]
    return Table(
        "Most probable models",
        {
            "model": subsets,
            "probability": posterior.probability.tolist(),
            "log evidence": posterior.log_evidence.tolist(),
            "size": [len(model) for model in models],
            "columns": [_Places(model) for model in models],
        },
        notes=(f"{len(models)} models with {shown}", *_abbreviated(subsets)),
        most=12,
    )


def best_table(posterior: ModelPosterior, design: Design, names: Sequence[str]) -> Table:
    """The best subset of each size, with R² and BIC."""
    slab = bic_slab(design.n, design.yy)
    bare = [model for model in posterior.best_by_size if set(model) <= set(design.kept.tolist())]
    rests = [design.rest(design.places(model)) for model in bare]
    subsets = [_Subset.of(model, names, width=_NARROW) for model in bare]
    return Table(
        "Best subset of each size",
        {
            "size": [len(model) for model in bare],
            "subset": subsets,
            "R2": [1.0 - rest for rest in rests],
            "BIC": [float(bic(slab, len(model), rest)) for model, rest in zip(bare, rests, strict=True)],
        },
        notes=_abbreviated(subsets),
    )


def _abbreviated(subsets: Sequence[_Subset]) -> list[str]:
    cut = any(subset.short != subset for subset in subsets)
    return ["long subsets are abbreviated; to_frame() has them in full"] if cut else []


def summary_table(
    model: Any, *, title: str, level: float, intervals: Callable[[NDArray[np.intp], float], Array],
    notes: Sequence[str] = (),
) -> Table:  # fmt: skip
    """Coefficients over all models; `intervals` gives the ends, shape (k, 2), for k columns and a level."""
    level = interval_level(level)
    names, inclusion = model._feature_names(), model.inclusion_probabilities_
    order = np.arange(len(names))
    if len(names) > _SHOWN:
        order = np.argsort(-inclusion, kind="stable")[:_SHOWN]
    ends = intervals(order, level)
    coef, coef_std = np.ravel(model.coef_)[order], np.ravel(model.coef_std_)[order]
    intercept, intercept_std = np.ravel(model.intercept_)[0], np.ravel(model.intercept_std_)[0]
    median = ", ".join(names[j] for j in model.median_model_[:_SHOWN]) or "none"
    shown = [f"the {len(order)} most probable of {len(names)} columns"] if len(order) < len(names) else []
    return Table(
        title,
        {
            "parameter": ["intercept", *(names[j] for j in order)],
            "estimate": [float(intercept), *coef.tolist()],
            "sd": [float(intercept_std), *coef_std.tolist()],
            "inclusion": [1.0, *inclusion[order].tolist()],
            "lower": [None, *ends[:, 0].tolist()],
            "upper": [None, *ends[:, 1].tolist()],
        },
        notes=(
            f"intervals at {100 * level:g} %, with the probability of a zero coefficient included",
            *shown,
            f"median probability model (inclusion probability of at least 0.5): {median}",
            f"log evidence {model.log_evidence_:.2f}{_error(model)} ({model.evidence_method_})",
            *notes,
            model.result_.message,
        ),
    )


def _error(model: Any) -> str:
    """The error of a sampled evidence."""
    error = model.log_evidence_error_
    if not math.isfinite(error):
        return " or more"
    return f" ± {error:.1g}" if error > 0 else ""


def subset_name(model: Model, names: Sequence[str]) -> str:
    """A subset by the names of its columns."""
    return " + ".join(names[j] for j in model) if model else "(none)"


def short_name(model: Model, names: Sequence[str], *, width: int = _WIDTH) -> str:
    """A subset by the first of its names, if all of them are too long for a line."""
    words = subset_name(model, names)
    if len(words) <= width:
        return words
    room = width - len(f" and {len(model)} more" if len(model) > 1 else "")
    ends = np.cumsum([len(names[j]) + len(" + ") for j in model]) - len(" + ")
    shown = max(int(np.count_nonzero(ends <= room)), 1)
    first = subset_name(model[:shown], names)
    first = first if len(first) <= room else f"{first[: room - 1]}…"
    return f"{first} and {len(model) - shown} more" if shown < len(model) else first


def constant_messages(flat: Sequence[int], names: Sequence[str]) -> list[str]:
    """About constant columns."""
    if not flat:
        return []
    verb = "is constant" if len(flat) == 1 else "are constant"
    return [f"{named(flat, names)} {verb} and confounded with the intercept: excluded from all models"]


def design_messages(design: Design, dependence: Dependence, slab: Slab, names: Sequence[str]) -> list[str]:
    """About columns and target, before the search."""
    messages = constant_messages(design.flat, names)
    if len(design.kept) and slab.max_size > 0:
        messages += dependence.messages([names[j] for j in design.kept], proper=slab.ridge > 0)
        longest = float(lengths(design.X).max())
        if (dependence.copies or dependence.combinations) and 0 < slab.ridge < (_ROUNDING * longest) ** 2:
            messages.append(
                "slab_variance is so large that rounding errors decide between these columns: decrease it, or remove "
                "columns"
            )
    if slab.method == "bic" and len(design.kept) >= design.n:
        messages.append(f"{len(design.kept)} columns and {design.n:g} rows: {_bic_message(design)}")
    return messages + target_messages(design)


def _bic_message(design: Design) -> str:
    return (
        'the BIC is valid only for many more rows than columns, and overfits otherwise. Use slab="g" or "zellner-siow" '
        f"with {recommended_prior(len(design.kept), design.n)}"
    )


def target_messages(design: Design) -> list[str]:
    """About a constant target."""
    if not design.constant:
        return []
    return [
        f"y is constant ({design.y_mean:.6g} up to rounding): there is nothing to explain, and the results reflect "
        "only the priors"
    ]


def size_messages(design: Design, slab: Slab) -> list[str]:
    """About models that are too large."""
    if len(design.kept) <= slab.max_size:
        return []
    return [
        f"{len(design.kept)} column{'s' * (len(design.kept) > 1)} and {min(design.n, design.n_rows):g} rows: models of "
        f"more than {slab.max_size:g} column{'s' * (slab.max_size != 1)} have no evidence and are excluded"
    ]


def search_messages(found: ModelPosterior, slab: Slab, design: Design, names: Sequence[str]) -> list[str]:
    """About the models that were found, in terms of the columns of the design."""
    messages, sizes = [], found.size_probability
    best = list(found.map_model)
    if 0 < len(best) <= design.n - 2 and design.rest(best) < EXACT:
        messages.append(
            f"{named(design.kept[best].tolist(), names)} {'reproduces' if len(best) == 1 else 'reproduce'} "
            "y exactly, up to rounding, so the noise can't be estimated: check that they weren't computed from y"
        )
    if design.n - 1 < LEAST_DF and math.isfinite(slab.posteriors(0, 1.0)[0][0].df):
        messages.append(
            f"{design.n:g} rows leave {design.n - 1:g} degree{'s' * (design.n != 2)} of freedom for the noise; "
            f"intervals use {LEAST_DF:g}, so that their width is finite, and are too narrow"
        )
    large = np.arange(len(sizes)) >= min(design.n / 2, slab.max_size)
    # With more columns than rows this was said before the search.
    if slab.method == "bic" and len(design.kept) < design.n and len(sizes) and sizes[large].sum() > 0.1:
        messages.append(
            f"models with at least half as many columns as rows have {100 * sizes[large].sum():.3g} % of the posterior "
            f"probability: {_bic_message(design)}"
        )
    return messages


def warn_of(messages: Sequence[str]) -> None:
    """Issue the messages as warnings at the line that called `fit`."""
    for message in messages:
        warn(message, FitWarning, stacklevel=4)
