"""Rules about algorithms for L1-M3N: best errors, how much constants matter, and times.

They read the fits of the study ``l1m3n-algorithms``: ten folds for each algorithm and constant.  All
algorithms train and test on the same sequences, so errors are compared fold by fold, and intervals are
those of differences on the same fold.  The best constant of an algorithm is the one with the lowest
mean over the folds, the worst the one with the highest.

Times have no interval; they are processor seconds of one fit.  How long a fit takes says little without
how far it came: notes say with which duality gaps the fits ended whose times are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from medn_edu.studies.claims.algorithms import (
    CHAINS,
    OCR,
    TITLES,
    OfAlgorithm,
    algorithm_rows,
    fits_of,
    known_rows,
)
from medn_edu.studies.claims.rules import (
    POINTS,
    InPairs,
    Names,
    OneByOne,
    Row,
    TooLittleError,
    known,
    mean_of,
    points_text,
    too_few,
)
from medn_edu.studies.claims.scores import Estimate, Unit, mean_interval, paired
from medn_edu.studies.claims.verdicts import Verdict, about, bounded, decide


@dataclass(frozen=True)
class BestError(OfAlgorithm):
    """The error of an algorithm at its best constant is about a number; the effect is that error."""

    algorithm: str
    data: str
    value: float
    margin: float

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        best = _ends(rows, algorithm, self.data).best
        found = known(mean_interval(list(best.values())), too_few(algorithm))
        return about(found, self.value, self.margin, "% of labels")

    def text(self) -> str:
        """Say which number."""
        return (
            f"the best error of {self.algorithm} on {TITLES[self.data]} is {self.value:g} ± "
            f"{self.margin:g} % of labels"
        )


@dataclass(frozen=True)
class BestIsBetter(InPairs):
    """With the best constants, one algorithm errs less than others; the effect is its advantage."""

    better: str  # name of the algorithm
    worse: Names  # names of the others
    data: str  # name of the data set
    at_most: float | None = None  # by how many points at most, for "slightly"

    def _sides(self) -> tuple[Names, Names]:
        return (self.better,), self.worse

    def _judge(self, rows: Sequence[Row], better: str, worse: str) -> Verdict:
        advantage = _difference(*_best_of(rows, better, worse, self.data), better, worse)
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
    """With the best constants, algorithms err alike; the effect is the difference of two of them."""

    _joint: ClassVar[str] = "and"

    algorithms: Names  # names of algorithms; each is compared with the first one
    data: str  # name of the data set
    margin: float = 1.0  # how many points count as the same

    def _sides(self) -> tuple[Names, Names]:
        return self.algorithms[:1], self.algorithms[1:]

    def _judge(self, rows: Sequence[Row], first: str, second: str) -> Verdict:
        difference = _difference(*_best_of(rows, first, second, self.data), first, second)
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
    """

    algorithms: Names  # names of algorithms
    data: str  # name of the data set
    more_than: float | None = None
    at_most: float | None = None

    def _names(self) -> Names:
        return self.algorithms

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        rise = _difference(*_ends(rows, algorithm, self.data), algorithm)
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
    """

    stable: str  # name of the algorithm
    sensitive: Names  # names of the others
    data: str  # name of the data set
    quantity: str = "error"

    def _sides(self) -> tuple[Names, Names]:
        return (self.stable,), self.sensitive

    def _judge(self, rows: Sequence[Row], stable: str, sensitive: str) -> Verdict:
        vary = _times_vary_less if self.quantity == "time" else _errors_vary_less
        return vary(rows, stable, sensitive, self.data)

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
    """

    algorithm: str
    data: str
    more_than: float | None = None
    at_most: float | None = None

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        times = _longest_over_shortest(rows, algorithm, self.data)
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
    """

    algorithm: str
    data: str
    growing: bool  # whether it grows
    factor: float  # how many times, from one end to the other

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = algorithm_rows(rows, algorithm, self.data)
        if len(lines) < 2:
            raise TooLittleError(f"no two times of {algorithm}.")
        times = _seconds_of(lines, algorithm)
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
    """

    quicker: Names
    slower: Names
    data: str  # name of the data set
    factor: float = 1.0  # how many times as long the slow one takes at least
    per: float = 1.0  # part of the quick one's time that counts, as 1/15 for one of 15 iterations
    longest: bool = False  # compare the longest fits; mean times otherwise

    def _sides(self) -> tuple[Names, Names]:
        return self.quicker, self.slower

    def _judge(self, rows: Sequence[Row], quicker: str, slower: str) -> Verdict:
        (short, near), (long, far) = (self._seconds(rows, name) for name in (quicker, slower))
        times = long / (self.per * short)
        note = f"{short:.2g} s against {long:.2g} s a fit{_gaps_text(near, far)}"
        return Verdict(decide(times > self.factor), times, unit=_TIMES, note=note, slack=times)

    def _seconds(self, rows: Sequence[Row], algorithm: str) -> tuple[float, float | None]:
        """Return how long fits take, and the gap they end with."""
        lines = known_rows(rows, algorithm, self.data, "times")
        seconds = _seconds_of(lines, algorithm)
        fits = fits_of(rows, algorithm, self.data)
        if not self.longest:
            return float(np.mean(seconds)), _median_gap(fits)
        slowest = lines[int(np.argmax(seconds))]["constant"]
        return max(seconds), _median_gap(_at(fits, slowest))

    def text(self) -> str:
        """Say which algorithms."""
        kind = "longest" if self.longest else "mean"
        return (
            f"on {TITLES[self.data]} the {kind} time of {', '.join(self.slower)} is more than "
            f"{self.factor * self.per:.2g} times that of {', '.join(self.quicker)}"
        )


