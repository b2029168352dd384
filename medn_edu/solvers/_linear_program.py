"""The linear program of L1-M3N over some labellings and some features, kept warm in HiGHS.

With ``w = mu - nu`` and ``mu, nu >= 0`` the problem P1 of the L1-M3N paper over a *working set* of
labellings reads

    minimise  sum_k (mu_k + nu_k) / 2 + sum_i C_i xi_i
    such that (mu - nu) . (f(x_i, y_i) - f(x_i, y)) + xi_i >= loss_i(y)   for y in the working set,

and the multipliers of its rows are the dual variables ``alpha_i(y)``.  Rows come and go, and features
may come; HiGHS goes on from its last basis.  `cut` lets the program grow by the labellings that its
solution violates most, until there are none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.problems import DualVariables, Problem
from medn_edu.results import Iterate
from medn_edu.solvers._l1_bounds import Bounds
from medn_edu.solvers.training import scaled_to_fit

SMOOTHING = 0.8  # measured on 100 words of the OCR letters
WARM_SMOOTHING = 0.5  # less from a solution on, which is nearer but not the end
_PRECISION = 1e-9  # violations below this share of the largest loss are rounding
_MOST_ITERATIONS = 1_000_000  # of the simplex method, for one program: a bound on patience
_FEASIBLE = 1e-8  # what HiGHS takes for met; smaller parts of weights are rounding of 0
_LARGEST = 1e15  # HiGHS takes no program with an entry of this size


class ProgramError(Exception):
    """HiGHS did not find the optimum of a program that has one."""


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """A vertex of the program, and the dual variables that prove it best."""

    weights: np.ndarray  # exactly 0 where both parts of a weight are, to the accuracy of HiGHS
    alpha: DualVariables  # on the active labellings of the working set
    active: np.ndarray  # (n_rows,), which they are
    value: float  # the optimum


class LinearProgram:
    """A working set of labellings, and the program over it; other weights than ``features`` are 0."""

    def __init__(
        self,
        problem: Problem,
        features: np.ndarray | None = None,
        labellings: DualVariables | None = None,
    ) -> None:
        self.problem = problem
        self._highs = serial_highs()
        self._highs.setOptionValue("solver", "simplex")
        self._highs.setOptionValue("random_seed", 0)
        self._highs.setOptionValue("simplex_iteration_limit", _MOST_ITERATIONS)
        self._highs.setOptionValue("primal_feasibility_tolerance", _FEASIBLE)
        self._highs.setOptionValue("dual_feasibility_tolerance", _FEASIBLE)
        n_weights = problem.weight_shape.size
        self.rows = sp.csr_matrix((0, n_weights))
        self.labellings = DualVariables.empty()
        # The columns are xi_i of all samples, then mu_k and nu_k of the features.
        self._features = np.zeros(0, dtype=np.int64)
        self._add_columns(problem.C, sp.csc_matrix((0, problem.n_samples)))
        self.add_features(np.arange(n_weights) if features is None else features)
        if labellings is not None:
            self.add(labellings)

    def __len__(self) -> int:
        return self.rows.shape[0]

    def add_features(self, features: np.ndarray) -> None:
        """Let further weights differ from 0."""
        self._features = np.concatenate([self._features, features])
        self._add_columns(np.full(2 * len(features), 0.5), paired(self.rows[:, features]))

    def _add_columns(self, cost: np.ndarray, entries: sp.csc_matrix) -> None:
        n = len(cost)
        self._highs.addCols(
            n, cost, np.zeros(n), np.full(n, np.inf), entries.nnz,
            entries.indptr[:-1].astype(np.int32), entries.indices.astype(np.int32), entries.data,
        )  # fmt: skip

    def add(self, labellings: DualVariables) -> None:
        """Add labellings to the working set; the true ones say nothing and are left out."""
        losses = labellings.losses(self.problem.data)
        labellings, losses = labellings.take(losses > 0), losses[losses > 0]
        n = len(labellings)
        if n == 0:
            return
        new = labellings.differences(self.problem.data).tocsr()
        new.eliminate_zeros()
        _check_sizes(new, losses, labellings.sample)
        shape = (n, self.problem.n_samples)
        slack = sp.csr_matrix((np.ones(n), labellings.sample, np.arange(n + 1)), shape=shape)
        entries = sp.hstack([slack, paired(new[:, self._features])]).tocsr()
        self._highs.addRows(
            n, losses.astype(float), np.full(n, np.inf), entries.nnz,
            entries.indptr[:-1].astype(np.int32), entries.indices.astype(np.int32), entries.data,
        )  # fmt: skip
        self.rows = sp.vstack([self.rows, new]).tocsr()
        self.labellings = self.labellings.concat(labellings)

    def drop(self, gone: np.ndarray) -> None:
        """Take labellings out of the working set."""
        index = np.flatnonzero(gone).astype(np.int32)
        if len(index):
            self._highs.deleteRows(len(index), index)
            self.rows = self.rows[~gone]
            self.labellings = self.labellings.take(~gone)

    def slack(self, weights: np.ndarray) -> np.ndarray:
        """Return the slack that each sample needs for the working set alone, shape (n_samples,)."""
        xi = np.zeros(self.problem.n_samples)
        violation = self.labellings.losses(self.problem.data) - self.rows @ weights
        np.maximum.at(xi, self.labellings.sample, violation)
        return xi

    def solve(self) -> ProgramSolution:
        """Return an optimal vertex, starting from the last basis; a ProgramError if HiGHS fails."""
        status = self._run()
        if status != "Optimal":  # a basis that has come a long way may be ill-conditioned
            self._highs.clearSolver()
            status = self._run()
        if status != "Optimal":
            raise ProgramError(
                f"HiGHS ended a linear program of {len(self)} labellings with the status {status!r}"
            )
        solution = self._highs.getSolution()
        parts: Any = np.array(solution.col_value)
        parts[parts < _FEASIBLE] = 0.0  # a basic variable may be at 0 all but for rounding
        weights, parts = np.zeros(self.rows.shape[1]), parts[self.problem.n_samples :]
        weights[self._features] = parts[::2] - parts[1::2]
        values = np.maximum(np.array(solution.row_dual), 0.0)
        values = scaled_to_fit(values, self.labellings.sample, self.problem.C)
        alpha = replace(self.labellings, values=values).take(values > 0)
        alpha = alpha.take(np.argsort(alpha.sample, kind="stable"))
        value = self._highs.getInfo().objective_function_value
        return ProgramSolution(weights, alpha, values > 0, value)

    def missing_features(self, alpha: DualVariables) -> np.ndarray:
        """Return the weights left out that are worth their price, ``|eta_k| > 1/2``."""
        worth = np.abs(alpha.eta(self.problem.data)) > 0.5 * (1 + 1e-9)
        return np.setdiff1d(np.flatnonzero(worth), self._features)

    def _run(self) -> str:
        self._highs.run()
        return self._highs.modelStatusToString(self._highs.getModelStatus())


def serial_highs() -> Any:
    """Return a silent HiGHS that shares out no work, so that its result is the same on any machine.

    Its option ``threads`` stays as it is: a run with another number than the first one of the process,
    which may be somebody else's, fails.
    """
    import highspy

    class Silent(highspy.Highs):
        def enableCallbacks(self) -> None:  # noqa: N802
            """Be silent first: as the last step of the constructor, this prints HiGHS' version."""
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    highs = Silent()
    highs.setOptionValue("parallel", "off")
    return highs


