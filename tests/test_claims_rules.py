"""Claims: what the rules say of planted tables; intervals and verdicts."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats
from test_claims_algorithms import RULES, rule
from test_claims_images import RULES as IMAGE_RULES

from medn_edu.studies.claims import scores, verdicts
from medn_edu.studies.claims.rules import MEASURES, AllOf, EitherOf, Untested
from medn_edu.studies.claims.verdicts import FAILS, HOLDS, MIXED, UNTESTED, Verdict, combine
from medn_edu.studies.claims.weights import true_weights
from medn_edu.studies.kit import splits


def short(measure, *roles, **fixed):
    """A function that makes rules of a measure from names, which are as many as there are roles."""
    return lambda *names, **fields: rule(
        measure, **dict(zip(roles, names, strict=True)), **{**fixed, **fields}
    )


better = short("error", "better", "worse")
comparable = short("difference of errors", "first", "second", within=1)
falls = short("fall of errors", "models")
near = short("error rate", "model", "near", "within")
gain = short("gain", "better", "worse", "where")
sensitive = short("rise over constants", "models", above=5)
steadier = short("steadiness over constants", "stable", "sensitive")
overfits = short("rise along training", "models", above=1)
larger = short("size of weights", "larger", "smaller", "part")
unlike = short("distance from the truth", "models", above=50)
IN_GROUPS = rule("variances in groups", model="A")
IN_THREES = rule("variances of irrelevant threes", model="A", at_most=0.5)


def iid(errors, *, relevant=(10, 30, 50), noise=0.2):
    """Rows of synthetic-iid; ``errors[model](relevant, size)`` in per cent, or a number."""
    rng = np.random.default_rng(0)
    rows = []
    for r, size, fold in itertools.product(relevant, (30, 50, 150), range(10)):
        common = rng.normal(scale=3)  # of this data set: pairing takes it out
        for model, error in errors.items():
            level = error(r, size) if callable(error) else error
            value = level + common + noise * rng.standard_normal()
            rows.append({"data": f"iid-{r}-{size}", "fold": fold, "model": model,
                         "error": value / 100, "failure": None, "truth_error": 0.07})  # fmt: skip
    return rows


def ocr(errors, noise=0.2):
    """Rows of ocr; ``errors[model](size, fold)`` in per cent, or a number."""
    rng = np.random.default_rng(0)
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


def curves(end, *, apart=0.0, parameters="", losses=(0.55, 0.4)):
    """Rows of ocr-overfitting: down to 30 %, then up to the end; folds differ in how far.

    At the marks of the likelihood itself errors are ``losses``; after the end no mark is reached.
    """
    rng = np.random.default_rng(0)
    rows = []
    for fold in range(10):
        errors = [0.6, 0.4, 0.3, end + apart * (fold % 2 - 0.5)] + 0.002 * rng.standard_normal(4)
        row = {"model": "CRF", "fold": fold, "parameters": parameters, "error": errors[-1]}
        row["change_errors"] = " ".join(f"{error:.5g}" for error in [*errors, np.nan, np.nan])
        row["loss_errors"] = " ".join([*map(str, losses), "nan"])
        rows.append(row)
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


def some_groups(relevant, others):
    """Rows of variances that differ so much within groups of three, and so much between them."""
    rng = np.random.default_rng(1)
    groups, members = np.repeat(rng.standard_normal(34), 3)[:100], rng.standard_normal(100)
    logarithms = [between * groups + within * members for within, between in (relevant, others)]
    return shown({"A": DENSE}, variances=np.exp(np.where(np.arange(100) < 30, *logarithms)))


def uneven(parts):
    """Rows whose parts do not agree on the variances at all."""
    rng = np.random.default_rng(2)
    rows = noisy(DENSE, 0.01, parts)
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
ONE_ZERO = np.where(np.arange(100) < 1, 0, DENSE)
HALF_ZERO = np.where(np.arange(100) < 50, 0, DENSE)


def fewer(n_l1, n_l2, per_fold=0):
    rows = iid({"L1-CRF": 20, "L2-CRF": 20})
    for row in rows:
        row["n_weights"] = 200
        away = per_fold * (row["fold"] - 4.5)
        row["n_nonzero"] = n_l1 + away if row["model"] == "L1-CRF" else n_l2
    return rows


# a rule, and rows of which it says that the claim holds, that it is mixed, that it does not hold
PLANTED = [
    (better("M3N", "CRF"),
     (pair(20, 22), pair(20, 20.1, noise=3), pair(22, 20))),
    (better("M3N", "CRF", at_most=1.0),
     (pair(20, 20.5), pair(20, 21, noise=1), pair(20, 22))),
    (rule("non-zero weights", fewer="L1-CRF", more="L2-CRF"),
     (fewer(50, 180), fewer(100, 100, per_fold=2), fewer(180, 50))),
    (comparable("M3N", "CRF"),
     (pair(20, 20.3), pair(20, 21, noise=1), pair(20, 22))),
    (falls("M3N"),
     (sizes_of(40, 38, 36, 34), sizes_of(40, 38, 39, 34), sizes_of(34, 35, 36, 37))),
    (rule("fall of spread", models="M3N"),
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
    (overfits("CRF"), (curves(0.36), curves(0.31, apart=0.06), curves(0.30))),
    (rule("rise along training", models="CRF", at_most=1),
     (curves(0.30), curves(0.31, apart=0.06), curves(0.36))),
    (AllOf((better("M3N", "CRF"), near("M3N", 20, 3))),
     (pair(20, 22), pair(23, 25), pair(22, 20))),
    (EitherOf((better("M3N", "CRF"), near("M3N", 20, 3))),
     (pair(20, 22), pair(20, 18), pair(30, 20))),
    (rule("irrelevant weights", models="A", at_most=10),
     (noisy(SPARSE, 0.01), noisy(weights_of(1, 0.09), 0.12, 3), noisy(DENSE, 0.01))),
    (larger("A", "B", "all"),
     (shown({"A": 2 * DENSE, "B": DENSE}), shown({"A": DENSE, "B": DENSE}, noise=1),
      shown({"A": DENSE, "B": 2 * DENSE}))),
    (rule("large weights", more="A", fewer="B", share=0.1),
     (shown({"A": DENSE, "B": SPARSE}), shown({"A": SPARSE, "B": SPARSE}, noise=0.3),
      shown({"A": SPARSE, "B": DENSE}))),
    (rule("likeness of weights", first="A", second="B", above=0.9),
     (shown({"A": DENSE, "B": DENSE}), shown({"A": DENSE, "B": DENSE}, noise=0.8, parts=4),
      shown({"A": DENSE, "B": weights_of(1, 1, seed=1)}))),
    (rule("zero weights", models="A"),
     (noisy(HALF_ZERO, 0.01), noisy(ONE_ZERO, 0.01), noisy(DENSE, 0.01))),
    (rule("no zero weight", models="A"),
     (noisy(DENSE, 0.01), None, noisy(ONE_ZERO, 0.01))),
    (rule("unequal variances", models="A"), (opposite(1.0), None, opposite(0.999))),
    (unlike("A"),
     (noisy(-true_weights(), 0.01), noisy(true_weights(), 2.0), noisy(true_weights(), 0.01))),
    (IN_GROUPS,
     (some_groups((0.1, 1), (1, 0)), uneven(4), some_groups((1, 0), (0.1, 1)))),
    (IN_THREES,
     (some_groups((0.1, 1), (1, 0)), uneven(3), some_groups((1, 0), (0.1, 1)))),
]  # fmt: skip
LATE, EARLY = lambda r, size: 20 + 3 * (size == 150), lambda r, size: 20 + 5 * (r == 10)
OVERFIT, BOTH_KINDS = curves(0.36), curves(0.303, losses=(0.40, 0.25))
RANGES = [constants({"L1-CRF": 12, "L2-CRF": 3, "M3N": 8}, fixed=fixed) for fixed in ("", "C=1 ")]
SIZES = shown({"small": weights_of(0.5, 0.01), "large": weights_of(2, 0.5)})
AGREEING = np.exp(np.repeat(np.random.default_rng(0).standard_normal(34), 3))[:100]
OPPOSED = np.concatenate([np.tile(np.exp([-1.0, 0, 1]), 10), np.exp(np.repeat(range(24), 3))[:70]])
EVERYWHERE, NOWHERE = (shown({"A": DENSE}, variances=some) for some in (AGREEING, OPPOSED))
JUDGED = [
    (better("M3N", "CRF"), pair(LATE, 22), HOLDS),
    (better("M3N", "CRF", consistently=True), pair(LATE, 22), MIXED),
    (better("M3N", "CRF", above=2), pair(20, 23), HOLDS),
    (better("M3N", "CRF", relevant=(30, 50)), pair(EARLY, 22), HOLDS),
    (better("M3N", "CRF", relevant=10), pair(EARLY, 22), FAILS),
    (better("CRF", ("M3N", "L2-CRF")), iid({"M3N": 20, "CRF": 22, "L2-CRF": 19}), FAILS),
    (better("M3N", scores.GENERATOR), iid({"M3N": 20}), FAILS),
    (near(scores.GENERATOR, 7, 1), iid({"M3N": 20}), HOLDS),
    (comparable("M3N", "CRF"), pair(18, 20), FAILS),
    (comparable("M3N", "CRF"), pair(lambda r, n: 20 + 2 * (n == 30) - 2 * (n == 150), 20), MIXED),
    (falls(("CRF", "M3N")), sizes_of(34, 35, 36, 40), FAILS),  # a steep fall hides no other model
    (gain("M3N", "CRF", "few relevant"), sparse_gain(4, relevant=(30,)), UNTESTED),
    (sensitive("L1-CRF"), RANGES[1], HOLDS),
    (steadier("L2-CRF", "L1-CRF", factor=0.5), RANGES[1], HOLDS),
    (steadier("M3N", "L1-CRF", factor=0.5), RANGES[1], FAILS),
    (overfits("M3N"), OVERFIT, UNTESTED),
    (overfits("CRF"), [{**row, "change_errors": "nan nan", "loss_errors": "nan"} for row in OVERFIT],
     UNTESTED),
    (overfits("CRF", columns="change_errors"), BOTH_KINDS, FAILS),
    (overfits("CRF"),  # a mark that one fold has not reached
     [{**row, "loss_errors": "0.4 nan nan"} if row["fold"] == 3 else row for row in BOTH_KINDS], FAILS),
    (overfits("CRF"),  # at one constant, not at the other
     [*curves(0.36, parameters="lam=0.1"), *curves(0.3, parameters="lam=1")], FAILS),
    (larger("large", "small", "all", factor=8.0), SIZES, FAILS),
    (larger("large", ("large", "small"), "all"), SIZES, HOLDS),  # none is compared with itself
    (IN_GROUPS, EVERYWHERE, MIXED),  # others agree as much
    (IN_GROUPS, NOWHERE, FAILS),
    (IN_THREES, NOWHERE, FAILS),
]  # fmt: skip
SAID = [
    (some, rows, status)
    for some, tables in PLANTED
    for rows, status in zip(tables, (HOLDS, MIXED, FAILS), strict=True)
    if rows
] + JUDGED


def test_rules_say_what_is_planted():
    for some, rows, status in SAID:
        assert some.decide(rows).status == status, some


def test_every_measure_is_planted():
    """... and says each of three things, if there is an interval."""
    without_interval = {"range of times", "mean time", "longest time", "growth with the data", "hours",
                        "steadiness of times", "no zero weight", "unequal variances",
                        "number of weights", "wrong pixels per image", "iterations to meet"}  # fmt: skip
    planted = defaultdict(set)
    for some, *_, status in [*SAID, *RULES, *IMAGE_RULES]:
        planted[getattr(some, "measure", type(some))].add(status)
    for name in (*MEASURES, AllOf, EitherOf):
        expected = {HOLDS, FAILS} if name in without_interval else {HOLDS, MIXED, FAILS}
        assert planted[name] - {UNTESTED} == expected, name


def test_without_rows_or_with_too_few_nothing_is_tested():
    many = iid({"A": 20, "B": 22, "M3N": 20, "CRF": 22}, relevant=(10,))
    two = [{**row, "parameters": f"lam={k}"} for row in many for k in (1, 2) if row["fold"] < 2]
    for some in [*(planted for planted, _ in PLANTED), Untested("nobody asks.")]:
        for rows in ([], two):
            verdict = some.decide(rows)
            assert (verdict.status, verdict.numbers) == (UNTESTED, ""), some
            assert verdict.note
        assert some.text()


def test_better_where_only_the_mean_says_so():
    rows, by_unit = pair(20, 20, noise=1.0), defaultdict(list)
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        unit = one["data"].split("-")[1], one["fold"]
        by_unit[unit].append(100 * (other["error"] - one["error"]))
    mean, low, high = scores.mean_interval([np.mean(values) for values in by_unit.values()])
    assert low < 0 < high
    verdict, reverse = better("M3N", "CRF").decide(rows), better("CRF", "M3N").decide(rows)
    assert verdict.status == reverse.status == MIXED, "the data cannot tell"
    assert (verdict.effect, *verdict.interval) == pytest.approx((mean, low, high))
    assert (reverse.effect, *reverse.interval) == pytest.approx((-mean, -high, -low))
    assert "30 units" in verdict.note
    assert "of 9 settings" in verdict.note


def test_effects():
    for some, rows, effect, margin in (
        (gain("M3N", "CRF", "few samples"), advantage(0, 4), -4, 0.3),
        (steadier("L2-CRF", "L1-CRF"), RANGES[0], 9, 0.5),
        (steadier("L2-CRF", "L1-CRF"), RANGES[1], 9, 0.5),
        (overfits("CRF"), OVERFIT, 6, 0.3),
        (overfits("CRF"), BOTH_KINDS, 5.3, 0.3),
        (larger("large", "small", "relevant"), SIZES, 2, 0.1),
        (larger("large", "small", "irrelevant"), SIZES, np.log2(50), 0.4),
    ):
        assert some.decide(rows).effect == pytest.approx(effect, abs=margin), some


def test_failed_fits_and_the_choosing_data_set_do_not_count():
    row = {"model": "CRF", "failure": "E"}
    rows = [
        {**row, "data": f"correlated-10-{k}", "fold": fold, "error": 0.1 * fold, "failure": failure}
        for k in range(11)
        for fold, failure in ((0, None), (1, None), (9, "E"))
    ]
    [(setting, units)] = scores.scores_of(rows)["CRF"].items()
    assert setting == (0, 100.0)
    assert list(units) == [(0, number) for number in range(10)]
    assert list(units.values()) == pytest.approx([5.0] * 10)


def test_unlike_the_truth():
    truth, perfect = true_weights(), learned()
    noise = np.array([-1, 1])[:, None] * np.random.default_rng(0).standard_normal(100) / 4
    distance = np.linalg.norm(perfect - truth) / np.linalg.norm(truth)
    assert distance > 0.5, "far from the truth only in what no data can tell"
    planted = {"perfect": perfect, "same": truth, "small": 0.1 * perfect, "far": -truth,
               "noise": noise, "noisy": perfect + noise}  # fmt: skip
    rows = shown(planted, noise=1e-3)
    found = {name: unlike(name).decide(rows) for name in planted}
    for name in ("perfect", "same", "small"):
        assert found[name].status == FAILS
        assert found[name].effect < 5
    assert found["noise"].status == found["noisy"].status == found["far"].status == HOLDS
    assert 50 < found["noisy"].effect < 60
    assert found["far"].effect == pytest.approx(100)
    assert "by 1.00" in found["perfect"].note
    assert "by -1.00" in found["far"].note


def test_true_weights_are_those_of_the_study(monkeypatch):
    made = splits.make_chain_crf
    few = {"n_samples": 1, "sampler": "exact"}
    monkeypatch.setattr(splits, "make_chain_crf", lambda **options: made(**{**options, **few}))
    assert np.array_equal(true_weights(3), splits.correlated_chains.__wrapped__(3).coef)


def test_intervals_are_students_and_welchs():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(8), rng.standard_normal(12) + 1
    expected = stats.ttest_1samp(a, 0).confidence_interval(0.95)
    assert scores.mean_interval(a) == pytest.approx((a.mean(), expected.low, expected.high))
    moments = [(x.mean(), x.std(ddof=1), len(x)) for x in (a, b)]
    expected = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert scores.difference_interval(*moments)[1:] == pytest.approx((expected.low, expected.high))
    assert scores.difference_interval((1, 0, 5), (2, 0, 5)) == (1, 1, 1)
    assert scores.difference_interval((1, 0.1, 2), (2, 0.1, 5)) is None
    assert scores.jackknife(lambda kept: a[kept].mean(), 8) == pytest.approx(
        scores.mean_interval(a)
    )
    assert scores.jackknife(lambda kept: 0.0, 2) is None


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
        assert verdicts.place((mean - 1, mean + 1), above=0.0) == status
        assert verdicts.place((-mean - 1, -mean + 1), at_most=0.0) == status
        assert verdicts.place((4 - mean, 6 - mean), at_least=-3.0, at_most=5.0) == status
        assert verdicts.place((-4 + mean, -2 + mean), at_least=-3.0, at_most=5.0) == status
