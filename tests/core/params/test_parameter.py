"""A single parameter: its checks, its equality, its immutability."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.core.params import Identity, Interval, LogNormal, Parameter


def test_numbers_and_vectors_keep_their_kind():
    scalar, vector = Parameter(2), Parameter([1.0, 2.0])
    assert scalar.value == 2.0 and isinstance(scalar.value, float)
    assert (scalar.size, vector.size, Parameter([3.0]).size) == (1, 2, 1)
    assert isinstance(scalar.with_unconstrained(np.zeros(1)).value, float)
    assert Parameter([3.0]).with_unconstrained(np.zeros(1)).value.shape == (1,)
    assert_allclose(vector.unconstrained, np.log([1.0, 2.0]))


def test_values_cannot_be_changed_behind_its_back():
    source = np.array([1.0, 2.0])
    parameter = Parameter(source)
    source[0] = -5.0
    assert parameter.value[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        parameter.value[0] = 3.0
    with pytest.raises(AttributeError):
        parameter.fixed = True


def test_equality_goes_by_value():
    one = Parameter([1.0, 2.0], prior=LogNormal())
    assert one == Parameter(np.array([1.0, 2.0]), prior=LogNormal(1.0, 1.0)) == copy.deepcopy(one)
    assert hash(one) == hash(copy.deepcopy(one))
    assert one != one.replace(fixed=True)
    assert one != one.replace(prior=None)
    assert Parameter([1.0]) != Parameter(1.0)
    assert one != 1.0


def test_repr_names_what_is_not_default():
    text = repr(Parameter(0.5, bijector=Interval(0.0, 1.0), prior=LogNormal(1.0, 2.0), fixed=True))
    assert text == (
        "Parameter(0.5, bijector=Interval(lower=0.0, upper=1.0), prior=LogNormal(median=1.0, sigma=2.0), fixed=True)"
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "must be positive .* got 0.0"),
        ([1.0, -2.0], "must be positive .* got -2.0 at entry 1"),
        (np.nan, "must be positive .* got nan"),
        (np.inf, "must be positive .* got inf"),
        ("wide", "must be a number or a vector of numbers; got 'wide'"),
        (None, "must be positive .* got nan"),
        ([], r"must be a number or a vector of numbers; got shape \(0,\)"),
        (np.ones((2, 2)), r"must be a number or a vector of numbers; got shape \(2, 2\)"),
    ],
)
def test_bad_values_are_refused_in_words(value, words):
    with pytest.raises(ValueError, match=words):
        Parameter(value)


def test_bad_domains_are_refused_in_words():
    with pytest.raises(ValueError, match="must be finite; got inf"):
        Parameter(np.inf, bijector=Identity())
    with pytest.raises(ValueError, match=r"must be strictly between 0 and 1; got 1.0"):
        Parameter(1.0, bijector=Interval(0.0, 1.0))
    with pytest.raises(ValueError, match=r"bijector must be a Bijector such as Positive\(\); got 'log'"):
        Parameter(1.0, bijector="log")
    with pytest.raises(ValueError, match=r"prior must be a Prior such as LogNormal\(\), or None; got 'flat'"):
        Parameter(1.0, prior="flat")
