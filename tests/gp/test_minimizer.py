"""Minimising by asking and telling: published minima, random search with the same budget, and the laws of a box."""

import numpy as np
import pandas as pd
import pytest

from credo.gp import GPRegressor
from credo.gp.minimizer import Minimizer
from credo.kernels import Matern52

BRANIN = [(-5.0, 10.0), (0.0, 15.0)]


def branin(x):
    a, b = x
    valley = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


def hartmann3(x):
    """Smallest value −3.86278 at (0.1146, 0.5556, 0.8525) (Dixon & Szegő 1978)."""
    A = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    P = np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) * 1e-4
    return -float(np.array([1, 1.2, 3, 3.2]) @ np.exp(-(A * (x - P) ** 2).sum(axis=1)))


def frozen(n_dims):
    """A model that needs no search for hyperparameters, for tests of the rest."""
    return GPRegressor(Matern52(np.full(n_dims, 0.4)), noise=1e-8, hyperparameters="fixed")


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_branin(seed):
    search = Minimizer(BRANIN, random_state=seed)
    best = search.minimize(branin, 34)
    assert best.y == pytest.approx(0.397887, abs=1e-2)
    assert best.y == search.history_.y[best.index] == branin(best.x)
    assert abs(best.mean - best.y) < 5 * best.std + 1e-6


@pytest.mark.slow
def test_hartmann_beats_random_search():
    found, drawn = [], []
    for seed in range(5):
        found.append(Minimizer([(0, 1)] * 3, random_state=seed).minimize(hartmann3, 20).y)
        drawn.append(min(map(hartmann3, np.random.default_rng(seed).uniform(size=(20, 3)))))
    assert np.median(found) + 3.86278 < 0.05
    assert np.median(drawn) + 3.86278 > 0.2


@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_a_noisy_function(seed):
    """sin 3x + x/2 has its minimum −2.3229 at −2.674, and one on the border that plain EI gets stuck in."""
    rng = np.random.default_rng(seed)

    def f(x):
        return np.sin(3 * x) + 0.5 * x

    search = Minimizer({"x": (-3.0, 3.0)}, random_state=seed)
    best = search.minimize(lambda x: f(x[0]) + 0.2 * rng.normal(), 22)
    assert f(best.x[0]) < -2.2
    assert abs(best.mean - f(best.x[0])) < 0.25
    assert best.index == np.argmin(search.model_.predict((search.history_.X + 3) / 6))


def test_batches_are_distinct_and_inside():
    search = Minimizer(
        {"a": (2.0, 3.0), "b": (1e-4, 1e2, "log"), "c": (-3, 12, "integer")}, model=frozen(3), random_state=0
    )
    for n in (5, 8, 7, 4):
        X = search.ask(n)
        assert X.shape == (n, 3)
        assert ((X >= [2.0, 1e-4, -3]) & (X <= [3.0, 1e2, 12])).all()
        np.testing.assert_array_equal(X[:, 2], np.round(X[:, 2]))
        unit = (X - [2.0, 0, -3.5]) / [1.0, 1, 16]
        unit[:, 1] = np.log(X[:, 1] / 1e-4) / np.log(1e6)
        gaps = np.abs(unit[:, None] - unit[None]).max(axis=2) + np.eye(n)
        assert gaps.min() > 1e-3
        search.tell(X, (X[:, 0] - 2.2) ** 2 + np.log(X[:, 1]) ** 2 + 0.1 * X[:, 2])
    assert len(search.history_.y) == 24


def test_points_that_are_still_out_are_not_asked_for_again():
    search = Minimizer([(0, 1)] * 2, model=frozen(2), n_initial=4, random_state=0)
    first = search.ask(4)
    search.tell(first, first.sum(axis=1))
    one, two = search.ask(), search.ask()
    assert np.abs(one - two).max() > 1e-3
    before = search.model_.predict(np.array([[0.3, 0.3]]))
    search.tell(two, two.sum(axis=1))
    assert len(search.history_.y) == 5
    assert search.model_.predict(np.array([[0.3, 0.3]])) != before


