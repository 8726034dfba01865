"""Dask arrays and frames: the fits of the whole table, by threads and by a cluster of processes."""

import os
import signal
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.core.parts.test_logistic_parts import table as labelled
from tests.core.parts.test_parts import table

from credo import (
    BaggingRegressor,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    GPClassifier,
    GPRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    SpikeSlabRegressor,
)
from credo.core.parts import PartError, predict, predict_dist
from credo.core.parts import parts as _sample
from credo.kernels import RBF

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture
def threads():
    """One thread of this process, without a client."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process with one thread and little memory."""
    settings = {"distributed.worker.daemon": True, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, memory_limit="600MB", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def frames(X, y, n_partitions=4):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(y=y)
    return dd.from_pandas(frame, npartitions=n_partitions)


@pytest.mark.parametrize(
    "model", [LinearRegression(), Ridge(2.0), BayesianLinearRegression(), Lasso(0.05), SpikeSlabRegressor()], ids=repr
)
def test_arrays_equal_the_table_in_memory(threads, model):
    X, y, weight = table()
    whole = model.fit(X, y, weight).coef_
    lazy = da.from_array(X, chunks=(170, 2)), da.from_array(y, chunks=250), da.from_array(weight, chunks=600)
    np.testing.assert_allclose(model.fit(*lazy).coef_, whole, rtol=1e-10)
    np.testing.assert_allclose(model.fit(lazy[0], y, weight).coef_, whole, rtol=1e-10)


def test_partitions_of_unknown_sizes_some_of_them_empty(threads):
    X, y, _ = table()
    keep = X[:, 0] > 3.0
    keep[:200] = False
    whole = LinearRegression().fit(X[keep], y[keep])
    lazy, mask = da.from_array(X, chunks=(100, 2)), da.from_array(keep, chunks=100)
    found = LinearRegression().fit(lazy[mask], da.from_array(y, chunks=100)[mask])
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-10)
    part = frames(X, y, 6)
    part = part[part.c0 > 3.0]
    named = LinearRegression().fit(part[["c0", "c1"]], part[["y"]])
    kept = X[:, 0] > 3.0
    np.testing.assert_allclose(named.coef_, LinearRegression().fit(X[kept, :2], y[kept]).coef_, rtol=1e-10)
    assert list(named.feature_names_in_) == ["c0", "c1"]


def test_predictions_are_lazy(threads):
    X, y, _ = table()
    model = BayesianLinearRegression().fit(X, y)
    lazy = da.from_array(X, chunks=(170, 2))
    mean, std = model.predict(lazy, return_std=True)
    assert isinstance(mean, da.Array) and mean.chunks == ((170, 170, 170, 90),)
    np.testing.assert_allclose(mean.compute(), model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(std.compute(), model.predict(X, return_std=True)[1], rtol=1e-12)
    with pytest.raises(TypeError, match=r"credo.core.parts.predict\(model, X\)"):
        model.predict_dist(lazy)
    table_of = predict(model, lazy, level=0.5).compute()
    lower, upper = model.predict_dist(X).interval(0.5)
    np.testing.assert_allclose(table_of[["lower", "upper"]], np.column_stack([lower, upper]), rtol=1e-9)
    parts = dask.compute(*predict_dist(model, lazy))
    np.testing.assert_allclose(np.concatenate([part.mean for part in parts]), model.predict(X), rtol=1e-12)


def test_classes_of_frames(threads):
    X, y, _ = labelled(n_classes=3)
    lazy = frames(X, y)
    rows = lazy.drop(columns="y")
    whole = LogisticRegression().fit(X, y)
    found = LogisticRegression().fit(rows, lazy["y"])
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-7)
    np.testing.assert_array_equal(found.predict(rows).compute(), whole.predict(X))
    np.testing.assert_allclose(found.predict_proba(rows).compute(), whole.predict_proba(X), atol=1e-8)
    assert list(predict(found, rows).columns) == ["mode", "a", "b", "c"]
    with pytest.raises(ValueError, match="BayesianLogisticRegression does not fit from parts"):
        BayesianLogisticRegression().fit(rows, lazy["y"])


def test_errors_name_the_partition(threads):
    X, y, _ = table()
    X[333, 1] = np.nan
    lazy = da.from_array(X, chunks=(100, 5))
    with pytest.raises(PartError, match=r"partition 3: .*NaN"):
        LinearRegression().fit(lazy, y)
    with pytest.raises(ValueError, match="X has 600 rows, but y has 599"):
        LinearRegression().fit(lazy, y[1:])
    unknown = lazy[lazy[:, 0] > 0.0]
    with pytest.raises(TypeError, match="unknown sizes"):
        LinearRegression().fit(unknown, y)
    with pytest.raises(ValueError, match="X has 6 partitions, but y has 2"):
        LinearRegression().fit(unknown, da.from_array(y, chunks=300))
    with pytest.raises(ValueError, match="y is missing"):
        LinearRegression().fit(lazy)


