"""The search by Fisher scoring: what it finds, and the information that it uses."""

from dataclasses import replace

import numpy as np
import pytest

from credo import GPRegressor
from credo.core.learning.ascent import maximize, refine
from credo.gp import Gaussian
from credo.gp._observations import TrainingData
from credo.kernels import Matern32

RNG = np.random.default_rng(5)
X = RNG.uniform(0, 1, size=(250, 2))
Y = np.sin(6 * X[:, 0]) * np.cos(4 * X[:, 1]) + 0.2 * RNG.normal(size=250)


def objective(X, y, weight=None, *, method="vecchia", noise="learn"):
    weight = np.ones(len(X)) if weight is None else weight
    kernel, noise = Matern32([0.5, 0.5]), Gaussian(noise)
    data = TrainingData.of(X, y, weight, known=noise.known, standardize=noise.center_and_scale, mean="constant")
    return noise.objective(replace(data, method=method), kernel, kernel, False)


def test_it_reaches_the_maximum_of_lbfgs_in_fewer_evaluations():
    own = objective(X, Y)
    begin = own.hyperprior.center
    own = own.started(begin)
    scored = refine(own, begin, tolerance=1e-10, max_evaluations=200)
    slow = maximize(own, begin, tolerance=1e-10, max_evaluations=200)
    assert scored.converged and scored.inverse is not None
    assert scored.value == pytest.approx(slow.value, abs=1e-4)
    np.testing.assert_allclose(scored.vector, slow.vector, atol=0.01)
    assert scored.n_evaluations < slow.n_evaluations


def test_known_noise_is_no_parameter():
    learned, vector = objective(X[:60], Y[:60]), np.log([0.4, 0.7, 1.3, 0.05])
    known = objective(X[:60], Y[:60], noise=0.05 * np.var(Y[:60]))
    np.testing.assert_allclose(known.information(vector[:3]), learned.information(vector)[:3, :3], rtol=1e-6)


def test_a_weight_has_the_information_of_copies():
    """Of copies that are so far apart that they aren't merged. With 21 rows, all are neighbours."""
    weight, vector = np.tile([1, 2, 4], 3), np.log([0.4, 0.7, 1.3, 0.05])
    copies = np.repeat(X[:9], weight, axis=0)
    copies += 1e-7 * RNG.normal(size=copies.shape)
    merged, apart = objective(X[:9], Y[:9], weight.astype(float)), objective(copies, np.repeat(Y[:9], weight))
    # Without the lower limit of the noise that copies of rounded targets have.
    merged = replace(merged, extra=np.zeros(9))
    np.testing.assert_allclose(merged.information(vector), apart.information(vector), rtol=1e-4, atol=1e-4)


def test_other_representations_have_none():
    assert objective(X[:30], Y[:30], method="exact").information(np.zeros(4)) is None


def test_a_fit_with_missing_targets_uses_it():
    targets = np.column_stack([Y, X[:, 0] + 0.1 * RNG.normal(size=250)])[:120]
    targets[:10, 1] = np.nan
    model = GPRegressor(Matern32(0.5), method="vecchia", hyperparameters="optimize", n_restarts=0, random_state=0).fit(
        X[:120], targets
    )
    assert model.result_.converged
