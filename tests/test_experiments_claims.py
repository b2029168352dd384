"""Claims: what the rules say of planted tables, what the inventory holds, what the ledger writes."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from planted_algorithms import RULES, TABLE

from medn_edu import __version__
from medn_edu.studies.claims import CLAIMS, COMING, PAPERS, SEEN, entries, judge, ledger_text
from medn_edu.studies.claims import algorithm_costs as costs
from medn_edu.studies.claims.averages import true_weights
from medn_edu.studies.claims.claim import Claim, at_optimum
from medn_edu.studies.claims.constants import MoreStable, Overfits, Sensitive, Steady
from medn_edu.studies.claims.errors import Better, Comparable, Falls, LargestGain, Near
from medn_edu.studies.claims.findings import FINDINGS, finding_of
from medn_edu.studies.claims.ledger import details, is_late, load_tables, overview
from medn_edu.studies.claims.legend import UNITS, margins
from medn_edu.studies.claims.rules import AllOf, EitherOf, Untested, model_names
from medn_edu.studies.claims.scores import (
    GENERATOR,
    difference_interval,
    jackknife,
    mean_interval,
    scores_of,
)
from medn_edu.studies.claims.verdicts import (
    FAILS,
    HOLDS,
    MIXED,
    UNTESTED,
    Verdict,
    combine,
    place,
    within,
)
from medn_edu.studies.claims.weights import (
    AllNonZero,
    EqualVariances,
    GroupedVariances,
    LargerWeights,
    MoreLargeWeights,
    SimilarWeights,
    SmallIrrelevant,
    UnlikeTruth,
)
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.selection import read_constants
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.overfitting import rises
from medn_edu.studies.registry import STUDIES

FIGURES = Path(__file__).resolve().parent.parent / "figures"


# ---------------------------------------------------------------------------------------------
# planted tables


def iid(errors, *, relevant=(10, 30, 50), sizes=(30, 50, 150), noise=0.2, seed=0):
    """Rows of synthetic-iid; ``errors[model](relevant, size)`` in per cent."""
    rng = np.random.default_rng(seed)
    rows = []
    for r, size, fold in itertools.product(relevant, sizes, range(10)):
        common = rng.normal(scale=3)  # of this data set: pairing takes it out
        for model, error in errors.items():
            value = error(r, size) + common + noise * rng.standard_normal()
            rows.append({"data": f"iid-{r}-{size}", "fold": fold, "model": model,
                         "error": value / 100, "failure": None, "truth_error": 0.07})  # fmt: skip
    return rows


def flat(value):
    return lambda r, size: value


def ocr(errors, *, noise=0.2, seed=0):
    """Rows of ocr; ``errors[model](size, fold, rng)`` in per cent."""
    rng = np.random.default_rng(seed)
    return [
        {"data": f"ocr-{size}", "fold": fold, "model": model,
         "error": (error(size, fold) + noise * rng.standard_normal()) / 100}
        for size, fold, (model, error) in itertools.product(
            (100, 150, 200, 250), range(10), errors.items())
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------
# rules about errors


@pytest.mark.parametrize(
    ("a", "b", "options", "status"),
    [
        (flat(20), flat(22), {}, HOLDS),
        (flat(20), flat(22), {"consistently": True}, HOLDS),
        (lambda r, size: 20 + 3 * (size == 150), flat(22), {}, HOLDS),
        (lambda r, size: 20 + 3 * (size == 150), flat(22), {"consistently": True}, MIXED),
        (flat(22), flat(20), {}, FAILS),
        (flat(20), flat(23), {"at_least": 2.0}, HOLDS),
        (flat(20), flat(21), {"at_least": 2.0}, FAILS),
        (flat(20), flat(20.5), {"at_most": 1.0}, HOLDS),
        (flat(20), flat(23), {"at_most": 1.0}, FAILS),
        (flat(20), flat(21), {"at_most": 1.0}, MIXED),
        (lambda r, size: 20 + 5 * (r == 10), flat(22), {"relevant": (30, 50)}, HOLDS),
        (lambda r, size: 20 + 5 * (r == 10), flat(22), {"relevant": (10,)}, FAILS),
    ],
)
def test_better(a, b, options, status):
    rows = iid({"M3N": a, "CRF": b})
    assert Better(("M3N",), ("CRF",), **options).decide(rows).status == status


def test_better_where_only_the_mean_says_so():
    rows = iid({"M3N": flat(20), "CRF": flat(20)}, noise=1.0)
    by_unit = {}
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        key = (one["data"].split("-")[1], one["fold"])
        by_unit.setdefault(key, []).append(100 * (other["error"] - one["error"]))
    mean, low, high = mean_interval([np.mean(values) for values in by_unit.values()])
    assert low < 0 < high
    better = ("M3N", "CRF") if mean > 0 else ("CRF", "M3N")
    verdict = Better(better[:1], better[1:]).decide(rows)
    assert verdict.status == MIXED
    assert verdict.effect == pytest.approx(abs(mean))
    assert verdict.interval == pytest.approx(sorted((np.sign(mean) * low, np.sign(mean) * high)))
    assert Better(better[1:], better[:1]).decide(rows).status == MIXED, "the data cannot tell"
    assert "30 units" in verdict.note
    assert "of 9 settings" in verdict.note


def test_of_several_models_all_must_be_better():
    rows = iid({"M3N": flat(20), "CRF": flat(22), "L2-CRF": flat(19)})
    verdict = Better(("M3N",), ("CRF", "L2-CRF")).decide(rows)
    assert verdict.status == FAILS, "one model refutes what is said of several"
    assert verdict.effect == pytest.approx(-1, abs=0.2)
    assert "M3N against CRF: holds" in verdict.note
    assert Better(("CRF",), ("M3N", "L2-CRF")).decide(rows).status == FAILS
    assert Better(("L2-CRF",), ("M3N", "CRF")).decide(rows).effect == pytest.approx(1, abs=0.2)


def test_better_than_the_generating_model():
    rows = iid({"M3N": flat(20)})
    assert Better(("M3N",), (GENERATOR,)).decide(rows).status == FAILS
    assert Near(GENERATOR, 7, 1).decide(rows).status == HOLDS
    assert Near(GENERATOR, 50, 5).decide(rows).status == FAILS
    spread = [{**row, "truth_error": 0.07 + 0.05 * (row["fold"] > 4)} for row in rows]
    assert Near(GENERATOR, 10, 1).decide(spread).status == MIXED


def test_fewer_weights():
    rows = iid({"L1-CRF": flat(20), "L2-CRF": flat(20)})
    for row in rows:
        row["n_weights"] = 200
        row["n_nonzero"] = (50 if row["model"] == "L1-CRF" else 180) + row["fold"]
    assert Better(("L1-CRF",), ("L2-CRF",), quantity="nonzero").decide(rows).status == HOLDS
    assert Better(("L2-CRF",), ("L1-CRF",), quantity="nonzero").decide(rows).status == FAILS


@pytest.mark.parametrize(
    ("a", "status"),
    [
        (flat(20.3), HOLDS),
        (flat(22), FAILS),
        (flat(18), FAILS),
        (flat(21), MIXED),
        (lambda r, size: 20 + 2 * (size == 30) - 2 * (size == 150), MIXED),
    ],
)
def test_comparable(a, status):
    rows = iid({"M3N": a, "CRF": flat(20)})
    assert Comparable(("M3N",), ("CRF",)).decide(rows).status == status


def test_comparable_is_not_what_nobody_can_tell():
    rows = iid({"M3N": flat(20.8), "CRF": flat(20)}, noise=2.5)
    verdict = Comparable(("M3N",), ("CRF",)).decide(rows)
    assert abs(verdict.effect) < 1 < max(map(abs, verdict.interval))
    assert verdict.status == MIXED


@pytest.mark.parametrize(
    ("curve", "status"),
    [
        ({100: 40, 150: 37, 200: 35, 250: 34}, HOLDS),
        ({100: 40, 150: 37, 200: 38, 250: 34}, MIXED),
        ({100: 34, 150: 35, 200: 36, 250: 40}, FAILS),
    ],
)
def test_error_falls(curve, status):
    rows = ocr({"CRF": lambda size, fold: curve[size], "M3N": lambda size, fold: 60 - size / 10})
    assert Falls(("CRF",)).decide(rows).status == status
    assert Falls(("M3N",)).decide(rows).status == HOLDS
    assert Falls(("CRF", "M3N")).decide(rows).status == status, "a steep fall hides no other model"


@pytest.mark.parametrize(
    ("scale", "status"),
    [(lambda size: 300 / size, HOLDS), (lambda size: size / 100, FAILS)],
)
def test_spread_falls(scale, status):
    rows = ocr({"CRF": lambda size, fold: 30 + scale(size) * (fold - 4.5)}, noise=0)
    assert Falls(("CRF",), "spread").decide(rows).status == status


def test_spread_that_grows_in_one_of_two_models():
    rows = ocr({
        "CRF": lambda size, fold: 30 + 600 / size * (fold - 4.5),
        "M3N": lambda size, fold: 30 + size / 200 * (fold - 4.5),
    }, noise=0)  # fmt: skip
    verdict = Falls(("CRF", "M3N"), "spread").decide(rows)
    assert verdict.status == FAILS
    assert "CRF: holds" in verdict.note
    assert "M3N: does not hold here" in verdict.note


def test_largest_gain():
    few = {"L2-CRF": flat(20), "CRF": lambda r, size: 22 + 4 * (size == 30)}
    assert LargestGain(("L2-CRF",), ("CRF",), "few samples").decide(iid(few)).status == HOLDS
    many = {"L2-CRF": flat(20), "CRF": lambda r, size: 22 + 4 * (size == 150)}
    verdict = LargestGain(("L2-CRF",), ("CRF",), "few samples").decide(iid(many))
    assert verdict.status == FAILS
    assert verdict.effect == pytest.approx(-4, abs=0.3)
    sparse = {"LapMEDN": flat(20), "M3N": lambda r, size: 22 + 4 * (r == 10)}
    assert LargestGain(("LapMEDN",), ("M3N",), "few relevant").decide(iid(sparse)).status == HOLDS
    assert LargestGain(("LapMEDN",), ("M3N",), "many relevant").decide(iid(sparse)).status == FAILS
    noisy = iid({"LapMEDN": flat(20), "M3N": flat(22)}, noise=4)
    both = [
        LargestGain(("LapMEDN",), ("M3N",), where).decide(noisy).status
        for where in ("few relevant", "many relevant")
    ]
    assert both == [MIXED, MIXED]
    one = iid(sparse, relevant=(30,))
    assert LargestGain(("LapMEDN",), ("M3N",), "few relevant").decide(one).status == UNTESTED


def constants(ranges, *, fixed="", noise=0.2):
    """Rows of sensitivity: each model's error rises over its constants by so many points."""
    rng = np.random.default_rng(0)
    return [
        {"data": "ocr-100", "fold": fold, "model": model,
         "parameters": f"{fixed}lam={constant:g}".strip(),
         "error": (30 + rise * step / 4 + noise * rng.standard_normal()) / 100}
        for model, rise in ranges.items() for fold in range(10)
        for step, constant in enumerate((0.01, 0.1, 1, 4, 9))
    ]  # fmt: skip


