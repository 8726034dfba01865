"""Subsets for two classes: Laplace's evidence, enumeration, sampling, predictions and files."""

from itertools import combinations, cycle

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats
from scipy.special import expit, log_expit, logsumexp
from sklearn.multiclass import OneVsRestClassifier

import credo
from credo.core.estimator import FitWarning
from credo.likelihoods import Bernoulli
from credo.sparse._laplace import Dataset
from credo.sparse._models import ModelPrior
from credo.sparse.spike_slab_classifier import SpikeSlabClassifier


def data(seed=0, n=70, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 10, d) + 3.0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (1.3 * Z[:, 1] - Z[:, 3] + rng.logistic(size=n) > 0).astype(int)


def standardised(X, weight):
    mean = np.average(X, axis=0, weights=weight)
    return (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))


def evidence(Z, y, weight, variance):
    """Laplace's evidence by a general optimiser and a Hessian of finite differences."""
    phi = np.column_stack([np.ones(len(y)), Z])
    prior = np.array([0.01, *[1.0 / variance] * Z.shape[1]])
    side = 2.0 * y - 1.0

    def minus(theta):
        log_prior = 0.5 * (np.log(prior / (2 * np.pi)) - prior * theta**2).sum()
        return -float(weight @ log_expit(side * (phi @ theta)) + log_prior)

    best = optimize.minimize(minus, np.zeros(len(prior)), method="BFGS", options={"gtol": 1e-9}).x
    h, eye = 1e-4, np.eye(len(prior))
    H = np.empty((len(prior), len(prior)))
    for a in range(len(prior)):
        for b in range(len(prior)):
            corners = [minus(best + h * (s * eye[a] + t * eye[b])) for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            H[a, b] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
    return -minus(best) + 0.5 * len(prior) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]


def test_laplace_evidence_of_each_model():
    X, y = data()
    weight = np.resize([1.0, 2.0, 1.0], len(y))
    model = SpikeSlabClassifier(slab_variance=2.0).fit(X, y, sample_weight=weight)
    Z = standardised(X, weight)
    for subset, value in zip(model.posterior_.models[::5], model.posterior_.log_evidence[::5], strict=True):
        assert value == pytest.approx(evidence(Z[:, list(subset)], y, weight, 2.0), abs=1e-4)


def test_evidence_of_one_weight_is_near_the_integral():
    X, y = data(n=40)
    Z = standardised(X, np.ones(len(y)))[:, 1]
    task = Dataset(Z[None].copy(), y.astype(float), np.ones(len(y)), 1.0)

    def density(w, b):
        return np.exp(log_expit((2 * y - 1) * (b + w * Z)).sum() - 0.5 * w * w - 0.5 * b * b / 100) / (20 * np.pi)

    exact, _ = integrate.dblquad(density, -4, 4, -6, 6)
    assert task.mode((0,)).log_evidence == pytest.approx(np.log(exact), abs=0.03)


@pytest.mark.parametrize("inclusion", [0.3, "beta-binomial", (2.0, 5.0)], ids=str)
def test_enumeration_by_hand(inclusion):
    X, y = data()
    model = SpikeSlabClassifier(inclusion, slab_variance=1.0).fit(X, y)
    Z, prior = standardised(X, np.ones(len(y))), ModelPrior.of(inclusion, 5)
    subsets = [subset for k in range(6) for subset in combinations(range(5), k)]
    joint = np.array([
        evidence(Z[:, list(subset)], y, np.ones(len(y)), 1.0) + float(prior.log_prob(len(subset))) for subset in subsets
    ])  # fmt: skip
    mass = logsumexp(joint)
    share = np.exp(joint - mass)
    included = [share[[j in subset for subset in subsets]].sum() for j in range(5)]
    np.testing.assert_allclose(model.inclusion_probabilities_, included, atol=1e-4)
    assert model.log_evidence_ == pytest.approx(mass, abs=1e-4) and model.evidence_method_ == "laplace"
    assert model.map_model_ == subsets[int(np.argmax(joint))]
    assert model.median_model_ == tuple(np.flatnonzero(np.array(included) >= 0.5))
    assert model.posterior_.probability.sum() == pytest.approx(1.0)
    sizes = [share[[len(subset) == k for subset in subsets]].sum() for k in range(6)]
    np.testing.assert_allclose(model.posterior_.size_probability, sizes, atol=1e-4)


