"""Kernels with bounds checked, as plain Python, and where their compiled code is kept."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from medn_edu import kernels
from medn_edu.kernels import _cache

TESTS = Path(__file__).parent
SOURCES = Path(kernels.__file__).parent


def run(args: list[str], **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *args],
        env=os.environ | environment,
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.mark.parametrize("mode", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_oracles_hold_in_every_mode(mode, tmp_path):
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    oracles = [
        str(TESTS / f"test_{name}.py") for name in ("inference_oracles", "kernels_projection")
    ]
    done = run([*arguments, *oracles], **{mode: "1", "NUMBA_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    kept = list(tmp_path.rglob("*.nbi"))
    assert bool(kept) == (mode == "NUMBA_BOUNDSCHECK")


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


def test_setting_is_restored(tmp_path):
    before = numba.config.CACHE_DIR
    with _cache.kept_in(tmp_path):
        assert str(tmp_path) == numba.config.CACHE_DIR
    assert before == numba.config.CACHE_DIR
    with pytest.raises(KeyError), _cache.kept_in(tmp_path):
        raise KeyError
    assert before == numba.config.CACHE_DIR


def test_other_packages_keep_their_folder(tmp_path):
    code = (
        "import numba, medn_edu.kernels as k\n"
        "print(repr(numba.config.CACHE_DIR))\n"
        "print(k.scores.node_scores._cache.cache_path)\n"
    )
    done = run(["-c", code], XDG_CACHE_HOME=str(tmp_path), NUMBA_CACHE_DIR="")
    setting, folder = done.stdout.splitlines()
    assert setting == "''"
    assert f"kernels-{_cache.source_hash(SOURCES)}" in folder


def test_hash_follows_every_source(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    first = _cache.source_hash(tmp_path)
    assert _cache.source_hash(tmp_path) == first
    (tmp_path / "b.py").write_text("y = 1\n")
    second = _cache.source_hash(tmp_path)
    (tmp_path / "a.py").write_text("x = 2\n")
    third = _cache.source_hash(tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    assert len({first, second, third}) == 3
    assert _cache.source_hash(tmp_path) == second


def test_folder_is_under_the_users_choice(tmp_path):
    with _cache.kept_in(tmp_path / "chosen"):
        folder = _cache.cache_folder(SOURCES)
    assert folder.parent == tmp_path / "chosen"
    assert folder.is_dir()


def test_unwritable_home_falls_back_to_a_private_temporary_folder(tmp_path, monkeypatch):
    (tmp_path / "home").write_text("a file, so that no folder can be made below it")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(_cache.tempfile, "tempdir", str(tmp_path / "tmp"))
    with _cache.kept_in(tmp_path / "home"):
        folder = _cache.cache_folder(SOURCES)
    assert (tmp_path / "tmp") in folder.parents
    assert folder.is_dir()
    if os.name == "posix":
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
