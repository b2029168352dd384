"""Every theorem of the papers on random instances: it holds, and with a slip it does not."""

import math

import numpy as np

from medn_edu.theory.checks import CHECKS, Check
from medn_edu.theory.checks.check import apart, excess


def test_statements_hold_and_slips_are_found():
    """On other instances than those of seed 0, which the notebook errata judges.

    With a slip far above the tolerance, and above what anybody would take for rounding.
    """
    for check in CHECKS:
        worst, slipped = check.worst(2, seed=1), check.worst(3, seed=1, slip=True)
        said = (
            f"{check.name}: {worst:.2g}, with a slip {slipped:.2g}, tolerance {check.tolerance:g}"
        )
        assert 0 < check.tolerance <= 1e-3, said
        assert 0 <= worst <= check.tolerance, said
        assert math.isfinite(slipped), said
        assert slipped > max(100 * check.tolerance, 1e-3), said


def test_names_follow_the_papers_and_texts_fit_a_line_of_a_table():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    papers = [name.split(" ", 1)[0] for name in names]
    assert papers == sorted(papers, key=["MEDN", "LapM3N", "L1-M3N", "ASP"].index), "paper by paper"
    for check in CHECKS:
        assert 0 < len(check.statement) <= 100, check.name
        assert len(check.name) <= 50, check.name
        for text in (check.name, check.statement, check.sides, check.slip):
            assert text == " ".join(text.split()), check.name
            assert not text.endswith("."), check.name


def test_an_inequality_is_as_tight_as_the_smallest_multiple_that_holds():
    """Numbers up to 0.3 are below 1 with a third of it to spare; an identity has nothing to spare."""

    def instance(rng, slip=False, multiple=1.0):
        return excess(rng.uniform(0.1, 0.3), multiple)

    check = Check("a", "b", "c; d", "e", 1e-12, instance, term="the larger side")
    largest = max(rng.uniform(0.1, 0.3) for rng in np.random.default_rng(3).spawn(20))
    assert largest <= check.tightness(20, seed=3) <= largest + 2**-12
    assert Check("a", "b", "c; d", "e", 1e-12, instance).tightness() is None
    loose = Check("a", "b", "c; d", "e", 1e-12, lambda rng, slip=False, multiple=1.0: 0.0, "all")
    assert 0 < loose.tightness() < 1e-3


def test_the_worst_of_all_instances_counts_and_what_is_not_a_number_holds_nowhere():
    assert math.isnan(apart([1.0, math.nan], [1.0, 1.0]))
    assert math.isnan(excess(math.nan, 1.0))
    check = Check("a", "b", "c; d", "e", 1e-3, lambda rng, slip=False: math.nan)
    assert not check.holds()
    at_random = Check("a", "b", "c; d", "e", 0.5, lambda rng, slip=False: rng.uniform())
    assert not at_random.holds(20)
    rngs = np.random.default_rng(3).spawn(20)
    assert at_random.worst(20, seed=3) == max(rng.uniform() for rng in rngs)
