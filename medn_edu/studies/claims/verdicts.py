"""What a rule says of a claim, and how several answers become one."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

HOLDS = "holds"
MIXED = "mixed"
FAILS = "does not hold here"
DEPENDS = "depends"
UNTESTABLE = "untestable"
MISSING = "study missing"
NOT_RUN = "not run"
STATUSES = (HOLDS, MIXED, FAILS, DEPENDS, UNTESTABLE, MISSING, NOT_RUN)
"""What can be said of a claim."""

LEVEL = 0.05
"""How likely chance may be to bring a decision about, in a whole family of claims."""

_DIFFERENCES = ("points", "doublings", "% of weights", "more of 200 weights")  # shown with a sign
_COUNTS = ("of 200 are zero", "of 100 differ", "weights left", "wrong pixels", "iterations")
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Verdict:
    """What the data say of a claim."""

    status: str  # one of `STATUSES`
    effect: float | None = None  # what the rule looks at; None where nothing was tested
    interval: tuple[float, float] | None = None
    unit: str = ""  # unit of both
    pair: str = ""  # the models that decided
    size: str = ""  # whether the effect is as large, or as small, as the claim says
    note: str = ""  # what stands behind it: how many units, which other pairs, which settings
    slack: float = 0.0  # how far the effect is inside the bounds
    p: tuple[float, float] | None = None  # that it holds, and that it does not, by chance alone
    unsigned: bool = False  # whether the sign of the effect means nothing

    @property
    def numbers(self) -> str:
        """Effect and interval as a text; nothing where nothing was tested."""
        if self.effect is None:
            return ""
        parts = [self._number(self.effect)]
        if self.interval is not None:
            parts.append("[" + ", ".join(map(self._number, self.interval)) + "]")
        return " ".join([*parts, self.unit, "apart" * self.unsigned]).strip()

    @property
    def line(self) -> str:
        """Status and numbers as a text."""
        return ", ".join(filter(None, (self.status, self.numbers, self.size)))

    def _number(self, value: float) -> str:
        sign = "+" if self.unit in _DIFFERENCES and not self.unsigned else ""
        return f"{value:{sign},.{0 if self.unit in _COUNTS or abs(value) >= 100 else 2}f}"

    def corrected(self, p: float) -> "Verdict":
        """Return it as it is if the p-value of its decision is this one: mixed if that is too large."""
        if p < LEVEL or self.status not in (HOLDS, FAILS):
            return self
        note = f"alone it would be {self.status!r}, but p = {p:.2g} after Holm's correction"
        return replace(self, status=MIXED, note="; ".join(filter(None, (note, self.note))))


def not_run(why: str) -> Verdict:
    """Return the verdict where a study has no table, or the table lacks models."""
    return Verdict(NOT_RUN, note=why)


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


def combine(verdicts: Sequence[Verdict], names: Sequence[str] = ()) -> Verdict:
    """Make one verdict of those on the parts of a claim.

    It holds if all parts hold, and does not hold if at least one does not: what is said of several
    models is refuted by one of them.  The more there are, the more easily chance does so, hence the
    p-value of a refutation is multiplied by their number.  Anything else is mixed, or depends on what
    a part depends on.  If a part was not run, neither was the whole.  The numbers and the pair are
    those of the part that comes off worst; the note lists the others.
    """
    order = (NOT_RUN, FAILS, DEPENDS, MIXED, HOLDS)

    def rank(verdict: Verdict) -> tuple[float, ...]:
        doubt = verdict.p[0] if verdict.p and verdict.status != FAILS else 0.0
        return order.index(verdict.status), -doubt, verdict.slack

    shown = min(verdicts, key=rank)
    if len(verdicts) == 1 or shown.status == NOT_RUN:
        return shown
    parts = [
        f"{name or verdict.pair}: {verdict.line}"
        for name, verdict in zip(names or [""] * len(verdicts), verdicts, strict=True)
        if verdict is not shown
    ]
    known = [verdict.p for verdict in verdicts if verdict.p]
    p = (
        (max(p for p, _ in known), min(1.0, len(known) * min(p for _, p in known)))
        if known
        else None
    )
    return replace(shown, note="; ".join(filter(None, [shown.note, *parts])), p=p)


def agreed(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Make one verdict of those on variants of a reading, by name: it depends where they disagree."""
    found = {name: verdict for name, verdict in verdicts.items() if verdict.status != NOT_RUN}
    if not found:
        return next(iter(verdicts.values()))
    first = next(iter(found.values()))
    if len({verdict.status for verdict in found.values()}) == 1:
        lacking = [name for name in verdicts if name not in found]
        note = f"not run: {', '.join(lacking)}" if lacking else ""
        return replace(first, note="; ".join(filter(None, (first.note, note))))
    with_status = {
        status: [name for name, verdict in found.items() if verdict.status == status]
        for status in STATUSES
    }
    said = [f"{status} ({'; '.join(names)})" for status, names in with_status.items() if names]
    return replace(first, status=DEPENDS, note=", ".join(said))


def holm(p: Mapping[_Key, float]) -> dict[_Key, float]:
    """Correct p-values for their number: if all are by chance, one is below 0.05 in one case of 20.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    found, largest = {}, 0.0
    for rank, name in enumerate(sorted(p, key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[name]))
        found[name] = largest
    return found
