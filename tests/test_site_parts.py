"""What the book is made of: settings, frames, the cells of explorers, pages, colours."""

import base64
import io
import json
import re
from collections.abc import Callable
from colorsys import rgb_to_hls
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from PIL import Image
from site_books import ROOT, check_frames, same_picture

from medn_edu.course.gallery import EXHIBITS
from medn_edu.course.site.cells import explorers
from medn_edu.course.site.frames import pack_frames
from medn_edu.course.site.pages import ASKS_THERE, PAPERS, chapter_page, linked, papered
from medn_edu.course.syllabus import REPOSITORY, binder_link
from medn_edu.explorers import Explorer, Time, new_figure
from medn_edu.explorers.kit.controls import Control
from medn_edu.explorers.kit.static_grid import static_grid

GITHUB = f"https://github.com/{REPOSITORY}"

# -- which settings have a frame --------------------------------------------------------------


def check_grid(controls: Any, moved: Any, shown: Any, most: int) -> None:
    """What a reader needs first is there first, and nothing else as long as it isn't there."""

    def places(settings: Any) -> list[tuple[int, ...]]:
        return [tuple(each[name] for name in controls) for each in settings]

    grid = places(static_grid(controls, moved, shown, most))
    sizes = {name: len(control.values) for name, control in controls.items()}
    start = {name: control.start for name, control in controls.items()}
    scenes = [shown, start]
    scenes += [start | {k: controls[k].position(v) for k, v in move.items()} for move in moved]
    kinds = {name: control.kind for name, control in controls.items()}
    lists = {name: range(n) for name, n in sizes.items() if kinds[name] in ("choice", "check")}
    chosen = [shown | {name: i} for name in lists for i in lists[name]]
    every = {name: range(n) for name, n in sizes.items() if name not in lists}
    times = {name: at for name, at in every.items() if kinds[name] == "time"}
    three, nine = (
        {name: {round(i * (len(at) - 1) / (n - 1)) for i in range(n)} for name, at in every.items()}
        for n in (3, 9)
    )

    def along(coarse: Any, fine: Any) -> list[dict[str, int]]:
        """Return each control by itself, and the time: fine at each scene, coarse for each choice."""
        alone = [shown | {name: i} for name in coarse for i in coarse[name]]
        at_scenes = [scene | {name: i} for name in times for i in fine[name] for scene in scenes]
        return [
            *alone,
            *at_scenes,
            *(each | {t: i} for t in times for i in coarse[t] for each in chosen),
        ]

    assert grid[0] == places([shown])[0]
    assert len(set(grid)) == len(grid) <= most
    assert all(0 <= i < n for at in grid for i, n in zip(at, sizes.values(), strict=True))
    wanted: set[tuple[int, ...]] = set()
    for part in (scenes, chosen, along(three, nine), along(every, every)):
        wanted.update(places(part))
        assert wanted <= set(grid) or (len(grid) == most and set(grid) <= wanted)
    if (count := int(np.prod(list(sizes.values())))) <= most:
        assert len(grid) == count


@given(st.data(), st.integers(1, 400))
def test_settings_with_a_frame(data: st.DataObject, most: int) -> None:
    kinds = data.draw(st.lists(st.sampled_from(["slider", "choice", "check"]), max_size=3))
    kinds += ["time"] if not kinds or data.draw(st.booleans()) else []
    controls = {}
    for name, kind in zip("abcd", kinds, strict=False):
        values = tuple(range(2 if kind == "check" else data.draw(st.integers(1, 30))))
        start = data.draw(st.sampled_from(values))
        controls[name] = Control(kind, values, tuple(map(str, values)), start)
    at = {name: st.sampled_from(control.values) for name, control in controls.items()}
    moved = data.draw(st.lists(st.fixed_dictionaries({}, optional=at), max_size=4))
    check_grid(controls, moved, data.draw(st.fixed_dictionaries(at)), most)


