"""Sampling: known distributions, chains that must be found wanting, walls, repeatability, export."""

import signal
import sys
import threading
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from credo.core.learning import Draws, sample, scatter
from credo.core.learning.sampling import extra
from credo.tables.files.encoding import Decoder, Encoder, npy

MEAN = np.array([1.0, -2.0, 0.5])
ROOT = np.array([[1.0, 0.0, 0.0], [0.9, 0.3, 0.0], [-2.0, 1.0, 3.0]])
PRECISION = np.linalg.inv(ROOT @ ROOT.T)
NAMES = ("a[0]", "a[1]", "b")


def gaussian(vector):
    """ln N(MEAN, ROOT ROOTᵀ) up to a constant."""
    slope = PRECISION @ (MEAN - vector)
    return 0.5 * float(slope @ (vector - MEAN)), slope


def two_hills(vector):
    """An equal mixture of N(−6, 1) and N(6, 1)."""
    logs = -0.5 * (vector[0] - np.array([-6.0, 6.0])) ** 2
    total = np.logaddexp(*logs)
    return float(total), np.array([float(np.exp(logs - total) @ (np.array([-6.0, 6.0]) - vector[0]))])


def funnel(vector):
    """Neal (2003): v ~ N(0, 9), and nine x ~ N(0, exp v)."""
    v, x = vector[0], vector[1:]
    squares = float(x @ x) * np.exp(-v)
    slope = np.append(-v / 9 + 0.5 * squares - 4.5, -x * np.exp(-v))
    return -0.5 * v**2 / 9 - 0.5 * squares - 4.5 * v, slope


def half_line(vector):
    """N(0, 1) twice, the first restricted to above zero."""
    if vector[0] <= 0:
        return -np.inf, np.zeros_like(vector)
    return -0.5 * float(vector @ vector), -vector


@pytest.fixture(scope="module")
def draws():
    starts = scatter(gaussian, MEAN, metric=ROOT, random_state=1)
    return sample(gaussian, starts, names=NAMES, metric=ROOT, random_state=2)


def test_a_correlated_gaussian_has_its_moments(draws):
    """Within five standard errors of as many independent draws as the effective sizes count."""
    flat = draws.values.reshape(-1, 3)
    z = np.linalg.solve(ROOT, (flat - MEAN).T)
    ess = min(draws.ess_bulk.min(), draws.ess_tail.min())
    assert draws.converged and ess > 400
    np.testing.assert_allclose(z.mean(axis=1), 0.0, atol=5 / np.sqrt(ess))
    np.testing.assert_allclose(np.cov(z), np.eye(3), atol=5 * np.sqrt(2 / ess))
    np.testing.assert_allclose(draws.log_density[1, 7], gaussian(draws.values[1, 7])[0], rtol=1e-10)


def test_without_a_metric_the_answer_is_the_same_and_costs_more(draws):
    rough = sample(gaussian, scatter(gaussian, MEAN, random_state=1), names=NAMES, random_state=3)
    ess = min(rough.ess_bulk.min(), rough.ess_tail.min())
    deviation = np.sqrt(np.diag(ROOT @ ROOT.T))
    np.testing.assert_allclose(rough.values.reshape(-1, 3).mean(axis=0), MEAN, atol=5 / np.sqrt(ess) * deviation.max())
    assert rough.n_evaluations > 1.3 * draws.n_evaluations


def test_a_wall_of_minus_infinity_is_respected_and_told():
    """The half normal has mean √(2/π); a step over the wall is rejected, and counted."""
    found = sample(half_line, [[0.3, 0.0], [1.0, 2.0], [2.0, -1.0], [0.5, 1.0]], names=["a", "b"], random_state=0)
    assert found.values[:, :, 0].min() > 0
    spread = np.sqrt((1 - 2 / np.pi) / found.ess_bulk[0])
    assert found.values[:, :, 0].mean() == pytest.approx(np.sqrt(2 / np.pi), abs=4 * spread)
    assert found.n_divergent > 0.005 * found.divergent.size and not found.converged
    assert f"{found.n_divergent} of 2000 steps diverged (at most 10 are acceptable)" in found.message


@pytest.mark.parametrize("wrong", [(np.nan, 0.0), (0.0, np.nan), (np.inf, 0.0)], ids=["value", "gradient", "summit"])
def test_what_is_not_a_number_is_a_wall_as_well(wrong):
    def objective(vector):
        return half_line(vector) if vector[0] > 0 else (wrong[0], np.full_like(vector, wrong[1]))

    found = sample(objective, [[0.3, 0.0], [1.0, 2.0]], names=["a", "b"], n_draws=50, n_tune=50, random_state=0)
    assert found.values[:, :, 0].min() > 0


