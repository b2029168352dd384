r"""The study ``priors``: whether it matters which prior the weights have.

MEDN takes any prior whose log moment generating function is finite around 0.  Here all of the
gallery (`medn_edu.explorers.prior_gallery`) are stretched to the same variances and trained on the same
samples, at one price of the slack: what differs is the shape alone.  Near 0 every such function is
:math:`v\eta^2/2` (but for the exponential prior's mean), a normal prior's, so the shape can only
show where :math:`\eta` is large for the prior's width, :math:`\eta^2 v \gg 1`: at a high price, and
not at variances so small that the price cannot move the weights, or so large that they need not.

Its *excess kurtosis* puts a shape into one number: 0 for the normal prior, above for heavy tails, below
for bounded weights; it is the next term of :math:`\Lambda` and bends the shrinkage curve.

*The exponential prior* keeps all weights at 0 or above, which costs a chain nothing: scores of all
labels may be raised together, feature by feature and transition by transition, without changing which
labelling is best, so that any weights have a non-negative twin.  What it cannot do is to favour weights
of 0 when eta is 0, nor to treat the two signs alike.

*Data.*  Independent features of which 10 in 100 matter, whose weights were drawn standard normal:
with variance 0.1 the prior "spike and slab" (one tenth standard normal, else 0) is what drew them, the
transitions apart.  Groups of three like features, 30 of which matter.  Handwritten words.  Ten sets
each, 50 sequences or 100 words to train.  Each prior's variance is chosen on data apart: an eleventh
random CRF, or words of no other set, of which three blocks as large as the training sets train in
turn and all others test.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import Selected
from medn_edu.studies.kit.specs import FitSpec, Split, Study
from medn_edu.studies.kit.splits import FOLDS, correlated_split, iid_split, ocr_split
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.priors_means import (
    CHOSEN,
    CORRELATED,
    IID,
    OCR,
    PRICE,
    SHAPES,
    TITLES,
    VARIANCES,
)
from medn_edu.studies.priors_reports import (
    draw_prior_sparsity,
    draw_priors,
    report_priors,
)
from medn_edu.studies.shaped import ShapedMEDN

_N_BLOCKS = 3  # of the data apart, each of which trains in turn
_N_TRAIN = {IID: 50, CORRELATED: 50, OCR: 100}
_APART = {
    IID: ("iid-10-1000", 10),
    CORRELATED: ("correlated-20-10", -1),
    OCR: ("ocr-outside-100", 0),
}


# ---------------------------------------------------------------------------------------------
# models


_PLAIN = {
    shape: Model(shape, partial(ShapedMEDN, shape, C=PRICE), f"MEDN with the prior {shape}")
    for shape in SHAPES
}


def _chooser(shape: str, data: str) -> Model:
    """Return the model that chooses a prior's variance on data apart."""
    grid = (("variance", VARIANCES[data]),)
    blocks = (_N_TRAIN[data],) * _N_BLOCKS
    build = partial(Selected, shape, grid, _PLAIN, blocks=blocks)
    return Model(_chooser_name(shape, data), build, f"chooses the variance of {shape}")


def _chooser_name(shape: str, data: str) -> str:
    return f"{shape}{CHOSEN}{TITLES[data]}"


_CHOOSERS = {
    model.name: model for model in (_chooser(shape, data) for data in TITLES for shape in SHAPES)
}


# ---------------------------------------------------------------------------------------------
# fits


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    fits = [
        FitSpec(*_place(data, number), shape, (("variance", variance),), seed)
        for data in TITLES
        for number in (FOLDS[:1] if quick else FOLDS)
        for variance in VARIANCES[data][:: 2 if quick else 1]
        for shape in SHAPES
    ]
    choosers = [
        FitSpec(*_APART[data], _chooser_name(shape, data), seed=seed)
        for data in TITLES
        for shape in SHAPES
    ]
    return fits if quick else fits + choosers


def _place(data: str, number: int) -> tuple[str, int]:
    """Return data and fold of a set: the random CRFs have a number each, the words a fold."""
    return (f"{data}-{number}", 0) if data == CORRELATED else (data, number)


def _split(spec: FitSpec) -> Split:
    kinds = {"iid": iid_split, "correlated": correlated_split, "ocr": ocr_split}
    return kinds[spec.data.partition("-")[0]](spec)


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note the errors that a chooser has seen, at each of the variances."""
    del spec
    if not isinstance(model, Selected):
        return {}
    return {"grid_errors": " ".join(f"{error:.5g}" for error in model.errors_)}


PRIOR_STUDY = Study(
    "priors",
    "the gallery of priors, at equal variances",
    fits=_specs,
    fit=Trained(
        _split, models={**_PLAIN, **_CHOOSERS}, measure=_measure, measured=("grid_errors",)
    ),
    draw=draw_priors,
    report=report_priors,
    duration="quick 11 s, paper 5 min",
    more_figures={"sparsity": draw_prior_sparsity},
    place=12,
)
"""The study."""
