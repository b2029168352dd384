"""Every explorer of the course with its title and its chapter: the pages of ``medn-edu app``.

`app_pages` makes a small notebook for each, which Voila shows without its code.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from medn_edu import explorers
from medn_edu.course.syllabus import chapter
from medn_edu.explorers import Explorer
from medn_edu.studies.browser import ocr_results, synthetic_results


@dataclass(frozen=True)
class Exhibit:
    """An explorer on its own."""

    title: str
    slug: str  # of the chapter that explains it
    explorer: Callable[[], Explorer]


_ROWS: tuple[tuple[str, str, Callable[[], Explorer]], ...] = (
    ("The best path jumps as transitions gain strength", "start-here", explorers.best_path),
    ("Margins of a word, and their violations", "structured-prediction", explorers.margins),
    ("Two losses over one weight", "two-losses", explorers.losses),
    ("A tilted prior, its curve and its tangent", "toolbox", explorers.tangents),
    ("A distribution over two weights", "medn", explorers.two_weights),
    ("A prior is tilted, and its mean draws a curve", "shrinkage", explorers.shrinkage),
    ("A line turned around the balls of three norms", "kl-norm", explorers.norm_balls),
    ("Majorants come down to the cost", "variational", explorers.majorants),
    ("Algorithm 1 and the exact solution", "variational", explorers.variational),
    ("Labellings come and go", "exact", explorers.frank_wolfe),
    ("Projections onto two balls", "l1-m3n", explorers.projections),
    ("Cutting planes close in", "l1-m3n", explorers.working_sets),
    ("Weights switch off along the path", "l1-m3n", explorers.l1_path),
    ("From a soft maximum to the maximum", "epsilon", explorers.softening),
    ("What a bound is made of", "pac-bayes", explorers.pac_bayes_terms),
    ("Who finds the few features that matter", "synthetic-study", synthetic_results),
    ("Who reads handwriting best", "ocr-study", ocr_results),
    ("Words as models read them", "ocr-study", explorers.read_words),
    ("Weights as images, from few words and from many", "ocr-study", explorers.weight_images),
)
EXHIBITS = {make.__name__: Exhibit(title, slug, make) for title, slug, make in _ROWS}
"""The explorers by the names under which `medn_edu.explorers` has them, in the order of the course."""


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
                f"# {exhibit.title}\n\nExplained in the chapter *{chapter(exhibit.slug).slug}* of the "
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
