"""Copies of the course: nothing of the learner's is ever lost."""

import json
import os
from pathlib import Path

import pytest

from medn_edu.course import copy_course, copying, editions


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


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_first_copy_and_again(shipped: Path, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "course"
    done = copy_course(target)
    assert done.folder == target
    assert done.copied == ["a.ipynb", "b.ipynb"]
    assert (target / "a.ipynb").read_text() == "first a"
    assert names(target) == [".medn-course.json", "a.ipynb", "b.ipynb"]
    again = copy_course(target)
    assert again.unchanged == ["a.ipynb", "b.ipynb"]
    assert [again.copied, again.updated, again.beside] == [[], [], {}]


def test_untouched_notebooks_are_updated_and_deleted_ones_come_back(
    shipped: Path, tmp_path: Path
) -> None:
    copy_course(tmp_path / "course")
    (shipped / "a.ipynb").write_text("second a")
    (tmp_path / "course" / "b.ipynb").unlink()
    done = copy_course(tmp_path / "course")
    assert (done.updated, done.copied) == (["a.ipynb"], ["b.ipynb"])
    assert (tmp_path / "course" / "a.ipynb").read_text() == "second a"


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


def test_of_an_unreadable_record_the_edition_is_asked(shipped: Path, tmp_path: Path) -> None:
    copy_course(tmp_path)
    for damage in ("", "not json", "[1, 2]"):
        (tmp_path / ".medn-course.json").write_text(damage)
        with pytest.raises(ValueError, match=r"says what edition of the course is there; name it"):
            copy_course(tmp_path)
        assert copy_course(tmp_path, edition="self-study").unchanged == ["a.ipynb", "b.ipynb"]


def test_copies_from_before_there_were_editions(shipped: Path, tmp_path: Path) -> None:
    copy_course(tmp_path)
    record = tmp_path / ".medn-course.json"
    record.write_text(json.dumps(json.loads(record.read_text())["files"]))
    (shipped / "a.ipynb").write_text("second a")
    assert copy_course(tmp_path).updated == ["a.ipynb"]


def test_without_a_record_every_file_counts_as_edited(shipped: Path, tmp_path: Path) -> None:
    for target, record in ((tmp_path / "none", None), (tmp_path / "empty", "{}")):
        target.mkdir()
        (target / "a.ipynb").write_text("whose is this?")
        if record is not None:
            (target / ".medn-course.json").write_text(record)
        done = copy_course(target, version="9")
        assert done.copied == ["b.ipynb"]
        assert done.beside == {"a.ipynb": "a.new-9.ipynb"}
        assert (target / "a.ipynb").read_text() == "whose is this?"


def test_a_file_in_the_way_is_named(shipped: Path, tmp_path: Path) -> None:
    (tmp_path / "course").write_text("a file")
    with pytest.raises(OSError, match=r"cannot be copied to .*course .a file is in the way"):
        copy_course(tmp_path / "course")
    with pytest.raises(OSError, match="a file is in the way"):
        copy_course(tmp_path / "course" / "below")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(shipped: Path, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(PermissionError, match="may write to"):
        copy_course(folder / "course")


def test_an_interrupted_copy_leaves_whole_files(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> Path:
        if path.name == "b.ipynb":
            raise OSError(28, "No space left on device")
        path.write_bytes(content)
        return path

    monkeypatch.setattr(copying, "write_atomically", full)
    with pytest.raises(OSError, match="no space left on device"):
        copy_course(tmp_path / "course")
    monkeypatch.undo()
    assert names(tmp_path / "course") == ["a.ipynb"]


def test_the_real_course_can_be_copied(tmp_path: Path) -> None:
    done = copy_course(tmp_path)
    assert done.copied == sorted(editions.shipped_notebooks())
    for name in done.copied:
        assert json.loads((tmp_path / name).read_text(encoding="utf-8"))["nbformat"] == 4