@dataclass(frozen=True)
class ScalesWorse(InPairs):
    """From the synthetic data to OCR100, the time of an algorithm grows far more than that of others.

    Each algorithm's time on either data set is that at the constant, of those tried, with the lowest
    mean error there; its growth is how many times as long it takes on OCR100.  The effect is how many
    times that of the other it is; no interval, so never mixed.  Cutting planes are best at the largest
    ``C`` that is tried on OCR100; larger ones would take longer, so the growth is rather too small.
    """

    worse: str  # name of the algorithm
    better: Names  # names of the others
    factor: float = 10.0  # how many times the growth of each of the others its own is at least

    def _sides(self) -> tuple[Names, Names]:
        return (self.worse,), self.better

    def _judge(self, rows: Sequence[Row], worse: str, better: str) -> Verdict:
        (here, note), (there, other) = (_growth(rows, name) for name in (worse, better))
        times = here / there
        status = decide(times >= self.factor)
        return Verdict(status, times, unit="times the growth", note=f"{note}, {other}", slack=times)

    def text(self) -> str:
        """Say which algorithms, and how much counts."""
        return (
            f"from {TITLES[CHAINS]} to {TITLES[OCR]}, at the best constants, the time of {self.worse} "
            f"grows by a factor at least {self.factor:g} times that of {', '.join(self.better)}"
        )


@dataclass(frozen=True)
class Takes(OfAlgorithm):
    """Ten folds of an algorithm take hours, if each takes as long as at the slowest constant.

    The effect is how many; no interval, so never mixed.
    """

    algorithm: str
    data: str
    hours: float  # how many at least

    def _judge(self, rows: Sequence[Row], algorithm: str) -> Verdict:
        lines = known_rows(rows, algorithm, self.data, "times")
        hours = 10 * max(_seconds_of(lines, algorithm)) / 3600
        return Verdict(decide(hours >= self.hours), hours, unit="hours")

    def text(self) -> str:
        """Say how long."""
        return f"ten folds of {self.algorithm} on {TITLES[self.data]} take {self.hours:g} hours or more"


# ---------------------------------------------------------------------------------------------
# what they share


_TIMES = "times as long"
_Errors = dict[Unit, float]  # of labels, in per cent, by fold


class _Ends(NamedTuple):
    """Errors at the best constant of an algorithm and at its worst."""

    best: _Errors
    worst: _Errors


def _limits_text(more_than: float | None, at_most: float | None) -> str:
    return f"more than {more_than:g}" if more_than is not None else f"at most {at_most:g}"


