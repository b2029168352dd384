r"""The study ``ocr``: few OCR words to train on (MEDN Fig. 7, L1-M3N Fig. 4, LapM3N Fig. 4).

Of each of the ten folds N words are drawn, for N of 100, 150, 200 and 250, the smaller sets being parts
of the larger ones.  One fold trains, the other nine test, and so for each of the ten.  There are two
ways to have constants:

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
    for folds 1 and 2 (not at quick scale), along warm-started paths.  LapMEDN has ``C = 1`` and 20
    values of ``lam``, evenly spaced between 1 and 268.  All models are trained to their optima.

Only 55 different words occur in these letters, each of them in every fold, so a chain can learn them by
heart.  What that is worth is measured in the study ``ocr-full``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from medn_edu.estimators import L1M3N
from medn_edu.studies.em import l1_em
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.selection import TRIED, Selected
from medn_edu.studies.kit.specs import FitSpec, Study
from medn_edu.studies.kit.splits import FOLDS, N_OUTSIDE_BLOCKS, ocr_split
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.ocr_constants import (
    BETAS,
    EM_C,
    GRIDS,
    L1_CONSTANT,
    LAM,
    SIZES,
)
from medn_edu.studies.ocr_reports import MEMORY, draw_ocr, report_ocr
from medn_edu.studies.stopped import (
    STEPS,
    m3n_optimum,
    m3n_stopped,
    medn_optimum,
    medn_stopped,
)

# ---------------------------------------------------------------------------------------------
# models


def _l1_stopped(beta: float, radius: float, **parameters: Any) -> L1M3N:
    return L1M3N(radius=radius, beta=beta, **STEPS, **parameters)


def _l1_em(**parameters: Any) -> L1M3N:
    return l1_em(**{"C": EM_C, **parameters})


_PAPERS = {
    model.name: model
    for model in (
        Model("M3N sub-gradient", m3n_stopped, "C = 200 beta, stopped early"),
        Model("M3N at its optimum", m3n_optimum, "C = 200 beta"),
        Model("L1-M3N sub-gradient", _l1_stopped, "on a ball, stopped early"),
        Model("L1-M3N EM", _l1_em, "adaptive M3N, 15 quadratic programs"),
        Model("LapMEDN sub-gradient", medn_stopped, "C = 200 beta, stopped early"),
        Model("LapMEDN at its optimum", medn_optimum, "C = 200 beta"),
    )
}

_FIXED: dict[str, dict[str, float]] = {
    "epsilon-M3N": {"epsilon": 0.5},
    "LapMEDN variational": {"C": 1.0},
    "LapMEDN": {"C": 1.0},
}


def _chooser(name: str, n_words: int) -> Model:
    """Return the model that chooses another's constants on words outside."""
    options: dict[str, Any] = {"blocks": (n_words,) * N_OUTSIDE_BLOCKS, **_FIXED.get(name, {})}
    build = partial(Selected, name, GRIDS[name], MODELS, **options)
    return Model(_chooser_name(name, n_words), build, f"chooses the constants of {name}")


def _chooser_name(name: str, n_words: int) -> str:
    return f"{name}, chosen for {n_words} words"


_CHOOSERS = {model.name: model for model in (_chooser(name, n) for n in SIZES for name in GRIDS)}


# ---------------------------------------------------------------------------------------------
# fits

# At quick scale, with the choice of their constants, they would take too long.
_SLOW = (
    "L1-CRF", "epsilon-M3N", "L1-M3N", "L1-M3N EM", "LapMEDN variational", "LapMEDN at its optimum",
)  # fmt: skip


def _ocr_specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    sizes, folds = ((100,), range(3)) if quick else (SIZES, FOLDS)
    wanted = [name for name in ("CRF", *GRIDS, *_PAPERS) if not (quick and name in _SLOW)]
    choosers = {
        (name, n): FitSpec(f"ocr-outside-{n}", 0, _chooser_name(name, n), TRIED[scale], seed)
        for n in sizes
        for name in wanted
        if name in GRIDS
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
    beta, lam = ("beta", BETAS[n_words]), ("lam", LAM)
    return {
        "M3N sub-gradient": (beta,),
        "M3N at its optimum": (beta,),
        "L1-M3N sub-gradient": (beta, ("radius", L1_CONSTANT)),
        "L1-M3N EM": (("lam", L1_CONSTANT),),
        "LapMEDN sub-gradient": (beta, lam),
        "LapMEDN at its optimum": (beta, lam),
    }[name]


def grid_errors(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note the errors of a model that chooses its constants, for each point of the grid."""
    del spec
    if not isinstance(model, Selected):
        return {}
    return {"grid_errors": " ".join(f"{error:.5g}" for error in model.errors_)}


OCR_STUDY = Study(
    "ocr",
    "handwritten words: 100 to 250 train",
    fits=_ocr_specs,
    fit=Trained(
        ocr_split,
        models={**MODELS, **_PAPERS, **_CHOOSERS},
        measure=grid_errors,
        measured=("grid_errors",),
    ),
    draw=draw_ocr,
    report=report_ocr,
    remarks=MEMORY,
    duration="quick 16 s, paper 16 min",
    shows="MEDN 7, LapM3N 4",
    place=7,
)
"""The study of few words."""
