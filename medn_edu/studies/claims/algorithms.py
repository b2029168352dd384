"""Measures of algorithms for L1-M3N: counts of non-zero weights, best errors, constants and times.

They read the fits of the study ``l1m3n-algorithms``: ten folds for each algorithm and constant.

*Counts* are those of Table 1 of the paper: a weight counts if it is not zero in some fold.  Counts have
no interval.  The sub-gradient method has two readings, online and in batch.

*Around the best constant* means within a factor of 3 of it, as far as constants were tried.  Between
two constants errors and times are taken to go straight along the logarithm.

*Errors* are compared fold by fold, as all algorithms train and test on the same sequences, and intervals
are those of differences on the same fold.  The best constant of an algorithm is the one with the lowest
mean over the folds, the worst the one with the highest.

*Times* have no interval; they are processor seconds of one fit.  How long a fit takes says little
without how far it came: notes say with which duality gaps the fits ended whose times are compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from medn_edu.studies.claims.rules import (
    NEARBY,
    TITLES,
    Found,
    Row,
    Rows,
    Rule,
    TooLittleError,
    known,
    mean_of,
    measure,
    too_few,
)
from medn_edu.studies.claims.scores import Estimate, Unit, mean_interval, paired
from medn_edu.studies.claims.verdicts import decide

CHAINS, OCR = TITLES
_N_IRRELEVANT = 140  # weights
_Errors = dict[Unit, float]  # of labels, in per cent, by fold


def algorithm_rows(rows: Rows, algorithm: str, data: str) -> list[Row]:
    """Return the means over folds of an algorithm, and its counts, by growing constant."""
    from medn_edu.studies.l1_table import table_1  # which imports all models

    return list(table_1(_fits(rows, algorithm, data)))


def _fits(rows: Rows, algorithm: str, data: str) -> list[dict[str, Any]]:
    """Return the fits of an algorithm that did not fail."""
    return [
        dict(row)
        for row in rows
        if row.get("model") == algorithm and row["data"] == data and not row.get("failure")
    ]


def _lines(rows: Rows, algorithm: str, data: str, what: str) -> list[Row]:
    return known(algorithm_rows(rows, algorithm, data) or None, f"no {what} of {algorithm}.")


# -- counts, on the chains ------------------------------------------------------------------------


@measure("counts as printed")
def _as_printed(rule: Rule, rows: Rows, algorithm: str) -> Found:
    """How far counts are from those of Table 1, on average; mixed if half of them are near."""
    apart = [
        abs(line[kind] - line[f"paper_{kind}"])
        for line in algorithm_rows(rows, algorithm, CHAINS)
        for kind in ("irrelevant", "total")
        if line.get(f"paper_{kind}") is not None
    ]
    apart = known(apart or None, f"no counts of {algorithm}.")
    n_near = sum(distance <= (rule.within or 0.0) for distance in apart)
    status = decide(2 * n_near >= len(apart), n_near == len(apart))
    return Found(float(np.mean(apart)), f"{n_near} of {len(apart)} counts are near", status=status)


@measure("counts in reverse")
def _in_reverse(rule: Rule, rows: Rows, first: str, second: str) -> Found:
    """How far two algorithms' counts are apart, if one's constants go backwards; mixed up to twice."""
    ours, theirs = (algorithm_rows(rows, name, CHAINS) for name in (first, second))
    if not theirs or len(theirs) != len(ours):
        raise TooLittleError("the two algorithms were not run with equally many constants.")
    pairs = zip(theirs, reversed(ours), strict=True)
    apart = float(np.mean([abs(a["irrelevant"] - b["irrelevant"]) for a, b in pairs]))
    within = rule.within or 0.0
    return Found(apart, status=decide(apart <= 2 * within, apart <= within))


@measure("tail of weights")
def _tail(rule: Rule, rows: Rows, algorithm: str) -> Found:
    """The smallest share of irrelevant weights kept; mixed if half of the constants keep as many."""
    lines = _lines(rows, algorithm, CHAINS, "counts")
    shares = np.array([line["irrelevant"] for line in lines]) / _N_IRRELEVANT
    many = shares >= 0.5
    status = decide(bool(many.mean() >= 0.5), bool(many.all()))
    return Found(100 * float(shares.min()), status=status)


@measure("truncation")
def _truncation(rule: Rule, rows: Rows, algorithm: str) -> Found:
    """By how much a count changes without small weights; mixed if the mean change is small enough."""
    changes = [
        1 - line[f"{kind}_not_small"] / line[kind]
        for line in algorithm_rows(rows, algorithm, CHAINS)
        for kind in ("irrelevant", "total")
        if line[kind]
    ]
    changes = known(changes or None, f"no counts of {algorithm}.")
    status = decide(float(np.mean(changes)) <= 0.1, max(changes) <= 0.1)
    return Found(100 * max(changes), status=status)


@measure("irrelevant weights left")
def _left(rule: Rule, rows: Rows, algorithm: str) -> Found:
    """How many irrelevant weights are left where relevant ones are, at best; mixed if at most five."""
    lines = _lines(rows, algorithm, CHAINS, "counts")
    some = [line for line in lines if line["total"] > line["irrelevant"]]
    lines = known(some or None, f"{algorithm} keeps no relevant weight.")
    fewest = min(line["irrelevant"] for line in lines)
    best = min(line["error"] for line in lines)
    clean = [line["error"] for line in lines if not line["irrelevant"]]
    note = (
        f"the error is then {100 * min(clean):.1f} %, at the best constant {100 * best:.1f} %"
        if clean
        else ""
    )
    return Found(float(fewest), note, status=decide(fewest <= 5, fewest == 0))


# -- errors ---------------------------------------------------------------------------------------


@measure("advantage at best")
@measure("difference at best")
def _apart_at_best(rule: Rule, rows: Rows, first: str, second: str) -> Found:
    """By how much the second algorithm errs more, each at its best constant."""
    ours, theirs = (_ends(rows, name, rule.data)[0] for name in (first, second))
    return Found(_difference(ours, theirs, first, second))


@measure("range of errors")
def _range(rule: Rule, rows: Rows, algorithm: str) -> Found:
    """By how much the error rises from the best constant to the worst."""
    return Found(_difference(*_ends(rows, algorithm, rule.data, rule.around_best), algorithm))


@measure("steadiness of errors")
def _steadiness(rule: Rule, rows: Rows, stable: str, sensitive: str) -> Found:
    """By how much one algorithm's error rises less than another's, each of them on the same folds."""
    ours, theirs = (
        _apart(*_ends(rows, name, rule.data, rule.around_best)) for name in (stable, sensitive)
    )
    return Found(_difference(ours, theirs, stable, sensitive))


def _ends(
    rows: Rows, algorithm: str, data: str, around_best: bool = False
) -> tuple[_Errors, _Errors]:
    """Return errors at the constants with the lowest and the highest mean error."""
    # The folds that choose the constants are those that are compared at them, as in the paper, whose
    # Fig. 5 and 6 show test errors against constants.  So the best error is a little too low, the rise
    # to the worst a little too high, and the intervals, which know nothing of the choice, a bit too
    # narrow.
    from medn_edu.studies.l1_table import groups_of  # which imports all models

    by_constant = {
        constant: {("", int(row["fold"])): 100 * row["error"] for row in group}
        for (_, _, constant), group in groups_of(_fits(rows, algorithm, data)).items()
    }
    by_constant = known(by_constant or None, f"no errors of {algorithm}.")
    best = min(by_constant, key=lambda constant: mean_of(by_constant[constant]))
    settings = [*by_constant.values()]
    if around_best:
        folds = sorted(set.intersection(*map(set, settings)))
        table = {c: [errors[fold] for fold in folds] for c, errors in by_constant.items()}
        settings = [dict(zip(folds, line, strict=True)) for line in _near(best, table)]
    return by_constant[best], max(settings, key=mean_of)


def _near(best: float, values: Mapping[float, Sequence[float]]) -> list[list[float]]:
    """Return what belongs to constants near the best one, of lists of values by constant."""
    tried = sorted(values)
    ends = np.clip((best / NEARBY, best * NEARBY), tried[0], tried[-1])
    near = [*ends, *(constant for constant in tried if ends[0] < constant < ends[1])]
    columns = np.transpose([values[constant] for constant in tried])
    found = [np.interp(np.log(near), np.log(tried), column).tolist() for column in columns]
    return [list(line) for line in zip(*found, strict=True)]


def _apart(first: _Errors, second: _Errors) -> _Errors:
    """Return second minus first, over the folds that both have."""
    alone = (0, 0.0)  # there is no other setting
    return paired({alone: first}, {alone: second})[0]


def _difference(first: _Errors, second: _Errors, *names: str) -> Estimate:
    return known(mean_interval(list(_apart(first, second).values())), too_few(*names))


# -- times ----------------------------------------------------------------------------------------


@measure("range of times")
def _range_of_times(rule: Rule, rows: Rows, algorithm: str) -> Found:
    return Found(_longest_over_shortest(rows, algorithm, rule.data, rule.around_best))


@measure("steadiness of times")
def _steadiness_of_times(rule: Rule, rows: Rows, stable: str, sensitive: str) -> Found:
    """How many times as wide one algorithm's range is as another's: the logarithm to base 2."""
    ours, theirs = (
        _longest_over_shortest(rows, name, rule.data, rule.around_best)
        for name in (stable, sensitive)
    )
    return Found(float(np.log2(theirs / ours)), f"{ours:.1f} against {theirs:.1f} times")


@measure("growth with the constant")
def _growth_of_time(rule: Rule, rows: Rows, algorithm: str) -> Found:
    """How many times as long it takes at the largest constant as at the smallest.

    Spearman's correlation with the constant must reach 0.8; mixed if the trend is there but not the
    factor, or the factor but not the trend.
    """
    return _trend(rule, rows, algorithm, 1)


@measure("fall with the constant")
def _fall_of_time(rule: Rule, rows: Rows, algorithm: str) -> Found:
    """The same from the largest constant to the smallest."""
    return _trend(rule, rows, algorithm, -1)


def _trend(rule: Rule, rows: Rows, algorithm: str, way: int) -> Found:
    lines = algorithm_rows(rows, algorithm, rule.data)
    if len(lines) < 2:
        raise TooLittleError(f"no two times of {algorithm}.")
    times = _seconds(lines, algorithm)
    rank = way * float(np.corrcoef(np.argsort(np.argsort(times)), range(len(times)))[0, 1])
    ratio = (times[-1] / times[0]) if way > 0 else (times[0] / times[-1])
    far, steady = ratio >= rule.factor, rank >= 0.8
    return Found(
        ratio, f"rank correlation {rank:+.2f}", status=decide(far or steady, far and steady)
    )


@measure("mean time")
def _mean_time(rule: Rule, rows: Rows, quicker: str, slower: str) -> Found:
    """How many times as long the slower one takes, or as a part of the quicker one's time."""

    def of(algorithm: str) -> tuple[float, float | None]:
        seconds = _seconds(_lines(rows, algorithm, rule.data, "times"), algorithm)
        return float(np.mean(seconds)), _median_gap(_fits(rows, algorithm, rule.data))

    return _times_as_long(rule, of(quicker), of(slower))


