"""What Sphinx reads: the course and the pages of the repository, each in its place, so that links hold."""

import html
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from medn_edu.course.site.cells import moves
from medn_edu.course.syllabus import CHAPTERS, REPOSITORY, binder_link

SHADES = re.compile(
    r"\b(white|black|gr[ae]y|pale[rs]?t?|dark(er|est)?|light(er|est)?|bright(er|est)?|shad(e|es|ed))\b"
)
"""A figure whose words name a shade keeps its paper in the dark theme, where they would be wrong."""

ASKS_THERE = "*A running notebook asks for your guess here.*\n"
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
    cells: list[dict[str, Any]] = []
    for number, cell in enumerate(notebook["cells"]):
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        if "navigation" in tags:
            continue
        if cell["cell_type"] == "markdown":
            cells.append(_markdown(source))
            if source.startswith("# "):
                cells.append(_markdown(_ways(path.name)))
            continue
        said: list[dict[str, Any]] = []
        shown: list[dict[str, Any]] = []
        if "exercise" in tags:
            shown = [_markdown(_answer_there(path.name))]
        else:
            for output in cell["outputs"]:
                data = output.get("data", {})
                if "image/png" in data:
                    name = f"{path.stem}-{number}-{len(shown)}.png"
                    shown.append(_figure(output, name, packs.get(str(number), {}), extra))
                elif "text/markdown" in data:
                    text = "".join(data["text/markdown"])
                    if shown and text.startswith("**Figure.**"):
                        shown[-1]["source"] = _captioned(shown[-1]["source"], text)
                    else:
                        shown.append(_markdown(text.replace(ASKS_THERE, "")))
                else:
                    said.append(output)
        cells += [{**cell, "metadata": {}, "outputs": said}, *shown]
    notebook["cells"] = [cell | {"id": f"cell-{i}"} for i, cell in enumerate(cells)]
    return notebook


def linked(text: str, page: Path, root: Path, book: set[Path]) -> str:
    """Return a page whose links to files that aren't in the book lead to the repository."""

    def target(found: re.Match[str]) -> str:
        file = (page.parent / found[1]).resolve()
        if file in book or not file.is_relative_to(root):
            return found[0]
        kind = "tree" if file.is_dir() else "blob"
        return f"https://github.com/{REPOSITORY}/{kind}/HEAD/{file.relative_to(root).as_posix()}"

    return _LINK.sub(target, text)


def contents() -> str:
    """Return the contents of the book, which go to the end of its first page."""
    numbered = [f"notebooks/{Path(each.file).stem}" for each in CHAPTERS if each.number is not None]
    look_up = [f"notebooks/{Path(each.file).stem}" for each in CHAPTERS if each.number is None]
    parts = {
        "The course": numbered,
        "To look up": [*look_up, "reference/index"],
        "What came out": ["figures/README", "figures/claims", "figures/studies", "figures/theorems",
                          "figures/measured"],
        "Teach and contribute": ["notebooks/lecturers-guide", "figures/how-to-add", "CONTRIBUTING",
                                 "CHANGELOG"],
    }  # fmt: skip
    return "\n".join(_tree(pages, caption) for caption, pages in parts.items())


def captions(folder: Path) -> str:
    """Return the contents of the page of figures: the pages of their captions and tables."""
    listed = ("README", "claims", "studies", "theorems", "measured", "how-to-add")
    return _tree([path.stem for path in sorted(folder.glob("*.md")) if path.stem not in listed])


def _tree(pages: list[str], caption: str = "") -> str:
    lines = ["```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), *pages, "```"]
    return "\n" + "\n".join(lines) + "\n"


def _markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _ways(file: str) -> str:
    """Return the line of links below the title of a chapter."""
    return (
        f"[Run it on Binder]({binder_link(file)}) · "
        f"{{download}}`download the notebook <../originals/{file}>` · "
        "[map](00-start-here.ipynb#Map) · [notation](notation.ipynb#Notation) · "
        "[glossary](notation.ipynb#Glossary)"
    )


def _answer_there(file: str) -> str:
    return (
        f"*To have your answer checked, [run this chapter on Binder]({binder_link(file)}) "
        f"or {{download}}`download it <../originals/{file}>`.*"
    )


def _figure(
    output: Mapping[str, Any], name: str, pack: Mapping[str, Any], extra: Path
) -> dict[str, Any]:
    """Return a picture as a cell of HTML, and save it; for an explorer its frames, too."""
    png = extra / "pictures" / name
    png.parent.mkdir(parents=True, exist_ok=True)
    png.write_bytes(b64decode("".join(output["data"]["image/png"])))
    with Image.open(png) as picture:
        width, height = picture.size
    about = output["metadata"]["image/png"]
    alt, said = html.escape(about["alt"]), html.escape("".join(output["data"]["text/plain"]))
    image = (
        f'<img src="../pictures/{name}" alt="{alt}" width="{width}" height="{height}" '
        f'loading="lazy" style="width: {about["width"]}px">'
    )
    summary = f'\n<p class="medn-summary">{said}</p>' if moves(output) else ""
    kind = "medn-figure medn-paper" if SHADES.search(about["alt"]) else "medn-figure"
    source = f'<figure class="{kind}">\n<div class="medn-moves">\n{image}{summary}\n</div>\n</figure>'
    if "declared" in pack:
        frames = extra / "frames" / f"{pack['name']}.js"
        frames.parent.mkdir(parents=True, exist_ok=True)
        frames.write_text(pack["script"], encoding="utf-8")
        spec = json.dumps(pack["declared"] | {"frames": pack["name"]}, ensure_ascii=False)
        script = f'<script type="application/json">{spec.replace("</", "<" + chr(92) + "/")}</script>'
        source = source.replace("\n</figure>", f"\n{script}\n</figure>")
    return _markdown(source)


def _captioned(figure: str, caption: str) -> str:
    if SHADES.search(caption):
        figure = figure.replace('"medn-figure"', '"medn-figure medn-paper"')
    return figure.replace(
        "\n</figure>", f"\n<figcaption>\n\n{caption}\n\n</figcaption>\n</figure>"
    )
