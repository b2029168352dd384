"""Solved exercises are kept next to the notebooks, nowhere else, and never lost."""

import csv
import json
import os
from pathlib import Path

import pytest

from medn_edu.cli import main
from medn_edu.course import exercises, progress
from medn_edu.course.progress import RECORD, START, Exercise, Progress, course_exercises


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


def test_right_answers_are_kept_in_a_folder_of_the_course(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    for path in (course / RECORD, course / START):
        path.unlink()
    exercises.check_count_labellings(10**5)
    assert list(course.iterdir()) == []
    assert capsys.readouterr().out.count("Not kept") == 0


def test_a_damaged_record_stays(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What records may hold besides is tried in test_fuzz_files.py."""
    for damage in (
        *("", "\xff", "[" * 100_000, " " * 2_000_000, '{"format": 2, "solved": {}}'),
        '{"format": 1, "solved": {"check_x<b>": "2026-01-01"}}',
        '{"format": 1, "solved": {"check_x": "20260101"}}',
    ):
        (course / RECORD).write_text(damage, encoding="latin1")
        exercises.check_count_labellings(10**5)
        out = capsys.readouterr().out
        assert out.startswith("Right: "), damage[:50]
        assert "Not kept" in out
        assert out.count("\n") == 1
        assert (course / RECORD).read_text(encoding="latin1") == damage
        with pytest.raises(ValueError, match=f"^{RECORD} .*; move it away to start anew.$"):
            progress()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_a_record_that_is_no_file_is_not_waited_for(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(course / RECORD)
    exercises.check_count_labellings(10**5)
    assert f"(Not kept: {RECORD} is not a regular file; move it away" in capsys.readouterr().out
    (course / RECORD).unlink()
    (course / RECORD).symlink_to(RECORD)
    with pytest.raises(ValueError, match=f"^{RECORD} cannot be read .*links"):
        progress()


def test_days_and_what_other_editions_keep_stay(course: Path) -> None:
    solved = {"check_of_tomorrow": "2026-01-01", "check_posterior_mean": "2026-01-02"}
    (course / RECORD).write_text(json.dumps({"format": 1, "solved": solved, "name": "Ada"}))
    assert repr(progress()).startswith("1 of ")
    exercises.check_count_labellings(10**5)
    exercises.check_posterior_mean(2 / 3)
    kept = json.loads((course / RECORD).read_text())
    assert kept["solved"].pop("check_count_labellings")
    assert kept["solved"] == solved, "days are those of the first right answers"
    assert kept["name"] == "Ada"


def test_nothing_runs_in_a_browser_or_a_spreadsheet(tmp_path: Path) -> None:
    """Whatever a table holds: lecturers open those of their students."""
    every = tuple(Exercise(c, c, c) for c in ("=1", "+1", "-1", "@x", "\t=1", "<b>"))
    found = Progress(every, {each.check: each.check for each in every})
    assert "<b>" not in found._repr_html_()
    with found.export(tmp_path / "mine.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))]


def test_the_command_shows_and_exports(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exercises.check_count_labellings(10**5)
    assert main(["progress", str(course), "--export", str(course / "mine.csv")]) == 0
    assert "start-here" in capsys.readouterr().out
    with (course / "mine.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["check"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(exercises.__all__)
    assert rows["check_count_labellings"]["solved"]
    assert not rows["check_posterior_mean"]["solved"]


def test_the_command_refuses_what_is_no_folder_of_the_course(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "mine.ipynb").write_text("{}")
    for name, why in (
        ("gone", "gone does not exist; `medn-edu lab FOLDER` makes"),
        ("a.txt", "a.txt is a file, not a folder"),
        ("", f"isn't a folder of the course: {START} is missing"),
    ):
        assert main(["progress", str(tmp_path / name)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert why in said.err
        assert said.err.count("\n") == 1
