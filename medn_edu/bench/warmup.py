"""Compiling every kernel once, so that nothing waits for the compiler later.

Kernels are compiled when they are first called, and the compiled code is kept on disk.  `warm_up`
runs everything that uses kernels, on a handful of tiny samples.  It reports how long that took and
where the code is kept.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from medn_edu import inference
from medn_edu.estimators import CRF, M3N, MEDN, EpsilonMarkovNetwork, LaplaceMEDN
from medn_edu.kernels.cache import FOLDER
from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.problems import L1Ball, LocalProblem, MarginLoss, PowerNorm, Problem
from medn_edu.samples import (
    Forest,
    grid,
    labelled,
    pack,
)
from medn_edu.slacks import ExponentialSlack, LinearSlack
from medn_edu.solvers import block_frank_wolfe, norm_product_learning
from medn_edu.solvers.textbook.projected_subgradient import projected_subgradient


@dataclass(frozen=True)
class WarmUp:
    """What warming up did."""

    seconds: float  # how long it took
    n_compiled: int  # kernel variants that were compiled just now; 0 if all were on disk
    folder: Path  # where compiled code is kept


def kernel_cache() -> Path:
    """Return the folder in which compiled kernels are kept."""
    return FOLDER


def compiled_files(folder: Path) -> int:
    """Return how many compiled kernel variants a folder holds."""
    return sum(1 for _ in folder.rglob("*.nbc"))


def warm_up(progress: Callable[[int, int, str], Any] | None = None) -> WarmUp:
    """Run everything that uses kernels, so that all of them get compiled."""
    tell = progress or (lambda n_done, n_all, what: None)
    folder = kernel_cache()
    before, start = compiled_files(folder), time.perf_counter()
    steps = list(_steps())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, (what, step) in enumerate(steps):
            tell(number, len(steps), what)
            step()
    tell(len(steps), len(steps), "")
    return WarmUp(time.perf_counter() - start, compiled_files(folder) - before, folder)


def _steps() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what to do, as (what it is, the doing of it)."""
    rng = np.random.default_rng(0)
    X = [Forest(rng.normal(size=(3, 2)), parents) for parents in ([-1, 0, 1], [-1, 0, 0])]
    y = [[0, 1, 1], [1, 0, 1]]
    m3n = M3N(max_iter=5, tol=1e-9, warm_start=True, verbose=0)
    yield "inference", _ask_everything
    yield "training M3N", lambda: m3n.fit(X, y).fit(X, y)
    yield "training M3N on marginals", lambda: _train_on_marginals(X, y)
    yield "growing", lambda: _grow(X, y)
    yield "training within a ball", lambda: _project(X, y)
    yield "training with other priors", lambda: _train_medn(X, y)
    yield "training CRFs", lambda: _train_crfs(X, y)
    yield "graphs with cycles", _learn_from_grids
    yield "decoding", lambda: (m3n.predict(X), m3n.decode(X, 2), m3n.predict_marginals(X))


def _ask_everything() -> None:
    """Ask every question of inference about two tiny samples.

    In the second sample the nodes insist on labels that the transition all but forbids, so that it
    takes the way through the log domain.  Kernels have one signature each, so this is all there is.
    """
    samples = pack([np.ones((2, 1)), np.ones((2, 1))])
    coef, rng = np.zeros((2, 1)), np.random.default_rng(0)
    edge = np.array([[[0.0, -1e4], [-1e4, 0.0]]])
    node = inference.node_potentials(samples, coef)
    node[2, 1] = node[3, 0] = 1e4
    potentials = inference.Potentials(samples, node, edge)
    labels = inference.gibbs_labellings(potentials, 1, rng=rng)  # asks for the best labelling first
    inference.labelling_scores(potentials, labels)
    inference.k_best(potentials, 2)
    inference.log_partition(potentials)
    inference.marginals(potentials)
    inference.edge_marginals(potentials)
    inference.expected_statistics(samples, coef, edge, want_entropies=True)
    inference.draw_labellings(potentials, rng=rng)
    inference.feature_sums(samples, node)
    inference.edge_counts(samples, labels, 2)


class _OwnPrior(LaplacePrior):
    """A prior that kernels do not know, as any of a user's own."""


def _train_medn(X: list[Forest], y: list[list[int]]) -> None:
    """Take the compiled way and the one that asks the prior in Python; every slack."""
    few: dict[str, Any] = {"max_iter": 3, "tol": 1e-9, "verbose": 0}
    for method in ("exact", "variational"):
        LaplaceMEDN(lam=4.0, method=method, **few).fit(X, y)
    for prior in (LaplacePrior(4.0), _OwnPrior(4.0)):
        for slack in (LinearSlack(1.0), ExponentialSlack(1.0)):
            MEDN(prior, slack, warm_start=True, **few).fit(X, y).fit(X, y)


def _learn_from_grids() -> None:
    """Take both ways of messages, as powers and as logarithms; several samples at a time, and one."""
    rng = np.random.default_rng(0)
    X = [
        grid(rng.normal(size=(2, 2))),
        grid(rng.normal(size=(2, 2))),
        grid(rng.normal(size=(2, 3))),
    ]
    y = [[0, 1, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1, 0, 1]]
    few: dict[str, Any] = {"max_iter": 3, "tol": 1e-9, "verbose": 0}
    for model in (EpsilonMarkovNetwork(**few), CRF(counting_numbers="trw", **few), M3N(**few)):
        model.fit(X, y).predict(X)
    samples = pack(X)
    rough = inference.Potentials(
        samples, rng.normal(size=(samples.n_nodes, 2)), 1e4 * np.eye(2)[None]
    )
    inference.loopy.norm_product(rough, "trw", max_sweeps=1)
    inference.loopy.mean_field(rough, max_sweeps=1)
    local = LocalProblem(labelled(X, y), 1.0, PowerNorm())
    next(norm_product_learning(local, in_turn=True))


def _train_on_marginals(X: list[Forest], y: list[list[int]]) -> None:
    """Train M3N by the solvers that have kernels of their own."""
    for solver in ("smo", "online_subgradient", "block_exponentiated_gradient"):
        M3N(solver=solver, max_iter=2, verbose=0).fit(X, y)


def _train_crfs(X: list[Forest], y: list[list[int]]) -> None:
    """Train what sums over labellings."""
    for penalty in ("l2", "l1", None):
        CRF(penalty, max_iter=3, verbose=0).fit(X, y)
    CRF(solver="online_exponentiated_gradient", max_iter=3, verbose=0).fit(X, y)
    EpsilonMarkovNetwork(epsilon=0.1, max_iter=3, verbose=0).fit(X, y)


def _grow(X: list[Forest], y: list[list[int]]) -> None:
    """Train M3N with room for a single labelling per sample, so that more has to be made."""
    problem = Problem(labelled(X, y), MarginLoss(LinearSlack(1.0)), GaussianPrior())
    passes = block_frank_wolfe(problem, rng=np.random.default_rng(0), capacity=1)
    for _ in zip(range(5), passes, strict=False):
        pass


def _project(X: list[Forest], y: list[list[int]]) -> None:
    """Take steps that leave a small ball."""
    problem = Problem(labelled(X, y), MarginLoss(LinearSlack(1.0)), L1Ball(0.1))
    passes = projected_subgradient(problem, rng=np.random.default_rng(0))
    for _ in zip(range(3), passes, strict=False):
        pass
