"""The words of a study: ``studies/NAME.md`` with ``{placeholders}``, filled by ``studies/NAME.py``.

A file holds one text per heading ``## name``.  Texts may be paragraphs of a caption, or parts of a
sentence that only some results call for; Python decides which, and computes the numbers.
"""

import re
import string
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_STUDIES = Path(__file__).resolve().parent.parent


class Texts:
    """The texts of one study, by name: ``texts("caption", folds=10)``."""

    def __init__(self, file: str) -> None:
        self.file = _STUDIES / file
        parts = re.split(
            r"^## +(\S+) *\n", self.file.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        # a blank line parts paragraphs, other line breaks are only there for the editor
        paragraphs = [re.split(r"\n\s*\n", text.strip()) for text in parts[2::2]]
        joined = ["\n\n".join(" ".join(p.splitlines()) for p in text) for text in paragraphs]
        self.templates = dict(zip(parts[1::2], joined, strict=True))

    def __call__(self, name: str, **values: Any) -> str:
        """Return a text with its placeholders filled; exactly those that it has must be given."""
        if name not in self.templates:
            raise KeyError(
                f"{self.file.name} has no text {name!r}; it has {', '.join(self.templates)}."
            )
        template = self.templates[name]
        used = {field for _, field, _, _ in string.Formatter().parse(template) if field}
        if used != set(values):
            odd = ", ".join(sorted(used ^ set(values)))
            raise ValueError(f"{self.file.name}, {name}: placeholders and values differ in {odd}.")
        return template.format(**values)


def paragraphs(*texts: str, width: int = 100) -> str:
    """Return texts as paragraphs with lines of at most this width; empty ones are left out."""
    parts = "\n\n".join(texts).split("\n\n")
    return "\n\n".join(textwrap.fill(part, width, break_on_hyphens=False) for part in parts if part)


def bullets(texts: Iterable[str]) -> str:
    """Return texts as a list in Markdown."""
    return "\n".join(textwrap.fill(f"* {text}", 96, subsequent_indent="  ") for text in texts)


def listed(texts: Sequence[str]) -> str:
    """Return texts with commas, and "and" before the last."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def counted(n: int, what: str) -> str:
    """Return a number with its noun: ``1 draw``, ``30 draws``."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def over(n: int, what: str = "folds", one: str = "1 fold") -> str:
    """Say how many fits a mean is taken over: ``mean ± deviation over 10 folds``."""
    return one if n == 1 else f"mean ± deviation over {n} {what}"