def test_two_hills_are_told_by_r_hat():
    found = sample(two_hills, scatter(two_hills, [[-6.0], [6.0]], random_state=0), names=["place"], random_state=0)
    assert np.sign(found.values[:, 0, 0]).tolist() == [-1, 1, -1, 1]
    assert found.r_hat[0] > 1.5 and not found.converged
    assert "R-hat of place is" in found.message and "narrower priors" in found.message


def test_a_funnel_is_found_wanting():
    starts = scatter(funnel, np.zeros(10), random_state=1)
    found = sample(funnel, starts, names=["v", *(f"x[{i}]" for i in range(9))], n_draws=100, random_state=1)
    assert found.r_hat[0] > 1.05 and not found.converged
    assert found.message.startswith("4 chains of 100 draws did not converge: R-hat of v")


def test_chains_that_never_move_are_told_without_a_warning():
    starts = np.array([[1.0], [2.0]])

    def nowhere_else(vector):
        return (0.0, np.ones(1)) if vector in starts else (-np.inf, np.zeros(1))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sample(nowhere_else, starts, names=["a"], n_draws=20, n_tune=20, random_state=0)
    assert (found.values == starts[:, None, :]).all()
    assert found.n_divergent == 40 and not found.converged and "R-hat of a is" in found.message


def test_too_few_draws_are_told_with_a_number_that_is_enough(draws):
    few = sample(gaussian, draws.values[:, 0], names=NAMES, metric=ROOT, n_draws=60, random_state=0)
    judged = replace(few, r_hat=np.ones(3), ess_bulk=np.array([500.0, 120.0, 500.0]), ess_tail=np.full(3, 450.0))
    assert judged.message == (
        "4 chains of 60 draws did not converge: the effective sample size of a[1] is 120 (should be 400): "
        "set n_draws to about 200"
    )
    assert draws.message.startswith("converged; 4 chains of 500 draws, R-hat at most 1.0")


def test_a_few_divergences_are_forgiven_and_told(draws):
    divergent = np.zeros_like(draws.divergent)
    divergent[0, :10] = True
    some = replace(draws, divergent=divergent)
    assert some.converged and some.message.endswith(", 10 divergent")
    divergent[1, 0] = True
    assert not some.converged and "use narrower priors" in some.message


