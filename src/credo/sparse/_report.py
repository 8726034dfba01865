"""What a posterior over models has to say, in tables and words."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.estimator import interval_level
from credo.frames import Table
from credo.sparse._design import Design
from credo.sparse._fit import solve
from credo.sparse._models import Model, ModelPosterior
from credo.sparse._slabs import Bic, Slab

# Rows of a table that a person reads.
_SHOWN = 50
# Names that one sentence holds.
_NAMED = 5


def models_table(posterior: ModelPosterior, names: Sequence[str]) -> Table:
    """The likeliest models."""
    models = posterior.models
    shown = posterior.probability.sum()
    return Table(
        "Likeliest models",
        {
            "model": [model_words(model, names) for model in models],
            "probability": posterior.probability.tolist(),
            "log evidence": posterior.log_evidence.tolist(),
            "size": [len(model) for model in models],
            "columns": list(models),
        },
        notes=(f"{len(models)} models with {100 * min(shown, 1.0):.4g} % of the probability",),
        most=12,
    )


def best_table(posterior: ModelPosterior, design: Design, names: Sequence[str]) -> Table:
    """The best subset of each size, with R² and BIC."""
    bic = Bic(design.n, design.yy)
    bare = [model for model in posterior.best_by_size if set(model) <= set(design.kept.tolist())]
    rests = [solve(design, model)[2] for model in bare]
    return Table(
        "Best subset of each size",
        {
            "size": [len(model) for model in bare],
            "subset": [model_words(model, names) for model in bare],
            "R2": [1.0 - rest for rest in rests],
            "BIC": [-2.0 * float(bic.score(len(model), rest)) for model, rest in zip(bare, rests, strict=True)],
        },
    )


def summary_table(model: Any, *, level: float) -> Table:
    """Coefficients over all models."""
    level = interval_level(level)
    names, inclusion = model._feature_names(), model.inclusion_probabilities_
    order = np.arange(len(names))
    if len(names) > _SHOWN:
        order = np.argsort(-inclusion, kind="stable")[:_SHOWN]
    ends = model._intervals(order, level)
    likeliest = ", ".join(names[j] for j in model.median_model_[:_SHOWN]) or "none"
    notes = [f"intervals at {100 * level:g} %, of zero and the slab together"]
    if len(order) < len(names):
        notes.append(f"the {len(order)} likeliest of {len(names)} columns")
    half = math.sqrt(model.moments_.noise)
    notes += [
        f"columns of at least probability one half: {likeliest}",
        f"log evidence {model.log_evidence_:.2f} ({model.evidence_method_}); noise sd {half:.4g}",
        model.result_.message,
    ]
    return Table(
        "Spike and slab regression",
        {
            "parameter": ["intercept", *(names[j] for j in order)],
            "estimate": [model.intercept_, *model.coef_[order].tolist()],
            "sd": [model.intercept_std_, *model.coef_std_[order].tolist()],
            "inclusion": [1.0, *inclusion[order].tolist()],
            "lower": [None, *ends[:, 0].tolist()],
            "upper": [None, *ends[:, 1].tolist()],
        },
        notes=tuple(notes),
    )


def model_words(model: Model, names: Sequence[str]) -> str:
    """A subset by the names of its columns."""
    return " + ".join(names[j] for j in model) if model else "(none)"


def design_words(design: Design, names: Sequence[str]) -> list[str]:
    """What there is to say about the columns."""
    words = []
    flat = sorted(set(range(design.n_features)) - set(design.kept.tolist()))
    if flat:
        verb = "is constant" if len(flat) == 1 else "are constant"
        words.append(f"{_listed(flat, names)} {verb} and can't be told from the intercept: left out of all models")
    for group in design.copies():
        words.append(
            f"{_listed(group, names)} are copies of each other, but for offset and scale: they share what probability "
            "one of them would have"
        )
    return words


def size_words(design: Design, slab: Slab) -> list[str]:
    """What there is to say about models that are too large."""
    if len(design.kept) <= slab.most:
        return []
    return [
        f"{len(design.kept)} columns and {design.n:g} rows: models of more than {slab.most:g} columns have no evidence "
        "and are left out"
    ]


def search_words(found: ModelPosterior, slab: Slab, design: Design) -> list[str]:
    """What there is to say about the models that were found."""
    sizes = found.size_probability
    large = np.arange(len(sizes)) >= (design.n - 1) / 2
    if isinstance(slab, Bic) and len(sizes) and sizes[large].sum() > 0.1:
        return [
            f"models of more than half as many columns as rows have {100 * sizes[large].sum():.3g} % of the "
            'probability; the BIC is meant for many more rows than columns: use slab="g" or "zellner-siow", or a '
            "smaller prior_inclusion"
        ]
    return []


def _listed(columns: Sequence[int], names: Sequence[str]) -> str:
    shown = ", ".join(names[j] for j in columns[:_NAMED])
    more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
    return f"column{'s' if len(columns) > 1 else ''} {shown}{more}"