@measure("longest time")
def _longest_time(rule: Rule, rows: Rows, quicker: str, slower: str) -> Found:
    """The same of the longest fits, at whatever constant these are."""

    def of(algorithm: str) -> tuple[float, float | None]:
        lines = _lines(rows, algorithm, rule.data, "times")
        seconds = _seconds(lines, algorithm)
        slowest = lines[int(np.argmax(seconds))]["constant"]
        return max(seconds), _median_gap(_at(_fits(rows, algorithm, rule.data), slowest))

    return _times_as_long(rule, of(quicker), of(slower))


def _times_as_long(
    rule: Rule, quick: tuple[float, float | None], slow: tuple[float, float | None]
) -> Found:
    (short, near), (long, far) = quick, slow
    note = f"{short:.2g} s against {long:.2g} s a fit{_gaps_text(near, far)}"
    return Found(long / (short / rule.parts), note)


@measure("growth with the data")
def _growth_with_data(rule: Rule, rows: Rows, worse: str, better: str) -> Found:
    """How many times as much one algorithm's time grows from the synthetic data to OCR100.

    Each algorithm's time on either data set is that at the constant, of those tried, with the lowest
    mean error there.  Cutting planes are best at the largest ``C`` that is tried on OCR100; larger ones
    would take longer, so their growth is rather too small.
    """
    (here, note), (there, other) = (_growth(rows, name) for name in (worse, better))
    return Found(here / there, f"{note}, {other}")


