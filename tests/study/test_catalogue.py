"""Short names of models, and which of them suit a table."""

import numpy as np
import pandas as pd
import pytest
from credo.cli._job import copies, steady
from credo.cli._models import REGRESSORS, estimators, short_name
from credo.cli._sizes import Size

from credo.gp import GPRegressor
from credo.kernels import RBF, Matern32, Matern52
from credo.linear import BayesianLinearRegression
from credo.sparse import SpikeSlabRegressor


def test_all_models_suit_a_small_table():
    chosen, notes = estimators(None, Size(442, 10))
    assert tuple(chosen) == REGRESSORS
    assert notes == []


def test_linear_models_come_before_the_others():
    # Of models that tie, the first is taken.
    first = {"linear", "ridge", "bayes", "lasso", "spike-slab", "polynomial", "lms"}
    assert set(REGRESSORS[:7]) == first
    assert not {name for name in REGRESSORS[7:] if "gp" not in name} - {"nadaraya-watson", "kernel-ridge"}


def test_polynomial_is_left_out_of_a_wide_table_with_a_note():
    chosen, notes = estimators(None, Size(100, 500))
    assert "polynomial" not in chosen
    assert notes[0] == "polynomial was left out: 500 columns would make 125,750 quadratic features for 100 rows."


def test_polynomial_by_name_is_refused_for_a_wide_table():
    with pytest.raises(ValueError, match="'polynomial' can't be used here: 500 columns would make 125,750"):
        estimators(("polynomial",), Size(100, 500))


def test_the_number_of_quadratic_features_is_what_the_model_makes():
    # 4 columns: 4 linear, 4 squares, 6 products.
    model = estimators(("polynomial",), Size(30, 4))[0]["polynomial"]
    features = model[:-1].fit_transform([[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 7.0]])
    assert features.shape[1] == 4 * (4 + 3) // 2 == 14
    assert isinstance(model[-1], BayesianLinearRegression)


def test_processes_have_a_length_scale_for_each_column_while_there_are_few():
    chosen, notes = estimators(("gp", "gp-matern"), Size(300, 6))
    assert chosen["gp"].kernel is None
    assert chosen["gp-matern"].kernel.params["lengthscale"].shape == (6,)
    assert notes == []
    chosen, notes = estimators(("gp", "gp-matern"), Size(300, 120))
    assert [np.ndim(model.kernel.params["lengthscale"]) for model in chosen.values()] == [0, 0]
    assert notes == [
        "gp and gp-matern use one length scale for all 120 prepared columns, which are too many for 300 rows to give "
        "each its own."
    ]


def test_columns_that_a_fold_may_lack_have_no_length_scale_of_their_own():
    chosen, notes = estimators(("gp", "gp-matern"), Size(300, 6, steady=False))
    assert chosen["gp"].kernel is None
    assert np.ndim(chosen["gp-matern"].kernel.params["lengthscale"]) == 0
    assert "too rare to be in every fold" in notes[0]


def test_a_table_is_steady_unless_a_column_hangs_on_a_few_rows():
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert steady(X)
    X[:, 1] = np.arange(100) < 9
    assert not steady(X)
    X[:, 1] = np.arange(100) < 10
    assert steady(X)


def test_copies_are_rows_that_agree_in_every_cell_and_in_the_target():
    frame = pd.DataFrame({"a": [1.0, 1.0, 1.0, np.nan, np.nan], "b": ["x", "x", "y", "x", "x"]})
    labels = copies(frame, np.array([2.0, 2.0, 2.0, 2.0, 3.0]))
    assert labels[0] == labels[1]
    assert len(set(labels.tolist())) == 4
    assert len(set(copies(frame, np.array([2.0, 5.0, 2.0, 2.0, 2.0])).tolist())) == 4


@pytest.mark.parametrize("name", REGRESSORS)
def test_short_names_are_found_again(name):
    chosen, _ = estimators((name,), Size(300, 6))
    assert short_name(chosen[name]) == name


def test_processes_are_told_apart_by_their_kernels():
    assert short_name(GPRegressor(RBF())) == "gp"
    assert short_name(GPRegressor(Matern52())) == "gp-matern"
    assert short_name(GPRegressor(Matern32())) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("linear,bays", "there is no model 'bays'. Did you mean 'bayes'?"),
        ("poly", "there is no model 'poly'. Did you mean 'polynomial'?"),
        ("matern", "there is no model 'matern'. Did you mean 'gp-matern'?"),
        ("xyz", f"there is no model 'xyz'. Choose from {', '.join(REGRESSORS)}, discriminant"),
        (" , ", "name at least one of linear"),
    ],
)
def test_a_wrong_name_suggests_the_nearest(run, data, value, words):
    result = run("fit", data, "--target", "price", "--models", value)
    assert result.exit_code == 2
    # click breaks lines at hyphens as well.
    said = " ".join(result.stderr.split()).replace("- ", "-")
    assert words in said


def test_a_spike_and_slab_visits_all_subsets_while_it_can():
    chosen, _ = estimators(("spike-slab",), Size(50, 5))
    model = chosen["spike-slab"].fit(np.eye(12)[:, :5], np.arange(12.0))
    assert (model.search_, model.prior_inclusion) == ("enumerate", "beta-binomial")
    # Of the likeliest, so many as the estimator averages over by itself.
    assert model.n_models == SpikeSlabRegressor().n_models
    few, many = (estimators(("spike-slab",), Size(100, d, classes=2))[0]["spike-slab"] for d in (5, 30))
    assert (few.search, many.search) == ("enumerate", "gibbs")


@pytest.mark.parametrize("classes", [0, 2])
def test_a_spike_and_slab_expects_a_few_columns_where_they_outnumber_the_rows(classes):
    tall, wide = (estimators(("spike-slab",), Size(100, d, classes=classes))[0]["spike-slab"] for d in (100, 101))
    assert tall.prior_inclusion == "beta-binomial" and wide.prior_inclusion == (1.0, 101.0)
    assert wide.n_draws is not None, "every fold would go on for as long as it takes"


def test_a_spike_and_slab_tells_two_classes_apart():
    chosen, notes = estimators(None, Size(90, 4, classes=3))
    assert "spike-slab" not in chosen
    assert notes[0] == "spike-slab was left out: it tells two classes apart, and there are 3."
    with pytest.raises(
        ValueError, match="'spike-slab' can't be used here: it tells two classes apart, and there are 5"
    ):
        estimators(("spike-slab",), Size(90, 4, classes=5))


def test_the_penalty_of_a_sparse_logistic_regression_is_chosen_by_held_out_rows():
    [found] = estimators(("sparse-logistic",), Size(400, 20, classes=2))[0].values()
    assert type(found).__name__ == "SparseLogisticRegressionCV"
