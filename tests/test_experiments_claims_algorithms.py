"""Claims about the algorithms for L1-M3N: what rules read off raw fits, fold by fold."""

import numpy as np
import pytest
from planted_algorithms import (
    EM,
    FOLDS,
    ONLINE,
    PLANES,
    RULES,
    TABLE,
    alike,
    best,
    fits,
    quicker,
    rule,
    scales_worse,
    spans,
    steadier,
)

from medn_edu.studies.claims.scores import mean_interval
from medn_edu.studies.claims.verdicts import HOLDS, UNTESTED
from medn_edu.studies.kit.gallery import PUBLISHED
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.l1_algorithms import L1_STUDY
from medn_edu.studies.l1_table import CHAINS, OCR, table_1


def test_rules():
    """Published columns are enough; a summary tests nothing."""
    columns = (*PUBLISHED, *L1_STUDY.fit.measured, "seconds", "cpu_seconds")
    published = read_csv(csv_text(TABLE, columns))
    summary = table_1(TABLE)
    for some, status in RULES:
        verdict = some.decide(TABLE)
        assert verdict.status == status, some
        assert some.decide(published).numbers == verdict.numbers
        assert some.decide([]).status == some.decide(summary).status == UNTESTED
        assert some.text()


# -- errors, fold by fold -------------------------------------------------------------------------


PAIRED = [
    best(CHAINS, EM, ONLINE),
    alike(CHAINS, EM, ONLINE, 1),
    spans(CHAINS, PLANES, above=5),
    steadier(CHAINS, EM, PLANES),
]


def chains(shared=0.0):
    return [
        *fits(PLANES, (0.20, 0.08, 0.075), (1, 1, 1), shared=shared),
        *fits(EM, (0.073, 0.075, 0.078), (1, 1, 1), shared=shared),
        *fits(ONLINE, (0.15, 0.08, 0.076), (1, 1, 1), shared=shared),
    ]


@pytest.mark.parametrize("some", PAIRED, ids=lambda some: some.measure)
def test_hard_folds_are_hard_for_all(some):
    """What a fold errs more whatever the algorithm widens no interval of a difference."""
    alike, apart = (some.decide(chains(shared)) for shared in (0.0, 0.02))
    assert (apart.effect, *apart.interval) == pytest.approx((alike.effect, *alike.interval))


def test_folds_are_paired_by_their_numbers():
    some, rows = best(CHAINS, EM, ONLINE), chains(0.02)
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    assert some.decide(shuffled) == some.decide(rows)
    backwards = [
        {**row, "fold": FOLDS - 1 - row["fold"]} if row["model"] == EM else row for row in rows
    ]
    verdict, wide = some.decide(rows), some.decide(backwards)
    assert wide.effect == pytest.approx(verdict.effect)
    assert np.diff(wide.interval) > 5 * np.diff(verdict.interval)


def errors_at(rows, algorithm, constant):
    return np.array([
        100 * row["error"]
        for row in rows
        if row["model"] == algorithm and row["parameters"].endswith(f"={constant:g}")
    ])  # fmt: skip


def test_intervals_are_students_of_differences_at_the_best_constants():
    rows = chains()
    em, online = errors_at(rows, EM, 504), errors_at(rows, ONLINE, 0.75)
    planes, worst = errors_at(rows, PLANES, 0.0075), errors_at(rows, PLANES, 0.0025)
    em_worst = errors_at(rows, EM, 1960)
    for some, values in {
        best(CHAINS, EM, ONLINE): online - em,
        rule("best error", algorithm=PLANES, data=CHAINS, near=7, within=1): planes,
        spans(CHAINS, PLANES, above=5): worst - planes,
        steadier(CHAINS, EM, PLANES): (worst - planes) - (em_worst - em),
    }.items():
        assert len(values) == FOLDS
        verdict, expected = some.decide(rows), mean_interval(values)
        assert (verdict.effect, *verdict.interval) == pytest.approx(expected)


def test_the_best_constant_is_that_of_the_mean():
    """Not that of the luckiest fold."""
    rows = chains()
    lucky = next(r for r in rows if r["model"] == ONLINE and r["parameters"] == "radius=0.25")
    lucky["error"] = 0.0
    some = best(CHAINS, EM, ONLINE)
    assert some.decide(rows) == some.decide(chains())


def test_only_folds_that_both_have_are_compared():
    rows = [r for r in chains() if not (r["model"] == EM and r["fold"] in (0, 3))]
    online, em = (errors_at(chains(), name, c) for name, c in ((ONLINE, 0.75), (EM, 504)))
    expected = mean_interval(np.delete(online - em, [0, 3]))
    verdict = best(CHAINS, EM, ONLINE).decide(rows)
    assert (verdict.effect, *verdict.interval) == pytest.approx(expected)
    failed = [
        {**r, "error": None, "failure": "no"} if r["model"] == EM and r["fold"] in (0, 3) else r
        for r in chains()
    ]
    assert best(CHAINS, EM, ONLINE).decide(failed) == verdict


def test_two_folds_are_too_few():
    for some in PAIRED:
        verdict = some.decide([row for row in chains() if row["fold"] < 2])
        assert verdict.status == UNTESTED
        assert "fewer than three" in verdict.note


# -- times ----------------------------------------------------------------------------------------


def test_without_times_counts_are_judged_and_times_are_not():
    rows = [{**row, "cpu_seconds": None} for row in TABLE]
    assert rule("tail of weights", algorithm=ONLINE).decide(rows).status == HOLDS
    for some in (
        quicker(CHAINS, EM, PLANES),
        scales_worse(ONLINE, PLANES),
        rule("hours", algorithm=PLANES, data=CHAINS, at_least=1),
        rule("range of times", algorithm=EM, data=CHAINS, at_most=2),
    ):
        verdict = some.decide(rows)
        assert (verdict.status, verdict.note[:8]) == (UNTESTED, "no times")


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
