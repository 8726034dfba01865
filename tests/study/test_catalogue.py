"""The models of a study: their names, what they are made of, and which of them suit a table."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.base import is_classifier

from credo.core.inference import choose
from credo.ensemble import TransformedTarget
from credo.kernels import RBF
from credo.linear import BayesianLinearRegression
from credo.sparse import SpikeSlabRegressor
from credo.study import catalogue
from credo.study.catalogue import EXACT_ROWS, MODELS, OF_TIMES, Size, Times, chosen, known_name, names
from credo.study.portfolio import ORDER, SECONDS, seconds

REGRESSORS, CLASSIFIERS = names("regression"), names("classification")
# For rows in time order.
IN_TIME = ("naive", "naive-season", "gp-time")
ON_REQUEST = ("gp-matern", "lms", "nadaraya-watson")


def estimators(models, size, transformation="identity"):
    specs, notes = chosen(size, models, transformation)
    return {spec.name: spec.make(size) for spec in specs if spec.name != "baseline"}, notes


@pytest.mark.parametrize(
    ("classes", "every"),
    [
        (0, set(REGRESSORS) - {*IN_TIME, *OF_TIMES, *ON_REQUEST, "average"}),
        (2, set(CLASSIFIERS) - {"ordinal", "experts", "average"}),
    ],
)
def test_all_models_suit_a_small_table(classes, every):
    chosen, notes = estimators(None, Size(442, 10, classes=classes, counts=True, zeros=50))
    assert set(chosen) == every
    assert notes == []


@pytest.mark.parametrize("task", MODELS)
def test_the_baseline_is_always_there_and_first(task):
    size = Size(100, 4, classes=2 if task == "classification" else 0)
    for models in (None, ["polynomial"]):
        specs, _ = chosen(size, models)
        assert specs[0].name == "baseline"
    assert "baseline" not in names(task)
    assert names(task)[-1] == "average"


@pytest.mark.parametrize("task", MODELS)
def test_every_model_has_a_law_of_its_time(task):
    every = {spec.name for spec in MODELS[task]}
    assert {name.removesuffix(" inducing") for name in SECONDS[task]} == every
    # What isn't in the order comes last.
    assert {spec.name for spec in MODELS[task] if spec.default} <= set(ORDER[task]) <= every
    assert len(ORDER[task]) == len(set(ORDER[task]))


def test_the_law_is_a_product_of_powers():
    f, a, b, c = SECONDS["regression"]["gp"]
    assert seconds("regression", "gp", 1000, 10) == f + a
    assert seconds("regression", "gp", 2000, 30) == pytest.approx(f + a * 2**b * 3**c)
    assert 0 < seconds("classification", "gp", 50, 0) < seconds("classification", "gp", 50, 0, 3)
    # With inducing points it takes less time than all covariances.
    assert seconds("regression", "gp", 5001, 10) < seconds("regression", "gp", 5000, 10)


@pytest.mark.parametrize(
    "module", sorted({name for specs in MODELS.values() for one in specs for name in one.compiled})
)
def test_the_modules_that_are_compiled_have_compiled_functions(module):
    assert any(hasattr(value, "py_func") for value in vars(import_module(module)).values())


def test_linear_models_come_before_curved_ones():
    # Of models that are tied, the first is selected.
    order = [REGRESSORS.index(name) for name in ("linear", "ridge", "bayes", "spike-slab", "polynomial", "gp")]
    assert order == sorted(order)


@pytest.mark.parametrize("classes", [0, 2])
def test_trees_and_experts_need_thirty_rows(classes):
    few, notes = estimators(None, Size(29, 3, classes=classes))
    many, _ = estimators(None, Size(30, 3, classes=classes))
    assert set(many) - set(few) == {"forest", "boosting", *([] if classes else ["experts"])}
    assert any("29 rows are fewer than 30" in note for note in notes)


def test_polynomial_is_left_out_of_a_wide_table_with_a_note():
    chosen, notes = estimators(None, Size(100, 500))
    assert "polynomial" not in chosen
    assert "polynomial" in notes[0] and "500 columns would give 125,750 quadratic features" in notes[0]
    with pytest.raises(ValueError, match="'polynomial' can't be used for this table: 500 columns would give 125,750"):
        estimators(("polynomial",), Size(100, 500))


def test_the_number_of_quadratic_features_is_what_the_model_makes():
    # 4 columns: 4 linear, 4 squares, 6 products; a column of two values would have no square.
    model = estimators(("polynomial",), Size(30, 4))[0]["polynomial"]
    features = model[:-1].fit_transform([[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 7.0], [3.0, 7.0, 8.0, 1.0]])
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


@pytest.mark.parametrize("name", [name for name in REGRESSORS if name not in (*IN_TIME, "average")])
def test_regressors_can_be_made(name):
    others = OF_TIMES if name in OF_TIMES else ("linear", "bayes")
    size = Size(300, 6, counts=True, zeros=50, is_time=name in OF_TIMES)
    assert hasattr(estimators((name, *others), size)[0][name], "fit")


@pytest.mark.parametrize("name", CLASSIFIERS[:-1])
def test_classifiers_can_be_made(name):
    size = Size(300, 6, classes=3, order=("a", "b", "c")) if name == "ordinal" else Size(300, 6, classes=2)
    made, _ = estimators((name, "logistic", "discriminant"), size)
    assert is_classifier(made[name])


@pytest.mark.parametrize(
    ("name", "size", "why"),
    [
        ("counts", Size(300, 6), "the target has no counts"),
        ("hurdle", Size(300, 6, zeros=29), "fewer than 30 targets are zero, or fewer than 30 above zero"),
        ("hurdle", Size(300, 6, zeros=271), "fewer than 30 targets are zero, or fewer than 30 above zero"),
        ("ordinal", Size(300, 6, classes=3), "the classes are not on a scale"),
        ("weibull", Size(300, 6), "no event="),
    ],
)
def test_models_of_special_targets_are_refused_with_the_reason_and_left_out_without_a_note(name, size, why):
    with pytest.raises(ValueError, match=f"the model '{name}' can't be used for this table: {why}"):
        estimators((name,), size)
    made, notes = estimators(None, size)
    assert name not in made and not any(why in note for note in notes)


def test_noise_that_varies_needs_rows_for_its_length_scales():
    assert estimators(None, Size(120, 2), "log")[0].keys() >= {"gp-heteroscedastic", "gp-log"}
    assert "gp-heteroscedastic-log" not in estimators(None, Size(120, 2), "log")[0]
    with pytest.raises(ValueError, match="200 length scales of the noise are too many for 300 rows"):
        estimators(("gp-heteroscedastic",), Size(300, 200))


def test_an_average_needs_two_models():
    with pytest.raises(ValueError, match="name at least two"):
        chosen(Size(50, 2), ["average", "linear"])
    assert [spec.name for spec in chosen(Size(50, 2), ["average", "linear", "bayes"])[0]] == [
        "baseline",
        "linear",
        "bayes",
    ]


def test_a_seasonal_forecast_needs_a_cycle():
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
    with pytest.raises(ValueError, match=r"no model 'xyz'\. Choose from naive, naive-season, linear, "):
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


@pytest.fixture
def memory(monkeypatch):
    """A machine of 16 GB."""
    monkeypatch.setattr(catalogue, "memory", lambda: 16 * 10**9)


def impossible(name, size):
    return next(spec for spec in MODELS[size.task] if spec.name == name).limit(size)


@pytest.mark.parametrize(("shape", "wide"), [((1000, 43), False), ((1000, 44), True), ((10**6, 10), True)])
def test_the_limit_of_polynomials_counts_features_and_cells(shape, wide):
    assert (impossible("polynomial", Size(*shape)) is not None) == wide


def test_a_table_of_thousands_of_rows_rules_out_nothing(memory):
    specs, notes = chosen(Size(8192, 8, counts=True, zeros=50), None)
    assert {spec.name for spec in specs} == {"baseline", *REGRESSORS} - {*IN_TIME, *OF_TIMES, *ON_REQUEST, "average"}
    assert notes == []


def test_memory_that_is_not_there_is_named(memory):
    with pytest.raises(ValueError, match="the model 'kernel-ridge' can't be used for this table") as caught:
        chosen(Size(60_000, 8), ["kernel-ridge"])
    # Four matrices of 60 000² numbers of 8 bytes: 115.2 GB.
    assert "matrices of 60,000 × 60,000 numbers need 115 GB of memory" in str(caught.value)
    specs, notes = chosen(Size(60_000, 8), None)
    assert "kernel-ridge" not in {spec.name for spec in specs}
    assert any(note.startswith("Not used") and "kernel-ridge" in note for note in notes)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_many_rows_of_a_process_need_no_matrix_of_all_covariances(memory, classes):
    specs, _ = chosen(Size(60_000, 8, classes=classes), ["gp"])
    model = specs[-1].make(Size(60_000, 8, classes=classes))
    assert model.method == "inducing" and model.n_restarts == 0
    # One threshold for all: `method="auto"` is exact up to this size.
    assert choose("auto", np.zeros((EXACT_ROWS, 8)), RBF())[0] == "exact"
    assert choose("auto", np.zeros((EXACT_ROWS + 1, 8)), RBF())[0] == "inducing"
    assert specs[-1].make(Size(EXACT_ROWS, 8, classes=classes)).method == "auto"


def test_unknown_memory_rules_out_nothing(monkeypatch):
    monkeypatch.setattr(catalogue, "memory", lambda: None)
    assert impossible("kernel-ridge", Size(60_000, 8)) is None


def test_tables_too_large_to_be_dense(memory):
    assert "too many for a dense table" in impossible("gp", Size(4000, 30_000))
    assert "too many for a dense table" in impossible("discriminant", Size(10**6, 1000, classes=2))
    assert impossible("linear", Size(4000, 30_000)) is None


def test_models_that_many_columns_would_take_minutes():
    wide = Size(50, 100_000)
    for name, size in (("lms", wide), ("nadaraya-watson", wide), ("bayes-logistic", Size(50, 100_000, classes=2))):
        assert impossible(name, size) == "100,000 columns are more than 20,000"
        # Words of many texts are sparse, and no reason to leave a linear model out.
        assert impossible(name, Size(size.rows, 1000, classes=size.classes)) is None
    assert impossible("bayes-logistic", Size(10**6, 1000, classes=2)) is None
    assert impossible("linear", wide) is None
    _, notes = chosen(Size(50, 100_000, classes=2), None)
    assert any("bayes-logistic (100,000 columns" in note for note in notes)


@pytest.mark.parametrize(
    ("rows", "columns", "own"), [(300, 50, True), (300, 51, False), (30, 10, True), (30, 11, False)]
)
def test_length_scales_need_rows_to_tell_them_apart(rows, columns, own):
    assert Size(rows, columns).has_lengthscales == own


def test_the_levels_of_one_column_count_as_one_input():
    assert Size(300, 80, inputs=4).has_lengthscales


@pytest.mark.parametrize("task", MODELS)
def test_the_additive_model_has_a_curve_for_each_cycle(task):
    spec = next(spec for spec in MODELS[task] if spec.name == "additive")
    classes = 2 if task == "classification" else 0
    assert spec.make(Size(100, 4, classes=classes)).terms is None
    times = Times(2, 3.5, 0.1, (0.3, 1.2))
    terms = spec.make(Size(100, 4, classes=classes, times=times)).terms
    assert [term if isinstance(term, str) else (term.columns, term.cyclic) for term in terms] == [
        ((2,), None), ((2,), 0.3), ((2,), 1.2), "others",
    ]  # fmt: skip


def test_curves_of_too_many_columns_are_refused_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr(catalogue, "memory", lambda: 4e9)
    spec = next(spec for spec in MODELS["regression"] if spec.name == "additive")
    assert spec.limit(Size(60, 500)) is None
    assert spec.limit(Size(60, 600)) == (
        "curves of 600 columns have 12,600 basis functions, whose matrices need 5 GB of memory"
    )
