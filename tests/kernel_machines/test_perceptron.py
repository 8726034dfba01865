"""KernelPerceptron against the primal perceptron on explicit features, and the laws of both."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from credo import kernels
from credo.core.estimator import FitWarning
from credo.kernel_machines import KernelPerceptron


def whole_numbers(n_samples=60, noise=0, seed=0):
    """Rows of whole numbers, so that no sum of products is rounded, on either side of a conic but for some."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, size=(n_samples, 2)).astype(float)
    y = np.where(X[:, 0] ** 2 + 3 * X[:, 1] > 20, 1, -1)
    return X, np.where(rng.permutation(n_samples) < noise, -y, y)


def quadratic(X):
    """The features of (xᵀz + 1)², with whole numbers under the root sign put into pairs."""
    a, b = X.T
    return np.column_stack([a**2, b**2, a * b, a * b, a, a, b, b, np.ones(len(X))])


def primal_perceptron(phi, y, n_epochs, seed=0):
    """Rosenblatt's rule for y = ±1: the last and the average w, and the mistakes on each row."""
    rng, w = np.random.default_rng(seed), np.zeros(phi.shape[1])
    mistakes, visited = np.zeros(len(y), dtype=int), []
    for _ in range(n_epochs):
        before = mistakes.sum()
        for i in rng.permutation(len(y)):
            if y[i] * (phi[i] @ w) <= 0:
                w = w + y[i] * phi[i]
                mistakes[i] += 1
            visited.append(w)
        if mistakes.sum() == before:
            break
    return w, np.mean(visited, axis=0), mistakes


SQUARE = kernels.Polynomial(degree=2, offset=1.0)


def test_equals_the_primal_perceptron_on_separable_rows():
    X, y = whole_numbers()
    model = KernelPerceptron(SQUARE, n_epochs=10_000, random_state=0).fit(X, y)
    w, _, mistakes = primal_perceptron(quadratic(X), y, 10_000)
    assert model.result_.converged and mistakes.sum() > 50
    np.testing.assert_array_equal(model.mistakes_, mistakes)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(mistakes))
    np.testing.assert_allclose(model.dual_coef_, (y * mistakes)[model.support_])
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    new = X + 0.3
    np.testing.assert_allclose(model.decision_function(new), quadratic(new) @ w, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), y)


def test_equals_the_average_primal_perceptron_where_rows_overlap():
    X, y = whole_numbers(noise=8)
    with pytest.warns(FitWarning, match="did not converge in 20 passes and averages f over all visits"):
        model = KernelPerceptron(SQUARE, n_epochs=20, random_state=0).fit(X, y)
    _, average, mistakes = primal_perceptron(quadratic(X), y, 20)
    np.testing.assert_allclose(model.decision_function(X), quadratic(X) @ average, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.mistakes_, mistakes)
    assert not model.result_.converged and "Try a larger n_epochs, a shorter length scale" in model.result_.message


def test_a_constant_in_the_kernel_is_a_bias():
    X, y = whole_numbers()
    y = np.where(X @ [1.0, -2.0] > 3, 1, -1)
    model = KernelPerceptron(kernels.Linear() + 1.0, n_epochs=10_000, random_state=0).fit(X, y)
    w = primal_perceptron(np.column_stack([X, np.ones(len(X))]), y, 10_000)[0]
    np.testing.assert_allclose(model.decision_function(X), X @ w[:2] + w[2], rtol=1e-9)
    assert model.result_.converged


def test_novikoff_s_bound_holds():
    """At most (R/γ)² mistakes: γ is the margin of any unit vector, here of the perceptron's own."""
    X, y = whole_numbers()
    model = KernelPerceptron(SQUARE, n_epochs=10_000, random_state=0).fit(X, y)
    coef, rows = model.dual_coef_, model.support_vectors_
    norm = np.sqrt(coef @ SQUARE.gram(rows) @ coef)
    margin = (y * model.decision_function(X)).min() / norm
    assert model.mistakes_.sum() <= SQUARE.diagonal(X).max() / margin**2


def test_separable_rows_leave_no_mistake_and_no_warning(recwarn):
    X, y = make_moons(200, noise=0.05, random_state=0)
    model = KernelPerceptron(random_state=0).fit(X, y)
    assert model.result_.converged and model.score(X, y) == 1.0 and not recwarn.list
    assert model.result_.message.startswith(f"converged after {model.result_.n_iter} passes")
    assert len(model.support_) == (model.mistakes_ > 0).sum() < 60


def test_noise_in_the_kernel_makes_all_rows_separable():
    """White adds to a row's likeness with itself alone: enough of it, and one mistake a row puts all right."""
    X, y = np.zeros((6, 1)), np.array([0, 1, 0, 1, 1, 0])
    model = KernelPerceptron(kernels.RBF() + kernels.White(100.0), random_state=0).fit(X, y)
    assert model.result_.converged and model.mistakes_.max() == 1


def test_bayes_boundary_is_met():
    """Two normal classes a distance of 3 apart: the best rule errs at Φ(−3/2) = 6.7 %."""
    rng = np.random.default_rng(0)
    y, test = rng.integers(0, 2, size=400), rng.integers(0, 2, size=4000)
    X, new = (rng.normal(size=(len(t), 2)) + np.outer(t, [3.0, 0.0]) for t in (y, test))
    with pytest.warns(FitWarning):
        model = KernelPerceptron(random_state=0).fit(X, y)
    assert np.mean(model.predict(new) != test) < 0.067 + 0.02


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_seeds():
    X, y = make_moons(100, noise=0.4, random_state=1)
    scores = [KernelPerceptron(n_epochs=3, random_state=seed).fit(X, y).decision_function(X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert np.abs(scores[0] - scores[2]).max() > 1e-3


def test_there_are_no_probabilities():
    model = KernelPerceptron(random_state=0).fit([[0.0], [1.0]], [0, 1])
    for name in ("predict_proba", "predict_log_proba", "predict_dist"):
        assert not hasattr(model, name) and not hasattr(KernelPerceptron, name)
    with pytest.raises(AttributeError, match="no probabilities, only scores: use decision_function, or SoftNeighbors"):
        model.predict_proba([[0.0]])


def test_summary_names_the_columns():
    model = KernelPerceptron(kernels.RBF([1.0, 2.0]), random_state=0).fit(np.eye(2), [0, 1])
    lines = dict(zip(*(model.summary().columns[name] for name in ("parameter", "estimate")), strict=True))
    assert lines["lengthscale of x1"] == 2.0 and lines["rows"] == 2 and lines["support rows"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_epochs": 0}, "n_epochs must be a whole number of at least 1; got 0"),
        ({"random_state": "x"}, "random_state must be None"),
        ({"kernel": "rbf"}, "kernel must be a kernel such as"),
        ({"kernel": lambda x, z: 1.0}, "credo.kernels.from_function"),
        ({"kernel": kernels.RBF([1.0, 2.0])}, "2 length scales, but X has 3 columns"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        KernelPerceptron(**arguments).fit(np.eye(3), [0, 1, 1])


def test_kernels_that_overflow_are_refused():
    with pytest.raises(ValueError, match="rescale the columns of X"):
        KernelPerceptron(kernels.Polynomial(degree=5), random_state=0).fit(1e65 * np.eye(3), [0, 1, 1])
