"""Planted fits of the study of algorithms, as they are published: one row a fold."""

import zlib

import numpy as np

from medn_edu.studies.claims.rules import rule_of
from medn_edu.studies.claims.verdicts import FAILS, HOLDS, MIXED
from medn_edu.studies.l1_table import ALGORITHMS, CHAINS, OCR, mask_of


def rule(measure, **fields):
    """A rule, as it is read from an entry."""
    return rule_of({"measure": measure, **fields})


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
    *((rule("best error", algorithm=EM, data=CHAINS, near=value, within=within), status)
      for value, within, status in ((7, 1, HOLDS), (7, 0.5, MIXED), (45, 2, FAILS))),
    (best(CHAINS, EM, ONLINE), MIXED),
    (best(CHAINS, ONLINE, EM), MIXED),
    (best(OCR, ONLINE, EM), HOLDS),
    (best(OCR, EM, ONLINE), FAILS),
    (best(OCR, ONLINE, EM, at_most=1), FAILS),
    (alike(CHAINS, EM, (ONLINE, PLANES), 1), HOLDS),
    (alike(CHAINS, EM, ONLINE, 0.1), MIXED),
    (alike(OCR, EM, ONLINE, 1), FAILS),
    (spans(CHAINS, PLANES, ONLINE, above=5), HOLDS),
    (spans(CHAINS, EM, PLANES, above=5), FAILS),
    (spans(CHAINS, EM, at_most=0.5), MIXED),
    (spans(CHAINS, EM, at_most=2), HOLDS),
    (spans(CHAINS, PLANES, at_most=2), FAILS),
    (steadier(CHAINS, EM, (PLANES, ONLINE)), HOLDS),
    (steadier(CHAINS, PLANES, EM), FAILS),
    (steadier(OCR, PLANES, ONLINE), MIXED),
    (steadier(CHAINS, EM, (PLANES, ONLINE), "times"), HOLDS),
    (steadier(CHAINS, ONLINE, (EM, PLANES), "times"), FAILS),
    (rule("range of times", algorithm=ONLINE, data=CHAINS, above=2), HOLDS),
    (rule("range of times", algorithm=EM, data=CHAINS, above=2), FAILS),
    (rule("range of times", algorithm=EM, data=CHAINS, at_most=2), HOLDS),
    (rule("growth with the constant", algorithm=PLANES, data=CHAINS, factor=10), HOLDS),
    (rule("growth with the constant", algorithm=PLANES, data=CHAINS, factor=100), MIXED),
    (rule("growth with the constant", algorithm=ONLINE, data=CHAINS, factor=2), FAILS),
    (rule("fall with the constant", algorithm=PLANES, data=CHAINS, factor=2), FAILS),
    (rule("fall with the constant", algorithm=ONLINE, data=CHAINS, factor=5), MIXED),
    (rule("fall with the constant", algorithm=ONLINE, data=CHAINS, factor=2), HOLDS),
    (quicker(CHAINS, EM, (PLANES, ONLINE)), HOLDS),
    (quicker(CHAINS, ONLINE, (PLANES, EM)), FAILS),
    (quicker(CHAINS, PLANES, EM), FAILS),
    (quicker(CHAINS, PLANES, EM, parts=20), HOLDS),
    (quicker(CHAINS, EM, PLANES, "longest", above=10), HOLDS),
    (quicker(CHAINS, EM, PLANES, "longest", above=20), FAILS),
    (scales_worse(ONLINE, PLANES), HOLDS),
    (scales_worse(ONLINE, PLANES, 30), FAILS),
    (scales_worse(ONLINE, (PLANES, EM)), FAILS),
    (rule("hours", algorithm=PLANES, data=CHAINS, at_least=0.05), HOLDS),
    (rule("hours", algorithm=PLANES, data=CHAINS, at_least=1), FAILS),
]  # fmt: skip
"""Rules, each with what it says of the table."""
