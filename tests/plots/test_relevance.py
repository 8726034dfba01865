import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

from credo import GPRegressor
from credo.kernels import RBF
from credo.plots import importances
from credo.plots.styling import spread


class Stub(BaseEstimator):
    """A model of which only the relevances are known."""

    def __init__(self, relevance=None, trace=None, names=None):
        self.n_features_in_ = np.shape(relevance if trace is None else trace)[-1]
        if relevance is not None:
            self.relevance_ = np.asarray(relevance)
        if trace is not None:
            self.relevance_trace_ = np.asarray(trace)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def fit(self, X, y):
        return self


@pytest.fixture
def ax():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_the_relevances_largest_first(ax):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1], columns=["useless", "strong", "weak"])
    y = np.sin(0.3 * X["strong"]) + 2 * X["weak"]
    model = GPRegressor().fit(X, y)
    importances(model, ax=ax)
    widths = [bar.get_width() for bar in ax.containers[0]]
    by_name = dict(zip(X.columns, model.relevance_, strict=True))
    assert widths == sorted(model.relevance_, reverse=True)
    assert [by_name[name] for name in labels(ax)] == widths
    assert labels(ax)[0] == "strong"
    # The first row is at the top.
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_a_model_without_a_length_scale_for_each_column_is_refused(ax):
    model = GPRegressor(RBF(1.0), hyperparameters="fixed").fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"this GPRegressor has no measure .*a length scale for each column"):
        importances(model, ax=ax)


@pytest.mark.parametrize("seed", range(5))
def test_spreading_keeps_the_order_the_gap_and_the_mean(seed):
    rng = np.random.default_rng(seed)
    places = np.sort(rng.uniform(size=12))[::-1]
    moved = spread(places, 0.05)
    assert (-np.diff(moved) >= 0.05 - 1e-12).all()
    np.testing.assert_allclose(moved.mean(), places.mean())
    roomy = np.linspace(1, 0, 5)
    np.testing.assert_allclose(spread(roomy, 0.05), roomy)