@pytest.mark.parametrize("fixed", ["", "C=1 "])
def test_constants(fixed):
    rows = constants({"L1-CRF": 12, "L2-CRF": 3, "M3N": 8}, fixed=fixed)
    assert Sensitive(("L1-CRF",)).decide(rows).status == HOLDS
    assert Sensitive(("L1-CRF", "L2-CRF")).decide(rows).status == FAILS
    assert Sensitive(("L2-CRF",)).decide(rows).status == FAILS
    verdict = MoreStable(("L2-CRF",), ("L1-CRF",)).decide(rows)
    assert verdict.status == HOLDS
    assert verdict.effect == pytest.approx(9, abs=0.5)
    assert "at 0.01" in verdict.note
    assert "at 9" in verdict.note
    assert MoreStable(("L2-CRF",), ("L1-CRF",), factor=0.5).decide(rows).status == HOLDS
    assert MoreStable(("M3N",), ("L1-CRF",), factor=0.5).decide(rows).status == FAILS
    assert MoreStable(("L2-CRF", "M3N"), ("L1-CRF",), factor=0.5).decide(rows).status == FAILS


def curves(ends, *, parameters="", losses=(0.55, 0.4)):
    """Rows of ocr-overfitting: down to 30 %, then up to the end; no mark is reached after that.

    At the marks of the likelihood itself errors are ``losses``.
    """
    rng = np.random.default_rng(0)
    rows = []
    for model, fold in itertools.product(ends, range(10)):
        errors = np.array([0.6, 0.4, 0.3, ends[model]]) + 0.002 * rng.standard_normal(4)
        text = " ".join(f"{error:.5g}" for error in [*errors, np.nan, np.nan])
        row = {"model": model, "fold": fold, "parameters": parameters, "error": errors[-1]}
        other = " ".join([*map(str, losses), "nan"])
        rows.append({**row, "change_errors": text, "loss_errors": other})
    return rows


