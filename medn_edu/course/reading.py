"""How long a chapter takes to read aloud: its words, plus two minutes for each thing to try.

Exercises and moving figures count two minutes each.  Hints, solutions and code are not read aloud.
Somebody who stops to think takes about twice as long.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from medn_edu.course.syllabus import CHAPTERS

WORDS_PER_MINUTE, MINUTES_TO_TRY = 250, 2

_NOT_READ = re.compile(
    r"<details><summary>(?:Hint|Solution|Answers).*?</details>|<!--.*?-->|<[^>]+>|[|#*`-]+",
    re.DOTALL,
)


@dataclass(frozen=True)
class Reading:
    """What there is to read and to try in a notebook."""

    words: int
    exercises: int
    explorers: int

    @property
    def minutes(self) -> float:
        """Minutes that it takes to read aloud and to try things."""
        return self.words / WORDS_PER_MINUTE + MINUTES_TO_TRY * (self.exercises + self.explorers)

    @property
    def rounded(self) -> int:
        """The same, rounded up to five minutes."""
        return 5 * math.ceil(self.minutes / 5)


def reading(notebook: Path) -> Reading:
    """Count the words, exercises and explorers of a notebook."""
    words = exercises = explorers = 0
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        if cell["cell_type"] == "code":
            exercises += "exercise" in tags
            explorers += bool(re.search(r"^explorer = ", source, re.MULTILINE))
        elif not {"navigation", "map", "index"} & set(tags):
            words += len(_NOT_READ.sub(" ", source).split())
    return Reading(words, exercises, explorers)


def times_table(notebooks: Path) -> str:
    """Return the table of all chapters' times as Markdown."""
    rows = [
        "| chapter | words | exercises | explorers | minutes |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in CHAPTERS:
        if each.number is not None and (notebooks / each.file).exists():
            found = reading(notebooks / each.file)
            counts = f"{found.words:,} | {found.exercises} | {found.explorers}"
            rows.append(f"| [{each.slug}]({each.file}) | {counts} | {found.minutes:.0f} |")
    return "\n".join(rows)
