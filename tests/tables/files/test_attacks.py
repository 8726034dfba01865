"""Damaged, forged and hostile model files: a clear sentence, and nothing executed, written or filled."""

import io
import json
import os
import pickle
import struct
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from hashlib import sha256

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from credo.linear import Ridge
from credo.tables import ModelFileError, describe, load, save

X = np.arange(12.0).reshape(6, 2) ** 1.5
MODEL = Pipeline([("scale", StandardScaler()), ("model", Ridge())]).fit(X, X[:, 0] - X[:, 1])


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model.credo"
    save(MODEL, path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.credo"


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forged(parts, *, manifest=None, infos=None, compression=zipfile.ZIP_STORED):
    """A file whose digests are right, whatever it holds: what an attacker would write."""
    parts = dict(parts)
    page = json.loads(parts.pop("manifest.json"))
    page["members"] = {name: [sha256(payload).hexdigest(), len(payload)] for name, payload in parts.items()}
    page.update(manifest or {})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, payload in parts.items():
            archive.writestr(name, payload)
        archive.writestr("manifest.json", json.dumps(page))
    return buffer.getvalue()


def with_state(good, state):
    payload = state if isinstance(state, bytes) else json.dumps(state).encode()
    return forged({**members(good), "state.json": payload})


def refused(path, content, message, **options):
    path.write_bytes(content)
    before = set(sys.modules)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path, **options)
    assert str(caught.value).startswith(f"can't load {str(path)!r}: ")
    return set(sys.modules) - before


def test_forging_itself_is_sound(good, path):
    path.write_bytes(forged(members(good)))
    assert load(path).predict(X).tobytes() == MODEL.predict(X).tobytes()


def test_truncation_anywhere(good, path):
    for end in sorted({0, 1, 3, 4, 10, 21, 22, *range(30, len(good), 97), len(good) - 1}):
        refused(path, good[:end], "empty|not a Credo model|truncated|damaged")


def test_appended_bytes(good, path):
    refused(path, good + b"\0", "truncated or has bytes appended")


def test_any_flipped_byte_is_noticed_or_harmless(good, path):
    expected = MODEL.predict(X).tobytes()
    for position in range(0, len(good), 13):
        damaged = bytearray(good)
        damaged[position] ^= 0x55
        path.write_bytes(damaged)
        with suppress(ModelFileError):
            assert load(path).predict(X).tobytes() == expected


def test_a_changed_member_with_a_right_checksum_of_the_zip(good, path):
    parts = members(good)
    name = next(name for name in parts if name.endswith(".npy"))
    page = json.loads(parts["manifest.json"])
    payload = bytearray(parts[name])
    payload[-1] ^= 1
    content = forged({**parts, name: bytes(payload)}, manifest={"members": page["members"]})
    refused(path, content, rf"member {name} was changed after it was written: the SHA-256 doesn't match")


def test_a_newer_format(good, path):
    content = forged(members(good), manifest={"format_version": 2, "credo_version": "9.9"})
    refused(path, content, r"written by a newer Credo \(9\.9, file format 2\).*pip install --upgrade credo")
    with pytest.raises(ModelFileError, match="newer Credo"):
        describe(path)


@pytest.mark.parametrize("version", [0, -1, 1.0, "1", None, True])
def test_a_senseless_format_number(version, good, path):
    refused(path, forged(members(good), manifest={"format_version": version}), "manifest is damaged: format_version")


@pytest.mark.parametrize(
    "entry",
    [{"class_name": 3}, {"members": []}, {"members": {"a": 1}}, {"feature_names": [1]}, {"target": {}}],
    ids=str,
)
def test_a_damaged_manifest(entry, good, path):
    refused(path, forged(members(good), manifest=entry), "manifest is damaged: an entry is missing or of the wrong")


def test_a_manifest_without_target(good, path):
    parts = members(good)
    page = json.loads(parts["manifest.json"])
    del page["target"]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in (parts | {"manifest.json": json.dumps(page).encode()}).items():
            archive.writestr(name, content)
    refused(path, buffer.getvalue(), "manifest is damaged: an entry is missing")


