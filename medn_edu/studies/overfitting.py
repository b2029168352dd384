r"""The study ``ocr-overfitting``: random fields read worse the longer they train (MEDN Fig. 8).

100 words of one fold train, 100 of each other fold test.  While a conditional random field is trained,
its weights are noted at 22 *change ratios*, where the log-likelihood first changes by no more than a
share of itself in one pass, and at 22 values of the *negative log-likelihood*, where that is first
reached; both lists are the paper's.  Afterwards the words of the test part are read with each of these
weights: what a training would have given that had been stopped there.  The test part has no say in
training.

What the paper leaves open
--------------------------
* The constants.  The L2-CRF has the one of `medn_edu.studies.kit.models`, 3, where other studies do not
  choose it for themselves; the L1-CRF has 1 (likewise) and, as the other end, 0.0001, the smallest
  that the paper tries elsewhere.  A penalty keeps the likelihood
  from 1, so these curves end where the optimum is.
* What a change is relative to.  The words are separable: without a penalty the loss goes to 0, by a
  good share of itself in every pass, and its relative change would never be small.  So a loss below 1
  counts as 1, which is how the L-BFGS-B program judges it.  With a penalty the change is that of the
  penalised log-likelihood, which is what training raises.
* The optimiser.  The paper's is a quasi-Newton method, for the L1-CRF that of Andrew and Gao (2007).

Where there is no optimum, the optimiser decides where one goes
---------------------------------------------------------------
Many weights label all training words without error, and how one gets there is a choice.  Plain L-BFGS
starts down the gradient, and steps stay in the span of the gradients it has seen: weights remain small
in the Euclidean norm, as if there were an L2 penalty.  The L-BFGS of this package divides by the
curvature, and directions in pixel space along which the training words hardly differ bend the loss
little, so they get large weights, although little speaks for them.  Of the squared weights of pixels
without a penalty, when the negative log-likelihood is 1, about 80 % lie in that half of the directions
(eigenvectors of the second moments) of which the training words have least, against 12-17 % with plain
L-BFGS (folds 0 and 1); leaving them out takes 6 points off the error.  Transitions play no part in it.
That is why `medn_edu.CRF` does not use the curvature without a penalty.  Here each model is trained in
two ways:

===========================  ==============================================================
``CRF``, ``L2-CRF``          plain L-BFGS (SciPy's L-BFGS-B without bounds, 10 pairs)
``L1-CRF``                   OWL-QN (`medn_edu.solvers.owlqn`)
the same, *preconditioned*   L-BFGS and proximal L-BFGS upon a guess of the curvature, with
                             which `medn_edu.CRF` trains where there is a penalty
===========================  ==============================================================
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.samples import pack
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.specs import FitSpec, Study
from medn_edu.studies.kit.splits import FOLDS, ocr_split
from medn_edu.studies.kit.trained import Trained, label_error
from medn_edu.studies.marks import Mark, PlainCRF, TracedCRF
from medn_edu.studies.overfitting_reports import (
    FAINT,
    KINDS,
    PRECONDITIONED,
    draw_overfitting,
    report_overfitting,
)

_DATA = "ocr-100"


# ---------------------------------------------------------------------------------------------
# models


def _models() -> dict[str, Model]:
    ways = {"": PlainCRF, PRECONDITIONED: TracedCRF}
    return {
        name + suffix: Model(name + suffix, _Builder(made, penalty), MODELS[name].summary)
        for suffix, made in ways.items()
        for name, penalty in KINDS.items()
    }


@dataclass(frozen=True)
class _Builder:
    """Makes estimators; unlike a function within a function it can be sent to workers."""

    made: type[TracedCRF]
    penalty: str | None

    def __call__(self, **parameters: Any) -> TracedCRF:
        return self.made(penalty=self.penalty, max_iter=2000, verbose=0, **parameters)


_MODELS = _models()
_L1_CONSTANTS = (MODELS["L1-CRF"].parameters, (("lam", FAINT),))


# ---------------------------------------------------------------------------------------------
# fits


def _specs(scale: str, seed: int) -> list[FitSpec]:
    folds = range(1) if scale == "quick" else FOLDS
    fits = [
        (name + suffix, parameters)
        for suffix in ("", PRECONDITIONED)
        for name, constants in (
            ("CRF", ((),)),
            ("L2-CRF", (MODELS["L2-CRF"].parameters,)),
            ("L1-CRF", _L1_CONSTANTS),
        )
        for parameters in constants
    ]
    return [FitSpec(_DATA, fold, *fit, seed) for fit in fits for fold in folds]


def _measure(spec: FitSpec, model: TracedCRF) -> dict[str, Any]:
    """Read the test part with the weights of all marks."""
    data = ocr_split(spec)
    test = pack(data.X_test)
    reader = copy.copy(model)
    known: dict[int, float] = {}

    def error(mark: Mark | None) -> float:
        if mark is None:
            return np.nan
        if mark.n_passes not in known:
            reader.coef_, reader.transitions_ = model._weight_shape.split(mark.weights)
            known[mark.n_passes] = label_error(reader.predict(test), data.y_test)
        return known[mark.n_passes]

    found: dict[str, Any] = {}
    for axis, marks in (("change", model.at_change_), ("loss", model.at_loss_)):
        found[f"{axis}_errors"] = _numbers(error(mark) for mark in marks)
        found[f"{axis}_passes"] = _numbers(np.nan if m is None else m.n_passes for m in marks)
    return found


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.5g}" for value in values)


OVERFITTING_STUDY = Study(
    "ocr-overfitting",
    "test error of CRFs along their training",
    fits=_specs,
    fit=Trained(
        ocr_split,
        models=_MODELS,
        measure=_measure,
        measured=("change_errors", "change_passes", "loss_errors", "loss_passes"),
    ),
    draw=draw_overfitting,
    report=report_overfitting,
    remarks="only 55 different words occur in these data, each in every fold.",
    duration="quick 5 s, paper 30 s",
    shows="MEDN 8",
    place=9,
)
"""The study."""