@pytest.mark.parametrize(
    "name", ["score_terms", "two_weights", "norm_balls", "pac_bayes_terms", "synthetic_results"]
)
def test_settings_with_a_frame_of_the_course(name: str) -> None:
    explorer = EXHIBITS[name].explorer()
    shown = {key: control.start for key, control in explorer.controls.items()}
    for most in (12, 25, 50, 300):
        moved = [lesson.move for lesson in explorer.lessons]
        check_grid(explorer.controls, moved, shown, most)
        grid = static_grid(explorer.controls, moved, shown, most)
        assert explorer.static_grid(most) == grid


# -- frames -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def steps() -> Explorer:
    """One bar more at each step, in two colours, and a box that changes the sentence only."""
    figure = new_figure(3, 2)
    bars = figure.add_subplot(xlim=(0, 30), ylim=(0, 1)).bar(range(30), 1)

    def update(step: int, colour: str, loud: bool) -> str:
        for i, bar in enumerate(bars):
            bar.set(visible=i < step, color=colour)
        return f"{step} bars{'!' if loud else '.'}"

    choices: Any = {"step": Time(0, 30), "colour": ["red", "navy"], "loud": False}
    return Explorer(figure, update, lambda step, **_: f"Bars 1 to {step}", name="steps", **choices)


def test_frames_show_what_the_explorer_draws(steps: Explorer) -> None:
    png = steps.frame().png
    pack = pack_frames(steps, png)
    check_frames(pack.script("steps"), steps, png)
    assert "" in pack.overlay, "the box changes the sentence only"


def test_frames_have_so_much_room(steps: Explorer) -> None:
    png = steps.frame().png
    pack = pack_frames(steps, png, 9_000)
    whole = [list(each.values()) for each in steps.static_grid()]
    assert 10 < len(pack.at) < len(whole)
    assert pack.at == whole[: len(pack.at)]
    content = [*pack.overlay, *pack.summary, *pack.alt]
    assert 8_000 < sum(map(len, content)) <= 9_000
    assert len(pack.script("steps")) < 9_000 + 50 * len(pack.at)


def test_another_picture_than_the_notebooks_is_refused(steps: Explorer) -> None:
    another = steps.frame({"step": 30, "colour": 1, "loud": 0}).png
    smaller = io.BytesIO()
    Image.open(io.BytesIO(steps.frame().png)).resize((30, 20)).save(smaller, "png")
    for png in (another, smaller.getvalue()):
        with pytest.raises(ValueError, match="steps doesn't look as it does in the saved n"):
            pack_frames(steps, png)


# -- cells and pages --------------------------------------------------------------------------


def code(source: str, *outputs: Any, tags: Any = ()) -> dict[str, Any]:
    return {
        "cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs),
        "metadata": {"tags": list(tags)}, "execution_count": 1,
    }  # fmt: skip


def text(source: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": [source], "metadata": {"tags": list(tags)}}


def says(markdown: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"text/markdown": [markdown]}, "metadata": {}}


def picture(alt: str = "A line", **about: Any) -> dict[str, Any]:
    png = io.BytesIO()
    Image.new("RGB", (30, 20)).save(png, "png")
    data = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": "It rises."}
    metadata = {"image/png": {"alt": alt, "width": 24}, "medn_edu": about}
    return {"output_type": "display_data", "data": data, "metadata": metadata}


def explorer_cell(name: str) -> dict[str, Any]:
    source = "from medn_edu.explorers import Explorer, new_figure\n\n"
    source += f"Explorer(new_figure(2, 1), '{{box}}'.format, 'A box', name={name}, box=True)"
    return code(source, picture(moves=True))


def test_cells_of_explorers_run_and_what_they_need(tmp_path: Path) -> None:
    log = tmp_path / "log"
    noted = f"with open({str(log)!r}, 'a') as log:\n    print({{}}, file=log, end=' ')\n"
    cells = [
        code(noted.format("'a'")),
        explorer_cell("'first'"),
        code(noted.format("'b'") + "name = 'second'\n"),
        text("name = 'none'"),
        explorer_cell("name"),
        code(noted.format("'c'") + "mark = '!'\n"),
        explorer_cell("name + mark"),
    ]
    log.touch()
    found = [
        (number, explorer.name, log.read_text()) for number, explorer in explorers({"cells": cells})
    ]
    assert found == [(1, "first", ""), (4, "second", "a b "), (6, "second!", "a b c ")]
    with pytest.raises(ValueError, match="cell 0 has saved an explorer's picture, but shows 2"):
        list(explorers({"cells": [code("1 + 1", picture(moves=True))]}))


