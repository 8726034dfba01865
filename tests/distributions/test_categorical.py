"""Classes of any label, and the ranked probability score where they are numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.distributions import oracles

from credo.distributions import Categorical, Empirical

PROBS = [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]


@pytest.mark.parametrize(
    "classes",
    [["a", "b", "c"], [10, -5, 7], [0.5, 1.5, 2.5], np.array(["x", 1, None], dtype=object), [b"p", b"q", b"r"]],
)
def test_labels_of_any_kind(classes: list) -> None:
    dist = Categorical(PROBS, classes=classes)
    np.testing.assert_allclose(dist.log_prob(np.asarray(classes)[[2, 0]]), np.log([0.5, 0.6]))
    assert dist.mode.tolist() == [np.asarray(classes)[2], np.asarray(classes)[0]]
    draws = dist.sample(2000, random_state=4)
    share = np.mean([[draw == classes[0] for draw in row] for row in draws.tolist()], axis=0)
    np.testing.assert_allclose(share, [0.2, 0.6], atol=5 * 0.5 / np.sqrt(2000))
    assert dist.log_prob(classes[1]).tolist() == np.log([0.3, 0.4]).tolist()


def test_booleans_and_numbers_that_are_equal_are_the_same_label() -> None:
    dist = Categorical([0.3, 0.7], classes=[False, True])
    np.testing.assert_array_equal(dist.log_prob([1.0, 0.0]), np.log([0.7, 0.3]))


def test_impossible_classes_have_log_probability_minus_infinity() -> None:
    assert Categorical(PROBS).log_prob(2).tolist() == [np.log(0.5), -np.inf]


def test_moments_and_quantiles_of_numbers_in_any_order() -> None:
    dist = Categorical(PROBS, classes=[10.0, -5.0, 7.0])
    np.testing.assert_allclose(dist.mean, [4.0, 4.0])
    np.testing.assert_allclose(dist.var, [0.2 * 36 + 0.3 * 81 + 0.5 * 9, 0.6 * 36 + 0.4 * 81])
    np.testing.assert_allclose(dist.cdf([[-5.0], [6.9], [7.0], [10.0]]), [[0.3, 0.4], [0.3, 0.4], [0.8, 0.4], [1, 1]])
    np.testing.assert_array_equal(dist.quantile([0.0, 0.3, 0.31, 0.8, 1.0]), [[-5, -5, 7, 7, 10], [-5, -5, -5, 10, 10]])


def test_ends_of_the_support_have_positive_probability() -> None:
    dist = Categorical([[0.0, 0.5, 0.5, 0.0], [1e-30, 1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(dist.quantile([0.0, 1.0]), [[1, 2], [0, 1]])


@given(hnp.arrays(float, 4, elements=st.floats(0.01, 1)), st.floats(-3, 6))
@settings(max_examples=30, deadline=None)
def test_ranked_probability_score(weights: np.ndarray, y: float) -> None:
    """Epstein's sum over thresholds for y among the classes; the definition's integral for any y."""
    probs = weights / weights.sum()
    dist = Categorical(probs)
    thresholds = np.arange(4)
    label = int(np.clip(round(y), 0, 3))
    expected = ((np.cumsum(probs) - (label <= thresholds)) ** 2).sum()
    np.testing.assert_allclose(dist.crps(label), expected, rtol=1e-9, atol=1e-12)
    expected = oracles.crps(lambda x: float(probs[thresholds <= x].sum()), y, points=thresholds)
    np.testing.assert_allclose(dist.crps(y), expected, atol=1e-8)


def test_equal_weights_are_the_empirical_distribution() -> None:
    values = np.array([3.0, -1.0, 8.0, 0.5])
    y = np.linspace(-4, 10, 29)
    np.testing.assert_allclose(Categorical(np.full(4, 0.25), classes=values).crps(y), Empirical(values).crps(y))


def test_labels_have_no_moments() -> None:
    dist = Categorical(PROBS, classes=["a", "b", "c"])
    for attempt, what in [
        (lambda: dist.mean, "mean"),
        (lambda: dist.std, "standard deviation"),
        (lambda: dist.cdf(0.0), "cdf"),
        (lambda: dist.crps(0.0), "CRPS"),
        (lambda: dist.quantile(0.5), "quantile"),
        (lambda: dist.interval(), "quantile"),
    ]:
        with pytest.raises(TypeError, match=f"labels such as 'a' have no {what}; use mode, probs and log_prob"):
            attempt()
    assert list(dist.to_frame().columns) == ["mode", "a", "b", "c"]
    assert dist.to_frame()["mode"].tolist() == ["c", "a"]


def test_probabilities_are_normalised_within_the_tolerance() -> None:
    dist = Categorical(np.array([[0.3, 0.7]], dtype=np.float32) * (1 + 5e-7))
    np.testing.assert_allclose(dist.probs.sum(axis=1), 1.0, rtol=1e-15)


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"probs of row 1 must sum to 1; they sum to 0.9"):
        Categorical([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ValueError, match=r"probs must be between 0 and 1; got -0.5 at index \(0, 0\)"):
        Categorical([-0.5, 1.5])
    with pytest.raises(ValueError, match=r"probs must not contain NaN; got nan at index 1"):
        Categorical([0.5, np.nan])
    with pytest.raises(ValueError, match=r"probs has 2 columns, but classes has the shape \(3,\)"):
        Categorical([0.5, 0.5], classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="classes must be distinct; got 'a' twice"):
        Categorical([0.5, 0.5], classes=["a", "a"])
    with pytest.raises(ValueError, match=r"classes must be finite; got nan at index 1"):
        Categorical([0.5, 0.5], classes=[0.0, np.nan])
    with pytest.raises(ValueError, match=r"probs must have the shape \(n_rows, n_classes\); got \(1, 1, 2\)"):
        Categorical([[[0.5, 0.5]]])
    dist = Categorical(PROBS, classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="y has 'd' at index 1, which is not among the classes 'a', 'b', 'c'"):
        dist.log_prob(["a", "d"])
    with pytest.raises(ValueError, match=r"y of shape \(3,\) doesn't match 2 rows"):
        dist.log_prob(["a", "b", "c"])
