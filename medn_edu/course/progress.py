"""Which exercises a learner has solved: kept in a file next to the notebooks, and nowhere else.

When a check says *right*, it makes a note in ``medn-progress.json``.  This file is in the folder in
which the notebook runs, if that is a folder of the course.  Scripts and other folders leave no trace.
``progress()`` shows the table, ``progress().export("progress.csv")`` writes it for a lecturer or a
spreadsheet, and ``medn-edu progress`` does both from the command line.
"""

import csv
import datetime
import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from medn_edu.course.navigation import START
from medn_edu.course.shipped import shipped_notebooks
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.files import read_json, reason, write_atomically

RECORD = "medn-progress.json"
FORMAT = 1


@dataclass(frozen=True)
class Exercise:
    """An exercise of the course."""

    chapter: str  # its slug
    title: str
    check: str  # name of the function


@cache
def course_exercises() -> tuple[Exercise, ...]:
    """Return the exercises of all chapters, in reading order, as the notebooks have them."""
    shipped = shipped_notebooks()
    found = []
    for chapter in CHAPTERS:
        if chapter.file in shipped:
            cells = json.loads(shipped[chapter.file].read_text(encoding="utf-8"))["cells"]
            found += _exercises(chapter.slug, cells)
    return tuple(found)


def _exercises(slug: str, cells: list[dict]) -> list[Exercise]:
    """Read the exercises of a notebook: a heading, and the last check called in a tagged cell."""
    found, title = [], ""
    for cell in cells:
        source = "".join(cell["source"])
        title = [title, *re.findall(r"^## (Exercise.*)", source, re.MULTILINE)][-1]
        checks = re.findall(r"^(check_\w+)\(", source, re.MULTILINE)
        if "exercise" in cell["metadata"].get("tags", []) and checks:
            found.append(Exercise(slug, title, checks[-1]))
    return found


@dataclass(frozen=True)
class Progress:
    """The exercises of the course, and when each was solved."""

    exercises: tuple[Exercise, ...]
    solved: dict[str, str]  # day of the first right answer, by the name of the check
    guesses: dict[str, str] = field(
        default_factory=dict
    )  # predictions, by the name of the question

    def export(self, path: str | Path) -> Path:
        """Write the table as CSV."""
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["chapter", "exercise", "check", "solved"])
        for each in self.exercises:
            day = self.solved.get(each.check, "")
            table.writerow(map(_cell, [each.chapter, each.title, each.check, day]))
        return write_atomically(Path(path), out.getvalue())

    def by_chapter(self) -> list[tuple[str, int, int]]:
        """Return each chapter's slug, how many exercises are solved, and how many it has."""
        counts: dict[str, list[int]] = {}
        for each in self.exercises:
            count = counts.setdefault(each.chapter, [0, 0])
            count[0] += each.check in self.solved
            count[1] += 1
        return [(chapter, done, every) for chapter, (done, every) in counts.items()]

    def __repr__(self) -> str:
        rows = self.by_chapter()
        width = max((len(chapter) for chapter, _, _ in rows), default=0)
        lines = [
            f"{chapter:{width}}  {'■' * done}{'□' * (every - done)}"
            for chapter, done, every in rows
        ]
        return "\n".join([self._sentence(), *lines])

    def _repr_html_(self) -> str:
        cells = (
            map(html.escape, (each.chapter, each.title, self.solved.get(each.check, "–")))
            for each in self.exercises
        )
        rows = "".join(
            f"<tr><td>{chapter}</td><td style='text-align:left'>{title}</td><td>{day}</td></tr>"
            for chapter, title, day in cells
        )
        return (
            f"<p>{self._sentence()}</p><details><summary>Every exercise</summary><table><tr>"
            f"<th>chapter</th><th>exercise</th><th>solved</th></tr>{rows}</table></details>"
        )

    def _sentence(self) -> str:
        done = sum(each.check in self.solved for each in self.exercises)
        guesses = len(self.guesses)
        predicted = f"; {guesses} prediction{'s' * (guesses != 1)} made" if guesses else ""
        return f"{done} of {len(self.exercises)} exercises solved{predicted}."


def progress(folder: str | Path = ".") -> Progress:
    """Return which exercises were solved in a folder.

    Parameters
    ----------
    folder : str or Path, default="."
        A folder of the course.

    Returns
    -------
    Progress
        The exercises, and when each was solved.  A notebook shows it as a table, and its method
        ``export`` writes it as CSV.

    Raises
    ------
    ValueError
        If there is no such folder, or its notes cannot be read.
    """
    if not Path(folder).is_dir():
        why = "is a file, not a folder" if Path(folder).exists() else "does not exist"
        raise ValueError(f"{folder} {why}; `medn-edu lab FOLDER` makes a folder with the course.")
    record = _read(Path(folder))
    return Progress(course_exercises(), record["solved"], record["guesses"])


def note_solved(check: str, folder: str | Path = ".") -> str:
    """Note in a folder of the course that an exercise is solved; return why if this failed."""
    today = datetime.date.today().isoformat()
    return _note(Path(folder), lambda record: record["solved"].setdefault(check, today))


def note_guess(question: str, guess: str, folder: str | Path = ".") -> str:
    """Note what a learner predicts; return why if this failed."""
    return _note(Path(folder), lambda record: record["guesses"].update({question: guess}))


def noted_guess(question: str, folder: str | Path = ".") -> str | None:
    """Return what a learner has predicted, if there is a readable note of it."""
    try:
        return _read(Path(folder))["guesses"].get(question)
    except ValueError:
        return None


def _note(folder: Path, change: Callable[[dict[str, Any]], Any]) -> str:
    """Change the record of a folder of the course; return why if it could not be kept."""
    try:
        if not (folder / START).exists():
            return ""
        record = _read(folder)
        before = json.dumps(record)
        change(record)
        if json.dumps(record) != before:
            write_atomically(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        return f" (Not kept: {RECORD} cannot be written, {reason(error)}.)"
    except (ValueError, RecursionError) as error:
        return f" (Not kept: {error})"
    return ""


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def _read(folder: Path) -> dict[str, Any]:
    """Return the record; one that was damaged is refused, never replaced.

    Checks that this edition does not know, and what a later one may keep besides, stay in it.
    """
    try:
        record = read_json(folder / RECORD)
        if not _is_record(record):
            raise ValueError("is damaged or of a later version")
    except FileNotFoundError:
        return {"format": FORMAT, "solved": {}, "guesses": {}}
    except OSError as error:
        why = f"cannot be read ({reason(error)})"
        raise ValueError(f"{RECORD} {why}; move it away to start anew.") from None
    except ValueError as error:
        raise ValueError(f"{RECORD} {error}; move it away to start anew.") from None
    return {"guesses": {}} | record


def _is_record(record: Any) -> bool:
    """Tell whether a file holds names of checks and days: it may come from anywhere."""
    return (
        isinstance(record, dict)
        and type(record.get("format")) is int
        and record["format"] == FORMAT
        and isinstance(record.get("solved"), dict)
        and all(re.fullmatch(r"check_\w{1,100}", check, re.ASCII) for check in record["solved"])
        and all(map(_is_day, record["solved"].values()))
        and isinstance(record.get("guesses", {}), dict)
        and all(isinstance(guess, str) for guess in record.get("guesses", {}).values())
    )


def _is_day(day: Any) -> bool:
    try:
        return isinstance(day, str) and datetime.date.fromisoformat(day).isoformat() == day
    except ValueError:
        return False