def _longest_over_shortest(
    rows: Rows, algorithm: str, data: str, around_best: bool = False
) -> float:
    lines = _lines(rows, algorithm, data, "times")
    times = _seconds(lines, algorithm)
    if around_best:
        best = min(lines, key=lambda line: line["error"])["constant"]
        by_constant = {row["constant"]: [t] for row, t in zip(lines, times, strict=True)}
        times = [time for [time] in _near(best, by_constant)]
    return max(times) / min(times)


def _seconds(lines: Sequence[Row], algorithm: str) -> list[float]:
    """Return mean times at each constant, if all are known."""
    times = [line["cpu_seconds"] for line in lines]
    if None in times:
        raise TooLittleError(f"no times of {algorithm}.")
    return times


def _growth(rows: Rows, algorithm: str) -> tuple[float, str]:
    """Return how many times as long an algorithm takes on OCR100, and the same in words."""
    seconds, gaps = [], []
    for data in (CHAINS, OCR):
        best = min(_lines(rows, algorithm, data, "times"), key=lambda line: line["error"])
        seconds += _seconds([best], algorithm)
        gaps.append(_median_gap(_at(_fits(rows, algorithm, data), best["constant"])))
    short, long = seconds
    text = f"{algorithm} {short:.2g} s and {long:.2g} s{_gaps_text(*gaps, joint='and')}"
    return long / short, text


def _at(fits: Sequence[dict[str, Any]], constant: float) -> list[dict[str, Any]]:
    """Return the fits with a constant."""
    from medn_edu.studies.l1_table import groups_of  # which imports all models

    groups = groups_of(fits)
    return next(group for (_, _, found), group in groups.items() if found == constant)


def _median_gap(fits: Rows) -> float | None:
    """Return the median relative duality gap that fits end with; None where no gap is known."""
    gaps = [row["relative_gap"] for row in fits if row.get("relative_gap") is not None]
    return float(np.median(gaps)) if gaps else None


def _gaps_text(first: float | None, second: float | None, *, joint: str = "against") -> str:
    if first is None or second is None:
        return ""
    return f" (to median gaps of {_percent(first)} {joint} {_percent(second)})"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
