import numpy as np
import pytest
from scipy.ndimage import maximum_filter

from credo.plots._evidence import peaks


def bumps(*centers, size=41):
    x = np.linspace(-3, 3, size)
    return sum(h * np.exp(-2 * ((x[:, None] - a) ** 2 + (x - b) ** 2)) for a, b, h in centers)


@pytest.mark.parametrize("seed", range(4))
def test_without_prominence_they_are_all_cells_above_their_neighbours(seed):
    values = np.random.default_rng(seed).normal(size=(15, 20))
    found = [cell for cell, _ in peaks(values, prominence=0.0)]
    expected = np.argwhere(values == maximum_filter(values, size=3, mode="constant", cval=-np.inf))
    assert sorted(found) == sorted(map(tuple, expected.tolist()))
    heights = [values[cell] for cell in found]
    assert heights == sorted(heights, reverse=True)


def test_islands_part_the_grid():
    values = np.random.default_rng(1).normal(size=(12, 9))
    cells = [cell for _, island in peaks(values, prominence=0.3) for cell in island]
    assert len(cells) == len(set(cells)) == values.size


def test_a_bump_on_a_slope_counts_only_where_it_stands_out():
    values = bumps((-1, -1, 5.0), (1, 1, 2.0)) + 0.01 * np.random.default_rng(0).normal(size=(41, 41))
    found = [cell for cell, _ in peaks(values, prominence=0.5)]
    assert len(found) == 2
    np.testing.assert_allclose(np.linspace(-3, 3, 41)[np.array(found)], [[-1, -1], [1, 1]], atol=0.16)
    assert [cell for cell, _ in peaks(values, prominence=3.0)] == found[:1]


def test_holes_belong_to_no_island():
    values = np.array([[1.0, np.nan, 2.0]])
    assert peaks(values, prominence=0.1) == [((0, 2), {(0, 2)}), ((0, 0), {(0, 0)})]
