r"""The studies of the OCR letters: ``ocr``, few words to train on, and ``ocr-full``, all of them.

**Few words** (MEDN Fig. 7, L1-M3N Fig. 4, LapM3N Fig. 4).  Of each of the ten folds N words are drawn,
for N of 100, 150, 200 and 250, the smaller sets being parts of the larger ones.  One fold trains, the
other nine test, and so for each of the ten.  There are two ways to have constants:

(a) *The papers'*: ``lam = 36``, ``beta = 4`` for 100 and 150 words and 2 for more, ``C = 200 beta``.
    With so large a ``C`` what counts is how training ends: it is online sub-gradient descent with
    steps ``1 / (2 beta sqrt(t))``, and how many passes it makes is not told; here it makes 20.  *M3N
    sub-gradient* and *LapMEDN sub-gradient* (three quadratic programs, each by such a descent) are
    therefore no solutions of what they minimise; *M3N at its optimum* and *LapMEDN at its optimum*
    are, to a duality gap of 1 %.  L1-M3N is there as in each paper: by online projected sub-gradients
    on the ball ``|w|_1 <= 289`` (MEDN) and by EM with ``lam = 289`` (L1-M3N paper).  289 is the middle
    of the constants of MEDN Fig. 9, ``k^2`` with k from 13 to 21; the ``C`` of EM is 10, as in the
    study ``l1m3n-algorithms``.  The papers give no constants of the penalised CRFs.
(b) *Chosen* for each N and model, on words that are in none of these sets: those of each fold that are
    left when 250 have been drawn.  N of them, from fold 0, train and those of other folds test, then so
    for folds 1 and 2, along warm-started paths.  All models are trained to their optima.

**All words** (``ocr-full``), as in the later literature: folds 1-9 train and fold 0 tests, and the
reverse, with the constants of `medn_edu.experiments.models`.

Only 55 different words occur in these letters, each of them in every fold, so a chain can learn them by
heart.  What that is worth is measured in ``ocr-full``: of the different words a fifth is kept from
training, and their images test; beside it the same test with as many training words, of all kinds.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from medn_edu.estimators import L1M3N, M3N, LaplaceMEDN
from medn_edu.experiments.models import MODELS, Model
from medn_edu.experiments.selection import Grid, Selected
from medn_edu.experiments.specs import FitSpec, Study
from medn_edu.experiments.splits import FOLDS, N_OUTSIDE_BLOCKS, N_UNSEEN_PARTS, ocr_split
from medn_edu.experiments.studies.ocr_reports import (
    draw_ocr,
    draw_ocr_full,
)

__all__ = ["OCR_FULL_STUDY", "OCR_STUDY"]

_SIZES = (100, 150, 200, 250)
_BETAS = {100: 4.0, 150: 4.0, 200: 2.0, 250: 2.0}
_LAM = 36.0
_L1_CONSTANT = 289.0
_EM_C = 10.0
_SMALL = 1e-4  # variances tau that EM drops
_PASSES = 20
_MEMORY = (
    "only 55 different words occur in these data, each in every fold, so that a chain can learn "
    "them by heart; errors on new words are larger, as ocr-full shows."
)


# ---------------------------------------------------------------------------------------------
# models

# Nothing but the number of passes ends sub-gradient descent.
_STEPS: dict[str, Any] = {
    "solver": "online_subgradient",
    "tol": 1e-12,
    "max_iter": _PASSES,
    "verbose": 0,
}


def _m3n_stopped(beta: float, **parameters: Any) -> M3N:
    return M3N(C=200 * beta, beta=beta, **_STEPS, **parameters)


def _medn_stopped(beta: float, lam: float, **parameters: Any) -> LaplaceMEDN:
    options = {"method": "variational", "n_iterations": 3, **_STEPS, **parameters}
    return LaplaceMEDN(C=200 * beta, lam=lam, beta=beta, **options)


def _l1_stopped(beta: float, radius: float, **parameters: Any) -> L1M3N:
    return L1M3N(radius=radius, beta=beta, **_STEPS, **parameters)


def _l1_em(lam: float, **parameters: Any) -> L1M3N:
    # The paper's rule for the dead, of tau; the square of its beta is lam tau.
    threshold = math.sqrt(_SMALL * lam)
    options = {"C": _EM_C, "solver": "em", "threshold": threshold, "tol": 1e-2, **parameters}
    return L1M3N(lam=lam, verbose=0, **options)


def _m3n_optimum(beta: float, **parameters: Any) -> M3N:
    return M3N(C=200 * beta, tol=1e-2, verbose=0, **parameters)


def _medn_optimum(beta: float, lam: float, **parameters: Any) -> LaplaceMEDN:
    return LaplaceMEDN(C=200 * beta, lam=lam, tol=1e-2, verbose=0, **parameters)


_PAPERS = {
    model.name: model
    for model in (
        Model("M3N sub-gradient", _m3n_stopped, "C = 200 beta, stopped early"),
        Model("M3N at its optimum", _m3n_optimum, "C = 200 beta"),
        Model("L1-M3N sub-gradient", _l1_stopped, "on a ball, stopped early"),
        Model("L1-M3N EM", _l1_em, "adaptive M3N, 15 quadratic programs"),
        Model("LapMEDN sub-gradient", _medn_stopped, "C = 200 beta, stopped early"),
        Model("LapMEDN at its optimum", _medn_optimum, "C = 200 beta"),
    )
}

_PENALTIES: Grid = (("lam", (16.0, 9.0, 4.0, 1.0, 0.1, 0.01)),)
_PRICES: Grid = (("C", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)),)
_LAMS = tuple(float(round(268 - 267 * k / 19)) for k in range(20))
_GRIDS: dict[str, Grid] = {
    "L2-CRF": _PENALTIES,
    "L1-CRF": _PENALTIES,
    "M3N": _PRICES,
    "epsilon-M3N": _PRICES,
    "L1-M3N": (("C", (0.1, 0.15, 0.2, 0.3)),),
    "LapMEDN variational": (("lam", _LAMS),),
    "LapMEDN": (("lam", _LAMS),),
}
_FIXED: dict[str, dict[str, float]] = {
    "epsilon-M3N": {"epsilon": 0.5},
    "LapMEDN variational": {"C": 1.0},
    "LapMEDN": {"C": 1.0},
}


def _chooser(name: str, n_words: int) -> Model:
    """Return the model that chooses another's constants on words outside."""
    blocks = (n_words,) * N_OUTSIDE_BLOCKS
    build = partial(Selected, name, _GRIDS[name], MODELS, blocks=blocks, **_FIXED.get(name, {}))
    return Model(_chooser_name(name, n_words), build, f"chooses the constants of {name}")