def test_overfitting():
    rows = curves({"CRF": 0.36, "L1-CRF": 0.302, "L2-CRF": 0.30})
    assert Overfits(("CRF",)).decide(rows).status == HOLDS
    assert Overfits(("L1-CRF",)).decide(rows).status == FAILS
    assert Overfits(("CRF", "L1-CRF")).decide(rows).status == FAILS
    assert Overfits(("CRF",)).decide(rows).effect == pytest.approx(6, abs=0.3)
    assert Steady(("L2-CRF",)).decide(rows).status == HOLDS
    assert Steady(("CRF",)).decide(rows).status == FAILS
    assert Overfits(("M3N",)).decide(rows).status == UNTESTED
    nothing = [{**row, "change_errors": "nan nan", "loss_errors": "nan"} for row in rows]
    assert Overfits(("CRF",)).decide(nothing).status == UNTESTED


def test_the_best_moment_is_that_over_marks_of_both_kinds():
    rows = curves({"CRF": 0.303}, losses=(0.40, 0.25))
    assert Overfits(("CRF",)).decide(rows).effect == pytest.approx(5.3, abs=0.3)
    assert Overfits(("CRF",)).decide(rows).status == HOLDS
    assert Overfits(("CRF",), columns=("change_errors",)).decide(rows).status == FAILS
    assert Steady(("CRF",)).decide(rows).status == FAILS
    text = Overfits(("CRF",)).text()
    assert "marks of the likelihood's relative change or of the likelihood itself" in text
    lone = [{**row, "loss_errors": "0.4 nan nan"} if row["fold"] == 3 else row for row in rows]
    assert Overfits(("CRF",)).decide(lone).status == FAILS, "a mark that one fold has not reached"


def test_over_fitting_is_that_of_the_studys_table(published):
    rows = published["ocr-overfitting"]
    for line in rises(rows):
        here = [r for r in rows if r["model"] == line["model"]
                and dict(read_constants(r["parameters"])).get("lam") == line["lam"]]  # fmt: skip
        effect = Overfits((line["model"],)).decide(here).effect
        assert effect == pytest.approx(100 * line["rise"], abs=1e-9)


def test_overfitting_counts_each_constant():
    rows = [
        *curves({"L1-CRF": 0.36}, parameters="lam=0.0001"),
        *curves({"L1-CRF": 0.30}, parameters="lam=1"),
    ]
    verdict = Overfits(("L1-CRF",)).decide(rows)
    assert verdict.status == FAILS
    assert "lam=0.0001: holds" in verdict.note


RULES_ON_ERRORS = [
    Better(("A",), ("B",)), Comparable(("A",), ("B",)), Falls(("A", "B")), Falls(("A",), "spread"),
    LargestGain(("A",), ("B",), "few samples"), Near("A", 50, 5), Sensitive(("A",)),
    MoreStable(("A",), ("B",)), Overfits(("A",)), Steady(("A",)),
    AllOf((Better(("A",), ("B",)), Near("A", 50, 5))), Untested("nobody asks."),
    EitherOf((Better(("A",), ("B",)), Near("A", 50, 5))),
    SmallIrrelevant(("A",)), LargerWeights(("A",), ("B",), "all"), MoreLargeWeights(("A",), ("B",)),
    SimilarWeights(("A",), ("B",)), AllNonZero(("A",)), UnlikeTruth(("A",)), GroupedVariances("A"),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES_ON_ERRORS, ids=lambda rule: type(rule).__name__)
def test_without_rows_or_with_too_few_nothing_is_tested(rule):
    two = [
        {"data": data, "fold": fold, "model": model, "error": 0.1 * fold, "parameters": "lam=1"}
        for data in ("iid-10-30", "iid-10-50")
        for fold in range(2)
        for model in "AB"
    ]
    two += [{**row, "parameters": "lam=2"} for row in two]
    for rows in ([], two):
        verdict = rule.decide(rows)
        assert verdict.status == UNTESTED
        assert verdict.note
        assert verdict.numbers == ""
    assert rule.text()


def test_failed_fits_and_the_choosing_data_set_do_not_count():
    rows = [
        {"data": f"correlated-10-{number}", "fold": fold, "model": "CRF", "error": 0.1 * fold}
        for number in range(11)
        for fold in (0, 1)
    ]
    rows.append(
        {"data": "correlated-10-0", "fold": 2, "model": "CRF", "error": 0.9, "failure": "E"}
    )
    [(setting, units)] = scores_of(rows)["CRF"].items()
    assert setting == (0, 100.0)
    assert list(units) == [(0, number) for number in range(10)]
    assert list(units.values()) == pytest.approx([5.0] * 10)


# ---------------------------------------------------------------------------------------------
# intervals


