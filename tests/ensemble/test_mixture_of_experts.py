"""Mixtures of experts: known truths, equivalences with single models, the bound, and bad input."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import BayesianRidge
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.linear_model import Ridge as SklearnRidge

import credo
from credo.core.estimator import ConvergenceWarning
from credo.core.learning.em import Ascent
from credo.core.notices import collected
from credo.distributions import Mixture, StudentT
from credo.ensemble import Gate, MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from credo.ensemble._experts import (
    INTERCEPT_PRECISION,
    NOISE_PRIOR,
    SLOPE_PRIOR,
    LinearExperts,
    LogitExperts,
    Task,
    first_step,
    softmax_steps,
    step,
)
from credo.ensemble.mixture_of_experts import rounding_variance
from credo.linear import BayesianLinearRegression, BayesianLogisticRegression
from credo.tables import ModelFileError

QUICK = {"n_restarts": 2}


def crossing_lines(n=200, seed=0):
    """Two lines through the origin, each row on one of them by chance."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, np.where(rng.random(n) < 0.5, X[:, 0], -X[:, 0]) + 0.05 * rng.normal(size=n)


def inverse_problem(n=200, seed=0):
    """x = t + 0.3 sin 2πt + noise, to be solved for t (Bishop 2006, figure 5.19)."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 1, n)
    return (t + 0.3 * np.sin(2 * np.pi * t) + rng.uniform(-0.1, 0.1, n))[:, None], t


def board(n=200, seed=0):
    """Two classes in the four fields of a board."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def test_two_crossing_lines_are_found():
    X, y = crossing_lines()
    model = MixtureOfExpertsRegressor(max_experts=3, random_state=0, **QUICK).fit(X, y)
    assert model.n_experts_ == 2 and len(model.bics_) == 3 and model.bics_.argmin() == 1
    assert credo.bic(model) == pytest.approx(model.bics_.min())
    table = model.summary()
    slopes = [e for p, e in zip(table.columns["parameter"], table.columns["estimate"], strict=True) if p.endswith("x0")]
    np.testing.assert_allclose(sorted(slopes), [-1.0, 1.0], atol=0.03)
    dist = model.predict_dist([[0.8]])
    assert isinstance(dist, Mixture)
    assert dist.log_prob([0.8])[0] > dist.log_prob([0.0])[0] + 20
    assert dist.log_prob([-0.8])[0] > dist.log_prob([0.0])[0] + 20
    np.testing.assert_allclose(model.responsibilities([[0.9], [0.9]], [0.9, -0.9]).max(axis=1), 1.0, atol=1e-6)


def test_the_inverse_problem_has_several_answers():
    X, y = inverse_problem()
    new, truth = inverse_problem(seed=1)
    model = MixtureOfExpertsRegressor(3, random_state=0, **QUICK).fit(X, y)
    line = BayesianLinearRegression().fit(X, y)
    gain = model.predict_dist(new).log_prob(truth) - line.predict_dist(new).log_prob(truth)
    assert gain.mean() > 0.6
    lower, upper = model.predict_dist([[0.5]]).quantile([0.05, 0.95])[0]
    assert lower < 0.3 and upper > 0.7
    assert 0.9 < np.mean(model.predict_dist(new).cdf(truth) < 0.95) <= 1


