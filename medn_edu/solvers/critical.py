"""The constant at which the first weight of a model with an L1 term leaves zero.

A soft-max loss is smooth.  With the penalty ``lam |w|_1``, zero weights are optimal if and only if no
entry of the gradient at ``w = 0`` is larger in magnitude than ``lam``.  So the constant is the largest
of these magnitudes.

The margin loss has a kink at ``w = 0``, because *all* labellings with the largest loss tie there.  Call
the set of them ``A_i``.  With the Hamming loss, and if nothing is forbidden, these are the labellings in
which every node is wrong.  A subgradient mixes them with a distribution ``p_i`` on each ``A_i``:

    -C eta(p),    eta(p) = sum_i c_i sum_y p_i(y) (f(x_i, y_i) - f(x_i, y)).

With a penalty ``l1 |w|_1``, zero weights are optimal if and only if some subgradient lies in the box
``|C eta_k| <= l1``.  So the constant is ``l1 / t``, where ``t`` is the optimum of a linear program and,
by duality, of a second one:

    t = min_p max_k |eta_k(p)| = max_{|w|_1 <= 1} sum_i c_i min_{y in A_i} w . (f(x_i, y_i) - f(x_i, y)).

Every ``p`` gives an upper bound on ``t``.  Every ``w`` gives a lower bound, found by decoding with the
score ``M loss_i(y) + w . f(x_i, y)``.  The factor ``M`` must be so large that the best labellings are in
``A_i``.  Then they are also the best *of* ``A_i``, so ``M`` needs to grow no further.  (A smaller ``M``
loses less of ``w . f`` to rounding.)

The second program is solved by cutting planes, over some labellings and some weights.  Its multipliers
are ``p``.  Decoding adds labellings, and weights are added where ``|eta_k|`` is too large.  Three things
make this quick, measured on the OCR letters:

* It starts near the solution, at the ``p`` with the smallest ``|eta|_2``.  That is M3N with a tiny
  ``C``, for which ten passes of `block_frank_wolfe` are enough.
* The program's solution jumps from round to round.  So it decodes at a point between that solution and
  the weights of the best lower bound (Wentges 1997).  If that gives no new labelling, it decodes at the
  solution itself.
* Few weights matter: a tenth of them here.

It ends when the bounds agree.  The result is ``l1`` divided by the *upper* bound on ``t``, because that
bound is a proof: zero weights are optimal up to this constant.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu import inference
from medn_edu.checks import check_positive, warn_user
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, ElasticNet, MarginLoss, Problem, SoftMaxLoss
from medn_edu.problems.soft_max import smooth_part
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers._linear_program import paired, serial_highs
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.solvers.training import check_linear_slack

# Measured on 100 and 600 words of the OCR letters; results do not depend on them, times do.
_N_PASSES = 10  # towards the smallest |eta|_2
_NEAR = 0.2  # weights with a smaller |eta_k|, relative to the largest, are left out at first
_SMOOTHING = 0.7  # share of the best weights so far in the point at which labellings are looked for
_PATIENCE = 2  # idle rounds after which a labelling leaves the program
_MOST_ROUNDS = 1000  # it has never taken more than a hundred

_TIE = 1e-11  # losses that differ by less than this share of them are equal: rounding of their sums
_LARGEST_SCALE = 1e15  # beyond this the scores themselves would be lost in the losses
_ZERO = 1e-9  # an |eta| that is smaller than this share of what it sums up is rounding of 0
_FEASIBLE = 1e-9  # what HiGHS takes for met


def critical_constant(
    problem: Problem, *, tol: float = 1e-6, callback: Callable[[float], object] | None = None
) -> float:
    """Return the constant at which the first weight leaves zero, for a problem with an L1 term.

    Parameters
    ----------
    problem : Problem
        A margin loss with a linear slack, or a soft-max loss, and an `ElasticNet` with ``l1 > 0``, such
        as `L1Norm()`.
    tol : float, default=1e-6
        Relative distance between the two bounds at which to stop, for the margin loss.
    callback : callable, optional
        Function that is called with this distance after each round of the linear program.

    Returns
    -------
    float
        For the margin loss, the largest ``C`` (up to ``tol``) at which zero weights are proved to be
        optimal.  It is infinite if they always are, up to rounding.  For a soft-max loss, the smallest
        ``lam`` at which zero weights are optimal, with the regulariser
        ``lam (share |w|_1 + (1 - share) |w|_2^2 / 2)``.  The problem's own ``C`` or ``lam`` does not
        matter.

    Raises
    ------
    TypeError
        If the problem has another loss or regulariser.

    Warns
    -----
    ConvergenceWarning
        If the bounds do not come within ``tol`` of each other.  The result is still proved, but it may
        be smaller than necessary.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L1Norm())
    >>> critical_constant(problem)
    0.5
    """
    check_positive("tol", tol)
    net = problem.regulariser
    if not (isinstance(net, ElasticNet) and net.l1 > 0):
        raise TypeError(
            f"the regulariser is {net!r}; expected an ElasticNet with l1 > 0, such as L1Norm()."
        )
    if isinstance(problem.loss, SoftMaxLoss):
        _, gradient = smooth_part(problem, np.zeros(problem.weight_shape.size))
        return float(np.abs(gradient).max()) * (1.0 + net.l2 / net.l1)
    check_linear_slack(problem)
    most = problem.data.sample_weight.max()
    data = replace(problem.data, sample_weight=problem.data.sample_weight / most)
    scaled = Problem(data, problem.loss, net, problem.n_jobs)
    peak = _least_peak(scaled, tol, callback or (lambda gap: None))
    return math.inf if peak == 0 else float(net.l1 / peak / most)


def _least_peak(problem: Problem, tol: float, callback: Callable[[float], object]) -> float:
    """Return the smallest upper bound of ``t`` that was found, 0 if ``t`` is no more than rounding."""
    data, n_weights = problem.data, problem.weight_shape.size
    bounds = _Bounds(problem)
    first = bounds.decode(np.zeros(n_weights))
    rows = first.differences(data)
    size = float(np.abs(rows.data).max(initial=0.0))
    negligible = _ZERO * float((abs(rows).T @ data.sample_weight).max())
    eta = bounds.prove(rows, first.values)
    if bounds.upper <= negligible:
        return 0.0
    bounds.scale = size
    near, weights = _towards_least_norm(problem, first, bounds.most_loss, size)
    if len(near):
        eta = near.eta(data)
    bounds.visit(weights)
    program = _Program(problem, size)
    program.add_features(np.flatnonzero(np.abs(eta) >= _NEAR * np.abs(eta).max()))
    program.add(first.concat(near))
    idle, last = np.zeros(len(program), dtype=np.int64), np.inf
    for _ in range(_MOST_ROUNDS):
        solution = program.solve()
        if solution is None:
            break
        weights, values = solution
        eta = bounds.prove(program.rows, values)
        new = program.missing(bounds, _SMOOTHING * bounds.weights + (1 - _SMOOTHING) * weights)
        if not len(new):
            new = program.missing(bounds, weights)
        features = program.missing_features(eta)
        if bounds.upper <= negligible:
            return 0.0
        callback(bounds.gap)
        if bounds.gap <= tol or not (len(new) or len(features)):
            break
        idle = np.where(values > 0, 0, idle + 1)
        if bounds.upper < last:  # otherwise labellings might come and go for ever
            program.drop(idle > _PATIENCE)
            idle, last = idle[idle <= _PATIENCE], bounds.upper
        program.add(new)
        program.add_features(features)
        idle = np.concatenate([idle, np.zeros(len(new), dtype=np.int64)])
    if bounds.gap > tol:
        warn_user(
            f"the critical constant was found to a relative gap of {bounds.gap:.2g} instead of "
            f"{tol:.2g}: it may be too small by as much; scale the features to about 1."
        )
    return bounds.upper


def _towards_least_norm(
    problem: Problem, first: DualVariables, most_loss: np.ndarray, size: float
) -> tuple[DualVariables, np.ndarray]:
    """Return labellings and weights of M3N with so small a ``C`` that losses come before scores."""
    data = problem.data
    rows = first.differences(data) / size
    longest = math.sqrt(rows.multiply(rows).sum(axis=1).max())
    eta = first.eta(data) / size
    C = np.min(data.loss_scale) / (4 * float(np.linalg.norm(eta)) * longest * size) / size
    if not 1e-30 < C < 1e30:  # features of an extreme size; what follows does without a good start
        return DualVariables.empty(), eta
    m3n = Problem(data, MarginLoss(LinearSlack(C)), GaussianPrior(), problem.n_jobs)
    passes = block_frank_wolfe(m3n, rng=np.random.default_rng(0))
    result = run(passes, m3n, tol=_FEASIBLE, max_iter=_N_PASSES)
    alpha = result.alpha
    assert alpha is not None
    tied = alpha.losses(data) >= (1 - _TIE) * most_loss[alpha.sample]
    return alpha.take(tied), result.weights


class _Bounds:
    """Both bounds of ``t``, and the decoder."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.scale = 1.0  # of the losses
        n_weights = problem.weight_shape.size
        self._losses = problem.augmented(np.zeros(n_weights))
        _, self.most_loss = inference.best_labelling(self._losses, n_jobs=problem.n_jobs)
        self.weights = np.zeros(n_weights)  # those of the lower bound
        self.lower, self.upper = 0.0, np.inf

    @property
    def gap(self) -> float:
        """Relative distance of the bounds."""
        return (self.upper - self.lower) / self.upper

    def decode(self, weights: np.ndarray) -> DualVariables:
        """Return the best labellings of the largest loss, with the samples' weights as values."""
        data, start = self.problem.data, self.scale
        while True:
            augmented = self.problem.augmented(weights, self.scale)
            labels, _ = inference.best_labelling(augmented, n_jobs=self.problem.n_jobs)
            losses = inference.labelling_scores(self._losses, labels)
            tied = (losses >= (1 - _TIE) * self.most_loss).all()
            if tied or self.scale > _LARGEST_SCALE * start:
                return DualVariables.on(data.samples, labels, data.sample_weight)
            self.scale *= 10

    def visit(self, weights: np.ndarray) -> tuple[DualVariables, np.ndarray]:
        """Decode and keep the weights if they are the best so far; also return ``w . (f - f)``."""
        norm = float(np.abs(weights).sum())
        weights = weights / norm if norm > 0 else weights
        found = self.decode(weights)
        scores = found.differences(self.problem.data) @ weights
        lower = float(found.values @ scores)
        if lower > self.lower:
            self.weights, self.lower = weights, lower
        return found, scores

    def prove(self, rows: sp.csr_matrix, values: np.ndarray) -> np.ndarray:
        """Keep the upper bound of a mixture of labellings if it is the best; return its ``eta``."""
        eta = rows.T @ values
        self.upper = min(self.upper, float(np.abs(eta).max()))
        return eta


