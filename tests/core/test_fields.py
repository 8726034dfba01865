"""Annotations of fields: what they accept, and what an error says."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pytest

from credo.core.fields import (
    Axes,
    Finite,
    If,
    Increasing,
    Indices,
    Inner,
    NonNegative,
    NotEmpty,
    Positive,
    Probabilities,
    Several,
    Size,
    Sometimes,
    Sorted,
    check_fields,
)

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Noise:
    scale: Annotated[Array, Axes("k"), Positive]


@dataclass(frozen=True)
class Model:
    coef: Annotated[Array, Axes("k d")]
    names: Annotated[list[str], NotEmpty]
    chosen: Annotated[Array, Axes("R"), Indices("d")]
    noise: Annotated[Noise, Inner(k="k")]
    roots: Annotated[Array | None, Axes("k d | k d d")]
    weights: Annotated[Array, Axes("k"), Probabilities]
    knots: Annotated[Array, Axes("m+1"), Increasing]
    df: Annotated[float, Finite, NonNegative]
    n_columns: Annotated[int, Size("d")]


GOOD = Model(
    np.zeros((2, 3)), ["a"], np.array([0, 2]), Noise(np.ones(2)), None, np.full(2, 0.5), np.arange(2.0), 0.0, 3
)  # fmt: skip


def test_letters_stand_for_the_same_length_in_all_fields():
    assert check_fields(GOOD) == {"d": 3, "k": 2, "R": 2, "m": 1}
    check_fields(replace(GOOD, roots=np.zeros((2, 3, 3)), chosen=np.empty(0)))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("coef", np.zeros((2, 4)), r"coef has shape \(2, 4\), where \(k, d\) is needed with d = 3"),
        ("coef", np.zeros(3), "coef has shape"),
        ("coef", np.full((2, 3), np.nan), "coef must be finite"),
        ("names", [], "names must be one or more"),
        ("chosen", np.array([0, 3]), "chosen must contain whole numbers from 0 to 2"),
        ("chosen", np.array([0.5]), "chosen must contain whole numbers"),
        ("noise", Noise(np.ones(3)), "noise is of size 3, where 2 is needed"),
        ("noise", Noise(np.zeros(2)), "scale must be positive"),
        ("roots", np.zeros((2, 3, 4)), r"where \(k, d\) or \(k, d, d\) is needed"),
        ("weights", np.array([0.5, 0.6]), "weights must be probabilities that sum to one"),
        ("knots", np.array([1.0, 0.0]), "knots must be increasing"),
        ("knots", np.zeros(1), "knots has shape"),
        ("df", -1.0, "df must be at least 0"),
        ("df", np.inf, "df must be finite"),
        ("n_columns", 0, "n_columns is 0"),
        ("n_columns", 4, "coef has shape"),
    ],
)
def test_a_value_that_no_fit_stores_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        check_fields(replace(GOOD, **{name: value}))


class Fitted:
    """As an estimator, whose attributes may be missing."""

    n_features_in_: Annotated[int, Size("d")]
    names_: Annotated[Array, Axes("d"), Sometimes]
    center_: Annotated[Array, Axes("d"), If("standardize")]

    def __init__(self, standardize, **state):
        self.standardize = standardize
        vars(self).update(state)


def test_only_what_the_options_leave_out_may_be_missing():
    check_fields(Fitted(False))
    check_fields(Fitted(True, n_features_in_=2, center_=np.zeros(2)))
    with pytest.raises(ValueError, match="center_ is missing"):
        check_fields(Fitted(True, n_features_in_=2))
    # Without their number, no array can have a length for each column.
    with pytest.raises(ValueError, match="center_ has shape"):
        check_fields(Fitted(True, center_=np.zeros(2)))


@dataclass(frozen=True)
class Part:
    coef: Annotated[Array, Axes("k")]
    columns: tuple[int, ...] = ()

    def _sizes(self):
        return {"n": len(self.columns)}


@dataclass(frozen=True)
class Whole:
    subsets: Annotated[tuple[tuple[int, ...], ...], Indices("d")]
    flat: Annotated[tuple[int, ...], Indices("d")]
    codes: Annotated[Array, Indices("d+1", least=-1)]
    parts: Annotated[list[Part], Inner(k="k"), Indices("d", "columns")]
    one: Annotated[Part, Inner(n="k"), Indices(4, "columns")]
    some: Annotated[list[int], Axes("0 | k")]
    names: Annotated[Array, Axes("c"), Sorted, Several]
    n_columns: Annotated[int, Size("d")]


WHOLE = Whole(
    ((), (0, 2), (1,)), (2,), np.array([-1, 3]), [Part(np.zeros(2)), Part(np.ones(2), (0, 2))],
    Part(np.zeros(5), (3, 0)), [], np.array(["a", "b"]), 3,
)  # fmt: skip


def test_indices_may_be_nested_or_those_of_an_attribute():
    """Lengths are known before the indices below them, in any order of the fields."""
    assert check_fields(WHOLE) == {"d": 3, "k": 2, "c": 2}
    check_fields(replace(WHOLE, some=[1, 2], subsets=()))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("subsets", ((0,), (3,)), "subsets must contain whole numbers from 0 to 2"),
        ("subsets", ((-1, 0),), "subsets must contain whole numbers from 0 to 2"),
        ("subsets", ((2**70,),), "subsets must contain whole numbers"),
        ("flat", (3,), "flat must contain"),
        ("codes", np.array([4]), "codes must contain whole numbers from -1 to 3"),
        ("codes", np.array([-2]), "codes must contain whole numbers from -1 to 3"),
        ("codes", np.array([np.nan]), "codes must contain"),
        ("parts", [Part(np.zeros(2)), Part(np.zeros(3))], "parts is of size 3, where 2 is needed"),
        ("parts", [Part(np.zeros(2)), Part(np.zeros(2), (3,))], "columns of parts must contain whole numbers from 0"),
        ("one", Part(np.zeros(5), (3, 0, 1)), "one is of size 3, where 2 is needed"),
        ("one", Part(np.zeros(5), (4, 0)), "columns of one must contain whole numbers from 0 to 3"),
        ("some", [1], r"where \(0\) or \(k\) is needed"),
        ("names", np.array(["b", "a"]), "names must be different values in order"),
        ("names", np.array(["a", "a"]), "names must be different values in order"),
        ("names", np.array(["a"]), "names must be two or more"),
    ],
)
def test_an_index_out_of_range_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        check_fields(replace(WHOLE, **{name: value}))
