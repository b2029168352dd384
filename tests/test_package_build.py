"""What the built wheel and source archive hold."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import medn_edu

ROOT = Path(__file__).resolve().parent.parent
STEM = f"medn_edu-{medn_edu.__version__}"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist"]
    subprocess.run([*command, "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(built / f"{STEM}-py3-none-any.whl") as archive:
        yield archive


def files_under(folder: Path, pattern: str = "*") -> set[str]:
    paths = (path for path in folder.rglob(pattern) if path.is_file())
    names = {path.relative_to(ROOT).as_posix() for path in paths}
    return {n for n in names if "__pycache__" not in n and ".ipynb_checkpoints" not in n}


def test_wheel_holds_the_package_the_notebooks_the_tables_and_nothing_else(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    notebooks = files_under(ROOT / "notebooks")
    assert any(name.endswith(".ipynb") for name in notebooks)
    tables = files_under(ROOT / "figures", "*.csv")
    assert "figures/kl-norm.csv" in tables
    expected = {f"medn_edu/course/{name}" for name in notebooks}
    expected |= {f"medn_edu/{name}" for name in tables} | files_under(ROOT / "medn_edu")
    assert names == expected
    assert "medn_edu/py.typed" in names


def test_wheel_metadata(wheel):
    metadata = wheel.read(f"{STEM}.dist-info/METADATA").decode()
    assert "License-Expression: BSD-3-Clause AND CC-BY-4.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert {f"{STEM}.dist-info/licenses/LICENSE", f"{STEM}.dist-info/licenses/LICENSE-text"} <= set(
        wheel.namelist()
    )
    scripts = wheel.read(f"{STEM}.dist-info/entry_points.txt").decode()
    assert "medn-edu = medn_edu.cli:main" in scripts


def test_source_archive_builds_and_tests_itself(built):
    with tarfile.open(built / f"{STEM}.tar.gz") as archive:
        names = {name.removeprefix(f"{STEM}/") for name in archive.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "LICENSE-text", "CITATION.cff"}
    needed |= {"binder/requirements.txt", "tests/test_package_build.py", "figures/lattice.gif"}
    needed |= {"hatch_build.py"} | files_under(ROOT / "figures", "*.csv")
    assert needed | files_under(ROOT / "medn_edu") | files_under(ROOT / "notebooks") <= names
