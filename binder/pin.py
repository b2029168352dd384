"""Pin what the Binder image installs: ``python3.11 binder/pin.py``.

Rewrites binder/requirements.txt: a new environment takes whatever is newest within the bounds of
pyproject.toml, and what it took is written down.  Run it with the Python of binder/runtime.txt, on
Linux.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER = "notebook"  # Binder starts it, and the image's own is older than our JupyterLab allows
HEADER = "# Made by `python3.11 binder/pin.py`; do not edit.\n"


def main() -> None:
    """Install the lab and the server into a new environment and write down the versions."""
    wanted = (HERE / "runtime.txt").read_text().strip().removeprefix("python-")
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    if running != wanted or sys.platform != "linux":
        sys.exit(f"This is Python {running} on {sys.platform}; the image has {wanted} on linux.")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", f"{HERE.parent}[lab]", SERVER], check=True)
        freeze = [*pip, "freeze", "--exclude", "medn_edu"]
        pins = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    (HERE / "requirements.txt").write_text(HEADER + pins)


if __name__ == "__main__":
    main()
