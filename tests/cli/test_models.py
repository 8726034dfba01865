"""Short names of models, and which of them suit a table."""

import pytest

from credo.cli._models import NAMES, estimators, too_wide
from credo.linear import BayesianLinearRegression


def test_all_models_suit_a_small_table():
    chosen, notes = estimators(None, (442, 10))
    assert tuple(chosen) == NAMES
    assert notes == []


def test_polynomial_is_left_out_of_a_wide_table_with_a_note():
    chosen, notes = estimators(None, (100, 500))
    assert "polynomial" not in chosen
    assert notes == ["polynomial was left out: 500 columns would make 125750 quadratic features for 100 rows."]


def test_polynomial_by_name_is_refused_for_a_wide_table():
    with pytest.raises(ValueError, match="'polynomial' can't be used here: 500 columns would make 125750"):
        estimators(("polynomial",), (100, 500))


def test_the_number_of_quadratic_features_is_what_the_model_makes():
    # 4 columns: 4 linear, 4 squares, 6 products.
    model = estimators(("polynomial",), (30, 4))[0]["polynomial"]
    features = model[:-1].fit_transform([[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 7.0]])
    assert features.shape[1] == 4 * (4 + 3) // 2 == 14
    assert isinstance(model[-1], BayesianLinearRegression)


@pytest.mark.parametrize(("shape", "wide"), [((1000, 43), False), ((1000, 44), True), ((10**6, 10), True)])
def test_the_limit_counts_features_and_cells(shape, wide):
    assert (too_wide(shape) is not None) == wide


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("linear,bays", "there is no model 'bays'. Did you mean 'bayes'?"),
        ("poly", "there is no model 'poly'. Did you mean 'polynomial'?"),
        ("xyz", "there is no model 'xyz'. Choose from linear, ridge, bayes, polynomial, lms."),
        (" , ", "name at least one of linear"),
    ],
)
def test_a_wrong_name_suggests_the_nearest(run, data, value, words):
    result = run("fit", data, "--target", "price", "--models", value)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
