"""Planted fits of the study of algorithms, as they are published: one row a fold."""

from __future__ import annotations

import zlib

import numpy as np

from medn_edu.studies.claims import algorithm_costs as costs
from medn_edu.studies.claims import algorithms as alg
from medn_edu.studies.claims.verdicts import FAILS, HOLDS, MIXED
from medn_edu.studies.l1_table import ALGORITHMS, CHAINS, OCR, mask_of

FOLDS = 10
DEVIATION = 0.005  # of errors over folds
PLANES, ONLINE, EM, PATH = "cutting plane", "online sub-gradient", "EM", "path"


def mask(irrelevant, total):
    """A cell of weights that are not zero: so many irrelevant ones, and so many in all."""
    flags = np.zeros((2, 100), dtype=bool)
    relevant, others = np.zeros(60, dtype=bool), np.zeros(140, dtype=bool)
    relevant[: total - irrelevant], others[:irrelevant] = True, True
    flags[:, :30], flags[:, 30:] = relevant.reshape(2, 30), others.reshape(2, 70)
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
"""A table of which rules say all that they can."""

RULES = [
    (alg.CountsAsPrinted(PLANES), HOLDS),
    (alg.CountsAsPrinted(EM), MIXED),
    (alg.CountsAsPrinted(ONLINE), FAILS),
    (alg.SimilarCounts(within=120.0), HOLDS),
    (alg.SimilarCounts(within=60.0), MIXED),
    (alg.SimilarCounts(), FAILS),
    (alg.KeepsTail(ONLINE), HOLDS),
    (alg.KeepsTail(PATH), MIXED),
    (alg.KeepsTail(PLANES), FAILS),
    (alg.Truncation(PLANES), HOLDS),
    (alg.Truncation(ONLINE), FAILS),
    (alg.Truncation(PATH), MIXED),
    (alg.CanDiscard((PLANES,)), HOLDS),
    (alg.CanDiscard((PATH,)), MIXED),
    (alg.CanDiscard((ONLINE,)), FAILS),
    (costs.BestError(EM, CHAINS, 7, 1), HOLDS),
    (costs.BestError(EM, CHAINS, 7, 0.5), MIXED),
    (costs.BestError(EM, CHAINS, 45, 2), FAILS),
    (costs.BestIsBetter(EM, (ONLINE,), CHAINS), MIXED),
    (costs.BestIsBetter(ONLINE, (EM,), CHAINS), MIXED),
    (costs.BestIsBetter(ONLINE, (EM,), OCR), HOLDS),
    (costs.BestIsBetter(EM, (ONLINE,), OCR), FAILS),
    (costs.BestIsBetter(ONLINE, (EM,), OCR, at_most=1.0), FAILS),
    (costs.BestIsComparable((EM, ONLINE, PLANES), CHAINS), HOLDS),
    (costs.BestIsComparable((EM, ONLINE), CHAINS, margin=0.1), MIXED),
    (costs.BestIsComparable((EM, ONLINE), OCR), FAILS),
    (costs.ErrorRange((PLANES, ONLINE), CHAINS, more_than=5.0), HOLDS),
    (costs.ErrorRange((EM, PLANES), CHAINS, more_than=5.0), FAILS),
    (costs.ErrorRange((EM,), CHAINS, at_most=0.5), MIXED),
    (costs.ErrorRange((EM,), CHAINS, at_most=2.0), HOLDS),
    (costs.ErrorRange((PLANES,), CHAINS, at_most=2.0), FAILS),
    (costs.RangeSmaller(EM, (PLANES, ONLINE), CHAINS), HOLDS),
    (costs.RangeSmaller(PLANES, (EM,), CHAINS), FAILS),
    (costs.RangeSmaller(PLANES, (ONLINE,), OCR), MIXED),
    (costs.RangeSmaller(EM, (PLANES, ONLINE), CHAINS, "time"), HOLDS),
    (costs.RangeSmaller(ONLINE, (EM, PLANES), CHAINS, "time"), FAILS),
    (costs.TimeRange(ONLINE, CHAINS, more_than=2.0), HOLDS),
    (costs.TimeRange(EM, CHAINS, more_than=2.0), FAILS),
    (costs.TimeRange(EM, CHAINS, at_most=2.0), HOLDS),
    (costs.TimeTrend(PLANES, CHAINS, growing=True, factor=10), HOLDS),
    (costs.TimeTrend(PLANES, CHAINS, growing=True, factor=100), MIXED),
    (costs.TimeTrend(PLANES, CHAINS, growing=False, factor=2), FAILS),
    (costs.TimeTrend(ONLINE, CHAINS, growing=False, factor=2), HOLDS),
    (costs.Quicker((EM,), (PLANES, ONLINE), CHAINS), HOLDS),
    (costs.Quicker((ONLINE,), (PLANES, EM), CHAINS), FAILS),
    (costs.Quicker((PLANES,), (EM,), CHAINS), FAILS),
    (costs.Quicker((PLANES,), (EM,), CHAINS, per=0.05), HOLDS),
    (costs.Quicker((EM,), (PLANES,), CHAINS, factor=10, longest=True), HOLDS),
    (costs.ScalesWorse(ONLINE, (PLANES,)), HOLDS),
    (costs.ScalesWorse(ONLINE, (PLANES,), factor=30), FAILS),
    (costs.ScalesWorse(ONLINE, (PLANES, EM)), FAILS),
    (costs.Takes(PLANES, CHAINS, 0.05), HOLDS),
    (costs.Takes(PLANES, CHAINS, 1.0), FAILS),
]
"""Rules, each with what it says of the table."""