def page_of(folder: Path, *cells: Any) -> list[dict[str, Any]]:
    """Return the cells of a page that is made of these."""
    path = folder / "05-shrinkage.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    return chapter_page(path, {}, folder / "extra")["cells"]


def test_what_a_page_has_of_a_notebook(tmp_path: Path) -> None:
    said = {"output_type": "stream", "name": "stdout", "text": ["31 %"]}
    page = page_of(
        tmp_path,
        text("[← medn](04-medn.ipynb)", "navigation"),
        text("# Weights"),
        code("check(None)", says("run the cell again"), tags=["exercise"]),
        code("draw()", said, picture(), says("**Figure.** One line.")),
        code("ask()", says(f"**Predict:** rises?\n\n{ASKS_THERE}\nYes.")),
        code("show()", picture(moves=True)),
        code("import progress\nprogress()", says("You have solved 3.")),
    )
    sources = ["".join(cell["source"]) for cell in page]
    title, ways, exercise, answer, draw, figure, ask, question, _, still, *solved = sources
    assert (title, exercise, draw, ask) == ("# Weights", "check(None)", "draw()", "ask()")
    for way in (binder_link("05-shrinkage.ipynb"), "path:../originals/05-shrinkage.ipynb"):
        assert f"]({way})" in ways
        assert f"]({way})" in answer
    assert [cell["outputs"] for cell in page if cell["cell_type"] == "code"] == [
        [],
        [said],
        [],
        [],
        [],
    ]
    assert re.search(
        r"<figcaption>\s+\*\*Figure\.\*\* One line\.\s+</figcaption>\s+</figure>$", figure
    )
    assert question == "**Predict:** rises?\n\n\nYes."
    assert "moves in the notebook only" in still
    assert "solved" not in solved[0]
    assert "own copy of the course lists here what you have solved" in solved[1]
    assert "moves" not in figure.replace("medn-moves", "")
    src = html.fromstring(figure).xpath("//img")[0].get("src")
    png = base64.b64decode(picture()["data"]["image/png"])
    assert same_picture(png, (tmp_path / "extra" / "pages" / src).resolve().read_bytes())


@pytest.mark.parametrize(
    ("printed", "in_columns"),
    [
        ("model  error\nCRF    0.31\n", True),
        ("31 % of the words, 79 % of the\nweight on the border.\n", False),
        ("", False),
    ],
)
def test_lines_of_printed_tables_stay_whole(tmp_path: Path, printed: str, in_columns: bool) -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}
    value = {"output_type": "execute_result", "data": {"text/plain": [printed]}, "metadata": {}}
    for output in (stream, value):
        tags = page_of(tmp_path, code("show()", output))[0]["metadata"].get("tags", [])
        assert tags == ["columns"] * in_columns


def test_a_page_without_output_says_nothing_of_running(tmp_path: Path) -> None:
    still, moving = (
        "".join(page_of(tmp_path, text("# Notation"), *more)[1]["source"])
        for more in ((), (code("draw()", picture()),))
    )
    assert moving.startswith(still)
    assert "runs no code" in moving
    assert "runs no code" not in still


def test_figures_of_studies_that_keep_their_paper() -> None:
    for name in PAPERS.split("|"):
        assert list((ROOT / "figures").glob(f"{name}.*"))
    shown = "![A plane](../figures/shape-strength-plane.png) and ![lines](shape-strength-lines.png)"
    assert papered(shown) == shown.replace("plane.png)", "plane.png){.medn-paper}")