def test_foreign_files(path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<a/>")
    refused(path, buffer.getvalue(), "a zip file, but not a Credo model: it has no manifest")
    refused(path, b"x,y\n1,2\n", "not a Credo model file")
    refused(path, pickle.dumps(MODEL), "not a Credo model")
    refused(path, b"", "it is empty")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", '{"format": "other"}')
    refused(path, buffer.getvalue(), "not a Credo model: its manifest doesn't say so")


def test_a_missing_file_names_its_neighbour(tmp_path):
    save(MODEL, tmp_path / "model.credo")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*; did you mean .*model\.credo'"):
        load(tmp_path / "modle.credo")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_model_file(path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="is a pipe or a device, not a model file"):
        load(path)


def test_a_zip_bomb(good, path):
    parts = {**members(good), "arrays/0.npy": bytes(50_000_000)}
    content = forged(parts, compression=zipfile.ZIP_DEFLATED)
    assert len(content) < 200_000
    refused(path, content, "is compressed or encrypted, which Credo never does")


def test_a_member_that_declares_more_than_it_has(good, path):
    """The sizes in the directory of the zip are raised to 32 MiB in place."""
    content = bytearray(good)
    entry = content.rfind(b"PK\x01\x02")
    struct.pack_into("<II", content, entry + 20, 2**25, 2**25)
    refused(path, bytes(content), "damaged|cut short")


def test_the_size_limit_and_its_override(good, path):
    path.write_bytes(good)
    size = sum(map(len, members(good).values()))
    message = rf"holds {size:,} bytes, more than the limit of 100; .*load\(path, max_bytes={size}\)"
    with pytest.raises(ModelFileError, match=message):
        load(path, max_bytes=100)
    assert load(path, max_bytes=size).predict(X).tobytes() == MODEL.predict(X).tobytes()


def test_a_directory_of_millions_is_not_parsed(good, path, monkeypatch):
    def parsed(*_):
        raise AssertionError("parsed")

    monkeypatch.setattr("credo.tables.files.archive.ZipFile", parsed)
    content = bytearray(good)
    struct.pack_into("<HHI", content, len(content) - 14, 65_535, 65_535, 2**31)
    refused(path, bytes(content), "declares 65,535 members, but a model has at most 50,000")
    # The same through a zip64 record, which overrules the plain one.
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 10**9, 10**9, 46 * 10**9, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(good) - 22, 1)
    refused(path, good[:-22] + record + locator + good[-22:], "declares 1,000,000,000 members")
    elsewhere = struct.pack("<4sIQI", b"PK\x06\x07", 0, 0, 1)
    refused(path, good[:-22] + record + elsewhere + good[-22:], "its end records contradict each other")


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/etc/passwd", "arrays/../../x.npy", "arrays\\0.npy", "C:\\x.npy", "code.py", "arrays/"]
)
def test_names_that_point_elsewhere(name, good, path):
    buffer = io.BytesIO(good)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(name, b"x")
    refused(path, buffer.getvalue(), "holds a member that no model has")
    assert [item.name for item in path.parent.iterdir()] == ["model.credo"]


def test_two_members_of_one_name(good, path):
    buffer = io.BytesIO(good)
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("state.json", b"{}")
    refused(path, buffer.getvalue(), "two members with the same name")


def test_members_that_the_manifest_does_not_list(good, path):
    parts = members(good)
    buffer = io.BytesIO(good)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("arrays/77.npy", parts["arrays/0.npy"])
    refused(path, buffer.getvalue(), "differ from those in its manifest")
    page = json.loads(parts["manifest.json"])
    del parts["arrays/0.npy"]
    refused(path, forged(parts, manifest={"members": page["members"]}), "differ from those in its manifest")
    refused(path, forged(parts), r"member arrays/0\.npy is missing")


class Payload:
    def __reduce__(self):
        return (print, ("executed",))


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def header(text, payload=b""):
    body = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body + payload


