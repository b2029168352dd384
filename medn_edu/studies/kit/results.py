"""The results of a study in a folder: the rows of every finished fit, kept at once.

``results.csv`` has the rows, sorted by the keys of their fits.  Clock and processor times have a file
of their own, ``timings.csv``, because times differ from run to run and results do not.  A fit that
fails is a row with its error, and the next run tries it again.  The next run also repeats fits whose
rows come from another version of this package, a model with other settings or an earlier revision of
the study.  Rows of fits that a run does not ask for stay as they are.

A killed run resumes where it was.  A finished fit is appended to ``journal.csv`` at once, which costs
the same however long the tables are.  The tables are replaced in one step at the end, and now and then
before, so that writing them takes at most a hundredth of the time.  Opening the folder puts the
journal's fits into the tables first.  Rows are kept in memory as they would be read from the file,
rounded, so that whatever is computed from them does not depend on interruptions either.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medn_edu import __version__
from medn_edu.files import remove_leftovers, write_atomically
from medn_edu.studies.kit.specs import TIMES, FitSpec, Row, Study
from medn_edu.studies.kit.summary import groups, read_constants
from medn_edu.studies.kit.tables import csv_text, damaged_cell, read_csv

Constants = tuple[tuple[str, float], ...]
"""Names and values of what a model is built with."""

_ANY, _COUNT, _SHARE = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)
RANGES = {
    "fold": _COUNT, "seed": _COUNT, "n_train": _COUNT, "n_test": _COUNT,
    "error": _SHARE, "train_error": _SHARE, "primal": _ANY, "dual": _ANY, "relative_gap": _ANY,
    "n_passes": _COUNT, "n_weights": _COUNT, "n_nonzero": _COUNT, "n_large": _COUNT,
    "n_support": _COUNT, "seconds": _COUNT, "cpu_seconds": _COUNT,
}  # fmt: skip
"""Columns of numbers, and where these lie."""


@dataclass(eq=False)
class ResultStore:
    """The results of a study in a folder, always complete on disk."""

    folder: Path
    study: Study
    rows: dict[str, list[Row]] = field(default_factory=dict)  # of each fit, with their times
    share_of_writing: float = 0.01  # of the time, at most, for whole tables
    _next_write: float = field(default=0.0, init=False)

    @property
    def results_file(self) -> Path:
        """The table of results."""
        return self.folder / "results.csv"

    @property
    def timings_file(self) -> Path:
        """The table of times."""
        return self.folder / "timings.csv"

    @property
    def journal_file(self) -> Path:
        """The fits that are in no table yet."""
        return self.folder / "journal.csv"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table of results."""
        found = (name for name in self.study.row_columns if name not in TIMES)
        return ("key", *found, "failure", "settings", "version")

    @property
    def _exact(self) -> bool:
        """Whether tables have all digits: pictures of formulas are drawn from them."""
        return not self.study.trains

    @classmethod
    def open(cls, folder: Path, study: Study, *, force: bool = False) -> ResultStore:
        """Open a folder, reading what earlier runs left there."""
        folder.mkdir(parents=True, exist_ok=True)
        store = cls(folder, study)
        remove_leftovers(folder)  # of a run that was killed while writing
        if force:
            for file in (store.journal_file, store.results_file, store.timings_file):
                file.unlink(missing_ok=True)
        times: dict[str, list[Row]] = {}
        if store.timings_file.exists():
            times = groups(_read(store.timings_file, ("key", *TIMES), study), "key")
        if store.results_file.exists():
            rows = _read(store.results_file, store.columns, study)
            for key, group in groups(rows, "key").items():
                some = times.get(key, [])
                known = some if len(some) == len(group) else [dict.fromkeys(TIMES)] * len(group)
                store.rows[key] = [{**row, **t} for row, t in zip(group, known, strict=True)]
        if store.journal_file.exists():  # of a run that was killed
            columns = (*store.columns, *TIMES)
            for row in _read(store.journal_file, columns, study, torn=True):
                store.rows[row["key"]] = [row]
            store.write()
        return store

    def is_done(self, spec: FitSpec) -> bool:
        """Say whether a fit has finished without failure."""
        row = self.rows.get(spec.key, [{"failure": "not made"}])[0]
        if row.get("failure") or str(row.get("version")) != __version__:
            return False
        given = replace(spec, parameters=self.constants(spec))
        return (row["settings"] or "") == self.study.settings(given)

    def constants(self, spec: FitSpec) -> Constants:
        """Return the constants of a fit, chosen ones included."""
        chosen = self.rows[spec.after][0].get("chosen") if spec.after in self.rows else None
        return spec.parameters + read_constants(chosen)

    def of(self, specs: Iterable[FitSpec]) -> list[Row]:
        """Return the rows of fits, with times: models by their keys, parts of a picture in order."""
        keys = list(dict.fromkeys(spec.key for spec in specs))
        return [
            row for key in (sorted(keys) if self.study.trains else keys) for row in self.rows[key]
        ]

    def add(self, rows: Sequence[Row]) -> None:
        """Keep a finished fit."""
        entry = csv_text(rows, (*self.columns, *TIMES), exact=self._exact)
        kept = read_csv(entry, exact=self._exact)
        self.rows[kept[0]["key"]] = kept
        if len(kept) > 1 or time.monotonic() >= self._next_write:
            self.write()
        else:
            self._append(entry)

    def write(self) -> None:
        """Write both tables; the times first, as a fit counts as done once its result is there."""
        start = time.monotonic()
        ordered = [row for key in sorted(self.rows) for row in self.rows[key]]
        write_atomically(self.timings_file, csv_text(ordered, ("key", *TIMES), exact=self._exact))
        write_atomically(self.results_file, csv_text(ordered, self.columns, exact=self._exact))
        self.journal_file.unlink(missing_ok=True)
        end = time.monotonic()
        self._next_write = end + (end - start) / self.share_of_writing

    def forget(self, keys: Iterable[str]) -> None:
        """Forget some of the fits, so that they are made again."""
        for key in keys:
            self.rows.pop(key, None)
        self.write()

    def _append(self, entry: str) -> None:
        """Add a fit to the journal, whose first line names the columns.

        It has one row: of several, a run that is killed might leave some.
        """
        names, _, line = entry.partition("\n")
        with self.journal_file.open("ab") as journal:
            journal.write((line if journal.tell() else f"{names}\n{line}").encode())
            journal.flush()
            os.fsync(journal.fileno())


