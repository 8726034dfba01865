"""The regressor that averages over subsets."""

import shutil
import subprocess
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import trapezoid
from tests.sparse.oracle import posterior
from tests.sparse.tables import ATTITUDE_NAMES, USCRIME_NAMES, attitude, uscrime

import credo
from credo.core.estimator import FitWarning
from credo.distributions import Normal, StudentT
from credo.sparse._models import ModelPrior
from credo.sparse.spike_slab import SpikeSlabRegressor
from credo.sparse.spike_slab_classifier import SpikeSlabClassifier
from credo.tables import ModelFileError

SLABS = [
    {"slab": "bic"},
    {"slab": "g"},
    {"slab": "zellner-siow"},
    {"slab": "normal"},
    {"slab": "normal", "slab_variance": 0.5, "noise_variance": 0.6},
]
each_slab = pytest.mark.parametrize("options", SLABS, ids=str)


def data(n=25, d=4, seed=0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 2, d) + np.arange(d)
    return X, 1 + X @ np.where(np.arange(d) % 2, 0.0, 0.5) + 0.8 * rng.normal(size=n)


@pytest.mark.parametrize("noise_variance", [0.6, None])
def test_predictive_density_is_a_ratio_of_evidences(noise_variance):
    """p(y* | x*, y) = p(y, y*)/p(y), exactly so where the prior of the coefficients doesn't know the rows."""
    options = {"slab": "normal", "slab_variance": 0.5, "noise_variance": noise_variance, "prior_inclusion": 0.3}
    X, y = data()
    model = SpikeSlabRegressor(**options).fit(X, y)
    rng = np.random.default_rng(1)
    for x in (X[0], X.mean(axis=0) + 3 * rng.normal(size=4)):
        for target in (-4.0, 1.3, 9.0):
            more = SpikeSlabRegressor(**options).fit(np.vstack([X, x]), np.append(y, target))
            got = model.predict_dist(x[None]).log_prob([target])[0]
            assert_allclose(got, more.log_evidence_ - model.log_evidence_, atol=1e-9)


@pytest.mark.parametrize("options", [SLABS[0], {"slab": "g", "g": 7.0}, SLABS[2], SLABS[4]], ids=str)
def test_brute_force_averages_agree(options):
    X, y = data(14, 4)
    model = SpikeSlabRegressor("beta-binomial", **options).fit(X, y)
    known = {key: value for key, value in options.items() if key != "slab"}
    models, probability, _, mass = posterior(X, y, ModelPrior.of("beta-binomial", 4).log_prob, options["slab"], **known)
    assert_allclose(model.log_evidence_, mass, rtol=1e-8)
    assert model.map_model_ == models[int(np.argmax(probability))]
    coef = np.zeros(4)
    Z, z = X - X.mean(axis=0), y - y.mean()
    ridge = 0.6 / 0.5 if options["slab"] == "normal" else 0.0
    for subset, weight in zip(models, probability, strict=True):
        part = list(subset)
        A = Z[:, part].T @ Z[:, part] + ridge * np.eye(len(part))
        beta = np.linalg.solve(A, Z[:, part].T @ z) if part else np.zeros(0)
        left = z - Z[:, part] @ beta
        shrink = {"g": 7.0 / 8.0}.get(options["slab"], 1.0)
        if options["slab"] == "zellner-siow" and part:
            shrink = _zellner_siow_shrinkage(len(y), len(part), left @ left / (z @ z))
        coef[part] += weight * shrink * beta
    assert_allclose(model.coef_, coef, rtol=1e-7)
    assert_allclose(model.predict(X), y.mean() + Z @ coef, rtol=1e-9)
    assert_allclose(model.intercept_, y.mean() - X.mean(axis=0) @ coef, rtol=1e-9)


def _zellner_siow_shrinkage(n, k, rest):
    t = np.linspace(-15, 60, 200_001)
    g = np.exp(t)
    logs = 0.5 * (n - 1 - k) * np.log1p(g) - 0.5 * (n - 1) * np.log1p(g * rest) - 0.5 * t - 0.5 * n / g
    weight = np.exp(logs - logs.max())
    return weight @ (g / (1 + g)) / weight.sum()


