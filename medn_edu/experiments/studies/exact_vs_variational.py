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

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from medn_edu import inference
from medn_edu.experiments.models import Model
from medn_edu.experiments.runner import label_error
from medn_edu.experiments.specs import FitSpec, Split, Study
from medn_edu.experiments.splits import correlated_split, ocr_split
from medn_edu.packing import encode_labels, forbidden_to_allowed, label_samples, pack
from medn_edu.plots.errors import draw_error_bars
from medn_edu.plots.style import new_figure, save_figure
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.problems import MaxMarginProblem
from medn_edu.results import SolveResult, run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_frank_wolfe, variational_laplace

__all__ = ["ITERATIONS", "VARIATIONAL_STUDY", "BothLaplaceMEDNs"]

ITERATIONS = (1, 2, 3, 5, 10, 20)
"""Numbers of iterations at which the variational method is looked at."""

_LAMS = (1.0, 9.0, 36.0, 268.0)  # 1 and 268 are the ends of the papers' grid, 36 is their OCR's
_CHAIN_CS = (1.0, 0.1, 10.0)
_N_SETS, _N_WORD_SETS = 5, 3
_CHAINS = tuple(f"correlated-10-{number}" for number in range(_N_SETS))
_OCR = "ocr-100"
_MODEL = "LapMEDN"
_SHOWN = (_CHAINS[0], 0, {"C": 1.0, "lam": 36.0})  # the fit whose weights are kept


class BothLaplaceMEDNs(BaseEstimator):
    """The Laplace MEDN, exactly and by Algorithm 1, trained on the same samples.

    It predicts by the exact solution.

    Parameters
    ----------
    C : float, default=1.0
        Price of margin violations.
    lam : float, default=36.0
        The Laplace prior's ``lam``.
    tol : float, default=0.001
        Relative gap of the exact solution, of the limit and of each quadratic program.
    max_iter : int, default=5000
        Largest number of passes for each of them.
    random_state : int, default=0
        Order in which samples are visited.

    Attributes
    ----------
    result_, limit_ : SolveResult
        The exact solution, and what the iterations of Algorithm 1 approach.
    limit_primal_ : float
        The exact problem's primal value at the limit.
    trail_ : list of SolveResult
        What Algorithm 1 has found after each of the `ITERATIONS`, certified as solutions of the exact
        problem.

    Examples
    --------
    >>> model = BothLaplaceMEDNs(lam=4.0).fit([np.eye(2)] * 2, ["ab", "ab"])
    >>> len(model.trail_), model.predict([np.eye(2)])[0]
    (6, array(['a', 'b'], dtype='<U1'))
    >>> distance = np.abs(model.trail_[-1].weights - model.limit_.weights).max()
    >>> bool(distance < 0.01 < np.abs(model.trail_[-1].weights - model.weights_).max())
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        lam: float = 36.0,
        tol: float = 1e-3,
        max_iter: int = 5000,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train in both ways.

        Parameters
        ----------
        X : list of samples
            The samples.
        y : list of label sequences
            Their labels.

        Returns
        -------
        self
            The trained model.
        """
        samples = pack(X)
        codes, self.classes_ = encode_labels(y, samples)
        data = label_samples(samples, codes, forbidden_to_allowed(None, self.classes_))
        exact, limit = (
            MaxMarginProblem(data, prior, LinearSlack(self.C))
            for prior in (LaplacePrior(self.lam), NormalGammaPrior(0.5, self.lam))
        )
        self.weight_shape_ = exact.weight_shape
        self.result_ = self._solve(exact)
        self.limit_ = self._solve(limit)
        self.limit_primal_ = exact.primal(self.limit_.weights)
        self.trail_ = list(self._iterations(exact))
        return self

    def _solve(self, problem: MaxMarginProblem) -> SolveResult:
        passes = block_frank_wolfe(problem, rng=np.random.default_rng(self.random_state))
        return run(passes, problem, tol=self.tol, max_iter=self.max_iter)

    def _iterations(self, problem: MaxMarginProblem) -> Iterator[SolveResult]:
        """Run Algorithm 1 once, and certify what it has reached where that is asked for."""
        programs = variational_laplace(
            problem,
            rng=np.random.default_rng(self.random_state),
            n_iterations=ITERATIONS[-1],
            tol=self.tol,
            max_iter=self.max_iter,
        )
        for number, iterate in enumerate(programs, start=1):
            if number in ITERATIONS:
                yield run([iterate], problem, tol=self.tol, max_iter=1)

    @property
    def weights_(self) -> np.ndarray:
        """Weights of the exact solution."""
        return self.result_.weights

    def predict(self, X: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the best labelling of each sample.

        Parameters
        ----------
        X : list of samples
            Samples with the feature width of training.
        weights : ndarray of shape (n_weights,), optional
            The weights to predict with; those of the exact solution unless given.

        Returns
        -------
        ndarray of object, shape (n_samples,)
            One array of labels per sample.
        """
        samples = pack(X, n_features=self.weight_shape_.n_features)
        coef, transitions = self.weight_shape_.split(self.weights_ if weights is None else weights)
        node = inference.node_potentials(samples, coef)
        codes, _ = inference.best_labelling(samples, node, inference.edge_potentials(transitions))
        found = np.empty(samples.n_samples, dtype=object)
        found[:] = samples.split(self.classes_[codes])
        return found


# ---------------------------------------------------------------------------------------------
# fits


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    points = [
        (data, 0, C, lam)
        for data in (_CHAINS[:1] if quick else _CHAINS)
        for C in (_CHAIN_CS[:1] if quick else _CHAIN_CS)
        for lam in _LAMS
    ]
    points += [
        (_OCR, fold, 1.0, lam)
        for fold in range(1 if quick else _N_WORD_SETS)
        for lam in (_LAMS[2:] if quick else _LAMS)
    ]
    return [
        FitSpec(data, fold, _MODEL, (("C", C), ("lam", lam)), seed) for data, fold, C, lam in points
    ]


def _split(spec: FitSpec) -> Split:
    return ocr_split(spec) if spec.data == _OCR else correlated_split(spec)


_LISTS = ("errors", "primals", "gaps", "bounds", "distances", "correlations", "limit_distances")
_LIMIT = ("limit_error", "limit_primal", "limit_distance", "limit_correlation")
_KEPT = (1, 3, 20)  # iterations whose weights are kept
_WEIGHTS = ("exact_weights", *(f"{what}_{n}" for n in _KEPT for what in ("weights", "etas")))


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
    lists = {
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
            if number in _KEPT:
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


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    figure = new_figure(8, 6)
    names = sorted({row["model"] for row in rows if row.get("error") is not None})
    errors = [
        float(np.mean([r["error"] for r in rows if r["model"] == name and r["error"] is not None]))
        for name in names
    ]
    draw_error_bars(figure.add_subplot(), names, errors)
    save_figure(figure, path)


VARIATIONAL_STUDY = Study(
    "exact-vs-variational",
    "Laplace MEDN: Algorithm 1 against the exact solution",
    _specs,
    _split,
    _draw,
    duration="quick 8 s, paper 2 min",
    models={_MODEL: Model(_MODEL, BothLaplaceMEDNs, "Laplace prior, exactly and by Algorithm 1")},
    measured=(*_LIMIT, *_LISTS, *_WEIGHTS),
    measure=_measure,
)
"""The study."""
