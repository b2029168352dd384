"""Servers of the course, and a JupyterLab in a headless Chromium."""

import contextlib
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from children import child, wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent
INSTALL = "install a Chromium for the browser tests: sudo apt-get install chromium"
DEBUGGER = "Could not restore the debugger state"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SETTINGS = {
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {
        "checkForUpdates": False,
        "doNotDisturbMode": True,
        "fetchNews": "false",
    },
    # every cell is in the page, also those outside the window
    "@jupyterlab/notebook-extension/tracker.jupyterlab-settings": {"windowingMode": "none"},
}

# Closes a notebook, without asking whether to save it, and opens another on the same kernel, emptied:
# much faster than a new page and a kernel that imports everything again.
INSTEAD = """async (path) => {
    const panel = window.jupyterapp.shell.currentWidget;
    const kernel = panel.sessionContext.session.kernel;
    await kernel.requestExecute({ code: "%reset -f" }).done;
    const { id } = kernel;
    panel.dispose();
    await window.jupyterapp.commands.execute("docmanager:open", { path, kernel: { id } });
}"""

READY = """(path) => {
    const panel = window.jupyterapp?.shell.currentWidget;
    const kernel = panel?.sessionContext?.session?.kernel;
    return panel?.context?.path === path
        && kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""


def find_chromium() -> str | None:
    """Return the path of an installed Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@contextlib.contextmanager
def jupyter_lab(folder: pathlib.Path, home: pathlib.Path) -> Iterator[str]:
    """Serve ``folder`` with JupyterLab on loopback, with a token; yield its address.

    ``home`` keeps its settings and run-time files, so that the reader's own are left alone.
    """
    for name, settings in SETTINGS.items():
        path = home / "settings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    token, port = secrets.token_hex(16), free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser"]
    command += ["--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    command += [f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}"]
    address = f"http://127.0.0.1:{port}"
    with _serving(command, home, f"{address}/api?token={token}"):
        yield f"{address}/lab?token={token}"


@contextlib.contextmanager
def medn_edu_server(
    command: str, home: pathlib.Path, **variables: str
) -> Iterator[tuple[str, subprocess.Popen[Any]]]:
    """Run ``medn-edu app`` or ``lab`` in ``home``; yield its address, with token, and its process."""
    port = free_port()
    words = [sys.executable, "-m", "medn_edu.cli", command, "--no-browser", "--port", str(port)]
    address = f"http://127.0.0.1:{port}/"
    with _serving(words, home, address, **variables) as server:
        token = re.search(r"[?&]token=(\w+)", (home / "server.log").read_text())
        assert token is not None
        yield f"{address}?token={token[1]}", server


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _serving(
    command: list[str], home: pathlib.Path, probe: str, **variables: str
) -> Iterator[subprocess.Popen[Any]]:
    """Run a server whose files are kept in ``home`` until the block ends."""
    places = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
    }
    environment = os.environ | {key: str(home / name) for key, name in places.items()}
    environment |= {"TQDM_DISABLE": "1"} | variables
    with (
        (home / "server.log").open("w") as log,
        child(command, cwd=home, env=environment, stdout=log, stderr=log) as server,
    ):
        wait_until(lambda: server.poll() is not None or _answers(probe), 300)
        assert server.poll() is None, (home / "server.log").read_text()
        yield server


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except urllib.error.HTTPError as answer:  # it is there, if it does not like the question
        answer.close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def chromium(size: tuple[int, int] = (1280, 1000)) -> Iterator[Any]:
    """Yield a page of a headless Chromium with a fresh profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": size[0], "height": size[1]})
            page.set_default_timeout(120_000)  # a busy machine is no error
            yield page
        finally:
            browser.close()


class Lab:
    """A JupyterLab in a browser page; keeps the errors that the page's console reports."""

    def __init__(self, page: Any, address: str, folder: pathlib.Path) -> None:
        self.page = page
        self.address = address
        self.folder = folder
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)

    def _hear(self, message: Any) -> None:
        """Keep errors, but for one of JupyterLab's own, when a kernel is busy as a notebook opens."""
        if message.type == "error" and not message.text.startswith(DEBUGGER):
            self.errors.append(message.text)

    def open(self, notebook: str) -> None:
        """Open a notebook alone, in place of the last one, and wait until its kernel is idle."""
        if self.page.url.startswith(self.address.split("?")[0]):
            self.page.evaluate(INSTEAD, notebook)
        else:
            base, query = self.address.split("?")
            self.page.goto(f"{base}/tree/{notebook}?{query}&reset", wait_until="load")
        self.wait_for(READY, 300, notebook)

    def run_all(self, seconds: float = 300) -> None:
        """Run every cell, in order, and wait until the last has finished."""
        self._command("notebook:run-all-cells", seconds)

    def run(self, cell: int, seconds: float = 300) -> None:
        """Run one cell and wait until it has finished."""
        there = (
            "(cell) => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = cell; }"
        )
        self.page.evaluate(there, cell)
        self._command("notebook:run-cell", seconds)

    def _command(self, name: str, seconds: float) -> None:
        # the promise of the command is kept in the page: awaiting it here can hang for ever
        self.page.evaluate(
            """(name) => {
                window.hasRun = "no";
                window.jupyterapp.commands.execute(name).then(() => { window.hasRun = "yes"; });
            }""",
            name,
        )
        self.wait_for("() => window.hasRun === 'yes'", seconds)

    def wait_for(self, condition: str, seconds: float = 120, argument: Any = None) -> None:
        """Wait until a condition holds in the page, asked every 50 ms instead of at every frame."""
        self.page.wait_for_function(condition, arg=argument, timeout=1000 * seconds, polling=50)

    def failed_cells(self) -> list[str]:
        """Return the error outputs in the page."""
        stderr = ".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']"
        parts = self.page.query_selector_all(f"{stderr}, .jp-mod-error")
        return [part.inner_text() for part in parts]

    def screenshot(self, path: pathlib.Path) -> None:
        """Save a picture of the whole notebook, however long it is."""
        before = self.page.viewport_size
        self.page.set_viewport_size({"width": before["width"], "height": 16000})
        top = "() => document.querySelectorAll('.jp-WindowedPanel-outer').forEach(n => n.scrollTo(0, 0))"
        self.page.evaluate(top)
        self.page.wait_for_timeout(1500)
        self.page.screenshot(path=str(path))
        self.page.set_viewport_size(before)
