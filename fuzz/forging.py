"""Forged model files: a saved model with one thing changed, and checksums that are right again.

`each_field` lists every field of a saved model with the values that it shouldn't have; `at_random` changes anything,
the zip around it included.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

# Text that some parameter of some estimator may hold.
WORDS = (
    "", "auto", "optimize", "sample", "fixed", "heteroscedastic", "learn", "linear", "constant", "zero", "loo", "min",
    "pocket", "probit", "logit", "laplace", "ep", "mcmc", "one_vs_rest", "softmax", "gibbs", "normal", "1se", "rbf",
    "yeo-johnson", "x" * 200,
)  # fmt: skip
INTEGERS = (0, -1, 10**6, 2**62, True)
FLOATS = (0.0, -1.0, 1e300, -1e-300)

Path = tuple[Any, ...]


class Saved:
    """The members of a model file, taken apart: the state as a tree, the arrays by their numbers."""

    def __init__(
        self,
        members: dict[str, bytes],
        state: Any,
        arrays: dict[int, np.ndarray],
        changed: frozenset[int] = frozenset(),
    ) -> None:
        self.members, self.state, self.arrays, self.changed = members, state, arrays, changed

    @classmethod
    def of(cls, content: bytes) -> Saved:
        """Those of a file."""
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        names = [name for name in members if name.endswith(".npy")]
        arrays = {int(name[7:-4]): np.load(io.BytesIO(members[name])) for name in names}
        return cls(members, json.loads(members["state.json"]), arrays)

    def with_state(self, state: Any) -> Saved:
        return Saved(self.members, state, self.arrays, self.changed)

    def with_array(self, number: int, array: Any) -> Saved:
        members = {**self.members, f"arrays/{number}.npy": npy(array)}
        arrays = {**self.arrays, number: np.asarray(array)}
        forged = Saved(members, self.state, arrays, self.changed | {number})
        # The state is the same, so that its leaves and parts need not be listed again.
        forged.__dict__.update({name: self.__dict__[name] for name in ("leaves", "parts") if name in self.__dict__})
        return forged

    def content(self, **manifest: Any) -> bytes:
        """The file, with the checksums of an attacker who recomputed them."""
        return packed({**self.members, "state.json": json.dumps(self.state).encode()}, **manifest)

    @cached_property
    def leaves(self) -> list[tuple[Path, Any]]:
        return list(leaves(self.state))

    @cached_property
    def parts(self) -> list[tuple[Path, Any]]:
        return list(_parts(self.state))


def packed(members: dict[str, bytes], /, **manifest: Any) -> bytes:
    """A file of these members, with checksums that are right."""
    members = dict(members)
    page = json.loads(members.pop("manifest.json"))
    page["members"] = {name: [sha256(payload).hexdigest(), len(payload)] for name, payload in members.items()}
    page.update(manifest)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, payload in members.items():
            archive.writestr(name, payload)
        archive.writestr("manifest.json", json.dumps(page))
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def each_field(saved: Saved) -> Iterator[tuple[str, Callable[[], Saved]]]:
    """What is changed, and how the changed model is made."""
    for number, array in saved.arrays.items():
        name = _owner(saved, number)
        for what, other in arrays_like(array):
            yield f"{name}: {what}", lambda number=number, other=other: saved.with_array(number, other)
    for path, value in leaves(saved.state):
        for other in values_like(value):
            yield (
                f"{_name(path)}: {other!r:.60}",
                lambda path=path, other=other: saved.with_state(replaced(saved.state, path, other)),
            )
    for path, part in _parts(saved.state):
        ((tag, content),) = part.items()
        for i, fields in enumerate(content[1:] if _is_object(part) else (), 1):
            for name in fields:
                less = {key: value for key, value in fields.items() if key != name}
                yield (
                    f"{_name((*path, tag, i, name))}: taken away",
                    lambda place=(*path, tag, i), less=less: saved.with_state(replaced(saved.state, place, less)),
                )


def arrays_like(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The same array with another length, number of axes, values or type."""
    flat = array.ravel()
    yield "one row fewer", array[:-1]
    yield "twice as many rows", np.concatenate([array, array]) if array.ndim else np.stack([array, array])
    yield "empty", array[:0]
    yield "one axis more", array[..., None]
    yield "one axis fewer", flat if array.ndim > 1 else np.asarray(flat[0] if flat.size else 0, dtype=array.dtype)
    if array.ndim > 1:
        yield "one column fewer", np.ascontiguousarray(array[:, :-1])
        yield "more columns", np.concatenate([array] * 4, axis=1)
        yield "transposed", np.asfortranarray(array.T)
    if array.dtype.kind == "f":
        yield "NaN", np.full_like(array, np.nan)
        yield "infinity", np.full_like(array, np.inf)
        yield "huge", np.full_like(array, 1e300)
        yield "negative", -np.abs(array) - 1.0
        yield "single precision", array.astype(np.float32)
        yield "complex", array.astype(np.complex128)
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        yield "huge", np.full_like(array, min(10**6, info.max))
        yield "negative", np.full_like(array, max(-(10**6), info.min))
        yield "float", array.astype(np.float64) + 0.5
    if array.dtype.kind != "U":
        yield "text", np.full(array.shape, "x")


