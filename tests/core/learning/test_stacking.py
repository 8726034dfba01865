"""Stacking weights against the optimality conditions and a grid."""

import numpy as np
import pytest

from credo.core.learning import stacking_weights


def value(log_scores, weights, share):
    with np.errstate(divide="ignore"):
        return share @ np.logaddexp.reduce(log_scores + np.log(weights), axis=1) / share.sum()


@pytest.mark.parametrize(("n", "k", "spread"), [(50, 3, 1.0), (400, 6, 0.1), (20, 30, 1.0), (100, 4, 300.0)])
def test_the_optimality_conditions_hold(n, k, spread):
    rng = np.random.default_rng(n)
    scores, share = spread * rng.normal(size=(n, k)), rng.uniform(0.1, 3.0, size=n)
    scores[:, 1] = scores[:, 0]
    weights = stacking_weights(scores, share)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1.0, abs=1e-12)
    with np.errstate(divide="ignore"):
        mixture = np.logaddexp.reduce(scores + np.log(weights), axis=1)
    gradient = share / share.sum() @ np.exp(scores - mixture[:, None])
    # The gradient is one where there is a weight, and no larger elsewhere.
    assert gradient.max() <= 1 + 1e-8
    np.testing.assert_allclose(gradient[weights > 1e-6], 1.0, atol=1e-5)


def test_no_point_of_a_grid_is_better():
    scores = np.random.default_rng(3).normal(size=(60, 3))
    share = np.ones(60)
    best = value(scores, stacking_weights(scores), share)
    grid = [np.array([a, b, 20 - a - b]) / 20 for a in range(21) for b in range(21 - a)]
    values = [value(scores, weights, share) for weights in grid]
    assert best >= max(values) and best < max(values) + 0.01


def test_outcomes_of_probability_zero_and_point_masses():
    # The first model forbids one outcome, the second another, and the third row is impossible for both.
    scores = np.array([[-np.inf, 0.0], [0.0, -np.inf], [-np.inf, -np.inf], [np.inf, 0.0]])
    np.testing.assert_allclose(stacking_weights(scores), [2 / 3, 1 / 3], atol=1e-9)
    np.testing.assert_allclose(stacking_weights(np.full((2, 2), -np.inf)), [0.5, 0.5])