@each_slab
def test_draws_have_the_moments(options):
    X, y = data(30, 5)
    model = SpikeSlabRegressor(**options).fit(X, y)
    coefs, intercepts = model.sample_coefficients(40_000, random_state=0)
    assert_allclose(coefs.mean(axis=0), model.coef_, atol=5 * model.coef_std_.max() / 200)
    assert_allclose(np.cov(coefs.T), model.coef_cov_, atol=0.05 * model.coef_std_.max() ** 2)
    assert_allclose((coefs != 0).mean(axis=0), model.inclusion_probabilities_, atol=0.015)
    assert_allclose(intercepts.std(), model.intercept_std_, rtol=0.03)
    rows = X[:3] * 1.5
    latent = coefs @ rows.T + intercepts[:, None]
    dist = model.predict_dist(rows, latent=True)
    assert_allclose(latent.mean(axis=0), dist.mean, atol=0.03)
    assert_allclose(latent.std(axis=0), dist.std, rtol=0.04)
    assert_allclose(np.quantile(latent, [0.1, 0.5, 0.9], axis=0).T, dist.quantile([0.1, 0.5, 0.9]), atol=0.04)


@each_slab
def test_many_models_are_averaged_exactly(options):
    """Beyond the laws that a mixture holds, mean and covariance still are those of all models."""
    X, y = data(40, 8)
    model = SpikeSlabRegressor("beta-binomial", **options).fit(X, y)
    dist = model.predict_dist(X)
    assert len(dist.components) < 40 < 2**8
    assert_allclose(dist.mean, model.predict(X), rtol=1e-10)
    _, cov = model.predict(X, return_cov=True)
    assert_allclose(dist.var, np.diag(cov), rtol=1e-8)
    table = model.coefficient(0)
    assert_allclose((1 - table.spike) * table.slab.mean[0], model.coef_[0], rtol=1e-8)
    second = (1 - table.spike) * (table.slab.var[0] + table.slab.mean[0] ** 2)
    assert_allclose(second - model.coef_[0] ** 2, model.coef_std_[0] ** 2, rtol=1e-7)


def test_components_are_student_or_normal():
    X, y = data()
    kinds = {"normal": Normal, "g": StudentT}
    options = {"normal": {"slab_variance": 1.0, "noise_variance": 1.0}, "g": {}}
    for slab, kind in kinds.items():
        dist = SpikeSlabRegressor(slab=slab, **options[slab]).fit(X, y).predict_dist(X)
        assert all(isinstance(part, kind) for part in dist.components)


@each_slab
def test_a_weight_is_a_repeated_row(options):
    X, y = data(20, 4)
    weight = np.random.default_rng(0).integers(0, 4, size=20)
    weighted = SpikeSlabRegressor(**options).fit(X, y, sample_weight=weight)
    repeated = SpikeSlabRegressor(**options).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-10)
    assert_allclose(weighted.inclusion_probabilities_, repeated.inclusion_probabilities_, rtol=1e-8)
    assert_allclose(weighted.predict_dist(X).std, repeated.predict_dist(X).std, rtol=1e-8)


@each_slab
def test_units_of_the_columns_don_t_matter(options):
    if "slab_variance" in options:
        pytest.skip("a given variance has units")
    X, y = data(20, 4)
    plain = SpikeSlabRegressor(**options).fit(X, y)
    scaled = SpikeSlabRegressor(**options).fit(X * [1e-6, 1e6, -3, 1] + [0, 5, 1e3, 0], y)
    assert_allclose(scaled.inclusion_probabilities_, plain.inclusion_probabilities_, rtol=1e-6)
    assert_allclose(scaled.log_evidence_, plain.log_evidence_, rtol=1e-8)
    assert_allclose(scaled.coef_ * [1e-6, 1e6, -3, 1], plain.coef_, rtol=1e-6)