def values_like(value: Any) -> Iterator[Any]:
    """What else might stand where a number, a word or a list stands."""
    if isinstance(value, bool):
        yield from (not value, "yes")
    elif isinstance(value, int):
        yield from (other for other in INTEGERS if other != value)
    elif isinstance(value, float):
        yield from (*FLOATS, {"float": "7ff8000000000000"}, {"float": "7ff0000000000000"})
    elif isinstance(value, str):
        yield from (other for other in ("constant", "sample", "nonsense", 3) if other != value)
    elif isinstance(value, list) and len(value) < 1000:
        yield from ([], value[:-1], value * 2)
    elif value is None:
        yield from (0, "x", [1])


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of the state that is no array and no name of a class."""
    if isinstance(node, dict):
        ((tag, content),) = node.items() if len(node) == 1 else (("", None),)
        if tag == "array":
            return
        if tag in ("estimator", "value") and path[-2:] != ("dict",):
            for i, part in enumerate(content[1:], 1):
                for name, child in part.items():
                    yield from leaves(child, (*path, tag, i, name))
        elif tag == "dict" and isinstance(content, dict):
            for name, child in content.items():
                yield from leaves(child, (*path, tag, name))
        elif tag in ("tuple", "pairs", "sparse", "slice"):
            yield (*path, tag), content
            yield from leaves(content, (*path, tag))
        elif tag == "float":
            yield path, float(np.frombuffer(bytes.fromhex(content), dtype=">f8")[0])
        elif tag == "scalar":
            yield path, np.frombuffer(bytes.fromhex(content[1]), dtype=content[0])[0].item()
        elif tag == "objects":
            yield (*path, tag, 0), content[0]
            yield (*path, tag, 1), content[1]
    elif isinstance(node, list):
        yield path, node
        for i, child in enumerate(node[:3]):
            yield from leaves(child, (*path, i))
    else:
        yield path, node


def replaced(state: Any, path: Path, value: Any) -> Any:
    """The state with another value at one place; what isn't on the way there is shared with the given state."""
    if not path:
        return value
    copy = dict(state) if isinstance(state, dict) else list(state)
    copy[path[0]] = replaced(copy[path[0]], path[1:], value)
    return copy


def at_random(saved: Saved, others: list[Saved], rng: np.random.Generator) -> tuple[str, Saved | bytes]:
    """The model with one to three things changed; bytes where the change is one of the zip or the text in it."""
    inside, outside = [_field, _field, _array, _array, _array, _graft, _key], [_text, _member, _manifest, _bytes]
    words = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        change = inside[rng.integers(len(inside))]
        try:
            what, saved = change(saved, others, rng)
        except Exception:
            # What an earlier change left may have no such place.
            break
        words.append(what)
    if rng.random() < 0.2:
        what, content = outside[rng.integers(len(outside))](saved, rng)
        return ", ".join([*words, what]), content
    return ", ".join(words), saved


def _field(saved: Saved, others: list[Saved], rng: np.random.Generator) -> tuple[str, Saved]:
    path, value = saved.leaves[rng.integers(len(saved.leaves))]
    choices = [*values_like(value), *INTEGERS, *FLOATS, *WORDS, None, [], {"dict": {}}, {"tuple": [1, 2]}]
    if saved.arrays:
        choices += [{"array": _number(saved, rng)}] * 4
    other = choices[rng.integers(len(choices))]
    return f"{_name(path)}={other!r:.40}", saved.with_state(replaced(saved.state, path, other))


def _array(saved: Saved, others: list[Saved], rng: np.random.Generator) -> tuple[str, Saved]:
    number = _number(saved, rng)
    array = saved.arrays[number]
    choices = list(arrays_like(array))
    if array.size and array.dtype.kind in "fiu":
        spoiled = array.copy()
        values = [np.nan, np.inf, 1e308, -1.0, 0.0, 5e-324] if array.dtype.kind == "f" else [2**31, -1, 0]
        spoiled.flat[rng.integers(array.size)] = values[rng.integers(len(values))]
        choices += [("an entry", spoiled), ("an entry", spoiled)]
    what, other = [*choices, ("another", saved.arrays[_number(saved, rng)])][rng.integers(len(choices) + 1)]
    return f"{_owner(saved, number)} {what}", saved.with_array(number, other)


