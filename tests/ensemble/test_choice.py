"""The choice of a transformation: λ against scipy's, and the kind against what the data were made by."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import inv_boxcox

from credo.distributions import BoxCox, Identity, Log, YeoJohnson
from credo.ensemble import TransformedTarget, choose_transform


def rows(n=500, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ np.linspace(1.0, -1.0, p), rng.normal(size=n)


def fitted(kind, X, y, weight=None):
    return TransformedTarget(transformation=kind, random_state=0).fit(X, y, sample_weight=weight).transformation_


@pytest.mark.parametrize(("kind", "oracle"), [("box-cox", stats.boxcox), ("yeo-johnson", stats.yeojohnson)])
def test_without_inputs_the_power_is_scipy_s(kind, oracle):
    """scipy's has no unit: y is given to it in the unit that the fit takes."""
    y = np.random.default_rng(1).gamma(2.0, size=400)
    ours = fitted(kind, np.zeros((400, 1)), y)
    assert 0 < ours.power < 2
    assert ours.power == pytest.approx(oracle(y / ours.unit)[1], abs=0.006)


def test_the_power_is_that_of_the_residuals():
    """g(y) is linear in skewed inputs with normal noise; the y's own distribution would say another λ."""
    rng = np.random.default_rng(2)
    x = rng.exponential(size=2000)
    y = inv_boxcox(2 + 3 * x + 0.4 * rng.normal(size=2000), 0.5)
    given_x = fitted("box-cox", x[:, None], y)
    assert given_x.power == pytest.approx(0.5, abs=0.05)
    assert abs(stats.boxcox(y)[1] - 0.5) > 0.2


def test_kinds_are_found():
    X, f, noise = rows()
    assert choose_transform(X, f + noise, random_state=0) == Identity()
    assert choose_transform(X, 100 + f + noise, random_state=0) == Identity()
    assert choose_transform(X, np.exp(f + 0.5 * noise), random_state=0) == Log()
    root = choose_transform(X, (6 + f + 0.7 * noise) ** 2, random_state=0)
    assert isinstance(root, BoxCox) and root.power == pytest.approx(0.5, abs=0.15)
    signed = choose_transform(X, YeoJohnson(1.6, 2.0).inverse(f + noise), random_state=0)
    assert isinstance(signed, YeoJohnson) and signed.power > 1.2
    zeros = choose_transform(X, np.maximum(np.expm1(1 + f + 0.5 * noise), 0.0), random_state=0)
    assert isinstance(zeros, YeoJohnson) and zeros.power < 0.5


def test_one_mistyped_input_does_not_decide():
    """A length of 58.9 among lengths of 6: a held-out line through it would cost thousands of nats."""
    X, f, noise = rows(n=1000)
    y = np.exp(f + 0.3 * noise)
    X[7, 0] = 200.0
    assert choose_transform(X, y, random_state=0) == Log()


def test_units_do_not_matter():
    X, f, noise = rows()
    for y in (np.exp(f + 0.5 * noise), (6 + f + 0.7 * noise) ** 2, np.maximum(np.expm1(1 + f + 0.5 * noise), 0.0)):
        here, there = choose_transform(X, y, random_state=0), choose_transform(X, 2.0**30 * y, random_state=0)
        assert type(here) is type(there) and getattr(here, "power", 0) == getattr(there, "power", 0)


def test_weights_are_copies():
    X, f, noise = rows(n=120)
    y, weight = np.exp(f + 0.5 * noise), np.random.default_rng(0).integers(1, 4, 120)
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(120), weight))
    assert choose_transform(X, y, sample_weight=weight, random_state=0) == choose_transform(
        X[copies], y[copies], random_state=0
    )
    assert fitted("box-cox", X, y + 1, weight) == fitted("box-cox", X[copies], y[copies] + 1)


def test_any_table_will_do():
    X, f, noise = rows(n=300)
    y = np.exp(f + 0.5 * noise)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(word="x")
    frame.loc[3, "b"] = np.nan
    assert choose_transform(frame, y, random_state=0) == Log()
    assert choose_transform(sparse.csr_array(X), y, random_state=0) == Log()
    wide = np.random.default_rng(3).normal(size=(300, 400))
    assert choose_transform(np.column_stack([X, wide]), y, random_state=0) == Log()
    # Words alone say nothing about y, whose own distribution is then judged.
    assert choose_transform(frame[["word"]], y, random_state=0) == Log()
    assert choose_transform(X, np.full(300, 7.0), random_state=0) == Identity()
    assert choose_transform(X[:10], y[:10], random_state=0) == Identity()
