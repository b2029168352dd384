r"""One block step of Frank-Wolfe, in plain numpy: how the exact dual of MEDN is climbed.

The dual D1 (`medn_edu.theory.medn`) has one variable :math:`\alpha_i(y) \ge 0` per labelling.  Those of
sample ``i`` are its *block*.  Take one block and leave the others as they are.  Then

.. math:: D(\alpha_i) = \sum_y \alpha_i(y) \Delta\ell_i(y) - \sum_k \Lambda(\eta_k) - U^*(s_i),
          \qquad \eta = \ldots + \sum_y \alpha_i(y) \Delta f_i(y), \quad s_i = \sum_y \alpha_i(y) .

**The slope.**  Since :math:`\Lambda'` is the posterior mean ``w``, the derivative of ``D`` with respect
to :math:`\alpha_i(y)` is the *violation* :math:`H_i(y) = \Delta\ell_i(y) - w^\top \Delta f_i(y)`, less
the slope of :math:`U^*`.  So the most valuable labelling is the one that violates its margin most.
Decoding finds it without looking at all the others.  (Here we look at all of them.)

**Pairwise steps.**  Plain Frank-Wolfe would shrink all dual variables of the block by the same factor
and add to the best labelling.  A *pairwise* step takes ``g`` from the worst labelling in use and gives
it to the best one.  If :math:`\Lambda` were a parabola with curvatures ``v`` (the posterior variances),
that would raise the dual by

.. math:: g (H_{best} - H_{worst}) - \tfrac{g^2}{2} \| \Delta f_{best} - \Delta f_{worst} \|_v^2 ,

so the best ``g`` is a quotient, cut off where ``worst`` has nothing left.  The inner products ``Q`` of
the kept labellings say how it changes every violation, so the next pair can be chosen.  A few such steps
come close to the parabola's maximum over the kept labellings.

**The line search.**  The dual is that parabola only for a Gaussian prior and a linear or quadratic
slack.  So the sum of the pairwise steps is used as a direction, and the true dual decides how far to go
along it.  Its slope falls along the way.  Newton's method finds where it vanishes, with bisection
where Newton would leave the interval known to hold the root.  A steep prior has an infinite slope at the
end of its domain, so the root lies inside.  The step is never longer than the direction, or a dual
variable would become negative.  Hence every step is feasible and the dual never falls.

**Slacks.**  The linear slack fixes :math:`s_i = C_i` and counts the true labelling among the ``y``.  The
other two leave ``s`` free.  Then the true labelling is a *source*: it has no features and no loss, gives
and takes without end, and :math:`U^*` counts all others.  In the code below its dual variable
is ``inf``.

**Extrapolation.**  If several blocks pull the weights the same way, each by its own small step, progress
is slow.  So between two rounds of visits `extrapolate` moves all blocks at once.  It continues in the
direction of the last round, with the same line search.

The compiled step is `medn_edu.kernels.block_step`; a test follows both from visit to visit.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from medn_edu.slacks import ExponentialSlack, LinearSlack
from medn_edu.theory.medn import EnumeratedProblem, slack_conjugate, slack_penalty
from medn_edu.theory.medn_solvers import conjugate_slopes

N_STEPS = 20  # number of pairwise steps
SPREAD_LEFT = 0.1  # share of the spread at which they stop
N_EVALUATIONS, SMALL_SLOPE, INSIDE = 60, 0.1, 0.99  # line search
ROUNDING, SLOPE_ROUNDING = 1e-13, 1e-9  # what counts as zero


@dataclass
class Atom:
    """A kept labelling: its row in the enumeration, and its dual variable."""

    row: int
    alpha: float


Alpha = list[list[Atom]]  # the atoms of each sample


def start(problem: EnumeratedProblem) -> Alpha:
    """Put each sample's whole budget on its true labelling, so that ``eta`` is zero."""
    slack, weight = problem.slack, problem.sample_weight
    C = slack.C * weight if isinstance(slack, LinearSlack) else np.full(len(weight), math.inf)
    true = np.flatnonzero(problem.losses == 0)
    return [[Atom(row, full)] for row, full in zip(true.tolist(), C.tolist(), strict=True)]