def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        _, low, high = mean_interval(rng.standard_normal(10))
        inside += low < 0 < high
    assert 0.92 < inside / 400 < 0.98
    a, b = rng.standard_normal(8), rng.standard_normal(12) + 1
    moments = [(x.mean(), x.std(ddof=1), len(x)) for x in (a, b)]
    from scipy import stats

    expected = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert difference_interval(*moments)[1:] == pytest.approx((expected.low, expected.high))
    assert difference_interval((1, 0, 5), (2, 0, 5)) == (1, 1, 1)
    assert difference_interval((1, 0.1, 2), (2, 0.1, 5)) is None
    assert jackknife(lambda kept: 0.0, 2) is None


def test_parts_combine():
    def status(*parts):
        return combine([Verdict(part, 1.0) for part in parts], ["x"] * len(parts)).status

    assert status(HOLDS, HOLDS) == HOLDS
    assert status(HOLDS, MIXED) == status(MIXED, MIXED) == MIXED
    assert status(HOLDS, FAILS) == status(MIXED, FAILS) == status(FAILS, FAILS) == FAILS
    assert status(HOLDS, UNTESTED) == UNTESTED
    worst = combine([Verdict(HOLDS, 3.0, slack=3.0), Verdict(HOLDS, 2.0, slack=2.0)], ["a", "b"])
    assert worst.effect == 2.0
    worst = combine([Verdict(FAILS, -3.0), Verdict(MIXED, 2.0), Verdict(HOLDS, 9.0)], ["a"] * 3)
    assert worst.effect == -3.0


def test_readings_of_a_sentence():
    rows = constants({"L1-CRF": 12, "L2-CRF": 3, "M3N": 8, "CRF": 3})

    def either(*models):
        return EitherOf(tuple(MoreStable((name,), ("L1-CRF",), factor=0.5) for name in models))

    assert either("L2-CRF", "CRF").decide(rows).status == HOLDS
    assert either("L2-CRF", "M3N").decide(rows).status == MIXED, "the paper may mean either"
    assert either("M3N").decide(rows).status == FAILS
    assert either("L2-CRF", "LapMEDN").decide(rows).status == UNTESTED
    assert "or else" in either("L2-CRF", "M3N").text()


@pytest.mark.parametrize(
    ("mean", "status"), [(2.0, HOLDS), (0.01, MIXED), (-0.01, MIXED), (-2.0, FAILS)]
)
def test_only_an_interval_that_excludes_the_claim_refutes_it(mean, status):
    assert place((mean - 1, mean + 1), above=0.0) == status
    assert place((-mean - 1, -mean + 1), at_most=0.0) == status
    assert within((4 - mean, 6 - mean), 1.0, 4.0) == status
    assert within((-4 + mean, -2 + mean), 1.0, 4.0) == status


# ---------------------------------------------------------------------------------------------
# rules about weights


def shown(planted, *, variances=None, noise=0.01, parts=10):
    """Rows of the data set whose weights are kept: ``planted[model]``, (2, 100), plus noise."""
    rng = np.random.default_rng(0)
    rows = []
    for fold, (model, weights) in itertools.product(range(parts), planted.items()):
        noisy = np.where(weights == 0, 0, weights + noise * rng.standard_normal(weights.shape))
        row = {"data": "correlated-10-0", "fold": fold, "model": model, "seed": 0}
        row["weights"] = " ".join(f"{value:.5g}" for value in noisy.ravel())
        if variances is not None:
            drawn = np.exp(np.log(variances) + 0.05 * rng.standard_normal(100))
            row["variances"] = " ".join(f"{value:.5g}" for value in drawn)
        rows.append(row)
    return rows


def weights_of(relevant, irrelevant, seed=0):
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], (2, 100))
    sizes = np.where(np.arange(100) < 30, relevant, irrelevant)
    return signs * sizes * rng.uniform(0.8, 1.2, (2, 100))


def test_weights():
    rows = shown({
        "sparse": weights_of(1, 0), "small": weights_of(0.5, 0.01), "large": weights_of(2, 0.5),
        "other": weights_of(1, 0.5, seed=1),
    })  # fmt: skip
    assert SmallIrrelevant(("sparse", "small")).decide(rows).status == HOLDS
    assert SmallIrrelevant(("large",)).decide(rows).status == FAILS
    assert SmallIrrelevant(("sparse", "large")).decide(rows).status == FAILS
    larger = LargerWeights(("large",), ("small",), "irrelevant")
    assert larger.decide(rows).status == HOLDS
    assert larger.decide(rows).effect == pytest.approx(np.log2(50), abs=0.4)
    assert LargerWeights(("small",), ("large",), "relevant").decide(rows).status == FAILS
    assert LargerWeights(("large",), ("small",), "all", factor=8.0).decide(rows).status == FAILS
    assert MoreLargeWeights(("large",), ("small",)).decide(rows).status == HOLDS
    assert MoreLargeWeights(("small",), ("large",)).decide(rows).status == FAILS
    assert SimilarWeights(("small",), ("large", "sparse")).decide(rows).status == HOLDS
    assert SimilarWeights(("small",), ("other",)).decide(rows).status == FAILS
    assert AllNonZero(("small", "large")).decide(rows).status == HOLDS
    assert AllNonZero(("small", "sparse")).decide(rows).status == FAILS
    assert AllNonZero(("sparse",), yes=False).decide(rows).status == HOLDS
    assert AllNonZero(("small",), yes=False).decide(rows).status == FAILS
    few = np.where(np.arange(100) < 1, 0, weights_of(1, 1))
    assert AllNonZero(("few",), yes=False).decide(shown({"few": few})).status == MIXED


def test_no_model_is_compared_with_itself():
    rows = shown({"a": weights_of(2, 1), "b": weights_of(1, 1)})
    alone = LargerWeights(("a",), ("b",), "all").decide(rows)
    assert alone.status == HOLDS
    assert LargerWeights(("a",), ("a", "b"), "all").decide(rows) == alone


def test_unsure_weights_are_mixed():
    rows = shown({"a": weights_of(1, 0.09)}, noise=0.12, parts=3)
    verdict = SmallIrrelevant(("a",), at_most=12).decide(rows)
    assert verdict.effect < 12 < verdict.interval[1]
    assert verdict.status == MIXED


