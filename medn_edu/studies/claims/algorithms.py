"""Rules about algorithms for L1-M3N: counts of non-zero weights.

They read the fits of the study ``l1m3n-algorithms``, whose folds are summed up as in Table 1 of the
paper: a weight counts if it is not zero in some fold.  "The sub-gradient method" is the one whose steps
follow each sequence, as in the papers; it is the one that has their tail of small weights.  Counts have
no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.studies.claims.rules import (
    Names,
    OneByOne,
    Row,
    Rule,
    TooLittleError,
    known,
)
from medn_edu.studies.claims.verdicts import Verdict, decide

CHAINS, OCR = "chains-correlated", "ocr-100"
TITLES = {CHAINS: "synthetic set 1", OCR: "OCR100"}
_N_IRRELEVANT = 140


def fits_of(rows: Sequence[Row], algorithm: str, data: str) -> list[dict[str, Any]]:
    """Return the fits of an algorithm that did not fail."""
    return [
        dict(row)
        for row in rows
        if row.get("model") == algorithm and row["data"] == data and not row.get("failure")
    ]


def algorithm_rows(rows: Sequence[Row], algorithm: str, data: str) -> list[Row]:
    """Return the means over folds of an algorithm, and its counts, by growing constant."""
    from medn_edu.studies.l1_table import table_1  # which imports all models

    return list(table_1(fits_of(rows, algorithm, data)))


def known_rows(rows: Sequence[Row], algorithm: str, data: str, what: str) -> list[Row]:
    """Return the same, if there are any."""
    return known(algorithm_rows(rows, algorithm, data) or None, f"no {what} of {algorithm}.")


class OfAlgorithm(OneByOne):
    """A rule about a single algorithm."""

    algorithm: str

    def _names(self) -> Names:
        return (self.algorithm,)


@dataclass(frozen=True)
class CountsAsPrinted(OfAlgorithm):
    """The counts of non-zero average weights are near those of Table 1; mixed if half of them are.

    The effect is the mean absolute difference.
    """

    algorithm: str  # name of the algorithm
    within: int = 10  # how near counts as near

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        apart = [
            abs(line[kind] - line[f"paper_{kind}"])
            for line in algorithm_rows(rows, algorithm, CHAINS)
            for kind in ("irrelevant", "total")
            if line.get(f"paper_{kind}") is not None
        ]
        apart = known(apart or None, f"no counts of {algorithm}.")
        n_near = sum(distance <= self.within for distance in apart)
        status = decide(2 * n_near >= len(apart), n_near == len(apart))
        note = f"{n_near} of {len(apart)} counts are near"
        return Verdict(status, float(np.mean(apart)), unit="weights", note=note)

    def text(self) -> str:
        """Say which counts."""
        return f"counts of {self.algorithm} are within {self.within} of the printed ones"


@dataclass(frozen=True)
class SimilarCounts(Rule):
    """EM's counts of irrelevant weights, from large constants to small, are those of cutting planes.

    The effect is the mean absolute difference; mixed up to twice of what is allowed.
    """

    within: float = 15.0  # mean absolute difference

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        planes, em = (algorithm_rows(rows, name, CHAINS) for name in ("cutting plane", "EM"))
        if not planes or len(planes) != len(em):
            raise TooLittleError("the two algorithms were not run with equally many constants.")
        pairs = zip(planes, reversed(em), strict=True)
        apart = float(np.mean([abs(a["irrelevant"] - b["irrelevant"]) for a, b in pairs]))
        status = decide(apart <= 2 * self.within, apart <= self.within)
        return Verdict(status, apart, unit="weights")

    def text(self) -> str:
        """Say which counts."""
        return (
            "counts of irrelevant weights of EM, in reverse, differ from those of cutting planes by at "
            f"most {self.within:g} on average"
        )


@dataclass(frozen=True)
class KeepsTail(OfAlgorithm):
    """At every constant an algorithm leaves at least half of the irrelevant weights non-zero.

    The effect is the smallest share; mixed if half of the constants keep that many.
    """

    algorithm: str  # name of the algorithm

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = known_rows(rows, algorithm, CHAINS, "counts")
        shares = np.array([line["irrelevant"] for line in lines]) / _N_IRRELEVANT
        many = shares >= 0.5
        status = decide(bool(many.mean() >= 0.5), bool(many.all()))
        return Verdict(status, 100 * float(shares.min()), unit="% of irrelevant weights")

    def text(self) -> str:
        """Say whose weights."""
        return f"{self.algorithm} keeps half of the irrelevant weights or more at every constant"


@dataclass(frozen=True)
class Truncation(OfAlgorithm):
    """Dropping weights below 1e-4 changes no count of an algorithm by more than a tenth.

    The effect is the largest change; mixed if the mean change is small enough.
    """

    algorithm: str  # name of the algorithm

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        changes = [
            1 - line[f"{kind}_not_small"] / line[kind]
            for line in algorithm_rows(rows, algorithm, CHAINS)
            for kind in ("irrelevant", "total")
            if line[kind]
        ]
        changes = known(changes or None, f"no counts of {algorithm}.")
        status = decide(float(np.mean(changes)) <= 0.1, max(changes) <= 0.1)
        return Verdict(status, 100 * max(changes), unit="% of a count")

    def text(self) -> str:
        """Say whose weights."""
        return f"without weights below 1e-4 no count of {self.algorithm} shrinks by more than 10 %"


@dataclass(frozen=True)
class CanDiscard(OneByOne):
    """Some constant leaves no irrelevant weight; mixed if it leaves at most five.

    The effect is the smallest count.
    """

    algorithms: Names  # names of algorithms

    def _names(self) -> Names:
        return self.algorithms

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = known_rows(rows, algorithm, CHAINS, "counts")
        fewest = min(line["irrelevant"] for line in lines)
        best = min(line["error"] for line in lines)
        clean = [line["error"] for line in lines if not line["irrelevant"]]
        note = (
            f"the error is then {100 * min(clean):.1f} %, at the best constant {100 * best:.1f} %"
            if clean
            else ""
        )
        status = decide(fewest <= 5, fewest == 0)
        return Verdict(status, float(fewest), unit="weights left", note=note, slack=-fewest)

    def text(self) -> str:
        """Say whose weights."""
        return f"at some constant no irrelevant weight is left: {', '.join(self.algorithms)}"
