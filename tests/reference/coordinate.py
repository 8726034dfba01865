"""The compiled passes of coordinate descent, restated in plain NumPy."""

from itertools import product

import numpy as np
from scipy import sparse
from tests.reference.twins import Twin

from credo.core.learning.coordinate import _jit


def extrapolation_weights(iterates):
    """argmin ‖Σ a_k (x_k − x_{k−1})‖ with Σ a = 1, by Lagrange: a ∝ M⁻¹1; the last iterate where there are no steps."""
    steps = np.diff(iterates, axis=0)
    M = steps @ steps.T
    if not M.any():
        return np.eye(len(M))[-1]
    a = np.linalg.solve(M + 1e-13 * np.trace(M) * np.eye(len(M)), np.ones(len(M)))
    return a / a.sum()


def objective(X, y, w, l1, l2):
    return 0.5 * np.sum((y - X @ w) ** 2) + l1 * np.abs(w).sum() + 0.5 * l2 * np.sum(w**2)


def gap(X, y, w, l1, l2):
    """Primal minus dual, the elastic net as a lasso on rows with √l2 I below them and zeros below y."""
    X, y = np.vstack([X, np.sqrt(l2) * np.eye(X.shape[1])]), np.append(y, np.zeros(X.shape[1]))
    r = y - X @ w
    theta = r * min(1.0, l1 / np.abs(X.T @ r).max())
    return objective(X, y, w, l1, 0.0) - (0.5 * y @ y - 0.5 * np.sum((y - theta) ** 2))


def descent(X, y, w, l1, l2, n_passes):
    """Passes over all coordinates; after every fifth the extrapolation from the last five, if that is lower.

    Returns the last weights, and those after each pass before extrapolation.
    """
    w, kept, passed = w.copy(), [w.copy()], []
    for _ in range(n_passes):
        for j in range(len(w)):
            a = X[:, j] @ (y - X @ w) + X[:, j] @ X[:, j] * w[j]
            w[j] = np.sign(a) * max(abs(a) - l1, 0.0) / (X[:, j] @ X[:, j] + l2)
        kept.append(w.copy())
        passed.append(w.copy())
        if len(kept) == _jit.EXTRAPOLATION_PASSES + 1:
            mixed = extrapolation_weights(np.array(kept)) @ np.array(kept[1:])
            if objective(X, y, mixed, l1, l2) < objective(X, y, w, l1, l2):
                w = mixed
            kept = [w.copy()]
    return w, passed


def gram_gap(m, c, w, g, l1, l2, yy):
    return gap(X, Y, w, l1, l2)


def screen(w, columns, square, inner, squares, l1, l2, screened):
    """By the rows; an optimal dual point lies within √(2 gap) of θ, so |x_jᵀθ| + √(2 gap)‖x_j‖ < l1 proves w_j = 0."""
    value = gap(X, Y, w, l1, l2)
    columns[:] = np.abs(X.T @ (Y - X @ w) - l2 * w)
    theta = columns * min(1.0, l1 / columns.max())
    screened[:] = theta + np.sqrt(2 * value) * np.linalg.norm(np.vstack([X, np.sqrt(l2) * np.eye(12)]), axis=0) < l1
    return value


def gram_descent(K, m, c, w, g, l1, l2, yy, target, max_passes):
    w[:] = descent(X, Y, w, l1, l2, max_passes)[0]
    g[:] = X.T @ (Y - X @ w)
    return max_passes, gap(X, Y, w, l1, l2)


def column_descent(matrix, moments, y, root, members, w, r, shift, l1, l2, target, max_passes):
    """By dense columns; the gap is computed at the tenth pass."""
    scaled = sparse.csc_array(matrix, shape=(len(y), len(w))).toarray()
    Z = (scaled - np.outer(root, moments[2]))[:, members]
    w[members], passed = descent(Z, y, w[members], l1, l2, max_passes)
    r[:], shift[0] = y - scaled @ w, moments[2] @ w
    return max_passes, gap(Z, y, passed[9], l1, l2) if max_passes >= 10 else np.inf


def duality_gap(square, inner, size, largest, l1):
    """With θ = s·residual, the primal is ½‖r‖² + l1‖w‖₁ and the dual θᵀy − ½‖θ‖²."""
    s = min(1.0, l1 / largest) if largest else 1.0
    return (0.5 * square + l1 * size) - (s * inner - 0.5 * s**2 * square)


def log_loss(scores, Y, weight, p):
    """−Σ ω ln p of the labels, and p; a single score has a second one of zero beside it."""
    if p.shape[1] == 1:
        scores, Y = np.hstack([scores, np.zeros_like(scores)]), np.hstack([Y, 1 - Y])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    p[:] = (e / e.sum(axis=1, keepdims=True))[:, : p.shape[1]]
    # −ln p = ln(1 + Σ exp(other − own)), so that nothing is lost where p is one to rounding.
    others = np.logaddexp.reduce(np.where(Y > 0.5, -np.inf, scores), axis=1)
    return weight @ np.logaddexp(0.0, others - scores[Y > 0.5])


