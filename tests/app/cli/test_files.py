"""Outputs appear whole or not at all, and never in the place of an input."""

import os
import signal
import stat

import pytest

from credo.app.cli._files import check_outputs, staging


def test_published_files_replace_old_ones_together(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with staging(tmp_path) as stage:
        (stage.folder / "a.txt").write_text("new")
        (stage.folder / "b.txt").write_text("new")
        assert (tmp_path / "a.txt").read_text() == "old"
        assert not (tmp_path / "b.txt").exists()
        assert stage.publish() == {"a.txt": tmp_path / "a.txt", "b.txt": tmp_path / "b.txt"}
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "new", "b.txt": "new"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_interruption_leaves_everything_as_it_was(tmp_path, error):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(error), staging(tmp_path) as stage:
        (stage.folder / "a.txt").write_text("half of the ne")
        raise error
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


def test_folders_made_for_nothing_are_removed_again(tmp_path):
    with pytest.raises(ValueError), staging(tmp_path / "new" / "deep"):
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_written_is_found_before_the_work(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(PermissionError), staging(locked):
        raise AssertionError("the work must not begin")


def test_an_input_is_not_overwritten_even_through_a_link(tmp_path):
    source, link = tmp_path / "data.csv", tmp_path / "link.csv"
    source.write_text("x\n")
    link.symlink_to(source)
    check_outputs([source], [tmp_path / "other.csv"])
    with pytest.raises(ValueError, match=r"link\.csv is an input file and would be overwritten"):
        check_outputs([source], [link])


def test_a_request_to_end_waits_until_all_files_are_in_place(tmp_path, monkeypatch):
    def ended(number, frame):
        raise SystemExit(128 + number)

    def interrupted(source, target, replace=os.replace):
        signal.raise_signal(signal.SIGTERM)
        replace(source, target)

    previous = signal.signal(signal.SIGTERM, ended)
    try:
        with staging(tmp_path) as stage:
            for name in ("a.txt", "b.txt"):
                (stage.folder / name).write_text("new")
            monkeypatch.setattr(os, "replace", interrupted)
            stage.publish()
        assert signal.getsignal(signal.SIGTERM) is ended
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]
