"""Solved exercises are kept beside the notebooks, nowhere else, and never lost."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from medn_edu.cli import main
from medn_edu.course import exercises, progress
from medn_edu.course.progress import RECORD, START, course_exercises


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / START).write_text("a notebook")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_check_belongs_to_one_exercise() -> None:
    checks = [each.check for each in course_exercises()]
    assert len(set(checks)) == len(checks)
    assert set(checks) == set(exercises.__all__)
    assert all(each.title.startswith("Exercise ") for each in course_exercises())


def test_right_answers_are_kept(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exercises.check_count_labellings(4)
    assert not (course / RECORD).exists()
    exercises.check_count_labellings(10**5)
    exercises.check_posterior_mean(2 / 3)
    before = (course / RECORD).read_text()
    exercises.check_posterior_mean(2 / 3)
    assert (course / RECORD).read_text() == before
    found = progress()
    assert set(found.solved) == {"check_count_labellings", "check_posterior_mean"}
    assert ("shrinkage", 1) in [(chapter, done) for chapter, done, _ in found.by_chapter()]
    assert repr(found).startswith(f"2 of {len(course_exercises())} exercises solved.")
    assert "read the curve" in found._repr_html_()
    assert capsys.readouterr().out.count("Not kept") == 0


def test_nothing_is_kept_outside_the_course(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exercises.check_count_labellings(10**5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["", "[]", '{"solved": 3}', "\xff"])
def test_a_damaged_record_stays(
    course: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (course / RECORD).write_text(damage, encoding="latin1")
    exercises.check_count_labellings(10**5)
    out = capsys.readouterr().out
    assert out.startswith("Right: ")
    assert "Not kept" in out
    assert out.count("\n") == 1
    assert (course / RECORD).read_text(encoding="latin1") == damage
    with pytest.raises(ValueError, match="move it away"):
        progress()


def test_the_command_shows_and_exports(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exercises.check_count_labellings(10**5)
    assert main(["progress", str(course), "--export", str(course / "mine.csv")]) == 0
    assert "start-here" in capsys.readouterr().out
    with (course / "mine.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["check"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(exercises.__all__)
    assert rows["check_count_labellings"]["solved"]
    assert not rows["check_posterior_mean"]["solved"]
