"""What a slip is: the formula as printed, the formula as meant, and numbers that tell which is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SEVERITIES = {
    "program": "a program that follows the print goes wrong",
    "conclusion": "what is concluded is not so, or holds with another constant",
    "proof": "a step of a proof is wrong or missing; what it proves is true",
    "reader": "a sentence or a sign, put right by what stands near it",
}
"""What a slip spoils, the most serious first."""

_NUMBERS = ("printed", "corrected", "truth")


@dataclass(frozen=True)
class Slip:
    r"""One slip of one paper, with the numbers that settle it.

    Examples
    --------
    >>> slip = Slip(
    ...     paper="a paper",
    ...     where="Eq. (1)",
    ...     title="a sum of squares",
    ...     severity="reader",
    ...     quote='"the sum of the three squares is 12".',
    ...     printed=r"\sum_{k=1}^3 k^2 = 12",
    ...     corrected=r"\sum_{k=1}^3 k^2 = 14",
    ...     why="An addition.",
    ...     matters="To nobody.",
    ...     truth="the three squares, added",
    ...     numbers=lambda: {"printed": 12.0, "corrected": 14.0, "truth": float(1 + 4 + 9)},
    ... )
    >>> slip.is_settled()
    True
    """

    paper: str  # ``"MEDN"``, ``"L1-M3N"`` or ``"ASP"``
    where: str  # equation, section or appendix, as in ``"Eq
    title: str  # what it is about, in a few words
    severity: str  # a key of `SEVERITIES`: what it spoils
    quote: str
    printed: str
    corrected: str
    why: str  # what is wrong, in a sentence or two
    matters: str  # who would notice: an implementation, a proof, a conclusion, or nobody
    truth: str  # what tells which formula is right, computed without either
    numbers: Callable[[], dict[str, float]]
    checks: tuple[str, ...] = ()
    tolerance: float = 1e-6
    margin: float = 0.01

    def errors(self, found: Mapping[str, float] | None = None) -> tuple[float, float]:
        """Return how far from the truth the printed and the corrected formula are, relative to it."""
        found = self.numbers() if found is None else found
        printed, corrected, truth = (float(found[key]) for key in _NUMBERS)
        scale = max(1.0, abs(truth))
        return abs(printed - truth) / scale, abs(corrected - truth) / scale

    def is_settled(self, found: Mapping[str, float] | None = None) -> bool:
        """Whether the corrected formula agrees with the truth and the printed one does not."""
        printed, corrected = self.errors(found)
        return corrected <= self.tolerance and (printed >= self.margin or math.isnan(printed))
