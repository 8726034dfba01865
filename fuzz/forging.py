"""Forged model files: a saved model with one thing changed, and checksums that are right again.

`each_field` lists every field of a saved model with the values that it shouldn't have; `at_random` changes anything,
the zip around it included.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
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
Forgery = tuple[str, bytes]


class Saved:
    """The members of a model file, taken apart."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.state = json.loads(self.members["state.json"])
        names = [name for name in self.members if name.endswith(".npy")]
        self.arrays = {int(name[7:-4]): np.load(io.BytesIO(self.members[name])) for name in names}

    def with_state(self, state: Any) -> bytes:
        return packed({**self.members, "state.json": json.dumps(state).encode()})

    def with_array(self, number: int, array: Any) -> bytes:
        return packed({**self.members, f"arrays/{number}.npy": npy(array)})


def packed(members: dict[str, bytes], **manifest: Any) -> bytes:
    """A file of these members, with the checksums of an attacker who recomputed them."""
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


def each_field(saved: Saved) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """What is changed, and how the file is made."""
    for number, array in saved.arrays.items():
        name = _owner(saved.state, number)
        for what, other in arrays_like(array):
            yield f"{name}: {what}", lambda number=number, other=other: saved.with_array(number, other)
    for path, value in leaves(saved.state):
        for other in values_like(value):
            yield (
                f"{_name(path)}: {other!r:.60}",
                lambda path=path, other=other: saved.with_state(replaced(saved.state, path, other)),
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
        yield "huge", np.full_like(array, 10**6)
        yield "negative", np.full_like(array, -(10**6))
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
    """A copy of the state with another value at one place."""
    if not path:
        return value
    state = deepcopy(state)
    here = state
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return state


def at_random(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    """The file with one to three things changed."""
    changes = [_field, _field, _array, _array, _array, _graft, _key, _text, _member, _manifest, _bytes]
    words = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        change = changes[rng.integers(len(changes))]
        try:
            what, content = change(content, others, rng)
        except Exception:
            # What an earlier change broke can't be taken apart again.
            break
        words.append(what)
    return ", ".join(words), content


def _field(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    saved = Saved(content)
    places = list(leaves(saved.state))
    path, value = places[rng.integers(len(places))]
    choices = [*values_like(value), *INTEGERS, *FLOATS, *WORDS, None, [], {"dict": {}}, {"tuple": [1, 2]}]
    if saved.arrays:
        choices += [{"array": int(rng.choice(list(saved.arrays)))}] * 4
    other = choices[rng.integers(len(choices))]
    return f"{_name(path)}={other!r:.40}", saved.with_state(replaced(saved.state, path, other))


def _array(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    saved = Saved(content)
    number = int(rng.choice(list(saved.arrays)))
    array = saved.arrays[number]
    choices = list(arrays_like(array))
    if array.size and array.dtype.kind in "fiu":
        spoiled = array.copy()
        values = [np.nan, np.inf, 1e308, -1.0, 0.0, 5e-324] if array.dtype.kind == "f" else [2**31, -1, 0]
        spoiled.flat[rng.integers(array.size)] = rng.choice(values)
        choices += [("an entry", spoiled), ("an entry", spoiled)]
    swap = saved.arrays[int(rng.choice(list(saved.arrays)))]
    what, other = [*choices, ("another", swap)][rng.integers(len(choices) + 1)]
    return f"{_owner(saved.state, number)} {what}", saved.with_array(number, other)


def _graft(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    """A part of another model."""
    saved, other = Saved(content), Saved(others[rng.integers(len(others))])
    parts, places = list(_parts(other.state)), list(_parts(saved.state))
    path, _ = places[rng.integers(len(places))]
    _, part = parts[rng.integers(len(parts))]
    return f"{_name(path)} of another model", saved.with_state(replaced(saved.state, path, part))


def _key(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    """An attribute taken away, given twice under another name, or put in."""
    saved = Saved(content)
    state = deepcopy(saved.state)
    parts = [part for _, part in _parts(state) if next(iter(part)) in ("estimator", "value")]
    ((_, inner),) = parts[rng.integers(len(parts))].items()
    fields = inner[rng.integers(1, len(inner))]
    names = list(fields)
    if not names:
        return "nothing", content
    name = names[rng.integers(len(names))]
    what = ["taken away", "renamed", "put in"][rng.integers(3)]
    if what == "put in":
        fields[str(rng.choice(["coef_", "__class__", "_held", "fit", "X_train_", "__dict__", "classes_"]))] = fields[
            name
        ]
    else:
        value = fields.pop(name)
        if what == "renamed":
            fields[name + "_"] = value
    return f"{name} {what}", saved.with_state(state)


def _text(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    """Bytes of the state."""
    saved = Saved(content)
    text = bytearray(saved.members["state.json"])
    at, size = int(rng.integers(len(text))), int(rng.integers(1, 9))
    text[at : at + size] = rng.choice(list(b'[]{}",:0123456789eE-.ntf\\'), size=int(rng.integers(0, 9))).astype(
        np.uint8
    )
    return "state's text", packed({**saved.members, "state.json": bytes(text)})


def _member(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    """Bytes of an array's file, its header above all."""
    saved = Saved(content)
    name = f"arrays/{rng.choice(list(saved.arrays))}.npy"
    payload = bytearray(saved.members[name])
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(min(len(payload), 130)))
        payload[at] = rng.integers(256)
    return f"{name}'s bytes", packed({**saved.members, name: bytes(payload)})


def _manifest(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    saved = Saved(content)
    name = str(rng.choice(["class_name", "feature_names", "target", "format_version", "members", "format"]))
    return f"manifest's {name}", packed(saved.members, **{name: [None, [], 0, "x", {}, -1][rng.integers(6)]})


def _bytes(content: bytes, others: list[bytes], rng: np.random.Generator) -> Forgery:
    """Bytes of the zip: flipped, cut off, doubled or put in."""
    damaged = bytearray(content)
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


def _name(path: Path) -> str:
    """A path without the tags of the encoding."""
    tags = ("estimator", "value", "dict")
    kept = [str(key) for i, key in enumerate(path) if key not in tags and not (i and path[i - 1] in tags[:2])]
    return ".".join(kept)


def _owner(node: Any, number: int) -> str:
    """Where the state names an array first."""
    for path, part in _parts(node):
        if part == {"array": number}:
            return _name(path)
    return f"array {number}"
