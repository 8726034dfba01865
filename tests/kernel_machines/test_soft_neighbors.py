"""SoftNeighborsClassifier against its plain formula, brute-force leave-one-out, Nadaraya-Watson and its limits."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from credo import kernels
from credo.kernel_machines import NadarayaWatson, SoftNeighborsClassifier


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    return X, np.argmax(np.column_stack([X, 0.5 - X.sum(axis=1)]) + 0.7 * rng.normal(size=(60, 3)), axis=1)


def plain(kernel, X, y, new, *, smoothing, weight=1.0):
    """(V_c + a π_c) / (Σ V + a), class by class."""
    k = kernel.cross(new, X) * weight
    votes = np.column_stack([k[:, y == c].sum(axis=1) for c in range(y.max() + 1)])
    counts = np.array([np.sum((y == c) * weight) for c in range(y.max() + 1)])
    prior = (counts + 1) / np.sum(counts + 1)
    return (votes + smoothing * prior) / (votes.sum(axis=1, keepdims=True) + smoothing)


KERNELS = [
    kernels.RBF(0.7),
    kernels.RBF([0.5, 2.0], variance=3.0),
    kernels.Matern32(0.8) * kernels.Periodic(0.9, period=2.5).on(0),
    0.3 * kernels.RBF(0.5) + kernels.Exponential(2.0) + kernels.White(0.5),
    kernels.from_function(lambda x, z: float(np.exp(-np.abs(x - z).sum()))),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_is_the_share_of_votes(table, kernel, smoothing):
    X, y = table
    new, weight = X[:20] + 0.1, np.linspace(0.5, 3.0, len(y))
    model = SoftNeighborsClassifier(kernel, bandwidth=1.0, smoothing=smoothing)
    expected = plain(kernel, X, y, new, smoothing=smoothing)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(new), expected, rtol=1e-10)
    expected = plain(kernel, X, y, new, smoothing=smoothing, weight=weight)
    np.testing.assert_allclose(model.fit(X, y, sample_weight=weight).predict_proba(new), expected, rtol=1e-10)


def test_without_smoothing_it_is_nadaraya_watson_of_the_indicator(table):
    X, y = table[0], table[1] == 1
    model = SoftNeighborsClassifier(bandwidth=0.4, smoothing=0.0).fit(X, y)
    regression = NadarayaWatson(bandwidth=0.4).fit(X, y.astype(float))
    new = np.concatenate([X + 0.3, 100 * X])
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], regression.predict(new), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("smoothing", ["loo", 0.2])
def test_leave_one_out_by_brute_force(table, smoothing):
    X, y = table
    kernel = kernels.Matern52()
    model = SoftNeighborsClassifier(kernel, smoothing=smoothing).fit(X, y)
    best = int(np.argmin(model.loo_losses_))
    assert model.bandwidth_ == model.bandwidths_[best] and model.result_.n_iter == len(model.bandwidths_)
    assert model.result_.message == "bandwidth chosen by exact leave-one-out"
    assert smoothing == "loo" or model.smoothing_ == smoothing
    steps = [best] if smoothing == "loo" else [*range(0, len(model.bandwidths_), 12), best]
    for step in steps:
        without = SoftNeighborsClassifier(kernel, bandwidth=model.bandwidths_[step], smoothing=model.smoothing_)
        losses = [
            -without.fit(np.delete(X, i, 0), np.delete(y, i)).predict_log_proba(X[i : i + 1])[0, y[i]]
            for i in range(60)
        ]
        assert model.loo_losses_[step] == pytest.approx(np.mean(losses), rel=1e-9)


def test_no_finer_search_finds_a_clearly_better_choice(table):
    X, y = table
    model = SoftNeighborsClassifier().fit(X, y)
    counts, losses = np.bincount(y)[y], []
    typical = np.median((model.kernel_.gram(X) * (1 - np.eye(60))).sum(axis=1))
    for h in np.geomspace(0.05, 20, 100):
        K = kernels.RBF(h).gram(X) * (1 - np.eye(60))
        own, mass = (K * (y[:, None] == y)).sum(axis=1), K.sum(axis=1)
        losses += [-np.log((own + a * counts / 62) / (mass + a)).mean() for a in typical * np.geomspace(0.02, 10, 40)]
    assert model.loo_losses_.min() < np.min(losses) + 2e-3


def test_chosen_probabilities_beat_their_neighbours_out_of_sample():
    X, y = make_moons(300, noise=0.3, random_state=0)
    new, truth = make_moons(3000, noise=0.3, random_state=1)

    def loss(model):
        return -np.mean(np.log(model.fit(X, y).predict_proba(new)[np.arange(3000), truth]))

    model = SoftNeighborsClassifier()
    assert model.fit(X, y).score(new, truth) > 0.89
    for factor in (0.4, 2.5):
        assert loss(model) < loss(SoftNeighborsClassifier(bandwidth=model.bandwidth_ * factor))


def test_wide_kernels_give_the_frequencies(table):
    X, y = table
    table = SoftNeighborsClassifier(bandwidth=1e6, smoothing=0.0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(table, np.tile(np.bincount(y) / 60, (60, 1)), rtol=1e-9)


@pytest.mark.parametrize("kernel", [kernels.RBF(), kernels.Matern32()], ids=repr)
def test_narrow_kernels_give_the_nearest_row(table, kernel):
    """Where all kernel values underflow, the nearest row decides."""
    X, y = table
    new = np.random.default_rng(0).normal(size=(30, 2)) * 3
    nearest = KNeighborsClassifier(1).fit(X, y).predict(new)
    for h in (1e-4, 1e-9, 1e-100):
        model = SoftNeighborsClassifier(kernel, bandwidth=h, smoothing=0.0).fit(X, y)
        np.testing.assert_array_equal(model.predict(new), nearest)


def test_far_away_the_frequencies_come_back(table):
    X, y = table
    model = SoftNeighborsClassifier().fit(X, y)
    far = model.predict_proba([[1e3, 0.0], [0.0, -1e8], [1e200, 1e200]])
    np.testing.assert_allclose(far, np.tile((np.bincount(y) + 1) / 63, (3, 1)), rtol=1e-9)
    np.testing.assert_allclose(model.class_prior_, far[0], rtol=1e-12)
    outwards = model.predict_proba(np.outer(np.linspace(0, 12, 30), [1.0, 0.0]))
    away = np.abs(outwards - far[0]).sum(axis=1)
    assert away[-1] < 1e-3 < 0.3 < away.max()


def test_no_class_is_impossible(table):
    X, _ = table
    y = np.arange(60) // 20
    X = X * 0.1 + 50 * y[:, None]
    model = SoftNeighborsClassifier().fit(X, y)
    table = model.predict_proba(X)
    # Rule of succession: 60 rows that agree leave about 1/61 for other classes, of which π gives the two their parts.
    assert model.score(X, y) == 1.0
    assert np.median(1 - table[np.arange(60), y]) == pytest.approx(2 / 3 / 62, rel=0.05)
    assert (table > 1e-3).all()


@pytest.mark.parametrize("options", [{"bandwidth": 0.4}, {"smoothing": 0.1}])
def test_weights_are_copies(table, options):
    X, y = table
    weight = np.resize([1, 3, 2, 0], len(y))
    weighted = SoftNeighborsClassifier(**options).fit(X, y, sample_weight=weight)
    repeated = SoftNeighborsClassifier(**options).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert weighted.bandwidth_ == pytest.approx(repeated.bandwidth_, rel=1e-9)
    assert weighted.smoothing_ == pytest.approx(repeated.smoothing_, rel=1e-9)
    new = np.concatenate([X + 0.3, X * 5])
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), rtol=1e-8)


def test_equally_near_rows_share_where_the_kernel_is_zero():
    box = kernels.from_function(lambda x, z: float(abs(x[0] - z[0]) < 1.0))
    model = SoftNeighborsClassifier(box, smoothing=0.0).fit([[0.0], [10.0], [11.5]], ["a", "b", "b"])
    np.testing.assert_allclose(model.predict_proba([[0.5], [5.0], [1e9]])[:, 1], [0.0, 0.5, 1.0], atol=1e-12)
    assert model.bandwidth_ == 1.0 and "no free length scale" in model.result_.message
    np.testing.assert_allclose(
        SoftNeighborsClassifier(box).fit([[0.0], [10.0], [11.5]], ["a", "b", "b"]).predict_proba([[5.0]]), [[0.4, 0.6]]
    )


@pytest.mark.parametrize("scale", [1e-69, 1e-8, 1e8, 1e69])
def test_units_don_t_matter(table, scale):
    X, y = table
    ours, other = SoftNeighborsClassifier().fit(X, y), SoftNeighborsClassifier().fit(X * scale, y)
    assert other.bandwidth_ == pytest.approx(ours.bandwidth_ * scale)
    np.testing.assert_allclose(other.predict_proba(X * scale), ours.predict_proba(X), rtol=1e-7)


def test_rows_that_don_t_differ_and_few_rows():
    model = SoftNeighborsClassifier().fit(np.ones((4, 2)), [0, 0, 0, 1])
    assert "all rows are equal" in model.result_.message and model.predict([[1.0, 1.0]])[0] == 0
    two = SoftNeighborsClassifier().fit([[0.0], [1.0]], ["x", "y"])
    assert np.isfinite(two.predict_proba([[0.1], [50.0]])).all()


def test_small_blocks_and_samples_give_like_answers(table, monkeypatch):
    X, y = table
    whole = SoftNeighborsClassifier().fit(X, y)
    monkeypatch.setattr("credo.kernel_machines._rows.BLOCK_ENTRIES", 170)
    parts = SoftNeighborsClassifier().fit(X, y)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(parts.loo_losses_, whole.loo_losses_, rtol=1e-10)
    monkeypatch.undo()
    X, y = make_moons(1500, noise=0.3, random_state=0)
    monkeypatch.setattr("credo.kernel_machines.neighbors._MAX_PAIRS", 10**6)
    model = SoftNeighborsClassifier().fit(X, y)
    assert model.score(X, y) > 0.89


def test_refitting_forgets_the_path_and_summary_tells_what_there_is(table):
    X, y = table
    model = SoftNeighborsClassifier(kernels.RBF([1.0, 2.0])).fit(X, y)
    names = model.summary().columns["parameter"]
    assert {"bandwidth", "smoothing", "lengthscale of x1", "frequency of 2", "leave-one-out log loss"} <= set(names)
    model.set_params(bandwidth=1.0).fit(X, y)
    assert not hasattr(model, "loo_losses_") and model.result_.message == "bandwidth fixed"
    assert "leave-one-out log loss" not in model.summary().columns["parameter"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bandwidth": 0.0}, "bandwidth must be a positive finite number; got 0.0"),
        ({"bandwidth": "cv"}, "bandwidth must be a number or \"loo\"; got 'cv'"),
        ({"smoothing": -1.0}, "smoothing must be a finite number that is not negative; got -1.0"),
        ({"smoothing": "cv"}, "smoothing must be a number or \"loo\"; got 'cv'"),
        (
            {"kernel": kernels.Linear()},
            r"the kernel's values are used as weights, but Linear\(variance=1\) gives -1 between some of them",
        ),
        ({"kernel": kernels.Categorical(), "bandwidth": 2.0}, "has no free one: leave it at 1"),
        ({"kernel": "rbf"}, "kernel must be a kernel such as"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X = np.concatenate([np.eye(3), -np.eye(3)])
    with pytest.raises((ValueError, TypeError), match=message):
        SoftNeighborsClassifier(**arguments).fit(X, [0, 1, 0, 1, 0, 1])
