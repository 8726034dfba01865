"""Forward selection by the BIC."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tests.sparse.tables import USCRIME_NAMES, hald, uscrime

from credo.core.estimator import FitWarning, named
from credo.sparse.forward_selection import forward_selection
from credo.sparse.spike_slab import SpikeSlabRegressor


def rss(X, y, columns):
    design = np.column_stack([np.ones(len(y)), X[:, list(columns)]])
    rest = y - design @ np.linalg.lstsq(design, y)[0]
    return rest @ rest


def bic(X, y, columns):
    n = len(y)
    return n * (np.log(2 * np.pi * rss(X, y, columns) / n) + 1) + (len(columns) + 2) * np.log(n)


def test_every_step_takes_the_best_column():
    X, y = uscrime()
    found = forward_selection(X, y, max_size=8)
    for k, column in enumerate(found.order):
        taken = found.order[:k]
        rests = {j: rss(X, y, (*taken, j)) for j in range(15) if j not in taken}
        assert column == min(rests, key=rests.get)
    assert_allclose(found.bic, [bic(X, y, found.order[:k]) for k in range(9)], rtol=1e-10)
    assert_allclose(found.r2[4], 1 - rss(X, y, found.order[:4]) / rss(X, y, ()), rtol=1e-10)


def test_polished_subset_can_t_be_improved_by_one_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) @ (np.eye(40) + 0.6 * rng.normal(size=(40, 40)))
    y = X[:, :6] @ [1, -1, 1, -1, 1, -1] + 3 * rng.normal(size=60)
    found = forward_selection(X, y)
    best = bic(X, y, found.selected)
    inside = set(found.selected)
    for j in range(40):
        assert bic(X, y, sorted(inside ^ {j})) >= best - 1e-7
        for i in inside:
            if j not in inside:
                assert bic(X, y, sorted(inside - {i} | {j})) >= best - 1e-7
    assert best <= found.bic.min() + 1e-9


def test_the_likeliest_model_is_found_where_it_can_be_enumerated():
    for X, y in (uscrime(), hald()):
        found = forward_selection(X, y)
        assert found.selected == SpikeSlabRegressor().fit(X, y).map_model_


def test_weights_are_repeated_rows_and_names_are_carried():
    X, y = uscrime()
    weight = np.random.default_rng(0).integers(0, 3, size=47)
    one = forward_selection(pd.DataFrame(X, columns=USCRIME_NAMES), y, sample_weight=weight, max_size=6)
    two = forward_selection(X.repeat(weight, axis=0), y.repeat(weight), max_size=6)
    assert one.order == two.order and one.selected == two.selected
    assert_allclose(one.bic, two.bic, rtol=1e-10)
    assert "smallest BIC: " in str(one.table()) and USCRIME_NAMES[one.order[0]] in str(one.table())


def test_copies_and_constants_are_passed_over():
    X, y = hald()
    wide = np.column_stack([X, X[:, 0], np.ones(13), X[:, 1] + X[:, 2]])
    found = forward_selection(wide, y, max_size=7)
    assert len(found.order) == 4 and 5 not in found.order
    assert np.linalg.matrix_rank(wide[:, found.order]) == 4


def test_a_difference_of_near_copies_is_found():
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(2, 60))
    X = np.column_stack([rng.normal(size=(60, 30)), x, x + 1e-7 * e])
    found = forward_selection(X, e + 0.1 * rng.normal(size=60), criterion="ebic")
    assert found.selected == (30, 31)


def test_the_extended_criterion_takes_no_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 800))
    with pytest.warns(FitWarning, match=r"ln n = 3.91, .* of 800 columns of pure noise, about 38 would be selected"):
        loose = forward_selection(X, rng.normal(size=50))
    assert len(loose.selected) > 10
    for _ in range(5):
        assert not forward_selection(X, rng.normal(size=50), criterion="ebic").selected
    signal = forward_selection(X, X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=50), criterion="ebic")
    assert signal.selected == (0, 1, 2)
    assert "smallest EBIC: x0 + x1 + x2" in str(signal.table())


def test_the_extended_criterion_is_the_posterior_under_equal_sizes():
    """−EBIC/2 is ln p(γ)p(y | γ) with the beta-binomial prior, but for a constant."""
    for X, y in (uscrime(), hald()):
        found = forward_selection(X, y, criterion="ebic")
        model = SpikeSlabRegressor("beta-binomial").fit(X, y)
        assert found.selected == model.map_model_
        scores = model.log_scores([found.order[:k] for k in range(len(found.order) + 1)])
        assert_allclose((found.ebic[0] - found.ebic) / 2, scores - scores[0], atol=1e-9)


def test_extremes_are_refused_and_what_does_not_vary_is_said():
    X, y = hald()
    for unit in (1e-150, 1e150):
        with pytest.raises(ValueError, match=r"the largest absolute value in y is .*: change the unit of y"):
            forward_selection(X, y * unit)
    with pytest.raises(ValueError, match=r"the largest absolute value in column c2 of X is .*e\+201,"):
        forward_selection(pd.DataFrame(X, columns=["c0", "c1", "c2", "c3"]) * [1, 1, 1e200, 1], y)
    tiny = forward_selection(X * 1e-70, y * 1e-60)
    assert tiny.selected == forward_selection(X, y).selected
    with pytest.warns(FitWarning, match="y is constant"):
        assert forward_selection(X, np.full(13, 2.5)).selected == ()
    with pytest.raises(ValueError, match="n_samples=1 with a total weight of 1 is too few"):
        forward_selection(X[:1], y[:1])


def test_a_target_that_columns_reproduce_is_reproduced_by_them():
    X, _ = uscrime()
    found = forward_selection(X, 1 + X[:, 3] - 2 * X[:, 7])
    assert found.selected == (3, 7)
    with pytest.raises(ValueError, match="criterion must be one of 'bic', 'ebic'; got 'aic'"):
        forward_selection(X, X[:, 0], criterion="aic")


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="max_size must be a whole number of at least 1; got 0"):
        forward_selection(*hald(), max_size=0)


def test_names_and_weights_come_through_the_door_of_the_estimators():
    X, y = hald()
    assert forward_selection(named(X.copy(), ["a", "b", "c", "d"]), y).names == ("a", "b", "c", "d")
    with pytest.raises(ValueError, match=r"forward_selection.* requires y to be passed"):
        forward_selection(X, None)
    with pytest.raises(ValueError, match="sample_weight masks 1 of its 13 values, the first in row 4"):
        forward_selection(X, y, sample_weight=np.ma.masked_array(np.ones(13), np.arange(13) == 4))
