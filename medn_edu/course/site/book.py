"""Build the book: packs of frames, then what Sphinx reads, then the pages."""

import base64
import importlib.util
import io
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from medn_edu.course.site.packs import PACKAGE, chapter_packs
from medn_edu.course.site.pages import (
    captions,
    chapter_page,
    contents,
    first_page,
    linked,
    papered,
    titled,
)
from medn_edu.course.site.reference import reference_pages
from medn_edu.course.site.settings import SETTINGS
from medn_edu.course.syllabus import CHAPTERS

TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "notebooks/*.md", "figures/*.md")
FIGURES = ("figures/*.png", "figures/*.gif", "figures/*.mp4")  # the tables would add a tenth
_UNUSED = ("*.map", ".buildinfo", "fontawesome.js", "*webpack-macros.html")
_FIRST_LOOK = {  # the theme's own is empty, and reported as an error
    "mode": '"auto"',
    "theme": '(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")',
}
# With what touches it: an opening bracket, or the punctuation that follows.
_FORMULA = re.compile(
    r'[(\[“]?<span class="math notranslate nohighlight">[^<]*</span>[)\]”]?[.,;:?!’]+'
    r'|[(\[“]<span class="math notranslate nohighlight">[^<]*</span>'
)
_MARK = ".nojekyll"  # tells GitHub Pages to serve folders like _static, and us that this is a book


def build_book(
    checkout: Path,
    folder: Path,
    chapters: Iterable[str] = (),
    n_jobs: int | None = None,
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> list[str]:
    """Build the book of a checkout.

    Parameters
    ----------
    checkout : Path
        The repository, with ``notebooks`` and ``figures``.
    folder : Path
        Where to put the book; a book that is there is replaced.
    chapters : iterable of str
        Slugs of the chapters, by default all.
    n_jobs : int, optional
        Number of processes, by default as many as there are cores.
    progress : callable
        ``progress(done, all, chapter)`` is called after each chapter whose frames are drawn.

    Returns
    -------
    list of str
        What isn't as it should be: explorers that don't move, warnings of Sphinx.

    Raises
    ------
    ValueError
        If the folder holds something else than a book.
    """
    if folder.exists() and not (folder.is_dir() and _holds_a_book(folder)):
        raise ValueError(f"{folder} is there and isn't a book; give the name of a new folder.")
    wanted = set(chapters) or {each.slug for each in CHAPTERS}
    notebooks = [checkout / "notebooks" / each.file for each in CHAPTERS if each.slug in wanted]
    packs = chapter_packs(notebooks, n_jobs, progress)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".medn_edu-") as place:
        source, pages = Path(place, "source"), Path(place, "pages")
        _write_sources(checkout, source, notebooks, packs)
        warnings = _run_sphinx(source, pages, Path(place, "doctrees"))
        _finish(pages)
        if folder.exists():
            shutil.rmtree(folder)
        pages.rename(folder)
    stills = [
        f"{name}, cell {cell}: {pack['still']} Its page shows the picture without controls."
        for name, cells in packs.items()
        for cell, pack in cells.items()
        if "still" in pack
    ]
    return [*stills, *warnings]


def _holds_a_book(folder: Path) -> bool:
    return (folder / _MARK).exists() or not any(folder.iterdir())


def _write_sources(
    checkout: Path, source: Path, notebooks: Sequence[Path], packs: dict[str, Any]
) -> None:
    """Write what Sphinx reads: files have the same places as in the checkout, so that links hold."""
    texts = [path for pattern in TEXTS for path in sorted(checkout.glob(pattern))]
    figures = [path for pattern in FIGURES for path in sorted(checkout.glob(pattern))]
    book = {*texts, *figures, *notebooks}
    for name in ("notebooks", "originals", "figures", "reference", "_static", "_extra"):
        (source / name).mkdir(parents=True)
    for path in figures:
        shutil.copyfile(path, source / path.relative_to(checkout))
    for path in texts:
        name = path.relative_to(checkout).as_posix()
        text = papered(titled(path.read_text(encoding="utf-8"), path))
        text = linked(text, path, checkout, book)
        if name == "figures/README.md":
            text += captions(path.parent)
        if name == "README.md":
            name, text = "index.md", first_page(text) + contents(notebooks)
        (source / name).write_text(text, encoding="utf-8")
    for path in notebooks:
        page = chapter_page(path, packs.get(path.name, {}), source / "_extra")
        for cell in page["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = linked(cell["source"], path, checkout, book)
        (source / "notebooks" / path.name).write_text(json.dumps(page), encoding="utf-8")
        shutil.copyfile(path, source / "originals" / path.name)
    for name, text in reference_pages().items():
        (source / "reference" / f"{name}.rst").write_text(text, encoding="utf-8")
    _write_static(source / "_static")


def _write_static(static: Path) -> None:
    """Write style sheets and scripts; the explorers' script as a classic one, next to its model."""
    site = "course/site/static"
    for name in ("explorers/kit/explorer.css", f"{site}/site.css", f"{site}/icon.svg"):
        shutil.copy(PACKAGE / name, static)
    mathjax = importlib.util.find_spec("sphinx-mathjax-offline")
    assert mathjax is not None
    assert mathjax.origin is not None
    scripts = Path(mathjax.origin).parent / "static" / "mathjax"
    shutil.copyfile(scripts / "tex-svg-full.js", static / "mathjax.js")
    explorer = (PACKAGE / "explorers/kit/explorer.js").read_text(encoding="utf-8")
    model = (PACKAGE / site / "static_model.js").read_text(encoding="utf-8")
    explorer = explorer.replace("export default { render };\n", "")
    text = f"(() => {{\n{explorer}\n{model}}})();\n"
    (static / "explorers.js").write_text(text, encoding="utf-8")


def _run_sphinx(source: Path, pages: Path, doctrees: Path) -> list[str]:
    """Make the pages and return the warnings."""
    from sphinx.application import Sphinx

    said = io.StringIO()
    app = Sphinx(
        source, None, pages, doctrees, "html", SETTINGS, status=None, warning=said, freshenv=True
    )
    app.build()
    return re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue()).replace(f"{source}/", "").splitlines()


def _finish(pages: Path) -> None:
    """Remove what no page asks for, and let pictures load when they come near.

    The theme has each icon as a drawing in a large script and as a letter of a font.  One font is
    enough; within the style sheet it also loads from disk in browsers that keep files apart.
    """
    for pattern in _UNUSED:
        for path in sorted(pages.rglob(pattern)):
            path.unlink()
    for path in pages.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"<script[^>]*fontawesome\.js[^>]*></script>", "", text)
        text = re.sub(r"<img (?![^>]*\bloading=)", '<img loading="lazy" ', text)
        text = _FORMULA.sub(r'<span class="medn-together">\g<0></span>', text)
        for name, value in _FIRST_LOOK.items():
            text = text.replace(f'getItem("{name}") || ""', f'getItem("{name}") || {value}')
        path.write_text(text, encoding="utf-8")
    for path in sorted((pages / "_static").rglob("*.css")):
        text = re.sub(r"@font-face\{[^}]*fa-(brands|regular)[^}]*\}", "", path.read_text("utf-8"))
        text = re.sub(r"url\(([^()]+\.woff2)\)", partial(_as_data, path), text)
        path.write_text(text, encoding="utf-8")
    shutil.rmtree(pages / "_static" / "vendor")
    (pages / _MARK).touch()


def _as_data(sheet: Path, found: re.Match[str]) -> str:
    font = (sheet.parent / found[1]).read_bytes()
    return f"url(data:font/woff2;base64,{base64.b64encode(font).decode()})"
