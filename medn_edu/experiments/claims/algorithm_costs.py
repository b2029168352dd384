"""Rules about algorithms for L1-M3N: best errors, how much constants matter, and times.

They read the means over folds that the study ``l1m3n-algorithms`` publishes, so that comparisons of
errors are not paired: their intervals are wider than they might be.  Times have no interval; they are
processor seconds of one fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medn_edu.experiments.claims.algorithms import TITLES, algorithm_rows
from medn_edu.experiments.claims.rules import POINTS, Names, Row, points_text
from medn_edu.experiments.claims.scores import difference_interval
from medn_edu.experiments.claims.verdicts import (
    Verdict,
    combine,
    decide,
    place,
    untested,
    within,
)

__all__ = [
    "BestError", "BestIsBetter", "BestIsComparable", "ErrorRange", "Quicker", "RangeSmaller", "Takes",
    "TimeRange", "TimeTrend",
]  # fmt: skip


@dataclass(frozen=True)
class BestError:
    """The best error of an algorithm is about a number.

    Parameters
    ----------
    algorithm, data : str
        Names of the algorithm and of the data set.
    value, margin : float
        The number and how far from it still counts, in per cent of labels.
    """

    algorithm: str
    data: str
    value: float
    margin: float

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the best constant's error.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is the error.
        """
        lines = algorithm_rows(rows, self.algorithm, self.data)
        found = difference_interval((0.0, 0.0, _fits(lines)), _best(lines)) if lines else None
        if found is None:
            return untested(f"no three fits of {self.algorithm}.")
        value, low, high = found
        status = within((low, high), self.value, self.margin)
        return Verdict(status, value, (low, high), "% of labels")

    def text(self) -> str:
        """Say which number."""
        return (
            f"the best error of {self.algorithm} on {TITLES[self.data]} is {self.value:g} ± "
            f"{self.margin:g} % of labels"
        )


@dataclass(frozen=True)
class BestIsBetter:
    """With the best constants, one algorithm errs less than others.

    Parameters
    ----------
    better : str
        Name of the algorithm.
    worse : tuple of str
        Names of the others.
    data : str
        Name of the data set.
    at_most : float, optional
        By how many points at most, for "slightly".
    """

    better: str
    worse: Names
    data: str
    at_most: float | None = None

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare best errors.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is the advantage in points.
        """
        names = [f"{self.better} against {name}" for name in self.worse]
        return combine([self._judge(rows, name) for name in self.worse], names)

    def _judge(self, rows: Sequence[Row], worse: str) -> Verdict:
        found = _best_difference(rows, self.better, worse, self.data)
        if isinstance(found, Verdict):
            return found
        value, low, high = found
        most = math.inf if self.at_most is None else self.at_most
        status = place((low, high), above=0.0, at_most=most)
        return Verdict(status, value, (low, high), POINTS, "", min(value, most - value))

    def text(self) -> str:
        """Say which algorithms."""
        most = f", by at most {points_text(self.at_most)}" if self.at_most is not None else ""
        return (
            f"with the best constants {self.better} errs less than {' and '.join(self.worse)} on "
            f"{TITLES[self.data]}{most}"
        )


@dataclass(frozen=True)
class BestIsComparable:
    """With the best constants, algorithms err alike.

    Parameters
    ----------
    algorithms : tuple of str
        Names of algorithms; each is compared with the first one.
    data : str
        Name of the data set.
    margin : float
        How many points count as the same.
    """

    algorithms: Names
    data: str
    margin: float = 1.0

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare best errors.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is the difference in points.
        """
        first, *others = self.algorithms
        names = [f"{first} and {name}" for name in others]
        return combine([self._judge(rows, first, name) for name in others], names)

    def _judge(self, rows: Sequence[Row], first: str, second: str) -> Verdict:
        found = _best_difference(rows, first, second, self.data)
        if isinstance(found, Verdict):
            return found
        value, low, high = found
        status = within((low, high), 0.0, self.margin)
        return Verdict(status, value, (low, high), POINTS, "", self.margin - abs(value))

    def text(self) -> str:
        """Say which algorithms."""
        return (
            f"with the best constants {', '.join(self.algorithms)} differ by at most "
            f"{points_text(self.margin)} on {TITLES[self.data]}"
        )


