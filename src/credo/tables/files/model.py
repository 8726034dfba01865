"""Saving and loading models."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from credo._version import __version__
from credo.core.fields import check
from credo.core.notices import warn
from credo.tables.errors import ModelFileError, existing
from credo.tables.files.archive import (
    MANIFEST,
    MAX_JSON_BYTES,
    MAX_JSON_VALUES,
    MAX_MEMBERS,
    STATE,
    ArchiveReader,
    ArchiveWriter,
    n_values,
    replacing,
    to_bytes,
)
from credo.tables.files.classes import class_name
from credo.tables.files.encoding import Decoder, Encoder, npy

MAX_BYTES = 2**31
FORMAT = "credo-model"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """The manifest of a model file, which `describe` returns without loading the model.

    `members` gives each member's SHA-256 and size in bytes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import credo
    >>> model = credo.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     credo.save(model, Path(folder) / "line.credo")
    ...     manifest = credo.tables.describe(Path(folder) / "line.credo")
    >>> manifest.class_name, manifest.format_version, manifest.n_bytes < 10_000
    ('credo.linear.LinearRegression', 1, True)
    """

    class_name: str
    feature_names: tuple[str, ...] | None = None
    target: str | None = None
    credo_version: str = __version__
    sklearn_version: str = sklearn.__version__
    format_version: int = FORMAT_VERSION
    members: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int:
        """The size of all members together."""
        return sum(size for _, size in self.members.values())


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Save a model to a file that holds only data, no code.

    The file is a zip of JSON and `.npy` members. It is written completely or not at all: after an error or
    Ctrl-C, an existing file of that name is unchanged.

    Parameters
    ----------
    model : estimator
        A Credo estimator, or a pipeline of those and scikit-learn's plain transformers. Its constructor's parameters
        and the attributes that end in an underscore are saved.
    path : path of the file; the usual suffix is `.credo`

    Raises
    ------
    ModelFileError
        If a part can't be saved (a function, a random generator, a foreign class); the message names it.

    Examples
    --------
    >>> import tempfile
    >>> from credo.tables import load, save
    >>> from pathlib import Path
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[1.0], [3.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(scaler, Path(folder) / "scaler.credo")
    ...     load(Path(folder) / "scaler.credo").mean_
    array([2.])
    """
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"save needs a model; got a {type(model).__qualname__}")
    encoder = Encoder()
    state = to_bytes(encoder.encode(model, where=type(model).__name__))
    sizes = len(encoder.arrays) + 2, len(state), n_values(state)
    limits = MAX_MEMBERS, MAX_JSON_BYTES, MAX_JSON_VALUES
    if any(map(operator.gt, sizes, limits)):
        held = "{:,} members and {:,} bytes with {:,} values of JSON"
        raise ModelFileError(f"the model needs {held.format(*sizes)}; a file can hold {held.format(*limits)}")
    names, target = getattr(model, "feature_names_in_", None), getattr(model, "target", None)
    with replacing(path) as handle, ArchiveWriter(handle) as writer:
        writer.add(STATE, state)
        for number, array in enumerate(encoder.arrays):
            writer.add(f"arrays/{number}.npy", npy(array))
        manifest = Manifest(
            class_name=class_name(type(model)),
            feature_names=None if names is None else tuple(str(name) for name in names),
            target=target if isinstance(target, str) else None,
            members=dict(writer.members),
        )
        writer.close({"format": FORMAT, **asdict(manifest)})


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Load a model that `save` wrote; it is identical bit for bit.

    Nothing in the file is executed: classes are looked up among Credo's and a fixed list of scikit-learn's.

    Parameters
    ----------
    path : path of the file
    max_bytes : int, default 2 GiB
        The largest size of the model; a larger file raises an error before it is read.

    Raises
    ------
    ModelFileError
        If the file is truncated, changed, too large, written by a newer Credo, or not a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import credo
    >>> model = credo.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     credo.save(model, Path(folder) / "line.credo")
    ...     same = credo.load(Path(folder) / "line.credo")
    >>> bool((same.coef_ == model.coef_).all())
    True
    """
    return _open(path, max_bytes=max_bytes, read=_model)


def describe(path: str | os.PathLike[str]) -> Manifest:
    """The manifest of a model file; the model itself is not loaded.

    Returns
    -------
    Manifest
        Class, feature names, target, versions, and the digest and size of every member.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import credo
    >>> model = credo.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     credo.save(model, Path(folder) / "line.credo")
    ...     credo.tables.describe(Path(folder) / "line.credo").class_name
    'credo.linear.LinearRegression'
    """
    return _open(path, max_bytes=2**62, read=lambda archive, manifest: manifest)


def _open(path: str | os.PathLike[str], *, max_bytes: int, read: Callable[[ArchiveReader, Manifest], Any]) -> Any:
    """The result of `read` on an open model file; error messages begin with the file's name."""
    file = existing(path, "a model file")
    try:
        with file.open("rb") as handle:
            archive = ArchiveReader(handle, max_bytes=max_bytes)
            return read(archive, _manifest(archive.json(MANIFEST)))
    except ModelFileError as error:
        raise ModelFileError(f"can't load {str(file)!r}: {error}") from None


def _manifest(page: Any) -> Manifest:
    """The manifest of a JSON object, each entry checked."""
    if not isinstance(page, dict) or page.get("format") != FORMAT:
        raise ModelFileError("it is a zip file, but not a Credo model: its manifest doesn't say so")
    version = page.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"its manifest is damaged: format_version is {version!r}")
    if version > FORMAT_VERSION:
        writer = page.get("credo_version")
        raise ModelFileError(
            f"it was written by a newer Credo ({str(writer)[:40]}, file format {version}); this is Credo "
            f"{__version__}, which reads formats up to {FORMAT_VERSION}. Upgrade: pip install --upgrade credo"
        )
    try:
        entries = {entry.name: page[entry.name] for entry in fields(Manifest)}
        entries["feature_names"] = _as_tuple(entries["feature_names"])
        entries["members"] = {name: _as_tuple(entry) for name, entry in entries["members"].items()}
        manifest = Manifest(**entries)
        check(manifest)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ModelFileError("its manifest is damaged: an entry is missing or of the wrong type") from None
    return manifest


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _model(archive: ArchiveReader, manifest: Manifest) -> BaseEstimator:
    """The model of an open file, whose members must be those that the manifest lists."""
    if archive.names - {MANIFEST} != manifest.members.keys():
        raise ModelFileError("its members differ from those in its manifest, so it was changed")
    state = archive.json(STATE, entry=manifest.members.get(STATE))
    decoder = Decoder(lambda name: archive.read(name, entry=manifest.members.get(name)))
    model = decoder.decode(state)
    if not isinstance(model, BaseEstimator):
        raise ModelFileError("its state is not a model")
    if decoder.met_sklearn and manifest.sklearn_version != sklearn.__version__:
        versions = {
            "current_sklearn_version": sklearn.__version__,
            "original_sklearn_version": manifest.sklearn_version,
        }
        warn(InconsistentVersionWarning(estimator_name=type(model).__name__, **versions), stacklevel=4)
    return model
