import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from credo import BayesianLinearRegression, GPRegressor, LinearRegression
from credo.distributions import Normal
from credo.kernels import RBF
from credo.plots import band


@pytest.fixture
def ax():
    return Figure().subplots()


def test_the_band_is_the_interval_in_the_order_of_x(ax):
    x = np.array([2.0, 0.0, 1.0])
    dist = Normal(3 * x, 1 + x)
    band(x, dist, level=0.5, ax=ax)
    (path,) = ax.collections[0].get_paths()
    order = np.argsort(x)
    lower, upper = (end[order] for end in dist.interval(0.5))
    corners = {tuple(np.round(point, 9)) for point in path.vertices}
    assert {tuple(np.round(point, 9)) for point in zip(x[order], lower, strict=True)} <= corners
    assert {tuple(np.round(point, 9)) for point in zip(x[order], upper, strict=True)} <= corners
    assert ax.lines[0].get_xdata().tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (lambda x: x[:, None], "x"),
        (lambda x: pd.DataFrame({"dose": x}), "dose"),
        (lambda x: pl.DataFrame({"dose": x}), "dose"),
        (lambda x: pa.table({"dose": x}), "dose"),
        (lambda x: pd.Series(x, name="dose"), "dose"),
        (lambda x: pl.Series("dose", x), "dose"),
        (lambda x: pd.Series(x), "x"),
        (lambda x: pl.Series(x), "x"),
    ],
)
def test_x_may_be_a_column_of_any_form_and_its_name_is_kept(ax, wrap, name):
    x = np.array([0.0, 1.0, 2.0])
    band(wrap(x), Normal(x, np.ones(3)), data=(wrap(x), pd.Series(x, name="growth")), ax=ax)
    assert ax.lines[0].get_xdata().tolist() == ax.lines[1].get_xdata().tolist() == [0.0, 1.0, 2.0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (name, "growth")


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_a_title_stands_above_the_key(layout, process):
    figure = Figure(figsize=(6, 4), layout=layout)
    ax = band(np.linspace(0, 5, 9), process, draws=2, ax=figure.subplots())
    ax.set_title("What was learned")
    figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1
    # And where the key is taken away, the title comes down.
    ax.get_legend().remove()
    figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 < ax.get_window_extent().y1 + 15


def test_draws_of_another_length_are_refused(ax):
    x = np.linspace(0, 1, 4)
    with pytest.raises(ValueError, match=r"draws must have .* each of the 4 points; got \(2, 3\)"):
        band(x, Normal(x, np.ones(4)), draws=np.zeros((2, 3)), ax=ax)


def test_an_array_is_no_distribution_and_the_words_say_what_is(ax):
    x = np.linspace(0, 1, 4)
    with pytest.raises(TypeError, match=r"band draws a distribution, as model\.predict_dist.*got a ndarray.*Normal"):
        band(x, 2 * x, ax=ax)
    with pytest.raises(ValueError, match="one row for each of the 4 points; got 3"):
        band(x, Normal(np.zeros(3), 1.0), ax=ax)


@pytest.fixture(scope="module")
def process():
    x = np.array([0.0, 1.0, 2.5, 3.0, 5.0])
    return GPRegressor(RBF(1.0), noise=0.1, mean="zero", hyperparameters="fixed").fit(x[:, None], np.sin(x))


def edges(collection):
    return {tuple(point) for point in np.round(collection.get_paths()[0].vertices, 9)}


def test_a_model_shows_both_bands_its_data_and_its_own_draws(ax, process):
    x = np.linspace(-1, 6, 30)
    band(x, process, draws=3, level=0.8, random_state=7, ax=ax)
    for collection, latent in zip(ax.collections, (False, True), strict=True):
        for end in process.predict_dist(x[:, None], latent=latent).interval(0.8):
            assert {tuple(point) for point in np.round(np.column_stack([x, end]), 9)} <= edges(collection)
    *draws, mean, data = ax.lines
    expected = process.sample(x[:, None], 3, random_state=7)
    np.testing.assert_allclose([line.get_ydata() for line in draws], expected, atol=1e-6)
    np.testing.assert_allclose(mean.get_ydata(), process.predict(x[:, None]), atol=1e-12)
    assert sorted(data.get_xdata()) == [0.0, 1.0, 2.5, 3.0, 5.0]
    np.testing.assert_array_equal(np.sin(data.get_xdata()), data.get_ydata())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "80 % interval of y", "of f", "draws of f", "mean", "data",
    ]  # fmt: skip


def test_a_linear_model_draws_functions_too(ax):
    x = np.linspace(0, 1, 12)
    model = BayesianLinearRegression().fit(x[:, None], 2 * x + 0.1 * np.cos(40 * x))
    band(x, model, draws=2, ax=ax)
    expected = model.sample_functions(x[:, None], 2, random_state=0)
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines[:2]], expected, atol=1e-9)


def test_names_of_columns_reach_the_axis_without_a_warning(ax):
    table = pd.DataFrame({"dose ($mg$)": [0.0, 1.0, 2.0]})
    model = LinearRegression().fit(table, [0.0, 1.1, 1.9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        band([0.0, 1.5], model, name="growth", ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose ($mg$)", "growth")


def test_a_number_of_draws_needs_a_model_that_can_draw(ax):
    x = np.linspace(0, 1, 4)
    with pytest.raises(TypeError, match=r"draws=5 asks for functions from a model: give the model instead of its"):
        band(x, Normal(x, np.ones(4)), draws=5, ax=ax)
    with pytest.raises(TypeError, match="a LinearRegression can't draw functions"):
        band(x, LinearRegression().fit(x[:, None], x**2), draws=5, ax=ax)


def test_a_model_of_two_columns_is_refused(ax):
    model = LinearRegression().fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [0.0, 1.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=r"along its one column; this LinearRegression has 2\..*band\(x, model"):
        band([0.0, 1.0], model, ax=ax)


def test_several_outputs_are_refused(ax):
    x = np.linspace(0, 1, 5)
    model = GPRegressor(RBF(), noise=0.1, hyperparameters="fixed").fit(x[:, None], np.column_stack([x, x**2]))
    with pytest.raises(ValueError, match="the model has 2 outputs, but this figure shows one"):
        band(x, model, ax=ax)


def test_a_model_must_be_fitted(ax):
    with pytest.raises(NotFittedError):
        band([0.0, 1.0], GPRegressor(), ax=ax)