@dataclass(frozen=True)
class ErrorRange:
    """Over its constants the error of algorithms varies by much, or little.

    Parameters
    ----------
    algorithms : tuple of str
        Names of algorithms.
    data : str
        Name of the data set.
    more_than, at_most : float, optional
        How many points from the best constant to the worst; one of the two.
    """

    algorithms: Names
    data: str
    more_than: float | None = None
    at_most: float | None = None

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the worst constant with the best one.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is the range in points.
        """
        return combine([self._judge(rows, name) for name in self.algorithms], self.algorithms)

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = algorithm_rows(rows, algorithm, self.data)
        found = difference_interval(_best(lines), _worst(lines)) if lines else None
        if found is None:
            return untested(f"no three fits of {algorithm}.")
        value, low, high = found
        if self.more_than is not None:
            status = place((low, high), above=self.more_than)
            return Verdict(status, value, (low, high), POINTS, "", value - self.more_than)
        assert self.at_most is not None
        status = place((low, high), at_most=self.at_most)
        return Verdict(status, value, (low, high), POINTS, "", self.at_most - value)

    def text(self) -> str:
        """Say whose range."""
        what = (
            f"more than {self.more_than:g}"
            if self.more_than is not None
            else f"at most {self.at_most:g}"
        )
        return (
            f"from the best to the worst constant the error of {', '.join(self.algorithms)} rises by "
            f"{what} points on {TITLES[self.data]}"
        )


@dataclass(frozen=True)
class RangeSmaller:
    """Over its constants one algorithm's error, or time, varies less than those of others.

    Parameters
    ----------
    stable : str
        Name of the algorithm.
    sensitive : tuple of str
        Names of the others.
    data : str
        Name of the data set.
    quantity : str
        ``"error"``, in points from best to worst, or ``"time"``, by longest over shortest.
    """

    stable: str
    sensitive: Names
    data: str
    quantity: str = "error"

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the ranges.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is how much smaller the range is.
        """
        names = [f"{self.stable} against {name}" for name in self.sensitive]
        return combine([self._judge(rows, name) for name in self.sensitive], names)

    def _judge(self, rows: Sequence[Row], sensitive: str) -> Verdict:
        ours, theirs = (algorithm_rows(rows, n, self.data) for n in (self.stable, sensitive))
        if not ours or not theirs:
            return untested(f"no {self.stable} or no {sensitive}.")
        if self.quantity == "time":
            factors = [_longest_over_shortest(lines) for lines in (ours, theirs)]
            value = float(np.log2(factors[1] / factors[0]))
            note = f"{factors[0]:.1f} against {factors[1]:.1f} times"
            return Verdict(decide(value > 0), value, unit="doublings", note=note, slack=value)
        ranges = [difference_interval(_best(lines), _worst(lines)) for lines in (ours, theirs)]
        if ranges[0] is None or ranges[1] is None:
            return untested("fewer than three fits.")
        value = ranges[1][0] - ranges[0][0]
        half = math.hypot(*((high - low) / 2 for _, low, high in filter(None, ranges)))
        interval = (value - half, value + half)
        return Verdict(place(interval, above=0.0), value, interval, POINTS, "", value)

    def text(self) -> str:
        """Say whose range."""
        return (
            f"over the constants the {self.quantity} of {self.stable} varies less than that of "
            f"{' and '.join(self.sensitive)} on {TITLES[self.data]}"
        )


@dataclass(frozen=True)
class TimeRange:
    """Over its constants the time of an algorithm varies by much, or little.

    Parameters
    ----------
    algorithm, data : str
        Names of the algorithm and of the data set.
    more_than, at_most : float, optional
        Longest over shortest; one of the two.
    """

    algorithm: str
    data: str
    more_than: float | None = None
    at_most: float | None = None

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the longest time with the shortest one.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is how many times as long; no interval, so never mixed.
        """
        lines = algorithm_rows(rows, self.algorithm, self.data)
        if not lines:
            return untested(f"no times of {self.algorithm}.")
        value = _longest_over_shortest(lines)
        agrees = (
            value > self.more_than if self.more_than is not None else value <= (self.at_most or 0)
        )
        return Verdict(decide(agrees), value, unit="times as long")

    def text(self) -> str:
        """Say whose time."""
        what = (
            f"more than {self.more_than:g}"
            if self.more_than is not None
            else f"at most {self.at_most:g}"
        )
        where = TITLES[self.data]
        return f"the longest time of {self.algorithm} on {where} is {what} times the shortest"


@dataclass(frozen=True)
class TimeTrend:
    """The time of an algorithm grows, or shrinks, with its constant.

    Parameters
    ----------
    algorithm, data : str
        Names of the algorithm and of the data set.
    growing : bool
        Whether it grows.
    factor : float
        How many times, from one end to the other.
    """

    algorithm: str
    data: str
    growing: bool
    factor: float

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the two ends; Spearman's correlation with the constant must reach 0.8.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is how many times as long; mixed if the trend is there but not the factor, or
            the factor but not the trend.
        """
        lines = algorithm_rows(rows, self.algorithm, self.data)
        if len(lines) < 2:
            return untested(f"no two times of {self.algorithm}.")
        times = [line["cpu_seconds"] for line in lines]
        rank = float(np.corrcoef(np.argsort(np.argsort(times)), range(len(times)))[0, 1])
        rank, times = (rank, times) if self.growing else (-rank, times[::-1])
        value = times[-1] / times[0]
        far, steady = value >= self.factor, rank >= 0.8
        note = f"rank correlation {rank:+.2f}"
        return Verdict(
            decide(far or steady, far and steady), value, unit="times as long", note=note
        )

    def text(self) -> str:
        """Say whose time."""
        way = "grows" if self.growing else "shrinks"
        return (
            f"the time of {self.algorithm} on {TITLES[self.data]} {way} with the constant, at least "
            f"{self.factor:g} times in all"
        )


