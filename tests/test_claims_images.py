"""Claims about noisy images: what rules read off the fits of ``epsilon`` and ``denoising``."""

import numpy as np
import pytest

from medn_edu.studies.claims.rules import rule_of
from medn_edu.studies.claims.verdicts import FAILS, HOLDS, MIXED, NOT_RUN
from medn_edu.studies.denoising import DENOISING
from medn_edu.studies.epsilon import EPSILON, TEMPERATURES

UNITS = 6
SURE, UNSURE = np.linspace(-0.01, 0.01, UNITS), np.linspace(-1, 1, UNITS)


def rule(measure, data="cup", **fields):
    """A rule, as it is read from an entry."""
    return rule_of({"measure": measure, "data": data, **fields})


def fits(model, spread=SURE, *, data="cup", **columns):
    """One fit per draw; numbers vary over draws, by a share of themselves."""
    rows = []
    for fold, part in enumerate(spread):
        row = {"data": data, "fold": fold, "model": model, "n_test": 10, "n_pixels": 1000}
        varied = {k: v * (1 + part) if isinstance(v, float) else v for k, v in columns.items()}
        rows.append({**row, "n_wrong": round(1000 * varied.get("error", 0)), **varied})
    return rows


def seconds(seconds, model="A", spread=SURE, passes=1):
    """Times of so many passes."""
    return fits(model, spread, cpu_seconds=seconds, n_passes=passes)


def pair(first, second, spread=SURE):
    """Errors of A, which are certain, and of B."""
    return [*fits("A", error=first), *fits("B", spread, error=second)]


def colder(wrong, spread=SURE):
    """Wrong pixels of "epsilon = 0.5" at all temperatures; elsewhere they vary over draws."""
    own = wrong[TEMPERATURES.index(0.5)]
    return [
        {**row, "wrong_at": " ".join(f"{own + (w - own) * (1 + part):g}" for w in wrong)}
        for row, part in zip(fits("epsilon = 0.5", error=0.01), spread, strict=True)
    ]


BETTER = rule("wrong pixels", better="A", worse="B")
TENTH = rule("wrong pixels", better="A", worse="B", factor=10)
FEW = rule("share of wrong pixels", models="A", at_most=5)
OVER = rule("over-fit of pixels", models="A", at_most=1)
COLDER = rule("errors when colder", models="epsilon = 0.5", at_most=1)
WARMER = rule("errors when warmer", models="epsilon = 0.5")
OPEN = rule("gap left", models="A", above=0.1)
SMALLER = rule("smaller gap", smaller="A", larger="B")
LONGER = rule("training time", longer="B", shorter="A", at_most=1)
QUICK = rule("seconds of training", models="A", at_most=60)
PASS = rule("time of a pass", longer="B", shorter="A")
MANY = rule("number of weights", model="A", at_least=100)
MEET = rule("iterations to meet", models="A", at_most=3)
GAPS = {"relative_gap": 1e-3}
TRACE = {"primals": "20 12 10.05 10", "duals": "-50 9 10 10"}
RULES = [
    (BETTER, pair(0.05, 0.10), HOLDS),
    (BETTER, pair(0.09, 0.10, UNSURE), MIXED),
    (BETTER, pair(0.10, 0.05), FAILS),
    (TENTH, pair(0.004, 0.05), HOLDS),
    (TENTH, pair(0.006, 0.05), FAILS),
    (FEW, fits("A", error=0.04), HOLDS),
    (FEW, fits("A", UNSURE, error=0.05), MIXED),
    (FEW, fits("A", error=0.06), FAILS),
    (OVER, fits("A", error=0.02, train_error=0.015), HOLDS),
    (OVER, fits("A", UNSURE, error=0.02, train_error=0.01), MIXED),
    (OVER, fits("A", error=0.04, train_error=0.0), FAILS),
    (COLDER, colder((50, 20, 22, 28)), HOLDS),
    (COLDER, colder((50, 20, 22, 28), 3 * UNSURE), MIXED),
    (COLDER, colder((50, 20, 20, 20)), FAILS),
    (WARMER, colder((50, 20, 22, 28)), HOLDS),
    (WARMER, colder((50, 20, 22, 28), 2 * UNSURE), MIXED),
    (WARMER, colder((10, 20, 22, 28)), FAILS),
    (OPEN, fits("A", gap=1.0), HOLDS),
    (OPEN, fits("A", UNSURE, gap=0.1), MIXED),
    (OPEN, fits("A", gap=0.01), FAILS),
    (SMALLER, [*fits("A", gap=0.1), *fits("B", gap=0.2)], HOLDS),
    (SMALLER, [*fits("A", gap=0.1), *fits("B", 0.9 * UNSURE, gap=0.15)], MIXED),
    (SMALLER, [*fits("A", gap=0.2), *fits("B", gap=0.1)], FAILS),
    (LONGER, [*fits("A", cpu_seconds=1.0), *fits("B", cpu_seconds=1.5)], HOLDS),
    (LONGER, [*fits("A", cpu_seconds=1.0), *fits("B", 0.9 * UNSURE, cpu_seconds=1.0)], MIXED),
    (LONGER, [*fits("A", cpu_seconds=1.0), *fits("B", cpu_seconds=3.0)], FAILS),
    (QUICK, fits("A", cpu_seconds=5.0, **GAPS), HOLDS),
    (QUICK, fits("A", UNSURE, cpu_seconds=60.0, **GAPS), MIXED),
    (QUICK, fits("A", cpu_seconds=90.0, **GAPS), FAILS),
    (PASS, seconds(2.0, passes=4) + seconds(2.0, "B", passes=2), HOLDS),
    (PASS, seconds(1.0, passes=4) + seconds(1.0, "B", 0.9 * UNSURE, passes=4), MIXED),
    (PASS, seconds(1.0, passes=4) + seconds(2.0, "B", passes=16), FAILS),
    (MANY, fits("A", n_weights=280), HOLDS),
    (MANY, fits("A", n_weights=65), FAILS),
    (MEET, fits("A", **TRACE), HOLDS),
    (MEET, fits("A", **{**TRACE, "duals": "-50 9 9 9"}), FAILS),
]  # fmt: skip