def test_learned_slab_variance_by_hand():
    """All subsets times the whole grid of variances, weighted by the half-Cauchy density of the slab's deviation."""
    X, y = data(n=60, d=4)
    model = SpikeSlabClassifier(0.4).fit(X, y)
    Z, prior = standardised(X, np.ones(len(y))), ModelPrior.of(0.4, 4)
    grid = 8.0 ** np.arange(-1, 5)
    log_prior = np.log(np.sqrt(grid) / (4 + grid)) - logsumexp(np.log(np.sqrt(grid) / (4 + grid)))
    subsets = [subset for k in range(5) for subset in combinations(range(4), k)]
    joint = np.array([
        [evidence(Z[:, list(subset)], y, np.ones(len(y)), v) + float(prior.log_prob(len(subset))) for v in grid]
        for subset in subsets
    ]) + log_prior  # fmt: skip
    share = np.exp(joint - logsumexp(joint)).sum(axis=1)
    included = [share[[j in subset for subset in subsets]].sum() for j in range(4)]
    # Variances whose evidence is lower by more than four nats are left out.
    np.testing.assert_allclose(model.inclusion_probabilities_, included, atol=0.02)
    assert model.log_evidence_ == pytest.approx(logsumexp(joint), abs=0.03)
    assert model.slab_variance_ == grid[np.argmax(logsumexp(joint, axis=0))]
    best = model.posterior_.models[0]
    told = logsumexp(joint[subsets.index(best)]) - float(prior.log_prob(len(best)))
    assert model.posterior_.log_evidence[0] == pytest.approx(told, abs=0.03)


def test_large_effects_get_a_wide_slab():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = 12 * (X[:, 0] - X[:, 2]) + rng.logistic(size=300) > 0
    learned, narrow = SpikeSlabClassifier().fit(X[:200], y[:200]), SpikeSlabClassifier(slab_variance=1.0)
    assert learned.slab_variance_ >= 64
    left, right = (m.predict_log_proba(X[200:])[np.arange(100), y[200:].astype(int)].mean() for m in (
        learned, narrow.fit(X[:200], y[:200]),
    ))  # fmt: skip
    assert left > right + 0.02


def test_probabilities_are_averaged_over_models_and_weights():
    X, y = data(d=4)
    model = SpikeSlabClassifier(slab_variance=1.0).fit(X, y)
    Z, link = standardised(X, np.ones(len(y))), Bernoulli("logit")
    task = Dataset(np.ascontiguousarray(Z.T), y.astype(float), np.ones(len(y)), 1.0)
    total = np.zeros(len(y))
    for subset, share in zip(model.posterior_.models, model.posterior_.probability, strict=True):
        mode = task.mode(subset)
        phi = np.column_stack([np.ones(len(y)), Z[:, list(subset)]])
        cov = np.linalg.inv(mode.L @ mode.L.T)
        total += share * link.probability(phi @ mode.theta, np.einsum("ij,jk,ik->i", phi, cov, phi))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], total, atol=1e-6)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


def test_weights_are_averaged_in_the_units_of_the_columns():
    X, y = data()
    model = SpikeSlabClassifier(slab_variance=1.0).fit(X, y)
    assert model.coef_.shape == model.coef_std_.shape == (1, 5) and model.intercept_.shape == (1,)
    rng = np.random.default_rng(0)
    task = Dataset(np.ascontiguousarray(standardised(X, np.ones(len(y))).T), y.astype(float), np.ones(len(y)), 1.0)
    chosen = rng.choice(len(model.posterior_.models), p=model.posterior_.probability, size=40_000)
    weights = np.zeros((40_000, 6))
    for place in np.unique(chosen):
        subset = model.posterior_.models[place]
        mode, rows = task.mode(subset), np.flatnonzero(chosen == place)
        cov = np.linalg.inv(mode.L @ mode.L.T)
        theta = rng.multivariate_normal(mode.theta, cov, size=len(rows))
        scaled = theta[:, 1:] / X.std(axis=0)[list(subset)]
        weights[rows, 0] = theta[:, 0] - scaled @ X.mean(axis=0)[list(subset)]
        weights[np.ix_(rows, [1 + j for j in subset])] = scaled
    error = weights.std(axis=0) / 200
    assert (np.abs(np.append(model.intercept_, model.coef_) - weights.mean(axis=0)) < 4 * error + 1e-12).all()
    told = np.append(model.intercept_std_, model.coef_std_)
    np.testing.assert_allclose(told, weights.std(axis=0), rtol=0.05)
    for j in range(5):
        spike = model.coefficient(j)
        assert spike.spike == pytest.approx(1 - model.inclusion_probabilities_[j], abs=1e-9)
        lower, upper = spike.interval(0.9)
        # Of 40 000 draws; an end at zero has the spike's mass on it.
        assert (weights[:, 1 + j] < lower).mean() <= 0.056 and (weights[:, 1 + j] > upper).mean() <= 0.056
        assert lower == 0 or (weights[:, 1 + j] < lower).mean() >= 0.044
        assert upper == 0 or (weights[:, 1 + j] > upper).mean() >= 0.044


