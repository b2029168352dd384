"""Claims about the algorithms for L1-M3N: what rules read off raw fits, fold by fold."""

import zlib

import numpy as np
import pytest

from medn_edu.studies.claims.rules import rule_of
from medn_edu.studies.claims.scores import mean_interval
from medn_edu.studies.claims.verdicts import FAILS, HOLDS, MIXED, NOT_RUN
from medn_edu.studies.kit.gallery import PUBLISHED
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.l1_table import ALGORITHMS, CHAINS, OCR, mask_of, table_1
from medn_edu.studies.l1m3n_algorithms import L1_STUDY


def rule(measure, **fields):
    """A rule, as it is read from an entry."""
    return rule_of({"measure": measure, **fields})


FOLDS = 10
DEVIATION = 0.005  # of errors over folds
PLANES, ONLINE, EM, PATH = "cutting plane", "online sub-gradient", "EM", "path"


def mask(irrelevant, total):
    """A cell of weights that are not zero: so many irrelevant ones, and so many in all."""
    flags = np.zeros((2, 100), dtype=bool)
    flags[:, :30] = (np.arange(60) < total - irrelevant).reshape(2, 30)
    flags[:, 30:] = (np.arange(140) < irrelevant).reshape(2, 70)
    return mask_of(flags.ravel())


def deviations(algorithm, data, number):
    """What each fold errs more or less than the mean, in units of their standard deviation."""
    values = np.random.default_rng(zlib.crc32(f"{algorithm} {data} {number}".encode()))
    drawn = values.standard_normal(FOLDS)
    return (drawn - drawn.mean()) / drawn.std(ddof=1)


def fits(
    algorithm, errors, seconds, *, data=CHAINS, counts=None, not_small=None, gap=0.01, shared=0.0
):
    """Ten fits at each of the first constants, with known mean errors and times.

    ``shared`` is what one fold errs more than the one before, whatever the algorithm.
    """
    known = ALGORITHMS[algorithm]
    counts = [(0, 0)] * len(errors) if counts is None else counts
    not_small = counts if not_small is None else not_small
    return [
        {
            "data": data, "fold": fold, "model": algorithm,
            "parameters": f"{known.parameter}={known.constants[data][k]:g}",
            "chosen": None, "n_train": 100, "n_test": 900,
            "error": error + DEVIATION * away + shared * (fold - (FOLDS - 1) / 2),
            "relative_gap": gap, "l1_norm": 1.0,
            "nonzero": mask(*counts[k]) if data == CHAINS else None,
            "not_small": mask(*not_small[k]) if data == CHAINS else None,
            "seconds": time, "cpu_seconds": time * (0.5 + fold / (FOLDS - 1)),
        }
        for k, (error, time) in enumerate(zip(errors, seconds, strict=True))
        for fold, away in enumerate(deviations(algorithm, data, k))
    ]  # fmt: skip


TABLE = [
    *fits(PLANES, (0.20, 0.08, 0.075), (1, 5, 20), counts=[(0, 10), (0, 24), (4, 30)]),
    *fits(EM, (0.073, 0.075, 0.078), (1, 1.2, 1.1), gap=0.5,
          counts=[(138, 196), (100, 190), (120, 160)]),
    *fits(ONLINE, (0.15, 0.08, 0.076), (4, 2, 1), gap=0.98,
          counts=[(100, 150), (90, 140), (75, 120)], not_small=[(60, 100), (90, 140), (75, 120)]),
    *fits(PATH, (0.1, 0.1, 0.1), (1, 1, 1), counts=[(100, 160), (100, 160), (3, 63)],
          not_small=[(80, 140), (100, 160), (3, 63)]),
    *(row
      for name, errors, gap in ((EM, (0.40, 0.38), 0.5), (ONLINE, (0.36, 0.33), 0.98),
                                (PLANES, (0.50, 0.47), 0.01))
      for row in fits(name, errors, (1, 2), data=OCR, gap=gap)),
]  # fmt: skip


def best(data, better, worse, **fields):
    return rule("advantage at best", better=better, worse=worse, data=data, **fields)


def alike(data, first, second, within):
    return rule("difference at best", first=first, second=second, data=data, within=within)


def spans(data, *algorithms, **bound):
    return rule("range of errors", algorithms=algorithms, data=data, **bound)


def steadier(data, stable, sensitive, of="errors"):
    return rule(f"steadiness of {of}", stable=stable, sensitive=sensitive, data=data)


def quicker(data, quick, slow, of="mean", **fields):
    return rule(f"{of} time", quicker=quick, slower=slow, data=data, **fields)


def scales_worse(worse, better, at_least=10):
    return rule("growth with the data", worse=worse, better=better, at_least=at_least)


