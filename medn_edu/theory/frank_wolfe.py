r"""One block step of Frank-Wolfe, in plain numpy: how the exact dual of MEDN is climbed.

The dual D1 (`medn_edu.theory.medn`) has one variable :math:`\alpha_i(y) \ge 0` per labelling.  Those of
sample ``i`` are its *block*.  Take one block and leave the others as they are.  Then

.. math:: D(\alpha_i) = \sum_y \alpha_i(y) \Delta\ell_i(y) - \sum_k \Lambda(\eta_k) - U^*(s_i),
          \qquad \eta = \ldots + \sum_y \alpha_i(y) \Delta f_i(y), \quad s_i = \sum_y \alpha_i(y) .

**The slope.**  Since :math:`\Lambda'` is the posterior mean ``w``, the derivative of ``D`` with respect
to :math:`\alpha_i(y)` is the *violation* :math:`H_i(y) = \Delta\ell_i(y) - w^\top \Delta f_i(y)`, less
the slope of :math:`U^*`.  So the most valuable labelling is the one that violates its margin most.
Decoding finds it without looking at all the others.  (Here we look at all of them.)

**Pairwise steps.**  Plain Frank-Wolfe would shrink all dual variables of the block alike and add to
the best labelling.  A *pairwise* step takes ``g`` from the worst labelling in use and gives it to the
best one.  If :math:`\Lambda` were a parabola with curvatures ``v`` (the posterior variances), that would
raise the dual by

.. math:: g (H_{best} - H_{worst}) - \tfrac{g^2}{2} \| \Delta f_{best} - \Delta f_{worst} \|_v^2 ,

so the best ``g`` is a quotient, cut off where ``worst`` has nothing left.  The inner products ``Q`` of
the kept labellings say how it changes every violation, so the next pair can be chosen.  A few such steps
come close to the parabola's maximum over the kept labellings.

**The line search.**  The dual is that parabola only for a Gaussian prior and a linear or quadratic
slack.  So the sum of the pairwise steps is taken for a direction, and the true dual decides how far to
go along it.  Its slope falls along the way.  Newton's method finds where it vanishes, with bisection
where Newton would leave the interval known to hold the root.  A steep prior has an infinite slope at the
end of its domain, so the root lies inside.  The step is never longer than the direction, or a dual
variable would become negative.  Hence every step is feasible and the dual never falls.

**Slacks.**  The linear slack fixes :math:`s_i = C_i` and counts the true labelling among the ``y``.  The
other two leave ``s`` free.  Then the true labelling is a *source*: it has no features and no loss, gives
and takes without end, and :math:`U^*` counts all others.  In the code below its dual variable
is ``inf``.

The compiled step is `medn_edu.kernels.block_step`; a test follows both from visit to visit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack
from medn_edu.theory.medn import EnumeratedProblem

N_STEPS = 20  # pairwise steps: how many,
SPREAD_LEFT = 0.1  # and which share of the spread may be left
N_EVALUATIONS, SMALL_SLOPE, INSIDE = 60, 0.1, 0.99  # line search
ROUNDING, SLOPE_ROUNDING = 1e-13, 1e-9  # what counts as zero


@dataclass
class Atom:
    """A kept labelling: its row in the enumeration, and its dual variable."""

    row: int
    alpha: float


Alpha = list[list[Atom]]  # the atoms of each sample


def start(problem: EnumeratedProblem) -> Alpha:
    """All of each sample's dual variables on its true labelling, so that ``eta`` is zero."""
    slack, weight = problem.slack, problem.sample_weight
    C = slack.C * weight if isinstance(slack, LinearSlack) else np.full(len(weight), math.inf)
    true = np.flatnonzero(problem.losses == 0)
    return [[Atom(row, full)] for row, full in zip(true.tolist(), C.tolist(), strict=True)]


def dense(problem: EnumeratedProblem, alpha: Alpha) -> np.ndarray:
    """Write the dual variables out, one number per row; those of sources are 0."""
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
    s = float(a[~source].sum())
    H = loss - df @ w
    gap = _slack_gap(problem, i, s, float(H.max())) - float(a[~source] @ H[~source])

    # Pairwise steps, with Lambda and U* as parabolas.
    slope, curvature = _slack_slopes(problem, i, s)
    Q = (df * variance) @ df.T + curvature * np.outer(~source, ~source)
    direction = _pairwise_steps(a, H - slope * ~source, Q)

    # A line search on the true dual along the direction, inside its domain.
    d_eta, d_loss, d_s = direction @ df, float(direction @ loss), float(direction[~source].sum())

    def slope_and_curvature(step: float) -> tuple[float, float]:
        first, second = _slack_slopes(problem, i, s + step * d_s)
        tilted = eta + step * d_eta
        return (
            d_loss - d_eta @ prior.mean(tilted) - d_s * first,
            d_eta**2 @ prior.variance(tilted) + d_s**2 * second,
        )

    step = _search(slope_and_curvature, _domain_end(problem, i, eta, d_eta, s, d_s))

    # Take the step, and drop what is no longer in use; the last atom takes its place.
    for atom, change in zip(block, direction, strict=True):
        after = atom.alpha + step * change
        atom.alpha = float(after) if after > ROUNDING * atom.alpha or after == math.inf else 0.0
    k = 0
    while k < len(block):
        if block[k].alpha > 0:
            k += 1
        else:
            last = block.pop()
            if k < len(block):
                block[k] = last
    return eta + step * d_eta, gap


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
    problem: EnumeratedProblem, i: int, eta: np.ndarray, d_eta: np.ndarray, s: float, d_s: float
) -> float:
    """How many times the direction can be added before ``Lambda`` or ``U*`` ends."""
    low, high = problem.prior.domain
    moving = d_eta != 0
    room = np.where(d_eta > 0, high - eta, low - eta)[moving] / d_eta[moving]
    limit = float(np.min(room, initial=math.inf))
    if isinstance(problem.slack, ExponentialSlack) and d_s > 0:
        limit = min(limit, (problem.slack.c * problem.sample_weight[i] - s) / d_s)
    return limit


def _slack_slopes(problem: EnumeratedProblem, i: int, s: float) -> tuple[float, float]:
    """First and second derivative of ``weight U*(s / weight)``."""
    weight = problem.sample_weight[i]
    match problem.slack:
        case QuadraticSlack(C):  # U* = s^2 / 2C
            return s / (C * weight), 1 / (C * weight)
        case ExponentialSlack(c):  # U* = -log(1 - s / c)
            return weight / (c * weight - s), weight / (c * weight - s) ** 2
        case _:
            return 0.0, 0.0


def _slack_gap(problem: EnumeratedProblem, i: int, s: float, largest: float) -> float:
    """``weight (U(xi) + U*(s / weight))`` at the best slack for the largest violation."""
    weight = problem.sample_weight[i]
    match problem.slack:
        case QuadraticSlack(C):
            return float(weight * C * largest**2 + s**2 / (C * weight)) / 2
        case ExponentialSlack(c):
            scaled = max(1.0, c * largest)
            return float(weight * (scaled - 1 - math.log(scaled) - math.log(1 - s / (c * weight))))
        case _:
            return float(weight * problem.slack.C * largest)
