"""What a rule says of a claim, and how several answers become one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    above: float | None = None,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    everywhere: bool = True,
) -> str:
    """Return the verdict on an effect that lies in an interval."""
    low, high = interval
    if high < at_least or low > at_most or (above is not None and high <= above):
        return FAILS
    inside = at_least <= low and high <= at_most and (above is None or above < low)
    return HOLDS if inside and everywhere else MIXED


def decide(agrees: bool, surely: bool = True) -> str:
    """Return the verdict on an estimate without an interval."""
    if not agrees:
        return FAILS
    return HOLDS if surely else MIXED


def combined_status(statuses: Sequence[str]) -> str:
    """Return the verdict on a whole: it holds if all parts do, and does not hold if one does not."""
    return next(found for found in (UNTESTED, FAILS, MIXED, HOLDS) if found in statuses)


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
    status = combined_status(statuses)
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
