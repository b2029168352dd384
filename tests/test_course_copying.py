"""Copies of the course and its editions: nothing of the learner's is ever lost."""

import itertools
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import SlidesExporter

from medn_edu.cli import main
from medn_edu.course import copy_course, copying, editions
from medn_edu.course.editions import GUIDE, edition_files
from medn_edu.course.progress import course_exercises
from medn_edu.course.syllabus import CHAPTERS, ROUTES

RECORD = ".medn-course.json"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of two notebooks whose content tests may change."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "a.ipynb").write_text("first a")
    (folder / "b.ipynb").write_text("first b")
    monkeypatch.setattr(
        editions, "shipped_notebooks", lambda: {p.name: p for p in sorted(folder.glob("*.ipynb"))}
    )
    return folder


def test_untouched_notebooks_are_updated_and_deleted_ones_come_back(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(home, str(tmp_path))
    target = tmp_path / "deep" / "course"
    done = copy_course("~/deep/course")
    assert (done.folder, done.copied) == (target, ["a.ipynb", "b.ipynb"])
    assert sorted(path.name for path in target.iterdir()) == [RECORD, "a.ipynb", "b.ipynb"]
    again = copy_course(target)
    assert again.unchanged == ["a.ipynb", "b.ipynb"]
    assert [again.copied, again.updated, again.beside] == [[], [], {}]
    (shipped / "a.ipynb").write_text("second a")
    (target / "b.ipynb").unlink()
    done = copy_course(target)
    assert (done.updated, done.copied) == (["a.ipynb"], ["b.ipynb"])
    assert (target / "a.ipynb").read_text() == "second a"


def test_an_edit_is_kept_and_the_newer_version_put_beside(shipped: Path, tmp_path: Path) -> None:
    target = tmp_path / "course"
    copy_course(target)
    (target / "a.ipynb").write_text("my work")
    assert copy_course(target).unchanged == ["a.ipynb", "b.ipynb"]
    (shipped / "a.ipynb").write_text("second a")
    done = copy_course(target, version="0.2.0")
    assert done.beside == {"a.ipynb": "a.new-0.2.0.ipynb"}
    assert (target / "a.ipynb").read_text() == "my work"
    assert (target / "a.new-0.2.0.ipynb").read_text() == "second a"
    (target / "a.new-0.2.0.ipynb").write_text("my work in the new one")
    assert copy_course(target, version="0.2.0").beside == done.beside
    assert (target / "a.new-0.2.0.ipynb").read_text() == "my work in the new one"


def test_records_that_are_old_damaged_or_missing(shipped: Path, tmp_path: Path) -> None:
    """From before there were editions; asking for the edition; every file counts as edited."""
    copy_course(tmp_path)
    for damage in ("", "not json", "[1, 2]"):
        (tmp_path / RECORD).write_text(damage)
        with pytest.raises(ValueError, match=r"says what edition of the course is there; name it"):
            copy_course(tmp_path)
        assert copy_course(tmp_path, edition="self-study").unchanged == ["a.ipynb", "b.ipynb"]
    (tmp_path / RECORD).write_text(json.dumps(json.loads((tmp_path / RECORD).read_text())["files"]))
    (shipped / "a.ipynb").write_text("second a")
    assert copy_course(tmp_path).updated == ["a.ipynb"]
    (tmp_path / "a.ipynb").write_text("whose is this?")
    (tmp_path / "b.ipynb").unlink()
    (tmp_path / RECORD).write_text("{}")
    done = copy_course(tmp_path, version="9")
    assert (done.copied, done.beside) == (["b.ipynb"], {"a.ipynb": "a.new-9.ipynb"})
    (tmp_path / RECORD).unlink()
    assert copy_course(tmp_path, version="9").beside == done.beside
    assert (tmp_path / "a.ipynb").read_text() == "whose is this?"


def test_an_interrupted_copy_leaves_whole_files(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> Path:
        if path.name == "b.ipynb":
            raise OSError(28, "No space left on device")
        path.write_bytes(content)
        return path

    monkeypatch.setattr(copying, "write_atomically", full)
    with pytest.raises(OSError, match=r"no space left on device.*that you may write to"):
        copy_course(tmp_path / "course")
    assert [path.name for path in (tmp_path / "course").iterdir()] == ["a.ipynb"]


def notebooks(edition: str) -> dict[str, Any]:
    files = edition_files(edition)
    found = {n: nbformat.reads(files[n], as_version=4) for n in files if n.endswith(".ipynb")}
    for notebook in found.values():
        nbformat.validate(notebook)
    return found


def test_students_get_hints_and_instructors_each_solution_as_a_cell() -> None:
    hints, solutions = 0, 0
    for edition in ("student", "instructor"):
        pairs = (itertools.pairwise(each.cells) for each in notebooks(edition).values())
        for before, cell in itertools.chain.from_iterable(pairs):
            assert "Solution</summary>" not in cell.source
            hints += edition == "student" and "Hint" in cell.source
            if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", []):
                assert edition == "instructor"
                assert "solution" in before.metadata.tags, "words, then code"
                compile(cell.source, "solution", "exec")
                solutions += 1
    assert min(hints, solutions) >= len(course_exercises())
    assert GUIDE not in edition_files("student")
    guide = edition_files("instructor")[GUIDE].decode()
    for chapter in CHAPTERS:
        if chapter.slug == "notation":
            continue
        assert f"## {chapter.slug}\n" in guide, chapter.slug
    for route in ROUTES:
        assert f"| {route.name} | {route.hours} |" in guide


def test_a_folder_keeps_its_edition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "class"
    assert main(["course", str(folder), "--edition", "student"]) == 0
    assert copy_course(folder).unchanged == sorted(edition_files("student"))
    assert main(["course", str(folder), "--edition", "instructor"]) == 2
    assert "holds the student edition" in capsys.readouterr().err


def test_slides_are_made_of_sections() -> None:
    notebook = notebooks("self-study")["05-shrinkage.ipynb"]
    page, _ = SlidesExporter().from_notebook_node(notebook)
    headings = sum(cell.metadata["slideshow"]["slide_type"] == "slide" for cell in notebook.cells)
    assert page.count("<section>") >= 2 * headings > 10
    assert "check_posterior_mean(posterior_mean)" not in page