def test_unlike_the_truth():
    truth = true_weights()
    rng = np.random.default_rng(0)
    learned = truth - truth.mean(axis=0)  # what perfect learning gives: contrasts, and no more
    groups = learned[:, :30].reshape(2, 10, 3)
    learned[:, :30] = np.repeat(groups.mean(axis=2), 3, axis=1)
    noise = np.array([-1, 1])[:, None] * rng.standard_normal(100) / 4
    near = np.linalg.norm(learned - truth) / np.linalg.norm(truth)
    assert near > 0.5, "far from the truth only in what no data can tell"
    rows = shown({
        "perfect": learned, "small": 0.01 * learned, "same": truth, "far": -truth,
        "noise": noise, "noisy": learned + noise,
    })  # fmt: skip
    for name in ("perfect", "same"):
        verdict = UnlikeTruth((name,)).decide(rows)
        assert verdict.status == FAILS
        assert verdict.effect < 5
        assert "by 1.00" in verdict.note
    assert UnlikeTruth(("small",)).decide(shown({"small": 0.1 * learned}, noise=1e-3)).effect < 5
    assert UnlikeTruth(("far",)).decide(rows).status == HOLDS
    assert UnlikeTruth(("far",)).decide(rows).effect == pytest.approx(100)
    assert "by -1.00" in UnlikeTruth(("far",)).decide(rows).note
    assert UnlikeTruth(("noise",)).decide(rows).status == HOLDS
    assert 20 < UnlikeTruth(("noisy",)).decide(rows).effect < 100
    assert UnlikeTruth(("far", "perfect")).decide(rows).status == FAILS
    unsure = shown({"unsure": learned}, noise=1.5, parts=4)
    assert UnlikeTruth(("unsure",)).decide(unsure).status == MIXED


def test_true_weights_are_those_of_the_study(monkeypatch):
    made = splits.make_chain_crf

    def few(**options):
        return made(**{**options, "n_samples": 1, "sampler": "exact"})

    monkeypatch.setattr(splits, "make_chain_crf", few)
    splits.correlated_chains.cache_clear()
    try:
        assert np.array_equal(true_weights(3), splits.correlated_chains(3).coef)
    finally:
        splits.correlated_chains.cache_clear()


def test_variances_in_groups():
    rng = np.random.default_rng(0)
    groups = np.exp(np.repeat(rng.standard_normal(10), 3))
    alone = np.exp(rng.standard_normal(70))
    rows = shown({"A": weights_of(1, 1)}, variances=np.concatenate([groups, alone]))
    assert GroupedVariances("A").decide(rows).status == HOLDS
    assert GroupedVariances("A", irrelevant=True).decide(rows).status == HOLDS
    mixed = np.concatenate(
        [np.tile(np.exp([-1.0, 0, 1]), 10), np.exp(np.repeat(range(24), 3))[:70]]
    )
    rows = shown({"A": weights_of(1, 1)}, variances=mixed)
    assert GroupedVariances("A").decide(rows).status == FAILS
    assert GroupedVariances("A", irrelevant=True).decide(rows).status == FAILS
    everywhere = np.exp(np.repeat(rng.standard_normal(34), 3))[:100]
    rows = shown({"A": weights_of(1, 1)}, variances=everywhere)
    assert GroupedVariances("A").decide(rows).status in (MIXED, FAILS), "others agree as much"


# ---------------------------------------------------------------------------------------------
# every rule can say everything


def pair(first, second, noise=0.2):
    return iid({"M3N": flat(first), "CRF": flat(second)}, noise=noise)