def test_copies_share_their_probability_and_it_is_said():
    X, y = data(30, 3)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(fahrenheit=32 + 1.8 * X[:, 0])
    with pytest.warns(FitWarning, match="columns a, fahrenheit are identical"):
        model = SpikeSlabRegressor(slab="g").fit(table, y)
    assert not any({0, 3} <= set(subset) for subset in model.posterior_.models)
    assert "they share the inclusion probability; inclusion_of(columns) gives" in str(model.summary())
    assert_allclose(model.coef_[0], 1.8 * model.coef_[3], rtol=1e-8)
    assert_allclose(model.inclusion_of(["a", "fahrenheit"]), 2 * model.inclusion_probabilities_[0], rtol=1e-9)


def test_constant_columns_are_left_out_and_it_is_said():
    X, y = data(30, 3)
    wide = np.column_stack([X[:, 0], np.full(30, 7.3), X[:, 1:]])
    with pytest.warns(FitWarning, match="column x1 is constant and confounded with the intercept"):
        model = SpikeSlabRegressor().fit(wide, y)
    plain = SpikeSlabRegressor().fit(X, y)
    assert model.inclusion_probabilities_[1] == 0 and model.coef_[1] == 0
    assert_allclose(model.inclusion_probabilities_[[0, 2, 3]], plain.inclusion_probabilities_, rtol=1e-9)
    assert_allclose(model.predict(wide), plain.predict(X), rtol=1e-10)
    with pytest.warns(FitWarning, match="are constant"):
        nothing = SpikeSlabRegressor().fit(np.ones((10, 2)), np.arange(10.0))
    assert nothing.map_model_ == ()
    assert_allclose(nothing.predict(np.ones((2, 2))), 4.5)


def test_scores_of_given_models():
    X, y = uscrime()
    model = SpikeSlabRegressor("beta-binomial", slab="zellner-siow").fit(pd.DataFrame(X, columns=USCRIME_NAMES), y)
    listed = model.models_.columns
    expected = np.log(listed["probability"]) + model.log_evidence_
    assert_allclose(model.log_scores(listed["columns"]), expected, rtol=1e-9)
    assert_allclose(model.log_scores([["Ed", "M"], [2, 0], (-13, 0, 0)]), model.log_scores([(0, 2)])[0], rtol=1e-12)
    with pytest.raises(ValueError, match="there is no column 'Poo'"):
        model.log_scores([["Ed", "Poo"]])
    assert_allclose(model.inclusion_of("Ed"), model.inclusion_probabilities_[2])
    assert_allclose(model.inclusion_of(2), model.inclusion_probabilities_[2])
    assert model.inclusion_of([]) == 0.0


@pytest.mark.parametrize("slab", ["normal", "g"])
def test_scores_and_groups_of_a_sampler(slab):
    X, y = data(60, 12)
    exact = SpikeSlabRegressor(0.1, slab=slab, n_models=4096).fit(X, y)
    sampled = SpikeSlabRegressor(0.1, slab=slab, search="gibbs", n_draws=1500, random_state=0).fit(X, y)
    models = sampled.posterior_.models[:50]
    assert_allclose(sampled.log_scores(models), exact.log_scores(models), rtol=1e-9)
    assert_allclose(sampled.inclusion_of([1, 3, 5]), exact.inclusion_of([1, 3, 5]), atol=0.02)
    listed = exact.posterior_
    share = sum(p for p, model in zip(listed.probability, listed.models, strict=True) if {1, 3, 5} & set(model))
    assert_allclose(exact.inclusion_of([1, 3, 5]), share, rtol=1e-9)
    few = SpikeSlabRegressor(0.1, slab=slab, n_models=2).fit(X, y)
    assert_allclose(few.inclusion_of([1, 3, 5]), share, rtol=1e-9)
    rng = np.random.default_rng(0)
    wide = np.column_stack([X, rng.normal(size=(60, 60))])
    sampled = SpikeSlabRegressor(0.001, slab=slab, search="gibbs", random_state=0, n_draws=100).fit(wide, y)
    unseen = int(np.setdiff1d(np.arange(72), sampled.design_.kept)[0])
    with pytest.raises(ValueError, match=f"column x{unseen} can't be scored: constant, or in no stored model"):
        sampled.log_scores([[unseen]])


