"""Editions: for a class without solutions, for who teaches it with solutions that run."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import SlidesExporter

from medn_edu.cli import main
from medn_edu.course import copy_course
from medn_edu.course.editions import GUIDE, edition_files
from medn_edu.course.progress import course_exercises
from medn_edu.course.syllabus import CHAPTERS, ROUTES


def notebooks(edition: str) -> dict[str, Any]:
    files = edition_files(edition)
    found = {n: nbformat.reads(files[n], as_version=4) for n in files if n.endswith(".ipynb")}
    for notebook in found.values():
        nbformat.validate(notebook)
    return found


def test_students_get_hints_and_instructors_each_solution_as_a_cell() -> None:
    hints, solutions = 0, 0
    for edition in ("student", "instructor"):
        for cell in (cell for notebook in notebooks(edition).values() for cell in notebook.cells):
            assert "Solution</summary>" not in cell.source
            hints += edition == "student" and "Hint" in cell.source
            if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", []):
                assert edition == "instructor"
                compile(cell.source, "solution", "exec")
                solutions += 1
    assert min(hints, solutions) >= len(course_exercises())
    assert GUIDE in edition_files("instructor")
    assert GUIDE not in edition_files("student")


def test_a_folder_keeps_its_edition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "class"
    assert main(["course", str(folder), "--edition", "student"]) == 0
    assert copy_course(folder).unchanged == sorted(edition_files("student"))
    assert main(["course", str(folder), "--edition", "instructor"]) == 2
    assert "holds the student edition" in capsys.readouterr().err


def test_the_guide_knows_every_chapter_and_route() -> None:
    guide = edition_files("instructor")[GUIDE].decode()
    for chapter in CHAPTERS:
        assert f"## {chapter.slug}\n" in guide, chapter.slug
    for route in ROUTES:
        assert f"| {route.name} | {route.hours} |" in guide


def test_slides_are_made_of_sections() -> None:
    notebook = notebooks("self-study")["05-shrinkage.ipynb"]
    page, _ = SlidesExporter().from_notebook_node(notebook)
    headings = sum(cell.metadata["slideshow"]["slide_type"] == "slide" for cell in notebook.cells)
    assert page.count("<section>") >= 2 * headings > 10
    assert "check_posterior_mean(posterior_mean)" not in page