def rows_of(number, kind, marker):
    """A part of a table. Part 3 ends its process, once, or always raises an error."""
    if number == 3 and kind == "dies once" and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 3 and kind == "fails":
        raise OSError("the disk is gone")
    rng = np.random.default_rng(number)
    X = rng.normal(size=(1000, 4))
    return np.column_stack([X, X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=1000)])


def in_parts(kind, marker, n_parts=8):
    parts = [
        da.from_delayed(dask.delayed(rows_of)(k, kind, str(marker)), shape=(1000, 5), dtype=float)
        for k in range(n_parts)
    ]
    both = da.concatenate(parts)
    return both[:, :4], both[:, 4]


def in_memory():
    both = np.concatenate([rows_of(k, "", "") for k in range(8)])
    return both[:, :4], both[:, 4]


def test_a_cluster_gives_the_same_fits_although_a_worker_dies(client, tmp_path):
    X, y = in_memory()
    marker = tmp_path / "died"
    found = BayesianLinearRegression().fit(*in_parts("dies once", marker))
    assert marker.exists()
    np.testing.assert_allclose(found.coef_, BayesianLinearRegression().fit(X, y).coef_, rtol=1e-10)
    lazy, target = in_parts("", marker)
    found = LogisticRegression().fit(lazy, target > 0)
    np.testing.assert_allclose(found.coef_, LogisticRegression().fit(X, y > 0).coef_, rtol=1e-7)
    np.testing.assert_allclose(found.predict_proba(lazy)[:10].compute(), found.predict_proba(X[:10]), rtol=1e-12)


def limit_sample(n):
    _sample._MAX_SAMPLE_ROWS = _sample._MIN_SAMPLE_ROWS = n


@pytest.mark.slow
def test_a_process_is_summed_by_the_workers(client, tmp_path, monkeypatch):
    for name in ("_MAX_SAMPLE_ROWS", "_MIN_SAMPLE_ROWS"):
        monkeypatch.setattr(_sample, name, 300)
    client.run(limit_sample, 300)
    X, y = in_memory()
    model = GPRegressor(RBF(np.ones(4)), noise=0.1, hyperparameters="fixed", n_inducing=50, random_state=0)
    found = model.fit(*in_parts("", tmp_path / "none"))
    here = clone(model).fit([(X[k : k + 1000], y[k : k + 1000]) for k in range(0, 8000, 1000)])
    assert found.posterior_.sums.weight == 8000 and len(found.X_train_) == 300
    assert found.log_evidence_ == pytest.approx(here.log_evidence_)
    np.testing.assert_allclose(found.predict(X[:20]), here.predict(X[:20]), rtol=1e-6)
    lazy, target = in_parts("", tmp_path / "none")
    classes = GPClassifier(RBF(np.ones(4)), hyperparameters="fixed", n_inducing=20, random_state=0)
    found = classes.fit(lazy, target > 0)
    here = clone(classes).fit([(X[k : k + 1000], y[k : k + 1000] > 0) for k in range(0, 8000, 1000)])
    assert found.log_evidence_ == pytest.approx(here.log_evidence_, abs=1e-4)


def test_a_partition_that_always_fails_is_named(client, tmp_path):
    with pytest.raises(PartError, match="partition 3 can't be computed: OSError: the disk is gone"):
        LinearRegression().fit(*in_parts("fails", tmp_path / "none"))


@pytest.mark.slow
def test_bagging_goes_through_the_backend_of_joblib(client):
    X, y, _ = table(200)
    bags = BaggingRegressor(LinearRegression(), n_estimators=6, random_state=0, n_jobs=2)
    here = bags.fit(X, y).predict(X)
    with joblib.parallel_config(backend="dask"):
        np.testing.assert_array_equal(bags.fit(X, y).predict(X), here)


@pytest.mark.slow
def test_a_table_larger_than_the_memory_of_the_workers(client):
    """2 GB of rows, where each worker may use 600 MB."""
    rng = da.random.default_rng(0)
    X = rng.normal(size=(31_250_000, 8), chunks=(250_000, 8))
    assert X.nbytes > 1.5 * 2 * 600e6
    y = X @ np.arange(8.0) + rng.normal(size=len(X), chunks=250_000)
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, np.arange(8.0), atol=2e-3)
    assert model.solution_.n_observations == 31_250_000
