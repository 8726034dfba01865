"""Kernels made of kernels."""

import pytest

from credo.kernels import RBF


@pytest.mark.parametrize("columns", ["times", ["times"], 1.5, []])
def test_columns_are_chosen_by_place(columns):
    with pytest.raises(TypeError, match=r"by index, such as .on\(0\)"):
        RBF().on(columns)
