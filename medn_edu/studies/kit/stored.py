"""Reading the tables that are published next to the figures.

``figures/STUDY.csv`` holds the raw rows of a study at paper scale, one per fit, as
`medn_edu.studies.kit.gallery` has put them there, and ``figures/STUDY-times.csv`` how long each fit
took.  An installed package includes these tables, so notebooks can draw from them and claims can be
judged by them without an hour of computing.
"""

from pathlib import Path
from typing import Any

from medn_edu.studies.kit.tables import read_csv

TIMES = "-times"
"""Ends the name of a table of times."""

RUNS = "runs"
"""Name of the log of how long the studies took."""

_PACKAGE = Path(__file__).resolve().parents[2]
FOLDERS = (_PACKAGE / "figures", _PACKAGE.parent / "figures")  # of a wheel, of a checkout


def stored_folder() -> Path:
    """Return the folder of the tables that came with this installation."""
    for folder in FOLDERS:
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        "the tables of the studies are missing from this installation; reinstall medn_edu."
    )


def stored_studies() -> list[str]:
    """Return the names of what `stored_rows` can read."""
    names = (path.stem for path in stored_folder().glob("*.csv"))
    return sorted(name for name in names if name != RUNS and not name.endswith(TIMES))


def stored_rows(study: str, folder: Path | None = None) -> list[dict[str, Any]]:
    """Return the published rows of a study."""
    folder = stored_folder() if folder is None else folder
    file, times_file = folder / f"{study}.csv", folder / f"{study}{TIMES}.csv"
    if not file.is_file():
        raise FileNotFoundError(
            f"no table of {study!r} is stored; `medn-edu reproduce {study} --scale paper --publish "
            "figures` makes it in a checkout."
        )
    rows = _read(file)
    if not times_file.is_file():
        return rows
    times = _read(times_file)
    names = [name for name in times[0] if not name.endswith("seconds")] if times else []
    if [[row.get(n) for n in names] for row in rows] != [[row[n] for n in names] for row in times]:
        raise ValueError(f"{times_file} belongs to another run than {file.name}; publish again.")
    return [{**row, **time} for row, time in zip(rows, times, strict=True)]


def _read(file: Path) -> list[dict[str, Any]]:
    try:
        return read_csv(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}") from None
