"""Coordinate descent below the estimators: rows, blocks, gaps, safe exclusions and the last digits."""

import numpy as np
import pytest
from scipy import sparse

from credo.core.learning.coordinate import Labels, Rows, elastic_net_path, logistic_path, polish, working_set
from credo.core.learning.coordinate import logistic as newton
from credo.core.learning.coordinate.rows import GramWorkingSet, SparseWorkingSet, least_squares_gap


def table(n=50, p=30, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) + rng.normal(size=p)) * (rng.random((n, p)) < 0.5)
    return X, X[:, :3] @ [2.0, -1.0, 1.0] + rng.normal(size=n), rng.integers(1, 4, n).astype(float)


def centred(X, y, weight):
    root = np.sqrt(weight)
    return root[:, None] * (X - np.average(X, axis=0, weights=weight)), root * (y - np.average(y, weights=weight))


@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, sparse.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_centred_and_weighted(kind, weighted):
    X, y, weight = table()
    X[:, 7] = 0.1
    rows = Rows.of(kind(X), y, weight if weighted else None, center=True)
    Z, t = centred(X, y, weight if weighted else np.ones(50))
    Z[:, 7] = 0.0
    w = np.random.default_rng(1).normal(size=30)
    np.testing.assert_allclose(rows.target, t, atol=1e-12)
    np.testing.assert_allclose(rows.squares, np.square(Z).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(rows.correlations(t)[:7], (Z.T @ t)[:7], atol=1e-10)
    np.testing.assert_allclose(rows.gram(), Z.T @ Z, atol=1e-10)
    np.testing.assert_allclose(rows.columns(np.array([3, 7, 1])), Z[:, [3, 7, 1]].T, atol=1e-12)
    np.testing.assert_allclose(rows.residual(w), t - (centred(X, y, weight if weighted else np.ones(50))[0] @ w))
    assert rows.squares[7] == 0.0 and rows.l1_max() == pytest.approx(np.abs(Z.T @ t).max())


@pytest.mark.parametrize("offset", [1e3, 1e7])
def test_spreads_that_are_small_beside_the_mean_keep_their_digits(offset):
    X, y, _ = table()
    plain, moved = (Rows.of(X + shift, y, None, center=True) for shift in (0.0, offset))
    np.testing.assert_allclose(moved.squares, plain.squares, rtol=1e-14 * offset)
    np.testing.assert_allclose(moved.gram(), plain.gram(), atol=1e-12 * offset)


def blocks(X, y, weight):
    rows, flat = Rows.of(X, y, weight, center=True), np.zeros(X.shape[1])
    thin = Rows.of(sparse.csc_array(X), y, weight, center=True)
    return [
        GramWorkingSet(rows, flat.copy(), whole=True),
        GramWorkingSet(rows, flat.copy(), whole=False),
        SparseWorkingSet(thin, flat.copy()),
    ]


@pytest.mark.parametrize("shape", [(50, 30), (30, 90)])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_all_blocks_find_the_same_path(shape, l1_ratio):
    X, y, weight = table(*shape)
    paths = []
    for block in blocks(X, y, weight):
        penalties = block.rows.l1_max() * np.geomspace(1, 1e-2, 8)
        steps = list(elastic_net_path(block, penalties, l1_ratio=l1_ratio, tol=1e-13, max_passes=10**6))
        assert all(step.converged for step in steps)
        paths.append(np.array([step.w for step in steps]))
    np.testing.assert_allclose(paths[1], paths[0], atol=1e-5)
    np.testing.assert_allclose(paths[2], paths[0], atol=1e-5)


def test_the_standing_of_every_block_is_that_of_its_weights():
    X, y, weight = table()
    Z, t = centred(X, y, weight)
    for block in blocks(X, y, weight):
        block.add(np.arange(0, 30, 2))
        block.descend(l1=5.0, l2=1.0, target=0.0, max_passes=130)
        products, rest = block.residual_products(), t - Z @ block.w
        assert block.w.any() and (len(block.members()) == 30 or not block.w[1::2].any())
        np.testing.assert_allclose(products.columns, Z.T @ rest, atol=1e-9)
        assert products.squared_norm == pytest.approx(rest @ rest) and products.target == pytest.approx(rest @ t)


@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_what_a_gap_excludes_is_zero_at_the_optimum(l2):
    X, y, weight = table(40, 120)
    rows = Rows.of(X, y, weight, center=True)
    l1 = 0.5 * rows.l1_max()
    ratio = l1 / (l1 + l2)
    (best,) = elastic_net_path(
        GramWorkingSet(rows, np.zeros(120), whole=False),
        np.array([l1 + l2]),
        l1_ratio=ratio,
        tol=1e-13,
        max_passes=10**6,
    )
    screened = 0
    for share in (0.5, 0.9, 0.99, 1.0):
        w = share * best.w
        gap = least_squares_gap(w, rows.residual_products(rows.residual(w)), rows.squares, l1, l2)
        assert not best.w[gap.screened].any()
        screened = max(screened, gap.screened.sum())
    assert screened > 60, "near the optimum most columns are ruled out"


def test_polishing_reaches_rounding_error_and_mends_the_support():
    X, y, _ = table()
    rows = Rows.of(X, y, None, center=True)
    (step,) = elastic_net_path(
        working_set(rows, np.zeros(30), n_problems=1), np.array([5.0]), l1_ratio=1.0, tol=1e-5, max_passes=99
    )
    done = polish(rows, step, l1=5.0, l2=0.0)
    assert done.gap < 1e-13 * rows.yy and done.gap < step.gap
    active = np.flatnonzero(done.w)
    Z, t = centred(X, y, np.ones(50))
    exact = np.linalg.solve(Z[:, active].T @ Z[:, active], Z[:, active].T @ t - 5.0 * np.sign(done.w[active]))
    np.testing.assert_allclose(done.w[active], exact, rtol=1e-10)
    # A weight of the wrong sign leaves, and what is left is no better than what there was.
    wrong = type(step)(np.where(np.arange(30) == active[0], -step.w, step.w), step.gap, 1, True)
    assert polish(rows, wrong, l1=5.0, l2=0.0) is wrong
    stray = step.w.copy()
    stray[np.flatnonzero(step.w == 0)[0]] = 1e-9
    np.testing.assert_allclose(polish(rows, type(step)(stray, step.gap, 1, True), l1=5.0, l2=0.0).w, done.w, atol=1e-10)


def test_the_block_is_chosen_by_what_it_costs():
    X, y, _ = table(200, 20)
    assert working_set(Rows.of(X, y, None, center=True), np.zeros(20), n_problems=1).whole
    wide = table(20, 200)
    assert not working_set(Rows.of(*wide[:2], None, center=True), np.zeros(200), n_problems=100).whole
    thin = sparse.csc_array(wide[0])
    assert isinstance(
        working_set(Rows.of(thin, wide[1], None, center=True), np.zeros(200), n_problems=100), SparseWorkingSet
    )


def test_safe_exclusions_of_the_log_loss():
    X, y, weight = table(60, 80)
    labels = Labels((y > np.median(y)).astype(float)[:, None], weight)
    rows = Rows.of(X, np.zeros(60), weight, center=True)
    options = {"start": (np.zeros((1, 80)), np.zeros(1)), "intercept": True, "max_steps": 500}
    (best,) = logistic_path(rows, labels, np.array([8.0]), tol=1e-11, **options)
    _, current = labels.with_optimal_intercepts(labels.evaluate(X @ best.W.T))
    gap = labels.gap(rows, best.W, current, 8.0)
    assert best.converged and gap.value <= 1e-10 * labels.null_loss()
    (rough,) = logistic_path(rows, labels, np.array([8.0]), tol=1e-3, **options)
    _, current = labels.with_optimal_intercepts(labels.evaluate(X @ rough.W.T))
    screened = labels.gap(rows, rough.W, current, 8.0).screened
    assert screened.any() and not best.W[screened].any()


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_classes_together_and_in_turn_find_the_same_weights(kind, intercept, monkeypatch):
    X, y, weight = table(60, 12)
    labels = Labels.of(np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75])), 4, weight)
    rows = Rows.of(kind(X), np.zeros(60), weight, center=intercept)
    options = {"start": (np.zeros((4, 12)), np.zeros(4)), "intercept": intercept, "max_steps": 1000, "tol": 1e-12}
    (together,) = logistic_path(rows, labels, np.array([2.0]), **options)
    for most in (24, 1):
        monkeypatch.setattr(newton, "_MAX_GRAM_ORDER", most)
        (turns,) = logistic_path(rows, labels, np.array([2.0]), **options)
        assert turns.converged and turns.n_steps > together.n_steps
        # What all classes share has no effect, and for an even number of them the penalty may not say what it is.
        one, other = (W - W.mean(axis=0) for W in (turns.W, together.W))
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_newton_step_minimises_the_expansion():
    """Of several classes at once, without a penalty: Newton's step in all weights and intercepts, H⁻¹g."""
    X, y, weight = table(80, 3)
    labels = Labels.of(np.digitize(y, np.quantile(y, [0.3, 0.6])), 3, weight)
    current = labels.evaluate(np.random.default_rng(0).normal(size=(80, 3)))
    group, old = np.array([0, 2]), np.random.default_rng(1).normal(size=(2, 3))
    new, level = newton.minimum(X, labels, current.p, old, group, l1=1e-9, intercept=True, target=1e-12)
    Z, p, r = np.column_stack([X, np.ones(80)]), current.p[:, group], (labels.Y - current.p)[:, group]
    H = sum(w * np.kron(np.diag(q) - np.outer(q, q), np.outer(z, z)) for w, q, z in zip(weight, p, Z, strict=True))
    step = np.linalg.solve(H, ((weight[:, None] * r).T @ Z).ravel()).reshape(2, 4)
    np.testing.assert_allclose(new - old, step[:, :3], atol=1e-4)
    np.testing.assert_allclose(level, step[:, 3], atol=1e-4)