def test_a_believer_leaves_the_mean_as_it_is():
    search = Minimizer([(0, 1)] * 2, n_initial=6, random_state=0)
    X = search.ask(6)
    search.tell(X, np.cos(4 * X).sum(axis=1))
    search.ask(2)
    rows = np.random.default_rng(0).uniform(size=(30, 2))
    known, believed = (model.predict_dist(rows, latent=True) for model in (search.model_, search._believing()))
    np.testing.assert_allclose(believed.mean, known.mean, atol=1e-6)
    assert (believed.std <= known.std + 1e-9).all() and (believed.std < 0.9 * known.std).any()


def test_the_same_seed_asks_the_same():
    runs = [Minimizer(BRANIN, random_state=seed) for seed in (7, 7, 8)]
    for search in runs:
        search.minimize(branin, 9)
    np.testing.assert_array_equal(runs[0].history_.X, runs[1].history_.X)
    assert np.abs(runs[0].history_.X - runs[2].history_.X).max() > 0.1


def test_the_design_does_not_depend_on_the_size_of_the_batches():
    whole, parts = (
        Minimizer([(0, 1)] * 3, n_initial=40, random_state=0),
        Minimizer([(0, 1)] * 3, n_initial=40, random_state=0),
    )
    np.testing.assert_array_equal(whole.ask(20), np.vstack([parts.ask(7), parts.ask(13)]))
    # Sixteen points of a Sobol sequence have one point in each sixteenth of every axis.
    X = Minimizer([(0, 1)] * 3, n_initial=40, random_state=5).ask(16)
    np.testing.assert_array_equal(np.sort(np.floor(16 * X), axis=0), np.repeat(np.arange(16)[:, None], 3, axis=1))


def test_points_never_asked_for_count():
    search = Minimizer([(0, 10)], model=frozen(1), random_state=0).tell(
        [[1.0], [4.0], [7.0], [9.0]], [5.0, 1.0, 2.0, 6.0]
    )
    assert search.best_.x == [4.0] and search.best_.index == 1
    assert 4.0 < search.ask()[0, 0] < 7.0
    search.tell([5.0], 0.5)
    assert search.best_.y == 0.5 and search.best_.index == 4


def test_failures_are_remembered_and_avoided():
    search = Minimizer(BRANIN, random_state=1)
    best = search.minimize(lambda x: np.nan if x[0] < 0 or x[0] > 5 else branin(x), 26)
    history = search.history_
    failed = np.isnan(history.y)
    assert failed.any() and len(history.X) == 26
    assert best.y == history.y[best.index] and best.y < 2.0
    assert search.model_.X_train_.shape[0] == (~failed).sum()
    where = history.X[failed]
    assert np.abs((where[:, None] - where[None]) / 15).max(axis=2)[~np.eye(len(where), dtype=bool)].min() > 1e-3
    running = history.running_minimum
    assert (np.diff(running[~np.isnan(running)]) <= 0).all() and running[-1] == np.nanmin(history.y)


def test_failures_alone_go_on_with_the_design():
    search = Minimizer([(0, 1)], n_initial=3, random_state=0)
    for _ in range(6):
        search.tell(search.ask(), [np.inf])
    assert len(np.unique(search.history_.X)) == 6
    with pytest.raises(ValueError, match="no finite value is known yet"):
        search.best_


def test_whole_numbers():
    best = Minimizer({"n": (1, 30, "integer"), "rate": (1e-5, 1.0, "log")}, random_state=0).minimize(
        lambda x: (x[0] - 23) ** 2 / 50 + (np.log10(x[1]) + 2.3) ** 2, 20
    )
    assert best.x[0] == 23
    assert np.log10(best.x[1]) == pytest.approx(-2.3, abs=0.15)


def test_an_exception_can_be_survived():
    search = Minimizer([(0, 1)], model=frozen(1), n_initial=2, random_state=0)

    def broken(x):
        raise RuntimeError("the pump stopped")

    search.minimize(lambda x: float(x[0]), 3)
    with pytest.raises(RuntimeError, match="the pump stopped"):
        search.minimize(broken, 3)
    assert not len(search._pending) and len(search.history_.y) == 3
    search.minimize(lambda x: float(x[0]), 1)


