"""Pictures drawn in layers are those that a full drawing would give."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from medn_edu.course.gallery import EXHIBITS
from medn_edu.plots import new_figure
from medn_edu.plots.layers import Layers

DPI = 60


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float)


def drawn_as_a_whole(figure: Figure) -> np.ndarray:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(float)


def differing(png: bytes, figure: Figure) -> int:
    """Number of pixels that differ by more than edges do that were smoothed twice."""
    return int((np.abs(pixels(png) - drawn_as_a_whole(figure)).max(axis=2) > 40).sum())


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
    return {"figure": figure, "left": left, "right": right} | {
        "line": line, "bar": bar, "text": text, "note": note,
    }  # fmt: skip


def change(step: int, s: dict[str, Any]) -> None:
    """Move one thing after the other, as widgets do, and as they should not."""
    if step == 1:
        s["line"].set_ydata([0.2, 0.9])
    elif step == 2:
        s["bar"].set_height(0.3)
    elif step == 3:
        s["text"].set_text("other words")
        s["note"].set_text("another note")
    elif step == 4:
        s["left"].set_xlim(-1, 2)
    elif step == 5:
        s["right"].plot([0.1, 0.2], [0, 1])
    elif step == 6:
        s["right"].lines[0].remove()
    elif step == 7:
        s["left"].set_visible(False)
    elif step == 8:
        s["left"].set_visible(True)
        s["left"].set_title("title")
    elif step == 9:
        s["right"].clear()
        s["right"].plot([0, 3], [0, 3])


def test_every_change_is_shown(scene: dict[str, Any]) -> None:
    layers = Layers(scene["figure"], DPI)
    pictures = []
    for step in range(10):
        layers.watch()
        change(step, scene)
        pictures.append(layers.render())
        assert differing(pictures[-1], scene["figure"]) < 20, step
    assert len(set(pictures)) == len(pictures)


def test_what_stands_still_is_drawn_once(
    scene: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = Layers(scene["figure"], DPI)
    drawings = []
    monkeypatch.setattr(
        FigureCanvasAgg, "draw", lambda self, draw=FigureCanvasAgg.draw: drawings.append(draw(self))
    )
    for height in (1.0, 0.5, 0.7, 0.9):
        layers.watch()
        scene["bar"].set_height(height)
        layers.render()
    assert len(drawings) <= 2


def test_three_dimensions_are_drawn_whole() -> None:
    figure = new_figure(3, 3)
    (line,) = figure.add_subplot(projection="3d").plot([0, 1], [0, 1], [0, 1], color="red", lw=5)
    layers = Layers(figure, DPI)
    heights = []
    for height in (1.0, 0.2):
        layers.watch()
        line.set_data_3d([0, 1], [0, 1], [0, height])
        red = pixels(layers.render())[..., 1] < 50
        heights.append(np.flatnonzero(red.any(axis=1)).size)
    assert heights[0] > 1.5 * heights[1] > 0


@pytest.mark.parametrize("name", EXHIBITS)
def test_explorers_show_what_a_whole_drawing_shows(name: str) -> None:
    explorer = EXHIBITS[name].explorer()
    rng = np.random.default_rng(0)
    for _ in range(3):
        values = {
            key: control.values[rng.integers(len(control.values))]
            for key, control in explorer.controls.items()
        }
        summary = explorer.set(**values).frame().summary
        assert explorer._update(**values) == summary  # the artists are those of this picture
        assert differing(explorer.frame().png, explorer.figure) < 400
