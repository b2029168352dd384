"""Every explorer works alone, teaches what it declares, and can be read by everyone."""

import html
import inspect
import re
from typing import Any
from unittest.mock import Mock

import nbformat
import numpy as np
import pytest
from drawings import differing
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from medn_edu import explorers
from medn_edu.cli import app, main
from medn_edu.course.figure_pages import app_pages, app_template
from medn_edu.course.gallery import EXHIBITS
from medn_edu.course.syllabus import chapter
from medn_edu.explorers import Explorer
from medn_edu.explorers.kit.controls import Check, Choice, Slider
from medn_edu.explorers.kit.explorer import Lesson
from medn_edu.explorers.kit.what_to_see import WhatToSee

OF_STUDIES = {"synthetic-results", "ocr-results"}  # their lessons are about all of a table
NOT_PLAYED = {*OF_STUDIES, "words"}  # the others have a time
# about all that is shown; the second where digits stand in for the OCR letters
OF_ALL = ("The more words, the more similar", "Every label is among", "Models are less sure")
NO_NUMBER = re.compile(r"\b(nan|inf)\b|[-−]0\.0+(?!\d)")
MORE_TO_TELL = {"majorants", "l1-path", "pac-bayes-terms", "softening"}  # than their sentences do


@pytest.fixture(scope="module", params=EXHIBITS)
def explorer(request: pytest.FixtureRequest) -> Explorer:
    return EXHIBITS[request.param].explorer()


def test_every_explorer_has_a_caption(explorer: Explorer) -> None:
    sentences = re.findall(r"[^.?!]+[.?!]", explorer.caption)
    assert len(sentences) >= 2, "what is seen, and the one thing to notice"