def test_the_sampler_agrees_with_enumeration_within_its_own_error():
    X, y = data(1, d=7)
    exact = SpikeSlabClassifier(0.3, search="enumerate", slab_variance=1.0).fit(X, y)
    found = SpikeSlabClassifier(0.3, search="gibbs", n_draws=2500, random_state=0, slab_variance=1.0).fit(X, y)
    assert (exact.search_, found.search_) == ("enumerate", "gibbs")
    error = found.posterior_.diagnostics["inclusion_error"]
    gap = np.abs(found.inclusion_probabilities_ - exact.inclusion_probabilities_)
    assert (gap <= 4 * error + 2e-3).all() and error.max() < 0.05
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=0.05)
    assert found.map_model_ == exact.map_model_
    np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=0.01)


def test_a_full_cache_of_models_changes_nothing(monkeypatch):
    X, y = data(1)
    settings = {"search": "gibbs", "n_draws": 500, "random_state": 0}
    kept = SpikeSlabClassifier(0.3, **settings, slab_variance=1.0).fit(X, y)
    monkeypatch.setattr("credo.sparse._chain._MODEL_CACHE_ENTRIES", 0)
    forgotten = SpikeSlabClassifier(0.3, **settings, slab_variance=1.0).fit(X, y)
    np.testing.assert_allclose(forgotten.inclusion_probabilities_, kept.inclusion_probabilities_, rtol=1e-5)
    assert forgotten.map_model_ == kept.map_model_


def test_equal_columns_share_evenly():
    X, y = data(2)
    X = np.column_stack([X, 3.0 - 2.0 * X[:, 1]])
    with pytest.warns(FitWarning, match="x1, x5 are identical.*they share the inclusion probability"):
        exact = SpikeSlabClassifier(0.1, slab_variance=1.0).fit(X, y)
    assert "x1, x5 are identical" in exact.result_.message and exact.result_.converged
    # What one would have is what the group has, but for the prior of two chances to be in.
    either = 1 - sum(p for m, p in zip(exact.posterior_.models, exact.posterior_.probability, strict=True)
                     if not {1, 5} & set(m))  # fmt: skip
    assert exact.inclusion_of(["x1", 5]) == pytest.approx(either, abs=1e-9)
    assert exact.inclusion_of(1) == exact.inclusion_probabilities_[1] < either
    assert exact.inclusion_probabilities_[1] == pytest.approx(exact.inclusion_probabilities_[5], abs=1e-9)
    with pytest.warns(FitWarning, match="identical"):
        found = SpikeSlabClassifier(0.1, search="gibbs", n_draws=2000, random_state=0, slab_variance=1.0).fit(X, y)
    error = found.posterior_.diagnostics["inclusion_error"]
    assert abs(found.inclusion_probabilities_[1] - found.inclusion_probabilities_[5]) < 4 * error[[1, 5]].sum()
    assert error.max() < 0.06


def test_sums_of_other_columns_are_told():
    X, y = data(2)
    with pytest.warns(FitWarning, match="x0, x1, x5 are linearly dependent.*gives the same fit"):
        SpikeSlabClassifier().fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize(
    ("kind", "inclusion"),
    zip(
        ["near copies", "separable", "rare", "noise", "few rows", "weights", "near copies"],
        cycle([0.5, 0.05, "beta-binomial"]),
        strict=False,
    ),
)
def test_the_sampler_errs_as_it_says(kind, inclusion):
    """Each of eight inclusion probabilities within four of its standard errors of the exact one."""
    rng = np.random.default_rng(8)
    n = 7 if kind == "few rows" else 60
    X = rng.normal(size=(n, 8))
    weight = rng.integers(1, 4, size=n) if kind == "weights" else None
    y = X[:, 0] - 0.7 * X[:, 1] + (0.0 if kind == "separable" else rng.logistic(size=n)) > 0
    if kind == "near copies":
        X[:, 5] = X[:, 0] + 0.03 * rng.normal(size=n)
    if kind == "rare":
        y = np.argsort(np.argsort(X[:, 2] + rng.normal(size=n))) >= n - 3
    if kind in ("noise", "few rows"):
        y = np.arange(n) % 2 == 0
    exact = SpikeSlabClassifier(inclusion, search="enumerate", slab_variance=1.0).fit(X, y, sample_weight=weight)
    found = SpikeSlabClassifier(inclusion, search="gibbs", n_draws=1000, random_state=1, slab_variance=1.0).fit(
        X, y, sample_weight=weight
    )
    error = found.posterior_.diagnostics["inclusion_error"]
    gap = np.abs(found.inclusion_probabilities_ - exact.inclusion_probabilities_)
    assert (gap <= 4 * error + 2e-3).all() and error.max() < 0.08


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_planted_columns_among_three_hundred():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 300))
    y = X[:, 20] * 3.0 - 3.0 * X[:, 200] + rng.logistic(size=150) > 0
    model = SpikeSlabClassifier(2 / 300, slab_variance=4.0, n_draws=200, random_state=0).fit(X, y)
    assert model.search_ == "gibbs" and model.median_model_ == (20, 200)
    again = SpikeSlabClassifier(2 / 300, slab_variance=4.0, n_draws=200, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.inclusion_probabilities_, model.inclusion_probabilities_)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("search", ["enumerate", "gibbs"])
