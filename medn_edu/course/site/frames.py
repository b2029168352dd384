"""Packs of frames: the pictures of an explorer's settings, for pages without a kernel.

The first picture is the one in the notebook.  Every other is a stack of *overlays* on it: what has
changed since a picture of similar settings, all else transparent.  That leaves a tenth of the bytes.
Colours have 32 levels instead of 256, which nobody sees and which saves a third.
"""

import base64
import io
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image

from medn_edu.explorers.kit.explorer import Explorer
from medn_edu.explorers.kit.what_to_see import WhatToSee

MOST_BYTES = 1_450_000
"""Size of a pack at which no more settings are added."""

DEEPEST = 8  # overlays in one picture: each takes the browser a millisecond
COMPARED = 8  # how many pictures of similar settings may be the one below
LIKE_THE_NOTEBOOK = 0.05  # share of a picture that may differ by rounding on another machine
_LEVEL = np.round(np.arange(256) / 255 * 31).astype(np.uint16)  # of a colour's share
_SHARE = np.round(np.arange(32) / 31 * 255).astype(np.uint8)  # ... and back


@dataclass
class Pack:
    """What a page needs to show an explorer: its frames, and its declarations."""

    at: list[list[int]] = field(default_factory=list)  # positions of the controls
    below: list[int] = field(default_factory=list)  # the frame that the overlay lies on, or -1
    box: list[list[int]] = field(default_factory=list)  # left, top, width, height of the overlay
    overlay: list[str] = field(default_factory=list)  # WebP as base64, or empty
    summary: list[str] = field(default_factory=list)
    alt: list[str] = field(default_factory=list)

    def script(self, name: str) -> str:
        """Return the classic script that hands the pack to the page; modules fail on ``file://``."""
        content = json.dumps(vars(self), ensure_ascii=False, separators=(",", ":"))
        return f"(window.medn_frames ??= {{}})[{json.dumps(name)}] = {content};\n"


def pack_frames(explorer: Explorer, png: bytes, most_bytes: int = MOST_BYTES) -> Pack:
    """Draw the settings of an explorer's `static_grid`, as many as there is room for.

    Parameters
    ----------
    explorer : Explorer
        The explorer, as the notebook shows it.
    png : bytes
        The picture that the notebook has saved of it.
    most_bytes : int
        Room for the overlays and sentences.

    Raises
    ------
    ValueError
        If the explorer's picture isn't the one in the notebook.
    """
    controls = explorer.controls.values()
    scale = np.array([max(1, len(control.values) - 1) for control in controls])
    either = np.array([control.kind in ("choice", "check") for control in controls])
    first = _pixels(png)
    pack, pixels, depth, size = Pack(), [first], [0], 0
    for positions in explorer.static_grid():
        frame = explorer.frame(positions)
        now, here = _pixels(frame.png), list(positions.values())
        if now.shape != first.shape or (not pack.at and _differs(now, first)):
            raise ValueError(
                f"the explorer {explorer.name} doesn't look as it does in the saved notebook, "
                "perhaps because the OCR letters are missing (`medn-edu data fetch` gets them)."
            )
        # pictures of similar settings, and the first one, on which all others lie
        at = np.array(pack.at).reshape(-1, len(here))
        apart = np.where(either, at != here, np.abs(at - here) / scale).sum(axis=1)
        near = [int(i) + 1 for i in np.argsort(apart, kind="stable") if depth[i + 1] < DEEPEST]
        changes = {i: now != pixels[i] for i in [0, *near[:COMPARED]]}
        below = min(changes, key=lambda i: int(changes[i].sum()))
        box, overlay = _overlay(now, changes[below])
        size += len(overlay) + len(frame.summary) + len(frame.alt)
        if size > most_bytes:
            break
        pack.at.append(here)
        pack.below.append(below - 1)
        pack.box.append(box)
        pack.overlay.append(overlay)
        pack.summary.append(frame.summary)
        pack.alt.append(frame.alt)
        pixels.append(now)
        depth.append(depth[below] + bool(overlay))
    return pack


def declarations(explorer: Explorer, png: bytes) -> dict[str, Any]:
    """Return what a page has to know before the pack is there: controls, lessons, sizes."""
    see, declared = WhatToSee(explorer), explorer.declared()
    start = {name: control.start for name, control in explorer.controls.items()}
    lessons: dict[str, dict[str, Any]] = {}
    for lesson in explorer.lessons:
        move = {name: explorer.controls[name].position(to) for name, to in lesson.move.items()}
        said = see.move(lesson, declared["start"])
        same = lessons.setdefault(said, {"positions": start | move, "facts": []})
        same["facts"].append(lesson.fact)
    with Image.open(io.BytesIO(png)) as picture:
        size = picture.size
    return declared | {"size": size, "lessons": lessons}


def _pixels(png: bytes) -> np.ndarray:
    """Return a picture as one number for each pixel, so that comparing is quick."""
    with Image.open(io.BytesIO(png)) as picture:
        levels = _LEVEL[np.asarray(picture.convert("RGB"))]
    return levels[..., 0] | levels[..., 1] << 5 | levels[..., 2] << 10


def _differs(one: np.ndarray, other: np.ndarray) -> bool:
    return float((one != other).mean()) > LIKE_THE_NOTEBOOK


def _overlay(now: np.ndarray, changed: np.ndarray) -> tuple[list[int], str]:
    """Return where a picture has changed, as left, top, width and height, and what is there now."""
    rows, columns = (np.flatnonzero(changed.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return [0, 0, 0, 0], ""
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    pixels, shows = now[top:bottom, left:right], changed[top:bottom, left:right]
    colours = [np.where(shows, _SHARE[pixels >> by & 31], 0) for by in (0, 5, 10)]
    rgba = np.stack([*colours, np.where(shows, 255, 0)], axis=-1).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(rgba).save(buffer, "webp", lossless=True, method=4, quality=75)
    box = [int(left), int(top), int(right - left), int(bottom - top)]
    return box, base64.b64encode(buffer.getvalue()).decode()
