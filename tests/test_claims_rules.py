"""Claims: what the rules say of planted tables; intervals and verdicts."""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from test_claims_algorithms import RULES, rule
from test_claims_images import RULES as IMAGE_RULES

from medn_edu.studies import sensitivity
from medn_edu.studies.claims import scores, verdicts
from medn_edu.studies.claims.rules import MEASURES, AllOf, EitherOf, RuleError
from medn_edu.studies.claims.verdicts import DEPENDS, FAILS, HOLDS, MIXED, NOT_RUN, Verdict, combine
from medn_edu.studies.claims.weights import contrast_distance, true_weights
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.summary import constants_text
from medn_edu.studies.l1_table import mask_of


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


def around_best(name, up, *, at=0.5, noise=0.02):
    """Rows of the fair sensitivity: errors rise by so many points per factor of 3 around the best.

    The best constant is at some share of the first path; other shapes err far more.
    """
    rng = np.random.default_rng(0)
    rows = []
    for shape, path in enumerate(sensitivity.PATHS[name + sensitivity.FAIR]):
        points = [path.point(k).items() for k in range(len(path.values))]
        here = [
            {
                "model": name + sensitivity.FAIR,
                "data": "ocr-100",
                "parameters": constants_text(each),
            }
            for each in points
        ]
        x = np.log([line["factor"] for line in sensitivity.means(here)]) / np.log(3)
        errors = 30 + up * abs(x - x[0] - at * (x[-1] - x[0])) + 9 * (shape > 0)
        rows += [{**row, "fold": fold, "error": (error + noise * rng.standard_normal()) / 100}
                 for row, error in zip(here, errors, strict=True) for fold in range(10)]  # fmt: skip
    return rows


def shapes(rise, other):
    """Rows of a model with two shapes: the second one is worse throughout, and rises more."""
    worse = [
        {**row, "error": row["error"] + 0.05} for row in constants({"M3N": other}, fixed="C=9 ")
    ]
    return constants({"M3N": rise}, fixed="C=1 ") + worse


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


def pages(column, first, second, noise=0.2):
    """Rows of web-extraction; what scores lack to 100 %."""
    return [
        {"data": row["data"].replace("ocr", "web"), "fold": row["fold"], "model": row["model"],
         column: 1 - row["error"]}
        for row in ocr({"M3N": first, "CRF": second}, noise)
    ]  # fmt: skip


def of_pages(measure, column):
    """What is planted of a score of pages: a lead, likeness, and a lead that shrinks."""
    few = short(f"gain of {measure}", "better", "worse", where="few samples")("M3N", "CRF")
    alike = rule(f"difference of {measure}", first="M3N", second="CRF", within=1)
    more = lambda n, fold: 20 + 4 * (n == 100)  # noqa: E731
    fewer = lambda n, fold: 20 + 4 * (n == 250)  # noqa: E731
    return [
        (rule(measure, better="M3N", worse="CRF"),
         (pages(column, 20, 22), pages(column, 20, 20.1, noise=3), pages(column, 22, 20))),
        (alike, (pages(column, 20, 20.3), pages(column, 20, 21, noise=1), pages(column, 20, 22))),
        (few, (pages(column, 20, more), pages(column, 20, 20, noise=3), pages(column, 20, fewer))),
    ]  # fmt: skip


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
    *of_pages("average F1", "f1"),
    *of_pages("block instance accuracy", "block"),
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
     (pair(20, 22), None, pair(30, 20))),
    (rule("irrelevant weights", models="A", at_most=10),
     (noisy(SPARSE, 0.01), noisy(weights_of(1, 0.1), 0.05, 3), noisy(DENSE, 0.01))),
    (rule("irrelevant average weights", models="A", at_most=10),
     (noisy(SPARSE, 0.01), noisy(weights_of(1, 0.1), 0.05, 3), noisy(DENSE, 0.01))),
    (rule("smaller irrelevant average weights", smaller="A", larger="B"),
     (shown({"A": SPARSE, "B": DENSE}), shown({"A": DENSE, "B": DENSE}, noise=0.3),
      shown({"A": DENSE, "B": SPARSE}))),
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
     (noisy(-true_weights(), 0.01), noisy(true_weights(), 0.8), noisy(true_weights(), 0.01))),
    (IN_GROUPS,
     (some_groups((0.1, 1), (1, 0)), uneven(4), some_groups((1, 0), (0.1, 1)))),
    (IN_THREES,
     (some_groups((0.1, 1), (1, 0)), uneven(3), some_groups((1, 0), (0.1, 1)))),
]  # fmt: skip


