"""Build the book."""

import importlib.util
import io
import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medn_edu.course.site.packs import PACKAGE, chapter_packs
from medn_edu.course.site.pages import captions, chapter_page, contents, linked
from medn_edu.course.site.reference import reference_pages
from medn_edu.course.site.settings import SETTINGS

KIT = PACKAGE / "explorers" / "kit"
STATIC = Path(__file__).parent / "static"
TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "notebooks/*.md", "figures/*.md")
FIGURES = ("figures/*.png", "figures/*.gif", "figures/*.mp4")  # tables would add a tenth


def build_book(checkout: Path, folder: Path, notebooks: Sequence[Path], n_jobs: int | None = None) -> str:
    """Build."""
    packs = chapter_packs(notebooks, n_jobs)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "source")
        write_sources(checkout, source, notebooks, packs)
        return run_sphinx(source, folder, Path(place, "doctrees"))


def write_sources(checkout: Path, source: Path, notebooks: Sequence[Path], packs: dict[str, Any]) -> None:
    texts = [path for pattern in TEXTS for path in sorted(checkout.glob(pattern))]
    figures = [path for pattern in FIGURES for path in sorted(checkout.glob(pattern))]
    book = {*texts, *figures, *notebooks}
    extra = source / "_extra"
    for name in ("notebooks", "originals", "figures", "reference", "_static", "_extra"):
        (source / name).mkdir(parents=True)
    for path in figures:
        shutil.copyfile(path, source / path.relative_to(checkout))
    for path in texts:
        text = linked(path.read_text(encoding="utf-8"), path, checkout, book)
        name = path.relative_to(checkout)
        if str(name) == "README.md":
            name, text = Path("index.md"), text + contents()
        if name.as_posix() == "figures/README.md":
            text += captions(path.parent)
        if not text.startswith("# "):
            text = f"# {path.stem}\n\n{text}"
        (source / name).write_text(text, encoding="utf-8")
    for path in notebooks:
        page = chapter_page(path, packs.get(path.name, {}), extra)
        for cell in page["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = linked(cell["source"], path, checkout, book)
        (source / "notebooks" / path.name).write_text(json.dumps(page), encoding="utf-8")
        shutil.copyfile(path, source / "originals" / path.name)
    for name, text in reference_pages().items():
        (source / "reference" / f"{name}.rst").write_text(text, encoding="utf-8")
    static = source / "_static"
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    mathjax = Path(found.origin).parent / "static" / "mathjax" / "tex-svg.js"
    shutil.copyfile(mathjax, static / "tex-svg.js")
    shutil.copyfile(KIT / "explorer.css", static / "explorer.css")
    shutil.copyfile(STATIC / "site.css", static / "site.css")
    explorer = (KIT / "explorer.js").read_text(encoding="utf-8")
    explorer = explorer.replace("export default { render };", "")
    script = (STATIC / "static_model.js").read_text(encoding="utf-8")
    (static / "explorers.js").write_text(f"(() => {{\n{explorer}\n{script}}})();\n", encoding="utf-8")


def run_sphinx(source: Path, folder: Path, doctrees: Path) -> str:
    from sphinx.application import Sphinx

    warnings = io.StringIO()
    app = Sphinx(source, None, folder, doctrees, "html", SETTINGS, status=None, warning=warnings, freshenv=True, parallel=2)
    app.build()
    for path in folder.rglob("*.map"):
        path.unlink()
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"<img (?!.*?loading=)", '<img loading="lazy" ', text), encoding="utf-8")
    return warnings.getvalue()
