"""The models of a study: their names, what they are made of, and which of them suit a table."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.base import is_classifier

from credo.ensemble import TransformedTarget
from credo.linear import BayesianLinearRegression
from credo.sparse import SpikeSlabRegressor
from credo.study.catalogue import CARDS, chosen_cards, known_name, names
from credo.study.size import Size, Times

REGRESSORS, CLASSIFIERS = names("regression"), names("classification")
# For rows in time order.
IN_TIME = ("naive", "naive-season", "gp-time")


def estimators(models, size, transformation="identity"):
    cards, notes = chosen_cards(size, models, transformation)
    return {card.name: card.make(size) for card in cards if card.name != "baseline"}, notes


@pytest.mark.parametrize(
    ("classes", "every"),
    [(0, set(REGRESSORS) - {*IN_TIME, "gp-heteroscedastic", "gp-matern", "lms"}), (2, set(CLASSIFIERS))],
)
def test_all_models_suit_a_small_table(classes, every):
    chosen, notes = estimators(None, Size(442, 10, classes=classes))
    assert set(chosen) == every
    assert notes == []


@pytest.mark.parametrize("task", CARDS)
def test_the_baseline_is_always_there_and_first(task):
    size = Size(100, 4, classes=2 if task == "classification" else 0)
    for models in (None, ["polynomial"]):
        cards, _ = chosen_cards(size, models)
        assert cards[0].name == "baseline"
    assert "baseline" not in names(task)
    assert CARDS[task][-1].name == "average"


def test_sampled_subsets_of_many_columns_come_last():
    cost = {
        columns: {card.name: card.cost for card in chosen_cards(Size(135, columns), None)[0]} for columns in (20, 21)
    }
    assert cost[20]["spike-slab"] < cost[20]["kernel-ridge"]
    assert cost[21].pop("average") > cost[21]["spike-slab"] == max(cost[21].values())


@pytest.mark.parametrize("module", sorted({card.loops for cards in CARDS.values() for card in cards} - {None}))
def test_the_modules_named_by_the_cards_hold_compiled_functions(module):
    assert any(hasattr(value, "py_func") for value in vars(import_module(module)).values())


def test_linear_models_come_before_curved_ones():
    # Of models that are tied, the first is selected.
    order = [REGRESSORS.index(name) for name in ("linear", "ridge", "bayes", "spike-slab", "polynomial", "gp")]
    assert order == sorted(order)


def order_of(size, transformation="identity"):
    cards, _ = chosen_cards(size, None, transformation)
    return [card.name for card in sorted(cards, key=lambda card: card.cost)]


def test_what_takes_milliseconds_comes_first_whatever_the_transformation():
    order = order_of(Size(2626, 2), "log")
    cheap = [order.index(name) for name in ("lasso", "lasso-log", "polynomial", "polynomial-log", "spike-slab")]
    assert max(cheap) < min(order.index(name) for name in ("gp-log", "kernel-ridge-log", "experts", "kernel-ridge"))
    # Two columns: a process comes before what factors a matrix for every penalty, and before experts.
    assert order.index("gp-log") < min(order.index(name) for name in ("kernel-ridge-log", "nadaraya-watson", "experts"))


def test_of_rows_in_time_order_the_process_in_time_comes_right_after_the_linear_models():
    times = Times(0, 6000.0, 30.0, (365.25,))
    order = order_of(Size(216, 1, times=times))
    after = order[order.index("gp-time") + 1 :]
    assert {"gp", "experts", "forest", "boosting", "kernel-ridge"} <= set(after)
    assert not {"naive", "naive-season", "linear", "lasso", "polynomial", "spike-slab"} & set(after)
    # Of two targets, the one that is easier to predict first.
    order = order_of(Size(119, 1, times=times), "log")
    assert order.index("gp-time-log") < order.index("gp-log") < order.index("gp-time")


@pytest.mark.parametrize("classes", [0, 2])
def test_trees_and_experts_need_thirty_rows(classes):
    few, notes = estimators(None, Size(29, 3, classes=classes))
    many, _ = estimators(None, Size(30, 3, classes=classes))
    assert set(many) - set(few) == {"experts", "forest", "boosting"}
    assert any("29 rows are fewer than 30" in note for note in notes)


def test_polynomial_is_left_out_of_a_wide_table_with_a_note():
    chosen, notes = estimators(None, Size(100, 500))
    assert "polynomial" not in chosen
    assert "polynomial" in notes[0] and "500 columns would give 125,750 quadratic features" in notes[0]
    with pytest.raises(ValueError, match="'polynomial' can't be used for this table: 500 columns would give 125,750"):
        estimators(("polynomial",), Size(100, 500))


def test_the_number_of_quadratic_features_is_what_the_model_makes():
    # 4 columns: 4 linear, 4 squares, 6 products.
    model = estimators(("polynomial",), Size(30, 4))[0]["polynomial"]
    features = model[:-1].fit_transform([[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 7.0]])
    assert features.shape[1] == 4 * (4 + 3) // 2 == 14
    assert isinstance(model[-1], BayesianLinearRegression)


def test_processes_have_a_length_scale_for_each_column_while_there_are_few():
    X = np.random.default_rng(0).normal(size=(40, 3))
    for columns, shape in ((3, (3,)), (120, ())):
        chosen, _ = estimators(("gp", "gp-matern"), Size(300, columns))
        for model in chosen.values():
            model.set_params(hyperparameters="fixed").fit(X, X[:, 0])
            assert np.shape(model.kernel_.params["lengthscale"]) == shape


def test_the_process_in_time_is_for_tables_in_the_order_of_time():
    chosen, notes = estimators(None, Size(120, 2))
    assert "gp-time" not in chosen and notes == []
    with pytest.raises(ValueError, match="not in time order"):
        estimators(("gp-time",), Size(120, 2))
    in_time = Size(120, 2, times=Times(0, 3650.0, 30.0, (365.25,)))
    assert "gp-time" in estimators(None, in_time)[0]


def test_varying_noise_is_for_tables_whose_spread_varies_unless_it_is_named():
    assert "gp-heteroscedastic" not in estimators(None, Size(120, 2))[0]
    chosen, notes = estimators(None, Size(120, 2, spread_varies=True), "log")
    assert "gp-heteroscedastic" in chosen and "gp-heteroscedastic-log" not in chosen and notes == []
    assert estimators(("gp-heteroscedastic",), Size(120, 2))[0]["gp-heteroscedastic"].noise == "heteroscedastic"
    with pytest.raises(ValueError, match="200 length scales of the noise are too many for 300 rows"):
        estimators(("gp-heteroscedastic",), Size(300, 200))


@pytest.mark.parametrize("name", [name for name in REGRESSORS if name not in IN_TIME])
def test_regressors_can_be_made(name):
    assert hasattr(estimators((name, "linear", "bayes"), Size(300, 6))[0][name], "fit")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_can_be_made(name):
    made, _ = estimators((name, "logistic", "discriminant"), Size(300, 6, classes=2))
    assert is_classifier(made[name])


def test_models_in_time_need_times():
    assert "naive-season" not in estimators(None, Size(120, 2, times=Times(0, 3650.0, 30.0)))[0]


@pytest.mark.parametrize(
    ("kind", "name"), [("log", "linear-log"), ("box-cox", "linear-power"), ("yeo-johnson", "linear-power")]
)
def test_models_of_a_transformed_target_have_their_name(kind, name):
    made, _ = estimators((name,), Size(50, 2), kind)
    assert isinstance(made[name], TransformedTarget) and made[name].transformation == kind


def test_models_of_a_transformed_target_can_be_named_whatever_the_table_suggests():
    for transformation in ("identity", "log", "box-cox"):
        made, _ = estimators(("bayes", "linear-power", "linear-log"), Size(50, 2), transformation)
        assert list(made) == ["linear-log", "linear-power", "bayes"]


@pytest.mark.parametrize("name", ["boosting-log", "baseline-log", "discriminant-power", "baseline"])
def test_what_has_no_model_is_an_error(name):
    with pytest.raises(ValueError, match=f"no model '{name}'"):
        estimators((name,), Size(50, 2))


@pytest.mark.parametrize(
    ("value", "nearest"),
    [("bays", "bayes"), ("poly", "polynomial"), ("matern", "gp-matern"), ("linaer-log", "linear-log")],
)
def test_a_wrong_name_suggests_the_nearest(value, nearest):
    with pytest.raises(ValueError, match=f"no model '{value}'. Did you mean '{nearest}'"):
        known_name(value)


def test_a_name_that_is_near_none_lists_all():
    with pytest.raises(ValueError, match=r"no model 'xyz'\. Choose from naive, naive-season, linear, ridge"):
        known_name("xyz")


def test_a_model_of_the_other_task_is_an_error():
    with pytest.raises(ValueError, match="'linear' doesn't predict classes"):
        estimators(("linear",), Size(50, 2, classes=2))
    with pytest.raises(ValueError, match="'discriminant' doesn't predict numbers"):
        estimators(("discriminant",), Size(50, 2))


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


def test_a_spike_and_slab_is_for_two_classes():
    chosen, notes = estimators(None, Size(90, 4, classes=3))
    assert "spike-slab" not in chosen
    assert "two classes, and there are 3" in notes[0]
    with pytest.raises(ValueError, match=r"'spike-slab' can't be used for this table: .* two classes, and there are 5"):
        estimators(("spike-slab",), Size(90, 4, classes=5))


def test_the_penalty_of_a_sparse_logistic_regression_is_chosen_by_held_out_rows():
    [found] = estimators(("sparse-logistic",), Size(400, 20, classes=2))[0].values()
    assert type(found).__name__ == "SparseLogisticRegressionCV"


@pytest.mark.parametrize(("classes", "costly"), [(0, "kernel-ridge"), (2, "neighbours")])
def test_trees_come_before_other_costly_models_of_many_rows(classes, costly):
    def costs(size):
        return {card.name: card.cost for card in chosen_cards(size, None)[0]}

    few, many = costs(Size(300, 8, classes=classes)), costs(Size(5000, 8, classes=classes))
    assert few[costly] <= few["boosting"] and few[costly] <= few["forest"]
    assert many["polynomial"] <= many["boosting"] < many["forest"] < many[costly]
    if not classes:
        # Trees don't continue a trend.
        assert costs(Size(5000, 8, times=Times(0, 1.0, 1.0)))["boosting"] == few["boosting"]
