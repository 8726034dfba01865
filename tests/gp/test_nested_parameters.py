"""Parameters of a kernel as parameters of the model, for scikit-learn's searches."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo import GPClassifier, GPRegressor, KernelRidge
from credo.kernels import RBF, Linear

X = np.linspace(0, 6, 40)[:, None]
Y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)


def test_a_grid_search_over_a_length_scale():
    model = GPRegressor(RBF(), noise=0.01, hyperparameters="fixed")
    folds = KFold(4, shuffle=True, random_state=0)
    found = GridSearchCV(model, {"kernel__lengthscale": [0.01, 1.0, 100.0]}, cv=folds).fit(X, Y)
    assert found.best_params_ == {"kernel__lengthscale": 1.0}
    assert found.best_estimator_.kernel_.params["lengthscale"] == 1.0
    by_hand = GPRegressor(RBF(0.01), noise=0.01, hyperparameters="fixed")
    scores = [by_hand.fit(X[train], Y[train]).score(X[held], Y[held]) for train, held in folds.split(X)]
    np.testing.assert_allclose(found.cv_results_["mean_test_score"][0], np.mean(scores), rtol=1e-9)
    assert model.kernel == RBF()


def test_nested_names_are_those_of_the_kernel():
    model = GPClassifier(2.0 * RBF([1.0, 2.0]) + Linear())
    given = model.get_params()
    names = {name.removeprefix("kernel__").replace("__", ".") for name in given if name.startswith("kernel__")}
    assert names == set(model.kernel.params)
    twin = clone(model).set_params(**given)
    assert twin.kernel == model.kernel and not any("__" in name for name in model.get_params(deep=False))


def test_setting_leaves_other_models_and_priors_alone():
    kernel = RBF().fix("variance")
    model = KernelRidge(kernel)
    twin = clone(model).set_params(kernel__lengthscale=3.0)
    assert twin.kernel == RBF(3.0).fix("variance") and model.kernel == kernel == RBF().fix("variance")
    both = GPRegressor().set_params(kernel__lengthscale=3.0, kernel=RBF())
    assert both.kernel == RBF(3.0)
    pipeline = make_pipeline(StandardScaler(), GPRegressor(RBF())).set_params(gpregressor__kernel__lengthscale=2.0)
    assert pipeline[-1].kernel == RBF(2.0)


def test_messages():
    with pytest.raises(ValueError, match="kernel__lengthscale needs a kernel object with this parameter; got 'rbf'"):
        GPRegressor("rbf").set_params(kernel__lengthscale=1.0)
    with pytest.raises(ValueError, match="lengthscale"):
        GPRegressor(RBF()).set_params(kernel__lengthscales=1.0)
    with pytest.raises(ValueError, match="lengthscale"):
        GPRegressor(RBF()).set_params(kernel__lengthscale=-1.0)
