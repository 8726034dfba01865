"""Columns of a table into numbers that a model takes, with a sentence for everything that was decided.

    numeric      as it is; true/false and yes/no as 1/0
    categorical  0/1 for every level but the most frequent, which is the reference
    text         0/1 for every word that occurs
    date         days since the first date
    missing      the median stands in, and a 0/1 column says where (a level of its own for categories)

Contract: `Preparation` is a scikit-learn transformer of frames that learns the kinds, levels and medians in `fit`
and applies them unchanged in `transform`; what new rows hold that `fit` didn't see is warned about or refused
by name. Left out with a note: constant and empty columns, and identifiers. `TableModel` is a preparation and an
estimator that are fitted, saved and asked as one.

Members: `Preparation`, `Column`, `Form` (how a column is read), `TableModel`, `Outside` (rows outside the training
data), `time_column` (are the rows in time order?).

Not here: reading files (`credo.io.tables`), basis expansions (`credo.features`).
"""

from credo.io.preparation.kinds import Column, Form
from credo.io.preparation.outside import Outside
from credo.io.preparation.table_model import TableModel
from credo.io.preparation.time_order import TimeColumn, time_column
from credo.io.preparation.transformer import Preparation

__all__ = ["Column", "Form", "Outside", "Preparation", "TableModel", "TimeColumn", "time_column"]
