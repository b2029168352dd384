"""What Sphinx reads: the course and the pages of the repository, each in its place for the links."""

import html
import json
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from medn_edu.course.site.cells import moves
from medn_edu.course.syllabus import CHAPTERS, REPOSITORY, binder_link

_SHADES = r"white|black|(pale|dark|light|bright)(r|st|er|est)?"  # would be wrong in the dark theme
_IMAGES = (  # would look like their negatives
    r"images?|pixels|Ink on a|blank paper|handwritten|words?, with (their|a)|cup|Balls for three|"
    "belief in label|tag follows"
)
ON_PAPER = re.compile(rf"\b({_SHADES}|{_IMAGES})\b")
"""What the words of a chapter's figure name if it keeps its paper in the dark theme."""

PAPERS = (
    "clearing|denoising|denoising-new|epsilon|lattice|pac-bayes|shape-strength|shape-strength-plane"
)
"""The study figures that do so: images, heat maps, and shades that are named."""

_NO_CODE = (
    "\n\n*This page runs no code: its figures were drawn beforehand. To run cells and have your answers "
    "checked, open the notebook with one of the links above.*"
)
ASKS_THERE = "*A running notebook asks for your guess here.*\n"
_LISTED = ("README", "claims", "studies", "theorems", "measured", "how-to-add")
_IMAGE = re.compile(rf"(!\[[^\]]*\]\((?:[^)]*/)?(?:{PAPERS})\.\w+\))")
_GAP = re.compile(r"\S {2,}\S")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")


def chapter_page(path: Path, packs: Mapping[str, Any], extra: Path) -> dict[str, Any]:
    """Return a notebook as the book shows it, and put its pictures and frames into a folder.

    A picture becomes a cell of HTML with its caption.  That of an explorer has also what the script of
    the page needs.  Where the notebook asks for a running kernel, the page says how to get one.

    Parameters
    ----------
    path : Path
        The saved notebook.
    packs : mapping
        Its packs by the number of their cells, of `chapter_packs`.
    extra : Path
        Folder of the files that are copied into the book as they are.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    has_outputs = any(cell.get("outputs") for cell in notebook["cells"])
    cells: list[dict[str, Any]] = []
    for number, cell in enumerate(notebook["cells"]):
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        if "navigation" in tags:
            continue
        if cell["cell_type"] == "markdown":
            cells.append(_markdown(source))
            if source.startswith("# "):
                cells.append(_markdown(_ways(path.name) + (_NO_CODE if has_outputs else "")))
            continue
        said: list[dict[str, Any]] = []
        shown: list[dict[str, Any]] = []
        if "exercise" in tags:
            shown = [_markdown(_answer_there(path.name))]
        elif source.endswith("\nprogress()"):
            shown = [_markdown("*Your own copy of the course lists here what you have solved.*")]
        else:
            for output in cell["outputs"]:
                data = output.get("data", {})
                if "image/png" in data:
                    name = f"{path.stem}-{number}-{len(shown)}.webp"
                    shown.append(_figure(output, name, packs.get(str(number), {}), extra))
                elif "text/markdown" in data:
                    text = "".join(data["text/markdown"])
                    if shown and text.startswith("**Figure.**"):
                        shown[-1]["source"] = _captioned(shown[-1]["source"], text)
                    else:
                        shown.append(_markdown(text.replace(ASKS_THERE, "")))
                else:
                    said.append(output)
        metadata = {"tags": ["columns"]} if _in_columns(said) else {}
        cells += [{**cell, "metadata": metadata, "outputs": said}, *shown]
    notebook["cells"] = [cell | {"id": f"cell-{i}"} for i, cell in enumerate(cells)]
    return notebook


def linked(text: str, page: Path, root: Path, book: set[Path]) -> str:
    """Return a page whose links to files that aren't in the book lead to the repository.

    A line may begin with a percent sign, which would make it a comment.
    """

    def target(found: re.Match[str]) -> str:
        file = (page.parent / found[1]).resolve()
        if file in book or not file.is_relative_to(root):
            return found[0]
        kind = "tree" if file.is_dir() else "blob"
        return f"https://github.com/{REPOSITORY}/{kind}/HEAD/{file.relative_to(root).as_posix()}"

    return _LINK.sub(target, re.sub(r"(?m)^%", r"\\%", text))


def titled(text: str, page: Path) -> str:
    """Return a page with a title and a picture, which captions of figures lack."""
    if text.startswith("# "):
        return text
    png = page.with_suffix(".png")
    picture = f"![{page.stem}]({png.name})\n\n" if png.exists() else ""
    return f"# {page.stem}\n\n{picture}{text}"


def first_page(text: str) -> str:
    """Return the README in the order of somebody who came to read: the chapters, then commands."""
    head, *sections = re.split(r"(?m)^(?=## )", text)
    sections.sort(key=lambda section: not section.startswith("## Where to go next"))
    return head + "".join(sections)


def papered(text: str) -> str:
    """Return a page on which the figures of `PAPERS` keep their paper."""
    return _IMAGE.sub(r"\1{.medn-paper}", text)


def contents(notebooks: Sequence[Path]) -> str:
    """Return the contents of the book, which go to the end of its first page."""
    names = {path.name: f"notebooks/{path.stem}" for path in notebooks}
    course = [each for each in CHAPTERS if each.file in names]
    numbered = [names[each.file] for each in course if each.number is not None]
    others = [names[each.file] for each in course if each.number is None]
    parts = {
        "The course": numbered,
        "To look up": [*others, "reference/index"],
        "What came out": [f"figures/{name}" for name in _LISTED[:-1]],
        "Teach and contribute": [
            "notebooks/lecturers-guide", f"figures/{_LISTED[-1]}", "CONTRIBUTING", "CHANGELOG",
        ],
    }  # fmt: skip
    return "\n".join(_tree(pages, caption) for caption, pages in parts.items())


def captions(folder: Path) -> str:
    """Return the contents of the page of figures: the pages of their captions and tables."""
    return _tree([path.stem for path in sorted(folder.glob("*.md")) if path.stem not in _LISTED])


def _tree(pages: list[str], caption: str = "") -> str:
    lines = [
        "```{toctree}",
        ":hidden:",
        *([f":caption: {caption}"] if caption else []),
        *pages,
        "```",
    ]
    return "\n" + "\n".join(lines) + "\n"


def _in_columns(outputs: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a table is printed, whose lines mustn't be wrapped."""
    texts = (output.get("text", output.get("data", {}).get("text/plain", "")) for output in outputs)
    return any(len(_GAP.findall("".join(text))) > 1 for text in texts)


