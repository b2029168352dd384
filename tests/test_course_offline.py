"""What wheel and source archive hold, and the course out of the wheel, with no way to the network."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from lab_in_browser import ROOT, medn_edu_server

from medn_edu import __version__

STEM = f"medn_edu-{__version__}"

# Python runs this at the start of every process below, also in servers and kernels.
BLOCKADE = """
import socket
import sys

def refuse(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        outside = isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost")
    else:
        outside = event == "socket.getaddrinfo" and arguments[0] not in (
            None, "", "127.0.0.1", "::1", "localhost", socket.gethostname()
        )
    if outside:
        raise OSError(f"the network is blocked: {arguments}")

sys.addaudithook(refuse)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist"]
    subprocess.run([*command, "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


def files_under(folder: Path, pattern: str = "*") -> set[str]:
    paths = (path for path in folder.rglob(pattern) if path.is_file())
    names = {path.relative_to(ROOT).as_posix() for path in paths}
    return {n for n in names if "__pycache__" not in n and ".ipynb_checkpoints" not in n}


def test_wheel_holds_the_package_the_notebooks_the_tables_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(built / f"{STEM}-py3-none-any.whl") as wheel:
        names = {name for name in wheel.namelist() if not name.startswith(f"{STEM}.dist-info/")}
        notes = set(wheel.namelist()) - names
        metadata, scripts = (
            wheel.read(f"{STEM}.dist-info/{name}").decode()
            for name in ("METADATA", "entry_points.txt")
        )
    notebooks = files_under(ROOT / "notebooks")
    assert any(name.endswith(".ipynb") for name in notebooks)
    tables = files_under(ROOT / "figures", "*.csv")
    assert "figures/kl-norm.csv" in tables
    expected = {f"medn_edu/course/{name}" for name in notebooks}
    expected |= {f"medn_edu/{name}" for name in tables} | files_under(ROOT / "medn_edu")
    extension, page = "medn_edu/explorers/kit/labextension", "medn_edu/course/html"
    for folder, place in {
        extension: "labextensions/medn_edu",
        page: "nbconvert/templates/medn_edu",
    }.items():
        files = [Path(name).name for name in files_under(ROOT / folder)]
        expected |= {f"{STEM}.data/data/share/jupyter/{place}/{name}" for name in files}
    assert names == expected
    assert "medn_edu/py.typed" in names
    assert "License-Expression: BSD-3-Clause AND CC-BY-4.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert {f"{STEM}.dist-info/licenses/{name}" for name in ("LICENSE", "LICENSE-text")} <= notes
    assert "medn-edu = medn_edu.cli:main" in scripts


def test_source_archive_builds_and_tests_itself(built: Path) -> None:
    with tarfile.open(built / f"{STEM}.tar.gz") as archive:
        names = {name.removeprefix(f"{STEM}/") for name in archive.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "LICENSE-text", "CITATION.cff"}
    needed |= {"binder/requirements.txt", "tests/test_course_offline.py", "figures/lattice.gif"}
    needed |= {"hatch_build.py"} | files_under(ROOT / "figures", "*.csv")
    assert needed | files_under(ROOT / "medn_edu") | files_under(ROOT / "notebooks") <= names


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the installed wheel, and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(target), *map(str, built.glob("*.whl"))], check=True)
    (target / "sitecustomize.py").write_text(BLOCKADE)
    return target


def run(installed: Path, folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(installed), "TQDM_DISABLE": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_blockade_holds(installed: Path, tmp_path: Path) -> None:
    code = "import urllib.request; urllib.request.urlopen('https://jmlr.org', timeout=5)"
    assert "the network is blocked" in run(installed, tmp_path, code).stderr


@pytest.fixture(scope="module")
def lab(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Run ``medn-edu lab`` in an empty folder; yield its address and the folder of the course."""
    folder = tmp_path_factory.mktemp("empty")
    with medn_edu_server("lab", folder, PYTHONPATH=str(installed)) as (address, server):
        yield address, folder / "medn-course"
        os.killpg(server.pid, signal.SIGINT)  # what Ctrl-C does
        assert server.wait(120) == 0, (folder / "server.log").read_text()


def test_lab_serves_the_course_to_who_has_the_token(lab: tuple[str, Path], installed: Path) -> None:
    base, query = lab[0].split("?")
    with pytest.raises(HTTPError, match="403") as refused:
        urlopen(f"{base}api/contents")
    refused.value.close()
    with urlopen(f"{base}api/contents?{query}") as answer:
        served = {item["name"] for item in json.load(answer)["content"]}
    notebooks = installed / "medn_edu" / "course" / "notebooks"
    shipped = {path.name for path in notebooks.glob("*.ipynb")}
    assert shipped <= served
    assert shipped == {path.name for path in lab[1].glob("*.ipynb")}
    with urlopen(f"{base}lab?{query}") as page:
        assert page.status == 200


@pytest.mark.slow
def test_a_chapter_runs(lab: tuple[str, Path], installed: Path) -> None:
    code = f"""
import medn_edu, nbformat
from nbclient import NotebookClient
assert medn_edu.__file__.startswith({str(installed)!r}), medn_edu.__file__
notebook = nbformat.read("03-toolbox.ipynb", as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
"""
    done = run(installed, lab[1], code)
    assert done.returncode == 0, done.stderr