def _read(path: Path, columns: Sequence[str], study: Study, *, torn: bool = False) -> list[Row]:
    """Read a table that has these columns; the end of a torn one may be missing."""
    try:
        content = path.read_bytes()
        if torn:
            content = content[: content.rfind(b"\n") + 1]
            if not content:
                return []
        text = content.decode("utf-8").replace("\r\n", "\n")
        names = text.partition("\n")[0].split(",")
        if names != list(columns):
            lacks = [name for name in columns if name not in names]
            told = f"lacks column {lacks[0]}" if lacks else "has others, or in another order"
            raise ValueError(f"its columns are not those of this version: line 1 {told}.")
        rows = read_csv(text, RANGES, exact=not study.trains)
        known: set[str] = set()
        last = None
        for number, row in enumerate(rows, start=2):
            _check_text(row, number)
            key = row["key"]
            is_next = key == last and not study.trains  # a fit may have several rows, one by one
            if not isinstance(key, str) or (key in known and not is_next):
                raise damaged_cell(number, "key", key, "a key that no other line has")
            if not torn:  # of two in a journal the later counts
                known.add(key)
            last = key
            if study.trains and "model" in row:  # no table of times
                _check_trained(row, number, study.models)
        return rows
    except ValueError as error:  # UnicodeDecodeError is one, too
        raise ValueError(
            f"{path} holds results that cannot be continued: {error}  Move it away, start over with "
            "--force alone, or choose another folder with --out."
        ) from None


def _check_text(row: Row, number: int) -> None:
    for column, value in row.items():
        if isinstance(value, str) and (" ".join(value.split()) != value or "\0" in value):
            raise damaged_cell(number, column, value, "words with single blanks between them")


def _check_trained(row: Row, number: int, models: Mapping[str, Any]) -> None:
    """Refuse a row that no run has written, because the next run would change it or trip over it."""
    first, last = f"{row['data']}/fold={row['fold']}/{row['model']}/", f"/seed={row['seed']}"
    if not (row["key"].startswith(first) and row["key"].endswith(last)):
        raise damaged_cell(number, "key", row["key"], f"{first}...{last}, as its cells say")
    if row["model"] not in models:
        raise damaged_cell(number, "model", row["model"], "a model of this study")
    for column in ("parameters", "chosen"):
        try:
            read_constants(row[column])
        except (AttributeError, ValueError):
            raise damaged_cell(number, column, row[column], "constants such as C=1") from None
    if not row["failure"]:
        needed = ["n_train", "n_test", "train_error", *(["error"] if row["n_test"] else [])]
        for column in needed:
            if row[column] is None:
                raise damaged_cell(number, column, None, "a number, as this fit did not fail")
