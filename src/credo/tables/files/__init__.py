"""Model files: a zip of JSON and `.npy` members that holds no executable code.

    manifest.json     format number, versions, class, feature names, and the SHA-256 of every other member
    state.json        the tree: constructor parameters, and attributes that end in an underscore
    arrays/0.npy …    every numeric array, bit for bit

Contract: `save` writes all or nothing; `load` returns the same bits or raises a `ModelFileError` that says what is
wrong. Classes are found by name, `credo.<package>.<Class>`, in Credo's own packages and in a fixed list of
scikit-learn's, so a file can't name code to run. Files can hold estimators, frozen dataclasses, and values with
`to_fields` and `from_fields`; a field or parameter that a file doesn't have takes its default. Members are stored
uncompressed, so that the size of a file bounds the memory it needs.

Members: `save`, `load`, `describe` (the manifest alone), `Manifest`, `replacing` (the atomic write).

Not here: tables (`credo.tables`), and any knowledge of a particular model.
"""

from credo.tables.files.archive import replacing
from credo.tables.files.model import Manifest, describe, load, save

__all__ = ["Manifest", "describe", "load", "replacing", "save"]