def test_many_points_are_learned_by_updates_between_fits():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    # Noise keeps the covariance matrix well conditioned: a plane alone would have endless length scales.
    search = Minimizer([(0, 1)] * 2, random_state=0).tell(X, np.sin(6 * X).sum(axis=1) + 0.1 * rng.normal(size=60))
    kernel = search.model_.kernel_
    search.tell(X[:3] + 0.001, np.sin(6 * X[:3]).sum(axis=1) + 0.002)
    assert search.model_.kernel_ == kernel and len(search.model_.X_train_) == 63
    search.tell(rng.uniform(size=(12, 2)), rng.normal(size=12))
    assert search.model_.kernel_ != kernel


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([], "bounds is empty: give a"),
        ([(0, 1), (3, 3)], r"bounds of dimension 1 must be finite, with low below high; got \(3, 3\)"),
        ({"dose": (5, 2)}, r"bounds of dose must be finite, with low below high; got \(5, 2\)"),
        ([(0, np.inf)], r"bounds of dimension 0 must be finite.*got \(0, inf\)"),
        ([(0,)], r"bounds of dimension 0 must be a pair \(low, high\).*got \(0,\)"),
        ([("a", "b")], "must be a pair"),
        ({"rate": (0.0, 1.0, "log")}, "bounds of rate must be positive for a logarithmic scale"),
        ({"n": (0.5, 3, "integer")}, "bounds of n must be whole numbers for an integer scale"),
        ({"n": (0, 3, "cubic")}, 'bounds of n may end in "log" or "integer"'),
    ],
)
def test_bad_bounds_are_refused_in_words(bounds, message):
    with pytest.raises(ValueError, match=message):
        Minimizer(bounds)


def test_what_is_told_must_fit_the_box():
    search = Minimizer({"dose": (0, 10), "n": (1, 4, "integer")}, random_state=0)
    for X, y, message in [
        ([[11.0, 2]], [1.0], "row 0 of X has 11 for dose, which must be a number from 0 to 10: leave the row out"),
        ([[1.0, 2], [1.0, 2.5]], [1.0, 1.0], "row 1 of X has 2.5 for n, which must be a whole number from 1 to 4"),
        ([[np.nan, 2]], [1.0], "row 0 of X has nan for dose"),
        ([[1.0]], [1.0], r"X must have shape \(n, 2\), a column for each dimension; got \(1, 1\)"),
        ([[1.0, 2]], [1.0, 2.0], r"y must hold one value for each of the 1 points; got shape \(2,\)"),
        (pd.DataFrame({"n": [2], "dose": [1.0]}), [1.0], "X must have the columns dose, n in this order"),
    ]:
        with pytest.raises(ValueError, match=message):
            search.tell(X, y)
    assert len(search.history_.y) == 0
    search.tell(pd.DataFrame({"dose": [1.0], "n": [2]}), [None])
    assert np.isnan(search.history_.y).all()


def test_bad_arguments_are_refused_in_words():
    with pytest.raises(ValueError, match="n_initial must be a whole number of at least 1; got 0"):
        Minimizer([(0, 1)], n_initial=0)
    with pytest.raises(TypeError, match=r"model must be a GPRegressor.*got 'gp'"):
        Minimizer([(0, 1)], model="gp")
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        Minimizer([(0, 1)]).ask(0)


def test_named_dimensions_are_told_by_name():
    search = Minimizer({"dose": (0.0, 10.0), "heat": (1.0, 2.0)}, random_state=0).tell({"heat": 1.5, "dose": 2.0}, 0.1)
    assert search.history_.X.tolist() == [[2.0, 1.5]]
    assert repr(search) == "<Minimizer over dose in [0, 10], heat in [1, 2]: 1 points told>"
    with pytest.raises(ValueError, match="must name the dimensions dose, heat"):
        search.tell({"dose": 2.0}, 0.1)
