"""Cutting planes for M3N: margins are enforced only once they are violated.

``cutting_plane.md`` explains why it works.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count, pairwise

import numpy as np
import scipy.sparse as sp

from medn_edu.checks import check_count, check_positive
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, Problem
from medn_edu.results import OVERFLOW, Iterate
from medn_edu.solvers.textbook._quadratic_program import CappedProgram, highs_maximiser
from medn_edu.solvers.training import normal_variances


def cutting_plane(
    problem: Problem,
    *,
    rng: np.random.Generator | None = None,
    precision: float = 1e-6,
    patience: int = 3,
    qp_iteration_limit: int | None = None,
) -> Iterator[Iterate]:
    """Solve M3N by cutting planes, with one slack per sample (Tsochantaridis et al. 2004, Algorithm 1).

    A pass is a round.  It decodes all samples, and solves the quadratic program over the working set.
    The paper's algorithm solves a program after each sample.  This one adds the violated margins of all
    samples at once, and it also drops labellings.

    Parameters
    ----------
    problem : Problem
        A problem with a `GaussianPrior`, whose variances may differ, and a `LinearSlack`.
    rng : numpy.random.Generator, optional
        Not used, since nothing is drawn.  The parameter is there because all solvers take one.
    precision : float, default=1e-6
        A margin joins if it is violated by more than this beyond the sample's slack, in units of the
        loss.  The paper calls it ``epsilon``.
    patience : int, default=3
        Rounds with a dual variable of zero after which a labelling is dropped.
    qp_iteration_limit : int, optional
        Iterations that HiGHS may take for a quadratic program; by default 1000 plus ten for each
        labelling and sample.

    Yields
    ------
    Iterate
        The weights with the lowest primal value so far.  ``objective_estimate`` is the value of the last
        program, and ``gap_estimate`` the difference between the two values, exact up to rounding.  The
        solver ends when no margin is violated any more, or when a program can be finished neither by
        HiGHS nor by the steps between pairs that take over from it.  ``stopped`` says why.

    Raises
    ------
    TypeError
        If the problem is not a quadratic program.
    ValueError
        If ``precision`` is not positive, a number of rounds or iterations is below 1, or numbers
        overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]])
    >>> for iterate in cutting_plane(problem):
    ...     print(round(iterate.objective_estimate, 3), len(iterate.dual()))
    0.333 1
    0.333 1
    >>> iterate.stopped
    'no margin is violated by more than 1e-06 beyond its slack'
    """
    return _rounds(_LabellingSet(problem), precision, patience, qp_iteration_limit)


def one_slack_cutting_plane(
    problem: Problem,
    *,
    rng: np.random.Generator | None = None,
    precision: float = 1e-6,
    patience: int = 50,
    qp_iteration_limit: int | None = None,
) -> Iterator[Iterate]:
    """Solve M3N by cutting planes, with one slack for all samples (Joachims et al. 2009, Algorithm 3).

    A pass is a round.  It decodes all samples, adds one constraint, and solves the program over those
    that are kept.

    Parameters
    ----------
    problem : Problem
        A problem with a `GaussianPrior`, whose variances may differ, and a `LinearSlack`.
    rng : numpy.random.Generator, optional
        Not used, since nothing is drawn.  The parameter is there because all solvers take one.
    precision : float, default=1e-6
        A constraint joins if it is violated by more than this beyond the slack, in units of the loss
        per sample.  The paper calls it ``epsilon``.
    patience : int, default=50
        Rounds with a dual variable of zero after which a constraint is dropped, as in the paper.
    qp_iteration_limit : int, optional
        Iterations that HiGHS may take for a quadratic program; by default 1010 plus ten for each
        constraint.

    Yields
    ------
    Iterate
        As from `cutting_plane`.  The dual variable of a constraint becomes that of the labellings in
        the constraint.

    Raises
    ------
    TypeError
        If the problem is not a quadratic program.
    ValueError
        If ``precision`` is not positive, a number of rounds or iterations is below 1, or numbers
        overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)] * 9, [[0, 1]] * 9)
    >>> run(one_slack_cutting_plane(problem), problem, tol=1e-6, max_iter=100).n_passes
    2
    """
    return _rounds(_ConstraintSet(problem), precision, patience, qp_iteration_limit)


def _rounds(
    working: _WorkingSet, precision: float, patience: int, qp_iteration_limit: int | None
) -> Iterator[Iterate]:
    """Decode, add what is violated, solve; for either kind of working set."""
    check_positive("precision", precision)
    check_count("patience", patience)
    if qp_iteration_limit is not None:
        check_count("qp_iteration_limit", qp_iteration_limit)
    problem, best, lowest = working.problem, working.weights(), np.inf
    prior = problem.regulariser
    assert isinstance(prior, GaussianPrior)
    for n_rounds in count(1):
        weights = working.weights()
        labels, violation = problem.violated(weights)
        primal = float(np.sum(prior.kl(weights)) + problem.C @ np.maximum(violation, 0.0))
        if primal < lowest:
            best, lowest = weights, primal
        working.drop(patience)
        if working.add(labels, violation, precision):
            trouble = working.solve(qp_iteration_limit)
            stopped = trouble and (
                f"HiGHS ended the quadratic program of round {n_rounds} with '{trouble}'"
            )
        else:
            stopped = f"no margin is violated by more than {precision:g} beyond its slack"
        yield Iterate(
            weights=best,
            gap_estimate=lowest - working.value,
            objective_estimate=working.value,
            n_oracle_calls=n_rounds * problem.n_samples,
            dual=working.dual_variables,
            stopped=stopped,
            variance=working.variance,
        )
        if stopped:
            return


class _WorkingSet(ABC):
    """The constraints that are enforced: gains and rows of the dual, and dual variables.

    Rows are multiplied by the square roots of the variances, so that their Gram matrix is that of the
    dual.  It grows with the set and is never computed afresh.  ``cap`` is the largest sum of the dual
    variables whose constraints share a slack.
    """

    def __init__(self, problem: Problem, cap: np.ndarray) -> None:
        self.variance = normal_variances(problem)
        self.problem = problem
        self.cap = cap
        self.scale = np.sqrt(self.variance)
        self.gain, self.alpha = np.zeros(0), np.zeros(0)
        self.group, self.idle = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.labels: list[np.ndarray] = []
        self.rows = sp.csr_matrix((0, len(self.scale)))
        self.gram = np.zeros((0, 0))
        self.value = 0.0

    def weights(self) -> np.ndarray:
        """Return the weights that belong to the dual variables, ``v * eta``."""
        return self.scale * (self.rows.T @ self.alpha)

    def slacks(self) -> np.ndarray:
        """Return the slacks that the constraints of the set need at these weights."""
        xi = np.zeros(len(self.cap))
        np.maximum.at(xi, self.group, self.gain - self.rows @ (self.rows.T @ self.alpha))
        return xi

    def drop(self, patience: int) -> None:
        """Drop constraints with dual variables that have been zero for ``patience`` rounds."""
        self.idle = np.where(self.alpha > 0, 0, self.idle + 1)
        kept = np.flatnonzero(self.idle < patience)
        if len(kept) < len(self.idle):
            self.gain, self.alpha = self.gain[kept], self.alpha[kept]
            self.group, self.idle = self.group[kept], self.idle[kept]
            self.labels = [self.labels[j] for j in kept]
            self.rows = self.rows[kept]
            self.gram = self.gram[np.ix_(kept, kept)]

    @abstractmethod
    def add(self, labels: np.ndarray, violation: np.ndarray, precision: float) -> bool:
        """Add what is violated by more than slack plus precision; return whether anything was."""

    @abstractmethod
    def dual_variables(self) -> DualVariables:
        """Return the dual variables of labellings."""

    def solve(self, iteration_limit: int | None) -> str:
        """Find the best dual variables; return what went wrong, if anything did."""
        program = CappedProgram(self.gain, self.gram, self.group, self.cap)
        self.alpha, trouble = highs_maximiser(program, self.alpha, iteration_limit)
        self.value = program.value(self.alpha)
        return trouble

    def _append(
        self, gain: np.ndarray, rows: sp.spmatrix, group: np.ndarray, labels: list[np.ndarray]
    ) -> None:
        rows = sp.csr_matrix(rows @ sp.diags(self.scale))
        cross, own = (rows @ self.rows.T).toarray(), (rows @ rows.T).toarray()
        if not np.isfinite(own).all():
            raise ValueError(OVERFLOW)
        self.gram = np.block([[self.gram, cross.T], [cross, own]])
        self.rows = sp.vstack([self.rows, rows], format="csr")
        self.gain = np.concatenate([self.gain, gain])
        self.group = np.concatenate([self.group, group])
        self.alpha = np.concatenate([self.alpha, np.zeros(len(gain))])
        self.idle = np.concatenate([self.idle, np.zeros(len(gain), dtype=np.int64)])
        self.labels += labels


class _LabellingSet(_WorkingSet):
    """Labellings, in groups by sample."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, problem.C)

    def add(self, labels: np.ndarray, violation: np.ndarray, precision: float) -> bool:
        new = np.flatnonzero(violation > self.slacks() + precision)
        if len(new) == 0:
            return False
        offsets = self.problem.data.samples.offsets
        added = [labels[offsets[i] : offsets[i + 1]] for i in new]
        alpha = _listed(new, added, np.ones(len(new)))
        self._append(
            alpha.losses(self.problem.data), alpha.differences(self.problem.data), new, added
        )
        return True

    def dual_variables(self) -> DualVariables:
        order = np.argsort(self.group, kind="stable")
        return _listed(self.group[order], [self.labels[j] for j in order], self.alpha[order])


