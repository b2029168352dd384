"""Pictures drawn in layers are those that a full drawing would give."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from scipy.ndimage import binary_opening

from medn_edu.explorers import new_figure
from medn_edu.explorers.kit.layers import Layers

DPI = 60


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float)


def drawn_as_a_whole(figure: Figure) -> np.ndarray:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(float)


def differing(png: bytes, figure: Figure) -> int:
    """Number of pixels that differ, but for single ones at edges that were smoothed twice."""
    apart = np.abs(pixels(png) - drawn_as_a_whole(figure)).max(axis=2) > 40
    return int(binary_opening(apart, np.ones((2, 2))).sum())


@pytest.fixture
def scene() -> dict[str, Any]:
    figure = new_figure(4, 3)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], label="still")
    (line,) = left.plot([0, 1], [1, 0], lw=4, label="moves")
    (bar,) = right.bar([0], [1])
    right.plot([0], [0.5], "o", ms=20, color="k")  # still, and above what moves
    text = right.text(0, 0.2, "words")
    left.legend()
    note = figure.text(0.5, 0.02, "note")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # settled
    return {"figure": figure, "left": left, "right": right} | {
        "line": line, "bar": bar, "text": text, "note": note,
    }  # fmt: skip


def shade(s: dict[str, Any]) -> None:
    s["shade"] = s["left"].fill_between([0, 1], [0, 1], alpha=0.3)


# What widgets do with artists, and what they should not.
CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda s: None,
    lambda s: s["line"].set_ydata([0.2, 0.9]),
    lambda s: s["bar"].set_height(0.3),
    lambda s: s["text"].set_text("other words"),
    lambda s: s["note"].set_text("another note"),
    lambda s: s["left"].set_xlim(-1, 2),
    shade,
    lambda s: s["shade"].remove(),
    lambda s: s["right"].plot([0.1, 0.2], [0, 1], zorder=9),
    lambda s: s["right"].lines[0].remove(),
    lambda s: s["left"].set_facecolor("0.9"),
    lambda s: s["left"].set_visible(False),
    lambda s: s["left"].set_visible(True),
    lambda s: s["left"].set_title("title"),
    lambda s: s["left"].grid(True),
    lambda s: s["left"].axvspan(0, 0.5, zorder=0),
    lambda s: s["right"].twinx().plot([0, 0.3], [3, 4]),
    lambda s: s["right"].inset_axes([0.5, 0.5, 0.4, 0.4]).plot([0, 1], [0, 1]),
    lambda s: s["bar"].set_height(0.8),
    lambda s: (s["right"].clear(), s["right"].plot([0, 3], [0, 3])),
]


def test_every_change_is_shown(scene: dict[str, Any]) -> None:
    layers = Layers(scene["figure"], DPI)
    pictures = []
    for step, change in enumerate(CHANGES):
        change(scene)
        pictures.append(layers.render())
        assert differing(pictures[-1], scene["figure"]) == 0, step
    assert len(set(pictures)) >= len(pictures) - 2  # twice something is taken away again


def test_what_stands_still_is_drawn_once(
    scene: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = Layers(scene["figure"], DPI)
    drawings = []
    monkeypatch.setattr(
        FigureCanvasAgg, "draw", lambda self, draw=FigureCanvasAgg.draw: drawings.append(draw(self))
    )
    for height in (1.0, 0.5, 0.7, 0.9):
        scene["bar"].set_height(height)
        layers.render()
    assert len(drawings) <= 2


def test_three_dimensions_are_drawn_whole() -> None:
    figure = new_figure(3, 3)
    (line,) = figure.add_subplot(projection="3d").plot([0, 1], [0, 1], [0, 1], color="red", lw=5)
    layers = Layers(figure, DPI)
    heights = []
    for height in (1.0, 0.2):
        line.set_data_3d([0, 1], [0, 1], [0, height])
        red = pixels(layers.render())[..., 1] < 50
        heights.append(np.flatnonzero(red.any(axis=1)).size)
    assert heights[0] > 1.5 * heights[1] > 0
