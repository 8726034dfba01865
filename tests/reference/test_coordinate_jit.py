"""The compiled passes of coordinate descent, restated in plain NumPy."""

import numpy as np
import pytest
from scipy import sparse

from credo.learning.coordinate import _jit


def mixture(iterates):
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
    """Passes over all coordinates; after every fifth the mixture of the last five, where that is lower."""
    w, kept = w.copy(), [w.copy()]
    for _ in range(n_passes):
        for j in range(len(w)):
            a = X[:, j] @ (y - X @ w) + X[:, j] @ X[:, j] * w[j]
            w[j] = np.sign(a) * max(abs(a) - l1, 0.0) / (X[:, j] @ X[:, j] + l2)
        kept.append(w.copy())
        if len(kept) == _jit.DEPTH + 1:
            mixed = mixture(np.array(kept)) @ np.array(kept[1:])
            if objective(X, y, mixed, l1, l2) < objective(X, y, w, l1, l2):
                w = mixed
            kept = [w.copy()]
    return w


column_descent = gram_descent


def example(l2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 12)) + rng.normal(size=(30, 1))
    X -= X.mean(axis=0)
    y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.normal(size=30)
    return X, y - y.mean(), 4.0, l2


def test_mixture():
    iterates = np.random.default_rng(0).normal(size=(6, 9))
    np.testing.assert_allclose(_jit.mixture(iterates), mixture(iterates), rtol=1e-9)
    np.testing.assert_array_equal(_jit.mixture(np.ones((6, 9))), [0, 0, 0, 0, 1])


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
    K, c, w = X.T @ X, X.T @ y, np.zeros(12)
    g = c.copy()
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
    state = (np.square(Z).sum(axis=0), total * mean, mean, root, np.arange(12), w, r, shift, y)
    passes, _ = _jit.column_descent(scaled.data, *places, *state, 1.5, l2, -1.0, n_passes)
    assert passes == n_passes
    np.testing.assert_allclose(w, column_descent(Z, y, np.zeros(12), 1.5, l2, n_passes), atol=1e-8)
    np.testing.assert_allclose(r + shift * root, y - Z @ w, atol=1e-10)
