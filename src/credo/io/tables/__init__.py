"""From files of rows and columns to data frames, with a note for everything that was detected.

    path -> bytes -> text -> dialect -> frame + notes

Contract: `read_table` returns a `Sheet`; what a file leaves open (encoding, separator, decimal sign, header, the
words for missing values) is detected, can be set by an option, and is noted where another reading is possible.
A file that isn't a table raises a `TableError` that names the line.

Members: `read_table`, `Sheet`, `split_target`, `target_task` (does a target hold numbers or classes?),
`without_lone_classes`.

Not here: what columns mean to a model (`credo.io.preparation`).
"""

from credo.io.tables.read import Sheet, read_table
from credo.io.tables.target import Task, split_target, target_task, without_lone_classes

__all__ = ["Sheet", "Task", "read_table", "split_target", "target_task", "without_lone_classes"]