def test_rules_say_what_is_planted():
    for some, rows, status in RULES:
        assert some.decide(rows).status == status, some


def test_wrong_pixels_are_counted():
    verdict = BETTER.decide(pair(0.05, 0.10))
    assert verdict.effect == pytest.approx(5)
    assert verdict.note == "6 units; 300 against 600 wrong pixels"
    assert LONGER.decide(seconds(1.0) + seconds(2.0, "B")).effect == 1
    assert PASS.decide(seconds(1.0, passes=4) + seconds(2.0, "B", passes=2)).effect == 2


def test_only_copies_of_one_image_with_a_centre_count():
    bimodal = rule("share of wrong pixels", "bimodal", models="A", at_most=5)
    good = [row for name in "bcd" for row in fits("A", data=f"bimodal-{name}", error=0.01)]
    for other in ("bimodal-new-32", "bimodal-b-raw", "gaussian-b"):
        rows = [*good, *fits("A", data=other, error=0.5)]
        assert bimodal.decide(rows).effect == pytest.approx(1, abs=0.01)


def test_without_numbers_nothing_is_tested():
    timeless = [{**row, "cpu_seconds": None} for row in fits("A")]
    failed = [{**row, "failure": "ValueError: no."} for row in fits("A", error=0.01)]
    for some, rows in ((QUICK, timeless), (FEW, failed), (FEW, fits("A", error=0.01)[:2])):
        verdict = some.decide(rows)
        assert (verdict.status, verdict.numbers) == (NOT_RUN, "")
        assert verdict.note


@pytest.mark.parametrize(
    ("name", "most", "kept"),
    [("Fig. 1, epsilon = 0", 1e-3, 0.9), ("in turn, epsilon = 0", 0.05, 0.5)],
)
def test_where_epsilon_is_0_three_times_as_many_passes_change_little(name, most, kept):
    """As a caveat says of the algorithm of Fig. 1, whose end the paper does not tell."""
    [spec] = (s for s in EPSILON.fits("paper", 0) if (s.model, s.fold) == (name, 0))
    data, build = EPSILON.fit.split(spec), EPSILON.fit.models[name].build
    early, late = (
        build(**dict(spec.parameters), max_iter=n).fit(data.X_train, data.y_train).result_
        for n in (300, 900)
    )
    assert late.n_passes == 3 * early.n_passes
    assert early.primal - late.primal < most * early.primal
    assert late.gap > kept * early.gap


def test_rules_find_the_columns_that_studies_measure():
    assert {"gap", "wrong_at", "n_wrong", "n_pixels"} <= set(EPSILON.fit.measured)
    assert {"primals", "duals", "n_wrong", "n_pixels"} <= set(DENOISING.fit.measured)