def _ends(rows: Sequence[Row], algorithm: str, data: str) -> _Ends:
    """Return errors at the constants with the lowest and the highest mean error."""
    # The folds that choose the constants are those that are compared at them, as in the paper, whose
    # Fig. 5 and 6 show test errors against constants.  So the best error is a little too low, the rise
    # to the worst a little too high, and the intervals, which know nothing of the choice, a bit too
    # narrow.
    from medn_edu.studies.l1_table import groups_of  # which imports all models

    settings = [
        {(0, int(row["fold"])): 100 * row["error"] for row in group}
        for group in groups_of(fits_of(rows, algorithm, data)).values()
    ]
    settings = known(settings or None, f"no errors of {algorithm}.")
    return _Ends(min(settings, key=mean_of), max(settings, key=mean_of))


def _best_of(rows: Sequence[Row], first: str, second: str, data: str) -> tuple[_Errors, _Errors]:
    return _ends(rows, first, data).best, _ends(rows, second, data).best


def _difference(first: _Errors, second: _Errors, *names: str) -> Estimate:
    """Return second minus first, over the folds that both have."""
    by_fold, _ = paired({_ALONE: first}, {_ALONE: second})
    return known(mean_interval(list(by_fold.values())), too_few(*names))


_ALONE = (0, 0.0)  # there is no other setting


def _errors_vary_less(rows: Sequence[Row], stable: str, sensitive: str, data: str) -> Verdict:
    """Compare rises of errors from best to worst, each of them on the same folds."""
    ours, theirs = (_rises(_ends(rows, name, data)) for name in (stable, sensitive))
    return bounded(_difference(ours, theirs, stable, sensitive), POINTS, above=0.0)


def _rises(ends: _Ends) -> _Errors:
    return paired({_ALONE: ends.best}, {_ALONE: ends.worst})[0]


def _times_vary_less(rows: Sequence[Row], stable: str, sensitive: str, data: str) -> Verdict:
    ours, theirs = (_longest_over_shortest(rows, name, data) for name in (stable, sensitive))
    value = float(np.log2(theirs / ours))
    note = f"{ours:.1f} against {theirs:.1f} times"
    return Verdict(decide(value > 0), value, unit="doublings", note=note, slack=value)


def _longest_over_shortest(rows: Sequence[Row], algorithm: str, data: str) -> float:
    times = _seconds_of(known_rows(rows, algorithm, data, "times"), algorithm)
    return max(times) / min(times)


def _seconds_of(lines: Sequence[Row], algorithm: str) -> list[float]:
    """Return mean times at each constant, if all are known."""
    times = [line["cpu_seconds"] for line in lines]
    if None in times:
        raise TooLittleError(f"no times of {algorithm}.")
    return times


def _growth(rows: Sequence[Row], algorithm: str) -> tuple[float, str]:
    """Return how many times as long an algorithm takes on OCR100, and the same in words."""
    seconds, gaps = [], []
    for data in (CHAINS, OCR):
        lines = known_rows(rows, algorithm, data, "times")
        best = min(lines, key=lambda line: line["error"])
        seconds += _seconds_of([best], algorithm)
        gaps.append(_median_gap(_at(fits_of(rows, algorithm, data), best["constant"])))
    short, long = seconds
    text = f"{algorithm} {short:.2g} s and {long:.2g} s{_gaps_text(*gaps, joint='and')}"
    return long / short, text


def _at(fits: Sequence[dict[str, Any]], constant: float) -> list[dict[str, Any]]:
    """Return the fits with a constant."""
    from medn_edu.studies.l1_table import groups_of  # which imports all models

    groups = groups_of(fits)
    return next(group for (_, _, found), group in groups.items() if found == constant)


def _median_gap(fits: Sequence[Row]) -> float | None:
    """Return the median relative duality gap that fits end with; None where no gap is known."""
    gaps = [row["relative_gap"] for row in fits if row.get("relative_gap") is not None]
    return float(np.median(gaps)) if gaps else None


def _gaps_text(first: float | None, second: float | None, *, joint: str = "against") -> str:
    if first is None or second is None:
        return ""
    return f" (to median gaps of {_percent(first)} {joint} {_percent(second)})"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
