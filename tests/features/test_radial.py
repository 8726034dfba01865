"""Gaussian bumps: the kernel formula, centres that cover the rows, widths above zero."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import rbf_kernel

from credo.features import Radial


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


def test_prototypes_at_the_rows_are_the_rbf_kernel(X):
    Phi = Radial("data", width=0.7).fit_transform(X)
    np.testing.assert_allclose(Phi, rbf_kernel(X, gamma=1 / (2 * 0.7**2)), rtol=1e-12)


def test_given_centres(X):
    C = X[:5] + 0.3
    basis = Radial(C, width=2.0).fit(X)
    expected = np.exp(-((X[:, None, :] - C[None]) ** 2).sum(axis=2) / 8)
    np.testing.assert_allclose(basis.transform(X), expected, rtol=1e-13)
    assert basis.centers is C


def test_a_row_at_its_centre_is_exactly_one():
    X = np.array([[1e8 + 0.1, 3.0], [1e8 + 0.2, 3.0]])
    np.testing.assert_array_equal(np.diag(Radial("data", width=1e-3).fit_transform(X)), [1.0, 1.0])


def test_median_width_is_the_median_distance_between_different_centres(X):
    assert Radial("data").fit(X).width_ == pytest.approx(np.median(pdist(X)), rel=1e-14)
    doubled = Radial(np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)).fit(X[:, :1])
    assert doubled.width_ == pytest.approx(4.0)


@pytest.mark.parametrize("rows", [[[2.0, 1.0]] * 5, [[0.0, 0.0]]])
def test_width_is_positive_even_without_two_places(rows):
    basis = Radial(3).fit(rows)
    assert basis.width_ == 1.0
    assert len(basis.centers_) == 1


def test_one_centre_takes_its_width_from_the_rows():
    assert Radial([[0.0]]).fit([[1.0], [3.0], [-7.0]]).width_ == pytest.approx(3.0)


def test_chosen_centres_are_rows_and_cover_within_twice_the_optimum():
    # Gonzalez (1985): farthest-point traversal is a 2-approximation of the k-centre problem.
    X = np.random.default_rng(3).normal(size=(12, 2))
    for k in (2, 3, 4):
        C = Radial(k).fit(X).centers_
        assert all((c == X).all(axis=1).any() for c in C)
        best = min(cdist(X, X[list(some)]).min(axis=1).max() for some in combinations(range(12), k))
        assert cdist(X, C).min(axis=1).max() <= 2 * best + 1e-12


def test_chosen_centres_are_distinct_and_ignore_the_order_of_rows():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 4, size=(60, 2)).astype(float)  # ties everywhere
    C = Radial(9).fit(X).centers_
    assert len(np.unique(C, axis=0)) == 9
    np.testing.assert_array_equal(C, Radial(9).fit(rng.permutation(X)).centers_)


def test_more_centres_than_places_gives_every_place():
    assert len(Radial(50).fit([[1.0], [2.0], [2.0]]).centers_) == 2


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e8, 1e200])
def test_scale_of_the_axis_cancels(X, scale):
    np.testing.assert_allclose(
        Radial(8).fit(X * scale).transform(X * scale), Radial(8).fit(X).transform(X), rtol=1e-9, atol=1e-300
    )


def test_far_rows_and_narrow_widths_give_zero_not_nan():
    basis = Radial([[0.0], [1e300]], width=1e-300).fit([[0.0]])
    np.testing.assert_array_equal(basis.transform([[0.0], [1e308], [-1e308]]), [[1, 0], [0, 0], [0, 0]])


def test_names_show_the_centres_and_never_repeat():
    assert list(Radial([1.0, 2.5]).fit([[1.0]]).get_feature_names_out(["dose"])) == [
        "radial(dose=1)",
        "radial(dose=2.5)",
    ]
    repeated = Radial("data").fit([[1.0, 2.0], [1.0, 2.0]]).get_feature_names_out()
    assert list(repeated) == ["radial(x0=1, x1=2)#0", "radial(x0=1, x1=2)#1"]
    assert Radial(2).fit(np.eye(5)).get_feature_names_out()[1] == "radial1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"centers": "rows"}, "centers must be 'data', a number of centers .int., or an array"),
     ({"centers": 0}, "centers must be a whole number of at least 1; got 0"),
     ({"centers": 2.5}, "centers must be 'data'"),
     ({"centers": True}, "centers must be 'data'"),
     ({"centers": [[1.0]]}, "centers have 1 columns, but X has 3"),
     ({"centers": [[1.0, np.nan, 2.0]]}, "centers must be finite"),
     ({"centers": 200_000}, "makes 200,000 columns"),
     ({"width": 0.0}, "width must be a positive finite number or 'median'; got 0.0"),
     ({"width": "mean"}, "width must be a positive finite number or 'median'; got 'mean'")],
)  # fmt: skip
def test_wrong_arguments_are_named(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        Radial(**arguments).fit(X)
