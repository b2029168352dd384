"""The course on one page: a picture from every chapter.

``python -m medn_edu.course.contact_sheet [FOLDER]`` (by default ``figures`` of the checkout) saves it
as ``course.png``.  The pictures are those in the saved notebooks: the first moving figure of a
chapter, or its first picture.
"""

import base64
import json
import re
import sys
from pathlib import Path

from medn_edu.course.shipped import shipped_notebooks
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.explorers import save_figure
from medn_edu.explorers.kit.picture import contact_sheet, small_png
from medn_edu.files import write_atomically


def chapter_pictures() -> dict[str, bytes]:
    """Return a picture, as PNG, of every chapter that has any, by slug."""
    shipped = shipped_notebooks()
    found = {}
    for chapter in CHAPTERS:
        pictures = _pictures(shipped[chapter.file]) if chapter.file in shipped else []
        if pictures:
            found[chapter.slug] = max(pictures, key=lambda item: item[0])[1]
    return found


def _pictures(path: Path) -> list[tuple[bool, bytes]]:
    """Return the pictures of a notebook, and whether each is of an explorer; the first come first."""
    pictures = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            png = output.get("data", {}).get("image/png")
            if png is not None:
                moving = re.search("^explorer", "".join(cell["source"]), re.MULTILINE) is not None
                pictures.append((moving, base64.b64decode("".join(png))))
    return pictures


def save_contact_sheet(folder: str | Path) -> Path:
    """Save the page as ``course.png``."""
    file = save_figure(contact_sheet(chapter_pictures()), Path(folder) / "course.png")
    return write_atomically(file, small_png(file.read_bytes(), many=True))


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parents[2] / "figures"
    print(save_contact_sheet(sys.argv[1] if len(sys.argv) > 1 else checkout))
