import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeRegressor

from credo import BaggingRegressor, Committee, LinearRegression
from credo.plots import bagged_curves


@pytest.fixture
def ax():
    return Figure().subplots()


def test_every_member_and_their_average_are_drawn(ax):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.uniform(0, 1, size=40)})
    y = pd.Series(np.sin(6 * frame["dose"].to_numpy()) + 0.1 * rng.normal(size=40), name="response")
    model = BaggingRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=7, random_state=0).fit(frame, y)
    bagged_curves(model, frame, y, ax=ax)
    *members, average, dots = ax.lines
    assert len(members) == 7 and len(dots.get_xdata()) == 40
    np.testing.assert_allclose(np.mean([line.get_ydata() for line in members], axis=0), average.get_ydata())
    assert ax.get_xlabel() == "dose" and ax.get_ylabel() == "response"
    edges = ax.collections[0].get_paths()[0].vertices
    assert edges[:, 1].max() == pytest.approx(
        model.predict_dist(pd.DataFrame({"dose": average.get_xdata()})).interval()[1].max()
    )


def test_what_can_t_be_drawn_is_refused_in_words(ax):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)
    with pytest.raises(TypeError, match=r"fitted ensemble of regressors.*got a LinearRegression"):
        bagged_curves(LinearRegression().fit(X, y), X, y, ax=ax)
    with pytest.raises(ValueError, match="this Committee has 2"):
        bagged_curves(Committee([("a", LinearRegression())]).fit(X, y), X, y, ax=ax)
