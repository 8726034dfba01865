"""An attribute that a fit may set says why it is missing; any other name is Python's own error."""

import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from tests.contracts.estimators import cases, classifiers, regressors

import credo
from credo.core.estimator.checks import _declares

X, y = make_regression(n_samples=30, n_features=2, random_state=0)
LABELS = make_classification(n_samples=30, n_features=2, n_redundant=0, random_state=0)[1]


def test_names_that_no_option_sets_raise_pythons_error():
    model = credo.LinearRegression().fit(X, y)
    for name in ("alpha_", "log_evidence_", "nonsense_"):
        with pytest.raises(AttributeError, match=f"'LinearRegression' object has no attribute '{name}'") as caught:
            getattr(model, name)
        # From these two Python makes its suggestion.
        assert (caught.value.name, caught.value.obj) == (name, model) and not isinstance(caught.value, ValueError)


def test_names_that_some_option_sets_name_the_cause():
    with pytest.raises(NotFittedError, match="fitted with options that don't set alphas_"):
        credo.Ridge(1.0).fit(X, y).alphas_
    with pytest.raises(NotFittedError, match="not fitted and has no alphas_: call fit first"):
        credo.Ridge("loo").alphas_


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", cases([*regressors(), *classifiers()]), ids=repr)
def test_every_fitted_attribute_is_declared_by_its_class(model):
    fitted = clone(model).fit(X, LABELS if is_classifier(model) else y)
    names = [name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")]
    assert not [name for name in names if not _declares(type(fitted), name)]
