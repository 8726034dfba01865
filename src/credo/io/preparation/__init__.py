"""From the columns of a table to numbers that a model takes, with a note for every decision.

    numeric      as it is; true/false and yes/no as 1/0
    categorical  0/1 for each level except the most frequent, which is the reference
    text         0/1 for each word
    date         days since the first date
    missing      replaced by the median, with a 0/1 indicator (for categories, a separate level)

Contract: `Preparation` is a scikit-learn transformer of frames that learns the kinds, levels and medians in `fit`
and applies them unchanged in `transform`; new rows that hold something not seen in `fit` give a warning or an
error that names the column. Constant and empty columns and identifiers are left out with a note. `TableModel` is a
preparation and an estimator that are fitted, saved and used as one.

Members: `Preparation`, `Column`, `Form` (how a column is read), `TableModel`, `Outside` (rows outside the training
data), `time_column` (are the rows in time order?).

Not here: reading files (`credo.io.tables`), basis expansions (`credo.features`).
"""

from credo.io.preparation.encoders import Outside
from credo.io.preparation.kinds import Column, Form
from credo.io.preparation.table_model import TableModel, preparing_once
from credo.io.preparation.time_order import TimeColumn, time_column
from credo.io.preparation.transformer import Preparation

__all__ = ["Column", "Form", "Outside", "Preparation", "TableModel", "TimeColumn", "preparing_once", "time_column"]
