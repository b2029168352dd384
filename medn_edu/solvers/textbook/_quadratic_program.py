"""The quadratic programs of `medn_edu.solvers.textbook.cutting_plane`, solved by HiGHS.

``_quadratic_program.md`` explains why it works.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.solvers._linear_program import serial_highs
from medn_edu.solvers.training import scaled_to_fit

_CLOSE = 1e-6  # relative gap at which a solution is good enough, whatever HiGHS says of it
_OWN = 1e-7  # the multiple of the identity that HiGHS adds
_REGULARISATION = (0.0, *[_OWN] * 5)  # what is tried, as long as it leads further


@dataclass(frozen=True, eq=False)
class CappedProgram:
    """A concave quadratic program over dual variables in groups, where each group's sum has a cap."""

    gain: np.ndarray
    gram: np.ndarray
    group: np.ndarray
    cap: np.ndarray

    def value(self, alpha: np.ndarray) -> float:
        """Return the value of the program at these dual variables."""
        return float(self.gain @ alpha - alpha @ (self.gram @ alpha) / 2)

    def upper_bound(self, alpha: np.ndarray) -> float:
        """Return the primal value at the weights of ``alpha``, an upper bound on the program's value."""
        product = self.gram @ alpha
        slack = np.zeros(len(self.cap))
        np.maximum.at(slack, self.group, self.gain - product)
        return float(alpha @ product / 2 + self.cap @ slack)

    def clipped(self, alpha: np.ndarray) -> np.ndarray:
        """Return the variables, made non-negative and scaled down to their caps where needed."""
        alpha = np.where(np.isfinite(alpha) & (alpha > 0), alpha, 0.0)
        return scaled_to_fit(alpha, self.group, self.cap)


def highs_maximiser(
    program: CappedProgram, start: np.ndarray, iteration_limit: int | None = None
) -> tuple[np.ndarray, str]:
    """Maximise a quadratic program by HiGHS or, if that fails, by steps between pairs.

    Returns feasible dual variables, no worse than ``start``, and what HiGHS says about its failure,
    which is empty if the variables are optimal.  HiGHS starts afresh, because it takes no start for a
    quadratic program.  It may take a limited number of iterations, by default 1000 plus ten for each
    variable and group.  If it fails, ten times as many steps between pairs follow, which are cheap.
    """
    if iteration_limit is None:
        iteration_limit = 1000 + 10 * (len(program.gain) + len(program.cap))
    best, value, troubles = start, program.value(start), []
    for regularisation in _REGULARISATION:
        found, trouble = _solve(program, best, regularisation, iteration_limit)
        troubles.append(trouble)
        found, before = program.clipped(found), value
        if program.value(found) >= value:
            best, value = found, program.value(found)
        if program.upper_bound(best) - value <= _CLOSE * value:
            return best, ""
        if regularisation and value <= before:
            break  # the next step would be the same
    best = pairwise_maximiser(program, best, 10 * iteration_limit)
    if program.upper_bound(best) <= (1 + _CLOSE) * program.value(best):
        return best, ""
    return best, troubles[-1] if all(troubles) else ""


def pairwise_maximiser(program: CappedProgram, start: np.ndarray, n_steps: int) -> np.ndarray:
    """Maximise a quadratic program by moving an amount between two labellings of a group at a time.

    The amount by which a group's variables fall short of its cap counts as the dual variable of the
    true labelling, with no gain and a row of zeros.  Each step looks at every group's largest slope, and
    at its smallest slope among positive variables.  It takes the group where the two are furthest apart.
    It moves until the parabola is highest, or until nothing is left to move.
    """
    n_variables, n_groups = len(program.gain), len(program.cap)
    group = np.concatenate([program.group, np.arange(n_groups)])
    order = np.argsort(group, kind="stable")  # a group's labellings side by side, the true one last
    first = np.searchsorted(group[order], np.arange(n_groups))
    last = np.append(first[1:], len(order))
    gram = np.pad(program.gram, (0, 1))  # the true labellings' row of zeros
    row = np.minimum(order, n_variables)
    rest = program.cap - np.bincount(program.group, weights=start, minlength=n_groups)
    alpha = np.concatenate([start, np.maximum(rest, 0.0)])[order]
    gain = np.append(program.gain, 0.0)[row]
    slope = gain - np.append(program.gram @ start, 0.0)[row]
    for _ in range(n_steps):
        highest = np.maximum.reduceat(slope, first)
        if program.cap @ highest - alpha @ slope <= _CLOSE / 2 * (alpha @ (gain + slope) / 2):
            break
        lowest = np.minimum.reduceat(np.where(alpha > 0, slope, np.inf), first)
        g = int(np.argmax(highest - lowest))
        here = slice(first[g], last[g])
        k = first[g] + int(np.argmax(slope[here]))
        j = first[g] + int(np.argmin(np.where(alpha[here] > 0, slope[here], np.inf)))
        difference = gram[row[k]] - gram[row[j]]
        rise, curvature = slope[k] - slope[j], difference[row[k]] - difference[row[j]]
        step = min(alpha[j], rise / curvature) if curvature > 0 else alpha[j]
        if not step > 0:
            break
        alpha[k] += step
        alpha[j] -= step
        slope -= step * difference[row]
    found = np.empty(n_variables + n_groups)
    found[order] = alpha
    return program.clipped(found[:n_variables])


def _solve(
    program: CappedProgram, centre: np.ndarray, regularisation: float, iteration_limit: int
) -> tuple[np.ndarray, str]:
    """Return what HiGHS makes of a program, regularised around a centre, and its complaint if any."""
    import highspy

    gain, gram = program.gain, program.gram
    # The value at which one labelling alone would be best is the unit, if there is room for it.
    alone = gain / np.maximum(gram.diagonal(), 1e-300)
    unit = min(float(np.median(alone)), float(program.cap.mean()))
    # Curvatures become 1, and gains 1 or more; if all labellings have the same features, gains alone.
    price = unit * float(np.median(gram.diagonal())) or float(gain.mean())
    highs = serial_highs()
    highs.setOptionValue("qp_iteration_limit", iteration_limit)
    known = highs.setOptionValue("qp_regularization_value", regularisation)
    if known != highspy.HighsStatus.kOk:  # HiGHS 1.10 has no such option
        regularisation = _OWN
    slope = gain / price + regularisation * (centre / unit)
    highs.passModel(_model(slope, gram * (unit / price), program.group, program.cap / unit))
    highs.run()
    status = highs.getModelStatus()
    trouble = (
        "" if status == highspy.HighsModelStatus.kOptimal else highs.modelStatusToString(status)
    )
    alpha = np.array(highs.getSolution().col_value, dtype=np.float64)
    return (unit * alpha if len(alpha) == len(gain) else np.zeros(len(gain))), trouble


def _model(gain: np.ndarray, gram: np.ndarray, group: np.ndarray, cap: np.ndarray) -> Any:
    """Write a program down for HiGHS, which minimises and reads the lower triangle of the Hessian."""
    import highspy

    n_variables, n_groups = len(gain), len(cap)
    model = highspy.HighsModel()
    lp, hessian = model.lp_, model.hessian_
    lp.num_col_, lp.num_row_ = n_variables, n_groups
    lp.col_cost_ = -gain
    lp.col_lower_, lp.col_upper_ = np.zeros(n_variables), np.full(n_variables, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = np.full(n_groups, -highspy.kHighsInf), cap
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(n_variables + 1)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = group, np.ones(n_variables)
    lower = sp.csc_matrix(np.tril(gram))
    hessian.dim_ = n_variables
    hessian.format_ = highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = lower.indptr, lower.indices, lower.data
    return model