def column_moments(data, indices, indptr, omega, center):
    X = sparse.csc_array((data, indices, indptr), shape=(len(omega), len(indptr) - 1)).toarray()
    mean = omega @ X / omega.sum() if center else np.zeros(X.shape[1])
    return mean, omega @ (X - mean) ** 2


def row_gram(data, indices, indptr, p):
    X = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, p)).toarray()
    return X.T @ X


RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 12)) + RNG.normal(size=(30, 1))
X -= X.mean(axis=0)
Y = X[:, :3] @ [3.0, -2.0, 1.0] + RNG.normal(size=30)
Y -= Y.mean()
W = RNG.normal(size=12)
# With room for three columns more than there are.
K = np.pad(X.T @ X, (0, 3), constant_values=np.nan)
L1, L2, PASSES = 4.0, (0.0, 2.5), (1, 4, 5, 12)


def sparse_columns():
    """Weighted and centred, but for the centring of the columns; two of twelve columns aren't members."""
    dense = RNG.normal(size=(30, 12)) * (RNG.random((30, 12)) < 0.4)
    root, y = np.sqrt(RNG.integers(1, 4, 30).astype(float)), RNG.normal(size=30)
    total, mean = np.sum(root**2), root**2 @ dense / np.sum(root**2)
    scaled, y = sparse.csc_array(root[:, None] * dense), root * (y - root**2 @ y / total)
    matrix = scaled.data, scaled.indices.astype(np.uint32), scaled.indptr.astype(np.uint32)
    moments = np.square(root[:, None] * (dense - mean)).sum(axis=0), total * mean, mean
    return matrix, moments, y, root, np.delete(np.arange(12), [0, 5]), np.zeros(12), y.copy(), np.zeros(1), 1.5


def classes(n_scores, scale):
    scores, weight = scale * RNG.normal(size=(50, n_scores)), RNG.uniform(0.1, 3, 50)
    Y = np.ascontiguousarray(np.eye(3)[RNG.integers(0, 3, 50)][:, :n_scores])
    return scores, Y, weight, np.empty_like(scores)


def beyond_doubt(n_scores):
    scores = np.array([[50.0, -50.0, -50.0][:n_scores]])
    return scores, np.eye(n_scores)[:1], np.ones(1), np.empty((1, n_scores))


SPARSE = sparse_columns()
SOME = sparse.csc_array((RNG.normal(size=(40, 6)) + 3) * (RNG.random((40, 6)) < [1.0, 0.9, 0.5, 0.1, 0.0, 1.0]))
ROWS = sparse.random_array((60, 9), density=0.3, rng=RNG, format="csr")
# The same rows with their entries in reverse, which also reverses the order of the rows.
REVERSED = ROWS.data[::-1].copy(), ROWS.indices[::-1].copy(), (ROWS.nnz - ROWS.indptr[::-1]).astype(np.int32)

TWINS = [
    Twin(
        _jit.extrapolation_weights, extrapolation_weights, [(RNG.normal(size=(6, 9)),), (np.ones((6, 9)),)], rtol=1e-9
    ),
    Twin(
        _jit.screen,
        screen,
        [
            (w, X.T @ r, r @ r, Y @ r, np.sum(X**2, axis=0), l1, l2, np.empty(12, bool))
            for w, l1, l2 in product((np.zeros(12), W, np.linalg.lstsq(X, Y)[0]), (L1, 40.0, 400.0), L2)
            for r in [Y - X @ w]
        ],
        rtol=1e-10,
    ),
    Twin(
        _jit.gram_gap,
        gram_gap,
        [(12, X.T @ Y, w, X.T @ (Y - X @ w), L1, l2, Y @ Y) for w, l2 in product((np.zeros(12), W), L2)],
        rtol=1e-10,
    ),
    Twin(
        _jit.gram_descent,
        gram_descent,
        [(K, 12, X.T @ Y, np.zeros(12), X.T @ Y, L1, l2, Y @ Y, -1.0, n) for l2, n in product(L2, PASSES)],
        rtol=1e-8,
        atol=1e-9,
    ),
    Twin(
        _jit.column_descent,
        column_descent,
        [(*SPARSE, l2, -1.0, n) for l2, n in product(L2, PASSES)],
        rtol=1e-8,
        atol=1e-9,
    ),
    Twin(
        _jit.duality_gap, duality_gap, [(5.0, 4.0, 3.0, 2.5, 1.0), (5.0, 4.0, 3.0, 0.5, 1.0), (2.0, 2.0, 0.0, 0.0, 1.0)]
    ),
    Twin(
        _jit.log_loss,
        log_loss,
        [classes(*shape) for shape in product((1, 3), (1.0, 40.0, 800.0))] + [beyond_doubt(n) for n in (1, 3)],
        atol=1e-300,
    ),
    Twin(
        _jit.column_moments,
        column_moments,
        [(SOME.data, SOME.indices, SOME.indptr, RNG.uniform(0.5, 2, 40), center) for center in (True, False)],
        atol=1e-14,
    ),
    Twin(_jit.row_gram, row_gram, [(ROWS.data, ROWS.indices, ROWS.indptr, 9), (*REVERSED, 9)], atol=1e-13),
]
