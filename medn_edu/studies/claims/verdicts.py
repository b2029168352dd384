"""What a rule says of a claim, and how several answers become one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from medn_edu.studies.claims.scores import Estimate

HOLDS = "holds"
MIXED = "mixed"
FAILS = "does not hold here"
UNTESTED = "not tested yet"
STATUSES = (HOLDS, MIXED, FAILS, UNTESTED)
"""What can be said of a claim."""

_DIFFERENCES = ("points", "doublings", "% of weights", "more of 200 weights")  # shown with a sign


@dataclass(frozen=True)
class Verdict:
    """What the data say of a claim."""

    status: str  # one of `STATUSES`
    effect: float | None = None  # what the rule looks at; None where nothing was tested
    interval: tuple[float, float] | None = None
    unit: str = ""  # unit of both
    note: str = ""  # what stands behind it: how many units, which pairs, which settings
    slack: float = 0.0

    @property
    def numbers(self) -> str:
        """Effect and interval as a text; nothing where nothing was tested."""
        if self.effect is None:
            return ""
        parts = [self._number(self.effect)]
        if self.interval is not None:
            parts.append("[" + ", ".join(map(self._number, self.interval)) + "]")
        return " ".join([*parts, self.unit]).strip()

    def _number(self, value: float) -> str:
        sign = "+" if self.unit in _DIFFERENCES else ""
        if abs(value) >= 1e4:
            return f"{value:{sign}.2g}"
        return f"{value:{sign}.{2 if abs(value) < 100 else 0}f}"


def untested(why: str) -> Verdict:
    """Return the verdict on what was not tested."""
    return Verdict(UNTESTED, note=why)


def place(
    interval: tuple[float, float],
    *,
    above: float = -math.inf,
    at_most: float = math.inf,
    everywhere: bool = True,
) -> str:
    """Return the verdict on one comparison whose effect has an interval."""
    low, high = interval
    if high <= above or low > at_most:
        return FAILS
    return HOLDS if above < low and high <= at_most and everywhere else MIXED


def within(
    interval: tuple[float, float], value: float, margin: float, *, everywhere: bool = True
) -> str:
    """Return the verdict on "about as much", up to a margin on either side."""
    low, high = interval
    if high < value - margin or low > value + margin:
        return FAILS
    return HOLDS if value - margin <= low and high <= value + margin and everywhere else MIXED


def bounded(
    found: Estimate,
    unit: str,
    note: str = "",
    *,
    above: float | None = None,
    at_most: float | None = None,
    everywhere: bool = True,
) -> Verdict:
    """Judge an estimate that the claim bounds from one side or from both."""
    least = -math.inf if above is None else above
    most = math.inf if at_most is None else at_most
    status = place(found.interval, above=least, at_most=most, everywhere=everywhere)
    slack = min(found.value - least, most - found.value)
    return Verdict(status, found.value, found.interval, unit, note, slack)


def about(
    found: Estimate,
    value: float,
    margin: float,
    unit: str,
    note: str = "",
    *,
    everywhere: bool = True,
) -> Verdict:
    """Judge an estimate that the claim says is about as much as a number."""
    status = within(found.interval, value, margin, everywhere=everywhere)
    slack = margin - abs(found.value - value)
    return Verdict(status, found.value, found.interval, unit, note, slack)


def decide(agrees: bool, surely: bool = True) -> str:
    """Return the verdict on an estimate without an interval."""
    if not agrees:
        return FAILS
    return HOLDS if surely else MIXED


def combine(verdicts: Sequence[Verdict], names: Sequence[str] = ()) -> Verdict:
    """Make one verdict of those on the parts of a claim.

    It holds if all parts hold, and does not hold if at least one does not: what is said of several
    models is refuted by one of them.  Anything else is mixed.  Parts that were not tested make the whole
    untested.  The numbers are those of the part that comes off worst; the note lists the others.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    for verdict in verdicts:
        if verdict.status == UNTESTED:
            return verdict
    statuses = [verdict.status for verdict in verdicts]
    status = next(found for found in (FAILS, MIXED, HOLDS) if found in statuses)
    worst = max(
        range(len(verdicts)), key=lambda i: (STATUSES.index(statuses[i]), -verdicts[i].slack)
    )
    parts = [
        f"{name}: {verdict.status}, {verdict.numbers}"
        if verdict.numbers
        else f"{name}: {verdict.status}"
        for name, verdict in zip(names or ["part"] * len(verdicts), verdicts, strict=True)
    ]
    shown = verdicts[worst]
    note = "; ".join([*parts, shown.note] if shown.note else parts)
    return replace(shown, status=status, note=note)
