"""What a slip is: the formula as printed, the formula as meant, and numbers that tell which is right."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Numbers = Callable[[], dict[str, float]]
"""Computes ``printed``, ``corrected`` and ``truth`` on an example, and what else is worth showing."""

SEVERITIES = {
    "program": "a program that follows the print goes wrong",
    "conclusion": "what is concluded is not so, or holds with another constant",
    "proof": "a step of a proof is wrong or missing; what it proves is true",
    "reader": "a sentence or a sign, put right by what stands near it",
}
"""What a slip spoils, the most serious first."""

NUMBERS: dict[str, Numbers] = {}
"""The functions that compute each slip's numbers, by its id."""


def numbers_of(slip: str) -> Callable[[Numbers], Numbers]:
    """Mark a function as the one that computes the numbers of the slip with this id."""

    def keep(function: Numbers) -> Numbers:
        if slip in NUMBERS:
            raise ValueError(f"slip {slip!r} has numbers already; expected one function for each.")
        NUMBERS[slip] = function
        return function

    return keep


@dataclass(frozen=True)
class Slip:
    """One slip of one paper, with the numbers that settle it."""

    id: str
    paper: str  # "MEDN", "L1-M3N" or "ASP"
    where: str  # equation, section or appendix
    title: str  # what it is about, in a few words
    severity: str  # a key of `SEVERITIES`: what it spoils
    quote: str
    printed: str
    corrected: str
    why: str  # what is wrong, in a sentence or two
    matters: str  # who would notice: an implementation, a proof, a conclusion, or nobody
    truth: str  # what tells which formula is right, computed without either
    numbers: Numbers
    checks: tuple[str, ...] = ()  # statements that `medn_edu.theory.checks` tries as corrected
    tolerance: float = 1e-6  # how near the corrected formula must come to the truth,
    margin: float = 0.01  # and how far from it the printed one must stay

    def errors(self, found: Mapping[str, float] | None = None) -> tuple[float, float]:
        """Return how far from the truth the printed and the corrected formula are, relative to it."""
        found = self.numbers() if found is None else found
        printed, corrected, truth = (float(found[key]) for key in ("printed", "corrected", "truth"))
        scale = max(1.0, abs(truth))
        return abs(printed - truth) / scale, abs(corrected - truth) / scale

    def is_settled(self, found: Mapping[str, float] | None = None) -> bool:
        """Whether the corrected formula agrees with the truth and the printed one does not."""
        printed, corrected = self.errors(found)
        return corrected <= self.tolerance and (printed >= self.margin or math.isnan(printed))


def read_slips(papers: Mapping[str, str], numbers: Mapping[str, Numbers]) -> tuple[Slip, ...]:
    """Return the slips that TOML texts describe, given by the names of their files.

    An entry with an unknown or a missing field, an entry without numbers, and numbers without an entry
    are errors that name it.
    """
    slips: dict[str, Slip] = {}
    for file, text in papers.items():
        document = tomllib.loads(text)
        for id, entry in document["slip"].items():
            name = f"{file}, slip {id!r}"
            if id in slips:
                raise ValueError(f"{name}: the id is taken; expected one of its own.")
            if id not in numbers:
                raise ValueError(f"{name}: there are no numbers; expected @numbers_of({id!r}).")
            _check_fields(name, entry)
            texts = {key: " ".join(v.split()) for key, v in entry.items() if isinstance(v, str)}
            checks = tuple(entry.get("checks", ()))
            slips[id] = Slip(
                **{**entry, **texts, "checks": checks},
                id=id, paper=document["paper"], numbers=numbers[id],
            )  # fmt: skip
    for id in numbers:
        if id not in slips:
            raise ValueError(f"numbers of {id!r}: there is no such slip in {', '.join(papers)}.")
    return tuple(slips.values())


def _check_fields(name: str, entry: Mapping[str, object]) -> None:
    fields = {field.name: field for field in dataclasses.fields(Slip)}
    known = fields.keys() - {"id", "paper", "numbers"}
    for key in entry.keys() - known:
        raise ValueError(f"{name}: unknown field {key!r}; expected {', '.join(sorted(known))}.")
    for key in known - entry.keys():
        if fields[key].default is dataclasses.MISSING:
            raise ValueError(f"{name}: field {key!r} is missing.")
    if entry["severity"] not in SEVERITIES:
        raise ValueError(
            f"{name}: severity is {entry['severity']!r}; expected one of {', '.join(SEVERITIES)}."
        )