def test_weights_are_copies(search):
    X, y = data()
    weight = np.resize([1, 3, 2, 0, 1], len(y))
    model = SpikeSlabClassifier(search=search, n_draws=100, random_state=0)
    weighted = model.fit(X, y, sample_weight=weight)
    table, log_evidence = weighted.predict_proba(X), weighted.log_evidence_
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(table, repeated.predict_proba(X), rtol=1e-7)
    assert log_evidence == pytest.approx(repeated.log_evidence_, rel=1e-9)


def test_files_bring_it_back(tmp_path):
    X, y = data()
    model = SpikeSlabClassifier().fit(pd.DataFrame(X, columns=list("abcde")), np.array(["no", "yes"])[y])
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert str(back.summary()) == str(model.summary()) and str(back.models_) == str(model.models_)
    assert back.map_model_ == model.map_model_ and back.log_evidence_ == model.log_evidence_


def test_constant_columns_are_left_out_and_told():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["f"] = 1e6
    with pytest.warns(FitWarning, match="column f is constant .* excluded from all models"):
        model = SpikeSlabClassifier().fit(frame, y)
    plain = SpikeSlabClassifier().fit(X, y)
    np.testing.assert_allclose(model.inclusion_probabilities_[:5], plain.inclusion_probabilities_, atol=1e-12)
    assert model.inclusion_probabilities_[5] == 0 == model.coef_[0, 5] and model.coefficient("f").slab is None


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_tables():
    X, y = data()
    model = SpikeSlabClassifier().fit(pd.DataFrame(X, columns=list("abcde")), y)
    table = model.summary()
    assert table.columns["parameter"] == ["intercept", *"abcde"] and "b, d" in str(table)
    assert table.columns["inclusion"][2] == model.inclusion_probabilities_[1]
    assert model.models_.columns["columns"][0] == model.map_model_ and "b + d" in str(model.models_)
    wide = SpikeSlabClassifier(0.02, n_draws=20, random_state=0)
    summary = wide.fit(np.random.default_rng(0).normal(size=(30, 60)), np.arange(30) % 2).summary()
    assert len(summary) == 51 and "50 most probable of 60" in str(summary)


def test_more_than_two_classes_are_refused_with_a_remedy():
    X, y = data()
    labels = np.where(X[:, 0] > np.quantile(X[:, 0], 0.7), 2, y)
    with pytest.raises(ValueError, match=r"Only binary classification.*3 classes.*OneVsRestClassifier"):
        SpikeSlabClassifier().fit(X, labels)
    assert OneVsRestClassifier(SpikeSlabClassifier()).fit(X, labels).score(X, labels) > 0.6