def test_coefficients_have_spike_and_slab():
    X, y = uscrime()
    model = SpikeSlabRegressor("beta-binomial").fit(pd.DataFrame(X, columns=USCRIME_NAMES), y)
    law = model.coefficient("U2")
    assert law.name == "U2"
    assert_allclose(law.spike, 1 - 0.7752102, atol=1e-6)
    grid = np.linspace(-4, 4, 8001)
    density = law.density(grid)
    assert_allclose(trapezoid(density, grid), 1 - law.spike, rtol=1e-4)
    # The quantiles of the whole, against its distribution function on the grid.
    cdf = np.cumsum(density) * (grid[1] - grid[0]) + law.spike * (grid >= 0)
    for q in (0.02, 0.1, 0.6, 0.97):
        at = law.quantile(q)
        if at == 0:
            below = cdf[grid < 0][-1]
            assert below - 1e-3 <= q <= below + law.spike + 1e-3
        else:
            assert_allclose(np.interp(at, grid, cdf), q, atol=2e-3)
    assert law.interval(0.9)[0] == 0.0
    with pytest.raises(ValueError, match="there is no column 'Poo'; the columns are M, So"):
        model.coefficient("Poo")
    with pytest.raises(ValueError, match="there is no column 15: the table has 15"):
        model.coefficient(15)
    assert model.coefficient(-1).name == "Time" == model.coefficient(np.int64(14)).name
    for bad in (1.5, True, None, [1]):
        with pytest.raises(ValueError, match="a column must be given by its name or number; got"):
            model.coefficient(bad)


def test_tables_read_well():
    X, y = attitude()
    model = SpikeSlabRegressor(slab="g").fit(pd.DataFrame(X, columns=ATTITUDE_NAMES), y)
    models = model.models_
    assert models.columns["model"][:2] == ["complaints", "complaints + learning"]
    assert models.columns["columns"][:2] == [(0,), (0, 2)]
    assert "64 models with 100 % of the posterior probability" in str(models)
    assert model.best_subsets_[1] == (0,)
    best = model.best_subsets_table()
    assert best.columns["subset"][:2] == ["(none)", "complaints"]
    assert_allclose(best.columns["R2"][1], np.corrcoef(X[:, 0], y)[0, 1] ** 2)
    residual = np.var(y) * (1 - best.columns["R2"][1])
    assert_allclose(best.columns["BIC"][1], 30 * (np.log(2 * np.pi * residual) + 1) + 3 * np.log(30))
    summary = model.summary()
    assert summary.columns["parameter"] == ["intercept", *ATTITUDE_NAMES]
    assert "median probability model (inclusion probability of at least 0.5): complaints" in str(summary)
    assert model.median_model_ == (0,)
    assert len(model.all_scores()) == 64
    assert_allclose(np.logaddexp.reduce(model.all_scores()), model.log_evidence_)


def test_sampling_agrees():
    X, y = data(60, 12)
    exact = SpikeSlabRegressor(slab="g").fit(X, y)
    sampled = SpikeSlabRegressor(slab="g", search="gibbs", n_draws=2000, random_state=0).fit(X, y)
    assert exact.search_ == "enumerate" and sampled.search_ == "gibbs"
    assert_allclose(sampled.inclusion_probabilities_, exact.inclusion_probabilities_, atol=0.01)
    assert_allclose(sampled.coef_, exact.coef_, atol=0.02)
    assert_allclose(sampled.coef_std_, exact.coef_std_, atol=0.02)
    assert_allclose(sampled.predict_dist(X).std, exact.predict_dist(X).std, rtol=0.02)
    again = SpikeSlabRegressor(slab="g", search="gibbs", n_draws=2000, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), sampled.predict(X))
    with pytest.raises(ValueError, match="all_scores needs an enumeration"):
        sampled.all_scores()


