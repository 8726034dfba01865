"""The manifest of a model file: its class, the versions that wrote it, and the digest of every member."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import sklearn

from credo._version import __version__
from credo.io.errors import ModelFileError

FORMAT = "credo-model"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """What `describe` returns about a model file without loading the model.

    `members` gives each member's SHA-256 and size in bytes.
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


def to_json(manifest: Manifest) -> dict[str, Any]:
    """The manifest as a JSON object."""
    return {"format": FORMAT, **asdict(manifest)}


def from_json(page: Any) -> Manifest:
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
    names, members = page.get("feature_names"), page.get("members")
    strings = [page.get("class_name"), page.get("credo_version"), page.get("sklearn_version")]
    if (
        not all(isinstance(text, str) for text in strings)
        or not isinstance(page.get("target"), str | None)
        or not (names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names)))
        or not (isinstance(members, dict) and all(map(_is_entry, members.values())))
    ):
        raise ModelFileError("its manifest is damaged: an entry is missing or of the wrong type")
    return Manifest(
        class_name=page["class_name"],
        feature_names=None if names is None else tuple(names),
        target=page["target"],
        credo_version=page["credo_version"],
        sklearn_version=page["sklearn_version"],
        format_version=version,
        members={name: (digest, size) for name, (digest, size) in members.items()},
    )


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and type(entry[1]) is int
    )  # fmt: skip
