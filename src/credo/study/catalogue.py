"""The models of a study, one card each, the simplest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from credo.study.size import (
    EXACT_ROWS,
    Size,
    dense,
    enough_rows,
    few_lengthscales,
    in_time_order,
    matrices,
    not_many_columns,
    not_too_wide,
    two_classes,
    with_a_cycle,
)

# What follows the name of a model of a transformed target.
SUFFIXES = {"log": "-log", "box-cox": "-power", "yeo-johnson": "-power"}
# The model that averages all others, after them.
AVERAGE = "average"
# Added to the cost of models of the plain target where the transformed one is easier to predict.
LATER = 10
# From this cost on, models are fitted after all others, also those that had to wait.
SLOWEST = 20


@dataclass(frozen=True)
class Card:
    """One model: its name and its cost.

    `cost` orders the models: those of lower cost are fitted first. Each of `limits` returns why a table of some size
    can't be used, or None. `loops` is the module whose functions numba compiles on first use. `standardize` is whether
    columns are standardized.

    Examples
    --------
    >>> from credo.study import CARDS
    >>> card = next(card for card in CARDS["regression"] if card.name == "linear")
    >>> card.name, card.cost
    ('linear', 0)
    """

    name: str
    cost: int
    limits: tuple[Callable[[Size], str | None], ...] = ()
    loops: str | None = None
    transformation: str = "identity"
    standardize: bool = True
    # Whether a model of the transformed target joins by itself where that is easier to predict; whether there is one.
    varied: bool = True
    transformable: bool = True
    # Whether it takes part where no models are named.
    by_default: bool = True
    # Whether it does so only where the spread of the target varies with the inputs.
    for_varying_spread: bool = False
    # Whether it is fitted first, even if no time is left, so that there is a model.
    always: bool = False
    # Whether it is not stopped where the budget is generous: it takes seconds unless the machine is busy.
    certain: bool = False
    # A fit takes time that grows with at least this power of the rows.
    growth: float = 0.8
    # Beyond so many rows it takes time in proportion to them, because another method is used.
    linear_from: int | None = None

    @property
    def is_process(self) -> bool:
        """Whether it is a Gaussian process, which manages its threads itself."""
        return self.linear_from is not None

    @property
    def is_costly(self) -> bool:
        """Whether a fit usually takes more than milliseconds."""
        return self.is_process or self.cost >= _COSTLY

    def limit(self, size: Size) -> str | None:
        """Why a table of this size can't be used, or None."""
        return next(filter(None, (limit(size) for limit in self.limits)), None)

    def make(self, size: Size) -> Any:
        """An unfitted estimator for a prepared table of this size."""
        # Imported when first needed: `credo --help` needs only the names of the models.
        plain = self.name.removesuffix(SUFFIXES.get(self.transformation, ""))
        return import_module("credo.study.estimators").make(plain, size, self.transformation)

    def placed(self, size: Size) -> Card:
        """The card with its place among the models of a table of this size.

        Of many rows, trees are among the cheapest models and often the best, and those that factor an n × n matrix for
        every bandwidth or penalty come after Gaussian processes. Of few rows or columns these come before trees, and of
        few rows they are finished whatever else the machine does. Sampling subsets of many columns takes many seconds
        even of few rows, so that it comes last.
        """
        many = size.rows >= _MANY_ROWS
        if self.name == "gp" and (size.is_small or size.is_narrow):
            return replace(self, cost=4, certain=size.is_small)
        if self.growth != Card.growth and many and size.times is None:
            return replace(self, cost=2 if self.name == "boosting" else 3)
        if self.name == "spike-slab" and not size.classes and size.columns > _ENUMERATED:
            return replace(self, cost=SLOWEST)
        if self.name in _MATRICES and size.rows >= _LARGE_MATRICES:
            return replace(self, cost=8)
        return self

    def later(self) -> Card:
        """The same model, fitted after all others."""
        return replace(self, cost=self.cost + LATER, certain=False)

    def transformed(self, kind: str) -> Card:
        """The same model of a transformed target, as in "linear-log"."""
        return replace(self, name=self.name + SUFFIXES[kind], transformation=kind)


def names(task: str | None = None) -> tuple[str, ...]:
    """The names of the models of a task, or of both; without the baseline, which is always compared."""
    tasks = CARDS if task is None else {task: CARDS[task]}
    return tuple(dict.fromkeys(card.name for cards in tasks.values() for card in cards if card.cost >= 0))