@dataclass(frozen=True)
class Quicker:
    """Some algorithms take less time than another.

    Parameters
    ----------
    quicker : tuple of str
        Names of the quick ones.
    slower : tuple of str
        Names of the slow ones.
    data : str
        Name of the data set.
    factor : float
        How many times as long the slow one takes at least.
    per : float
        Part of the quick one's time that counts, as 1/15 for one of 15 iterations.
    longest : bool
        Compare the longest fits; mean times otherwise.
    """

    quicker: Names
    slower: Names
    data: str
    factor: float = 1.0
    per: float = 1.0
    longest: bool = False

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare times.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is how many times as long the slow one takes; no interval, so never mixed.
        """
        pairs = [(a, b) for a in self.quicker for b in self.slower]
        names = [f"{a} against {b}" for a, b in pairs]
        return combine([self._judge(rows, *pair) for pair in pairs], names)

    def _judge(self, rows: Sequence[Row], quicker: str, slower: str) -> Verdict:
        times = []
        for name in (quicker, slower):
            lines = algorithm_rows(rows, name, self.data)
            if not lines:
                return untested(f"no times of {name}.")
            seconds = [line["cpu_seconds"] for line in lines]
            times.append(max(seconds) if self.longest else float(np.mean(seconds)))
        value = times[1] / (self.per * times[0])
        agrees = value > self.factor
        note = f"{times[0]:.2g} s against {times[1]:.2g} s a fit"
        return Verdict(decide(agrees), value, unit="times as long", note=note, slack=value)

    def text(self) -> str:
        """Say which algorithms."""
        kind = "longest" if self.longest else "mean"
        return (
            f"on {TITLES[self.data]} the {kind} time of {', '.join(self.slower)} is more than "
            f"{self.factor * self.per:.2g} times that of {', '.join(self.quicker)}"
        )


@dataclass(frozen=True)
class Takes:
    """Ten folds of an algorithm take hours.

    Parameters
    ----------
    algorithm, data : str
        Names of the algorithm and of the data set.
    hours : float
        How many at least.
    """

    algorithm: str
    data: str
    hours: float

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Multiply the longest mean time by ten.

        Parameters
        ----------
        rows : sequence of rows
            The summed-up table.

        Returns
        -------
        Verdict
            Its effect is the time in hours; no interval, so never mixed.
        """
        lines = algorithm_rows(rows, self.algorithm, self.data)
        if not lines:
            return untested(f"no times of {self.algorithm}.")
        value = 10 * max(line["cpu_seconds"] for line in lines) / 3600
        return Verdict(decide(value >= self.hours), value, unit="hours")

    def text(self) -> str:
        """Say how long."""
        return f"ten folds of {self.algorithm} on {TITLES[self.data]} take {self.hours:g} hours or more"


# ---------------------------------------------------------------------------------------------
# what they share


def _fits(lines: Sequence[Row]) -> int:
    return min(line["fits"] for line in lines)


def _moments(line: Row) -> tuple[float, float, int]:
    return 100 * line["error"], 100 * (line["error_deviation"] or 0.0), line["fits"]


def _best(lines: Sequence[Row]) -> tuple[float, float, int]:
    return _moments(min(lines, key=lambda line: line["error"]))


def _worst(lines: Sequence[Row]) -> tuple[float, float, int]:
    return _moments(max(lines, key=lambda line: line["error"]))


def _best_difference(
    rows: Sequence[Row], first: str, second: str, data: str
) -> tuple[float, float, float] | Verdict:
    ours, theirs = (algorithm_rows(rows, name, data) for name in (first, second))
    if not ours or not theirs:
        return untested(f"no {first} or no {second}.")
    found = difference_interval(_best(ours), _best(theirs))
    return untested("fewer than three fits.") if found is None else found


def _longest_over_shortest(lines: Sequence[Row]) -> float:
    times = [line["cpu_seconds"] for line in lines]
    return max(times) / min(times)
