"""All subsets, against brute force and published numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.sparse.oracle import posterior, subsets
from tests.sparse.tables import attitude, hald, uscrime

from credo.sparse import _enumerate
from credo.sparse._design import Design
from credo.sparse._enumerate import enumerate_models
from credo.sparse._models import ModelPrior
from credo.sparse._slabs import slab_of

SLABS = {
    "bic": {},
    "g": {"g": 9.0},
    "zellner-siow": {},
    "normal": {"slab_variance": 0.5, "noise_variance": 0.8},
    "normal integrated": {"slab_variance": 0.5, "noise_variance": None},
}


def search(X, y, name, prior, find=enumerate_models, **options):
    slab_options = {key: options.pop(key) for key in ("g", "slab_variance", "noise_variance") if key in options}
    design = Design.of(X, y, unit="as given" if name == "normal" else "length")
    slab = slab_of(name, design.n, design.yy, X.shape[1], **slab_options)
    return find(design.X, design.y, slab, ModelPrior.of(prior, X.shape[1]), **options)


def data(n, d, seed=0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d))) + 2
    return X, 1 + X @ np.where(np.arange(d) % 2, 0.0, 0.4) + rng.normal(size=n)


@pytest.mark.parametrize("name", SLABS)
@pytest.mark.parametrize("prior", [0.3, "beta-binomial"])
def test_brute_force_agrees(name, prior):
    X, y = data(12, 4)
    options, name = SLABS[name], name.split()[0]
    found = search(X, y, name, prior, **options)
    models, probability, logs, mass = posterior(X, y, ModelPrior.of(prior, 4).log_prob, name, **options)
    assert_allclose(found.log_mass, mass, rtol=1e-8)
    listed = dict(zip(found.models, zip(found.probability, found.log_evidence, strict=True), strict=True))
    assert len(listed) == 16
    assert_allclose([listed[model][0] for model in models], probability, rtol=1e-6)
    assert_allclose([listed[model][1] for model in models], logs, rtol=1e-8)
    inside = [[j in model for model in models] for j in range(4)]
    assert_allclose(found.inclusion, np.array(inside) @ probability, rtol=1e-7)
    sizes = np.array([len(model) for model in models])
    assert_allclose(found.size_probability, [probability[sizes == k].sum() for k in range(5)], rtol=1e-7)


def test_uscrime_is_reproduced():
    X, y = uscrime()
    found = search(X, y, "bic", "beta-binomial")
    published = [0.9335117, 0.3276563, 0.9910219, 0.7246635, 0.4602481, 0.2935326, 0.3298168, 0.4962869, 0.8346412,
                 0.3481266, 0.7752102, 0.5253694, 0.9992058, 0.9541470, 0.5432686]  # fmt: skip
    assert_allclose(found.inclusion, published, atol=6e-8)
    uniform = search(X, y, "bic", 0.5)
    assert_allclose(uniform.inclusion[:5], [0.9094, 0.2286, 0.9920, 0.6873, 0.4037], atol=6e-5)


def test_hald_is_reproduced():
    found = search(*hald(), "zellner-siow", "beta-binomial")
    assert_allclose(found.inclusion, [0.97568, 0.75917, 0.28611, 0.42964], atol=6e-6)


def test_attitude_is_reproduced():
    found = search(*attitude(), "g", 0.5)
    assert_allclose(found.inclusion[[0, 2]], [0.9996, 0.406], atol=6e-4)
    assert found.models[:2] == ((0,), (0, 2))
    assert_allclose(found.probability[:2], [0.29, 0.16], atol=0.01)
    assert_allclose(found.size_probability @ np.arange(7), 2.11, atol=0.005)


def test_parts_and_threads_give_the_same(monkeypatch):
    X, y = data(40, 13)
    one = search(X, y, "zellner-siow", 0.2)
    monkeypatch.setattr(_enumerate, "_FEW", 99)
    whole = search(X, y, "zellner-siow", 0.2)
    assert_allclose(one.inclusion, whole.inclusion, rtol=1e-12)
    assert_allclose(one.coef_cov, whole.coef_cov, rtol=1e-9, atol=1e-14)
    assert one.models[:50] == whole.models[:50] and one.best_by_size == whole.best_by_size
    monkeypatch.setattr("credo.core.linalg.threads.n_threads", lambda: 1)
    monkeypatch.setattr(_enumerate, "_FEW", 12)
    alone = search(X, y, "zellner-siow", 0.2)
    np.testing.assert_array_equal(one.inclusion, alone.inclusion)
    np.testing.assert_array_equal(one.probability, alone.probability)


def test_best_subsets_are_best():
    X, y = data(30, 7)
    found = search(X, y, "bic", 0.5)
    design = np.column_stack([np.ones(30), X])

    def rest(model):
        columns = [0, *(j + 1 for j in model)]
        return np.linalg.lstsq(design[:, columns], y)[1][0]

    for k, best in enumerate(found.best_by_size):
        assert len(best) == k
        assert_allclose(rest(best), min(rest(model) for model in found.models if len(model) == k))


def test_scores_are_those_of_all_models():
    X, y = data(25, 9)
    found = search(X, y, "g", "beta-binomial", all_scores=True)
    scores = np.sort(found.diagnostics["scores"])[::-1]
    assert len(scores) == 2**9 and (np.diff(scores) <= 0).all()
    sizes = [len(model) for model in found.models]
    assert_allclose(scores, found.log_evidence + ModelPrior.of("beta-binomial", 9).log_prob(sizes), rtol=1e-10)
    assert_allclose(np.logaddexp.reduce(scores), found.log_mass, rtol=1e-12)
    assert not len(search(X, y, "g", 0.5).diagnostics["scores"])


def test_collinear_columns_make_no_models_of_their_own():
    X, y = data(30, 4)
    X = np.column_stack([X, X[:, 0], 3 * X[:, 1] - X[:, 2], -2 * X[:, 3] + 5])
    found = search(X, y, "g", 0.5)
    assert_allclose(found.inclusion[0], found.inclusion[4], rtol=1e-10)
    assert_allclose(found.inclusion[3], found.inclusion[6], rtol=1e-10)
    centred = X - X.mean(axis=0)
    independent = [model for model in subsets(7) if not model or np.linalg.matrix_rank(centred[:, model]) == len(model)]
    assert sorted(found.models) == sorted(independent)


def test_nearly_collinear_columns_keep_their_digits():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    noise = rng.normal(size=40)
    X = np.column_stack([x, x + 1e-6 * noise])
    y = noise + 0.1 * rng.normal(size=40)
    # The same two models in coordinates that aren't collinear.
    plain = search(np.column_stack([x, noise]), y, "g", 0.5)
    near = search(X, y, "g", 0.5)
    both = dict(zip(near.models, near.log_evidence, strict=True))[0, 1]
    assert_allclose(both, dict(zip(plain.models, plain.log_evidence, strict=True))[0, 1], rtol=1e-7)


def test_targets_without_noise_are_explained_by_what_made_them():
    X, _ = data(30, 8)
    found = search(X, 3 + 2 * X[:, 2] - X[:, 5], "bic", 0.5)
    assert found.map_model == (2, 5) and found.inclusion[[2, 5]].min() > 1 - 1e-9


def test_too_many_columns_are_refused_with_a_word():
    with pytest.raises(
        ValueError, match=r'2\^31 models; it goes up to 30 columns. Use search="gibbs", or credo.sparse'
    ):
        search(np.random.default_rng(0).normal(size=(50, 31)), np.arange(50.0), "bic", 0.5)


def test_more_columns_than_rows():
    X, y = data(8, 12)
    for name in ("g", "zellner-siow"):
        found = search(X, y, name, 0.2, n_models=5000)
        assert max(map(len, found.models)) == 6
        assert_allclose(found.size_probability.sum(), 1.0)
        assert np.isfinite(found.coef_mean).all()
    proper = search(X, y, "normal", 0.2, slab_variance=1.0, noise_variance=1.0, n_models=5000)
    assert max(map(len, proper.models)) == 12
    assert_allclose(proper.probability.sum(), 1.0)
