"""Writing in one step: rights, links, failures, and what is no regular file."""

import os
import socket
import stat
import subprocess
import sys

import pytest

from medn_edu.files import write_atomically

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files and rights")


def printed(code, path):
    """What Python code with ``write_atomically`` prints; ``path`` is its argument."""
    code = f"import os, sys\nfrom medn_edu.files import write_atomically\n{code}"
    return subprocess.check_output([sys.executable, "-B", "-c", code, path], text=True)


@POSIX
def test_rights_and_links_are_kept(tmp_path):
    """A private file stays private, a link stays a link, a new file has the usual rights."""
    private, link, dangling = (tmp_path / name for name in ("private", "link", "dangling"))
    private.write_text("old")
    private.chmod(0o640)
    link.symlink_to(private)
    dangling.symlink_to("fresh")  # is filled, as the shell would do
    (tmp_path / "usual").touch()
    for path in (link, dangling):
        write_atomically(path, "new")
        assert path.is_symlink()
    assert private.read_text() == (tmp_path / "fresh").read_text() == "new"
    assert private.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "usual").stat().st_mode


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
        "os.umask(0o077)\n"
        "os.umask, before = None, os.umask\n"
        "print(oct(write_atomically(sys.argv[1], 'x').stat().st_mode & 0o777))\n"
    )
    assert printed(code, tmp_path / "new") == "0o600\n"


@POSIX
def test_what_is_no_regular_file_is_refused(tmp_path, monkeypatch):
    """A device stays a device; no pipe is waited for."""
    monkeypatch.chdir(tmp_path)  # addresses of sockets are short
    os.mkdir("folder")
    os.mkfifo("pipe")
    try:  # one of our own: no test may endanger those of the system
        os.mknod("device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        os.mkfifo("device")
    for name in ("pipe", "device"):
        os.symlink(name, f"to {name}")
    os.symlink("circle", "circle")
    os.symlink("no/file", "to nowhere")
    other = "it is a device, a pipe or a socket; expected the name of a regular file"
    reasons = {
        "folder": "it is a folder",
        **dict.fromkeys(("pipe", "to pipe", "device", "to device", "socket"), other),
        "circle": "its links lead in a circle",
        "to nowhere": f"there is no folder {os.path.realpath(tmp_path)}/no",
    }
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        before = {path.name: path.lstat()[:7] for path in tmp_path.iterdir()}
        assert set(before) == set(reasons)
        for name, why in reasons.items():
            with pytest.raises(OSError, match="cannot be written") as error:
                write_atomically(tmp_path / name, "new")
            assert str(error.value) == f"{tmp_path / name} cannot be written: {why}."
        assert {path.name: path.lstat()[:7] for path in tmp_path.iterdir()} == before


def test_a_name_that_no_file_can_have(tmp_path):
    """Python itself would speak of an embedded null byte, and of no file."""
    for name in ("nul\0byte", "x" * 300):
        with pytest.raises(OSError, match=r"cannot be written: .*\.$"):
            write_atomically(tmp_path / name, "new")
    assert not list(tmp_path.iterdir())


@POSIX
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    """A real one in the middle of writing, such as a full disk or a quota makes."""
    target = tmp_path / "table.csv"
    target.write_text("old")
    code = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    write_atomically(sys.argv[1], 'x' * 5000)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    assert printed(code, target) == f"{target} cannot be written: file too large.\n"
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
