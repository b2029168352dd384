"""The results of a study in a folder: every finished fit a row, kept at once.

Each finished fit becomes a row of ``results.csv``, sorted by key.  How long fits took stands in a file
of its own, ``timings.csv``, by the clock and by the processor: times differ from run to run, results
do not.  A fit that fails is a row with its error; the next run tries it again.  So it does with a row
that another version of this package, a model with other settings or an earlier revision of the study
has made.  Rows of fits that a run does not ask for stay as they are.

A killed run resumes where it was.  What is finished goes at once to the end of ``journal.csv``, which
costs the same however long the tables are; these are replaced in one step, now and then, so that they
take a hundredth of the time at most, and at the end.  Opening the folder puts the journal's fits
into the tables first.  Rows are kept in memory as they would be read from the file, rounded, so that
whatever is computed from them does not depend on interruptions either.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medn_edu import __version__
from medn_edu.files import remove_leftovers, write_atomically
from medn_edu.studies.kit.models import MODELS, make_model
from medn_edu.studies.kit.selection import constants_text, read_constants
from medn_edu.studies.kit.specs import FitSpec, Study
from medn_edu.studies.kit.tables import csv_text, damaged_cell, read_csv

RESULT_COLUMNS = (
    "key", "data", "fold", "model", "parameters", "seed", "chosen", "n_train", "n_test",
    "error", "train_error", "primal", "dual", "relative_gap", "n_passes", "n_weights", "n_nonzero",
    "n_large", "n_support", "status", "failure", "settings", "version",
)  # fmt: skip
"""Columns of ``results.csv``."""

Constants = tuple[tuple[str, float], ...]
"""Names and values of what a model is built with."""

_TIMING_COLUMNS = ("key", "seconds", "cpu_seconds")

_ANY, _COUNT, _SHARE = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)
RANGES = {
    "fold": _COUNT, "seed": _COUNT, "n_train": _COUNT, "n_test": _COUNT,
    "error": _SHARE, "train_error": _SHARE, "primal": _ANY, "dual": _ANY, "relative_gap": _ANY,
    "n_passes": _COUNT, "n_weights": _COUNT, "n_nonzero": _COUNT, "n_large": _COUNT,
    "n_support": _COUNT, "seconds": _COUNT, "cpu_seconds": _COUNT,
}  # fmt: skip
"""Columns of numbers, and where these lie."""

_SHARE_OF_WRITING = 0.01  # of the time, at most, for whole tables


@dataclass(eq=False)
class ResultStore:
    """The results of a study in a folder, always complete on disk."""

    folder: Path
    study: Study | None = None  # the study, where it has models or columns of its own
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
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
        return RESULT_COLUMNS + (self.study.measured if self.study else ())

    @property
    def _models(self) -> Set[str]:
        """Names of the models that the study may train."""
        models = self.study.models if self.study else None
        return (MODELS if models is None else models).keys()

    @classmethod
    def open(cls, folder: Path, study: Study | None = None, *, force: bool = False) -> ResultStore:
        """Open a folder, reading what earlier runs left there."""
        folder.mkdir(parents=True, exist_ok=True)
        store = cls(folder, study)
        remove_leftovers(folder)  # of a run that was killed while writing
        if force:
            for file in (store.journal_file, store.results_file, store.timings_file):
                file.unlink(missing_ok=True)
        if store.results_file.exists():
            rows = _read(store.results_file, store.columns, store._models)
            store.rows = {row["key"]: row for row in rows}
        if store.timings_file.exists():
            for row in _read(store.timings_file, _TIMING_COLUMNS, store._models):
                store._note_times(row)
        if store.journal_file.exists():  # of a run that was killed
            rows = _read(store.journal_file, store._journal_columns, store._models, torn=True)
            for row in rows:
                store._note_times(row)
                store.rows[row["key"]] = {name: row[name] for name in store.columns}
            store.write()
        return store

    def is_done(self, spec: FitSpec) -> bool:
        """Say whether a fit has been made without failure."""
        row = self.rows.get(spec.key)
        if row is None or row.get("failure"):
            return False
        return str(row.get("version")) == __version__ and row.get("settings") == settings_text(
            spec, self.study, self.constants(spec)
        )

    def constants(self, spec: FitSpec) -> Constants:
        """Return the constants of a fit, chosen ones included."""
        chosen = self.rows.get(spec.after, {}).get("chosen") if spec.after else None
        return spec.parameters + read_constants(chosen)

    def add(self, row: dict[str, Any], seconds: float, cpu_seconds: float) -> None:
        """Keep a finished fit."""
        times = {"seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3)}
        entry = csv_text([{**row, **times}], self._journal_columns)
        [kept] = read_csv(entry)
        self._note_times(kept)
        self.rows[kept["key"]] = {name: kept[name] for name in self.columns}
        if time.monotonic() >= self._next_write:
            self.write()
        else:
            self._append(entry)

    def write(self) -> None:
        """Write both tables; the times first, as a fit counts as done once its result is there."""
        start = time.monotonic()
        times = [{"key": key, **self._times(key)} for key in sorted(self.seconds)]
        write_atomically(self.timings_file, csv_text(times, _TIMING_COLUMNS))
        ordered = [self.rows[key] for key in sorted(self.rows)]
        write_atomically(self.results_file, csv_text(ordered, self.columns))
        self.journal_file.unlink(missing_ok=True)
        end = time.monotonic()
        self._next_write = end + (end - start) / _SHARE_OF_WRITING

    def forget(self, keys: Iterable[str]) -> None:
        """Forget some of the fits, so that they are made again."""
        for key in keys:
            self.rows.pop(key, None)
            self.seconds.pop(key, None)
            self.cpu_seconds.pop(key, None)
        self.write()

    @property
    def _journal_columns(self) -> tuple[str, ...]:
        return self.columns + _TIMING_COLUMNS[1:]

    def _append(self, entry: str) -> None:
        """Add a fit to the journal, whose first line names the columns."""
        names, _, line = entry.partition("\n")
        with self.journal_file.open("ab") as journal:
            journal.write((line if journal.tell() else f"{names}\n{line}").encode())
            journal.flush()
            os.fsync(journal.fileno())

    def _note_times(self, row: Mapping[str, Any]) -> None:
        for name, times in (("seconds", self.seconds), ("cpu_seconds", self.cpu_seconds)):
            if row[name] is not None:
                times[row["key"]] = row[name]

    def timed(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of results with the times that training took."""
        return [{**row, **self._times(row["key"])} for row in rows]

    def _times(self, key: str) -> dict[str, float | None]:
        return {"seconds": self.seconds.get(key), "cpu_seconds": self.cpu_seconds.get(key)}


