"""Editions of the course: for learning alone, for a class, and for the teacher.

=============  ====================================================================================
`self-study`   as in the repository: hints and solutions below each exercise, folded
`student`      without the solutions, for classes that hand in their work
`instructor`   with each solution as a cell that runs, and the lecturers' guide next to the notebooks
=============  ====================================================================================

All of them carry marks for slides: ``jupyter nbconvert --to slides NOTEBOOK`` makes a slide of every
section, leaves the exercises out, and puts what is shown below what is said.  (The library that turns
the pages, reveal.js, is loaded from the network when such a file is opened.)
"""

import re
from pathlib import Path
from typing import Any

from medn_edu.course.shipped import shipped_notebooks

EDITIONS = ("self-study", "student", "instructor")
"""Names of the editions."""

GUIDE = "lecturers-guide.md"
"""The lecturers' guide, next to the notebooks of the instructor edition."""

_SOLUTION = re.compile(r"<details><summary>Solution</summary>\n(.*?)</details>\n?", re.DOTALL)
_CODE = re.compile(r"```python\n(.*?)\n*```", re.DOTALL)


def edition_files(edition: str = "self-study") -> dict[str, bytes]:
    """Return the files of an edition, their content by name."""
    if edition not in EDITIONS:
        raise ValueError(f"edition is {edition!r}; expected one of {', '.join(EDITIONS)}.")
    shipped = shipped_notebooks()
    if edition == "self-study":
        return {name: path.read_bytes() for name, path in shipped.items()}
    change = _without_solution if edition == "student" else _with_solution_cell
    files = {name: _changed(path, change) for name, path in shipped.items()}
    if edition == "instructor":
        guide = next(iter(shipped.values())).with_name(GUIDE)
        files[GUIDE] = guide.read_bytes()
    return files


def _changed(path: Path, change: Any) -> bytes:
    """Return a notebook whose solutions were changed, cell by cell."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [new for cell in notebook.cells for new in change(cell)]
    return (nbformat.writes(notebook, version=4) + "\n").encode()


def _without_solution(cell: Any) -> list[Any]:
    if cell.cell_type == "markdown":
        cell["source"] = _SOLUTION.sub("", cell.source).rstrip("\n")
    return [cell]


def _with_solution_cell(cell: Any) -> list[Any]:
    """Return a cell with hints, then what the solution says, then its code."""
    import nbformat

    found = _SOLUTION.search(cell.source) if cell.cell_type == "markdown" else None
    if found is None:
        return [cell]
    marks = {"tags": ["solution"], "slideshow": {"slide_type": "skip"}}
    hints = [cell] if _SOLUTION.sub("", cell.source).strip() else []
    said = _CODE.sub("", found[1]).strip()
    cell["source"] = _SOLUTION.sub("", cell.source).rstrip("\n")
    words = nbformat.v4.new_markdown_cell(f"**Solution.** {said}".rstrip(), metadata=marks)
    codes = [nbformat.v4.new_code_cell(code, metadata=marks) for code in _CODE.findall(found[1])]
    made = [*hints, words, *codes]
    for i, each in enumerate(made):
        each["id"] = cell["id"] if i == 0 else f"{cell['id']}-solution-{i}"
    return made