def explained(model, column, values, data="iid-10-50"):
    return [{"data": data, "fold": fold, "model": model, column: value, "parameters": "lam=1"}
            for fold, value in enumerate(values)]  # fmt: skip


def flipped(rises):
    return [row for model, by_fold in rises.items() for rise in (np.zeros(10), np.array(by_fold))
            for row in explained(model, "error", 0.2 + rise,
                                 "iid-10-50-flipped-20" if rise.any() else "iid-10-50")]  # fmt: skip


def on_a_path(*kept):
    """Rows of two parts for each constant, with so many relevant and irrelevant weights in the worse."""
    return [{"data": "iid-10-50", "model": "A", "parameters": f"lam={lam}", "error": 0.1 * lam,
             "n_relevant": relevant, "n_irrelevant": irrelevant * part}
            for lam, (relevant, irrelevant) in enumerate(kept) for part in (0, 1)]  # fmt: skip


def on_a_map(*apart):
    """Rows of a map: B errs least on its middle line, where A ends so many points lower, by fold."""
    return [row for fold, points in enumerate(apart) for row in (
        {"data": "iid-10-50", "fold": fold, "model": "B", "errors": "0.4 0.2 0.3"},
        {"data": "ocr-100", "fold": fold, "model": "B", "errors": "0.1 0.2 0.3"},
        *({"data": "iid-10-50", "fold": fold, "model": "A", "parameters": f"strength={k}",
           "errors": f"0.9 {0.2 - points / 100 if k == 1 else 0.7}"} for k in range(3)))]  # fmt: skip


UP, ANY = 0.05 + 0.001 * np.arange(10), np.linspace(-0.05, 0.06, 10)
NOT_FAR, STEADY = (
    rule("learned distance", models="A", data="iid-10-50", at_most=50),
    rule("noise in labels", steady="A", shaken="B", data="iid-10-50"),
)
AS_NEAR = rule("further from the truth", model="A", than="B", data="iid-10-50", at_most=10)
DISCARDS = rule("irrelevant weights on a path", models="A", data="iid-10-50")
AT_THE_LIMIT = rule("difference at the limit", first="A", second="B", data="iid", within=1)
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
    (EitherOf((better("M3N", "CRF"), near("M3N", 20, 3))), pair(20, 18), DEPENDS),
    (near(scores.GENERATOR, 7, 1), iid({"M3N": 20}), HOLDS),
    (comparable("M3N", "CRF"), pair(18, 20), FAILS),
    (comparable("M3N", "CRF"), pair(lambda r, n: 20 + 2 * (n == 30) - 2 * (n == 150), 20), MIXED),
    (falls(("CRF", "M3N")), sizes_of(34, 35, 36, 40), FAILS),  # a steep fall hides no other model
    (gain("M3N", "CRF", "few relevant"), sparse_gain(4, relevant=(30,)), NOT_RUN),
    (sensitive("L1-CRF"), RANGES[1], HOLDS),
    (steadier("L2-CRF", "L1-CRF", factor=0.5), RANGES[1], HOLDS),
    (steadier("M3N", "L1-CRF", factor=0.5), RANGES[1], FAILS),
    (overfits("M3N"), OVERFIT, NOT_RUN),
    (overfits("CRF"), [{**row, "change_errors": "nan nan", "loss_errors": "nan"} for row in OVERFIT],
     NOT_RUN),
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
JUDGED += [
    (NOT_FAR, explained("A", "truth_cosine", [0.99, 0.98, 0.97]), HOLDS),
    (NOT_FAR, explained("A", "truth_cosine", [0.99, 0.8, 0.5]), MIXED),
    (NOT_FAR, explained("A", "truth_cosine", [0.3, 0.2, -0.5]), FAILS),
    *((AS_NEAR, [*explained("A", "truth_cosine", ours),
                 *explained("B", "truth_cosine", [0.9, 0.9, 0.9])], status)
      for ours, status in (([0.91, 0.9, 0.89], HOLDS), ([0.9, 0.8, 0.7], MIXED),
                           ([0.5, 0.4, 0.45], FAILS))),
    (STEADY, flipped({"A": UP, "B": 2 * UP}), HOLDS),
    (STEADY, flipped({"A": UP, "B": UP + ANY}), MIXED),
    (STEADY, flipped({"A": 2 * UP, "B": UP}), FAILS),
    (DISCARDS, on_a_path((3, 2), (2, 0), (0, 0)), HOLDS),
    (DISCARDS, on_a_path((3, 2), (2, 1), (0, 0)), FAILS),
    (AT_THE_LIMIT, on_a_map(0.3, 0.2, 0.1), HOLDS),
    (AT_THE_LIMIT, on_a_map(-1, 0.5, 2), MIXED),
    (AT_THE_LIMIT, on_a_map(2, 2.1, 2.2), FAILS),
    (AT_THE_LIMIT, on_a_map(2, 2.1), NOT_RUN),
    (AT_THE_LIMIT, on_a_map(1, 1, 1)[1::5], NOT_RUN),
    (better("M3N", "CRF", data="iid-10-50"), pair(lambda r, n: 20 + 9 * (n != 50), 22), HOLDS),
]  # fmt: skip