def _markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _ways(file: str) -> str:
    """Return the line of links below the title of a chapter."""
    return (
        f"[Run it on Binder]({binder_link(file)}) · "
        f"[download the notebook](path:../originals/{file}) · "
        "[map](00-start-here.ipynb#Map) · [notation](notation.ipynb#Notation) · "
        "[glossary](notation.ipynb#Glossary)"
    )


def _answer_there(file: str) -> str:
    return (
        f"*To have your answer checked, [run this chapter on Binder]({binder_link(file)}) "
        f"or [download it](path:../originals/{file}).*"
    )


def _figure(
    output: Mapping[str, Any], name: str, pack: Mapping[str, Any], extra: Path
) -> dict[str, Any]:
    """Return a picture as a cell of HTML, and save it; for an explorer its frames, too."""
    file = extra / "pictures" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(BytesIO(b64decode("".join(output["data"]["image/png"])))) as picture:
        width, height = picture.size
        picture.convert("RGB").save(file, "webp", lossless=True, method=4)
    about = output["metadata"]["image/png"]
    parts = [
        f'<img src="../pictures/{name}" alt="{html.escape(about["alt"])}" width="{width}" '
        f'height="{height}" loading="lazy" style="width: {about["width"]}px">'
    ]
    if moves(output):
        said = html.escape("".join(output["data"]["text/plain"]))
        parts.append(f'<p class="medn-summary">{said}</p>')
    parts = ['<figure class="medn-figure">', '<div class="medn-moves">', *parts, "</div>"]
    if "declared" in pack:
        frames = extra / "frames" / f"{pack['name']}.js"
        frames.parent.mkdir(parents=True, exist_ok=True)
        frames.write_text(pack["script"], encoding="utf-8")
        declared = dict(pack["declared"])
        parts += _lessons(declared.pop("lessons"))
        spec = json.dumps(declared | {"frames": pack["name"]}, ensure_ascii=False)
        spec = spec.replace("</", "<\\/")  # which would end the script
        parts.append(f'<script type="application/json">{spec}</script>')
    elif moves(output):
        parts.append('<p class="medn-summary">(It moves in the notebook only.)</p>')
    figure = "\n".join([*parts, "</figure>"])
    return _markdown(_on_paper(figure) if ON_PAPER.search(about["alt"]) else figure)


def _lessons(lessons: Mapping[str, Any]) -> list[str]:
    """Return the buttons that make the moves of the lessons, and what there is to see, hidden."""
    if not lessons:
        return []
    parts = [
        '<div class="medn-lessons" hidden>',
        "<p><b>Show me.</b> Each button sets what it says and resets everything else:</p>",
    ]
    for move, lesson in lessons.items():
        positions = html.escape(json.dumps(lesson["positions"]))
        facts = "<br>".join(html.escape(fact) for fact in lesson["facts"])
        parts.append(f'<button type="button" value="{positions}">{html.escape(move)}</button>')
        parts.append(f'<p role="status" hidden>{facts}</p>')
    return [*parts, "</div>"]


def _captioned(figure: str, caption: str) -> str:
    end = "\n</figure>"
    figure = figure.replace(end, f"\n<figcaption>\n\n{caption}\n\n</figcaption>{end}")
    return _on_paper(figure) if ON_PAPER.search(caption) else figure


def _on_paper(figure: str) -> str:
    return figure.replace('"medn-figure"', '"medn-figure medn-paper"')