def test_auto_samples_beyond_twenty_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    y = 2 * X[:, 7] - 2 * X[:, 200] + rng.normal(size=60)
    model = SpikeSlabRegressor("beta-binomial", slab="g", random_state=0, n_draws=1000).fit(X, y)
    assert model.search_ == "gibbs" and model.median_model_ == (7, 200)
    assert_allclose(model.predict_dist(X[:4]).mean, model.predict(X[:4]), rtol=1e-9)
    assert len(model.summary()) == 51 and "the 50 most probable of 300 columns" in str(model.summary())
    assert model.coefficient(7).spike < 0.01
    assert 0 not in model.design_.kept or model.inclusion_probabilities_[0] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slab": "cauchy"}, "slab must be one of"),
        ({"search": "random"}, "search must be one of 'auto', 'enumerate', 'gibbs'; got 'random'"),
        ({"prior_inclusion": 0.0}, "prior_inclusion must be a probability"),
        ({"prior_inclusion": 1.0}, "prior_inclusion must be a probability"),
        ({"slab": "g", "g": np.array([1.0, 2.0])}, "g must be a positive finite number; got array"),
        ({"g": 3.0}, "g is an argument of slab=\"g\"; the slab is 'bic'"),
        ({"slab": "g", "slab_variance": 1.0}, "are arguments of slab=\"normal\"; it is 'g'"),
        ({"slab": "normal", "slab_variance": -1.0}, "slab_variance must be a positive"),
        ({"slab": "normal", "noise_variance": 0.0}, "noise_variance must be a positive"),
        ({"n_models": 0}, "n_models must be a whole number"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        SpikeSlabRegressor(**options).fit(*data())


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="n_samples=1 with a total weight of 1 is too few"):
        SpikeSlabRegressor().fit([[1.0, 2.0]], [3.0])


def test_predictions_are_calibrated_where_the_model_is_true():
    """With coefficients drawn from the prior itself, probability integral transforms are uniform."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(150):
        X = rng.normal(size=(16, 4))
        beta = rng.normal(size=4) * (rng.uniform(size=4) < 0.5)
        y = X @ beta + rng.normal(size=16)
        model = SpikeSlabRegressor(slab="normal", slab_variance=1.0, noise_variance=1.0).fit(X[:12], y[:12])
        values += model.predict_dist(X[12:]).cdf(y[12:]).tolist()
    assert stats.kstest(values, "uniform").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "mprior"), [(0.5, "uniform"), ("beta-binomial", "random")])
@pytest.mark.parametrize(("g", "named"), [("n", "UIP"), ("max", "BRIC")])
def test_bms_of_r_agrees(prior, mprior, g, named):
    """R's package BMS (Zeugner & Feldkircher 2015) on `attitude`."""
    if shutil.which("Rscript") is None:
        pytest.skip("R isn't installed")
    code = (
        f'suppressMessages(library(BMS)); a <- bms(attitude, mprior="{mprior}", g="{named}", user.int=FALSE); '
        'cat("values:", format(coef(a, order.by.pip=FALSE)[, 1:3], digits=15))'
    )
    run = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, timeout=120, check=False)
    if run.returncode:
        pytest.skip("R's package BMS isn't installed")
    inclusion, mean, std = np.array(run.stdout.partition("values:")[2].split(), dtype=float).reshape(3, 6)
    model = SpikeSlabRegressor(prior, slab="g", g=g).fit(*attitude())
    assert_allclose(model.inclusion_probabilities_, inclusion, rtol=1e-8)
    assert_allclose(model.coef_, mean, rtol=1e-7, atol=1e-12)
    assert_allclose(model.coef_std_, std, rtol=1e-6)


def test_chains_that_sit_in_one_model_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    model = SpikeSlabRegressor(1 - 1e-12, search="gibbs", random_state=0).fit(X, X.sum(axis=1) + rng.normal(size=60))
    assert model.result_.converged