@pytest.mark.parametrize(
    ("alt", "caption", "on_paper"),
    [
        ("A line", "See the highlight, and the lighting.", False),
        ("Pale everywhere", "It rises.", False),
        ("a pale line", "It rises.", True),
        ("A line", "The darkest dots fall.", True),
        ("Words of handwritten letters", "It rises.", True),
        ("Dots", "A dot for each pixel.", False),
        ("A 3", "Three test words, with their labels.", True),
    ],
)
def test_figures_whose_words_name_a_shade_or_handwriting_keep_their_paper(
    tmp_path: Path, alt: str, caption: str, on_paper: bool
) -> None:
    cell = code("draw()", picture(alt), says(f"**Figure.** {caption}"))
    figure = html.fromstring(page_of(tmp_path, cell)[1]["source"])
    assert ("medn-paper" in figure.get("class").split()) == on_paper


def test_links_to_files_outside_of_the_book_lead_to_the_repository(tmp_path: Path) -> None:
    page, other = tmp_path / "notebooks" / "a.md", tmp_path / "b.md"
    (tmp_path / "notebooks").mkdir()
    for there, here in {
        "../b.md#part": "../b.md#part",
        "../c.py": f"{GITHUB}/blob/HEAD/c.py",
        "../c.py#L1": f"{GITHUB}/blob/HEAD/c.py#L1",
        "../notebooks": f"{GITHUB}/tree/HEAD/notebooks",
        "../../elsewhere.md": "../../elsewhere.md",
        "https://arxiv.org/": "https://arxiv.org/",
        "path:../originals/x": "path:../originals/x",
        "#part": "#part",
    }.items():
        assert linked(f"See [it]({there}).", page, tmp_path, {other}) == f"See [it]({here})."


# -- colours ----------------------------------------------------------------------------------


def contrast(colour: np.ndarray, ground: np.ndarray) -> float:
    """Return the contrast of two colours by the WCAG."""

    def light(rgb: np.ndarray) -> float:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05

    return max(light(colour), light(ground)) / min(light(colour), light(ground))


def figures_in_the_dark() -> Callable[[np.ndarray], np.ndarray]:
    """Return what the style sheet makes of a colour, by the matrices of the CSS specification."""
    sheet = (ROOT / "medn_edu/course/site/static/site.css").read_text(encoding="utf-8")
    [filters] = re.findall(r"filter: (invert.*?);", sheet)
    light = np.array([[0.213, 0.715, 0.072]] * 3)
    across = np.array([[-0.213, -0.715, 0.928], [0.143, 0.14, -0.283], [-0.787, 0.715, 0.072]])

    def dark(colour: np.ndarray) -> np.ndarray:
        for name, number in re.findall(r"([\w-]+)\(([\d.]+)(?:deg)?\)", filters):
            by, angle = float(number), np.radians(float(number))
            if name == "invert":
                colour = colour * (1 - by) + (1 - colour) * by
            elif name == "brightness":
                colour = colour * by
            else:
                assert name == "hue-rotate"
                turn = light + np.cos(angle) * (np.eye(3) - light) + np.sin(angle) * across
                colour = turn @ colour
            colour = np.clip(colour, 0, 1)
        return colour

    return dark


def test_colours_of_figures_stand_out_in_the_dark_theme() -> None:
    """As much as on white, or enough for text; tints of the paper are let off by a hair."""
    dark, white = figures_in_the_dark(), np.ones(3)
    kit, found = ROOT / "medn_edu" / "explorers" / "kit", set()
    for name in ("palette.py", "style.py", "medn.mplstyle"):
        found |= set(re.findall(r"\b[0-9A-F]{6}\b", (kit / name).read_text(encoding="utf-8")))
    assert len(found) > 25
    assert np.abs(255 * dark(white) - 0x12).max() < 1, "white is the page's #121212"
    for name in found:
        colour = np.array(list(bytes.fromhex(name))) / 255
        before, after = contrast(colour, white), contrast(dark(colour), dark(white))
        assert after >= min(before, 4.5) - 0.05, (name, before, after)
        (hue, _, vivid), (other, _, _) = (rgb_to_hls(*each) for each in (colour, dark(colour)))
        assert vivid < 0.3 or abs((hue - other + 0.5) % 1 - 0.5) < 0.05, (name, hue, other)