@pytest.mark.parametrize(
    "setting, message",
    [
        ({"search": "all"}, "search must be one of"),
        ({"slab_variance": 0.0}, "slab_variance must be a positive"),
        ({"prior_inclusion": 1.5}, "prior_inclusion must be a probability"),
        ({"n_models": 0}, "n_models must be"),
        ({"search": "gibbs", "n_draws": 3}, "n_draws must be at least 10"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_in_words(setting, message):
    with pytest.raises(ValueError, match=message):
        SpikeSlabClassifier(**setting).fit(*data())


def test_too_many_columns_to_enumerate():
    X, y = np.random.default_rng(0).normal(size=(30, 16)), np.arange(30) % 2
    with pytest.raises(ValueError, match=r'2\^16 models.*search="gibbs"'):
        SpikeSlabClassifier(search="enumerate").fit(X, y)


def test_unknown_columns_are_refused():
    model = SpikeSlabClassifier().fit(*data())
    for column in ("z", 5, -6):
        with pytest.raises(ValueError, match="there is no column"):
            model.coefficient(column)


def importance(Z, y, variance, n=40_000):
    """ln p(y | γ) by importance sampling from a wide t law around the mode, and its standard error."""
    rng = np.random.default_rng(0)
    task = Dataset(np.ascontiguousarray(Z.T), y.astype(float), np.ones(len(y)), variance)
    mode = task.mode(tuple(range(Z.shape[1])))
    cov = 1.5 * np.linalg.inv(mode.L @ mode.L.T)
    law = stats.multivariate_t(mode.theta, cov, df=5, seed=rng)
    theta = law.rvs(n).reshape(n, -1)
    phi, prior = np.column_stack([np.ones(len(y)), Z]), np.array([100.0, *[variance] * Z.shape[1]])
    logs = log_expit((2 * y - 1) * (theta @ phi.T)).sum(axis=1)
    logs += stats.norm.logpdf(theta, scale=np.sqrt(prior)).sum(axis=1) - law.logpdf(theta)
    share = np.exp(logs - logs.max())
    return mode.log_evidence, logs.max() + np.log(share.mean()), share.std() / share.mean() / np.sqrt(n)


@pytest.mark.parametrize(
    "kind, variance, within",
    # About 0.05 a column; more where a class has three rows, and where a wide slab lets weights grow that cut it off.
    [("mixed", 1.0, 0.1), ("separable", 1.0, 0.1), ("rare", 1.0, 0.2), ("separable", 25.0, 0.35)],
)
def test_how_far_laplace_is_from_the_integral(kind, variance, within):
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(60, 3))
    y = {
        "mixed": Z[:, 0] + rng.logistic(size=60) > 0,
        "separable": Z[:, 0] > 0,
        "rare": np.arange(60) >= 57,
    }[kind].astype(int)
    Z = standardised(Z, np.ones(60))
    gaps = []
    for subset in ([], [0], [0, 1], [0, 1, 2]):
        laplace, exact, error = importance(Z[:, subset], y, variance)
        assert error < 0.01
        gaps.append(laplace - exact)
    assert np.abs(gaps).max() < within


def test_draws_have_the_moments_and_the_probabilities():
    X, y = data()
    model = SpikeSlabClassifier().fit(X, y)
    coefs, intercepts = model.sample_coefficients(40_000, random_state=0)
    error = model.coef_std_[0] / np.sqrt(40_000)
    assert (np.abs(coefs.mean(axis=0) - model.coef_[0]) < 4 * error).all()
    np.testing.assert_allclose(coefs.std(axis=0), model.coef_std_[0], rtol=0.05)
    np.testing.assert_allclose((coefs != 0).mean(axis=0), model.inclusion_probabilities_, atol=0.01)
    assert intercepts.mean() == pytest.approx(model.intercept_[0], abs=4 * model.intercept_std_[0] / 200)
    odds = model.sample_functions(X[:4], 40_000, random_state=1)
    np.testing.assert_allclose(expit(odds).mean(axis=0), model.predict_proba(X[:4])[:, 1], atol=0.01)


def test_a_prior_that_expects_too_many_columns_is_refused_in_words():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400))
    with pytest.raises(
        ValueError, match=r"expects 200 of 400 columns to be in: .* Use prior_inclusion=\(1, 400\), which"
    ):
        SpikeSlabClassifier().fit(X, X[:, 0] > 0)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_short_chains_average_over_what_they_visited():
    """Chains that never meet don't know the mass of all models: coefficients are then of the steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 80))
    model = SpikeSlabClassifier(0.2, n_draws=60, random_state=0).fit(X, X[:, 0] + rng.logistic(size=40) > 0)
    assert model.posterior_.sample
    assert "of the visited models" in str(model.models_)
    inside = np.zeros(80)
    for subset, weight in zip(*model.posterior_.averaged, strict=True):
        inside[list(subset)] += weight
    assert inside.sum() > 3 and ((model.coef_[0] != 0) == (inside > 0)).all()


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("seed", range(3))
def test_columns_that_matter_only_together_are_not_missed_in_silence(seed):
    """No two of three columns say anything; chains that start from all columns keep them."""
    rng = np.random.default_rng(0)
    X, signal = rng.normal(size=(200, 30)), rng.normal(size=200)
    X[:, 2] = 0.3 * signal - X[:, 0] - X[:, 1]
    y = signal + 0.2 * rng.logistic(size=200) > 0
    model = SpikeSlabClassifier(0.1, slab_variance=100.0, n_draws=1000, random_state=seed).fit(X, y)
    errors = model.posterior_.diagnostics["inclusion_error"][:3]
    assert (np.abs(model.inclusion_probabilities_[:3] - 1.0) <= 4 * errors).all()
