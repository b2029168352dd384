r"""One step of each of three textbook methods for the dual of M3N, over an explicit list of labellings.

All of them work on D1 (`medn_edu.theory.medn`).  The prior is normal, so the weights are
:math:`w = v \eta`.  The slack is linear, so the dual variables of sample ``i`` add up to :math:`C_i`.
The margin violation :math:`H_i(y) = \Delta\ell_i(y) - w^\top \Delta f_i(y)` says how much the dual
gains, at first, when the dual variable of :math:`y` grows.

* `exponentiated_step` (Collins et al. 2008) multiplies every dual variable of a block by
  :math:`e^{s H}`.  They stay positive, and those of bad labellings never become exactly 0.
* `subgradient_step` (Shalev-Shwartz et al. 2007) shrinks all dual variables and gives what it takes away
  to one labelling, the worst violator of one sample.
* `smo_step` (Taskar et al. 2003) takes from the labelling that violates its margin least and gives to
  the one that violates it most.  It keeps only marginals: the sum of the dual variables of all
  labellings that share a *part*, which is a label at a node or a pair of labels on an edge.

The compiled steps (`medn_edu.kernels.textbook`) do the same without a list of labellings.
"""

import numpy as np

from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack
from medn_edu.theory.medn import EnumeratedProblem

_N_TRIALS = 30  # step sizes to try in one visit
_SHORTER, _LONGER, _LONGEST = 0.5, 1.5, 1e6  # how fast a step size changes, and how large it gets
_ROUNDING = 1e-13  # what counts as zero, as a share of C


def totals(problem: EnumeratedProblem) -> np.ndarray:
    """Return ``C_i``, the sum of the dual variables of each sample."""
    if not isinstance(problem.slack, LinearSlack):
        raise ValueError(f"the problem's slack is {problem.slack!r}; expected a LinearSlack.")
    return problem.slack.C * problem.sample_weight


def exponentiated_step(
    problem: EnumeratedProblem, alpha: np.ndarray, i: int, step: float
) -> tuple[np.ndarray, float]:
    """Multiply block ``i`` by ``exp(step H)``; return the dual variables and the next step size.

    Along the step the dual is a parabola, ``gained t - bend t^2 / 2``.  So ``gained / bend`` is the
    factor by which the step should have been longer or shorter.  A step that would lower the dual is
    not taken.
    """
    rows, C = np.flatnonzero(problem.sample == i), totals(problem)[i]
    df, eta, alpha = problem.differences[rows], problem.eta(alpha), alpha.copy()
    H = problem.losses[rows] - df @ problem.prior.mean(eta)
    for _ in range(_N_TRIALS):
        grown = alpha[rows] * np.exp(step * (H - H.max()))
        moved = C * grown / grown.sum() - alpha[rows]
        gained = float(moved @ H)
        bend = float((moved @ df) ** 2 @ problem.prior.variance(eta))
        taken = gained - bend / 2 >= -_ROUNDING * C
        if taken:
            alpha[rows] += moved
        if not taken or (gained > _ROUNDING * C and bend > 0):
            factor = max(gained / bend, _SHORTER) if bend > 0 else _SHORTER
            step = min(step * min(factor, _LONGER), _LONGEST)
        if taken:
            break
    return alpha, step


def subgradient_step(
    problem: EnumeratedProblem, alpha: np.ndarray, average: np.ndarray, i: int, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Step towards the worst labelling of sample ``i``; return dual variables and average weights.

    One sample stands in for all ``N`` samples, so its labelling gets ``N C_i``.  The average includes
    the old weights.
    """
    w = problem.posterior_mean(alpha)
    rows = np.flatnonzero(problem.sample == i)
    worst = rows[np.argmax(problem.losses[rows] - problem.differences[rows] @ w)]
    alpha = (1 - step) * alpha
    alpha[worst] += step * problem.n_samples * totals(problem)[i]
    return alpha, (1 - step) * average + step * w


def parts(problem: EnumeratedProblem, data: LabelledSamples) -> np.ndarray:
    """Return which parts each labelling has, as ones and zeros: labels at nodes, then pairs on edges.

    ``alpha @ parts`` are the marginals of the dual variables.  First come those of the nodes, a raveled
    array of shape (n_nodes, n_labels).  Then come those of the edge above each node, a raveled array of
    shape (n_nodes, n_labels, n_labels).
    """
    samples, shape = data.samples.forests, (data.samples.n_nodes, data.n_labels, data.n_labels)
    found = []
    for i, y in zip(problem.sample, problem.labellings, strict=True):
        node, pair, first = np.zeros(shape[:2]), np.zeros(shape), samples.offsets[i]
        for t, label in enumerate(y, start=first):
            node[t, label] = 1
            if samples.parents[t] >= 0:
                pair[t, y[samples.parents[t] - first], label] = 1
        found.append(np.concatenate([node.ravel(), pair.ravel()]))
    return np.array(found)


def smo_step(
    problem: EnumeratedProblem, parts: np.ndarray, marginal: np.ndarray, eta: np.ndarray, i: int
) -> tuple[np.ndarray, np.ndarray]:
    """Move from the least to the most violating labelling of sample ``i``; return marginals and eta.

    A labelling can lose something only if all its parts have a positive marginal.  It can lose at most
    the smallest marginal among its parts that the other labelling does not have.
    """
    rows = np.flatnonzero(problem.sample == i)
    H = problem.losses[rows] - problem.differences[rows] @ problem.prior.mean(eta)
    possible = [marginal[parts[row] > 0].min() > 0 for row in rows]
    best = int(np.argmax(H))
    worst = int(np.argmin(np.where(possible, H, np.inf)))
    gain = H[best] - H[worst]
    if not gain > 0:
        return marginal, eta
    change = parts[rows[best]] - parts[rows[worst]]
    d_eta = problem.differences[rows[best]] - problem.differences[rows[worst]]
    most = marginal[change < 0].min()
    bend = d_eta**2 @ problem.prior.variance(eta)
    step = gain / bend if gain < most * bend else most
    marginal = marginal + step * change
    marginal[marginal <= _ROUNDING * totals(problem)[i]] = 0.0
    return marginal, eta + step * d_eta
