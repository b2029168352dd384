"""Claims: what the rules say of planted tables, how entries are read, what the ledger writes."""

import datetime
import itertools
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from test_claims_algorithms import RULES, TABLE, rule

from medn_edu import __version__
from medn_edu.studies.claims import (
    CLAIMS,
    COMING,
    PAPERS,
    SEEN,
    Claim,
    ClaimError,
    Verdict,
    entries,
    judge,
    ledger_text,
)
from medn_edu.studies.claims.claim import (
    MARGINS,
    NAMES,
    UNITS,
    at_optimum,
    check_studies,
    read_claims,
    read_text,
    read_toml,
)
from medn_edu.studies.claims.ledger import is_late, load_tables, overview
from medn_edu.studies.claims.rules import (
    MEASURES,
    AllOf,
    EitherOf,
    RuleError,
    Untested,
    measure,
    rule_of,
)
from medn_edu.studies.claims.scores import (
    GENERATOR,
    difference_interval,
    jackknife,
    mean_interval,
    scores_of,
)
from medn_edu.studies.claims.verdicts import FAILS, HOLDS, MIXED, UNTESTED, combine, place
from medn_edu.studies.claims.weights import true_weights
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.summary import read_constants
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.overfitting import rises

FIGURES = Path(__file__).resolve().parent.parent / "figures"


# -- rules, in short ------------------------------------------------------------------------------


def short(measure, *roles, **fixed):
    """A function that makes rules of a measure from names, which are as many as there are roles."""
    return lambda *names, **fields: rule(
        measure, **dict(zip(roles, names, strict=True)), **{**fixed, **fields}
    )


better = short("error", "better", "worse")
comparable = short("difference of errors", "first", "second", within=1)
falls = short("fall of errors", "models")
spread_falls = short("fall of spread", "models")
near = short("error rate", "model", "near", "within")
gain = short("gain", "better", "worse", "where")
sensitive = short("rise over constants", "models", above=5)
steadier = short("steadiness over constants", "stable", "sensitive")
overfits = short("rise along training", "models", above=1)
steady = short("rise along training", "models", at_most=1)
small = short("irrelevant weights", "models", at_most=10)
larger = short("size of weights", "larger", "smaller", "part")
more_large = short("large weights", "more", "fewer", share=0.1)
similar = short("likeness of weights", "first", "second", above=0.9)
unlike = short("distance from the truth", "models", above=50)
no_zero = short("no zero weight", "models")
zeros = short("zero weights", "models")
IN_GROUPS = rule("variances in groups", model="A")
IN_THREES = rule("variances of irrelevant threes", model="A", at_most=0.5)


def either(*models):
    """One of several readings of a sentence."""
    return EitherOf(tuple(steadier(name, "L1-CRF", factor=0.5) for name in models))


# -- planted tables -------------------------------------------------------------------------------


def iid(errors, *, relevant=(10, 30, 50), sizes=(30, 50, 150), noise=0.2, seed=0):
    """Rows of synthetic-iid; ``errors[model](relevant, size)`` in per cent, or a number."""
    rng = np.random.default_rng(seed)
    rows = []
    for r, size, fold in itertools.product(relevant, sizes, range(10)):
        common = rng.normal(scale=3)  # of this data set: pairing takes it out
        for model, error in errors.items():
            level = error(r, size) if callable(error) else error
            value = level + common + noise * rng.standard_normal()
            rows.append({"data": f"iid-{r}-{size}", "fold": fold, "model": model,
                         "error": value / 100, "failure": None, "truth_error": 0.07})  # fmt: skip
    return rows


def ocr(errors, *, noise=0.2, seed=0):
    """Rows of ocr; ``errors[model](size, fold)`` in per cent, or a number."""
    rng = np.random.default_rng(seed)
    return [
        {"data": f"ocr-{size}", "fold": fold, "model": model,
         "error": ((error(size, fold) if callable(error) else error)
                   + noise * rng.standard_normal()) / 100}
        for size, fold, (model, error) in itertools.product(
            (100, 150, 200, 250), range(10), errors.items())
    ]  # fmt: skip


def pair(first, second, noise=0.2):
    return iid({"M3N": first, "CRF": second}, noise=noise)


