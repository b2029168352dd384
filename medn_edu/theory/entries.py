"""Formulas in two parts with the same id: text to read in TOML, and a function that computes values."""

import dataclasses
import tomllib
from collections.abc import Callable
from importlib import resources
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")
Function = TypeVar("Function", bound=Callable[..., Any])


class Register(Generic[Entry, Function]):
    """The functions for one kind of entry, by id, and a reader of the TOML files.

    An entry is a TOML table ``[NOUN.ID]``.  The dataclass ``entry`` says which fields it has.  The field
    named by ``field`` holds the function.  The fields ``id`` and ``paper`` are filled in automatically.
    """

    def __init__(self, noun: str, entry: type[Entry], field: str) -> None:
        self.noun, self.entry, self.field = noun, entry, field
        self.functions: dict[str, Function] = {}

    def __call__(self, id: str) -> Callable[[Function], Function]:
        """Mark a function as the one of the entry with this id."""

        def keep(function: Function) -> Function:
            if id in self.functions:
                raise ValueError(
                    f"{self.noun} {id!r} has a function already; expected one for each."
                )
            self.functions[id] = function
            return function

        return keep

    def read_package(self, package: str, *files: str) -> tuple[Entry, ...]:
        """Return the entries of a package's files, in order."""
        folder = resources.files(package)
        return self.read({file: folder.joinpath(file).read_text("utf-8") for file in files})

    def read(self, texts: dict[str, str]) -> tuple[Entry, ...]:
        """Return the entries of TOML texts, given as a mapping from file name to text.

        An unknown or missing field, an entry without a function and a function without an entry are
        errors.  The message names the field, entry or function.
        """
        entries: dict[str, Entry] = {}
        for file, text in texts.items():
            document = tomllib.loads(text)
            for id, values in document[self.noun].items():
                name = f"{file}, {self.noun} {id!r}"
                if id in entries:
                    raise ValueError(f"{name}: the id is taken; expected one of its own.")
                if id not in self.functions:
                    raise ValueError(
                        f"{name}: no function computes it; expected @{self.field}_of({id!r})."
                    )
                known = {"id": id, "paper": document.get("paper"), self.field: self.functions[id]}
                entries[id] = self._entry(name, values, known)
        for id in self.functions:
            if id not in entries:
                raise ValueError(f"there is no {self.noun} {id!r} in {', '.join(texts)}.")
        return tuple(entries.values())

    def _entry(self, name: str, values: dict[str, Any], known: dict[str, Any]) -> Entry:
        fields = {each.name: each for each in dataclasses.fields(self.entry)}  # type: ignore[arg-type]
        written = fields.keys() - known
        for key in values.keys() - written:
            raise ValueError(
                f"{name}: unknown field {key!r}; expected {', '.join(sorted(written))}."
            )
        for key in written - values.keys():
            if fields[key].default is dataclasses.MISSING:
                raise ValueError(f"{name}: field {key!r} is missing.")
        given = {key: _plain(value) for key, value in values.items()}
        try:
            return self.entry(**given, **{key: known[key] for key in known if key in fields})
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def _plain(value: Any) -> Any:
    """Return a text in one line, which the file may have wrapped anywhere, and a list as a tuple."""
    if isinstance(value, str):
        return " ".join(value.split())
    return tuple(value) if isinstance(value, list) else value
