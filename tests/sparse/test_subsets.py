"""Forward selection by the BIC."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tests.sparse.tables import USCRIME_NAMES, hald, uscrime

from credo.sparse.spike_slab import SpikeSlabRegressor
from credo.sparse.subsets import forward_selection


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


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="max_size must be a whole number of at least 1; got 0"):
        forward_selection(*hald(), max_size=0)
