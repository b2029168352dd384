r"""One visit of the online exponentiated gradient, in plain numpy: how the dual of a CRF is climbed.

The dual has a distribution :math:`p_i` over the labellings of each sample.  With weights :math:`c_i` of
the samples, at temperature :math:`\epsilon`, it is

.. math:: D(p) = \sum_i c_i \{ \epsilon H(p_i) + \mathbb{E}_{p_i} \Delta\ell_i \} - R^*(\eta),
          \qquad \eta = \sum_i c_i \, \mathbb{E}_{p_i} \Delta f_i ,

where *H* is the entropy and :math:`\Delta f_i(y) = f(x_i, y_i) - f(x_i, y)`.  The regulariser is
an elastic net, whose conjugate is :math:`R^*(\eta) = \sum_k share_k \, soft(\eta_k)^2 / 2`, with
:math:`soft` moving a number towards 0 by ``l1``.  A proximal term changes two things only: the shares
differ from weight to weight, and a constant vector is added to :math:`\eta`.

**The target.**  Take one sample and leave the others as they are.  Since the weights are the slope
:math:`w_k = share_k \, soft(\eta_k)` of the conjugate, the derivative of ``D`` with respect to
:math:`p_i(y)` is :math:`c_i \epsilon \{ g(y) - \log p_i(y) \}` up to a constant, with the *target*

.. math:: g(y) = \{ \Delta\ell_i(y) - w^\top \Delta f_i(y) \} / \epsilon .

**The step.**  Write :math:`p_i(y) \propto e^{\theta_i(y)}`.  A step goes from :math:`\theta_i` part of
the way to the target.  That multiplies each probability by a power of
:math:`e^{g(y) - \theta_i(y)}`, hence the name.  A short step always raises the dual.  A long one may
not, because the weights change on the way, so the dual decides: if it falls, half the step is tried.

**The next step.**  At first the dual rises by ``gain`` per unit along the way, and its conjugate bends
by ``bend`` over the whole step.  The parabola with this slope and bend says how long the step should
have been.

**The first visit.**  All samples start on their true labellings, so that :math:`\eta` is 0.  There
:math:`\theta_i` would be infinite, so there is no way from it to the target.  The first visit goes to
the target without the loss, less a penalty for each wrong node.  It doubles the penalty, which leads
back to the truth, until the dual rises.

The compiled visit is `medn_edu.kernels.log_linear`.  It never lists labellings, since
:math:`\theta_i` and the target are sums of potentials.  It stores potentials in single precision.
A test follows both from visit to visit.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, softmax

from medn_edu.theory.medn import EnumeratedProblem

N_TRIALS = 30  # in one visit
FIRST_PENALTY, FIRST_STEP = 4.0, 0.5  # in the first visit, and in the one after that
SHORTER, LONGEST = 0.3, 1.0  # how much of a step the next one is at least, and at most of the way
ROUNDING = 1e-7  # by how much, relative to its terms, the dual may fall


@dataclass
class Distributions:
    """A distribution over the labellings of each sample; the first two arrays have a number per row."""

    theta: np.ndarray  # 0 at the true labelling; NaN before the first visit
    p: np.ndarray
    step: np.ndarray  # which to try next, one number per sample
    gap: np.ndarray  # what the dual could rise by at this sample when it was last visited


def start(problem: EnumeratedProblem) -> Distributions:
    """Put all probability on the true labellings."""
    n_rows, n_samples = len(problem.losses), problem.n_samples
    return Distributions(
        theta=np.full(n_rows, np.nan),
        p=(problem.losses == 0).astype(float),
        step=np.full(n_samples, FIRST_STEP),
        gap=np.full(n_samples, np.inf),
    )


def visit(
    problem: EnumeratedProblem,
    models: Distributions,
    eta: np.ndarray,
    i: int,
    *,
    epsilon: float,
    l1: float,
    share: np.ndarray,
    loss_augmented: bool,
) -> np.ndarray:
    """Visit sample ``i``, changing ``models`` in place; return the new ``eta``."""
    rows = np.flatnonzero(problem.sample == i)
    c, df, losses = problem.sample_weight[i], problem.differences[rows], problem.losses[rows]
    theta, p, step = models.theta[rows], models.p[rows], models.step[i]
    is_first = bool(np.isnan(theta).any())
    if is_first:
        labellings = np.array([problem.labellings[row] for row in rows])
        n_wrong = (labellings != labellings[losses == 0]).sum(axis=1)
        step = FIRST_PENALTY

    # The target: the labellings' scores at the weights that belong to eta, with their losses.
    scores = -df @ (share * soft(eta, l1))
    target = (scores + losses * loss_augmented) / epsilon

    for _ in range(N_TRIALS):
        new = scores / epsilon - step * n_wrong if is_first else theta + step * (target - theta)
        new_p = softmax(new)
        moved = new_p - p

        # Does the dual rise?  The bend is what the conjugate adds to its slope; it is never negative.
        new_eta = eta + c * moved @ df
        bend = conjugate(new_eta, l1, share) - conjugate(eta, l1, share) + c * moved @ scores
        entropy, old_entropy = entr(new_p).sum(), entr(p).sum()
        rise = c * epsilon * (entropy - old_entropy + moved @ target) - bend
        size = c * epsilon * (entropy + old_entropy + np.abs(moved) @ np.abs(target))
        if rise < -ROUNDING * size:
            step *= 2.0 if is_first else 0.5
            continue

        # Take the step.  How long would have been best?
        models.theta[rows], models.p[rows] = new, new_p
        if not is_first:
            models.step[i] = step
            gain = c * epsilon * max(float(moved @ (target - theta)), 0.0)
            models.gap[i] = gain / (2 * step)
            if gain > 0:
                best = step * gain / (step * gain + 2 * max(bend, 0.0))
                models.step[i] = min(max(best, SHORTER * step), LONGEST)
        return new_eta

    return eta  # no step was short enough, which rounding alone can bring about


def soft(numbers: np.ndarray, l1: float) -> np.ndarray:
    """Move numbers towards 0; numbers that would cross 0 become 0."""
    return np.sign(numbers) * np.maximum(np.abs(numbers) - l1, 0.0)


def conjugate(eta: np.ndarray, l1: float, share: np.ndarray) -> float:
    """``R*(eta)``."""
    return float(share @ soft(eta, l1) ** 2) / 2