def sizes_of(*errors):
    return ocr(
        {"M3N": lambda size, fold: errors[size // 50 - 2], "CRF": lambda size, fold: 60 - size / 10}
    )


def spreads_of(*scales, noise=0):
    return ocr({"M3N": lambda size, fold: 30 + scales[size // 50 - 2] * (fold - 4.5)}, noise=noise)


def advantage(at_30, at_150, noise=0.2):
    return pair(20, lambda r, n: 20 + at_30 * (n == 30) + at_150 * (n == 150), noise)


def sparse_gain(at_10, noise=0.2, **options):
    return iid({"M3N": 20, "CRF": lambda r, n: 22 + at_10 * (r == 10)}, noise=noise, **options)


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


def ends_of(end, noise):
    """Rows of ocr-overfitting, where folds differ much or little in how far the error rises."""
    rows = curves({"CRF": end})
    for row in rows:
        *before, last = row["change_errors"].split()[:4]
        changed = float(last) + noise * (row["fold"] % 2 - 0.5)
        row["change_errors"], row["error"] = " ".join([*before, f"{changed:.5g}"]), changed
    return rows


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


def noisy(weights, noise, parts=4):
    return shown({"A": weights}, noise=noise, parts=parts)


def variances_of(within, between):
    """Variances that differ within groups of three, and between them."""
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


def learned():
    """What perfect learning gives: contrasts, and no more."""
    truth = true_weights()
    learned = truth - truth.mean(axis=0)
    groups = learned[:, :30].reshape(2, 10, 3)
    learned[:, :30] = np.repeat(groups.mean(axis=2), 3, axis=1)
    return learned


SPARSE, DENSE = weights_of(1, 0.01), weights_of(1, 1)
A_AND_B = {"A": DENSE, "B": DENSE}
ONE_ZERO = np.where(np.arange(100) < 1, 0, DENSE)
HALF_ZERO = np.where(np.arange(100) < 50, 0, DENSE)


# -- every rule can say everything ----------------------------------------------------------------

# a rule, and rows of which it says that the claim holds, that it is mixed, that it does not hold
PLANTED = [
    (better("M3N", "CRF"),
     (pair(20, 22), pair(20, 20.1, noise=3), pair(22, 20))),
    (better("M3N", "CRF", at_most=1.0),
     (pair(20, 20.5), pair(20, 21, noise=1), pair(20, 22))),
    (comparable("M3N", "CRF"),
     (pair(20, 20.3), pair(20, 21, noise=1), pair(20, 22))),
    (falls("M3N"),
     (sizes_of(40, 38, 36, 34), sizes_of(40, 38, 39, 34), sizes_of(34, 35, 36, 37))),
    (spread_falls("M3N"),
     (spreads_of(4, 3, 2, 1), spreads_of(1, 1, 1, 1, noise=2), spreads_of(1, 2, 3, 4))),
    (gain("M3N", "CRF", "few samples"),
     (advantage(4, 1), advantage(1, 1, noise=3), advantage(1, 4))),
    (gain("M3N", "CRF", "few relevant"),
     (sparse_gain(4), sparse_gain(0, noise=4), sparse_gain(-4))),
    (gain("M3N", "CRF", "many relevant"),
     (sparse_gain(-4), sparse_gain(0, noise=4), sparse_gain(4))),
    (near("M3N", 20, 3),
     (pair(20, 20), pair(23, 20), pair(30, 20))),
    (sensitive("M3N"),
     (constants({"M3N": 12}), constants({"M3N": 5}, noise=1), constants({"M3N": 2}))),
    (steadier("M3N", "CRF"),
     (constants({"M3N": 3, "CRF": 9}), constants({"M3N": 5, "CRF": 5}, noise=1),
      constants({"M3N": 9, "CRF": 3}))),
    (overfits("CRF"), (ends_of(0.36, 0), ends_of(0.31, 0.06), ends_of(0.30, 0))),
    (steady("CRF"), (ends_of(0.30, 0), ends_of(0.31, 0.06), ends_of(0.36, 0))),
    (AllOf((better("M3N", "CRF"), near("M3N", 20, 3))),
     (pair(20, 22), pair(23, 25), pair(22, 20))),
    (EitherOf((better("M3N", "CRF"), near("M3N", 20, 3))),
     (pair(20, 22), pair(20, 18), pair(30, 20))),
    (small("A"),
     (noisy(SPARSE, 0.01), noisy(weights_of(1, 0.09), 0.12, 3), noisy(DENSE, 0.01))),
    (larger("A", "B", "all"),
     (shown({"A": 2 * DENSE, "B": DENSE}), shown(A_AND_B, noise=1),
      shown({"A": DENSE, "B": 2 * DENSE}))),
    (more_large("A", "B"),
     (shown({"A": DENSE, "B": SPARSE}), shown({"A": SPARSE, "B": SPARSE}, noise=0.3),
      shown({"A": SPARSE, "B": DENSE}))),
    (similar("A", "B"),
     (shown(A_AND_B), shown(A_AND_B, noise=0.8, parts=4),
      shown({"A": DENSE, "B": weights_of(1, 1, seed=1)}))),
    (zeros("A"),
     (noisy(HALF_ZERO, 0.01), noisy(ONE_ZERO, 0.01), noisy(DENSE, 0.01))),
    (no_zero("A"),
     (noisy(DENSE, 0.01), None, noisy(ONE_ZERO, 0.01))),
    (rule("unequal variances", models="A"), (opposite(1.0), None, opposite(0.999))),
    (unlike("A"),
     (noisy(-true_weights(), 0.01), noisy(true_weights(), 2.0), noisy(true_weights(), 0.01))),
    (IN_GROUPS,
     (some_groups((0.1, 1), (1, 0)), uneven(1.0), some_groups((1, 0), (0.1, 1)))),
    (IN_THREES,
     (some_groups((0.1, 1), (1, 0)), uneven(1.0, parts=3), some_groups((1, 0), (0.1, 1)))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("planted", "rows"), PLANTED, ids=lambda value: getattr(value, "measure", "")
)
def test_rule_says_each_of_three_things(planted, rows):
    assert [planted.decide(some).status if some else MIXED for some in rows] == [
        HOLDS,
        MIXED,
        FAILS,
    ]


def fewer(n_l1, n_l2, per_fold=0):
    rows = iid({"L1-CRF": 20, "L2-CRF": 20})
    for row in rows:
        row["n_weights"] = 200
        away = per_fold * (row["fold"] - 4.5)
        row["n_nonzero"] = n_l1 + away if row["model"] == "L1-CRF" else n_l2
    return rows


FEWER = rule("non-zero weights", fewer="L1-CRF", more="L2-CRF")
THREE = iid({"M3N": 20, "CRF": 22, "L2-CRF": 19})
LATE, EARLY = lambda r, size: 20 + 3 * (size == 150), lambda r, size: 20 + 5 * (r == 10)
OVERFIT = curves({"CRF": 0.36, "L1-CRF": 0.302, "L2-CRF": 0.30})
RANGES = [constants({"L1-CRF": 12, "L2-CRF": 3, "M3N": 8, "CRF": 3}, fixed=f) for f in ("", "C=1 ")]
SIZES = shown({"sparse": weights_of(1, 0), "small": weights_of(0.5, 0.01), "large": weights_of(2, 0.5),
               "other": weights_of(1, 0.5, seed=1)})  # fmt: skip
BOTH_KINDS = curves({"CRF": 0.303}, losses=(0.40, 0.25))

# rules, rows, and what the rules say of them
JUDGED = [
    (better("M3N", "CRF", consistently=True), pair(20, 22), HOLDS),
    (better("M3N", "CRF"), pair(LATE, 22), HOLDS),
    (better("M3N", "CRF", consistently=True), pair(LATE, 22), MIXED),
    (better("M3N", "CRF", above=2), pair(20, 23), HOLDS),
    (better("M3N", "CRF", above=2), pair(20, 21), FAILS),
    (better("M3N", "CRF", relevant=(30, 50)), pair(EARLY, 22), HOLDS),
    (better("M3N", "CRF", relevant=10), pair(EARLY, 22), FAILS),
    (better("CRF", ("M3N", "L2-CRF")), THREE, FAILS),
    (better("M3N", GENERATOR), iid({"M3N": 20}), FAILS),
    (near(GENERATOR, 7, 1), iid({"M3N": 20}), HOLDS),
    (near(GENERATOR, 50, 5), iid({"M3N": 20}), FAILS),
    (FEWER, fewer(50, 180), HOLDS),
    (FEWER, fewer(100, 100, per_fold=2), MIXED),
    (FEWER, fewer(180, 50), FAILS),
    (comparable("M3N", "CRF"), pair(18, 20), FAILS),
    (comparable("M3N", "CRF"), pair(lambda r, n: 20 + 2 * (n == 30) - 2 * (n == 150), 20), MIXED),
    (falls(("CRF", "M3N")), sizes_of(40, 37, 38, 34), MIXED),
    (falls(("CRF", "M3N")), sizes_of(34, 35, 36, 40), FAILS),  # a steep fall hides no other model
    (gain("M3N", "CRF", "few relevant"), sparse_gain(4, relevant=(30,)), UNTESTED),
    *((some, rows, status) for rows in RANGES for some, status in (
        (sensitive("L1-CRF"), HOLDS),
        (sensitive(("L1-CRF", "L2-CRF")), FAILS),
        (steadier("L2-CRF", "L1-CRF"), HOLDS),
        (steadier("L2-CRF", "L1-CRF", factor=0.5), HOLDS),
        (steadier("M3N", "L1-CRF", factor=0.5), FAILS),
        (steadier(("L2-CRF", "M3N"), "L1-CRF", factor=0.5), FAILS),
    )),
    (either("L2-CRF", "CRF"), RANGES[0], HOLDS),
    (either("L2-CRF", "M3N"), RANGES[0], MIXED),  # the paper may mean either
    (either("M3N"), RANGES[0], FAILS),
    (either("L2-CRF", "LapMEDN"), RANGES[0], UNTESTED),
    (overfits("CRF"), OVERFIT, HOLDS),
    (overfits(("CRF", "L1-CRF")), OVERFIT, FAILS),
    (steady("L2-CRF"), OVERFIT, HOLDS),
    (overfits("M3N"), OVERFIT, UNTESTED),
    (overfits("CRF"), [{**row, "change_errors": "nan nan", "loss_errors": "nan"} for row in OVERFIT],
     UNTESTED),
    (overfits("CRF"), BOTH_KINDS, HOLDS),  # the best moment is that over marks of both kinds
    (overfits("CRF", columns="change_errors"), BOTH_KINDS, FAILS),
    (steady("CRF"), BOTH_KINDS, FAILS),
    (overfits("CRF"),  # a mark that one fold has not reached
     [{**row, "loss_errors": "0.4 nan nan"} if row["fold"] == 3 else row for row in BOTH_KINDS], FAILS),
    (small(("sparse", "small")), SIZES, HOLDS),
    (small("large"), SIZES, FAILS),
    (small(("sparse", "large")), SIZES, FAILS),
    (small("A", at_most=12), noisy(weights_of(1, 0.09), 0.12, 3), MIXED),
    (larger("large", "small", "irrelevant"), SIZES, HOLDS),
    (larger("small", "large", "relevant"), SIZES, FAILS),
    (larger("large", "small", "all", factor=8.0), SIZES, FAILS),
    (more_large("large", "small"), SIZES, HOLDS),
    (more_large("small", "large"), SIZES, FAILS),
    (similar("small", ("large", "sparse")), SIZES, HOLDS),
    (similar("small", "other"), SIZES, FAILS),
    (no_zero(("small", "large")), SIZES, HOLDS),
    (no_zero(("small", "sparse")), SIZES, FAILS),
    (zeros("sparse"), SIZES, HOLDS),
    (zeros("small"), SIZES, FAILS),
    (unlike("A"), noisy(learned(), 1.5), MIXED),
]  # fmt: skip


def test_what_rules_say():
    for some, rows, status in JUDGED:
        assert some.decide(rows).status == status, some


def test_every_measure_is_planted():
    """... and each that is in use says each of three things, if there is an interval."""
    without_interval = {"range of times", "mean time", "longest time", "growth with the data", "hours",
                        "steadiness of times"}  # fmt: skip
    said = [(some, status) for some, _ in PLANTED for status in (HOLDS, MIXED, FAILS)]
    said += [*RULES, *((some, status) for some, _, status in JUDGED)]
    planted = defaultdict(set)
    for some, status in said:
        planted[getattr(some, "measure", type(some))].add(status)
    for name in (*MEASURES, AllOf, EitherOf):
        expected = {HOLDS, FAILS} if name in without_interval else {HOLDS, MIXED, FAILS}
        assert planted[name] - {UNTESTED} == expected, name


def test_without_rows_or_with_too_few_nothing_is_tested():
    many = iid({"A": 20, "B": 22, "M3N": 20, "CRF": 22}, relevant=(10,), sizes=(30, 50))
    two = [{**row, "parameters": f"lam={k}"} for row in many for k in (1, 2) if row["fold"] < 2]
    for some in [*(planted for planted, _ in PLANTED), Untested("nobody asks.")]:
        for rows in ([], two):
            verdict = some.decide(rows)
            assert (verdict.status, verdict.numbers) == (UNTESTED, ""), some
            assert verdict.note
        assert some.text()


# -- effects and notes ----------------------------------------------------------------------------


def test_better_where_only_the_mean_says_so():
    rows = pair(20, 20, noise=1.0)
    by_unit = {}
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        key = (one["data"].split("-")[1], one["fold"])
        by_unit.setdefault(key, []).append(100 * (other["error"] - one["error"]))
    mean, low, high = mean_interval([np.mean(values) for values in by_unit.values()])
    assert low < 0 < high
    ends = ("M3N", "CRF") if mean > 0 else ("CRF", "M3N")
    verdict = better(*ends).decide(rows)
    assert verdict.status == MIXED
    assert verdict.effect == pytest.approx(abs(mean))
    assert verdict.interval == pytest.approx(sorted((np.sign(mean) * low, np.sign(mean) * high)))
    assert better(*ends[::-1]).decide(rows).status == MIXED, "the data cannot tell"
    assert "30 units" in verdict.note
    assert "of 9 settings" in verdict.note


def test_effects():
    for some, rows, effect, margin in (
        (gain("M3N", "CRF", "few samples"), advantage(0, 4), -4, 0.3),
        (steadier("L2-CRF", "L1-CRF"), RANGES[0], 9, 0.5),
        (steadier("L2-CRF", "L1-CRF"), RANGES[1], 9, 0.5),
        (overfits("CRF"), OVERFIT, 6, 0.3),
        (overfits("CRF"), BOTH_KINDS, 5.3, 0.3),
        (larger("large", "small", "irrelevant"), SIZES, np.log2(50), 0.4),
    ):
        assert some.decide(rows).effect == pytest.approx(effect, abs=margin), some
    note = steadier("L2-CRF", "L1-CRF").decide(RANGES[1]).note
    assert "at 0.01" in note
    assert "at 9" in note
    text = overfits("CRF").text()
    assert "marks of the likelihood's relative change or of the likelihood itself" in text


def test_over_fitting_is_that_of_the_studys_table(published):
    rows = published["ocr-overfitting"]
    for line in rises(rows):
        here = [r for r in rows if r["model"] == line["model"]
                and dict(read_constants(r["parameters"])).get("lam") == line["lam"]]  # fmt: skip
        effect = overfits(line["model"]).decide(here).effect
        assert effect == pytest.approx(100 * line["rise"], abs=1e-9)


def test_overfitting_counts_each_constant():
    rows = [
        *curves({"L1-CRF": 0.36}, parameters="lam=0.0001"),
        *curves({"L1-CRF": 0.30}, parameters="lam=1"),
    ]
    verdict = overfits("L1-CRF").decide(rows)
    assert verdict.status == FAILS
    assert "lam=0.0001: holds" in verdict.note


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


def test_no_model_is_compared_with_itself():
    rows = shown({"a": weights_of(2, 1), "b": weights_of(1, 1)})
    alone = larger("a", "b", "all").decide(rows)
    assert alone.status == HOLDS
    assert larger("a", ("a", "b"), "all").decide(rows) == alone


def test_unlike_the_truth():
    truth, perfect = true_weights(), learned()
    noise = np.array([-1, 1])[:, None] * np.random.default_rng(0).standard_normal(100) / 4
    distance = np.linalg.norm(perfect - truth) / np.linalg.norm(truth)
    assert distance > 0.5, "far from the truth only in what no data can tell"
    rows = shown({"perfect": perfect, "same": truth, "far": -truth, "noise": noise,
                  "noisy": perfect + noise})  # fmt: skip
    for name in ("perfect", "same"):
        verdict = unlike(name).decide(rows)
        assert verdict.status == FAILS
        assert verdict.effect < 5
        assert "by 1.00" in verdict.note
    assert unlike("small").decide(shown({"small": 0.1 * perfect}, noise=1e-3)).effect < 5
    assert unlike("far").decide(rows).status == unlike("noise").decide(rows).status == HOLDS
    assert unlike("far").decide(rows).effect == pytest.approx(100)
    assert "by -1.00" in unlike("far").decide(rows).note
    assert 20 < unlike("noisy").decide(rows).effect < 100
    assert unlike(("far", "perfect")).decide(rows).status == FAILS


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


def test_variances_that_agree_everywhere_are_not_those_of_groups():
    everywhere = np.exp(np.repeat(np.random.default_rng(0).standard_normal(34), 3))[:100]
    rows = shown({"A": weights_of(1, 1)}, variances=everywhere)
    assert IN_GROUPS.decide(rows).status in (MIXED, FAILS), "others agree as much"
    opposed = np.concatenate(
        [np.tile(np.exp([-1.0, 0, 1]), 10), np.exp(np.repeat(range(24), 3))[:70]]
    )
    rows = shown({"A": weights_of(1, 1)}, variances=opposed)
    assert IN_GROUPS.decide(rows).status == IN_THREES.decide(rows).status == FAILS


# -- intervals and verdicts -----------------------------------------------------------------------


def test_intervals_are_students_and_welchs():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(8), rng.standard_normal(12) + 1
    expected = stats.ttest_1samp(a, 0).confidence_interval(0.95)
    assert mean_interval(a) == pytest.approx((a.mean(), expected.low, expected.high))
    moments = [(x.mean(), x.std(ddof=1), len(x)) for x in (a, b)]
    expected = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert difference_interval(*moments)[1:] == pytest.approx((expected.low, expected.high))
    assert difference_interval((1, 0, 5), (2, 0, 5)) == (1, 1, 1)
    assert difference_interval((1, 0.1, 2), (2, 0.1, 5)) is None
    assert jackknife(lambda kept: 0.0, 2) is None


def test_parts_combine():
    for parts, status in (
        ((HOLDS, HOLDS), HOLDS), ((HOLDS, MIXED), MIXED), ((MIXED, MIXED), MIXED),
        ((HOLDS, FAILS), FAILS), ((MIXED, FAILS), FAILS), ((FAILS, FAILS), FAILS),
        ((HOLDS, UNTESTED), UNTESTED),
    ):  # fmt: skip
        assert combine([Verdict(part, 1.0) for part in parts], ["x", "y"]).status == status
    worst = combine([Verdict(HOLDS, 3.0, slack=3.0), Verdict(HOLDS, 2.0, slack=2.0)], ["a", "b"])
    assert worst.effect == 2.0
    worst = combine([Verdict(FAILS, -3.0), Verdict(MIXED, 2.0), Verdict(HOLDS, 9.0)], ["a"] * 3)
    assert worst.effect == -3.0


def test_only_an_interval_that_excludes_the_claim_refutes_it():
    for mean, status in ((2.0, HOLDS), (0.01, MIXED), (-0.01, MIXED), (-2.0, FAILS)):
        assert place((mean - 1, mean + 1), above=0.0) == status
        assert place((-mean - 1, -mean + 1), at_most=0.0) == status
        assert place((4 - mean, 6 - mean), at_least=-3.0, at_most=5.0) == status
        assert place((-4 + mean, -2 + mean), at_least=-3.0, at_most=5.0) == status


def test_numbers():
    assert Verdict(HOLDS, 2e11, (-1.0, 150.0), "points").numbers == "+2e+11 [-1.00, +150] points"
    assert Verdict(HOLDS, 0.15, unit="hours").numbers == "0.15 hours"


# -- entries --------------------------------------------------------------------------------------


def test_inventory():
    assert len(CLAIMS) > 200
    texts = Counter((claim.paper, claim.section, claim.text) for claim in CLAIMS.values())
    assert max(texts.values()) == 1
    sections = {paper: {c.section for c in CLAIMS.values() if c.paper == paper} for paper in PAPERS}
    assert sections == {
        "medn": {"7", "7.1.1", "7.1.2", "7.2", "7.3", "7.4", "9"},
        "lapm3n": {"6.1.1", "6.1.2", "6.2", "6.3", "7"},
        "l1m3n": {"5.1", "5.2", "5.3.1", "5.3.2", "5.4", "6"},
        "asp": {"5"},
    }


def test_claims_are_about_what_their_studies_have(published):
    check_studies(CLAIMS)
    for claim in CLAIMS.values():
        for name, some in claim.parts:
            if name in COMING:
                assert some == Untested(f"the study {name} is still to come.")
            elif not isinstance(some, Untested):
                verdict = some.decide(published[name])
                assert verdict.status != UNTESTED, f"{claim.id}: {verdict.note}"


ENTRY = """
[claims."medn-7-b"]
text = "M3N errs much less than CRF"
page = 12
study = "synthetic-iid"
rule = { measure = "error", better = "M3N", worse = "CRF", above = "much" }
"""


def read(text):
    claims = tomllib.loads(text)["claims"]
    return read_claims(claims, papers=PAPERS, names=NAMES, coming=COMING)


def test_adding_a_claim_takes_one_entry():
    [claim] = read(ENTRY).values()
    assert claim.rule == better("M3N", "CRF", above=2)
    assert (claim.id, claim.paper, claim.section, claim.page) == ("medn-7-b", "medn", "7", 12)
    assert claim.rule_text == "M3N errs less than CRF, by more than 2 points"
    check_studies({claim.id: claim})


def test_mistakes_in_an_entry_name_it():
    for old, new, said in (
        ("page", "pages", "there is no field 'pages'; fields are text, study"),
        ("page = 12", 'page = "12"', "page is no whole number"),
        ("study =", "caveat =", "study is missing"),
        ("medn-7-b", "medn-7", "its id should be of paper, section and a letter"),
        ("medn-7-b", "memm-7-b", "there is no paper 'memm'; papers are medn"),
        ('measure = "error"', 'measure = "errors"', "there is no measure 'errors'; known are"),
        ("better", "best", "measure 'error' has no 'best'; it has better, worse, above"),
        (', worse = "CRF"', "", "measure 'error' needs 'worse'"),
        ('"much"', '"mach"', "above = 'mach' is neither of the right kind nor one of the names"),
        ('"much"', "true", "above = True is neither"),
        ('"CRF"', "3", "worse = 3 is neither"),
        ('rule = {', 'rule = { all_of = [],', "next to all_of a rule has nothing else"),
        ("rule", 'untested = "nobody asks."\nrule', "it needs either a rule or untested"),
        ('"error", better = "M3N", worse', '"gain", better = "M3N", where = "far", worse',
         "measure 'gain' has no 'above'"),
        ('"error", better = "M3N", worse = "CRF", above = "much"',
         '"gain", better = "M3N", where = "far", worse = "CRF"', "where = 'far' is none of few"),
        ('"error", better = "M3N", worse = "CRF", above = "much"',
         '"rise along training", models = "CRF"', "measure 'rise along training' needs a bound"),
        ("synthetic-iid", "denoising", "the study denoising is still to come, so there is no rule"),
    ):  # fmt: skip
        with pytest.raises(ClaimError, match="claim me") as error:
            read(ENTRY.replace(old, new))
        assert said in str(error.value)
    for old, new, said in (
        ("synthetic-iid", "synthetic", "there is no study 'synthetic'"),
        ('"M3N"', '"M4N"', "study synthetic-iid trains no model 'M4N'"),
    ):
        with pytest.raises(ClaimError, match=f"claim medn-7-b: {said}"):
            check_studies(read(ENTRY.replace(old, new)))
    with pytest.raises(ClaimError, match="there is no part 'claim'; parts are claims"):
        read_toml(ENTRY.replace("[claims", "[claim"), "claims")
    with pytest.raises(tomllib.TOMLDecodeError):
        read(ENTRY + ENTRY)  # an id that is there already
    with pytest.raises(RuleError, match="no measure None"):
        rule_of({"models": "M3N"})


# -- at the optimum, and by several studies -------------------------------------------------------


def test_rules_at_the_optimum():
    both = AllOf((better("LapMEDN sub-gradient", ("M3N sub-gradient", "CRF")), near("CRF", 1, 1)))
    correlated = at_optimum(both, "synthetic-correlated")
    assert correlated.rules == (better("LapMEDN", ("M3N", "CRF")), both.rules[1])
    same = better("LapMEDN at its optimum", ("M3N at its optimum", "CRF"))
    assert at_optimum(both, "ocr").rules == (same, both.rules[1])
    names = ("L1-M3N EM", "L1-M3N online sub-gradient")
    either = EitherOf(tuple(steadier(name, "L1-CRF") for name in names))
    assert at_optimum(either, "sensitivity") == EitherOf((steadier("L1-M3N", "L1-CRF"),))


def test_the_note_tells_of_the_optimum():
    claim = Claim("medn-7-z", "text", "synthetic-iid", better("LapMEDN variational", "M3N"))
    rows = iid({"LapMEDN variational": 20, "LapMEDN": 24, "M3N": 22})
    verdict = judge(claim, {"synthetic-iid": rows})
    assert verdict.status == HOLDS
    assert f"trained to the optimum (LapMEDN with chosen constants): {FAILS}, -1.9" in verdict.note
    without = [row for row in rows if row["model"] != "LapMEDN"]
    assert "optimum" not in judge(claim, {"synthetic-iid": without}).note
    assert judge(claim, {}).status == UNTESTED


def test_the_note_tells_whether_constants_differ():
    early = ("LapMEDN sub-gradient", "M3N sub-gradient", "L1-M3N EM")
    exact = ("LapMEDN at its optimum", "M3N at its optimum", "L1-M3N")
    rows = ocr({name: 20 + 2 * k for k, name in enumerate([*early, *exact])})

    def note(*models):
        return judge(
            Claim("medn-7-z", "text", "ocr", better(models[0], models[1:])), {"ocr": rows}
        ).note

    assert "; trained to the optimum: holds, " in note(*early[:2])
    assert "; trained to the optimum (L1-M3N with chosen constants): holds, " in note(*early)


def test_a_claim_of_several_studies_must_hold_in_each():
    claim = Claim("medn-7-z", "text", "synthetic-iid", better("M3N", "CRF"),
                  also=(("ocr", better("L2-CRF", "CRF")),))  # fmt: skip
    assert claim.rule_text == (
        "in synthetic-iid: M3N errs less than CRF; and in ocr: L2-CRF errs less than CRF"
    )

    def verdict(here, there):
        return judge(
            claim, {"synthetic-iid": pair(here, 22), "ocr": ocr({"L2-CRF": there, "CRF": 22})}
        )

    assert verdict(20, 20).status == HOLDS
    assert verdict(20, 24).status == verdict(24, 20).status == FAILS
    assert f"synthetic-iid: {HOLDS}, +2" in verdict(20, 24).note
    only = judge(claim, {"synthetic-iid": pair(20, 22)})
    assert only.status == UNTESTED
    assert "no table of ocr" in only.note


def test_conclusions_on_synthetic_data_are_about_both_kinds():
    both = {"synthetic-iid", "synthetic-correlated"}
    for name in ("l1m3n-6-b", "l1m3n-6-d", "medn-9-a"):
        assert set(CLAIMS[name].studies) == both
    [entry] = entries({}, ["l1m3n-6-b"], {"synthetic-correlated": "3 of 5 fits"})
    assert entry.study == "synthetic-iid; synthetic-correlated, 3 of 5 fits"


# -- the ledger -----------------------------------------------------------------------------------


def row_of(text, entry):
    return next(line for line in text.splitlines() if line.startswith(f"| {entry.claim.id} |"))


def test_ledger():
    found = entries({"l1m3n-algorithms": TABLE})
    text = ledger_text(found, datetime.date(2030, 1, 2))
    counts = Counter(entry.verdict.status for entry in found)
    assert f"{len(CLAIMS)} claims: {counts[HOLDS]} holds, {counts[MIXED]} mixed" in text
    assert f"medn_edu {__version__}, 2030-01-02." in text
    assert "{" not in text
    for paper in PAPERS.values():
        assert f"## {paper}" in text
    words = " ".join(text.split())
    for name, meaning in {**UNITS, **MARGINS}.items():
        assert f"- {name}: {meaning}" in words
    changed = words.partition("## Changed after the tables were seen")[2]
    for entry in found:
        claim, row = entry.claim, row_of(text, entry)
        assert row.startswith(f"| {claim.id} | {claim.text} |")
        assert ("l1m3n-algorithms*" in row) == is_late(claim)
        assert ("†" in row) == bool(claim.amended)
        if not isinstance(claim.rule, Untested):
            assert row.endswith(f"| {claim.rule_text} |")
        if entry.verdict.status in (MIXED, FAILS):
            assert f"- **{claim.id}**, {entry.verdict.status}: " in text
        assert (f"**{claim.id}**" in changed) == bool(claim.amended)
        assert claim.amended in changed
        assert claim.caveat in words
    assert "medn-7.2-a" in overview(found)
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


def test_published_ledger_is_that_of_the_published_tables(judged):
    """Where it is not: medn-edu claims --write figures/claims.md."""
    text = (FIGURES / "claims.md").read_text(encoding="utf-8")
    for entry in judged:
        assert f"| {entry.verdict.status} | {entry.verdict.numbers or '–'} |" in row_of(text, entry)
    assert {each.unit for each in MEASURES.values()} == set(UNITS), "each is explained"


def test_a_measure_is_a_function_and_its_words():
    assert set(tomllib.loads(read_text("measures.toml"))) == set(MEASURES)
    with pytest.raises(RuleError, match=r"there are two measures 'gain'"):
        measure("gain")(max)
    with pytest.raises(RuleError, match=r"measures.toml, 'loss': expected text, of and unit"):
        measure("loss")


def test_findings_are_told_where_claims_do_not_hold(published, judged):
    assert set(SEEN) <= set(published)
    late = [entry for entry in judged if entry.claim.study in SEEN]
    assert any(entry.finding for entry in late)
    assert all(bool(entry.finding) <= (entry.verdict.status in (MIXED, FAILS)) for entry in late), (
        "what holds needs no reason"
    )


def test_results_of_ones_own(tmp_path):
    folder = tmp_path / "synthetic-iid-paper"
    folder.mkdir()
    rows = iid({"LapMEDN variational": 20, "M3N": 22})
    for number, row in enumerate(rows):
        row["key"] = f"{number:04}"
    (folder / "results.csv").write_text(csv_text(rows, rows[0]))
    times = csv_text([{"key": "0000", "seconds": 2}], ["key", "seconds"])
    (folder / "timings.csv").write_text(times)
    tables = load_tables(tmp_path)
    assert list(tables) == ["synthetic-iid"]
    assert tables["synthetic-iid"][0]["seconds"] == 2
    [entry] = entries(tables, ["medn-7.1.1-a"])
    assert entry.verdict.status == HOLDS
    for damage in ("a,b\n1\n", "model\nM3N\n", "key,error\n0000,abc\n"):
        (folder / "results.csv").write_text(damage)
        with pytest.raises(ValueError, match=r"results\.csv is damaged: line \d"):
            load_tables(tmp_path)