RULES = [
    *((rule("counts as printed", algorithm=name, within=10), status)
      for name, status in ((PLANES, HOLDS), (EM, MIXED), (ONLINE, FAILS))),
    *((rule("counts in reverse", first=EM, second=PLANES, within=within), status)
      for within, status in ((120, HOLDS), (60, MIXED), (15, FAILS))),
    *((rule("tail of weights", algorithm=name), status)
      for name, status in ((ONLINE, HOLDS), (PATH, MIXED), (PLANES, FAILS))),
    *((rule("truncation", algorithm=name), status)
      for name, status in ((PLANES, HOLDS), (PATH, MIXED), (ONLINE, FAILS))),
    *((rule("irrelevant weights left", algorithms=name), status)
      for name, status in ((PLANES, HOLDS), (PATH, MIXED), (ONLINE, FAILS))),
    (best(CHAINS, EM, ONLINE), MIXED),
    (best(OCR, ONLINE, EM), HOLDS),
    (best(OCR, EM, ONLINE), FAILS),
    (best(OCR, ONLINE, EM, at_most=1), FAILS),
    (alike(CHAINS, EM, (ONLINE, PLANES), 1), HOLDS),
    (alike(CHAINS, EM, ONLINE, 0.1), MIXED),
    (alike(OCR, EM, ONLINE, 1), FAILS),
    (spans(CHAINS, PLANES, ONLINE, above=5), HOLDS),
    (spans(CHAINS, EM, PLANES, above=5), FAILS),
    (spans(CHAINS, EM, at_most=0.5), MIXED),
    (steadier(CHAINS, EM, (PLANES, ONLINE)), HOLDS),
    (steadier(CHAINS, PLANES, EM), FAILS),
    (steadier(OCR, PLANES, ONLINE), MIXED),
    (steadier(CHAINS, EM, (PLANES, ONLINE), "times"), HOLDS),
    (steadier(CHAINS, ONLINE, (EM, PLANES), "times"), FAILS),
    (rule("range of times", algorithm=ONLINE, data=CHAINS, above=2), HOLDS),
    (rule("range of times", algorithm=EM, data=CHAINS, above=2), FAILS),
    (rule("growth with the constant", algorithm=PLANES, data=CHAINS, factor=10), HOLDS),
    (rule("growth with the constant", algorithm=PLANES, data=CHAINS, factor=100), MIXED),
    (rule("growth with the constant", algorithm=ONLINE, data=CHAINS, factor=2), FAILS),
    (rule("fall with the constant", algorithm=PLANES, data=CHAINS, factor=2), FAILS),
    (rule("fall with the constant", algorithm=ONLINE, data=CHAINS, factor=5), MIXED),
    (rule("fall with the constant", algorithm=ONLINE, data=CHAINS, factor=2), HOLDS),
    (quicker(CHAINS, EM, (PLANES, ONLINE)), HOLDS),
    (quicker(CHAINS, PLANES, EM), FAILS),
    (quicker(CHAINS, PLANES, EM, parts=20), HOLDS),
    (quicker(CHAINS, EM, PLANES, "longest", above=10), HOLDS),
    (quicker(CHAINS, EM, PLANES, "longest", above=20), FAILS),
    (scales_worse(ONLINE, PLANES), HOLDS),
    (scales_worse(ONLINE, PLANES, 30), FAILS),
]  # fmt: skip


def test_rules():
    """Published columns are enough; a summary tests nothing."""
    columns = (*PUBLISHED, *L1_STUDY.fit.measured, "seconds", "cpu_seconds")
    published = read_csv(csv_text(TABLE, columns))
    summary = table_1(TABLE)
    for some, status in RULES:
        verdict = some.decide(TABLE)
        assert verdict.status == status, some
        assert some.decide(published).numbers == verdict.numbers
        assert some.decide([]).status == some.decide(summary).status == NOT_RUN
        assert some.text()


def chains(shared=0.0):
    return [
        *fits(PLANES, (0.20, 0.08, 0.075), (1, 1, 1), shared=shared),
        *fits(EM, (0.073, 0.075, 0.078), (1, 1, 1), shared=shared),
        *fits(ONLINE, (0.15, 0.08, 0.076), (1, 1, 1), shared=shared),
    ]


def errors_at(rows, algorithm, constant):
    at = f"={constant:g}"
    some = [r for r in rows if r["model"] == algorithm and r["parameters"].endswith(at)]
    return np.array([100 * row["error"] for row in some])


def test_intervals_are_students_of_differences_on_the_same_folds_at_the_best_constants():
    rows = chains(shared=0.02)  # a fold that is hard for all widens no interval of a difference
    lucky = next(r for r in rows if r["model"] == ONLINE and r["parameters"] == "radius=0.25")
    lucky["error"] = 0.0  # the best constant is that of the mean
    em, online = errors_at(rows, EM, 504), errors_at(rows, ONLINE, 0.75)
    planes, worst = errors_at(rows, PLANES, 0.0075), errors_at(rows, PLANES, 0.0025)
    em_worst = errors_at(rows, EM, 1960)
    measured = {
        best(CHAINS, EM, ONLINE): online - em,
        alike(CHAINS, EM, ONLINE, 1): online - em,
        spans(CHAINS, PLANES, above=5): worst - planes,
        steadier(CHAINS, EM, PLANES): (worst - planes) - (em_worst - em),
    }
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    for some, values in measured.items():
        assert len(values) == FOLDS
        verdict = some.decide(shuffled)
        assert (verdict.effect, *verdict.interval) == pytest.approx(mean_interval(values)[:3])
        verdict = some.decide([row for row in rows if row["fold"] < 2])
        assert verdict.status == NOT_RUN
        assert "fewer than three" in verdict.note


