"""Trees of parameters: the law of the flat vector, names, priors in the vector's space."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid

from credo.core.params import (
    Gamma,
    HalfNormal,
    Identity,
    Interval,
    InverseGamma,
    LogInterval,
    LogNormal,
    Normal,
    Parameter,
    ParameterTree,
    Positive,
    UnknownParameterError,
)


def example():
    return ParameterTree(
        {
            "left": {
                "lengthscale": Parameter([0.5, 2.0], prior=InverseGamma(3.0, 2.0)),
                "variance": Parameter(1.5, bijector=Positive(), prior=HalfNormal(2.0)),
            },
            "right": ParameterTree(
                {
                    "period": Parameter(0.3, bijector=Interval(0.0, 1.0)),
                    "offset": Parameter(-0.4, bijector=Identity(), prior=Normal(0.0, 2.0)),
                    "shape": Parameter(3.0, bijector=LogInterval(1e-2, 1e2), prior=Gamma(2.0, 1.0)),
                }
            ),
            "noise": Parameter(0.1, prior=LogNormal(0.2, 1.0), fixed=True),
        }
    )


bijectors = st.sampled_from([Positive(), Interval(0.0, 100.0), LogInterval(1e-6, 1e6), Identity()])
numbers = st.floats(1e-3, 99.0)
parameters = st.builds(
    Parameter, numbers | st.lists(numbers, min_size=1, max_size=4), bijector=bijectors, fixed=st.booleans()
)
words = st.sampled_from(["a", "b", "lengthscale", "variance", "noise"])
trees = st.recursive(
    st.dictionaries(words, parameters, max_size=3),
    lambda branches: st.dictionaries(words, parameters | branches, max_size=3),
    max_leaves=8,
).map(ParameterTree)


@settings(max_examples=80, deadline=None)
@given(tree=trees)
def test_flatten_and_unflatten_undo_each_other(tree):
    vector = tree.flatten()
    assert vector.dtype == np.float64
    assert vector.shape == (len(tree.names),)
    again = tree.unflatten(vector)
    assert again.paths == tree.paths
    assert again.names == tree.names
    for path, value in tree.natural.items():
        assert np.shape(again[path].value) == np.shape(value)
        assert_allclose(again[path].value, value, rtol=1e-10)
    moved = np.linspace(-3.0, 3.0, len(vector))
    assert_allclose(tree.unflatten(moved).flatten(), moved, rtol=1e-9, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(tree=trees)
def test_the_vector_holds_what_is_free_and_only_that(tree):
    sizes = {path: tree[path].size for path in tree.paths if not tree[path].fixed}
    assert len(tree.flatten()) == sum(sizes.values())
    everything = tree.fix(*tree.paths)
    assert everything.flatten().shape == (0,)
    assert everything.names == []
    assert everything.unflatten([]) == everything
    assert everything.free(*tree.paths).natural.keys() == tree.natural.keys()


def test_fixed_values_stay_bit_for_bit():
    tree = example()
    assert tree.unflatten(tree.flatten() + 1.0)["noise"] == tree["noise"]


def test_names_follow_the_vector():
    tree = example()
    assert tree.names == [
        "left.lengthscale[0]",
        "left.lengthscale[1]",
        "left.variance",
        "right.period",
        "right.offset",
        "right.shape",
    ]
    vector = tree.flatten()
    assert_allclose(vector[:2], np.log([0.5, 2.0]))
    assert_allclose(vector[4], -0.4)
    vector[4] = 7.0
    changed = {
        path for path, value in tree.unflatten(vector).natural.items() if not np.allclose(value, tree[path].value)
    }
    assert changed == {"right.offset"}


@pytest.mark.parametrize("jacobian", [False, True])
@pytest.mark.parametrize("shift", [-4.0, 0.0, 0.7, 3.0])
def test_gradient_of_the_log_prior_equals_finite_differences(jacobian, shift):
    tree = example()
    vector, h = tree.flatten() + shift, 1e-6
    _, gradient = tree.log_prior(vector, jacobian=jacobian)
    for i, step in enumerate(h * np.eye(len(vector))):
        above, below = (tree.log_prior(vector + sign * step, jacobian=jacobian)[0] for sign in (1, -1))
        assert_allclose(gradient[i], (above - below) / (2 * h), rtol=1e-5, atol=1e-6)


def test_log_prior_is_the_sum_over_the_free_parameters():
    tree = example()
    expected = sum(
        tree[path].prior.log_prob(tree[path].value).sum()
        for path in ("left.lengthscale", "left.variance", "right.offset", "right.shape")
    )
    assert_allclose(tree.log_prior(tree.flatten())[0], expected, rtol=1e-12)


def test_with_its_jacobian_the_log_prior_is_a_density_of_the_vector():
    # Trapezoids over the real line: smooth, and far below rounding at both ends.
    u = np.linspace(-40.0, 15.0, 801)
    for bijector, prior in [
        (Positive(), LogNormal(0.3, 0.8)),
        (Positive(), Gamma(2.0, 1.5)),
        (Positive(), InverseGamma(3.0, 1.0)),
        (Identity(), Normal(-2.0, 1.5)),
    ]:
        tree = ParameterTree({"x": Parameter(1.0, bijector=bijector, prior=prior)})
        density = [np.exp(tree.log_prior([at], jacobian=True)[0]) for at in u]
        assert_allclose(trapezoid(density, u), 1.0, rtol=1e-6)


def test_derivative_carries_natural_gradients_into_the_vector():
    tree = example()
    vector, h = tree.flatten(), 1e-6

    def total(v):
        return sum(np.sum(np.sin(value)) for value in tree.unflatten(v).natural.values())

    natural = np.concatenate([np.cos(tree[path].entries) for path in tree.paths if path != "noise"])
    slopes = [(total(vector + step) - total(vector - step)) / (2 * h) for step in h * np.eye(len(vector))]
    assert_allclose(tree.derivative(vector) * natural, slopes, rtol=1e-6, atol=1e-8)


def test_changes_give_new_trees():
    tree = example()
    changed = tree.replace("noise", fixed=False, prior=None).with_values({"noise": 0.3, "left.lengthscale": [1, 2, 3]})
    assert changed["noise"] == Parameter(0.3)
    assert_array_equal(changed["left.lengthscale"].value, [1.0, 2.0, 3.0])
    assert changed["left.lengthscale"].prior == InverseGamma(3.0, 2.0)
    assert changed["right"] == tree["right"]
    assert tree == example()
    assert tree.fix("left").names == ["right.period", "right.offset", "right.shape"]
    assert tree.fix("left").free("left") == tree
    assert copy.deepcopy(tree) == tree and hash(copy.deepcopy(tree)) == hash(tree)


def test_reads_as_a_mapping_of_its_branches():
    tree = example()
    assert list(tree) == ["left", "right", "noise"]
    assert len(tree) == 3
    assert "left.variance" in tree and "left" in tree and "variance" not in tree
    assert tree["left"]["variance"] is tree["left.variance"]
    assert isinstance(tree["left"], ParameterTree)


def test_repr_is_in_natural_units():
    tree = ParameterTree({"a": Parameter([0.25, 4.0], prior=LogNormal()), "bb": Parameter(1e-7, fixed=True)})
    assert repr(tree).splitlines() == [
        "a   [0.25, 4]  Positive(), LogNormal(median=1.0, sigma=1.0)",
        "bb  1e-07      fixed",
    ]
    assert repr(ParameterTree({})) == ""


def test_unknown_names_suggest_the_nearest():
    tree = example()
    with pytest.raises(UnknownParameterError) as caught:
        tree["left.lenghtscale"]
    assert str(caught.value).startswith(
        "there is no parameter 'left.lenghtscale'; did you mean 'left.lengthscale'? The parameters are: "
    )
    with pytest.raises(KeyError, match=r"did you mean 'left.variance'\?"):
        tree.with_values({"variance": 1.0})
    with pytest.raises(ValueError, match=r"no parameter 'zzz'\. The parameters are"):
        tree.fix("zzz")
    with pytest.raises(UnknownParameterError, match=r"one entry of 'left.lengthscale'; use the whole"):
        tree.fix("left.lengthscale[0]")
    with pytest.raises(UnknownParameterError, match=r"no parameter 'noise.value'; did you mean 'noise'"):
        tree["noise.value"]
    with pytest.raises(UnknownParameterError, match=r"no parameter 'x'\. The parameters are: none"):
        ParameterTree({})["x"]


def test_refusals_name_the_parameter():
    tree = example()
    with pytest.raises(ValueError, match=r"^left.variance: the value must be positive .* got -1.0$"):
        tree.with_values({"left.variance": -1.0})
    with pytest.raises(ValueError, match=r"'left' is a branch; choose one of its parameters: left.lengthscale, left.v"):
        tree.replace("left", value=1.0)
    with pytest.raises(ValueError, match=r"must have shape \(6,\), one entry .*left.lengthscale\[0\].*got \(2,\)"):
        tree.unflatten([0.0, 0.0])
    with pytest.raises(ValueError, match=r"must be finite; its entry 3, right.period, is nan"):
        tree.log_prior([0.0, 0.0, 0.0, np.nan, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"'a' must be a Parameter or a mapping of them; got 1.0"):
        ParameterTree({"a": 1.0})
    for name in ("a.b", "a[0]", "", 3, "two words"):
        with pytest.raises(ValueError, match=r"name must be one word of letters, digits and underscores; got"):
            ParameterTree({name: Parameter(1.0)})


def test_extreme_vectors_give_finite_natural_values():
    tree = example()
    for size in (-1e6, 1e6):
        values = tree.unflatten(np.full(6, size)).natural.values()
        assert all(np.isfinite(value).all() for value in values)
