"""Which exercises a learner has solved: kept in a file beside the notebooks, and nowhere else.

A check that says *right* notes it in ``medn-progress.json`` of the folder in which the notebook runs,
if that is a folder of the course; scripts and other folders leave no trace.  ``progress()`` shows
the table, ``progress().export("progress.csv")`` writes it for a lecturer or a spreadsheet, and
``medn-edu progress`` does both from the command line.
"""

from __future__ import annotations

import csv
import datetime
import html
import io
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from medn_edu.course.shipped import shipped_notebooks
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.files import reason, write_atomically

__all__ = ["Exercise", "Progress", "course_exercises", "note_solved", "progress"]

RECORD = "medn-progress.json"
START = "00-start-here.ipynb"


@dataclass(frozen=True)
class Exercise:
    """An exercise of the course.

    Parameters
    ----------
    chapter : str
        Slug of its chapter.
    title : str
        Its heading.
    check : str
        Name of its check.
    """

    chapter: str
    title: str
    check: str


@cache
def course_exercises() -> tuple[Exercise, ...]:
    """Return the exercises of all chapters, in reading order, as the notebooks have them.

    Returns
    -------
    tuple of Exercise
        The exercises.

    Examples
    --------
    >>> course_exercises()[0].check
    'check_count_labellings'
    """
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
        heading = re.match(r"## (Exercise[^\n]*)", source)
        title = heading[1] if heading else title
        checks = re.findall(r"^(check_\w+)\(", source, re.MULTILINE)
        if "exercise" in cell["metadata"].get("tags", []) and checks:
            found.append(Exercise(slug, title, checks[-1]))
    return found


@dataclass(frozen=True)
class Progress:
    """The exercises of the course, and when each was solved.

    Parameters
    ----------
    exercises : tuple of Exercise
        The exercises.
    solved : dict of str to str
        Day of the first right answer, by the name of the check.
    """

    exercises: tuple[Exercise, ...]
    solved: dict[str, str]

    def export(self, path: str | Path) -> Path:
        """Write the table as CSV.

        Parameters
        ----------
        path : str or Path
            The file; replaced if it exists.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["chapter", "exercise", "check", "solved"])
        for each in self.exercises:
            day = self.solved.get(each.check, "")
            table.writerow([each.chapter, each.title, each.check, day])
        return write_atomically(Path(path), out.getvalue())

    def by_chapter(self) -> list[tuple[str, int, int]]:
        """Return how many exercises each chapter has, and how many of them are solved.

        Returns
        -------
        list of tuple
            Slug, solved, all.
        """
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
        rows = "".join(
            f"<tr><td>{html.escape(each.chapter)}</td><td style='text-align:left'>"
            f"{html.escape(each.title)}</td><td>{self.solved.get(each.check, '–')}</td></tr>"
            for each in self.exercises
        )
        return (
            f"<p>{self._sentence()}</p><details><summary>Every exercise</summary><table><tr>"
            f"<th>chapter</th><th>exercise</th><th>solved</th></tr>{rows}</table></details>"
        )

    def _sentence(self) -> str:
        done = sum(each.check in self.solved for each in self.exercises)
        return f"{done} of {len(self.exercises)} exercises solved."


def progress(folder: str | Path = ".") -> Progress:
    """Return which exercises were solved in a folder.

    Parameters
    ----------
    folder : str or Path
        The folder of the notebooks.

    Returns
    -------
    Progress
        The table; shown as such in a notebook.

    Raises
    ------
    ValueError
        If the record there cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> progress(tempfile.mkdtemp()).solved
    {}
    """
    return Progress(course_exercises(), _read(Path(folder)))


def note_solved(check: str, folder: str | Path = ".") -> str:
    """Note that an exercise is solved, if ``folder`` is one of the course.

    Parameters
    ----------
    check : str
        Name of the check.
    folder : str or Path
        The folder of the notebooks.

    Returns
    -------
    str
        What to tell the learner: nothing, or why it could not be kept.
    """
    folder = Path(folder)
    try:
        if not (folder / START).exists():
            return ""
        solved = _read(folder)
        if check not in solved:
            solved[check] = datetime.date.today().isoformat()
            record = {"format": 1, "solved": solved}
            write_atomically(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        return f" (Not kept: {RECORD} cannot be written, {reason(error)}.)"
    except ValueError as error:
        return f" (Not kept: {error})"
    return ""


def _read(folder: Path) -> dict[str, str]:
    """Return the days by check; a record that was damaged is refused, never replaced."""
    try:
        text = (folder / RECORD).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{RECORD} cannot be read ({error}); move it away to start anew."
        ) from None
    try:
        solved = json.loads(text)["solved"]
        return {str(check): str(day) for check, day in solved.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{RECORD} is damaged; move it away to start anew.") from None
