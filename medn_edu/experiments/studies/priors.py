r"""The study ``priors``: whether it matters which prior the weights have.

MEDN takes any prior whose log moment generating function is finite around 0.  Here all of the gallery
(`medn_edu.plots.prior_gallery`) are stretched to the same variances and trained on the same samples, at
one price of the slack: what differs is the shape alone.  Near 0 every such function is
:math:`v\eta^2/2` (but for the exponential prior's mean), a normal prior's, so the shape can only show
where the evidence is strong for the prior's width, :math:`\eta^2 v \gg 1`: at a high price, and not at
variances so small that the price cannot move the weights, or so large that they need not.

Its *excess kurtosis* puts a shape into one number: 0 for the normal prior, above for heavy tails, below
for bounded weights; it is the next term of :math:`\Lambda` and bends the shrinkage curve.

*The exponential prior* keeps all weights at 0 or above, which costs a chain nothing: scores of all
labels may be raised together, feature by feature and transition by transition, without changing which
labelling is best, so that any weights have a non-negative twin.  What it cannot do is to favour weights
of 0 when there is no evidence, nor to treat the two signs alike.

*Data.*  Independent features of which 10 in 100 matter, whose weights were drawn standard normal:
with variance 0.1 the prior "spike and slab" (one tenth standard normal, else 0) is what drew them, the
transitions apart.  Groups of three like features, 30 of which matter.  Handwritten words.  Ten sets
each, 50 sequences or 100 words to train.  Each prior's variance is chosen on data apart: an eleventh
random CRF, or words of no other set, of which three blocks as large as the training sets train in
turn and all others test.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.estimators.max_margin import MaxMarginNetwork
from medn_edu.experiments.models import Model
from medn_edu.experiments.selection import Selected
from medn_edu.experiments.specs import FitSpec, Split, Study
from medn_edu.experiments.splits import FOLDS, correlated_split, iid_split, ocr_split
from medn_edu.plots.errors import draw_error_bars
from medn_edu.plots.shrinkage import prior_gallery
from medn_edu.plots.style import new_figure, save_figure
from medn_edu.priors import Prior
from medn_edu.slacks import LinearSlack

__all__ = ["PRIOR_STUDY", "ShapedMEDN"]

_C = 3.0
_SHAPES = tuple(prior_gallery())
_IID, _CORRELATED, _OCR = "iid-10-50", "correlated-20", "ocr-100"
_TITLES = {_IID: "independent features", _CORRELATED: "features in groups", _OCR: "OCR100"}
_VARIANCES = {
    _IID: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    _CORRELATED: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    _OCR: (3e-3, 0.01, 0.03, 0.1),
}
_N_BLOCKS = 3  # of the data apart, each of which trains in turn
_N_TRAIN = {_IID: 50, _CORRELATED: 50, _OCR: 100}
_APART = {
    _IID: ("iid-10-1000", 10),
    _CORRELATED: ("correlated-20-10", -1),
    _OCR: ("ocr-outside-100", 0),
}


class ShapedMEDN(MaxMarginNetwork):
    """MEDN with a prior of the gallery, told by its name and its variance.

    Parameters
    ----------
    shape : str, default="Laplace"
        Name of the prior in `medn_edu.plots.prior_gallery`.
    variance : float, default=1.0
        Its variance.
    C : float, default=1.0
        Price of margin violations.
    forbidden, tol, max_iter, warm_start, random_state, n_jobs, verbose
        As for `medn_edu.MEDN`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> X, y = [np.eye(2)] * 2, ["ab", "ab"]
    >>> normal = ShapedMEDN("Gaussian", variance=0.5, C=2.0).fit(X, y)
    >>> bool(np.allclose(normal.weights_, M3N(C=1.0).fit(X, y).weights_))
    True
    """

    def __init__(
        self,
        shape: str = "Laplace",
        variance: float = 1.0,
        C: float = 1.0,
        *,
        forbidden: Any = None,
        tol: float = 1e-2,
        max_iter: int = 300,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.shape = shape
        self.variance = variance
        self.C = C
        self.forbidden = forbidden
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _prior(self) -> Prior:
        return prior_gallery()[self.shape].with_variance(self.variance)

    def _slack(self) -> LinearSlack:
        return LinearSlack(self.C)


_PLAIN = {
    shape: Model(shape, partial(ShapedMEDN, shape, C=_C), f"MEDN with the prior {shape}")
    for shape in _SHAPES
}


def _chooser(shape: str, data: str) -> Model:
    """Return the model that chooses a prior's variance on data apart."""
    grid = (("variance", _VARIANCES[data]),)
    blocks = (_N_TRAIN[data],) * _N_BLOCKS
    build = partial(Selected, shape, grid, _PLAIN, blocks=blocks)
    return Model(_chooser_name(shape, data), build, f"chooses the variance of {shape}")


def _chooser_name(shape: str, data: str) -> str:
    return f"{shape}, chosen for {_TITLES[data]}"


_CHOOSERS = {
    model.name: model for model in (_chooser(shape, data) for data in _TITLES for shape in _SHAPES)
}


# ---------------------------------------------------------------------------------------------
# fits


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    fits = [
        FitSpec(*_place(data, number), shape, (("variance", variance),), seed)
        for data in _TITLES
        for number in (FOLDS[:1] if quick else FOLDS)
        for variance in _VARIANCES[data][:: 2 if quick else 1]
        for shape in _SHAPES
    ]
    choosers = [
        FitSpec(*_APART[data], _chooser_name(shape, data), seed=seed)
        for data in _TITLES
        for shape in _SHAPES
    ]
    return fits if quick else fits + choosers


def _place(data: str, number: int) -> tuple[str, int]:
    """Return data and fold of a set: the random CRFs have a number each, the words a fold."""
    return (f"{data}-{number}", 0) if data == _CORRELATED else (data, number)


def _split(spec: FitSpec) -> Split:
    kinds = {"iid": iid_split, "correlated": correlated_split, "ocr": ocr_split}
    return kinds[spec.data.partition("-")[0]](spec)


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note the errors that a chooser has seen, at each of the variances."""
    del spec
    if not isinstance(model, Selected):
        return {}
    return {"grid_errors": " ".join(f"{error:.5g}" for error in model.errors_)}


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    figure = new_figure(8, 6)
    names = sorted({row["model"] for row in rows if row.get("error") is not None})
    errors = [
        float(np.mean([r["error"] for r in rows if r["model"] == name and r["error"] is not None]))
        for name in names
    ]
    draw_error_bars(figure.add_subplot(), names, errors)
    save_figure(figure, path)


PRIOR_STUDY = Study(
    "priors",
    "the gallery of priors, at equal variances",
    _specs,
    _split,
    _draw,
    duration="quick 10 s, paper 3 min",
    models={**_PLAIN, **_CHOOSERS},
    measured=("grid_errors",),
    measure=_measure,
)
"""The study."""
