"""Copies of the course for learners, who will edit them.

A copy remembers, in a small file next to the notebooks, the hash of what it was copied from.  So a
later version of the package can tell an untouched notebook from an edited one.  It replaces the
untouched one.  It leaves the edited one alone and puts the newer version next to it.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import medn_edu
from medn_edu.course.editions import EDITIONS, edition_files
from medn_edu.files import read_json, reason, write_atomically

RECORD = ".medn-course.json"


@dataclass
class CourseCopy:
    """What `copy_course` did.

    Parameters
    ----------
    folder : Path
        Where the course is.
    copied : list of str
        Notebooks that were not there.
    updated : list of str
        Notebooks that nobody had edited; they are now a newer version.
    unchanged : list of str
        Notebooks that are up to date, or that somebody edited while there is no newer version.
    beside : dict of str to str
        Edited notebooks of which there is a newer version, with the name under which it was put next
        to them.
    """

    folder: Path
    copied: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)


def copy_course(
    target: str | Path, *, edition: str | None = None, version: str | None = None
) -> CourseCopy:
    """Copy the notebooks to a folder, without ever overwriting a file that somebody has edited.

    Parameters
    ----------
    target : str or Path
        The folder; it is made if it isn't there.
    edition : str, optional
        By default the edition that is already in the folder, or the self-study edition if there is none.
    version : str, optional
        Part of the names of notebooks that are put next to edited ones.  By default the package's.

    Returns
    -------
    CourseCopy
        What was copied, updated and left alone.

    Raises
    ------
    ValueError
        If there is no such edition, or the folder holds another one.
    OSError
        If the folder cannot be written.
    """
    folder = Path(os.path.expanduser(target))  # unlike Path's own it leaves unknown users alone
    version = medn_edu.__version__ if version is None else version
    done = CourseCopy(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        record = _read_record(folder)
        if record.pop("damaged", False) and edition is None:
            raise ValueError(
                f"{folder / RECORD} cannot be read, which says what edition of the course is there; "
                f"name it, such as edition={EDITIONS[0]!r}, or another folder."
            )
        present = record.setdefault("edition", edition or EDITIONS[0])
        if edition not in (None, present):
            raise ValueError(f"{folder} holds the {present} edition; name another folder.")
        for name, content in edition_files(present).items():
            _copy_one(done, record["files"], name, content, version)
        write_atomically(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        blocked = isinstance(error, (FileExistsError, NotADirectoryError))
        why = "a file is in the way" if blocked else reason(error)
        raise type(error)(
            f"the course cannot be copied to {folder} ({why}); name a folder that you may write to."
        ) from None
    return done


def _copy_one(
    done: CourseCopy, record: dict[str, str], name: str, content: bytes, version: str
) -> None:
    """Copy one file; ``record`` holds the hash of the version each copy was made from."""
    path, newest = done.folder / name, _hash(content)
    if not path.exists():
        write_atomically(path, content)
        record[name] = newest
        done.copied.append(name)
        return
    present = _hash(path.read_bytes())
    if present == newest or record.get(name) == newest:
        record[name] = newest
        done.unchanged.append(name)
    elif present == record.get(name):
        write_atomically(path, content)
        record[name] = newest
        done.updated.append(name)
    else:
        newer = path.with_name(f"{path.stem}.new-{version}{path.suffix}")
        if not newer.exists():
            write_atomically(newer, content)
        done.beside[name] = newer.name


def _read_record(folder: Path) -> dict[str, Any]:
    """Return the record of an earlier copy; without a readable one every file counts as edited."""
    try:
        record = read_json(folder / RECORD)
        if "files" not in record:  # as copies had it before there were editions
            record = {"edition": EDITIONS[0], "files": record}
        return {"edition": str(record["edition"]), "files": dict(record["files"])}
    except FileNotFoundError:
        return {"files": {}}
    except (ValueError, KeyError, TypeError):
        return {"files": {}, "damaged": True}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
