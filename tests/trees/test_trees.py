"""Trees: scikit-learn's as oracle, posteriors of the leaves by other routes, missing values, files."""

import numpy as np
import pytest
from fuzz.forging import Saved
from scipy import stats
from scipy.integrate import quad
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

import credo
from credo.tables import ModelFileError, load
from credo.trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor, DirichletPrior, NormalPrior
from credo.trees._tree import _log_evidence, with_row

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + np.sign(X[:, 1]) + 0.3 * RNG.normal(size=200)
CODES = np.digitize(Y, [-1.0, 1.0])


def groups(leaves):
    """Which rows share a leaf, whatever the leaves are called."""
    return np.unique(leaves, return_inverse=True)[1][:, None] == np.unique(leaves, return_inverse=True)[1]


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.05])
def test_the_leaves_are_those_of_scikit_learn(alpha):
    ours = DecisionTreeRegressor(pruning=alpha, min_leaf=4.0, random_state=0).fit(X, Y)
    theirs = PeerRegressor(min_samples_leaf=4, ccp_alpha=alpha * Y.var(), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(groups(ours.apply(X)), groups(theirs.apply(X)))
    ours = DecisionTreeClassifier(pruning=alpha, min_leaf=4.0, random_state=0).fit(X, CODES)
    impurity = 1 - np.square(np.bincount(CODES) / 200).sum()
    theirs = PeerClassifier(min_samples_leaf=4, ccp_alpha=alpha * impurity, random_state=0).fit(X, CODES)
    np.testing.assert_array_equal(groups(ours.apply(X)), groups(theirs.apply(X)))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


def test_a_stump_is_a_tree_of_depth_one():
    stump = DecisionStump().fit(X, CODES)
    peer = PeerClassifier(max_depth=1).fit(X, CODES).tree_
    assert stump.feature_ == peer.feature[0] and stump.threshold_ == pytest.approx(peer.threshold[0], abs=1e-6)
    np.testing.assert_allclose(stump.tree_.value, peer.value[:, 0] * peer.weighted_n_node_samples[:, None])
    worst = DecisionStump(criterion="error").fit(X, CODES)
    cuts = [
        sum(np.bincount(CODES[side]).max() for side in (X[:, j] <= c, X[:, j] > c))
        for j in range(3)
        for c in np.sort(X[:, j])[:-1]
    ]
    assert (worst.tree_.value[1:].max(axis=1)).sum() == max(cuts)


def test_trees_depend_on_the_order_of_values_only():
    """Ranks: neither float32 nor the builder's absolute tolerance of 1e-7 shows."""
    plain = DecisionTreeRegressor(random_state=0).fit(X, Y)
    for rows in (1e-12 * X, 1e60 * X, np.exp(X), 1e9 + X):
        np.testing.assert_array_equal(
            groups(DecisionTreeRegressor(random_state=0).fit(rows, Y).apply(rows)), groups(plain.apply(X))
        )


LEAF = np.array([[3.0, 0.4, 0.5]])
THETA = np.log([0.7, 3.0, 0.6])


def test_the_evidence_of_a_leaf_is_the_integral_over_mean_and_variance():
    y = np.array([0.4 + 0.5, 0.4 - 0.5, 0.4])
    kappa, nu, s = 0.7, 5.0, 0.6

    def given_variance(v):
        cov = v * (np.eye(3) + 1 / kappa)
        return stats.multivariate_normal.pdf(y, np.zeros(3), cov) * stats.invgamma.pdf(v, nu / 2, scale=nu * s / 2)

    mass = quad(given_variance, 0, np.inf, epsabs=1e-13)[0]
    assert _log_evidence(LEAF, THETA)[0][0] == pytest.approx(np.log(mass), abs=1e-7)


def test_the_gradient_of_the_evidence():
    _, slope = _log_evidence(LEAF, THETA)
    for i in range(3):
        step = 1e-6 * np.eye(3)[i]
        difference = (_log_evidence(LEAF, THETA + step)[0] - _log_evidence(LEAF, THETA - step)[0]) / 2e-6
        assert slope[0, i] == pytest.approx(difference[0], rel=1e-6)


def test_the_predictive_is_a_ratio_of_evidences():
    y = np.array([1.7])
    ratio = _log_evidence(with_row(LEAF, y), THETA)[0] - _log_evidence(LEAF, THETA)[0]
    prior = NormalPrior(0.0, 0.7, 5.0, 0.6)
    np.testing.assert_allclose(prior.predictive(LEAF).log_prob(y), ratio)
    wide, narrow = (prior.in_units(3.0, 2.0).predictive(LEAF * [n, 2.0, 4.0 * n] + [0, 3, 0]).std for n in (1, 50))
    assert narrow[0] < wide[0]


def test_the_strength_of_a_dirichlet_prior_maximizes_the_evidence():
    """By the predictive probabilities of the labels one after the other."""
    counts, frequencies = np.array([[6.0, 1.0], [2.0, 5.0], [1.0, 1.0]]), np.array([0.6, 0.4])

    def one_by_one(a):
        total = 0.0
        for row in counts:
            seen = np.zeros(2)
            for k in np.repeat([0, 1], row.astype(int)):
                total += np.log((seen[k] + a * frequencies[k]) / (seen.sum() + a))
                seen[k] += 1
        return total

    best = DirichletPrior.by_evidence(frequencies, counts, None).strength
    grid = np.geomspace(0.05, 500, 400)
    assert best == pytest.approx(grid[np.argmax([one_by_one(a) for a in grid])], rel=0.1)


def test_small_leaves_are_unsure():
    y = np.where(X[:, 0] > 2.0, 9.0, 0.0) + 0.1 * RNG.normal(size=200)
    model = DecisionTreeRegressor(max_depth=1, pruning=0.0, random_state=0).fit(X, y)
    small, large = (model.predict_dist([[x, 0.0, 0.0]]) for x in (3.0, 0.0))
    assert small.df[0] < large.df[0] and small.std[0] > large.std[0]
    model = DecisionTreeClassifier(pruning=0.0, prior_strength=2.0, random_state=0).fit(
        [[0.0]] * 50 + [[1.0]], [0] * 50 + [1]
    )
    assert model.predict_proba([[0.0], [1.0]])[:, 1] == pytest.approx([(2 / 51) / 52, (1 + 2 / 51) / 3])


def test_intervals_hold_what_they_promise():
    new = np.random.default_rng(1).normal(size=(2000, 3))
    truth = new[:, 0] + np.sign(new[:, 1]) + 0.3 * np.random.default_rng(2).normal(size=2000)
    lower, upper = DecisionTreeRegressor(random_state=0).fit(X, Y).predict_dist(new).interval(0.95)
    assert 0.92 < np.mean((lower <= truth) & (truth <= upper)) < 0.98


def test_missing_values_go_where_they_fit_best():
    rows = X.copy()
    gone = RNG.random(200) < 0.3
    rows[gone, 0] = np.nan
    y = np.where(gone, 5.0, 0.0) + 0.1 * RNG.normal(size=200)
    model = DecisionTreeRegressor(random_state=0).fit(rows, y)
    assert model.predict([[np.nan, 0.0, 0.0], [0.0, 0.0, 0.0]]) == pytest.approx([5.0, 0.0], abs=0.3)
    assert "or missing" in model.rules() and model.had_missing_.tolist() == [True, False, False]
    assert DecisionTreeRegressor(random_state=0).fit(np.full((10, 1), np.nan), np.arange(10.0)).tree_.is_leaf.all()


def test_pruning_leaves_noise_alone():
    noise = np.random.default_rng(5).normal(size=300)
    rows = np.random.default_rng(6).normal(size=(300, 4))
    assert DecisionTreeRegressor(random_state=0).fit(rows, noise).tree_.is_leaf.sum() <= 3
    assert DecisionTreeClassifier(random_state=0).fit(rows, noise > 0).tree_.is_leaf.sum() <= 3


def test_one_row_constant_columns_and_bad_arguments():
    one = DecisionTreeRegressor(random_state=0).fit([[1.0]], [3.0])
    assert one.predict([[5.0]]) == pytest.approx(3.0) and np.isfinite(one.predict_dist([[5.0]]).std[0])
    flat = DecisionStump().fit(np.ones((4, 2)), [0, 0, 0, 1])
    np.testing.assert_allclose(flat.predict_proba(np.zeros((1, 2))), [[0.75, 0.25]])
    assert "constant" in flat.result_.message
    for options, message in [
        ({"pruning": "hard"}, 'pruning must be "held-out" or a number'),
        ({"pruning": -1.0}, "pruning must be"),
        ({"min_leaf": 0.0}, "min_leaf must be"),
        ({"max_depth": 0}, "max_depth must be"),
        ({"prior_strength": -1.0}, "prior_strength must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            DecisionTreeRegressor(random_state=0, **options).fit(X, Y)
    with pytest.raises(ValueError, match="criterion must be one of 'gini', 'error'"):
        DecisionStump(criterion="entropy").fit(X, CODES)


def test_random_subsets_of_the_columns_differ_by_seed():
    first, again, other = (
        DecisionTreeRegressor(pruning=0.0, max_features=1, random_state=seed).fit(X, Y).predict(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_forged_nodes_are_refused(tmp_path):
    model = DecisionTreeRegressor(pruning=0.0, max_depth=3, random_state=0).fit(X, Y)
    path = tmp_path / "model.credo"
    credo.save(model, path)
    saved = Saved.of(path.read_bytes())
    fields = saved.state["estimator"][2]["tree_"]
    for name, change in (("left", 0), ("right", 10**6), ("feature", 7)):
        array = getattr(model.tree_, name).copy()
        array[1] = change
        number = _array_number(fields, name)
        path.write_bytes(saved.with_array(number, array).content())
        with pytest.raises(ModelFileError, match=r"nodes after|each node once|feature of tree_ must contain"):
            load(path)


def _array_number(node, name):
    """The number of the array of a field, somewhere in a saved value."""
    if isinstance(node, dict):
        if name in node and isinstance(node[name], dict) and "array" in node[name]:
            return node[name]["array"]
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            found = _array_number(part, name)
            if found is not None:
                return found
    return None
