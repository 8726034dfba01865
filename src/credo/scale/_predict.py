"""Predictive distributions for Dask arrays and frames, one partition at a time."""

from __future__ import annotations

from typing import Any

from credo.estimator import dask_module, example_rows, interval_level, row_partitions


def predict(model: Any, X: Any, *, level: float = 0.95) -> Any:
    """Means, standard deviations and intervals for the rows of a Dask array or frame.

    Nothing is computed until the result is, as by `to_parquet`; then each partition is predicted where it is.

    Parameters
    ----------
    model : fitted model with `predict_dist`
    X : Dask array or frame
    level : float, default 0.95
        Probability of the interval from `lower` to `upper`.

    Returns
    -------
    Dask frame with the partitions of X
        The columns of `predict_dist(...).to_frame(level)`: mean, std, lower, upper, or the most probable label and the
        probability of each class.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo import LinearRegression, scale
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9])
    >>> found = scale.predict(model, da.from_array([[4.0], [5.0]], chunks=(1, 1)))
    >>> found.npartitions, found.compute().round(2)["mean"].tolist()
    (2, [3.9, 4.86])
    """
    dask, dd = dask_module("dask"), dask_module("dask.dataframe")
    level = interval_level(level)
    meta = _frame(model, example_rows(X), level, None).iloc[:0]
    task, shared = dask.delayed(_frame, pure=False), dask.delayed(model, pure=False, traverse=False)
    return dd.from_delayed([task(shared, part, level, meta) for part in row_partitions(X)], meta=meta)


def predict_dist(model: Any, X: Any) -> list[Any]:
    """The predictive distribution of each partition of a Dask array or frame, as delayed values.

    `dask.compute(*predict_dist(model, X))` gives the distributions; functions of them can be delayed as well, so that
    only small results come back.

    Examples
    --------
    >>> import dask
    >>> import dask.array as da
    >>> from credo import LinearRegression, scale
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9])
    >>> parts = scale.predict_dist(model, da.from_array([[4.0], [5.0]], chunks=(1, 1)))
    >>> [dist.mean.round(2).tolist() for dist in dask.compute(*parts)]
    [[3.9], [4.86]]
    """
    dask = dask_module("dask")
    shared = dask.delayed(model, pure=False, traverse=False)
    return [dask.delayed(_dist, pure=False)(shared, part) for part in row_partitions(X)]


def _dist(model: Any, rows: Any) -> Any:
    return model.predict_dist(rows)


def _frame(model: Any, rows: Any, level: float, empty: Any) -> Any:
    """The predictions of a partition, with its index."""
    if empty is not None and not len(rows):
        return empty
    found = model.predict_dist(rows).to_frame(level, backend="pandas")
    return found.set_axis(rows.index, axis=0) if hasattr(rows, "index") else found