def profiled(parts, total=10.0, *, model="A", constants=(1.0,), beta=10.0, errors=(0.3,), left=0):
    """Rows of l1m3n-profile: a fold for each number of parts, errors by fold."""
    return [{"data": "chains-correlated", "fold": fold, "model": model, "constant": constant,
             "beta": beta, "total_seconds": total, "part_seconds": part / (k + 1),
             "irrelevant": mask_of(np.arange(140) < left + fold), "error": errors[fold % len(errors)]}
            for fold, part in enumerate(parts) for k, constant in enumerate(constants)]  # fmt: skip


def timed(name, **fields):
    return rule(name, data="chains-correlated", **fields)


SHARE = timed("share of time", models="A", above=50)
TAIL = timed("tail at the best step", models="A", at_most=3)
EASIER, GAIN = (timed(name, models="A") for name in ("easier projections", "gain by another step"))
COLD = timed("cold starts", warm="A", cold="B", at_most=0.585)
OTHER = profiled([1] * 3, beta=1.0, left=9)  # another step, which leaves more weights
JUDGED += [
    (SHARE, profiled([7, 7.2, 7.4]) + profiled([1] * 3, beta=1.0), HOLDS),
    (SHARE, profiled([2, 5, 8]), MIXED),
    (SHARE, profiled([1, 2, 3]), FAILS),
    (EASIER, profiled([6, 7, 8], constants=(1, 9)), HOLDS),
    (EASIER, profiled([6, 7, 8], constants=(9, 1)), FAILS),
    (EASIER, [row for fold, at in enumerate(((1, 9), (9, 1), (1, 9)))
              for row in profiled([6] * 3, constants=at) if row["fold"] == fold], MIXED),
    (COLD, profiled([1] * 3, 10) + profiled([1] * 3, 11, model="B"), HOLDS),
    (COLD, profiled([1] * 3, 10) + profiled([1] * 3, 30, model="B"), FAILS),
    (COLD, profiled([1] * 3, 10) + [{**row, "total_seconds": 10 + 9 * row["fold"]}
                                    for row in profiled([1] * 3, model="B")], MIXED),
    (TAIL, profiled([1] * 3, left=1) + OTHER, HOLDS),
    (TAIL, profiled([1] * 3, left=2) + OTHER, FAILS),
    (TAIL, profiled([1] * 3, left=2) + profiled([1] * 3, beta=1.0), HOLDS),
    (GAIN, profiled([1] * 3) + profiled([1] * 3, beta=1.0, errors=(0.2, 0.21, 0.19)), HOLDS),
    (GAIN, profiled([1] * 3) + profiled([1] * 3, beta=1.0, errors=(0.2, 0.31, 0.3)), MIXED),
    (GAIN, profiled([1] * 3) + profiled([1] * 3, beta=1.0, errors=(0.4, 0.41, 0.42)), FAILS),
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
    without_interval = {"range of times", "mean time", "longest time", "growth with the data",
                        "steadiness of times", "no zero weight", "unequal variances",
                        "number of weights", "iterations to meet",
                        "irrelevant weights on a path", "tail at the best step"}  # fmt: skip
    planted = defaultdict(set)
    for some, *_, status in [*SAID, *RULES, *IMAGE_RULES]:
        planted[getattr(some, "measure", type(some))].add(status)
    for name in (*MEASURES, AllOf, EitherOf):
        between = DEPENDS if name is EitherOf else MIXED
        expected = {HOLDS, FAILS} if name in without_interval else {HOLDS, between, FAILS}
        assert planted[name] - {NOT_RUN} == expected, name


def test_without_rows_or_with_too_few_nothing_is_tested():
    many = iid({"A": 20, "B": 22, "M3N": 20, "CRF": 22}, relevant=(10,))
    two = [{**row, "parameters": f"lam={k}"} for row in many for k in (1, 2) if row["fold"] < 2]
    for some, _ in PLANTED:
        for rows in ([], two):
            verdict = some.decide(rows)
            assert (verdict.status, verdict.numbers) == (NOT_RUN, ""), some
            assert verdict.note
        assert some.text()


def test_better_where_only_the_mean_says_so():
    rows, by_unit = pair(20, 20, noise=1.0), defaultdict(list)
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        unit = one["data"].split("-")[1], one["fold"]
        by_unit[unit].append(100 * (other["error"] - one["error"]))
    mean, low, high, _ = scores.mean_interval([np.mean(values) for values in by_unit.values()])
    assert low < 0 < high
    verdict, reverse = better("M3N", "CRF").decide(rows), better("CRF", "M3N").decide(rows)
    assert verdict.status == reverse.status == MIXED, "the data cannot tell"
    assert (verdict.effect, *verdict.interval) == pytest.approx((mean, low, high))
    assert (reverse.effect, *reverse.interval) == pytest.approx((-mean, -high, -low))
    assert "30 units" in verdict.note
    assert "of 9 settings" in verdict.note


TWO_SHAPES = shapes(3, 12)


def test_effects():
    for some, rows, effect, margin in (
        (gain("M3N", "CRF", "few samples"), advantage(0, 4), -4, 0.3),
        (steadier("L2-CRF", "L1-CRF"), RANGES[0], 9, 0.5),
        (steadier("L2-CRF", "L1-CRF"), RANGES[1], 9, 0.5),
        (sensitive("M3N"), TWO_SHAPES, 3, 0.5),
        (overfits("CRF"), OVERFIT, 6, 0.3),
        (overfits("CRF"), BOTH_KINDS, 5.3, 0.3),
        (larger("large", "small", "relevant"), SIZES, 2, 0.1),
        (larger("large", "small", "irrelevant"), SIZES, np.log2(50), 0.4),
    ):
        assert some.decide(rows).effect == pytest.approx(effect, abs=margin), some


def test_near_its_best_constant_a_model_is_judged_within_a_factor_of_3():
    crf, laplace = (around_best(name, up) for name, up in (("L1-CRF", 3.0), ("LapMEDN", 1.0)))
    one, other = "L1-CRF, fair", "LapMEDN, fair"
    verdict = sensitive(one, nearby=1).decide(crf)
    assert (verdict.status, verdict.effect) == (HOLDS, pytest.approx(3, abs=0.1))
    assert sensitive(one).decide(crf).status == FAILS, "5 points count over all constants"
    assert sensitive(other, nearby=1.5).decide(laplace).status == FAILS
    verdict = steadier(other, one).decide(crf + laplace)
    assert (verdict.status, verdict.effect) == (HOLDS, pytest.approx(2, abs=0.1))
    assert "within a factor of 3" in verdict.note
    for at in (0.1, 0.9):  # shares of the path: it ends too near to the best one
        lacking = sensitive(one).decide(around_best("L1-CRF", 3.0, at=at))
        assert lacking.status == NOT_RUN
        assert "does not reach 3 times its best constant on both sides" in lacking.note
    wordy = [{**row, "word_errors": "20 10"} for row in crf]
    assert sensitive(one, nearby=1).decide(wordy).effect == pytest.approx(3, abs=0.1)


def test_failed_fits_do_not_count_and_parts_of_a_data_set_are_averaged():
    row = {"model": "CRF", "failure": "E"}
    rows = [
        {**row, "data": f"correlated-10-{k}", "fold": fold, "error": 0.1 * fold, "failure": failure}
        for k in range(11)
        for fold, failure in ((0, None), (1, None), (9, "E"))
    ]
    [(setting, units)] = scores.scores_of(rows)["CRF"].items()
    assert setting == (0, 100.0)
    assert list(units) == [("correlated", number) for number in range(11)]
    assert list(units.values()) == pytest.approx([5.0] * 11)


def test_units_are_what_was_drawn_independently():
    names = {"iid-10-50": "iid-10", "iid-30-50": "iid-30", "ocr-100": "ocr", "ocr-250": "ocr",
             "web-5": "web", "templates-40": "templates-40",
             "chorales-plain": "chorales", "chorales-12 keys": "chorales", "bach": "bach"}  # fmt: skip
    for data, kind in names.items():
        rows = [{"data": data, "fold": 3, "model": "M3N", "error": 0.2}]
        [units] = scores.scores_of(rows)["M3N"].values()
        assert units == {(kind, 3): 20.0}


def test_draws_that_share_records_have_longer_intervals():
    """By the mean share, 24 %: sqrt(1/10 + 0.24 / 0.76) for sqrt(1/10)."""
    rows = pages("f1", 20, 22)
    alone = [
        {**row, "data": row["data"].replace("web", "ocr"), "error": 1 - row["f1"]} for row in rows
    ]
    shared = rule("average F1", better="M3N", worse="CRF").decide(rows)
    found = better("M3N", "CRF").decide(alone)
    assert shared.effect == pytest.approx(found.effect)
    times = np.sqrt(0.1 + (1.7 / 7) / (1 - 1.7 / 7)) / np.sqrt(0.1)
    assert np.ptp(shared.interval) == pytest.approx(times * np.ptp(found.interval))
    new = [{**row, "data": "templates-40", "f1": 0.0} for row in rows]
    assert rule("average F1", better="M3N", worse="CRF").decide(rows + new) == shared


def words(errors):
    """Rows of ocr that tell the wrong letters of each word type; a type is as hard for all models."""
    rng = np.random.default_rng(0)
    letters, hard = rng.integers(40, 120, 55), rng.uniform(0.5, 1.5, 55)
    rows = []
    for fold, (model, error) in itertools.product(range(10), errors.items()):
        wrong = rng.binomial(letters, error * hard)
        rows.append({"data": "ocr-100", "fold": fold, "model": model,
                     "error": wrong.sum() / letters.sum(),
                     "word_errors": " ".join(map(str, wrong))})  # fmt: skip
    return rows


def test_word_types_widen_the_intervals_of_letters():
    """Where a model is better on some types only, other types might have said something else."""
    rows = words({"M3N": 0.3 - 0.3 * (np.arange(55) < 3), "CRF": 0.3})
    without = [{**row, "word_errors": None} for row in rows]
    by_types, by_folds = (better("M3N", "CRF").decide(each) for each in (rows, without))
    assert by_types.effect == pytest.approx(by_folds.effect)
    assert (by_types.status, by_folds.status) == (MIXED, HOLDS)
    assert by_types == better("M3N", "CRF").decide(rows), "the draws are the same"
    half = [row if row["model"] == "M3N" else {**row, "word_errors": None} for row in rows]
    assert better("M3N", "CRF").decide(half).line == by_folds.line, "both models must tell"
    assert better("M3N", "CRF").decide(words({"M3N": 0.2, "CRF": 0.3})).status == HOLDS


def test_word_types_change_no_effect():
    planted = words({"M3N": 0.2, "CRF": 0.3})
    rows = [{**row, "data": "ocr-250"} for row in planted]
    rows += [{**row, "error": 1.2 * row["error"]} for row in planted]
    constants = [{**row, "data": "ocr-100", "parameters": f"lam={row['data'][4:]}"} for row in rows]
    for some, table in (
        (falls("M3N"), rows), (near("CRF", 33, 9), rows), (gain("M3N", "CRF", "few samples"), rows),
        (comparable("M3N", "CRF"), rows), (rule("fall of spread", models="CRF"), rows),
        (sensitive("CRF"), constants), (steadier("M3N", "CRF", factor=0.5), constants),
    ):  # fmt: skip
        by_types, by_folds = (
            some.decide(each) for each in (table, [{**row, "word_errors": None} for row in table])
        )
        assert by_types.effect == pytest.approx(by_folds.effect), some
        same = by_types.interval == pytest.approx(by_folds.interval)
        assert same == (some.measure == "fall of spread"), some


def test_only_parts_that_all_models_have_are_compared():
    """A part of the data that is hard says nothing of a model that does not train on it."""
    rows = [
        {"data": f"correlated-10-{k}", "fold": fold, "model": model, "error": 0.2 + 0.1 * (fold == 9)}
        for k in range(5) for fold in range(10) for model in ("M3N", "CRF")
        if model == "CRF" or fold < 4
    ]  # fmt: skip
    assert better("M3N", "CRF").decide(rows).effect == pytest.approx(0)
    assert near("CRF", 21, 1).decide(rows).effect == pytest.approx(21)


def test_the_bootstrap_knows_the_normal_case():
    rng = np.random.default_rng(0)
    lines, columns = rng.standard_normal((10, 1)), 2 * rng.standard_normal((1, 55))
    value, low, high, chance = scores.mean_interval((lines + columns) / 55)
    spread = np.sqrt(lines.var() / 10 + columns.var() / 55)
    assert value == pytest.approx(lines.mean() + columns.mean())
    assert (high - low) / (2 * 1.96 * spread) == pytest.approx(1, abs=0.05)
    assert chance(low) == pytest.approx(0.05, abs=1e-3)
    assert chance(value) == pytest.approx(1, abs=0.05)
    assert chance(value + 20 * spread) == 2 / 10_001


def test_unlike_the_truth_in_what_data_can_teach():
    truth, perfect = true_weights(), learned()
    noise = np.array([-1, 1])[:, None] * np.random.default_rng(0).standard_normal(100) / 4
    assert unlike("A").decide(noisy(perfect, 1e-3)).status == HOLDS, "as they are plotted"
    for weights in (perfect, truth, 0.1 * perfect):
        assert contrast_distance(weights, truth) < 1e-9
    assert 50 < contrast_distance(perfect + noise, truth) < 60
    assert contrast_distance(-truth, truth) == contrast_distance(0 * truth, truth) == 100


def test_true_weights_are_those_of_the_study(monkeypatch):
    made = splits.make_chain_crf
    few = {"n_samples": 1, "sampler": "exact"}
    monkeypatch.setattr(splits, "make_chain_crf", lambda **options: made(**{**options, **few}))
    assert np.array_equal(true_weights(3), splits.correlated_chains.__wrapped__(3).coef)


def test_intervals_are_students_and_welchs():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(8), rng.standard_normal(12) + 1
    expected = stats.ttest_1samp(a, 0).confidence_interval(0.95)
    found = scores.mean_interval(a)
    assert found[:3] == pytest.approx((a.mean(), expected.low, expected.high))
    for bound in (0.0, 1.0):
        assert found.chance(bound) == pytest.approx(stats.ttest_1samp(a, bound).pvalue)
    moments = [(x.mean(), x.std(ddof=1), len(x)) for x in (a, b)]
    expected = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    found = scores.difference_interval(*moments)
    assert found[1:3] == pytest.approx((expected.low, expected.high))
    assert found.chance(0) == pytest.approx(stats.ttest_ind(b, a, equal_var=False).pvalue)
    assert scores.difference_interval((1, 0, 5), (2, 0, 5))[:3] == (1, 1, 1)
    assert scores.difference_interval((1, 0.1, 2), (2, 0.1, 5)) is None
    one_out = scores.jackknife(lambda kept: a[kept].mean(), 8)
    assert one_out[:3] == pytest.approx(scores.mean_interval(a)[:3])
    assert scores.jackknife(lambda kept: 0.0, 2) is None


def test_parts_combine():
    for parts, status in (
        ((HOLDS, HOLDS), HOLDS), ((HOLDS, MIXED), MIXED), ((MIXED, MIXED), MIXED),
        ((HOLDS, FAILS), FAILS), ((MIXED, FAILS), FAILS), ((FAILS, FAILS), FAILS),
        ((HOLDS, DEPENDS), DEPENDS), ((DEPENDS, FAILS), FAILS), ((HOLDS, NOT_RUN), NOT_RUN),
    ):  # fmt: skip
        assert combine([Verdict(part, 1.0) for part in parts], ["x", "y"]).status == status
    near, far = Verdict(HOLDS, 2.0, slack=2.0, pair="a"), Verdict(HOLDS, 3.0, slack=3.0, pair="b")
    assert combine([far, near]).pair == "a"
    assert combine([replace(far, p=(0.04, 1.0)), replace(near, p=(0.01, 1.0))]).pair == "b"
    worst = combine([Verdict(FAILS, -3.0), Verdict(MIXED, 2.0), Verdict(HOLDS, 9.0)], ["a"] * 3)
    assert worst.effect == -3.0


def test_p_values_of_parts_combine():
    """All must hold, which needs no correction; one refutes the whole, which does."""
    parts = [Verdict(HOLDS, 1.0, p=(0.02, 1.0)), Verdict(FAILS, 1.0, p=(1.0, 0.03)),
             Verdict(HOLDS, 1.0, p=(0.01, 1.0)), Verdict(HOLDS, 1.0)]  # fmt: skip
    assert combine(parts).p == (1.0, pytest.approx(0.09))
    assert combine([parts[0], parts[2]]).p == (0.02, 1.0)
    assert combine([parts[3], parts[3]]).p is None
    assert parts[0].corrected(0.04) == parts[0]
    doubtful = parts[1].corrected(0.06)
    assert (doubtful.status, doubtful.effect) == (MIXED, 1.0)
    assert "'does not hold here', but p = 0.06 after Holm's correction" in doubtful.note


def test_holm():
    p = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    assert verdicts.holm(p) == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})
    assert verdicts.holm({"a": 0.7, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert verdicts.holm({}) == {}


def test_a_direction_and_its_size_are_two_things():
    slightly = better("M3N", "CRF", size={"at_most": 1})
    for gap, status, size in ((0.5, HOLDS, HOLDS), (3, HOLDS, FAILS), (-2, FAILS, "")):
        verdict = slightly.decide(pair(20, 20 + gap))
        assert (verdict.status, verdict.size) == (status, size and f"at most 1 point: {size}")
    assert slightly.text() == better("M3N", "CRF").text() + "; apart from that, by at most 1 point"
    assert slightly.renamed({"CRF": "L2-CRF"}).size.against == ("L2-CRF",)
    for size, said in (
        ({"most": 1}, "size has most; expected above, at_least and at_most"),
        ({}, "size has nothing"),
        ({"at_most": "1"}, "at_most = '1' is neither"),
    ):
        with pytest.raises(RuleError, match=said):
            better("M3N", "CRF", size=size)
    with pytest.raises(RuleError, match="measure 'difference of errors' has no direction"):
        comparable("M3N", "CRF", size={"at_most": 1})


def test_signs_of_differences_mean_nothing():
    for first, second in ((20, 20.5), (20.5, 20)):
        verdict = comparable("M3N", "CRF").decide(pair(first, second))
        assert verdict.effect == pytest.approx(0.5, abs=0.1)
        assert verdict.interval[0] < verdict.effect < verdict.interval[1]
        assert verdict.numbers.endswith("] points apart")
        assert "+" not in verdict.numbers
        assert verdict.pair == "M3N against CRF"


def test_only_an_interval_that_excludes_the_claim_refutes_it():
    for mean, status in ((2.0, HOLDS), (0.01, MIXED), (-0.01, MIXED), (-2.0, FAILS)):
        assert verdicts.place((mean - 1, mean + 1), above=0.0) == status
        assert verdicts.place((-mean - 1, -mean + 1), at_most=0.0) == status
        assert verdicts.place((4 - mean, 6 - mean), at_least=-3.0, at_most=5.0) == status
        assert verdicts.place((-4 + mean, -2 + mean), at_least=-3.0, at_most=5.0) == status