def test_one_expert_is_a_bayesian_linear_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1.0, 5.0, 0.1] + 2
    y = X @ [1.0, -0.2, 3.0] + 0.5 * rng.normal(size=40)
    model = MixtureOfExpertsRegressor(1, random_state=0).fit(X, y)
    rho = model.experts_.precision
    # The posterior is given the ρ of the last iteration but one, which has converged.
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = np.column_stack([Z, np.full(40, np.sqrt(rho / INTERCEPT_PRECISION))])
    single = BayesianLinearRegression(
        rho, noise_precision="conjugate", noise_prior=NOISE_PRIOR, fit_intercept=False
    ).fit(Z, (y - y.mean()) / y.std())  # fmt: skip
    ours, theirs = model.predict_dist(X), single.predict_dist(Z)
    assert isinstance(ours, StudentT)
    np.testing.assert_allclose(ours.mean, theirs.mean * y.std() + y.mean(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.std, theirs.std * y.std(), rtol=1e-3)
    again = MixtureOfExpertsRegressor(1, expert=BayesianLinearRegression(), random_state=0).fit(X, y).predict_dist(X)
    np.testing.assert_allclose(again.mean, BayesianLinearRegression().fit(X, y).predict(X), rtol=1e-9)


def test_the_evidence_of_one_expert_is_its_bound():
    """With one expert the bound is exact: ln p(y | X, ρ), beside the log prior of ρ."""
    rng = np.random.default_rng(0)
    phi = np.column_stack([rng.normal(size=(20, 2)), np.ones(20)])
    y = phi @ [1.0, 0.5, 0.2] + 0.3 * rng.normal(size=20)
    task = Task(phi, y, np.ones(20), np.ones(3))
    start = LinearExperts.start(1, 3)
    gate = Gate.uniform(1, 3, hierarchical=False)
    first = first_step(task, start, gate, np.ones((20, 1)))
    path = Ascent(first, (first.value,)).continued(partial(step, task), max_iter=500, goal=2e-14)
    rho, (c, d) = path.end.experts.precision, SLOPE_PRIOR
    single = BayesianLinearRegression(
        rho, noise_precision="conjugate", noise_prior=NOISE_PRIOR, fit_intercept=False
    ).fit(phi * [1, 1, np.sqrt(rho / INTERCEPT_PRECISION)], y)  # fmt: skip
    assert path.values[-1] == pytest.approx(single.log_evidence_ + c * np.log(rho) - d * rho, abs=1e-6)


def test_one_logistic_expert_is_a_bayesian_logistic_regression():
    for n_classes in (2, 3):
        X, _ = board(60)
        y = np.digitize(X @ [1.0, 0.5] + np.random.default_rng(1).normal(size=60), [0.0, 0.8][: n_classes - 1])
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        default, learned = (
            MixtureOfExpertsClassifier(1, random_state=0).fit(X, y),
            BayesianLogisticRegression().fit(Z, y),
        )
        np.testing.assert_allclose(default.predict_proba(X), learned.predict_proba(Z), rtol=1e-6)
        model = MixtureOfExpertsClassifier(1, expert_precision=1.0, tol=1e-12, random_state=0).fit(X, y)
        single = BayesianLogisticRegression(1.0).fit(Z, y)
        np.testing.assert_allclose(model.predict_proba(X), single.predict_proba(Z), rtol=1e-6)
        # EM has the mode of the same posterior.
        assert model.log_likelihood_ == pytest.approx(_plugin(single, X, y), abs=1e-5)


def _plugin(single, X, y):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    proba = single.set_params(predictive="plugin").predict_proba(Z)
    return float(np.log(proba[np.arange(len(y)), y]).sum())


@pytest.mark.parametrize("gate", ["softmax", "hierarchical"])
def test_the_bound_never_decreases(gate):
    X, y = inverse_problem(100)
    regressor = MixtureOfExpertsRegressor(4, gate=gate, tol=1e-12, max_iter=60, n_restarts=0, random_state=0)
    codes = (y > 0.3).astype(int) + (y > 0.6)
    classifier = MixtureOfExpertsClassifier(3, gate=gate, tol=1e-12, max_iter=60, n_restarts=0, random_state=0)
    for model, target in ((regressor, y), (classifier, codes)):
        with collected():
            model.fit(X, target)
        assert len(model.bound_) > 20 and (np.diff(model.bound_) >= 0).all()
        assert np.diff(model.bound_)[:5].min() > 0
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        regressor.set_params(max_iter=2).fit(X, y)


def test_the_steps_of_em_raise_the_bound_before_it_is_clipped():
    X, y = inverse_problem(80)
    phi = np.column_stack([(X - X.mean()) / X.std(), np.ones(80)])
    task = Task(phi, (y - y.mean()) / y.std(), np.ones(80), np.array([0.01, 0.01]))
    shares = np.random.default_rng(0).dirichlet(np.ones(3), 80)
    codes = Task(phi, (y > 0.5).astype(float), task.weight, task.gate_penalty)
    for one, experts in (
        (task, LinearExperts.start(3, 2)),
        (codes, LogitExperts.start(3, 2, n_classes=2, precision=1.0)),
    ):
        fit = first_step(one, experts, Gate.uniform(3, 2, hierarchical=False), shares)
        bounds = []
        for _ in range(40):
            fit = step(one, fit)
            bounds.append(fit.value)
        assert np.diff(bounds).min() > -1e-9


def test_a_hierarchical_gate_is_the_product_of_its_branches():
    rng = np.random.default_rng(0)
    gate = Gate(rng.normal(size=(2, 2, 3)), 3, True)
    phi = rng.normal(size=(5, 3))
    first, second = (np.exp(log_softmax(phi @ theta.T, axis=1)) for theta in gate.theta)
    expected = np.column_stack([first[:, 0] * second[:, 0], first[:, 0] * second[:, 1], first[:, 1]])
    np.testing.assert_allclose(np.exp(gate.log_proba(phi)), expected)


def test_the_softmax_regression_of_the_gate_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 3, 80)
    weight = rng.uniform(0.5, 2, 80)
    theta = softmax_steps(X, np.eye(3)[y] * weight[:, None], np.zeros((3, 2)), np.full(2, 0.5), n_steps=20)
    reference = Reference(C=2.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(theta, reference.coef_, atol=1e-5)


def test_a_board_needs_two_experts():
    X, y = board()
    model = MixtureOfExpertsClassifier(max_experts=3, random_state=0, **QUICK).fit(X, y)
    new, truth = board(seed=1)
    assert model.n_experts_ == 2 and model.score(new, truth) > 0.9
    assert model.responsibilities(X, y).shape == (200, 2)
    with pytest.raises(ValueError, match="not in the training rows"):
        model.responsibilities(X, y + 5)


def test_any_probabilistic_experts():
    X, y = crossing_lines(60)
    model = MixtureOfExpertsRegressor(2, expert=BayesianLinearRegression(), random_state=0, **QUICK).fit(X, y)
    assert len(model.experts_) == 2 and (np.diff(model.bound_) >= 0).all()
    assert model.predict_dist([[0.9]]).log_prob([0.9])[0] > 0
    with pytest.raises(TypeError, match="Ridge doesn't"):
        MixtureOfExpertsRegressor(2, expert=SklearnRidge()).fit(X, y)
    with pytest.raises(ValueError, match="give a number with expert="):
        MixtureOfExpertsRegressor(expert=BayesianLinearRegression()).fit(X, y)
    X, y = board(80)
    expert = BayesianLogisticRegression(1.0, predictive="probit")
    classifier = MixtureOfExpertsClassifier(2, expert=expert, random_state=0, **QUICK).fit(X, np.array(["a", "b"])[y])
    assert classifier.score(X, np.array(["a", "b"])[y]) > 0.8


def test_given_experts_come_back_from_files(tmp_path):
    X, y = crossing_lines(40)
    model = MixtureOfExpertsRegressor(2, expert=BayesianLinearRegression(), random_state=0, **QUICK).fit(X, y)
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(back.predict_dist(X).log_prob(y), model.predict_dist(X).log_prob(y))
    model.experts_ = model.experts_[:1]
    with pytest.raises(ModelFileError, match="list of 2 fitted estimators"):
        credo.save(model, tmp_path / "model.credo")


def test_an_expert_has_a_distribution_of_f_too():
    X = np.linspace(0.0, 1.0, 20)[:, None]
    for expert in (SklearnRidge(), BayesianRidge()):
        with pytest.raises(TypeError, match="expert must have predict_dist"):
            MixtureOfExpertsRegressor(2, expert=expert, random_state=0).fit(X, X[:, 0])


def test_an_expert_with_few_rows_is_unsure():
    X = np.concatenate([np.linspace(-1, 0, 60), [5.0, 5.1]])[:, None]
    y = np.concatenate([X[:60, 0] + 0.01 * np.sin(50 * X[:60, 0]), [-40.0, -41.0]])
    model = MixtureOfExpertsRegressor(2, random_state=0, **QUICK).fit(X, y)
    near, far = model.predict_dist([[-0.5], [8.0]]).std
    assert np.isfinite(far) and far > 5 * near


def test_ratings_have_no_density_without_bound():
    """N(0, δ²/12) has the density 1.38/δ at its centre, and δ is one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1))
    y = np.round(5 + 0.8 * X[:, 0] + 0.3 * rng.normal(size=120))
    model = MixtureOfExpertsRegressor(4, random_state=0, **QUICK).fit(X, y)
    assert (np.diff(model.bound_) >= 0).all()
    assert model.predict_dist(X).log_prob(y).max() < np.log(1.4)
    # Copies, whether by rows or by weights, are ties.
    assert rounding_variance(np.array([0.0, 3.0]), np.array([5.0, 1.0])) == pytest.approx(0.75)
    assert rounding_variance(np.arange(5.0), np.ones(5)) == 0.0 == rounding_variance(np.ones(5), np.ones(5))


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 100))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    model = MixtureOfExpertsRegressor(max_experts=2, n_restarts=0, random_state=0).fit(X, y)
    assert model.rotation_.shape == (100, 30) and np.isfinite(model.predict_dist(X).std).all()
    assert len(model.summary()) >= 101


@pytest.mark.parametrize("kind", [MixtureOfExpertsRegressor, MixtureOfExpertsClassifier])
def test_bad_input(kind):
    X, y = board(12)
    for options, message in (
        ({"n_experts": 0}, "n_experts must be a whole number"),
        ({"n_experts": "aic"}, "n_experts must be a whole number"),
        ({"gate": "tree"}, "gate must be one of 'softmax', 'hierarchical'"),
        ({"gate_precision": 0.0}, "gate_precision must be a positive"),
        ({"n_restarts": -1}, "n_restarts must be"),
        ({"tol": -1.0}, "tol must be"),
    ):
        with pytest.raises(ValueError, match=message):
            kind(**options).fit(X, y)
    with pytest.raises(ValueError, match="zero"):
        kind().fit(X, y, sample_weight=np.zeros(12))
    with pytest.raises(ValueError, match="NaN"):
        kind().fit(np.full((12, 2), np.nan), y)


def test_tables_with_little_in_them():
    X, y = board(12)
    with pytest.raises(ValueError, match="at least two classes"):
        MixtureOfExpertsClassifier().fit(X, np.zeros(12))
    # Experts for more rows than there are: one for each.
    one = MixtureOfExpertsRegressor(3, random_state=0).fit([[1.0, 2.0]], [3.0])
    assert one.n_experts_ == 1 and one.predict([[5.0, 5.0]]) == pytest.approx(3.0)
    copies = MixtureOfExpertsRegressor(3, n_restarts=0, random_state=0).fit([[1.0], [1.0], [2.0]], [3.0, 3.0, 4.0])
    assert copies.n_experts_ == 2
    constant = MixtureOfExpertsRegressor(2, n_restarts=0, random_state=0).fit(np.column_stack([X, np.ones(12)]), y)
    assert np.isfinite(constant.predict_dist(np.column_stack([X, 5 * np.ones(12)])).std).all()


@pytest.mark.parametrize("n_experts", [2, 3])
def test_a_sinusoid_is_made_of_sloped_lines(n_experts):
    """Against EM from every partition of the x-axis into intervals, cut at its deciles."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 60)
    y = np.sin(2 * np.pi * x) + 0.15 * rng.normal(size=60)
    model = MixtureOfExpertsRegressor(n_experts, random_state=0).fit(x[:, None], y)
    phi = np.column_stack([(x - x.mean()) / x.std(), np.ones(60)])
    task = Task(phi, (y - y.mean()) / y.std(), np.ones(60), np.array([0.01, 0.01]))
    best = -np.inf
    for cuts in combinations(np.quantile(phi[:, 0], np.linspace(0.1, 0.9, 9)), n_experts - 1):
        shares = 0.9 * np.eye(n_experts)[np.digitize(phi[:, 0], cuts)] + 0.1 / n_experts
        gate = Gate.uniform(n_experts, 2, hierarchical=False)
        fit = first_step(task, LinearExperts.start(n_experts, 2), gate, shares)
        for _ in range(15):
            fit = step(task, fit)
        best = max(best, fit.value)
    assert model.bound_[-1] + 60 * np.log(y.std()) > best - 1.5
    slopes = np.diff(model.expert_predictions([[0.0], [1.0]]), axis=0)
    assert np.abs(slopes).min() > 0.5