def test_optimal_intercepts_leave_no_residual():
    rng = np.random.default_rng(2)
    Y = np.eye(3)[rng.integers(0, 3, 40)]
    labels = Labels(Y, rng.uniform(0.5, 2, 40))
    change, current = labels.with_optimal_intercepts(labels.evaluate(30.0 * rng.normal(size=(40, 3))))
    np.testing.assert_allclose(labels.weight @ (Y - current.p), 0.0, atol=1e-11)
    assert np.isfinite(change).all()
    flat = Labels(Y, np.ones(40))
    constant = flat.with_optimal_intercepts(flat.evaluate(np.zeros((40, 3))))[1]
    assert constant.loss == pytest.approx(flat.null_loss())


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
@pytest.mark.parametrize("where", ["X", "y"])
def test_nan_ends_the_descent_at_once(kind, where):
    X, y, _ = table()
    rows = Rows.of(kind(X), y, None, center=True)
    if where == "y":
        rows.target[3] = np.nan
    else:
        rows.squares[3] = np.nan
        rows.target[:] = np.nan
    (step,) = elastic_net_path(
        working_set(rows, np.zeros(30), n_problems=1), np.array([1.0]), l1_ratio=1.0, tol=1e-6, max_passes=10**9
    )
    assert not step.converged and step.n_passes <= 1


def test_nan_ends_the_newton_steps_at_once():
    X, y, _ = table()
    labels = Labels.of((y > 0).astype(int), 2, np.full(50, np.nan))
    rows = Rows.of(X, np.zeros(50), None, center=True)
    start = np.zeros((1, 30)), np.zeros(1)
    (end,) = logistic_path(rows, labels, np.array([0.1]), intercept=True, start=start, tol=1e-7, max_steps=10**9)
    assert not end.converged and end.n_steps <= 1


def test_newton_steps_end_where_only_rounding_errors_are_left():
    """Every row has both labels, so that the correlations are zero but for rounding, and the penalty is below that."""
    X = np.tile(np.random.default_rng(1).normal(size=(3, 2)), (2, 1))
    labels = Labels.of(np.repeat([0, 1], 3), 2, np.ones(6))
    rows, start = Rows.of(X, np.zeros(6), None, center=True), (np.zeros((1, 2)), np.zeros(1))
    (end,) = logistic_path(rows, labels, np.array([1e-17]), intercept=True, start=start, tol=1e-7, max_steps=10**6)
    assert end.n_steps < 200 and np.abs(end.W).max() < 1e-6
    assert labels.l1_max(rows, intercept=True) == 0.0
