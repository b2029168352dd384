"""Rules about algorithms for L1-M3N: best errors, how much constants matter, and times.

They read the means over folds that the study ``l1m3n-algorithms`` publishes, so that comparisons of
errors are not paired: their intervals are wider than they might be.  Times have no interval; they are
processor seconds of one fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from medn_edu.experiments.claims.algorithms import TITLES, OfAlgorithm, algorithm_rows, known_rows
from medn_edu.experiments.claims.rules import (
    POINTS,
    InPairs,
    Names,
    OneByOne,
    Row,
    TooLittleError,
    known,
    points_text,
)
from medn_edu.experiments.claims.scores import Estimate, difference_interval
from medn_edu.experiments.claims.verdicts import Verdict, about, bounded, decide

__all__ = [
    "BestError", "BestIsBetter", "BestIsComparable", "ErrorRange", "Quicker", "RangeSmaller", "Takes",
    "TimeRange", "TimeTrend",
]  # fmt: skip


@dataclass(frozen=True)
class BestError(OfAlgorithm):
    """The error of an algorithm at its best constant is about a number; the effect is that error.

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

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = known_rows(rows, algorithm, self.data, "three fits")
        nothing = (0.0, 0.0, min(line["fits"] for line in lines))
        found = known(difference_interval(nothing, _best(lines)), f"no three fits of {algorithm}.")
        return about(found, self.value, self.margin, "% of labels")

    def text(self) -> str:
        """Say which number."""
        return (
            f"the best error of {self.algorithm} on {TITLES[self.data]} is {self.value:g} ± "
            f"{self.margin:g} % of labels"
        )


@dataclass(frozen=True)
class BestIsBetter(InPairs):
    """With the best constants, one algorithm errs less than others; the effect is its advantage.

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

    def _sides(self) -> tuple[Names, Names]:
        return (self.better,), self.worse

    def _judge(self, rows: Sequence[Row], better: str, worse: str) -> Verdict:
        advantage = _best_difference(rows, better, worse, self.data)
        return bounded(advantage, POINTS, above=0.0, at_most=self.at_most)

    def text(self) -> str:
        """Say which algorithms."""
        most = f", by at most {points_text(self.at_most)}" if self.at_most is not None else ""
        return (
            f"with the best constants {self.better} errs less than {' and '.join(self.worse)} on "
            f"{TITLES[self.data]}{most}"
        )


@dataclass(frozen=True)
class BestIsComparable(InPairs):
    """With the best constants, algorithms err alike; the effect is the difference of two of them.

    Parameters
    ----------
    algorithms : tuple of str
        Names of algorithms; each is compared with the first one.
    data : str
        Name of the data set.
    margin : float
        How many points count as the same.
    """

    _joint: ClassVar[str] = "and"

    algorithms: Names
    data: str
    margin: float = 1.0

    def _sides(self) -> tuple[Names, Names]:
        return self.algorithms[:1], self.algorithms[1:]

    def _judge(self, rows: Sequence[Row], first: str, second: str) -> Verdict:
        difference = _best_difference(rows, first, second, self.data)
        return about(difference, 0.0, self.margin, POINTS)

    def text(self) -> str:
        """Say which algorithms."""
        return (
            f"with the best constants {', '.join(self.algorithms)} differ by at most "
            f"{points_text(self.margin)} on {TITLES[self.data]}"
        )


@dataclass(frozen=True)
class ErrorRange(OneByOne):
    """Over its constants the error of algorithms varies by much, or little.

    The effect is the rise from the best constant to the worst.

    Parameters
    ----------
    algorithms : tuple of str
        Names of algorithms.
    data : str
        Name of the data set.
    more_than, at_most : float, optional
        How many points; one of the two.
    """

    algorithms: Names
    data: str
    more_than: float | None = None
    at_most: float | None = None

    def _names(self) -> Names:
        return self.algorithms

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = known_rows(rows, algorithm, self.data, "three fits")
        rise = known(_rise(lines), f"no three fits of {algorithm}.")
        return bounded(rise, POINTS, above=self.more_than, at_most=self.at_most)

    def text(self) -> str:
        """Say whose range."""
        return (
            f"from the best to the worst constant the error of {', '.join(self.algorithms)} rises by "
            f"{_limits_text(self.more_than, self.at_most)} points on {TITLES[self.data]}"
        )


@dataclass(frozen=True)
class RangeSmaller(InPairs):
    """Over its constants one algorithm's error, or time, varies less than those of others.

    The effect is how much smaller the range is.

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

    def _sides(self) -> tuple[Names, Names]:
        return (self.stable,), self.sensitive

    def _judge(self, rows: Sequence[Row], stable: str, sensitive: str) -> Verdict:
        both = _both(rows, stable, sensitive, self.data)
        return _times_vary_less(*both) if self.quantity == "time" else _errors_vary_less(*both)

    def text(self) -> str:
        """Say whose range."""
        return (
            f"over the constants the {self.quantity} of {self.stable} varies less than that of "
            f"{' and '.join(self.sensitive)} on {TITLES[self.data]}"
        )


@dataclass(frozen=True)
class TimeRange(OfAlgorithm):
    """Over its constants the time of an algorithm varies by much, or little.

    The effect is how many times the shortest the longest is; no interval, so never mixed.

    Parameters
    ----------
    algorithm, data : str
        Names of the algorithm and of the data set.
    more_than, at_most : float, optional
        How many times; one of the two.
    """

    algorithm: str
    data: str
    more_than: float | None = None
    at_most: float | None = None

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        times = _longest_over_shortest(known_rows(rows, algorithm, self.data, "times"))
        over = self.more_than is None or times > self.more_than
        under = self.at_most is None or times <= self.at_most
        return Verdict(decide(over and under), times, unit=_TIMES)

    def text(self) -> str:
        """Say whose time."""
        limits = _limits_text(self.more_than, self.at_most)
        where = TITLES[self.data]
        return f"the longest time of {self.algorithm} on {where} is {limits} times the shortest"


