r"""The study ``exact-vs-variational``: what Algorithm 1 of MEDN costs, and where it goes.

The papers hold the exact Laplace MEDN for intractable and train it by a variational method.  Here both
are trained on the same samples, and for numbers of iterations from 1 to 20 the study asks how far the
variational weights are from the exact ones, how far their exact objective is above the optimum, and
whether they read any worse.

*Where it goes.*  The two steps of Algorithm 1 stand still when

.. math:: \mu_k = \sigma_k \eta_k, \qquad \lambda \sigma_k^2 = \mu_k^2 + \sigma_k,

that is at :math:`\sigma_k = 1 / (\lambda - \eta_k^2)` and :math:`\mu_k = \eta_k / (\lambda - \eta_k^2)`:
half of what Corollary 7 says of the exact posterior, :math:`2 \eta_k / (\lambda - \eta_k^2)`.  It is the
slope of :math:`\Lambda(\eta) = -\tfrac12 \log(1 - \eta^2 / \lambda)`, the normal-gamma prior of shape
1/2, and as :math:`\eta` belongs to the dual variables that are best for these variances, the resting
point is the solution of that prior's MEDN, exactly.  It is called the *limit* here.  Since its
:math:`\Lambda` is half the Laplace prior's, its solution is half the weights that the Laplace prior
would have if every loss counted twice.  So more iterations do not lead to the exact solution, and
in the beginning stands M3N, whose unit variances the first quadratic program has.

*Protocol.*  A fit is one set of training samples with one ``C`` and one ``lam``.  The exact problem
and that of the limit are solved to a gap of 0.1 %, and so are Algorithm 1's quadratic programs, because
the papers' looser ones would add their own distance.  A row holds the exact solution's errors
and certificate; what belongs to the iterations stands in texts of numbers, one number for each entry of
`ITERATIONS`.  The excess is that of the primal value over the exact solution's, which itself may be
above the optimum by its gap.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from medn_edu.studies.both_laplace import ITERATIONS, BothLaplaceMEDNs
from medn_edu.studies.exact_vs_variational_means import (
    KEPT,
    LAMS,
    N_SETS,
    N_WORD_SETS,
    OCR,
)
from medn_edu.studies.exact_vs_variational_reports import (
    draw_kept_weights,
    draw_variational,
    report_variational,
)
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.specs import FitSpec, Split, Study
from medn_edu.studies.kit.splits import correlated_split, ocr_split
from medn_edu.studies.kit.trained import Trained, label_error

_CHAIN_CS = (1.0, 0.1, 10.0)
_SETS = tuple(f"correlated-10-{number}" for number in range(N_SETS))
_MODEL = "LapMEDN"
_SHOWN = (_SETS[0], 0, {"C": 1.0, "lam": 36.0})  # the fit whose weights are kept


# ---------------------------------------------------------------------------------------------
# fits


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    points = [
        (data, 0, C, lam)
        for data in (_SETS[:1] if quick else _SETS)
        for C in (_CHAIN_CS[:1] if quick else _CHAIN_CS)
        for lam in LAMS
    ]
    points += [
        (OCR, fold, 1.0, lam)
        for fold in range(1 if quick else N_WORD_SETS)
        for lam in (LAMS[2:3] if quick else LAMS)
    ]
    return [
        FitSpec(data, fold, _MODEL, (("C", C), ("lam", lam)), seed) for data, fold, C, lam in points
    ]


def _split(spec: FitSpec) -> Split:
    return ocr_split(spec) if spec.data == OCR else correlated_split(spec)


_LISTS = ("errors", "primals", "gaps", "bounds", "distances", "correlations", "limit_distances")
_LIMIT = ("limit_error", "limit_primal", "limit_distance", "limit_correlation")
_WEIGHTS = ("exact_weights", *(f"{what}_{n}" for n in KEPT for what in ("weights", "etas")))


def _measure(spec: FitSpec, model: BothLaplaceMEDNs) -> dict[str, Any]:
    """Compare the limit and each step of the trail with the exact solution."""
    data, exact = _split(spec), model.result_.weights

    def error(weights: np.ndarray) -> float:
        return label_error(model.predict(data.X_test, weights), data.y_test)

    found: dict[str, Any] = {
        "limit_error": error(model.limit_.weights),
        "limit_primal": model.limit_primal_,
        "limit_distance": _distance(model.limit_.weights, exact),
        "limit_correlation": _correlation(model.limit_.weights, exact),
    }
    lists: dict[str, Iterable[float]] = {
        "errors": [error(step.weights) for step in model.trail_],
        "primals": [step.primal for step in model.trail_],
        "gaps": [step.relative_gap for step in model.trail_],
        "bounds": [step.trace[-1].objective_estimate for step in model.trail_],
        "distances": [_distance(step.weights, exact) for step in model.trail_],
        "correlations": [_correlation(step.weights, exact) for step in model.trail_],
        "limit_distances": [_distance(step.weights, model.limit_.weights) for step in model.trail_],
    }
    if (spec.data, spec.fold, dict(spec.parameters)) == _SHOWN:
        lists["exact_weights"] = exact
        for number, step in zip(ITERATIONS, model.trail_, strict=True):
            if number in KEPT:
                lists[f"weights_{number}"] = step.weights
                lists[f"etas_{number}"] = step.weights / step.variance
    return found | {name: _text(values) for name, values in lists.items()}


def _distance(weights: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of weights to others, relative to the length of these."""
    return float(np.linalg.norm(weights - other) / np.linalg.norm(other))


def _correlation(weights: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(weights, other)[0, 1])


def _text(values: Iterable[float]) -> str:
    return " ".join(f"{value:.7g}" for value in values)


VARIATIONAL_STUDY = Study(
    "exact-vs-variational",
    "Laplace MEDN: Algorithm 1 and exactly",
    fits=_specs,
    fit=Trained(
        _split,
        models={
            _MODEL: Model(_MODEL, BothLaplaceMEDNs, "Laplace prior, exactly and by Algorithm 1")
        },
        measure=_measure,
        measured=(*_LIMIT, *_LISTS, *_WEIGHTS),
    ),
    draw=draw_variational,
    report=report_variational,
    duration="quick 8 s, paper 2 min",
    more_figures={"weights": draw_kept_weights},
    place=11,
)
"""The study."""