BAD_ARRAYS = [
    (npy(np.array([Payload()], dtype=object), allow_pickle=True), "has the data type object, which model files can"),
    (npy(np.zeros(2, dtype="i4,f8")), "has the data type"),
    (npy(np.zeros(2, dtype=complex)), "has the data type complex128"),
    (pickle.dumps(Payload()), "is not an array"),
    (b"", "is not an array"),
    (b"\x93NUMPY\x07\x00" + bytes(100), "is not an array"),
    (npy(np.arange(3.0))[:-8], "doesn't hold as many numbers as it says"),
    (npy(np.arange(3.0)) + b"12345678", "doesn't hold as many numbers as it says"),
    (header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"), "doesn't hold as many numbers"),
    (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", bytes(8)), "no array|as many numbers"),
    (header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9999999999999999999999)}"), "is not an array"),
    # NumPy makes values of one character of those of none, and 4 GiB of nothing.
    (header("{'descr': '<U0', 'fortran_order': False, 'shape': (1073741824,)}"), "doesn't hold as many numbers"),
    (header("{'descr': 'O', 'fortran_order': False, 'shape': ()}"), "data type object"),
    (header("__import__('os').system('true')"), "is not an array"),
    (header("[" * 100), "is not an array"),
]


@pytest.mark.parametrize(("payload", "message"), BAD_ARRAYS, ids=range(len(BAD_ARRAYS)))
def test_hostile_arrays(payload, message, good, path, capsys):
    refused(path, forged({**members(good), "arrays/0.npy": payload}), message)
    assert "executed" not in capsys.readouterr().out


BAD_CLASSES = [
    "os.system", "builtins.eval", "subprocess.Popen", "sklearn.svm.SVR", "sklearn.pipeline.joblib",
    "credo.app.cli.main", "credo.__main__.main", "credo.app.cli.__main__.main", "credo.tables.files.model.Path",
    "credo.tables.files.model.os", "credo.tables.files.os.system", "credo.tables.save", "credo.linear.Nothing",
    "credo.nowhere.Thing", "credo.Ridge", "credo",
    "", "credo..linear.Ridge", "credo.linear.Ridge.fit", "credo.tables.files.archive.ArchiveWriter",
    "credo.app.serve.app.App", "numpy.ndarray", "../credo.linear.Ridge", "credo.tables.__builtins__.eval", "a" * 500,
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_CLASSES, ids=lambda name: name[:40] or "empty")
@pytest.mark.parametrize("tag", ["estimator", "value"])
def test_classes_that_no_file_may_name(tag, name, good, path):
    content = [name, {}, {}] if tag == "estimator" else [name, {}]
    imported = refused(path, with_state(good, {tag: content}), "names the class|neither an estimator|name is missing")
    assert not [module for module in imported if not module.startswith("credo.")]


SCALER = "sklearn.preprocessing.StandardScaler"
BAD_STATES = [
    (b"{", "not JSON"),
    (b'{"a": NaN}', "NaN isn't a JSON value"),
    (b'{"a": 1, "a": 2}', "'a' more than once"),
    (b"\xff\xfe", "not JSON"),
    (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    (b'{"tuple":[' * 300 + b"]}" * 300, "nested deeper than any model"),
    ([1, 2], "is not a model"),
    ({"function": "print"}, "'function', which this version of Credo doesn't know"),
    ({"__class__": 1}, "doesn't know"),
    ({"a": 1, "b": 2}, "damaged"),
    ({}, "damaged"),
    ({"estimator": [SCALER]}, "damaged"),
    ({"estimator": [SCALER, [], {}]}, "damaged"),
    ({"estimator": [SCALER, {"with_magic": True}, {}]}, r"parameters that this version doesn't know: \['with_magic'\]"),
    ({"estimator": [SCALER, {}, {"transform": 1}]}, "sets 'transform', which is not a fitted attribute"),
    ({"estimator": [SCALER, {}, {"__class__": 1}]}, "sets '__class__'"),
    ({"estimator": [SCALER, {}, {"a b_": 1}]}, "sets 'a b_'"),
    ({"estimator": ["sklearn.pipeline.Pipeline", {"steps": [], "memory": "/tmp/x"}, {}]}, "names a cache folder"),
    ({"estimator": ["sklearn.pipeline.Pipeline", {"steps": []}, {"feature_names_in_": 1}]}, "not a fitted attribute"),
    ({"value": ["credo.core.estimator.Result", {"converged": True}]}, r"lacks fields .*\['n_iter', 'message'\]"),
    (
        {"value": ["credo.core.estimator.Result", {"converged": True, "speed": 3}]},
        r"fields .* doesn't know: \['speed'\]",
    ),
    ({"value": ["credo.core.estimator._result.Result", {}]}, "not one that a model file may hold"),
    ({"value": ["credo.linear._Result", {}]}, "not one that a model file may hold"),
    ({"value": ["credo.linear.Ridge", {}]}, "not a plain value"),
    ({"estimator": ["credo.core.estimator.Result", {}, {}]}, "not an estimator"),
    ({"array": 10**7}, "array number"),
    ({"array": "../../etc/passwd"}, "array number"),
    ({"array": 999}, r"arrays/999\.npy is missing"),
    ({"scalar": ["<f8", "00"]}, "wrong size"),
    ({"scalar": ["O", "00" * 8]}, "data type object"),
    ({"scalar": ["<f8", "zz" * 8]}, "damaged"),
    ({"float": "00"}, "damaged"),
    ({"int": "0x"}, "damaged"),
    ({"type": "os.system"}, "damaged"),
    ({"dtype": "V10000000000"}, "damaged|data type"),
    ({"objects": [[10**9], []]}, "wrong length"),
    ({"objects": [[-1], []]}, "not a list of lengths"),
    ({"pairs": [[[], 1]]}, "damaged"),
    ({"sparse": ["bsr_array", [1, 1], []]}, "unknown sparse format"),
    ({"sparse": ["csr_array", [1, 1], [1, 2, 3]]}, "without its arrays"),
]


@pytest.mark.parametrize(("state", "message"), BAD_STATES, ids=range(len(BAD_STATES)))
def test_hostile_states(state, message, good, path):
    refused(path, with_state(good, state), message)


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 5, 2]), ([9, 1], [0, 1, 99])]
)
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix"])
def test_sparse_indices_that_point_outside(kind, indices, indptr, good, path):
    """Compiled code would follow them into foreign memory."""
    index = [np.array(indices), np.array(indptr)]
    parts = {f"arrays/{i}.npy": npy(part) for i, part in enumerate([np.ones(2), *index])}
    state = {"sparse": [kind, [2, 2], [{"array": 0}, {"array": 1}, {"array": 2}]]}
    kept = {"manifest.json": members(good)["manifest.json"]}
    refused(path, forged({**kept, **parts, "state.json": json.dumps(state).encode()}), "damaged")