def split_r_hat(z):
    """Gelman et al. (2013, 11.4) on halves of chains: √(((n−1)/n·W + B/n) / W)."""
    half = z.shape[1] // 2
    halves = np.concatenate([z[:, :half], z[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = half * halves.mean(axis=1).var(ddof=1)
    return np.sqrt(((half - 1) / half * within + between / half) / within)


def scores(x):
    """Normal scores of the ranks over all chains (Vehtari et al. 2021, eq. 14)."""
    return ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))


def test_r_hat_is_the_published_formula(draws):
    for i in range(3):
        x = draws.values[:, :, i]
        expected = max(split_r_hat(scores(x)), split_r_hat(scores(np.abs(x - np.median(x)))))
        assert draws.r_hat[i] == pytest.approx(expected, rel=1e-12)


def test_the_same_seed_gives_the_same_draws_in_one_thread_or_two(draws):
    starts = scatter(gaussian, MEAN, metric=ROOT, random_state=1)
    again = sample(gaussian, starts, names=NAMES, metric=ROOT, random_state=2, n_jobs=2)
    np.testing.assert_array_equal(again.values, draws.values)
    np.testing.assert_array_equal(again.divergent, draws.divergent)
    assert again.n_evaluations == draws.n_evaluations
    other = sample(gaussian, starts, names=NAMES, metric=ROOT, n_draws=10, n_tune=20, random_state=3)
    assert not np.isin(other.values, draws.values).any()
    assert len(np.unique(other.values[:, -1, 0])) == 4


def test_the_objective_is_never_called_twice_at_once():
    busy = threading.Lock()

    def objective(vector):
        assert busy.acquire(blocking=False)
        try:
            return gaussian(vector)
        finally:
            busy.release()

    sample(objective, MEAN + np.eye(3), names=NAMES, n_draws=20, n_tune=20, random_state=0)


def test_a_start_on_the_summit_where_every_slope_is_zero():
    found = sample(gaussian, [MEAN, MEAN], names=NAMES, metric=ROOT, random_state=0)
    assert found.r_hat.max() < 1.02 and found.n_divergent == 0


def test_starts_are_overdispersed_around_each_mode_and_keep_off_walls():
    wide = scatter(gaussian, MEAN, n_chains=4000, metric=ROOT, random_state=0)
    np.testing.assert_allclose(np.cov(np.linalg.solve(ROOT, (wide - MEAN).T)), 4 * np.eye(3), atol=0.4)
    turns = scatter(two_hills, [[-6.0], [6.0]], n_chains=4, metric=[[0.1]], random_state=0)
    np.testing.assert_allclose(turns[:, 0], [-6, 6, -6, 6], atol=1.0)
    inside = scatter(half_line, [0.01, 0.0], n_chains=50, random_state=0)
    assert inside[:, 0].min() > 0


def test_thinned_draws_are_evenly_spaced_over_all_chains(draws):
    counted = replace(draws, values=np.arange(4 * 500.0).reshape(4, 500, 1), names=("a",))
    np.testing.assert_array_equal(counted.thinned(8)[:, 0], [125, 375, 625, 875, 1125, 1375, 1625, 1875])
    assert counted.thinned(3).shape == (3, 1)
    np.testing.assert_array_equal(counted.thinned(9999)[:, 0], np.arange(2000))
    with pytest.raises(ValueError, match="n must be at least 1; got 0"):
        draws.thinned(0)


def test_arviz_gets_every_draw_and_agrees_about_the_diagnostics(draws):
    az = extra("arviz", "this test")
    found = draws.to_arviz()
    np.testing.assert_array_equal(found.posterior["a"].values, draws.values[:, :, :2])
    np.testing.assert_array_equal(found.posterior["b"].values, draws.values[:, :, 2])
    np.testing.assert_array_equal(found.sample_stats["diverging"].values, draws.divergent)
    np.testing.assert_array_equal(found.sample_stats["lp"].values, draws.log_density)
    table = az.summary(found, round_to="none")
    assert table.index.tolist() == list(NAMES)
    np.testing.assert_allclose(table["r_hat"], draws.r_hat)
    np.testing.assert_allclose(table["ess_bulk"], draws.ess_bulk)
    np.testing.assert_allclose(table["ess_tail"], draws.ess_tail)


def test_the_next_arviz_gets_a_data_tree(draws, monkeypatch):
    """arviz-base is what ArviZ 1.0 takes its `from_dict` from."""
    monkeypatch.setitem(sys.modules, "arviz", pytest.importorskip("arviz_base"))
    tree = draws.to_arviz()
    assert type(tree).__name__ == "DataTree"
    np.testing.assert_array_equal(tree["posterior"]["a"].values, draws.values[:, :, :2])


def test_files_carry_draws_bit_for_bit(draws):
    encoder = Encoder()
    node = encoder.encode(draws, where="draws")
    payloads = {f"arrays/{number}.npy": npy(array) for number, array in enumerate(encoder.arrays)}
    back = Decoder(payloads.__getitem__).decode(node)
    assert isinstance(back, Draws) and back.message == draws.message
    for field in fields(Draws):
        np.testing.assert_array_equal(getattr(back, field.name), getattr(draws, field.name))


@pytest.mark.parametrize("missing", ["nutpie", "arviz_stats.base"])
def test_without_the_extra_it_says_what_to_install(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    library = missing.split(".")[0].replace("_", "-")
    with pytest.raises(ImportError, match=rf"needs {library}: pip install 'credo\[mcmc\]'"):
        sample(gaussian, [MEAN, MEAN + 1], names=NAMES, n_draws=10, n_tune=20)


def test_without_arviz_the_export_says_what_to_install(draws, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"exporting draws to ArviZ needs arviz: pip install 'credo\[mcmc\]'"):
        draws.to_arviz()


def test_a_library_that_warns_when_imported_is_not_heard(tmp_path, monkeypatch):
    (tmp_path / "chatty_library.py").write_text("import warnings\nwarnings.warn('news', FutureWarning)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert extra("chatty_library", "this test").__name__ == "chatty_library"


def test_nothing_is_written_and_an_error_of_the_objective_comes_out_as_it_is(capfd):
    calls = []

    def broken(vector):
        calls.append(vector)
        if len(calls) > 100:
            raise ZeroDivisionError("a fault in the objective")
        return gaussian(vector)

    with pytest.raises(ZeroDivisionError, match="a fault in the objective"):
        sample(broken, [MEAN, MEAN + 1], names=NAMES, random_state=0)
    assert len(calls) <= 102
    sample(gaussian, [MEAN, MEAN + 1], names=NAMES, n_draws=10, n_tune=20, random_state=0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="sends a signal to one thread")
def test_an_interrupt_from_the_keyboard_stops_all_chains():
    calls = []

    def objective(vector):
        calls.append(vector)
        if len(calls) == 50:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return gaussian(vector)

    # Workers that run tests in parallel ignore the keyboard.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            sample(objective, MEAN + np.eye(3), names=NAMES, n_draws=60_000, random_state=0)
    finally:
        signal.signal(signal.SIGINT, before)
    # Far fewer than the draws that were asked for, however long a busy machine takes to hand the signal on.
    assert len(calls) < 60_000


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match="n_draws must be at least 4; got 3"):
        sample(gaussian, [MEAN, MEAN + 1], names=NAMES, n_draws=3)


def test_a_start_behind_the_wall_is_refused():
    with pytest.raises(ValueError, match=r"start of chain 1, \[-1.0, 0.0\]: use starting points from"):
        sample(half_line, [[1.0, 0.0], [-1.0, 0.0]], names=["a", "b"])
