"""x"""

from credo.io.errors import ColumnError, ModelFileError, TableError, TableWarning
from credo.io.files import Manifest, describe, load, replacing, save
