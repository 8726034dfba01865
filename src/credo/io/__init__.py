"""Reading tables, preparing their columns, and saving models.

    read_table(path) -> Sheet        split_target(frame, name) -> frame, y, notes
    target_task(frame, name) -> regression or classification, and why
    time_column(frame) -> the column that puts the rows in time order, or None
    Preparation().fit(frame)         TableModel(preparation, estimator, target).fit(frame)
    save(model, path)                load(path)

Contract: nothing is guessed silently. Every decision about a file or a column is made once, is reported in `notes`,
and can be overridden by an option; invalid input raises an error that names the file, line, row or column and says
what to do. Nothing in a table or in a model file is ever executed.

Members: `tables` (files to frames), `preparation` (frames to numbers), `files` (saving and loading models), and the
errors they raise. `Numbers`, `Days`, `Levels` and `Texts` are what a fitted preparation, and so a
model file, holds; their names here are part of the file format.

Not here: models, figures, the command line. pandas, pyarrow and openpyxl are imported when first needed.
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
    "Column", "ColumnError", "Form", "Manifest", "ModelFileError", "Outside", "Preparation", "Sheet", "TableError",
    "TableModel", "TableWarning", "Task", "TimeColumn", "describe", "load", "read_table", "replacing", "save",
    "split_target", "target_task", "time_column", "without_lone_classes",
]  # fmt: skip