def _number(saved: Saved, rng: np.random.Generator) -> int:
    return list(saved.arrays)[rng.integers(len(saved.arrays))]


def _graft(saved: Saved, others: list[Saved], rng: np.random.Generator) -> tuple[str, Saved]:
    """A part of another model."""
    other = others[rng.integers(len(others))]
    path, _ = saved.parts[rng.integers(len(saved.parts))]
    _, part = other.parts[rng.integers(len(other.parts))]
    return f"{_name(path)} of another model", saved.with_state(replaced(saved.state, path, part))


def _key(saved: Saved, others: list[Saved], rng: np.random.Generator) -> tuple[str, Saved]:
    """An attribute taken away, given under another name, or put in."""
    places = [(path, *part.items()) for path, part in saved.parts if _is_object(part)]
    path, (tag, content) = places[rng.integers(len(places))]
    i = int(rng.integers(1, len(content)))
    fields = dict(content[i])
    name = list(fields)[rng.integers(len(fields))]
    what = ["taken away", "taken away", "renamed", "put in"][rng.integers(4)]
    if what == "put in":
        new = ["coef_", "__class__", "_held", "fit", "X_train_", "__dict__", "classes_"][rng.integers(7)]
        fields[new] = fields[name]
    else:
        value = fields.pop(name)
        if what == "renamed":
            fields[name + "_"] = value
    return f"{name} {what}", saved.with_state(replaced(saved.state, (*path, tag, i), fields))


def _text(saved: Saved, rng: np.random.Generator) -> tuple[str, bytes]:
    """Bytes of the state."""
    text = bytearray(json.dumps(saved.state).encode())
    at, size = int(rng.integers(len(text))), int(rng.integers(1, 9))
    signs = b'[]{}",:0123456789eE-.ntf\\'
    text[at : at + size] = bytes(signs[i] for i in rng.integers(len(signs), size=int(rng.integers(0, 9))))
    return "state's text", packed({**saved.members, "state.json": bytes(text)})


def _member(saved: Saved, rng: np.random.Generator) -> tuple[str, bytes]:
    """Bytes of an array's file, its header above all."""
    if not saved.arrays:
        return _text(saved, rng)
    name = f"arrays/{_number(saved, rng)}.npy"
    payload = bytearray(saved.members[name])
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(min(len(payload), 130)))
        payload[at] = rng.integers(256)
    return f"{name}'s bytes", Saved({**saved.members, name: bytes(payload)}, saved.state, {}).content()


def _manifest(saved: Saved, rng: np.random.Generator) -> tuple[str, bytes]:
    name = str(rng.choice(["class_name", "feature_names", "target", "format_version", "members", "format"]))
    return f"manifest's {name}", saved.content(**{name: [None, [], 0, "x", {}, -1][rng.integers(6)]})


def _bytes(saved: Saved, rng: np.random.Generator) -> tuple[str, bytes]:
    """Bytes of the zip: flipped, cut off, doubled or put in."""
    damaged = bytearray(saved.content())
    at, size = int(rng.integers(len(damaged))), int(rng.integers(1, 40))
    how = int(rng.integers(4))
    if how == 0:
        damaged[at] ^= int(rng.integers(1, 256))
    elif how == 1:
        del damaged[at : at + size]
    elif how == 2:
        damaged[at:at] = damaged[at : at + size]
    else:
        # The end records, where sizes and offsets are.
        damaged[-int(rng.integers(1, 60))] = int(rng.integers(256))
    return f"zip's byte {at}", bytes(damaged)


def _parts(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every tagged part of the state."""
    if isinstance(node, dict):
        if len(node) == 1:
            yield path, node
        for key, child in node.items():
            yield from _parts(child, (*path, key))
    elif isinstance(node, list):
        for i, child in enumerate(node[:20]):
            yield from _parts(child, (*path, i))


def _is_object(part: Any) -> bool:
    """Whether a part is an estimator or a value with its fields, and not a dictionary with such a key."""
    ((tag, content),) = part.items()
    return tag in ("estimator", "value") and isinstance(content, list)


def _name(path: Path) -> str:
    """A path without the tags of the encoding."""
    tags = ("estimator", "value", "dict")
    kept = [str(key) for i, key in enumerate(path) if key not in tags and not (i and path[i - 1] in tags[:2])]
    return ".".join(kept)


def _owner(saved: Saved, number: int) -> str:
    """Where the state names an array first."""
    return next((_name(path) for path, part in saved.parts if part == {"array": number}), f"array {number}")
