"""Writing in one step: rights, links and failures."""

import os

import pytest

from medn_edu.files import write_atomically


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_rights_and_links_are_kept(tmp_path):
    """A private file stays private, a link stays a link, a new file has the usual rights."""
    private, link = tmp_path / "private", tmp_path / "link"
    private.write_text("old")
    private.chmod(0o600)
    link.symlink_to(private)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert private.read_text() == "new"
    assert private.stat().st_mode & 0o777 == 0o600
    (tmp_path / "usual").touch()
    write_atomically(tmp_path / "fresh", "new")
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    """When the disk is full, what was there is still there."""
    target = tmp_path / "table.csv"
    target.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"table.csv cannot be written: no space left on device"):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_not_replaced(tmp_path):
    """A device would be, where the superuser writes; a pipe stands for it here."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match=r"cannot be written: it is a device or a pipe"):
            write_atomically(path, "x")
    assert pipe.is_fifo()
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link"}
