"""What a rule says of a claim, and how several answers become one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from medn_edu.experiments.claims.scores import Estimate

HOLDS = "holds"
MIXED = "mixed"
FAILS = "does not hold here"
UNTESTED = "not tested yet"
STATUSES = (HOLDS, MIXED, FAILS, UNTESTED)
"""What can be said of a claim."""

_DIFFERENCES = ("points", "doublings", "% of weights", "more of 200 weights")  # shown with a sign


@dataclass(frozen=True)
class Verdict:
    """What the data say of a claim.

    Parameters
    ----------
    status : str
        One of `STATUSES`.
    effect : float, optional
        What the rule looks at; None where nothing was tested.
    interval : tuple of two floats, optional
        Where the effect lies, at 95 %; None where the tables do not tell how it varies.
    unit : str
        Unit of both.
    note : str
        What stands behind it: how many units, which pairs, which settings.
    slack : float
        How far the estimate is on the claim's side, to find the part that comes off worst.  Parts with
        the same status are compared by it.
    """

    status: str
    effect: float | None = None
    interval: tuple[float, float] | None = None
    unit: str = ""
    note: str = ""
    slack: float = 0.0

    @property
    def numbers(self) -> str:
        """Effect and interval as a text; nothing where nothing was tested.

        Examples
        --------
        >>> Verdict(HOLDS, 1.234, (0.5, 2.0), "points").numbers
        '+1.23 [+0.50, +2.00] points'
        """
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
    """Return the verdict on what was not tested.

    Parameters
    ----------
    why : str
        What is missing.

    Returns
    -------
    Verdict
        Not tested yet.
    """
    return Verdict(UNTESTED, note=why)


def place(
    interval: tuple[float, float],
    *,
    above: float = -math.inf,
    at_most: float = math.inf,
    everywhere: bool = True,
) -> str:
    """Return the verdict on one comparison whose effect has an interval.

    Parameters
    ----------
    interval : tuple of two floats
        Where the effect lies.
    above, at_most : float
        What the claim says of it: ``above < effect <= at_most``.
    everywhere : bool
        Whether each of the settings that the claim speaks of is on its side.

    Returns
    -------
    str
        Holds if the whole interval is as the claim says, in each setting; does not hold if all of the
        interval is outside; else mixed.

    Examples
    --------
    >>> [place(interval, above=0.0) for interval in ((0.1, 2.0), (-1.0, 0.9), (-2.0, -0.1))]
    ['holds', 'mixed', 'does not hold here']
    >>> place((3.0, 4.0), above=0.0, at_most=1.0)  # "slightly"
    'does not hold here'
    """
    low, high = interval
    if high <= above or low > at_most:
        return FAILS
    return HOLDS if above < low and high <= at_most and everywhere else MIXED


def within(
    interval: tuple[float, float], value: float, margin: float, *, everywhere: bool = True
) -> str:
    """Return the verdict on "about as much", up to a margin on either side.

    Parameters
    ----------
    interval : tuple of two floats
        Where the effect lies.
    value, margin : float
        The claim says: ``value - margin <= effect <= value + margin``.
    everywhere : bool
        Whether each of the settings that the claim speaks of is within the margin.

    Returns
    -------
    str
        As from `place`.

    Examples
    --------
    >>> [within(interval, 0.0, 1.0) for interval in ((-0.9, 0.5), (0.5, 1.5), (-3.0, -1.5))]
    ['holds', 'mixed', 'does not hold here']
    """
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
    """Judge an estimate that the claim bounds from one side or from both.

    Parameters
    ----------
    found : Estimate
        What the rule looks at.
    unit, note : str
        As in `Verdict`.
    above, at_most : float, optional
        The claim says: ``above < found <= at_most``, as far as they are given.
    everywhere : bool
        Whether each of the settings that the claim speaks of is on its side.

    Returns
    -------
    Verdict
        With the status that `place` gives it; its slack is the distance to the nearer bound.

    Examples
    --------
    >>> verdict = bounded(Estimate(1.5, 1.25, 1.75), "points", above=1.0)
    >>> verdict.status, verdict.slack
    ('holds', 0.5)
    """
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
    """Judge an estimate that the claim says is about as much as a number.

    Parameters
    ----------
    found : Estimate
        What the rule looks at.
    value, margin : float
        The claim says: ``value - margin <= found <= value + margin``.
    unit, note : str
        As in `Verdict`.
    everywhere : bool
        Whether each of the settings that the claim speaks of is within the margin.

    Returns
    -------
    Verdict
        With the status that `within` gives it; its slack is the distance to the nearer bound.

    Examples
    --------
    >>> verdict = about(Estimate(0.25, 0.0, 0.5), 0.0, 1.0, "points")
    >>> verdict.status, verdict.slack
    ('holds', 0.75)
    """
    status = within(found.interval, value, margin, everywhere=everywhere)
    slack = margin - abs(found.value - value)
    return Verdict(status, found.value, found.interval, unit, note, slack)


def decide(agrees: bool, surely: bool = True) -> str:
    """Return the verdict on an estimate without an interval.

    Parameters
    ----------
    agrees : bool
        Whether it is as the claim says, or nearly so, as far as the rule knows of such a thing.
    surely : bool
        Whether it is so altogether.

    Returns
    -------
    str
        One of `STATUSES`.

    Examples
    --------
    >>> decide(False), decide(True), decide(True, surely=False)
    ('does not hold here', 'holds', 'mixed')
    """
    if not agrees:
        return FAILS
    return HOLDS if surely else MIXED


def combine(verdicts: Sequence[Verdict], names: Sequence[str] = ()) -> Verdict:
    """Make one verdict of those on the parts of a claim.

    It holds if all parts hold, and does not hold if at least one does not: what is said of several
    models is refuted by one of them.  Anything else is mixed.  Parts that were not tested make the whole
    untested.  The numbers are those of the part that comes off worst; the note lists the others.

    Parameters
    ----------
    verdicts : sequence of Verdict
        The parts, at least one.
    names : sequence of str
        What each part compares, for the note.

    Returns
    -------
    Verdict
        The whole.

    Examples
    --------
    >>> combine([Verdict(HOLDS, 2.0), Verdict(FAILS, -1.0)]).status
    'does not hold here'
    >>> combine([Verdict(HOLDS, 2.0), Verdict(MIXED, 0.1)]).status
    'mixed'
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
