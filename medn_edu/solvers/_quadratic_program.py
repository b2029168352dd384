"""The quadratic programs of `medn_edu.solvers.cutting_plane`, solved by HiGHS.

They are duals over the labellings of a working set:

    maximise   sum_j gain_j a_j - |sum_j a_j r_j|^2 / 2
    such that  a_j >= 0,  sum of the a_j of each group <= its cap,

where ``r_j`` is a row of feature differences, so that only the Gram matrix ``r_j . r_k`` matters.  The
primal, in the weights, has as many columns as there are weights and the rows themselves as constraints.
With the 300 to 650 labellings that matter on the digit words HiGHS takes three to six times as long for
it, and the masses that it hands back are good to six digits only; those of the dual are to twelve.

HiGHS solves such programs by an active-set method, from scratch each time.  Three things make it
reliable.

* Numbers are scaled so that gains, curvatures and caps are about 1, whatever ``C`` and the features.
* The Gram matrix is singular when there are more labellings than weights.  HiGHS adds a small multiple
  of the identity to it, and may then creep for thousands of iterations along directions in which
  hardly anything changes.  So that is left out at first, and put back only where HiGHS does not
  finish or is not accurate; now and then it is the other way round.  Then it is put around the best
  masses so far instead of 0 (a *proximal* step), so that a few steps lead to the true optimum.
* Whatever comes back is clipped to be feasible.  If HiGHS says that it is not optimal, it is judged by
  its own duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["CappedProgram", "highs_maximiser"]

_CLOSE = 1e-6  # relative gap at which a solution is good enough, whatever HiGHS says of it
_OWN = 1e-7  # the multiple of the identity that HiGHS adds
_REGULARISATION = (0.0, _OWN, _OWN)  # what is tried


@dataclass(frozen=True, eq=False)
class CappedProgram:
    """A concave quadratic program over masses, in groups that have caps.

    Parameters
    ----------
    gain : ndarray of shape (n_masses,)
        What a unit of each mass gains; positive.
    gram : ndarray of shape (n_masses, n_masses)
        Gram matrix of the rows, positive semi-definite.
    group : ndarray of int64, shape (n_masses,)
        Group of each mass.
    cap : ndarray of shape (n_groups,)
        Largest sum of each group's masses; positive.

    Examples
    --------
    >>> program = CappedProgram(np.ones(1), np.eye(1), np.zeros(1, dtype=int), np.full(1, 0.5))
    >>> program.value(np.full(1, 0.5)), program.upper_bound(np.full(1, 0.5))
    (0.375, 0.375)
    """

    gain: np.ndarray
    gram: np.ndarray
    group: np.ndarray
    cap: np.ndarray

    def value(self, mass: np.ndarray) -> float:
        """Return the value of the program at these masses."""
        return float(self.gain @ mass - mass @ (self.gram @ mass) / 2)

    def upper_bound(self, mass: np.ndarray) -> float:
        """Return the value of the primal at the weights that these masses make; no value exceeds it."""
        product = self.gram @ mass
        slack = np.zeros(len(self.cap))
        np.maximum.at(slack, self.group, self.gain - product)
        return float(mass @ product / 2 + self.cap @ slack)

    def clipped(self, mass: np.ndarray) -> np.ndarray:
        """Return masses that are not negative and, where they were too large, scaled to their caps."""
        mass = np.where(np.isfinite(mass) & (mass > 0), mass, 0.0)
        total = np.bincount(self.group, weights=mass, minlength=len(self.cap))
        return mass * np.minimum(1.0, self.cap / np.maximum(total, 1e-300))[self.group]


def highs_maximiser(
    program: CappedProgram, start: np.ndarray, iteration_limit: int | None = None
) -> tuple[np.ndarray, str]:
    """Maximise a quadratic program by HiGHS.

    Parameters
    ----------
    program : CappedProgram
        The program.
    start : ndarray of shape (n_masses,)
        Feasible masses; what is returned is no worse.  (HiGHS itself starts afresh: it does not take
        such a start for a quadratic program.)
    iteration_limit : int, optional
        Iterations that HiGHS may take; by default 1000 and ten for each mass and group.

    Returns
    -------
    mass : ndarray of shape (n_masses,)
        The best feasible masses found.
    trouble : str
        Empty if they are optimal; else what HiGHS says of its failure, such as "Iteration limit
        reached".
    """
    if iteration_limit is None:
        iteration_limit = 1000 + 10 * (len(program.gain) + len(program.cap))
    best, value, troubles = start, program.value(start), []
    for regularisation in _REGULARISATION:
        found, trouble = _solve(program, best, regularisation, iteration_limit)
        troubles.append(trouble)
        found = program.clipped(found)
        if program.value(found) >= value:
            best, value = found, program.value(found)
        if program.upper_bound(best) - value <= _CLOSE * value:
            return best, ""
    return best, troubles[-1] if all(troubles) else ""


def _solve(
    program: CappedProgram, centre: np.ndarray, regularisation: float, iteration_limit: int
) -> tuple[np.ndarray, str]:
    """Return what HiGHS makes of a program, regularised around a centre, and its complaint if any."""
    import highspy

    gain, gram = program.gain, program.gram
    # The mass at which one labelling alone would be best is the unit, if there is room for it.
    alone = gain / np.maximum(gram.diagonal(), 1e-300)
    unit, price = min(float(np.median(alone)), float(program.cap.mean())), float(gain.mean())
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
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
    mass = np.array(highs.getSolution().col_value, dtype=np.float64)
    return (unit * mass if len(mass) == len(gain) else np.zeros(len(gain))), trouble


def _model(gain: np.ndarray, gram: np.ndarray, group: np.ndarray, cap: np.ndarray) -> Any:
    """Write a program down for HiGHS, which minimises and reads the lower triangle of the Hessian."""
    import highspy

    n_masses, n_groups = len(gain), len(cap)
    model = highspy.HighsModel()
    lp, hessian = model.lp_, model.hessian_
    lp.num_col_, lp.num_row_ = n_masses, n_groups
    lp.col_cost_ = -gain
    lp.col_lower_, lp.col_upper_ = np.zeros(n_masses), np.full(n_masses, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = np.full(n_groups, -highspy.kHighsInf), cap
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(n_masses + 1)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = group, np.ones(n_masses)
    lower = sp.csc_matrix(np.tril(gram))
    hessian.dim_ = n_masses
    hessian.format_ = highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = lower.indptr, lower.indices, lower.data
    return model
