"""Writing in one step: rights, links, failures, and what is no regular file."""

import os
import socket
import stat
import subprocess
import sys

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


POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@POSIX
def test_a_private_file_is_private_while_it_is_written(tmp_path, monkeypatch):
    """Nobody else can open the temporary file that replaces it, whatever the usual rights are."""
    private, seen = tmp_path / "private", []
    private.touch(0o600)

    def look(_):
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir())

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(private, "new")
    assert seen == [0o600, 0o600]


@POSIX
def test_the_umask_of_the_moment_counts(tmp_path):
    """And it is never changed, not even for a moment, which other threads might notice."""
    code = (
        "import os, sys\n"
        "os.umask(0o077)\n"
        "os.umask, before = None, os.umask\n"
        "from medn_edu.files import write_atomically\n"
        "print(oct(write_atomically(sys.argv[1], 'x').stat().st_mode & 0o777))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "new"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0o600\n"


@pytest.fixture
def odd_files(tmp_path):
    """Everything that a name may stand for, but for a file."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to pipe").symlink_to("pipe")
    (tmp_path / "to device").symlink_to("device")
    try:  # one of our own: no test may endanger those of the system
        os.mknod(tmp_path / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        os.mkfifo(tmp_path / "device")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "to nowhere").symlink_to("no/file")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(tmp_path)  # addresses are short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        yield tmp_path


@POSIX
def test_what_is_no_regular_file_is_refused(odd_files):
    """A device stays a device; no pipe is waited for."""
    other = "it is a device, a pipe or a socket; expected the name of a regular file"
    reasons = {
        "folder": "it is a folder",
        "pipe": other,
        "to pipe": other,
        "device": other,
        "to device": other,
        "socket": other,
        "circle": "its links lead in a circle",
        "to nowhere": f"there is no folder {os.path.realpath(odd_files)}/no",
    }
    before = {path.name: path.lstat() for path in odd_files.iterdir()}
    assert set(before) == set(reasons)
    for name, why in reasons.items():
        with pytest.raises(OSError, match="cannot be written") as error:
            write_atomically(odd_files / name, "new")
        assert str(error.value) == f"{odd_files / name} cannot be written: {why}."
    after = {path.name: path.lstat() for path in odd_files.iterdir()}
    assert {name: (s.st_ino, s.st_mode, s.st_rdev) for name, s in after.items()} == {
        name: (s.st_ino, s.st_mode, s.st_rdev) for name, s in before.items()
    }


def test_a_name_that_no_file_can_have(tmp_path):
    """Python itself would speak of an embedded null byte, and of no file."""
    for name in ("nul\0byte", "x" * 300):
        with pytest.raises(OSError, match=r"cannot be written: .*\.$"):
            write_atomically(tmp_path / name, "new")
    assert not list(tmp_path.iterdir())


@POSIX
def test_a_dangling_link_is_filled(tmp_path):
    """As the shell would do."""
    (tmp_path / "link").symlink_to("file")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


@POSIX
def test_a_limit_on_sizes_leaves_the_old_file(tmp_path):
    """A real failure in the middle of writing, such as a full disk or a quota makes."""
    target = tmp_path / "table.csv"
    target.write_text("old")
    code = (
        "import resource, sys\n"
        "from medn_edu.files import write_atomically\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    write_atomically(sys.argv[1], 'x' * 5000)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, target], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{target} cannot be written: file too large.\n"
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