@dataclass(frozen=True)
class TimeTrend(OfAlgorithm):
    """The time of an algorithm grows, or shrinks, with its constant.

    The effect is how many times as long it is at one end as at the other.  Spearman's correlation with
    the constant must reach 0.8; mixed if the trend is there but not the factor, or the factor but not
    the trend.

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

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = algorithm_rows(rows, algorithm, self.data)
        if len(lines) < 2:
            raise TooLittleError(f"no two times of {algorithm}.")
        times = [line["cpu_seconds"] for line in lines]
        rank = float(np.corrcoef(np.argsort(np.argsort(times)), range(len(times)))[0, 1])
        rank, times = (rank, times) if self.growing else (-rank, times[::-1])
        ratio = times[-1] / times[0]
        far, steady = ratio >= self.factor, rank >= 0.8
        status = decide(far or steady, far and steady)
        return Verdict(status, ratio, unit=_TIMES, note=f"rank correlation {rank:+.2f}")

    def text(self) -> str:
        """Say whose time."""
        way = "grows" if self.growing else "shrinks"
        return (
            f"the time of {self.algorithm} on {TITLES[self.data]} {way} with the constant, at least "
            f"{self.factor:g} times in all"
        )


@dataclass(frozen=True)
class Quicker(InPairs):
    """Some algorithms take less time than others.

    The effect is how many times as long the slow one takes; no interval, so never mixed.

    Parameters
    ----------
    quicker, slower : tuple of str
        Names of the quick ones and of the slow ones.
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

    def _sides(self) -> tuple[Names, Names]:
        return self.quicker, self.slower

    def _judge(self, rows: Sequence[Row], quicker: str, slower: str) -> Verdict:
        short, long = (self._seconds(rows, name) for name in (quicker, slower))
        times = long / (self.per * short)
        note = f"{short:.2g} s against {long:.2g} s a fit"
        return Verdict(decide(times > self.factor), times, unit=_TIMES, note=note, slack=times)

    def _seconds(self, rows: Sequence[Row], algorithm: str) -> float:
        lines = known_rows(rows, algorithm, self.data, "times")
        seconds = [line["cpu_seconds"] for line in lines]
        return max(seconds) if self.longest else float(np.mean(seconds))

    def text(self) -> str:
        """Say which algorithms."""
        kind = "longest" if self.longest else "mean"
        return (
            f"on {TITLES[self.data]} the {kind} time of {', '.join(self.slower)} is more than "
            f"{self.factor * self.per:.2g} times that of {', '.join(self.quicker)}"
        )


@dataclass(frozen=True)
class Takes(OfAlgorithm):
    """Ten folds of an algorithm take hours, if each takes as long as at the slowest constant.

    The effect is how many; no interval, so never mixed.

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

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = known_rows(rows, algorithm, self.data, "times")
        hours = 10 * max(line["cpu_seconds"] for line in lines) / 3600
        return Verdict(decide(hours >= self.hours), hours, unit="hours")

    def text(self) -> str:
        """Say how long."""
        return f"ten folds of {self.algorithm} on {TITLES[self.data]} take {self.hours:g} hours or more"


# ---------------------------------------------------------------------------------------------
# what they share


_TIMES = "times as long"
_TOO_FEW = "fewer than three fits."


def _limits_text(more_than: float | None, at_most: float | None) -> str:
    return f"more than {more_than:g}" if more_than is not None else f"at most {at_most:g}"


def _both(rows: Sequence[Row], first: str, second: str, data: str) -> tuple[list[Row], list[Row]]:
    ours, theirs = (algorithm_rows(rows, name, data) for name in (first, second))
    if not ours or not theirs:
        raise TooLittleError(f"no {first} or no {second}.")
    return ours, theirs


def _moments(line: Row) -> tuple[float, float, int]:
    return 100 * line["error"], 100 * (line["error_deviation"] or 0.0), line["fits"]


def _best(lines: Sequence[Row]) -> tuple[float, float, int]:
    return _moments(min(lines, key=lambda line: line["error"]))


def _worst(lines: Sequence[Row]) -> tuple[float, float, int]:
    return _moments(max(lines, key=lambda line: line["error"]))


def _rise(lines: Sequence[Row]) -> Estimate | None:
    return difference_interval(_best(lines), _worst(lines))


def _best_difference(rows: Sequence[Row], first: str, second: str, data: str) -> Estimate:
    ours, theirs = _both(rows, first, second, data)
    return known(difference_interval(_best(ours), _best(theirs)), _TOO_FEW)


def _errors_vary_less(stable: Sequence[Row], sensitive: Sequence[Row]) -> Verdict:
    """Compare rises of errors, whose intervals are as good as independent."""
    ours, theirs = (known(_rise(lines), _TOO_FEW) for lines in (stable, sensitive))
    spared = theirs.value - ours.value
    half = math.hypot(*((rise.high - rise.low) / 2 for rise in (ours, theirs)))
    return bounded(Estimate(spared, spared - half, spared + half), POINTS, above=0.0)


def _times_vary_less(stable: Sequence[Row], sensitive: Sequence[Row]) -> Verdict:
    ours, theirs = map(_longest_over_shortest, (stable, sensitive))
    value = float(np.log2(theirs / ours))
    note = f"{ours:.1f} against {theirs:.1f} times"
    return Verdict(decide(value > 0), value, unit="doublings", note=note, slack=value)


def _longest_over_shortest(lines: Sequence[Row]) -> float:
    times = [line["cpu_seconds"] for line in lines]
    return max(times) / min(times)
