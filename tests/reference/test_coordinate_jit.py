"""The compiled passes of coordinate descent, restated in plain NumPy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax

from credo.learning.coordinate import _jit


def extrapolation_weights(iterates):
    """argmin ‖Σ a_k (x_k − x_{k−1})‖ with Σ a = 1, by Lagrange: a ∝ M⁻¹1."""
    steps = np.diff(iterates, axis=0)
    M = steps @ steps.T
    a = np.linalg.solve(M + 1e-13 * np.trace(M) * np.eye(len(M)), np.ones(len(M)))
    return a / a.sum()


def objective(X, y, w, l1, l2):
    return 0.5 * np.sum((y - X @ w) ** 2) + l1 * np.abs(w).sum() + 0.5 * l2 * np.sum(w**2)


def gram_gap(X, y, w, l1, l2):
    """Primal minus dual, the elastic net as a lasso on rows with √l2 I below them and zeros below y."""
    X, y = np.vstack([X, np.sqrt(l2) * np.eye(X.shape[1])]), np.append(y, np.zeros(X.shape[1]))
    r = y - X @ w
    theta = r * min(1.0, l1 / np.abs(X.T @ r).max())
    return objective(X, y, w, l1, 0.0) - (0.5 * y @ y - 0.5 * np.sum((y - theta) ** 2))


def gram_descent(X, y, w, l1, l2, n_passes):
    """Passes over all coordinates; after every fifth the extrapolation from the last five, if that is lower."""
    w, kept = w.copy(), [w.copy()]
    for _ in range(n_passes):
        for j in range(len(w)):
            a = X[:, j] @ (y - X @ w) + X[:, j] @ X[:, j] * w[j]
            w[j] = np.sign(a) * max(abs(a) - l1, 0.0) / (X[:, j] @ X[:, j] + l2)
        kept.append(w.copy())
        if len(kept) == _jit.DEPTH + 1:
            mixed = extrapolation_weights(np.array(kept)) @ np.array(kept[1:])
            if objective(X, y, mixed, l1, l2) < objective(X, y, w, l1, l2):
                w = mixed
            kept = [w.copy()]
    return w


column_descent = gram_descent


def duality_gap(X, y, w, l1, l2):
    r = y - X @ w
    slope = np.abs(X.T @ r - l2 * w).max()
    return (r @ r + l2 * w @ w, r @ y, np.abs(w).sum(), slope, l1), gram_gap(X, y, w, l1, l2)


def log_loss(scores, Y, weight):
    """−Σ ω ln p of the labels, and p; a single score has a second one of zero beside it."""
    if scores.shape[1] == 1:
        scores, Y = np.hstack([scores, np.zeros_like(scores)]), np.hstack([Y, 1 - Y])
    p = np.exp(log_softmax(scores, axis=1))
    return -weight @ (Y * log_softmax(scores, axis=1)).sum(axis=1), p


def column_moments(X, omega, center):
    mean = omega @ X / omega.sum() if center else np.zeros(X.shape[1])
    return mean, omega @ X**2, omega @ (X - mean) ** 2


def row_gram(X):
    return X.T @ X


def example(l2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 12)) + rng.normal(size=(30, 1))
    X -= X.mean(axis=0)
    y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.normal(size=30)
    return X, y - y.mean(), 4.0, l2


def test_extrapolation_weights():
    iterates = np.random.default_rng(0).normal(size=(6, 9))
    np.testing.assert_allclose(_jit.extrapolation_weights(iterates), extrapolation_weights(iterates), rtol=1e-9)
    np.testing.assert_array_equal(_jit.extrapolation_weights(np.ones((6, 9))), [0, 0, 0, 0, 1])


@pytest.mark.parametrize("l2", [0.0, 2.5])
def test_gram_gap(l2):
    X, y, l1, l2 = example(l2)
    for w in (np.zeros(12), np.random.default_rng(1).normal(size=12)):
        found = _jit.gram_gap(12, X.T @ y, w, X.T @ (y - X @ w), l1, l2, y @ y)
        assert found == pytest.approx(gram_gap(X, y, w, l1, l2), rel=1e-10)


@pytest.mark.parametrize("n_passes", [1, 4, 5, 12])
@pytest.mark.parametrize("l2", [0.0, 2.5])
def test_gram_descent(l2, n_passes):
    X, y, l1, l2 = example(l2)
    # Room for three columns more than there are.
    K, c, w = np.full((15, 15), np.nan), X.T @ y, np.zeros(12)
    K[:12, :12], g = X.T @ X, c.copy()
    passes, gap = _jit.gram_descent(K, 12, c, w, g, l1, l2, y @ y, -1.0, n_passes)
    assert passes == n_passes
    np.testing.assert_allclose(w, gram_descent(X, y, np.zeros(12), l1, l2, n_passes), atol=1e-8)
    np.testing.assert_allclose(g, X.T @ (y - X @ w), atol=1e-10)
    assert gap == pytest.approx(gram_gap(X, y, w, l1, l2), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("n_passes", [1, 4, 5, 12])
@pytest.mark.parametrize("l2", [0.0, 2.5])
def test_column_descent(l2, n_passes):
    rng = np.random.default_rng(5)
    dense = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.4)
    X, root = sparse.csc_array(dense), np.sqrt(rng.integers(1, 4, 30).astype(float))
    scaled, total = sparse.csc_array(sparse.diags_array(root) @ X), float(np.sum(root**2))
    mean = root**2 @ dense / total
    Z = root[:, None] * (dense - mean)
    y = rng.normal(size=30)
    y = root * (y - root**2 @ y / total)
    w, r, shift = np.zeros(12), y.copy(), np.zeros(1)
    places = scaled.indices.astype(np.uint32), scaled.indptr.astype(np.uint32)
    members = np.delete(np.arange(12), [0, 5])
    matrix, moments = (scaled.data, *places), (np.square(Z).sum(axis=0), total * mean, mean)
    passes, _ = _jit.column_descent(matrix, moments, y, root, members, w, r, shift, 1.5, l2, -1.0, n_passes)
    assert passes == n_passes and not w[[0, 5]].any()
    np.testing.assert_allclose(w[members], column_descent(Z[:, members], y, np.zeros(10), 1.5, l2, n_passes), atol=1e-8)
    np.testing.assert_allclose(r + shift * root, y - Z @ w, atol=1e-10)


@pytest.mark.parametrize("l2", [0.0, 2.5])
def test_shrunken_gap(l2):
    X, y, l1, l2 = example(l2)
    sums, value = duality_gap(X, y, np.random.default_rng(1).normal(size=12), l1, l2)
    assert _jit.duality_gap(*sums) == pytest.approx(value, rel=1e-10)
    assert _jit.duality_gap(2.0, 2.0, 0.0, 0.0, 1.0) == 0.0


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 40.0, 800.0])
def test_log_loss(n_scores, scale):
    rng = np.random.default_rng(2)
    scores, weight = scale * rng.normal(size=(50, n_scores)), rng.uniform(0.1, 3, 50)
    Y = np.ascontiguousarray(np.eye(3)[rng.integers(0, 3, 50)][:, :n_scores])
    p = np.empty_like(scores)
    loss, expected = log_loss(scores, Y, weight)
    assert _jit.log_loss(scores, Y, weight, p) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(p, expected[:, :n_scores], rtol=1e-10, atol=1e-300)
    # Beyond doubt and right: what is left of the loss isn't rounded away.
    sure = np.full((1, n_scores), -50.0)
    sure[0, 0] = 50.0
    left = np.exp(-50.0) if n_scores == 1 else 2 * np.exp(-100.0)
    assert _jit.log_loss(sure, np.eye(n_scores)[:1], np.ones(1), p[:1]) == pytest.approx(left, rel=1e-12)


@pytest.mark.parametrize("center", [True, False])
def test_column_moments(center):
    rng = np.random.default_rng(4)
    X = (rng.normal(size=(40, 6)) + 3) * (rng.random((40, 6)) < [1.0, 0.9, 0.5, 0.1, 0.0, 1.0])
    thin, omega = sparse.csc_array(X), rng.uniform(0.5, 2, 40)
    found = _jit.column_moments(thin.data, thin.indices, thin.indptr, omega, center)
    for ours, plain in zip(found, column_moments(X, omega, center), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=1e-14)


def test_row_gram():
    X = sparse.random_array((60, 9), density=0.3, rng=np.random.default_rng(6), format="csr")
    np.testing.assert_allclose(_jit.row_gram(X.data, X.indices, X.indptr, 9), row_gram(X.toarray()), atol=1e-13)
    turned = X.copy()
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        turned.data[start:stop], turned.indices[start:stop] = X.data[start:stop][::-1], X.indices[start:stop][::-1]
    K = _jit.row_gram(turned.data, turned.indices, turned.indptr, 9)
    np.testing.assert_allclose(K, row_gram(X.toarray()), atol=1e-13)
