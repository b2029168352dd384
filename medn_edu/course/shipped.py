"""Where the notebooks of this installation are, and what they are called."""

import json
from pathlib import Path

from medn_edu.course.syllabus import Chapter


def shipped_notebooks() -> dict[str, Path]:
    """Return the notebooks of the installed package, or of the checkout it runs from, by name."""
    here = Path(__file__).resolve().parent
    for folder in (here / "notebooks", here.parent.parent / "notebooks"):
        found = {path.name: path for path in sorted(folder.glob("*.ipynb"))}
        if found:
            return found
    raise FileNotFoundError("the notebooks are missing from this installation; reinstall medn_edu.")


def chapter_title(chapter: Chapter) -> str:
    """Return the title of a chapter: the first heading of its notebook."""
    notebook = json.loads(shipped_notebooks()[chapter.file].read_text(encoding="utf-8"))
    lines = (line for cell in notebook["cells"] for line in "".join(cell["source"]).splitlines())
    return next(line for line in lines if line.startswith("# ")).removeprefix("# ")