def _check_sizes(rows: sp.csr_matrix, losses: np.ndarray, sample: np.ndarray) -> None:
    """Refuse differences of joint features, and losses, that HiGHS would refuse."""
    if losses.max() >= _LARGEST:
        raise ValueError(
            f"sample {sample[losses.argmax()]} of X has a labelling that costs {losses.max():.3g}; "
            f"expected label_costs that add up to less than {_LARGEST:g} for the linear program of "
            "L1-M3N."
        )
    too_large = np.flatnonzero(np.abs(rows.data) >= _LARGEST)
    if len(too_large):
        row = np.searchsorted(rows.indptr, too_large[0], side="right") - 1
        raise ValueError(
            f"sample {sample[row]} of X has features that add up to {rows.data[too_large[0]]:.3g}; "
            f"expected less than {_LARGEST:g} for the linear program of L1-M3N; rescale the "
            "features, to about 1."
        )


def paired(rows: sp.csr_matrix) -> sp.csc_matrix:
    """Return each column followed by its negative: the entries of ``mu_k`` and ``nu_k``."""
    columns = sp.hstack([rows, -rows]).tocsc()
    n = rows.shape[1]
    return columns[:, np.arange(2 * n).reshape(2, n).T.ravel()]


def cut(
    program: LinearProgram,
    bounds: Bounds,
    point: np.ndarray,
    *,
    smoothing: float = SMOOTHING,
    patience: int = 2,
) -> Iterator[Iterate]:
    """Solve the program, add the labellings that its solution violates, and repeat; yield per round.

    The running average begins at ``point``; `medn_edu.solvers.l1_cutting_plane` says why it is there.
    """
    idle, value = np.zeros(len(program), dtype=np.int64), -np.inf
    while True:
        try:
            solution = program.solve()
        except ProgramError as failure:
            yield bounds.iterate(str(failure))
            return
        bounds.prove(solution.alpha)
        labels, violation = bounds.visit(solution.weights)
        point = smoothing * point + (1 - smoothing) * solution.weights
        new = _violated(program, point, *bounds.decode(point))
        if not len(new):
            point = solution.weights
            new = _violated(program, point, labels, violation)
        features = program.missing_features(solution.alpha)
        done = not len(new) and not len(features)
        yield bounds.iterate(
            "no margin is violated any more, to the accuracy of HiGHS" if done else ""
        )
        if done:
            return
        idle = np.where(solution.active, 0, idle + 1)
        if solution.value > value:  # otherwise labellings might come and go for ever
            program.drop(idle > patience)
            idle, value = idle[idle <= patience], solution.value
        program.add(new)
        program.add_features(features)
        idle = np.concatenate([idle, np.zeros(len(program) - len(idle), dtype=np.int64)])


def _violated(
    program: LinearProgram, weights: np.ndarray, labels: np.ndarray, violation: np.ndarray
) -> DualVariables:
    """Return those labellings that violate more than the working set knows, with values of 0."""
    data = program.problem.data
    samples = data.samples
    found = DualVariables.on(samples, labels, np.zeros(samples.n_samples))
    precision = _PRECISION * float(samples.lengths.max() * np.max(data.loss_scale))
    return found.take(violation > program.slack(weights) + precision)
