"""Kernels with bounds checked, as plain Python, and where their compiled code is kept."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numba
import numpy as np
import pytest

from medn_edu import kernels
from medn_edu.kernels import cache, maximize
from medn_edu.kernels.compile import kernel

TESTS = Path(__file__).parent
SOURCES = Path(kernels.__file__).parent


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Compiled code is kept in a folder, which is also what the user has chosen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "FOLDER", folder)
        patch.setattr(numba.config, "CACHE_DIR", str(folder))
        yield


def run(args: list[str], **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *args],
        env=os.environ | environment,
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.mark.parametrize(
    ("mode", "more"),
    [("NUMBA_BOUNDSCHECK", "fuzz_samples"), ("NUMBA_DISABLE_JIT", "theory_frank_wolfe")],
)
def test_oracles_hold_in_every_mode(mode, more, tmp_path):
    """Damaged samples do not lead kernels out of memory; without a compiler numpy sees that, too."""
    names = [
        "inference_oracles",
        "kernels_projection",
        "kernels_log_linear",
        "kernels_local_gradient",
        "kernels_norm_product",
        "kernels_in_turn",
    ]
    files = [str(TESTS / f"test_{name}.py") for name in [*names, more]]
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    done = run(arguments, **{mode: "1", "NUMBA_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(tmp_path.rglob("*.nbi")) == (mode == "NUMBA_BOUNDSCHECK")


def test_bounds_are_checked_when_asked_for(tmp_path):
    """Otherwise the run above would prove nothing."""
    code = (
        "import numpy as np\n"
        "from medn_edu.kernels.scores import labelling_scores as f\n"
        "one = np.zeros(1, np.int64)\n"
        "f(np.zeros((1, 2)), np.zeros((1, 2, 2)), one - 1, one, np.array([0, 1]), one + 2,"
        " np.zeros(1))\n"
    )
    done = run(["-c", code], NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert "IndexError" in done.stderr


def test_inner_kernels_say_that_python_cannot_call_them():
    """They have no wrapper that would take their arguments from Python."""
    with pytest.raises(TypeError, match="max_message is compiled for other kernels"):
        maximize.max_message(np.zeros(2), np.zeros((2, 2)), np.zeros(2))


def test_other_packages_keep_their_folder(tmp_path):
    code = (
        "import numba\nfrom medn_edu.kernels import scores\n"
        "print(repr(numba.config.CACHE_DIR))\n"
        "print(scores.node_scores._cache.cache_path)\n"
    )
    done = run(["-c", code], XDG_CACHE_HOME=str(tmp_path), NUMBA_CACHE_DIR="")
    setting, folder = done.stdout.splitlines()
    assert setting == "''"
    assert f"kernels-{cache.source_hash(SOURCES)}" in folder


def test_hash_follows_every_source(tmp_path):
    hashes = []
    for name, text in (("a", "x = 1\n"), ("b", "y = 1\n"), ("a", "x = 2\n"), ("a", "x = 1\n")):
        (tmp_path / f"{name}.py").write_text(text)
        hashes.append(cache.source_hash(tmp_path))
    assert len(set(hashes[:3])) == 3
    assert hashes[3] == hashes[1]


def test_the_folder_is_the_users_choice_or_private_among_the_temporary_ones(tmp_path, monkeypatch):
    with kept_in(tmp_path / "chosen"):
        folder = cache.cache_folder(SOURCES)
    assert folder.parent == tmp_path / "chosen"
    assert folder.is_dir()
    (tmp_path / "file").write_text("so that no folder can be made below it")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "tmp"))
    with kept_in(tmp_path / "file"):
        folder = cache.cache_folder(SOURCES)
    assert (tmp_path / "tmp") in folder.parents
    assert folder.is_dir()
    if os.name == "posix":
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    # A user without a home, as in containers.
    homeless = mock.Mock(side_effect=RuntimeError("Could not determine home directory."))
    monkeypatch.setattr(cache.Path, "expanduser", homeless)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.numba.config, "CACHE_DIR", "")
    assert cache.cache_folder(SOURCES) == folder


def doubled(x):
    return x + x


@pytest.fixture(autouse=True)
def fresh_warning():
    cache.warn_not_kept.cache_clear()
    yield
    cache.warn_not_kept.cache_clear()


def test_nowhere_to_keep_code_is_said_once(tmp_path, monkeypatch):
    """Neither the cache nor temporary files can be written: kernels work all the same."""
    (tmp_path / "file").write_text("a file, so that no folder can be made below it")
    nowhere = mock.Mock(side_effect=FileNotFoundError(2, "No usable temporary directory found"))
    for folder in (lambda: str(tmp_path / "file" / "tmp"), nowhere):
        monkeypatch.setattr(cache.tempfile, "gettempdir", folder)
        with kept_in(tmp_path / "file" / "x"):
            assert cache.cache_folder(SOURCES).parent == tmp_path / "file" / "x"
    with kept_in(tmp_path / "file" / "x" / "kernels"):
        compiled = kernel(doubled)
    with pytest.warns(UserWarning, match=r"cannot be kept in .* \(not a directory\)") as warned:
        results = compiled(1.5), compiled(2)
    assert results == (3.0, 4)
    assert len(warned) == 1
    assert f"in {tmp_path / 'file' / 'x'} (" in str(warned[0].message)
    advice = "set NUMBA_CACHE_DIR to a folder that may be written to."
    assert str(warned[0].message).endswith(advice)


def test_a_full_disk_ends_no_fit(tmp_path, monkeypatch):
    """Code that cannot be kept is used all the same, and nothing half written is left."""
    with kept_in(tmp_path):
        compiled = kernel(doubled)
    full = mock.Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match=r"\(no space left on device\)"):
        assert compiled(1.5) == 3.0
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_damaged_code_is_compiled_anew(tmp_path, suffix):
    """As a file that lost its content when the power failed."""
    with kept_in(tmp_path):
        assert kernel(doubled)(1.5) == 3.0
        (kept,) = tmp_path.rglob(f"*.{suffix}")
        kept.write_bytes(b"")
        assert kernel(doubled)(1.5) == 3.0
        again = kernel(doubled)
        assert again(1.5) == 3.0
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_shared_cache_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    """An administrator compiles once; users, who may only read, load what is there."""
    with kept_in(tmp_path):
        folder = cache.cache_folder(SOURCES)
    with kept_in(folder):
        kernel(doubled)(np.ones(1))
    read_only = mock.Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr(cache.tempfile, "TemporaryFile", read_only)
    with kept_in(tmp_path):
        assert cache.cache_folder(SOURCES) == folder
    with kept_in(folder):
        compiled = kernel(doubled)
    assert compiled(np.ones(1)) == 2.0
    assert sum(compiled.stats.cache_hits.values()) == 1
    with pytest.warns(UserWarning, match=r"\(permission denied\)"):
        assert compiled(1.5) == 3.0
