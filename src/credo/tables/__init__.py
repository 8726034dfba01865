"""Reading tables, preparing their columns, and saving models.

    read_table(path) -> Sheet        split_target(frame, name) -> frame, y, notes
    target_task(frame, name) -> regression or classification, and why
    target_support(y) -> the possible values of a target
    time_column(frame) -> the column that puts the rows in time order, or None
    Preparation().fit(frame)         TableModel(preparation, estimator, target).fit(frame)
    save(model, path)                load(path)

Files become frames (`read`, `text`, `formats`, `layout`, `target`): encoding, separator, decimal sign, header and words
for missing values are detected, can be set by options, and are noted if another reading is possible. Frames become
numbers (`kinds`, `encoders`, `learn`, `time_order`, `preparation`, `table_model`; `shift` compares new rows with the
training rows):

    numeric      as it is; true/false and yes/no as 1/0
    categorical  0/1 for each level except the most frequent, which is the reference; of many levels, their effects
    a scale      the place of each answer, and 0/1 for answers beside it, such as no answer
    text         0/1 for each word
    date         days since the first date, or since an earlier one of the row; hour, weekday and day of the year
    missing      replaced by the median, with a 0/1 indicator (for categories, a separate level)

Kinds, levels and medians are learned in `fit` and applied unchanged in `transform`; new rows with values not seen
in `fit` give a warning or an error that names the column. Constant and empty columns and identifiers are left
out with a note. `files` saves and loads models.

Contract: nothing is guessed silently. Every decision about a file or a column is made once, is reported in `notes`,
and can be overridden by an option; invalid input raises an error that names the file, line, row or column and says
what to do. Nothing in a table or in a model file is ever executed.

`groups` has what a model knows about units with several rows, such as patients; `gaps` how much wider its predictions
are for rows with missing values; `effects` has the effects of the levels of a category that has many; `events` which of
the times of a target ended with the event.

`Numbers`, `Days`, `Levels`, `Scale`, `Texts`, `Counts`, `Groups`, `Gaps` and `Event` are parts of fitted table models,
and so of model files: their names here are part of the file format.

What does not belong here: models, figures, the command line, basis expansions (`credo.features`). pandas, pyarrow and
openpyxl are imported when first needed.
"""

from credo.tables.encoders import Days as Days
from credo.tables.encoders import Levels as Levels
from credo.tables.encoders import Numbers as Numbers
from credo.tables.encoders import Outside
from credo.tables.encoders import Scale as Scale
from credo.tables.encoders import Texts as Texts
from credo.tables.errors import ColumnError, ModelFileError, TableError, TableWarning
from credo.tables.events import Event as Event
from credo.tables.files import Manifest, describe, load, replacing, save
from credo.tables.gaps import Gaps as Gaps
from credo.tables.groups import Groups as Groups
from credo.tables.kinds import Column, Form
from credo.tables.preparation import Preparation
from credo.tables.read import Sheet, read_table
from credo.tables.shift import Counts as Counts
from credo.tables.shift import Difference, Shift
from credo.tables.table_model import TableModel
from credo.tables.target import Task, class_order, split_target, target_support, target_task, without_lone_classes
from credo.tables.time_order import TimeColumn, time_column

__all__ = [
    "Column", "ColumnError", "Difference", "Form", "Manifest", "ModelFileError", "Outside", "Preparation", "Sheet",
    "Shift", "TableError", "TableModel", "TableWarning", "Task", "TimeColumn", "class_order", "describe", "load",
    "read_table", "replacing", "save", "split_target", "target_support", "target_task", "time_column",
    "without_lone_classes",
]  # fmt: skip
