"""Tables that come in parts, because they don't fit into memory or are on several machines.

    statistic(all rows) = merge(statistic(part 1), merge(statistic(part 2), …))

`fit` of `LinearRegression`, `Ridge`, `BayesianLinearRegression`, `Lasso`, `ElasticNet`, `LassoCV`,
`SpikeSlabRegressor`, `LogisticRegression` and `GPRegressor` accepts, besides arrays and frames:

- chunks, `fit(chunks)`: an iterable of tuples (X, y) or (X, y, weight), or a function that returns one. An iterator is
  enough for models that read the rows once; `LogisticRegression` reads them once for each Newton step, and
  `GPRegressor` twice. Models that would read them more than 20 times raise an error.
- Dask arrays or frames, `fit(X, y)`, with the same partitions in both: computed by the current Dask client if there is
  one. The fitted model is an ordinary one.

Both are `Parts`, whose `map_reduce(function, merge)` computes every statistic of the rows. A
part that can't be used raises a `PartError`, which names it.

>>> import numpy as np
>>> from credo import LinearRegression
>>> rng = np.random.default_rng(0)
>>> def chunks():
...     for _ in range(5):
...         X = rng.normal(size=(1000, 2))
...         yield X, X @ [1.0, -2.0] + 0.1 * rng.normal(size=1000)
>>> LinearRegression().fit(chunks()).coef_.round(2)
array([ 1., -2.])

Members: `RowSummary` and `summarize`, the statistic of linear regression; `read_parquet`, the chunks of Parquet files;
`predict` and `predict_dist`, predictions for Dask collections; `RowSample`, a random sample of the rows;
`survey_labels` and `Labels`, the classes; `Parts`, `Chunk`, `PartError`, `in_parts`, `parts_of` and `reject_parts`, for
models. What does not belong here: models, scheduling.
"""

from credo.core.parts.dask import DaskParts, in_parts, parts_of, predict, predict_dist, reject_parts
from credo.core.parts.labels import Labels, LabelSurvey, survey_labels
from credo.core.parts.parquet import READING, ParquetChunks, read_parquet, record_batches
from credo.core.parts.parts import Chunk, LocalParts, PartError, Parts, RowSample
from credo.core.parts.summary import (
    BLOCK_ENTRIES,
    RowSummary,
    centred,
    compensated_mean,
    r_factor,
    reduced,
    row_summary,
    summarize,
    summary_of,
    take_summary,
)

__all__ = [
    "BLOCK_ENTRIES",
    "READING",
    "Chunk",
    "DaskParts",
    "LabelSurvey",
    "Labels",
    "LocalParts",
    "ParquetChunks",
    "PartError",
    "Parts",
    "RowSample",
    "RowSummary",
    "centred",
    "compensated_mean",
    "in_parts",
    "parts_of",
    "predict",
    "predict_dist",
    "r_factor",
    "read_parquet",
    "record_batches",
    "reduced",
    "reject_parts",
    "row_summary",
    "summarize",
    "summary_of",
    "survey_labels",
    "take_summary",
]  # fmt: skip
