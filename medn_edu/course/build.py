"""Run the notebooks of a checkout afresh and save them as they are committed.

``python -m medn_edu.course.build [NOTEBOOK ...]`` (by default all of ``notebooks/``) starts a new
kernel for each, refuses a notebook with an error or a warning in it, and saves a normal form: the
picture and the sentence of every widget without its live state (useless on a page without a kernel),
numbered cells, and nothing about times or the machine. On the way it adds links to the neighbours, the
map of the course, the index of the errata and the marks for slides. The map in the README and the table
of times in the lecturers' guide are made anew.  It needs the ``lab`` extra.  It also needs the OCR
letters, because the committed ocr-study uses the real letters.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from medn_edu.course.editions import GUIDE
from medn_edu.course.navigation import course_map, link_symbols, navigation, slips_index
from medn_edu.course.reading import times_table
from medn_edu.course.syllabus import binder_link, book_link
from medn_edu.files import write_atomically

VIEW = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
MOST_BYTES = 1_000_000
FOLDED = "jp-MarkdownHeadingCollapsed"
"""What JupyterLab notes of a heading whose cells are folded away below it."""


def normalise(notebook: Any, file: str) -> Any:
    """Bring a notebook, in place, into the form in which it is committed.

    This form has links above and below, no live views next to pictures, and cells numbered in order.
    The cells' metadata holds only tags, the kind of slide and what is folded.
    """
    notebook.metadata = {"kernelspec": dict(KERNEL), "language_info": {"name": "python"}}
    _navigate(notebook, file)
    count, in_exercise = 0, False
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        tags = list(cell.metadata.get("tags", []))
        heading = _heading(cell)
        in_exercise = heading.startswith("## Exercise") if heading else in_exercise
        shown = "skip" if in_exercise or "navigation" in tags else _slide(cell, heading)
        folded = {FOLDED: True} if cell.metadata.get(FOLDED) else {}
        cell.metadata = (
            {"slideshow": {"slide_type": shown}} | ({"tags": tags} if tags else {}) | folded
        )
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if output.get("execution_count") is not None:
                    output["execution_count"] = count
                if {"image/png", "text/markdown"} & output.get("data", {}).keys():
                    output["data"].pop(VIEW, None)
    return notebook


def _navigate(notebook: Any, file: str) -> None:
    """Put in the links above and below a notebook, the map of the course, the index of the errata."""
    cells = [cell for cell in notebook.cells if "navigation" not in cell.metadata.get("tags", [])]
    slug = Path(file).stem.lstrip("0123456789-")
    for cell in cells:
        if "**New symbols**" in cell.source:
            cell["source"] = link_symbols(cell.source, slug)
        if "map" in cell.metadata.get("tags", []):
            cell["source"] = f"## Map\n\n{course_map(here=slug)}"
        if "index" in cell.metadata.get("tags", []):
            cell["source"] = cell.source.partition("\n**")[0] + f"\n{slips_index()}"
    line = {
        "cell_type": "markdown",
        "metadata": {"tags": ["navigation"]},
        "source": navigation(file),
    }
    # of the notebook's own kind of dictionary
    notebook.cells = [type(notebook)({"id": "", **line}) for _ in range(2)]
    notebook.cells[1:1] = cells


def _heading(cell: Any) -> str:
    """Return the heading that a cell begins with, if it does."""
    first = cell.source.partition("\n")[0]
    return first if cell.cell_type == "markdown" and first.startswith("#") else ""


def _slide(cell: Any, heading: str) -> str:
    """Return the kind of slide: headings begin one, pictures go below, the rest stays with it."""
    if heading:
        return "slide"
    pictures = any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))
    return "subslide" if pictures else "-"


def build(path: Path) -> float:
    """Run one notebook in a new kernel, save it in normal form, and return the seconds it took."""
    import nbformat
    from nbclient import NotebookClient

    os.environ["TQDM_DISABLE"] = "1"
    notebook = nbformat.read(path, as_version=4)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as elsewhere:
        client = NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            store_widget_state=False,
            coalesce_streams=True,
            resources={"metadata": {"path": elsewhere}},
        )
        client.execute()
    seconds = time.monotonic() - started
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{path.name} prints to stderr: {output['text'].strip()}")
    text = nbformat.writes(normalise(notebook, path.name), version=4) + "\n"
    if len(text.encode()) > MOST_BYTES:
        raise RuntimeError(f"{path.name} would have {len(text.encode())} bytes.")
    write_atomically(path, text)
    return seconds


def renew(path: Path, mark: str, text: str) -> None:
    """Put a text into a page, between its two marks."""
    before, rest = path.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n")
    after = rest.split(f"<!-- /{mark} -->")[1]
    write_atomically(path, f"{before}<!-- {mark} -->\n{text}\n<!-- /{mark} -->{after}")


def relink(path: Path) -> None:
    """Lead the links of a page to Binder and to the book to where the repository is."""
    binder = r"https://mybinder\.org/v2/gh/\S+?/notebooks/([\w-]+\.ipynb)"
    text = re.sub(binder, lambda found: binder_link(found[1]), path.read_text(encoding="utf-8"))
    write_atomically(path, re.sub(r"https://[\w-]+\.github\.io/[\w-]+/", book_link(), text))


def main(arguments: list[str]) -> None:
    """Build the notebooks named on the command line, or all of the checkout."""
    checkout = Path(__file__).resolve().parents[2]
    notebooks = checkout / "notebooks"
    for path in [Path(name) for name in arguments] or sorted(notebooks.glob("*.ipynb")):
        seconds = build(path)
        print(f"{path.name}: {seconds:.1f} s, {path.stat().st_size / 1000:.0f} kB", flush=True)
    renew(checkout / "README.md", "course", course_map("notebooks/"))
    renew(notebooks / GUIDE, "times", times_table(notebooks))
    for path in (checkout / "README.md", notebooks / GUIDE):
        relink(path)


if __name__ == "__main__":
    main(sys.argv[1:])