def first_columns(spec: FitSpec, constants: Constants) -> dict[str, Any]:
    """Return what is known of a fit before it is made."""
    return {
        "key": spec.key,
        "data": spec.data,
        "fold": spec.fold,
        "model": spec.model,
        "parameters": constants_text(constants),
        "seed": spec.seed,
        "version": __version__,
    }


def build_model(spec: FitSpec, study: Study | None, constants: Constants) -> Any:
    """Return the model of a fit, not trained yet."""
    models = study.models if study else None
    return make_model(spec.model, models, seed=spec.seed, **dict(constants))


def settings_text(spec: FitSpec, study: Study | None, constants: Constants) -> str:
    """Return what a fit depends on in addition to its key: defaults and tolerances may change."""
    settings = build_model(spec, study, constants).get_params(deep=False)
    kept = {name: value for name, value in settings.items() if name not in ("n_jobs", "verbose")}
    texts = [f"{name}={value}" for name, value in sorted(kept.items())]
    if study is not None and study.revision > 1:
        texts.append(f"revision={study.revision}")
    return " ".join(texts)


def _read(
    path: Path, columns: Sequence[str], models: Set[str], *, torn: bool = False
) -> list[dict[str, Any]]:
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
        rows = read_csv(text, RANGES)
        known: set[str] = set()
        for number, row in enumerate(rows, start=2):
            _check_row(row, number, known, models)
            if not torn:  # of two in a journal the later counts
                known.add(row["key"])
        return rows
    except ValueError as error:  # UnicodeDecodeError is one, too
        raise ValueError(
            f"{path} holds results that cannot be continued: {error}  Move it away, start over with "
            "--force alone, or choose another folder with --out."
        ) from None


def _check_row(row: Mapping[str, Any], number: int, known: Set[str], models: Set[str]) -> None:
    """Refuse a row that no run has written, because the next run would change it or trip over it."""
    for column, value in row.items():
        if isinstance(value, str) and (" ".join(value.split()) != value or "\0" in value):
            raise damaged_cell(number, column, value, "words with single blanks between them")
    if not isinstance(row["key"], str) or row["key"] in known:
        raise damaged_cell(number, "key", row["key"], "a key that no other line has")
    if "model" not in row:  # a table of times
        return
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