def sizes_of(*errors):
    return ocr({"M3N": lambda size, fold: errors[size // 50 - 2]})


def spreads_of(*scales, noise=0):
    return ocr({"M3N": lambda size, fold: 30 + scales[size // 50 - 2] * (fold - 4.5)}, noise=noise)


def advantage(at_30, at_150, noise=0.2):
    errors = {"M3N": flat(20), "CRF": lambda r, n: 20 + at_30 * (n == 30) + at_150 * (n == 150)}
    return iid(errors, noise=noise)


def ends_of(end, noise):
    """Rows of ocr-overfitting, where folds differ much or little in how far the error rises."""
    rows = curves({"CRF": end})
    for row in rows:
        *before, last = row["change_errors"].split()[:4]
        changed = float(last) + noise * (row["fold"] % 2 - 0.5)
        row["change_errors"], row["error"] = " ".join([*before, f"{changed:.5g}"]), changed
    return rows


def noisy(weights, noise, parts=4):
    return shown({"A": weights}, noise=noise, parts=parts)


def variances_of(within, between):
    """Rows with variances that differ within groups of three, and between them."""
    rng = np.random.default_rng(1)
    groups = np.repeat(rng.standard_normal(34), 3)[:100] * between
    return np.exp(groups + within * rng.standard_normal(100))


def some_groups(relevant, others):
    variances = np.concatenate([variances_of(*relevant)[:30], variances_of(*others)[30:]])
    return shown({"A": weights_of(1, 1)}, variances=variances)


def uneven(between, parts=4):
    """Rows whose parts do not agree on the variances at all."""
    rng = np.random.default_rng(2)
    rows = shown({"A": weights_of(1, 1)}, variances=variances_of(1.0, between), parts=parts)
    for row in rows:
        row["variances"] = " ".join(f"{v:.5g}" for v in np.exp(rng.standard_normal(100) * 3))
    return rows


def opposite(factor):
    """Rows whose two functions of feature 7 have means in a ratio, all others opposite ones."""
    mean = np.random.default_rng(3).standard_normal(100)
    other = np.where(np.arange(100) == 7, factor, 1.0) * -mean
    return shown({"A": np.stack([mean, other])}, variances=np.ones(100), noise=0)


SPARSE, DENSE = weights_of(1, 0.01), weights_of(1, 1)
A_AND_B = {"A": weights_of(1, 1), "B": weights_of(1, 1)}
ONE_ZERO = np.where(np.arange(100) < 1, 0, DENSE)

# a rule, and rows of which it says that the claim holds, that it is mixed, that it does not hold
PLANTED = [
    (Better(("M3N",), ("CRF",)),
     (pair(20, 22), pair(20, 20.1, noise=3), pair(22, 20))),
    (Better(("M3N",), ("CRF",), at_most=1.0),
     (pair(20, 20.5), pair(20, 21, noise=1), pair(20, 22))),
    (Comparable(("M3N",), ("CRF",)),
     (pair(20, 20.3), pair(20, 21, noise=1), pair(20, 22))),
    (Falls(("M3N",)),
     (sizes_of(40, 38, 36, 34), sizes_of(40, 38, 39, 34), sizes_of(34, 35, 36, 37))),
    (Falls(("M3N",), "spread"),
     (spreads_of(4, 3, 2, 1), spreads_of(1, 1, 1, 1, noise=2), spreads_of(1, 2, 3, 4))),
    (LargestGain(("M3N",), ("CRF",), "few samples"),
     (advantage(4, 1), advantage(1, 1, noise=3), advantage(1, 4))),
    (Near("M3N", 20, 3),
     (pair(20, 20), pair(23, 20), pair(30, 20))),
    (Sensitive(("M3N",)),
     (constants({"M3N": 12}), constants({"M3N": 5}, noise=1), constants({"M3N": 2}))),
    (MoreStable(("M3N",), ("CRF",)),
     (constants({"M3N": 3, "CRF": 9}), constants({"M3N": 5, "CRF": 5}, noise=1),
      constants({"M3N": 9, "CRF": 3}))),
    (Overfits(("CRF",)),
     (ends_of(0.36, 0), ends_of(0.31, 0.06), ends_of(0.30, 0))),
    (Steady(("CRF",)),
     (ends_of(0.30, 0), ends_of(0.31, 0.06), ends_of(0.36, 0))),
    (AllOf((Better(("M3N",), ("CRF",)), Near("M3N", 20, 3))),
     (pair(20, 22), pair(23, 25), pair(22, 20))),
    (EitherOf((Better(("M3N",), ("CRF",)), Near("M3N", 20, 3))),
     (pair(20, 22), pair(20, 18), pair(30, 20))),
    (SmallIrrelevant(("A",)),
     (noisy(SPARSE, 0.01), noisy(weights_of(1, 0.09), 0.12, 3), noisy(DENSE, 0.01))),
    (LargerWeights(("A",), ("B",), "all"),
     (shown({"A": 2 * DENSE, "B": DENSE}), shown(A_AND_B, noise=1),
      shown({"A": DENSE, "B": 2 * DENSE}))),
    (MoreLargeWeights(("A",), ("B",)),
     (shown({"A": DENSE, "B": SPARSE}), shown({"A": SPARSE, "B": SPARSE}, noise=0.3),
      shown({"A": SPARSE, "B": DENSE}))),
    (SimilarWeights(("A",), ("B",)),
     (shown(A_AND_B), shown(A_AND_B, noise=0.8, parts=4),
      shown({"A": DENSE, "B": weights_of(1, 1, seed=1)}))),
    (AllNonZero(("A",), yes=False),
     (noisy(np.where(np.arange(100) < 50, 0, DENSE), 0.01), noisy(ONE_ZERO, 0.01), noisy(DENSE, 0.01))),
    (AllNonZero(("A",)), (noisy(DENSE, 0.01), None, noisy(ONE_ZERO, 0.01))),
    (EqualVariances(("A",)),
     (opposite(1.0), None, opposite(0.999))),
    (UnlikeTruth(("A",)),
     (noisy(-true_weights(), 0.01), noisy(true_weights(), 2.0), noisy(true_weights(), 0.01))),
    (GroupedVariances("A"),
     (some_groups((0.1, 1), (1, 0)), uneven(1.0), some_groups((1, 0), (0.1, 1)))),
    (GroupedVariances("A", irrelevant=True),
     (some_groups((0.1, 1), (1, 0)), uneven(1.0, parts=3), some_groups((1, 0), (0.1, 1)))),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "planted"), PLANTED, ids=lambda value: type(value).__name__)
def test_rule_says_each_of_three_things(rule, planted):
    found = [rule.decide(rows).status if rows else MIXED for rows in planted]
    assert found == [HOLDS, MIXED, FAILS]


def test_every_rule_in_use_is_planted():
    rules = [rule for claim in CLAIMS.values() for _, rule in claim.parts]
    used = {type(part) for rule in rules for part in parts_of(rule)} - {Untested}
    # where there is no interval, the estimate decides
    without_interval = {costs.TimeRange, costs.Quicker, costs.ScalesWorse, costs.Takes}
    planted = {type(rule): {HOLDS, MIXED, FAILS} for rule, _ in PLANTED}
    for rule, status in RULES:
        planted.setdefault(type(rule), set()).add(status)
    for kind in used:
        expected = {HOLDS, FAILS} if kind in without_interval else {HOLDS, MIXED, FAILS}
        assert planted[kind] == expected, kind


def parts_of(rule):
    return [rule, *(part for inner in getattr(rule, "rules", ()) for part in parts_of(inner))]


# ---------------------------------------------------------------------------------------------
# the inventory


def test_inventory():
    ids = [claim.id for claim in CLAIMS.values()]
    assert list(CLAIMS) == ids
    assert len(set(ids)) == len(ids) > 90
    texts = Counter((claim.paper, claim.section, claim.text) for claim in CLAIMS.values())
    assert max(texts.values()) == 1
    assert {claim.paper for claim in CLAIMS.values()} == set(PAPERS)
    sections = {(claim.paper, claim.section) for claim in CLAIMS.values()}
    assert sections == {
        ("medn", "7"), ("medn", "7.1.1"), ("medn", "7.1.2"), ("medn", "7.2"), ("medn", "7.3"),
        ("medn", "7.4"), ("medn", "9"), ("lapm3n", "6.1.1"), ("lapm3n", "6.1.2"), ("lapm3n", "6.2"),
        ("lapm3n", "6.3"), ("lapm3n", "7"), ("l1m3n", "5.1"), ("l1m3n", "5.2"),
        ("l1m3n", "5.3.1"), ("l1m3n", "5.3.2"), ("l1m3n", "5.4"), ("l1m3n", "6"), ("asp", "5"),
    }  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_claim_is_about_what_its_study_has(claim):
    for name, rule in claim.parts:
        assert name in {*STUDIES, *COMING}
        if name in COMING:
            assert isinstance(rule, Untested)
            continue
        study, optimum = STUDIES[name], at_optimum(rule, name)
        names = set(model_names(rule)) | set(model_names(optimum))
        assert names <= set(study.fit.models), "models that the study does not train"
        assert columns_of(rule) <= {"key", *study.row_columns, "failure"}


def columns_of(rule):
    if isinstance(rule, AllOf | EitherOf):
        return set().union(*map(columns_of, rule.rules))
    if isinstance(rule, Overfits | Steady):
        return {*rule.columns, "error"}
    if isinstance(rule, Sensitive | MoreStable):
        return {"parameters", "error"}
    if isinstance(rule, GroupedVariances | EqualVariances):
        return {"variances", "weights"}
    if type(rule).__module__ == SmallIrrelevant.__module__:
        return {"weights"}
    if GENERATOR in repr(rule):
        return {"truth_error", "error"}
    return {"n_nonzero", "n_weights"} if getattr(rule, "quantity", "") == "nonzero" else {"error"}


def test_rules_at_the_optimum():
    rule = AllOf(
        (Better(("LapMEDN sub-gradient",), ("M3N sub-gradient", "CRF")), Near("CRF", 1, 1))
    )
    correlated = at_optimum(rule, "synthetic-correlated")
    assert correlated.rules == (Better(("LapMEDN",), ("M3N", "CRF")), rule.rules[1])
    same = Better(("LapMEDN at its optimum",), ("M3N at its optimum", "CRF"))
    assert at_optimum(rule, "ocr").rules == (same, rule.rules[1])
    names = ("L1-M3N EM", "L1-M3N online sub-gradient")
    either = EitherOf(tuple(MoreStable((name,), ("L1-CRF",)) for name in names))
    assert at_optimum(either, "sensitivity").rules == (MoreStable(("L1-M3N",), ("L1-CRF",)),)


def test_the_note_tells_of_the_optimum():
    claim = Claim("medn-7-z", "text", "synthetic-iid", Better(("LapMEDN variational",), ("M3N",)))
    rows = iid({"LapMEDN variational": flat(20), "LapMEDN": flat(24), "M3N": flat(22)})
    verdict = judge(claim, {"synthetic-iid": rows})
    assert verdict.status == HOLDS
    assert f"trained to the optimum (LapMEDN with chosen constants): {FAILS}, -1.9" in verdict.note
    without = [row for row in rows if row["model"] != "LapMEDN"]
    assert "optimum" not in judge(claim, {"synthetic-iid": without}).note
    assert judge(claim, {}).status == UNTESTED


def test_the_note_tells_whether_constants_differ():
    early = ("LapMEDN sub-gradient", "M3N sub-gradient", "L1-M3N EM")
    exact = ("LapMEDN at its optimum", "M3N at its optimum", "L1-M3N")
    rows = ocr({
        name: lambda size, fold, k=k: 20 + 2 * k for k, name in enumerate([*early, *exact])
    })  # fmt: skip

    def note(*models):
        rule = Better(models[:1], models[1:])
        return judge(Claim("medn-7-z", "text", "ocr", rule), {"ocr": rows}).note

    assert "; trained to the optimum: holds, " in note(*early[:2])
    assert "; trained to the optimum (L1-M3N with chosen constants): holds, " in note(*early)


# ---------------------------------------------------------------------------------------------
# the ledger


def test_ledger():
    found = entries({"l1m3n-algorithms": TABLE})
    text = ledger_text(found, datetime.date(2030, 1, 2))
    for claim_id, claim in CLAIMS.items():
        assert f"| {claim_id} | {claim.text} |" in text
    counts = Counter(entry.verdict.status for entry in found)
    assert f"{len(CLAIMS)} claims: {counts[HOLDS]} holds, {counts[MIXED]} mixed" in text
    assert f"medn_edu {__version__}, 2030-01-02." in text
    assert "{" not in text
    for paper in PAPERS.values():
        assert f"## {paper}" in text
    for entry in found:
        assert ("l1m3n-algorithms*" in row_of(text, entry)) == is_late(entry.claim)
        if entry.verdict.status in (MIXED, FAILS):
            assert f"- **{entry.claim.id}**, {entry.verdict.status}: " in text
    assert "medn-7.2-a" in overview(found)


def test_a_claim_of_several_studies_must_hold_in_each():
    claim = Claim("medn-7-z", "text", "synthetic-iid", Better(("M3N",), ("CRF",)),
                  also=(("ocr", Better(("L2-CRF",), ("CRF",))),))  # fmt: skip
    assert claim.rule_text == (
        "in synthetic-iid: M3N errs less than CRF; and in ocr: L2-CRF errs less than CRF"
    )

    def status(here, there):
        tables = {"synthetic-iid": iid({"M3N": flat(here), "CRF": flat(22)})}
        levels = {"L2-CRF": lambda size, fold: there, "CRF": lambda size, fold: 22}
        return judge(claim, {**tables, "ocr": ocr(levels)})

    assert status(20, 20).status == HOLDS
    assert status(20, 24).status == status(24, 20).status == FAILS
    assert f"synthetic-iid: {HOLDS}, +2" in status(20, 24).note
    only = {"synthetic-iid": iid({"M3N": flat(20), "CRF": flat(22)})}
    assert judge(claim, only).status == UNTESTED
    assert "no table of ocr" in judge(claim, only).note


def test_conclusions_on_synthetic_data_are_about_both_kinds():
    both = {"synthetic-iid", "synthetic-correlated"}
    for name in ("l1m3n-6-b", "l1m3n-6-d", "medn-9-a"):
        assert set(CLAIMS[name].studies) == both
    [entry] = entries({}, ["l1m3n-6-b"], {"synthetic-correlated": "3 of 5 fits"})
    assert entry.study == "synthetic-iid; synthetic-correlated, 3 of 5 fits"


def test_ledger_tells_rules_units_margins_and_what_was_changed():
    found = entries({})
    text = ledger_text(found)
    for entry in found:
        claim = entry.claim
        if not isinstance(claim.rule, Untested):
            assert row_of(text, entry).endswith(f"| {claim.rule_text} |")
        assert ("†" in row_of(text, entry)) == bool(claim.amended)
    words = " ".join(text.split())
    for name, meaning in {**UNITS, **margins(CLAIMS)}.items():
        assert f"- {name}: {meaning}" in words
    changed = words.partition("## Changed after the tables were seen")[2]
    for claim in CLAIMS.values():
        assert (f"**{claim.id}**" in changed) == bool(claim.amended)
        assert claim.amended in changed
        assert claim.caveat in words
    assert CLAIMS["lapm3n-6.1.2-a"].caveat.startswith("the paper draws its ten data sets from one")
    assert not CLAIMS["lapm3n-6.1.2-f"].caveat, "nothing tests it"
    assert "Changed after" not in ledger_text(entries({}, ["asp-5-a"]))


@pytest.fixture(scope="module")
def published():
    """The published tables, not to be changed by a test."""
    return load_tables()


@pytest.fixture(scope="module")
def judged(published):
    """All claims, judged by the published tables."""
    return entries(published)


def test_every_unit_is_explained(judged):
    shown_units = {entry.verdict.unit for entry in judged} - {""}
    assert shown_units <= set(UNITS)


def row_of(text, entry):
    return next(line for line in text.splitlines() if line.startswith(f"| {entry.claim.id} |"))


def test_published_ledger_is_that_of_the_published_tables(judged):
    """Where it is not: medn-edu claims --write figures/claims.md."""
    text = (FIGURES / "claims.md").read_text(encoding="utf-8")
    for entry in judged:
        assert f"| {entry.verdict.status} | {entry.verdict.numbers or '–'} |" in row_of(text, entry)


def test_details():
    [entry] = entries({"l1m3n-algorithms": TABLE}, ["medn-7.2-d"])
    text = details(entry)
    for part in (
        "MEDN (Zhu",
        "section 7.2",
        "verdict",
        "0.01 hours",
        "fixed when the table was there",
    ):
        assert part in " ".join(text.split())


def test_published_tables_and_findings(published, judged):
    tables = published
    assert set(SEEN) <= set(tables)
    for claim_id in FINDINGS:
        assert CLAIMS[claim_id].study in STUDIES
        if CLAIMS[claim_id].study in tables:
            finding = finding_of(claim_id, tables)
            assert finding.endswith(".")
            assert "{" not in finding
            assert "nan" not in finding
    assert finding_of("medn-7-a", tables) == ""
    late = [entry for entry in judged if entry.claim.study in SEEN]
    assert any(entry.finding for entry in late)
    assert all(bool(entry.finding) <= (entry.verdict.status in (MIXED, FAILS)) for entry in late), (
        "what holds needs no reason"
    )


# a time that does not depend on the constant does not do so backwards either
SYMMETRIC = {"l1m3n-5.3.2-b", "l1m3n-5.3.2-d", "l1m3n-5.3.2-u"}


def test_findings_are_silent_where_tables_say_something_else(published):
    tables = published
    assert tables["l1m3n-algorithms"]
    shown_now = {claim_id for claim_id in FINDINGS if finding_of(claim_id, tables)}
    reversed_times = [
        {**row, "cpu_seconds": 100 / row["cpu_seconds"], "error": 0.9 - row["error"]}
        for row in tables["l1m3n-algorithms"]
    ]
    other = {"l1m3n-algorithms": reversed_times}
    still = {claim_id for claim_id in shown_now if finding_of(claim_id, other)}
    assert {claim_id for claim_id in still if "5.3.1" not in claim_id} <= SYMMETRIC
    assert len(shown_now) > len(still)


def test_findings_on_the_generating_model():
    chance = [{"truth_error": 0.5, "truth_sequences": 0.99}]
    assert finding_of("medn-7.1.2-q", {"synthetic-correlated": chance}) == ""
    assert finding_of("medn-7.1.2-r", {"synthetic-correlated": chance}) == ""
    rows = [{"truth_error": 0.07, "truth_sequences": 0.43}, {"truth_error": None}]
    finding = finding_of("medn-7.1.2-q", {"synthetic-correlated": rows})
    assert "7.0 % of labels" in finding
    assert "43.0 % of sequences" in finding


def test_numbers():
    assert Verdict(HOLDS, 2e11, (-1.0, 150.0), "points").numbers == "+2e+11 [-1.00, +150] points"
    assert Verdict(HOLDS, 0.15, unit="hours").numbers == "0.15 hours"


def test_results_of_ones_own(tmp_path):
    folder = tmp_path / "synthetic-iid-paper"
    folder.mkdir()
    rows = iid({"LapMEDN variational": flat(20), "M3N": flat(22)})
    for number, row in enumerate(rows):
        row["key"] = f"{number:04}"
    (folder / "results.csv").write_text(csv_text(rows, rows[0]))
    (folder / "timings.csv").write_text(
        csv_text([{"key": "0000", "seconds": 2}], ["key", "seconds"])
    )
    tables = load_tables(tmp_path)
    assert list(tables) == ["synthetic-iid"]
    assert tables["synthetic-iid"][0]["seconds"] == 2
    [entry] = entries(tables, ["medn-7.1.1-a"])
    assert entry.verdict.status == HOLDS
    for damage in ("a,b\n1\n", "model\nM3N\n", "key,error\n0000,abc\n"):
        (folder / "results.csv").write_text(damage)
        with pytest.raises(ValueError, match=r"results\.csv is damaged: line \d"):
            load_tables(tmp_path)