def _chooser_name(name: str, n_words: int) -> str:
    return f"{name}, chosen for {n_words} words"


_CHOOSERS = {model.name: model for model in (_chooser(name, n) for n in _SIZES for name in _GRIDS)}


# ---------------------------------------------------------------------------------------------
# fits

_SLOW = ("L1-M3N", "L1-M3N EM", "LapMEDN variational", "LapMEDN at its optimum")


def _ocr_specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    sizes, folds = ((100, 250), range(2)) if quick else (_SIZES, FOLDS)
    wanted = [name for name in ("CRF", *_GRIDS, *_PAPERS) if not (quick and name in _SLOW)]
    choosers = {
        (name, n): FitSpec(f"ocr-outside-{n}", 0, _chooser_name(name, n), seed=seed)
        for n in sizes
        for name in wanted
        if name in _GRIDS
    }

    def fit(n_words: int, fold: int, name: str) -> FitSpec:
        by = choosers.get((name, n_words))
        parameters = _constants(name, n_words)
        return FitSpec(f"ocr-{n_words}", fold, name, parameters, seed, by.key if by else "")

    fits = [fit(n, fold, name) for n in sizes for fold in folds for name in wanted]
    return [*choosers.values(), *fits]


def _constants(name: str, n_words: int) -> tuple[tuple[str, float], ...]:
    """Return the constants that are not chosen."""
    if name not in _PAPERS:
        return tuple(_FIXED.get(name, {}).items())
    beta, lam = ("beta", _BETAS[n_words]), ("lam", _LAM)
    return {
        "M3N sub-gradient": (beta,),
        "M3N at its optimum": (beta,),
        "L1-M3N sub-gradient": (beta, ("radius", _L1_CONSTANT)),
        "L1-M3N EM": (("lam", _L1_CONSTANT),),
        "LapMEDN sub-gradient": (beta, lam),
        "LapMEDN at its optimum": (beta, lam),
    }[name]


_UNSEEN_MODELS = ("per letter", "L2-CRF", "M3N", "LapMEDN")


def _ocr_full_specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    held_out = [
        FitSpec(data, part, model, MODELS[model].parameters, seed)
        for part in range(2 if quick else N_UNSEEN_PARTS)
        for data in ("ocr-seen", "ocr-unseen")
        for model in _UNSEEN_MODELS
    ]
    whole = [
        FitSpec(data, 0, model, MODELS[model].parameters, seed)
        for data in ("ocr-one", "ocr-rest")
        for model in MODELS
        if not (quick and data == "ocr-rest" and model in _LONG)
    ]
    return [*held_out, *whole]


_LONG = ("L1-M3N", "LapMEDN variational", "LapMEDN")


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note the errors on the words outside, for each point of the grid."""
    del spec
    if not isinstance(model, Selected):
        return {}
    return {"grid_errors": " ".join(f"{error:.5g}" for error in model.errors_)}


OCR_STUDY = Study(
    "ocr",
    "handwritten words: 100 to 250 of one fold train",
    _ocr_specs,
    ocr_split,
    draw_ocr,
    _MEMORY,
    "quick 20 s, paper 8 min",
    models={**MODELS, **_PAPERS, **_CHOOSERS},
    measured=("grid_errors",),
    measure=_measure,
)
"""The study of few words."""

OCR_FULL_STUDY = Study(
    "ocr-full",
    "all handwritten words: folds 1-9 train, 0 tests; reverse",
    _ocr_full_specs,
    ocr_split,
    draw_ocr_full,
    _MEMORY,
    "quick 25 s, paper 1 min",
)
"""The study of all words, and of words that were not there in training."""