class _Program:
    """The program for ``w`` over some labellings and features, kept warm in HiGHS.

    Its columns are the minima ``z_i``, then the two parts of each weight; its first row is the norm.
    """

    def __init__(self, problem: Problem, size: float) -> None:
        self._data, self._size = problem.data, size
        self._highs = serial_highs()
        self._highs.setOptionValue("solver", "simplex")
        self._highs.setOptionValue("random_seed", 0)
        self._highs.setOptionValue("primal_feasibility_tolerance", _FEASIBLE)
        self._highs.setOptionValue("dual_feasibility_tolerance", _FEASIBLE)
        self._features = np.zeros(0, dtype=np.int64)
        self.rows = sp.csr_matrix((0, problem.weight_shape.size))
        self._sample = np.zeros(0, dtype=np.int64)
        self._add_rows(np.full(1, -np.inf), np.ones(1), sp.csr_matrix((1, 0)))
        weight = self._data.sample_weight
        self._add_columns(-weight, -np.inf, sp.csc_matrix((1, len(weight))))

    def __len__(self) -> int:
        return len(self._sample)

    def add_features(self, features: np.ndarray) -> None:
        """Let further weights differ from 0."""
        if len(features):
            self._features = np.concatenate([self._features, features])
            entries = paired(self.rows[:, features]) / self._size
            norm = sp.csr_matrix(np.ones((1, 2 * len(features))))
            self._add_columns(np.zeros(norm.shape[1]), 0.0, sp.vstack([norm, entries]).tocsc())

    def add(self, labellings: DualVariables) -> None:
        """Let further labellings count."""
        n, n_samples = len(labellings), len(self._data.sample_weight)
        new = labellings.differences(self._data)
        columns = labellings.sample, np.arange(n + 1)
        minima = sp.csr_matrix((-np.ones(n), *columns), shape=(n, n_samples))
        entries = sp.hstack([minima, paired(new[:, self._features]) / self._size]).tocsr()
        self._add_rows(np.zeros(n), np.full(n, np.inf), entries)
        self.rows = sp.vstack([self.rows, new]).tocsr()
        self._sample = np.concatenate([self._sample, labellings.sample])

    def drop(self, gone: np.ndarray) -> None:
        """Take labellings out of the program."""
        index = 1 + np.flatnonzero(gone).astype(np.int32)
        if len(index):
            self._highs.deleteRows(len(index), index)
            self.rows, self._sample = self.rows[~gone], self._sample[~gone]

    def solve(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the best weights and the values of all labellings; None if HiGHS fails."""
        if self._run() != "Optimal":
            self._highs.clearSolver()
            if self._run() != "Optimal":
                return None
        solution, weight = self._highs.getSolution(), self._data.sample_weight
        parts: Any = np.array(solution.col_value)[len(weight) :]
        weights = np.zeros(self.rows.shape[1])
        weights[self._features] = parts[::2] - parts[1::2]
        values = np.maximum(np.array(solution.row_dual)[1:], 0.0)
        total = np.bincount(self._sample, values, len(weight))
        if not (total > 0).all():
            return None
        return weights, values * (weight / total)[self._sample]

    def missing(self, bounds: _Bounds, weights: np.ndarray) -> DualVariables:
        """Return the labellings that are better at these weights than all that the program has."""
        norm = float(np.abs(weights).sum())
        found, scores = bounds.visit(weights)
        least = np.full(len(scores), np.inf)
        np.minimum.at(least, self._sample, self.rows @ weights / max(norm, 1e-300))
        return found.take(scores < least - 0.1 * _FEASIBLE * self._size)

    def missing_features(self, eta: np.ndarray) -> np.ndarray:
        """Return weights with an ``|eta_k|`` beyond those of the program, the largest if too many."""
        size = np.abs(eta)
        most = size[self._features].max() * (1 + _FEASIBLE)
        size[self._features] = 0.0
        order = np.argsort(-size)[: max(20, len(self._features) // 2)]
        return order[size[order] > most]

    def _run(self) -> str:
        self._highs.run()
        return self._highs.modelStatusToString(self._highs.getModelStatus())

    def _add_columns(self, cost: np.ndarray, least: float, entries: sp.csc_matrix) -> None:
        n = len(cost)
        self._highs.addCols(
            n, cost, np.full(n, least), np.full(n, np.inf), entries.nnz,
            entries.indptr[:-1].astype(np.int32), entries.indices.astype(np.int32), entries.data,
        )  # fmt: skip

    def _add_rows(self, least: np.ndarray, most: np.ndarray, entries: sp.csr_matrix) -> None:
        n = len(least)
        self._highs.addRows(
            n, least, most, entries.nnz,
            entries.indptr[:-1].astype(np.int32), entries.indices.astype(np.int32), entries.data,
        )  # fmt: skip