def dense(problem: EnumeratedProblem, alpha: Alpha) -> np.ndarray:
    """Write out the dual variables, one number per row; those of sources are 0."""
    out = np.zeros(len(problem.losses))
    for atom in itertools.chain(*alpha):
        out[atom.row] = atom.alpha if atom.alpha < math.inf else 0.0
    return out


def block_step(
    problem: EnumeratedProblem, alpha: Alpha, eta: np.ndarray, i: int
) -> tuple[np.ndarray, float]:
    """Step in block ``i``, changing ``alpha[i]`` in place; return the new ``eta`` and the gap before."""
    block, prior = alpha[i], problem.prior

    # Decode: the labelling that violates its margin most is kept, with a dual variable of 0.
    w, variance = prior.mean(eta), prior.variance(eta)
    rows = np.flatnonzero(problem.sample == i)
    H = problem.losses[rows] - problem.differences[rows] @ w
    best = int(rows[np.argmax(H)])
    if best not in [atom.row for atom in block]:
        block.append(Atom(best, 0.0))

    # The block's share of the duality gap: with a linear slack, what C_i on that labelling promises.
    kept = [atom.row for atom in block]
    loss, df = problem.losses[kept], problem.differences[kept]
    a = np.array([atom.alpha for atom in block])
    source = np.isinf(a)
    H = loss - df @ w
    totals = problem.totals(dense(problem, alpha))
    gap = _slack_gap(problem, i, totals[i], float(H.max())) - float(a[~source] @ H[~source])

    # Pairwise steps, with Lambda and U* as parabolas.
    slope, curvature = (each[i] for each in _slack_slopes(problem, totals))
    Q = (df * variance) @ df.T + curvature * np.outer(~source, ~source)
    direction = _pairwise_steps(a, H - slope * ~source, Q)

    # A line search on the true dual along the direction.
    along = np.zeros(len(problem.losses))
    along[kept] = np.where(source, 0.0, direction)
    step, eta = _line_search(problem, eta, totals, along)

    # Take the step, and drop what is no longer in use; the last atom takes its place.
    for atom, change in zip(block, direction, strict=True):
        atom.alpha = _after(atom.alpha, step * change)
    k = 0
    while k < len(block):
        if block[k].alpha > 0:
            k += 1
        else:
            last = block.pop()
            if k < len(block):
                block[k] = last
    return eta, gap


def extrapolate(
    problem: EnumeratedProblem, alpha: Alpha, previous: np.ndarray, eta: np.ndarray
) -> np.ndarray:
    """Move all blocks at once along the line from the ``previous`` dual variables to the current ones.

    The target is as far again along this line.  Negative dual variables are set to 0 there, and with
    the linear slack each sample's sum is restored.

    Changes ``alpha`` in place and returns the new ``eta``.
    """
    now = dense(problem, alpha)
    target = np.maximum(now + (now - previous), 0.0)
    if isinstance(problem.slack, LinearSlack):
        C = problem.slack.C * problem.sample_weight
        target *= (C / problem.totals(target))[problem.sample]
    step, eta = _line_search(problem, eta, problem.totals(now), target - now)
    for atom in itertools.chain(*alpha):
        atom.alpha = _after(atom.alpha, step * (target - now)[atom.row])
    return eta


def _after(value: float, change: float) -> float:
    """A dual variable after a step; what rounding leaves of it becomes 0."""
    after = float(value + change)
    return after if after > ROUNDING * value or after == math.inf else 0.0