def test_a_column_that_is_a_sum_of_others_is_weighed_as_by_hand():
    """Subsets that hold all three dependent columns have no evidence; the others have it by least squares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X[:, 4] = X[:, 1] + 2 * X[:, 2]
    y = X[:, 1] + 0.5 * X[:, 2] + 0.3 * X[:, 5] + rng.normal(size=50)
    Z, v, n = X - X.mean(axis=0), y - y.mean(), 50
    logs, coefs, members = [], [], []
    for number in range(2**6):
        inside = np.flatnonzero((number >> np.arange(6)) & 1)
        if {1, 2, 4} <= set(inside.tolist()):
            continue
        b = np.linalg.lstsq(Z[:, inside], v, rcond=None)[0]
        rest = np.sum((v - Z[:, inside] @ b) ** 2) / (v @ v)
        logs.append(0.5 * (n - 1 - len(inside)) * np.log1p(n) - 0.5 * (n - 1) * np.log1p(n * rest))
        coefs.append(np.zeros(6))
        coefs[-1][inside] = b * n / (1 + n)
        members.append(np.isin(np.arange(6), inside))
    share = np.exp(np.array(logs) - np.max(logs))
    share /= share.sum()
    with pytest.warns(FitWarning, match="columns x1, x2, x4 are linearly dependent"):
        model = SpikeSlabRegressor(slab="g").fit(X, y)
    assert_allclose(model.inclusion_probabilities_, share @ np.array(members), atol=1e-10)
    assert_allclose(model.coef_, share @ np.array(coefs), atol=1e-9)
    assert np.isfinite(model.predict_dist(X).std).all()


def test_all_slabs_have_one_scale():
    """Units of the target cost the same, so that models of different slabs can be weighed against each other."""
    X, y = data(30, 4)
    costs = []
    for slab in ("bic", "g", "zellner-siow", "normal"):
        one, other = (SpikeSlabRegressor(slab=slab).fit(X, unit * y).log_evidence_ for unit in (1.0, 1000.0))
        costs.append(one - other)
    assert_allclose(costs, 29 * np.log(1000.0), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize(("n", "d"), [(3, 30), (30, 40)])
def test_the_bic_speaks_of_more_columns_than_rows_before_it_searches(n, d, monkeypatch):
    def stop(*_, **__):
        raise InterruptedError

    monkeypatch.setattr("credo.sparse.spike_slab.sample_models", stop)
    rng = np.random.default_rng(0)
    words = f'{d} columns and {n} rows: the BIC is valid only for many more rows than columns, .* slab="g"'
    with pytest.warns(FitWarning, match=words), pytest.raises(InterruptedError):
        SpikeSlabRegressor().fit(rng.normal(size=(n, d)), rng.normal(size=n))


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("kind", [SpikeSlabRegressor, partial(SpikeSlabClassifier, slab_variance=1.0)])
def test_the_evidence_of_a_sampler_is_a_lower_bound(kind):
    X, y = np.random.default_rng(0).normal(size=(2, 60, 8))
    target = y[:, 0] if kind is SpikeSlabRegressor else y[:, 0] > 0
    every, some = (kind(search=search, random_state=0).fit(X, target) for search in ("enumerate", "gibbs"))
    assert every.log_evidence_ - 0.05 < some.log_evidence_ <= every.log_evidence_ + 1e-9
    assert "evidence at least" not in str(every.summary()) and "evidence at least" in str(some.summary())
    assert "visited models" in str(some.models_) and "visited models" not in str(every.models_)


@pytest.mark.parametrize("search", ["enumerate", "gibbs"])
def test_files_with_impossible_attributes_are_refused(search, tmp_path):
    X, y = data(d=6)
    model = SpikeSlabRegressor(slab="g", search=search, n_draws=100, n_models=3, random_state=0)
    with warnings.catch_warnings(action="ignore", category=FitWarning):
        model.fit(X, y)
    path = tmp_path / "model.credo"
    credo.save(model, path)
    assert_allclose(credo.load(path).predict(X), model.predict(X))
    moments, design, slab = model.moments_, model.design_, model.slab_
    forged = {
        "moments_": [replace(moments, cov=np.eye(1)), replace(moments, noise=-1.0), replace(moments, noise=np.nan)],
        "design_": [replace(design, yy=0.0), replace(design, unit=-design.unit), replace(design, X=design.X * np.nan)],
        "slab_": [replace(slab, n=1e9), replace(slab, form=3), replace(slab, ridge=-1.0), 3],
        "map_model_": [(99,), (0.5,)],
        "copies_": [((0, 99),)],
        "best_subsets_": [((-1,),)],
        "search_": ["none", 3],
        "prior_": [replace(model.prior_, d=99), replace(model.prior_, inclusion=-0.5), 3],
    }
    for name, values in forged.items():
        before = getattr(model, name)
        for value in values:
            setattr(model, name, value)
            with pytest.raises(ModelFileError):
                credo.save(model, path)
        setattr(model, name, before)
