"""Saving and loading models."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from credo.io.errors import ModelFileError, nearest
from credo.io.files.archive import (
    MANIFEST,
    MAX_JSON_BYTES,
    MAX_JSON_VALUES,
    MAX_MEMBERS,
    STATE,
    ArchiveReader,
    ArchiveWriter,
    n_values,
    to_bytes,
)
from credo.io.files.atomic import replacing
from credo.io.files.classes import class_name
from credo.io.files.decode import Decoder
from credo.io.files.encode import Encoder, npy
from credo.io.files.manifest import Manifest, from_json, to_json
from credo.notices import warn

MAX_BYTES = 2**31


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Save a model to a file that holds only data, no code.

    The file is a zip of JSON and `.npy` members. It is written completely or not at all: after an error or
    Ctrl-C, an existing file of that name is unchanged.

    Parameters
    ----------
    model : estimator
        One of Credo's, or a pipeline of Credo's and scikit-learn's plain transformers. Saved are its
        constructor's parameters and the attributes that end in an underscore.
    path : path of the file; the usual suffix is `.credo`

    Raises
    ------
    ModelFileError
        When a part can't be saved (a function, a random generator, a foreign class); the message names it.

    Examples
    --------
    >>> import tempfile
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
    if any(size > most for size, most in zip(sizes, (MAX_MEMBERS, MAX_JSON_BYTES, MAX_JSON_VALUES), strict=True)):
        raise ModelFileError(
            f"the model holds {sizes[0] - 2:,} arrays and {sizes[2]:,} other values in {sizes[1]:,} bytes; a file can "
            f"hold {MAX_MEMBERS - 2:,} arrays and {MAX_JSON_VALUES:,} other values in {MAX_JSON_BYTES:,} bytes"
        )
    with replacing(path) as handle, ArchiveWriter(handle) as writer:
        writer.add(STATE, state)
        for number, array in enumerate(encoder.arrays):
            writer.add(f"arrays/{number}.npy", npy(array))
        manifest = Manifest(
            class_name=class_name(type(model)),
            feature_names=_feature_names(model),
            target=_target(model),
            members=dict(writer.members),
        )
        writer.close(to_json(manifest))


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
        When the file is truncated, changed, too large, written by a newer Credo, or not a model.
    """

    return _open(path, max_bytes=max_bytes, read=_model)


def describe(path: str | os.PathLike[str]) -> Manifest:
    """The manifest of a model file; the model itself is not loaded.

    Returns
    -------
    Manifest
        Class, feature names, target, versions, and the digest and size of every member.
    """
    return _open(path, max_bytes=2**62, read=lambda archive, manifest: manifest)


def _open(path: str | os.PathLike[str], *, max_bytes: int, read: Callable[[ArchiveReader, Manifest], Any]) -> Any:
    """What `read` makes of an open model file; every complaint begins with the file's name."""
    file = Path(path)
    if not file.is_file():
        raise _missing(file)
    try:
        with ArchiveReader(file, max_bytes=max_bytes) as archive:
            manifest = from_json(archive.json(MANIFEST))
            return read(archive, manifest)
    except ModelFileError as error:
        raise ModelFileError(f"can't load {str(file)!r}: {error}") from None


def _missing(file: Path) -> OSError:
    if file.is_dir():
        return IsADirectoryError(f"{str(file)!r} is a folder; name the model file in it")
    if file.exists():
        return OSError(f"{str(file)!r} is a pipe or a device, not a model file")
    near = nearest(file.name, sorted(os.listdir(file.parent))[:10_000]) if file.parent.is_dir() else []
    hint = f"; did you mean {str(file.with_name(near[0]))!r}?" if near else ""
    return FileNotFoundError(f"there is no file {str(file)!r}{hint}")


def _model(archive: ArchiveReader, manifest: Manifest) -> BaseEstimator:
    """The model of an open file, whose members must be those that the manifest lists."""
    if archive.names - {MANIFEST} != manifest.members.keys():
        raise ModelFileError("its members differ from those in its manifest, so it was changed")
    state = archive.json(STATE, entry=manifest.members.get(STATE))
    decoder = Decoder(lambda number: _array_bytes(archive, manifest, number))
    model = decoder.decode(state)
    if not isinstance(model, BaseEstimator):
        raise ModelFileError("its state is not a model")
    if decoder.met_sklearn and manifest.sklearn_version != sklearn.__version__:
        found = InconsistentVersionWarning(
            estimator_name=type(model).__name__,
            current_sklearn_version=sklearn.__version__,
            original_sklearn_version=manifest.sklearn_version,
        )
        warn(found, stacklevel=4)
    return model


def _array_bytes(archive: ArchiveReader, manifest: Manifest, number: int) -> bytes:
    name = f"arrays/{number}.npy"
    if name not in manifest.members:
        raise ModelFileError(f"its member {name} is missing")
    return archive.read(name, entry=manifest.members[name])


def _feature_names(model: BaseEstimator) -> tuple[str, ...] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def _target(model: BaseEstimator) -> str | None:
    target = getattr(model, "target", None)
    return target if isinstance(target, str) else None
