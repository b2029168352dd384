"""The course out of a built wheel, in an empty folder, with every way to the network blocked."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from children import child

ROOT = Path(__file__).resolve().parent.parent

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
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the installed wheel, and nothing else."""
    built, target = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(target), *map(str, built.glob("*.whl"))], check=True)
    (target / "sitecustomize.py").write_text(BLOCKADE)
    return target


@pytest.fixture(scope="module")
def environment(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    folders = {name: str(home / name.lower()) for name in places}
    return os.environ | folders | {"PYTHONPATH": str(installed), "TQDM_DISABLE": "1"}


def run(environment: dict[str, str], folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_blockade_holds(environment: dict[str, str], tmp_path: Path) -> None:
    code = "import urllib.request; urllib.request.urlopen('https://jmlr.org', timeout=5)"
    assert "the network is blocked" in run(environment, tmp_path, code).stderr


@pytest.fixture(scope="module")
def server(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[int, str, Path]]:
    """Start ``medn-edu lab`` in an empty folder; yield port, token and that folder."""
    folder = tmp_path_factory.mktemp("empty")
    command = [sys.executable, "-m", "medn_edu.cli", "lab", "--no-browser"]
    log = folder / "log"
    with (
        log.open("w") as file,
        child(command, cwd=folder, env=environment, stdout=file, stderr=file) as lab,
    ):
        deadline = time.monotonic() + 300
        found = None
        while found is None and time.monotonic() < deadline and lab.poll() is None:
            time.sleep(0.2)
            found = re.search(
                r"http://(?:127\.0\.0\.1|localhost):(\d+)/\S*token=(\w+)", log.read_text()
            )
        assert found is not None, log.read_text()
        yield int(found[1]), found[2], folder
        os.killpg(lab.pid, signal.SIGINT)  # what Ctrl-C does
        code = lab.wait(120)
    assert code == 0, log.read_text()


def get(port: int, path: str) -> tuple[int, bytes]:
    for _ in range(300):  # it tells its address a moment before it listens
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(connection), contextlib.suppress(ConnectionRefusedError):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        time.sleep(0.2)
    raise ConnectionRefusedError(f"nobody listens on port {port}")


def test_lab_serves_the_course_to_who_has_the_token(
    server: tuple[int, str, Path], installed: Path
) -> None:
    port, token, folder = server
    assert get(port, "/api/contents")[0] == 403
    status, body = get(port, f"/api/contents?token={token}")
    assert status == 200
    names = {item["name"] for item in json.loads(body)["content"]}
    shipped = {
        path.name for path in (installed / "medn_edu" / "course" / "notebooks").glob("*.ipynb")
    }
    assert shipped <= names
    assert shipped == {path.name for path in (folder / "medn-course").glob("*.ipynb")}
    assert get(port, f"/lab?token={token}")[0] == 200


@pytest.mark.slow
def test_a_chapter_runs(
    server: tuple[int, str, Path], environment: dict[str, str], installed: Path
) -> None:
    course = server[2] / "medn-course"
    code = f"""
import medn_edu, nbformat
from nbclient import NotebookClient
assert medn_edu.__file__.startswith({str(installed)!r}), medn_edu.__file__
notebook = nbformat.read("03-toolbox.ipynb", as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
"""
    done = run(environment, course, code)
    assert done.returncode == 0, done.stderr
