"""Every explorer of the course with its title and its chapter: the pages of ``medn-edu app``.

`app_pages` makes a small notebook for each, which Voila shows without its code.
"""

import html
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from medn_edu import explorers
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.explorers import Explorer
from medn_edu.explorers.kit.explorer import Exhibit


def _exhibits() -> list[Exhibit]:
    """Return what the explorers' files declare, chapter by chapter."""
    names = [f"medn_edu.explorers.{each.name}" for each in iter_modules(explorers.__path__)]
    modules = [import_module(name) for name in (*names, "medn_edu.studies.browser")]
    found = [item for each in modules for item in vars(each).values() if isinstance(item, Exhibit)]
    order = [each.slug for each in CHAPTERS]
    return sorted(found, key=lambda each: (order.index(each.chapter), each.place, each.name))


EXHIBITS = {each.name: each for each in _exhibits()}
"""The explorers by the names of the functions that make them, in the order of the course."""


@dataclass(frozen=True)
class WhatToSee:
    """The lessons of an explorer, each as the moves to make and the fact they show."""

    explorer: Explorer

    def __repr__(self) -> str:
        return "\n".join(f"{moves}: {fact}" for moves, fact in self._rows())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<li><b>{html.escape(moves)}</b><br>{html.escape(fact)}</li>"
            for moves, fact in self._rows()
        )
        return f"<p>What to see:</p><ul>{rows}</ul>"

    def _rows(self) -> list[tuple[str, str]]:
        """Return each lesson's moves away from the start, in words, and its fact."""
        controls = self.explorer.controls
        found = []
        for lesson in self.explorer.lessons:
            places = {key: controls[key].position(value) for key, value in lesson.move.items()}
            moves = [
                f"{controls[key].label or key.replace('_', ' ')}: {controls[key].texts[place]}"
                for key, place in places.items()
                if place != controls[key].start
            ]
            found.append(("; ".join(moves) or "at the start", lesson.fact))
        return found


def app_pages() -> dict[str, str]:
    """Return a notebook for each explorer: JSON by file name."""
    import nbformat

    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    pages = {}
    for number, (name, exhibit) in enumerate(EXHIBITS.items(), start=1):
        cells: list[Any] = [
            nbformat.v4.new_markdown_cell(
                f"# {exhibit.title}\n\nExplained in the chapter *{exhibit.chapter}* of the "
                "course (`medn-edu lab`)."
            ),
            nbformat.v4.new_code_cell(
                "from medn_edu.course.gallery import EXHIBITS, WhatToSee\n"
                f"explorer = EXHIBITS[{name!r}].explorer()\nexplorer"
            ),
            nbformat.v4.new_code_cell("WhatToSee(explorer)"),
        ]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        pages[f"{number:02d}-{name.replace('_', '-')}.ipynb"] = nbformat.writes(notebook)
    return pages
