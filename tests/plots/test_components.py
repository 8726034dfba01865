"""Panels of a kernel search: what is drawn in them is the decomposition."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from credo.gp import GPRegressor
from credo.kernels import RBF, Constant, Linear
from credo.plots import components
from credo.selection._kernel_search import result_of


def result(kernel, X, y):
    model = GPRegressor(kernel, hyperparameters="fixed", noise=0.05).fit(X, y)
    return result_of(model, (), seconds=0.0, out_of_time=False)


def test_panels_draw_the_data_and_the_means_of_the_components():
    x = np.linspace(0.0, 4.0, 25)
    found = result(0.1 * RBF(0.5) + Linear(center=2.0), x[:, None], 2 * x + np.sin(5 * x))
    panels = components(found, ahead=0.5, name="growth", ax=Figure().subplots())
    assert len(panels) == 3 and panels[0].get_ylabel() == "growth"
    assert len(panels[0].lines[-1].get_xdata()) == 25
    for panel, component, k in zip(panels[1:], found.components, range(2), strict=True):
        at, mean = panel.lines[0].get_data()
        assert at[-1] == pytest.approx(6.0)
        np.testing.assert_allclose(mean, found.decompose(at[:, None])[k].mean)
        assert panel.get_title(loc="left").endswith(component.words)


def test_components_of_several_columns_are_drawn_along_their_own():
    X = np.random.default_rng(0).uniform(0, 3, size=(20, 2))
    found = result(Linear().on(1) + RBF(0.5).on(0), X, X[:, 1] + np.sin(3 * X[:, 0]))
    panels = components(found, ahead=0.0, ax=Figure().subplots())
    assert [panel.get_xlabel() for panel in panels] == [f"x{c.columns[0]}" for c in found.components]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(TypeError, match=r"what credo.search_kernel returns; got a str"):
        components("result")
    X = np.arange(5.0)[:, None]
    one = result(Constant(1.0).fix(), np.hstack([X, X]), X[:, 0])
    with pytest.raises(ValueError, match="no structure beyond noise"):
        components(one)
