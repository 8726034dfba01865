"""Columns that share a length scale."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import credo
from credo.gp import GPRegressor
from credo.kernel_machines import NadarayaWatson
from credo.kernels import RBF, Exponential, Linear, Matern32, Matern52, RationalQuadratic

FAMILIES = [RBF, Exponential, Matern32, Matern52, RationalQuadratic]
RNG = np.random.default_rng(3)
X = np.column_stack([RNG.normal(size=(30, 2)), np.eye(4)[RNG.integers(0, 4, 30)][:, 1:]])
W = RNG.normal(size=(30, 30))
GROUPS = [0, 1, 2, 2, 2]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_group_is_equal_length_scales(family):
    shared, each = family([0.7, 1.3, 2.0], groups=GROUPS), family([0.7, 1.3, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(shared.gram(X), each.gram(X))
    np.testing.assert_array_equal(shared.cross(X[:5], X), each.cross(X[:5], X))
    np.testing.assert_array_equal(shared.pullback_inputs(X, W), each.pullback_inputs(X, W))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_gradient_is_that_of_finite_differences(family):
    kernel = 1.4 * family([0.7, 1.3, 2.0], groups=GROUPS)

    def total(vector):
        return float(np.sum(W * kernel.with_tree(kernel.tree.unflatten(vector)).gram(X)))

    start = kernel.tree.flatten()
    numeric = approx_fprime(start, total, 1e-6)
    np.testing.assert_allclose(kernel.pullback(X, W) * kernel.tree.derivative(start), numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_group_for_each_column_and_one_for_all(family):
    scales = [0.7, 1.3, 2.0, 0.4, 1.1]
    alone, each = family(scales, groups=list("abcde")), family(scales)
    np.testing.assert_array_equal(alone.gram(X), each.gram(X))
    np.testing.assert_allclose(alone.pullback(X, W), each.pullback(X, W), rtol=1e-12)
    together, one = family([1.7], groups=["all"] * 5), family(1.7)
    np.testing.assert_array_equal(together.gram(X), one.gram(X))
    np.testing.assert_allclose(together.pullback(X, W), one.pullback(X, W), rtol=1e-12)


def test_the_matrix_is_positive_semidefinite():
    for family in FAMILIES:
        assert np.linalg.eigvalsh(family([0.7, 1.3, 2.0], groups=GROUPS).gram(X)).min() > -1e-10


def test_a_number_stands_for_every_group():
    np.testing.assert_array_equal(RBF(2.0, groups=["dose", "soil", "soil"]).params["lengthscale"], [2.0, 2.0])


@pytest.mark.parametrize("groups", [[], [0, 2, 2], [1, 2], ["a", 1], [0.5, 1.0], [True, False]])
def test_groups_that_are_none_raise_an_error(groups):
    with pytest.raises(ValueError, match="one entry for each column"):
        RBF(groups=groups)


def test_numbers_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="2 groups need 2 length scales; got 3"):
        RBF([1.0, 1.0, 1.0], groups=[0, 1, 1])
    with pytest.raises(ValueError, match="groups for 3 columns, but X has 5"):
        RBF(groups=[0, 1, 1]).gram(X)
    with pytest.raises(ValueError, match="3 length scales for 2 groups"):
        RBF(groups=[0, 1, 1, 1, 1]).with_params(lengthscale=[1.0, 2.0, 3.0]).gram(X)


def test_new_parameters_keep_the_groups():
    kernel = RBF(groups=GROUPS)
    changed = kernel.with_params(lengthscale=[1.0, 2.0, 3.0]).fix("variance").with_bounds("lengthscale", 0.1, 10.0)
    assert changed.groups == tuple(GROUPS)
    assert kernel != RBF(groups=[0, 0, 1, 1, 2]) and kernel == RBF(groups=np.array(GROUPS))


def test_entries_have_the_names_of_groups_or_of_their_columns():
    names = ["a", "b", "c", "d", "e"]
    shared = (RBF(groups=["x", "y", "soil", "soil", "soil"]) + Linear()).exp()
    assert [name for name, _ in shared.entries(names)][:3] == [f"rbf.lengthscale of {g}" for g in ("x", "y", "soil")]
    assert RBF(groups=GROUPS).entries(names)[2][0] == "lengthscale of c, d, e"
    assert RBF(groups=[0, 0, 0, 0, 0]).entries(names)[0][0] == "lengthscale of a, …, e"


def test_few_groups_are_printed_and_many_counted():
    assert repr(RBF(groups=[0, 1, 1])) == "RBF(lengthscale=[1, 1], groups=[0, 1, 1])"
    assert "groups=<20 columns>" in repr(RBF(groups=[0] * 20))


def test_files_keep_groups_and_those_without_are_read(tmp_path):
    kernel = 2.0 * Matern52([0.5, 2.0, 1.0], groups=["x", "y", "s", "s", "s"])
    model = GPRegressor(kernel, n_restarts=0).fit(X, X[:, 0] + X[:, 3])
    credo.save(model, tmp_path / "m.credo")
    loaded = credo.load(tmp_path / "m.credo")
    assert loaded.kernel == kernel and loaded.kernel_ == model.kernel_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert RBF.from_fields({"tree": RBF(2.0).tree}) == RBF(2.0)


def test_a_file_with_groups_that_are_none(tmp_path):
    model = GPRegressor(RBF(groups=[0, 1, 1, 1, 1]), hyperparameters="fixed").fit(X, X[:, 0])
    model.kernel_.groups = (0, "a", 1, 1, 1)
    with pytest.raises(credo.tables.ModelFileError, match="groups must have one entry for each column"):
        credo.save(model, tmp_path / "m.credo")


def test_kernel_machines_take_groups():
    scales = NadarayaWatson(RBF([0.7, 1.3, 2.0], groups=GROUPS), bandwidth=1.0).fit(X, X[:, 0]).predict(X)
    each = NadarayaWatson(RBF([0.7, 1.3, 2.0, 2.0, 2.0]), bandwidth=1.0).fit(X, X[:, 0]).predict(X)
    np.testing.assert_allclose(scales, each)


def test_functions_drawn_from_the_prior_have_the_covariance_of_the_kernel():
    model = GPRegressor(
        RBF([0.7, 1.3, 2.0], groups=GROUPS), hyperparameters="fixed", noise=100.0, mean="zero", standardize=False
    ).fit(X[:1], [0.0])
    values = model.paths(4000, random_state=0)(X[5:10])
    np.testing.assert_allclose(np.cov(values.T), model.kernel_.gram(X[5:10]), atol=0.12)