class _ConstraintSet(_WorkingSet):
    """Constraints, each made of one labelling per sample, that share one slack."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, np.ones(1))

    def add(self, labels: np.ndarray, violation: np.ndarray, precision: float) -> bool:
        C = self.problem.C
        if C @ violation <= self.slacks()[0] + precision * C.sum():
            return False
        cut = DualVariables.on(self.problem.data.samples, labels, C)
        row = sp.csr_matrix(cut.eta(self.problem.data))
        gain = np.array([cut.loss(self.problem.data)])
        self._append(gain, row, np.zeros(1, dtype=np.int64), [labels])
        return True

    def dual_variables(self) -> DualVariables:
        """Return ``sum_c gamma_c C_i`` on the constraints' wrong labellings, with equal ones merged."""
        offsets, true = self.problem.data.samples.offsets, self.problem.data.labels
        sample: list[int] = []
        labels: list[np.ndarray] = []
        values: list[float] = []
        carrying = [(self.labels[c], self.alpha[c]) for c in np.flatnonzero(self.alpha)]
        for i, (first, last) in enumerate(pairwise(offsets)):
            place = {true[first:last].tobytes(): -1}
            for cut, gamma in carrying:
                labelling = cut[first:last]
                where = place.setdefault(labelling.tobytes(), len(values))
                if where == len(values):
                    sample.append(i)
                    labels.append(labelling)
                    values.append(0.0)
                if where >= 0:
                    values[where] += gamma * self.problem.C[i]
        return _listed(np.array(sample, dtype=np.int64), labels, np.array(values))


def _listed(sample: np.ndarray, labels: list[np.ndarray], values: np.ndarray) -> DualVariables:
    """Join labellings to dual variables."""
    lengths = np.array([len(labelling) for labelling in labels], dtype=np.int64)
    joined = np.concatenate([np.zeros(0, dtype=np.int64), *labels])
    return DualVariables(sample, np.concatenate([[0], np.cumsum(lengths)]), joined, values)