def chosen_cards(
    size: Size, models: Sequence[str] | None, transformation: str = "identity"
) -> tuple[list[Card], list[str]]:
    """The cards of the named models, or of all, and notes about those that the table's size excludes.

    `transformation` is the one under which the target is best predicted: if no models are named, models of the
    transformed target are added, and the costly ones of the plain target are fitted later.
    """
    known = CARDS[size.task]
    if models is not None:
        _check_names(models, size.task)
        power = transformation if SUFFIXES.get(transformation) == "-power" else "yeo-johnson"
        every = with_variants(known, "log", power) if size.task == "regression" else known
        known = tuple(card for card in every if card.name in ("baseline", *models))
        if AVERAGE in models and len(known) < 4:
            raise ValueError(f"{AVERAGE} averages the other models: name at least two of them")
    else:
        known = tuple(
            card.placed(size)
            for card in known
            if card.by_default and (size.spread_varies or not card.for_varying_spread)
        )
        if transformation != "identity":
            joined = [card for card in with_variants(known, transformation) if card.varied or not _is_varied(card)]
            known = tuple(card.later() if card.is_costly and _has_variant(card) else card for card in joined)
    reasons = {card.name: reason for card in known if (reason := card.limit(size)) is not None}
    if models is not None and reasons:
        name, reason = next(iter(reasons.items()))
        raise ValueError(f"the model {name!r} can't be used for this table: {reason}")
    notes = _left_out({name: reason for name, reason in reasons.items() if name not in _SELDOM})
    return [card for card in known if card.name not in reasons], notes


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    """A sentence for each reason, with all models that it keeps out."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return [f"Not used: {', '.join(left)} ({reason})." for reason, left in by_reason.items()]


def _is_varied(card: Card) -> bool:
    return card.transformation != "identity"


def _has_variant(card: Card) -> bool:
    return card.transformable and not _is_varied(card)


def with_variants(cards: Sequence[Card], *transformations: str) -> list[Card]:
    """Each card followed by those of the transformed target."""
    return [
        each
        for card in cards
        for each in (
            card,
            *(card.transformed(kind) for kind in transformations if card.cost >= 0 and card.transformable),
        )
    ]


def known_name(name: str, task: str | None = None) -> str:
    """The name if there is such a model; otherwise an error that suggests the nearest."""
    every = names(task)
    if name in every or name in _VARIANTS:
        return name
    nearest = get_close_matches(name, (*every, *_VARIANTS), n=1, cutoff=0.4)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"there is no model {name!r}.{hint} Choose from {', '.join(every)}.")


def _check_names(models: Sequence[str], task: str) -> None:
    for name in models:
        known_name(name)
        if name not in names(task) and not (task == "regression" and name in _VARIANTS):
            what = "numbers" if task == "regression" else "classes"
            raise ValueError(
                f"the model {name!r} doesn't predict {what}, and the target has {what}: choose from "
                f"{', '.join(names(task))}, or set the task"
            )


# No note says that these were not used: most tables aren't in time order.
_SELDOM = ("naive", "naive-season", "gp-time", "gp-time-log", "gp-time-power")
_COORDINATE, _SUBSETS, _KERNELS = (
    "credo.core.learning.coordinate._jit",
    "credo.sparse._enumerate_jit",
    "credo.kernels._jit",
)
_TREES = "credo.trees._jit"
# Of small trees, most of the time is the same for any number of rows.
_TREE_GROWTH = 0.5
# From so many rows on, they come before other costly models, boosting first.
_MANY_ROWS = 1000
# Models of n × n matrices, and from how many rows on they come last.
_MATRICES, _LARGE_MATRICES = ("nadaraya-watson", "kernel-ridge", "neighbours"), 2000
# Up to so many columns, `SpikeSlabRegressor` enumerates their subsets.
_ENUMERATED = 20
# Models of at least this cost, and Gaussian processes, take more than milliseconds.
_COSTLY = 4
# The cost of what comes after all others.
_LAST = 99

# By task, the simplest first: of models that are statistically tied, the first is selected.
CARDS: Mapping[str, tuple[Card, ...]] = {
    "regression": (
        Card("baseline", -1),
        Card("naive", 0, (in_time_order, dense), standardize=False, transformable=False),
        Card("naive-season", 0, (with_a_cycle, dense), standardize=False, transformable=False),
        Card("linear", 0, always=True),
        Card("ridge", 0, varied=False),
        Card("bayes", 0),
        Card("lasso", 1, loops=_COORDINATE),
        Card("spike-slab", 3, (dense,), _SUBSETS),
        Card("polynomial", 2, (not_too_wide,)),
        Card("lms", 2, (not_many_columns,), by_default=False),
        Card("nadaraya-watson", 4, (not_many_columns, dense), _KERNELS, varied=False),
        Card("kernel-ridge", 4, (matrices(4), dense), _KERNELS),
        Card("gp", 6, (dense,), _KERNELS, linear_from=EXACT_ROWS),
        # "gp" chooses this kernel by itself where it is better.
        Card("gp-matern", 5, (dense,), _KERNELS, by_default=False, linear_from=EXACT_ROWS),
        Card(
            "gp-heteroscedastic",
            7,
            (few_lengthscales, dense),
            _KERNELS,
            transformable=False,
            for_varying_spread=True,
            linear_from=EXACT_ROWS,
        ),
        Card("gp-time", 3, (in_time_order, dense), _KERNELS, standardize=False, linear_from=EXACT_ROWS),
        Card("experts", 4, (enough_rows, dense, not_too_wide), transformable=False),
        Card("forest", 4, (enough_rows, dense), _TREES, transformable=False, growth=_TREE_GROWTH),
        Card("boosting", 4, (enough_rows, dense), _TREES, transformable=False, growth=_TREE_GROWTH),
        Card(AVERAGE, _LAST, transformable=False),
    ),
    "classification": (
        Card("baseline", -1),
        Card("discriminant", 0, (dense,)),
        Card("logistic", 0, always=True),
        Card("bayes-logistic", 1, (not_many_columns,)),
        Card("sparse-logistic", 4, loops=_COORDINATE),
        Card("spike-slab", 5, (two_classes, dense), _SUBSETS),
        Card("polynomial", 2, (not_too_wide,)),
        Card("neighbours", 4, (dense,), _KERNELS),
        Card("gp", 6, (dense,), _KERNELS, linear_from=EXACT_ROWS),
        Card("experts", 4, (enough_rows, dense, not_too_wide)),
        Card("adaboost", 3, (dense,), _TREES, growth=_TREE_GROWTH),
        Card("forest", 4, (enough_rows, dense), _TREES, growth=_TREE_GROWTH),
        Card("boosting", 4, (enough_rows, dense), _TREES, growth=_TREE_GROWTH),
        Card(AVERAGE, _LAST),
    ),
}

# The names of models of a transformed target.
_VARIANTS = tuple(
    card.name + suffix
    for card in CARDS["regression"]
    if card.cost >= 0 and card.transformable
    for suffix in dict.fromkeys(SUFFIXES.values())
)
