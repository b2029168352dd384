"""How close solvers come to the optimum, where the optimum is known.

There are two measurements.

* The four ways to L1-M3N are run on small random problems.  There all labellings can be written out, so
  the linear program can be solved outright (`medn_edu.theory.solve_l1m3n`).  Each solver gets the
  constant that belongs to the same solution, so all four must find the same weights.
* All solvers of M3N are run on the digit words.  They are compared with the lower bound on the optimum
  that block-coordinate Frank-Wolfe proves.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from medn_edu.bench.rows import BenchRow
from medn_edu.datasets import load_digit_words, make_chain_crf
from medn_edu.estimators import L1M3N, M3N
from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Norm, MarginLoss, Problem, em_constant
from medn_edu.samples import (
    LabelledSamples,
    labelled,
)
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import M3N_SOLVERS
from medn_edu.theory import enumerate_problem, solve_l1m3n
from medn_edu.theory.l1m3n import ProgramSolution

# At C = 10 a few of these are nearly separable, and the two inexact methods are not within their
# limits: subgradients need more than 10,000 passes, and EM may lose a feature for good.
SEEDS, CONSTANTS = range(5), (0.1, 0.3, 1.0)
_C = 0.1  # of M3N on the digit words
_SLOW = {"subgradient": 1e-2, "online_subgradient": 1e-2, "extragradient": 1e-2}
PASSES = 20_000  # at most


def measure_accuracy(progress: Callable[[int, int, str], Any] | None = None) -> list[BenchRow]:
    """Measure how far each solver's objective lies above the optimum."""
    tell = progress or (lambda n_done, n_all, what: None)
    steps = [*_L1_WAYS, *M3N_SOLVERS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows what is reached
        problems = list(_small_problems())
        words = load_digit_words(n_train=120, n_test=10)
        X, y = words.data[:120], words.target[:120]
        optimum = M3N(_C, tol=1e-6, max_iter=PASSES, verbose=0).fit(X, y).result_.dual
        rows = []
        for number, name in enumerate(steps):
            tell(number, len(steps), name)
            rows.append(_l1_row(name, problems) if name in _L1_WAYS else _row(name, X, y, optimum))
        tell(len(steps), len(steps), "")
    return rows


# -- L1-M3N on enumerated problems --------------------------------------------------------------

_Small = tuple[Any, Any, LabelledSamples, float, ProgramSolution]


def _small_problems() -> Iterator[_Small]:
    """Yield samples, labels, both packed, the constant, and the program's solution."""
    for seed in SEEDS:
        chains = make_chain_crf(
            n_samples=8, n_features=4, n_relevant=2, n_labels=3, length=3, random_state=seed
        )
        data = labelled(chains.data, chains.target)
        for C in CONSTANTS:
            rows = enumerate_problem(data, GaussianPrior(), LinearSlack(C))
            yield chains.data, chains.target, data, C, solve_l1m3n(rows)


def _path(C: float, best: ProgramSolution) -> L1M3N:
    return L1M3N(C, tol=1e-9, verbose=0)


def _cutting_plane(C: float, best: ProgramSolution) -> L1M3N:
    return L1M3N(C, solver="cutting_plane", tol=1e-9, verbose=0)


def _em(C: float, best: ProgramSolution) -> L1M3N:
    lam = em_constant(C, C, len(best.weights), best.l1_norm)
    return L1M3N(C, solver="em", lam=lam, n_iterations=60, tol=1e-5, verbose=0)


def _subgradient(C: float, best: ProgramSolution) -> L1M3N:
    return L1M3N(solver="subgradient", radius=best.l1_norm, tol=1e-3, max_iter=3000, verbose=0)


_L1_WAYS: dict[str, tuple[Callable[[float, ProgramSolution], L1M3N], float, str]] = {
    "λ-path": (_path, 1e-6, "with clean-up"),
    "cutting plane": (_cutting_plane, 1e-6, ""),
    "EM": (_em, 1e-3, "60 iterations, lam mapped from C"),
    "projected sub-gradient": (_subgradient, 1e-2, "3000 passes at most, radius |w*|_1"),
}


def _l1_row(name: str, problems: list[_Small]) -> BenchRow:
    make, limit, remark = _L1_WAYS[name]
    excesses = []
    for X, y, data, C, best in problems:
        if best.l1_norm == 0:  # nothing to find, and no radius to find it in
            continue
        weights = make(C, best).fit(X, y).weights_
        primal = Problem(data, MarginLoss(LinearSlack(C)), L1Norm()).primal(weights)
        excesses.append(primal / best.value - 1)
    where = f"largest of {len(excesses)} enumerated problems, C of 0.1, 0.3 and 1"
    return _bench_row(f"L1-M3N by {name}", max(excesses), limit, f"{where}, {remark}".rstrip(", "))


# -- M3N on the digit words ---------------------------------------------------------------------


def _row(name: str, X: Any, y: Any, optimum: float) -> BenchRow:
    limit = _SLOW.get(name, 1e-3)
    model = M3N(_C, solver=name, tol=limit, max_iter=PASSES, verbose=0).fit(X, y)
    result = model.result_
    remark = f"120 digit words, C = {_C:g}; {result.n_passes} passes, {result.seconds:.2g} s"
    return _bench_row(f"M3N by {name}", result.primal / optimum - 1, limit, remark)


def _bench_row(work: str, excess: float, limit: float, remark: str) -> BenchRow:
    return BenchRow(
        work,
        float(np.maximum(excess, 0.0)),
        "above the optimum",
        target=f"≤ {limit:g}",
        reached=bool(excess <= limit),
        remark=remark,
    )