def test_another_scikit_learn_is_warned_about(good, path):
    path.write_bytes(forged(members(good), manifest={"sklearn_version": "0.1"}))
    with pytest.warns(InconsistentVersionWarning, match=r"0\.1"):
        load(path)


def test_a_state_of_millions_of_empty_lists_is_counted_before_it_is_built(good, path):
    payload = b"[" + b"[]," * 9_000_000 + b"[]]"
    tracemalloc.start()
    refused(path, with_state(good, payload), r"state\.json holds up to [0-9,]+ values, more than any model needs")
    assert tracemalloc.get_traced_memory()[1] < 6 * len(payload)
    tracemalloc.stop()


def test_a_manifest_of_a_gigabyte_is_never_read(path):
    """Of zeros, which a file system needn't store, in a file of a few blocks."""
    name, size = b"manifest.json", 2**30
    head = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 33, 0, size, size, len(name), 0) + name
    entry = (
        struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, size, size, len(name), 0, 0, 0, 0, 0, 0) + name
    )
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(head) + size, 0)
    with path.open("wb") as handle:
        handle.write(head)
        handle.seek(len(head) + size)
        handle.write(entry + end)
    tracemalloc.start()
    for ask in (describe, load):
        with pytest.raises(ModelFileError, match=r"manifest\.json holds 1,073,741,824 bytes, more than any"):
            ask(path)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_model_that_could_not_be_loaded_is_not_saved(path, monkeypatch):
    monkeypatch.setattr("credo.tables.files.model.MAX_JSON_VALUES", 40_000)
    model = Ridge().fit(X, X[:, 0])
    model.notes_ = [0] * 50_000
    with pytest.raises(ModelFileError, match=r"needs [0-9]+ members and [0-9,]+ bytes with 50,[0-9]+ values"):
        save(model, path)
    assert not path.exists()
