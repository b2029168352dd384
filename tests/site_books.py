"""Books for the tests, built by the command with a cache of their own; and what frames show."""

import base64
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pooch
from children import wait_until
from PIL import Image

from medn_edu.course.site.frames import DEEPEST
from medn_edu.explorers import Explorer
from medn_edu.kernels.cache import FOLDER as KERNELS

ROOT = Path(__file__).resolve().parent.parent
THREE = ("start-here", "shrinkage", "synthetic-study")
"""Chapters that are quickly drawn and have all kinds of controls; the last has two explorers."""


def run_site(folder: Path, *options: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run ``medn-edu site`` with what the user has of data and compiled code, but not of frames.

    The frames of all books in the same place are kept there.
    """
    own = {
        "MEDN_EDU_DATA": os.environ.get("MEDN_EDU_DATA") or str(pooch.os_cache("medn_edu")),
        "NUMBA_CACHE_DIR": str(KERNELS.parent),
        "XDG_CACHE_HOME": str(folder.parent / "cache"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONUTF8": "1",
    }
    command = [sys.executable, "-m", "medn_edu.cli", "site", str(folder), *options]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | own, capture_output=True, text=True, encoding="utf-8"
    )


def built_once(folder: Path) -> Path:
    """Build a book of `THREE`, or wait until another process has done so."""
    log = folder.with_suffix(".log")
    try:
        folder.with_suffix(".lock").mkdir()
    except FileExistsError:
        wait_until(log.exists, 600)
    else:
        done = run_site(folder, "--only", *THREE)
        folder.with_suffix(".new").write_text(done.stdout + done.stderr, encoding="utf-8")
        folder.with_suffix(".new").rename(log)
    assert (folder / "index.html").exists(), log.read_text(encoding="utf-8")
    return folder


def same_picture(one: bytes, other: bytes) -> bool:
    """Return whether two files show the same pixels."""
    first, second = (
        np.asarray(Image.open(io.BytesIO(each)).convert("RGB")) for each in (one, other)
    )
    return np.array_equal(first, second)


def read_pack(script: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the content of a script of frames."""
    found = re.fullmatch(r"\(window\.medn_frames \?\?= \{\}\)\[(.*?)\] = (.*);\n", script)
    assert found
    return json.loads(found[1]), json.loads(found[2])


def put_together(pack: dict[str, Any], number: int, saved: Image.Image) -> tuple[Image.Image, int]:
    """Return a frame as the page composes it, and of how many overlays."""
    if number < 0:
        return saved.convert("RGBA"), 0
    assert pack["below"][number] < number
    picture, depth = put_together(pack, pack["below"][number], saved)
    if not (overlay := pack["overlay"][number]):
        return picture, depth
    left, top, width, height = pack["box"][number]
    with Image.open(io.BytesIO(base64.b64decode(overlay))) as image:
        assert (image.format, image.size) == ("WEBP", (width, height))
        picture.alpha_composite(image.convert("RGBA"), (left, top))
    return picture, depth + 1


def check_frames(script: str, explorer: Explorer, png: bytes) -> None:
    """Each frame is the explorer's own picture, with its sentence, up to the levels of colours."""
    name, pack = read_pack(script)
    saved, depths = Image.open(io.BytesIO(png)), []
    assert pack["at"] == [list(each.values()) for each in explorer.static_grid()]
    for number, positions in enumerate(pack["at"]):
        drawn = explorer.frame(dict(zip(explorer.controls, positions, strict=True)))
        picture, depth = put_together(pack, number, saved)
        depths.append(depth)
        one, other = (
            np.round(np.asarray(each.convert("RGB")) / 255 * 31)
            for each in (picture, Image.open(io.BytesIO(drawn.png)))
        )
        assert (one == other).all(), (name, positions)
        assert (pack["summary"][number], pack["alt"][number]) == (drawn.summary, drawn.alt)
    assert 1 < max(depths) <= DEEPEST
