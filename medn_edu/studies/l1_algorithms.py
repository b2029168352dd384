r"""The study ``l1m3n-algorithms``: L1-M3N by four algorithms (L1-M3N paper, Table 1, Fig. 5 and 6).

The paper's three, one of them in two ways, and ours:

=======================  ===========================================  ============================
``sub-gradient``         projected onto the L1 ball, in batch         radius of the ball
``online sub-gradient``  the same, a step after each sequence         radius of the ball
``cutting plane``        linear programs over working sets            ``C``, as in P1
``EM``                   quadratic programs, variances adapt          ``lam``, with ``C`` fixed
``path``                 exact Laplace MEDNs, their lambda growing    ``C``, as in P1
=======================  ===========================================  ============================

*Synthetic set 1* is one data set of `correlated_chains`: 1,000 sequences, of whose 100 features 30
matter; in each of ten folds 100 sequences train and the other 900 test, and the constants are those of
Table 1.  *OCR100* is 100 words of each fold, one fold to train and nine to test.

Table 1 counts the *non-zero average weights*: weights that are not zero in the average over the folds.
Signs might cancel, but hardly to zero in floating point, so these are the weights that are not zero in
some fold.  That is why each fit notes which of its weights are zero.

What the paper leaves open, and what makes its Table 1 come out here:

* Its ``C`` is the price of the *mean* slack.  As price of the sum, as P1 has it, even the smallest
  leaves few of the irrelevant weights at zero.  Divided by the 100 training sequences it is near the
  cutting planes' row of Table 1 at both ends, but not between: the path counts 61 irrelevant weights
  and 111 in all at ``C = 0.02``, and 114 and 167 at 0.04, where the paper has 103 and 145, and 134 and
  184.
* The ``C`` of EM is 10 (1,000 on the mean), and "we set tau (or beta) to be zero if it is less than
  1e-4" is said of tau, whose mean is ``1 / lam``, a few times 1e-4.  With beta in its place fifteen
  iterations are too few: most irrelevant weights are small by then, not dead.  Both were chosen
  because they match Table 1, which is no evidence for them; with large ``lam`` they do not match well.
* The sub-gradient's tail of small weights is there when steps are taken online.  In batch, projecting
  the mean of all sequences' sub-gradients, it is not.  Steps are ``1 / (2 beta sqrt(t))`` with ``beta``
  1 and 200 passes in batch, 10 and 20 passes online.
* OCR100's constants are ours, around the best error; cutting planes would take minutes at larger
  ones.  They end after 60 rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from medn_edu.estimators import L1M3N
from medn_edu.studies.em import SMALL, l1_em
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.specs import FitSpec, Split, Study
from medn_edu.studies.kit.splits import FOLDS, chain_split, ocr_split
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.l1_algorithms_reports import draw_l1, report_l1
from medn_edu.studies.l1_table import (
    ALGORITHMS,
    CHAINS,
    EM_C,
    OCR,
    ROUNDS,
    TITLES,
    Algorithm,
    mask_of,
)

# ---------------------------------------------------------------------------------------------
# models


def _path(**parameters: Any) -> L1M3N:
    return L1M3N(solver="path", verbose=0, **{"tol": 1e-3, **parameters})


def _cutting_plane(**parameters: Any) -> L1M3N:
    return L1M3N(solver="cutting_plane", tol=1e-3, max_iter=ROUNDS, verbose=0, **parameters)


# No gap ends the sub-gradient methods: they make their steps, as in the paper.
def _batch(**parameters: Any) -> L1M3N:
    steps: dict[str, Any] = {"beta": 1.0, "max_iter": 200, "tol": 1e-12}
    return L1M3N(solver="subgradient", verbose=0, **steps, **parameters)


def _online(**parameters: Any) -> L1M3N:
    steps: dict[str, Any] = {"beta": 10.0, "max_iter": 20, "tol": 1e-12}
    return L1M3N(solver="online_subgradient", verbose=0, **steps, **parameters)


def _em(**parameters: Any) -> L1M3N:
    return l1_em(C=EM_C, **parameters)


_MODELS = {
    model.name: model
    for model in (
        Model("sub-gradient", _batch, "projected sub-gradients on the L1 ball, in batch"),
        Model("online sub-gradient", _online, "the same, a step after each sequence"),
        Model("cutting plane", _cutting_plane, "linear programs over working sets"),
        Model("EM", _em, "adaptive M3N, 15 quadratic programs"),
        Model("path", _path, "exact Laplace MEDNs with growing lambda"),
    )
}


# ---------------------------------------------------------------------------------------------
# fits


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    folds = {CHAINS: range(2), OCR: range(1)} if quick else dict.fromkeys(TITLES, FOLDS)
    return [
        FitSpec(data, fold, name, _parameters(algorithm, data, constant), seed)
        for data in TITLES
        for name, algorithm in ALGORITHMS.items()
        for constant in algorithm.constants[data][_some(data, algorithm) if quick else slice(None)]
        for fold in folds[data]
    ]


def _some(data: str, algorithm: Algorithm) -> slice:
    """Return which constants are tried at quick scale: no long fits."""
    if data == CHAINS:
        return slice(0, 7, 3)
    if algorithm.name == "cutting plane":
        return slice(0, 0)
    return slice(0, 1) if algorithm.parameter == "C" else slice(2, 3)


def _parameters(algorithm: Algorithm, data: str, constant: float) -> tuple[tuple[str, float], ...]:
    varied = (algorithm.parameter, constant)
    if algorithm.name == "path" and data == OCR:  # closer would take minutes
        return (varied, ("tol", 1e-2))
    return (varied,)


def _split(spec: FitSpec) -> Split:
    return chain_split(spec) if spec.data == CHAINS else ocr_split(spec)


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note how large the weights are together, and which of the features' weights are not zero."""
    found: dict[str, Any] = {"l1_norm": float(np.abs(model.weights_).sum())}
    if spec.data == CHAINS:
        sizes = np.abs(model.coef_).ravel()
        found["nonzero"], found["not_small"] = mask_of(sizes > 0), mask_of(sizes >= SMALL)
    return found


L1_STUDY = Study(
    "l1m3n-algorithms",
    "L1-M3N by four algorithms: error and time",
    fits=_specs,
    fit=Trained(
        _split, models=_MODELS, measure=_measure, measured=("l1_norm", "nonzero", "not_small")
    ),
    draw=draw_l1,
    report=report_l1,
    duration="quick 13 s, paper 10 min",
    shows="L1-M3N 5-6",
    place=13,
)
"""The study."""