def anywhere(explorer: Explorer, n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Values of all controls, drawn at random."""
    rng = np.random.default_rng(seed)
    controls = explorer.controls.items()
    return [
        {key: each.values[rng.integers(len(each.values))] for key, each in controls}
        for _ in range(n)
    ]


def test_every_explorer_is_exhibited_and_has_a_page_of_the_app() -> None:
    functions = filter(inspect.isfunction, vars(explorers).values())
    made = {each.__name__ for each in functions if each.__annotations__["return"] is Explorer}
    assert made | {"synthetic_results", "ocr_results"} <= set(EXHIBITS)
    places = [(chapter(each.chapter).number, each.place) for each in EXHIBITS.values()]
    assert places == sorted(places), "in the order of the course"
    pages = app_pages()
    assert len(pages) == len(EXHIBITS)
    linked = []
    for page in pages.values():
        notebook = nbformat.reads(page, as_version=4)
        nbformat.validate(notebook)
        assert notebook.cells[0].source.count(f"# {notebook.metadata.title}\n") == 1
        linked += re.findall(r"\]\((\S+\.ipynb)\)", notebook.cells[0].source)
    assert linked[0] == list(pages)[1]
    assert linked[1:] == [
        name for i in range(1, len(pages)) for name in list(pages)[i - 1 : i + 2 : 2]
    ]
    index = app_template()["tree.html"]
    assert re.findall(r"render/(\S+)\?", index) == list(pages)


def test_what_to_see_tells_and_makes_the_moves_away_from_the_start() -> None:
    assert "\nBack to the start: Where aai and aax tie" in repr(WhatToSee(explorers.losses()))
    explorer = explorers.margins()
    start = explorer.values
    seen = WhatToSee(explorer)
    assert repr(seen).startswith("Set w₂ to 0.50: The best path jumps")
    _, *children = seen.widget().children
    for button, fact, lesson in zip(children[::2], children[1::2], explorer.lessons, strict=True):
        assert fact.value == "", "look first"
        button.click()
        assert explorer.values == start | lesson.move
        assert fact.value == html.escape(lesson.fact)


def test_moves_are_phrases() -> None:
    def update(**_: object) -> str:
        return "Nothing moves."

    prior = Choice(["Laplace", "spike and slab"], label="prior")
    errors = Choice(["nothing", "M3N"], label="subtract the errors of")
    boxes = {"a": Check(label="CRF"), "b": Check(label="M3N"), "c": Check(True, label="L1-CRF")}
    moves = {"eta": 2, "prior": "spike and slab", "errors": "M3N", "a": True, "b": True, "c": False}
    eta = Slider(0, 3, 1, label="η, natural parameter")
    explorer = Explorer(Figure(), update, "Nothing.", eta=eta, prior=prior, errors=errors, **boxes)
    told = WhatToSee(explorer).move(Lesson(moves, "", lambda **_: True))
    first = "Set η to 2 and the prior to “spike and slab”; subtract the errors of M3N; "
    assert told == first + "tick “CRF” and “M3N”; untick “L1-CRF”"


def test_lessons_with_the_same_move_share_a_button() -> None:
    seen = WhatToSee(explorers.l1_path())
    moves = [each.description for each in seen.widget().children if hasattr(each, "click")]
    assert len(set(moves)) == len(moves) == len(seen.explorer.lessons) - 1


def test_pictures_are_what_a_whole_drawing_shows(explorer: Explorer) -> None:
    """What stands still is drawn once (`medn_edu.explorers.kit.layers`); nobody may see that.

    This test is the first, so that no picture is kept from before and the artists are those of this one.
    """
    for values in anywhere(explorer, 3):
        frame = explorer.set(**values).frame()
        assert differing(frame.png, explorer.figure, 3) == 0, values


def test_two_lessons_or_more_that_hold_and_can_fail(explorer: Explorer) -> None:
    """A fact that held wherever the controls stand would teach nothing."""
    kinds = [control.kind for control in explorer.controls.values()]
    assert kinds.count("time") == (explorer.name not in NOT_PLAYED)
    assert 2 <= len(explorer.lessons) <= 5
    for lesson in explorer.lessons:
        WhatToSee(explorer).show(lesson)
        assert lesson.holds(**explorer.values), lesson.fact
        assert explorer.check(lesson), lesson.fact
        if not (explorer.name in OF_STUDIES or lesson.fact.startswith(OF_ALL)):
            places = anywhere(explorer, 400)
            assert not all(lesson.holds(**values) for values in places), lesson.fact
    assert len(repr(WhatToSee(explorer)).splitlines()) == len(explorer.lessons)


def test_every_control_moves_the_picture_and_the_words(explorer: Explorer) -> None:
    """From the start one step, to both ends and to the middle; and the way back."""
    start = {key: each.values[each.start] for key, each in explorer.controls.items()}
    before = explorer.set(**start).frame()
    for key, control in explorer.controls.items():
        last = len(control.values) - 1
        for place in {0, last // 2, last, min(control.start + 1, last)} - {control.start}:
            after = explorer.set(**{key: control.values[place]}).frame()
            assert after.summary != before.summary, (key, place)
            assert after.png != before.png, (key, place)
        assert explorer.set(**start).frame() == before
    for values in anywhere(explorer, 12, seed=1):
        frame = explorer.set(**values).frame()
        assert any(character.isdigit() for character in frame.alt)
        assert not NO_NUMBER.search(f"{frame.summary} {frame.alt}"), values
        if explorer.name not in MORE_TO_TELL:
            said = f"{frame.summary} {list(values.values())}"
            decimals = map(float, re.findall(r"\d+\.\d+", frame.alt))
            assert set(decimals) <= set(map(float, re.findall(r"\d+(?:\.\d+)?", said))), values


def test_what_is_not_there_is_refused(explorer: Explorer) -> None:
    before = explorer.values
    for key, control in explorer.controls.items():
        nowhere = float("nan") if control.kind in ("slider", "time") else "none of these"
        with pytest.raises(ValueError, match="expected"):
            explorer.set(**{key: nowhere})
    with pytest.raises(ValueError, match="there is no control 'speed'; the controls are "):
        explorer.set(**anywhere(explorer, 1)[0], speed=1)
    assert explorer.values == before


def luminance(colour: Any) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_text_is_large_and_dark_enough(explorer: Explorer) -> None:
    assert explorer.figure.get_figwidth() <= 9  # else pages shrink it, and its text
    explorer.figure.draw_without_rendering()
    for text in explorer.figure.findobj(Text):
        if not text.get_visible() or not text.get_text().strip():
            continue
        assert text.get_fontsize() >= 9, text.get_text()
        box = text.get_bbox_patch()
        on_white = box is None or luminance(box.get_facecolor()) > 0.8
        light = luminance(text.get_color())
        if on_white and light < 0.6:  # light text stands on dark fields, which tests cannot see
            contrast = 1.05 / (light + 0.05)
            assert contrast >= 4.5, (text.get_text(), text.get_color())  # WCAG 2.2 AA


def test_the_app_is_served_on_loopback_with_a_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "serve", Mock(return_value=0))
    assert main(["app", "--no-browser"]) == 0
    [command] = app.serve.call_args.args
    assert "--Voila.ip=127.0.0.1" in command
    assert "--token" in command
    monkeypatch.setattr(app.importlib.util, "find_spec", lambda name: None)
    assert main(["app"]) == 2
    assert "pip install 'medn_edu[lab]'" in capsys.readouterr().err
