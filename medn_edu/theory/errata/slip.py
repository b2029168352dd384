"""What a slip is: the formula as printed, the formula as meant, and numbers that show which is right."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from medn_edu.theory.entries import Register

Numbers = Callable[[], dict[str, float]]
"""Computes ``printed``, ``corrected`` and ``truth`` on an example, and what else is worth showing."""

SEVERITIES = {
    "program": "a program written from the printed formula goes wrong",
    "conclusion": "a conclusion is false, or it needs another constant",
    "proof": "a step of a proof is wrong or missing, but the result is true",
    "reader": "a word or a sign misleads, and the lines around it put it right",
}
"""What a slip spoils, the most serious first."""


@dataclass(frozen=True)
class Slip:
    """One slip of one paper, with the numbers that settle it."""

    id: str
    paper: str  # "MEDN", "L1-M3N" or "ASP"
    where: str  # equation, section or appendix
    title: str  # what it is about, in a few words
    chapter: str  # slug of the chapter of the course that first meets it
    severity: str  # a key of `SEVERITIES`: what it spoils
    quote: str
    printed: str  # a formula, or a sentence where words say more
    corrected: str  # the same
    why: str  # what is wrong, in a few sentences
    matters: str  # who would notice: a program, a proof, a conclusion, or nobody
    example: str  # what the numbers are
    truth: str  # what shows which formula is right, computed without either
    numbers: Numbers
    trips: bool = False  # one of those that every student should know
    unconfirmed: bool = False  # the extraction of the paper's text may be at fault
    printed_is: str = "printed"  # what the first number is, where the paper gives none
    checks: tuple[str, ...] = ()  # statements that `medn_edu.theory.checks` tries as corrected
    tolerance: float = 1e-6  # how near the corrected formula must come to the truth,
    margin: float = 0.01  # and how far from it the printed one must stay

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(
                f"severity is {self.severity!r}; expected one of {', '.join(SEVERITIES)}."
            )

    @property
    def heading(self) -> str:
        """Heading of its section, in ASCII because JupyterLab finds no other by a link."""
        return self.title[0].upper() + self.title[1:]

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


numbers_of = Register[Slip, Numbers]("slip", Slip, "numbers")
"""Marks a function as the one that computes the numbers of the slip with an id, and reads the slips."""