def _pairwise_steps(a: np.ndarray, H: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Move dual variables from the worst labelling in use to the best one, again and again."""
    H, moved = H.copy(), np.zeros_like(a)
    accuracy = SPREAD_LEFT * (H.max() - H[a > 0].min())
    tie = 1e-6 * accuracy  # a step makes two violations equal: let rounding not choose between them
    for _ in range(N_STEPS):
        in_use = a + moved > 0
        best = int(np.argmax(H.max() - tie <= H))
        worst = int(np.argmax(in_use & (H[in_use].min() + tie >= H)))
        gain = H[best] - H[worst]
        if not gain > accuracy:
            break
        left = a[worst] + moved[worst]
        bend = Q[best, best] + Q[worst, worst] - 2 * Q[best, worst]
        step = gain / bend if gain < left * bend else left
        moved[best] += step
        if left < math.inf and left - step <= ROUNDING * left:
            moved[worst] = -a[worst]
        else:
            moved[worst] -= step
        H += step * (Q[worst] - Q[best])
    return moved


def _line_search(
    problem: EnumeratedProblem, eta: np.ndarray, totals: np.ndarray, direction: np.ndarray
) -> tuple[float, np.ndarray]:
    """How far to go along a direction, one number per row, and the ``eta`` there."""
    d_eta, d_s = direction @ problem.differences, problem.totals(direction)

    def slope_and_curvature(step: float) -> tuple[float, float]:
        first, second = _slack_slopes(problem, totals + step * d_s)
        tilted = eta + step * d_eta
        return (
            float(direction @ problem.losses - d_eta @ problem.prior.mean(tilted) - d_s @ first),
            float(d_eta**2 @ problem.prior.variance(tilted) + d_s**2 @ second),
        )

    step = _search(slope_and_curvature, _domain_end(problem, eta, d_eta, totals, d_s))
    return step, eta + step * d_eta


def _search(slope_at: Callable[[float], tuple[float, float]], limit: float) -> float:
    """How far to go until a concave function stops growing, at most 1, and not up to ``limit``."""
    first, _ = slope_at(0.0)
    if not (first > 0 and limit > 0):
        return 0.0
    end = min(INSIDE * limit, 1.0)
    low, high = 0.0, math.inf
    step = end if end == 1 else end / 2
    for _ in range(N_EVALUATIONS):
        slope, curvature = slope_at(step)
        if -SLOPE_ROUNDING * first <= slope <= SMALL_SLOPE * first or (slope > 0 and step == end):
            return step
        low, high = (step, high) if slope > 0 else (low, step)
        step = min(step + slope / curvature, end) if curvature > 0 else end
        if not low < step < high:
            step = (low + min(high, end)) / 2
    return low


def _domain_end(
    problem: EnumeratedProblem, eta: np.ndarray, d_eta: np.ndarray, s: np.ndarray, d_s: np.ndarray
) -> float:
    """How many times the direction can be added before ``Lambda`` or ``U*`` ends."""
    low, high = problem.prior.domain
    moving = d_eta != 0
    room = np.where(d_eta > 0, high - eta, low - eta)[moving] / d_eta[moving]
    limit = float(np.min(room, initial=math.inf))
    if isinstance(problem.slack, ExponentialSlack):
        left, up = problem.slack.c * problem.sample_weight - s, d_s > 0
        limit = float(np.min(left[up] / d_s[up], initial=limit))
    return limit


def _slack_slopes(problem: EnumeratedProblem, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivatives of ``weight U*(s / weight)``."""
    weight = problem.sample_weight
    first, second = conjugate_slopes(problem.slack, s / weight)
    return first, second / weight


def _slack_gap(problem: EnumeratedProblem, i: int, s: float, largest: float) -> float:
    """``weight (U(xi) + U*(s / weight))`` at the best slack for the largest violation."""
    weight, slack = problem.sample_weight[i], problem.slack
    xi = max(largest, 1 / slack.c) if isinstance(slack, ExponentialSlack) else largest
    values = slack_penalty(slack, np.array(xi)) + slack_conjugate(slack, np.array(s / weight))
    return float(weight * values)
