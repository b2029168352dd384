"""The packs of all chapters, drawn by several processes and kept by content."""

import base64
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pooch

import medn_edu
from medn_edu.course.site.cells import explorers, moves
from medn_edu.course.site.frames import declarations, pack_frames
from medn_edu.files import write_atomically

PACKAGE = Path(medn_edu.__file__).parent
_DRAWN_WITH = ("matplotlib", "numpy", "pillow", "scipy", "numba", "scikit-learn")


def chapter_packs(
    notebooks: Iterable[Path],
    n_jobs: int | None = None,
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> dict[str, dict[str, Any]]:
    """Return the packs of each notebook by its name.

    Parameters
    ----------
    notebooks : iterable of Path
        Saved notebooks.
    n_jobs : int, optional
        Number of processes, by default as many as there are cores.
    progress : callable
        ``progress(done, all, notebook)`` is called when a notebook is done.

    Returns
    -------
    dict
        For each notebook its explorers by the number of their cells, as text: a name, what is declared,
        and the script of frames; or the reason why it has none.
    """
    paths = [path for path in notebooks if _pictures(path)]
    with ProcessPoolExecutor(n_jobs, multiprocessing.get_context("spawn")) as workers:
        packs = {}
        for done, (path, made) in enumerate(zip(paths, workers.map(_kept, paths), strict=True), 1):
            packs[path.name] = made
            progress(done, len(paths), path.stem)
        return packs


def _pictures(path: Path) -> dict[int, bytes]:
    """Return the saved pictures of a notebook's explorers by the number of their cells."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {
        number: base64.b64decode("".join(output["data"]["image/png"]))
        for number, cell in enumerate(cells)
        for output in cell.get("outputs", [])
        if moves(output)
    }


def _kept(path: Path) -> dict[str, Any]:
    """Return the packs of a notebook, from the cache if nothing that they depend on has changed."""
    cache = Path(pooch.os_cache("medn_edu")) / "site"
    kept = cache / f"{path.stem}-{_content(path)[:16]}.json"
    if kept.is_file():
        packs: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return packs
    packs = _drawn(path)
    if any("still" in pack for pack in packs.values()):
        return packs
    cache.mkdir(parents=True, exist_ok=True)
    for older in cache.glob(f"{path.stem}-*.json"):
        older.unlink(missing_ok=True)
    write_atomically(kept, json.dumps(packs))
    return packs


def _content(path: Path) -> str:
    """Return a hash of all that the packs of a notebook depend on."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    digest = hashlib.sha256(str([f"{name} {version(name)}" for name in _DRAWN_WITH]).encode())
    for cell in cells:
        if cell["cell_type"] == "code":
            digest.update("".join(cell["source"]).encode())
    for png in _pictures(path).values():
        digest.update(png)
    book = PACKAGE / "course"
    for file in sorted(PACKAGE.rglob("*")):
        of_drawing = not file.is_relative_to(book) or file.name in ("cells.py", "frames.py")
        if of_drawing and file.suffix in (".py", ".csv", ".toml", ".json", ".mplstyle"):
            digest.update(str(file.relative_to(PACKAGE)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _drawn(path: Path) -> dict[str, Any]:
    """Draw the packs of a notebook."""
    os.environ["TQDM_DISABLE"] = "1"
    notebook, pictures = json.loads(path.read_text(encoding="utf-8")), _pictures(path)
    packs: dict[str, Any] = {}
    for number, explorer in explorers(notebook):
        name = f"{path.stem.lstrip('0123456789-')}-{explorer.name}"
        try:
            pack = pack_frames(explorer, pictures[number])
        except ValueError as error:
            packs[str(number)] = {"still": str(error)}
            continue
        packs[str(number)] = {
            "name": name,
            "declared": declarations(explorer, pictures[number]),
            "script": pack.script(name),
            "frames": len(pack.at),
        }
    return packs
