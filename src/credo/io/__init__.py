"""Tables in, models out: files, and what their columns mean.

    read_table(path) -> Sheet        split_target(frame, name) -> frame, y, notes
    target_task(frame, name) -> regression or classification, and why
    time_column(frame) -> the column that puts the rows in time order, or None
    Preparation().fit(frame)         TableModel(preparation, estimator, target).fit(frame)
    save(model, path)                load(path)

Contract: nothing is guessed in silence. Whatever a file leaves open or a column needs is decided once, can be
overruled by an option, and is told in `notes`; whatever can't be right is refused with an error that names the
file, line, row or column and says what to do. Nothing in a table or in a model file is ever executed.

Members: `tables` (text and Parquet into frames), `preparation` (frames into numbers), `files` (models to disk and
back), and the errors they raise. `Numbers`, `Days`, `Levels` and `Texts` are what a fitted preparation, and so a
model file, holds; their names here are part of the file format.

Not here: models, pictures, the command line. pandas and pyarrow are imported when first needed.
"""

from credo.io.errors import ColumnError, ModelFileError, TableError, TableWarning
from credo.io.files import Manifest, describe, load, replacing, save
from credo.io.preparation import Column, Form, Outside, Preparation, TableModel, TimeColumn, time_column
from credo.io.preparation.encoders import Days as Days
from credo.io.preparation.encoders import Numbers as Numbers
from credo.io.preparation.encoders import Texts as Texts
from credo.io.preparation.levels import Levels as Levels
from credo.io.tables import Sheet, Task, read_table, split_target, target_task, without_lone_classes

__all__ = [
    "Column",
    "ColumnError",
    "Form",
    "Manifest",
    "ModelFileError",
    "Outside",
    "Preparation",
    "Sheet",
    "TableError",
    "TableModel",
    "TableWarning",
    "Task",
    "TimeColumn",
    "describe",
    "load",
    "read_table",
    "replacing",
    "save",
    "split_target",
    "target_task",
    "time_column",
    "without_lone_classes",
]