def test_around_the_best_constant_only_a_factor_of_3_counts():
    """Between two constants errors and times go straight along the logarithm."""
    rows = fits(
        ONLINE, (0.5, 0.4, 0.3, 0.2, 0.3), (1, 2, 4, 8, 16), data=OCR
    )  # 20, 50, 100, 200, 400
    low, high = (errors_at(rows, ONLINE, radius) for radius in (50, 100))
    share = np.log(200 / 3 / 50) / np.log(100 / 50)
    values = (1 - share) * low + share * high - errors_at(rows, ONLINE, 200)
    verdict = spans(OCR, ONLINE, around_best=True, above=5).decide(rows)
    assert (verdict.effect, *verdict.interval) == pytest.approx(mean_interval(values)[:3])
    assert (
        ", within a factor of 3 of the best, "
        in spans(OCR, ONLINE, around_best=True, above=5).text()
    )
    times = rule("range of times", algorithm=ONLINE, data=OCR, around_best=True, above=5).decide(
        rows
    )
    assert times.effect == pytest.approx(16 / (2 * (1 - share) + 4 * share))
    lucky = fits(EM, (0.2, 0.3), (1, 1), data=OCR)  # 30 and 100: none was tried below
    steady = rule("steadiness of errors", stable=EM, sensitive=ONLINE, data=OCR, around_best=True)
    expected = values - np.log(3) / np.log(100 / 30) * (
        errors_at(lucky, EM, 100) - errors_at(lucky, EM, 30)
    )
    found = steady.decide(rows + lucky)
    assert (found.effect, *found.interval) == pytest.approx(mean_interval(expected)[:3])
    missing = [row for row in rows if (row["fold"], row["parameters"]) != (0, "radius=20")]
    found = spans(OCR, ONLINE, around_best=True, above=5).decide(missing)
    assert found.effect == pytest.approx(values[1:].mean()), "folds that all constants have"
    steady = rule("steadiness of times", stable=EM, sensitive=ONLINE, data=OCR, around_best=True)
    assert steady.decide(rows + lucky).effect == pytest.approx(np.log2(times.effect))


def test_only_folds_that_both_have_are_compared():
    rows = chains()
    online, em = errors_at(rows, ONLINE, 0.75), errors_at(rows, EM, 504)
    for row in rows:
        if row["model"] == EM and row["fold"] in (0, 3):
            row["error"], row["failure"] = None, "no"
    verdict = best(CHAINS, EM, ONLINE).decide(rows)
    expected = mean_interval(np.delete(online - em, [0, 3]))[:3]
    assert (verdict.effect, *verdict.interval) == pytest.approx(expected)
    assert best(CHAINS, EM, ONLINE).decide([r for r in rows if not r.get("failure")]) == verdict


def test_without_times_counts_are_judged_and_times_are_not():
    rows = [{**row, "cpu_seconds": None} for row in TABLE]
    assert rule("tail of weights", algorithm=ONLINE).decide(rows).status == HOLDS
    for some in (
        quicker(CHAINS, EM, PLANES),
        scales_worse(ONLINE, PLANES),
        rule("range of times", algorithm=EM, data=CHAINS, at_most=2),
    ):
        verdict = some.decide(rows)
        assert (verdict.status, verdict.note[:8]) == (NOT_RUN, "no times")


def test_notes_say_how_far_the_fits_came():
    """At the longest fits the gaps of these alone, at mean times those of all."""
    rows = [
        *fits(ONLINE, (0.3, 0.2), (2, 1), data=OCR, gap=0.25),
        *fits(ONLINE, (0.3, 0.2, 0.1), (2, 1, 3), data=OCR, gap=1.0)[2 * FOLDS :],
        *fits(PLANES, (0.6, 0.5), (10, 50), data=OCR, gap=0.002),
    ]
    longest = quicker(OCR, ONLINE, PLANES, "longest", above=10).decide(rows)
    assert longest.note == "3 s against 50 s a fit (to median gaps of 100 % against 0.2 %)"
    mean = quicker(OCR, ONLINE, PLANES, above=10).decide(rows)
    assert mean.note == "2 s against 30 s a fit (to median gaps of 25 % against 0.2 %)"
    unknown = [{**row, "relative_gap": None} for row in rows]
    quiet = quicker(OCR, ONLINE, PLANES, above=10).decide(unknown)
    assert quiet.note == "2 s against 30 s a fit"
