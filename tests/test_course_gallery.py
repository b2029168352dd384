"""Every explorer works alone, teaches what it declares, and can be read by everyone."""

from __future__ import annotations

import inspect
import io
from typing import Any

import nbformat
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image
from scipy.ndimage import binary_opening

from medn_edu import explorers
from medn_edu.cli import app, main
from medn_edu.course.gallery import EXHIBITS, WhatToSee, app_pages
from medn_edu.explorers import Explorer

LEAST_POINTS = 9
LEAST_CONTRAST = 4.5  # of text, WCAG 2.2 AA
NOT_PLAYED = {"synthetic-results", "ocr-results", "words"}  # the others have a time


@pytest.fixture(scope="module", params=EXHIBITS)
def explorer(request: pytest.FixtureRequest) -> Explorer:
    return EXHIBITS[request.param].explorer()


def test_every_explorer_is_exhibited() -> None:
    made = {
        name
        for name in explorers.__all__
        if inspect.isfunction(getattr(explorers, name))
        and inspect.signature(getattr(explorers, name)).return_annotation == "Explorer"
    }
    assert made | {"synthetic_results", "ocr_results"} <= set(EXHIBITS)


def test_two_lessons_or_more_and_they_hold(explorer: Explorer) -> None:
    kinds = [control.kind for control in explorer.controls.values()]
    assert kinds.count("time") == (explorer.name not in NOT_PLAYED)
    assert 2 <= len(explorer.lessons) <= 5
    for lesson in explorer.lessons:
        assert explorer.check(lesson), lesson.fact
    assert len(repr(WhatToSee(explorer)).splitlines()) == len(explorer.lessons)


def test_words_state_the_numbers_now_shown(explorer: Explorer) -> None:
    explorer.set(**{key: each.values[each.start] for key, each in explorer.controls.items()})
    for control in explorer.controls:
        before = explorer.frame()
        here = explorer.values[control]
        values = explorer.controls[control].values
        place = values.index(here)
        other = values[place + 1 if place + 1 < len(values) else place - 1]
        after = explorer.set(**{control: other}).frame()
        assert after.summary != before.summary, control
        assert after.png != before.png, control
        assert explorer.set(**{control: here}).frame() == before
    assert any(character.isdigit() for character in explorer.frame().alt)


def test_what_is_not_there_is_refused(explorer: Explorer) -> None:
    before = explorer.values
    for key, control in explorer.controls.items():
        nowhere = float("nan") if control.kind in ("slider", "time") else "none of these"
        with pytest.raises(ValueError, match="expected"):
            explorer.set(**{key: nowhere})
    with pytest.raises(ValueError, match="there is no control 'speed'"):
        explorer.set(speed=1)
    assert explorer.values == before


def test_pictures_are_what_a_whole_drawing_shows(explorer: Explorer) -> None:
    """What stands still is drawn once (`medn_edu.explorers.kit.layers`); nobody may see that."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        values = {
            key: control.values[rng.integers(len(control.values))]
            for key, control in explorer.controls.items()
        }
        summary = explorer.set(**values).frame().summary
        assert explorer._update(**values) == summary  # the artists are those of this picture
        shown = np.asarray(Image.open(io.BytesIO(explorer.frame().png)), dtype=float)
        canvas = FigureCanvasAgg(explorer.figure)
        canvas.draw()
        whole = np.asarray(canvas.buffer_rgba())[..., :3]
        apart = np.abs(shown - whole).max(axis=2) > 40
        assert not binary_opening(apart, np.ones((3, 3))).any(), values  # single pixels may


def texts(explorer: Explorer) -> list[Text]:
    explorer.figure.draw_without_rendering()
    found = explorer.figure.findobj(Text)
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def luminance(colour: Any) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_text_is_large_and_dark_enough(explorer: Explorer) -> None:
    assert explorer.figure.get_figwidth() <= 9  # else pages shrink it, and its text
    for text in texts(explorer):
        assert text.get_fontsize() >= LEAST_POINTS, text.get_text()
        box = text.get_bbox_patch()
        on_white = box is None or luminance(box.get_facecolor()) > 0.8
        light = luminance(text.get_color())
        if on_white and light < 0.6:  # light text stands on dark fields, which tests cannot see
            assert 1.05 / (light + 0.05) >= LEAST_CONTRAST, (text.get_text(), text.get_color())


def test_pages_of_the_app() -> None:
    pages = app_pages()
    assert len(pages) == len(EXHIBITS)
    for text in pages.values():
        nbformat.validate(nbformat.reads(text, as_version=4))


def test_the_app_is_served_on_loopback_with_a_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []

    def serve(command: list[str]) -> int:
        started.append(command)
        return 0

    monkeypatch.setattr(app, "serve", serve)
    assert main(["app", "--no-browser"]) == 0
    [command] = started
    assert "--Voila.ip=127.0.0.1" in command
    assert "--token" in command
    monkeypatch.setattr(app.importlib.util, "find_spec", lambda name: None)
    assert main(["app"]) == 2
    assert "pip install 'medn_edu[lab]'" in capsys.readouterr().err
