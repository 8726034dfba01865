"""A file appears whole or not at all."""

import gc
import io
import os
import stat
import sys
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from credo.tables import ModelFileError, load, replacing, save
from credo.tables.files import archive, model

MODEL = StandardScaler().fit(np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt(), MemoryError()], ids=repr)
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_failure_in_the_middle_leaves_the_old_file(failure, after, tmp_path, monkeypatch):
    path = tmp_path / "model.credo"
    save(MODEL, path)
    before = path.read_bytes()
    written = []

    def failing(self, name, payload):
        if len(written) == after:
            raise failure
        written.append(name)
        plain(self, name, payload)

    plain = archive.ArchiveWriter.add
    monkeypatch.setattr(archive.ArchiveWriter, "add", failing)
    with pytest.raises(type(failure)):
        save(MODEL, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["model.credo"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_system_call_leaves_no_trace(call, tmp_path, monkeypatch):
    def failing(*_):
        raise OSError("no")

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(OSError, match="no"):
        save(MODEL, tmp_path / "model.credo")
    assert list(tmp_path.iterdir()) == []


def test_a_refused_model_never_opens_the_file(tmp_path, monkeypatch):
    def opened(path):
        raise AssertionError("opened")

    monkeypatch.setattr(model, "replacing", opened)
    broken = StandardScaler()
    broken.value_ = print
    with pytest.raises(ModelFileError):
        save(broken, tmp_path / "model.credo")


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "real.credo", tmp_path / "link.credo"
    save(MODEL, target)
    link.symlink_to(target)
    save(StandardScaler(with_mean=False), link)
    assert link.is_symlink() and load(target).with_mean is False


def test_permissions_are_the_umask_s_or_the_old_file_s(tmp_path):
    fresh, kept = tmp_path / "fresh", tmp_path / "kept"
    (tmp_path / "plain").write_text("")
    save(MODEL, fresh)
    assert fresh.stat().st_mode == (tmp_path / "plain").stat().st_mode
    kept.write_text("")
    kept.chmod(0o640)
    save(MODEL, kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


def test_a_folder_or_a_missing_folder_is_refused_in_words(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        save(MODEL, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere' to write 'a' into; create it first"):
        save(MODEL, tmp_path / "nowhere" / "a")


def test_an_error_in_the_block_keeps_the_old_content(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as handle:
        handle.write(b"new")
        1 / 0
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_or_device_is_written_to_and_never_replaced(tmp_path):
    # What happens to a pipe would happen to /dev/null, for those who may write there.
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    received = []
    for path in (pipe, link):
        reader = Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
        reader.start()
        with replacing(path) as handle:
            handle.write(b"through")
        reader.join(timeout=5)
    assert received == [b"through"] * 2
    assert pipe.is_fifo()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_full_disk_is_one_error_and_not_a_second_one_later(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            if self.tell() > 500:
                raise OSError(28, "No space left on device")
            return super().write(data)

    @contextmanager
    def full(path):
        with Full() as handle:
            yield handle

    later = []
    monkeypatch.setattr(model, "replacing", full)
    monkeypatch.setattr(sys, "unraisablehook", later.append)
    with pytest.raises(OSError, match="No space left"):
        save(StandardScaler().fit(np.arange(400.0).reshape(2, 200)), tmp_path / "m.credo")
    gc.collect()
    assert later == []


def test_only_old_files_of_its_own_naming_are_removed(tmp_path):
    """A process that was killed left the first; another process writes the second; others belong to somebody else."""
    names = [f".model.credo.{end}.part" for end in ("0" * 16, "0123456789abcdef", "notes", "0123456789ABCDEF")]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    for name in [names[0], *names[2:]]:
        os.utime(tmp_path / name, (0, 0))
    with replacing(tmp_path / "other.credo") as handle:
        handle.write(b"whole")
    assert set(os.listdir(tmp_path)) == {*names, "other.credo"}
    with replacing(tmp_path / "model.credo") as handle:
        handle.write(b"whole")
    assert set(os.listdir(tmp_path)) == {*names[1:], "other.credo", "model.credo"}
